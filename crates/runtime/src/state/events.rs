//! Events: conditions that a native thread blocks for when it cannot run another strand meanwhile. Guarding and the
//! memories of transactions use them.
//!
//! Waits are rare and events are frequent, so one load tells a frequent event that no thread waits.
//!
//! Protocol: a thread that [waits](Event::wait_until) counts itself and then checks the condition. A thread that makes
//! the condition true calls [`Event::tell`] afterwards, which checks the count. The fences in between ensure that one
//! of the two sees the other ([`crate::state::fences`]).

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::state::fences;

/// Something that happens again and again.
#[derive(Default)]
pub struct Event {
    waiting: AtomicUsize,
    lock: Mutex<()>,
    told: Condvar,
}

impl Event {
    /// Blocks the native thread until this is true. It may become true only before a [tell](Event::tell).
    pub fn wait_until(&self, mut has_come: impl FnMut() -> bool) {
        let mut lock = self.lock.lock();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        fences::heavy();
        while !has_come() {
            self.told.wait(&mut lock);
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// The awaited condition may have changed.
    #[inline(always)]
    pub fn tell(&self) {
        fences::light();
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.tell_all();
        }
    }

    #[cold]
    fn tell_all(&self) {
        // A waiting thread has either seen the change or waits already.
        let _lock = self.lock.lock();
        self.told.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn nobody_misses_what_comes() {
        let (event, round) = (Event::default(), AtomicU32::new(0));
        let pass = |mine: u32| {
            for turn in 0..5000 {
                event.wait_until(|| round.load(Ordering::Relaxed) == 2 * turn + mine);
                round.fetch_add(1, Ordering::Relaxed);
                event.tell();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| pass(0));
            pass(1);
        });
        assert_eq!(round.into_inner(), 10_000);
    }
}
