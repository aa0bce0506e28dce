//! Channels: synchronous and buffered communication between processes, and the choice between several channels (Hoare,
//! "Communicating Sequential Processes", CACM 1978; `alt` and poison as in occam-π). The primitives for
//! `lib/Processes.ns` and the instructions of typed code call this module.
//!
//! A channel without a buffer joins a writer and a reader: the first one to come waits for the other one. A buffer lets
//! writers continue while it has room. A poisoned channel fails all readers and writers for good; but its buffer can
//! still be read, unless a reader has poisoned the channel.
//!
//! Vats share a channel, so all of it is behind its lock ([`crate::concurrency::waiting`]), and its elements are
//! values.
//!
//! A channel may cross the boundary of a sandbox. It knows the sandbox that it was made in. Strands of sandboxes write
//! only what may leave (see [`crate::concurrency::isolation::leaving`]) to a channel that was made outside, and to
//! one that a strand outside has read from; a strand outside takes nothing else out of a channel.
//!
//! A channel of typed code has a type for its elements, and holds them in their typed form. Code without types converts
//! at its own end. A writer converts before it has the lock, so under the lock it checks again that the type is the
//! same. A reader converts afterwards, in its own strand ([`Delivery::Element`]), from the type that the channel had when
//! the element was taken, under the lock: the channel may get a type directly after that.

pub mod ends;
pub mod rendezvous;

use std::time::Duration;

use smallvec::SmallVec;
use squall_bytecode::instructions::Opcode;
use squall_events as events;
use squall_heap::{Object, Word};

use crate::concurrency::isolation::{self, leaving};
use crate::concurrency::sandbox::metering;
use crate::concurrency::timers;
use crate::concurrency::waiting;
use crate::model::function::Site;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::types::{Shape, Type};
use crate::objects::rights::{self, Kind};
use crate::objects::string::make_string;
use crate::objects::typed::{boxing, scalars};
use crate::state::recording;
use crate::state::sandbox::SandboxRef;
use crate::state::strand::waiter;
use crate::state::strand::{Claimed, Delivery, Wait};
use crate::state::thread::{Thread, Window, allocated};

/// The slots of a channel.
pub mod slots {
    /// The lock.
    pub const LOCK: usize = 0;
    /// True once it is poisoned.
    pub const POISONED: usize = 1;
    /// The strands that wait to read.
    pub const READERS: usize = 2;
    /// The strands that wait to write.
    pub const WRITERS: usize = 3;
    /// The array of elements under way, or nil for a channel without a buffer.
    pub const BUFFER: usize = 4;
    /// The index of the oldest element in the buffer.
    pub const FIRST: usize = 5;
    /// How many elements the buffer holds.
    pub const HELD: usize = 6;
    /// The type of the elements, as [`Type::to_word`](crate::model::types::Type::to_word) answers it; nil if they
    /// are any objects.
    pub const TYPE: usize = 7;

    /// The sandbox that it was made in, or nil.
    pub const SANDBOX: usize = 8;
    /// True once a strand outside of that sandbox has read from it.
    pub const EXPORTED: usize = 9;

    const _: () = crate::model::known::assert_slots(crate::model::known::CHANNEL, EXPORTED + 1);
}

use rendezvous::Side;
use slots::{BUFFER, EXPORTED, FIRST, HELD, POISONED, READERS, SANDBOX, TYPE, WRITERS};

/// The largest buffer.
pub const MAX_BUFFER: usize = 1 << 20;

