//! Workers: the loop in which a native thread takes ready items and runs them. The scheduler starts it on each native
//! thread, and `squall` on the calling one.
//!
//! A worker runs one item at a time: a vat that it then owns, or a strand that needs no owner. It continues until the
//! program ends, or until the event that its caller waits for has come.

use std::sync::atomic::Ordering;
use std::time::Duration;

use squall_events::profile::samples::State;
use squall_events::{Kind, Track};
use squall_heap::{Object, Word};
use squall_scheduler::{Hooks, Parked, Return, WorkerId};

use crate::concurrency::channels;
use crate::concurrency::embedding::errands;
use crate::concurrency::foreign::{anchor, requests};
use crate::concurrency::messages;
use crate::concurrency::processes::forks;
use crate::concurrency::promises;
use crate::concurrency::sandbox::{backlog, metering, note_over};
use crate::concurrency::stalls;
use crate::concurrency::strands;
use crate::concurrency::switches;
use crate::concurrency::timers;
use crate::concurrency::transactions::shared;
use crate::concurrency::turns;
use crate::concurrency::vats::Work;
use crate::concurrency::waiting::{self, Place};
use crate::execution::calls;
use crate::execution::guarded;
use crate::execution::unwind;
use crate::model::function::Site;
use crate::model::outcome::{Failure, FailureReason};
use crate::state::items::TimerKey;
use crate::state::items::{Item, ItemKind};
use crate::state::recording;
use crate::state::replays::Order;
use crate::state::sampling;
use crate::state::sandbox::{self, SandboxRef};
use crate::state::stack::halt_code;
use crate::state::strand::{
    self, ANY_SIZE, Claimed, Delivery, Ending, Model, Role, Standing, StrandRef,
};
use crate::state::thread::{Stop, Thread, Window, bottom};
use crate::state::vat::VatRef;
use crate::state::vm::Vm;
use crate::state::waits;

/// How long a program whose end is near may go on.
const LAST_GRACE: Duration = Duration::from_secs(10);

/// The program has answered with this exit code: ready strands still run for some time.
pub fn end_soon(vm: &'static Vm, code: i32) {
    if !vm.ended.set_near(code) {
        return;
    }
    vm.concurrency().stalls.close();
    vm.concurrency().timers.stop(vm);
    vm.concurrency().foreign.forget_all(vm);
    vm.scheduler.end_waiting();
    if vm.scheduler.is_seeded() {
        let due = vm.scheduler.now() + LAST_GRACE.as_millis() as u64;
        return vm.ended.due.store(due, Ordering::Relaxed);
    }
    let end = std::thread::Builder::new().name("end".into());
    let thread = end.spawn(move || {
        std::thread::sleep(LAST_GRACE);
        end_late(vm, code);
    });
    if thread.is_err() {
        vm.end(code);
    }
}

/// The program's end was near for too long.
fn end_late(vm: &'static Vm, code: i32) {
    let seconds = LAST_GRACE.as_secs();
    vm.host().write_error(&format!(
        "the program was ended, since something still ran {seconds} s after main: had answered\n"
    ));
    vm.end(code);
}

/// Why a worker's loop ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finished {
    /// The caller's condition holds.
    Done,
    /// The program asked to end with this exit code.
    Exit(i32),
    /// Nothing can run any more, and nothing will ever make something ready.
    Stalled,
}

/// Runs ready items until `is_done`, or the program ends, or no item is left to run. *GC point.*
pub fn work(thread: &mut Thread, is_done: impl Fn(&Vm) -> bool) -> Finished {
    let vm = thread.vm;
    let mut looked_at = thread.schedule.items_run;
    loop {
        thread.schedule.items_run = thread.schedule.items_run.wrapping_add(1);
        if thread.schedule.items_run.wrapping_sub(looked_at) >= ITEMS_PER_TICK {
            looked_at = thread.schedule.items_run;
            thread.ticks = vm.ticks();
        }
        if let Some(code) = vm.ended.code() {
            return Finished::Exit(code);
        }
        if is_done(vm) {
            // The item is for whoever runs here next.
            thread.schedule.next_item.take().into_iter().for_each(|item| thread.worker.push(item));
            return Finished::Done;
        }
        match thread.schedule.next_item.take().or_else(|| thread.worker.try_next()) {
            Some(item) => run_item(thread, item),
            None => {
                vm.host().flush();
                match park(thread) {
                    Parked::Stalled if !stalls::frees_right(thread) => return Finished::Stalled,
                    Parked::Surplus => return Finished::Done,
                    Parked::Stalled | Parked::Woken | Parked::Stopped => {}
                }
                thread.ticks = vm.ticks();
            }
        }
    }
}

