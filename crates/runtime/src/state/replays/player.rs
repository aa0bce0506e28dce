//! The player: what a recording says about each vat and strand, as far as it has not happened yet, and the operations on
//! shared objects that wait for their turn.
//!
//! Operations on shared objects have places. The *head* is the place of the next one. A strand that comes too early parks at
//! the *gate* of its place. Timers wake nobody by themselves: a wait with a timer is a *sleeper*, and ends when the head
//! comes to the place at which a timer has ended it.
//!
//! All state is behind one lock. Replays have one worker, so nobody waits for it. The words of waiting strands and held
//! messages are roots.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use squall_events::replay::digest;
use squall_events::replay::{
    BLOCK, EndsAt, Entity, Event, Extent, Item, LAST_NUMBER, Part, Recording, Run, SandboxEnd, What,
};
use squall_heap::{Object, RootAddress, Word};

use super::sandboxes;
use crate::state::strand::StrandRef;

/// The number of messages that nobody has sent of whom the recording tells.
const NOBODYS: u32 = LAST_NUMBER + 1;

/// The first number of vats and strands that nobody has made of whom the recording tells.
const FIRST_OTHER: u64 = 1 << 40;

/// How often a transaction may wait for what it reads, while others run, before that is a difference.
const MOST_WAITS: u32 = 100_000;

/// Repeats a recording.
pub struct Player {
    pub(super) state: Mutex<Playing>,
    others: AtomicU64,
    divergence: OnceLock<String>,
    modules: HashMap<String, u64>,
    /// Whether the recording reaches up to the end of the run.
    pub is_whole: bool,
    /// The ends of sandboxes, by their numbers.
    pub(super) sandboxes: HashMap<u64, SandboxEnd>,
}

pub(super) struct Playing {
    pub(super) vats: HashMap<u64, PlayedVat>,
    strands: HashMap<u64, Part>,
    /// The numbers of strands in the recording, by their identities here; and the reverse.
    numbers: HashMap<u64, u64>,
    identities: HashMap<u64, u64>,
    /// How many items have not begun, and how many events have not happened.
    pub(super) remaining: usize,
    /// The texts that come after others.
    texts: BTreeMap<u64, (String, bool)>,
    written: u64,
    /// The exit code that the program has asked for.
    code: Option<i32>,
    /// The place of the next operation on shared objects.
    head: u64,
    /// The places at which strands are woken since their time is over, or since something outside is ready, which is true
    /// then.
    woken: HashMap<u64, (Entity, bool)>,
    /// The strands that wait for their places.
    gates: HashMap<u64, Waiting>,
    /// The strands that wait until all operations before a place are done, to read something in a transaction.
    readers: BTreeMap<u64, Vec<Waiting>>,
    /// The transaction that has begun at the head, and its events so far.
    attempt: Option<(Entity, Vec<Event>)>,
    /// How often that has waited for what it reads.
    waits: u32,
    /// The strands that others have ended, which go on up to the event that says so.
    ended: HashSet<u64>,
    /// How many polls threads and tasks have come to.
    pub(super) polls: HashMap<u64, u64>,
    /// The strands that a timer, or something outside, may wake.
    sleepers: HashMap<Entity, Waiting>,
    /// The strands that wait for room in mailboxes, by their identities.
    pub(super) senders: HashMap<u64, Waiting>,
    /// The strands of counted vats that others have ended, by their identities.
    pub(super) doomed: HashMap<u64, Word>,
    /// The strands that wait for ever: the recording tells no more of them.
    finished: Vec<Waiting>,
}

/// A strand that waits.
#[derive(Clone, Copy)]
pub struct Waiting {
    /// The strand object.
    pub strand: Word,
    /// The ticket of its wait.
    pub ticket: u64,
    /// What its call answers if a timer wakes it; nothing at a gate, where it makes its call again.
    pub answer: Option<Word>,
}

impl Waiting {
    /// Whether the strand still waits.
    pub(super) fn is_on(&self) -> bool {
        let strand = self.strand.as_object().and_then(StrandRef::of_object);
        strand.is_some_and(|strand| strand.current_ticket() == self.ticket)
    }
}

