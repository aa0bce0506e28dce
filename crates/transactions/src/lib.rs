//! The protocol of Squall's transactional memory. It knows no object: what it protects are numbered
//! *stripes*, and what is read and written it gets as closures.
//!
//! | module | what it holds |
//! |---|---|
//! | [`word`] | the word of a stripe: a version, or a lock, and three flags |
//! | [`space`] | a clock and the words of all stripes; accesses outside of transactions |
//! | [`sole`] | whether a thread has a space for itself |
//! | [`attempt`] | one attempt of a transaction: what it has read, what it holds, how it ends |
//!
//! The algorithm is TL2 (Dice, Shalev, Shavit, DISC 2006) with the extension of the snapshot of LSA
//! (Riegel, Felber, Fetzer, DISC 2006): there is a clock; each stripe has the time of its last
//! change; an attempt has a *snapshot*, the time as of which everything it has read was current. It
//! reads a stripe only if that was not changed after the snapshot, or moves the snapshot forward if
//! nothing that it has read was changed since. Writes are kept by the caller until the attempt commits:
//!
//! 1. [`acquire`](attempt::Attempt::acquire) locks the stripes to be written, without waiting for long;
//! 2. [`prepare`](attempt::Attempt::prepare) takes a new time, and checks everything that was read;
//! 3. the caller writes;
//! 4. [`publish`](attempt::Attempt::publish) unlocks the stripes, with the new time as their version.
//!
//! So every attempt, even one that will fail, computes with values that were current at one time
//! (*opacity*: Guerraoui, Kapałka, PPoPP 2008).
//!
//! Accesses outside of transactions take part: a store locks its stripe for a moment and gives it a new
//! version, a load waits while its stripe is locked. Each is a transaction of its own, which makes the
//! isolation *strong* (Martin, Blundell, Lewis, CAL 2006).
//!
//! An attempt may become [inevitable](attempt::Attempt::make_inevitable): it *reserves* what it has read
//! and whatever it reads from then on, so that nobody changes that before it has ended, and it cannot
//! fail. The caller sees to it that a space has one such attempt at a time.
//!
//! A thread may have a space [for itself](sole). Then it need not lock.

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
