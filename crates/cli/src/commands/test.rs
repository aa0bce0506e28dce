//! `squall test`: runs the tests in files. `commands` calls this module.
//!
//! For people: a line per module, a line per test that did not pass, a summary. For programs
//! (`--json`), one object per line:
//!
//! | event | fields |
//! |---|---|
//! | `"test"` | `file`, `name`, `outcome`, `message` or null, `microseconds` |
//! | `"diagnostic"` | as of `squall check`: a mistake in a file; nothing runs then |
//! | `"module"` | `file`, `outcome`, `message`: the module itself could not be made; `invalid` if the file holds no test module |
//! | `"summary"` | `passed`, `failed`, `skipped`, `microseconds` |
//!
//! Outcomes are `passed`, `failed` (an assertion), `error` (an exception), `unresolved` (a promise),
//! `exit` (the program ended) and `timeout` (`--timeout`); nothing runs after the last two.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use squall::compiler::{CompileProblem, FileKind, RunnableModule, module_with_includes};
use squall::testing::{FACTORY, Outcome, Test, TestRun, is_test_module, tests_of};

use squall_newspeak::diagnostics::json::to_json;
use squall_newspeak::{Diagnostic, Source};

use super::schedules::test_schedules;
use super::{internal, start};
use crate::arguments;
use crate::console::{colour, complain, print, print_error};
use crate::exit::Exit;
use crate::files::{self, Input};
use crate::packages;

pub fn test(arguments: &arguments::Test) -> Result<Exit, Exit> {
    if let Some(count) = arguments.schedules {
        return test_schedules(arguments, count);
    }
    let mut options = arguments.machine.options(arguments.files.clone());
    // All files run in one machine, so they have the packages of the first.
    if let Some(project) = packages::project_of(&arguments.files[0], &arguments.packages)? {
        options.packages = packages::packages_of(&project)?;
    }
    let modules = arguments.files.iter().map(|path| load(path, arguments.json, options.verify_all));
    // Each file is checked, even after a file with mistakes.
    let modules: Vec<Result<RunnableModule, Exit>> = modules.collect();
    let modules = modules.into_iter().collect::<Result<Vec<_>, Exit>>()?;
    let run = TestRun::new(start(options)?, arguments.timeout).map_err(internal)?;
    let mut tester = Tester { run, arguments, counts: Counts::default() };
    let begin = Instant::now();
    for (path, module) in arguments.files.iter().zip(modules) {
        tester.module(path, module)?;
        if tester.counts.has_exited {
            break;
        }
    }
    if let Some(filter) = arguments.filter.as_deref()
        && tester.counts.passed + tester.counts.failed == 0
    {
        complain(&format!("no test's name contains `{filter}`"));
        return Ok(Exit::Failure);
    }
    tester.summarise(begin.elapsed());
    Ok(if tester.counts.failed == 0 { Exit::Success } else { Exit::Failure })
}

fn load(path: &str, as_json: bool, verify_all: bool) -> Result<RunnableModule, Exit> {
    let refuse = |exit, text: String| {
        match as_json {
            true => print(&format!("{}\n", module_event(path, "invalid", Some(&text)))),
            false => complain(&text),
        }
        exit
    };
    let input = files::read_silently(path, &FileKind::ALL);
    let Input { kind, bytes, .. } = input.map_err(|(exit, text)| refuse(exit, text))?;
    let module = module_with_includes(path, kind, &bytes, verify_all, &files::read_included);
    let module = module.map_err(|problem| match problem {
        CompileProblem::Newspeak(source, mistakes) if as_json => {
            mistakes.iter().for_each(|mistake| print(&diagnostic_event(&source, mistake)));
            Exit::Invalid
        }
        problem if as_json => refuse(Exit::Invalid, problem.lines().join("\n")),
        problem => {
            print_error(&problem.render(colour()));
            Exit::Invalid
        }
    })?;
    if !is_test_module(module.module()) {
        let text = format!("{path} is no test module: its class has no factory `{FACTORY}`");
        return Err(refuse(Exit::Invalid, text));
    }
    Ok(module)
}

