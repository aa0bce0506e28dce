//! Random functions that the verifier accepts, as a compiler would make them: structured control flow, calls in
//! windows, regions, home markers. The verifier's tests run them.
//!
//! The generator knows which registers are initialised. Where paths meet again, it continues with the registers that
//! are initialised on both. Loops and regions fix a *floor*: below it no register is lost inside, so the registers
//! below it that are initialised at the start stay so at each turn and in the handler.

use super::Entropy;
use crate::builder::{Argument, FunctionBuilder, Signature};
use crate::entities::{Register, StringId, TypeId};
use crate::instructions::Opcode;
use crate::module::{Access, Constant, FunctionKind, Module, RegionKind, Site};
use crate::register_set::RegisterSet;
use crate::types::{RegisterType, TypeDefinition};

/// The shape of the frame: arguments, typed registers, the home, and working registers.
const TYPED: [RegisterType; 5] =
    [RegisterType::F64, RegisterType::I64, RegisterType::Bool, LIST, MAP];
/// Those of them that are raw bits.
const RAW: [RegisterType; 3] = [TYPED[0], TYPED[1], TYPED[2]];
/// `list<i64>`
const LIST: RegisterType = RegisterType::Defined(TypeId(0));
/// `map<i64, f64>`
const MAP: RegisterType = RegisterType::Defined(TypeId(1));
const WORKING: usize = 9;

/// A module of one function that the verifier accepts.
pub(crate) fn correct_module(random: &mut Entropy) -> Module {
    let kind = random.choose(&[FunctionKind::Method, FunctionKind::Block, FunctionKind::Plain]);
    let parameters = 1 + random.below(2);
    let arguments = parameters + usize::from(kind.has_receiver());
    let mut types = vec![RegisterType::Any; arguments];
    for kind in TYPED {
        types.extend([kind; 2]);
    }
    let home = Register(types.len() as u8);
    types.extend([RegisterType::Any; 1 + WORKING]);
    let homing = random.choose(&[Homing::Never, Homing::AtEntry, Homing::OnTheWay]);
    let code = FunctionBuilder::new();
    let floor = home.index() + 1;
    let mut generator = Generator { random, code, types, home, homing, kind, in_region: false };
    generator.function(RegisterSet::below(arguments), floor);
    let signature = Signature {
        name: StringId(0),
        kind,
        parameters: parameters as u8,
        captured: u16::from(kind == FunctionKind::Block),
        registers: generator.types,
        result: RegisterType::Any,
        home: (homing != Homing::Never).then_some(home),
    };
    let function = generator.code.finish(signature).expect("the code is small");
    let strings = ["f", "foo", "+", "at:put:"].map(str::to_owned).to_vec();
    let types = vec![
        TypeDefinition::List(RegisterType::I64),
        TypeDefinition::Map(RegisterType::I64, RegisterType::F64),
    ];
    Module { strings, types, functions: vec![function], ..Module::default() }
}

/// Whether and when the home marker is made.
#[derive(Clone, Copy, PartialEq)]
enum Homing {
    Never,
    AtEntry,
    OnTheWay,
}

struct Generator<'r> {
    random: &'r mut Entropy,
    code: FunctionBuilder,
    types: Vec<RegisterType>,
    home: Register,
    homing: Homing,
    kind: FunctionKind,
    in_region: bool,
}

