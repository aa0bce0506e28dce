//! Switches: a strand that waits or yields gives its place to the next one, in the same run of the tier. Calls use this
//! by way of the [services](crate::concurrency::services), as the last thing that they do.
//!
//! A strand that stops usually goes back through the tier to the worker's loop, which finds the next item and enters the
//! tier again. Where strands communicate all the time, that way takes longer than what they do. A switch does the same
//! in one step: it leaves one strand, finds the next one, enters that, and the saved state says where the tier goes on.
//! The tier cannot tell a switch from a return or an exception, which leave it in another activation, too.
//!
//! Only the usual case is done here: the next strand needs nothing that the worker's loop must see to. In each other
//! case the tier stops, and the loop goes on where the switch has left off: [`Thread::schedule`] says which vat this
//! worker owns then, and which item was taken and not begun.
//!
//! Between processes, which are in no vat, even fewer questions are necessary: those of `is_plain` to the thread, and of
//! [`Held::is_plain`](strand::Held::is_plain) to the next strand.
//!
//! A switch leaves the last step to the tier: if the next strand waited in a call, it answers the value of that call, which
//! machine code puts where it goes on. [`Thread::state`] stands in the call until then.
//!
//! Invariants: the order of strands is the one of the worker's loop, so a seed's schedule does not depend on switches.
//! The strand that is left was parked, or is in a queue. There are at most [`IN_A_RUN`] switches in one run of the tier,
//! so that the loop looks at its condition, and at the clock.

use squall_events::Kind;
use squall_heap::Word;

use crate::concurrency::vats::Ready;
use crate::concurrency::waiting::{self, Place};
use crate::concurrency::worker::{self, Answer};
use crate::execution::calls;
use crate::model::function::Site;
use crate::state::items::{Item, ItemKind};
use crate::state::recording;
use crate::state::strand::{self, Claimed, Model, Standing, StrandRef};
use crate::state::thread::{Stop, Thread};
use crate::state::vat::VatRef;

/// How many strands may follow each other in one run of the tier.
pub const IN_A_RUN: u32 = 64;

/// The strand that ran here was parked: the next one goes on here, or the tier stops.
#[inline(always)]
pub fn parked(thread: &mut Thread) -> Option<Answer> {
    match is_plain(thread) {
        true => go_on_plainly(thread),
        false => parked_in_general(thread),
    }
}

#[inline(never)]
fn parked_in_general(thread: &mut Thread) -> Option<Answer> {
    match may_switch(thread) {
        true => go_on_in_general(thread),
        false => stop(thread),
    }
}

/// The worker's loop goes on.
#[cold]
fn stop(thread: &mut Thread) -> Option<Answer> {
    calls::stop(thread, Stop::Parked);
    None
}

/// The strand that runs here, whose state is saved, yields to all others: the next one goes on here, or the tier stops.
#[inline(always)]
pub fn yields(thread: &mut Thread) -> Option<Answer> {
    yields_at(thread, None)
}

/// As [`yields`], in the call of a site, which answers nil.
#[inline(always)]
pub fn yields_in_call(thread: &mut Thread, site: &'static Site) -> Option<Answer> {
    yields_at(thread, Some(site))
}

#[inline(always)]
fn yields_at(thread: &mut Thread, call: Option<&'static Site>) -> Option<Answer> {
    if !is_plain(thread) || !waiting::is_free_to_go(thread.strand()) {
        return yields_in_general(thread, call);
    }
    let stopped = stop_to_yield(thread, call);
    stopped.set_ready();
    thread.worker.push(Item::strand(stopped.hand_on()));
    go_on_plainly(thread)
}

#[inline(never)]
fn yields_in_general(thread: &mut Thread, call: Option<&'static Site>) -> Option<Answer> {
    if !may_switch(thread) {
        if let Some(site) = call {
            calls::complete(thread, site, Word::NIL);
        }
        thread.yields = true;
        calls::preempt(thread);
        return None;
    }
    thread.note(Kind::StrandPreempted, || [recording::number_of(thread.strand())]);
    if thread.is_recording() {
        thread.tape_yields();
    }
    let stopped = stop_to_yield(thread, call);
    let Some(vat) = rotated_vat(thread, &stopped) else {
        waiting::make_ready(thread, stopped, Place::Last);
        return go_on_in_general(thread);
    };
    count_switch(thread);
    let next = next_of_vat(thread, vat, stopped);
    go_on_if_found(thread, next)
}

/// The strand that runs here, whose state is saved, leaves the thread for a queue.
#[inline(always)]
fn stop_to_yield(thread: &mut Thread, call: Option<&'static Site>) -> Claimed {
    let stopped = thread.stop_plain();
    strand::touch(thread, stopped.strand());
    match call {
        None => stopped.stand_at(thread.state, Standing::BeforeInstruction),
        Some(site) => {
            stopped.stand_at(thread.state, Standing::InCall);
            stopped.set_site(Some(site));
            stopped.set_slot(&mut thread.mutator, strand::slots::VALUE, Word::NIL);
        }
    }
    stopped
}

/// Whether the thread may switch, owns no vat, and has nothing that a strand in no vat would not bring along: no events
/// are noted, and there is no debugger, no sandbox, no transaction and no guarded access.
#[inline(always)]
fn is_plain(thread: &Thread) -> bool {
    may_switch(thread) && thread.schedule.owned.is_none() && thread.is_plain()
}

