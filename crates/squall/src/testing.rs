//! Finds and runs the tests of a module, for `squall test`.
//!
//! A test module is a class with the factory `usingPlatform:testFramework:`. Its nested classes are searched for *test
//! contexts*, which have a method `TEST_CONTEXT` on their class side; classes on the way are instantiated once and
//! shared. The methods of a context whose names begin with `test` and take no arguments are the tests; each runs in a
//! new instance of its context. A test whose name begins with `testAsync` answers a promise and has passed when the
//! promise is resolved.
//!
//! A method `testX:` with one argument is a test, too, if its context has a method `casesForX`: it runs once for each
//! element of that method's answer, which is a *case*.
//!
//! *Benchmarks* are the methods of contexts whose names begin with `bench` and take no arguments: [`benchmarks_of`]. The
//! framework runs one so many times in a row, and tells how long that took.
//!
//! The examples in the comments of a program are tests, too: [`TestModule`] makes a module of them.
//!
//! The bytecode tells which methods are tests. `lib/Testing.ns` is the framework that modules get; `lib/TestRunner.ns` makes
//! the instances and judges the results.

mod module;

use std::time::Duration;

use squall_bytecode::entities::ClassId;
use squall_bytecode::module::{ClassDefinition, Module};
use squall_heap::RootHandle;
use squall_runtime::library::bootstrap::BootError;

use crate::machine::{Machine, Reply};
use crate::watchdog::Watchdog;
use module::Subject;

pub use module::{NoTests, TestModule};

/// The selector of the factory of a test module.
pub const FACTORY: &str = "usingPlatform:testFramework:";

/// The class-side method that marks a test context.
const MARK: &str = "TEST_CONTEXT";

/// A test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    /// The names of the classes around it, from the module's nested class on.
    pub context: Vec<String>,
    /// The method.
    pub selector: String,
    /// What people call it, unless that follows from the others.
    pub title: Option<String>,
}

impl Test {
    /// The name for people and filters: `Context.testSomething`.
    pub fn name(&self) -> String {
        let place = || format!("{}.{}", self.context.join("."), self.selector);
        self.title.clone().unwrap_or_else(place)
    }
}

/// A run of a test: the test itself, or one of its cases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    test: Test,
    kind: CaseKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum CaseKind {
    /// The test has no argument.
    Whole,
    /// The test's argument is the element with this number, from 1 on.
    Numbered(usize),
    /// The cases could not be found out.
    Unknown(Outcome),
}

impl Case {
    /// The test's name, and the number of the case if there are several: `Context.testSum: case 2`.
    pub fn name(&self) -> String {
        match self.kind {
            CaseKind::Numbered(number) => format!("{} case {number}", self.test.name()),
            CaseKind::Whole | CaseKind::Unknown(_) => self.test.name(),
        }
    }
}

/// Whether a module has the factory of test modules.
pub fn is_test_module(module: &Module) -> bool {
    let main = module.main_class.map(|main| &module.classes[main.index()]);
    main.is_some_and(|main| has_class_method(module, main, FACTORY))
}

fn has_class_method(module: &Module, class: &ClassDefinition, selector: &str) -> bool {
    let methods = class.class_methods.iter().map(|method| method.selector);
    let mut selectors = methods.chain([class.factory_selector]);
    selectors.any(|id| module.string(id) == selector)
}

/// The tests of a module, in textual order.
pub fn tests_of(module: &Module) -> Vec<Test> {
    methods_of(module, |selector, context| match cases_of(selector) {
        Some(cases) => has_method(module, context, &cases),
        None => selector.starts_with(TEST) && !selector.contains(':'),
    })
}

/// The benchmarks of a module, in textual order.
pub fn benchmarks_of(module: &Module) -> Vec<Test> {
    methods_of(module, |selector, _| selector.starts_with(BENCHMARK) && !selector.contains(':'))
}

/// The methods of test contexts that meet a condition.
fn methods_of(module: &Module, is_meant: impl Fn(&str, &ClassDefinition) -> bool) -> Vec<Test> {
    let mut contexts = Vec::new();
    if let Some(main) = module.main_class {
        collect_contexts(module, main, &mut Vec::new(), &mut contexts);
    }
    let mut methods = Vec::new();
    for (path, context) in contexts {
        let selectors = context.methods.iter().map(|method| module.string(method.selector));
        let meant = selectors.filter(|selector| is_meant(selector, context));
        methods.extend(meant.map(|selector| Test {
            context: path.clone(),
            selector: selector.to_owned(),
            title: None,
        }));
    }
    methods
}

