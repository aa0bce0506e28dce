//! `squall format`: lays out programs in Newspeak and in the text form of bytecode. `commands` calls this module.

use std::io::Read;
use std::path::Path;

use squall::compiler::{CompileProblem, FileKind};
use squall_bytecode::assembler::{self, File, Mistake};
use squall_newspeak::format::{FormatError, format as lay_out, format_range};
use squall_newspeak::{Source, Span};

use super::internal;
use crate::arguments::Format;
use crate::console::{colour, complain, print, print_error};
use crate::exit::Exit;
use crate::files::{self, Input};

/// The name that stands for the standard input and output.
const STREAM: &str = "-";

/// The kinds of files that have a layout.
const KINDS: [FileKind; 2] = [FileKind::Newspeak, FileKind::Assembly];

pub fn format(arguments: &Format) -> Result<Exit, Exit> {
    let mut paths = Vec::new();
    for path in &arguments.files {
        match Path::new(path).is_dir() {
            true => paths.extend(files::below(path, &KINDS)?),
            false => paths.push(path.clone()),
        }
    }
    if arguments.lines.is_some() && paths.len() != 1 {
        complain("--lines is for one file");
        return Err(Exit::Usage);
    }
    let mut exit = Exit::Success;
    for path in &paths {
        exit = exit.and(format_one(path, arguments).unwrap_or_else(|exit| exit));
    }
    Ok(exit)
}

fn format_one(path: &str, arguments: &Format) -> Result<Exit, Exit> {
    let input = read(path, arguments)?;
    let formatted = match input.kind {
        FileKind::Assembly if arguments.lines.is_some() => {
            complain("--lines is for files in Newspeak (.ns)");
            return Err(Exit::Usage);
        }
        FileKind::Assembly => laid_out_assembly(path, &input.bytes)?,
        _ => laid_out_newspeak(&input, arguments.lines)?,
    };
    match (arguments.check, formatted.as_bytes() == input.bytes) {
        (true, false) => {
            complain(&format!("{path} is not laid out as `squall format` does it"));
            return Ok(Exit::Failure);
        }
        (false, _) if path == STREAM => print(&formatted),
        (false, false) => {
            std::fs::write(path, formatted).map_err(|error| files::unwritten(path, &error))?;
        }
        (_, true) => {}
    }
    Ok(Exit::Success)
}

fn laid_out_assembly(path: &str, bytes: &[u8]) -> Result<String, Exit> {
    let text = String::from_utf8(bytes.to_vec()).map_err(|_| {
        complain(&format!("{path} is no text in UTF-8"));
        Exit::Invalid
    })?;
    assembler::format(&text).map_err(|problems| {
        let mistake = |diagnostic| Mistake { file: 0, diagnostic };
        let mistakes = problems.into_iter().map(mistake).collect();
        let file = File { name: path.to_owned(), text: text.clone() };
        print_error(&CompileProblem::Assembly(vec![file], mistakes).render(colour()));
        Exit::Invalid
    })
}

fn laid_out_newspeak(input: &Input, lines: Option<(usize, usize)>) -> Result<String, Exit> {
    let source = input.source();
    let formatted = match lines {
        None => lay_out(&source),
        Some(lines) => format_range(&source, span_of(&source, lines)).map(|edit| {
            let mut text = source.text().to_owned();
            if let Some(edit) = edit {
                text.replace_range(edit.span.range(), &edit.text);
            }
            text
        }),
    };
    formatted.map_err(|error| match error {
        FormatError::Mistakes(mistakes) => {
            print_error(&CompileProblem::Newspeak(source, mistakes).render(colour()));
            Exit::Invalid
        }
        FormatError::Changed => internal(format_args!(
            "the layout of {} would be another program; the file is not changed",
            input.path
        )),
    })
}

/// The text of these lines; lines behind the last one have none.
fn span_of(source: &Source, (first, last): (usize, usize)) -> Span {
    let count = source.line(source.end().start);
    match first > count {
        true => source.end(),
        false => source.line_span(first).to(source.line_span(last.min(count))),
    }
}

fn read(path: &str, arguments: &Format) -> Result<Input, Exit> {
    if path != STREAM {
        return files::read(path, &KINDS);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|error| {
        complain(&format!("the standard input cannot be read: {error}"));
        Exit::NoInput
    })?;
    let kind = arguments.stdin.unwrap_or(FileKind::Assembly);
    Ok(Input { path: path.to_owned(), kind, bytes })
}
