//! Checks the properties 13 to 22: each instruction alone. `function.rs` calls this module for the code of each
//! function.

use super::Facts;
use super::report::{Place, Report};
use crate::decode::{Instruction, instructions};
use crate::entities::{ClassId, ConstantId, FunctionId, Register, SiteId, StringId};
use crate::instructions::{Field, Opcode, Operand, OperandKind, SiteRule};
use crate::module::{Constant, Function, FunctionKind, Site};
use crate::register_set::RegisterSet;
use crate::types::{RegisterType, TypeDefinition, TypeRule};

/// The mistake in an instruction.
pub(super) type Check = Result<(), String>;

/// Variables of one context.
const MOST_VARIABLES: i64 = 255;

/// Enclosing object, captured variables and superclass.
const FEWEST_CLASS_PARTS: usize = 3;

pub(super) fn check(facts: &Facts, id: FunctionId, report: &mut Report) {
    let function = &facts.module.functions[id.index()];
    let mut checker = CodeChecker {
        facts,
        function,
        reserved: reserved(function),
        starts: vec![false; function.code.len()],
        site_used: vec![false; function.sites.len()],
    };
    let decoded = checker.find_instructions();
    if let Err((pc, message)) = decoded {
        return report.error(Place::Instruction(id, pc), message);
    }
    let errors = report.count();
    for instruction in instructions(&function.code) {
        if report.is_full() {
            return;
        }
        if let Err(problem) = checker.check(&instruction) {
            let message = format!("`{}`: {problem}", instruction.info().mnemonic);
            report.error(Place::Instruction(id, instruction.pc), message);
        }
    }
    let unused = checker.site_used.iter().position(|used| !used);
    if let Some(unused) = unused.filter(|_| report.count() == errors) {
        report.error(Place::Function(id), format!("site{unused} belongs to no instruction"));
    }
}

/// Registers that ordinary instructions must not write.
pub(super) fn reserved(function: &Function) -> RegisterSet {
    let closure = (function.kind == FunctionKind::Block).then_some(Register(0));
    function.home.into_iter().chain(closure).collect()
}

pub(super) struct CodeChecker<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) function: &'a Function,
    reserved: RegisterSet,
    /// For each word whether an instruction starts at it.
    starts: Vec<bool>,
    /// For each site whether an instruction was seen that it belongs to.
    site_used: Vec<bool>,
}

