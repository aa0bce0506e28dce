//! Nested classes and library modules in recordings and replays: which strands make one. The layers above call this module by way of
//! [`crate::concurrency::gates`].
//!
//! A nested class is made by the strands that find its slot empty. Threads may do so at the same time, and actors that share
//! a value. That a strand finds the slot empty has a place, and so has the filling; that it finds the class is in no event. So in a
//! replay, nobody fills the slot before all have looked who found it empty. One that finds it empty, but has not in the recording,
//! comes too early, and looks again later. The event has the number of the class, since a strand may find one class there and the next
//! one not.
//!
//! So it is with the instance of a library's module, which the strands make that ask for it first.

use squall_events::replay::{Entity, Event, digest};

use super::Tape;
use super::inputs::CLASS;
use super::player::Player;
use crate::model::function::Function;
use crate::state::thread::Thread;

/// What is known about a slot for a nested class that is empty.
pub enum ClassLook {
    /// The recording does not tell of it.
    Outside,
    /// The run is recorded, and this was noted, or the slot is not empty any more.
    Recorded,
    /// In the replay, the strand is to find it empty when it is its turn.
    Empty,
    /// In the replay, the strand is to find the class there.
    Filled,
}

impl Thread {
    /// The strand that runs here has found the slot for what has this number empty, and this tells whether it is so still. *GC
    /// point.*
    pub fn look_for_class(
        &mut self,
        number: [u8; 4],
        is_empty: impl FnOnce() -> bool,
    ) -> ClassLook {
        match self.tape.as_deref() {
            Some(Tape::Records(notes)) if notes.is_in_piece() => {
                let recorder = notes.recorder;
                let mut order = self.lock_order(recorder);
                if is_empty()
                    && let Some(Tape::Records(notes)) = self.tape.as_deref()
                {
                    notes.ordered(recorder.take_place(&mut order));
                    notes.input(CLASS, &number);
                }
                ClassLook::Recorded
            }
            Some(Tape::Replays(repeated)) => match repeated.entity.get() {
                Some(entity) => repeated.player.look_for_class(entity, number),
                None => ClassLook::Outside,
            },
            _ => ClassLook::Outside,
        }
    }

    /// In a replay: the strand has found the slot empty, at its place.
    pub fn note_class(&self) {
        _ = self.repeat(|event| matches!(event, Event::Input(CLASS, _)));
    }
}

/// A number for the class that this accessor makes.
pub fn number_of_class(accessor: &Function) -> [u8; 4] {
    let module = digest(accessor.module.bytecode.path_text().as_bytes()) as u32;
    (module ^ accessor.index).to_le_bytes()
}

/// A number for the instance of the library's module with this name.
pub fn number_of_module(name: &str) -> [u8; 4] {
    (digest(name.as_bytes()) as u32).to_le_bytes()
}

impl Player {
    fn look_for_class(&self, entity: Entity, number: [u8; 4]) -> ClassLook {
        let mut state = self.state.lock();
        let events = state.part(entity).map(|part| &part.events);
        let is_empty = events.as_ref().is_some_and(|events| {
            let marker = events.get(1);
            matches!(events.front(), Some(Event::Ordered(_)))
                && matches!(marker, Some(Event::Input(CLASS, noted)) if noted[..] == number)
        });
        let is_beyond = !self.is_whole && events.is_none_or(|events| events.is_empty());
        match is_empty {
            true => ClassLook::Empty,
            false if is_beyond || state.has_waited_enough() => ClassLook::Outside,
            false => ClassLook::Filled,
        }
    }
}
