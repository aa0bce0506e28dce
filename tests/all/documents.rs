//! Tests of the examples in the documentation: `README.md` and `docs`. `main.rs` collects them as trials.
//!
//! A block marked `console` is a transcript. Lines that begin with `$ ` go to a shell in the project's folder; the
//! other lines are the output, standard and error. `BLESS=1` rewrites them.
//!
//! A block marked `newspeak` that contains an `expect:` comment is run as [`crate::language`] describes. It is a
//! program, a module with tests or examples, or classes, methods and statements, which [`program_around`] completes as the guide tells
//! its readers.
//!
//! A block marked `report` is a command and its output, parts of which may be omitted: see [`report`].

mod report;

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Trial;

use crate::compare_with_file;
use crate::language::run_program;
use crate::process::Run;

pub fn trials() -> Vec<Trial> {
    let mut documents = vec![crate::root().join("README.md")];
    documents.extend(crate::files_in("docs", "md"));
    let mut trials = Vec::new();
    for path in documents {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let name = crate::shown(&path);
        trials.extend(blocks(&text, "newspeak").filter_map(|(line, block)| {
            let program = Program::of(block)?;
            Some(Trial::test(format!("{name}:{line}"), move || program.run().map_err(Into::into)))
        }));
        if ["console", "report"].iter().any(|kind| blocks(&text, kind).next().is_some()) {
            trials.push(Trial::test(name, move || replay(&path, &text).map_err(Into::into)));
        }
    }
    trials
}

/// The blocks in a language, with the lines on which they begin.
fn blocks<'t>(text: &'t str, language: &str) -> impl Iterator<Item = (usize, &'t str)> {
    let fence = format!("```{language}\n");
    let starts: Vec<usize> =
        text.match_indices(&fence).map(|(start, _)| start + fence.len()).collect();
    starts.into_iter().map(move |start| {
        let end = text[start..].find("```").map_or(text.len(), |length| start + length);
        (text[..start].lines().count() + 1, &text[start..end])
    })
}

/// Runs the commands of all transcripts and reports in a document, and compares the whole document.
fn replay(path: &Path, text: &str) -> Result<(), String> {
    let text = report::repeated(text)?;
    let mut actual = String::new();
    let mut is_transcript = false;
    for line in text.lines() {
        let command = line.strip_prefix("$ ").filter(|_| is_transcript);
        if line.starts_with("```") {
            is_transcript = line == "```console";
        }
        if command.is_some() || !is_transcript || line.starts_with("```") {
            _ = writeln!(actual, "{line}");
        }
        if let Some(command) = command {
            actual += &in_shell(command, &crate::root())?;
        }
    }
    compare_with_file(path, &actual)
}

/// The output of a command in a folder, standard and error.
fn in_shell(command: &str, folder: &Path) -> Result<String, String> {
    let squall = Path::new(env!("CARGO_BIN_EXE_squall"));
    let folders = squall.parent().into_iter().map(Path::to_owned);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&others)));
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(folder);
    shell.env("PATH", path.map_err(|error| error.to_string())?).env("NO_COLOR", "1");
    shell.env("SQUALL_HISTORY", "").stdin(Stdio::null());
    let output = shell.output().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A program in a document.
enum Program {
    Whole(String),
    Tests(String),
}

impl Program {
    fn of(block: &str) -> Option<Program> {
        let header = block.lines().find(|line| line.starts_with("class ")).unwrap_or_default();
        let has_examples = block.contains(" ==> ");
        if has_examples || header.contains("usingPlatform: platform testFramework:") {
            Some(Program::Tests(block.to_owned()))
        } else if header.contains("usingPlatform:") {
            Some(Program::Whole(block.to_owned()))
        } else {
            block.contains("(* expect").then(|| Program::Whole(program_around(block)))
        }
    }

    /// The file name and the text of a complete program.
    fn file(self) -> Option<(String, String)> {
        let Program::Whole(text) = self else { return None };
        let header = text.lines().find_map(|line| line.strip_prefix("class "))?;
        let name = header.split_whitespace().next()?.to_lowercase();
        Some((format!("{name}.ns"), text))
    }

    fn run(&self) -> Result<(), String> {
        let (Program::Whole(text) | Program::Tests(text)) = self;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = folder.path().join("program.ns");
        std::fs::write(&path, text).map_err(|error| error.to_string())?;
        let path = path.display().to_string();
        match self {
            Program::Whole(text) => {
                run_program(text, &path).map_err(|problem| format!("{problem}\nin\n{text}"))
            }
            Program::Tests(_) => match Run::new(["test", &path]).execute() {
                result if result.exit == 0 => Ok(()),
                result => Err(result.output + &result.error),
            },
        }
    }
}

/// The page of the guide with the module that its readers put around snippets, and the beginning of that module.
const FRAME: (&str, &str) = ("docs/guide/1-first-program.md", "class Snippet usingPlatform:");
/// The places in that module for the parts of a snippet.
const MEMBERS: &str = "(* classes, then methods *)";
const STATEMENTS: &str = "(* statements *)";

/// A program that contains a snippet as the guide tells its readers: its classes and methods are members, and its
/// statements are those of `main:`.
fn program_around(snippet: &str) -> String {
    let (page, beginning) = FRAME;
    let page = std::fs::read_to_string(crate::root().join(page)).expect("the page is there");
    let frame = blocks(&page, "newspeak").find(|(_, block)| block.starts_with(beginning));
    let (_, frame) = frame.expect("the page has the module for snippets");
    let (members, statements) = parts(snippet);
    let (before, main) = frame.split_once(MEMBERS).expect("it has a place for members");
    match members.contains("public main:") {
        true => format!("{before}{members})\n"),
        false => format!("{before}{members}{}", main.replace(STATEMENTS, &statements)),
    }
}

/// Splits a snippet into classes and methods, and statements. A class or method begins in the first column and ends
/// with the line that closes all its parentheses.
fn parts(snippet: &str) -> (String, String) {
    let (mut members, mut statements) = (String::new(), String::new());
    let mut open = 0;
    for line in snippet.lines() {
        let begins_member =
            ["class ", "public ", "private "].iter().any(|word| line.starts_with(word));
        if begins_member || open > 0 {
            _ = writeln!(members, "{line}");
            open += line.matches('(').count();
            open -= line.matches(')').count().min(open);
        } else {
            _ = writeln!(statements, "{line}");
        }
    }
    (members, statements)
}
