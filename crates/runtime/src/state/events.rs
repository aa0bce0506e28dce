//! Events: conditions that a native thread blocks for when it cannot run another strand meanwhile. Guarding and the
//! memories of transactions use them.
//!
//! Waits are rare and events are frequent, so one load tells a frequent event that no thread waits.
//!
//! Protocol: a thread that [waits](Event::wait_until) counts itself and then checks the condition. A thread that makes
//! the condition true calls [`Event::tell`] afterwards, which checks the count. The fences in between ensure that one
//! of the two sees the other ([`crate::state::fences`]). The model shows that no wait goes on after the last tell.

use std::sync::atomic::Ordering;

use crate::state::fences;
use crate::state::sync::{AtomicUsize, Condvar, Mutex};

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

/// The protocol in all interleavings of small programs. Loom reports a wait that never ends as a deadlock.
#[cfg(all(test, feature = "loom"))]
mod model {
    use loom::sync::Arc;

    use super::*;
    use crate::state::sync::exploration::{beside, explore};

    /// An event, and the number that the awaited conditions are about.
    #[derive(Default)]
    struct Model {
        event: Event,
        number: AtomicUsize,
    }

    impl Model {
        fn count(&self) {
            // Relaxed: the event's fences alone let the waiting thread see it.
            self.number.fetch_add(1, Ordering::Relaxed);
            self.event.tell();
        }

        fn wait_for(&self, number: usize) {
            self.event.wait_until(|| self.number.load(Ordering::Relaxed) >= number);
        }
    }

    #[test]
    fn a_wait_ends_when_its_condition_has_come() {
        explore(|| {
            let model = Arc::new(Model::default());
            let other = beside(&model, Model::count);
            model.wait_for(1);
            other.join().unwrap();
            assert_eq!(model.event.waiting.load(Ordering::Relaxed), 0);
        });
    }

    #[test]
    fn every_waiting_thread_is_told() {
        explore(|| {
            let model = Arc::new(Model::default());
            let other = beside(&model, |model| model.wait_for(1));
            let third = beside(&model, Model::count);
            model.wait_for(1);
            other.join().unwrap();
            third.join().unwrap();
        });
    }

    #[test]
    fn a_tell_that_is_not_the_awaited_one_does_not_end_a_wait() {
        explore(|| {
            let model = Arc::new(Model::default());
            let other = beside(&model, |model| {
                model.count();
                model.count();
            });
            model.wait_for(2);
            assert_eq!(model.number.load(Ordering::Relaxed), 2);
            other.join().unwrap();
        });
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    /// How often each of two threads waits for the other one; Miri takes milliseconds for each time.
    const TURNS: u32 = if cfg!(miri) { 20 } else { 5000 };

    #[test]
    fn nobody_misses_what_comes() {
        let (event, round) = (Event::default(), AtomicU32::new(0));
        let pass = |mine: u32| {
            for turn in 0..TURNS {
                event.wait_until(|| round.load(Ordering::Relaxed) == 2 * turn + mine);
                round.fetch_add(1, Ordering::Relaxed);
                event.tell();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| pass(0));
            pass(1);
        });
        assert_eq!(round.into_inner(), 2 * TURNS);
    }
}
