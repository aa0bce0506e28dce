//! Processes of typed code: starts them, and does their instructions for communication. The interpreter's handlers call
//! this module.
//!
//! A process is a strand without a vat, which begins with a function instead of a message: the strand that starts it
//! makes its first frame. The same holds for a branch of a `par`, which begins in the middle of a function with a copy
//! of a frame ([`forks`]). Channels, barriers and buckets are those that all processes share
//! ([`crate::concurrency::channels`], [`crate::concurrency::locks`]).
//!
//! Each function here does an instruction that may wait or fail: on entry the state stands at the instruction, on exit
//! where execution continues. Operands are registers of the activation there, which the collector updates, so they are
//! read after the last GC point. The result of a wait is put into the instruction's destination as a word; its link
//! word, which is executed then ([`crate::model::module`]), converts it for the register.

pub mod choice;
pub mod crossing;
pub mod faults;
pub mod forks;
pub mod registers;

use std::time::Duration;

use squall_heap::Word;

use crate::concurrency::channels::rendezvous::{self, Side};
use crate::concurrency::channels::{self, End};
use crate::concurrency::gates;
use crate::concurrency::locks;
use crate::concurrency::sandbox::grants;
use crate::concurrency::strands;
use crate::concurrency::switches;
use crate::concurrency::timers;
use crate::concurrency::transactions::transaction;
use crate::concurrency::values::is_value;
use crate::concurrency::waiting::{self, Place};
use crate::concurrency::worker::{self, Answer};
use crate::execution::calls;
use crate::model::function::{Function, NOWHERE, Site};
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason, Meeting, Outcome};
use crate::model::types::Shape;
use crate::objects::classes::not_a_value;
use crate::state::primitive_code::DirectForm;
use crate::state::replays;
use crate::state::replays::inputs::NOW;
use crate::state::stack::{CHUNK_HEADER, exit_site};
use crate::state::strand::{self, Claimed, Model, Role, Standing};
use crate::state::thread::{State, Thread, Window};
use registers::{get, kind_of, set};

/// Does an operation that other strands notice, and acts on its outcome.
fn perform(
    thread: &mut Thread,
    site: &'static Site,
    effect: impl FnOnce(&mut Thread) -> Result<Outcome, Failure>,
) {
    thread.call_site = Some(site);
    let outcome = match transaction::make_inevitable(thread, "an instruction of a process") {
        Ok(()) if thread.is_recording() => in_order(thread, effect),
        Ok(()) => effect(thread).unwrap_or_else(Outcome::Fail),
        Err(outcome) => outcome,
    };
    calls::finish(thread, site, outcome);
}

/// Does an operation that other strands notice while the run is recorded, or repeats a recording: it has a place, or is done later.
#[cold]
fn in_order(
    thread: &mut Thread,
    effect: impl FnOnce(&mut Thread) -> Result<Outcome, Failure>,
) -> Outcome {
    let done = gates::in_order(thread, effect);
    done.map_or_else(|meanwhile| meanwhile, |outcome| outcome.unwrap_or_else(Outcome::Fail))
}

/// Executes an instruction that other strands notice, and that does not wait. The state stands at the instruction.
#[inline]
pub fn notably(thread: &mut Thread, effect: impl FnOnce(&mut Thread)) {
    match thread.is_recording() {
        false => effect(thread),
        // An attempt that comes to nothing is in no recording.
        true if thread.transaction.is_some() => effect(thread),
        true => notably_in_order(thread, effect),
    }
}

#[cold]
fn notably_in_order(thread: &mut Thread, effect: impl FnOnce(&mut Thread)) {
    if let Err(outcome) = gates::in_order(thread, effect) {
        finish_here(thread, outcome);
    }
}

/// Acts on the outcome of an instruction that is executed again.
fn finish_here(thread: &mut Thread, outcome: Outcome) {
    let here = thread.activation();
    calls::finish(thread, here.function.fault_site(here.pc), outcome);
}

