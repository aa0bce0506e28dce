//! A well-typed program made of the bytes is verified, survives its other forms, and answers what a
//! plain evaluator says.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use squall::FileKind;
use squall::embedding::{Error, Value};
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

fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let words = std::env::var("SQUALL_FUZZ").unwrap_or_default();
        Machine::start(&words).expect("the machine starts")
    })
}

fuzz_target!(|bytes: &[u8]| {
    let program = generate::program(&mut Choices::Bytes(bytes), STEPS);
    let arguments = text::arguments(0);
    let expected = evaluate(&program, arguments);
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
    let arguments = arguments.map(Value::Integer).to_vec();
    let found = machine().call(FileKind::Binary, &binary, "0", arguments);
    let agrees = match (&found, expected) {
        (Ok(Value::Integer(answer)), Outcome::Answer(wanted)) => *answer == wanted,
        // Integers of more than 61 bits are objects.
        (Ok(Value::Object(_)), Outcome::Answer(wanted)) => {
            found.as_ref().is_ok_and(|value| machine().describe(value) == wanted.to_string())
        }
        (Err(Error::Exception { class, .. }), Outcome::Fault(fault)) => class == fault.name(),
        _ => false,
    };
    assert!(agrees, "{found:?} instead of {expected:?}\n{written}");
});
