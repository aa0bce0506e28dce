//! Tests of the tiers: each program of `tests/language` runs with everything compiled at once, and with chaos in machine
//! code. `main.rs` collects them.
//!
//! Programs otherwise run with the tiers of ordinary runs, in which most of their code is cold. The programs' comments say
//! what is expected, as in `language`. Programs in bytecode that say `; everywhere` run so, too (`bytecode`).
//!
//! Generated programs (`squall_fuzzing::guests`) must print the same in all tiers, whatever that is. Every second one runs as
//! a guest of a sandbox, which must take the same fuel, too. `GUESTS=n` sets how many there are, and `SEED=n` repeats one.

use std::path::Path;

use libtest_mimic::Trial;
use squall_fuzzing::choices::Choices;
use squall_fuzzing::guests;

use crate::language;
use crate::process::{Run, compare};
use crate::sample;

/// The number of generated programs.
const GUESTS: u64 = 8;

/// The options of the runs of a generated program that are compared with that in the interpreter.
const TIERS: [&[&str]; 6] = [
    &["--jit=on"],
    &["--jit=base", "--jit-eager"],
    &["--jit=on", "--jit-eager"],
    &["--jit=on", "--jit-eager", "--jit-chaos={seed}"],
    &["--jit=on", "--jit-eager", "--harden=always"],
    &["--jit=base", "--jit-eager", "--harden=always"],
];

/// A test per program.
pub fn trials() -> Vec<Trial> {
    let programs = crate::files_in("tests/language", "ns");
    let mut trials: Vec<Trial> = programs.iter().map(|path| compiled(path)).collect();
    trials.push(Trial::test("tiers/generated", || Ok(generated()?)));
    trials
}

fn compiled(path: &Path) -> Trial {
    let (name, path) = (sample::name_of(path), path.to_owned());
    Trial::test(format!("tiers/{name}"), move || {
        let text = sample::text_of(&path);
        Ok(language::run_compiled(&text, &crate::shown(&path), chaos())?)
    })
}

/// The seed of the chaos: the number that draws the sample, so that each run of `cargo xtask ci` has another.
fn chaos() -> u64 {
    sample::number().unwrap_or(1)
}

/// Compares the tiers by generated programs.
fn generated() -> Result<(), String> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = chaos().wrapping_mul(1000);
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("GUESTS").unwrap_or(GUESTS),
    };
    for seed in seeds {
        let program = guests::program(&mut Choices::Seed(seed));
        all_tiers_agree(&program, seed).map_err(|error| {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated.ns");
            _ = std::fs::write(&path, &program);
            format!("SEED={seed} repeats this, {} has the program: {error}", path.display())
        })?;
    }
    Ok(())
}

/// Runs a program in all tiers. The interpreter's output is what is expected of the others.
fn all_tiers_agree(program: &str, seed: u64) -> Result<(), String> {
    let is_guest = seed % 2 == 1;
    let output = |options: &[&str]| {
        let mut arguments = vec!["run".to_owned()];
        arguments.extend(options.iter().map(|option| option.replace("{seed}", &seed.to_string())));
        let mut run = Run::new(arguments);
        let path = run.scratch.path().join("generated.ns");
        std::fs::write(&path, program).map_err(|error| error.to_string())?;
        if is_guest {
            let host = run.scratch.path().join("host.ns");
            std::fs::write(&host, guests::HOST).map_err(|error| error.to_string())?;
            run.arguments.push("{scratch}/host.ns".to_owned());
        }
        run.arguments.push("{scratch}/generated.ns".to_owned());
        let result = run.execute();
        match result.exit {
            0 => Ok(result.output),
            code => Err(format!("{options:?} exits with {code}: {}", result.error)),
        }
    };
    let expected = output(&["--jit=off"])?;
    TIERS.iter().try_for_each(|options| {
        compare(&format!("the output with {options:?}"), &expected, &output(options)?)
    })
}
