//! Tests of modules in the text form of bytecode: `tests/bytecode`. `main.rs` collects them as trials.
//!
//! | folder | what must hold |
//! |---|---|
//! | `asm` | assembling and disassembling gives the text back, comments aside |
//! | `verify` | `squall verify` finds the errors of the `; error: text` comments, each on its line, or none; so do assembler and `run` |
//! | `run` | `squall run` prints the `; expect: text` comments, in order; the standard error has the `; expect error: text` comments in it; with `; everywhere`, so it does under stress, with several workers and with seeds |
//! | `tiny`, and `examples/texts` | what `examples/tiny_compiler.ns` makes of a program prints its `# expect: text` comments, or the verifier finds the `# refused: text` |
//! | `link` | the same of programs, which import other files there, or in the folders of `; path: folder`; `; refused: text` comments are what linking says |

use std::path::Path;

use libtest_mimic::Trial;

use crate::process::{Run, compare};

pub fn trials() -> Vec<Trial> {
    let mut trials = crate::trials_in("tests/bytecode/asm", "sqasm", round_trip);
    trials.extend(crate::trials_in("tests/bytecode/verify", "sqasm", verify));
    trials.extend(crate::trials_in("tests/bytecode/run", "sqasm", run));
    trials.extend(crate::trials_in("tests/bytecode/tiny", "tiny", tiny));
    trials.extend(crate::trials_in("examples/texts", "tiny", tiny));
    trials.extend(crate::trials_in("tests/bytecode/link", "sqasm", link));
    trials
}

fn read(path: &Path) -> Result<(String, String), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let shown = crate::shown(path);
    Ok((text, shown))
}

/// The texts of all comments that begin with a key.
fn comments<'t>(text: &'t str, key: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines().filter_map(move |line| Some(line.split_once(key)?.1.trim()))
}

fn round_trip(path: &Path) -> Result<(), String> {
    let (text, shown) = read(path)?;
    let assembly = Run::new(["asm", &shown, "--output", "{scratch}/module.sqb"]);
    let assembled = assembly.execute();
    if assembled.exit != 0 {
        return Err(format!("{}\nrepeat with\n  {}", assembled.error, assembly.repetition()));
    }
    let binary = assembly.scratch.path().join("module.sqb");
    let disassembled = Run::new(["disasm".to_owned(), binary.display().to_string()]).execute();
    let without_comments = |line: &&str| !line.trim_start().starts_with(';');
    let expected: String =
        text.lines().filter(without_comments).map(|line| format!("{line}\n")).collect();
    compare(&shown, expected.trim_start(), &disassembled.output)
}

fn verify(path: &Path) -> Result<(), String> {
    let (text, shown) = read(path)?;
    let mut expected: Vec<(u64, String)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let errors = line.split("; error: ").skip(1);
        expected.extend(errors.map(|error| (number, error.trim().to_owned())));
    }
    let result = Run::new(["verify", "--json", &shown]).execute();
    let mut found: Vec<(u64, String)> = result.output.lines().filter_map(located).collect();
    // The verifier does not report mistakes in the text itself, and they have no JSON form.
    found.extend(mistakes(&result.error));
    expected.sort();
    found.sort();
    let shown = |errors: Vec<(u64, String)>| -> String {
        errors.into_iter().map(|(line, error)| format!("{line}: {error}\n")).collect()
    };
    compare("the errors", &shown(expected), &shown(found))?;
    match result.exit {
        0 | 65 => Ok(()),
        exit => Err(format!("exit {exit}\n{}", result.error)),
    }
}

/// The line and the message of an error in JSON.
fn located(line: &str) -> Option<(u64, String)> {
    let error: serde_json::Value = serde_json::from_str(line).ok()?;
    let place = error["text"]["line"].as_u64().unwrap_or(0);
    Some((place, error["message"].as_str()?.to_owned()))
}

/// The lines and the messages of errors with excerpts.
fn mistakes(text: &str) -> Vec<(u64, String)> {
    let mut mistakes = Vec::new();
    let mut message = None;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("error: ") {
            message = Some(title.to_owned());
        } else if let Some((_, place)) = line.split_once("--> ")
            && let Some(message) = message.take()
        {
            let mut parts = place.rsplit(':').skip(1);
            let number = parts.next().and_then(|number| number.parse().ok());
            mistakes.push((number.unwrap_or(0), message));
        }
    }
    mistakes
}

