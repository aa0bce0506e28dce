//! Timers: strands that sleep, strands that wait for the system, and messages that are due later. Primitives start
//! timers, and workers run the due ones.
//!
//! The scheduler knows the times; the table here, which the collector visits, has the purpose of each timer. The keys
//! of due timers are in a queue of their own, and each puts an item into a run queue. A worker that takes such an item
//! runs the timer that became due first.
//!
//! Protocol. A strand that waits for a time knows the place of its timer in the table, so that a thread that wakes it
//! earlier [cancels](Timers::cancel) the timer. The strand must know the place before it can be claimed, and the timer
//! must not be due before that, so there are three steps: the strand *reserves* a place, parks, and *starts* the timer.
//! A timer that was cancelled in between is not started. Places are used again, keys are not: a late key has no effect.
//!
//! The table finds the timers of a sandbox without a look at those of others: sandboxes are measured and ended while others
//! wait.
//!
//! A strand that waits for a [resource](Resource), perhaps for a time at most, has a place here, too: its key
//! is the wait that it leaves with the resource's source. The poller's thread delivers keys as the monitor
//! does. Whichever of the two comes first takes the place, and the other is cancelled. As long as such a
//! strand waits, it is a source of the scheduler's: something may come from outside.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use squall_heap::{Object, RootAddress, Word};
use squall_scheduler::TimerId;
use squall_system::poller::{Direction, Wait};
use squall_system::resources::Resource;

use crate::concurrency::messages;
use crate::concurrency::sandbox::metering;
use crate::concurrency::waiting::{self, Place};
use crate::state::items::Item;
use crate::state::items::TimerKey;
use crate::state::sandbox::SandboxRef;
use crate::state::strand::{Claimed, Delivery, StrandRef};
use crate::state::thread::Thread;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

impl TimerKey {
    /// The key as the wait that a strand leaves with a source.
    fn to_wait(self) -> Wait {
        Wait::from(self.generation) << 32 | Wait::from(self.place)
    }

    fn of_wait(wait: Wait) -> TimerKey {
        TimerKey { place: wait as u32, generation: (wait >> 32) as u32 }
    }
}

/// The event outside that a strand waits for.
pub struct Awaited {
    /// The resource that it will use.
    pub resource: Arc<Resource>,
    /// The direction of its use.
    pub direction: Direction,
}

/// The native memory of a timer: its place here, and what the scheduler knows of it.
pub(crate) const TIMER_BYTES: u64 = 200;

/// The action when a timer is due.
#[derive(Clone, Copy)]
enum Purpose {
    /// The strand of this object is woken, if it still waits with this ticket, and finds the value.
    Wake { strand: Word, ticket: u64, value: Word },
    /// This message goes to the vat of this vat object.
    Post { vat: Word, message: Word },
    /// A rest between measurements of sandboxes is over.
    EndRest,
}

/// All timers that are not due yet.
#[derive(Default)]
pub struct Timers {
    inner: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: Vec<Timer>,
    free: Vec<u32>,
    due: VecDeque<Due>,
    /// The places of messages that strands of sandboxes have sent, by the sandbox's address.
    of_sandboxes: HashMap<usize, (SandboxRef, HashSet<u32>)>,
    /// Whether nothing becomes due any more.
    is_stopped: bool,
}

/// A timer that has become due.
struct Due {
    key: TimerKey,
    /// Whether the resource is ready, rather than the time over.
    is_ready: bool,
}

/// A place in the table.
#[derive(Default)]
struct Timer {
    generation: u32,
    /// The strand that it is for, if that reserved it.
    strand: Option<StrandRef>,
    /// The sandbox that has sent the message, if one has.
    sender: Option<SandboxRef>,
    /// None before the timer was started.
    purpose: Option<Purpose>,
    /// None before the scheduler knows it, or if it may take any time.
    id: Option<TimerId>,
    /// The event that the strand waits for, besides the time.
    awaited: Option<Awaited>,
    /// Whether the scheduler takes it for a source.
    is_source: bool,
}