/// Makes a channel with a buffer of this size. *GC point.*
pub fn make(thread: &mut Thread, capacity: usize) -> Result<Word, Failure> {
    let vm = thread.vm;
    let mut buffer = Word::NIL;
    if capacity > 0 {
        let class = vm.known_class(KnownClass::Array);
        let array = thread.mutator.allocate_array(known::ARRAY, class, capacity, Word::NIL);
        buffer = allocated(array)?.word();
    }
    let class = vm.known_class(KnownClass::Object);
    let sandbox = thread.sandbox;
    let mut scope = thread.mutator.scope();
    let buffer = scope.root(buffer);
    let channel = allocated(scope.allocate_slots(known::CHANNEL, class))?;
    channel.initialize_slot(slots::LOCK, index_word(0));
    channel.initialize_slot(POISONED, Word::FALSE);
    channel.initialize_slot(BUFFER, scope.get(buffer));
    channel.initialize_slot(FIRST, index_word(0));
    channel.initialize_slot(HELD, index_word(0));
    channel.initialize_slot(SANDBOX, sandbox.map_or(Word::NIL, |sandbox| sandbox.object()));
    drop(scope);
    thread.note(events::Kind::ChannelCreated, || [recording::number_of_object(channel.word())]);
    Ok(channel.word())
}

/// Makes a channel with a buffer of this size for elements of this type. *GC point.*
pub fn make_typed(thread: &mut Thread, capacity: usize, element: Type) -> Result<Word, Failure> {
    let channel = make(thread, capacity)?;
    if !element.is_any() {
        channel.object().set_slot(&mut thread.mutator, TYPE, element.to_word());
    }
    Ok(channel)
}

/// The type of the elements of a channel; nothing if they are any objects.
pub fn element_type(channel: Object) -> Option<Type> {
    Type::of_word(get(channel, TYPE))
}

/// Whether a channel carries elements of this type from now on. One that has none yet gets it, unless
/// something is under way in it.
pub fn takes_type(thread: &mut Thread, channel: Object, element: Type) -> bool {
    waiting::lock(&mut thread.mutator, channel);
    let known = element_type(channel);
    let is_empty = || index_slot(channel, HELD) == 0 && !waiting::has_waiters(channel, WRITERS);
    let takes = match known {
        Some(known) => known == element,
        None => element.is_any() || is_empty(),
    };
    if takes && known.is_none() && !element.is_any() {
        set(thread, channel, TYPE, element.to_word());
    }
    waiting::unlock(&mut thread.mutator, channel);
    takes
}

/// The element of this type for an object; nothing if the object stands for no value of the type. *GC point.*
fn element_for(thread: &mut Thread, value: Word, element: Type) -> Result<Option<Word>, Failure> {
    match element.shape() {
        Shape::Basic(kind) => match scalars::unbox(*kind, value) {
            // SAFETY: the bits are those of a register of this type; no GC point came between.
            Some(bits) => unsafe { scalars::basic_to_word(thread, *kind, bits) }.map(Some),
            None => Ok(None),
        },
        _ if element.is_boxable() => boxing::unboxed(thread, element, value),
        _ => Ok(None),
    }
}

/// The object for an element of a channel of this type. *GC point.*
fn object_for(thread: &mut Thread, kind: Option<Type>, element: Word) -> Result<Word, Failure> {
    match kind.filter(|kind| !kind.is_plain()) {
        None => Ok(element),
        Some(kind) if kind.is_boxable() => boxing::boxed(thread, kind, element),
        Some(kind) => Err(not_for_objects(thread, kind)?),
    }
}

/// Objects do not go through a channel of this type. *GC point.*
pub fn not_for_objects(thread: &mut Thread, kind: Type) -> Result<Failure, Failure> {
    let what =
        make_string(thread, &format!("sending objects through a channel of {}", kind.text()))?;
    Ok(Failure::with(FailureReason::NotSupported, what, Word::NIL))
}

/// The delivery to a strand that has waited to read: an element, or the pair of a choice and an element. Choices of typed
/// code get the delivery unchanged. *GC point.*
pub fn delivered(thread: &mut Thread, site: &'static Site, value: Word) -> Result<Word, Failure> {
    let kind = thread.running().take_element();
    if is_typed(site) {
        return Ok(value);
    }
    let pair = value.as_object().filter(|object| object.layout() == known::ARRAY);
    let Some(pair) = pair else { return object_for(thread, kind, value) };
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(value);
    let element = object_for(thread, kind, pair.element(ELEMENT));
    let pair = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    pair.object().set_element(&mut thread.mutator, ELEMENT, element?);
    Ok(pair)
}