/// A program with imports runs, or linking refuses it. The test makes its imports available.
fn link(path: &Path) -> Result<(), String> {
    let (text, shown) = read(path)?;
    let refused: Vec<&str> = comments(&text, "; refused: ").collect();
    let folders: Vec<String> =
        comments(&text, "; path: ").map(|folder| format!("--module-path={folder}")).collect();
    let options: Vec<&str> = folders.iter().map(String::as_str).collect();
    if refused.is_empty() {
        let is_program = text.contains("\nmain ") || text.contains("export \"main\"");
        return if is_program { run_with(&options, &text, &shown) } else { Ok(()) };
    }
    let run = Run::new([&["run"], &options[..], &[&*shown]].concat());
    let result = run.execute();
    let said = result.output.clone() + &result.error;
    match refused.iter().find(|line| !said.contains(**line)) {
        None if result.exit != 0 => Ok(()),
        None => Err("it was linked".to_owned()),
        Some(missing) => Err(format!("this was not found: {missing}\n{said}")),
    }
}

/// Further options for programs that say `; everywhere`: their output depends neither on the schedule nor on when
/// collections run or stacks grow.
const EVERYWHERE: [&[&str]; 9] = [
    &["--stress"],
    &["--workers=4"],
    &["--seed=1"],
    &["--seed=2", "--stress"],
    &["--seed=3"],
    &["--jit=off"],
    &["--jit-eager"],
    &["--jit-eager", "--jit-chaos=1"],
    &["--jit-eager", "--jit-chaos=2", "--stress"],
];

fn run(path: &Path) -> Result<(), String> {
    let (text, shown) = read(path)?;
    run_with(&[], &text, &shown)?;
    let others = EVERYWHERE.iter().filter(|_| text.contains("; everywhere"));
    others.into_iter().try_for_each(|options| run_with(options, &text, &shown))
}

fn run_with(options: &[&str], text: &str, shown: &str) -> Result<(), String> {
    let run = Run::new([&["run"], options, &[shown]].concat());
    let result = run.execute();
    let expected: String = comments(text, "; expect: ").map(|line| format!("{line}\n")).collect();
    let exit = comments(text, "; expect exit: ").next().map_or(Ok(0), str::parse::<i32>);
    let exit = exit.map_err(|error| error.to_string())?;
    let repeat = || format!("{}\nrepeat with\n  {}", result.error, run.repetition());
    compare("the output", &expected, &result.output).map_err(|problem| problem + &repeat())?;
    let mut errors = comments(text, "; expect error: ");
    if let Some(missing) = errors.find(|line| !result.error.contains(line)) {
        return Err(format!("this was not reported: {missing}\n{}", repeat()));
    }
    match result.exit == exit {
        true => Ok(()),
        false => Err(format!("the exit code is {}, not {exit}\n{}", result.exit, repeat())),
    }
}

/// A program in the tiny language. The compiler from the guide translates it to assembly, whose run prints the `#
/// expect: text` comments; or the compiler reports the `# mistake: text`.
fn tiny(path: &Path) -> Result<(), String> {
    let (text, shown) = read(path)?;
    let compiler = ["run", "--allow-files", "examples/tiny_compiler.ns", &shown];
    let compilation = Run::new([&compiler[..], &["{scratch}/program.sqasm"]].concat());
    let compiled = compilation.execute();
    if let Some(mistake) = comments(&text, "# mistake: ").next() {
        return compare(&shown, &format!("{mistake}\n"), &compiled.output);
    }
    if compiled.exit != 0 {
        return Err(format!("{}{}", compiled.output, compiled.error));
    }
    let program = compilation.scratch.path().join("program.sqasm").display().to_string();
    let result = Run::new(["run".to_owned(), program]).execute();
    let expected: String = comments(&text, "# expect: ").map(|line| format!("{line}\n")).collect();
    compare(&shown, &expected, &result.output).map_err(|problem| problem + &result.error)?;
    let mut refusals = comments(&text, "# refused: ");
    match refusals.find(|line| !result.error.contains(line)) {
        Some(missing) => Err(format!("this was not found: {missing}\n{}", result.error)),
        None => Ok(()),
    }
}
