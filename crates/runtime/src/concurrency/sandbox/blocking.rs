//! Calls of sandboxes that block, such as opening a FIFO or looking up a name. Each occupies a native thread until it returns, and
//! there are only so many (`--max-threads`): guests may have half of them, so that the host goes on. Primitives that work with the
//! system call this module.

use squall_heap::Word;

use crate::concurrency::worker;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::string::make_string;
use crate::state::shares::Shares;
use crate::state::thread::Thread;

/// The native threads in such a call.
static BLOCKED: Shares = Shares::new();

/// As [`worker::outside`], unless the strand is in a sandbox and too many calls of sandboxes block already. *GC point.*
pub fn outside<R>(thread: &mut Thread, work: impl FnOnce() -> R) -> Result<R, Failure> {
    if thread.sandbox.is_none() {
        return Ok(worker::outside(thread, work));
    }
    let most = (thread.vm.options.scheduler.threads / 2).max(1);
    let Some(share) = BLOCKED.take(most) else {
        let what = make_string(thread, "a call that blocks, beside so many others of sandboxes,")?;
        return Err(Failure::with(FailureReason::NotSupported, what, Word::NIL));
    };
    let result = worker::outside(thread, work);
    drop(share);
    Ok(result)
}
