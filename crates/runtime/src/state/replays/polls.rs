//! Polls in recordings and replays: where a green thread or turn gives way, or begins to end, in the midst of its item. Polls, the
//! entry of strands and the primitives of recorded runs call this module.
//!
//! Where one strand interrupts another is a place in code, and a number of polls is one: all tiers come to the same polls
//! (`docs/decisions/0281-code-that-counts-its-polls.md`). So the items of some vats count their polls, from their beginning on, as
//! the strands of sandboxes do for their fuel. These are vats in which a strand can be interrupted by another one: a green thread
//! has a priority, or threads run beside. Such a vat is *counted* from the operation on that makes it so, which the replay does in
//! the same place.
//!
//! In a counted vat, each stop at a poll ends the item, and is an event with the number of polls: since another strand has a greater
//! priority, or the strand was suspended, or time is over. So no item is open while others of the vat run. The event of a
//! strand that was ended by another one comes with the number of polls as well, or 0 if the strand was ended in its wait, or
//! before its first step.
//!
//! Threads and tasks count their polls as well, from their first step on, since another strand may end them at any. The number of
//! that poll is in the event of the end.
//!
//! A replay has slow polls only, and looks at each whether the event has come. It suspends and ends no counted strand before.
//!
//! Polls in transactions are not counted, since a replay has no attempts that come to nothing. Nobody gives way there.

use squall_events::replay::{AtPoll, EndsAt, Entity, Event, What};
use squall_heap::Word;

use super::player::Player;
use super::recorder::Notes;
use super::{Tape, Wanted, exclusive_vat};
use crate::state::recording;
use crate::state::sandbox::Metering;
use crate::state::strand::{Delivery, Life, Model, StrandRef};
use crate::state::thread::Thread;
use crate::state::vat::VatRef;

/// Whether the strand counts its polls from its first step on: it shares its vat with others that run at the same time.
fn is_counted_alone(strand: StrandRef) -> bool {
    strand.model() == Model::Parallel && strand.is_told()
}

/// How many polls a strand that runs from here on has counted before; none if its polls are not counted.
fn polls_before(notes: &Notes, strand: StrandRef) -> Option<u64> {
    if is_counted_alone(strand) {
        let polls = notes.recorder.polls.lock().remove(&recording::number_of(strand));
        return Some(polls.unwrap_or_default());
    }
    exclusive_vat(strand).is_some_and(VatRef::is_counted).then_some(0)
}

/// Recording.
impl Thread {
    /// The vat of the strand that runs here is counted from now on. Answers whether the strand, which counts from here on, has to
    /// go on in other code.
    pub fn begin_counted_vat(&mut self) -> bool {
        let vat = self.strand().vat().filter(|vat| !vat.is_counted() && vat.sandbox().is_none());
        let Some(vat) = vat else { return false };
        match self.tape.as_deref() {
            Some(Tape::Records(notes)) if notes.is_in_piece() => vat.set_counted(),
            Some(Tape::Replays(repeated)) if repeated.entity.get().is_some() => {
                vat.set_counted();
                repeated.player.count_from_here(vat.number(self.vm));
            }
            _ => return false,
        }
        self.begin_counting(self.strand());
        exclusive_vat(self.strand()) == Some(vat)
    }

    /// A strand runs here from now on, or another turn on the same strand: its polls are counted if those of its vat are.
    #[inline(always)]
    pub fn begin_counting(&mut self, strand: StrandRef) {
        if self.metering.is_for_tape || exclusive_vat(strand).is_none_or(VatRef::is_counted) {
            self.count_or_not(strand);
        }
    }

    #[cold]
    fn count_or_not(&mut self, strand: StrandRef) {
        let before = match self.tape.as_deref() {
            Some(Tape::Records(notes)) if self.sandbox.is_none() && notes.is_in_piece() => {
                polls_before(notes, strand)
            }
            _ => None,
        };
        let is_counted = before.is_some();
        if is_counted || self.metering.is_for_tape {
            self.metering.is_for_tape = is_counted;
            self.metering.taped = before.unwrap_or_default();
            // A strand of a sandbox has begun to count for that.
            if self.sandbox.is_none() {
                self.metering.counts_polls = is_counted;
                self.metering.fuel = if is_counted { Metering::UNLIMITED } else { 0 };
            }
            self.reset_limit();
        }
    }

    /// Another item begins on the strand that runs here: see [`Thread::begin_counting`]. It goes on in other code if need be.
    pub fn begin_counting_here(&mut self) {
        let was_counted = self.metering.is_for_tape;
        self.begin_counting(self.strand());
        if self.metering.is_for_tape != was_counted {
            self.was_moved = true;
            self.must_look.set(true);
        }
    }

    /// Counts a poll for a recording; whether that is all there is to do.
    #[cold]
    pub fn count_poll(&mut self) -> bool {
        if !self.metering.is_for_tape {
            return false;
        }
        let is_counted = self.metering.is_counted_by_code;
        match self.transaction.is_some() {
            true => self.metering.uncount_entry(),
            false => self.metering.fuel -= i32::from(!is_counted),
        }
        self.draw_polls();
        let asked = self.requests.has_new() || self.mutator.is_stop_requested();
        let is_usual = !is_counted && !self.vm.options.polls_always;
        !asked && is_usual && !self.mutator.is_overdrawn()
    }

