//! The subcommands, a module for each. `main` calls [`execute`].

mod bench;
mod build;
mod bytecode;
mod check;
mod debug;
mod doc;
mod eval;
mod format;
mod lsp;
mod manual;
mod native;
mod observe;
mod package;
mod profile;
mod repl;
mod replay;
mod run;
mod test;
mod top;
mod trace;
mod version;

use squall::{Machine, Options, StartError, Surroundings};

use crate::arguments::{Arguments, Command, Dump};
use crate::console::{Console, complain};
use crate::exit::Exit;
use crate::observer;

/// Executes the command line.
pub fn execute(arguments: Arguments) -> Exit {
    if let Some(exit) = refuse_trace(&arguments.command) {
        return exit;
    }
    let result = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Profile(arguments) => profile::profile(&arguments),
        Command::Eval(arguments) => eval::eval(&arguments),
        Command::Repl(arguments) => repl::repl(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Test(arguments) => test::test(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Asm(arguments) => bytecode::assemble(&arguments),
        Command::Disasm(arguments) => bytecode::disassemble(&arguments),
        Command::Verify(arguments) => bytecode::verify(&arguments),
        Command::Format(arguments) => format::format(&arguments),
        Command::Doc(arguments) => doc::doc(&arguments),
        Command::New(arguments) => package::new(&arguments),
        Command::Add(arguments) => package::add(&arguments),
        Command::Remove(arguments) => package::remove(&arguments),
        Command::Update(arguments) => package::update(&arguments),
        Command::Vendor(arguments) => package::vendor(&arguments),
        Command::Tree(arguments) => package::tree(&arguments),
        Command::Build(arguments) => build::build(&arguments),
        Command::Lsp(_) => lsp::lsp(),
        Command::Debug(arguments) => debug::debug(&arguments),
        Command::Dump(arguments) => dump(&arguments),
        Command::Top(arguments) => top::top(&arguments),
        Command::Completions(arguments) => manual::completions(&arguments),
        Command::Man(arguments) => manual::man(&arguments),
        Command::Version(arguments) => version::version(&arguments),
    };
    result.unwrap_or_else(|exit| exit)
}

/// Complains about a file for a trace, which `run` alone writes.
fn refuse_trace(command: &Command) -> Option<Exit> {
    let machine = match command {
        Command::Profile(arguments) => &arguments.machine,
        Command::Eval(arguments) => &arguments.machine,
        Command::Repl(arguments) => &arguments.machine,
        Command::Test(arguments) => &arguments.modules.machine,
        Command::Bench(arguments) => &arguments.modules.machine,
        Command::Disasm(arguments) => &arguments.machine,
        _ => return None,
    };
    let path = machine.trace_file()?;
    complain(&format!("{} is not written: `squall run` alone makes traces", path.display()));
    Some(Exit::Usage)
}

/// Makes a running program describe itself on its own standard error output.
fn dump(arguments: &Dump) -> Result<Exit, Exit> {
    match observer::dump(arguments.process) {
        Ok(()) => Ok(Exit::Success),
        Err(problem) => {
            complain(&problem);
            Err(Exit::Failure)
        }
    }
}

/// Starts a machine on the process's console, or complains.
fn start(options: Options) -> Result<Machine, Exit> {
    start_in(options, Console::new())
}

/// Starts a machine in these surroundings, or complains.
fn start_in(options: Options, surroundings: impl Surroundings + 'static) -> Result<Machine, Exit> {
    Machine::start(options, surroundings).map_err(|error| {
        complain(&error.to_string());
        match error {
            StartError::Heap(_) => Exit::Failure,
            StartError::Boot(_) => Exit::Internal,
        }
    })
}

/// Complains about a bug in Squall.
fn internal(error: impl std::fmt::Display) -> Exit {
    complain(&format!("{error}\nThis is a bug in Squall, not in your program. Please report it."));
    Exit::Internal
}