/// Parks the worker, which has nothing to run.
fn park(thread: &mut Thread) -> Parked {
    thread.note(Kind::WorkerIdle, || []);
    set_idle(thread, true);
    let Thread { mutator, worker, .. } = thread;
    let parked = mutator.native(|| worker.park());
    thread.note(Kind::WorkerBusy, || []);
    set_idle(thread, false);
    parked
}

/// Tells a profile that the worker has nothing to run, or has again.
fn set_idle(thread: &Thread, is_idle: bool) {
    if let Some(sampler) = &thread.sampler {
        sampler.set_idle(is_idle);
    }
}

/// How many items are run from one look at the clock to the next.
const ITEMS_PER_TICK: u32 = 256;

fn run_item(thread: &mut Thread, item: Item) {
    let Some(item) = metering::unless_it_rests(thread, item) else { return };
    match item.kind() {
        ItemKind::Vat(vat) => run_vat(thread, vat),
        ItemKind::Visit(vat) => visit(thread, vat),
        // SAFETY: the strand comes out of a queue, which has it once.
        ItemKind::Strand(strand) => run_at_home(thread, unsafe { Claimed::new(strand) }),
        // SAFETY: as above.
        ItemKind::StrandWithVat(strand) => run_with_vat(thread, unsafe { Claimed::new(strand) }),
        ItemKind::Timer => timers::run_due(thread),
        ItemKind::Request => requests::begin_next(thread),
        ItemKind::Errand => errands::run_next(thread),
        ItemKind::Nothing => {}
    }
}

/// Runs a vat that is at home here, unless another worker has it.
fn visit(thread: &mut Thread, vat: VatRef) {
    if vat.visit(thread.worker_index()) {
        run_owned(thread, vat);
    }
}

/// Runs a strand here if it is at home here and its vat may be had, which others may need first.
fn run_at_home(thread: &mut Thread, strand: Claimed) {
    if !strand.is_at_home(thread.home) {
        // It was bound while it was ready.
        return waiting::make_ready(thread, strand, Place::First);
    }
    match strand.vat().filter(|_| strand.model() == Model::Exclusive) {
        None => run_alone(thread, strand),
        Some(vat) if vat.own_for(thread, strand) => run_owned(thread, vat),
        Some(_) => {}
    }
}

/// Runs a strand that comes with its vat, unless something in the vat comes first.
fn run_with_vat(thread: &mut Thread, strand: Claimed) {
    let Some(vat) = strand.vat() else { return run_alone(thread, strand) };
    vat.own_with(thread.worker_index(), strand);
    run_owned(thread, vat);
}

/// Runs a strand that needs no owner; it may make itself a vat meanwhile, which is then owned.
fn run_alone(thread: &mut Thread, strand: Claimed) {
    thread.schedule.owned = None;
    thread.schedule.batch = BATCH;
    run_strand(thread, strand);
    run_on(thread);
}

fn run_vat(thread: &mut Thread, vat: VatRef) {
    vat.own(thread.worker_index());
    run_owned(thread, vat);
}

/// How many strands and turns of a vat are run before others get their turn, if its time is not over
/// before. More than a sender is allowed to send at a time, so that a mailbox gets empty.
pub(super) const BATCH: u32 = 4096;

fn run_owned(thread: &mut Thread, vat: VatRef) {
    thread.schedule.owned = Some(vat);
    thread.schedule.batch = BATCH;
    run_on(thread);
}

