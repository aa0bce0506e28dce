//! The report of a test run, in one of several forms: text for people, `--json`, `--tap`; and a file of JUnit's form
//! beside it. The modules that run tests send their events here.
//!
//! Invariant: a test that a module has announced and that did not end counts as failed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::coverage::Collected;
use super::events::{Begin, Event, INVALID, PASSED, Refusal, Summary, Verdict};
use crate::arguments;
use crate::console::{complain, print, print_error};
use crate::exit::Exit;
use crate::files;

/// The form of what is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A line for each module, a line for each test that did not pass, a summary.
    People,
    /// One JSON object in each line.
    Json,
    /// The Test Anything Protocol, version 14.
    Tap,
}

/// See the head of the file.
pub struct Report {
    form: Form,
    filter: Option<String>,
    begin: Instant,
    counts: Summary,
    /// How many tests of the present module are not over.
    left: usize,
    /// How many files hold no program, or no tests.
    invalid: usize,
    /// How many tests the report has numbered.
    numbered: usize,
    junit: Option<JUnit>,
    coverage: Option<(PathBuf, Collected)>,
}

/// The file in JUnit's form.
struct JUnit {
    path: PathBuf,
    report: quick_junit::Report,
    /// The tests of the present module.
    suite: Option<TestSuite>,
}

impl Report {
    /// An empty report; the run begins.
    pub fn new(arguments: &arguments::Test) -> Report {
        let form = match (arguments.modules.json, arguments.tap) {
            (true, _) => Form::Json,
            (_, true) => Form::Tap,
            _ => Form::People,
        };
        if form == Form::Tap {
            print("TAP version 14\n");
        }
        let junit = arguments.junit.clone().map(|path| JUnit {
            path,
            report: quick_junit::Report::new("squall"),
            suite: None,
        });
        Report {
            form,
            filter: arguments.filter.clone(),
            begin: Instant::now(),
            counts: Summary::default(),
            left: 0,
            invalid: 0,
            numbered: 0,
            junit,
            coverage: arguments.coverage.clone().map(|folder| (folder, Collected::default())),
        }
    }

    /// Shows the output of a program under test.
    pub fn output(&self, text: &str) {
        match self.form {
            Form::Tap => print(&prefixed("# ", text)),
            Form::People => print(text),
            // Every line of the standard output is an object.
            Form::Json => print_error(text),
        }
    }

    /// Adds an event.
    pub fn note(&mut self, event: &Event) {
        if self.form == Form::Json && !matches!(event, Event::Coverage(_)) {
            print(&event.line());
        }
        match event {
            Event::Begin(begin) => self.begins(begin),
            Event::Test(verdict) => self.test(verdict),
            Event::Module(refusal) => self.module(refusal),
            Event::Diagnostic(_) => self.invalid += 1,
            Event::Coverage(file) => {
                if let Some((_, collected)) = &mut self.coverage {
                    collected.add(file);
                }
            }
            Event::Summary(_) => {}
        }
    }

    fn begins(&mut self, begin: &Begin) {
        self.end_module();
        self.left = begin.tests;
        self.counts.skipped += begin.skipped;
        if begin.tests > 0 {
            let plural = if begin.tests == 1 { "" } else { "s" };
            self.for_people(|| format!("{}: {} test{plural}\n", begin.file, begin.tests));
            if let Some(junit) = &mut self.junit {
                junit.begin(&begin.file);
            }
        }
    }

    /// The tests of the present module that are not over have failed.
    fn end_module(&mut self) {
        self.counts.failed += std::mem::take(&mut self.left);
    }

    fn test(&mut self, verdict: &Verdict) {
        let Verdict { name, outcome, message, .. } = verdict;
        self.left = self.left.saturating_sub(1);
        match outcome == PASSED {
            true => self.counts.passed += 1,
            false => {
                self.counts.failed += 1;
                self.for_people(|| {
                    format!("  {outcome}: {name}\n{}", indented(message.as_deref()))
                });
            }
        }
        self.tap(outcome, name, message.as_deref());
        if let Some(junit) = &mut self.junit {
            junit.add(verdict);
        }
    }

