//! No bytes make the reader of recordings panic, and each turn that it answers is counted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_events::replay::Recording;

fuzz_target!(|bytes: &[u8]| {
    match Recording::read(bytes) {
        Ok(recording) => {
            let turns = recording.vats.values().map(|turns| turns.len()).sum::<usize>();
            assert_eq!(turns, recording.turns);
        }
        Err(bad) => assert!(bad.at <= bytes.len(), "{bad}"),
    }
});
