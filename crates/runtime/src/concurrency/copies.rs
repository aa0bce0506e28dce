//! Copies of the process, made in the middle of a run: the debugger keeps some, from which a run is repeated. It calls this
//! module.
//!
//! # Protocol
//!
//! The system copies the memory of all threads, and the calling thread alone. What other threads held at that moment, the copy
//! holds for ever. So a copy is made only where that is nothing:
//!
//! | thread | why it holds nothing |
//! |---|---|
//! | mutators | there is no other one; the caller stands at a poll |
//! | the collector's | they have ended, and begin again where code runs ([`Heap::end_collector`]) |
//! | the main thread | it waits in [`native_threads`], on a lock of the system's own form; the copy gets another one |
//! | those of the caller's list | the caller has seen to it |
//! | any other | there is none, or no copy is made |
//!
//! Locks that keep their waiting threads in a list, as those of `parking_lot` do, have none of the left threads in it, for
//! the same reasons.
//!
//! Machine code is in shared memory, which no copy may write. A copy that is to run calls [`take_up`] first.

use std::io::Error;

use squall_heap::Heap;
use squall_system::process;

use crate::concurrency::native_threads;
use crate::state::thread::Thread;

/// Which of two processes this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The one that was there before, and the number of the copy.
    Original(i32),
    /// The copy.
    Copy,
}

/// Copies the process, in which no other threads run than the protocol allows. `others` are the names of the caller's.
pub fn make(thread: &Thread, others: &[&str]) -> Result<Side, Error> {
    if !has_only(others) || !thread.vm.heap.end_collector() {
        return Err(Error::other("other threads run"));
    }
    let made = fork();
    if !matches!(made, Ok(Side::Copy)) {
        thread.vm.heap.begin_collector();
    }
    made
}

/// Copies a process that is a copy, and has no other thread.
pub fn make_again() -> Result<Side, Error> {
    fork()
}

/// This process, a copy, is to run.
pub fn take_up(thread: &Thread) -> Result<(), Error> {
    thread.vm.heap.begin_collector();
    native_threads::replace_main_thread();
    thread.vm.tier.take_up()
}

/// Closes descriptors for this process, a copy, which shares what is open with the original. Those that have them find that
/// all is at its end.
pub fn let_go(descriptors: &[i32]) {
    // SAFETY: the path is a C string; the calls have no other requirements. A descriptor stays open, as its owner may expect.
    unsafe {
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for &descriptor in descriptors.iter().filter(|_| nothing >= 0) {
            libc::dup2(nothing, descriptor);
        }
        libc::close(nothing);
    }
}

/// Forgets those of these copies of this process that have ended.
pub fn forget_ended(copies: &mut Vec<i32>) {
    copies.retain(|&copy| {
        // SAFETY: the call has no requirements; no status is asked for.
        unsafe { libc::waitpid(copy, std::ptr::null_mut(), libc::WNOHANG) == 0 }
    });
}

fn fork() -> Result<Side, Error> {
    let name = process::name();
    // SAFETY: the copy has the calling thread alone, and all memory as it is. Other threads were in no function that leaves
    // memory or locks in between states, by the protocol above; the C library sees to its own locks.
    match unsafe { libc::fork() } {
        -1 => Err(Error::last_os_error()),
        0 => {
            // The calling thread is the copy's main one, whose name is the process's.
            name.into_iter().for_each(|name| process::set_name(&name));
            Ok(Side::Copy)
        }
        process => Ok(Side::Original(process)),
    }
}

/// Whether all threads but the calling, the main and the collector's have these names.
fn has_only(names: &[&str]) -> bool {
    let is_known = |name: &String| name == Heap::COLLECTOR || names.contains(&name.as_str());
    process::other_threads().is_ok_and(|others| others.iter().all(is_known))
}