    /// The polls that code has counted for a recording have become many.
    pub fn draw_polls(&mut self) {
        if self.metering.fuel < 0 {
            self.metering.taped = self.polls_of_item();
            self.metering.fuel = Metering::UNLIMITED;
        }
    }

    /// The strand that runs here stops. If it counts its polls beyond that, their number is kept.
    pub(super) fn keep_polls(&self, notes: &Notes, strand: StrandRef) {
        if self.metering.is_for_tape && is_counted_alone(strand) {
            let polls = self.polls_of_item();
            notes.recorder.polls.lock().insert(recording::number_of(strand), polls);
        }
    }

    /// Where the strand that runs here begins to end.
    pub(super) fn place_of_end(&self, in_wait: bool) -> EndsAt {
        match (self.metering.is_for_tape, in_wait) {
            (true, true) => EndsAt::WaitBehind(self.polls_of_item()),
            (true, false) => EndsAt::Poll(self.polls_of_item()),
            (false, true) => EndsAt::Wait,
            (false, false) => EndsAt::SomePoll,
        }
    }

    /// How many polls are counted for a recording so far, if the strand counts alone. Those of an item begin anew with the next item,
    /// which may be in the same transaction.
    pub fn polls_for_tape(&self) -> Option<u64> {
        let is_counted = self.metering.is_for_tape && is_counted_alone(self.strand());
        is_counted.then(|| self.polls_of_item())
    }

    /// A transaction is over, which began behind so many polls. Those since then do not count: how often it begins anew is in no
    /// recording.
    pub fn forget_polls_since(&mut self, polls: u64) {
        if self.metering.is_for_tape {
            (self.metering.taped, self.metering.fuel) = (polls, Metering::UNLIMITED);
        }
    }

    /// How many polls the item that runs here has come to, or the strand that counts alone, if they are counted.
    fn polls_of_item(&self) -> u64 {
        let used = i64::from(Metering::UNLIMITED) - i64::from(self.metering.fuel);
        self.metering.taped + used as u64
    }

    /// Whether the strand that runs here does not give way, since a recording counts its polls and it is in a transaction.
    pub fn stays_for_tape(&self) -> bool {
        self.transaction.is_some()
            && (self.metering.is_for_tape
                || self.counted_item().is_some()
                || self.counted_strand().is_some())
    }

    /// The strand that runs here stops at a poll; in a recorded run, and in a counted vat, that ends its item.
    #[cold]
    pub fn note_stop_at_poll(&mut self) {
        if self.metering.is_for_tape
            && let Some(Tape::Records(notes)) = self.tape.as_deref()
            && notes.is_in_vat()
        {
            notes.polled(self.polls_of_item(), AtPoll::GivesWay);
            notes.has_polled.set(true);
        }
    }

    /// The strand that runs here begins to end, since another one has ended it.
    #[cold]
    pub(crate) fn tape_ended_by_other(&mut self) {
        match self.tape.as_deref() {
            Some(Tape::Records(notes)) if self.metering.is_for_tape && notes.is_in_vat() => {
                notes.polled(self.polls_of_item(), AtPoll::Ends);
            }
            Some(Tape::Replays(_)) if self.counted_item().is_some() => {
                _ = self.repeat(|event| matches!(event, Event::Polled(_, AtPoll::Ends)));
            }
            _ => {}
        }
    }
}

/// Replaying.
impl Thread {
    /// In a replay: the counted vat whose item runs here.
    fn counted_item(&self) -> Option<(&'static Player, VatRef)> {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return None };
        repeated.entity.get().filter(|entity| matches!(entity, Entity::Vat(_)))?;
        let vat = exclusive_vat(self.running_strand()?).filter(|vat| vat.is_counted())?;
        Some((repeated.player, vat))
    }

    /// In a replay: the thread or task that runs here, which counts its polls.
    fn counted_strand(&self) -> Option<(&'static Player, u64)> {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return None };
        let Some(Entity::Strand(number)) = repeated.entity.get() else { return None };
        is_counted_alone(self.running_strand()?).then_some((repeated.player, number))
    }

    /// In a replay: what happens at this poll. None where a strand gives way as ever; nothing at most polls.
    pub fn poll_by_tape(&self) -> Option<Option<AtPoll>> {
        if let Some((player, strand)) = self.counted_strand() {
            let ends = self.transaction.is_none() && player.ends_at_next_poll(strand);
            return ends.then_some(Some(AtPoll::Ends));
        }
        let (player, vat) = self.counted_item()?;
        if self.transaction.is_some() {
            return Some(None);
        }
        match player.poll(vat.number(self.vm)) {
            Ok(what) => {
                if what.is_some() {
                    self.end_if_all_is_done(player);
                }
                Some(what)
            }
            Err(text) => {
                self.diverge(&text);
                Some(None)
            }
        }
    }

