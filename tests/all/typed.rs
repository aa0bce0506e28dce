//! Random well-typed programs with processes, run by the machine and by a plain evaluator, which must agree.
//!
//! A module of many programs is verified and run several times: as it is, with collections all the time and
//! tiny stacks, with several workers under one scheduler or another, and with a seed. What the programs answer
//! does not depend on that. The module survives its other forms, too. `SQUALL_TYPED=N` tries N times as many,
//! with other seeds; the fuzz target `programs` makes the same programs of bytes.

use libtest_mimic::Trial;
use squall_bytecode::assembler::assemble;
use squall_fuzzing::choices::Choices;
use squall_fuzzing::forms;
use squall_fuzzing::programs::evaluate::{Outcome, evaluate};
use squall_fuzzing::programs::text::{arguments, printing_module};
use squall_fuzzing::programs::{Program, generate};

use crate::process::{Run, compare};

/// Modules, and programs in each.
const MODULES: u64 = 6;
const PROGRAMS: usize = 40;

/// Steps of a program on its highest level, at most.
const STEPS: usize = 30;

/// The schedulers that take turns.
const SCHEDULERS: [&str; 7] =
    ["stealing", "interleaving", "threads", "hierarchical", "peered", "dictated", "balanced"];

pub fn trials() -> Vec<Trial> {
    let factor = std::env::var("SQUALL_TYPED").ok().and_then(|text| text.parse::<u64>().ok());
    let first = if factor.is_some() { MODULES } else { 0 };
    let seeds = first..first + MODULES * factor.unwrap_or(1);
    let trial =
        |seed| Trial::test(format!("typed/{seed}"), move || agree(seed).map_err(Into::into));
    seeds.map(trial).collect()
}

/// Programs that are not too much, and what they print.
fn programs(seed: u64) -> (Vec<Program>, String) {
    let mut choices = Choices::Seed(seed);
    let (mut programs, mut expected) = (Vec::new(), String::new());
    while programs.len() < PROGRAMS {
        let program = generate::program(&mut choices, STEPS);
        match evaluate(&program, arguments(programs.len())) {
            Outcome::Answer(answer) => expected += &format!("{answer}\n"),
            Outcome::Fault(_) => expected += "fault\n",
            Outcome::TooMuch => continue,
        }
        programs.push(program);
    }
    (programs, expected)
}

fn agree(seed: u64) -> Result<(), String> {
    let (programs, expected) = programs(seed);
    let text = printing_module(&programs);
    let module = assemble(&text).map_err(|problems| format!("{}\n{text}", problems[0]))?;
    forms::check(&module)?;
    let scheduler = SCHEDULERS[seed as usize % SCHEDULERS.len()];
    let parallel = format!("--workers=3 --scheduler={scheduler}");
    for options in ["", "--stress", &parallel, &format!("--seed={seed}")] {
        let words = ["run"].into_iter().chain(options.split_whitespace());
        let run = Run::new(words.chain(["{scratch}/programs.sqasm"]));
        let path = run.scratch.path().join("programs.sqasm");
        std::fs::write(&path, &text).map_err(|error| error.to_string())?;
        let result = run.execute();
        if result.exit != 0 {
            return Err(format!("seed {seed} {options}: {}\n{}", result.exit, result.error));
        }
        compare(&format!("seed {seed} {options}"), &expected, &result.output)?;
    }
    Ok(())
}
