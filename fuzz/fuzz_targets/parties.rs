//! A guest in a sandbox and a host with authority, both made of the bytes, meet; no code of the guest runs in the host, and
//! the host does not stand still.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use squall_fuzzing::choices::Choices;
use squall_fuzzing::machine::Machine;
use squall_fuzzing::parties;

/// The longest time that a host may wait for itself, in machines of all kinds.
const STALL: Duration = Duration::from_millis(100);

fuzz_target!(|bytes: &[u8]| {
    let parties = parties::generate(&mut Choices::Bytes(bytes));
    if let Err(problem) = Machine::of_process().meet(&parties, STALL) {
        // The problem comes last: of a long message, only the end is kept.
        panic!("{}\n{}\n{problem}", parties.guest, parties.host);
    }
});
