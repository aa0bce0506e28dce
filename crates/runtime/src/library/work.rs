//! Long primitives: the work of a primitive is done in pieces, between which the strand polls. The primitives for
//! texts, documents, patterns and large integers call this module. So a strand in a long primitive gives way, can be
//! ended, and pays for its work like one in a loop.
//!
//! A primitive with little to do answers at once. Otherwise the work is left with the strand, and the primitive answers
//! with a call of the kernel's `completeWork:`, which does one piece in each turn of a loop (`workStep:`).
//!
//! A primitive gives its work one of these forms:
//!
//! - [`compute`]: a computation on plain data (`squall_data::pace`), whose result is made into an object at the end;
//! - [`compute_beside`]: the same, if a piece may take long. It runs outside, so the vat's other strands go on meanwhile,
//!   and sandboxes do no more of such pieces at a time than there are cores;
//! - [`start`]: a [`Work`] that makes or reads objects. They are in the subject of the right that it gets.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use squall_data::pace::{Pieces, counted};
use squall_heap::Word;

use crate::concurrency::worker;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::rights::{self, Kind};
use crate::state::effort::PIECE;
use crate::state::shares::Shares;
use crate::state::thread::{Thread, Window};
use crate::state::work::{Step, Work};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[Primitive::ordinary("workStep:", step)];

/// Computations on so many bytes are done at once.
pub const SMALL: usize = 4 << 10;

/// Computes something of plain data of this size, in bytes, and makes an object of the result. *GC point.*
pub fn compute<T: 'static>(
    thread: &mut Thread,
    size: usize,
    work: impl Future<Output = T> + Send + 'static,
    conclude: impl FnOnce(&mut Thread, T) -> Result<Word, Failure> + Send + 'static,
) -> Outcome {
    // A guest may find small inputs that are much work.
    if size <= SMALL && thread.sandbox.is_none() {
        let (result, units) = counted(work);
        thread.charge(units);
        return conclude(thread, result).into();
    }
    let mut pieces = Pieces::of(work);
    let (result, units) = step_of(&mut pieces, has_time(thread));
    thread.charge(units);
    match result {
        Some(result) => conclude(thread, result).into(),
        None => {
            let rest = Computation { pieces, conclude: Some(conclude), size, is_beside: false };
            start(thread, Box::new(rest), Word::NIL)
        }
    }
}

/// The same, for a computation with pieces that may be long. *GC point.*
pub fn compute_beside<T: 'static>(
    thread: &mut Thread,
    size: usize,
    work: impl Future<Output = T> + Send + 'static,
    conclude: impl FnOnce(&mut Thread, T) -> Result<Word, Failure> + Send + 'static,
) -> Outcome {
    if size <= SMALL {
        return compute(thread, size, work, conclude);
    }
    let (pieces, conclude) = (Pieces::of(work), Some(conclude));
    start(thread, Box::new(Computation { pieces, conclude, size, is_beside: true }), Word::NIL)
}

/// The time of a guest's piece, whatever its units say.
const LONGEST_PIECE: Duration = Duration::from_millis(2);

/// Whether the pieces of the strand that runs here have an end in time. Those of seeded runs have not: they are repeated.
fn has_time(thread: &Thread) -> bool {
    thread.sandbox.is_some() && !thread.vm.scheduler.is_seeded()
}

/// Does the next piece.
fn step_of<T>(pieces: &mut Pieces<T>, has_time: bool) -> (Option<T>, usize) {
    match has_time {
        true => pieces.step_within(PIECE, LONGEST_PIECE),
        false => pieces.step(PIECE),
    }
}

/// Has the strand go on with a work, with these objects. *GC point.*
pub fn start(thread: &mut Thread, work: Box<dyn Work>, subject: Word) -> Outcome {
    /// A number for each work of the process, so that no right is good for another work.
    static NUMBERS: AtomicI64 = AtomicI64::new(1);
    // Relaxed: the numbers differ, and nothing else depends on them.
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let right = match rights::make_with(thread, Kind::Work, number, subject) {
        Ok(right) => right,
        Err(failure) => return failure.into(),
    };
    let method = thread.vm.kernel_method("completeWork:").expect("the kernel completes works");
    let kernel = thread.vm.roots.kernel.get();
    thread.message.clear();
    thread.message.extend([kernel, right]);
    let held = thread.running().with_works(|works| works.add(number, work));
    thread.charge_memory(held);
    Outcome::Call(method)
}

