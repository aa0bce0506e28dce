//! Sessions with `squall debug`. Each file `tests/debugger/NAME.txt` is a transcript: a command line, then the debugger's
//! commands with its answers and the output of the program. It must be the same in all tiers, since breakpoints and steps
//! are no matter of speed. `main.rs` collects the tests as trials.

use std::path::Path;

use libtest_mimic::{Failed, Trial};

use crate::process::Run;
use crate::{compare_with_file, files_in, shown};

/// What introduces a command.
const PROMPT: &str = "debug> ";

/// The options with which each session runs.
const MODES: [(&str, &[&str]); 5] = [
    ("usual", &[]),
    ("interpreted", &["--option=--jit=off"]),
    ("compiled_at_once", &["--option=--jit-eager"]),
    ("base_code", &["--option=--jit=base"]),
    ("checkpoints", &["--checkpoint-every=3"]),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for path in files_in("tests/debugger", "txt") {
        for (mode, options) in MODES {
            let (name, path) = (format!("{} {mode}", shown(&path)), path.clone());
            trials.push(Trial::test(name, move || session(&path, options)));
        }
    }
    trials
}

/// Repeats a session, and compares all that it writes.
fn session(path: &Path, options: &[&str]) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let (first, expected) = text.split_once('\n').ok_or("there is no command line")?;
    let mut run = Run::new(["debug"]);
    let (head, command, options) = match first.strip_prefix("$ squall run ") {
        Some(recorded) => {
            let command = expected.lines().next().ok_or("nothing follows the recorded run")?;
            let (of_recording, of_debugger) = parted(options);
            record(&mut run, of_recording, recorded)?;
            (format!("{first}\n{command}"), command, of_debugger)
        }
        None => (first.to_owned(), first, options.to_vec()),
    };
    let command = command.strip_prefix("$ squall debug ").ok_or("there is no command line")?;
    let commands = expected.lines().filter_map(|line| line.strip_prefix(PROMPT));
    run.input = commands.map(|line| format!("{line}\n")).collect();
    run.arguments =
        ["debug"].into_iter().chain(options).chain(command.split(' ')).map(str::to_owned).collect();
    let result = run.execute();
    let written = format!("{head}\n{}", without_library_lines(&result.output));
    compare_with_file(path, &written).map_err(|difference| {
        format!("{difference}\n{}\nrepeat it with\n  {}", result.error, run.repetition()).into()
    })
}

/// The options that a recorded run has, as those of `squall run`, and those that its debugger has.
fn parted<'o>(options: &[&'o str]) -> (Vec<&'o str>, Vec<&'o str>) {
    let of_run = options.iter().filter_map(|option| option.strip_prefix("--option=")).collect();
    let of_debugger = options.iter().copied().filter(|option| !option.starts_with("--option="));
    (of_run, of_debugger.collect())
}

/// Records a run, in the folder of the session's own.
fn record(run: &mut Run, options: Vec<&str>, command: &str) -> Result<(), Failed> {
    let words = ["run"].into_iter().chain(options).chain(command.split(' '));
    run.arguments = words.map(str::to_owned).collect();
    let recorded = run.execute();
    match recorded.exit {
        0 => Ok(()),
        _ => Err(format!("the run is not recorded: {recorded:?}").into()),
    }
}

/// The text with `…` in place of the lines of the library, which change.
fn without_library_lines(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("(Kernel.ns:") {
        let end = after.find(')').unwrap_or(after.len());
        shown.push_str(before);
        shown.push_str("(Kernel.ns:…");
        rest = &after[end..];
    }
    shown + rest
}
