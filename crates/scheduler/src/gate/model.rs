//! The monitor's sleep in all interleavings of small programs (loom): the monitor notices every worker with a waiting
//! item, and every timer. Time does not pass here, so a missed event is missed for ever, and loom reports a deadlock.

use super::*;
use crate::sync::{AtomicUsize, Ordering};
use crate::timers::Timers;
use crate::watch::{Progress, Watch};
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

struct Model {
    gate: Gate,
    watches: [Watch; 2],
    timers: Timers<()>,
    injected: AtomicUsize,
}

impl Model {
    /// A scheduler whose monitor was started.
    fn new() -> Arc<Model> {
        let model = Model {
            gate: Gate::new(),
            watches: [Watch::new(), Watch::new()],
            timers: Timers::new(),
            injected: AtomicUsize::new(0),
        };
        assert_eq!(model.gate.kick(), Kick::Start);
        Arc::new(model)
    }

    fn is_needed(&self) -> bool {
        self.injected.load(Ordering::Relaxed) > 0 || !self.watches.iter().all(Watch::is_excused)
    }

    /// The part of a worker with a waiting item.
    fn recall(&self, worker: usize) {
        self.watches[worker].set_progress(Progress { count: 1, runs: true, private: 1 });
        self.watches[worker].withdraw_excuse();
        assert_eq!(self.gate.recall(), Kick::Done);
    }

    /// The part of the monitor, until it sees what the model expects.
    fn monitor(&self, is_satisfied: impl Fn() -> bool) {
        while !is_satisfied() {
            self.gate.rest(|| self.is_needed(), None);
            // The real monitor pauses here, so the other threads get on.
            thread::yield_now();
        }
    }
}

fn explore(program: fn()) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(program);
}

#[test]
fn a_worker_that_recalls_is_noticed() {
    explore(|| {
        let model = Model::new();
        let worker = Arc::clone(&model);
        let worker = thread::spawn(move || worker.recall(0));
        model.monitor(|| !model.watches[0].is_excused());
        worker.join().unwrap();
    });
}

#[test]
fn of_two_workers_both_are_noticed() {
    explore(|| {
        let model = Model::new();
        let workers = [0, 1].map(|worker| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.recall(worker))
        });
        model.monitor(|| !model.watches.iter().any(Watch::is_excused));
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn an_injected_item_is_noticed_while_workers_are_busy() {
    explore(|| {
        let model = Model::new();
        let other = Arc::clone(&model);
        let other = thread::spawn(move || {
            other.injected.store(1, Ordering::Relaxed);
            assert_eq!(other.gate.recall(), Kick::Done);
        });
        model.monitor(|| model.injected.load(Ordering::Relaxed) > 0);
        other.join().unwrap();
    });
}

#[test]
fn a_new_first_timer_is_noticed() {
    explore(|| {
        let model = Model::new();
        let other = Arc::clone(&model);
        let other = thread::spawn(move || {
            for deadline in [Duration::from_secs(2), Duration::from_secs(1)] {
                if other.timers.add(deadline, ()).is_first {
                    assert_eq!(other.gate.kick(), Kick::Done);
                }
            }
        });
        let is_seen = || model.timers.next_deadline() == Some(Duration::from_secs(1));
        while !is_seen() {
            model.gate.rest(|| model.is_needed(), None);
        }
        other.join().unwrap();
    });
}

#[test]
fn two_callers_start_the_monitor_once() {
    explore(|| {
        let gate = Arc::new(Gate::new());
        let other = Arc::clone(&gate);
        let other = thread::spawn(move || other.recall() == Kick::Start);
        let here = gate.recall() == Kick::Start;
        assert!(here != other.join().unwrap());
    });
}
