//! A worker whose item goes outside: into foreign code, or an operation that blocks. The runtime announces each such call
//! before and after, and the worker lets other workers take the items that wait here.
//!
//! `crate::outside` has the protocol between the worker and the monitor, which replaces the worker if the call takes long.

use super::Worker;
use crate::outside::Return;

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    /// Gives all items that wait here to the other workers. The runtime calls it for an item that will not poll for
    /// long, since it blocks or is in foreign code: the waiting items would wait as long.
    ///
    /// Items that wait for a bound worker stay there.
    pub fn hand_over(&mut self) {
        if self.inbox.is_some() || self.scheduler.is_seeded() {
            return;
        }
        let has_own = self.has_own();
        self.make_public();
        std::iter::from_fn(|| self.queue.pop()).for_each(|item| self.scheduler.injector.push(item));
        self.pool().into_iter().for_each(|pool| pool.release(self.scheduler, self.id));
        self.publish();
        self.excuse();
        if has_own {
            self.scheduler.wake();
        }
    }

    /// The running item is about to block, or to run foreign code; until [`Worker::come_back`] it neither polls nor calls
    /// the scheduler. If the call takes long, the monitor replaces the worker and calls
    /// [`Hooks::replaced`](crate::Hooks::replaced).
    ///
    /// With a seed, no worker takes over unless a thread [relieves](crate::Scheduler::relieve_outside) this one.
    #[inline]
    pub fn go_outside(&mut self) {
        if !self.is_ordinary && self.scheduler.is_seeded() {
            return self.lay_baton_down();
        }
        if self.private() > 0 {
            self.make_public();
            self.publish();
        }
        let watch = self.watch;
        watch.place.leave();
        if self.is_excused || self.inbox.is_some() && watch.is_excused() {
            self.recall();
        }
    }

    /// As [`Worker::go_outside`], for an item that will be outside for long: another worker takes this one's place at
    /// once, unless this one is bound.
    pub fn go_outside_for_long(&mut self) {
        if self.seeded.is_some() {
            return;
        }
        self.hand_over();
        let scheduler = self.scheduler;
        let watch = self.watch;
        watch.place.leave_for_long();
        if self.inbox.is_some() {
            // Its items stay in the inbox, so the monitor has nothing to watch.
            watch.excuse();
            return scheduler.parking.replace_bound(|| scheduler.has_injected());
        }
        scheduler.parking.replace(|| scheduler.has_injected());
        if scheduler.has_injected() {
            scheduler.wake();
        }
    }

    /// The running item has come back from outside.
    #[inline]
    pub fn come_back(&mut self) -> Return {
        if !self.is_ordinary && self.scheduler.is_seeded() {
            return self.take_baton_up();
        }
        if self.watch.place.try_return() {
            return Return::Undisturbed;
        }
        self.come_back_replaced()
    }

    #[cold]
    fn come_back_replaced(&mut self) -> Return {
        let watch = self.watch;
        while !watch.place.is_replaced() {
            std::thread::yield_now();
        }
        watch.place.return_replaced();
        // The monitor was excused by the replacement.
        if self.inbox.is_some() {
            self.scheduler.parking.come_back_bound();
        } else {
            self.scheduler.parking.come_back(|| self.scheduler.has_injected());
            self.is_excused = true;
        }
        if self.has_waiting() {
            self.recall();
        }
        Return::Replaced
    }
}