/// Whether a call that waits is an instruction of typed code that answers a pair.
fn is_typed(site: &Site) -> bool {
    let words = &site.function().bytecode().code;
    let opcode = words.get(site.pc as usize).and_then(|word| Opcode::of_word(*word));
    matches!(opcode, Some(Opcode::Accept | Opcode::Alt | Opcode::AltPriority))
}

/// The sandbox that a channel was made in.
fn sandbox_of(channel: Object) -> Option<SandboxRef> {
    get(channel, SANDBOX).as_object().map(SandboxRef::of_object)
}

/// Whether the running strand is outside of the sandbox that a channel was made in.
fn is_outside(thread: &Thread, channel: Object) -> bool {
    sandbox_of(channel).is_some_and(|sandbox| !leaving::is_within(thread.sandbox, sandbox))
}

/// Whether what the running strand writes to a channel may leave the strand's sandbox. The answer about a locked channel is certain.
fn may_carry_out(thread: &Thread, channel: Object) -> bool {
    thread.sandbox.is_some_and(|sandbox| {
        get(channel, EXPORTED) == Word::TRUE || !leaving::is_within(sandbox_of(channel), sandbox)
    })
}

/// Whether an element of a channel of this type may leave a sandbox. Typed code has only data, but a strand outside makes an object
/// of it.
fn may_leave(thread: &mut Thread, kind: Option<Type>, value: Word) -> bool {
    match kind {
        Some(kind) => isolation::may_leave_typed(thread, kind, value),
        None => isolation::may_leave_at_once(thread, value),
    }
}

/// An object does not leave a sandbox. *GC point.*
fn kept_inside(thread: &mut Thread) -> Failure {
    match make_string(
        thread,
        "sending an object of a guest's class, or a very large one, out of a sandbox",
    ) {
        Ok(what) => Failure::with(FailureReason::NotSupported, what, Word::NIL),
        Err(failure) => failure,
    }
}

/// The channel in a word.
pub fn channel(word: Word) -> Result<Object, Failure> {
    let object = word.as_object().filter(|object| object.layout() == known::CHANNEL);
    object.ok_or(Failure::argument(word))
}

/// A slot of a channel, or of a waiter in one of its queues.
#[inline(always)]
fn get(object: Object, index: usize) -> Word {
    // SAFETY: objects that reach this file are known by their layout (`channel`), or come from a channel's queue; callers
    // name slots of theirs.
    unsafe { object.slot_unchecked(index) }
}

/// Stores into such a slot.
#[inline(always)]
fn set(thread: &mut Thread, object: Object, index: usize, value: Word) {
    // SAFETY: as for `get`.
    unsafe { object.set_own_slot_unchecked(&mut thread.mutator, index, value) };
}

fn index_word(index: usize) -> Word {
    Word::from_small_integer_unchecked(index as i64)
}

fn index_slot(channel: Object, slot: usize) -> usize {
    get(channel, slot).as_small_integer().unwrap_or(0) as usize
}

/// The result of a look at a locked channel, which is then unlocked.
enum Look {
    /// It is done; the call answers this.
    Done(Word),
    /// It is poisoned.
    Poisoned,
    /// There was an element that may not leave its sandbox; it is dropped.
    Kept,
    /// One has to wait. The channel is still locked.
    Wait,
    /// The reader has the element, and releases the writer, which is parked.
    Accepted,
}

/// Reads from the channel in the window, for typed code. *GC point.*
pub fn read(thread: &mut Thread, window: Window) -> Result<Outcome, Failure> {
    read_for(thread, window, Side::Typed).map(|(outcome, _)| outcome)
}

