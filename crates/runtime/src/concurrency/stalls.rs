//! Stalls: strands that wait in vain, and the report about them. A worker that finds no more work calls it, and the
//! collector calls it for lost strands.
//!
//! When no item is ready and none is expected from outside, every remaining strand waits for another one: a *deadlock*,
//! which ends the program. A strand that no root reaches can never be woken: the collector finds it, and frees it. It
//! is *lost*; the program continues, and reports it at its end.
//!
//! A strand's object names the object that it waits for, and thereby in some cases the strand that could wake it: the
//! strand to be joined, or the holder of a mutex. If that leads back, the report names each cycle. If the program waits
//! for a promise, the report names its origin.

use std::collections::HashSet;
use std::fmt::Write;

use parking_lot::Mutex;
use squall_heap::{CollectionKind, LayoutId, Object, RootAddress, Tracer, Word};

use crate::concurrency::channels;
use crate::concurrency::locks;
use crate::concurrency::processes::forks;
use crate::concurrency::promises::{self, unsettled, unsettled::Settler};
use crate::concurrency::sandbox;
use crate::concurrency::transactions::sleepers;
use crate::concurrency::transactions::sleepers::{FOR_CHANGE, FOR_INEVITABLE, FOR_PARTS};
use crate::execution::stack_traces;
use crate::model::function::Function;
use crate::model::known;
use crate::state::stack::Activation;
use crate::state::strand::{self, Model, Role, Standing, StrandRef, Strands, slots};
use crate::state::thread::Thread;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// The exit code of a program that waits for something that cannot happen.
pub const DEADLOCK: i32 = 1;

/// The number of strands that a report describes in full, and of cycles.
const DESCRIBED: usize = 32;

/// The record of strands that can never continue.
#[derive(Default)]
pub struct Stalls(Mutex<Lost>);

#[derive(Default)]
struct Lost {
    /// How many strands the collector has found.
    found: usize,
    /// How many of them are reported.
    count: usize,
    descriptions: Vec<String>,
    /// The objects that `main:` could have used when it returned, if they are known: they count as referenced until the
    /// program ends.
    had: Option<Vec<Word>>,
    /// Whether strands that get lost are of no interest any more.
    is_closed: bool,
}

impl Stalls {
    /// Reports that no strand can run any more, what each strand waits for, and why the promise for the end of the
    /// program is not settled, if there is one. All workers are parked, except the caller.
    pub fn report(&self, vm: &Vm, end: Word) {
        vm.host().write_error(&self.describe(vm, end));
    }

    /// The report as text.
    pub fn describe(&self, vm: &Vm, end: Word) -> String {
        let mut text = String::from("deadlock: nothing is left that could run\n");
        let strands = idle_strands(vm);
        if let Some(end) = promises::promise_in(vm, end) {
            describe_end(vm, &strands, end, &mut text);
        }
        describe_all(vm, &strands, &mut text);
        vm.sandboxes.describe_ended(&mut text);
        text
    }

    /// The program's end is near. A strand without references from now on was not lost, unless the objects of `main:`
    /// are known.
    pub fn close(&self) {
        let mut inner = self.0.lock();
        inner.is_closed = inner.had.is_none();
    }

    /// Shows the objects of `main:` to the collector, while all mutators stand.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        self.0.lock().had.iter_mut().flatten().map(RootAddress::from).for_each(visit);
    }

    /// The collector found strands that nothing can wake. The objects that they refer to may be gone.
    pub(crate) fn lose(&self, vm: &'static Vm, lost: Vec<StrandRef>, tracer: &mut Tracer<'_>) {
        let strands = &vm.strands;
        let mut inner = self.0.lock();
        inner.found += lost.len();
        for strand in lost {
            // A process of an object that was never complete has not begun, and waits for nothing.
            let counts = !inner.is_closed && !strand.is_held();
            inner.count += usize::from(counts);
            if counts && inner.descriptions.len() < DESCRIBED {
                let trace = stack_traces::render_strand(strand, strand.activations());
                inner.descriptions.push(format!("{}\n{trace}", name(strands, strand)));
            }
            sandbox::ends::lose(strand, tracer);
            if let Some(vat) = strand.vat() {
                vat.lose_turn(strand);
            }
            sleepers::lose_right(vm, strand);
            strand::free_lost(strands, strand);
        }
    }

    /// The number of lost strands that the collector has found.
    fn found(&self) -> usize {
        self.0.lock().found
    }

    /// Says which strands were lost, if any were.
    pub fn report_lost(&self, vm: &Vm) {
        let inner = self.0.lock();
        if inner.count > 0 {
            let (verb, pronoun) = match inner.count {
                1 => ("strand was", "it"),
                _ => ("strands were", "they"),
            };
            let mut text = format!(
                "{} {verb} lost: {pronoun} waited for an object that no other strand could reach\n",
                inner.count
            );
            inner.descriptions.iter().for_each(|description| text.push_str(description));
            describe_rest(inner.count, &mut text);
            vm.host().write_error(&text);
        }
    }
}