impl Table {
    /// The messages that are due later, with their keys.
    fn messages(&self) -> impl Iterator<Item = (TimerKey, Object)> {
        (0..self.entries.len() as u32).filter_map(|place| self.message(place))
    }

    /// Those that strands of some sandboxes have sent.
    fn messages_of(
        &self,
        is_one: impl Fn(SandboxRef) -> bool,
    ) -> impl Iterator<Item = (TimerKey, Object)> {
        let inner = self.of_sandboxes.values().filter(move |(sender, _)| is_one(*sender));
        inner.flat_map(|(_, places)| places).filter_map(|&place| self.message(place))
    }

    fn message(&self, place: u32) -> Option<(TimerKey, Object)> {
        let entry = &self.entries[place as usize];
        let Some(Purpose::Post { message, .. }) = entry.purpose else { return None };
        Some((TimerKey { place, generation: entry.generation }, message.as_object()?))
    }

    /// The message at a reserved place is one of a sandbox.
    fn belongs_to(&mut self, key: TimerKey, sender: SandboxRef) {
        self.entries[key.place as usize].sender = Some(sender);
        let places = self.of_sandboxes.entry(sender.address());
        places.or_insert_with(|| (sender, HashSet::new())).1.insert(key.place);
    }

    /// The timer at a place is over.
    fn leave(&mut self, place: u32, sender: SandboxRef) {
        if let Entry::Occupied(mut of_sandbox) = self.of_sandboxes.entry(sender.address()) {
            of_sandbox.get_mut().1.remove(&place);
            if of_sandbox.get().1.is_empty() {
                of_sandbox.remove();
            }
        }
    }

    fn reserve(&mut self, strand: Option<StrandRef>) -> TimerKey {
        let place = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Timer::default());
            self.entries.len() as u32 - 1
        });
        let entry = &mut self.entries[place as usize];
        entry.strand = strand;
        TimerKey { place, generation: entry.generation }
    }

    /// The timer, unless it was cancelled or is over.
    fn get(&mut self, key: TimerKey) -> Option<&mut Timer> {
        let entry = self.entries.get_mut(key.place as usize);
        entry.filter(|entry| entry.generation == key.generation)
    }

    /// Frees the place of a timer, unless that was done before.
    fn take(&mut self, key: TimerKey) -> Option<Timer> {
        let entry = self.get(key)?;
        let generation = entry.generation.wrapping_add(1);
        let entry = std::mem::replace(entry, Timer { generation, ..Timer::default() });
        self.free.push(key.place);
        entry.sender.into_iter().for_each(|sender| self.leave(key.place, sender));
        Some(entry)
    }

    /// Takes the timer that a strand has reserved at a place. If the timer was over, the place may belong to another
    /// one by now.
    fn take_of(&mut self, strand: StrandRef, place: u32) -> Option<(TimerKey, Timer)> {
        let entry =
            self.entries.get(place as usize).filter(|entry| entry.strand == Some(strand))?;
        let key = TimerKey { place, generation: entry.generation };
        self.take(key).map(|entry| (key, entry))
    }
}

impl Timers {
    /// Cancels the timer of a claimed strand, if it has one that is not over.
    #[inline]
    pub fn cancel(&self, vm: &Vm, claimed: &Claimed) {
        let timer = claimed.timer();
        if timer != 0 {
            claimed.set_timer(0);
            self.cancel_place(vm, claimed.strand(), timer - 1);
        }
    }

    #[cold]
    fn cancel_place(&self, vm: &Vm, strand: StrandRef, place: u32) {
        let taken = self.inner.lock().take_of(strand, place);
        if let Some((key, entry)) = taken {
            release(vm, key, entry);
        }
    }

