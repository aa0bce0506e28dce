//! The main vat's queue of turns, and its timers.
//!
//! A turn is a closure without arguments. Turns run in the order they were enqueued; a timer's
//! closure becomes a turn when its time has come, timers with the same deadline in the order they
//! were made.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_heap::Word;

/// The queue.
#[derive(Default)]
pub struct Turns {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    ready: VecDeque<Word>,
    timers: BTreeMap<(Instant, u64), Word>,
    timers_made: u64,
}

/// What to do next.
#[derive(Debug, PartialEq)]
pub enum NextTurn {
    /// Run this closure.
    Run(Word),
    /// Nothing is ready before this much time has passed.
    Wait(Duration),
    /// Nothing will ever be ready.
    Idle,
}

impl Turns {
    /// Adds a turn at the end.
    pub fn enqueue(&self, block: Word) {
        self.inner.lock().ready.push_back(block);
    }

    /// Adds a turn that becomes ready after a delay.
    pub fn enqueue_after(&self, delay: Duration, block: Word) {
        let mut inner = self.inner.lock();
        let number = inner.timers_made;
        inner.timers_made += 1;
        inner.timers.insert((Instant::now() + delay, number), block);
    }

    /// Takes the next turn.
    pub fn next(&self) -> NextTurn {
        let mut inner = self.inner.lock();
        let now = Instant::now();
        while let Some(timer) = inner.timers.first_entry() {
            if timer.key().0 > now {
                break;
            }
            let block = timer.remove();
            inner.ready.push_back(block);
        }
        if let Some(block) = inner.ready.pop_front() {
            return NextTurn::Run(block);
        }
        match inner.timers.first_key_value() {
            Some((&(deadline, _), _)) => NextTurn::Wait(deadline - now),
            None => NextTurn::Idle,
        }
    }

    /// Shows the closures to the collector, which stands for all mutators.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&mut Word)) {
        let mut inner = self.inner.lock();
        inner.ready.iter_mut().for_each(&mut *visit);
        inner.timers.values_mut().for_each(&mut *visit);
    }
}
