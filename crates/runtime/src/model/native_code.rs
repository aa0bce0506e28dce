//! A function's machine code, and the count of its executions that leads to it. The interpreter counts; the tier that
//! compiles installs code, and machine code calls other functions through the cell with their entry.
//!
//! A function has one [`NativeCode`] for each [`CodeKind`], as strands that need different ones can run it at once. Code
//! calls code of its own kind only.
//!
//! Protocol: any thread may count; a count that is lost does not matter. A cell changes from one address to another at
//! once, each of which is right at any time, because code is never freed while it can be reached. The *code* cell is
//! written before the entry, with a release, so that a thread that finds an entry finds the code, too.

use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

/// What code does beside the program's own work, as the strand that it runs for requires.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CodeKind {
    /// Nothing: its accesses are loads and stores.
    Bare,
    /// Its accesses to what guests can write are as transactions of other strands allow, and part of the strand's own.
    Guarded,
    /// It counts its polls, for a budget of fuel, and is hardened against a guest that makes the processor guess. Its accesses
    /// are bare.
    Sandboxed,
}

impl CodeKind {
    /// Each of them.
    pub const ALL: [CodeKind; 3] = [CodeKind::Bare, CodeKind::Guarded, CodeKind::Sandboxed];
}

/// The cells of a function.
pub struct NativeCode {
    /// Counts up from a negative number; from zero on, the function is hot.
    heat: AtomicI32,
    /// How many more samples of the function's machine code there are before it gets better code.
    patience: AtomicI32,
    /// Where machine code calls the function. Null if nothing compiles.
    entry: AtomicPtr<()>,
    /// The description of the function's machine code; null if there is none. Its type is the compiling tier's.
    code: AtomicPtr<()>,
}

/// What a call counts.
pub const CALL: i32 = 5;
/// What a turn of a loop counts.
pub const TURN: i32 = 2;

/// The heat of a function that is never to be compiled. It counts up as others do, which takes hours.
const NEVER: i32 = i32::MIN;

/// The heat of new functions, and their entry: set before there is a function.
static FIRST_HEAT: AtomicI32 = AtomicI32::new(NEVER);
static FIRST_ENTRY: AtomicUsize = AtomicUsize::new(0);

/// Makes functions that are linked from now on hot after this count, and lets machine code call them at this entry.
pub fn compile_after(count: u32, entry: *const ()) {
    FIRST_HEAT.store(-(count as i32), Ordering::Relaxed);
    FIRST_ENTRY.store(entry as usize, Ordering::Relaxed);
}

impl Default for NativeCode {
    fn default() -> NativeCode {
        NativeCode {
            heat: AtomicI32::new(FIRST_HEAT.load(Ordering::Relaxed)),
            patience: AtomicI32::new(0),
            entry: AtomicPtr::new(FIRST_ENTRY.load(Ordering::Relaxed) as *mut ()),
            code: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

impl NativeCode {
    /// Where the entry's cell is in this structure, in bytes.
    pub const ENTRY: usize = std::mem::offset_of!(NativeCode, entry);

    /// Sets how many samples machine code takes before the function gets better code.
    pub fn set_patience(&self, count: i32) {
        self.patience.store(count, Ordering::Relaxed);
    }

    /// Counts a sample, and answers whether the function is to get better code.
    pub fn sample(&self) -> bool {
        self.patience.fetch_sub(1, Ordering::Relaxed) <= 1
    }

    /// Where machine code calls the function.
    pub fn entry(&self) -> *const () {
        self.entry.load(Ordering::Acquire)
    }

    /// Makes machine code call the function elsewhere: at other code for it.
    pub fn set_entry(&self, entry: *const ()) {
        // Release: whoever finds the entry finds the code behind it.
        self.entry.store(entry.cast_mut(), Ordering::Release);
    }

    /// Counts, and answers whether the function is hot. A hot function's count is only read, so that threads do not
    /// fight for it.
    #[inline(always)]
    pub fn count(&self, by: i32) -> bool {
        let heat = self.heat.load(Ordering::Relaxed);
        if heat >= 0 {
            return true;
        }
        self.heat.store(heat + by, Ordering::Relaxed);
        false
    }

    /// Whether the function is hot.
    #[inline(always)]
    pub fn is_hot(&self) -> bool {
        self.heat.load(Ordering::Relaxed) >= 0
    }

    /// The function cannot be compiled: it is cold for as long as a program runs.
    pub fn give_up(&self) {
        self.heat.store(NEVER, Ordering::Relaxed);
    }

    /// Whether the function has no machine code, and never gets any.
    pub fn is_given_up(&self) -> bool {
        self.heat.load(Ordering::Relaxed) < NEVER / 2
    }

    /// Takes the machine code away for good; calls go to the interpreter, by this entry.
    pub fn forget(&self, entry: *const ()) {
        self.code.store(std::ptr::null_mut(), Ordering::Release);
        self.set_entry(entry);
        self.give_up();
    }

    /// The description of the machine code, or null.
    #[inline(always)]
    pub fn code(&self) -> *const () {
        // Acquire: pairs with `install`.
        self.code.load(Ordering::Acquire)
    }

    pub(crate) fn install(&self, code: *const (), entry: *const ()) {
        self.code.store(code.cast_mut(), Ordering::Release);
        self.entry.store(entry.cast_mut(), Ordering::Release);
        self.heat.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_gets_hot_by_its_count_and_stays_hot() {
        let code = NativeCode { heat: AtomicI32::new(-2 * CALL), ..NativeCode::default() };
        assert!(!code.count(CALL) && !code.count(CALL));
        assert!(code.count(CALL) && code.is_hot());
        code.give_up();
        assert!(!code.count(CALL));
    }
}