/// Runs what is to be done in the vat that this worker owns, if it owns one. The strands that run may [switch](switches)
/// to those of other vats, so it may be another one each time.
fn run_on(thread: &mut Thread) {
    loop {
        let is_lost = std::mem::take(&mut thread.is_displaced);
        let Some(vat) = thread.schedule.owned.filter(|_| !is_lost) else { break };
        if thread.vm.ended.code().is_some() {
            break;
        }
        if thread.was_preempted || thread.schedule.batch == 0 {
            thread.worker.end_run();
            if thread.watch.is_on {
                vat.wake_by_tape(thread);
            }
            vat.yield_to_others(thread);
            break;
        }
        thread.schedule.batch -= 1;
        match vat.next_work(thread) {
            Work::Strand(strand) => run_strand(thread, strand),
            Work::Turn(message) => run_turn(thread, vat, message),
            Work::Nothing => break,
        }
    }
    thread.was_preempted = false;
    thread.schedule.owned = None;
}

/// Runs a turn on a strand that is kept for the next one, unless it parks.
fn run_turn(thread: &mut Thread, vat: VatRef, message: Object) {
    vat.note_received(thread);
    waits::message_taken(thread, vat, message);
    backlog::take(thread, vat, message);
    let Some(message) = promises::attend(thread, vat, message) else { return };
    vat.note_turn(thread, message, message.element(messages::RECEIVER));
    if let Some(sandbox) = vat.sandbox() {
        return run_metered_turn(thread, vat, sandbox, message);
    }
    if let Some(strand) = thread.turn_strand.take() {
        strand::renew(thread, &strand, vat, message);
        vat.set_turn(Some(strand.strand()));
        return run_strand(thread, strand);
    }
    run_new_turn(thread, vat, message);
}

/// Runs a turn of a sandbox's vat, unless that is over: then the message is as good as one whose turn was ended.
fn run_metered_turn(thread: &mut Thread, vat: VatRef, sandbox: SandboxRef, message: Object) {
    let by_tape = if thread.watch.is_on { thread.over_by_tape() } else { None };
    if !by_tape.unwrap_or_else(|| sandbox.is_over()) {
        return run_new_turn(thread, vat, message);
    }
    if thread.watch.is_on {
        note_over(thread);
    }
    vat.note_turn_end(thread, true);
    let (result, error) = (message.element(messages::RESULT), sandbox::error(sandbox));
    promises::settle_result(thread, Some(vat), result, Ending::Killed, error);
    if thread.watch.is_on {
        thread.tape_turn_lost(vat);
    }
}

fn run_new_turn(thread: &mut Thread, vat: VatRef, message: Object) {
    thread.message.clear();
    thread.message.push(message.word());
    match strands::make(thread, Some(vat), Model::Exclusive, ANY_SIZE) {
        Ok(strand) => {
            vat.set_turn(Some(strand.strand()));
            run_strand(thread, strand);
        }
        Err(_) => {
            vat.note_turn_end(thread, true);
            let result = thread.message[0].object().element(messages::RESULT);
            let error = match vat.sandbox() {
                Some(sandbox) if sandbox.is_over() => {
                    if thread.watch.is_on {
                        note_over(thread);
                    }
                    sandbox::error(sandbox)
                }
                _ => thread.vm.roots.out_of_memory.get(),
            };
            promises::settle_result(thread, Some(vat), result, Ending::Failed, error);
            if thread.watch.is_on {
                thread.tape_turn_lost(vat);
            }
        }
    }
}

/// Resumes a strand, and handles its stop.
fn run_strand(thread: &mut Thread, strand: Claimed) {
    let Some(strand) = waiting::unless_held_up(thread, strand) else { return };
    let Some(strand) = shared::unless_it_waits(thread.vm, strand) else { return };
    let reference = strand.strand();
    if let Some(anchor) = reference.anchor() {
        return anchor::hand_over(thread, strand, anchor);
    }
    // A vat that is to give way does so after this strand.
    let stays = thread.was_preempted || thread.repeats();
    thread.schedule.switches_left = if stays { 0 } else { switches::IN_A_RUN };
    resume(thread, strand);
    thread.schedule.switches_left = 0;
    let stop = std::mem::replace(&mut thread.stop, Stop::Returned);
    shared::release(thread);
    // A parked strand is not this thread's any more.
    let Some(strand) = thread.leave_strand() else { return };
    match thread.is_recording() {
        true => see_to_noted_stop(thread, strand, stop),
        false => see_to_stop(thread, strand, stop),
    }
}

