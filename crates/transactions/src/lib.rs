//! The protocol of Squall's transactional memory. The runtime's `transactions` module calls it for guarded vats. The
//! protocol knows no objects: it protects numbered *stripes*, and gets the loads and stores as closures.
//!
//! | module | what it holds |
//! |---|---|
//! | [`word`] | the word of a stripe: a version, or a lock, and three flags |
//! | [`space`] | a clock and the words of all stripes; accesses outside of transactions |
//! | [`sole`] | lets one thread have a space for itself, without locks |
//! | [`attempt`] | one attempt of a transaction: its reads, its locks, its end |
//!
//! The algorithm is TL2 (Dice, Shalev, Shavit, DISC 2006) with the extension of the snapshot of LSA (Riegel, Felber,
//! Fetzer, DISC 2006). There is a clock, and each stripe has the time of its last change. An attempt has a *snapshot*,
//! the time as of which all its reads are current. It reads a stripe if the stripe was not changed after the snapshot;
//! otherwise it moves the snapshot forward, if no stripe that it has read was changed since. The caller keeps the
//! writes until the attempt commits:
//!
//! 1. [`acquire`](attempt::Attempt::acquire) locks the stripes to be written, without waiting for long;
//! 2. [`prepare`](attempt::Attempt::prepare) takes a new time, and checks all reads;
//! 3. the caller stores;
//! 4. [`publish`](attempt::Attempt::publish) unlocks the stripes, with the new time as their version.
//!
//! So every attempt, even one that will fail, computes with values that were current at one time (*opacity*: Guerraoui,
//! Kapałka, PPoPP 2008).
//!
//! Accesses outside of transactions take part: a store locks its stripe for a moment and gives it a new version, and a
//! load waits while its stripe is locked. Each is a transaction of its own, which makes the isolation *strong* (Martin,
//! Blundell, Lewis, CAL 2006).
//!
//! An attempt may become [inevitable](attempt::Attempt::make_inevitable): it *reserves* all stripes that it has read or
//! reads from then on. No other strand changes them before the attempt has ended, so it cannot fail. The caller ensures
//! that a space has one such attempt at a time.
//!
//! A thread may have a space [for itself](sole). Then it does not lock.

#![forbid(unsafe_code)]

pub mod attempt;
pub mod sole;
pub mod space;
mod sync;
pub mod word;

pub use attempt::{Attempt, Conflict};
pub use sole::{Presence, Sole};
pub use space::{Reserved, Space, Stripe};

#[cfg(all(test, not(feature = "loom")))]
mod histories;
#[cfg(all(test, feature = "loom"))]
mod model;
#[cfg(all(test, not(feature = "loom")))]
mod tests;