impl CodeChecker<'_> {
    /// Property 13.
    fn find_instructions(&mut self) -> Result<(), (usize, String)> {
        let mut walk = instructions(&self.function.code);
        let mut last = None;
        for instruction in walk.by_ref() {
            self.starts[instruction.pc] = true;
            if !instruction.is_canonical() {
                let mnemonic = instruction.info().mnemonic;
                return Err((instruction.pc, format!("`{mnemonic}`: unused bits are not zero")));
            }
            last = Some(instruction);
        }
        walk.finish().map_err(|error| (error.pc(), error.to_string()))?;
        match last {
            Some(last) if last.falls_through() => {
                let mnemonic = last.info().mnemonic;
                Err((last.pc, format!("`{mnemonic}` is the last instruction, but can go on")))
            }
            _ => Ok(()),
        }
    }

    fn check(&mut self, instruction: &Instruction) -> Check {
        self.check_register_types(instruction)?;
        self.check_window(instruction)?;
        self.check_writes(instruction)?;
        for (operand, value) in instruction.operands() {
            self.check_operand(instruction, operand, value)
                .map_err(|problem| format!("{} {problem}", operand.name))?;
        }
        self.check_site_use(instruction)?;
        self.check_opcode(instruction)
    }

    pub(super) fn register_type(&self, register: Register) -> Result<RegisterType, String> {
        let kind = self.function.registers.get(register.index());
        kind.copied().ok_or_else(|| format!("{register} does not exist"))
    }

    /// Property 14.
    fn check_register_types(&self, instruction: &Instruction) -> Check {
        let mut earlier = [None; 2];
        let mut number = 0;
        for (operand, value) in instruction.operands() {
            let (OperandKind::Define(rule) | OperandKind::Use(rule) | OperandKind::Update(rule)) =
                operand.kind
            else {
                continue;
            };
            let register = Register(value as u8);
            let kind = self.register_type(register)?;
            let suitable = match rule {
                TypeRule::SameAsFirst => earlier[0] == Some(kind),
                TypeRule::SameAsSecond => earlier[1] == Some(kind),
                _ => allows(self.facts, rule, kind) || self.allows_defined(rule, kind),
            };
            if !suitable {
                let (kind, wanted) = (self.facts.show(kind), describe(rule));
                return Err(format!("{} {register} is `{kind}`, not {wanted}", operand.name));
            }
            if let Some(place) = earlier.get_mut(number) {
                *place = Some(kind);
            }
            number += 1;
        }
        Ok(())
    }

    /// Whether a rule that asks for a kind of defined types allows this one.
    fn allows_defined(&self, rule: TypeRule, kind: RegisterType) -> bool {
        use TypeDefinition::{Barrier, Bucket, Channel, Process, Reader, Writer};
        let Some(definition) = self.facts.module.definition(kind) else { return false };
        match rule {
            TypeRule::Channel => matches!(definition, Channel(_)),
            TypeRule::Reader => matches!(definition, Reader(_)),
            TypeRule::Writer => matches!(definition, Writer(_)),
            TypeRule::Readable => matches!(definition, Channel(_) | Reader(_)),
            TypeRule::Writable => matches!(definition, Channel(_) | Writer(_)),
            TypeRule::Communicating => matches!(definition, Channel(_) | Reader(_) | Writer(_)),
            TypeRule::Barrier => matches!(definition, Barrier),
            TypeRule::Bucket => matches!(definition, Bucket),
            TypeRule::Process => matches!(definition, Process { .. }),
            _ => false,
        }
    }

    /// The type of the values that go through a channel.
    fn element_of(&self, channel: Register) -> Option<RegisterType> {
        let kind = self.register_type(channel).ok()?;
        match self.facts.module.definition(kind)? {
            TypeDefinition::Channel(element)
            | TypeDefinition::Reader(element)
            | TypeDefinition::Writer(element) => Some(*element),
            _ => None,
        }
    }

    /// Property 33, the part about channels: a register has the type of the elements, or is an end of it.
    fn check_element(&self, channel: Register, register: Register) -> Check {
        let kind = self.register_type(register)?;
        match self.element_of(channel) {
            Some(element) if element == kind => Ok(()),
            Some(element) => {
                let [kind, element] = [kind, element].map(|kind| self.facts.show(kind));
                Err(format!("{register} is `{kind}`, but {channel} carries `{element}`"))
            }
            None => Err(format!("{channel} is no channel")),
        }
    }

    fn check_end(&self, end: Register, channel: Register) -> Check {
        match self.element_of(end) == self.element_of(channel) {
            true => Ok(()),
            false => Err(format!("{end} carries something else than {channel}")),
        }
    }

    /// Property 15, and 16 for the registers that calls destroy.
    fn check_window(&self, instruction: &Instruction) -> Check {
        let Some(window) = instruction.window() else { return Ok(()) };
        if window.0 == 0 {
            return Err("a window cannot start at r0".into());
        }
        let return_address = Register(window.0 - 1);
        let length = match site_rule(instruction) {
            Some(SiteRule::Send(arguments)) => 1 + usize::from(arguments),
            _ => instruction.count().unwrap_or(0),
        };
        self.check_run("window", window, length)?;
        let named = operands_beside_window(instruction);
        if let Some(high) = named.iter().find(|register| *register >= return_address) {
            return Err(format!("the call destroys its operand {high} before it is made"));
        }
        if self.function.kind == FunctionKind::Block && return_address == Register(0) {
            return Err("the call destroys r0, the closure".into());
        }
        Ok(())
    }

    /// The registers of a window or range exist.
    pub(super) fn check_run(&self, what: &str, start: Register, length: usize) -> Check {
        let size = self.function.registers.len();
        if start.index() >= size || start.index() + length > size {
            return Err(format!("the {what} of {length} from {start} on is outside of the frame"));
        }
        Ok(())
    }

    /// The registers of a window or range are `any`.
    fn check_run_is_any(&self, what: &str, start: Register, length: usize) -> Check {
        self.check_run(what, start, length)?;
        let run = &self.function.registers[start.index()..start.index() + length];
        match run.iter().position(|&kind| kind != RegisterType::Any) {
            None => Ok(()),
            Some(place) => {
                let kind = self.facts.show(run[place]);
                Err(format!("r{} is `{kind}`, not `any`", start.index() + place))
            }
        }
    }

    /// Property 16.
    fn check_writes(&self, instruction: &Instruction) -> Check {
        let written = instruction.effects().defined();
        if instruction.opcode == Opcode::MakeHome {
            return written.iter().try_for_each(|home| self.check_home(home));
        }
        match (written & self.reserved).iter().next() {
            Some(register) => Err(format!("{register} must not be written")),
            None => Ok(()),
        }
    }

    /// Property 17, and that indices name something.
    fn check_operand(&self, instruction: &Instruction, operand: &Operand, value: i64) -> Check {
        let index = value as u32;
        let function = self.function;
        let exists = match operand.kind {
            OperandKind::Target => return self.check_target(instruction, value),
            OperandKind::Constant => ConstantId(index as u16).index() < function.constants.len(),
            OperandKind::Site(_) => SiteId(index as u16).index() < function.sites.len(),
            OperandKind::Function => (index as usize) < self.facts.module.functions.len(),
            OperandKind::Class => self.facts.has_class(ClassId(index)),
            OperandKind::Primitive => self.facts.arity(StringId(index)).is_some(),
            OperandKind::Link if index != 0 => {
                return Err("is the linker's, and 0 in a module".into());
            }
            OperandKind::Special => (index as usize) < crate::instructions::Special::ALL.len(),
            _ => true,
        };
        if exists { Ok(()) } else { Err(format!("{value} does not exist")) }
    }

    fn check_target(&self, instruction: &Instruction, distance: i64) -> Check {
        let target = instruction.pc as i64 + distance;
        let start = usize::try_from(target).ok().and_then(|pc| self.starts.get(pc));
        match start {
            Some(true) if distance > 0 || instruction.opcode.polls() => Ok(()),
            Some(true) => Err(format!("{target} is no later instruction; only loops jump back")),
            _ => Err(format!("{target} is not the start of an instruction")),
        }
    }

    /// Property 18 for sites.
    fn check_site_use(&mut self, instruction: &Instruction) -> Check {
        let (Some(rule), Some(id)) = (site_rule(instruction), instruction.site()) else {
            return Ok(());
        };
        if std::mem::replace(&mut self.site_used[id.index()], true) {
            return Err(format!("{id} belongs to another instruction already"));
        }
        let arguments = match rule {
            SiteRule::Send(count) => Some(usize::from(count)),
            SiteRule::SendCounted => instruction.count().and_then(|count| count.checked_sub(1)),
            _ => None,
        };
        let suitable = match (&self.function.sites[id.index()], rule) {
            (Site::Send { selector, .. }, SiteRule::Send(_) | SiteRule::SendCounted) => {
                let wanted = self.facts.arity(*selector);
                if wanted != arguments {
                    let (selector, wanted) = (self.facts.quote(*selector), wanted.unwrap_or(0));
                    return Err(format!(
                        "{selector} takes {wanted} arguments besides the receiver"
                    ));
                }
                true
            }
            (Site::Enclosing(..), SiteRule::Enclosing) => true,
            (Site::Captures(_), SiteRule::Captures) => true,
            (Site::InitializeSlot(..), SiteRule::InitializeSlot) => true,
            (Site::ClassSlot(_), SiteRule::ClassSlot) => true,
            _ => false,
        };
        if suitable { Ok(()) } else { Err(format!("{id} is of another kind")) }
    }

    /// The rules beyond the table: properties 18 to 22.
    fn check_opcode(&self, instruction: &Instruction) -> Check {
        let at = |kind: OperandKind| {
            instruction.info().operand(kind).map_or(0, |operand| instruction.value(operand))
        };
        match instruction.opcode {
            Opcode::LoadConstant | Opcode::LoadRaw => self.check_constant(instruction),
            Opcode::LoadCaptured => self.check_captured(at(OperandKind::Index)),
            Opcode::MakeContext if at(OperandKind::Index) > MOST_VARIABLES => {
                Err(format!("a context has at most {MOST_VARIABLES} variables"))
            }
            Opcode::ForEnter | Opcode::ForLoop if at(OperandKind::Immediate) == 0 => {
                Err("the step is 0".into())
            }
            Opcode::MakeClosure => self.check_closure(instruction),
            Opcode::MakeClass => self.check_class(instruction),
            Opcode::Call => self.check_call(instruction),
            Opcode::Primitive => {
                if self.facts.trust == super::Trust::Untrusted {
                    return Err("only trusted modules may use primitives".into());
                }
                self.check_window_is_tagged(instruction)
            }
            Opcode::Spawn => self.check_spawn(instruction),
            Opcode::SpawnIndirect => self.check_spawn_indirect(instruction),
            Opcode::Read | Opcode::AltRead => {
                self.check_element(instruction.register(Field::B), instruction.register(Field::A))
            }
            Opcode::Accept => {
                self.check_element(instruction.register(Field::C), instruction.register(Field::A))
            }
            Opcode::Write => {
                self.check_element(instruction.register(Field::A), instruction.register(Field::B))
            }
            Opcode::ReadingEnd | Opcode::WritingEnd => {
                self.check_end(instruction.register(Field::A), instruction.register(Field::B))
            }
            Opcode::EndProcess if self.function.kind != FunctionKind::Process => {
                Err("this is no process".into())
            }
            opcode if (Opcode::MakeTuple..=Opcode::CallIndirect).contains(&opcode) => {
                self.check_typed(instruction)
            }
            Opcode::LeaveHome => self.check_home(instruction.register(Field::A)),
            Opcode::Return | Opcode::ReturnHome | Opcode::ReturnNonlocal => {
                self.check_return(instruction)
            }
            _ => self.check_window_is_any(instruction),
        }
    }

    fn check_constant(&self, instruction: &Instruction) -> Check {
        let Some(id) = instruction.constant() else { return Ok(()) };
        let destination = instruction.effects().defines.unwrap_or(Register(0));
        let kind = self.register_type(destination)?;
        match self.function.constants[id.index()] {
            Constant::Raw(raw, _) if raw == kind => Ok(()),
            Constant::Raw(raw, _) => {
                let [raw, kind] = [raw, kind].map(|kind| self.facts.show(kind));
                Err(format!("{id} is `{raw}`, not `{kind}`"))
            }
            _ if instruction.opcode == Opcode::LoadConstant => Ok(()),
            _ => Err(format!("{id} is an object, not `{}`", self.facts.show(kind))),
        }
    }

    fn check_captured(&self, index: i64) -> Check {
        let captured = self.function.captured;
        if self.function.kind != FunctionKind::Block {
            return Err("only block functions have captured values".into());
        }
        if index >= i64::from(captured) {
            return Err(format!("{index} is not below {captured}, the number of captured values"));
        }
        Ok(())
    }

    /// The range operand is `any` and inside of the frame.
    fn check_range(&self, instruction: &Instruction) -> Check {
        let range = instruction.info().operand(OperandKind::Range);
        let start = Register(range.map_or(0, |operand| instruction.value(operand)) as u8);
        self.check_run_is_any("range", start, instruction.count().unwrap_or(0))
    }

    fn check_closure(&self, instruction: &Instruction) -> Check {
        self.check_range(instruction)?;
        let (id, function) = self.function_operand(instruction);
        let count = instruction.count().unwrap_or(0);
        if function.kind != FunctionKind::Block {
            return Err(format!("{id} is no block function"));
        }
        if count != usize::from(function.captured) {
            return Err(format!("{id} captures {} values, not {count}", function.captured));
        }
        Ok(())
    }

    pub(super) fn function_operand(&self, instruction: &Instruction) -> (FunctionId, &Function) {
        let operand = instruction.info().operand(OperandKind::Function);
        let id = FunctionId(operand.map_or(0, |operand| instruction.value(operand)) as u32);
        (id, &self.facts.module.functions[id.index()])
    }

    fn check_class(&self, instruction: &Instruction) -> Check {
        match instruction.count() {
            Some(count) if count >= FEWEST_CLASS_PARTS => self.check_range(instruction),
            _ => Err(format!("a class is made of at least {FEWEST_CLASS_PARTS} parts")),
        }
    }

    fn check_call(&self, instruction: &Instruction) -> Check {
        let (id, callee) = self.function_operand(instruction);
        let window = instruction.window().unwrap_or(Register(0)).index();
        let given = &self.function.registers[window..window + instruction.count().unwrap_or(0)];
        if matches!(callee.kind, FunctionKind::Block | FunctionKind::Process) {
            return Err(format!("{id} is a {} function", callee.kind.name()));
        }
        let wanted = callee.registers.get(..callee.arguments()).unwrap_or_default();
        self.check_given(window, given, &id.to_string(), wanted)?;
        let destination = instruction.effects().defines.unwrap_or(Register(0));
        self.check_answer(destination, &id.to_string(), callee.result)
    }

    /// The types of the registers from `start` on are those of the parameters of `callee`.
    pub(super) fn check_given(
        &self,
        start: usize,
        given: &[RegisterType],
        callee: &str,
        wanted: &[RegisterType],
    ) -> Check {
        if given.len() != wanted.len() {
            let plural = if wanted.len() == 1 { "" } else { "s" };
            let (wanted, given) = (wanted.len(), given.len());
            return Err(format!("{callee} takes {wanted} argument{plural}, not {given}"));
        }
        let Some(place) = given.iter().zip(wanted).position(|(given, wanted)| given != wanted)
        else {
            return Ok(());
        };
        let [given, wanted] = [given[place], wanted[place]].map(|kind| self.facts.show(kind));
        Err(format!("r{} is `{given}`, but {callee} takes `{wanted}`", start + place))
    }

    /// A register has the type of a call's answer.
    pub(super) fn check_answer(
        &self,
        destination: Register,
        callee: &str,
        result: RegisterType,
    ) -> Check {
        let kind = self.register_type(destination)?;
        if kind == result {
            return Ok(());
        }
        let [kind, result] = [kind, result].map(|kind| self.facts.show(kind));
        Err(format!("{destination} is `{kind}`, but {callee} answers `{result}`"))
    }

    fn check_spawn(&self, instruction: &Instruction) -> Check {
        let (id, process) = self.function_operand(instruction);
        if process.kind != FunctionKind::Process {
            return Err(format!("{id} is no process"));
        }
        let wanted = process.registers.get(..process.arguments()).unwrap_or_default();
        self.check_spawned(instruction, &id.to_string(), wanted)
    }

    fn check_spawn_indirect(&self, instruction: &Instruction) -> Check {
        let process = instruction.register(Field::A);
        let kind = self.register_type(process)?;
        match self.facts.module.definition(kind) {
            Some(TypeDefinition::Process { parameters }) => {
                self.check_spawned(instruction, &process.to_string(), parameters)
            }
            _ => Err(format!("{process} is no process")),
        }
    }

    fn check_spawned(
        &self,
        instruction: &Instruction,
        process: &str,
        wanted: &[RegisterType],
    ) -> Check {
        let range = instruction.info().operand(OperandKind::Range);
        let start = range.map_or(0, |operand| instruction.value(operand)) as usize;
        self.check_given(start, self.given(instruction)?, process, wanted)
    }

    /// The types of the registers of a range.
    fn given(&self, instruction: &Instruction) -> Result<&[RegisterType], String> {
        let range = instruction.info().operand(OperandKind::Range);
        let start = range.map_or(0, |operand| instruction.value(operand)) as usize;
        let length = instruction.count().unwrap_or(0);
        // Without arguments, the range may start anywhere.
        if length > 0 {
            self.check_run("range", Register(start as u8), length)?;
        }
        Ok(self.function.registers.get(start..start + length).unwrap_or_default())
    }

    fn check_window_is_any(&self, instruction: &Instruction) -> Check {
        let Some(window) = instruction.window() else { return Ok(()) };
        let length = match site_rule(instruction) {
            Some(SiteRule::Send(arguments)) => 1 + usize::from(arguments),
            _ => instruction.count().unwrap_or(0),
        };
        self.check_run_is_any("window", window, length)
    }

    /// Primitives of modules that are trusted take lists, too.
    fn check_window_is_tagged(&self, instruction: &Instruction) -> Check {
        let window = instruction.window().unwrap_or(Register(0)).index();
        let count = instruction.count().unwrap_or(0);
        let mut run = self.function.registers[window..window + count].iter();
        match run.position(|kind| !kind.is_tagged()) {
            None => Ok(()),
            Some(place) => Err(format!("r{} holds raw bits", window + place)),
        }
    }

    fn check_home(&self, register: Register) -> Check {
        match self.function.home {
            Some(home) if home == register => Ok(()),
            _ => Err(format!("{register} is not the function's home register")),
        }
    }

    /// Properties 20 and 21.
    fn check_return(&self, instruction: &Instruction) -> Check {
        let function = self.function;
        if function.kind == FunctionKind::Process {
            return Err("a process is left by end_process".into());
        }
        let value = instruction.register(Field::A);
        let kind = self.register_type(value)?;
        if kind != function.result {
            let [kind, result] = [kind, function.result].map(|kind| self.facts.show(kind));
            return Err(format!("{value} is `{kind}`, but the result is `{result}`"));
        }
        match instruction.opcode {
            Opcode::ReturnHome => self.check_home(instruction.register(Field::B)),
            Opcode::ReturnNonlocal => self.check_captured(0),
            _ => Ok(()),
        }
    }
}

