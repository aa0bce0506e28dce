//! Models of a strand's status in all interleavings of small programs. The tests with loom run them: a wait ends once,
//! no suspension and no termination is missed, and no wish for one life reaches the next one.

use super::*;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, fence};

use crate::state::sync::exploration::{beside, explore};

/// A strand whose object is a number: that of its life.
struct Model {
    status: Status,
    object: AtomicU64,
    /// Whether it runs, for threads that ask it to poll.
    runs: AtomicUsize,
    /// How often it was made ready.
    woken: AtomicUsize,
    polls: AtomicUsize,
}

impl Model {
    fn new() -> Arc<Model> {
        let status = Status::default();
        status.make(40);
        Arc::new(Model {
            status,
            object: AtomicU64::new(1),
            runs: AtomicUsize::new(0),
            woken: AtomicUsize::new(0),
            polls: AtomicUsize::new(0),
        })
    }

    fn is_life(&self, life: u64) -> bool {
        self.object.load(Ordering::Acquire) == life
    }

    /// What `strands::terminate` does.
    fn terminate(&self, life: u64) -> Option<Killed> {
        let killed = self.status.kill(|| self.is_life(life));
        match killed {
            Some(Killed::Claimed(())) => self.wake(),
            Some(Killed::Owned) => self.ask_to_poll(),
            _ => {}
        }
        killed
    }

    fn ask_to_poll(&self) {
        fence(Ordering::SeqCst);
        if self.runs.load(Ordering::Relaxed) == 1 {
            self.polls.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn wake(&self) {
        self.woken.fetch_add(1, Ordering::AcqRel);
    }

    /// The strand is ready, and is taken: whether it runs, or is held up.
    fn run(&self) -> bool {
        self.runs.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.status.is_suspended() {
            self.runs.store(0, Ordering::Relaxed);
            if self.status.hold_up() {
                return false;
            }
        }
        true
    }
}

/// Two threads wake it and one ends it: exactly one of the three claims it.
#[test]
fn a_wait_ends_once() {
    explore(|| {
        let model = Model::new();
        let ticket = model.status.park().ticket;
        let wake = move |model: &Model| {
            if model.status.claim(ticket) {
                model.wake();
            }
        };
        let others = [beside(&model, wake), beside(&model, |model| _ = model.terminate(1))];
        wake(&model);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(model.woken.load(Ordering::Relaxed), 1);
        assert!(model.status.is_killed() && !model.status.is_parked());
    });
}

/// A terminating thread ends a strand that parks, or the strand ends itself.
#[test]
fn termination_finds_the_strand_or_is_found() {
    explore(|| {
        let model = Model::new();
        let killer = beside(&model, |model| _ = model.terminate(1));
        let parked = model.status.park();
        if parked.missed.is_some() && model.status.claim(parked.ticket) {
            model.wake();
        }
        killer.join().unwrap();
        assert_eq!(model.woken.load(Ordering::Relaxed), 1);
    });
}

/// A parent that waits for branches is told to end them, or finds that out itself. It may do both: branches end once.
#[test]
fn a_kill_in_a_patient_wait_is_noticed() {
    explore(|| {
        let model = Model::new();
        let killer = beside(&model, |model| {
            if model.terminate(1) == Some(Killed::Patient) {
                model.wake();
            }
        });
        if model.status.park_patiently().missed.is_some() {
            model.wake();
        }
        killer.join().unwrap();
        assert_ne!(model.woken.load(Ordering::Relaxed), 0);
        assert!(model.status.claim_patient());
    });
}

/// A terminating thread finds a strand that is about to run, or the strand finds that it is to end.
#[test]
fn who_runs_looks_or_is_asked() {
    explore(|| {
        let model = Model::new();
        let killer = beside(&model, |model| _ = model.terminate(1));
        assert!(model.run());
        let knows = model.status.is_killed();
        killer.join().unwrap();
        assert!(knows || model.polls.load(Ordering::Relaxed) == 1);
    });
}

/// A strand that was suspended twice and resumed once continues, from any state.
#[test]
fn one_resumption_is_enough() {
    explore(|| {
        let model = Model::new();
        let other = beside(&model, |model| {
            let is_life = || model.is_life(1);
            assert!(model.status.suspend(is_life) && model.status.suspend(is_life));
            match model.status.resume(is_life) {
                Some(Resumed::Claimed(())) => model.wake(),
                resumed => assert_eq!(resumed, Some(Resumed::Unnoticed)),
            }
        });
        let runs = model.run();
        other.join().unwrap();
        assert_ne!(runs, model.woken.load(Ordering::Relaxed) == 1);
        assert!(!model.status.is_suspended() && !model.status.is_parked());
    });
}

/// A strand that suspends itself is resumed by another thread, or finds that it was, or stays suspended.
#[test]
fn a_strand_that_suspends_itself_is_resumed() {
    explore(|| {
        let model = Model::new();
        let other = beside(&model, |model| {
            let resumed = model.status.resume(|| model.is_life(1));
            if resumed == Some(Resumed::Claimed(())) {
                model.wake();
            }
            assert_ne!(resumed, None);
            resumed != Some(Resumed::NotSuspended)
        });
        let parked = model.status.suspend_itself();
        if parked.missed == Some(Missed::Resumption) && model.status.claim(parked.ticket) {
            model.wake();
        }
        let was_resumed = other.join().unwrap();
        assert_eq!(model.woken.load(Ordering::Relaxed), usize::from(was_resumed));
        assert_eq!(model.status.is_parked(), !was_resumed);
    });
}

/// A strand that suspends itself while it is killed ends, once.
#[test]
fn a_strand_that_suspends_itself_is_killed() {
    explore(|| {
        let model = Model::new();
        let killer = beside(&model, |model| _ = model.terminate(1));
        let parked = model.status.suspend_itself();
        if parked.missed == Some(Missed::Kill) && model.status.claim(parked.ticket) {
            model.wake();
        }
        killer.join().unwrap();
        assert_eq!(model.woken.load(Ordering::Relaxed), 1);
    });
}

/// A strand parks in its next life while another thread kills and resumes it in the life before.
#[test]
fn a_wait_of_the_next_life_is_spared() {
    explore(|| {
        let model = Model::new();
        let other = beside(&model, |model| {
            assert_ne!(model.terminate(1), Some(Killed::Claimed(())));
            _ = model.status.resume(|| model.is_life(1));
        });
        model.status.finish();
        model.object.store(2, Ordering::Release);
        model.status.make(40);
        let parked = model.status.park();
        assert_eq!(parked.missed, None);
        other.join().unwrap();
        assert!(model.status.claim(parked.ticket));
    });
}

/// A strand ends, and its native part begins another life, while another thread ends, suspends and raises the first
/// one.
#[test]
fn the_next_life_is_spared() {
    explore(|| {
        let model = Model::new();
        let other = beside(&model, |model| {
            let is_life = || model.is_life(1);
            _ = model.terminate(1);
            _ = model.status.set_priority(is_life, 80);
            _ = model.status.suspend(is_life);
        });
        model.status.finish();
        model.object.store(2, Ordering::Release);
        model.status.make(40);
        other.join().unwrap();
        assert!(!model.status.is_killed() && !model.status.is_suspended());
        assert_eq!((model.status.priority(), model.woken.load(Ordering::Relaxed)), (40, 0));
    });
}