#[derive(Default)]
pub(super) struct PlayedVat {
    /// The items that have not begun.
    pub(super) items: VecDeque<Item>,
    /// The numbers of the messages that are not in the mailbox, of the turns that have not begun.
    order: VecDeque<u32>,
    /// The messages that came before their turn.
    held: HashMap<u32, Word>,
    /// What the item that runs, or ran last, has still to do.
    pub(super) current: Part,
    /// The identity of the strand whose item runs; 0 if none does.
    pub(super) open: u64,
    /// How many polls it has come to, if the vat is counted.
    pub(super) polls: u64,
}

/// What a vat's owner may run in a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Whatever there is: the recording does not reach so far.
    Anything,
    /// The strand with this identity.
    Strand(u64),
    /// The turn that has begun.
    SameTurn,
    /// A new turn.
    Turn,
    /// No strand, and no turn.
    Nothing,
}

/// Whether an operation on shared objects may happen.
pub enum Gate {
    /// Nobody does it of whom the recording tells.
    Unknown,
    /// It is its turn.
    Open,
    /// It has this place, which is not the next.
    Closed(u64),
    /// The recording tells no more of this strand.
    Finished,
}

/// Whether a transaction may begin.
pub enum Atomicity {
    /// It may, as ever: nobody executes it of whom the recording tells.
    Unknown,
    /// It may, and goes so far.
    Open(Extent),
    /// It has this place, which is not the next.
    Closed(u64),
    /// The strand has waited or yielded without it: it is to ask again when the recording goes on with the strand.
    Later,
    /// It does not commit in the recording.
    Never,
}

/// An event, if there is one.
pub enum Next {
    /// This one.
    Event(Event),
    /// The recording tells no more of this vat or strand, since the run has ended.
    Finished,
    /// The recording does not reach so far.
    Unknown,
}

impl Player {
    /// Repeats this recording.
    pub fn new(recording: Recording) -> Player {
        let mut remaining = recording.strands.values().map(|part| part.events.len()).sum();
        let mut vats = HashMap::new();
        for (vat, items) in recording.vats {
            remaining += items.iter().map(|item| 1 + item.part.events.len()).sum::<usize>();
            let number = |item: &Item| match item.what {
                What::Turn(number) if number != 0 => Some(number),
                _ => None,
            };
            let order = items.iter().filter_map(number).collect();
            vats.insert(vat, PlayedVat { items, order, ..PlayedVat::default() });
        }
        let state = Playing {
            vats,
            strands: recording.strands,
            numbers: HashMap::new(),
            identities: HashMap::new(),
            remaining,
            texts: BTreeMap::new(),
            written: 0,
            code: None,
            head: 0,
            woken: recording.woken,
            gates: HashMap::new(),
            readers: BTreeMap::new(),
            attempt: None,
            waits: 0,
            ended: HashSet::new(),
            polls: HashMap::new(),
            sleepers: HashMap::new(),
            senders: HashMap::new(),
            doomed: HashMap::new(),
            finished: Vec::new(),
        };
        Player {
            state: Mutex::new(state),
            others: AtomicU64::new(FIRST_OTHER),
            divergence: OnceLock::new(),
            modules: recording.modules,
            is_whole: recording.end.is_some(),
            sandboxes: recording.sandboxes,
        }
    }

    /// Whether a module that the program loads is not that of the recording.
    pub fn refuses_module(&self, path: &str, bytes: &[u8]) -> bool {
        self.modules.get(path).is_some_and(|known| *known != digest(bytes))
    }

    /// Where the replay has differed from the recording, if it has.
    pub fn divergence(&self) -> Option<&str> {
        self.divergence.get().map(String::as_str)
    }

    /// The replay differs from the recording.
    pub(super) fn diverge(&self, text: String) {
        _ = self.divergence.set(text);
    }

    /// How many items and events of the recording have not happened.
    pub fn remaining(&self) -> usize {
        self.state.lock().remaining
    }

    /// Who has not done all that the recording tells: the first of them.
    pub fn missing(&self) -> Option<String> {
        let state = self.state.lock();
        let vats = state.vats.iter().filter(|(_, vat)| !vat.items.is_empty());
        if let Some((vat, played)) = vats.min_by_key(|(number, _)| **number) {
            let count = played.items.len();
            return Some(format!("actor {vat} has {count} turns more"));
        }
        let strands = state.strands.iter().filter(|(_, part)| !part.events.is_empty());
        let (strand, part) = strands.min_by_key(|(number, _)| **number)?;
        Some(format!("strand {strand} has {} events more", part.events.len()))
    }

