//! Transactions that several strands execute. Workers give such a transaction to a strand that they run, and take it
//! back when the strand stops.
//!
//! A strand that is started in a transaction, in the same vat, executes that transaction, too: it reads what the
//! transaction has written, and its writes are the transaction's. If it were outside, a transaction that waits for a
//! strand which it has started would be a deadlock as soon as that strand needs an object of the transaction.
//!
//! The strand that began the transaction is the *leader*; all strands that execute it are its *participants*. To start
//! a strand makes a transaction inevitable, so no participant ever begins anew. One of them at a time executes the
//! transaction:
//!
//! ```text
//!   run_strand ──acquire──▶ the thread has the transaction ──the strand stops──▶ release ──▶ it is idle
//!                  │ another participant has it                                     │
//!                  ▼                                                                ▼
//!        the strand is in the queue, ready, but in no run queue ◀──────── all in the queue are made ready
//! ```
//!
//! A participant has the transaction until it parks, ends, or gives way. If others are in the queue, it gives way at a
//! poll when its time is over.
//!
//! The transaction ends when the leader's `atomic:` does. A participant's `atomic:` is a part of it, so the leader waits
//! until all parts have ended. Participants that are left go on outside of the transaction. A participant that is lost
//! in its part never ends it: the leader is lost, too, as soon as no live participant executes a part.
//!
//! # Invariants
//!
//! - The transaction is idle, or one participant has it: in its thread or, while it is set aside, in its strand.
//! - The lock is a leaf, and no GC point is under it.
//! - An idle transaction is a root, since any participant may be the next that executes it.

use crate::concurrency::waiting::{self, Place};
use crate::state::strand::Claimed;
use crate::state::thread::Thread;
use crate::state::transactions::shared::Shared;

pub use crate::state::transactions::shared::{look_for_others, unless_it_waits};

/// The strand that runs here has stopped: other participants may execute the transaction.
#[inline]
pub fn release(thread: &mut Thread) {
    if thread.transaction.is_some() {
        release_shared(thread);
    }
}

#[cold]
fn release_shared(thread: &mut Thread) {
    let transaction = thread.transaction.take_if(|transaction| transaction.shared.is_some());
    if let Some(transaction) = transaction
        && let Some(shared) = transaction.shared.clone()
    {
        make_ready(thread, shared.put_down(transaction));
    }
}

/// The leader has ended the transaction: the other participants go on outside of it.
pub(super) fn end(thread: &mut Thread, shared: &Shared) {
    thread.vm.transactions.shared.remove(shared);
    make_ready(thread, shared.end(thread.running()));
}

fn make_ready(thread: &mut Thread, strands: Vec<Claimed>) {
    strands.into_iter().for_each(|strand| waiting::make_ready(thread, strand, Place::Last));
}
