//! Resources: the primitives that wait for open connections, processes and signals, hand them over, and close them.
//! `lib/Net.ns` and `lib/Os.ns` call them.
//!
//! A resource is known to the library by a [right](rights), which is of use only in the vat that has the resource.
//! Operations are tried; one that would have to wait answers `false`, and the library waits with `await:for:within:` before it tries
//! again. So no primitive waits in the middle of its work, and a strand that waits holds nothing.
//!
//! Resources whose owner, the object with the right, is garbage are closed when the next one is opened.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use squall_heap::{CollectionKind, Word};
use squall_system::errors;
use squall_system::poller::{Direction, Poller, Source};
use squall_system::resources::Resource;
use squall_system::stream::Peer;

use super::answer;
use super::channels::outcome;
use super::files::close_dropped;
use super::strands::duration_argument;
use crate::concurrency::timers::{self, Awaited};
use crate::concurrency::waiting;
use crate::concurrency::worker::outside;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::rights::{self, Kind};
use crate::objects::string::{make_string, symbol_object, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::effect("await:for:within:", await_resource),
    Primitive::effect("resource:giveUpTo:", |thread, window| {
        answer(hand_over(thread, window, (Kind::Resource, Kind::UnderWay)))
    }),
    Primitive::effect("resource:handTo:", |thread, window| {
        answer(hand_over(thread, window, (Kind::UnderWay, Kind::Resource)))
    }),
    Primitive::effect("closeResource:", |thread, window| answer(close(thread, window))),
];

/// The subject of an operation, for failures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Connections and the like.
    Network,
    /// Processes of the system.
    Processes,
}

impl Field {
    fn reason(self) -> FailureReason {
        match self {
            Field::Network => FailureReason::Network,
            Field::Processes => FailureReason::Process,
        }
    }

    pub(super) fn of_peer(peer: Peer) -> Field {
        match peer {
            Peer::Address(_) => Field::Network,
            Peer::Process(_) => Field::Processes,
        }
    }
}

/// The failure of an operation, with a description of the attempt. *GC point.*
pub(super) fn failure(
    thread: &mut Thread,
    field: Field,
    attempted: &str,
    error: &io::Error,
) -> Failure {
    let text = format!("{attempted}: {}", errors::text_of(error));
    explained(thread, field, errors::reason_of(error), &text)
}

/// A failure with a reason and a text. *GC point.*
pub(super) fn explained(thread: &mut Thread, field: Field, reason: &str, text: &str) -> Failure {
    described(thread, field.reason(), reason, text)
}

/// The program may not do this without the flag. *GC point.*
pub(super) fn denied(thread: &mut Thread, flag: &str, what: &str) -> Failure {
    described(thread, FailureReason::PermissionDenied, flag, what)
}

fn described(thread: &mut Thread, kind: FailureReason, first: &str, second: &str) -> Failure {
    let second = match make_string(thread, second) {
        Ok(text) => text,
        Err(failure) => return failure,
    };
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(second);
    let symbol = thread.vm.symbol(first);
    let first = symbol_object(thread, symbol);
    let second = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    match first {
        Ok(first) => Failure::with(kind, first, second),
        Err(failure) => failure,
    }
}

/// The resource that a right is for. *GC point.*
pub(super) fn resource(thread: &mut Thread, right: Word) -> Result<Arc<Resource>, Failure> {
    resource_of(thread, right, Kind::Resource)
}

/// The resource that a right of this kind is for. *GC point.*
pub(super) fn resource_of(
    thread: &mut Thread,
    right: Word,
    kind: Kind,
) -> Result<Arc<Resource>, Failure> {
    let number = rights::number(thread, right, kind)?;
    match thread.vm.library().resources.get(number) {
        Some(resource) => Ok(resource),
        None => Err(explained(thread, Field::Network, "Closed", "it is closed")),
    }
}

/// The poller. *GC point.*
pub(super) fn poller(thread: &mut Thread) -> Result<&'static Poller, Failure> {
    let vm = thread.vm;
    vm.library()
        .resources
        .poller(timers::deliver)
        .map_err(|error| failure(thread, Field::Network, "starting to wait for the system", &error))
}

/// Opens something as `open` says, which is called again after a collection if too much is open. *GC
/// point.*
pub(super) fn opened<R>(
    thread: &mut Thread,
    mut open: impl FnMut(&mut Thread) -> io::Result<R>,
) -> io::Result<R> {
    close_dropped(thread);
    match open(thread) {
        Err(error) if errors::is_shortage(&error) => {
            thread.mutator.collect(CollectionKind::Full);
            close_dropped(thread);
            open(thread)
        }
        result => result,
    }
}

