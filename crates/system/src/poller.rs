//! The poller: the table of waits for descriptors, and the thread that asks the system which descriptors are ready. The
//! runtime leaves waits, and its [`Deliver`] function receives them.
//!
//! # Readiness
//!
//! A [`Source`] has two flags: reading may be possible, writing may be possible. Both are set at first. The system
//! reports *changes* only (edge-triggered), so a descriptor is registered once, for any number of waits. An operation
//! goes like this:
//!
//! ```text
//!   the reader                                the poller's thread
//!   R1  clears the flag
//!   R2  tries; if that worked, goes to R5
//!   R3  waits: if the flag is set, again R1   P1  the system reports a change
//!   R4  else leaves its wait (same lock)      P2  sets the flag, takes all waits (one lock)
//!   R5  sets the flag, takes all waits        P3  hands the waits to `Deliver`
//! ```
//!
//! A change that the system makes after R2 is reported after R1, so either R3 sees the flag or P2 finds the wait. R5 is
//! for other readers of the same descriptor: there may be more for them. A reader that is woken too early loses one
//! try.
//!
//! # When nothing happens
//!
//! The thread is started with the first source, and sleeps in the system until something happens: no interval, no
//! timeout. It does not deal with timers.
//!
//! # Locks
//!
//! The locks of the sources and of the table are leaves: nothing is called while one is held.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use parking_lot::Mutex;

/// A caller's number for its wait. The poller does not interpret it.
pub type Wait = u64;

/// Receives the waits whose sources are ready now.
pub type Deliver = fn(&[Wait]);

/// The event that a wait is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Data to read, a connection to accept, or the end of the stream.
    Read,
    /// Room to write, or the end of connecting.
    Write,
}

/// The readiness of a descriptor, and the waits for it.
pub struct Source {
    state: Mutex<State>,
}

struct State {
    readable: bool,
    writable: bool,
    waits: Vec<(Direction, Wait)>,
}

impl State {
    fn flag(&mut self, direction: Direction) -> &mut bool {
        match direction {
            Direction::Read => &mut self.readable,
            Direction::Write => &mut self.writable,
        }
    }

    fn set(&mut self, direction: Direction, woken: &mut Vec<Wait>) {
        *self.flag(direction) = true;
        self.waits.retain(|&(awaited, wait)| {
            let stays = awaited != direction;
            if !stays {
                woken.push(wait);
            }
            stays
        });
    }
}

impl Source {
    fn new() -> Source {
        Source { state: Mutex::new(State { readable: true, writable: true, waits: Vec::new() }) }
    }

    /// Called before an operation is tried.
    pub fn begin(&self, direction: Direction) {
        *self.state.lock().flag(direction) = false;
    }

    /// Called after an operation has worked, since there may be more. Answers other callers' waits, which this caller
    /// delivers.
    #[must_use]
    pub fn worked(&self, direction: Direction) -> Vec<Wait> {
        let mut woken = Vec::new();
        self.state.lock().set(direction, &mut woken);
        woken
    }

    /// Whether to try the operation. A hint.
    pub fn is_ready(&self, direction: Direction) -> bool {
        *self.state.lock().flag(direction)
    }

    /// Leaves a wait, unless the operation should be tried at once. Answers whether it was left.
    pub fn wait(&self, direction: Direction, wait: Wait) -> bool {
        let mut state = self.state.lock();
        let is_ready = *state.flag(direction);
        if !is_ready {
            state.waits.push((direction, wait));
        }
        !is_ready
    }

    /// Takes a wait back, if it is still there.
    pub fn cancel(&self, wait: Wait) {
        let mut state = self.state.lock();
        state.waits.retain(|&(_, left)| left != wait);
        if state.waits.is_empty() {
            state.waits.shrink_to_fit();
        }
    }

    /// Sets both flags: all operations are to be tried. The caller delivers the waits.
    #[must_use]
    pub fn end_waits(&self) -> Vec<Wait> {
        let mut woken = Vec::new();
        let mut state = self.state.lock();
        state.set(Direction::Read, &mut woken);
        state.set(Direction::Write, &mut woken);
        woken
    }
}

/// The registered sources, and the registry that reaches the system.
pub struct Poller {
    registry: Arc<Registry>,
    sources: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    sources: Vec<Option<Arc<Source>>>,
    free: Vec<usize>,
}

impl Table {
    fn add(&mut self, source: Arc<Source>) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.sources[place] = Some(source);
                place
            }
            None => {
                self.sources.push(Some(source));
                self.sources.len() - 1
            }
        }
    }

    fn remove(&mut self, place: usize) {
        if self.sources.get_mut(place).and_then(Option::take).is_some() {
            self.free.push(place);
        }
    }
}

/// The greatest number of changes that the system reports at a time.
const BATCH: usize = 256;