/// Notes the objects of `main:`, which has returned by the end of its text. The stack is empty except for the words
/// that `main:` has left there.
pub fn main_returned(thread: &mut Thread) {
    let vm = thread.vm;
    let Some(main) = vm.main_method.get() else { return };
    let Some(words) = main.words_at_return() else { return };
    let mut inner = vm.concurrency().stalls.0.lock();
    let frame = thread.stack().base();
    let end = frame.wrapping_add(main.frame_words as usize);
    if inner.had.is_some() || end as usize > thread.stack().limit() {
        // A block has returned for it, or the frame was elsewhere.
        return;
    }
    // SAFETY: the frame that begins an empty stack was that of `main:`. By the maps of that function,
    // which were those of all collections, these registers held words when it returned, and nothing was
    // called since.
    let words = words.iter().map(|register| unsafe { frame.add(register.index()).read() });
    inner.had = Some(words.collect());
}

/// Notes the objects of `main:`, if this is its activation, which a block or an exception leaves.
pub fn main_left(thread: &mut Thread, activation: Activation) {
    let function: &Function = activation.function;
    let is_main = thread.vm.main_method.get().is_some_and(|main| std::ptr::eq(*main, function));
    if is_main && activation.frame == thread.stack().base() {
        let words = function.frame_maps().at(activation.pc).iter();
        // SAFETY: the live map has these registers initialised with words.
        let words = words.map(|register| unsafe { activation.register(register.index()).read() });
        thread.vm.concurrency().stalls.0.lock().had = Some(words.collect());
    }
}

/// Forgets the objects of `main:`: it has answered a promise, and the program continues.
pub fn forget_main(vm: &Vm) {
    vm.concurrency().stalls.0.lock().had = None;
}

/// Looks for lost strands once more, now that the program ends, so that they are reported even if no collection has
/// found them before. The objects that `main:` could have used when it returned count as referenced, and so do strands
/// that wait for a time. *GC point.*
pub fn look_once_more(thread: &mut Thread) {
    let vm = thread.vm;
    let is_worth_it = vm.concurrency().stalls.0.lock().had.is_some();
    if is_worth_it && vm.strands.all().iter().any(|strand| strand.is_parked()) {
        thread.mutator.collect(CollectionKind::Full);
    }
    vm.concurrency().stalls.0.lock().is_closed = true;
}

/// No item is left to run. If strands wait for an inevitable transaction, its strand may be lost, and no collection has
/// found that yet. Collects, and answers whether a strand was lost: then others may go on. *GC point.*
pub fn frees_right(thread: &mut Thread) -> bool {
    let vm = thread.vm;
    if vm.ended.near_code().is_some() || !vm.transactions.sleepers.await_right() {
        return false;
    }
    let stalls = &vm.concurrency().stalls;
    let before = stalls.found();
    thread.mutator.collect(CollectionKind::Full);
    stalls.found() > before
}

/// A description of the present activity of all strands, of a VM that continues afterwards. The calling thread is none
/// of the VM's.
pub fn picture(vm: &Vm) -> String {
    vm.heap.while_stopped(|| {
        let mut text = String::new();
        vm.describe_running(&mut text);
        describe_all(vm, &idle_strands(vm), &mut text);
        text
    })
}

/// Describes a strand that runs, which stands in these activations.
pub fn describe_running(
    vm: &Vm,
    strand: StrandRef,
    place: &str,
    activations: impl Iterator<Item = Activation>,
    text: &mut String,
) {
    _ = writeln!(text, "{} runs on {place}", name(&vm.strands, strand));
    text.push_str(&stack_traces::render_strand(strand, activations));
}

/// All strands that do not run and have something to do, in the order in which they were made. The caller ensures that
/// nothing changes meanwhile.
pub(crate) fn idle_strands(vm: &Vm) -> Vec<StrandRef> {
    let mut strands = vm.strands.all();
    // Those that are kept for the next turn have nothing to do.
    let is_kept = |strand: StrandRef| {
        strand.standing() == Standing::New && strand.slot(slots::TASK) == Word::NIL
    };
    strands.retain(|&strand| !strand.is_running() && !is_kept(strand));
    strands.sort_unstable_by_key(|strand| strand.identity());
    strands
}