    /// In a replay: whether the strand that runs here, which is about to begin a transaction that it does not commit, ends in that.
    pub fn ends_in_transaction(&self) -> bool {
        if let Some((player, strand)) = self.counted_strand() {
            return player.ends_behind_poll(strand);
        }
        self.counted_item().is_some_and(|(player, vat)| player.ends_here(vat.number(self.vm)))
    }

    /// In a replay: an item of a vat has begun on the strand that is entered here. If it is one in which the strand ends before
    /// its first step, it does so.
    pub(super) fn end_item_if_due(&self, player: &Player, vat: VatRef, strand: StrandRef) {
        if vat.is_counted() && player.ends_before_poll(vat.number(self.vm)) {
            _ = Life::of_object(strand.object()).and_then(|life| life.kill());
            self.running().set_delivery(Delivery::Kill);
        }
    }

    /// In a replay: a strand of a counted vat is ended by another one. It goes on up to the event that says so; if it waits there
    /// already, it is answered: it is to be ended now.
    pub fn is_to_end(&self, strand: StrandRef) -> bool {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return false };
        let Some(vat) = exclusive_vat(strand) else { return false };
        let identity = recording::number_of(strand);
        repeated.player.doom(identity, strand.object.get());
        let wanted = repeated.player.wanted(vat.number(self.vm));
        self.is_wanted(vat, strand, wanted) && self.doomed(vat, identity).is_some()
    }

    pub(super) fn is_wanted(&self, vat: VatRef, strand: StrandRef, wanted: Wanted) -> bool {
        match wanted {
            Wanted::Strand(identity) => identity == recording::number_of(strand),
            Wanted::SameTurn => vat.turn() == Some(strand),
            _ => false,
        }
    }

    /// In a replay: the strand of a counted vat with this identity, if it has been ended by another one, and its next item
    /// is the one in which it ends, having waited.
    pub fn doomed(&self, vat: VatRef, identity: u64) -> Option<StrandRef> {
        if let Some(strand) = self.over_in_wait(vat, identity) {
            return Some(strand);
        }
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return None };
        let word = repeated.player.doomed(vat.number(self.vm), identity)?;
        let strand = word.as_object().and_then(StrandRef::of_object)?;
        (recording::number_of(strand) == identity && strand.is_parked()).then_some(strand)
    }
}

impl Player {
    /// The polls of a vat's items are counted from here on.
    fn count_from_here(&self, vat: u64) {
        if let Some(played) = self.state.lock().vats.get_mut(&vat) {
            played.polls = 0;
        }
    }

    /// The item of a vat comes to a poll: what happens there.
    fn poll(&self, vat: u64) -> Result<Option<AtPoll>, String> {
        let mut state = self.state.lock();
        let Some(played) = state.vats.get_mut(&vat) else { return Ok(None) };
        played.polls += 1;
        let polls = played.polls;
        match played.current.events.front() {
            Some(&Event::Polled(place, what)) if place == polls => {
                // The other event is taken when the strand begins to end.
                if what == AtPoll::GivesWay {
                    played.current.events.pop_front();
                    state.remaining -= 1;
                }
                Ok(Some(what))
            }
            Some(&Event::Polled(place, _)) if place < polls => Err(format!(
                "a turn of actor {vat} goes on, but in the recording it has stopped {} polls before",
                polls - place
            )),
            _ => Ok(None),
        }
    }

    /// A thread or task comes to a poll: whether it ends there.
    fn ends_at_next_poll(&self, strand: u64) -> bool {
        {
            let mut state = self.state.lock();
            *state.polls.entry(strand).or_default() += 1;
        }
        self.ends_behind_poll(strand)
    }

    /// Whether a thread or task ends before it comes to another poll.
    fn ends_behind_poll(&self, strand: u64) -> bool {
        let mut state = self.state.lock();
        let polls = state.polls.get(&strand).copied().unwrap_or_default();
        let part = state.part(Entity::Strand(strand));
        part.is_some_and(|it| it.events.front() == Some(&Event::Killed(EndsAt::Poll(polls))))
    }

    /// Whether the strand of the item of a vat ends before its next poll that counts.
    fn ends_here(&self, vat: u64) -> bool {
        let state = self.state.lock();
        let Some(played) = state.vats.get(&vat) else { return false };
        played.current.events.front() == Some(&Event::Polled(played.polls, AtPoll::Ends))
    }

    /// Whether the strand of the item of a vat that has just begun ends before its first poll.
    fn ends_before_poll(&self, vat: u64) -> bool {
        let state = self.state.lock();
        let event = state.vats.get(&vat).and_then(|played| played.current.events.front());
        event == Some(&Event::Polled(0, AtPoll::Ends))
    }

    /// A strand of a counted vat was ended by another one.
    fn doom(&self, identity: u64, strand: Word) {
        self.state.lock().doomed.insert(identity, strand);
    }

    fn doomed(&self, vat: u64, identity: u64) -> Option<Word> {
        let state = self.state.lock();
        let item = state.vats.get(&vat)?.items.front()?;
        let ends = item.part.events.front() == Some(&Event::Polled(0, AtPoll::Ends))
            && !matches!(item.what, What::Turn(_));
        state.doomed.get(&identity).copied().filter(|_| ends)
    }
}
