//! Whether the process was started without a standard output. The command asks before it writes there.
//!
//! Rust's runtime opens the null device in place of standard streams that are closed, before `main`. Afterwards they
//! cannot be told from streams that were redirected to the null device. So a function looks before: the loader calls it
//! with the constructors of C++'s global objects.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the process was started without a standard output.
pub fn output_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    // SAFETY: this reads a flag of a descriptor, and fails if there is none.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}

// SAFETY: the loader calls each function in this section once, before any other thread runs. `look` allocates nothing and
// needs nothing of Rust's runtime.
#[used]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
static AT_START: extern "C" fn() = look;
