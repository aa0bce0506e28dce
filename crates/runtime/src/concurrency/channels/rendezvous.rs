//! Rendezvous: a read or a write in the usual case, in one step. The instructions of typed code and the primitives try
//! this before the general operations of the [parent](super).
//!
//! The case is usual if no events are noted, the running strand is in no transaction and no sandbox, and the channel is plain: it has no
//! buffer, was made outside of sandboxes, and is not poisoned. Its queues have no strand, or one strand that waits nowhere
//! else. Then the operation does the same as the general one, with fewer questions. In all other cases nothing has
//! happened, and the general one begins.
//!
//! Invariant: the steps and their order are those of the [parent](super) and of [`waiting`], so strands that come in the
//! usual way and in the general way meet each other. No GC point is here.

use squall_heap::{Object, Word};

use super::slots::{BUFFER, POISONED, READERS, SANDBOX, TYPE, WRITERS};
use super::{AS_IT_IS, get};
use crate::concurrency::waiting::{self, Sole};
use crate::model::known;
use crate::model::outcome::Meeting;
use crate::state::strand::{Claimed, waiter};
use crate::state::thread::Thread;

/// The side of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// An instruction of typed code: it has elements as the channel holds them.
    Typed,
    /// Untyped code: it has objects, which a channel with a type converts.
    Untyped,
}

/// Reads from the channel in this word.
#[inline]
pub fn read(thread: &mut Thread, channel: Word, side: Side) -> Meeting {
    let Some(channel) = lock_plain(thread, channel, side) else { return Meeting::Unusual };
    match waiting::sole(channel, WRITERS) {
        Sole::Nobody => wait(thread, channel, READERS, brought_by_reader(side)),
        Sole::Strand(writer) => {
            let value = get(writer, waiter::VALUE);
            match take(thread, channel, WRITERS, writer) {
                // The writer's value is the answer of its call, and stands where the delivery is expected.
                Some(claimed) => waiting::wake_with_own_value(thread, claimed),
                None => return Meeting::Unusual,
            }
            Meeting::Done(value)
        }
        Sole::Several => give_up(thread, channel),
    }
}

/// Writes a word to the channel in another one; for typed code, one that is no pointer.
#[inline]
pub fn write(thread: &mut Thread, channel: Word, value: Word, side: Side) -> Meeting {
    let Some(channel) = lock_plain(thread, channel, side) else { return Meeting::Unusual };
    match waiting::sole(channel, READERS) {
        Sole::Nobody => wait(thread, channel, WRITERS, value),
        Sole::Strand(reader) if takes_element(channel, reader) => {
            match take(thread, channel, READERS, reader) {
                Some(claimed) => waiting::wake_unnoted(thread, claimed, value),
                None => return Meeting::Unusual,
            }
            Meeting::Done(value)
        }
        Sole::Strand(_) | Sole::Several => give_up(thread, channel),
    }
}

/// Locks a channel if the case is usual as far as strand and channel go.
#[inline(always)]
fn lock_plain(thread: &mut Thread, channel: Word, side: Side) -> Option<Object> {
    if thread.is_recording() || thread.transaction.is_some() || thread.sandbox.is_some() {
        return None;
    }
    let channel = channel.as_object().filter(|object| object.layout() == known::CHANNEL)?;
    waiting::lock(&mut thread.mutator, channel);
    let is_plain = get(channel, POISONED) == Word::FALSE
        && get(channel, BUFFER).is_nil()
        && get(channel, SANDBOX).is_nil()
        && (side == Side::Typed || get(channel, TYPE).is_nil());
    if !is_plain {
        waiting::unlock(&mut thread.mutator, channel);
    }
    is_plain.then_some(channel)
}

/// What a strand brings along that waits to read from one channel.
#[inline(always)]
pub(super) fn brought_by_reader(side: Side) -> Word {
    match side {
        Side::Typed => AS_IT_IS,
        Side::Untyped => Word::NIL,
    }
}

/// Whether a reader takes the element of a channel without conversion, and without a pair.
#[inline(always)]
fn takes_element(channel: Object, reader: Object) -> bool {
    match get(reader, waiter::VALUE) {
        AS_IT_IS => true,
        brought => brought.is_nil() && get(channel, TYPE).is_nil(),
    }
}

/// Takes the strand that is alone in a queue of a locked channel, which is then unlocked; none if its wait is over.
#[inline(always)]
fn take(thread: &mut Thread, channel: Object, queue: usize, waiter: Object) -> Option<Claimed> {
    let claimed = waiting::take_sole(thread, channel, queue, waiter);
    waiting::unlock(&mut thread.mutator, channel);
    claimed
}

fn give_up(thread: &mut Thread, channel: Object) -> Meeting {
    waiting::unlock(&mut thread.mutator, channel);
    Meeting::Unusual
}

/// Parks the strand in a queue of a locked channel, which is then unlocked, if it is alone there and waits nowhere else.
#[inline(always)]
fn wait(thread: &mut Thread, channel: Object, queue: usize, value: Word) -> Meeting {
    let waiter = thread.strand().object();
    if !get(channel, queue).is_nil() || !waiting::is_free(waiter) {
        return give_up(thread, channel);
    }
    let ticket = waiting::park_unnoted(thread, channel.word());
    waiting::enqueue_own(thread, channel, queue, waiter, ticket, value);
    waiting::unlock(&mut thread.mutator, channel);
    Meeting::Waits
}
