//! `squall test`: runs the tests in files. `commands` calls this module.
//!
//! | module | what it does |
//! |---|---|
//! | [`modules`] | finds the test modules in files and folders |
//! | [`machine`] | runs the tests of one module in this process |
//! | [`processes`] | runs each of several modules in a process of its own, some at a time |
//! | [`schedules`] | runs the same tests under many seeds |
//! | [`coverage`] | writes what the tests have covered |
//! | [`watch`] | runs the tests again when files change |
//! | [`events`], [`report`] | what happens, and the forms in which it is reported |
//!
//! The modules that run tests send [`events::Event`]s to a [`report::Report`], whatever process they come from.

mod coverage;
mod events;
mod machine;
pub mod modules;
mod processes;
mod report;
mod schedules;
mod watch;

use squall::testing::TestModule;

use crate::arguments;
use crate::exit::Exit;
pub use machine::describe;
use report::Report;

pub fn test(arguments: &arguments::Test) -> Result<Exit, Exit> {
    if let (Some(file), Some(events)) = (&arguments.only, &arguments.events) {
        return machine::run_for_parent(arguments, file, events);
    }
    if let Some(count) = arguments.schedules {
        return schedules::test_schedules(arguments, count);
    }
    if arguments.watch {
        return watch::watch(arguments);
    }
    let files = modules::in_files(&arguments.modules.files)?;
    let mut report = Report::new(arguments);
    match &files[..] {
        // Only a process that does no more than run tests can be confined.
        [file] if !arguments.modules.machine.confine => {
            machine::run(arguments, file, &mut |event| report.note(&event))?
        }
        files => processes::run(arguments, files, &mut report)?,
    }
    report.finish()
}

/// The test module of a file, for people: mistakes are shown on the standard error output.
pub fn load(file: &str, verify_all: bool) -> Result<TestModule, Exit> {
    machine::load(file, false, verify_all, &mut |event| {
        if let events::Event::Module(events::Refusal { message: Some(message), .. }) = event {
            crate::console::complain(&message);
        }
    })
}
