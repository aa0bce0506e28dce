//! Callbacks: C calls guest code. The library's primitives make them, and C's call runs an interpreter loop here.
//!
//! If C calls on a native thread that has called C, for a callback of the same vat, then the guest code runs
//! right there: the thread takes its vat again, and an interpreter loop runs inside C's call, on the same strand,
//! in a chunk of its own (`stack.rs`). It may call C in turn, to any depth that the native stack has room for.
//! From anywhere else, it is a [request](super::requests).
//!
//! ```text
//!   native stack                                    strand's stack
//!   work ─ run ─ callout ─ C ─ callback ─ run       [ … caller of C ][ callback's chunk … ]
//!                 ▲                       │
//!                 └── goes on here ◀──────┘  exceptions, returns and ends that leave the callback
//! ```
//!
//! An unwinding that leaves a callback does not touch C's frames: C gets zero and continues; when it returns, the
//! callout completes the unwinding. Until then, other callbacks of that call of C answer zero at once.
//!
//! In a recorded run the call is noted, with C's arguments. A replay has no C: the call of C finds the note, and a block of the
//! library evaluates the callback's in its place ([`called`]).
//!
//! The strand stays on the native thread until it has returned to C. If it waits meanwhile, so does the
//! thread: see [`super::anchor`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use squall_foreign::{Callback, CallbackError, CallbackFrame, Declarations, Signature, Value};
use squall_heap::{RootHandle, Word};

use super::anchor::{self, ProgramEnded};
use super::convert::{self, Encoded};
use super::owned::{self, Owned};
use super::{Body, KnownType, requests, slots};
use crate::concurrency::waiting::{self, Place};
use crate::concurrency::worker;
use crate::execution::calls;
use crate::execution::unwind;
use crate::model::function::Site;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::objects::array;
use crate::state::anchor::Anchor;
use crate::state::replays::inputs::CALLED_BACK;
use crate::state::roots::RootWord;
use crate::state::stack::{CHUNK_RESULT, callback_site};
use crate::state::strand::StrandRef;
use crate::state::thread::{State, Stop, Thread, Window};
use crate::state::transactions::shared;
use crate::state::vat::VatRef;

/// A callback, as calls of it know it.
pub struct GuestCallback {
    /// Its handle; nil when that is dead. Followed by the collector.
    pub handle: RootWord,
    /// Its parameters and result.
    pub signature: Signature,
    /// The declarations in which types are looked up.
    pub declarations: Arc<Declarations>,
    /// Its number, if a recording tells of it.
    number: AtomicU64,
}

/// Callbacks of recorded runs and replays, by their numbers.
#[derive(Default)]
pub struct Numbered {
    count: AtomicU64,
    callbacks: Mutex<HashMap<u64, Weak<GuestCallback>>>,
}

