//! Events: what a native thread waits for that has nothing else to do for its strand meanwhile.
//!
//! Mostly nobody waits, and what is waited for happens all the time: so it costs one load to tell that nobody does.
//!
//! Protocol: who [waits](Event::wait_until) counts itself and then looks whether it has come; who makes it come
//! [tells](Event::tell) afterwards, which looks whether anybody is counted. The fences in between see to it that one
//! of the two finds the other ([`crate::state::fences`]).

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
    /// Blocks the native thread until this is true, which may be so only after somebody [tells](Event::tell).
    pub fn wait_until(&self, mut has_come: impl FnMut() -> bool) {
        let mut lock = self.lock.lock();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        fences::heavy();
        while !has_come() {
            self.told.wait(&mut lock);
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// What somebody may wait for has changed.
    #[inline(always)]
    pub fn tell(&self) {
        fences::light();
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.tell_all();
        }
    }

    #[cold]
    fn tell_all(&self) {
        // Who waits has either seen the change or waits already.
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
