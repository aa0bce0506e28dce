//! Where messages, reactions and strands come from: the stacks below the stack of a strand. `control` tells this module what
//! happens; the server asks it for the stacks.
//!
//! A *stack* is recorded at each send: where a promise is made (an eventual send, a reaction), where a message is put into a
//! mailbox without a promise of its own, where a strand is started. Each refers to the *cause* of the strand that has recorded
//! it, so causes form a chain. A message and the turn that processes it meet by the number of the promise for the result, or
//! by the number of the message.
//!
//! A reaction's message is put into the mailbox by the strand that settles the promise, while the reaction's promise was made
//! where the reaction was registered. So such a turn has two stacks: where it was registered, and where the promise was
//! resolved.
//!
//! # Bounds
//!
//! The last 16,384 stacks are kept, each with 32 frames at most: eight mebibytes. Links are the numbers
//! of stacks, so a link to a stack that was dropped leads nowhere.
//!
//! Invariant: each key in the tables of keys refers to a stack that is kept.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use squall_events::Track;
use squall_runtime::library::inspection::{self, Place};
use squall_runtime::state::recording;
use squall_runtime::state::strand::{Model, Role, StrandRef};
use squall_runtime::state::thread::Thread;
use squall_runtime::state::vm::Vm;

/// How many stacks are kept.
const MOST_STACKS: usize = 1 << 14;
/// How many frames of a stack are kept.
const MOST_FRAMES: usize = 32;
/// How many causes are shown below one another.
const MOST_CAUSES: usize = 200;

/// How a stack has led to what stands above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// It has sent the message, or registered the reaction.
    Sent,
    /// It has resolved the promise that the message waited for.
    Resolved,
    /// It has started the strand.
    Started,
    /// It was a turn whose result has resolved the promise.
    Returned,
}

/// A stack below that of a strand.
#[derive(Clone)]
pub struct Origin {
    /// How it has led to what stands above it.
    pub how: How,
    /// The number of the strand.
    pub strand: u64,
    /// Its kind.
    kind: &'static str,
    /// Its frames, innermost first; those beyond a bound are left out.
    pub frames: Vec<Place>,
    /// The [moment](crate::control::travel) when it was recorded.
    pub moment: u64,
}

impl Origin {
    /// What it is, in a line.
    pub fn label(&self, vm: &Vm) -> String {
        let how = match self.how {
            How::Sent => "sent by",
            How::Resolved => "resolved by",
            How::Started => "started by",
            How::Returned => "resolved at the end of",
        };
        // Reports have numbers of their own, in the order in which strands are mentioned.
        let number = vm.strands.number_of_identity(self.strand << 3);
        format!("{how} {} {number}", self.kind)
    }
}

/// What a stack is found by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Message(u64),
    Promise(u64),
    Strand(u64),
    /// The end of a turn, which only links lead to.
    End,
}

/// The numbers of the stacks that have led to something; 0 for none.
#[derive(Clone, Copy, Default)]
struct Cause {
    /// The promise for its result, or 0.
    promise: u64,
    sent: u64,
    resolved: u64,
}

struct Stack {
    key: Key,
    origin: Origin,
    cause: Cause,
}

#[derive(Default)]
struct Table {
    stacks: VecDeque<Stack>,
    /// How many stacks have been dropped: the number of the first one that is kept is one more.
    dropped: u64,
    keys: HashMap<Key, u64>,
    /// What has led to the turn that begins next in a vat.
    beginning: HashMap<u64, Cause>,
    /// What has led to a strand that runs or waits, and its kind.
    running: HashMap<u64, (Cause, &'static str)>,
    /// The end of the strand that has run last, by worker.
    ended: HashMap<u32, u64>,
}

impl Table {
    fn get(&self, number: u64) -> Option<&Stack> {
        let index = number.checked_sub(self.dropped + 1)?;
        self.stacks.get(usize::try_from(index).ok()?)
    }

    fn add(&mut self, stack: Stack) -> u64 {
        if self.stacks.len() == MOST_STACKS {
            self.dropped += 1;
            let number = self.dropped;
            if let Some(gone) = self.stacks.pop_front()
                && self.keys.get(&gone.key) == Some(&number)
            {
                self.keys.remove(&gone.key);
            }
        }
        let number = self.dropped + self.stacks.len() as u64 + 1;
        if stack.key != Key::End {
            self.keys.insert(stack.key, number);
        }
        self.stacks.push_back(stack);
        number
    }
}

/// The stacks that were recorded.
#[derive(Default)]
pub struct Origins(Mutex<Table>);

fn is_turn(thread: &Thread, strand: StrandRef) -> bool {
    matches!(recording::track_of(thread.vm, strand), Track::Vat(_))
}

/// The kind of a strand, as reports have it.
fn kind_of(thread: &Thread, strand: StrandRef) -> &'static str {
    match strand.model() {
        Model::Parallel => "thread",
        Model::Exclusive if is_turn(thread, strand) => "turn",
        Model::Exclusive if strand.role() == Role::Branch => "branch",
        Model::Exclusive => "process",
    }
}

impl Origins {
    /// Records the stack of the strand that runs here. Its state is saved.
    fn record(&self, thread: &Thread, moment: u64, key: Key, how: How) {
        let Some(strand) = thread.running_strand() else { return self.record_end(thread, key) };
        let number = recording::number_of(strand);
        let frames = inspection::frames(thread).take(MOST_FRAMES).map(|frame| frame.place());
        let frames = frames.collect();
        let origin = Origin { how, strand: number, kind: kind_of(thread, strand), frames, moment };
        let mut table = self.0.lock();
        let cause = table.running.get(&number).map(|running| running.0).unwrap_or_default();
        table.add(Stack { key, origin, cause });
    }

