//! Checks the properties 6 to 12: the shape of a function, and the tables that its code refers to. `mod.rs` calls this
//! module for each function.

use super::report::{Place, Report};
use super::{Facts, code, flow, processes};
use crate::decode::instructions;
use crate::entities::{ClassId, FunctionId, Register, StringId};
use crate::flow::{Nesting, NestingError};
use crate::module::{Access, Constant, Function, FunctionKind, Region, RegionKind, Site};
use crate::register_set::RegisterSet;
use crate::types::RegisterType;

/// The largest code of a function, in words.
const MOST_WORDS: usize = 1 << 24;

/// Checks a function; its paths only if everything else is right.
pub(super) fn check(facts: &Facts, id: FunctionId, report: &mut Report) {
    let function = &facts.module.functions[id.index()];
    if function.is_imported() && function.kind.is_linkable() {
        return;
    }
    let errors = report.count();
    let mut checker = FunctionChecker::new(facts, id, report);
    checker.check_frame();
    checker.check_constants();
    checker.check_sites();
    checker.check_lines();
    if checker.report.count() == errors {
        code::check(facts, id, report);
    }
    if report.count() == errors {
        FunctionChecker::new(facts, id, report).check_regions();
    }
    if report.count() == errors {
        processes::check_structure(id, function, report);
    }
    if report.count() == errors {
        flow::check(id, function, report);
    }
    if report.count() == errors {
        processes::check_forks(id, function, report);
    }
}

/// The most regions of a function.
pub(super) const MOST_REGIONS: usize = 1000;

struct FunctionChecker<'a, 'm> {
    facts: &'a Facts<'a>,
    id: FunctionId,
    function: &'a Function,
    report: &'a mut Report<'m>,
    /// The place that is being checked.
    place: Place,
}

impl<'a, 'm> FunctionChecker<'a, 'm> {
    fn new(facts: &'a Facts<'a>, id: FunctionId, report: &'a mut Report<'m>) -> Self {
        let function = &facts.module.functions[id.index()];
        FunctionChecker { facts, id, function, report, place: Place::Function(id) }
    }

    fn error(&mut self, message: impl Into<String>) {
        self.report.error(self.place, message);
    }

    fn check_frame(&mut self) {
        let function = self.function;
        let (size, arguments) = (function.registers.len(), function.arguments());
        if !self.facts.has_string(function.name) {
            self.error(format!("the name {} does not exist", function.name));
        }
        if !(1..=RegisterSet::CAPACITY).contains(&size) {
            return self.error(format!("a frame has 1 to 256 registers, not {size}"));
        }
        if !(1..=MOST_WORDS).contains(&function.code.len()) {
            let words = function.code.len();
            return self.error(format!("code has 1 to {MOST_WORDS} words, not {words}"));
        }
        let mut types = function.registers.iter().chain([&function.result]);
        if let Some(kind) = types.find(|kind| !self.facts.has_type(**kind)) {
            let kind = *kind;
            return self.error(format!("{kind} does not exist"));
        }
        if arguments > size {
            return self.error(format!("{arguments} arguments do not fit {size} registers"));
        }
        if function.kind.has_receiver() {
            let mut visible = function.registers[..arguments].iter().chain([&function.result]);
            if visible.any(|&kind| kind != RegisterType::Any) {
                let kind = function.kind.name();
                self.error(format!("the arguments and the result of a {kind} are `any`"));
            }
        }
        if function.kind == FunctionKind::Process {
            self.check_process(arguments);
        }
        if function.kind != FunctionKind::Block && function.captured != 0 {
            self.error("only block functions have captured values");
        }
        if let Some(home) = function.home {
            self.check_any("home", home);
            if home.index() < arguments {
                self.error(format!("the home register {home} is an argument"));
            }
        }
    }

    /// A process shares no objects, and has no result.
    fn check_process(&mut self, arguments: usize) {
        let parameters = &self.function.registers[..arguments];
        if parameters.contains(&RegisterType::Any) {
            self.error("a process has no parameters that are `any`");
        }
        if self.function.result != RegisterType::Any {
            self.error("a process has no result");
        }
    }

    fn check_any(&mut self, what: &str, register: Register) {
        match self.function.registers.get(register.index()) {
            None => self.error(format!("the {what} register {register} does not exist")),
            Some(RegisterType::Any) => {}
            Some(kind) => {
                let kind = self.facts.show(*kind);
                self.error(format!("the {what} register {register} is `{kind}`, not `any`"));
            }
        }
    }

    fn check_constants(&mut self) {
        for (index, constant) in self.function.constants.iter().enumerate() {
            self.place = Place::Constant(self.id, index);
            match *constant {
                Constant::String(id) | Constant::Symbol(id) if !self.facts.has_string(id) => {
                    self.error(format!("k{index} is {id}, which does not exist"));
                }
                Constant::Raw(kind, bits) if !is_canonical(kind, bits) => {
                    let kind = self.facts.show(kind);
                    self.error(format!("k{index} cannot be {bits:#x} as `{kind}`"));
                }
                _ => {}
            }
        }
        self.place = Place::Function(self.id);
    }

