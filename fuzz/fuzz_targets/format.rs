//! Formatting does not change what a text means, and a formatted text stays as it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_bytecode::assembler::{assemble, format};

fuzz_target!(|text: &str| {
    let Ok(formatted) = format(text) else { return };
    assert_eq!(format(&formatted).as_deref(), Ok(&*formatted), "{text}");
    assert_eq!(assemble(text).ok(), assemble(&formatted).ok(), "{formatted}");
});
