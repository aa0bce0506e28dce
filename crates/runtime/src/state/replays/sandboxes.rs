//! Sandboxes in recordings and replays: where their strands end, and how sandboxes end. Sandboxes, unwinding and the primitives of
//! recorded runs call this module.
//!
//! A budget is used up at another moment in each run: it is drawn in portions, by strands on several cores. And the end of a sandbox
//! strikes all of its strands at once. So in a replay sandboxes have no budgets, and none of their strands ends since its sandbox is
//! over: it ends where the recording has that event. No handler and no `ensure:` block runs then, so nothing outside sees how much
//! the strand has computed behind its last effect: its last event, or its last message. So it ends there, and no polls are counted.
//!
//! The sandbox itself is over in a replay as soon as one of its strands ends in this way, or where the host has ended it. The reason
//! and the report are in the recording. What follows from that, broken promises for example, begins no turn: the reactions to
//! a promise have numbers since they were added, and come when it is their turn. All that asks for the state of a sandbox has its answer
//! in the recording.
//!
//! A sandbox has a number, which a replay gives it, too. A turn that does not begin, since its sandbox is over, is an item with that
//! event alone.

use std::sync::atomic::Ordering;

use squall_events::replay::{Entity, Event, Part, Run, SandboxEnd, What};
use squall_heap::Word;

use super::player::{PlayedVat, Player};
use super::recorder::Recorder;
use super::{Repeated, Tape, exclusive_vat};
use crate::state::recording;
use crate::state::sandbox::{Reason, SandboxRef};
use crate::state::strand::{Delivery, StrandRef};
use crate::state::thread::Thread;
use crate::state::transactions::record::Stage;
use crate::state::vat::VatRef;

/// Recording.
impl Thread {
    /// In a recorded run: the number of the next sandbox.
    pub fn number_of_new_sandbox(&self) -> u64 {
        self.recorder().map_or(0, |recorder| recorder.sandboxes.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The strand that runs here begins to end, since its sandbox is over; or the turn of the item does not begin. Answers, in a
    /// replay, which sandbox is over by that.
    pub(crate) fn tape_over(&self) -> Option<SandboxRef> {
        match self.tape.as_deref()? {
            Tape::Records(notes) => {
                let strand = self.running_strand();
                if self.is_displaced {
                    strand.inspect(|&strand| notes.late_over(recording::number_of(strand)));
                    return None;
                }
                notes.over(strand.is_some() && self.running().delivery() == Delivery::Kill);
                None
            }
            Tape::Replays(repeated) => {
                if self.repeat(|event| matches!(event, Event::Over(_))).is_some() {
                    repeated.is_over.set(true);
                }
                let sandbox = self.sandbox_here()?;
                let has_ended = |each: &SandboxRef| repeated.player.end_of(*each).is_some();
                sandbox.chain().find(has_ended).or(Some(sandbox))
            }
        }
    }

    /// The turn of the item that runs here has not begun, and all that follows from that is done.
    pub(crate) fn tape_turn_lost(&self, vat: VatRef) {
        match self.tape.as_deref() {
            Some(Tape::Records(_)) => vat.close_item(),
            Some(Tape::Replays(repeated)) => repeated.player.close(vat.number(self.vm)),
            None => {}
        }
        self.leave_piece();
    }

    /// The sandbox of the strand that runs here, or of the vat whose turn does not begin.
    fn sandbox_here(&self) -> Option<SandboxRef> {
        match self.running_strand() {
            Some(_) => self.sandbox,
            None => self.schedule.owned.and_then(VatRef::sandbox),
        }
    }

    /// In a recorded run: a sandbox has ended, and its report has this place among all texts, if it was written.
    pub fn note_sandbox_end(&self, sandbox: SandboxRef, place: Option<u64>) {
        let Some(Tape::Records(notes)) = self.tape.as_deref() else { return };
        let reason = sandbox.0.reason.load(Ordering::Acquire);
        notes.ended(sandbox.number(), &SandboxEnd { reason, place, report: sandbox.report() });
    }

    /// The recorder, whether or not something runs here.
    pub fn recorder_of_all(&self) -> Option<&'static Recorder> {
        match self.tape.as_deref() {
            Some(Tape::Records(notes)) => Some(notes.recorder),
            _ => None,
        }
    }
}

/// Replaying.
impl Thread {
    /// In a replay: whether what runs here is to end, since its sandbox is over. None if the recording does not tell of it.
    #[cold]
    pub fn over_by_tape(&self) -> Option<bool> {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return None };
        let entity = repeated.entity.get()?;
        if repeated.is_over.get() {
            return Some(true);
        }
        // A transaction that has begun in a replay commits, or has an effect.
        let taped = self.transaction.as_ref().and_then(|transaction| transaction.taped.as_ref());
        if taped.is_some_and(|taped| matches!(taped.stage, Stage::Open(_))) {
            return Some(false);
        }
        repeated.player.ends_with_sandbox(entity)
    }