/// The registers of a call that it names one by one.
fn operands_beside_window(instruction: &Instruction) -> RegisterSet {
    let used =
        instruction.operands().filter(|(operand, _)| matches!(operand.kind, OperandKind::Use(_)));
    used.map(|(_, value)| Register(value as u8)).collect()
}

fn site_rule(instruction: &Instruction) -> Option<SiteRule> {
    instruction.info().operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Site(rule) => Some(rule),
        _ => None,
    })
}

/// Whether a rule that refers to no other operand allows this type.
fn allows(facts: &Facts, rule: TypeRule, kind: RegisterType) -> bool {
    let definition = facts.module.definition(kind);
    match rule {
        TypeRule::Any => kind == RegisterType::Any,
        TypeRule::Bool => kind == RegisterType::Bool,
        TypeRule::Integer => kind.is_integer(),
        TypeRule::Bits => kind.is_integer() || kind == RegisterType::Bool,
        TypeRule::Number => kind.is_number(),
        TypeRule::I64 => kind == RegisterType::I64,
        TypeRule::Scalar => kind.is_scalar(),
        TypeRule::Boxable => facts.is_boxable(kind),
        TypeRule::Typed => kind != RegisterType::Any,
        TypeRule::Ordered => facts.is_ordered(kind),
        TypeRule::Tuple => matches!(definition, Some(TypeDefinition::Tuple(_))),
        TypeRule::List => matches!(definition, Some(TypeDefinition::List(_))),
        TypeRule::Map => matches!(definition, Some(TypeDefinition::Map(..))),
        TypeRule::Collection => {
            matches!(definition, Some(TypeDefinition::List(_) | TypeDefinition::Map(..)))
        }
        TypeRule::Function => matches!(definition, Some(TypeDefinition::Function { .. })),
        TypeRule::Callable => definition.is_some_and(TypeDefinition::is_callable),
        TypeRule::Whatever => true,
        TypeRule::SameAsFirst | TypeRule::SameAsSecond => false,
        _ => false,
    }
}