fn module_event(path: &str, outcome: &str, message: Option<&str>) -> Value {
    json!({ "event": "module", "file": path, "outcome": outcome, "message": message })
}

fn diagnostic_event(source: &Source, diagnostic: &Diagnostic) -> String {
    let mut object = to_json(source, diagnostic);
    object["event"] = "diagnostic".into();
    format!("{object}\n")
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
    has_exited: bool,
}

struct Tester<'a> {
    run: TestRun,
    arguments: &'a arguments::Test,
    counts: Counts,
}

impl Tester<'_> {
    fn module(&mut self, path: &str, module: RunnableModule) -> Result<(), Exit> {
        let tests = tests_of(module.module());
        let filter = self.arguments.filter.as_deref().unwrap_or("");
        let (chosen, skipped): (Vec<Test>, Vec<Test>) =
            tests.into_iter().partition(|test| test.name().contains(filter));
        self.counts.skipped += skipped.len();
        if chosen.is_empty() {
            return Ok(());
        }
        let plural = if chosen.len() == 1 { "" } else { "s" };
        self.for_people(|| format!("{path}: {} test{plural}\n", chosen.len()));
        match self.run.open(module).map_err(internal)? {
            Outcome::Passed => self.tests(path, &chosen),
            outcome => {
                self.counts.failed += chosen.len();
                self.module_failed(path, &outcome);
                Ok(())
            }
        }
    }

    fn tests(&mut self, path: &str, tests: &[Test]) -> Result<(), Exit> {
        for (index, test) in tests.iter().enumerate() {
            let begin = Instant::now();
            let outcome = self.run.run(test).map_err(internal)?;
            let time = begin.elapsed();
            self.run.flush();
            self.report(path, test, &outcome, time);
            match outcome {
                Outcome::Passed => self.counts.passed += 1,
                Outcome::Exit(_) | Outcome::TimedOut(_) => {
                    self.counts.failed += tests.len() - index;
                    self.counts.has_exited = true;
                    return Ok(());
                }
                _ => self.counts.failed += 1,
            }
        }
        Ok(())
    }

    fn report(&self, path: &str, test: &Test, outcome: &Outcome, time: Duration) {
        let (name, (word, message)) = (test.name(), describe(outcome));
        self.for_programs(|| {
            json!({
                "event": "test", "file": path, "name": name, "outcome": word, "message": message,
                "microseconds": time.as_micros() as u64,
            })
        });
        if *outcome != Outcome::Passed {
            self.for_people(|| {
                let message = message.unwrap_or_default();
                format!("  {word}: {name}\n{}", indented(&message))
            });
        }
    }

    fn module_failed(&mut self, path: &str, outcome: &Outcome) {
        let (word, message) = describe(outcome);
        self.counts.has_exited |= matches!(outcome, Outcome::Exit(_) | Outcome::TimedOut(_));
        self.for_programs(|| module_event(path, word, message.as_deref()));
        self.for_people(|| {
            let message = message.unwrap_or_default();
            format!("  {word}: the module cannot be made\n{}", indented(&message))
        });
    }

    fn summarise(&self, time: Duration) {
        let Counts { passed, failed, skipped, .. } = self.counts;
        self.for_programs(|| {
            json!({
                "event": "summary", "passed": passed, "failed": failed, "skipped": skipped,
                "microseconds": time.as_micros() as u64,
            })
        });
        self.for_people(|| {
            let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
            format!("{passed} passed, {failed} failed{skipped}; {}\n", seconds(time))
        });
    }

    fn for_people(&self, text: impl FnOnce() -> String) {
        if !self.arguments.json {
            print(&text());
        }
    }

    fn for_programs(&self, value: impl FnOnce() -> Value) {
        if self.arguments.json {
            print(&format!("{}\n", value()));
        }
    }
}

/// The outcome's word, and its message.
fn describe(outcome: &Outcome) -> (&'static str, Option<String>) {
    match outcome {
        Outcome::Passed => ("passed", None),
        Outcome::Failed(message) => ("failed", Some(message.clone())),
        Outcome::Error(message) => ("error", Some(message.clone())),
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

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}
