//! The fuzz targets that run code, with seeds in place of a fuzzer. A process has one machine, so this is one test.
//!
//! `SQUALL_FUZZ_TIMES=N` tries N times as much, with other seeds, and `SQUALL_FUZZ_FIRST=M` continues after the first M
//! - 1 times; `SQUALL_FUZZ` has options for the machine. With `SQUALL_FUZZ_PARTIES`, only guests and hosts meet.

use std::path::Path;
use std::time::Duration;

use squall_bytecode::assembler::assemble;
use squall_bytecode::format;
use squall_bytecode::module::Module;
use squall_bytecode::verifier::{Trust, verify};
use squall_fuzzing::choices::Choices;
use squall_fuzzing::machine::Machine;
use squall_fuzzing::mutation::damage_module;
use squall_fuzzing::parties;
use squall_fuzzing::programs::evaluate::{Outcome, evaluate};
use squall_fuzzing::programs::{generate, text};

/// The number of damaged modules that run, of programs, and of pairs of a guest and a host.
const DAMAGED: u64 = 150;
const PROGRAMS: u64 = 60;
const PARTIES: u64 = 40;

/// How long a host may wait for itself. A test does not depend on time: this finds hosts that stand still for good, unless
/// `SQUALL_FUZZ_STALL` says how many milliseconds are too long.
const STALL: Duration = Duration::from_secs(60);

fn stall() -> Duration {
    let milliseconds = std::env::var("SQUALL_FUZZ_STALL").ok();
    let stall = milliseconds.and_then(|number| number.parse().ok()).map(Duration::from_millis);
    stall.unwrap_or(STALL)
}

/// Folders with modules to be damaged.
const MODULES: [&str; 3] = ["tests/bytecode/run", "tests/bytecode/link", "fuzz/seeds/texts"];

/// Folders with modules that run undamaged: those that once did harm, and those about sandboxes.
const FOUND: [&str; 2] = ["fuzz/seeds/run", "tests/language/sandboxes"];

#[test]
fn modules_run_in_one_machine() {
    let machine = Machine::of_process();
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let first = number("SQUALL_FUZZ_FIRST").unwrap_or(1);
    let rounds = number("SQUALL_FUZZ_TIMES").map_or(0..1, |times| first..first + times);
    for (index, module) in modules(&FOUND).iter().enumerate() {
        assert_eq!(machine.attack(module), Ok(()), "module {index} of {FOUND:?}");
    }
    let modules = modules(&MODULES);
    for round in rounds {
        meet(machine, round);
        if std::env::var_os("SQUALL_FUZZ_PARTIES").is_some() {
            continue;
        }
        for seed in round * PROGRAMS..(round + 1) * PROGRAMS {
            agree(machine, seed);
        }
        for seed in round * DAMAGED..(round + 1) * DAMAGED {
            attack(machine, &modules, seed);
        }
    }
}

/// Checks that no guest of a round does harm.
fn meet(machine: &Machine, round: u64) {
    assert!(guests_that_may_print_are_heard(machine, round), "round {round}");
    for seed in round * PARTIES..(round + 1) * PARTIES {
        let parties = parties::generate(&mut Choices::Seed(seed));
        let met = machine.meet(&parties, stall());
        assert_eq!(met, Ok(()), "seed {seed}\n{}\n{}", parties.guest, parties.host);
    }
}

/// Whether the judgement about a guest and a host can be a bad one.
fn guests_that_may_print_are_heard(machine: &Machine, round: u64) -> bool {
    let mut seeds = round * PARTIES..(round + 1) * PARTIES;
    seeds.any(|seed| {
        let parties = parties::generate(&mut Choices::Seed(seed));
        machine.meet_granting(&parties, stall(), &["host:console"]).is_err()
    })
}

fn modules(folders: &[&str]) -> Vec<Module> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = folders.iter().flat_map(|folder| {
        std::fs::read_dir(root.join(folder)).expect("the folder is there").flatten()
    });
    let mut paths: Vec<_> = files.map(|file| file.path()).collect();
    paths.sort();
    let texts = paths.into_iter().filter_map(|path| std::fs::read_to_string(path).ok());
    texts.filter_map(|text| assemble(&text).ok()).collect()
}

/// Checks that a damaged module does no harm.
fn attack(machine: &Machine, modules: &[Module], seed: u64) {
    let mut choices = Choices::Seed(seed);
    let [own, donor] = [(); 2].map(|_| &modules[choices.below(modules.len())]);
    for _ in 0..10 {
        let mut module = own.clone();
        damage_module(&mut choices, &mut module, donor);
        if verify(&module, Trust::Untrusted).is_ok() {
            let result = machine.attack(&module);
            assert_eq!(result, Ok(()), "seed {seed}");
            return;
        }
    }
}

/// Checks that a program gives the right answer.
fn agree(machine: &Machine, seed: u64) {
    let program = generate::program(&mut Choices::Seed(seed), 30);
    let expected = evaluate(&program, text::arguments(0));
    if expected == Outcome::TooMuch {
        return;
    }
    let written = text::module(std::slice::from_ref(&program));
    let module = assemble(&written).expect("programs can be assembled");
    let bytes = format::encode(&module).expect("programs can be encoded");
    let found = machine.agrees(&bytes, expected);
    assert_eq!(found, Ok(()), "seed {seed}\n{program:#?}\n{written}");
}