impl Numbered {
    /// The number of a callback that is made next.
    pub fn next(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The callback of this handle has this number.
    pub fn add(&self, handle: Word, number: u64) {
        if let Ok(Body::Callback(callback, _)) = super::body(handle) {
            callback.number.store(number, Ordering::Relaxed);
            self.callbacks.lock().insert(number, Arc::downgrade(callback));
        }
    }

    fn get(&self, number: u64) -> Option<Arc<GuestCallback>> {
        self.callbacks.lock().get(&number)?.upgrade()
    }
}

/// Makes the function for C to call. Its handle follows.
pub fn make(signature: &Signature, declarations: Arc<Declarations>) -> Result<Body, CallbackError> {
    let guest = Arc::new(GuestCallback {
        handle: RootWord::default(),
        signature: signature.clone(),
        declarations,
        number: AtomicU64::new(0),
    });
    let called = guest.clone();
    let callback = Callback::new(signature, move |frame| call(&called, frame))?;
    Ok(Body::Callback(guest, Mutex::new(Some(callback))))
}

/// A call of C that is under way, as callbacks find it.
pub struct Callout {
    thread: *mut Thread,
    has_failed: Cell<bool>,
    problem: RefCell<Option<Problem>>,
}

/// Why a callback has not answered.
enum Problem {
    /// An unwinding, which is the thread's last crossing.
    Crossing,
    /// C does not get a proper answer; the reason, and its text.
    Mistake(&'static str, String),
    /// There is no more room on the native stack.
    TooDeep,
    /// The heap is full.
    Failure(FailureReason),
    /// The program has ended.
    Ended,
}

impl From<ProgramEnded> for Problem {
    fn from(_: ProgramEnded) -> Problem {
        Problem::Ended
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        Problem::Failure(failure.reason)
    }
}

thread_local! {
    /// The innermost call of C on this native thread that may call back, or null.
    static CALLOUT: Cell<*const Callout> = const { Cell::new(ptr::null()) };
    /// The least address that callbacks may leave free on the native stack; 0 on native threads of others.
    static STACK_END: Cell<usize> = const { Cell::new(0) };
    /// Whether C has called back where it may not.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// The native thread runs guest code from now on.
pub fn attach() {
    STACK_END.set(stack_end().saturating_add(STACK_RESERVE));
}

/// The bytes of native stack that callbacks leave to C and to the VM.
const STACK_RESERVE: usize = 256 << 10;

/// Where the native stack ends: its least address.
#[cfg(target_os = "linux")]
fn stack_end() -> usize {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut address, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the functions fill the memory behind the given pointers, if they answer 0.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return likely_stack_end();
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &mut address, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    address.addr()
}

/// Where the native stack ends: its least address.
#[cfg(not(target_os = "linux"))]
fn stack_end() -> usize {
    likely_stack_end()
}

/// An address up to which the native stack reaches, most likely.
fn likely_stack_end() -> usize {
    const SMALLEST_STACK: usize = 384 << 10;
    let here = 0_u8;
    ptr::from_ref(std::hint::black_box(&here)).addr().saturating_sub(SMALLEST_STACK)
}

/// Notes that this call of C is the innermost one; answers the previous one.
#[inline]
pub fn enter(callout: &Callout) -> *const Callout {
    CALLOUT.replace(callout)
}

/// The innermost call of C has returned, and this one is it again.
#[inline]
pub fn leave(before: *const Callout) {
    CALLOUT.set(before);
}

/// Whether C has called back where it may not, on this native thread.
#[inline]
pub fn is_refused() -> bool {
    REFUSED.get()
}

/// The guest learns of the refusal.
pub fn forget_refusal() {
    REFUSED.set(false);
}

impl Callout {
    /// A call of C on this thread.
    #[inline]
    pub fn new(thread: *mut Thread) -> Callout {
        Callout { thread, has_failed: Cell::new(false), problem: RefCell::new(None) }
    }

    /// Whether a callback has not answered.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    fn fail(&self, problem: Problem) {
        self.has_failed.set(true);
        *self.problem.borrow_mut() = Some(problem);
    }

    /// The answer of a call whose callback has not answered. *GC point.*
    #[cold]
    pub fn failure(&self, thread: &mut Thread) -> Outcome {
        match self.problem.borrow_mut().take() {
            Some(Problem::Crossing) => {
                let crossing = thread.crossings.pop().expect("the callback has put it there");
                unwind::resume_crossing(thread, crossing)
            }
            Some(Problem::Mistake(reason, text)) => super::failure(thread, reason, &text).into(),
            Some(Problem::TooDeep) => Failure::new(FailureReason::StackOverflow).into(),
            Some(Problem::Failure(reason)) => Failure::new(reason).into(),
            Some(Problem::Ended) | None => {
                Outcome::Exit(thread.vm.ended.code().unwrap_or_default())
            }
        }
    }
}

/// C calls a callback. *GC point.*
fn call(callback: &Arc<GuestCallback>, frame: &mut CallbackFrame<'_>) {
    let callout = CALLOUT.get();
    if callout.is_null() {
        if STACK_END.get() == 0 {
            return requests::call(callback, frame);
        }
        // C runs without a callout only in leaf calls and when memory of C is freed.
        return REFUSED.set(true);
    }
    // SAFETY: the caller of C on this thread waits for it, with the callout on its stack.
    let callout = unsafe { &*callout };
    if callout.has_failed() {
        return;
    }
    if ptr::from_ref(std::hint::black_box(&callout)).addr() < STACK_END.get() {
        return callout.fail(Problem::TooDeep);
    }
    // SAFETY: the pointer comes from the exclusive reference of the callout that waits for C, and nothing else uses the
    // thread until this returns to C.
    let thread = unsafe { &mut *callout.thread };
    leave(ptr::null());
    worker::come_back(thread);
    match is_own(thread, callback) {
        true => {
            if let Err(problem) = run(thread, callback, frame) {
                callout.fail(problem);
            }
            worker::go_outside(thread);
        }
        false if thread.vm.scheduler.is_seeded() => {
            if let Err(problem) = request_here(thread, callback, frame) {
                callout.fail(problem);
            }
            worker::go_outside(thread);
        }
        false => {
            worker::go_outside(thread);
            requests::call(callback, frame);
        }
    }
    enter(callout);
}

/// Whether a callback belongs to the vat whose strand runs here.
fn is_own(thread: &Thread, callback: &GuestCallback) -> bool {
    let Some(handle) = callback.handle.get().as_object() else { return false };
    let vat = handle.slot(slots::VAT).as_object().map(VatRef::of_object);
    vat.is_some() && vat == thread.strand().vat()
}

/// In a replay: the block that C has called here, which the recording says by these bytes, and an array of its arguments, in
/// an array. The block of the library that evaluates it is the thread's message. None if there is no such callback. *GC
/// point.*
pub fn called(thread: &mut Thread, bytes: &[u8]) -> Option<Result<Word, Failure>> {
    let (number, rest) = bytes.split_first_chunk()?;
    let callback = thread.vm.concurrency().foreign.numbered.get(u64::from_le_bytes(*number))?;
    let arguments = owned::decode(rest)?;
    if arguments.len() != callback.signature.parameters().len() {
        return None;
    }
    let values = arguments.iter().map(Owned::value).collect();
    if let Err(failure) = put_message(thread, &callback, values) {
        return Some(Err(failure));
    }
    let array =
        array::make_of(thread, arguments.len(), |thread, index| Ok(thread.message[index + 1]));
    let pair = array.and_then(|array| {
        thread.message[1] = array;
        array::make_of(thread, 2, |thread, index| Ok(thread.message[index]))
    });
    let handle = callback.handle.get().as_object()?;
    thread.message.clear();
    thread.message.push(handle.slot(slots::REPEATER));
    Some(pair)
}

/// Notes that C calls this callback, if the run is recorded; answers whether it is.
fn note(thread: &mut Thread, callback: &GuestCallback, frame: &CallbackFrame<'_>) -> bool {
    if thread.recorder().is_none() {
        return false;
    }
    let mut bytes = callback.number.load(Ordering::Relaxed).to_le_bytes().to_vec();
    frame.arguments().for_each(|value| Owned::of(value).encode(&mut bytes));
    thread.note_input(CALLED_BACK, &bytes);
    true
}

/// Runs a callback on the strand that has called C.
fn run(
    thread: &mut Thread,
    callback: &GuestCallback,
    frame: &mut CallbackFrame<'_>,
) -> Result<(), Problem> {
    let strand = thread.strand();
    let caller = Caller::save(thread);
    let anchor = Anchor::new(thread.worker_index());
    let outer = strand.set_anchor(Arc::as_ptr(&anchor));
    let mut done = anchor::regain_vat(thread, &anchor).map_err(Problem::from);
    if done.is_ok() {
        let is_recorded = note(thread, callback, frame);
        // What the callback itself does outside is noted by its own calls.
        thread.set_asks(false);
        done = evaluate(thread, &caller, &anchor, callback, frame);
        thread.set_asks(is_recorded);
    }
    caller.restore(thread);
    // The last thing that ran may have been outside for long.
    let owned = anchor::regain_vat(thread, &anchor).map_err(Problem::from);
    strand.set_anchor(outer);
    caller.finish(thread);
    done.and(owned)
}

/// Has another vat run a callback, on the only native thread there is.
fn request_here(
    thread: &mut Thread,
    callback: &Arc<GuestCallback>,
    frame: &mut CallbackFrame<'_>,
) -> Result<(), Problem> {
    let strand = thread.strand();
    let caller = Caller::save(thread);
    let anchor = Anchor::new(thread.worker_index());
    let outer = strand.set_anchor(Arc::as_ptr(&anchor));
    let pending = requests::begin(callback, frame, Some(thread.number));
    let answered = anchor::set_aside(thread, &anchor, || {
        pending.as_ref().is_none_or(|pending| pending.is_answered())
    });
    strand.set_anchor(outer);
    caller.finish(thread);
    if let Some(pending) = pending {
        pending.answer(frame);
    }
    Ok(answered?)
}

/// The thread's state at the call of C.
struct Caller {
    state: State,
    call_site: Option<&'static Site>,
    window: Window,
    /// The roots that hold the window's words meanwhile.
    words: Vec<RootHandle>,
    depth: usize,
}

impl Caller {
    fn save(thread: &mut Thread) -> Caller {
        let window = thread.window;
        let depth = thread.mutator.root_depth();
        let words = window.words().map(|word| thread.mutator.push_root(word)).collect();
        Caller { state: thread.state, call_site: thread.call_site, window, words, depth }
    }