/// Reads an object from the channel in the window, for untyped code. *GC point.*
pub fn read_object(thread: &mut Thread, window: Window) -> Result<Outcome, Failure> {
    if let Some(outcome) = rendezvous::read(thread, window.get(0), Side::Untyped).outcome() {
        return Ok(outcome);
    }
    match read_for(thread, window, Side::Untyped)? {
        (Outcome::Return(value), kind) => object_for(thread, kind, value).map(Outcome::Return),
        (outcome, _) => Ok(outcome),
    }
}

/// Reads from the channel in the window, for one side or the other; answers the type of the element, too, if there was
/// one. *GC point.*
fn read_for(
    thread: &mut Thread,
    window: Window,
    side: Side,
) -> Result<(Outcome, Option<Type>), Failure> {
    let waiter = waiting::own_waiter(thread)?;
    let source = channel(window.get(0))?;
    waiting::lock(&mut thread.mutator, source);
    let kind = element_type(source);
    let outcome = match try_read(thread, source) {
        Look::Wait => wait(thread, source, READERS, waiter, rendezvous::brought_by_reader(side)),
        look => {
            note_done(thread, &look, events::Kind::ChannelReceived, source);
            answer(thread, look, source)
        }
    };
    Ok((outcome, kind))
}

/// Writes the object in the window's second word to the channel in the first, for untyped code. *GC point.*
pub fn write_object(thread: &mut Thread, window: Window) -> Result<Outcome, Failure> {
    let met = rendezvous::write(thread, window.get(0), window.get(1), Side::Untyped);
    if let Some(outcome) = met.outcome() {
        return Ok(outcome);
    }
    let operands = |_: &Thread| (window.get(0), window.get(1));
    loop {
        let kind = element_type(channel(window.get(0))?);
        if let Some(element) = kind {
            match element_for(thread, window.get(1), element)? {
                Some(converted) => window.set(1, converted),
                None => {
                    let wanted = make_string(thread, &element.text())?;
                    return Err(Failure::with(FailureReason::WrongElement, window.get(1), wanted));
                }
            }
        }
        // A channel gets a type once, so it is not tried a third time.
        if let Some(outcome) = write_if(thread, operands, |channel| element_type(channel) == kind)?
        {
            return Ok(outcome);
        }
    }
}

/// Writes to a channel; both are asked for when nothing moves any more. *GC point.*
pub fn write_words(
    thread: &mut Thread,
    operands: impl Fn(&Thread) -> (Word, Word),
) -> Result<Outcome, Failure> {
    let written = write_if(thread, operands, |_| true)?;
    Ok(written.expect("it does not depend on anything"))
}

/// Writes to a channel, if it is suitable when it is locked. *GC point.*
fn write_if(
    thread: &mut Thread,
    operands: impl Fn(&Thread) -> (Word, Word),
    is_suitable: impl Fn(Object) -> bool,
) -> Result<Option<Outcome>, Failure> {
    metering::count_message(thread)?;
    let waiter = waiting::own_waiter(thread)?;
    let (target, value) = operands(thread);
    let target = channel(target)?;
    let mut was_seen = false;
    loop {
        // A strand outside may read from the channel for the first time between this look and the lock.
        if !was_seen && may_carry_out(thread, target) {
            was_seen = true;
            if !may_leave(thread, element_type(target), value) {
                return Err(kept_inside(thread));
            }
        }
        waiting::lock(&mut thread.mutator, target);
        if was_seen || !may_carry_out(thread, target) {
            break;
        }
        waiting::unlock(&mut thread.mutator, target);
    }
    if !is_suitable(target) {
        waiting::unlock(&mut thread.mutator, target);
        return Ok(None);
    }
    Ok(Some(match try_write(thread, target, value, waiter) {
        Look::Wait => wait(thread, target, WRITERS, waiter, value),
        Look::Accepted => Outcome::Park,
        look => {
            note_done(thread, &look, events::Kind::ChannelSent, target);
            answer(thread, look, target)
        }
    }))
}

/// Where in the pair that [`accept`] answers the writer is, and the element.
pub const WRITER: usize = 0;
/// See [`WRITER`].
pub const ELEMENT: usize = 1;