/// Adds the test contexts in a class, with the names of the classes on the way to each.
fn collect_contexts<'m>(
    module: &'m Module,
    class: ClassId,
    path: &mut Vec<String>,
    contexts: &mut Vec<(Vec<String>, &'m ClassDefinition)>,
) {
    for &nested in &module.classes[class.index()].nested {
        let definition = &module.classes[nested.index()];
        path.push(module.string(definition.name).to_owned());
        match has_class_method(module, definition, MARK) {
            true => contexts.push((path.clone(), definition)),
            false => collect_contexts(module, nested, path, contexts),
        }
        path.pop();
    }
}

fn has_method(module: &Module, class: &ClassDefinition, selector: &str) -> bool {
    class.methods.iter().any(|method| module.string(method.selector) == selector)
}

/// The beginning of a test's name.
const TEST: &str = "test";
/// The beginning of a benchmark's name.
const BENCHMARK: &str = "bench";

/// The method that answers the cases of a method with this selector, if that takes a case: `casesForX` for `testX:`.
fn cases_of(selector: &str) -> Option<String> {
    let name = selector.strip_prefix(TEST)?.strip_suffix(':')?;
    (!name.contains(':')).then(|| format!("casesFor{name}"))
}

/// The result of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The test passed.
    Passed,
    /// An assertion did not hold.
    Failed(String),
    /// An exception escaped from it.
    Error(String),
    /// Its promise is not resolved, and no strand is left that could resolve it.
    Unresolved,
    /// It asked the machine to end with this exit code; no other test can run.
    Exit(i32),
    /// It took too long; a description of the strands at that time. No other test can run.
    TimedOut(String),
}

/// Runs the tests of modules, one after the other.
pub struct TestRun {
    machine: Machine,
    runner: RootHandle,
    watchdog: Option<Watchdog>,
}

impl TestRun {
    /// Prepares to run tests. Each test, and each module's initialisation, may take at most `limit`.
    pub fn new(mut machine: Machine, limit: Option<Duration>) -> Result<TestRun, BootError> {
        let end = machine.ender();
        let watchdog = limit.map(|limit| Watchdog::new(limit, machine.observer(), move || end(1)));
        let watchdog = watchdog.transpose().map_err(|error| BootError(error.to_string()))?;
        let platform = machine.platform();
        let class = machine.library_class("Testing")?;
        let testing = answer(machine.send(class, "usingPlatform:", &[platform])?)?;
        let class = machine.library_class("TestRunner")?;
        let runner = machine.send(class, "usingPlatform:testing:", &[platform, testing])?;
        Ok(TestRun { runner: answer(runner)?, machine, watchdog })
    }

    /// Makes an instance of a test module, whose tests run next.
    pub fn open(&mut self, module: TestModule) -> Result<Outcome, BootError> {
        let handles = self.machine.handles();
        let class = self.machine.class_of_module(module.module)?;
        let outcome = match module.subject {
            None => self.tell("open:", &[class]),
            Some(subject) => self.open_examples(class, subject),
        };
        self.machine.release(handles);
        outcome
    }

    /// Makes an instance of a module of examples.
    fn open_examples(
        &mut self,
        class: RootHandle,
        Subject { program, factory }: Subject,
    ) -> Result<Outcome, BootError> {
        let workspace = self.machine.library_class("Workspace")?;
        let program = program.map(|program| self.machine.class_of_module(program)).transpose()?;
        let Some(factory) = self.machine.string(factory) else {
            return Ok(Outcome::Error("the heap is full".to_owned()));
        };
        self.tell("open:with:about:by:", &[class, workspace, program.unwrap_or(class), factory])
    }

    /// The runs of these tests of the open module, in their order.
    pub fn cases(&mut self, tests: &[Test]) -> Result<Vec<Case>, BootError> {
        let mut cases = Vec::new();
        for test in tests {
            let Some(selector) = cases_of(&test.selector) else {
                cases.push(Case { test: test.clone(), kind: CaseKind::Whole });
                continue;
            };
            let kinds = match self.tell_of(test, "findCases:in:", &[&selector])? {
                Outcome::Passed => {
                    let count = self.ask("caseCount")?.parse().unwrap_or(0);
                    (1..=count).map(CaseKind::Numbered).collect()
                }
                outcome => vec![CaseKind::Unknown(outcome)],
            };
            cases.extend(kinds.into_iter().map(|kind| Case { test: test.clone(), kind }));
        }
        Ok(cases)
    }

