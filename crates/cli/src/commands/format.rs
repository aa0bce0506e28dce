//! `squall format`: lays out files of the text form of bytecode.

use std::io::Read;

use squall::compiler::{CompileProblem, FileKind};
use squall_bytecode::assembler::{self, File, Mistake};

use crate::arguments::Format;
use crate::console::{colour, complain, print, print_error};
use crate::exit::Exit;
use crate::files;

/// The name that stands for the standard input and output.
const STREAM: &str = "-";

pub fn format(arguments: &Format) -> Result<Exit, Exit> {
    let mut exit = Exit::Success;
    for path in &arguments.files {
        exit = exit.and(format_one(path, arguments.check).unwrap_or_else(|exit| exit));
    }
    Ok(exit)
}

fn format_one(path: &str, only_checks: bool) -> Result<Exit, Exit> {
    let text = read(path)?;
    let formatted = assembler::format(&text).map_err(|problems| {
        let mistake = |diagnostic| Mistake { file: 0, diagnostic };
        let mistakes = problems.into_iter().map(mistake).collect();
        let file = File { name: path.to_owned(), text: text.clone() };
        print_error(&CompileProblem::Assembly(vec![file], mistakes).render(colour()));
        Exit::Invalid
    })?;
    match (only_checks, formatted == text) {
        (true, false) => {
            complain(&format!("{path} is not laid out as `squall format` does it"));
            return Ok(Exit::Failure);
        }
        (false, _) if path == STREAM => print(&formatted),
        (false, false) => std::fs::write(path, formatted).map_err(|error| {
            complain(&format!("{path} cannot be written: {error}"));
            Exit::Output
        })?,
        (_, true) => {}
    }
    Ok(Exit::Success)
}

fn read(path: &str) -> Result<String, Exit> {
    let no_text = |_| {
        complain(&format!("{path} is no text in UTF-8"));
        Exit::Invalid
    };
    if path != STREAM {
        let input = files::read(path, &[FileKind::Assembly])?;
        return String::from_utf8(input.bytes).map_err(no_text);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|error| {
        complain(&format!("the standard input cannot be read: {error}"));
        Exit::NoInput
    })?;
    String::from_utf8(bytes).map_err(no_text)
}
