//! The command `squall`: runs, checks, tests and takes apart programs.
//!
//! | module | what it holds |
//! |---|---|
//! | `arguments` | the command line, as clap reads it |
//! | `console` | standard output and error: buffering, colours, broken pipes |
//! | `exit` | the exit codes |
//! | `files` | reading files, and what to say when that fails |
//! | `observer` | looking at programs that run |
//! | `commands` | one module per subcommand |
//!
//! This is the only crate that prints and opens source files. `docs/cli.md` is its manual.
#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod console;
mod exit;
mod files;
mod observer;

use clap::Parser;

use arguments::Arguments;
use exit::Exit;

fn main() {
    report_bugs();
    // Guest code may want this thread for itself.
    squall::lend_main_thread(|| {
        let exit = commands::execute(Arguments::parse());
        std::process::exit(exit.code());
    });
}

/// A panic is a mistake of ours: says so, and ends the process on whatever thread it happens.
fn report_bugs() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        eprintln!("This is a bug in Squall, not in your program. Please report it.");
        std::process::exit(Exit::Internal.code());
    }));
}
