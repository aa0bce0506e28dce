//! The work of a vat's owner: which strand or turn is next, and senders that wait for room in a bounded mailbox. Workers
//! and eventual sends call it.

use squall_heap::{Object, Word};

use crate::concurrency::strands;
use crate::concurrency::waiting;
use crate::model::outcome::Outcome;
use crate::state::recording;
use crate::state::replays::Wanted;
use crate::state::strand::{Claimed, StrandRef, waiter};
use crate::state::thread::Thread;
use crate::state::vat::{LockedVat, VatRef, slots};

/// The next work of a vat's owner.
pub enum Work {
    /// Resume this strand.
    Strand(Claimed),
    /// Begin a turn with this message.
    Turn(Object),
    /// Nothing; the vat is not owned any more.
    Nothing,
}

/// What an owner finds that wants a strand, and no turn.
pub enum Ready {
    /// Resume this strand.
    Strand(Claimed),
    /// The [next work](VatRef::next_work) is something else.
    Other,
    /// Nothing is to be done; the vat is not owned any more.
    Nothing,
}

/// Takes the first ready strand of a vat, if this holds of it; none if no strand is ready.
#[inline(always)]
fn pop_suitable(
    thread: &Thread,
    locked: &mut LockedVat,
    is_suitable: impl Fn(&Thread, &Claimed) -> bool,
) -> Option<Ready> {
    let strand = locked.content().pop()?;
    if is_suitable(thread, &strand) {
        return Some(Ready::Strand(strand));
    }
    locked.content().push(strand, true);
    Some(Ready::Other)
}

impl VatRef {
    /// The owner's next work, if that is a strand of which this holds.
    pub fn next_ready(
        self,
        thread: &mut Thread,
        is_suitable: impl Fn(&Thread, &Claimed) -> bool,
    ) -> Ready {
        let mut locked = self.lock();
        match pop_suitable(thread, &mut locked, is_suitable) {
            Some(ready) => ready,
            None if self.has_next_turn() => Ready::Other,
            None => {
                thread.worker.end_run();
                self.let_go(thread, &mut locked);
                Ready::Nothing
            }
        }
    }

    /// As [`VatRef::next_ready`], after a strand that has run, with the priority it was begun with, was put behind the
    /// other ready ones.
    #[inline]
    pub fn next_ready_after(
        self,
        thread: &mut Thread,
        stopped: Claimed,
        is_suitable: impl Fn(&Thread, &Claimed) -> bool,
    ) -> Ready {
        stopped.set_ready();
        let mut locked = self.lock();
        locked.content().push(stopped, false);
        pop_suitable(thread, &mut locked, is_suitable).unwrap_or(Ready::Other)
    }

    /// Parks the running strand, which has sent a message, until there is room in the mailbox again; then
    /// its call answers the value. No GC point comes between making the waiter and this.
    pub fn wait_for_room(self, thread: &mut Thread, waiter: Object, value: Word) -> Outcome {
        let locked = self.lock();
        let is_full = self.is_full();
        if thread.watch.is_on {
            thread.note_full(is_full);
        }
        if !is_full {
            return Outcome::Return(value);
        }
        let object = self.object();
        let ticket = waiting::park(thread, object.word());
        waiting::enqueue(thread, object, slots::SENDERS, waiter, ticket, value);
        drop(locked);
        Outcome::Park
    }

    /// Whether the mailbox, which is bounded, has more messages than there is room for. The vat is locked.
    fn is_full(self) -> bool {
        self.slot(slots::ROOM).as_small_integer().is_some_and(|room| room < 0)
    }

    /// In a replay: if the strand of this vat that is next has waited for room in a mailbox, or is ended in its wait, it is ready
    /// now. For the owner.
    #[cold]
    pub fn wake_by_tape(self, thread: &mut Thread) {
        if let Some(wanted) = thread.wanted_in(self) {
            self.wake_wanted(thread, wanted);
        }
    }

    fn wake_wanted(self, thread: &mut Thread, wanted: Wanted) {
        let identity = match wanted {
            Wanted::Strand(identity) => Some(identity),
            Wanted::SameTurn => self.turn().map(recording::number_of),
            _ => None,
        };
        let Some(identity) = identity else { return };
        if let Some(doomed) = thread.doomed(self, identity) {
            _ = strands::terminate(thread, doomed.object());
            return;
        }
        let Some(sender) = thread.sender_by_tape(identity) else { return };
        let strand = sender.strand.as_object().and_then(StrandRef::of_object);
        if let Some(claimed) = strand.and_then(|strand| strand.claim(sender.ticket)) {
            waiting::wake(thread, claimed, sender.answer.unwrap_or(Word::NIL));
        }
    }

