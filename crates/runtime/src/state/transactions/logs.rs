//! The native memory of transactions for their uncommitted reads and writes and their pending effects, and its limit. A
//! transaction asks here before its lists grow.
//!
//! This memory is outside of the heap. It has its own limit, since an endless transaction would take all memory
//! otherwise: half of the heap's maximum, for all transactions together. A transaction that needs more gets the
//! exception OutOfMemory, like a strand that makes too many objects.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The budget of all transactions.
pub struct Logs {
    left: AtomicUsize,
}

impl Logs {
    /// So many bytes.
    pub(crate) fn new(bytes: usize) -> Logs {
        Logs { left: AtomicUsize::new(bytes) }
    }
}

/// The memory of one transaction, which it gives back in the end.
pub struct Account {
    logs: &'static Logs,
    bytes: usize,
}

impl Account {
    /// Nothing yet.
    pub(crate) fn new(logs: &'static Logs) -> Account {
        Account { logs, bytes: 0 }
    }

    /// How much it has taken.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes more, if there is.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let left = &self.logs.left;
        let taken =
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        if taken.is_ok() {
            self.bytes += bytes;
        }
        taken.is_ok()
    }

    /// Gives back some of it.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.logs.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.logs.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_comes_back() {
        let logs: &'static Logs = Box::leak(Box::new(Logs::new(100)));
        let mut first = Account::new(logs);
        let mut second = Account::new(logs);
        assert!(first.take(60) && second.take(40));
        assert!(!first.take(1));
        second.give_back(10);
        assert!(first.take(10) && !first.take(1));
        drop(second);
        assert!(first.take(30) && !first.take(1));
        assert_eq!(first.bytes(), 100);
    }
}