    /// Puts the thread back to the call of C, whatever C's callbacks have changed.
    fn restore(&self, thread: &mut Thread) {
        thread.stack().cut_to(self.state.frame);
        thread.reset_limit();
        thread.state = self.state;
        thread.call_site = self.call_site;
        thread.stop = Stop::Returned;
    }

    fn finish(self, thread: &mut Thread) {
        for (index, &word) in self.words.iter().enumerate() {
            self.window.set(index, thread.mutator.get(word));
        }
        thread.mutator.truncate_roots(self.depth);
        self.restore(thread);
        thread.window = self.window;
    }
}

/// Evaluates the block of a callback, and gives its answer to C.
fn evaluate(
    thread: &mut Thread,
    caller: &Caller,
    anchor: &Arc<Anchor>,
    callback: &GuestCallback,
    frame: &mut CallbackFrame<'_>,
) -> Result<(), Problem> {
    put_message(thread, callback, frame.arguments().collect())?;
    let site = caller.call_site.expect("C was called by a primitive");
    let header = thread.stack().enter_callback(caller.state.frame, site);
    let header = header.map_err(|_| Problem::Failure(FailureReason::StackOverflow))?;
    thread.reset_limit();
    thread.window = Window::NONE;
    thread.stop = Stop::Returned;
    thread.state = crate::state::thread::callback_bottom(header);
    calls::evaluate_message(thread, callback_site());
    run_to_end(thread, anchor)?;
    // SAFETY: the header of a callback's chunk has a place for the result, and was not left.
    let answer = unsafe { header.add(CHUNK_RESULT).read() };
    give_answer(thread, callback, frame, answer)
}

/// Puts the block, and C's arguments for it, into the thread's message. *GC point.*
fn put_message(
    thread: &mut Thread,
    callback: &GuestCallback,
    arguments: Vec<Value<'_>>,
) -> Result<(), Failure> {
    thread.message.clear();
    let handle = callback.handle.get().as_object();
    let block = handle.map_or(Word::NIL, |handle| handle.slot(slots::KEPT));
    thread.message.push(block);
    for (value, parameter) in arguments.into_iter().zip(callback.signature.parameters()) {
        let word = convert::to_guest(thread, value, || {
            let declarations = callback.declarations.clone();
            Some(KnownType { c_type: parameter.c_type.clone(), declarations })
        })?;
        thread.message.push(word);
    }
    Ok(())
}

/// Runs the code that C has called until it returns. Meanwhile the strand may wait, but continues here.
fn run_to_end(thread: &mut Thread, anchor: &Arc<Anchor>) -> Result<(), Problem> {
    let tier = thread.vm.tier;
    loop {
        tier.run(thread);
        let strand = thread.strand();
        match std::mem::replace(&mut thread.stop, Stop::Returned) {
            Stop::Returned => return Ok(()),
            Stop::Crossed => return Err(Problem::Crossing),
            // Nothing else ends a strand inside a callback.
            Stop::Failed | Stop::Killed => return Err(Problem::Ended),
            _ if thread.vm.ended.code().is_some() => return Err(Problem::Ended),
            // The tier itself goes on with the last two.
            Stop::Parked | Stop::Switched | Stop::Hot => {}
            Stop::Preempted if !others_wait(thread, strand) => {
                (thread.yields, thread.gives_way) = (false, false);
                let transaction = thread.transaction.take();
                thread.running().set_transaction(transaction);
                if let Some(stopped) = thread.leave_strand() {
                    thread.enter_strand(stopped);
                }
                continue;
            }
            Stop::Preempted => give_way(thread),
            Stop::Displaced => {
                crate::state::strand::touch(thread, strand);
                let stopped = thread.stop_running();
                waiting::make_ready(thread, stopped, Place::First);
            }
        }
        anchor::await_turn(thread, strand, anchor)?;
    }
}

/// Whether another item is to run before a strand that was made to stop. If not, the strand continues at once, since
/// giving way takes another native thread. In a recorded run it gives way, as it does in the replay.
fn others_wait(thread: &Thread, strand: StrandRef) -> bool {
    let vat = worker::vat_of_exclusive(strand);
    strand.is_suspended()
        || thread.recorder().is_some()
        || thread.worker.has_waiting()
        || vat.is_some_and(VatRef::has_work)
        || shared::is_wanted(thread)
}

/// Puts the strand that ran here and was made to stop back into its queue.
fn give_way(thread: &mut Thread) {
    if thread.is_recording() {
        thread.tape_stopped(thread.strand(), true);
    }
    let stopped = thread.stop_running();
    worker::preempted(thread, stopped);
    thread.was_preempted = false;
}

/// Gives C the block's answer. *No GC point.*
fn give_answer(
    thread: &mut Thread,
    callback: &GuestCallback,
    frame: &mut CallbackFrame<'_>,
    answer: Word,
) -> Result<(), Problem> {
    if callback.signature.result().is_void() {
        return Ok(());
    }
    let mut encoded = Encoded::new();
    let c_type = callback.signature.result();
    // SAFETY: the value is written to the frame of C at once; `encoded` lives longer.
    let Some(value) = (unsafe { convert::to_c(thread.vm, answer, &mut encoded) }) else {
        let what = convert::refused(thread.vm, answer);
        let text = format!("a callback for `{c_type}` has answered {what}");
        return Err(Problem::Mistake("Callback", text));
    };
    frame.set_result(value).map_err(|mismatch| {
        Problem::Mistake("Callback", format!("the answer of a callback for `{c_type}`: {mismatch}"))
    })
}