/// The next strand goes on here, after one that has left a [plain](is_plain) thread. If the next one needs no more than
/// such a thread has, it is entered at once.
#[inline(always)]
fn go_on_plainly(thread: &mut Thread) -> Option<Answer> {
    let Some(item) = thread.worker.try_near() else { return go_on_in_general(thread) };
    count_switch(thread);
    let Some(strand) = item.strand_alone() else { return go_on_at(thread, item) };
    // SAFETY: the strand comes out of a queue, which had it once.
    let strand = unsafe { Claimed::new(strand) };
    if !strand.is_plain() || strand.has_wishes() || !strand.stands_in_code() {
        strand.hand_on();
        return go_on_at(thread, item);
    }
    thread.native_stack.is_outdated = true;
    worker::enter_plainly(thread, strand)
}

/// Goes on with an item that this worker has begun.
#[inline(never)]
fn go_on_at(thread: &mut Thread, item: Item) -> Option<Answer> {
    let next = strand_of_item(thread, item);
    go_on_if_found(thread, next)
}

/// The next strand goes on here, or the tier stops.
#[inline(never)]
fn go_on_in_general(thread: &mut Thread) -> Option<Answer> {
    count_switch(thread);
    let next = next_strand(thread);
    go_on_if_found(thread, next)
}

/// The strand goes on here; if there is none, the tier stops.
fn go_on_if_found(thread: &mut Thread, next: Option<Claimed>) -> Option<Answer> {
    match next {
        Some(next) => go_on(thread, next),
        None => stop(thread),
    }
}

/// The vat that has the next strand in any case after this one, which yields: that of both, owned by this worker.
fn rotated_vat(thread: &Thread, stopped: &Claimed) -> Option<VatRef> {
    let vat = thread.schedule.owned.filter(|_| thread.schedule.batch > 0)?;
    let is_its = stopped.vat() == Some(vat) && stopped.model() == Model::Exclusive;
    let is_begun_so = || stopped.priority() == vat.running();
    (is_its && is_begun_so()).then_some(vat)
}

/// The next strand of the vat that this worker owns, after this one was put behind the others.
fn next_of_vat(thread: &mut Thread, vat: VatRef, stopped: Claimed) -> Option<Claimed> {
    thread.schedule.batch -= 1;
    match vat.next_ready_after(thread, stopped, may_be_entered) {
        Ready::Strand(strand) => Some(strand),
        Ready::Other | Ready::Nothing => None,
    }
}

/// Whether nothing but the next strand is to be seen to when the running strand stops. If the program ends meanwhile, the
/// worker's loop learns that after this run.
#[inline(always)]
fn may_switch(thread: &Thread) -> bool {
    let has_c_below = || thread.strand().anchor().is_some();
    thread.schedule.switches_left > 0
        && thread.transaction.is_none()
        && !thread.must_look.get()
        && !thread.is_displaced
        && !has_c_below()
}

/// Notes that this worker goes on to another item.
#[inline(always)]
fn count_switch(thread: &mut Thread) {
    thread.schedule.switches_left -= 1;
    thread.schedule.items_run = thread.schedule.items_run.wrapping_add(1);
}

/// The next strand in the worker's order.
fn next_strand(thread: &mut Thread) -> Option<Claimed> {
    if let Some(vat) = thread.schedule.owned {
        if thread.schedule.batch == 0 {
            return None;
        }
        thread.schedule.batch -= 1;
        match vat.next_ready(thread, may_be_entered) {
            Ready::Strand(strand) => return Some(strand),
            Ready::Other => return None,
            Ready::Nothing => thread.schedule.owned = None,
        }
    }
    let item = thread.worker.try_next()?;
    strand_of_item(thread, item)
}

/// The strand of an item that this worker has begun, unless the worker's loop has to see to the item.
fn strand_of_item(thread: &mut Thread, item: Item) -> Option<Claimed> {
    thread.schedule.batch = worker::BATCH;
    match item.kind() {
        ItemKind::Strand(strand) => take_strand(thread, strand, item),
        ItemKind::Vat(vat) => take_vat(thread, vat),
        _ => {
            thread.schedule.next_item = Some(item);
            None
        }
    }
}

/// The strand, which an item is, unless the worker's loop has to see to that.
fn take_strand(thread: &mut Thread, strand: StrandRef, item: Item) -> Option<Claimed> {
    // SAFETY: the strand comes out of a queue, which had it once.
    let strand = unsafe { Claimed::new(strand) };
    let is_alone = strand.vat().is_none() || strand.model() == Model::Parallel;
    if is_alone && may_be_entered(thread, &strand) {
        return Some(strand);
    }
    strand.hand_on();
    thread.schedule.next_item = Some(item);
    None
}

/// Owns the vat of an item. Answers its next strand, unless the worker's loop has to see to the vat.
fn take_vat(thread: &mut Thread, vat: VatRef) -> Option<Claimed> {
    vat.own(thread.worker_index());
    thread.schedule.owned = Some(vat);
    match vat.next_ready(thread, may_be_entered) {
        Ready::Strand(strand) => return Some(strand),
        Ready::Nothing => thread.schedule.owned = None,
        Ready::Other => {}
    }
    None
}

/// Whether nothing has to be seen to before the strand runs.
#[inline(always)]
fn may_be_entered(thread: &Thread, strand: &Claimed) -> bool {
    strand.stands_in_code()
        && !strand.has_wishes()
        && !strand.is_shared()
        && strand.anchor().is_none()
        && strand.home() == thread.home
}

/// Enters a strand; the state says where the tier goes on.
fn go_on(thread: &mut Thread, strand: Claimed) -> Option<Answer> {
    thread.native_stack.is_outdated = true;
    let answer = worker::replace(thread, strand);
    if thread.is_guarded == thread.runs_guarded && !thread.watch.steps {
        return answer;
    }
    worker::complete(thread, answer);
    if thread.stop == Stop::Returned {
        thread.resumption = thread.state;
        calls::stop(thread, Stop::Switched);
    }
    None
}
