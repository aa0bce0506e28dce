//! Modules in the text form of bytecode: `tests/bytecode`.
//!
//! | folder | what must hold |
//! |---|---|
//! | `asm` | assembling and disassembling gives the text back, comments aside |
//! | `verify` | `squall verify` finds the errors in the `; error: text` comments, or none |
//! | `run` | `squall run` prints the `; expect: text` comments, in order; the standard error has the `; expect error: text` comments in it; with `; everywhere`, so it does under stress, with several workers and with seeds |
//! | `tiny`, and `examples/texts` | what `examples/tiny_compiler.ns` makes of a program prints its `# expect: text` comments, or the verifier finds the `# refused: text` |
//! | `link` | the same of programs, which import other files there; `; refused: text` comments are what linking says |

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

/// The texts of comments that begin with a key.
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
    let run = Run::new(["verify", &shown]);
    let result = run.execute();
    let repeat = || format!("{}\nrepeat with\n  {}", result.error, run.repetition());
    let mut expected = comments(&text, "; error: ");
    if let Some(missing) = expected.find(|&error| !result.error.contains(error)) {
        return Err(format!("this error was not found: {missing}\n{}", repeat()));
    }
    let expected = comments(&text, "; error: ").count();
    match (expected, result.error.lines().count()) {
        (wanted, found) if wanted == found => Ok(()),
        (wanted, found) => Err(format!("{found} errors instead of {wanted}\n{}", repeat())),
    }
}

/// A program with imports runs, or linking refuses it; other files are there to be imported.
fn link(path: &Path) -> Result<(), String> {
    let (text, shown) = read(path)?;
    let refused: Vec<&str> = comments(&text, "; refused: ").collect();
    if refused.is_empty() {
        return if text.contains("\nmain ") { run(path) } else { Ok(()) };
    }
    let run = Run::new(["run", &shown]);
    let result = run.execute();
    let said = result.output.clone() + &result.error;
    match refused.iter().find(|line| !said.contains(**line)) {
        None if result.exit != 0 => Ok(()),
        None => Err("it was linked".to_owned()),
        Some(missing) => Err(format!("this was not found: {missing}\n{said}")),
    }
}

/// How programs run that say `; everywhere`, besides without options: what they do depends neither on the
/// schedule nor on when collections are, or stacks grow.
const EVERYWHERE: [&[&str]; 5] =
    [&["--stress"], &["--workers=4"], &["--seed=1"], &["--seed=2", "--stress"], &["--seed=3"]];

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

/// A program in the tiny language: the compiler that the guide writes makes assembly of it, which prints the
/// `# expect: text` comments; or finds the `# mistake: text`.
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
