//! Tests of `squall profile`: a program whose time goes into one function is profiled with each tier. Samples depend on time,
//! so the tests look at what is certain whatever the machine's load is: which functions are on stacks, which of two gets
//! more, which waits there are. `main.rs` collects the tests as trials.

use libtest_mimic::{Failed, Trial};

use crate::process::Run;

const PROGRAM: &str = "tests/profiles/busy.ns";

pub fn trials() -> Vec<Trial> {
    let stacks = |name: &str, options: &'static [&'static str]| {
        Trial::test(format!("profiles/{name}"), move || stacks(options))
    };
    vec![
        stacks("of_the_interpreter", &["--jit=off"]),
        stacks("of_base_code", &["--jit=base"]),
        stacks("of_optimised_code", &[]),
        stacks("of_code_compiled_at_once", &["--jit-eager"]),
        stacks("with_another_rate", &["--rate=5000"]),
        Trial::test("profiles/tables", tables),
        Trial::test("profiles/forms", forms),
        Trial::test("profiles/of_many_short_waits", many_waits),
        Trial::test("profiles/of_a_program_that_is_asked_to_end", asked_to_end),
        Trial::test("profiles/refuse_what_they_cannot_write", refused),
    ]
}

fn profile(options: &[&str]) -> Result<(Run, String), String> {
    let mut arguments = vec!["profile"];
    arguments.extend(options);
    arguments.push(PROGRAM);
    let run = Run::new(arguments);
    let result = run.execute();
    match result.exit == 0 && result.output == "200000\n" {
        true => Ok((run, result.error)),
        false => Err(format!("{result:?}\nrepeat it with\n  {}", run.repetition())),
    }
}

fn file(run: &Run, name: &str) -> Result<Vec<u8>, String> {
    std::fs::read(run.scratch.path().join(name)).map_err(|error| format!("{name}: {error}"))
}

/// Each stack begins in the program, and most of them are in the hot function.
fn stacks(options: &[&str]) -> Result<(), Failed> {
    let mut all = vec!["--output={scratch}/p.txt"];
    all.extend(options);
    let (run, _) = profile(&all)?;
    let text = String::from_utf8_lossy(&file(&run, "p.txt")?).into_owned();
    let weight = |function: &str| -> u64 {
        let lines = text.lines().filter(|line| line.contains(function));
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
    };
    let (hot, cold) = (weight("Busy>>main:;Busy>>hot:"), weight("Busy>>cold:"));
    if hot == 0 || hot <= cold {
        return Err(format!("hot: has {hot}, cold: has {cold}\n{text}").into());
    }
    Ok(())
}

fn tables() -> Result<(), Failed> {
    let (_, text) = profile(&["--workers=1"])?;
    let parts = ["Busy>>hot: (tests/profiles/busy.ns", "Busy>>make:", "a lock #", "worker 0: "];
    match parts.iter().find(|part| !text.contains(**part)) {
        Some(part) => Err(format!("{part} is not in\n{text}").into()),
        None => Ok(()),
    }
}

/// Of many waits few are measured, and the counts come near the truth; the long wait has its own time.
fn many_waits() -> Result<(), Failed> {
    let run = Run::new(["profile", "--workers=1", "tests/profiles/many_waits.ns"]);
    let result = run.execute();
    // A row has the time, its unit, the count, the longest wait and its unit, and the cause.
    let count = |cause: &str| -> u64 {
        let rows = result.error.lines().filter(|line| line.contains(cause));
        let counts = rows.filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
        counts.sum()
    };
    let (values, messages) = (count("  a channel #"), count("  a turn of vat "));
    let sleeps = count("  a time, at block in ManyWaits>>main:");
    // Waits that took long since others had the processor stand for themselves alone.
    let is_right = result.exit == 0
        && result.output == "0\n"
        && (200_000..=404_000).contains(&values)
        && (100_000..=203_000).contains(&messages)
        && sleeps == 1;
    match is_right {
        true => Ok(()),
        false => Err(format!("{values}, {messages}, {sleeps}: {result:?}").into()),
    }
}

/// The files have the right form; their contents are tested where they are made.
fn forms() -> Result<(), Failed> {
    let (run, text) = profile(&[
        "--output={scratch}/p.svg",
        "--output={scratch}/p.json",
        "--output={scratch}/p.pb",
    ])?;
    let json: serde_json::Value = serde_json::from_slice(&file(&run, "p.json")?)
        .map_err(|error| format!("p.json: {error}"))?;
    let picture = String::from_utf8_lossy(&file(&run, "p.svg")?).into_owned();
    let has_function = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("Busy>>hot:");
    let is_right = json["threads"][0]["name"] == "worker 0"
        && picture.contains("<title>Busy&gt;&gt;hot:")
        && has_function(&file(&run, "p.pb")?)
        && text.is_empty();
    if is_right { Ok(()) } else { Err(format!("{text}\n{picture}").into()) }
}

/// A program without an end is profiled up to the signal that asks it to end.
fn asked_to_end() -> Result<(), Failed> {
    let signal = nix::sys::signal::Signal::SIGTERM as i32;
    let arguments = ["profile", "--allow-ffi", "--output={scratch}/p.txt"];
    let program = ["tests/profiles/signalled.ns".to_owned(), signal.to_string()];
    let run = Run::new(arguments.map(str::to_owned).into_iter().chain(program));
    let result = run.execute();
    let profile = file(&run, "p.txt")?;
    match result.exit == 128 + signal
        && String::from_utf8_lossy(&profile).contains("Signalled>>hot:")
    {
        true => Ok(()),
        false => Err(format!("{result:?}\n{}", String::from_utf8_lossy(&profile)).into()),
    }
}

fn refused() -> Result<(), Failed> {
    let cases = [
        ("--output=/nowhere/p.svg", 74, "/nowhere/p.svg cannot be written"),
        ("--output=p.pdf", 2, "the extension says the form"),
        ("--rate=0", 2, "--rate"),
        ("--trace=t.pftrace", 2, "`squall run` alone makes traces"),
    ];
    for (option, exit, part) in cases {
        let arguments = ["profile", option, PROGRAM];
        let result = Run::new(arguments).execute();
        if result.exit != exit || !result.output.is_empty() || !result.error.contains(part) {
            return Err(format!("{arguments:?}: {result:?}").into());
        }
    }
    Ok(())
}
