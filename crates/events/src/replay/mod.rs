//! Recordings: the file from which `squall replay` repeats a run of all cores. `squall run --record` writes it, and the
//! runtime says what is in it (`crates/runtime/src/state/replays`).
//!
//! A vat computes the same whenever its turns get the same messages in the same order, its strands run in the same order, and
//! both get the same answers from outside and from what strands share. So a recording has, for each vat, its *items* in order,
//! turns and runs of strands, and for each strand beside others its own *part*; in both, what came from outside, and the
//! places of operations on shared objects among all such operations. It has neither schedules nor data.
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
//! A block of events belongs to one worker. It is a sequence of *pieces*: each begins with an event that says whose piece it
//! is, and what follows happened there. Messages have numbers from a sequence that workers share in [blocks](BLOCK); where a
//! piece begins is how many numbers the one before has taken, so sends are in no event of their own.
//!
//! Invariant: reading panics for no bytes, and needs memory in proportion to their number.

mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::{BadRecording, Event, Item, Part, Recording, Run, What};
pub use writer::{Appender, Events, Sink, Writer, long_input, sandbox_ended};

/// How many bytes tell a recording.
pub const LENGTH_OF_MAGIC: usize = 8;

/// The first bytes of each recording, with the version of the format.
const MAGIC: &[u8; LENGTH_OF_MAGIC] = b"SQREPL\x00\x05";

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

/// Whose piece of a recording something is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Entity {
    /// The vat with this number: its turns, and the strands that it runs one at a time.
    Vat(u64),
    /// The strand with this number, which runs beside others or is in no vat.
    Strand(u64),
}

impl Entity {
    fn bits(self) -> u64 {
        match self {
            Entity::Vat(number) => number << 1,
            Entity::Strand(number) => number << 1 | 1,
        }
    }

    fn of_bits(bits: u64) -> Entity {
        if bits & 1 == 0 { Entity::Vat(bits >> 1) } else { Entity::Strand(bits >> 1) }
    }
}

impl std::fmt::Display for Entity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Entity::Vat(number) => write!(formatter, "actor {number}"),
            Entity::Strand(number) => write!(formatter, "strand {number}"),
        }
    }
}

/// How far a transaction goes at its place in the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// It begins and commits there.
    Whole,
    /// It begins there, and goes on up to its first effect beyond memory. It commits at another place.
    UpToEffect,
}

/// What happens at a poll that a recording has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtPoll {
    /// The strand gives way to others, which ends its item.
    GivesWay,
    /// The strand begins to end, since another one has ended it.
    Ends,
}

/// How a sandbox has ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SandboxEnd {
    /// The number of the reason.
    pub reason: u8,
    /// The place of the report among all texts, if it was written.
    pub place: Option<u64>,
    /// The report.
    pub report: String,
}

/// Where a strand begins to end that another one has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndsAt {
    /// In a wait, or before its first step: the strand's polls are not counted.
    Wait,
    /// In a wait behind so many polls; before its first step, if these are 0.
    WaitBehind(u64),
    /// At some poll: the strand's polls are not counted.
    SomePoll,
    /// At the poll with this number, of all that the strand has come to.
    Poll(u64),
}

/// The first byte of an event. Those from [`TURN`](tag::TURN) on are turns, and hold two more fields.
mod tag {
    /// A vat's next item, no turn that begins: numbers made before, vat, key, the strand plus 1 or 0 for the turn.
    pub const ITEM: u8 = 1;
    /// A piece goes on: numbers made before, entity, key, ticket.
    pub const CONTINUED: u8 = 2;
    /// The worker has other numbers from here on: numbers made before, the next number.
    pub const NUMBERS: u8 = 3;
    /// The worker notes other numbers next, if any: numbers made before.
    pub const COUNTED: u8 = 4;
    /// A vat was made: its number.
    pub const CREATED: u8 = 5;
    /// A promise was decided.
    pub const DECIDED: u8 = 6;
    /// A text was written: its place among all outputs, the check of the text.
    pub const OUTPUT: u8 = 7;
    /// Something came from outside: what was asked for, the answer.
    pub const INPUT: u8 = 8;
    /// It was too late to decide a promise.
    pub const LATE: u8 = 9;
    /// A strand's piece: numbers made before, the strand, key.
    pub const STRAND: u8 = 10;
    /// A strand was started: its number.
    pub const STARTED: u8 = 11;
    /// An operation on something shared: its place among all of them, from the place before on this worker.
    pub const ORDERED: u8 = 12;
    /// A timer has woken a strand: the place, as above; the strand's entity. Belongs to no piece.
    pub const WOKEN: u8 = 13;
    /// Something outside that a strand waits for is ready; as above.
    pub const READY: u8 = 14;
    /// A transaction that commits: the place, as above, of its commit or of its first effect beyond memory; 1 for the latter,
    /// else 0. The events of the attempt follow.
    pub const ATOMIC: u8 = 15;
    /// A transaction that has had an effect reads what others have committed since: a place behind their commits, as above.
    pub const AFTER: u8 = 16;
    /// The strand begins to end, since another one has ended it: 1 if it waited; 0 if it ran up to a poll; or, if polls are
    /// counted, 3 or 2, and the number of the last poll.
    pub const KILLED: u8 = 17;
    /// The strand of an item gives way at a poll, or begins to end there since another one has ended it: how many polls the item
    /// has come to, 1 for the latter or 0.
    pub const POLLED: u8 = 18;
    /// The strand begins to end, since its sandbox is over; or a turn of the sandbox does not begin. 1 if it waited, else 0.
    pub const OVER: u8 = 19;
    /// A sandbox has ended: its number, the reason, the place of the report among all texts plus 1 or else 0, the report.
    /// Belongs to no piece.
    pub const ENDED: u8 = 20;
    /// A turn begins. The bits below are [`SAME_VAT`] and how many numbers were made before, or [`MANY`]. Then follow that
    /// number, if it is as large; vat and key, unless they follow those of the piece before; and the message's number, from
    /// the message before.
    pub const TURN: u8 = 0x80;
    /// The turn is that of the vat that the worker's piece before was of, and its key the next one.
    pub const SAME_VAT: u8 = 0x40;
    /// The count of numbers made is a field of its own.
    pub const MANY: u8 = 0x3f;
}

/// A difference as a number: small ones are small whatever their sign.
fn folded(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63) as u64
}

/// Undoes [`folded`].
fn unfolded(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// The digest of the bytes of a module, by Fowler, Noll and Vo (FNV-1a).
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The check sum of a block at a place (CRC-32, ISO 3309).
fn check_sum(place: u32, kind: u8, payload: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&place.to_le_bytes());
    sum.update(&[kind]);
    sum.update(payload);
    sum.finalize()
}
