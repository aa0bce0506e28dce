//! No bytes make the reader of recordings panic, and each item that it answers is counted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_events::replay::Recording;

fuzz_target!(|bytes: &[u8]| {
    match Recording::read(bytes) {
        Ok(recording) => {
            let items = recording.vats.values().map(|items| items.len()).sum::<usize>();
            assert_eq!(items, recording.items);
        }
        Err(bad) => assert!(bad.at <= bytes.len(), "{bad}"),
    }
});
