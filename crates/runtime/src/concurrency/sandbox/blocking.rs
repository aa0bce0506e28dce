//! Calls of sandboxes that block, such as opening a FIFO or looking up a name. Each occupies a native thread until it returns, and
//! there are only so many (`--max-threads`): guests may have half of them, so that the host goes on. Primitives that work with the
//! system call this module.

use std::sync::atomic::{AtomicUsize, Ordering};

use squall_heap::Word;

use crate::concurrency::worker;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::string::make_string;
use crate::state::thread::Thread;

/// How many strands of sandboxes are in such a call.
static BLOCKED: AtomicUsize = AtomicUsize::new(0);

/// The part of one of them.
struct Place;

impl Place {
    fn take(most: usize) -> Option<Place> {
        // Relaxed: the number orders nothing.
        let taken = BLOCKED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |blocked| {
            (blocked < most).then_some(blocked + 1)
        });
        taken.ok().map(|_| Place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        BLOCKED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// As [`worker::outside`], unless the strand is in a sandbox and too many calls of sandboxes block already. *GC point.*
pub fn outside<R>(thread: &mut Thread, work: impl FnOnce() -> R) -> Result<R, Failure> {
    if thread.sandbox.is_none() {
        return Ok(worker::outside(thread, work));
    }
    let most = (thread.vm.options.scheduler.threads / 2).max(1);
    let Some(place) = Place::take(most) else {
        let what = make_string(thread, "a call that blocks, beside so many others of sandboxes,")?;
        return Err(Failure::with(FailureReason::NotSupported, what, Word::NIL));
    };
    let result = worker::outside(thread, work);
    drop(place);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_and_given_back() {
        let first = Place::take(1);
        assert!(first.is_some() && Place::take(1).is_none());
        drop(first);
        assert!(Place::take(1).is_some());
    }
}
