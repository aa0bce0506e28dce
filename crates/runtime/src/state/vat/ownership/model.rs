//! Models of a vat's ownership in all interleavings of small programs. The tests with loom run them: the lock excludes,
//! no work is left behind, and one thread at a time runs the vat.

use super::*;
use loom::cell::UnsafeCell as Watched;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;

use crate::state::sync::exploration::{beside, explore};

/// How many things there are to do. Loom notices when two threads reach it at a time.
struct Things(Watched<usize>);

impl Things {
    fn change(&mut self, change: impl FnOnce(usize) -> usize) -> usize {
        // SAFETY: nothing else has a reference to it, as loom checks.
        self.0.with_mut(|things| unsafe {
            *things = change(*things);
            *things
        })
    }
}

impl Content for Things {
    fn is_empty(&self) -> bool {
        // SAFETY: as above.
        self.0.with(|things| unsafe { *things == 0 })
    }
}

/// A vat, the number of its entries in a run queue, and the data that only its owners touch.
struct Model {
    vat: Ownership<Things>,
    ready: Ready,
    queued: AtomicUsize,
    turn: Watched<usize>,
}

impl Model {
    fn new() -> Arc<Model> {
        let vat = Ownership {
            word: AtomicU64::new(0),
            content: UnsafeCell::new(Things(Watched::new(0))),
        };
        let ready = Ready(AtomicBool::new(false));
        Arc::new(Model { vat, ready, queued: AtomicUsize::new(0), turn: Watched::new(0) })
    }

    /// Adds something to do, and schedules the vat if need be.
    fn add(&self) {
        let mut locked = self.vat.lock(&self.ready);
        locked.content().change(|things| things + 1);
        let is_idle = locked.is_idle();
        if is_idle {
            locked.schedule();
        }
        drop(locked);
        if is_idle {
            assert_eq!(self.queued.fetch_add(1, Ordering::AcqRel), 0, "it is in the queue once");
        }
    }

    /// Takes the vat from the queue, if it is there, and does its work.
    fn work(&self, worker: u32) {
        if self.queued.compare_exchange(1, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            self.vat.lock(&self.ready).own(worker);
            self.run(worker);
        }
    }

    fn run(&self, worker: u32) {
        loop {
            let mut locked = self.vat.lock(&self.ready);
            assert_eq!(locked.owner(), Some(worker));
            if locked.content().is_empty() {
                return locked.let_go();
            }
            locked.content().change(|things| things - 1);
            drop(locked);
            // SAFETY: the owner alone touches it, as loom checks.
            self.turn.with_mut(|turn| unsafe { *turn += 1 });
        }
    }

    /// Does the remaining work; answers the sum of the work done.
    fn done(&self) -> usize {
        self.work(9);
        assert!(!self.vat.is_active() && !self.ready.get());
        // SAFETY: all threads have ended.
        self.turn.with(|turn| unsafe { *turn })
    }
}

/// All added work is done, by one owner at a time.
#[test]
fn nothing_is_left_behind() {
    explore(|| {
        let model = Model::new();
        let others = [beside(&model, Model::add), beside(&model, |model| model.work(1))];
        model.add();
        model.work(2);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(model.done(), 2);
    });
}

/// An owner that is outside loses the vat, or keeps it; it runs the vat again if no other owner has it.
#[test]
fn who_comes_back_owns_it_or_does_not() {
    explore(|| {
        let model = Model::new();
        model.vat.begin_owned(1);
        let taker = beside(&model, |model| {
            if model.vat.lock(&model.ready).take_away() {
                model.queued.fetch_add(1, Ordering::AcqRel);
            }
            model.work(2);
        });
        model.add();
        taker.join().unwrap();
        if model.vat.lock(&model.ready).own_if_idle(1) {
            model.run(1);
        }
        if model.vat.lock(&model.ready).owner() == Some(1) {
            model.run(1);
        }
        assert_eq!(model.done(), 1);
    });
}
