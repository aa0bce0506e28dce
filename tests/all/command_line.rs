//! Tests of command lines and their output: `tests/cli/*.txt`. `main.rs` collects them as trials.
//!
//! A file is a transcript of one or more commands:
//!
//! ```text
//! $ squall run tests/cli/programs/missing.ns
//! err: error: there is no file tests/cli/programs/missing.ns
//! exit: 66
//! ```
//!
//! Lines of the standard output are written unchanged, lines of the standard error output after `err: `, each in the
//! order of their stream. `exit:` is omitted if the exit code is 0. A line `< text` after the command is a line of its
//! standard input. `{scratch}` stands for a folder that is empty at first. Durations are compared as `{time}`,
//! places in the library as `{place}`, and the numbers of workers as `{worker}`. A file with the line `# stress: none` is
//! not run under stress. `BLESS=1` rewrites the files.

use std::path::Path;

use libtest_mimic::Trial;

use crate::compare_with_file;
use crate::process::{Run, is_under_stress};

pub fn trials() -> Vec<Trial> {
    crate::trials_in("tests/cli", "txt", run)
}

fn run(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    if is_under_stress() && text.lines().any(|line| line == "# stress: none") {
        return Ok(());
    }
    let mut transcript = String::new();
    for command in commands(&text)? {
        transcript += &command.replay();
    }
    compare_with_file(path, &transcript)
}

/// A command of a transcript, with the comments before it.
struct Recorded {
    comments: String,
    words: Vec<String>,
    line: String,
    input: Vec<String>,
}

fn commands(text: &str) -> Result<Vec<Recorded>, String> {
    let mut commands: Vec<Recorded> = Vec::new();
    let mut comments = String::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ squall ") {
            let words = split(command).ok_or_else(|| format!("an open quote in {command}"))?;
            let comments = std::mem::take(&mut comments);
            let line = command.to_owned();
            commands.push(Recorded { comments, words, line, input: Vec::new() });
        } else if let Some(input) = line.strip_prefix("< ").or((line == "<").then_some("")) {
            let last = commands.last_mut().ok_or("input before the first command")?;
            last.input.push(input.to_owned());
        } else if line.starts_with('#') {
            comments += &format!("{line}\n");
        }
    }
    Ok(commands)
}

/// Splits a command line at blanks outside of quotes.
pub fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(mark), _) if character == mark => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

impl Recorded {
    fn replay(&self) -> String {
        let mut run = Run::new(self.words.iter().cloned());
        run.input = self.input.iter().map(|line| format!("{line}\n")).collect();
        let result = run.execute();
        let mut text = format!("{}$ squall {}\n", self.comments, self.line);
        for line in &self.input {
            text += &format!("< {line}\n").replace("<  \n", "<\n");
        }
        let stable = |stream: &str| {
            without_workers(&without_places(&without_times(&run.scratch.conceal(stream))))
        };
        text += &stable(&result.output);
        text +=
            &stable(&result.error).lines().map(|line| format!("err: {line}\n")).collect::<String>();
        if result.exit != 0 {
            text += &format!("exit: {}\n", result.exit);
        }
        text + "\n"
    }
}

/// The text with `{time}` in place of durations.
pub fn without_times(text: &str) -> String {
    let line = |line: &str| {
        let words = line.split(' ').collect::<Vec<_>>();
        let mut shown = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let is_seconds = words.get(index + 1) == Some(&"s") && word.parse::<f64>().is_ok();
            shown.push(if is_seconds { "{time}" } else { word });
        }
        let keys = ["\"microseconds\":", " time=\""];
        keys.iter().fold(shown.join(" "), |line, key| without_number(&line, key)) + "\n"
    };
    text.lines().map(line).collect()
}

/// The text with `{place}` in place of lines and columns of the library.
fn without_places(text: &str) -> String {
    let mut pieces = text.split("(lib/");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (place, rest) = piece.split_once(')').unwrap_or((piece, ""));
        let file = place.split(':').next().unwrap_or_default();
        shown += &format!("(lib/{file}:{{place}}){rest}");
    }
    shown
}

/// The text with `{worker}` in place of the numbers of workers, which depend on the load of the machine.
fn without_workers(text: &str) -> String {
    const KEY: &str = " runs on worker ";
    let mut pieces = text.split(KEY);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| {
        let rest = piece.trim_start_matches(|digit: char| digit.is_ascii_digit());
        shown + KEY + "{worker}" + rest
    })
}

/// The line with `{time}` in place of each number after a key.
fn without_number(line: &str, key: &str) -> String {
    let mut pieces = line.split(key);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| {
        let is_part = |part: char| part.is_ascii_digit() || part == '.';
        shown + key + "{time}" + piece.trim_start_matches(is_part)
    })
}
