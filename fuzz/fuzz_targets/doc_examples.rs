//! Examples in the comments of any text give a module of tests or are refused; every mistake is at a place in the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_fuzzing::forms::assert_places;
use squall_newspeak::examples::{as_tests, examples};
use squall_newspeak::{CompileOptions, Severity, Source, compile_source};

fuzz_target!(|bytes: &[u8]| {
    let source = Source::from_bytes("fuzz.ns", bytes);
    let found = examples(&source);
    let tests = match as_tests(&source, &found, "documented: documented testing: testing", "", "") {
        Ok(tests) => tests,
        Err(refused) => {
            assert!(refused.iter().any(|diagnostic| diagnostic.severity == Severity::Error));
            return assert_places(&source, &refused);
        }
    };
    assert!(found.len() <= tests.names.len(), "each example has a name");
    if let Err(mistakes) = compile_source(&tests.module, &CompileOptions { trusted: false }) {
        let mistakes = tests.relocate(mistakes);
        assert!(mistakes.iter().any(|diagnostic| diagnostic.severity == Severity::Error));
        assert_places(&source, &mistakes);
    }
});
