//! A well-typed program made of the bytes is verified, survives its other forms, and answers what a
//! plain evaluator says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_bytecode::assembler::assemble;
use squall_bytecode::format;
use squall_bytecode::verifier::{Trust, verify};
use squall_fuzzing::choices::Choices;
use squall_fuzzing::forms;
use squall_fuzzing::machine::Machine;
use squall_fuzzing::programs::evaluate::{Outcome, evaluate};
use squall_fuzzing::programs::{generate, text};

/// Steps of a program on its highest level, at most.
const STEPS: usize = 30;

fuzz_target!(|bytes: &[u8]| {
    let program = generate::program(&mut Choices::Bytes(bytes), STEPS);
    let expected = evaluate(&program, text::arguments(0));
    let written = text::module(std::slice::from_ref(&program));
    let module = match assemble(&written) {
        Ok(module) => module,
        Err(problems) => panic!("{}\n{written}", problems[0]),
    };
    if let Err(errors) = verify(&module, Trust::Untrusted) {
        panic!("{}\n{written}", errors[0]);
    }
    if let Err(problem) = forms::check(&module) {
        panic!("{problem}");
    }
    if expected == Outcome::TooMuch {
        return;
    }
    let binary = format::encode(&module).expect("its forms were checked");
    if let Err(problem) = Machine::of_process().agrees(&binary, expected) {
        panic!("{problem}\n{written}");
    }
});
