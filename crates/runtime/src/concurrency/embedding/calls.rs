//! Calls: messages that native threads of the embedder send to guest objects and wait for. `squall::embedding` makes
//! them.
//!
//! A call is an exclusive strand of the main vat, or of the receiver's vat if the receiver is a far reference. So it
//! runs between that vat's turns, or while one of them waits; it may wait for anything itself. The result in its
//! message is the call's number. When the strand has ended, the native thread gets its answer, or the reason why there
//! is none. If the reason is an exception, a second strand asks the exception for its text.
//!
//! Reading or writing the end of a channel is such a call as well, but in a vat of its own, so that the main vat does
//! not delay it.
//!
//! # Stalls
//!
//! The machine waits for its native threads, in the sense of the scheduler's sources, as long as one of them may do something:
//!
//! - if there is no call whose answer is awaited, it waits for the next one;
//! - for each end of a channel that native code has and is not just using.
//!
//! So it is stalled if all strands wait, some native thread waits for them, and all ends that native code has are
//! waited at. Then no call can ever be answered, unless there is another native thread that is about to make
//! one, of which the machine does not know. The calls are ended with a report of the deadlock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::SyncSender;

use parking_lot::Mutex;
use squall_heap::{RootAddress, Word};

use super::value::{self, Value};
use crate::concurrency::messages;
use crate::concurrency::strands;
use crate::concurrency::waiting::{self, Place};
use crate::execution::stack_traces;
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::far_reference;
use crate::state::sandbox::SandboxRef;
use crate::state::strand::{ANY_SIZE, Claimed, Ending, Model};
use crate::state::thread::{Thread, Window};
use crate::state::vat::{self, VatRef};
use crate::state::vm::Vm;

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// An exception that nothing caught.
    Exception {
        /// The name of its class.
        class: String,
        /// Its message.
        text: String,
        /// The activations that led to it, a line each.
        trace: String,
    },
    /// The channel was poisoned.
    Poisoned,
    /// No strand can run any more; the report says what every strand waits for.
    Deadlock(String),
    /// The strand was terminated; if a sandbox was, its report.
    Terminated(String),
    /// An argument cannot be given to guest code: a list with an object that is no value, or one that is too deep.
    Argument,
    /// The heap is full.
    OutOfMemory,
}

/// The result that a native thread waits for.
pub type Answer = Result<Value, Refusal>;

/// A message that a native thread sends.
pub struct Call {
    /// The receiver.
    pub receiver: Value,
    /// The selector; visibility does not matter.
    pub selector: String,
    /// Its arguments.
    pub arguments: Vec<Value>,
    /// Where it is processed.
    pub place: Site,
    /// Where the answer goes.
    pub answer: SyncSender<Answer>,
}

/// Where a call is processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    /// In the main vat.
    Main,
    /// In a vat of its own, at the end with this number of a channel that native code has.
    End(usize),
}

/// All calls whose answers are awaited.
#[derive(Default)]
pub struct Calls(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// The number of the last one.
    last: i64,
    pending: BTreeMap<i64, Pending>,
    /// How many ends native code has, and has had.
    ends: usize,
    last_end: usize,
    /// The number of sources that the scheduler waits for because of this table.
    sources: usize,
    /// Whether the machine has an embedder that calls.
    is_served: bool,
    /// Whether the program has ended, so that there are no more answers.
    is_ended: bool,
}

/// A call whose answer is awaited.
struct Pending {
    /// The object of its strand, which is a root: reports say what the strand waits for.
    strand: Word,
    place: Site,
    answer: SyncSender<Answer>,
    /// The reason why it is being ended, or the known part of an exception that is being described.
    refusal: Option<Refusal>,
}

impl Table {
    /// The number of sources that the scheduler must wait for; see the file's head.
    fn wanted_sources(&self) -> usize {
        if !self.is_served {
            return 0;
        }
        let end = |pending: &Pending| match pending.place {
            Site::End(number) => Some(number),
            Site::Main => None,
        };
        // Several native threads may use the same one.
        let used: BTreeSet<usize> = self.pending.values().filter_map(end).collect();
        usize::from(self.pending.is_empty()) + self.ends.saturating_sub(used.len())
    }
}

impl Calls {
    /// Changes the table, and updates the scheduler's sources.
    fn change<R>(&self, vm: &'static Vm, work: impl FnOnce(&mut Table) -> R) -> R {
        let mut table = self.0.lock();
        let result = work(&mut table);
        let (before, after) = (table.sources, table.wanted_sources());
        table.sources = after;
        (before..after).for_each(|_| vm.scheduler.begin_outside());
        drop(table);
        (after..before).for_each(|_| vm.scheduler.end_outside());
        result
    }

