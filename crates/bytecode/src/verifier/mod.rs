//! The verifier: proves, once and before a module runs, that running it cannot harm the virtual machine.
//! `squall::compiler` calls it for all bytecode that comes from outside.
//!
//! Execution relies on the properties listed here and checks none of them again. Verified code cannot read or write
//! outside of its frame, mix up tagged words and raw bits, read a register without a value, reach an address that is no
//! instruction, or run a cycle that is never interrupted. Properties that depend on the classes of objects (a receiver
//! that is no context, a selector that the receiver does not understand) are left to execution and end in a guest
//! fault.
//!
//! # Properties of a module
//!
//! 1. Strings are distinct, and each index names something that exists.
//! 2. The main class, if any, has an accessor and no outer class.
//! 3. Outer classes form no cycle. A class lists as nested exactly the classes that name it as
//!    their outer one and have an accessor, each once.
//! 4. Accessors are methods without parameters; the primary factory and both initializers are
//!    methods with as many as the factory's selector takes; the other methods have as many as their
//!    selector takes.
//! 5. No two members of one side of a class have the same selector. Instance-side members are slots
//!    (with setters, if mutable), nested classes and methods; class-side members are class methods,
//!    one of which may stand in for the primary factory. The names of slots and nested classes are
//!    unary selectors.
//!
//! 39. Names are one line of readable text: the path and the names of the module, its classes, members, functions, imports and
//!     exports have no control characters and at most 16 KiB. Reports and files for other tools show them as they are.
//!
//! Types and links have properties 25 to 31, below.
//!
//! # Properties of a function
//!
//! 6. It has 1 to 256 registers, enough for its arguments, and 1 to 2²⁴ words of code.
//! 7. Arguments and result of methods and block functions are `any`; only block functions capture.
//! 8. The home register, if any, is `any` and no argument.
//! 9. Raw constants are canonical: extended as their type demands; `any` is not allowed.
//! 10. Selectors of sites are not empty. An `initialize_slot` site names a slot that its class
//!     declares, a class-slot site names a nested class.
//! 11. Source positions ascend and lie within the code.
//! 12. A region is not empty, starts and ends at instructions (or ends where the code does), and
//!     its handler is an instruction outside of it. Two regions are apart, or one contains the
//!     other and comes later in the table. The value register is `any` and neither the home
//!     register nor a closure's `r0`; the class register is `any`. The handler of an `ensure` region
//!     lies within all regions around that region: the unwinding that it resumes may lead to their
//!     handlers, which then find the registers that they need. There are at most 1,000: an unwinding looks at those of each
//!     activation on its way.
//!
//! # Properties of code
//!
//! 13. It is a sequence of instructions whose unused bits are zero; the last one does not go on to
//!     a next one.
//! 14. Registers exist and have the types that the instruction table demands.
//! 15. A window starts at `r1` or above and lies within the frame with all its arguments; so does a
//!     range, from `r0` on. The operands of `send0`, `send1` and `send2` are below the register
//!     that receives the return address, so that a collection during the send finds them.
//! 16. Nothing but `make_home` writes the home register. Nothing writes `r0` of a block function,
//!     and no call destroys it.
//! 17. Jump targets are instructions; only `loop`, `loop_if`, `loop_unless` and `for_loop` jump
//!     backwards.
//! 18. A constant, site or special is of the kind that the instruction wants; the selector of a
//!     send takes the number of arguments that are there. Each site belongs to exactly one
//!     instruction.
//! 19. `call` names no block function, and agrees with its parameter and result types.
//!     `make_closure` names a block function and passes what it captures. `make_class` has at least
//!     three parts. Contexts have at most 255 variables. Steps of loops are not 0.
//! 20. `load_captured` and `return_nonlocal` are in block functions only; the index is one of the
//!     captured values, the first of which (the receiver) must exist for `return_nonlocal`.
//!     `return_home` and `leave_home` name the home register.
//! 21. A result has the function's result type.
//! 22. Only trusted modules contain `primitive`.
//!
//! # Properties of every path through the code
//!
//! Paths include those from each instruction of a region to its handler; see
//! [`crate::decode`] for what instructions initialise and destroy.
//!
//! 23. A register is initialised whenever it is read. The class register of a region counts as
//!     read at each instruction of the region.
//! 24. Whether there is a home marker at a place, made by `make_home` and not left by `leave_home`,
//!     does not depend on the path. Where there is one, `make_home` makes no other, no call
//!     destroys it, and the function is left by `return_home`, not by `return`.
//! 38. A register that may hold the token of an unwinding is read by `resume_unwind` only. So a token
//!     never leaves its activation, and the place where the unwinding goes on is this activation or
//!     one that is still active below it.
//!
//! # Properties of typed code
//!
//! Elements, keys, values, parameters and results have the types that the tuple, list, map,
//! function or process says; a tuple's index is one of its elements; `load_bytes` names a string.
//!
//! # Properties of types and links
//!
//! 25. A row of the type table refers to earlier rows only, and no two rows are equal. There are at
//!     most 65,536 rows. A tuple has 1 to 255 elements; functions and processes have at most 255
//!     parameters. Registers, constants and results have types that exist.
//! 26. Tuples, lists and maps hold neither `any` nor what processes communicate by: a channel, an end
//!     of one, a barrier or a bucket. No parameter of a process is `any`.
//! 27. The keys of a map are totally ordered: numbers, and tuples and lists of ordered types.
//! 28. Raw constants are of basic types.
//! 29. Name and version, if any, and the names of imports and exports are not empty. Versions and
//!     requirements are ones.
//! 30. A function without code is listed by exactly one import, once; it has parameters, which are all
//!     its registers, and a result, and nothing else. It can be called like any other.
//! 31. Exports have distinct names, and name functions with code.
//!
//! # Properties of forks, rendezvous and choices
//!
//! 32. Parameters of processes are not `any`; a process is left by `end_process`, the other functions
//!     are not. `spawn` names a process, and agrees with its parameter types.
//! 33. `par`, `par_for` and `accept` are in functions and processes, and open scopes that are properly
//!     nested ([`crate::scopes`]), at most 64 deep. Jumps stay within a scope, regions and their
//!     handlers lie in one, and no `return` is in one.
//! 34. The alternatives of an `alt` follow it without gaps up to `alt_end`, and nothing leads there but
//!     the `alt`.
//! 35. The register for the writer of an `accept` is not written or destroyed before its `end_accept`,
//!     which names it.
//! 36. What a branch leaves to the frame around it, no other branch of the fork leaves or reads; the
//!     body of a `par_for` reads nothing that it has not written itself, but writes somewhere.
//! 37. What a branch reads of the frame around it is not `any`; what it writes that is `any` has no value
//!     afterwards.
//!
//! # Cost
//!
//! Everything but properties 23, 24, 36, 37 and 38 takes one pass. Those are solved with sets of registers,
//! each of which can change only a few hundred times, so the time is linear in the size of the
//! module.

