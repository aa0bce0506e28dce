//! Finds and runs the tests of a module, for `squall test`.
//!
//! A test module is a class with the factory `usingPlatform:testFramework:`. Its nested classes are searched for *test
//! contexts*, which have a method `TEST_CONTEXT` on their class side; classes on the way are instantiated once and
//! shared. The methods of a context whose names begin with `test` and take no arguments are the tests; each runs in a
//! new instance of its context. A test whose name begins with `testAsync` answers a promise and has passed when the
//! promise is resolved.
//!
//! The bytecode tells which methods are tests. `lib/Testing.ns` is the framework that modules get; it makes the
//! instances and judges the results.

use std::time::Duration;

use squall_bytecode::entities::ClassId;
use squall_bytecode::module::{ClassDefinition, Module};
use squall_heap::RootHandle;
use squall_runtime::library::bootstrap::BootError;

use crate::compiler::RunnableModule;
use crate::machine::{Machine, Reply};
use crate::watchdog::Watchdog;

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
}

impl Test {
    /// The name for people and filters: `Context.testSomething`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.context.join("."), self.selector)
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
    let mut tests = Vec::new();
    if let Some(main) = module.main_class {
        collect(module, main, &mut Vec::new(), &mut tests);
    }
    tests
}

fn collect(module: &Module, class: ClassId, path: &mut Vec<String>, tests: &mut Vec<Test>) {
    for &nested in &module.classes[class.index()].nested {
        let definition = &module.classes[nested.index()];
        path.push(module.string(definition.name).to_owned());
        match has_class_method(module, definition, MARK) {
            true => tests.extend(tests_in(module, definition, path)),
            false => collect(module, nested, path, tests),
        }
        path.pop();
    }
}

fn tests_in(
    module: &Module,
    context: &ClassDefinition,
    path: &[String],
) -> impl Iterator<Item = Test> {
    let selectors = context.methods.iter().map(|method| module.string(method.selector));
    let tests =
        selectors.filter(|selector| selector.starts_with("test") && !selector.contains(':'));
    tests.map(|selector| Test { context: path.to_vec(), selector: selector.to_owned() })
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
    framework: RootHandle,
    watchdog: Option<Watchdog>,
}

impl TestRun {
    /// Prepares to run tests. Each test, and each module's initialisation, may take at most `limit`.
    pub fn new(mut machine: Machine, limit: Option<Duration>) -> Result<TestRun, BootError> {
        let end = machine.ender();
        let watchdog = limit.map(|limit| Watchdog::new(limit, machine.observer(), move || end(1)));
        let watchdog = watchdog.transpose().map_err(|error| BootError(error.to_string()))?;
        let class = machine.library_class("Testing")?;
        let platform = machine.platform();
        match machine.send(class, "usingPlatform:", &[platform])? {
            Reply::Answer(framework) => Ok(TestRun { machine, framework, watchdog }),
            Reply::Exit(code) => Err(BootError(format!("the test framework exited with {code}"))),
            Reply::Stalled => Err(BootError("the test framework waits for ever".into())),
        }
    }

    /// Makes an instance of a test module, whose tests run next.
    pub fn open(&mut self, module: RunnableModule) -> Result<Outcome, BootError> {
        let handles = self.machine.handles();
        let class = self.machine.class_of_module(module)?;
        let outcome = self.tell("open:", &[class]);
        self.machine.release(handles);
        outcome
    }

    /// Runs a test of the open module.
    pub fn run(&mut self, test: &Test) -> Result<Outcome, BootError> {
        let handles = self.machine.handles();
        let selector = self.machine.string(&test.selector);
        let path = self.machine.string(&test.context.join("."));
        let (Some(selector), Some(path)) = (selector, path) else {
            return Ok(Outcome::Error("the heap is full".to_owned()));
        };
        let outcome = self.tell("run:in:", &[selector, path]);
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
        match self.machine.send(self.framework, selector, arguments)? {
            Reply::Answer(_) => {}
            Reply::Exit(code) => return Ok(Outcome::Exit(code)),
            Reply::Stalled => return Ok(Outcome::Error("it waits for ever".to_owned())),
        }
        if let Reply::Exit(code) = self.machine.run_turns() {
            return Ok(Outcome::Exit(code));
        }
        if self.machine.failed_turns() > failed_before {
            self.machine.send(self.framework, "turnsFailed", &[])?;
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
        match self.machine.send(self.framework, selector, &[])? {
            Reply::Answer(object) => Ok(self.machine.text(object).unwrap_or_default()),
            Reply::Exit(code) => Err(BootError(format!("the test framework exited with {code}"))),
            Reply::Stalled => Err(BootError("the test framework waits for ever".into())),
        }
    }
}