    /// From now on the machine waits for calls.
    pub fn serve(&self, vm: &'static Vm) {
        self.change(vm, |table| table.is_served = true);
    }

    /// Native code has one end of a channel more; answers its number.
    pub fn add_end(&self, vm: &'static Vm) -> usize {
        self.change(vm, |table| {
            table.ends += 1;
            table.last_end += 1;
            table.last_end
        })
    }

    /// Native code has one end less.
    pub fn remove_end(&self, vm: &'static Vm) {
        self.change(vm, |table| table.ends -= 1);
    }

    /// The program has ended: there are no more answers.
    pub(crate) fn end(&self) {
        let mut table = self.0.lock();
        table.is_ended = true;
        let dropped = std::mem::take(&mut table.pending);
        drop(table);
        drop(dropped);
    }

    /// Shows the strands of calls to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        let mut table = self.0.lock();
        let strands = table.pending.values_mut().map(|pending| &mut pending.strand);
        strands.map(RootAddress::from).for_each(visit);
    }
}

/// Begins a call, in an errand. *GC point.*
pub fn begin(thread: &mut Thread, call: Call) {
    let depth = thread.mutator.root_depth();
    let vat = put_message(thread, &call);
    thread.mutator.truncate_roots(depth);
    let Call { selector, place, answer, .. } = call;
    let known = vat.as_ref().ok().copied();
    let begun = vat.and_then(|vat| start(thread, &selector, vat, place, answer.clone(), None));
    if let Err(failure) = begun {
        // A native thread that no longer waits does not receive it.
        _ = answer.send(Err(refusal(&failure, known)));
    }
}

/// Puts receiver and arguments into the thread's message. Answers the vat where they may be used. *GC point.*
fn put_message(thread: &mut Thread, call: &Call) -> Result<VatRef, Failure> {
    let main = thread.vm.main_vat().ok_or(Failure::new(FailureReason::NotSupported))?;
    let receiver = value::to_guest(thread, &call.receiver, main)?;
    let receiver = thread.mutator.push_root(receiver);
    let far = far_reference::far_reference(thread.mutator.get(receiver));
    let vat = match (call.place, far) {
        (Site::End(_), _) => vat::make(thread)?,
        (Site::Main, None) => main,
        (Site::Main, Some(far)) => {
            thread.mutator.set(receiver, far_reference::target_of(far));
            far_reference::vat_of(far)
        }
    };
    vat::keep(thread, vat);
    let mut words = vec![receiver];
    for argument in &call.arguments {
        let word = value::to_guest(thread, argument, vat)?;
        words.push(thread.mutator.push_root(word));
    }
    thread.message.clear();
    for word in words {
        let word = thread.mutator.get(word);
        thread.message.push(word);
    }
    Ok(vat)
}

/// Starts the strand that sends the thread's message. *GC point.*
fn start(
    thread: &mut Thread,
    selector: &str,
    vat: VatRef,
    place: Site,
    answer: SyncSender<Answer>,
    refusal: Option<Refusal>,
) -> Result<(), Failure> {
    let depth = thread.mutator.root_depth();
    thread.mutator.push_root(vat.object.get());
    let vm = thread.vm;
    let number = vm.concurrency().embedding.calls.change(vm, |table| {
        table.last += 1;
        table.last
    });
    let strand = make_strand(thread, selector, vat, number);
    thread.mutator.truncate_roots(depth);
    let strand = strand?;
    let pending = Pending { strand: strand.object.get(), place, answer, refusal };
    vm.concurrency().embedding.calls.change(vm, |table| {
        if !table.is_ended {
            table.pending.insert(number, pending);
        }
    });
    waiting::make_ready(thread, strand, Place::Last);
    Ok(())
}

fn make_strand(
    thread: &mut Thread,
    selector: &str,
    vat: VatRef,
    number: i64,
) -> Result<Claimed, Failure> {
    let kind = thread.vm.name_word(thread, thread.vm.symbol(selector))?;
    let result = Word::from_small_integer_unchecked(number);
    // SAFETY: the message is not changed before its words were copied.
    let window = unsafe { Window::new(thread.message.as_mut_ptr(), thread.message.len()) };
    let message = messages::make(thread, kind, result, window)?;
    thread.message.clear();
    thread.message.push(message.word());
    strands::make(thread, Some(vat), Model::Exclusive, ANY_SIZE)
}

