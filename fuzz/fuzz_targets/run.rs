//! Whatever the verifier accepts runs, in a sandbox, and does no harm: no crash, no end that does not come.
//!
//! The input is a module in any form: binary, assembly, Newspeak. It is damaged part by part.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use squall_bytecode::format;
use squall_bytecode::module::Module;
use squall_bytecode::verifier::{Trust, verify};
use squall_fuzzing::choices::Choices;
use squall_fuzzing::forms::module_of;
use squall_fuzzing::machine::Machine;
use squall_fuzzing::mutation::{damage_bytes, damage_module};

fuzz_target!(|bytes: &[u8]| {
    let Some(module) = module_of(bytes) else { return };
    if verify(&module, Trust::Untrusted).is_err() {
        return;
    }
    if let Err(problem) = Machine::of_process().attack(&module) {
        panic!("{problem}");
    }
});

/// How often a module is damaged until the verifier accepts it.
const ATTEMPTS: usize = 10;

/// How many modules are remembered, of which others get parts.
const DONORS: usize = 200;

thread_local! {
    static MODULES: RefCell<Vec<Module>> = const { RefCell::new(Vec::new()) };
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut choices = Choices::Seed(u64::from(seed));
    let Some(module) = module_of(&data[..size]) else {
        return fuzzer_mutate(data, size, max_size);
    };
    let donor = MODULES.with_borrow_mut(|modules| {
        let donor = choices.element(modules).unwrap_or_else(|| module.clone());
        match modules.len() {
            DONORS => modules[choices.below(DONORS)] = module.clone(),
            _ => modules.push(module.clone()),
        }
        donor
    });
    let damaged = match choices.one_in(10) {
        true => bytewise(&mut choices, &module, &donor),
        false => by_parts(&mut choices, &module, &donor),
    };
    match damaged {
        Some(bytes) if bytes.len() <= max_size => {
            data[..bytes.len()].copy_from_slice(&bytes);
            bytes.len()
        }
        _ => size,
    }
});

fn bytewise(choices: &mut Choices, module: &Module, donor: &Module) -> Option<Vec<u8>> {
    let (own, other) = (format::encode(module).ok()?, format::encode(donor).ok()?);
    Some(damage_bytes(choices, &own, &other))
}

fn by_parts(choices: &mut Choices, module: &Module, donor: &Module) -> Option<Vec<u8>> {
    let mut damaged = module.clone();
    for _ in 0..ATTEMPTS {
        damaged = module.clone();
        damage_module(choices, &mut damaged, donor);
        if verify(&damaged, Trust::Untrusted).is_ok() {
            break;
        }
    }
    format::encode(&damaged).ok()
}
