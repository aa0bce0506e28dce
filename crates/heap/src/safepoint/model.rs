//! The stop protocol, in all interleavings of small programs (loom). The mutator writes while it runs and the collector
//! writes while the mutator is away: these writes never race, and no thread waits for ever.

use super::*;
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

/// A mutator with a number. The mutator increments it while it runs, and the collector during stops.
struct Member {
    status: Status,
    number: UnsafeCell<u32>,
}

#[derive(Clone, Copy, PartialEq)]
struct MemberPointer(*const Member);

// SAFETY: members are shared under the protocol under test; loom reports a race.
unsafe impl Send for MemberPointer {}
// SAFETY: as above.
unsafe impl Sync for MemberPointer {}

impl MemberPointer {
    fn get<'m>(self) -> &'m Member {
        // SAFETY: the pointer is that of an `Arc` which outlives the model's threads.
        unsafe { &*self.0 }
    }

    fn increment(self) {
        // SAFETY: the model checks that only one thread increments at a time.
        self.get().number.with_mut(|number| unsafe { *number += 1 });
    }
}

impl Participant for MemberPointer {
    fn status(&self) -> &Status {
        &self.get().status
    }
    fn stop_requested(&self) {}
    fn stop_ended(&self) {}
}

struct Model {
    safepoints: Safepoints<MemberPointer>,
    member: Member,
}

impl Model {
    /// A heap with one mutator, running.
    fn new() -> Arc<Model> {
        let member = Member { status: Status::running(), number: UnsafeCell::new(0) };
        let model = Arc::new(Model { safepoints: Safepoints::new(), member });
        model.safepoints.join(|| model.pointer());
        model
    }

    fn pointer(&self) -> MemberPointer {
        MemberPointer(&self.member)
    }

    fn collect(&self) {
        self.safepoints.stop();
        self.safepoints.participants().into_iter().for_each(MemberPointer::increment);
        self.safepoints.resume();
    }

    fn number(&self) -> u32 {
        // SAFETY: called when all other threads have been joined.
        self.member.number.with(|number| unsafe { *number })
    }
}

/// Explores `mutate`, by the only mutator, while another thread collects `collections` times.
/// Afterwards the number must be `expected`.
fn check(collections: u32, expected: u32, mutate: fn(&Model, MemberPointer)) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let model = Model::new();
        let collector = Arc::clone(&model);
        let collector = thread::spawn(move || (0..collections).for_each(|_| collector.collect()));
        mutate(&model, model.pointer());
        collector.join().unwrap();
        assert_eq!(model.number(), expected);
    });
}

#[test]
fn native_sections_exclude_collections() {
    check(2, 4, |model, member| {
        member.increment();
        model.safepoints.enter_native(member.status());
        model.safepoints.leave_native(member.status());
        member.increment();
        // The collector may still be about to stop this mutator.
        model.safepoints.enter_native(member.status());
    });
}

#[test]
fn safepoints_exclude_collections() {
    check(1, 3, |model, member| {
        member.increment();
        if member.status().is_stop_requested() {
            model.safepoints.stop_here(member.status());
        }
        member.increment();
        model.safepoints.enter_native(member.status());
    });
}

#[test]
fn waiting_for_a_collection_is_waiting_for_one() {
    check(1, 3, |model, member| {
        member.increment();
        model.safepoints.wait_for_collection(member.status());
        member.increment();
    });
}

#[test]
fn leaving_waits_for_the_end_of_a_stop() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let model = Model::new();
        let collector = Arc::clone(&model);
        let collector = thread::spawn(move || collector.collect());
        let member = model.pointer();
        model.safepoints.leave(member, || member.increment());
        // No other thread accesses the number any more, though the collector may just be starting.
        member.increment();
        collector.join().unwrap();
        assert!([2, 3].contains(&model.number()));
        assert_eq!(model.safepoints.count(), 0);
    });
}

#[test]
fn joining_waits_for_the_end_of_a_stop() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let model = Model::new();
        model.safepoints.leave(model.pointer(), || ());
        let collector = Arc::clone(&model);
        let collector = thread::spawn(move || collector.collect());
        let member = model.safepoints.join(|| model.pointer());
        member.increment();
        model.safepoints.enter_native(member.status());
        collector.join().unwrap();
        assert!([1, 2].contains(&model.number()));
    });
}