/// Describes why the promise for the end of the program, which waits for the one that `main:` has
/// answered, is not settled.
fn describe_end(vm: &Vm, strands: &[StrandRef], end: Object, text: &mut String) {
    let Some(answered) = unsettled::awaited(end) else { return };
    text.push_str("main: has answered a promise made\n");
    let settler = unsettled::describe(answered, vm, strands, text);
    let name = |strand| name(&vm.strands, strand);
    _ = match settler {
        Settler::Strand(strand) => writeln!(text, "that {} is to settle", name(strand)),
        Settler::After(turn) => writeln!(text, "whose message comes after {}", name(turn)),
        Settler::AfterLost => writeln!(text, "whose message comes after a turn that was lost"),
        Settler::Held => {
            writeln!(text, "whose message is for an actor of an object that was never complete")
        }
        Settler::Circle => writeln!(text, "that waits for itself"),
        Settler::HolderOf(strand) => writeln!(text, "whose resolver {} holds", name(strand)),
        Settler::HolderAfter(turn) => {
            writeln!(text, "whose resolver is in a message that comes after {}", name(turn))
        }
        Settler::Nobody => writeln!(text, "that no live strand can resolve"),
    };
}

/// Describes strands, and the objects that they wait for.
fn describe_all(vm: &Vm, strands: &[StrandRef], text: &mut String) {
    for &strand in strands.iter().take(DESCRIBED) {
        describe(vm, strand, text);
    }
    describe_rest(strands.len(), text);
    let cycles = find_cycles(&vm.strands, strands);
    for cycle in cycles.iter().take(DESCRIBED) {
        let names = cycle.iter().map(|&strand| name(&vm.strands, strand));
        let names: Vec<String> = names.collect();
        _ = writeln!(text, "cycle: {} → {}", names.join(" → "), names[0]);
    }
    describe_rest(cycles.len(), text);
}

fn describe_rest(count: usize, text: &mut String) {
    if count > DESCRIBED {
        _ = writeln!(text, "  … and {} more", count - DESCRIBED);
    }
}

fn describe(vm: &Vm, strand: StrandRef, text: &mut String) {
    _ = write!(text, "{}", name(&vm.strands, strand));
    if let Some(thread) = vm.native_threads.name(strand.home()) {
        _ = write!(text, ", bound to native thread {thread},");
    }
    _ = writeln!(text, " {}", state_of(vm, strand));
    vm.transactions.sleepers.describe_retry(vm, strand, text);
    text.push_str(&stack_traces::render_strand(strand, strand.activations()));
}

/// What a strand that does not run does, after its name.
pub(crate) fn state_of(vm: &Vm, strand: StrandRef) -> String {
    if !strand.is_parked() {
        let is_new = strand.standing() == Standing::New;
        return if is_new { "has not begun".into() } else { "is ready".into() };
    }
    let since = vm.ticks().wrapping_sub(strand.parked_at());
    let waits_for = match vm.concurrency().timers.describe_awaited(strand) {
        Some(resource) => format!("for {resource}"),
        None => waits_for(vm, strand),
    };
    format!("waits {waits_for}, for {}.{:03} s", since / 1000, since % 1000)
}

/// The name of a strand in reports.
pub(crate) fn name(strands: &Strands, strand: StrandRef) -> String {
    let kind = match (strand.model(), strand.vat()) {
        _ if strand.role() == Role::Branch => "branch",
        (Model::Parallel, _) => "thread",
        (Model::Exclusive, None) => "process",
        _ if matches!(strand.role(), Role::Maker | Role::Process | Role::Typed) => "process",
        (Model::Exclusive, Some(vat)) if vat.turn() == Some(strand) => "turn",
        (Model::Exclusive, Some(_)) => "strand",
    };
    format!("{kind} {}", strands.number_of(strand))
}

/// The object that a strand waits for, with its preposition.
fn waits_for(vm: &Vm, strand: StrandRef) -> String {
    let strands = &vm.strands;
    let what = strand.slot(slots::WAITS_FOR);
    let Some(object) = what.as_object() else {
        return match (what, inevitable(strands, strand)) {
            (Word::NIL, _) => "to be resumed".into(),
            (FOR_CHANGE, _) => "for a change of an object that its transaction has read".into(),
            (FOR_PARTS, _) => "for an atomic block of another strand of its transaction".into(),
            (FOR_INEVITABLE, Some(other)) => {
                format!("for the end of the inevitable transaction of {}", name(strands, other))
            }
            (FOR_INEVITABLE, None) => "for the end of an inevitable transaction".into(),
            _ => "for a time".into(),
        };
    };
    match object.layout() {
        known::STRAND => match StrandRef::of_object(object) {
            Some(strand) => format!("for the end of {}", name(strands, strand)),
            None => "for a strand that has ended".into(),
        },
        known::MUTEX | known::SHARED_MUTEX => match holder(object) {
            Some(strand) => format!("for a mutex that {} holds", name(strands, strand)),
            None => "for a mutex whose holder has ended".into(),
        },
        known::JOIN => waits_for_branches(vm, object),
        known::VAT => "for room in the mailbox of an actor".into(),
        known::SANDBOX => "for the receivers of its sandbox's messages".into(),
        layout => match kind_of(layout) {
            Some(kind) => format!("for {kind} (#{:x})", object.identity_hash()),
            None => waits_for_choice(object),
        },
    }
}