    /// Starts a reserved timer, unless it was cancelled.
    fn start(&self, vm: &'static Vm, key: TimerKey, delay: Duration, purpose: Purpose) {
        let mut table = self.inner.lock();
        match table.get(key) {
            Some(entry) => entry.purpose = Some(purpose),
            None => return,
        }
        if table.is_stopped {
            return;
        }
        drop(table);
        self.add_to_scheduler(vm, key, delay);
    }

    /// Has a timer become due after a time, unless it is cancelled.
    fn add_to_scheduler(&self, vm: &'static Vm, key: TimerKey, delay: Duration) {
        let id = vm.scheduler.add_timer(delay, key);
        let mut table = self.inner.lock();
        let is_stopped = table.is_stopped;
        match table.get(key).filter(|_| !is_stopped) {
            Some(entry) => entry.id = Some(id),
            None => {
                drop(table);
                vm.scheduler.cancel_timer(id);
            }
        }
    }

    /// Starts a reserved timer that also becomes due when a resource is ready; without a delay, only
    /// then.
    fn start_awaiting(
        &self,
        vm: &'static Vm,
        (key, delay): (TimerKey, Option<Duration>),
        awaited: Awaited,
        purpose: Purpose,
    ) {
        let Some(source) = awaited.resource.source().cloned() else { return };
        let direction = awaited.direction;
        let mut table = self.inner.lock();
        let is_stopped = table.is_stopped;
        let Some(entry) = table.get(key) else { return };
        entry.purpose = Some(purpose);
        entry.awaited = Some(awaited);
        if is_stopped {
            return;
        }
        // Before another thread can take the entry and end it.
        entry.is_source = true;
        vm.scheduler.begin_outside();
        drop(table);
        if !source.wait(direction, key.to_wait()) {
            return deliver(&[key.to_wait()]);
        }
        if self.inner.lock().get(key).is_none() {
            source.cancel(key.to_wait());
        } else if let Some(delay) = delay {
            self.add_to_scheduler(vm, key, delay);
        }
    }

    /// No timer becomes due any more. Strands that wait for a time wait for ever, and stay alive, and so do strands
    /// that wait for the system, unless it is ready now.
    pub fn stop(&self, vm: &Vm) {
        let mut table = self.inner.lock();
        table.is_stopped = true;
        let ids: Vec<_> = table.entries.iter_mut().filter_map(|entry| entry.id.take()).collect();
        let was_source = |entry: &mut Timer| std::mem::take(&mut entry.is_source);
        let sources = table.entries.iter_mut().filter_map(|entry| was_source(entry).then_some(()));
        let sources = sources.count();
        drop(table);
        ids.into_iter().for_each(|id| _ = vm.scheduler.cancel_timer(id));
        (0..sources).for_each(|_| vm.scheduler.end_outside());
    }

    /// The messages that are due later.
    pub fn messages(&self) -> HashSet<Wait> {
        let table = self.inner.lock();
        table.messages().map(|(key, _)| key.to_wait()).collect()
    }

    /// Drops the messages that are due later, but those that were so already.
    pub fn drop_messages_since(&self, vm: &Vm, older: &HashSet<Wait>) {
        self.drop_those(vm, |table| {
            let all = table.messages().map(|(key, _)| key);
            all.filter(|key| !older.contains(&key.to_wait())).collect()
        });
    }

    /// Drops messages that are due later and that strands of some sandboxes have sent; whether those were all.
    pub fn drop_messages_of(&self, vm: &Vm, sandboxes: &[SandboxRef]) -> bool {
        /// So many are dropped in a few milliseconds.
        const TOGETHER: usize = 5000;
        let is_in = |sender: SandboxRef| sender.chain().any(|around| sandboxes.contains(&around));
        // Most sandboxes are not over, which is soon told.
        let is_one = |sender: SandboxRef| sender.is_over() && is_in(sender);
        let dropped = self.drop_those(vm, |table| {
            table.messages_of(is_one).map(|(key, _)| key).take(TOGETHER).collect()
        });
        dropped < TOGETHER
    }