    fn module(&mut self, refusal: &Refusal) {
        let Refusal { file, outcome, message } = refusal;
        if outcome == INVALID {
            self.invalid += 1;
            if let (Some(message), true) = (message, self.form != Form::Json) {
                complain(message);
            }
            return;
        }
        self.end_module();
        self.for_people(|| {
            format!("  {outcome}: the module cannot be made\n{}", indented(message.as_deref()))
        });
        let name = format!("{file}: the module cannot be made");
        self.tap(outcome, &name, message.as_deref());
        if let Some(junit) = &mut self.junit {
            let (file, outcome, message) = (file.clone(), outcome.clone(), message.clone());
            junit.add(&Verdict { file, name, outcome, message, microseconds: 0 });
        }
    }

    /// Ends the report; answers the command's result.
    pub fn finish(mut self) -> Result<Exit, Exit> {
        self.end_module();
        let time = self.begin.elapsed();
        self.counts.microseconds = time.as_micros() as u64;
        if let Some(junit) = self.junit.take() {
            junit.write(time)?;
        }
        if self.invalid > 0 {
            if self.counts.passed + self.counts.failed > 0 {
                self.summarise(time);
            }
            return Err(Exit::Invalid);
        }
        if let Some(filter) = self.filter.as_deref()
            && self.counts.passed + self.counts.failed == 0
        {
            complain(&format!("no test's name contains `{filter}`"));
            return Ok(Exit::Failure);
        }
        self.summarise(time);
        if let Some((folder, collected)) = &self.coverage {
            let summary = collected.write(folder)?;
            self.for_people(|| summary);
        }
        Ok(if self.counts.failed == 0 { Exit::Success } else { Exit::Failure })
    }

    fn summarise(&self, time: Duration) {
        let Summary { passed, failed, skipped, .. } = self.counts;
        match self.form {
            Form::Json => print(&Event::Summary(self.counts).line()),
            Form::Tap => print(&format!("1..{}\n", self.numbered)),
            Form::People => {
                let skipped =
                    if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
                let seconds = time.as_secs_f64();
                print(&format!("{passed} passed, {failed} failed{skipped}; {seconds:.3} s\n"));
            }
        }
    }

    fn for_people(&self, text: impl FnOnce() -> String) {
        if self.form == Form::People {
            print(&text());
        }
    }

    fn tap(&mut self, outcome: &str, name: &str, message: Option<&str>) {
        if self.form != Form::Tap {
            return;
        }
        self.numbered += 1;
        let result = if outcome == PASSED { "ok" } else { "not ok" };
        let name = name.replace('\\', "\\\\").replace('#', "\\#");
        print(&format!("{result} {} - {name}\n", self.numbered));
        if let Some(message) = message {
            let text = prefixed("    ", message);
            print(&format!("  ---\n  severity: {outcome}\n  message: |\n{text}  ...\n"));
        }
    }
}

impl JUnit {
    /// The tests of a file follow.
    fn begin(&mut self, file: &str) {
        let before = self.suite.replace(TestSuite::new(file));
        self.report.add_test_suites(before);
    }

    fn add(&mut self, verdict: &Verdict) {
        let mut status = match verdict.outcome.as_str() {
            PASSED => TestCaseStatus::success(),
            "failed" => TestCaseStatus::non_success(NonSuccessKind::Failure),
            _ => TestCaseStatus::non_success(NonSuccessKind::Error),
        };
        if let Some(message) = &verdict.message {
            status.set_type(verdict.outcome.as_str());
            status.set_message(message.lines().next().unwrap_or_default());
            status.set_description(message.as_str());
        }
        let (context, name) = verdict.name.rsplit_once('.').unwrap_or(("", &verdict.name));
        let mut case = TestCase::new(name, status);
        case.set_classname(context);
        case.set_time(Duration::from_micros(verdict.microseconds));
        self.suite.get_or_insert_with(|| TestSuite::new(&*verdict.file)).add_test_case(case);
    }

    /// Writes the file.
    fn write(mut self, time: Duration) -> Result<(), Exit> {
        self.report.add_test_suites(self.suite);
        self.report.set_time(time);
        let text = self.report.to_string().map_err(std::io::Error::other);
        let written = text.and_then(|text| std::fs::write(&self.path, text));
        written.map_err(|error| files::unwritten(self.path.display(), &error))
    }
}

fn indented(text: Option<&str>) -> String {
    prefixed("    ", text.unwrap_or_default())
}

/// A text with this before each line.
fn prefixed(prefix: &str, text: &str) -> String {
    text.lines().map(|line| format!("{prefix}{line}\n")).collect()
}
