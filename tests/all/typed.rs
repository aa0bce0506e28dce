//! Tests of random well-typed programs with processes: the machine and a plain evaluator must compute the same results.
//! `main.rs` collects them as trials.
//!
//! A module with many programs is verified and run several times: without options, with collections at every allocation
//! and tiny stacks, with several workers under one of the schedulers, and with a seed. The results depend on none of
//! this. The module must also survive the translation to its other forms. `SQUALL_TYPED=N` tests N times as many
//! modules, with other seeds; the fuzz target `programs` makes such programs of bytes.

use libtest_mimic::Trial;
use squall_bytecode::assembler::assemble;
use squall_fuzzing::choices::Choices;
use squall_fuzzing::forms;
use squall_fuzzing::programs::evaluate::{Outcome, evaluate};
use squall_fuzzing::programs::text::{arguments, printing_module};
use squall_fuzzing::programs::{Program, generate};

use crate::process::{Run, compare};

/// The number of modules, and of programs in each.
const MODULES: u64 = 6;
const PROGRAMS: usize = 40;

/// The most steps of a program on its highest level.
const STEPS: usize = 30;

/// The schedulers, which the modules use in turn.
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

/// Programs that do not take too long, and their output.
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