/// Handles the stop of a strand that is not parked.
#[inline(always)]
fn see_to_stop(thread: &mut Thread, strand: Claimed, stop: Stop) {
    match stop {
        Stop::Parked => unreachable!("a strand that stops to wait was parked"),
        Stop::Switched | Stop::Hot => unreachable!("the tier goes on with the strand"),
        Stop::Preempted => preempted(thread, strand),
        Stop::Displaced => {
            strand::touch(thread, strand.strand());
            thread.worker.end_run();
            waiting::make_ready(thread, strand, Place::First);
        }
        Stop::Returned => finish(thread, strand, Ending::Returned),
        Stop::Failed => finish(thread, strand, Ending::Failed),
        Stop::Killed => finish(thread, strand, Ending::Killed),
        Stop::Crossed => unreachable!("there is no call of C on the native stack"),
    }
}

/// As [`see_to_stop`], while events are noted, or the run is recorded or repeats a recording. The ends of strands that others
/// may wait for are operations on shared objects. *GC point.*
#[cold]
#[inline(never)]
fn see_to_noted_stop(thread: &mut Thread, strand: Claimed, stop: Stop) {
    let ends = !matches!(stop, Stop::Preempted | Stop::Displaced);
    if !ends || thread.tape.is_none() || !strand.strand().is_told() {
        note_stop(thread, strand.strand(), stop);
        return see_to_stop(thread, strand, stop);
    }
    // The result lies where no collection looks while the strand neither runs nor stands.
    strand.strand().set_slot(&mut thread.mutator, strand::slots::VALUE, strand.result());
    let order = thread.order();
    strand.set_result(strand.strand().slot(strand::slots::VALUE));
    match order {
        Order::Closed(place) => return put_off(thread, strand, stop, Some(place)),
        Order::Finished => return put_off(thread, strand, stop, None),
        Order::Outside | Order::Recorded(_) | Order::Open | Order::Over => {}
    }
    note_stop(thread, strand.strand(), stop);
    see_to_stop(thread, strand, stop);
    if matches!(order, Order::Open) {
        thread.advance();
        timers::wake_by_tape(thread);
    }
}

/// In the replay of a recording: the strand ends when the place has come.
fn put_off(thread: &mut Thread, mut strand: Claimed, stop: Stop, place: Option<u64>) {
    let reference = strand.strand();
    let state = bottom(strand.stack().base());
    strand.stand_at(state, Standing::Stopped(stop));
    thread.leave_piece();
    let ticket = strand.park(strand::Wait::Patient).ticket;
    thread.wait_by_tape(place, reference.object.get(), ticket);
}

/// Notes that the worker runs a strand no longer.
#[inline]
fn note_stop(thread: &Thread, strand: StrandRef, stop: Stop) {
    let is_ready = matches!(stop, Stop::Preempted | Stop::Displaced);
    thread.tape_stopped(strand, is_ready);
    let kind = if is_ready { Kind::StrandPreempted } else { Kind::StrandStopped };
    thread
        .note_on(kind, || (recording::track_of(thread.vm, strand), [recording::number_of(strand)]));
}

/// Runs the strand until it stops.
fn resume(thread: &mut Thread, claimed: Claimed) {
    let (strand, standing) = (claimed.strand(), claimed.standing());
    enter(thread, claimed);
    let tier = thread.vm.tier;
    if let Standing::Stopped(stop) = standing {
        stop_again(thread, stop);
    } else {
        if standing == Standing::New {
            begin(thread, strand);
        }
        end_if_killed(thread);
        tier.run(thread);
    }
    while turns::go_on(thread) || messages::next_step(thread) {
        tier.run(thread);
    }
}

/// Begins with the strand's message.
pub(super) fn begin(thread: &mut Thread, strand: StrandRef) {
    if thread.is_noting() && recording::track_of(thread.vm, strand) == own_track(strand) {
        thread.note(Kind::StrandBegun, || {
            [recording::number_of(strand), recording::number_of_vat(thread.vm, strand.vat())]
        });
    }
    thread.start_state();
    match strand.slot(strand::slots::TASK).as_object() {
        Some(message) => messages::begin(thread, message),
        None => thread.state.pc = halt_code(),
    }
}

/// The track of a strand that is no turn.
fn own_track(strand: StrandRef) -> Track {
    Track::Strand(recording::number_of(strand))
}

