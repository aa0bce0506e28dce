//! The messages of sandboxes that wait outside of them. A guest that sends faster than the host receives would fill the host's
//! mailbox, and all other messages there would come late. So a sender waits if there are many. Sends and workers call this
//! module.
//!
//! A message that leaves a sandbox has the flag `SENT_OUT` until it is taken, and counts that long: for each sandbox that it
//! has left. A strand whose message is one of more than `MANY`, and of more than `MANY_OF_ONE` of its
//! sandbox, waits until its sandbox has few again.
//!
//! It waits for `PATIENCE` at most: the receiver may wait for an answer of the sandbox, or never take the message. Such a
//! message counts until the sandbox's object is dead.
//!
//! Protocol: the counters are sequentially consistent, and so is the flag that says that a strand waits. A strand sets the flag
//! before it looks at the counter for the last time, with the sandbox's lock held; a thread that takes a message decrements the
//! counter before it looks at the flag, and then takes the lock. So one of both sees the other.

use std::sync::atomic::Ordering;
use std::time::Duration;

use squall_heap::{Flag, Object, RootHandle};

use crate::concurrency::isolation::leaving::is_within;
use crate::concurrency::waiting;
use crate::concurrency::{messages, timers};
use crate::model::outcome::{Failure, Outcome};
use crate::state::sandbox::{SandboxRef, slots};
use crate::state::strand::waiter;
use crate::state::thread::Thread;
use crate::state::vat::VatRef;

/// Set in the message while it counts.
const SENT_OUT: Flag = Flag::First;

/// So many messages of all sandboxes may wait.
const MANY: i64 = 2048;

/// So many messages of a sandbox may wait even if there are many of all.
const MANY_OF_ONE: i64 = 32;

/// The strands of a sandbox go on when so many of its messages are left.
const FEW_OF_ONE: i64 = 16;

/// How long a sender waits.
const PATIENCE: Duration = Duration::from_millis(10);

/// The sandboxes that a message leaves which goes from the first one to the vat.
fn left(from: SandboxRef, to: VatRef) -> impl Iterator<Item = SandboxRef> {
    from.chain().take_while(move |sandbox| !is_within(to.sandbox(), *sandbox))
}

/// A message of this sandbox is about to be put into the mailbox of a vat outside.
pub fn add(thread: &Thread, from: SandboxRef, to: VatRef, message: Object) {
    if message.set_flag(SENT_OUT) {
        for sandbox in left(from, to) {
            sandbox.0.untaken.fetch_add(1, Ordering::SeqCst);
            thread.vm.sandboxes.untaken.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A message was taken from the mailbox of a vat. No GC point.
#[inline(always)]
pub fn take(thread: &mut Thread, vat: VatRef, message: Object) {
    if message.has_flag(SENT_OUT) {
        take_counted(thread, vat, message);
    }
}

#[cold]
fn take_counted(thread: &mut Thread, vat: VatRef, message: Object) {
    message.clear_flag(SENT_OUT);
    let Some(sender) = messages::sender(message) else { return };
    for sandbox in left(sender, vat) {
        thread.vm.sandboxes.untaken.fetch_sub(1, Ordering::SeqCst);
        let count = sandbox.0.untaken.fetch_sub(1, Ordering::SeqCst) - 1;
        if count <= FEW_OF_ONE && sandbox.0.has_senders.swap(false, Ordering::SeqCst) {
            wake_senders(thread, sandbox);
        }
    }
}

/// The strands that wait to send something out of a sandbox go on.
fn wake_senders(thread: &mut Thread, sandbox: SandboxRef) {
    let object = sandbox.object().object();
    loop {
        waiting::lock(&mut thread.mutator, object);
        let sender = waiting::dequeue(thread, object, slots::SENDERS);
        waiting::unlock(&mut thread.mutator, object);
        let Some((sender, strand)) = sender else { return };
        waiting::wake(thread, strand, sender.slot(waiter::VALUE));
    }
}

/// The outermost sandbox of which too many messages wait outside.
fn crowded(thread: &Thread, from: SandboxRef) -> Option<SandboxRef> {
    let has_many = |sandbox: &SandboxRef| sandbox.0.untaken.load(Ordering::SeqCst) > MANY_OF_ONE;
    if thread.vm.sandboxes.untaken.load(Ordering::SeqCst) <= MANY {
        return None;
    }
    from.chain().filter(has_many).last()
}

/// The running strand, which is in this sandbox, has sent a message: it waits if there are too many, and its call answers the
/// root's value then. *GC point.*
pub fn wait_if_crowded(
    thread: &mut Thread,
    from: SandboxRef,
    value: RootHandle,
) -> Result<Option<Outcome>, Failure> {
    // For how long is in no recording.
    if thread.tape.is_some() {
        return Ok(None);
    }
    let Some(sandbox) = crowded(thread, from) else { return Ok(None) };
    let waiter = waiting::own_waiter(thread)?;
    let object = sandbox.object().object();
    waiting::lock(&mut thread.mutator, object);
    sandbox.0.has_senders.store(true, Ordering::SeqCst);
    if sandbox.0.untaken.load(Ordering::SeqCst) <= FEW_OF_ONE {
        waiting::unlock(&mut thread.mutator, object);
        return Ok(None);
    }
    let (strand, value) = (thread.strand().object(), thread.mutator.get(value));
    let timer = timers::reserve(thread);
    let ticket = waiting::park(thread, object.word());
    waiting::enqueue(thread, object, slots::SENDERS, waiter, ticket, value);
    waiting::unlock(&mut thread.mutator, object);
    timers::wake_after(thread, (timer, PATIENCE), strand, ticket, value);
    Ok(Some(Outcome::Park))
}
