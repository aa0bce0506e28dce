//! Bounded mailboxes in recordings and replays: which sends have waited for room. Sends call this module by way of
//! [`crate::concurrency::vats`].
//!
//! Whether a mailbox is full depends on how far its vat is, and that is in no order with the sends of others. So each send to a
//! bounded mailbox notes whether it waits, with the number of the message: a send to a promise notes nothing if the promise is not
//! resolved, which may be so in the replay only. In a replay, the sender waits if it did so. When it goes on is known already: in a vat,
//! an item says so; the owner of that wakes the strand then. A strand that runs beside others may go on at once, since all that it
//! does later has its place, unless it was ended in that wait or has never gone on.

use squall_events::replay::{EndsAt, Entity, Event};
use squall_heap::Word;

use super::inputs::ROOM;
use super::player::Player;
use super::{Tape, Waiting};
use crate::state::recording;
use crate::state::strand::StrandRef;
use crate::state::thread::Thread;

/// How a strand goes on that has sent something to a bounded mailbox, in a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// The recording does not tell: it waits if the mailbox is full.
    ByRoom,
    /// It goes on.
    GoesOn,
    /// It waits.
    Waits,
}

impl Thread {
    /// The strand that runs here has sent something to a bounded mailbox, and waits if that is full.
    #[cold]
    pub fn note_full(&mut self, is_full: bool) {
        let Some(Tape::Records(notes)) = self.tape.as_deref() else { return };
        if notes.is_in_piece() {
            notes.input(ROOM, &answer(is_full, notes.last_number()));
        }
    }

    /// In a replay: how the strand that runs here goes on, which has sent something.
    pub fn sends_by_tape(&self) -> Sending {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return Sending::ByRoom };
        let Some(entity) = repeated.entity.get() else { return Sending::ByRoom };
        let number = repeated.last_number.get();
        match repeated.player.room(entity, number) {
            Some(is_full) => {
                _ = self.repeat(|event| matches!(event, Event::Input(ROOM, _)));
                match is_full {
                    true => repeated.player.waits_for_room(entity),
                    false => Sending::GoesOn,
                }
            }
            None if repeated.player.is_beyond_end(entity) => Sending::ByRoom,
            None => Sending::GoesOn,
        }
    }

    /// In a replay: a strand that was parked here with this ticket waits for room, and goes on when its vat is to run it.
    pub fn wait_for_room_by_tape(&self, strand: StrandRef, ticket: u64, answer: Word) {
        if let Some(Tape::Replays(repeated)) = self.tape.as_deref() {
            let waiting = Waiting { strand: strand.object.get(), ticket, answer: Some(answer) };
            repeated.player.wait_for_room(recording::number_of(strand), waiting);
        }
    }

    /// In a replay: the wait for room of the strand with this identity, which is to end.
    pub fn sender_by_tape(&self, identity: u64) -> Option<Waiting> {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => repeated.player.sender(identity),
            _ => None,
        }
    }
}

/// What a recording has of a send.
fn answer(is_full: bool, number: u32) -> [u8; 5] {
    let [a, b, c, d] = number.to_le_bytes();
    [u8::from(is_full), a, b, c, d]
}

impl Player {
    /// Whether the message with this number, which was sent there just now, has met a full mailbox; none if its mailbox was not
    /// known to be bounded.
    fn room(&self, entity: Entity, number: u32) -> Option<bool> {
        let mut state = self.state.lock();
        let Some(Event::Input(ROOM, noted)) = state.part(entity)?.events.front() else {
            return None;
        };
        [false, true].into_iter().find(|is_full| noted[..] == answer(*is_full, number))
    }

    /// Whether the recording was cut before what happens there.
    fn is_beyond_end(&self, entity: Entity) -> bool {
        let mut state = self.state.lock();
        !self.is_whole && state.part(entity).is_none_or(|part| part.events.is_empty())
    }

    /// Whether a strand that has waited for room there is to wait.
    fn waits_for_room(&self, entity: Entity) -> Sending {
        let mut state = self.state.lock();
        let next = state.part(entity).and_then(|part| part.events.front());
        match (entity, next) {
            (_, None) if !self.is_whole => Sending::ByRoom,
            (Entity::Vat(_), _)
            | (_, None | Some(Event::Killed(EndsAt::Wait | EndsAt::WaitBehind(_)))) => {
                Sending::Waits
            }
            (Entity::Strand(_), Some(_)) => Sending::GoesOn,
        }
    }

    fn wait_for_room(&self, identity: u64, waiting: Waiting) {
        self.state.lock().senders.insert(identity, waiting);
    }

    fn sender(&self, identity: u64) -> Option<Waiting> {
        let mut state = self.state.lock();
        state.senders.remove(&identity).filter(Waiting::is_on)
    }
}
