//! Timers: strands that sleep, and messages that are due later.
//!
//! The scheduler knows when; what a timer is for is in the table here, which the collector visits.
//! The keys of those that are due are in a queue of their own, and each puts an item into a run queue,
//! so that workers do the rest: whichever comes first, in the order in which the timers became due.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use squall_heap::{Object, Word};

use crate::strand::{Delivery, StrandRef};
use crate::thread::Thread;
use crate::vat::VatRef;
use crate::waiting;

/// The place of a timer in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerKey(pub u32);

/// What happens when a timer is due.
#[derive(Clone, Copy)]
enum Purpose {
    /// The strand of this object is woken, if it still waits with this ticket, and finds the value.
    Wake { strand: Word, ticket: u64, value: Word },
    /// This message goes to the vat of this vat object.
    Post { vat: Word, message: Word },
}

/// All timers that are not due yet.
#[derive(Default)]
pub struct Timers {
    inner: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: Vec<Option<Purpose>>,
    free: Vec<u32>,
    due: VecDeque<TimerKey>,
}

impl Timers {
    fn add(&self, purpose: Purpose) -> TimerKey {
        let mut table = self.inner.lock();
        match table.free.pop() {
            Some(key) => {
                table.entries[key as usize] = Some(purpose);
                TimerKey(key)
            }
            None => {
                table.entries.push(Some(purpose));
                TimerKey(table.entries.len() as u32 - 1)
            }
        }
    }

    /// A timer's time has come: an item for it is about to be in a run queue.
    pub fn set_due(&self, key: TimerKey) {
        self.inner.lock().due.push_back(key);
    }

    /// Shows the words to the collector, which stands for all mutators.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&mut Word)) {
        for purpose in self.inner.lock().entries.iter_mut().flatten() {
            let (first, second) = match purpose {
                Purpose::Wake { strand, value, .. } => (strand, value),
                Purpose::Post { vat, message } => (vat, message),
            };
            visit(first);
            visit(second);
        }
    }
}

/// Wakes the strand that runs now, after a time, if it waits with this ticket then.
pub fn wake_after(thread: &mut Thread, delay: Duration, strand: Object, ticket: u64, value: Word) {
    let purpose = Purpose::Wake { strand: strand.word(), ticket, value };
    start(thread, delay, purpose);
}

/// Posts a message to a vat, after a time.
pub fn post_after(thread: &mut Thread, delay: Duration, vat: VatRef, message: Object) {
    let purpose = Purpose::Post { vat: vat.object.get(), message: message.word() };
    start(thread, delay, purpose);
}

fn start(thread: &mut Thread, delay: Duration, purpose: Purpose) {
    let key = thread.vm.timers.add(purpose);
    thread.vm.scheduler.add_timer(delay, key);
}

impl Table {
    fn take_due(&mut self) -> Option<Purpose> {
        let key = self.due.pop_front()?;
        self.free.push(key.0);
        self.entries.get_mut(key.0 as usize)?.take()
    }
}

/// Does what the timer that became due first is for.
pub fn run_due(thread: &mut Thread) {
    // The lock is held until it is done, so that no other worker overtakes this one; nothing here
    // reaches a GC point or another timer.
    let vm = thread.vm;
    let mut table = vm.timers.inner.lock();
    match table.take_due() {
        Some(Purpose::Wake { strand, ticket, value }) => {
            let strand = strand.as_object().and_then(StrandRef::of_object);
            if let Some(strand) = strand.filter(|strand| strand.claim(ticket)) {
                waiting::wake_strand(thread, strand, Delivery::Value, value);
            }
        }
        Some(Purpose::Post { vat, message }) => {
            if let (Some(vat), Some(message)) = (vat.as_object(), message.as_object()) {
                VatRef::of_object(vat).post(thread, message);
            }
        }
        None => {}
    }
}