impl Poller {
    /// Starts a poller's thread, which lives as long as the process.
    pub fn start(deliver: Deliver) -> io::Result<Poller> {
        let poll = Poll::new()?;
        let registry = Arc::new(poll.registry().try_clone()?);
        let sources: Arc<Mutex<Table>> = Arc::default();
        let thread = std::thread::Builder::new().name("squall-poller".into());
        thread.spawn({
            let sources = sources.clone();
            move || run(poll, &sources, deliver)
        })?;
        Ok(Poller { registry, sources })
    }

    /// Makes the thread watch a descriptor, which must stay open while the registration exists.
    pub fn register(&self, descriptor: &impl AsFd, interest: Interest) -> io::Result<Registration> {
        let descriptor = descriptor.as_fd().as_raw_fd();
        let source = Arc::new(Source::new());
        let place = self.sources.lock().add(source.clone());
        let registry = self.registry.clone();
        let watched = self.registry.register(&mut SourceFd(&descriptor), Token(place), interest);
        let sources = self.sources.clone();
        // Dropping the registration frees its place.
        let registration = Registration { source, descriptor, place, registry, sources };
        watched.map(|()| registration)
    }
}

/// Reading and writing.
pub const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// Only reading.
pub const READING: Interest = Interest::READABLE;

/// Only writing.
pub const WRITING: Interest = Interest::WRITABLE;

/// A watched descriptor. The registration is dropped before the descriptor is closed.
pub struct Registration {
    source: Arc<Source>,
    descriptor: RawFd,
    place: usize,
    registry: Arc<Registry>,
    sources: Arc<Mutex<Table>>,
}

impl Registration {
    /// The readiness of the descriptor, and the waits for it.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // This fails if the descriptor was never registered.
        _ = self.registry.deregister(&mut SourceFd(&self.descriptor));
        self.sources.lock().remove(self.place);
    }
}

/// The thread's loop.
fn run(mut poll: Poll, sources: &Mutex<Table>, deliver: Deliver) {
    let mut events = Events::with_capacity(BATCH);
    let mut woken = Vec::new();
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // The system has failed; no strand can be told, so the thread ends.
            Err(_) => return,
            Ok(()) => {}
        }
        for event in &events {
            // A change that is reported late may be taken for a change of the next source at its place. Then that
            // source is tried once in vain.
            let source = sources.lock().sources.get(event.token().0).cloned().flatten();
            let Some(source) = source else { continue };
            let mut state = source.state.lock();
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                state.set(Direction::Read, &mut woken);
            }
            if event.is_writable() || event.is_write_closed() || event.is_error() {
                state.set(Direction::Write, &mut woken);
            }
        }
        if !woken.is_empty() {
            deliver(&woken);
            woken.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::{Receiver, Sender, channel};

    fn deliveries() -> (Deliver, Receiver<Vec<Wait>>) {
        static SENDER: Mutex<Option<Sender<Vec<Wait>>>> = Mutex::new(None);
        let (sender, receiver) = channel();
        *SENDER.lock() = Some(sender);
        let deliver = |waits: &[Wait]| {
            _ = SENDER.lock().as_ref().map(|sender| sender.send(waits.to_vec()));
        };
        (deliver, receiver)
    }

    #[test]
    fn a_wait_is_delivered_when_there_is_something_to_read() {
        let (deliver, delivered) = deliveries();
        let poller = Poller::start(deliver).unwrap();
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let registration = poller.register(&ours, BOTH).unwrap();
        let source = registration.source();
        let mut bytes = [0; 8];
        for round in 1..=3 {
            loop {
                source.begin(Direction::Read);
                assert_eq!(ours.read(&mut bytes).unwrap_err().kind(), io::ErrorKind::WouldBlock);
                if source.wait(Direction::Read, round) {
                    break;
                }
            }
            theirs.write_all(b"x").unwrap();
            assert_eq!(delivered.recv().unwrap(), [round]);
            assert_eq!(ours.read(&mut bytes).unwrap(), 1);
        }
    }

    #[test]
    fn readiness_is_remembered_and_cleared() {
        let source = Source::new();
        assert!(!source.wait(Direction::Read, 1), "everything is worth a first try");
        source.begin(Direction::Read);
        assert!(source.wait(Direction::Read, 1));
        assert!(source.wait(Direction::Read, 2));
        source.cancel(1);
        assert_eq!(source.worked(Direction::Read), [2]);
        assert!(source.is_ready(Direction::Read));
        source.begin(Direction::Write);
        assert!(source.wait(Direction::Write, 3));
        assert_eq!(source.end_waits(), [3]);
    }

    #[test]
    fn places_are_used_again() {
        let mut table = Table::default();
        let first = table.add(Arc::new(Source::new()));
        table.remove(first);
        table.remove(first);
        assert_eq!(table.add(Arc::new(Source::new())), first);
        assert_ne!(table.add(Arc::new(Source::new())), first);
    }
}
