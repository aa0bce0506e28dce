//! Introductions: how a repetition of a run gets to know the objects that data breakpoints are about. `control` asks here at
//! breakpoints, `travel` at the end of a repetition, and the server has the front's list.
//!
//! An object has no name that another process would know. But the front knows a position at which an expression means it: where
//! the user has set the data breakpoint; or a position at which it is written. A repetition that comes to such a position
//! introduces the object. Before, it notes the last writes of all objects that it may be, so that a search finds the last one
//! even if the object is known at the end only.
//!
//! A copy of a checkpoint may know the object already: it was a root when the copy was made.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use squall_heap::Word;
use squall_runtime::library::inspection;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::Place;
use squall_runtime::state::roots::RootWord;
use squall_runtime::state::thread::Thread;

use super::Control;
use super::travel::{Position, place_in};
use crate::breakpoints::Breakpoint;
use crate::evaluation;
use crate::reasons::{Reason, of_stop};
use crate::stopped::Stopped;
use crate::watches::{self, Sought, Target, Watch, Write};

/// Of how many objects the last writes are noted.
const MOST_NOTED: usize = 1024;

/// Where what the user knows by an identifier gets known.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// The identifier.
    pub id: String,
    /// The slot or variable.
    pub sought: Sought,
    /// The position.
    pub at: Position,
    /// What means the object there.
    pub how: How,
}

/// What means an object at a position.
#[derive(Clone, Debug)]
pub enum How {
    /// An expression in the frame with this index.
    Expression(usize, String),
    /// The instruction is about to write it.
    Written,
}

/// A write of an object that may be the one that a data breakpoint is about.
struct Noted {
    /// The identifier of the data breakpoint.
    id: String,
    holder: Arc<RootWord>,
    order: u64,
    position: Position,
    body: Json,
}

/// A stop, or a write that is one if its object is the right one.
pub(super) struct Passed {
    /// How many others there were before.
    pub(super) order: u64,
    pub(super) position: Position,
    /// The body for the client.
    pub(super) body: Json,
}

impl Passed {
    /// The position, and the body for the client.
    pub(super) fn told(self) -> (Position, Json) {
        (self.position, self.body)
    }
}

/// What a repetition knows of data breakpoints.
#[derive(Default)]
pub(crate) struct Introductions {
    /// Those that are to come.
    awaited: Vec<Introduction>,
    /// The data breakpoints whose objects are not known yet, with the identifiers.
    waiting: Vec<(String, Breakpoint)>,
    noted: VecDeque<Noted>,
    /// How many stops and writes there were.
    passed: u64,
    /// The last write that a data breakpoint has told, by its identifier.
    last: Vec<(String, Position)>,
}

impl Introductions {
    /// The number of the next stop or write.
    pub(super) fn count(&mut self) -> u64 {
        self.passed += 1;
        self.passed
    }

    /// A data breakpoint has told a write.
    fn note_last(&mut self, id: &str, position: Position) {
        self.last.retain(|(other, _)| other != id);
        self.last.push((id.to_owned(), position));
    }

    /// The last writes, for the front.
    pub(super) fn last_writes(&self) -> Json {
        let writes = self.last.iter();
        writes.map(|(id, position)| json!({ "id": id, "position": position.to_json() })).collect()
    }
}

impl Control {
    /// The front says where objects get known. Those that this process knows, or whose position it has passed, are left out.
    pub fn introduce_later(&self, all: Vec<Introduction>) {
        let moment = self.travel.moment();
        let watches = self.watches.lock();
        let is_new = |it: &Introduction| it.at.moment >= moment && watches.target(&it.id).is_none();
        self.introductions.lock().awaited = all.into_iter().filter(is_new).collect();
    }

    /// Forgets what a repetition was told.
    pub(super) fn forget_introductions(&self) {
        *self.introductions.lock() = Introductions::default();
    }

    /// A data breakpoint for what gets known later, if that is so.
    pub(super) fn await_watch(&self, id: &str, breakpoint: &Breakpoint) -> bool {
        let mut introductions = self.introductions.lock();
        let is_awaited = introductions.awaited.iter().any(|it| it.id == id);
        if is_awaited {
            introductions.waiting.push((id.to_owned(), breakpoint.clone()));
        }
        is_awaited
    }

    /// The places of a module where objects may get known, or are written that may be such ones.
    pub(super) fn introducing_places(&self, module: &'static LoadedModule) -> Vec<Place> {
        let introductions = self.introductions.lock();
        let sought: Vec<Sought> =
            introductions.awaited.iter().map(|it| it.sought.clone()).collect();
        let mut places = watches::writers_of(module, &sought);
        places.extend(introductions.awaited.iter().filter_map(|it| place_in(module, &it.at)));
        places
    }

    /// The strand stands at a place: objects may get known there.
    pub(super) fn introduce_here(&self, thread: &mut Thread, place: Place) {
        let moment = self.travel.moment();
        let here: Vec<Introduction> = {
            let mut introductions = self.introductions.lock();
            let is_here = |it: &mut Introduction| it.at.is_at(moment, thread, place);
            introductions.awaited.extract_if(.., is_here).collect()
        };
        for introduction in here {
            if let Some(target) = self.target_of(thread, place, &introduction) {
                self.introduce(introduction.id, target);
            }
        }
    }