    /// No strand runs: the one that has ended last here has led to it, by its result.
    fn record_end(&self, thread: &Thread, key: Key) {
        let mut table = self.0.lock();
        let ended = table.ended.get(&thread.worker_index()).copied().unwrap_or_default();
        let Some(end) = table.get(ended) else { return };
        let (origin, cause) = (end.origin.clone(), end.cause);
        table.add(Stack { key, origin, cause });
    }

    /// A promise is made.
    pub fn promise_made(&self, thread: &Thread, moment: u64, promise: u64) {
        if thread.running_strand().is_some() {
            self.record(thread, moment, Key::Promise(promise), How::Sent);
        }
    }

    /// A strand is made.
    pub fn strand_made(&self, thread: &Thread, moment: u64, strand: u64) {
        self.record(thread, moment, Key::Strand(strand), How::Started);
    }

    /// A message is put into a mailbox, with a promise for its result or without.
    pub fn message_sent(&self, thread: &Thread, moment: u64, message: u64, promise: u64) {
        let here = thread.running_strand().map(recording::number_of);
        let table = self.0.lock();
        let promised = table.keys.get(&Key::Promise(promise)).and_then(|&number| table.get(number));
        let sender = promised.map(|stack| stack.origin.strand);
        drop(table);
        match sender {
            Some(sender) if Some(sender) == here => {}
            Some(_) => self.record(thread, moment, Key::Message(message), How::Resolved),
            None => self.record(thread, moment, Key::Message(message), How::Sent),
        }
    }

    /// The turn for a message begins soon.
    pub fn turn_begins(&self, vat: u64, message: u64, promise: u64) {
        let mut table = self.0.lock();
        let posted = table.keys.remove(&Key::Message(message)).unwrap_or_default();
        let promised = table.keys.remove(&Key::Promise(promise)).unwrap_or_default();
        let cause = match promised {
            0 => Cause { promise, sent: posted, resolved: 0 },
            _ => Cause { promise, sent: promised, resolved: posted },
        };
        table.beginning.insert(vat, cause);
    }

    /// A strand begins, or goes on.
    pub fn resumed(&self, thread: &Thread) {
        let Some(strand) = thread.running_strand() else { return };
        let number = recording::number_of(strand);
        let mut table = self.0.lock();
        if table.running.contains_key(&number) {
            return;
        }
        let cause = match strand.vat().filter(|_| is_turn(thread, strand)) {
            Some(vat) => table.beginning.remove(&vat.number(thread.vm)),
            None => {
                let made = table.keys.remove(&Key::Strand(number));
                made.map(|sent| Cause { sent, ..Cause::default() })
            }
        };
        if let Some(cause) = cause {
            table.running.insert(number, (cause, kind_of(thread, strand)));
        }
    }

    /// The code of a strand has ended.
    pub fn stopped(&self, thread: &Thread, strand: u64) {
        let mut table = self.0.lock();
        let begun = table.running.remove(&strand);
        let (cause, kind) = begun.unwrap_or((Cause::default(), "strand"));
        let (frames, moment) = (Vec::new(), 0);
        let origin = Origin { how: How::Returned, strand, kind, frames, moment };
        let end = table.add(Stack { key: Key::End, origin, cause });
        table.ended.insert(thread.worker_index(), end);
    }

    /// The promise for the result of a turn.
    pub fn promise_of(&self, strand: u64) -> Option<u64> {
        let table = self.0.lock();
        table.running.get(&strand).map(|(cause, _)| cause.promise).filter(|&promise| promise != 0)
    }

    /// Whether the message of a turn has waited for a promise.
    pub fn is_reaction(&self, strand: u64) -> bool {
        self.0.lock().running.get(&strand).is_some_and(|(cause, _)| cause.resolved != 0)
    }

    /// The stacks below that of a strand, the latest first.
    pub fn of(&self, strand: u64) -> Vec<Origin> {
        let table = self.0.lock();
        let mut origins = Vec::new();
        let not_begun = || {
            let made = table.keys.get(&Key::Strand(strand)).copied();
            Cause { sent: made.unwrap_or_default(), ..Cause::default() }
        };
        let mut cause = table.running.get(&strand).map_or_else(not_begun, |running| running.0);
        while origins.len() < MOST_CAUSES {
            if let Some(resolved) = table.get(cause.resolved) {
                origins.push(resolved.origin.clone());
            }
            // A turn whose sender is not known may still have been resolved by one that is.
            let Some(next) = table.get(cause.sent).or(table.get(cause.resolved)) else { break };
            if table.get(cause.sent).is_some() {
                origins.push(next.origin.clone());
            }
            cause = next.cause;
        }
        origins
    }

    /// The stack that has sent the message of a strand or has started it, if it is known; else the one that has resolved the
    /// promise that its message waited for.
    pub fn sender_of(&self, strand: u64) -> Option<Origin> {
        let mut origins = self.of(strand).into_iter().filter(|origin| !origin.frames.is_empty());
        let first = origins.next()?;
        let is_sender = |origin: &Origin| matches!(origin.how, How::Sent | How::Started);
        match is_sender(&first) {
            true => Some(first),
            false => origins.next().filter(is_sender).or(Some(first)),
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.0.lock() = Table::default();
    }
}