    /// Drops messages; answers how many.
    fn drop_those(&self, vm: &Vm, those: impl FnOnce(&Table) -> Vec<TimerKey>) -> usize {
        let mut table = self.inner.lock();
        let keys = those(&table).into_iter();
        let taken: Vec<_> = keys.filter_map(|key| Some((key, table.take(key)?))).collect();
        drop(table);
        let count = taken.len();
        taken.into_iter().for_each(|(key, entry)| release(vm, key, entry));
        count
    }

    /// Calls this with each message that is due later and that strands of a sandbox have sent, while all mutators stand.
    pub(crate) fn visit_messages_of(&self, sandbox: SandboxRef, mut visit: impl FnMut(Object)) {
        let is_in = |sender: SandboxRef| sender.is_in(sandbox);
        self.inner.lock().messages_of(is_in).for_each(|(_, message)| visit(message));
    }

    /// A timer's time has come: an item for it is about to be in a run queue.
    pub fn set_due(&self, key: TimerKey) {
        self.inner.lock().due.push_back(Due { key, is_ready: false });
    }

    /// The event outside that a parked strand waits for, as a part of a sentence.
    pub fn describe_awaited(&self, strand: StrandRef) -> Option<String> {
        let place = strand.timer().checked_sub(1)?;
        let table = self.inner.lock();
        let entry = table.entries.get(place as usize);
        let entry = entry.filter(|entry| entry.strand == Some(strand))?;
        entry.awaited.as_ref().map(|awaited| awaited.resource.describe(awaited.direction))
    }

    /// Shows the words to the collector, which stands for all mutators.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        for entry in &mut self.inner.lock().entries {
            let Some(purpose) = &mut entry.purpose else { continue };
            let (first, second) = match purpose {
                Purpose::Wake { strand, value, .. } => (strand, value),
                Purpose::Post { vat, message } => (vat, message),
                Purpose::EndRest => continue,
            };
            visit(RootAddress::from(first));
            visit(RootAddress::from(second));
        }
    }
}

/// Reserves the timer of a strand that is about to park for a time at most.
pub fn reserve(thread: &mut Thread) -> TimerKey {
    let strand = thread.strand();
    let key = thread.vm.concurrency().timers.inner.lock().reserve(Some(strand));
    thread.running().set_timer(key.place + 1);
    key
}

/// Wakes the strand of this object after a time, if it waits with this ticket then.
pub fn wake_after(
    thread: &mut Thread,
    (key, delay): (TimerKey, Duration),
    strand: Object,
    ticket: u64,
    value: Word,
) {
    if thread.watch.is_on && thread.sleeps_by_tape(strand, ticket, value) {
        return wake_by_tape(thread);
    }
    let purpose = Purpose::Wake { strand: strand.word(), ticket, value };
    thread.vm.concurrency().timers.start(thread.vm, key, delay, purpose);
}

/// In the replay of a recording: wakes the strands for which it is the place to do what they wait for, in the order of
/// operations on shared objects.
pub fn wake_by_tape(thread: &mut Thread) {
    while let Some(waiting) = thread.due_by_tape() {
        let strand = waiting.strand.as_object().and_then(StrandRef::of_object);
        let Some(strand) = strand.and_then(|strand| strand.claim(waiting.ticket)) else { continue };
        match waiting.answer {
            Some(answer) => waiting::cut(thread, strand, Delivery::Value, answer),
            None => waiting::make_ready(thread, strand, Place::First),
        }
    }
}

/// Wakes the strand of this object with `true` when a resource is ready, or with `false` when the delay
/// is over, if there is one; if it waits with this ticket then.
pub fn wake_when_ready(
    thread: &mut Thread,
    timer: (TimerKey, Option<Duration>),
    awaited: Awaited,
    strand: Object,
    ticket: u64,
) {
    let purpose = Purpose::Wake { strand: strand.word(), ticket, value: Word::FALSE };
    thread.vm.concurrency().timers.start_awaiting(thread.vm, timer, awaited, purpose);
}

