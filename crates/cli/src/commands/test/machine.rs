//! Runs the tests of one module, in this process: the one module of a run, or for [`super::processes`].

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use squall::Surroundings;
use squall::compiler::{CompileProblem, FileKind};
use squall::testing::{Case, FACTORY, NoTests, Outcome, Test, TestModule, TestRun};
use squall_newspeak::diagnostics::json::to_json;
use squall_newspeak::{Diagnostic, Source};

use super::events::{Begin, Event, INVALID, PASSED, Refusal, Verdict};
use super::modules;
use crate::arguments;
use crate::commands::{internal, start, start_in};
use crate::console::{Console, colour, print_error};
use crate::exit::Exit;
use crate::files::{self, Input};

/// Runs the tests of a file. Mistakes that its events do not tell are shown on the standard error output.
pub fn run(
    arguments: &arguments::Test,
    file: &str,
    report: &mut dyn FnMut(Event),
) -> Result<(), Exit> {
    if arguments.coverage.is_some() {
        squall::coverage::begin();
    }
    let options = modules::options(&arguments.modules, file)?;
    let module = load(file, arguments.modules.json, options.verify_all, report)?;
    let filter = arguments.filter.as_deref().unwrap_or("");
    let (chosen, skipped): (Vec<Test>, Vec<Test>) =
        module.tests().into_iter().partition(|test| test.name().contains(filter));
    let begin = |tests| Event::Begin(Begin { file: file.into(), tests, skipped: skipped.len() });
    if chosen.is_empty() {
        report(begin(0));
        return Ok(());
    }
    let machine = match arguments.modules.json {
        true => start_in(options, Aside(Console::new()))?,
        false => start(options)?,
    };
    let mut run = TestRun::new(machine, arguments.timeout).map_err(internal)?;
    let outcome = run.open(module).map_err(internal)?;
    if outcome != Outcome::Passed {
        let (outcome, message) = describe(outcome);
        report(begin(chosen.len()));
        report(Event::Module(Refusal { file: file.into(), outcome: outcome.into(), message }));
        return Ok(());
    }
    let cases = run.cases(&chosen).map_err(internal)?;
    report(begin(cases.len()));
    run_cases(&mut run, file, cases, report)?;
    squall::coverage::report().into_iter().for_each(|file| report(Event::Coverage(file)));
    Ok(())
}

/// The console, for tests whose report has the standard output for itself: what they print goes to the standard error output.
struct Aside(Console);

impl Surroundings for Aside {
    fn read_input(&self, most: usize) -> std::io::Result<Vec<u8>> {
        self.0.read_input(most)
    }

    fn write_output(&self, text: &str) {
        self.0.write_error(text);
    }

    fn write_error(&self, text: &str) {
        self.0.write_error(text);
    }

    fn flush(&self) {
        self.0.flush();
    }

    fn abandon(&self, code: i32) {
        self.0.abandon(code);
    }

    fn read_module(&self, path: &str) -> std::io::Result<Vec<u8>> {
        self.0.read_module(path)
    }
}

/// Runs the tests of a file for another process, which gets the events from a file.
pub fn run_for_parent(
    arguments: &arguments::Test,
    file: &str,
    events: &Path,
) -> Result<Exit, Exit> {
    let opened = OpenOptions::new().append(true).open(events);
    let mut output = opened.map_err(|error| files::unwritten(events.display(), &error))?;
    let mut failure = None;
    run(arguments, file, &mut |event| {
        failure = output.write_all(event.line().as_bytes()).err().or(failure.take());
    })?;
    match failure {
        Some(error) => Err(files::unwritten(events.display(), &error)),
        None => Ok(Exit::Success),
    }
}

fn run_cases(
    run: &mut TestRun,
    file: &str,
    cases: Vec<Case>,
    report: &mut dyn FnMut(Event),
) -> Result<(), Exit> {
    for case in cases {
        let begin = Instant::now();
        let outcome = run.run(&case).map_err(internal)?;
        let microseconds = begin.elapsed().as_micros() as u64;
        run.flush();
        let is_last = matches!(outcome, Outcome::Exit(_) | Outcome::TimedOut(_));
        let (outcome, message) = describe(outcome);
        report(Event::Test(Verdict {
            file: file.into(),
            name: case.name(),
            outcome: outcome.into(),
            message,
            microseconds,
        }));
        if is_last {
            break;
        }
    }
    Ok(())
}

/// The module of a file, which is told to the report if it is none.
pub fn load(
    path: &str,
    as_json: bool,
    verify_all: bool,
    report: &mut dyn FnMut(Event),
) -> Result<TestModule, Exit> {
    let mut refuse = |message: Option<String>| {
        report(Event::Module(Refusal { file: path.into(), outcome: INVALID.into(), message }));
        Exit::Invalid
    };
    let Input { kind, bytes, .. } =
        files::read_silently(path, &FileKind::ALL).map_err(|(exit, text)| {
            refuse(Some(text));
            exit
        })?;
    match TestModule::of(path, kind, &bytes, verify_all, &files::read_included) {
        Ok(module) => Ok(module),
        Err(NoTests::Untested) => {
            let text = format!(
                "{path} has no tests: its class has no factory `{FACTORY}`, and its comments have no examples"
            );
            Err(refuse(Some(text)))
        }
        Err(NoTests::Invalid(CompileProblem::Newspeak(source, mistakes))) if as_json => {
            mistakes.iter().for_each(|mistake| report(diagnostic(&source, mistake)));
            Err(Exit::Invalid)
        }
        Err(NoTests::Invalid(problem)) if as_json => Err(refuse(Some(problem.lines().join("\n")))),
        Err(NoTests::Invalid(problem)) => {
            print_error(&problem.render(colour()));
            Err(refuse(None))
        }
    }
}

fn diagnostic(source: &Source, diagnostic: &Diagnostic) -> Event {
    Event::Diagnostic(to_json(source, diagnostic))
}

/// The outcome's word, and its message.
pub fn describe(outcome: Outcome) -> (&'static str, Option<String>) {
    match outcome {
        Outcome::Passed => (PASSED, None),
        Outcome::Failed(message) => ("failed", Some(message)),
        Outcome::Error(message) => ("error", Some(message)),
        Outcome::Unresolved => (
            "unresolved",
            Some("its promise is not resolved, and nothing is left that could resolve it".into()),
        ),
        Outcome::Exit(code) => (
            "exit",
            Some(format!("the program ended with exit code {code}; the other tests did not run")),
        ),
        Outcome::TimedOut(strands) => {
            ("timeout", Some(format!("it took too long; the other tests did not run\n{strands}")))
        }
    }
}