/// The second half of a stop that was put off, by the vat's owner.
fn stop_again(thread: &mut Thread, stop: Stop) {
    let strand = thread.running();
    strand.set_result(strand.slot(strand::slots::VALUE));
    // It may have been held up, and ended then.
    thread.stop = if strand.delivery() == Delivery::Kill { Stop::Killed } else { stop };
}

/// Makes a strand that is ready the one that runs here, and completes the call that it waits in, if it does.
pub(super) fn enter(thread: &mut Thread, strand: Claimed) {
    let is_in_call = note_running(thread, &strand);
    thread.enter_strand(strand);
    let answer = entered(thread, is_in_call);
    complete(thread, answer);
}

/// The value that a strand's call answers. The strand has been entered, and its state still stands in the call. No GC point
/// comes before the call is [completed](complete).
#[must_use]
pub struct Answer {
    /// The call.
    pub site: &'static Site,
    /// The value.
    pub value: Word,
}

impl Answer {
    /// Completes the call, so that the state says where the strand goes on.
    #[inline(always)]
    pub fn complete(self, thread: &mut Thread) {
        calls::complete(thread, self.site, self.value);
    }
}

/// Completes the call that the strand waited in, if it still stands there.
#[inline(always)]
pub fn complete(thread: &mut Thread, answer: Option<Answer>) {
    if let Some(answer) = answer {
        answer.complete(thread);
    }
}

/// As [`enter`], in the place of a strand that is parked or in a queue. Answers the value of its call if there is nothing
/// else to do.
#[inline(always)]
pub(super) fn replace(thread: &mut Thread, next: Claimed) -> Option<Answer> {
    let is_in_call = note_running(thread, &next);
    thread.replace_strand(next);
    let answer = entered(thread, is_in_call);
    if thread.sandbox.is_none() && !thread.strand().has_wishes() {
        return answer;
    }
    complete(thread, answer);
    end_if_killed(thread);
    None
}

/// The second half of entering a strand, which waited in a call or not.
#[inline(always)]
fn entered(thread: &mut Thread, is_in_call: bool) -> Option<Answer> {
    shared::look_for_others(thread);
    if is_in_call { deliver(thread) } else { None }
}

/// As [`replace`], of a [plain](crate::concurrency::switches) thread by a strand that is plain, too.
#[inline(always)]
pub(super) fn enter_plainly(thread: &mut Thread, next: Claimed) -> Option<Answer> {
    next.set_running(thread.worker_index());
    let is_in_call = next.is_in_call();
    thread.enter_plain(next);
    let answer = if is_in_call { deliver(thread) } else { None };
    if !thread.strand().has_wishes() {
        return answer;
    }
    complete(thread, answer);
    end_if_killed(thread);
    None
}

/// Notes where the strand runs, and with which priority its vat does. Answers whether the strand has waited in a call.
#[inline(always)]
fn note_running(thread: &Thread, strand: &Claimed) -> bool {
    strand.set_running(thread.worker_index());
    if let Some(vat) = strand.vat().filter(|_| strand.model() == Model::Exclusive) {
        vat.set_running(strand.priority());
    }
    strand.is_in_call()
}

/// Handles what was asked of the strand that was just entered: its sandbox has ended, or other strands have wishes.
///
/// Its first steps may have stopped it already: a poll has preempted it, or it has parked and is not this thread's any
/// more. Its state then stands nowhere that an unwinding could begin; it is ended when it is entered again.
#[inline]
pub(super) fn end_if_killed(thread: &mut Thread) {
    if thread.stop != Stop::Returned {
        return;
    }
    if sandbox::is_over(thread) {
        unwind::kill(thread);
    } else if thread.strand().has_wishes() {
        heed(thread);
    }
}

/// Handles the wishes of other strands for this one, which is about to continue.
#[cold]
fn heed(thread: &mut Thread) {
    let strand = thread.strand();
    if strand.is_killed() {
        kill(thread, strand);
    } else {
        // It was suspended after the last look, when no thread knew where it would run.
        thread.ask_to_poll();
    }
}

/// Goes on with a strand that C has called, and that has been [handed over](anchor::hand_over) to this native
/// thread again.
pub fn reenter(thread: &mut Thread, claimed: Claimed) {
    enter(thread, claimed);
    end_if_killed(thread);
}

