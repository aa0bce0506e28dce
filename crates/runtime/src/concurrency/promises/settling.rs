//! Settling promises: with an object, an error, or another promise. Resolvers, turns and followed promises call this
//! module.

use squall_events::Kind;
use squall_heap::{Object, RootHandle, Word};

use super::{
    BREAK, RESOLVE, State, origins, owner, promise_in, reactions, set_state, slots, state,
};
use crate::concurrency::isolation::{self, leaving};
use crate::concurrency::messages;
use crate::concurrency::sandbox;
use crate::concurrency::waiting;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::objects::far_reference;
use crate::state::recording;
use crate::state::sandbox::SandboxRef;
use crate::state::thread::{Thread, allocated};
use crate::state::vat::{self, VatRef};

/// Resolves a promise with an object of the thread's vat, or makes it follow the object, if that is a promise. Does
/// nothing if the promise was decided before, or if both are the same. *GC point.*
pub fn resolve(thread: &mut Thread, here: VatRef, promise: Object, object: Word) {
    match promise_in(thread.vm, object) {
        Some(other) if other == promise => {}
        Some(other) => {
            if decide(thread, promise) {
                follow(thread, here, promise, other);
            }
        }
        None => settle(thread, here, promise, RESOLVE, object),
    }
}

/// Breaks a promise with an object of the thread's vat, unless the promise was decided before. *GC point.*
pub fn break_with(thread: &mut Thread, here: VatRef, promise: Object, error: Word) {
    settle(thread, here, promise, BREAK, error);
}

fn settle(thread: &mut Thread, here: VatRef, promise: Object, kind: Word, outcome: Word) {
    if decide(thread, promise) {
        settle_decided(thread, here, promise, kind, outcome);
    }
}

/// Decides a promise for the caller; false if it was decided before.
fn decide(thread: &mut Thread, promise: Object) -> bool {
    if thread.watch.is_on {
        return decide_watched(thread, promise);
    }
    try_to_decide(thread, promise)
}

/// As [`decide`], while the run may be recorded, or repeat a recording.
#[cold]
fn decide_watched(thread: &mut Thread, promise: Object) -> bool {
    let known = thread.decides_by_tape();
    if known == Some(false) {
        return false;
    }
    let is_open = try_to_decide(thread, promise);
    // The end of a sandbox breaks promises that a turn of it which does not begin would break, too.
    let is_over = owner(promise).sandbox().is_some_and(SandboxRef::is_over);
    if known == Some(true) && !is_open && !is_over {
        thread.diverge("the promise was settled before, but not in the recording");
    }
    thread.note_decided(is_open);
    is_open
}

fn try_to_decide(thread: &mut Thread, promise: Object) -> bool {
    waiting::lock(&mut thread.mutator, promise);
    let is_open = state(promise) == State::Unresolved;
    if is_open {
        set_state(thread, promise, State::Decided);
    }
    waiting::unlock(&mut thread.mutator, promise);
    is_open
}

/// Settles a promise that the caller has decided, with an object of the thread's vat. *GC point.*
pub(super) fn settle_decided(
    thread: &mut Thread,
    here: VatRef,
    promise: Object,
    kind: Word,
    outcome: Word,
) {
    // STAYS: kind: it is `RESOLVE` or `BREAK`, no object.
    isolation::begin(thread);
    let target = owner(promise);
    if target == here {
        return publish(thread, here, promise, kind, outcome);
    }
    let depth = thread.mutator.root_depth();
    let promise = thread.mutator.push_root(promise.word());
    let (kind, outcome) = match isolation::wrap(thread, outcome, here, target) {
        Ok(outcome) => (kind, outcome),
        Err(failure) => (BREAK, isolation::prepared_error(thread.vm, &failure)),
    };
    let promise = thread.mutator.get(promise).object();
    thread.mutator.truncate_roots(depth);
    publish(thread, here, promise, kind, outcome);
}

/// Makes a promise that the caller has decided follow another one. *GC point.*
pub fn follow(thread: &mut Thread, here: VatRef, promise: Object, other: Object) {
    if let Some(sandbox) = owner(other).sandbox()
        && !leaving::is_within(owner(promise).sandbox(), sandbox)
    {
        // Others wait for it: if nobody has settled it when the sandbox ends, that does.
        sandbox::ends::add_awaited(thread, sandbox, other.word());
    }
    let depth = thread.mutator.root_depth();
    let (promise, other) =
        (thread.mutator.push_root(promise.word()), thread.mutator.push_root(other.word()));
    let made = make_settlement(thread, RESOLVE, promise, Word::NIL);
    let other = thread.mutator.get(other).object();
    let promise = thread.mutator.get(promise).object();
    thread.mutator.truncate_roots(depth);
    match made {
        Ok(reaction) => reactions::add_reaction(thread, here, other, reaction),
        Err(_) => {
            let error = thread.vm.roots.out_of_memory.get();
            publish(thread, here, promise, BREAK, error);
        }
    }
}

