//! Recordings: the file from which `squall replay` repeats a run of all cores. `squall run --record` writes it, and the
//! runtime says what is in it (`crates/runtime/src/state/replays`).
//!
//! A vat computes the same whenever its turns get the same messages in the same order and the same answers from outside.
//! So a recording has, for each turn of each vat, the number of its message and what came from outside; it has neither
//! schedules nor data. Messages have numbers from a sequence that workers share in [blocks](BLOCK).
//!
//! # The file
//!
//! ```text
//!   magic (8)  block  block  …
//!   block:     length (4)  kind (1)  check sum (4)  payload
//! ```
//!
//! Numbers are little-endian. The check sum covers the block's place in the file, its kind and its payload, so a block that
//! was changed, moved or removed is found. The first block is the [`Head`]; a file without [`End`] was cut, by a crash for
//! example, and is valid as far as it reaches.
//!
//! A block of events belongs to one worker. Each begins with the *segment* of a turn: as much of the turn as ran on this
//! worker without a stop.
//!
//! Invariant: reading panics for no bytes, and needs memory in proportion to their number.

mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::{BadRecording, Event, Recording, Run, Turn};
pub use writer::{Events, Writer};

/// The first bytes of each recording, with the version of the format.
const MAGIC: &[u8; 8] = b"SQREPL\x00\x01";

/// How many numbers of messages a worker takes at a time.
pub const BLOCK: u32 = 4096;

/// The greatest number of a message; the numbers begin again behind it. A number has as many bits as the hash of an object.
pub const LAST_NUMBER: u32 = (1 << 27) - 2;

/// The longest block.
const LONGEST: usize = 1 << 30;

/// What a recording is of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Head {
    /// The version of the machine.
    pub machine: String,
    /// The command line behind `run`.
    pub arguments: Vec<String>,
    /// The digest of the program's main module.
    pub program: u64,
    /// The seed of the keys for hash codes.
    pub key: u64,
}

/// How a run has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The exit code.
    pub code: i32,
}

/// The kinds of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum BlockKind {
    Head = 1,
    Events = 2,
    Module = 3,
    End = 4,
}

/// The first byte of an event.
mod tag {
    /// A turn begins: numbers made before, vat, key, message.
    pub const TURN: u8 = 1;
    /// A turn goes on: numbers made before, vat, key, ticket.
    pub const RESUMED: u8 = 2;
    /// The worker has other numbers from here on: numbers made before, the next number.
    pub const NUMBERS: u8 = 3;
    /// The turn stops for now: numbers made before.
    pub const PAUSED: u8 = 4;
    /// The turn has made a vat: its number.
    pub const CREATED: u8 = 5;
    /// The turn has decided a promise.
    pub const DECIDED: u8 = 6;
    /// The turn has come too late to decide a promise.
    pub const LATE: u8 = 9;
    /// The turn has written: its place among all outputs, the check of the text.
    pub const OUTPUT: u8 = 7;
    /// The turn has got something from outside: what it asked for, the answer.
    pub const INPUT: u8 = 8;
}

/// The digest of the bytes of a module, by Fowler, Noll and Vo (FNV-1a).
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The check sum of a block at a place (CRC-32, ISO 3309).
fn check_sum(place: u32, kind: u8, payload: &[u8]) -> u32 {
    let head = place.to_le_bytes();
    let bytes = head.iter().chain([&kind]).chain(payload);
    !bytes.fold(!0, |sum, byte| TABLE[usize::from(sum as u8 ^ byte)] ^ sum >> 8)
}

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut sum = index as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
            bit += 1;
        }
        table[index] = sum;
        index += 1;
    }
    table
}