/// Receives the waits of ready resources: the poller's thread calls it, and so does a thread that ends waits.
pub fn deliver(waits: &[Wait]) {
    // Mostly there are none.
    if waits.is_empty() {
        return;
    }
    let vm = Vm::of_process();
    let due = waits.iter().map(|&wait| Due { key: TimerKey::of_wait(wait), is_ready: true });
    vm.concurrency().timers.inner.lock().due.extend(due);
    waits.iter().for_each(|_| vm.scheduler.inject(Item::TIMER));
}

/// Ends the rest of a timer that was taken from the table.
fn release(vm: &Vm, key: TimerKey, entry: Timer) {
    if let Some(id) = entry.id {
        vm.scheduler.cancel_timer(id);
    }
    if let Some(source) = entry.awaited.as_ref().and_then(|awaited| awaited.resource.source()) {
        source.cancel(key.to_wait());
    }
    if entry.is_source {
        vm.scheduler.end_outside();
    }
}

/// Posts a message to a vat, after a time.
pub fn post_after(thread: &mut Thread, delay: Duration, vat: VatRef, message: Object) {
    if thread.watch.is_on {
        thread.number_message(message);
        if thread.repeats() {
            // It is held until its turn.
            return vat.post(thread, message);
        }
    }
    let purpose = Purpose::Post { vat: vat.object.get(), message: message.word() };
    let key = {
        let mut table = thread.vm.concurrency().timers.inner.lock();
        let key = table.reserve(None);
        messages::sender(message).into_iter().for_each(|sender| table.belongs_to(key, sender));
        key
    };
    thread.vm.concurrency().timers.start(thread.vm, key, delay, purpose);
}

/// Has the items be ready, after a time, that a rest between measurements holds up.
pub fn end_rest_after(vm: &'static Vm, delay: Duration) {
    let key = vm.concurrency().timers.inner.lock().reserve(None);
    vm.concurrency().timers.start(vm, key, delay, Purpose::EndRest);
}

/// Does the action of the timer that became due first, unless it was cancelled.
pub fn run_due(thread: &mut Thread) {
    // The lock is held until it is done, so that no other worker overtakes this one; nothing here
    // reaches a GC point or another timer.
    let vm = thread.vm;
    // Before the table: an operation on shared objects takes both in this order, too.
    let mut order = if thread.watch.is_on { thread.order_for_timer() } else { None };
    let mut table = vm.concurrency().timers.inner.lock();
    let Some(Due { key, is_ready }) = table.due.pop_front() else { return };
    let Some(mut entry) = table.take(key) else { return };
    match entry.purpose.take() {
        Some(Purpose::Wake { strand, ticket, value }) => {
            let value = if is_ready { Word::TRUE } else { value };
            let strand = strand.as_object().and_then(StrandRef::of_object);
            if let Some(strand) = strand.and_then(|strand| strand.claim(ticket)) {
                strand.set_timer(0);
                if let Some(order) = &mut order {
                    thread.note_woken_by_timer(strand.strand(), is_ready, order);
                }
                waiting::cut(thread, strand, Delivery::Value, value);
            }
        }
        Some(Purpose::Post { vat, message }) => {
            if let (Some(vat), Some(message)) = (vat.as_object(), message.as_object()) {
                VatRef::of_object(vat).post(thread, message);
            }
        }
        Some(Purpose::EndRest) => metering::end_rest(vm),
        None => {}
    }
    drop(table);
    release(vm, key, entry);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_keys_are_not() {
        let mut table = Table::default();
        let keys: Vec<TimerKey> = (0..1000)
            .map(|_| {
                let key = table.reserve(None);
                assert!(table.take(key).is_some());
                key
            })
            .collect();
        assert_eq!(table.entries.len(), 1);
        let current = table.reserve(None);
        assert!(keys.iter().all(|&key| key != current && table.take(key).is_none()));
        assert!(table.get(current).is_some());
    }
}
