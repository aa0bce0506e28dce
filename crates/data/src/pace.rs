//! Work in pieces: a computation that may take long stops after each piece, so that its caller can do other things. The
//! other modules of the crate compute in this way, and the runtime's `library::work` takes the steps.
//!
//! Such a computation is a future that nothing wakes. It tells [`spend`] how much work it has done or is about to do. When
//! a piece is used up, `spend` stops the computation there, and [`Pieces::step`] returns; the next step goes on. If the
//! pieces are dropped, the rest of the work never happens.
//!
//! A *unit* of work is about as much as a call in a program: ten nanoseconds.
//!
//! A computation also tells what it [holds](hold), since a stopped one keeps its memory.
//!
//! Invariants: a computation owns all that it works on, and waits for nothing but `spend`.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// As much work as has no end.
const ENDLESS: i64 = i64::MAX;

thread_local! {
    /// How much is left of the piece that runs on this native thread.
    static LEFT: Cell<i64> = const { Cell::new(ENDLESS) };
    /// When the piece that runs on this native thread ends, whatever is left of it.
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
    /// How many bytes the computation that runs on this native thread holds.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// The computation now holds about so many bytes, beside what it was given.
pub fn hold(bytes: usize) {
    HELD.set(bytes);
}

/// Counts units of work; at the end of a piece, stops until the next one.
pub async fn spend(units: usize) {
    let left = LEFT.get().saturating_sub(i64::try_from(units).unwrap_or(i64::MAX));
    LEFT.set(left);
    if left <= 0 || END.get().is_some_and(|end| Instant::now() >= end) {
        let mut has_stopped = false;
        poll_fn(|_| match std::mem::replace(&mut has_stopped, true) {
            false => Poll::Pending,
            true => Poll::Ready(()),
        })
        .await;
    }
}

/// Does all of the work at once. For inputs whose size the caller has checked.
pub fn at_once<T>(work: impl Future<Output = T>) -> T {
    counted(work).0
}

/// Does all of the work at once, and counts its units.
pub fn counted<T>(work: impl Future<Output = T>) -> (T, usize) {
    let mut work = pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    let (outer, end) = (LEFT.replace(ENDLESS), END.take());
    loop {
        if let Poll::Ready(result) = work.as_mut().poll(&mut context) {
            let spent = ENDLESS - LEFT.replace(outer);
            END.set(end);
            return (result, usize::try_from(spent).unwrap_or(0));
        }
        LEFT.set(ENDLESS);
    }
}

/// A computation that is done piece by piece.
pub struct Pieces<T> {
    rest: Pin<Box<dyn Future<Output = T> + Send>>,
    held: usize,
}

impl<T> Pieces<T> {
    /// The pieces of this work. None is done yet.
    pub fn of(work: impl Future<Output = T> + Send + 'static) -> Pieces<T> {
        Pieces { rest: Box::pin(work), held: 0 }
    }

    /// How many bytes the computation held when its last piece ended.
    pub fn held(&self) -> usize {
        self.held
    }

    /// As [`Pieces::step`], but the piece ends when it has taken so much time: some work takes longer than its units say.
    pub fn step_within(&mut self, units: usize, time: Duration) -> (Option<T>, usize) {
        let outer = END.replace(Some(Instant::now() + time));
        let done = self.step(units);
        END.set(outer);
        done
    }

    /// Does the next piece, of about so many units. Answers the result if that was the last piece, and how many units the
    /// piece took.
    pub fn step(&mut self, units: usize) -> (Option<T>, usize) {
        let whole = i64::try_from(units).unwrap_or(ENDLESS);
        let outer = (LEFT.replace(whole), HELD.replace(self.held));
        let polled = self.rest.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let spent = whole.saturating_sub(LEFT.replace(outer.0));
        self.held = HELD.replace(outer.1);
        let result = match polled {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        };
        (result, usize::try_from(spent).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn count(to: usize) -> usize {
        let mut sum = 0;
        for number in 0..to {
            sum += number;
            spend(1).await;
        }
        sum
    }

    #[test]
    fn a_piece_ends_when_its_units_are_spent() {
        let mut pieces = Pieces::of(count(10));
        assert_eq!(pieces.step(4), (None, 4));
        assert_eq!(pieces.step(4), (None, 4));
        assert_eq!(pieces.step(4), (Some(45), 2));
    }

    #[test]
    fn a_stopped_computation_tells_what_it_holds() {
        let mut pieces = Pieces::of(async {
            hold(100);
            spend(10).await;
            hold(300);
            spend(10).await;
        });
        pieces.step(10);
        let inner = Pieces::of(async { hold(7) }).step(10);
        assert_eq!((pieces.held(), inner), (100, (Some(()), 0)));
        pieces.step(10);
        assert_eq!(pieces.held(), 300);
    }

    #[test]
    fn a_piece_ends_when_its_time_is_over() {
        let mut pieces = Pieces::of(count(3));
        let steps = [(); 4].map(|()| pieces.step_within(1000, Duration::ZERO));
        assert_eq!(steps, [(None, 1), (None, 1), (None, 1), (Some(3), 0)]);
        assert_eq!(Pieces::of(count(3)).step(1000), (Some(3), 3));
    }

    #[test]
    fn work_at_once_ends_no_piece() {
        let mut pieces = Pieces::of(async { at_once(count(100)) });
        assert_eq!(pieces.step(10), (Some(4950), 0));
    }
}
