//! A short FIFO in one block of memory, for the items near a worker: taking and appending are a few instructions.
//!
//! Invariant: `taken` and `appended` count all items so far, so the items that wait are those between them, at their counts
//! modulo the number of places.

/// How many items there may be: a power of two.
pub(super) const PLACES: usize = 256;

/// See the head of the file.
pub(super) struct Near<T> {
    items: Box<[Option<T>; PLACES]>,
    taken: usize,
    appended: usize,
}

impl<T: Copy> Near<T> {
    pub(super) fn new() -> Near<T> {
        Near { items: Box::new([None; PLACES]), taken: 0, appended: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.appended.wrapping_sub(self.taken)
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.len() == PLACES
    }

    /// Appends an item to a FIFO that is not full.
    #[inline(always)]
    pub(super) fn append(&mut self, item: T) {
        debug_assert!(!self.is_full());
        self.items[self.appended % PLACES] = Some(item);
        self.appended = self.appended.wrapping_add(1);
    }

    /// The oldest item.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<T> {
        if self.taken == self.appended {
            return None;
        }
        let item = self.items[self.taken % PLACES];
        self.taken = self.taken.wrapping_add(1);
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_order_beyond_the_end_of_the_block() {
        let mut near = Near::new();
        let mut expected = 0;
        for item in 0..5 * PLACES {
            if near.is_full() {
                assert_eq!((near.take(), near.take()), (Some(expected), Some(expected + 1)));
                expected += 2;
            }
            near.append(item);
        }
        assert_eq!(near.len(), 5 * PLACES - expected);
        while let Some(item) = near.take() {
            assert_eq!(item, expected);
            expected += 1;
        }
        assert_eq!((expected, near.len()), (5 * PLACES, 0));
    }
}
