//! Shares of something of which there are only so many for all strands together, such as native threads. Works and calls that
//! block take one each.
//!
//! Protocol: the number of shares is one atomic, which orders nothing: a share protects no data.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What is shared: how many shares are taken.
pub struct Shares(AtomicUsize);

/// A share; dropped, it is free again.
pub struct Share(&'static Shares);

impl Shares {
    /// None is taken.
    pub const fn new() -> Shares {
        Shares(AtomicUsize::new(0))
    }

    /// Takes one, unless `most` are taken.
    pub fn take(&'static self, most: usize) -> Option<Share> {
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            (taken < most).then_some(taken + 1)
        });
        taken.ok().map(|_| Share(self))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_limited_and_given_back() {
        static SHARES: Shares = Shares::new();
        let first = SHARES.take(1);
        assert!(first.is_some() && SHARES.take(1).is_none());
        drop(first);
        assert!(SHARES.take(1).is_some());
    }
}