/// A promise follows one that is settled by now: the reaction is to its outcome. *GC point.*
pub(super) fn follow_settled(thread: &mut Thread, here: VatRef, other: Object, reaction: Object) {
    let kind = if state(other) == State::Broken { BREAK } else { RESOLVE };
    let outcome = other.slot(slots::OUTCOME);
    let source = owner(other);
    // An outcome that would have to be copied is left to its vat, and so is an error that is itself a promise: those
    // could be nested without end.
    let is_late = isolation::is_copied(thread, outcome) && source != here
        || promise_in(thread.vm, outcome).is_some();
    if is_late {
        reaction.set_element(&mut thread.mutator, messages::KIND, kind);
        reaction.set_element(&mut thread.mutator, messages::RECEIVER, outcome);
        return source.post(thread, reaction);
    }
    let promise = reaction.element(messages::RESULT).object();
    settle_decided(thread, source, promise, kind, outcome);
}

/// A message that settles a promise with an outcome, which is a root unless it is immediate.
/// *GC point.*
fn make_settlement(
    thread: &mut Thread,
    kind: Word,
    promise: RootHandle,
    outcome: Word,
) -> Result<Object, Failure> {
    // STAYS: kind: it is `RESOLVE` or `BREAK`, no object.
    let class = thread.vm.known_class(KnownClass::Array);
    let depth = thread.mutator.root_depth();
    let outcome = thread.mutator.push_root(outcome);
    let length = messages::RECEIVER + 1;
    let made = thread.mutator.allocate_array(known::MESSAGE, class, length, Word::NIL);
    let (promise, outcome) = (thread.mutator.get(promise), thread.mutator.get(outcome));
    thread.mutator.truncate_roots(depth);
    let message = allocated(made)?;
    message.initialize_element(messages::KIND, kind);
    message.initialize_element(messages::RESULT, promise);
    message.initialize_element(messages::RECEIVER, outcome);
    Ok(message)
}

/// Settles a promise that the caller has decided, with an outcome that belongs to its owner; then the promises that
/// follow it. *GC point.*
pub(super) fn publish(
    thread: &mut Thread,
    here: VatRef,
    promise: Object,
    kind: Word,
    outcome: Word,
) {
    let depth = thread.mutator.root_depth();
    let mut publication = Publication::begin(thread, here, promise, outcome);
    if publication.is_late(thread) {
        publication.hand_over(thread, kind);
    } else {
        publication.run(thread, kind);
    }
    thread.mutator.truncate_roots(depth);
}

/// Notes that a promise has its outcome.
fn note_settled(thread: &Thread, promise: Object, end: State) {
    let kind = if end == State::Broken { Kind::PromiseBroken } else { Kind::PromiseResolved };
    thread.note(kind, || [recording::number_of_object(promise.word())]);
}

/// Tells a debugger that the promise's reactions are due from now on, or one that was added late.
#[inline(always)]
pub(super) fn tell_of_reactions(thread: &Thread, promise: Object, is_late: bool) {
    if thread.watch.is_on
        && let Some(debugger) = thread.vm.debugging.debugger()
    {
        debugger.promise_settling(thread, recording::number_of_object(promise.word()), is_late);
    }
}

/// A series of promises that are settled one after the other.
struct Publication {
    here: VatRef,
    /// The promise that is settled next.
    promise: RootHandle,
    /// Its outcome.
    outcome: RootHandle,
    /// The reactions of it that are still to be done.
    reactions: RootHandle,
    /// Whether it has had any.
    had_reactions: bool,
    /// The first of the settlements that follow, and the last.
    first: RootHandle,
    last: RootHandle,
}

/// The next step for a promise that is being settled.
enum Step {
    /// The reactions that were taken are done.
    React,
    /// Its owner continues, since one of the reactions is a message to another vat with an object to copy.
    HandOver,
    /// Nothing: it is settled.
    Done,
}

impl Publication {
    fn begin(thread: &mut Thread, here: VatRef, promise: Object, outcome: Word) -> Publication {
        let mutator = &mut thread.mutator;
        Publication {
            here,
            promise: mutator.push_root(promise.word()),
            outcome: mutator.push_root(outcome),
            reactions: mutator.push_root(Word::NIL),
            had_reactions: false,
            first: mutator.push_root(Word::NIL),
            last: mutator.push_root(Word::NIL),
        }
    }

    fn promise(&self, thread: &Thread) -> Object {
        thread.mutator.get(self.promise).object()
    }

    /// Whether this promise must be settled in a turn of its owner.
    fn is_late(&self, thread: &mut Thread) -> bool {
        owner(self.promise(thread)) != self.here
            && isolation::is_copied(thread, thread.mutator.get(self.outcome))
    }

    /// Has the owner settle the promise.
    fn hand_over(&self, thread: &mut Thread, kind: Word) {
        let outcome = thread.mutator.get(self.outcome);
        if let Ok(message) = make_settlement(thread, kind, self.promise, outcome) {
            owner(self.promise(thread)).post(thread, message);
        }
    }