    /// The words of held messages and waiting strands, for the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        let state = &mut *self.state.lock();
        let held = state.vats.values_mut().flat_map(|vat| vat.held.values_mut());
        held.chain(state.doomed.values_mut()).for_each(|word| visit(RootAddress::from(word)));
        let waiting = state.gates.values_mut().chain(state.sleepers.values_mut());
        let waiting = waiting.chain(state.readers.values_mut().flatten());
        let waiting = waiting.chain(state.senders.values_mut());
        for Waiting { strand, answer, .. } in waiting.chain(&mut state.finished) {
            visit(RootAddress::from(strand));
            answer.iter_mut().for_each(|word| visit(RootAddress::from(word)));
        }
    }

    /// A number for a vat or strand of which the recording does not tell.
    pub(super) fn other(&self) -> u64 {
        self.others.fetch_add(1, Ordering::Relaxed)
    }

    /// The exit code, if nothing is left to be done and the program has asked for its end.
    pub(super) fn code_at_end(&self) -> Option<i32> {
        let state = self.state.lock();
        state.code.filter(|_| state.remaining == 0)
    }

    /// How many texts were not written, since the recording has not all places before theirs.
    pub fn unwritten(&self) -> usize {
        self.state.lock().texts.len()
    }

    /// The program asks for its end; whether it has to wait for others.
    pub(super) fn waits_to_end(&self, entity: Entity, code: i32) -> bool {
        let mut state = self.state.lock();
        state.code = Some(code);
        // Its own end is in no recording that it has closed.
        let own = state.part(entity).map_or(0, |part| std::mem::take(&mut part.events).len());
        state.remaining -= own;
        state.remaining != 0
    }

    /// The number that a strand has in the recording.
    pub(super) fn number_of_strand(&self, identity: u64) -> Option<u64> {
        self.state.lock().numbers.get(&identity).copied()
    }

    /// A strand has this number in the recording.
    pub(super) fn know_strand(&self, identity: u64, number: u64) {
        let mut state = self.state.lock();
        state.numbers.insert(identity, number);
        state.identities.insert(number, identity);
    }
}

/// The order of items.
impl Player {
    /// What the owner of a vat may run.
    pub(super) fn wanted(&self, vat: u64) -> Wanted {
        let state = self.state.lock();
        let Some(played) = state.vats.get(&vat) else { return self.beyond() };
        if played.open != 0 {
            return Wanted::Strand(played.open);
        }
        match played.items.front().map(|item| item.what) {
            None => self.beyond(),
            Some(What::Turn(_)) => Wanted::Turn,
            Some(What::SameTurn) => Wanted::SameTurn,
            Some(What::Strand(number)) => match state.identities.get(&number) {
                Some(identity) => Wanted::Strand(*identity),
                None => Wanted::Nothing,
            },
        }
    }

    fn beyond(&self) -> Wanted {
        if self.is_whole { Wanted::Nothing } else { Wanted::Anything }
    }

    /// Whether an item of a vat runs.
    pub(super) fn is_open(&self, vat: u64) -> bool {
        self.state.lock().vats.get(&vat).is_some_and(|played| played.open != 0)
    }

    /// The next item of a vat begins, on the strand with this identity: a turn with this message, or the run of a strand.
    pub(super) fn begin(&self, vat: u64, identity: u64, what: What) -> Result<(), String> {
        let mut state = self.state.lock();
        let played = state.vats.entry(vat).or_default();
        let Some(item) = played.items.pop_front() else {
            return match self.is_whole {
                true => Err(format!("actor {vat} begins a turn that is not in the recording")),
                false => Ok(()),
            };
        };
        if item.what != what {
            return Err(match what {
                What::Turn(_) => {
                    format!("actor {vat} begins a turn with another message than in the recording")
                }
                _ => format!("actor {vat} runs another strand than in the recording"),
            });
        }
        played.current = item.part;
        played.open = identity;
        played.polls = 0;
        state.remaining -= 1;
        Ok(())
    }

    /// The turn that has begun runs on this strand.
    pub(super) fn runs_on(&self, vat: u64, identity: u64) {
        if let Some(played) = self.state.lock().vats.get_mut(&vat)
            && played.open != 0
        {
            played.open = identity;
        }
    }