/// One register of the activation in the state, as the window of an operation with one argument.
fn operand(thread: &Thread, register: usize) -> Window {
    // SAFETY: the instruction in progress reads the register, so it is initialised, and in the frame.
    unsafe { Window::new(thread.state.frame.wrapping_add(register), 1) }
}

/// Makes a channel of the type of a register. *GC point.*
pub fn make_channel(
    thread: &mut Thread,
    destination: usize,
    capacity: usize,
) -> Result<Word, Failure> {
    match kind_of(thread, destination).shape() {
        Shape::Channel(element) => channels::make_typed(thread, capacity, *element),
        _ => channels::make(thread, capacity),
    }
}

/// The way on after an instruction that may have waited.
#[must_use]
pub enum Waited {
    /// The state says it, or the tier is to stop.
    Elsewhere,
    /// The strand, which may be another one now, goes on after a call with its value; the state stands in the call.
    After(Answer),
    /// The same strand goes on after the instruction, which answers this.
    Done(Word),
}

impl Waited {
    /// The strand was parked, and this is the next one's.
    #[inline(always)]
    fn switched(answer: Option<Answer>) -> Waited {
        answer.map_or(Waited::Elsewhere, Waited::After)
    }

    /// Completes the call at this site or another one, so that the state says all.
    #[inline(always)]
    pub fn complete(self, thread: &mut Thread, site: &'static Site) {
        match self {
            Waited::Elsewhere => {}
            Waited::After(answer) => worker::complete(thread, Some(answer)),
            Waited::Done(value) => calls::complete(thread, site, value),
        }
    }
}

/// Runs the direct form of a primitive, for the words of a window. None if nothing has happened.
#[inline(always)]
pub fn meet(
    thread: &mut Thread,
    site: &'static Site,
    form: DirectForm,
    window: Window,
) -> Option<Waited> {
    thread.call_site = Some(site);
    match form(thread, window) {
        Meeting::Done(value) => Some(Waited::Done(value)),
        Meeting::Waits => Some(Waited::switched(switches::parked(thread))),
        Meeting::Yields => Some(Waited::switched(switches::yields_in_call(thread, site))),
        Meeting::Unusual => None,
    }
}

/// Reads from the channel in a register.
#[inline(always)]
pub fn read(thread: &mut Thread, site: &'static Site, channel: usize) -> Waited {
    thread.call_site = Some(site);
    match rendezvous::read(thread, get(thread, channel), Side::Typed) {
        Meeting::Done(value) => Waited::Done(value),
        Meeting::Waits => Waited::switched(switches::parked(thread)),
        Meeting::Yields | Meeting::Unusual => {
            read_in_general(thread, site, channel);
            Waited::Elsewhere
        }
    }
}

#[inline(never)]
fn read_in_general(thread: &mut Thread, site: &'static Site, channel: usize) {
    perform(thread, site, |thread| channels::read(thread, operand(thread, channel)));
}

/// Writes a register to the channel in another register. *GC point.*
#[inline(always)]
pub fn write(thread: &mut Thread, site: &'static Site, channel: usize, value: usize) -> Waited {
    thread.call_site = Some(site);
    let meeting = match registers::immediate(thread, value) {
        Some(word) => rendezvous::write(thread, get(thread, channel), word, Side::Typed),
        None => Meeting::Unusual,
    };
    match meeting {
        Meeting::Done(value) => Waited::Done(value),
        Meeting::Waits => Waited::switched(switches::parked(thread)),
        Meeting::Yields | Meeting::Unusual => {
            write_in_general(thread, site, channel, value);
            Waited::Elsewhere
        }
    }
}

