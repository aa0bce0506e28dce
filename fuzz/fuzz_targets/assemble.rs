//! Any text is rejected with located errors or gives a module that survives both round trips.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_bytecode::assembler::assemble;
use squall_bytecode::disassembler::disassemble;
use squall_bytecode::format;
use squall_bytecode::verifier::{Trust, verify};

fuzz_target!(|text: &str| {
    match assemble(text) {
        Ok(module) => {
            let bytes = format::encode(&module).expect("the assembler keeps the format's limits");
            let decoded = format::decode(&bytes).expect("what was encoded can be decoded");
            let normal = disassemble(&decoded);
            let again = assemble(&normal).expect("what was disassembled can be assembled");
            assert_eq!(format::encode(&again), Ok(bytes), "{normal}");
            let _ = verify(&module, Trust::Untrusted);
        }
        Err(problems) => {
            let lines = text.lines().count() as u32 + 1;
            assert!(!problems.is_empty());
            assert!(problems.iter().all(|problem| (1..=lines).contains(&problem.span.line)));
        }
    }
});
