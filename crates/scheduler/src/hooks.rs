//! The calls from the scheduler to the runtime. The runtime implements [`Hooks`] and passes them to
//! [`Scheduler::new`](crate::Scheduler::new); the scheduler, its monitor and its workers call them.

use crate::WorkerId;

/// The runtime, as far as the scheduler calls it. The scheduler holds none of its locks during a call, so each of these
/// functions may call the scheduler.
pub trait Hooks<P>: Send + Sync {
    /// There is work for one more worker: starts a native thread that calls
    /// [`Scheduler::join`](crate::Scheduler::join). If no thread can be started, there is one worker less.
    ///
    /// Any thread that makes an item ready may call it. It is not called again before the thread has joined.
    fn start_worker(&self);

    /// A timer is due. The monitor thread calls it; in a seeded run, the worker does, in
    /// [`Worker::try_next`](crate::Worker::try_next).
    fn timer_due(&self, payload: P);

    /// Brings `worker` to the slow path of a poll, where it calls
    /// [`Worker::should_preempt`](crate::Worker::should_preempt). The monitor thread calls it, and
    /// [`Scheduler::stop`](crate::Scheduler::stop).
    fn preempt(&self, worker: WorkerId);

    /// The item that `worker` runs has been outside for long: other workers may take what the item owns. The monitor
    /// thread calls it; the worker does not come back before the call has returned.
    fn replaced(&self, worker: WorkerId);

    /// The operating system grants no native thread for the monitor, without which the scheduler cannot go on. The thread
    /// that first needs the monitor calls it.
    fn lacks_thread(&self, error: &std::io::Error) {
        panic!("there is no thread for the monitor: {error}");
    }

    /// Timers are due: takes their payloads until no more are due.
    ///
    /// [`Scheduler::for_each_timer`](crate::Scheduler::for_each_timer) no longer visits a payload that was taken. If
    /// payloads hold references that a collector may move, an implementation keeps the collector away while it has a
    /// payload in hand, since the monitor thread is no mutator.
    fn timers_due(&self, take: &mut dyn FnMut() -> Option<P>) {
        while let Some(payload) = take() {
            self.timer_due(payload);
        }
    }
}