/// The strand of the call with this number has ended, in this vat. *GC point.*
pub(crate) fn settle(
    thread: &mut Thread,
    number: i64,
    vat: Option<VatRef>,
    ending: Ending,
    word: Word,
) {
    let vm = thread.vm;
    let pending =
        vm.concurrency().embedding.calls.change(vm, |table| table.pending.remove(&number));
    let Some(pending) = pending else { return };
    let main = vm.main_vat();
    let answer = match (ending, pending.refusal) {
        (Ending::Returned, None) => match vat.or(main) {
            Some(vat) => {
                value::to_native(thread, word, vat).map_err(|failure| refusal(&failure, Some(vat)))
            }
            None => Err(Refusal::Argument),
        },
        (Ending::Returned, Some(refusal)) => Err(described(refusal, word)),
        (Ending::Failed, None) => {
            let refusal = exception(thread, word);
            return describe(thread, word, vat, pending.place, refusal, pending.answer);
        }
        (_, Some(refusal)) => Err(refusal),
        (_, None) => Err(terminated(vat)),
    };
    // A native thread that no longer waits does not receive it.
    _ = pending.answer.send(answer);
}

/// Why a call cannot begin in this vat, or its answer cannot leave it.
fn refusal(failure: &Failure, vat: Option<VatRef>) -> Refusal {
    match failure.reason {
        FailureReason::OutOfMemory => Refusal::OutOfMemory,
        // There may be no strand more in the vat's sandbox.
        FailureReason::Elsewhere => terminated(vat),
        FailureReason::MessageTooLarge => {
            let class = "MessageTooLarge".to_owned();
            Refusal::Exception { text: class.clone(), class, trace: String::new() }
        }
        _ => Refusal::Argument,
    }
}

/// Why a strand of this vat was ended.
fn terminated(vat: Option<VatRef>) -> Refusal {
    let sandbox = vat.and_then(VatRef::sandbox).filter(|sandbox| sandbox.is_over());
    Refusal::Terminated(sandbox.map_or_else(String::new, SandboxRef::report))
}

/// The description of an exception, as far as no guest code has to run for it.
fn exception(thread: &Thread, exception: Word) -> Refusal {
    let behavior = thread.vm.behavior_of_layout(known::layout_of(exception));
    let class = behavior.map_or_else(String::new, |behavior| behavior.name().to_owned());
    if class == "ChannelPoisoned" {
        return Refusal::Poisoned;
    }
    let trace = stack_traces::recorded(thread.vm, exception);
    Refusal::Exception { text: class.clone(), class, trace }
}

fn described(refusal: Refusal, text: Word) -> Refusal {
    match (refusal, crate::objects::string::Text::of(text)) {
        (Refusal::Exception { class, trace, .. }, Some(text)) => {
            Refusal::Exception { class, text: text.to_rust(), trace }
        }
        (refusal, _) => refusal,
    }
}

/// Asks an exception for its text, in the vat where it was signalled; then the call is answered. *GC point.*
fn describe(
    thread: &mut Thread,
    exception: Word,
    vat: Option<VatRef>,
    place: Site,
    refusal: Refusal,
    answer: SyncSender<Answer>,
) {
    let is_far = far_reference::far_reference(exception).is_some();
    if let (Some(vat), Refusal::Exception { .. }, false) = (vat, &refusal, is_far) {
        thread.message.clear();
        thread.message.push(exception);
        let known = Some(refusal.clone());
        if start(thread, "asString", vat, place, answer.clone(), known).is_ok() {
            return;
        }
    }
    _ = answer.send(Err(refusal));
}

/// Nothing is left that could run: ends all calls, with this report. Those that were being ended already are
/// answered at once. *No GC point.*
pub fn end_stalled(thread: &mut Thread, report: &str) {
    let vm = thread.vm;
    let mut ended = Vec::new();
    let depth = thread.mutator.root_depth();
    let strands = vm.concurrency().embedding.calls.change(vm, |table| {
        let (again, first): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut table.pending)
            .into_iter()
            .partition(|(_, pending)| matches!(pending.refusal, Some(Refusal::Deadlock(_))));
        ended.extend(again.into_values());
        table.pending = first;
        let pending = table.pending.values_mut().map(|pending| {
            pending.refusal = Some(Refusal::Deadlock(report.to_owned()));
            thread.mutator.push_root(pending.strand)
        });
        pending.collect::<Vec<_>>()
    });
    for strand in strands {
        let strand = thread.mutator.get(strand).object();
        _ = strands::terminate(thread, strand);
    }
    thread.mutator.truncate_roots(depth);
    for Pending { answer, refusal, .. } in ended {
        _ = answer.send(Err(refusal.unwrap_or(Refusal::OutOfMemory)));
    }
}