    fn run(&mut self, thread: &mut Thread, mut kind: Word) {
        // STAYS: kind: it is `RESOLVE` or `BREAK`, no object.
        loop {
            match self.settle(thread, kind) {
                Step::React => {
                    self.react(thread, kind);
                    continue;
                }
                Step::HandOver => self.hand_over(thread, kind),
                Step::Done => {}
            }
            self.had_reactions = false;
            match self.next(thread) {
                Some(next) => kind = next,
                None => return,
            }
        }
    }

    /// Takes the promise's reactions, if there are some; otherwise gives it its outcome. While reactions are processed,
    /// later ones are added after them. A strand that finds the promise settled may send a message at once, so that
    /// message overtakes none.
    fn settle(&mut self, thread: &mut Thread, kind: Word) -> Step {
        let (promise, outcome) = (self.promise(thread), thread.mutator.get(self.outcome));
        let end = if kind == RESOLVE { State::Resolved } else { State::Broken };
        let is_ours = owner(promise) == self.here;
        waiting::lock(&mut thread.mutator, promise);
        if matches!(state(promise), State::Resolved | State::Broken) {
            // It was in a circle, which has been broken elsewhere.
            waiting::unlock(&mut thread.mutator, promise);
            return Step::Done;
        }
        if !is_ours
            && far_reference::far_reference(outcome).is_some()
            && reactions::have_copies(thread, promise)
        {
            waiting::unlock(&mut thread.mutator, promise);
            return Step::HandOver;
        }
        let first = promise.slot(slots::FIRST);
        if first == Word::NIL {
            promise.set_slot(&mut thread.mutator, slots::OUTCOME, outcome);
            set_state(thread, promise, end);
            note_settled(thread, promise, end);
            if end == State::Broken && !self.had_reactions {
                origins::record(thread.vm, promise);
            }
        } else {
            tell_of_reactions(thread, promise, false);
            promise.set_slot(&mut thread.mutator, slots::FIRST, Word::NIL);
            promise.set_slot(&mut thread.mutator, slots::LAST, Word::NIL);
        }
        waiting::unlock(&mut thread.mutator, promise);
        self.had_reactions |= first != Word::NIL;
        thread.mutator.set(self.reactions, first);
        if first == Word::NIL { Step::Done } else { Step::React }
    }

    /// Makes the reactions due. *GC point.*
    fn react(&mut self, thread: &mut Thread, kind: Word) {
        // STAYS: kind: it is `RESOLVE` or `BREAK`, no object.
        while let Some(reaction) = thread.mutator.get(self.reactions).as_object() {
            let next = reaction.element(vat::NEXT);
            thread.mutator.set(self.reactions, next);
            reaction.set_element(&mut thread.mutator, vat::NEXT, Word::NIL);
            if reaction.element(messages::KIND) == RESOLVE {
                self.append(thread, kind, reaction);
            } else {
                let (promise, outcome) = (self.promise(thread), thread.mutator.get(self.outcome));
                let owner = owner(promise);
                reactions::fire(thread, self.here, owner, kind, outcome, reaction);
            }
        }
    }

    /// Appends a promise that follows to those to be settled. *GC point.*
    fn append(&mut self, thread: &mut Thread, kind: Word, reaction: Object) {
        // STAYS: kind: it is `RESOLVE` or `BREAK`, no object.
        let outcome = thread.mutator.get(self.outcome);
        let source = owner(self.promise(thread));
        let target = owner(reaction.element(messages::RESULT).object());
        let (kind, outcome, reaction) = if source == target {
            (kind, outcome, reaction)
        } else {
            let depth = thread.mutator.root_depth();
            let kept = thread.mutator.push_root(reaction.word());
            let wrapped = isolation::wrap(thread, outcome, source, target);
            let reaction = thread.mutator.get(kept).object();
            thread.mutator.truncate_roots(depth);
            match wrapped {
                Ok(outcome) => (kind, outcome, reaction),
                Err(failure) => (BREAK, isolation::prepared_error(thread.vm, &failure), reaction),
            }
        };
        reaction.set_element(&mut thread.mutator, messages::KIND, kind);
        reaction.set_element(&mut thread.mutator, messages::RECEIVER, outcome);
        match thread.mutator.get(self.last).as_object() {
            Some(last) => last.set_element(&mut thread.mutator, vat::NEXT, reaction.word()),
            None => thread.mutator.set(self.first, reaction.word()),
        }
        thread.mutator.set(self.last, reaction.word());
    }

    /// Goes on to the next promise that is to be settled here; answers how.
    fn next(&mut self, thread: &mut Thread) -> Option<Word> {
        loop {
            let settlement = thread.mutator.get(self.first).as_object()?;
            let next = settlement.element(vat::NEXT);
            thread.mutator.set(self.first, next);
            if next == Word::NIL {
                thread.mutator.set(self.last, Word::NIL);
            }
            settlement.set_element(&mut thread.mutator, vat::NEXT, Word::NIL);
            thread.mutator.set(self.promise, settlement.element(messages::RESULT));
            thread.mutator.set(self.outcome, settlement.element(messages::RECEIVER));
            if !self.is_late(thread) {
                return Some(settlement.element(messages::KIND));
            }
            owner(self.promise(thread)).post(thread, settlement);
        }
    }
}