/// Does the next piece of a work. Answers its result, or the right if there is more to do. *GC point.*
fn step(thread: &mut Thread, window: Window) -> Outcome {
    let number = match rights::number(thread, window.get(0), Kind::Work) {
        Ok(number) => number,
        Err(failure) => return failure.into(),
    };
    let Some(mut work) = thread.running().with_works(|works| works.take(number)) else {
        return Failure::argument(window.get(0)).into();
    };
    let outcome = match work.step(thread, window) {
        Ok(Step::Done(word)) => {
            thread.running().with_works(|works| works.remove(number));
            return Outcome::Return(word);
        }
        // The strand may be anywhere by now.
        Err(failure) if failure.is_elsewhere() => failure.into(),
        Err(failure) => {
            thread.running().with_works(|works| works.remove(number));
            return failure.into();
        }
        Ok(Step::Then(next)) => {
            work = next;
            Outcome::Return(window.get(0))
        }
        Ok(Step::More) => {
            // The work was charged; how many turns it has taken may differ.
            thread.metering.refund_turn();
            Outcome::Return(window.get(0))
        }
        Ok(Step::Wait) => {
            thread.metering.refund_turn();
            Outcome::Yield(window.get(0))
        }
    };
    let grown = thread.running().with_works(|works| works.put_back(number, work));
    thread.charge_memory(grown);
    outcome
}

/// The rest of a work: a computation on so many bytes, and making an object of its result.
pub fn computation<T: 'static>(
    size: usize,
    work: impl Future<Output = T> + Send + 'static,
    conclude: impl FnOnce(&mut Thread, T) -> Result<Word, Failure> + Send + 'static,
) -> Box<dyn Work> {
    let (pieces, conclude) = (Pieces::of(work), Some(conclude));
    Box::new(Computation { pieces, conclude, size, is_beside: false })
}

/// A computation on plain data.
struct Computation<T, C> {
    pieces: Pieces<T>,
    /// Makes the object; taken when it is used.
    conclude: Option<C>,
    /// How many bytes it works on.
    size: usize,
    /// Whether pieces run outside.
    is_beside: bool,
}

impl<T, C> Work for Computation<T, C>
where
    C: FnOnce(&mut Thread, T) -> Result<Word, Failure> + Send,
{
    fn step(&mut self, thread: &mut Thread, _: Window) -> Result<Step, Failure> {
        let has_time = has_time(thread);
        let mut step = || step_of(&mut self.pieces, has_time);
        let done = if self.is_beside { beside(thread, step) } else { Some(step()) };
        let Some((result, units)) = done else { return Ok(Step::Wait) };
        thread.charge(units);
        match (result, self.conclude.take()) {
            (Some(result), Some(conclude)) => conclude(thread, result).map(Step::Done),
            (_, conclude) => {
                self.conclude = conclude;
                Ok(Step::More)
            }
        }
    }

    fn bytes(&self) -> usize {
        self.size.saturating_add(self.pieces.held())
    }
}

/// Does a long piece outside, so the vat's other strands go on meanwhile. None if sandboxes do as many of them as there are
/// cores already, and the strand that runs here is of one, too. *GC point.*
pub fn beside<T>(thread: &mut Thread, piece: impl FnOnce() -> T) -> Option<T> {
    if thread.sandbox.is_none() {
        return Some(worker::outside(thread, piece));
    }
    let _share = LONG_PIECES.take(*CORES)?;
    Some(worker::outside(thread, piece))
}

/// The long pieces of sandboxes that run. There are no more than cores: a hundred sandboxes with one each would leave little time to the
/// native threads that run all other strands.
static LONG_PIECES: Shares = Shares::new();

static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