/// Reads from the channel in the window without letting the writer go on: answers a pair of the waiter to
/// [release] then and the element. If the element comes from the buffer, there is nil instead of a waiter.
/// *GC point.*
pub fn accept(thread: &mut Thread, window: Window) -> Result<Outcome, Failure> {
    let class = thread.vm.known_class(KnownClass::Array);
    let pair = allocated(thread.mutator.allocate_array(known::ARRAY, class, 2, Word::NIL))?;
    thread.message.clear();
    thread.message.push(pair.word());
    let waiter = waiting::own_waiter(thread)?;
    let source = channel(window.get(0))?;
    let pair = thread.message[0].object();
    waiting::lock(&mut thread.mutator, source);
    if index_slot(source, HELD) == 0
        && get(source, POISONED) != Word::TRUE
        && !is_outside(thread, source)
        && let Some((writer, claimed)) = waiting::dequeue(thread, source, WRITERS)
    {
        waiting::unlock(&mut thread.mutator, source);
        waiting::retain(thread, writer, claimed);
        fill(thread, pair, writer.word(), get(writer, waiter::VALUE));
        return Ok(Outcome::Return(pair.word()));
    }
    Ok(match try_read(thread, source) {
        Look::Wait => {
            pair.set_element(&mut thread.mutator, WRITER, ACCEPTING);
            wait(thread, source, READERS, waiter, pair.word())
        }
        Look::Done(value) => {
            fill(thread, pair, Word::NIL, value);
            Outcome::Return(pair.word())
        }
        look => answer(thread, look, source),
    })
}

/// Lets a writer go on whose element was [accepted](accept).
pub fn release(thread: &mut Thread, writer: Word) {
    if let Some(waiter) = writer.as_object() {
        let answer = match ends::is_of_choice(waiter) {
            true => ends::answer_of_writer(thread, waiter),
            false => Word::NIL,
        };
        waiting::release(thread, waiter, answer);
    }
}

/// What a reader of typed code brings along: it takes the element as the channel holds it.
const AS_IT_IS: Word = Word::TRUE;

/// The word in place of the writer in the pair of a reader that waits to accept.
const ACCEPTING: Word = Word::TRUE;

/// Parks the strand with its value in a queue of a locked channel, and unlocks the channel.
fn wait(
    thread: &mut Thread,
    channel: Object,
    queue: usize,
    waiter: Object,
    value: Word,
) -> Outcome {
    let ticket = waiting::park(thread, channel.word());
    waiting::enqueue(thread, channel, queue, waiter, ticket, value);
    waiting::unlock(&mut thread.mutator, channel);
    Outcome::Park
}

/// Notes an operation on a channel that did not wait.
fn note_done(thread: &Thread, look: &Look, kind: events::Kind, channel: Object) {
    if matches!(look, Look::Done(_)) {
        thread.note(kind, || [recording::number_of_object(channel.word())]);
    }
}

/// The outcome of a look that found something. *GC point* if an element was dropped.
fn answer(thread: &mut Thread, look: Look, channel: Object) -> Outcome {
    match look {
        Look::Done(value) => Outcome::Return(value),
        Look::Kept => kept_inside(thread).into(),
        _ => Failure::with(FailureReason::Poisoned, channel.word(), Word::NIL).into(),
    }
}

/// Takes an element from a locked channel, if one is there.
fn try_read(thread: &mut Thread, channel: Object) -> Look {
    let is_outside = is_outside(thread, channel);
    let kind = element_type(channel);
    if is_outside {
        set(thread, channel, EXPORTED, Word::TRUE);
    }
    if get(channel, POISONED) == Word::TRUE && index_slot(channel, HELD) == 0 {
        waiting::unlock(&mut thread.mutator, channel);
        return Look::Poisoned;
    }
    let writer = waiting::dequeue(thread, channel, WRITERS);
    let brought = writer.as_ref().map(|&(writer, _)| get(writer, waiter::VALUE));
    let value = match get(channel, BUFFER).as_object() {
        Some(buffer) => match take_element(thread, channel, buffer) {
            Some(oldest) => {
                if let Some(value) = brought {
                    append_element(thread, channel, buffer, value);
                }
                Some(oldest)
            }
            None => brought,
        },
        None => brought,
    };
    let Some(value) = value else { return Look::Wait };
    waiting::unlock(&mut thread.mutator, channel);
    if let Some((writer, claimed)) = writer {
        let answer = ends::answer_of_writer(thread, writer);
        waiting::wake(thread, claimed, answer);
    }
    match !is_outside || may_leave(thread, kind, value) {
        true => Look::Done(value),
        false => Look::Kept,
    }
}

