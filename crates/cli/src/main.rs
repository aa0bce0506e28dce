//! The command `squall`: runs, checks, tests and disassembles programs. Users, editors and scripts run it.
//!
//! | module | what it holds |
//! |---|---|
//! | `arguments` | the command line, as clap reads it |
//! | `confinement` | has the system refuse what the options do not allow |
//! | `console` | standard output and error: buffering, colours, broken pipes |
//! | `exit` | the exit codes |
//! | `files` | reads files, and explains why a file cannot be read |
//! | `packages` | the packages of the program that runs, or the bundle with it |
//! | `observer` | makes running programs describe themselves |
//! | `commands` | one module per subcommand |
//!
//! This is the only crate that prints and opens source files. `docs/cli.md` is its manual.
#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod confinement;
mod console;
mod exit;
mod files;
mod observer;
mod packages;

use clap::Parser;

use arguments::Arguments;
use exit::Exit;

fn main() {
    report_bugs();
    let arguments = match packages::bundle_of_process() {
        Ok(None) => Arguments::parse(),
        Ok(Some(line)) => Arguments::parse_from(line),
        Err(exit) => std::process::exit(exit.code()),
    };
    // There is no other thread yet.
    if let Err(exit) = confinement::begin(&arguments.command) {
        std::process::exit(exit.code());
    }
    // Guest code may be bound to this thread.
    squall::lend_main_thread(|| {
        let exit = commands::execute(arguments);
        std::process::exit(exit.code());
    });
}

/// Reports a panic, which is a bug in Squall, and ends the process, on whichever thread it happens.
fn report_bugs() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        eprintln!("This is a bug in Squall, not in your program. Please report it.");
        std::process::exit(Exit::Internal.code());
    }));
}