/// A strand that waits for one of the remaining branches might be waiting for the one that has failed, or was never
/// made.
fn waits_for_branches(vm: &Vm, join: Object) -> String {
    let branches = match forks::remaining(join) {
        1 => "for the last branch of its par".to_owned(),
        count => format!("for {count} branches of its par"),
    };
    match forks::exception(join) {
        Some(exception) => {
            format!("{branches}, to signal {}", stack_traces::describe_exception(vm, exception))
        }
        None => branches,
    }
}

/// The channels of a choice are where its result will be.
fn waits_for_choice(pair: Object) -> String {
    let channels = channels::channels_of_choice(pair);
    let numbers = channels.map(|channel| format!("#{:x}", channel.identity_hash()));
    format!("for one of several channels ({})", numbers.collect::<Vec<_>>().join(", "))
}

/// The kind of objects that reports name by number.
fn kind_of(layout: LayoutId) -> Option<&'static str> {
    Some(match layout {
        known::CHANNEL => "a channel",
        known::CONDITION => "a condition",
        known::SEMAPHORE => "a semaphore",
        known::BARRIER => "a barrier",
        known::BUCKET => "a bucket",
        _ => return None,
    })
}

/// The strand that holds a mutex, unless it has ended.
fn holder(lock: Object) -> Option<StrandRef> {
    let holder = lock.slot(locks::slots::HOLDER).as_object()?;
    (holder.layout() == known::STRAND).then(|| StrandRef::of_object(holder)).flatten()
}

/// The strand whose transaction is inevitable, if this one waits for that.
fn inevitable(strands: &Strands, strand: StrandRef) -> Option<StrandRef> {
    if strand.slot(slots::WAITS_FOR) != FOR_INEVITABLE {
        return None;
    }
    let memory = strand.vat()?.memory()?;
    strands.all().into_iter().find(|&other| memory.is_held_by(other))
}

/// The strand that could wake this one, as far as one can tell.
fn waker(strands: &Strands, strand: StrandRef) -> Option<StrandRef> {
    if !strand.is_parked() {
        return None;
    }
    match strand.slot(slots::WAITS_FOR).as_object() {
        Some(_) => holding_up(strand),
        None => inevitable(strands, strand),
    }
}

/// The strand that is, or holds, the object that a parked strand waits for. No collection can begin meanwhile; if the strand
/// or the other one goes on, the answer means nothing.
pub(crate) fn holding_up(strand: StrandRef) -> Option<StrandRef> {
    let what = strand.slot(slots::WAITS_FOR).as_object()?;
    match what.layout() {
        known::STRAND => StrandRef::of_object(what),
        known::MUTEX | known::SHARED_MUTEX => holder(what),
        known::VAT => VatRef::of_object(what).turn(),
        _ => None,
    }
}

/// All cycles: strands each of which waits for the next one, and the last for the first. A strand waits for one other
/// strand at most, so no strand is in two cycles, and each strand is looked at once.
fn find_cycles(all: &Strands, waiting: &[StrandRef]) -> Vec<Vec<StrandRef>> {
    let mut seen = HashSet::new();
    let mut cycles = Vec::new();
    for &start in waiting {
        let mut path = Vec::new();
        let mut next = Some(start);
        while let Some(strand) = next.filter(|strand| seen.insert(strand.address())) {
            path.push(strand);
            next = waker(all, strand);
        }
        // A strand that was seen on an earlier path is in no new cycle.
        let begin = next.and_then(|next| path.iter().position(|&strand| strand == next));
        cycles.extend(begin.map(|begin| path.split_off(begin)));
    }
    cycles
}

/// Reports about strands that run.
impl Vm {
    /// Describes the strands that run, while all mutators stand.
    pub(crate) fn describe_running(&self, text: &mut String) {
        self.look_at_running(&mut |strand, place, activations| {
            describe_running(self, strand, place, activations, text);
        });
    }

    /// Shows each strand that runs, with the native thread and the activations, while all mutators stand.
    pub(crate) fn look_at_running(
        &self,
        look: &mut dyn FnMut(StrandRef, &str, &mut dyn Iterator<Item = Activation>),
    ) {
        self.look_at_threads(&mut |thread| {
            if let Some(strand) = thread.running_strand() {
                let place = match self.native_threads.name(thread.home) {
                    Some(name) => format!("native thread {name}"),
                    None => thread.number.to_string(),
                };
                look(strand, &place, &mut thread.activations());
            }
        });
    }
}