    /// In a replay: how a sandbox has ended in the recording.
    pub fn end_by_tape(&self, sandbox: SandboxRef) -> Option<SandboxEnd> {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => repeated.player.end_of(sandbox),
            _ => None,
        }
    }

    /// In a replay: the texts that are to be written now that the report of a sandbox is there, which has this place among all.
    pub fn replay_report(&self, place: u64, text: &str) -> Vec<(String, bool)> {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => repeated.player.write(place, text, true),
            _ => Vec::new(),
        }
    }

    /// In a replay: whether a strand, whose sandbox is over, is to end now in the wait that it is in. One that is not goes on up
    /// to the event that says so.
    pub fn ends_now(&self, strand: StrandRef) -> bool {
        let Some(Tape::Replays(Repeated { player, .. })) = self.tape.as_deref() else {
            return true;
        };
        let identity = recording::number_of(strand);
        if let Some(vat) = exclusive_vat(strand) {
            let wanted = player.wanted(vat.number(self.vm));
            return self.is_wanted(vat, strand, wanted) && player.ends_next(vat.number(self.vm));
        }
        player.number_of_strand(identity).is_none_or(|number| player.ends_in_wait_with(number))
    }

    /// In a replay: whether actors or strands of a sandbox that is over have still to do something that comes before their ends.
    pub fn has_guests_to_run(&self, sandbox: SandboxRef) -> bool {
        let Some(Tape::Replays(Repeated { player, .. })) = self.tape.as_deref() else {
            return false;
        };
        let is_in = |other: Option<SandboxRef>| other.is_some_and(|other| other.is_in(sandbox));
        let vats = self.vm.vats.all().into_iter().filter(|vat| is_in(vat.sandbox()));
        let strands = self.vm.strands.all().into_iter().filter(|strand| is_in(strand.sandbox()));
        let mut numbers =
            strands.filter_map(|it| player.number_of_strand(recording::number_of(it)));
        vats.map(|vat| vat.number(self.vm)).any(|vat| player.has_turns(vat))
            || numbers.any(|number| player.has_events(number))
    }

    /// In a replay: the strand of a vat with this identity, if its next item is the one in which it ends with its sandbox, having waited.
    pub(super) fn over_in_wait(&self, vat: VatRef, identity: u64) -> Option<StrandRef> {
        let Some(Tape::Replays(Repeated { player, .. })) = self.tape.as_deref() else {
            return None;
        };
        if vat.sandbox().is_none() || !player.ends_next(vat.number(self.vm)) {
            return None;
        }
        let is_it = |strand: &StrandRef| recording::number_of(*strand) == identity;
        let strands = self.vm.strands.all();
        strands.into_iter().find(is_it).filter(|strand| strand.is_parked())
    }
}

impl Player {
    /// How a sandbox has ended in the recording.
    pub(super) fn end_of(&self, sandbox: SandboxRef) -> Option<SandboxEnd> {
        self.sandboxes.get(&sandbox.number()).cloned()
    }

    /// Whether what runs there has done all that comes before its end with the sandbox. None if the recording does not tell of it.
    fn ends_with_sandbox(&self, entity: Entity) -> Option<bool> {
        let mut state = self.state.lock();
        state.part(entity).map(|part| is_over(part))
    }

    /// Whether an item of a vat has something to do before its strand ends with the sandbox.
    fn has_turns(&self, vat: u64) -> bool {
        let state = self.state.lock();
        let does_more = |part: &Part| !matches!(part.events.front(), Some(Event::Over(_)));
        state.vats.get(&vat).is_some_and(|played| {
            let runs = !played.current.events.is_empty() && does_more(&played.current);
            runs || played.items.iter().any(|item| does_more(&item.part))
        })
    }

    /// Whether a strand has something to do before it ends with the sandbox.
    fn has_events(&self, strand: u64) -> bool {
        let mut state = self.state.lock();
        let part = state.part(Entity::Strand(strand));
        part.and_then(|part| part.events.front()).is_some_and(|it| !matches!(it, Event::Over(_)))
    }

    /// Whether a strand ends with the sandbox in the wait that it comes to next, or is in; or the recording does not tell of it.
    fn ends_in_wait_with(&self, strand: u64) -> bool {
        let mut state = self.state.lock();
        let part = state.part(Entity::Strand(strand));
        part.is_none_or(|part| is_over(part) && part.events.front() == Some(&Event::Over(true)))
    }

    /// Whether the next item of a vat, which is no new turn, is the end of its strand with the sandbox.
    fn ends_next(&self, vat: u64) -> bool {
        let state = self.state.lock();
        let stands = |played: &&PlayedVat| played.open == 0 && played.current.events.is_empty();
        let item = state.vats.get(&vat).filter(stands).and_then(|played| played.items.front());
        item.is_some_and(|item| {
            item.part.events.front() == Some(&Event::Over(true))
                && !matches!(item.what, What::Turn(_))
        })
    }
}

/// Whether what has this left to do is to end, since its sandbox is over, and has sent all messages that come before.
pub(super) fn is_over(part: &Part) -> bool {
    let has_sent = |run: &Run| matches!(run.count, None | Some(0));
    matches!(part.events.front(), Some(Event::Over(_))) && part.runs.iter().all(has_sent)
}

/// The reason for the end of a sandbox, as a recording has it.
pub fn reason_of(end: &SandboxEnd) -> Reason {
    match Reason::of(end.reason) {
        // A recording that was changed.
        Reason::Live => Reason::Terminated,
        reason => reason,
    }
}

/// Gives the sandbox of this object its number.
pub fn set_number(object: Word, number: u64) {
    if let Some(object) = object.as_object() {
        SandboxRef::of_object(object).0.number.store(number, Ordering::Relaxed);
    }
}
