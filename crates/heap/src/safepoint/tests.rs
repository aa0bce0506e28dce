//! The stop protocol with real threads.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;

/// A mutator that counts up while it runs, without atomic read-modify-write. If the collector ran at the same time,
/// counts would be lost or seen to change.
struct Member {
    status: Status,
    count: AtomicU64,
    requests: AtomicU64,
    ends: AtomicU64,
}

impl Member {
    fn new() -> &'static Member {
        Box::leak(Box::new(Member {
            status: Status::running(),
            count: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            ends: AtomicU64::new(0),
        }))
    }

    fn add(&self, amount: u64) {
        self.count.store(self.count.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
    }
}

impl PartialEq for &'static Member {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(*self, *other)
    }
}

impl Participant for &'static Member {
    fn status(&self) -> &Status {
        &self.status
    }
    fn stop_requested(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }
    fn stop_ended(&self) {
        self.ends.fetch_add(1, Ordering::Relaxed);
    }
}

const ROUNDS: u64 = 500;

#[test]
fn mutators_stand_still_during_stops() {
    let safepoints = &Safepoints::<&'static Member>::new();
    let done = &AtomicBool::new(false);
    thread::scope(|scope| {
        let members: Vec<_> = (0..3).map(|_| safepoints.join(Member::new)).collect();
        for (index, member) in members.into_iter().enumerate() {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    member.add(1);
                    if index == 0 {
                        safepoints.enter_native(&member.status);
                        safepoints.leave_native(&member.status);
                    } else if member.status.is_stop_requested() {
                        safepoints.stop_here(&member.status);
                    }
                }
                safepoints.leave(member, || ());
            });
        }
        for _ in 0..ROUNDS {
            safepoints.stop();
            let members = safepoints.participants();
            let before: Vec<_> = members.iter().map(|m| m.count.load(Ordering::Relaxed)).collect();
            members.iter().for_each(|member| member.add(1000));
            for (member, before) in members.iter().zip(before) {
                assert_eq!(member.count.load(Ordering::Relaxed), before + 1000);
            }
            safepoints.resume();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(safepoints.count(), 0);
}

#[test]
fn joining_waits_for_the_end_of_a_stop() {
    let safepoints = &Safepoints::<&'static Member>::new();
    let joined = &AtomicBool::new(false);
    thread::scope(|scope| {
        safepoints.stop();
        scope.spawn(|| {
            safepoints.join(Member::new);
            joined.store(true, Ordering::SeqCst);
        });
        thread::yield_now();
        assert!(!joined.load(Ordering::SeqCst));
        safepoints.resume();
    });
    assert!(joined.load(Ordering::SeqCst));
    assert_eq!(safepoints.count(), 1);
}

#[test]
fn a_waiting_mutator_sees_exactly_one_stop() {
    let safepoints = &Safepoints::<&'static Member>::new();
    let member = safepoints.join(Member::new);
    let collected = &AtomicU64::new(0);
    let requests = &Mutex::new(0_u64);
    let requested = &Condvar::new();
    thread::scope(|scope| {
        scope.spawn(move || {
            for round in 1..=ROUNDS {
                let mut count = requests.lock().unwrap();
                while *count < round {
                    count = requested.wait(count).unwrap();
                }
                drop(count);
                safepoints.stop();
                collected.store(round, Ordering::Relaxed);
                safepoints.resume();
            }
        });
        for round in 1..=ROUNDS {
            *requests.lock().unwrap() = round;
            requested.notify_one();
            safepoints.wait_for_collection(&member.status);
            assert_eq!(collected.load(Ordering::Relaxed), round);
        }
    });
    assert_eq!(member.ends.load(Ordering::Relaxed), ROUNDS);
    assert!(member.requests.load(Ordering::Relaxed) <= ROUNDS);
}