    /// The item of a vat stops: another one may begin.
    pub(super) fn close(&self, vat: u64) {
        if let Some(played) = self.state.lock().vats.get_mut(&vat) {
            played.open = 0;
        }
    }

    /// Whether a vat or strand has done all that its item, or its part, has in the recording.
    pub(super) fn check_done(&self, entity: Entity) -> Result<(), String> {
        let state = self.state.lock();
        let rest = match entity {
            Entity::Vat(vat) => {
                let played = state.vats.get(&vat).filter(|played| !played.items.is_empty());
                played.and_then(|played| played.current.events.front())
            }
            // It may go on later.
            Entity::Strand(_) => None,
        };
        match rest {
            Some(event) => Err(format!("a turn of {entity} stops, but in the recording {event}")),
            None => Ok(()),
        }
    }
}

/// Messages and events.
impl Player {
    /// The number of the next message that is sent there.
    pub(super) fn number(&self, entity: Entity) -> u32 {
        let mut state = self.state.lock();
        let Some(part) = state.part(entity) else { return NOBODYS };
        while let Some(Run { next, count }) = part.runs.front_mut() {
            // Numbers begin with 1; a worker that has none yet has counted none.
            let rest = next.checked_sub(1).map_or(0, |index| BLOCK - index % BLOCK);
            if count.unwrap_or(rest) != 0 {
                let number = *next;
                *count = Some(count.unwrap_or(rest) - 1);
                *next += 1;
                return number;
            }
            part.runs.pop_front();
        }
        NOBODYS
    }

    /// The messages that can be put into a mailbox now that this one is there.
    pub(super) fn admit(&self, vat: u64, number: u32, message: Object) -> VecDeque<Object> {
        if number == 0 {
            return VecDeque::from([message]);
        }
        let mut state = self.state.lock();
        let played = state.vats.entry(vat).or_default();
        played.held.insert(number, message.word());
        let mut admitted = VecDeque::new();
        while let Some(word) = played.order.front().and_then(|next| played.held.remove(next)) {
            played.order.pop_front();
            admitted.extend(word.as_object());
        }
        admitted
    }

    /// The next event there, which is such a one.
    pub(super) fn next(
        &self,
        entity: Entity,
        is_that: impl Fn(&Event) -> bool,
    ) -> Result<Next, String> {
        let mut state = self.state.lock();
        let is_last = match entity {
            Entity::Vat(vat) => state.vats.get(&vat).is_none_or(|played| played.items.is_empty()),
            Entity::Strand(_) => true,
        };
        let event = state.part(entity).and_then(|part| part.events.front());
        match event {
            Some(event) if is_that(event) => {
                let event = state.part(entity).and_then(|part| part.events.pop_front());
                state.remaining -= 1;
                state.keep(entity, event.as_ref());
                Ok(event.map_or(Next::Unknown, Next::Event))
            }
            // It has come further than in the recording, and waits for its end.
            Some(Event::Killed(_) | Event::Over(_)) => Ok(Next::Finished),
            Some(event) => Err(format!("{entity} does something else: in the recording, {event}")),
            None if !is_last => Err(format!("a turn of {entity} does more than in the recording")),
            None if self.is_whole => Ok(Next::Finished),
            None => Ok(Next::Unknown),
        }
    }

    /// Whether the item of a vat is over, in the recording, and another follows.
    pub(super) fn has_left(&self, entity: Entity) -> bool {
        let Entity::Vat(vat) = entity else { return false };
        let state = self.state.lock();
        let played = state.vats.get(&vat).filter(|played| !played.items.is_empty());
        played.is_some_and(|played| played.current.events.is_empty())
    }

    /// The texts that are to be written now that this one is there.
    pub(super) fn write(&self, place: u64, text: &str, is_error: bool) -> Vec<(String, bool)> {
        let mut state = self.state.lock();
        // In a recording that was changed, two texts may have one place. The second one is never written.
        let is_taken = place < state.written || state.texts.contains_key(&place);
        let place = if is_taken { u64::MAX - state.texts.len() as u64 } else { place };
        state.texts.insert(place, (text.to_owned(), is_error));
        let mut due = Vec::new();
        loop {
            let written = state.written;
            let Some(text) = state.texts.remove(&written) else { return due };
            state.written += 1;
            due.push(text);
        }
    }
}

