//! Processor time of sandboxes: how long the strands of a sandbox with a budget of time have run. Metering calls it when such
//! a strand is entered and left, and in slow polls between.
//!
//! Time is that of the native thread's own clock, which stands while the thread waits or another one has the processor.
//! With a seed it is the scheduler's virtual time, so a run stays repeatable.
//!
//! A strand whose fuel is counted comes to slow polls by itself. The polls of others are free, and so is machine code that
//! polls rarely. So while timed strands run, a native thread, the *pacer*, asks the threads that run them to poll, every few
//! milliseconds. It ends when there have been no such threads for a while:
//!
//! ```text
//!   thread:  is_timed := true;    is_paced?  if not: is_paced := true, start a pacer
//!   pacer:   is_paced := false;   is a thread timed?  if so: is_paced := true, go on
//! ```
//!
//! Both sides store first and look then, in one order for all threads, so at least one of them sees the other.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::state::sandbox::SandboxRef;
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// The time from one request to poll to the next.
const PACE: Duration = Duration::from_millis(5);

/// How many times in a row the pacer finds no timed strand before it ends.
const LAST: u32 = 200;

/// A timed strand is entered.
pub(crate) fn begin(thread: &mut Thread) {
    thread.metering.timed_since = now(thread.vm);
    thread.metering.is_timed.store(true, Ordering::SeqCst);
    let vm = thread.vm;
    if !vm.sandboxes.is_paced.load(Ordering::SeqCst) && !vm.scheduler.is_seeded() {
        start(vm);
    }
}

/// A timed strand of this sandbox is left.
pub(crate) fn end(thread: &mut Thread, sandbox: SandboxRef) {
    // If no time is left, the next strand of the sandbox finds that out.
    _ = charge(thread, sandbox);
    thread.metering.is_timed.store(false, Ordering::Relaxed);
}

/// Charges the time since the last call; answers a sandbox that has none left.
pub(crate) fn charge(thread: &mut Thread, sandbox: SandboxRef) -> Result<(), SandboxRef> {
    let now = now(thread.vm);
    let spent = now.saturating_sub(std::mem::replace(&mut thread.metering.timed_since, now));
    let spent = i64::try_from(spent).unwrap_or(i64::MAX);
    let timed = sandbox.chain().filter(|sandbox| sandbox.budgets().time.is_some());
    let empty = timed.filter(|sandbox| sandbox.0.time.fetch_sub(spent, Ordering::Relaxed) <= spent);
    empty.last().map_or(Ok(()), Err)
}

/// Nanoseconds.
fn now(vm: &Vm) -> u64 {
    if vm.scheduler.is_seeded() {
        return u64::try_from(vm.scheduler.elapsed().as_nanos()).unwrap_or(u64::MAX);
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time has room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cold]
fn start(vm: &'static Vm) {
    if vm.sandboxes.is_paced.swap(true, Ordering::SeqCst) {
        return;
    }
    let pacer = std::thread::Builder::new().name("pacer".into()).spawn(move || pace(vm));
    if pacer.is_err() {
        // The next strand tries again; until then, only strands with fuel, and those that stop, are timed.
        vm.sandboxes.is_paced.store(false, Ordering::SeqCst);
    }
}

fn pace(vm: &'static Vm) {
    let mut idle = 0;
    while vm.ended.code().is_none() {
        std::thread::sleep(PACE);
        idle = if vm.ask_timed_threads() { 0 } else { idle + 1 };
        if idle < LAST {
            continue;
        }
        vm.sandboxes.is_paced.store(false, Ordering::SeqCst);
        if !vm.ask_timed_threads() || vm.sandboxes.is_paced.swap(true, Ordering::SeqCst) {
            return;
        }
        idle = 0;
    }
}
