//! Evaluates typed inputs, for `squall eval` and `squall repl`.
//!
//! Each input becomes a module of its own (`input`) with accessors for the names it uses. The workspace object,
//! `lib/Workspace.ns`, stays from one input to the next: it holds the variables, evaluates, shows values and reports
//! exceptions.

mod input;

use std::collections::BTreeSet;
use std::sync::Arc;

use squall_bytecode::module::{Module, Visibility, selector_arity};
use squall_heap::RootHandle;
use squall_runtime::concurrency::interruption::Interruptible;
use squall_runtime::library::bootstrap::BootError;

use crate::compiler::{CompileProblem, compile_newspeak};
use crate::library;
use crate::machine::{Machine, Reply};
use input::{Input, Names};

pub use input::{is_class, is_complete};

/// Inputs evaluated one after the other, with the variables they leave behind.
pub struct Session {
    machine: Machine,
    workspace: RootHandle,
    names: Names,
    evaluation: Arc<Interruptible>,
}

/// The end of an input's evaluation.
#[derive(Debug)]
pub enum Evaluation {
    /// The value was shown.
    Done,
    /// An exception was reported.
    Failed,
    /// The value is a promise, and no strand is left that could resolve it.
    Unresolved,
    /// The input is no program.
    Invalid(CompileProblem),
    /// The program asked the machine to end with this exit code.
    Exit(i32),
    /// Another thread has interrupted it: the strands that it has made are ended.
    Interrupted,
}

impl Session {
    /// A session without variables.
    pub fn new(mut machine: Machine) -> Result<Session, BootError> {
        let class = machine.library_class("Workspace")?;
        let platform = machine.platform();
        let workspace = answer(machine.send(class, "usingPlatform:", &[platform])?)?;
        let selectors = library::module("Workspace").map(|module| public_selectors(&module));
        let mut known = selectors.unwrap_or_default();
        // The messages with arguments are the machine's, and would come before those that a typed class inherits.
        known.retain(|selector| selector_arity(selector) == 0);
        let names = Names { known, ..Names::default() };
        Ok(Session { machine, workspace, names, evaluation: Arc::default() })
    }

    /// A function that interrupts the evaluation of an input, for another thread; it does nothing if none is under way.
    pub fn interrupter(&self) -> impl Fn() + Send + Sync + use<> {
        self.machine.interrupter(self.evaluation.clone())
    }

    /// Evaluates an input with all turns that result from it, and shows its value on the standard output.
    ///
    /// `name` is the input's name in diagnostics and traces.
    /// `show` shows warnings about the input, before it is evaluated.
    pub fn evaluate(
        &mut self,
        name: &str,
        text: &str,
        show: impl FnOnce(&CompileProblem),
    ) -> Result<Evaluation, BootError> {
        let input = match Input::new(name, text, &self.names) {
            Ok(input) => input,
            Err(problem) => return Ok(Evaluation::Invalid(problem)),
        };
        let mut module = match compile_newspeak(input.source(name), cfg!(debug_assertions)) {
            Ok(module) => module,
            Err(problem) => return Ok(Evaluation::Invalid(input.relocate(problem))),
        };
        module.shift_first_line(input.columns_before());
        if let Some(warnings) = input.warnings(name, &self.names) {
            show(&warnings);
        }
        let message = if input.declares() { "declare:" } else { "evaluate:" };
        self.names.declare(input.new_variables, message == "declare:");
        self.names.declared.extend(public_selectors(module.module()));
        let handles = self.machine.handles();
        let class = self.machine.class_of_module(module)?;
        let evaluation = self.run(class, message);
        // An exit may have come between: then there is no further input.
        self.evaluation.end();
        self.machine.release(handles);
        self.machine.flush();
        evaluation
    }

    /// Makes an instance of an input's module, and sends the workspace this message with it.
    fn run(&mut self, class: RootHandle, message: &str) -> Result<Evaluation, BootError> {
        let object = answer(self.machine.send(class, "in:", &[self.workspace])?)?;
        self.machine.begin(&self.evaluation);
        match self.machine.send(self.workspace, message, &[object])? {
            Reply::Answer(_) => {}
            Reply::Exit(code) => return Ok(Evaluation::Exit(code)),
            Reply::Stalled => return Ok(Evaluation::Failed),
        }
        let is_interrupted = loop {
            if let Reply::Exit(code) =
                self.machine.run_turns_until(|| self.evaluation.is_interrupted())
            {
                return Ok(Evaluation::Exit(code));
            }
            if let Some(is_interrupted) = self.evaluation.end() {
                break is_interrupted;
            }
        };
        let outcome = answer(self.machine.send(self.workspace, "takeOutcome", &[])?)?;
        if is_interrupted {
            return Ok(Evaluation::Interrupted);
        }
        Ok(match self.machine.text(outcome).as_deref() {
            Some("failed") => Evaluation::Failed,
            Some("unresolved") => Evaluation::Unresolved,
            _ => Evaluation::Done,
        })
    }

    /// From now on, long descriptions of values are cut.
    pub fn cut_long_values(&mut self) -> Result<(), BootError> {
        answer(self.machine.send(self.workspace, "cutLongValues", &[])?).map(|_| ())
    }

    /// The variables, in alphabetical order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.names.variables.iter().map(String::as_str)
    }

    /// The names for completion: variables, and selectors of public methods of the library and of the modules loaded so
    /// far; in alphabetical order.
    pub fn vocabulary(&self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = &self.names.variables | &self.names.known;
        for module in library::names().filter_map(library::module) {
            names.extend(public_selectors(&module));
        }
        for module in self.machine.modules() {
            names.extend(public_selectors(&module.bytecode.whole()));
        }
        names.retain(|name| name.starts_with(|first: char| first.is_alphabetic()));
        names
    }
}

fn answer(reply: Reply<RootHandle>) -> Result<RootHandle, BootError> {
    match reply {
        Reply::Answer(object) => Ok(object),
        Reply::Exit(code) => Err(BootError(format!("the workspace exited with {code}"))),
        Reply::Stalled => Err(BootError("the workspace waits for ever".into())),
    }
}

/// The selectors of all public methods, slots and classes of a module.
fn public_selectors(module: &Module) -> BTreeSet<String> {
    let mut selectors = BTreeSet::new();
    for class in &module.classes {
        let methods = class.methods.iter().chain(&class.class_methods);
        let methods = methods.map(|method| (method.selector, method.visibility));
        let slots = class.slots.iter().map(|slot| (slot.name, slot.visibility));
        for (selector, visibility) in methods.chain(slots) {
            if visibility == Visibility::Public {
                selectors.insert(module.string(selector).to_owned());
            }
        }
        if class.visibility == Visibility::Public {
            selectors.insert(module.string(class.name).to_owned());
        }
    }
    selectors
}
