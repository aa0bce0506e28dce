//! Requests: C calls guest code from a native thread that does not run the callback's vat. Callbacks leave them, and
//! workers begin them.
//!
//! Libraries have native threads of their own. When one of these calls a callback, the request waits in a queue
//! until a worker takes it, and makes an exclusive strand in the callback's vat that serves it. The native thread
//! waits for the answer. So callbacks of a vat run one after the other, between its turns or while one of
//! these waits, for instance for the very C function that has made the other threads.
//!
//! The strand evaluates a block of the library (`lib/Foreign.ns`) with the request's number and an array of the
//! arguments. That block gives an answer and, in any case, dismisses the request in the end; a request that is
//! dismissed without an answer gets zero.
//!
//! | state | place of the request |
//! |---|---|
//! | pending | the queue |
//! | open | the table, by number |
//! | answered | the native thread, which takes the answer and continues |
//!
//! With a seed, the machine's only right to run may be with a strand that is in C, and C may wait for the very thread
//! that makes the request. So if there is no answer soon, another native thread continues the schedule.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use squall_foreign::{CallbackAnswer, CallbackFrame};
use squall_heap::Word;
use squall_scheduler::WorkerId;

use super::callbacks::GuestCallback;
use super::convert::{self, Encoded};
use super::owned::Owned;
use super::{KnownType, anchor, slots};
use crate::concurrency::messages;
use crate::concurrency::strands;
use crate::concurrency::waiting::{self, Place};
use crate::model::outcome::Failure;
use crate::objects::array;
use crate::objects::number::integer_argument;
use crate::state::items::Item;
use crate::state::replays;
use crate::state::strand::{ANY_SIZE, Model};
use crate::state::thread::{Thread, Window};
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// All requests that have no answer yet.
#[derive(Default)]
pub struct Requests {
    table: Mutex<Table>,
    is_ended: AtomicBool,
}

#[derive(Default)]
struct Table {
    pending: VecDeque<Arc<Request>>,
    open: HashMap<i64, Arc<Request>>,
    /// How many there were.
    count: i64,
}

/// A call of a callback by another native thread.
struct Request {
    callback: Arc<GuestCallback>,
    arguments: Vec<Owned>,
    answer: Mutex<Answer>,
    answered: Condvar,
    /// With a seed, the worker that runs others until the answer is there.
    waiter: Option<WorkerId>,
}

/// The state that a native thread waits on.
#[derive(Default)]
enum Answer {
    /// It has not come.
    #[default]
    Awaited,
    /// Zero.
    Nothing,
    /// This.
    Given(CallbackAnswer),
}

/// With a seed, the time for which a call of C may keep the only right to run while another native thread of C waits
/// for an answer.
const SEEDED_PATIENCE: Duration = Duration::from_micros(500);

impl Request {
    /// Gives the answer, unless there is one.
    fn settle(&self, answer: Answer) {
        let mut place = self.answer.lock();
        if matches!(*place, Answer::Awaited) {
            *place = answer;
            self.answered.notify_one();
        }
    }

    fn await_answer(&self) -> Answer {
        let vm = Vm::of_process();
        let mut answer = self.answer.lock();
        let mut seen = None;
        while matches!(*answer, Answer::Awaited) {
            if !vm.scheduler.is_seeded() {
                self.answered.wait(&mut answer);
            } else if self.answered.wait_for(&mut answer, SEEDED_PATIENCE).timed_out() {
                seen = MutexGuard::unlocked(&mut answer, || vm.scheduler.relieve_outside(seen));
            }
        }
        std::mem::take(&mut *answer)
    }
}

impl Requests {
    /// The program has ended: all requests get zero from now on.
    pub(crate) fn end(&self) {
        self.is_ended.store(true, Ordering::SeqCst);
        let mut table = self.table.lock();
        let Table { pending, open, .. } = &mut *table;
        for request in pending.drain(..).chain(open.drain().map(|(_, request)| request)) {
            request.settle(Answer::Nothing);
        }
    }

    /// Whether it waits in the queue now.
    fn add(&self, request: &Arc<Request>) -> bool {
        let mut table = self.table.lock();
        // `end` sets the flag before it takes the lock.
        let is_live = !self.is_ended.load(Ordering::SeqCst);
        if is_live {
            table.pending.push_back(request.clone());
        }
        is_live
    }

    /// The next pending request, which is open from now on, and its number.
    fn open_next(&self) -> Option<(i64, Arc<Request>)> {
        let mut table = self.table.lock();
        let request = table.pending.pop_front()?;
        table.count += 1;
        let number = table.count;
        table.open.insert(number, request.clone());
        Some((number, request))
    }

    fn get(&self, number: Word) -> Result<Arc<Request>, Failure> {
        let table = self.table.lock();
        let request = number.as_small_integer().and_then(|number| table.open.get(&number));
        request.cloned().ok_or(Failure::argument(number))
    }

    fn close(&self, number: i64) -> Option<Arc<Request>> {
        self.table.lock().open.remove(&number)
    }
}

/// A request whose answer is awaited.
pub(super) struct Pending(Arc<Request>);

