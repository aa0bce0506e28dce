//! Software transactional memory: what the protocol of [`squall_transactions`] is in a VM with objects,
//! strands and a moving collector.
//!
//! | file | what it holds |
//! |---|---|
//! | [`access`] | **the one place that decides how a slot or an element is accessed** |
//! | [`memory`] | the transactional memory of a vat: stripes, who wrote them, the right to be inevitable |
//! | [`writes`] | what a transaction has written and not committed |
//! | [`transaction`] | a transaction: begin, commit, conflict, marks to go back to |
//! | [`alone`] | threads that have the memory of a vat for themselves, and need not lock |
//! | [`effects`] | what waits for the commit; what makes a transaction inevitable |
//! | [`logs`] | the native memory that transactions have, and its limit |
//! | [`sleepers`] | strands that wait for a change, or for an inevitable transaction to end |
//! | [`guarding`] | how a vat's strands come to take part |
//! | [`statistics`] | counts, and which lines got into each other's way |
//!
//! # What is protected, and by what
//!
//! Mutable slots and the elements of arrays. An object's stripe is its identity hash, which stays when the
//! collector moves the object; of an array, each eight elements have a stripe of their own. Identity hashes
//! are consecutive numbers, spread: different objects have different stripes as long as there are enough.
//! Slots that nothing can assign, contexts of captured variables, and slots of classes need no protection.
//!
//! # Plain and guarded
//!
//! A vat whose strands use no transactions is *plain*: its accesses are bare loads and stores. With its
//! first transaction it becomes *guarded*, for good: every access of its strands, in transactions and
//! outside, goes through [`access`]. Interpreters have the same handlers for both, compiled twice.
//!
//! # Invariants
//!
//! - A transaction belongs to its strand. While that runs, it is [`Thread::transaction`]; otherwise it is in
//!   the strand. The collector visits the words in it with those of the strand's frames.
//! - Between [`acquire`](squall_transactions::Attempt::acquire) and the end of a commit there is no GC point
//!   and no poll, so locks are held for a short time only.
//! - A conflict cuts the strand's stack back to the activation that began the transaction, and goes on at
//!   the instruction that did, without running `ensure:` blocks: nothing of it has happened. Who finds one
//!   answers [`Failure::elsewhere`](crate::model::outcome::Failure::elsewhere), or what says the same; the saved
//!   state says where execution goes on.

pub mod access;
pub mod effects;
pub mod guarding;
pub mod sleepers;
pub mod transaction;

#[cfg(doc)]
use crate::state::thread::Thread;