    /// Runs a case of a test of the open module.
    pub fn run(&mut self, Case { test, kind }: &Case) -> Result<Outcome, BootError> {
        match kind {
            CaseKind::Whole => self.tell_of(test, "run:in:", &[&test.selector]),
            CaseKind::Numbered(number) => {
                let cases = cases_of(&test.selector).unwrap_or_default();
                let words = [&test.selector, &cases, &number.to_string()];
                self.tell_of(test, "run:of:case:in:", &words)
            }
            CaseKind::Unknown(outcome) => Ok(outcome.clone()),
        }
    }

    /// Runs a benchmark of the open module so many times; answers how long that took, or how it failed.
    pub fn time(
        &mut self,
        benchmark: &Test,
        count: u64,
    ) -> Result<Result<Duration, Outcome>, BootError> {
        let words = [&count.to_string(), &benchmark.selector];
        Ok(match self.tell_of(benchmark, "time:of:in:", &words)? {
            Outcome::Passed => {
                let microseconds = self.ask("microseconds")?.parse().unwrap_or(0);
                Ok(Duration::from_micros(microseconds))
            }
            outcome => Err(outcome),
        })
    }

    /// Sends the framework a message whose arguments are these texts and the path of the test's context.
    fn tell_of(
        &mut self,
        test: &Test,
        selector: &str,
        texts: &[&String],
    ) -> Result<Outcome, BootError> {
        let handles = self.machine.handles();
        let path = test.context.join(".");
        let texts = texts.iter().copied().chain([&path]);
        let arguments: Option<Vec<_>> = texts.map(|text| self.machine.string(text)).collect();
        let outcome = match arguments {
            Some(arguments) => self.tell(selector, &arguments),
            None => Ok(Outcome::Error("the heap is full".to_owned())),
        };
        self.machine.release(handles);
        outcome
    }

    /// Flushes the tests' output.
    pub fn flush(&self) {
        self.machine.flush();
    }

    /// Sends the framework a message under the watchdog.
    fn tell(&mut self, selector: &str, arguments: &[RootHandle]) -> Result<Outcome, BootError> {
        let Some(watchdog) = &self.watchdog else {
            return self.tell_unwatched(selector, arguments);
        };
        watchdog.begin();
        let outcome = self.tell_unwatched(selector, arguments);
        let TestRun { machine, watchdog, .. } = self;
        let finding = watchdog.as_ref().and_then(|watchdog| machine.outside(|| watchdog.end()));
        finding.map_or(outcome, |finding| Ok(Outcome::TimedOut(finding)))
    }

    /// Sends the framework a message, runs all turns that result from it, and asks for the result.
    fn tell_unwatched(
        &mut self,
        selector: &str,
        arguments: &[RootHandle],
    ) -> Result<Outcome, BootError> {
        let failed_before = self.machine.failed_turns();
        match self.machine.send(self.runner, selector, arguments)? {
            Reply::Answer(_) => {}
            Reply::Exit(code) => return Ok(Outcome::Exit(code)),
            Reply::Stalled => return Ok(Outcome::Error("it waits for ever".to_owned())),
        }
        if let Reply::Exit(code) = self.machine.run_turns() {
            return Ok(Outcome::Exit(code));
        }
        if self.machine.failed_turns() > failed_before {
            self.machine.send(self.runner, "turnsFailed", &[])?;
        }
        let message = self.ask("message")?;
        Ok(match self.ask("outcome")?.as_str() {
            "passed" => Outcome::Passed,
            "failed" => Outcome::Failed(message),
            "error" => Outcome::Error(message),
            _ => Outcome::Unresolved,
        })
    }

    fn ask(&mut self, selector: &str) -> Result<String, BootError> {
        let object = answer(self.machine.send(self.runner, selector, &[])?)?;
        Ok(self.machine.text(object).unwrap_or_default())
    }
}

/// The answer of the framework, which neither exits nor waits.
fn answer(reply: Reply<RootHandle>) -> Result<RootHandle, BootError> {
    match reply {
        Reply::Answer(object) => Ok(object),
        Reply::Exit(code) => Err(BootError(format!("the test framework exited with {code}"))),
        Reply::Stalled => Err(BootError("the test framework waits for ever".into())),
    }
}