/// Adds a resource that belongs to the object in the window's word with this index; answers a right of this kind to it.
/// *GC point.*
pub(super) fn add_owned(
    thread: &mut Thread,
    (resource, kind): (Resource, Kind),
    window: Window,
    owner: usize,
) -> Result<Word, Failure> {
    let number = thread.vm.library().resources.add(resource);
    own(thread, number, window.get(owner))?;
    rights::make(thread, kind, number)
}

/// Has a resource closed when an object is garbage.
pub(super) fn own(thread: &mut Thread, number: i64, owner: Word) -> Result<(), Failure> {
    let Some(owner) = owner.as_object() else {
        drop_resource(thread, number);
        return Err(Failure::argument(owner));
    };
    thread.vm.heap.register_finalizable(owner, number as u64 | TAG);
    Ok(())
}

/// The bit that distinguishes the numbers of resources from file numbers where both occur.
const TAG: u64 = 1 << 62;

/// The number of the resource that a collected owner had, if it was one.
pub(super) fn number_of_tag(tag: u64) -> Option<i64> {
    (tag & TAG != 0).then_some((tag & !TAG) as i64)
}

/// Closes a resource, unless it is closed.
pub(super) fn drop_resource(thread: &mut Thread, number: i64) {
    let Some((resource, waits)) = thread.vm.library().resources.remove(number) else { return };
    timers::deliver(&waits);
    if let Resource::Stream(stream) = &*resource {
        stream.part();
    }
    outside(thread, || drop(resource));
}

/// The answer of an attempted operation: `false` if it would have to wait. *GC point.*
pub(super) fn attempted<R>(
    thread: &mut Thread,
    (source, direction): (&Source, Direction),
    (field, what): (Field, impl FnOnce() -> String),
    operation: impl FnOnce(&mut Thread) -> io::Result<R>,
) -> Result<Option<R>, Failure> {
    source.begin(direction);
    match operation(thread) {
        Ok(result) => {
            timers::deliver(&source.worked(direction));
            Ok(Some(result))
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => {
            // Other strands that try fail as well.
            timers::deliver(&source.worked(direction));
            Err(failure(thread, field, &what(), &error))
        }
    }
}

/// Waits until a resource can be read or written, or the time is over; answers which. *GC point.*
fn await_resource(thread: &mut Thread, window: Window) -> Outcome {
    match is_ready(thread, window) {
        Ok(false) => wait(thread, window),
        ready => ready.map(Word::from_bool).into(),
    }
}

/// Whether the resource of a wait can be read or written now. *GC point.*
pub fn is_ready(thread: &mut Thread, window: Window) -> Result<bool, Failure> {
    let direction = direction_argument(window.get(1))?;
    patience_argument(window.get(2))?;
    let resource = resource(thread, window.get(0))?;
    let source = resource.source().ok_or(Failure::argument(window.get(0)))?;
    Ok(source.is_ready(direction))
}

/// Parks the strand until the resource can be read or written, or the time is over. *GC point.*
pub fn wait(thread: &mut Thread, window: Window) -> Outcome {
    outcome(try_to_wait(thread, window))
}

fn try_to_wait(thread: &mut Thread, window: Window) -> Result<Outcome, Failure> {
    let direction = direction_argument(window.get(1))?;
    let patience = patience_argument(window.get(2))?;
    let resource = resource(thread, window.get(0))?;
    let strand = thread.strand().object();
    let key = timers::reserve(thread);
    let ticket = waiting::park(thread, window.get(0));
    let awaited = Awaited { resource, direction };
    timers::wake_when_ready(thread, (key, patience), awaited, strand, ticket);
    Ok(Outcome::Park)
}

fn direction_argument(word: Word) -> Result<Direction, Failure> {
    match text_argument(word)?.as_str() {
        "read" => Ok(Direction::Read),
        "write" => Ok(Direction::Write),
        _ => Err(Failure::argument(word)),
    }
}

/// Nil is for ever.
fn patience_argument(word: Word) -> Result<Option<Duration>, Failure> {
    match word {
        Word::NIL => Ok(None),
        limit => duration_argument(limit).map(Some),
    }
}

/// Gives a resource another owner and another right: from this kind of right to that one. The former right finds
/// nothing. *GC point.*
fn hand_over(
    thread: &mut Thread,
    window: Window,
    (from, to): (Kind, Kind),
) -> Result<Word, Failure> {
    resource_of(thread, window.get(0), from)?;
    let number = rights::number(thread, window.get(0), from)?;
    let Some((new, waits)) = thread.vm.library().resources.renumber(number) else {
        return Err(explained(thread, Field::Network, "Closed", "it is closed"));
    };
    timers::deliver(&waits);
    own(thread, new, window.get(1))?;
    rights::make(thread, to, new)
}

/// Closes a resource; nothing happens if it is closed.
fn close(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let number = rights::number(thread, window.get(0), Kind::Resource)?;
    drop_resource(thread, number);
    Ok(Word::NIL)
}