/// Ends a strand that is about to continue: at once if that is why it continues, otherwise at its next poll. So a
/// strand that was given the awaited object can note, by code without a poll, that it has it.
fn kill(thread: &mut Thread, strand: StrandRef) {
    match (strand.standing(), thread.running().delivery()) {
        (_, Delivery::Kill) | (Standing::New, _) => unwind::kill(thread),
        _ => thread.ask_to_poll(),
    }
}

/// Goes on after the call that the strand was parked in, or answers the value with which that is to be completed.
#[inline(always)]
fn deliver(thread: &mut Thread) -> Option<Answer> {
    let strand = thread.running();
    let value = strand.slot(strand::slots::VALUE);
    let site = strand.take_site()?;
    if strand.gets_value() {
        return Some(Answer { site, value });
    }
    deliver_specially(thread, site, strand.delivery(), value);
    None
}

#[cold]
fn deliver_specially(thread: &mut Thread, site: &'static Site, delivery: Delivery, value: Word) {
    match delivery {
        Delivery::Value => calls::complete(thread, site, value),
        Delivery::Element => match channels::delivered(thread, site, value) {
            Ok(value) => calls::complete(thread, site, value),
            Err(failure) => calls::fail(thread, site, failure),
        },
        Delivery::Exception => {
            let outcome = unwind::signal(thread, value);
            calls::finish(thread, site, outcome);
        }
        Delivery::Poison => {
            calls::fail(thread, site, Failure::with(FailureReason::Poisoned, value, Word::NIL))
        }
        Delivery::Kill => {}
    }
}

/// Puts a strand that was made to stop back into its queue. Each switch goes through this: it is part of the
/// worker's loop.
#[inline(always)]
pub fn preempted(thread: &mut Thread, strand: Claimed) {
    strand::touch(thread, strand.strand());
    // A yielding strand goes behind the others of the vat. Otherwise the strand keeps its place there; if it was not
    // asked to give way to one of those, the vat gives way.
    let yields = std::mem::take(&mut thread.yields);
    let gives_way = std::mem::take(&mut thread.gives_way);
    thread.was_preempted |= !yields && !gives_way;
    let place = if yields { Place::Last } else { Place::First };
    waiting::make_ready(thread, strand, place);
}

/// Ends a strand: wakes the strands that wait for it, and sends the result to the destination in its message.
fn finish(thread: &mut Thread, claimed: Claimed, ending: Ending) {
    let strand = claimed.strand();
    let value = claimed.result();
    let vat = strand.vat();
    let task = strand.slot(strand::slots::TASK);
    let role = strand.role();
    let result = strands::result_of(strand).unwrap_or(Word::NIL);
    let turn = vat.filter(|vat| vat.turn() == Some(strand));
    let has_failed = ending != Ending::Returned;
    if let Some(vat) = turn {
        vat.note_turn_end(thread, has_failed);
        vat.set_turn(None);
    } else {
        thread.note_on(Kind::StrandEnded, || {
            (own_track(strand), [recording::number_of(strand), u64::from(has_failed)])
        });
    }
    if role == Role::Branch {
        forks::take_from_list(thread, strand.object());
    }
    let claimed = if turn.is_some() { strand::keep(thread, claimed) } else { Some(claimed) };
    if let Some(claimed) = claimed {
        announce_end(thread, strand, ending, value);
        strand::free(thread, claimed);
    }
    if role == Role::Branch {
        return forks::branch_ended(thread, task, ending, value);
    }
    promises::settle_result(thread, vat, result, ending, value);
}

/// Notes in the strand's object how it ended, and wakes the strands that wait for that.
fn announce_end(thread: &mut Thread, strand: StrandRef, ending: Ending, value: Word) {
    let object = strand.object();
    waiting::lock(&mut thread.mutator, object);
    strand::set_ending(thread, object, ending, value);
    let joiners = waiting::take_all(thread, object, strand::slots::JOINERS);
    waiting::unlock(&mut thread.mutator, object);
    let delivery = if ending == Ending::Failed { Delivery::Exception } else { Delivery::Value };
    waiting::wake_all(thread, joiners, delivery, value);
}

/// Runs `work`, which touches no object and may block or run foreign code: collections continue meanwhile, and if it
/// takes long, another native thread takes over this one's items. *GC point.*
///
/// Afterwards the vat may be another worker's. The primitive that called this may then still read its arguments, and
/// make objects, but no more than that; the strand continues when it is its turn.
pub fn outside<R>(thread: &mut Thread, work: impl FnOnce() -> R) -> R {
    go_outside(thread);
    let result = work();
    come_back(thread);
    result
}

