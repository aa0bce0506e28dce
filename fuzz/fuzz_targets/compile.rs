//! Any bytes are refused with diagnostics inside the text or give a module that verifies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_bytecode::assembler::assemble;
use squall_bytecode::disassembler::disassemble;
use squall_bytecode::format;
use squall_bytecode::verifier::{Trust, verify};
use squall_fuzzing::forms::assert_places;
use squall_newspeak::diagnostics::{Diagnostic, json, render};
use squall_newspeak::{CompileOptions, Severity, Source, compile_source, dump, lexer, parse};

fuzz_target!(|bytes: &[u8]| {
    let source = Source::from_bytes("fuzz.ns", bytes);
    dump::tokens(&source, &lexer::tokenize(&source).list);
    let parsed = parse(&source);
    show(&source, &parsed.diagnostics);
    if let Some(ast) = &parsed.ast {
        dump::ast(ast);
    }
    match compile_source(&source, &CompileOptions { trusted: false }) {
        Ok(module) => {
            assert!(parsed.ast.is_some());
            if let Err(errors) = verify(&module, Trust::Untrusted) {
                panic!("{}\n{}", errors[0], disassemble(&module));
            }
            let bytes = format::encode(&module).expect("the compiler keeps the format's limits");
            assert_eq!(format::decode(&bytes).as_ref(), Ok(&module));
            let text = disassemble(&module);
            let again = assemble(&text).expect("what was disassembled can be assembled");
            assert_eq!(format::encode(&again), Ok(bytes), "{text}");
        }
        Err(diagnostics) => {
            assert!(diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error));
            show(&source, &diagnostics);
        }
    }
});

/// Shows diagnostics in all their forms; every place they name is in the text.
fn show(source: &Source, diagnostics: &[Diagnostic]) {
    assert_places(source, diagnostics);
    render::to_text(source, diagnostics, render::Colour::None);
    json::to_json_lines(source, diagnostics);
}