#[inline(never)]
fn write_in_general(thread: &mut Thread, site: &'static Site, channel: usize, value: usize) {
    perform(thread, site, |thread| {
        if registers::is_any(thread, value) && !is_value(thread, get(thread, value)) {
            return Err(not_a_value(thread, get(thread, value)));
        }
        let word = registers::to_word(thread, value)?;
        if !word.is_pointer() {
            return channels::write_words(thread, |thread| (get(thread, channel), word));
        }
        thread.message.clear();
        thread.message.push(word);
        channels::write_words(thread, |thread| (get(thread, channel), thread.message[0]))
    });
}

/// Reads from the channel in a register, and keeps the writer waiting: answers a pair of the writer,
/// or nil, and the element. *GC point.*
pub fn accept(thread: &mut Thread, site: &'static Site, channel: usize) {
    perform(thread, site, |thread| channels::accept(thread, operand(thread, channel)));
}

/// Takes a pair that [`accept`] has put into the first register apart.
pub fn accepted(thread: &mut Thread, destination: usize, writer: usize) {
    let pair = get(thread, destination).object();
    let (waiter, value) = (pair.element(channels::WRITER), pair.element(channels::ELEMENT));
    registers::set(thread, writer, waiter);
    registers::set_word(thread, destination, value);
}

/// Poisons the channel in a register, from the end that its type says.
pub fn poison(thread: &mut Thread, channel: usize, end: End) -> Result<Word, Failure> {
    channels::poison(thread, get(thread, channel), end)
}

/// The end that a register stands for: a whole channel is poisoned as its readers do it.
pub fn end_of(thread: &Thread, channel: usize) -> End {
    match kind_of(thread, channel).shape() {
        Shape::Writer(_) => End::Writing,
        _ => End::Reading,
    }
}

/// Makes a barrier. *GC point.*
pub fn make_barrier(thread: &mut Thread, enrolled: usize) -> Result<Word, Failure> {
    let bits = get(thread, enrolled).bits();
    match i64::try_from(bits) {
        Ok(count) if count <= channels::MAX_BUFFER as i64 * 1024 => {
            locks::make(thread, known::BARRIER, count)
        }
        _ => {
            let word = registers::to_word(thread, enrolled)?;
            Err(Failure::argument(word))
        }
    }
}

/// Waits at the barrier in a register. *GC point.*
pub fn synchronize(thread: &mut Thread, site: &'static Site, barrier: usize) {
    perform(thread, site, |thread| locks::synchronize(thread, operand(thread, barrier)));
}

/// Waits in the bucket in a register. *GC point.*
pub fn fall(thread: &mut Thread, site: &'static Site, bucket: usize) {
    perform(thread, site, |thread| locks::fall_into(thread, operand(thread, bucket)));
}

/// Lets others run.
#[inline]
pub fn give_way(thread: &mut Thread, site: &'static Site) -> Waited {
    Waited::switched(switches::yields_in_call(thread, site))
}

/// Waits for as many milliseconds as a register says. *GC point.*
pub fn sleep(thread: &mut Thread, site: &'static Site, milliseconds: usize) {
    perform(thread, site, |thread| {
        let delay = duration(thread, milliseconds);
        let object = thread.strand().object();
        let timer = timers::reserve(thread);
        let ticket = waiting::park(thread, Word::from_small_integer_unchecked(0));
        timers::wake_after(thread, (timer, delay), object, ticket, Word::NIL);
        Ok(Outcome::Park)
    });
}

/// The duration of a number of milliseconds in a register: negative numbers count as 0, and the greatest duration is a
/// century.
fn duration(thread: &Thread, register: usize) -> Duration {
    const CENTURY: f64 = 100.0 * 365.25 * 24.0 * 60.0 * 60.0;
    let milliseconds = registers::to_double(thread, register);
    let seconds = (milliseconds / 1000.0).clamp(0.0, CENTURY);
    Duration::from_secs_f64(if seconds.is_nan() { 0.0 } else { seconds })
}