    fn check_sites(&mut self) {
        for (index, site) in self.function.sites.iter().enumerate() {
            let (class, selector) = parts(site);
            if let Some(class) = class.filter(|class| !self.facts.has_class(*class)) {
                self.error(format!("site{index} names {class}, which does not exist"));
                continue;
            }
            if let Some(selector) = selector.filter(|id| self.facts.arity(*id).is_none()) {
                let problem = "which does not exist or is empty";
                self.error(format!("site{index} names {selector}, {problem}"));
            }
            match *site {
                Site::InitializeSlot(class, name) if !self.facts.slots.contains(&(class, name)) => {
                    let name = self.facts.quote(name);
                    self.error(format!("site{index}: {class} declares no slot {name}"));
                }
                Site::ClassSlot(class) if !self.is_nested(class) => {
                    self.error(format!("site{index}: {class} is no nested class"));
                }
                _ => {}
            }
        }
    }

    fn is_nested(&self, class: ClassId) -> bool {
        let class = &self.facts.module.classes[class.index()];
        class.outer.is_some() && class.accessor.is_some()
    }

    fn check_lines(&mut self) {
        let lines = &self.function.lines;
        if lines.windows(2).any(|pair| pair[0].pc >= pair[1].pc) {
            self.error("the source positions are not in ascending order");
        }
        let length = self.function.code.len();
        if lines.last().is_some_and(|last| last.pc as usize > length) {
            self.error("a source position is beyond the end of the code");
        }
    }

    fn check_regions(&mut self) {
        let function = self.function;
        if function.regions.is_empty() {
            return;
        }
        if function.regions.len() > MOST_REGIONS {
            self.place = Place::Function(self.id);
            return self.error(format!("it has more than {MOST_REGIONS} regions"));
        }
        let mut starts = vec![false; function.code.len()];
        instructions(&function.code).for_each(|instruction| starts[instruction.pc] = true);
        for (index, region) in function.regions.iter().enumerate() {
            self.place = Place::Region(self.id, index);
            self.check_region(index, region, &starts);
        }
        let error = match Nesting::of(&function.regions) {
            Ok(nesting) => return self.check_ensure_handlers(&nesting),
            Err(error) => error,
        };
        let (region, problem) = match error {
            NestingError::Empty(index) => (index, format!("region {index} is empty")),
            NestingError::Overlap(one, other) => {
                let problem = "overlap, but neither contains the other";
                (other, format!("regions {one} and {other} {problem}"))
            }
            NestingError::Order(inner, outer) => {
                (inner, format!("region {inner} lies within region {outer}, but comes after it"))
            }
        };
        self.place = Place::Region(self.id, region);
        self.error(problem);
    }

    /// An unwinding that the handler of an `ensure` region resumes may lead to the handler of each region around.
    fn check_ensure_handlers(&mut self, nesting: &Nesting) {
        let regions = &self.function.regions;
        for (index, region) in regions.iter().enumerate() {
            // A place within the next region around is within all others, too.
            let Some(outer) = nesting.parents[index].filter(|_| region.kind == RegionKind::Ensure)
            else {
                continue;
            };
            if !(regions[outer].start..regions[outer].end).contains(&region.handler) {
                self.place = Place::Region(self.id, index);
                self.error(format!(
                    "the handler of region {index} lies outside of region {outer}, which is around region {index}"
                ));
            }
        }
    }

    fn check_region(&mut self, index: usize, region: &Region, starts: &[bool]) {
        let is_start = |pc: u32| starts.get(pc as usize).copied().unwrap_or(false);
        if !is_start(region.start) {
            self.error(format!("region {index} starts at {}, no instruction", region.start));
        }
        if !is_start(region.end) && region.end as usize != starts.len() {
            self.error(format!("region {index} ends at {}, no instruction", region.end));
        }
        if !is_start(region.handler) {
            let handler = region.handler;
            self.error(format!("the handler of region {index} is at {handler}, no instruction"));
        }
        if (region.start..region.end).contains(&region.handler) {
            self.error(format!("the handler of region {index} lies inside of it"));
        }
        self.check_any("value", region.value);
        if let RegionKind::Catch(class) = region.kind {
            self.check_any("class", class);
        }
        if code::reserved(self.function).contains(region.value) {
            let value = region.value;
            self.error(format!("region {index} writes {value}, which nothing may overwrite"));
        }
    }
}

/// The class and the selector or slot name of a site.
fn parts(site: &Site) -> (Option<ClassId>, Option<StringId>) {
    match *site {
        Site::Send { selector, access } => (class_of(access), Some(selector)),
        Site::InitializeSlot(class, name) => (Some(class), Some(name)),
        Site::Enclosing(class, _) | Site::Captures(class) | Site::ClassSlot(class) => {
            (Some(class), None)
        }
    }
}

fn class_of(access: Access) -> Option<ClassId> {
    match access {
        Access::Public | Access::Lexical => None,
        Access::Private(class, _)
        | Access::Super(class, _)
        | Access::Initializer(class)
        | Access::OwnInitializer(class)
        | Access::SuperInitializer(class)
        | Access::MixinInitializer(class, _) => Some(class),
    }
}

/// Whether a register of this type can have these bits.
fn is_canonical(kind: RegisterType, bits: u64) -> bool {
    let unused = 64 - kind.bits();
    match kind {
        RegisterType::Any | RegisterType::Defined(_) => false,
        _ if kind.is_signed() => (bits << unused) as i64 >> unused == bits as i64,
        _ => bits << unused >> unused == bits,
    }
}
