//! Modules with tests: the user's own ones, and those that are made of the examples in comments. The command line asks for
//! [`TestModule::of`], and [`super::TestRun::open`] opens one.
//!
//! The module of examples ([`squall_newspeak::examples`]) gets the names that an example can use: the public members of the
//! program that it documents, and the names of a [session](crate::session). An instance of the program is made if its factory
//! is `usingPlatform:` or `new`; else its examples know the names of a session only.

use std::collections::BTreeSet;
use std::path::Path;

use squall_bytecode::assembler::Read;
use squall_bytecode::module::{Module, Visibility, selector_arity};
use squall_newspeak::Source;
use squall_newspeak::examples::{Example, SELECTOR, as_tests, examples};

use super::{Test, is_test_module, tests_of};
use crate::compiler::{
    CompileProblem, FileKind, RunnableModule, compile_without_probes, module_with_includes,
};
use crate::library;

/// The factory of a program.
const PROGRAM_FACTORY: &str = "usingPlatform:";

/// A module with tests.
#[derive(Debug)]
pub struct TestModule {
    pub(super) module: RunnableModule,
    pub(super) subject: Option<Subject>,
    tests: Vec<Test>,
}

/// The program whose examples are the tests.
#[derive(Debug)]
pub(super) struct Subject {
    /// None for a module of the library, whose examples use it as all programs do.
    pub(super) program: Option<RunnableModule>,
    /// The selector by which an instance is made; empty if there is none.
    pub(super) factory: &'static str,
}

/// Why a file is no module with tests.
#[derive(Debug)]
pub enum NoTests {
    /// It is no module.
    Invalid(CompileProblem),
    /// It is a module without tests.
    Untested,
}

impl TestModule {
    /// The module with the tests of a file.
    pub fn of(
        path: &str,
        kind: FileKind,
        bytes: &[u8],
        verify_all: bool,
        read: Read,
    ) -> Result<TestModule, NoTests> {
        if let Some(source) = of_library(path, kind, bytes) {
            return match examples(&source) {
                found if found.is_empty() => Err(NoTests::Untested),
                found => of_examples(&source, &found, None).map_err(NoTests::Invalid),
            };
        }
        let module = module_with_includes(path, kind, bytes, verify_all, read);
        let module = module.map_err(NoTests::Invalid)?;
        if is_test_module(module.module()) {
            let tests = tests_of(module.module());
            return Ok(TestModule { module, subject: None, tests });
        }
        let source = Source::from_bytes(path, bytes);
        let found = if kind == FileKind::Newspeak { examples(&source) } else { Vec::new() };
        match found.is_empty() {
            true => Err(NoTests::Untested),
            false => of_examples(&source, &found, Some(module)).map_err(NoTests::Invalid),
        }
    }

    /// The tests, in textual order.
    pub fn tests(&self) -> Vec<Test> {
        self.tests.clone()
    }

    /// The module.
    pub fn module(&self) -> &Module {
        self.module.module()
    }
}

/// The text, if it is that of a module of the library.
fn of_library(path: &str, kind: FileKind, bytes: &[u8]) -> Option<Source> {
    let name = Path::new(path).file_stem()?.to_str()?;
    let is_it = kind == FileKind::Newspeak && library::source(name)?.as_bytes() == bytes;
    is_it.then(|| Source::from_bytes(path, bytes))
}

/// Makes the module of a program's examples.
fn of_examples(
    source: &Source,
    examples: &[Example],
    program: Option<RunnableModule>,
) -> Result<TestModule, CompileProblem> {
    let bytecode = program.as_ref().map(RunnableModule::module);
    let factory = bytecode.map(factory_of).unwrap_or_default();
    let head =
        "usingPlatform: platform testFramework: testing workspace: workspace subject: subject";
    // No program has members of these names.
    let slots = "private workspaceOfExamples = workspace. private subjectOfExamples = subject.";
    let written = as_tests(source, examples, head, slots, &members(bytecode, factory));
    let problem = |mistakes| CompileProblem::Newspeak(source.clone(), mistakes);
    let written = written.map_err(problem)?;
    let module = compile_without_probes(&written.module);
    let module = module.map_err(|mistakes| problem(written.relocate(mistakes)))?;
    let test = |(context, title)| Test {
        context: vec![context],
        selector: SELECTOR.to_owned(),
        title: Some(title),
    };
    let tests = written.names.into_iter().map(test).collect();
    Ok(TestModule { module, subject: Some(Subject { program, factory }), tests })
}

/// The selector by which an instance of a program can be made; empty if there is none.
fn factory_of(program: &Module) -> &'static str {
    let Some(main) = program.main_class.map(|main| &program.classes[main.index()]) else {
        return "";
    };
    let class_methods = main.class_methods.iter().map(|method| method.selector);
    let selectors = class_methods.chain([main.factory_selector]);
    let selectors: Vec<&str> = selectors.map(|id| program.string(id)).collect();
    let known = [PROGRAM_FACTORY, "new"];
    known.into_iter().find(|factory| selectors.contains(factory)).unwrap_or_default()
}

/// Members that send on what examples send without a receiver.
fn members(program: Option<&Module>, factory: &str) -> String {
    let own = program.filter(|_| !factory.is_empty()).map(public_members).unwrap_or_default();
    let workspace = library::module("Workspace").map(|module| public_members(&module));
    let mut known = workspace.unwrap_or_default();
    known.retain(|selector| selector_arity(selector) == 0 && !own.contains(selector));
    let own = own.iter().map(|selector| forwarded(selector, "subjectOfExamples"));
    own.chain(known.iter().map(|selector| forwarded(selector, "workspaceOfExamples"))).collect()
}

/// The selectors of the public methods, slots and classes of the main class, without operators.
fn public_members(module: &Module) -> BTreeSet<String> {
    let Some(main) = module.main_class.map(|main| &module.classes[main.index()]) else {
        return BTreeSet::new();
    };
    let methods = main.methods.iter().map(|method| (method.selector, method.visibility));
    let slots = main.slots.iter().map(|slot| (slot.name, slot.visibility));
    let nested = main.nested.iter().map(|class| &module.classes[class.index()]);
    let nested = nested.map(|class| (class.name, class.visibility));
    let members = methods.chain(slots).chain(nested);
    let public = members.filter(|(_, visibility)| *visibility == Visibility::Public);
    let selectors = public.map(|(selector, _)| module.string(selector).to_owned());
    selectors.filter(|selector| selector.starts_with(char::is_alphabetic)).collect()
}

/// A method that sends its message on.
fn forwarded(selector: &str, receiver: &str) -> String {
    let words = selector.split_inclusive(':').enumerate();
    let message = words.map(|(index, word)| match word.ends_with(':') {
        true => format!("{word} argument{index} "),
        false => word.to_owned(),
    });
    let message: String = message.collect();
    format!("{message} = ( ^ {receiver} {message} ) ")
}