/// Operations on shared objects.
impl Player {
    /// Whether the next operation there may happen; its event is taken then.
    pub(super) fn pass(&self, entity: Entity) -> Result<Gate, String> {
        {
            let mut state = self.state.lock();
            let head = state.head;
            if let Some(part) = state.part(entity)
                && let Some(Event::Ordered(place)) = part.events.front()
                && *place != head
            {
                return Ok(Gate::Closed(*place));
            }
        }
        Ok(match self.next(entity, |event| matches!(event, Event::Ordered(_)))? {
            Next::Event(_) => Gate::Open,
            Next::Finished => Gate::Finished,
            Next::Unknown => Gate::Unknown,
        })
    }

    /// The strand waits for its place.
    pub(super) fn wait_at(&self, place: u64, waiting: Waiting) {
        self.state.lock().gates.insert(place, waiting);
    }

    /// The strand waits for the end of the replay.
    pub(super) fn wait_for_end(&self, waiting: Waiting) {
        self.state.lock().finished.push(waiting);
    }

    /// The strand waits, and a timer or something outside may end that.
    pub(super) fn sleep(&self, entity: Entity, waiting: Waiting) {
        self.state.lock().sleepers.insert(entity, waiting);
    }

    /// Whether the transaction that is to begin there may do so; its event is taken then.
    pub(super) fn pass_atomic(&self, entity: Entity) -> Atomicity {
        let has_left = self.has_left(entity);
        let mut state = self.state.lock();
        let head = state.head;
        let events = state.part(entity).map(|part| &mut part.events);
        match events.as_ref().and_then(|events| events.front()) {
            Some(&Event::Atomic(place, extent)) if place == head => {
                _ = events.and_then(VecDeque::pop_front);
                state.remaining -= 1;
                state.attempt = Some((entity, vec![Event::Atomic(place, extent)]));
                Atomicity::Open(extent)
            }
            Some(&Event::Atomic(place, _)) => Atomicity::Closed(place),
            None if has_left => Atomicity::Later,
            None if !self.is_whole => Atomicity::Unknown,
            _ => Atomicity::Never,
        }
    }

    /// The transaction that has begun at the head waits for what it reads: it will begin again. Answers whether it may.
    pub(super) fn put_back(&self) -> bool {
        let mut state = self.state.lock();
        state.waits += 1;
        if let Some((entity, events)) = state.attempt.take() {
            state.remaining += events.len();
            let part = state.part(entity).into_iter();
            part.for_each(|part| {
                events.iter().rev().for_each(|it| part.events.push_front(it.clone()))
            });
        }
        state.waits < MOST_WAITS
    }

    /// A strand is ended by another one. Answers whether it is to be ended in the wait that it is in, or comes to next. If not, it
    /// goes on up to the event that says so.
    pub(super) fn ends_in_wait(&self, strand: u64) -> bool {
        let mut state = self.state.lock();
        if state.ends_in_wait_now(strand) {
            return true;
        }
        if state.is_to_end(strand) {
            state.ended.insert(strand);
        }
        false
    }

    /// The wait of a strand, which has come further than in the recording.
    pub(super) fn too_far(&self, is_it: impl Fn(StrandRef) -> bool) -> Option<Waiting> {
        let mut state = self.state.lock();
        let place = state.finished.iter().position(|waiting| {
            let strand = waiting.strand.as_object().and_then(StrandRef::of_object);
            strand.is_some_and(&is_it)
        })?;
        Some(state.finished.swap_remove(place))
    }

    /// How a strand ends that another one has ended, and that has come to the event that says so: whether in a wait.
    pub(super) fn ends(&self, entity: Entity) -> Option<bool> {
        let state = self.state.lock();
        let Entity::Strand(strand) = entity else { return None };
        if let Some(part) = state.strands.get(&strand)
            && sandboxes::is_over(part)
        {
            return (part.events.front() == Some(&Event::Over(true))).then_some(true);
        }
        if !state.ended.contains(&strand) {
            return None;
        }
        if state.ends_in_wait_now(strand) {
            return Some(true);
        }
        let next = state.strands.get(&strand)?.events.front();
        (next == Some(&Event::Killed(EndsAt::SomePoll))).then_some(false)
    }

