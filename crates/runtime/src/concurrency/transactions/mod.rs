//! Software transactional memory: the protocol of [`squall_transactions`] in a VM with objects, strands and a moving
//! collector. The library's `atomic:` uses it through primitives.
//!
//! | file | what it holds |
//! |---|---|
//! | [`access`] | **the one place that decides how a slot or an element is accessed** |
//! | [`transaction`] | a transaction: begin, commit, conflict, marks to go back to |
//! | [`effects`] | effects that wait for the commit, or make a transaction inevitable |
//! | [`shared`] | transactions that several strands execute |
//! | [`sleepers`] | strands that wait for a change, or for an inevitable transaction to end |
//! | [`guarding`] | makes a vat's strands take part |
//! | [`taped`] | transactions in recordings and replays |
//!
//! The data is in [`crate::state::transactions`]:
//!
//! | file | what it holds |
//! |---|---|
//! | [`memory`](crate::state::transactions::memory) | the transactional memory of a vat: stripes, their writers, the right to be inevitable |
//! | [`record`](crate::state::transactions::record), [`writes`](crate::state::transactions::writes) | a transaction; its uncommitted writes |
//! | [`presence`](crate::state::transactions::presence) | threads that have the memory of a vat for themselves, and need not lock |
//! | [`logs`](crate::state::transactions::logs) | the native memory of transactions, and its limit |
//! | [`statistics`](crate::state::transactions::statistics) | counts, and the lines that were in conflict |
//!
//! # The protected places, and their protection
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
//!   the strand, or in the record that several strands of a transaction [share](shared). The collector visits the
//!   words in it with those of the strand's frames.
//! - Between [`acquire`](squall_transactions::Attempt::acquire) and the end of a commit there is no GC point
//!   and no poll, so locks are held for a short time only.
//! - A conflict cuts the strand's stack back to the activation that began the transaction, and execution continues at
//!   the instruction that did, without running `ensure:` blocks: nothing of the transaction has happened. The function
//!   that finds a conflict answers [`Failure::elsewhere`](crate::model::outcome::Failure::elsewhere), or an equivalent;
//!   execution continues at the saved state.

pub mod access;
pub mod effects;
pub mod guarding;
pub mod shared;
pub mod sleepers;
pub mod taped;
pub mod transaction;

#[cfg(doc)]
use crate::state::thread::Thread;
