//! Errands: closures that native threads leave to the first free worker. The embedder's functions and the collector
//! leave them; the worker's loop runs them.
//!
//! An errand runs between two strands, with the worker's thread and without a strand of its own: it may
//! allocate, make strands and post messages, and must not wait. Each one is announced by an item in the run queues, so
//! that a machine with errands is not stalled.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::state::items::Item;
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// Work for a worker.
pub type Errand = Box<dyn FnOnce(&mut Thread) + Send>;

/// The errands that no worker has begun.
#[derive(Default)]
pub struct Errands(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Errand>,
    is_ended: bool,
}

impl Errands {
    /// Nothing is run any more; what waits is dropped, and with it what its senders wait for.
    pub(crate) fn end(&self) {
        let mut queue = self.0.lock();
        queue.is_ended = true;
        let dropped = std::mem::take(&mut queue.waiting);
        drop(queue);
        drop(dropped);
    }

    fn add(&self, errand: Errand) -> Result<(), Errand> {
        let mut queue = self.0.lock();
        if queue.is_ended {
            return Err(errand);
        }
        queue.waiting.push_back(errand);
        Ok(())
    }
}

/// Leaves an errand to the workers; if the program has ended, it is dropped. May be called by any native thread.
pub fn leave(vm: &'static Vm, errand: impl FnOnce(&mut Thread) + Send + 'static) {
    if vm.concurrency().embedding.errands.add(Box::new(errand)).is_ok() {
        vm.scheduler.inject(Item::ERRAND);
    }
}

/// Leaves an errand behind what this worker has to do. So the order of a seeded run does not depend on other native threads.
pub fn leave_here(thread: &mut Thread, errand: impl FnOnce(&mut Thread) + Send + 'static) {
    if thread.vm.concurrency().embedding.errands.add(Box::new(errand)).is_ok() {
        thread.worker.push(Item::ERRAND);
    }
}

/// Runs the errand that waits longest. *GC point.*
pub fn run_next(thread: &mut Thread) {
    let errand = thread.vm.concurrency().embedding.errands.0.lock().waiting.pop_front();
    if let Some(errand) = errand {
        // What it does belongs to no strand.
        if thread.watch.is_on {
            thread.leave_piece();
        }
        errand(thread);
    }
}