    fn target_of(&self, thread: &mut Thread, place: Place, it: &Introduction) -> Option<Target> {
        match &it.how {
            How::Expression(frame, text) => {
                evaluation::target(&Stopped::new(thread, &self.names), *frame, text).ok()
            }
            How::Written => {
                let frame = inspection::frames(thread).next()?;
                let holder = watches::written_at(thread.vm, frame, place, &it.sought)?;
                let holder = thread.vm.debugging.keep(holder);
                Some(it.sought.target(holder))
            }
        }
    }

    /// The data breakpoint with this identifier is about this target.
    fn introduce(&self, id: String, target: Target) {
        let mut watches = self.watches.lock();
        let mut introductions = self.introductions.lock();
        watches.know(id.clone(), target.clone());
        let holder = target.holder.get();
        let is_it = |noted: &&Noted| noted.id == id && noted.holder.get() == holder;
        let position = introductions.noted.iter().rfind(is_it).map(|noted| noted.position.clone());
        position.into_iter().for_each(|position| introductions.note_last(&id, position));
        let waiting = introductions.waiting.extract_if(.., |(other, _)| *other == id);
        watches.set.extend(waiting.map(|(id, breakpoint)| Watch {
            id,
            breakpoint,
            target: target.clone(),
        }));
    }

    /// A data breakpoint is about to tell a write.
    pub(super) fn note_told(&self, thread: &Thread, id: &str) {
        if self.travel.is_repeating()
            && let Some(position) = self.position(thread)
        {
            self.introductions.lock().note_last(id, position);
        }
    }

    /// Notes a write at a place of an object that may be one which gets known later. *No GC point.*
    pub(super) fn note_candidates(&self, thread: &mut Thread, place: Place) {
        let Some(frame) = inspection::frames(thread).next() else { return };
        for (breakpoint, id, sought) in self.candidates() {
            let Some(holder) = watches::written_at(thread.vm, frame, place, &sought) else {
                continue;
            };
            let target = sought.target(thread.vm.debugging.keep(holder));
            if let Some(write) = watches::write_at(thread.vm, frame, place, &target) {
                self.note_candidate(thread, Watch { id, breakpoint, target }, &write);
            }
        }
    }

    /// The same for a write of a slot that no instruction names. *No GC point.*
    pub(super) fn note_stored_candidates(
        &self,
        thread: &mut Thread,
        slot: usize,
        holder: Word,
        new: Word,
    ) {
        for (breakpoint, id, sought) in self.candidates() {
            if sought.is_slot
                && sought.index == slot
                && inspection::slot_place(thread.vm, holder, &sought.name).is_some()
            {
                let target = sought.target(thread.vm.debugging.keep(holder));
                let write = Write { old: holder.object().slot(slot), new };
                self.note_candidate(thread, Watch { id, breakpoint, target }, &write);
            }
        }
    }

    /// The data breakpoints whose objects are not known yet.
    fn candidates(&self) -> Vec<(Breakpoint, String, Sought)> {
        let introductions = self.introductions.lock();
        let sought = |id: &String| {
            let awaited = introductions.awaited.iter().find(|it| it.id == *id)?;
            Some(awaited.sought.clone())
        };
        let waiting = introductions.waiting.iter();
        waiting
            .filter_map(|(id, breakpoint)| Some((breakpoint.clone(), id.clone(), sought(id)?)))
            .collect()
    }

    /// Notes a write, if the data breakpoint would tell it. *No GC point.*
    fn note_candidate(&self, thread: &mut Thread, watch: Watch, write: &Write) {
        if !self.counts_write(thread, &watch, write) {
            return;
        }
        let Some(position) = self.position(thread) else { return };
        let reason = Reason::Write(watch.breakpoint.id, watch.told(thread.vm, write));
        let body = of_stop(Some(position.strand), &reason, true);
        let mut introductions = self.introductions.lock();
        let (order, holder) = (introductions.count(), watch.target.holder.get());
        introductions.noted.retain(|other| other.id != watch.id || other.holder.get() != holder);
        if introductions.noted.len() == MOST_NOTED {
            introductions.noted.pop_front();
        }
        let holder = watch.target.holder;
        introductions.noted.push_back(Noted { id: watch.id, holder, order, position, body });
    }

    /// The last of a stop and the noted writes of what is known now.
    pub(super) fn last_passed(&self, stop: Option<Passed>) -> Option<Passed> {
        let watches = self.watches.lock();
        let mut introductions = self.introductions.lock();
        let is_known = |noted: &Noted| {
            let target = watches.set.iter().find(|watch| watch.id == noted.id);
            target.is_some_and(|watch| watch.target.holder.get() == noted.holder.get())
        };
        let noted = introductions.noted.drain(..).filter(is_known);
        let noted =
            noted.map(|it| Passed { order: it.order, position: it.position, body: it.body });
        noted.chain(stop).max_by_key(|passed| passed.order)
    }

    /// The numbers of the data breakpoints whose objects this process does not know at the place where it has arrived.
    pub(super) fn lost_watches(&self) -> Vec<Breakpoint> {
        let mut introductions = self.introductions.lock();
        introductions.awaited.clear();
        introductions.waiting.drain(..).map(|(_, lost)| Breakpoint { line: None, ..lost }).collect()
    }
}