    /// Whether the next event there is that the strand begins to end, at some poll.
    pub(super) fn is_before_end(&self, entity: Entity) -> bool {
        let mut state = self.state.lock();
        let part = state.part(entity);
        part.is_some_and(|part| part.events.front() == Some(&Event::Killed(EndsAt::SomePoll)))
    }

    /// The event after that comes before it.
    pub(super) fn postpone_end(&self, entity: Entity) {
        let mut state = self.state.lock();
        if let Some(part) = state.part(entity).filter(|part| part.events.len() > 1) {
            part.events.swap(0, 1);
        }
    }

    /// A strand begins to end. If it ends once more in the recording, in an `ensure:` block, the wish for that may have come already.
    pub(super) fn has_ended(&self, entity: Entity) {
        let Entity::Strand(strand) = entity else { return };
        let mut state = self.state.lock();
        if !state.is_to_end(strand) {
            state.ended.remove(&strand);
        }
    }

    /// The place before which all has to be done, before a transaction there reads something; none if it may do so.
    pub(super) fn pass_after(&self, entity: Entity) -> Option<u64> {
        let mut state = self.state.lock();
        let head = state.head;
        let events = &mut state.part(entity)?.events;
        match events.front() {
            Some(&Event::After(place)) if place > head => Some(place),
            Some(Event::After(_)) => {
                events.pop_front();
                state.remaining -= 1;
                None
            }
            _ => None,
        }
    }

    /// The strand waits until all before this place is done.
    pub(super) fn read_after(&self, place: u64, waiting: Waiting) {
        self.state.lock().readers.entry(place).or_default().push(waiting);
    }

    /// An operation is done.
    pub(super) fn advance(&self) {
        let mut state = self.state.lock();
        state.head += 1;
        (state.attempt, state.waits) = (None, 0);
    }

    /// A strand that is to be woken now, if there is one.
    pub(super) fn due(&self) -> Option<Waiting> {
        let mut state = self.state.lock();
        let head = state.head;
        if let Some(waiting) = state.gates.remove(&head) {
            return Some(waiting);
        }
        if let Some(mut readers) = state.readers.first_entry().filter(|entry| *entry.key() <= head)
        {
            let waiting = readers.get_mut().pop();
            if readers.get().is_empty() {
                readers.remove();
            }
            return waiting;
        }
        let (entity, is_ready) = *state.woken.get(&head)?;
        // A wait that something else has ended is left there.
        let sleeper = state.sleepers.remove(&entity).filter(Waiting::is_on)?;
        state.woken.remove(&head);
        state.head += 1;
        let answer = if is_ready { Some(Word::TRUE) } else { sleeper.answer };
        Some(Waiting { answer, ..sleeper })
    }
}

impl Playing {
    /// Whether another strand ends this one, in the rest of the recording.
    fn is_to_end(&self, strand: u64) -> bool {
        let events = self.strands.get(&strand).map(|part| &part.events);
        events.is_some_and(|events| events.iter().any(|it| matches!(it, Event::Killed(_))))
    }

    /// Whether what a strand does next is to begin to end, in the wait that it comes to.
    fn ends_in_wait_now(&self, strand: u64) -> bool {
        let polls = self.polls.get(&strand).copied().unwrap_or_default();
        match self.strands.get(&strand).and_then(|part| part.events.front()) {
            Some(Event::Killed(EndsAt::Wait)) => true,
            Some(Event::Killed(EndsAt::WaitBehind(before))) => *before == polls,
            _ => false,
        }
    }

    /// A strand waits, while others run, until something is there. Answers whether that has lasted too long.
    pub(super) fn has_waited_enough(&mut self) -> bool {
        self.waits += 1;
        self.waits > MOST_WAITS
    }

    /// Keeps an event of the transaction that has begun at the head.
    fn keep(&mut self, entity: Entity, event: Option<&Event>) {
        if let Some((of, events)) = &mut self.attempt
            && *of == entity
        {
            events.extend(event.cloned());
        }
    }

    /// What is left of an item of a vat, or of a strand.
    pub(super) fn part(&mut self, entity: Entity) -> Option<&mut Part> {
        match entity {
            Entity::Vat(vat) => self.vats.get_mut(&vat).map(|played| &mut played.current),
            Entity::Strand(strand) => self.strands.get_mut(&strand),
        }
    }
}
