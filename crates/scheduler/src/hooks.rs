//! What the scheduler asks of the runtime.

use crate::WorkerId;

/// The runtime, as far as the scheduler calls it. None of the scheduler's locks is held during a
/// call, so all of these may call the scheduler.
pub trait Hooks<P>: Send + Sync {
    /// There is work for one more worker: starts a native thread that calls
    /// [`Scheduler::join`](crate::Scheduler::join). If it cannot, there is one worker less.
    ///
    /// It is called by any thread that makes an item ready, and not again before the thread joined.
    fn start_worker(&self);

    /// A timer's time has come. Called on the monitor thread; if there is a seed, on the worker, in
    /// [`Worker::try_next`](crate::Worker::try_next).
    fn timer_due(&self, payload: P);

    /// `worker` shall come to the slow path of a poll and call
    /// [`Worker::should_preempt`](crate::Worker::should_preempt). Called on the monitor thread, and
    /// by [`Scheduler::stop`](crate::Scheduler::stop).
    fn preempt(&self, worker: WorkerId);

    /// The item that `worker` runs is outside for long: others may have what it owns. Called on the
    /// monitor thread; the worker does not come back before this has returned.
    fn replaced(&self, worker: WorkerId);

    /// Timers are due: takes their payloads until there are no more.
    ///
    /// A payload that was taken is no longer visited by
    /// [`Scheduler::for_each_timer`](crate::Scheduler::for_each_timer). If payloads hold references
    /// that a collector may move, this is the place to keep it away while there is one in hand: the
    /// monitor thread is no mutator.
    fn timers_due(&self, take: &mut dyn FnMut() -> Option<P>) {
        while let Some(payload) = take() {
            self.timer_due(payload);
        }
    }
}
