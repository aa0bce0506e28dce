//! Any bytes are rejected or give a module, which is rejected or accepted; nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_bytecode::format;
use squall_bytecode::liveness::FrameMaps;
use squall_bytecode::verifier::{Trust, verify};

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    format::seal(&mut bytes);
    let Ok(module) = format::decode(&bytes) else { return };
    assert_eq!(format::encode(&module).as_ref(), Ok(&bytes));
    let untrusted = verify(&module, Trust::Untrusted);
    let trusted = verify(&module, Trust::Trusted);
    assert!(untrusted.is_err() || trusted.is_ok());
    for function in &module.functions {
        let maps = FrameMaps::compute(function);
        for pc in 0..=function.code.len() {
            let (before, at) = (maps.before(pc), maps.at(pc));
            // In a fork, there is what its branches have defined; of what is not verified, maps mean nothing.
            assert!(before.includes(at) || maps.fork(pc).is_some() || trusted.is_err());
        }
    }
});