    /// The owner's next work; if there is none, it does not own the vat any more.
    ///
    /// If the next strand or turn is at home elsewhere, the vat goes there.
    pub fn next_work(self, thread: &mut Thread) -> Work {
        if thread.repeats()
            && let Some(wanted) = thread.wanted_in(self)
            && wanted != Wanted::Anything
        {
            self.wake_wanted(thread, wanted);
            return self.wanted_work(thread, wanted);
        }
        let begins_turn = self.may_begin_turn() && self.home() == thread.home;
        // A thread that makes a strand ready now does so during the turn that begins.
        if begins_turn
            && !self.is_ready()
            && let Some(message) = self.take_message(thread)
        {
            return Work::Turn(message);
        }
        loop {
            let mut locked = self.lock();
            let Some(strand) = locked.content().pop() else {
                return self.next_turn(thread, locked);
            };
            if strand.is_at_home(thread.home) {
                return Work::Strand(strand);
            }
            if self.send_home(thread, locked, strand) {
                return Work::Nothing;
            }
        }
    }

    /// The owner's next work in the replay of a recording, which says what it is.
    #[cold]
    fn wanted_work(self, thread: &mut Thread, wanted: Wanted) -> Work {
        let mut locked = self.lock();
        let turn = self.turn();
        let is_wanted = |strand: StrandRef| match wanted {
            Wanted::Strand(identity) => recording::number_of(strand) == identity,
            Wanted::SameTurn => turn == Some(strand),
            _ => false,
        };
        if let Some(strand) = locked.content().take(is_wanted) {
            if strand.is_at_home(thread.home) {
                return Work::Strand(strand);
            }
            return match self.send_home(thread, locked, strand) {
                true => Work::Nothing,
                false => self.wanted_work(thread, wanted),
            };
        }
        let takes_message = wanted == Wanted::Turn || self.has_other_message();
        let begins_turn = takes_message && self.may_begin_turn() && self.has_next_turn();
        if begins_turn && self.home() != thread.home {
            thread.worker.end_run();
            self.let_go(thread, &mut locked);
            self.enqueue(thread, locked);
            return Work::Nothing;
        }
        // Senders go on when the recording says so.
        let message = match begins_turn {
            true if self.is_bounded() => self.take_bounded(thread),
            true => self.take_messages(thread),
            false => None,
        };
        if let Some(message) = message {
            return Work::Turn(message);
        }
        thread.worker.end_run();
        self.let_go(thread, &mut locked);
        Work::Nothing
    }

    /// Takes the oldest message from a bounded mailbox, which has more room then.
    fn take_bounded(self, thread: &mut Thread) -> Option<Object> {
        let message = self.take_first(thread)?;
        self.change_room(thread, 1);
        Some(message)
    }

    /// The owner's next turn.
    fn next_turn(self, thread: &mut Thread, mut locked: LockedVat) -> Work {
        if !self.has_next_turn() {
            thread.worker.end_run();
            self.let_go(thread, &mut locked);
            return Work::Nothing;
        }
        if self.home() != thread.home {
            thread.worker.end_run();
            self.let_go(thread, &mut locked);
            self.enqueue(thread, locked);
            return Work::Nothing;
        }
        if self.slot(slots::ROOM) != Word::NIL {
            return self.next_bounded_turn(thread, locked);
        }
        let message = self.take_messages(thread);
        if message.is_none() {
            self.let_go(thread, &mut locked);
        }
        message.map_or(Work::Nothing, Work::Turn)
    }

    /// The owner's next turn, if the mailbox is bounded.
    fn next_bounded_turn(self, thread: &mut Thread, mut locked: LockedVat) -> Work {
        let Some(message) = self.take_bounded(thread) else {
            self.let_go(thread, &mut locked);
            return Work::Nothing;
        };
        let sender = waiting::dequeue(thread, self.object(), slots::SENDERS);
        drop(locked);
        if let Some((sender, strand)) = sender {
            waiting::wake(thread, strand, sender.slot(waiter::VALUE));
        }
        Work::Turn(message)
    }
}
