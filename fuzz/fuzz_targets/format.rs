//! Formatting does not change what a text means, and a formatted text stays as it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_bytecode::assembler::{assemble, format};

fuzz_target!(|text: &str| {
    let Ok(formatted) = format(text) else { return };
    assert_eq!(format(&formatted).as_deref(), Ok(&*formatted), "{text}");
    // Numbers that are none are not equal to themselves, but look alike.
    let meaning = |text: &str| assemble(text).ok().map(|module| format!("{module:?}"));
    assert_eq!(meaning(text), meaning(&formatted), "{formatted}");
});
