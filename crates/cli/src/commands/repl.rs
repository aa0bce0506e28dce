//! `squall repl`: evaluates typed input. `commands` calls this module.
//!
//! On a terminal there are history, editing, completion of selectors and inputs of several lines. Otherwise the lines
//! of the standard input are read without changes.

mod editor;
mod library;

use std::io::{BufRead, IsTerminal, stdin};

use squall::session::{Evaluation, Session, is_class, is_complete};

use super::eval::show_warnings;
use super::{internal, start};
use crate::arguments::Repl;
use crate::console::{colour, complain, print, print_error};
use crate::exit::Exit;
use crate::packages::packages_here;
use editor::{Editor, Line};
use library::Part;

const HELP: &str = "\
Type an expression, several statements, or a class. `name:: value` makes a variable, which stays.
Nothing is evaluated before brackets, strings and comments are closed. An empty line gives up, but belongs to a class
where one is open; Ctrl-C drops any input, and interrupts an evaluation.

  :doc NAME     the comment of a class or method of the library: `:doc String`, `:doc String at:`, `:doc at:put:`
  :source NAME  its text
  :variables    the variables so far
  :help         this
  :quit         leave, as does the end of input (Ctrl-D)
";

pub fn repl(arguments: &Repl) -> Result<Exit, Exit> {
    let mut options = arguments.machine.options(vec!["repl".to_owned()]);
    options.packages = packages_here(&arguments.packages)?;
    let machine = start(options)?;
    let mut session = Session::new(machine).map_err(internal)?;
    session.cut_long_values().map_err(internal)?;
    if stdin().is_terminal() {
        print(concat!("squall ", env!("CARGO_PKG_VERSION"), "; :help for help\n"));
        interrupt_at_signals(&session);
        converse(&mut session)
    } else {
        read_on(&mut session)
    }
}

/// From now on, Ctrl-C interrupts the evaluation, and nothing else.
#[cfg(unix)]
fn interrupt_at_signals(session: &Session) {
    // Without a handler, Ctrl-C ends the process.
    _ = squall_system::signals::instead_of_interrupts(session.interrupter());
}

/// This system has no such signals.
#[cfg(not(unix))]
fn interrupt_at_signals(_: &Session) {}

/// Reads from a terminal.
fn converse(session: &mut Session) -> Result<Exit, Exit> {
    let mut editor = Editor::new().map_err(|error| {
        complain(&format!("the terminal cannot be used: {error}"));
        Exit::Failure
    })?;
    for number in 1.. {
        editor.set_vocabulary(session.vocabulary());
        match editor.read() {
            Line::Text(text) => {
                if let Some(exit) = evaluate(session, number, &text)? {
                    return Ok(exit);
                }
            }
            Line::Interrupted => {}
            Line::End => break,
        }
    }
    Ok(Exit::Success)
}

/// Reads from other input than a terminal.
fn read_on(session: &mut Session) -> Result<Exit, Exit> {
    let mut text = String::new();
    let mut number = 1;
    for line in stdin().lock().lines() {
        let Ok(line) = line else { break };
        text += &line;
        text.push('\n');
        if !is_finished(&text) {
            continue;
        }
        if let Some(exit) = evaluate(session, number, &std::mem::take(&mut text))? {
            return Ok(exit);
        }
        number += 1;
    }
    match text.trim().is_empty() {
        true => Ok(Exit::Success),
        false => Ok(evaluate(session, number, &text)?.unwrap_or(Exit::Success)),
    }
}

/// Whether a text is to be evaluated now: it is complete, or its last line is empty and not one between the members of a
/// class.
fn is_finished(text: &str) -> bool {
    let is_command = text.trim_start().starts_with(':');
    let is_given_up = || text.ends_with("\n\n") && !is_class(text);
    is_command || text.trim().is_empty() || is_given_up() || is_complete(text)
}

/// Evaluates an input; answers the process's exit code if the process is to end.
fn evaluate(session: &mut Session, number: usize, text: &str) -> Result<Option<Exit>, Exit> {
    match text.trim() {
        "" => return Ok(None),
        ":quit" | ":q" | "quit" | "exit" => return Ok(Some(Exit::Success)),
        ":help" | ":h" => print(HELP),
        ":variables" | ":v" => {
            print(&session.variables().map(|name| format!("{name}\n")).collect::<String>());
        }
        command @ (":doc" | ":source") => {
            complain(&format!("{command} needs a name, such as `{command} String length`"));
        }
        command if command.starts_with(":doc ") => {
            print(&library::describe(&command[":doc ".len()..], Part::Comment));
        }
        command if command.starts_with(":source ") => {
            print(&library::describe(&command[":source ".len()..], Part::Text));
        }
        command if command.starts_with(':') => {
            complain(&format!("there is no command {command}; :help lists them"));
        }
        _ => return evaluate_input(session, number, text),
    }
    Ok(None)
}

fn evaluate_input(session: &mut Session, number: usize, text: &str) -> Result<Option<Exit>, Exit> {
    match session.evaluate(&format!("input {number}"), text, show_warnings).map_err(internal)? {
        Evaluation::Done | Evaluation::Failed => {}
        Evaluation::Interrupted => print_error("interrupted\n"),
        Evaluation::Unresolved => print("a promise that is not resolved yet\n"),
        Evaluation::Invalid(problem) => print_error(&problem.render(colour())),
        Evaluation::Exit(0) => return Ok(Some(Exit::Success)),
        Evaluation::Exit(code) => {
            complain(&format!("a program would have ended here, with exit code {code}"));
        }
    }
    Ok(None)
}