mod classes;
mod code;
mod flow;
mod function;
mod links;
mod processes;
mod report;
mod typed;
mod types;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

pub use report::{Place, VerifyError};

use crate::entities::{ClassId, FunctionId, StringId};
use crate::module::{Module, selector_arity};
use crate::types::{RegisterType, boxable_rows, ordered_rows, short_texts};
use report::Report;

/// How far a module is believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// It comes with the virtual machine and may use primitives.
    Trusted,
    /// It can come from any source.
    Untrusted,
}

/// Checks a module; on failure answers the first [`VerifyError::MOST`] errors at most.
pub fn verify(module: &Module, trust: Trust) -> Result<(), Vec<VerifyError>> {
    let mut report = Report::new(module);
    let facts = Facts::of(module, trust);
    check_tables(&facts, &mut report);
    check_names(&facts, &mut report);
    types::check(&facts, &mut report);
    links::check(&facts, &mut report);
    classes::check(&facts, &mut report);
    for index in 0..module.functions.len() {
        if report.is_full() {
            break;
        }
        function::check(&facts, FunctionId(index as u32), &mut report);
    }
    report.finish()
}

/// A module, with data that is looked up repeatedly.
struct Facts<'a> {
    module: &'a Module,
    trust: Trust,
    /// For each string, the number of arguments it takes as a selector; `None` for the empty string.
    arities: Vec<Option<usize>>,
    /// For the name of a slot the selector of its setter, if that is a string of the module.
    setters: HashMap<StringId, StringId>,
    slots: HashSet<(ClassId, StringId)>,
    /// For each row of the type table whether it is totally ordered.
    ordered: Vec<bool>,
    /// For each row of the type table whether there are objects for its values.
    boxable: Vec<bool>,
    /// For each row of the type table its text, if that is short; made at the first request.
    texts: OnceCell<Vec<Option<String>>>,
}