/// Gives an element to a locked channel, if a reader waits or the buffer has room.
fn try_write(thread: &mut Thread, channel: Object, value: Word, writer: Object) -> Look {
    if get(channel, POISONED) == Word::TRUE {
        waiting::unlock(&mut thread.mutator, channel);
        return Look::Poisoned;
    }
    if let Some(reader) = waiting::dequeue(thread, channel, READERS) {
        let delivery = match element_type(channel).filter(|kind| !kind.is_plain()) {
            Some(kind) if get(reader.0, waiter::VALUE) != AS_IT_IS => {
                reader.1.set_element(kind);
                Delivery::Element
            }
            _ => Delivery::Value,
        };
        waiting::unlock(&mut thread.mutator, channel);
        return hand_over(thread, channel, reader, (delivery, value), writer);
    }
    let buffer = get(channel, BUFFER).as_object();
    let Some(buffer) = buffer.filter(|buffer| index_slot(channel, HELD) < buffer.length()) else {
        return Look::Wait;
    };
    append_element(thread, channel, buffer, value);
    waiting::unlock(&mut thread.mutator, channel);
    Look::Done(value)
}

fn take_element(thread: &mut Thread, channel: Object, buffer: Object) -> Option<Word> {
    let (first, held) = (index_slot(channel, FIRST), index_slot(channel, HELD));
    if held == 0 {
        return None;
    }
    let value = buffer.element(first);
    buffer.set_element(&mut thread.mutator, first, Word::NIL);
    let next = (first + 1) % buffer.length();
    set(thread, channel, FIRST, index_word(next));
    set(thread, channel, HELD, index_word(held - 1));
    Some(value)
}

fn append_element(thread: &mut Thread, channel: Object, buffer: Object, value: Word) {
    let (first, held) = (index_slot(channel, FIRST), index_slot(channel, HELD));
    buffer.set_element(&mut thread.mutator, (first + held) % buffer.length(), value);
    set(thread, channel, HELD, index_word(held + 1));
}

/// Wakes a claimed reader with an element. One that waits for several channels finds the pair it
/// brought, filled with index and element; one that accepts, with the writer and the element.
fn hand_over(
    thread: &mut Thread,
    channel: Object,
    (reader, claimed): (Object, Claimed),
    (delivery, value): (Delivery, Word),
    writer: Object,
) -> Look {
    let brought = get(reader, waiter::VALUE);
    // A reader that waits for one channel has no pair.
    let Some(pair) = brought.as_object() else {
        waiting::wake_strand(thread, claimed, delivery, value);
        return Look::Done(value);
    };
    if pair.element(WRITER) != ACCEPTING {
        fill(thread, pair, get(reader, waiter::INDEX), value);
        waiting::wake_strand(thread, claimed, delivery, pair.word());
        return Look::Done(value);
    }
    // The strand of a choice waits for the choice's pair.
    let awaited = if ends::is_of_choice(writer) { thread.message[0] } else { channel.word() };
    let ticket = waiting::park_in(thread, awaited, Wait::Patient).ticket;
    let ticket = Word::from_small_integer_unchecked(ticket as i64);
    set(thread, writer, waiter::TICKET, ticket);
    fill(thread, pair, writer.word(), value);
    waiting::wake(thread, claimed, pair.word());
    Look::Accepted
}