/// Puts the scheduler's time in nanoseconds into a register. *GC point* if the strand's sandbox may not know the time.
pub fn now(thread: &mut Thread, destination: usize) {
    let elapsed = |thread: &Thread| {
        i64::try_from(thread.vm.scheduler.elapsed().as_nanos()).unwrap_or(i64::MAX)
    };
    if let Err(failure) = grants::check(thread, grants::CLOCK, "the time") {
        return calls::fail_here(thread, failure);
    }
    let answer = match thread.is_recording() {
        false => replays::Answer::Outside,
        true => thread.input(NOW),
    };
    let time = match gates::asked(thread, answer) {
        Ok(replays::Answer::Ask) => {
            let time = elapsed(thread);
            thread.note_input(NOW, &time.to_le_bytes());
            time
        }
        Ok(replays::Answer::Known(bytes)) => bytes.try_into().map_or(0, i64::from_le_bytes),
        Ok(_) => elapsed(thread),
        Err(outcome) => return finish_here(thread, outcome),
    };
    // SAFETY: the destination is a register of integers (verifier), which takes raw bits.
    set(thread, destination, unsafe { Word::from_bits(time as u64) });
    thread.state.pc = thread.state.pc.wrapping_add(1);
}

/// Starts a process with copies of the registers from `first` on. *GC point.*
pub fn spawn(thread: &mut Thread, process: &'static Function, first: usize) -> Result<(), Failure> {
    registers::share(thread, first..first + process.arguments as usize);
    let mut strand = make_strand(thread, process, Role::Typed)?;
    let frame = match place_frame(&mut strand, process) {
        Ok(frame) => frame,
        Err(failure) => {
            strand::forget(thread, strand);
            return Err(failure);
        }
    };
    for index in 0..process.arguments as usize {
        // SAFETY: the new frame has room for the arguments, and no other thread knows it.
        unsafe { frame.add(index).write(get(thread, first + index)) };
    }
    begin_at(&strand, process, frame, 0);
    let activation = thread.activation();
    strand.set_origin(Some(activation.function.fault_site(activation.pc)));
    waiting::make_ready(thread, strand, Place::Last);
    thread.made_work();
    Ok(())
}

/// Makes a strand that begins in a function, without a message. *GC point.*
fn make_strand(
    thread: &mut Thread,
    function: &'static Function,
    role: Role,
) -> Result<Claimed, Failure> {
    let size = strand::size_for(function.frame_words as usize);
    let strand = strands::make(thread, None, Model::Exclusive, size)?;
    strand.set_role(role);
    Ok(strand)
}

/// Room for the first frame of a strand, which is a function's.
fn place_frame(strand: &mut Claimed, function: &Function) -> Result<*mut Word, Failure> {
    let stack = strand.stack();
    let (base, size) = (stack.base(), function.frame_words as usize);
    if base.wrapping_add(size) as usize <= stack.limit() {
        return Ok(base);
    }
    let bottom = base.wrapping_sub(CHUNK_HEADER);
    stack
        .grow(bottom, exit_site(), std::iter::empty(), size)
        .map_err(|_| Failure::new(FailureReason::StackOverflow))
}

/// Lets a new strand go on at a place in a function, with this frame.
fn begin_at(strand: &Claimed, function: &'static Function, frame: *mut Word, pc: usize) {
    // The place may hold the result of another life.
    strand.set_result(Word::NIL);
    strand.set_state(State { pc: &raw const function.code[pc], frame, function });
    strand.set_standing(Standing::BeforeInstruction);
}

/// Continues after an instruction without a result.
pub fn done(thread: &mut Thread, words: usize, result: Result<(), Failure>) {
    match result {
        Ok(()) => thread.state.pc = thread.state.pc.wrapping_add(words),
        Err(failure) => calls::fail_here(thread, failure),
    }
}

const _: () = assert!(NOWHERE as usize > squall_bytecode::register_set::RegisterSet::CAPACITY * 2);