fn describe(rule: TypeRule) -> &'static str {
    match rule {
        TypeRule::Any => "`any`",
        TypeRule::Bool => "`bool`",
        TypeRule::Integer => "an integer",
        TypeRule::Bits => "an integer or `bool`",
        TypeRule::Number => "an integer or a float",
        TypeRule::I64 => "`i64`",
        TypeRule::Scalar => "`bool`, an integer or a float",
        TypeRule::Boxable => "a type whose values are objects, too",
        TypeRule::Typed => "a type other than `any`",
        TypeRule::Ordered => "a totally ordered type",
        TypeRule::Tuple => "a tuple",
        TypeRule::List => "a list",
        TypeRule::Map => "a map",
        TypeRule::Collection => "a list or a map",
        TypeRule::Function => "a function",
        TypeRule::Callable => "a function or a process",
        TypeRule::Whatever => "any type",
        TypeRule::Channel => "a channel",
        TypeRule::Reader => "the reading end of a channel",
        TypeRule::Writer => "the writing end of a channel",
        TypeRule::Readable => "a channel or its reading end",
        TypeRule::Writable => "a channel or its writing end",
        TypeRule::Communicating => "a channel or one of its ends",
        TypeRule::Barrier => "a barrier",
        TypeRule::Bucket => "a bucket",
        TypeRule::Process => "a process",
        TypeRule::SameAsFirst => "the type of the first register",
        TypeRule::SameAsSecond => "the type of the second register",
    }
}