fn fill(thread: &mut Thread, pair: Object, index: Word, value: Word) {
    pair.set_element(&mut thread.mutator, 0, index);
    pair.set_element(&mut thread.mutator, 1, value);
}

/// The end that poisons a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A reader: the buffer's contents are dropped.
    Reading,
    /// A writer: the buffer's contents can still be read.
    Writing,
}

/// Poisons the channel in a word from one end: waiting and later strands fail.
pub fn poison(thread: &mut Thread, word: Word, end: End) -> Result<Word, Failure> {
    let channel = channel(word)?;
    waiting::lock(&mut thread.mutator, channel);
    set(thread, channel, POISONED, Word::TRUE);
    if end == End::Reading {
        set(thread, channel, BUFFER, Word::NIL);
        set(thread, channel, HELD, index_word(0));
    }
    let readers = waiting::take_all(thread, channel, READERS);
    let writers = waiting::take_all(thread, channel, WRITERS);
    waiting::unlock(&mut thread.mutator, channel);
    for waiters in [readers, writers] {
        waiting::wake_all(thread, waiters, Delivery::Poison, word);
    }
    Ok(Word::NIL)
}

/// How long a choice waits for one of its channels.
#[derive(Clone, Copy)]
pub enum Patience {
    /// Not at all.
    None,
    /// For a time.
    Until(Duration),
    /// For ever.
    Endless,
}

/// The result of a choice.
pub enum Chosen {
    /// The strand waits, or the choice failed.
    Outcome(Outcome),
    /// There is nothing, and the strand was not to wait.
    Nothing,
    /// The channel with this index, from 0, had this element of this type.
    Element(usize, Word, Option<Type>),
}

/// Reads from whichever of several channels has something first: answers an array of the channel's
/// index, from 1, and the element; or nil if patience ends. The window's first word is an array of
/// rights to read from channels. *GC point.*
///
/// Of several that are ready, a fair choice takes any with the same probability, the other kind the first.
pub fn choose(
    thread: &mut Thread,
    window: Window,
    is_fair: bool,
    patience: Patience,
) -> Result<Outcome, Failure> {
    let channels =
        window.get(0).as_object().filter(|object| object.layout().format().has_elements());
    let channels = channels.ok_or(Failure::argument(window.get(0)))?;
    let count = channels.length();
    if count == 0 && matches!(patience, Patience::Endless) {
        return Err(Failure::argument(window.get(0)));
    }
    /// The effort for a channel, which is locked twice.
    const EFFORT: usize = 100;
    thread.with_effort(|_, effort| effort.add(count.saturating_mul(EFFORT)))?;
    let channels = window.get(0).object();
    thread.message.clear();
    thread.message.push(Word::NIL);
    for index in 0..count {
        let channel = rights::subject(thread, channels.element(index), Kind::Reading)?;
        thread.message.extend([channel, Word::NIL]);
    }
    Ok(match choose_in_message(thread, is_fair, patience)? {
        Chosen::Outcome(outcome) => outcome,
        Chosen::Nothing => Outcome::Return(Word::NIL),
        Chosen::Element(index, value, kind) => {
            let value = object_for(thread, kind, value)?;
            let pair = thread.message[0].object();
            fill(thread, pair, index_word(index + 1), value);
            Outcome::Return(pair.word())
        }
    })
}