/// The first half of [`outside`]. *GC point.*
#[inline]
pub fn go_outside(thread: &mut Thread) {
    thread.note(Kind::CalloutBegun, || [recording::number_of_site(thread.call_site)]);
    let is_left = !thread.is_displaced && thread.leaves_vat();
    let vat = vat_of_exclusive(thread.strand()).filter(|_| is_left);
    if let Some(vat) = vat.filter(|_| thread.is_recording()) {
        thread.tape_leaves(vat);
    }
    leave_place(thread, vat);
}

/// As [`go_outside`], for a strand that a debugger has stopped while others go on. Its vat goes on unless it is kept. No call
/// is in progress, or none that [`stand_in`] would complete. *GC point.*
pub fn stand_aside(thread: &mut Thread, keeps_vat: bool) {
    let vat = vat_of_exclusive(thread.strand()).filter(|_| !thread.is_displaced && !keeps_vat);
    leave_place(thread, vat);
}

/// The second half of [`stand_aside`]: afterwards the thread may be displaced. *GC point.*
pub fn stand_in(thread: &mut Thread, has_kept_vat: bool) {
    return_to_place(thread, !has_kept_vat);
    if thread.is_displaced || guarded::is_out_of_step(thread) {
        thread.must_look.set(true);
    }
}

/// Another worker may take this one's place, and the vat if there is one, until [`return_to_place`].
#[inline]
fn leave_place(thread: &mut Thread, vat: Option<VatRef>) {
    thread.left_vat.store(vat.map_or(0, VatRef::address), Ordering::Relaxed);
    thread.leave_plain();
    let Thread { mutator, worker, .. } = thread;
    mutator.enter_native();
    worker.go_outside();
}

/// The second half of [`outside`]. *GC point.*
#[inline]
pub fn come_back(thread: &mut Thread) {
    return_to_place(thread, thread.leaves_vat());
    if thread.is_recording() && thread.left_vat.load(Ordering::Relaxed) != 0 && !thread.is_displaced
    {
        thread.tape_returns();
        thread.begin_counting_here();
    }
    thread.note(Kind::CalloutEnded, || []);
    sampling::take(thread, State::Outside);
    // See `transactions/guarding.rs`.
    if thread.is_displaced || guarded::is_out_of_step(thread) {
        thread.must_look.set(true);
    }
}

/// The second half of [`leave_place`], after which a vat that was left may be another worker's.
#[inline]
fn return_to_place(thread: &mut Thread, has_left_vat: bool) {
    if !thread.is_guarded {
        let vat = thread.strand().vat();
        thread.plain_in.store(vat.map_or(0, VatRef::address), Ordering::Relaxed);
    }
    let returned = thread.worker.come_back();
    thread.mutator.leave_native();
    if returned == Return::Replaced && has_left_vat {
        reclaim_vat(thread);
    }
}

#[cold]
#[inline(never)]
fn reclaim_vat(thread: &mut Thread) {
    let vat = vat_of_exclusive(thread.strand());
    thread.is_displaced = vat.is_some_and(|vat| !vat.reclaim(thread.worker_index()));
}

/// The vat that the worker of this strand owns.
#[inline]
pub fn vat_of_exclusive(strand: StrandRef) -> Option<VatRef> {
    strand.vat().filter(|_| strand.model() == Model::Exclusive)
}

/// How large the native stacks of workers may become. C needs some, and callbacks nest on them.
const NATIVE_STACK: usize = 8 << 20;

/// The scheduler's calls into the runtime.
pub struct WorkerHooks;

impl Hooks<TimerKey> for WorkerHooks {
    fn start_worker(&self) {
        let vm = Vm::of_process();
        let builder = std::thread::Builder::new().name("worker".into()).stack_size(NATIVE_STACK);
        let worker = builder.spawn(move || {
            let mut thread = Thread::attach(vm);
            // Until the program ends, or the thread is surplus. If no item is left to run, the embedder's thread is in
            // C: then no thread waits for it once the end is near.
            if work(&mut thread, |_| false) == Finished::Stalled
                && let Some(code) = vm.ended.near_code()
            {
                stalls::look_once_more(&mut thread);
                vm.end(code);
            }
        });
        // Without another native thread, those that are there do the work.
        drop(worker);
    }

