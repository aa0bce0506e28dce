//! Tests of the diagnostics for typical mistakes: `tests/mistakes`. `main.rs` collects them as trials.
//!
//! A file has cases. A case is a line `## title`, a text with one mistake, and the output of `squall check`, each line
//! after `> `; `BLESS=1` writes the output. A text is a program if it begins with `class`, members of a program if it
//! begins with a member, and otherwise statements of `main:`.
//!
//! Together, the cases are at least a hundred mistakes, of which nine tenths are found before the program runs.

use std::fmt::Write;
use std::path::Path;

use libtest_mimic::Trial;

use crate::compare_with_file;
use crate::process::Run;

const FOLDER: &str = "tests/mistakes";

/// The name of the program in diagnostics.
const NAME: &str = "program.ns";

pub fn trials() -> Vec<Trial> {
    let mut trials = crate::trials_in(FOLDER, "txt", run);
    trials.push(Trial::test("mistakes/nine_of_ten", || nine_of_ten().map_err(Into::into)));
    trials
}

/// A mistake and its diagnostics.
struct Case {
    title: String,
    text: String,
    output: String,
}

fn run(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let (head, cases) = cases(&text);
    let mut actual = head;
    for case in cases {
        _ = write!(actual, "\n## {}\n{}", case.title, case.text);
        for line in check(&program(&case.text))?.lines() {
            _ = writeln!(actual, "{}", format!("> {line}").trim_end());
        }
    }
    compare_with_file(path, &actual)
}

/// The text before the first case, and the cases.
fn cases(text: &str) -> (String, Vec<Case>) {
    let mut parts = text.split("\n## ");
    let head = parts.next().unwrap_or_default().trim_end().to_owned() + "\n";
    let case = |part: &str| {
        let (title, rest) = part.split_once('\n').unwrap_or((part, ""));
        let (mut text, mut output) = (String::new(), String::new());
        for line in rest.trim_end().lines() {
            let into = if line.starts_with('>') { &mut output } else { &mut text };
            _ = writeln!(into, "{line}");
        }
        Case { title: title.to_owned(), text, output }
    };
    (head, parts.map(case).collect())
}

/// A program with this text.
fn program(text: &str) -> String {
    const MEMBERS: [&str; 3] = ["public ", "def ", "add: "];
    let slots = "| public Vector = platform kernel Vector. public Array = platform kernel Array. |";
    if text.starts_with("class ") {
        return text.to_owned();
    }
    let is_member = MEMBERS.iter().any(|word| text.starts_with(word));
    let members =
        if is_member { text.to_owned() } else { format!("public main: args = (\n{text})\n") };
    let main = if members.contains("main: ") { "" } else { "public main: args = ( ^ 0 )\n" };
    format!("class Program usingPlatform: platform = Value ({slots})(\n{members}{main})\n")
}

/// The output of `squall check` for a program.
fn check(program: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join(NAME);
    std::fs::write(&path, program).map_err(|error| error.to_string())?;
    let result = Run::new(["check", &path.display().to_string()]).execute();
    Ok((result.output + &result.error)
        .replace(&folder.path().display().to_string(), "")
        .replace(&format!("/{NAME}"), NAME))
}

/// Counts the mistakes and those that have diagnostics.
fn nine_of_ten() -> Result<(), String> {
    let (mut all, mut found) = (0, 0);
    for path in crate::files_in(FOLDER, "txt") {
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let (_, cases) = cases(&text);
        all += cases.len();
        found += cases.iter().filter(|case| !case.output.is_empty()).count();
    }
    match all >= 100 && found * 10 >= all * 9 {
        true => Ok(()),
        false => Err(format!("{found} of {all} mistakes are found")),
    }
}