impl Pending {
    /// Whether the answer is there.
    pub(super) fn is_answered(&self) -> bool {
        !matches!(*self.0.answer.lock(), Answer::Awaited)
    }

    /// Waits for the answer, and gives it to C.
    pub(super) fn answer(self, frame: &mut CallbackFrame<'_>) {
        if let Answer::Given(answer) = self.0.await_answer() {
            frame.set_answer(&answer);
        }
    }
}

/// C calls a callback from a native thread that does not run its vat: waits for the answer.
pub(super) fn call(callback: &Arc<GuestCallback>, frame: &mut CallbackFrame<'_>) {
    if let Some(pending) = begin(callback, frame, None) {
        pending.answer(frame);
    }
}

/// Makes a request; none if the program has ended. With a seed, `waiter` runs others until it is answered.
pub(super) fn begin(
    callback: &Arc<GuestCallback>,
    frame: &CallbackFrame<'_>,
    waiter: Option<WorkerId>,
) -> Option<Pending> {
    let vm = Vm::of_process();
    if replays::refuse_of_others(vm, "a callback of C that the strand itself has not caused") {
        return None;
    }
    let request = Arc::new(Request {
        callback: callback.clone(),
        arguments: frame.arguments().map(Owned::of).collect(),
        answer: Mutex::default(),
        answered: Condvar::new(),
        waiter,
    });
    if !vm.concurrency().foreign.requests.add(&request) {
        return None;
    }
    // Until a worker has taken the item, it is ready; from then on, there is a strand.
    vm.scheduler.inject(Item::REQUEST);
    Some(Pending(request))
}

/// Makes the strand that serves the request which waits longest. *GC point.*
pub fn begin_next(thread: &mut Thread) {
    let Some((number, request)) = thread.vm.concurrency().foreign.requests.open_next() else {
        return;
    };
    if serve(thread, number, &request).is_none() {
        dismiss(thread, number);
    }
}

/// Makes the strand that serves a request, if the callback is still there.
fn serve(thread: &mut Thread, number: i64, request: &Request) -> Option<()> {
    let arguments = &request.arguments;
    let types = request.callback.signature.parameters();
    let array = array::make_of(thread, arguments.len(), |thread, index| {
        convert::to_guest(thread, arguments[index].value(), || {
            let declarations = request.callback.declarations.clone();
            Some(KnownType { c_type: types[index].c_type.clone(), declarations })
        })
    });
    let array = array.ok()?;
    let handle = request.callback.handle.get().as_object()?;
    let number = Word::from_small_integer_unchecked(number);
    thread.message.clear();
    thread.message.extend([handle.slot(slots::SERVER), number, array, handle.slot(slots::VAT)]);
    // SAFETY: the message is not changed before its words were copied.
    let window = unsafe { Window::new(thread.message.as_mut_ptr(), 3) };
    let message = messages::make(thread, Word::NIL, Word::NIL, window).ok()?;
    let vat = VatRef::of_object(thread.message[3].as_object()?);
    thread.message[0] = message.word();
    let strand = strands::make(thread, Some(vat), Model::Exclusive, ANY_SIZE).ok()?;
    waiting::make_ready(thread, strand, Place::Last);
    Some(())
}

/// Answers the request with this number. C cannot have every word: then there is a failure. *GC point.*
pub fn answer(thread: &mut Thread, number: Word, word: Word) -> Result<Word, Failure> {
    let request = thread.vm.concurrency().foreign.requests.get(number)?;
    let c_type = request.callback.signature.result();
    if c_type.is_void() {
        settle(thread, &request, Answer::Nothing);
        return Ok(Word::NIL);
    }
    let mut encoded = Encoded::new();
    // SAFETY: the value is encoded at once; `encoded` lives longer, and the word is an argument in progress.
    let answer = match unsafe { convert::to_c(thread.vm, word, &mut encoded) } {
        Some(value) => {
            let answer = request.callback.signature.answer(value);
            answer
                .map_err(|mismatch| format!("the answer of a callback for `{c_type}`: {mismatch}"))
        }
        None => {
            let what = convert::refused(thread.vm, word);
            Err(format!("a callback for `{c_type}` has answered {what}"))
        }
    };
    match answer {
        Ok(answer) => settle(thread, &request, Answer::Given(answer)),
        Err(text) => return Err(super::failure(thread, "Callback", &text)),
    }
    Ok(Word::NIL)
}

/// Gives a request its answer, unless it has one; its waiting native thread continues.
fn settle(thread: &mut Thread, request: &Request, answer: Answer) {
    request.settle(answer);
    if let Some(waiter) = request.waiter {
        anchor::look_again(thread, waiter);
    }
}

/// The request with this number gets no other answer than it has.
pub fn dismiss(thread: &mut Thread, number: i64) {
    if let Some(request) = thread.vm.concurrency().foreign.requests.close(number) {
        settle(thread, &request, Answer::Nothing);
    }
}

/// As [`dismiss`], of a word.
pub fn dismiss_word(thread: &mut Thread, number: Word) -> Result<Word, Failure> {
    dismiss(thread, integer_argument(number)?);
    Ok(Word::NIL)
}
