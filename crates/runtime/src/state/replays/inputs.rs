//! The numbers of inputs in recordings that are no answers of primitives: an answer has its primitive's number, which is below
//! all of these. A recording has no names, so a number that was published keeps its meaning.

/// The state of the thread's generator, for choices among channels.
pub const RANDOM: u64 = 1 << 20;

/// Whether a resource was ready.
pub const AWAITED: u64 = RANDOM + 1;

/// The answer of an operation on a strand.
pub const ANSWERED: u64 = RANDOM + 2;

/// The scheduler's time, which an instruction asks for.
pub const NOW: u64 = RANDOM + 3;

/// C has called a callback.
pub const CALLED_BACK: u64 = RANDOM + 4;

/// The number of a callback that is made.
pub const CALLBACK: u64 = RANDOM + 5;

/// The number of a sandbox that is made.
pub const SANDBOX: u64 = RANDOM + 6;

/// Whether a sender to a bounded mailbox waits.
pub const ROOM: u64 = RANDOM + 16;

/// A strand has found the slot of a nested class empty.
pub const CLASS: u64 = RANDOM + 17;