impl Generator<'_> {
    fn function(&mut self, mut set: RegisterSet, floor: usize) {
        if self.homing == Homing::AtEntry {
            self.code.emit(Opcode::MakeHome, &[self.home.into()]);
            set.insert(self.home);
        }
        let set = self.statements(set, floor, 3);
        self.leave(set);
    }

    fn leave(&mut self, set: RegisterSet) {
        let value = self.initialised(set, RegisterType::Any);
        match self.homing {
            Homing::AtEntry => {
                self.code.emit(Opcode::ReturnHome, &[value.into(), self.home.into()])
            }
            _ => self.code.emit(Opcode::Return, &[value.into()]),
        }
    }

    /// An initialised register of this type. There is always an argument.
    fn initialised(&mut self, set: RegisterSet, kind: RegisterType) -> Register {
        let all: Vec<Register> =
            set.iter().filter(|register| self.types[register.index()] == kind).collect();
        self.random.choose(&all)
    }

    fn has(&self, set: RegisterSet, kind: RegisterType) -> bool {
        set.iter().any(|register| self.types[register.index()] == kind)
    }

    /// A register of this type that may be written.
    fn destination(&mut self, kind: RegisterType) -> Register {
        let first = usize::from(self.kind == FunctionKind::Block);
        let all: Vec<Register> = (first..self.types.len())
            .filter(|&index| self.types[index] == kind && index != self.home.index())
            .map(|index| Register(index as u8))
            .collect();
        self.random.choose(&all)
    }

    fn statements(&mut self, mut set: RegisterSet, floor: usize, depth: usize) -> RegisterSet {
        for _ in 0..self.random.below(6) {
            set = self.statement(set, floor, depth);
        }
        set
    }

    fn statement(&mut self, set: RegisterSet, floor: usize, depth: usize) -> RegisterSet {
        match self.random.below(if depth > 0 { 16 } else { 11 }) {
            0 => self.simple(Opcode::Move, set, RegisterType::Any),
            1 => self.define(Opcode::LoadInteger, set, Argument::Number(7)),
            2 => self.define(Opcode::MakeArray, set, Argument::Number(2)),
            3 => self.constant(set),
            4 => self.typed(set),
            5 | 6 => self.send(set, floor),
            7 => self.windowed_send(set, floor),
            8 => self.marker_on_the_way(set, floor),
            9 => self.load_captured(set),
            10 => self.store(set),
            11 => self.branch(set, floor, depth),
            12 => self.unbox(set, floor, depth),
            13 => self.loop_(set, floor, depth),
            _ => self.region(set, floor, depth),
        }
    }

    fn define(&mut self, opcode: Opcode, mut set: RegisterSet, value: Argument) -> RegisterSet {
        let destination = self.destination(RegisterType::Any);
        self.code.emit(opcode, &[destination.into(), value]);
        set.insert(destination);
        set
    }

    fn simple(&mut self, opcode: Opcode, mut set: RegisterSet, kind: RegisterType) -> RegisterSet {
        let (source, destination) = (self.initialised(set, kind), self.destination(kind));
        self.code.emit(opcode, &[destination.into(), source.into()]);
        set.insert(destination);
        set
    }

    fn constant(&mut self, mut set: RegisterSet) -> RegisterSet {
        let kind = self.random.choose(&TYPED);
        if kind.is_tagged() {
            let destination = self.destination(kind);
            self.code.emit(Opcode::Empty, &[destination.into()]);
            set.insert(destination);
            return set;
        }
        let (destination, bits) = (self.destination(kind), u64::from(self.random.byte() & 1));
        let constant = self.code.constant(Constant::Raw(kind, bits));
        self.code.emit(Opcode::LoadRaw, &[destination.into(), constant.into()]);
        set.insert(destination);
        set
    }

    /// Something that reads a typed register.
    fn typed(&mut self, mut set: RegisterSet) -> RegisterSet {
        let kind = self.random.choose(&TYPED);
        if !self.has(set, kind) {
            return self.constant(set);
        }
        if kind.is_tagged() {
            return self.collection(set, kind);
        }
        let source = self.initialised(set, kind);
        let destination = self.destination(RegisterType::Any);
        self.code.emit(Opcode::Box, &[destination.into(), source.into()]);
        set.insert(destination);
        set
    }

    /// Something with a list or a map that is there.
    fn collection(&mut self, mut set: RegisterSet, kind: RegisterType) -> RegisterSet {
        let source = self.initialised(set, kind);
        let [number, real] = [RegisterType::I64, RegisterType::F64];
        let has_values = self.has(set, number) && self.has(set, real);
        let written = match self.random.below(5) {
            0 if has_values && kind == LIST => {
                let value = self.initialised(set, number);
                self.code.emit(Opcode::ListAppend, &[source.into(), value.into()]);
                source
            }
            0 if has_values => {
                let (key, value) = (self.initialised(set, number), self.initialised(set, real));
                self.code.emit(Opcode::MapPut, &[source.into(), key.into(), value.into()]);
                source
            }
            1 => {
                let destination = self.destination(number);
                self.code.emit(Opcode::Length, &[destination.into(), source.into()]);
                destination
            }
            2 => {
                let destination = self.destination(RegisterType::Bool);
                self.code.emit(Opcode::Equal, &[destination.into(), source.into(), source.into()]);
                destination
            }
            3 => return self.simple(Opcode::Move, set, kind),
            _ => {
                let destination = self.destination(kind);
                self.code.emit(Opcode::Take, &[destination.into(), source.into()]);
                set -= RegisterSet::of(source);
                destination
            }
        };
        set.insert(written);
        set
    }

    fn load_captured(&mut self, set: RegisterSet) -> RegisterSet {
        match self.kind {
            FunctionKind::Block => self.define(Opcode::LoadCaptured, set, Argument::Number(0)),
            _ => set,
        }
    }

    fn store(&mut self, set: RegisterSet) -> RegisterSet {
        let [array, value] = [(); 2].map(|_| self.initialised(set, RegisterType::Any));
        self.code.emit(Opcode::StoreElement, &[array.into(), value.into(), Argument::Number(0)]);
        set
    }

    /// The state after a call.
    fn call(&mut self, set: RegisterSet, window: usize, destination: Register) -> RegisterSet {
        let mut set = set & RegisterSet::below(window - 1);
        set.insert(destination);
        set
    }

    /// The first register of a window with `count` registers.
    fn window(&mut self, floor: usize, count: usize) -> usize {
        let (first, last) = (floor + 1, self.types.len() - count);
        first + self.random.below(last - first + 1)
    }

    fn send(&mut self, set: RegisterSet, floor: usize) -> RegisterSet {
        let arguments = self.random.below(3);
        let opcode = [Opcode::Send0, Opcode::Send1, Opcode::Send2][arguments];
        let window = self.window(floor, arguments + 1);
        let operands = set & RegisterSet::below(window - 1);
        let destination = self.destination(RegisterType::Any);
        let mut all: Vec<Argument> = vec![destination.into()];
        for _ in 0..=arguments {
            all.push(self.initialised(operands, RegisterType::Any).into());
        }
        let selector = StringId(1 + arguments as u32);
        let site = self.code.site(Site::Send { selector, access: Access::Public });
        all.push(Register(window as u8).into());
        all.push(site.into());
        self.code.emit(opcode, &all);
        self.call(set, window, destination)
    }

    fn windowed_send(&mut self, set: RegisterSet, floor: usize) -> RegisterSet {
        let window = self.window(floor, 2);
        let below = set & RegisterSet::below(window - 1);
        for place in [window, window + 1] {
            let value = self.initialised(below, RegisterType::Any);
            self.code.emit(Opcode::Move, &[Register(place as u8).into(), value.into()]);
        }
        let destination = self.destination(RegisterType::Any);
        let site = self.code.site(Site::Send { selector: StringId(2), access: Access::Public });
        let window_register = Register(window as u8);
        let operands =
            [destination.into(), window_register.into(), Argument::Number(2), site.into()];
        self.code.emit(Opcode::Send, &operands);
        self.call(set, window, destination)
    }

    fn marker_on_the_way(&mut self, set: RegisterSet, floor: usize) -> RegisterSet {
        if self.homing != Homing::OnTheWay || self.in_region {
            return set;
        }
        self.code.emit(Opcode::MakeHome, &[self.home.into()]);
        let set = self.send(set, floor);
        self.code.emit(Opcode::LeaveHome, &[self.home.into()]);
        set
    }

    fn branch(&mut self, set: RegisterSet, floor: usize, depth: usize) -> RegisterSet {
        let [then, otherwise, end] = [(); 3].map(|_| self.code.label());
        let value = self.initialised(set, RegisterType::Any);
        self.code.emit(Opcode::BranchTrue, &[value.into(), then.into(), otherwise.into()]);
        let left = self.statements(set, floor, depth - 1);
        self.code.emit(Opcode::Jump, &[end.into()]);
        self.code.bind(otherwise);
        self.leave(set);
        self.code.bind(then);
        let right = self.statements(set, floor, depth - 1);
        self.code.bind(end);
        left & right
    }

    fn unbox(&mut self, set: RegisterSet, floor: usize, depth: usize) -> RegisterSet {
        let [otherwise, end] = [(); 2].map(|_| self.code.label());
        let kind = self.random.choose(&RAW);
        let (destination, source) =
            (self.destination(kind), self.initialised(set, RegisterType::Any));
        self.code.emit(Opcode::Unbox, &[destination.into(), source.into(), otherwise.into()]);
        let success = self.statements(set | RegisterSet::of(destination), floor, depth - 1);
        self.code.emit(Opcode::Jump, &[end.into()]);
        self.code.bind(otherwise);
        let failure = self.statements(set - RegisterSet::of(destination), floor, depth - 1);
        self.code.bind(end);
        success & failure
    }

    /// A floor between the given one and the last place of a window.
    fn raise_floor(&mut self, floor: usize) -> usize {
        floor + self.random.below(self.types.len() - 4 - floor)
    }

    fn loop_(&mut self, set: RegisterSet, floor: usize, depth: usize) -> RegisterSet {
        let floor = self.raise_floor(floor);
        let set = set & RegisterSet::below(floor);
        let unboxed =
            set.iter().filter(|register| self.types[register.index()] != RegisterType::Any);
        let set = set - unboxed.collect();
        let [again, end] = [(); 2].map(|_| self.code.label());
        self.code.bind(again);
        let inside = self.statements(set, floor, depth - 1);
        let value = self.initialised(inside, RegisterType::Any);
        self.code.emit(Opcode::BranchTrue, &[value.into(), end.into(), end.into()]);
        self.code.emit(Opcode::Loop, &[again.into()]);
        self.code.bind(end);
        inside
    }

    fn region(&mut self, set: RegisterSet, floor: usize, depth: usize) -> RegisterSet {
        let floor = self.raise_floor(floor);
        let [start, end, handler, after] = [(); 4].map(|_| self.code.label());
        let kept = set & RegisterSet::below(floor);
        let unboxed =
            kept.iter().filter(|register| self.types[register.index()] != RegisterType::Any);
        let kept = kept - unboxed.collect();
        let class = self.initialised(kept, RegisterType::Any);
        // The handler of a region around could find a token in a register that it reads.
        let kind = match self.in_region {
            true => RegionKind::Catch(class),
            false => self.random.choose(&[RegionKind::Ensure, RegionKind::Catch(class)]),
        };
        let value = self.destination(RegisterType::Any);
        let was_in_region = std::mem::replace(&mut self.in_region, true);
        self.code.bind(start);
        self.code.emit(Opcode::CheckValue, &[class.into()]);
        let inside = self.statements(set, floor, depth - 1);
        self.code.bind(end);
        self.in_region = was_in_region;
        self.code.region((start, end), handler, value, kind);
        self.code.emit(Opcode::Jump, &[after.into()]);
        self.code.bind(handler);
        if kind == RegionKind::Ensure {
            self.code.emit(Opcode::ResumeUnwind, &[value.into()]);
        }
        let handled = self.statements(kept | RegisterSet::of(value), floor, depth - 1);
        self.code.bind(after);
        inside & handled
    }
}
