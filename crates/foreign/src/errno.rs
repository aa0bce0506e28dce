//! C's `errno`, which each native thread has for itself. Calls and callbacks read and set it.

use std::ffi::c_int;

/// The address of this native thread's `errno`.
#[inline]
fn location() -> *mut c_int {
    // SAFETY: these functions have no requirements, and never fail.
    unsafe {
        #[cfg(any(
            target_os = "linux",
            target_os = "emscripten",
            target_os = "fuchsia",
            target_os = "hurd"
        ))]
        return libc::__errno_location();
        #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
        return libc::__errno();
        #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
        return libc::__error();
    }
}

/// The address of this native thread's `errno`, looked up once. It cannot go to another thread.
#[derive(Clone, Copy)]
pub(crate) struct Errno(*mut c_int);

impl Errno {
    #[inline]
    pub(crate) fn of_this_thread() -> Errno {
        Errno(location())
    }

    #[inline]
    pub(crate) fn get(self) -> c_int {
        // SAFETY: it is valid on this thread, and only this thread uses it.
        unsafe { self.0.read() }
    }

    #[inline]
    pub(crate) fn set(self, errno: c_int) {
        // SAFETY: as in `get`.
        unsafe { self.0.write(errno) }
    }
}
