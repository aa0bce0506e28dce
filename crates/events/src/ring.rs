//! The buffer of one native thread: a ring of records with one writer and one reader. The writer never waits: if the ring
//! is full, the record is lost, and the loss is counted.
//!
//! ```text
//!            read                  written
//!     ┌───────┬─────────────────────┬───────┐
//!     │ free  │ records to be read  │ free  │      read <= written <= read + CAPACITY
//!     └───────┴─────────────────────┴───────┘
//! ```
//!
//! Protocol: only the writer changes `written`, and only the reader `read`. The writer stores the words of a record
//! before it releases `written`; the reader, which acquires that, loads them before it releases `read`. So no word is
//! read before it is whole, or overwritten before it was read. All words are atomics, so a second writer or reader would
//! mix up records and no more; [`crate::log`] gives each ring one of each.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::{Record, WORDS};

/// How many records a ring holds: those of some milliseconds at the greatest rate.
pub const CAPACITY: u64 = 1 << 16;

/// See the head of the file.
pub struct Ring {
    worker: u32,
    words: Box<[AtomicU64]>,
    written: AtomicU64,
    read: AtomicU64,
    lost: AtomicU64,
}

impl Ring {
    /// The ring of a worker.
    pub fn new(worker: u32) -> Ring {
        let words = (0..CAPACITY as usize * WORDS).map(|_| AtomicU64::new(0)).collect();
        let zero = || AtomicU64::new(0);
        Ring { worker, words, written: zero(), read: zero(), lost: zero() }
    }

    /// The number of the worker.
    pub fn worker(&self) -> u32 {
        self.worker
    }

    /// Whether all records were read.
    pub fn is_empty(&self) -> bool {
        self.read.load(Ordering::Relaxed) == self.written.load(Ordering::Acquire)
    }

    /// Appends a record; false if there is no room. For the writer.
    #[inline]
    pub fn push(&self, record: &Record) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        // Pairs with the reader's release: the words there were read.
        if written - self.read.load(Ordering::Acquire) == CAPACITY {
            return false;
        }
        for (place, word) in self.place(written).iter().zip(record.words()) {
            place.store(word, Ordering::Relaxed);
        }
        self.written.store(written + 1, Ordering::Release);
        true
    }

    /// A record was lost. For the writer.
    pub fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// The count of records lost since the last call.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    /// Takes the records up to and with a time, oldest first. For the reader.
    pub fn take_until(&self, time: u64, mut take: impl FnMut(Record)) {
        let mut read = self.read.load(Ordering::Relaxed);
        // Pairs with the writer's release: the words of these records are there.
        let written = self.written.load(Ordering::Acquire);
        while read < written {
            let place = self.place(read);
            let words = std::array::from_fn(|index| place[index].load(Ordering::Relaxed));
            if words[0] > time {
                break;
            }
            Record::of_words(words).into_iter().for_each(&mut take);
            read += 1;
        }
        self.read.store(read, Ordering::Release);
    }

    fn place(&self, number: u64) -> &[AtomicU64] {
        let start = (number % CAPACITY) as usize * WORDS;
        &self.words[start..start + WORDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Track;
    use crate::table::Kind;

    fn record(number: u64) -> Record {
        let fields = [number, number ^ 0xff, !number];
        Record { time: number, kind: Kind::VatCreated, track: Track::Vat(number >> 2), fields }
    }

    #[test]
    fn a_full_ring_takes_no_more_until_it_is_read() {
        let ring = Ring::new(3);
        assert!((0..CAPACITY).all(|number| ring.push(&record(number))));
        assert!(!ring.push(&record(CAPACITY)));
        let mut taken = Vec::new();
        ring.take_until(9, |record| taken.push(record));
        assert_eq!(taken, (0..10).map(record).collect::<Vec<_>>());
        assert!((0..10).all(|number| ring.push(&record(CAPACITY + number))));
        assert!(!ring.push(&record(0)));
        taken.clear();
        ring.take_until(u64::MAX, |record| taken.push(record));
        assert_eq!(taken, (10..CAPACITY + 10).map(record).collect::<Vec<_>>());
    }

    #[test]
    fn a_reader_beside_the_writer_gets_whole_records_in_order() {
        const COUNT: u64 = 300_000;
        let ring = Ring::new(0);
        let mut next = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..COUNT {
                    while !ring.push(&record(number)) {
                        ring.lose();
                        std::thread::yield_now();
                    }
                }
            });
            while next < COUNT {
                ring.take_until(u64::MAX, |taken| {
                    assert_eq!(taken, record(next));
                    next += 1;
                });
            }
        });
    }
}
