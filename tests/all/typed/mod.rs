//! Random well-typed programs, run by the machine and by a plain evaluator, which must agree.
//!
//! A module of many programs is verified and run twice, the second time with collections all the
//! time and tiny stacks. `SQUALL_TYPED=N` tries N times as many, with other seeds.

pub mod program;
pub mod reference;
pub mod text;

use libtest_mimic::Trial;

use crate::mutation::Random;
use crate::process::{Run, compare};
use program::{Generator, Step};

/// Modules, and programs in each.
const MODULES: u64 = 4;
const PROGRAMS: usize = 60;

/// Steps of a program on its highest level, at most.
const STEPS: usize = 40;

pub fn trials() -> Vec<Trial> {
    let factor = std::env::var("SQUALL_TYPED").ok().and_then(|text| text.parse::<u64>().ok());
    let first = if factor.is_some() { MODULES } else { 0 };
    let seeds = first..first + MODULES * factor.unwrap_or(1);
    let trial =
        |seed| Trial::test(format!("typed/{seed}"), move || agree(seed).map_err(Into::into));
    seeds.map(trial).collect()
}

fn programs(seed: u64) -> Vec<Vec<Step>> {
    let mut random = Random(seed);
    let mut choose = |limit: usize| random.below(limit);
    let mut generator = Generator { choose: &mut choose };
    (0..PROGRAMS).map(|_| generator.program(STEPS)).collect()
}

fn agree(seed: u64) -> Result<(), String> {
    let programs = programs(seed);
    let expected: String =
        programs.iter().map(|program| reference::evaluate(program) + "\n").collect();
    for options in [&["run"][..], &["run", "--stress"]] {
        let run = Run::new(options.iter().copied().chain(["{scratch}/programs.sqasm"]));
        let path = run.scratch.path().join("programs.sqasm");
        std::fs::write(&path, text::module(&programs)).map_err(|error| error.to_string())?;
        let result = run.execute();
        if result.exit != 0 {
            return Err(format!("exit {}\n{}", result.exit, result.error));
        }
        compare(&format!("seed {seed}, {options:?}"), &expected, &result.output)?;
    }
    Ok(())
}