/// As [`choose`], of the channels in the thread's message: there is a place for the pair first, then for
/// each channel that and a place for its waiter. *GC point.*
pub fn choose_in_message(
    thread: &mut Thread,
    is_fair: bool,
    patience: Patience,
) -> Result<Chosen, Failure> {
    let count = prepare_choice(thread)?;
    let order = order_of_choice(thread, count, is_fair);
    for &index in &order {
        let channel = thread.message[1 + 2 * index].object();
        waiting::lock(&mut thread.mutator, channel);
        let kind = element_type(channel);
        match try_read(thread, channel) {
            Look::Wait => waiting::unlock(&mut thread.mutator, channel),
            Look::Done(value) => return Ok(Chosen::Element(index, value, kind)),
            look => return Ok(Chosen::Outcome(answer(thread, look, channel))),
        }
    }
    if matches!(patience, Patience::None) {
        return Ok(Chosen::Nothing);
    }
    // From here on there is no GC point, and another thread may take the frame at any moment.
    let strand = thread.strand().object();
    let timer = match patience {
        Patience::Until(delay) => Some((timers::reserve(thread), delay)),
        _ => None,
    };
    // A strand that waits only for a time waits for a number.
    let waits_for = if count == 0 { index_word(0) } else { thread.message[0] };
    let ticket = waiting::park(thread, waits_for);
    for &index in &order {
        let channel = thread.message[1 + 2 * index].object();
        let waiter = thread.message[2 + 2 * index].object();
        waiting::lock(&mut thread.mutator, channel);
        if is_ready(channel) {
            waiting::unlock(&mut thread.mutator, channel);
            // A channel became ready in between. If no thread has woken the strand, it looks again.
            return match waiting::unpark(thread, ticket) {
                true => choose_in_message(thread, is_fair, patience),
                false => Ok(Chosen::Outcome(Outcome::Park)),
            };
        }
        let pair = thread.message[0];
        waiting::enqueue(thread, channel, READERS, waiter, ticket, pair);
        waiting::unlock(&mut thread.mutator, channel);
    }
    if let Some(timer) = timer {
        timers::wake_after(thread, timer, strand, ticket, Word::NIL);
    }
    Ok(Chosen::Outcome(Outcome::Park))
}

/// The order in which a choice looks at its channels. A fair choice shuffles them (Durstenfeld, "Algorithm 235", CACM
/// 1964): over time it takes each of the ready ones equally often, whatever other choices do in between, and need not
/// remember its earlier results.
fn order_of_choice(thread: &mut Thread, count: usize, is_fair: bool) -> SmallVec<[usize; 8]> {
    let mut order: SmallVec<[usize; 8]> = (0..count).collect();
    if is_fair {
        for last in (1..count).rev() {
            order.swap(last, (thread.random() % (last as u64 + 1)) as usize);
        }
    }
    order
}

/// Checks the channels in the thread's message; makes the pair for the result, and a waiter for each.
fn prepare_choice(thread: &mut Thread) -> Result<usize, Failure> {
    let count = thread.message.len() / 2;
    let class = thread.vm.known_class(KnownClass::Array);
    let pair = allocated(thread.mutator.allocate_array(known::ARRAY, class, 2, Word::NIL))?;
    thread.message[0] = pair.word();
    for index in 0..count {
        channel(thread.message[1 + 2 * index])?;
        let waiter = waiting::make_waiter(thread)?;
        waiter.initialize_slot(waiter::INDEX, index_word(index + 1));
        thread.message[2 + 2 * index] = waiter.word();
    }
    let class = thread.vm.known_class(KnownClass::Array);
    let channels = allocated(thread.mutator.allocate_array(known::ARRAY, class, count, Word::NIL))?;
    for index in 0..count {
        channels.initialize_element(index, thread.message[1 + 2 * index]);
    }
    // For reports, as long as there is no result.
    let pair = thread.message[0].object();
    pair.set_element(&mut thread.mutator, 1, channels.word());
    Ok(count)
}

/// The channels of a choice whose strand waits, by the pair that it waits for.
pub fn channels_of_choice(pair: Object) -> impl Iterator<Item = Object> {
    let channels = pair.element(1).as_object().filter(|list| list.layout() == known::ARRAY);
    let count = channels.map_or(0, Object::length);
    let channels = (0..count).filter_map(move |index| channels?.element(index).as_object());
    channels.filter(|channel| channel.layout() == known::CHANNEL)
}

/// Whether a read of this locked channel would not wait.
fn is_ready(channel: Object) -> bool {
    get(channel, POISONED) == Word::TRUE
        || index_slot(channel, HELD) > 0
        || waiting::has_waiters(channel, WRITERS)
}