impl<'a> Facts<'a> {
    fn of(module: &'a Module, trust: Trust) -> Facts<'a> {
        let arity = |text: &String| (!text.is_empty()).then(|| selector_arity(text));
        let slots = module.classes.iter().enumerate().flat_map(|(index, class)| {
            class.slots.iter().map(move |slot| (ClassId(index as u32), slot.name))
        });
        Facts {
            module,
            trust,
            arities: module.strings.iter().map(arity).collect(),
            setters: setters(&module.strings),
            slots: slots.collect(),
            ordered: ordered_rows(&module.types),
            boxable: boxable_rows(&module.types),
            texts: OnceCell::new(),
        }
    }

    /// How many arguments a selector takes; none if it is no selector.
    fn arity(&self, selector: StringId) -> Option<usize> {
        self.arities.get(selector.index()).copied().flatten()
    }

    fn has_string(&self, id: StringId) -> bool {
        id.index() < self.module.strings.len()
    }

    fn has_class(&self, id: ClassId) -> bool {
        id.index() < self.module.classes.len()
    }

    /// Whether values of a type are totally ordered.
    fn is_ordered(&self, kind: RegisterType) -> bool {
        match kind {
            RegisterType::Defined(id) => self.ordered.get(id.index()).copied().unwrap_or(false),
            basic => basic.is_number(),
        }
    }

    /// Whether there are objects for values of a type.
    fn is_boxable(&self, kind: RegisterType) -> bool {
        match kind {
            RegisterType::Defined(id) => self.boxable.get(id.index()).copied().unwrap_or(false),
            basic => basic.is_scalar(),
        }
    }

    fn has_type(&self, kind: RegisterType) -> bool {
        kind.defined().is_none_or(|id| id.index() < self.module.types.len())
    }

    /// A type as errors show it.
    fn show(&self, kind: RegisterType) -> String {
        let texts = self.texts.get_or_init(|| short_texts(&self.module.types));
        let text = kind.defined().and_then(|id| texts.get(id.index())).and_then(Option::as_deref);
        text.map_or_else(|| kind.to_string(), str::to_owned)
    }

    /// The text of a string as errors quote it: not too much of it.
    fn quote(&self, id: StringId) -> String {
        report::quote(self.module.string(id))
    }
}

fn setters(strings: &[String]) -> HashMap<StringId, StringId> {
    let ids = |index| StringId(index as u32);
    let all: HashMap<&str, StringId> =
        strings.iter().enumerate().map(|(index, text)| (text.as_str(), ids(index))).collect();
    let with_colon = strings.iter().enumerate().filter_map(|(index, text)| {
        let name = all.get(text.strip_suffix(':')?)?;
        Some((*name, ids(index)))
    });
    with_colon.collect()
}

/// Properties 1 and 2, as far as they concern the module itself.
fn check_tables(facts: &Facts, report: &mut Report) {
    let module = facts.module;
    let mut seen = HashMap::new();
    for (index, text) in module.strings.iter().enumerate() {
        if let Some(first) = seen.insert(text.as_str(), index) {
            report.error(Place::Module, format!("str{index} is the same string as str{first}"));
        }
    }
    if let Some(path) = module.path.filter(|&path| !facts.has_string(path)) {
        report.error(Place::Module, format!("the path is {path}, which does not exist"));
    }
    let Some(main) = module.main_class else { return };
    match module.classes.get(main.index()) {
        None => report.error(Place::Module, format!("the main class {main} does not exist")),
        Some(class) => {
            if class.outer.is_some() {
                report.error(Place::Class(main), "the main class has an outer class");
            }
            if class.accessor.is_none() {
                report.error(Place::Class(main), "the main class has no accessor");
            }
        }
    }
}

/// Property 39.
fn check_names(facts: &Facts, report: &mut Report) {
    let module = facts.module;
    let links =
        module.imports.iter().map(|it| it.module).chain(module.exports.iter().map(|it| it.name));
    let own = module.path.into_iter().chain(module.name).chain(module.version);
    for name in own.chain(links) {
        check_name(facts, name, Place::Module, report);
    }
    for (index, class) in module.classes.iter().enumerate() {
        let members = class.slots.iter().map(|slot| slot.name);
        let methods = class.methods.iter().chain(&class.class_methods).map(|it| it.selector);
        for name in [class.name].into_iter().chain(members).chain(methods) {
            check_name(facts, name, Place::Class(ClassId(index as u32)), report);
        }
    }
    for (index, function) in module.functions.iter().enumerate() {
        check_name(facts, function.name, Place::Function(FunctionId(index as u32)), report);
    }
}

fn check_name(facts: &Facts, name: StringId, place: Place, report: &mut Report) {
    const LONGEST: usize = 16 << 10;
    if !facts.has_string(name) {
        return;
    }
    let text = facts.module.string(name);
    if text.len() > LONGEST {
        report.error(place, format!("the name {} is longer than 16 KiB", facts.quote(name)));
    } else if text.chars().any(char::is_control) {
        report.error(place, format!("the name {} has control characters", facts.quote(name)));
    }
}

#[cfg(test)]
mod tests;