    fn timer_due(&self, key: TimerKey) {
        let vm = Vm::of_process();
        vm.concurrency().timers.set_due(key);
        vm.scheduler.inject(Item::TIMER);
    }

    fn preempt(&self, worker: WorkerId) {
        Vm::of_process().pass_request(worker.index() as u32);
    }

    fn lacks_thread(&self, error: &std::io::Error) {
        Vm::of_process().lacks_thread(error);
    }

    fn replaced(&self, worker: WorkerId) {
        let vm = Vm::of_process();
        if let Some(vat) = vm.left_vat(worker).filter(|vat| vat.take_away()) {
            vm.scheduler.inject(Item::vat(vat));
        }
    }
}

/// Runs a function to its end on the calling thread, as a strand of the main vat that cannot wait:
/// for the boot. *GC point.*
pub fn run_function(
    thread: &mut Thread,
    function: &'static crate::model::function::Function,
    arguments: &[Word],
) -> Result<Word, Failure> {
    // The strand has no message to begin with; the arguments are kept after its place.
    thread.message.clear();
    thread.message.push(strand::EMBEDDER);
    thread.message.extend_from_slice(arguments);
    let strand = strands::make(thread, thread.vm.main_vat(), Model::Exclusive, ANY_SIZE)?;
    strand.set_running(thread.worker_index());
    thread.enter_strand(strand);
    thread.start_state();
    thread.message.remove(0);
    calls::enter_message(thread, crate::state::stack::exit_site(), function);
    let tier = thread.vm.tier;
    tier.run(thread);
    while thread.stop == Stop::Preempted {
        // There is no other strand to give way to.
        let strand = thread.stop_running();
        thread.enter_strand(strand);
        tier.run(thread);
    }
    let stop = std::mem::replace(&mut thread.stop, Stop::Returned);
    let Some(strand) = thread.leave_strand() else {
        return Err(Failure::new(FailureReason::NotSupported));
    };
    let value = strand.result();
    strand::set_ending(thread, strand.object(), Ending::Returned, value);
    strand::free(thread, strand);
    match stop {
        Stop::Returned => Ok(value),
        _ => Err(Failure::new(FailureReason::NotSupported)),
    }
}

/// Sends a message to an object of the main vat in a turn of its own, past visibility, and runs ready items until the
/// answer is there. The words are receiver and arguments. *GC point.*
pub fn call(thread: &mut Thread, selector: &str, words: &[Word]) -> Result<Finished, Failure> {
    let vm = thread.vm;
    thread.message.clear();
    thread.message.extend_from_slice(words);
    let selector = vm.name_word(thread, vm.symbol(selector))?;
    post_and_work(thread, selector)
}

/// Makes the platform run the program, like [`call`]: the answer is a promise for the end, or the end. *GC point.*
pub fn run_program(thread: &mut Thread) -> Result<Finished, Failure> {
    thread.message.clear();
    thread.message.push(thread.vm.roots.platform.get());
    post_and_work(thread, messages::PROGRAM)
}

/// Posts a message of the embedder to the main vat, of this kind and with the words of the thread's message, and runs
/// ready items until the answer is there. *GC point.*
fn post_and_work(thread: &mut Thread, kind: Word) -> Result<Finished, Failure> {
    let vm = thread.vm;
    // SAFETY: the message is not changed before its words were copied.
    let window = unsafe { Window::new(thread.message.as_mut_ptr(), thread.message.len()) };
    vm.concurrency().embedder.begin();
    let message = messages::make(thread, kind, strand::EMBEDDER, window)?;
    let vat = vm.main_vat().ok_or(Failure::new(FailureReason::NotSupported))?;
    vat.post(thread, message);
    Ok(work(thread, |vm| vm.concurrency().embedder.is_done()))
}

/// With a seed, the program ends if its end has been near for too long: asked at polls.
pub fn end_if_late(vm: &'static Vm) {
    if vm.scheduler.now() >= vm.ended.due.load(Ordering::Relaxed) {
        end_late(vm, vm.ended.near_code().unwrap_or(0));
    }
}
