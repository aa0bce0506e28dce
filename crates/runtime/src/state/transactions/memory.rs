//! The transactional memory of a vat: stripes, their writers, and the right to be inevitable. Transactions and guarded
//! accesses use the memory of their vat.
//!
//! An object belongs to one vat, so vats need no common clock: each has its own clock and stripes. They are made when
//! the vat's first transaction begins.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use squall_heap::{Object, RUN, number_of_hash};
use squall_transactions::{Sole, Space, Stripe};

use crate::state::strand::StrandRef;

/// There are 2 to the power of this many stripes: 24 MiB of address space with their writers; only used parts take
/// memory. In debug builds there are few, so that objects share them.
const STRIPE_BITS: u32 = if cfg!(debug_assertions) { 12 } else { 20 };

/// Stripes, their last writers, and the right to be inevitable.
pub struct Memory {
    /// The clock and the stripes.
    pub space: Space,
    /// By stripe: the address of the instruction that wrote it last, and the identity of its strand.
    writers: Box<[AtomicU64]>,
    /// The identity of the strand whose transaction is inevitable, or is to be; 0 if there is none.
    holder: AtomicU64,
    /// The thread that has the memory for itself.
    pub(crate) sole: Sole,
    /// How often threads were not alone that had thought so, up to a limit.
    pub(crate) doubt: AtomicU32,
}

/// A strand's identity as a holder, which is never 0.
fn holder_of(strand: StrandRef) -> u64 {
    strand.identity() | 1
}

impl Memory {
    pub(crate) fn new() -> Memory {
        let writers = vec![0; 2 << STRIPE_BITS];
        Memory {
            space: Space::new(STRIPE_BITS),
            writers: writers.into_iter().map(AtomicU64::new).collect(),
            holder: AtomicU64::new(0),
            sole: Sole::default(),
            doubt: AtomicU32::new(0),
        }
    }

    /// The key that distinguishes it from other memories. Memories live for ever.
    #[inline(always)]
    pub(crate) fn key(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// Records that the instruction at this address has written a stripe. For reports, so the two words
    /// may at times be of two writers.
    #[inline]
    pub(crate) fn set_writer(&self, stripe: Stripe, pc: usize, strand: StrandRef) {
        let index = self.writer_index(stripe);
        self.writers[index].store(pc as u64, Ordering::Relaxed);
        self.writers[index + 1].store(strand.identity(), Ordering::Relaxed);
    }

    /// The address of the instruction that wrote a stripe last, or 0, and the identity of its strand.
    pub(crate) fn writer(&self, stripe: Stripe) -> (usize, u64) {
        let index = self.writer_index(stripe);
        let load = |index: usize| self.writers[index].load(Ordering::Relaxed);
        (load(index) as usize, load(index + 1))
    }

    fn writer_index(&self, stripe: Stripe) -> usize {
        (stripe.0 as usize & ((1 << STRIPE_BITS) - 1)) * 2
    }
}

/// The right to be inevitable, which one strand has at a time.
impl Memory {
    /// Whether this strand has it.
    pub(crate) fn is_held_by(&self, strand: StrandRef) -> bool {
        self.holder.load(Ordering::Relaxed) == holder_of(strand)
    }

    /// Whether a strand has the right.
    pub(crate) fn is_held(&self) -> bool {
        self.holder.load(Ordering::SeqCst) != 0
    }

    /// Gives the right to this strand, if no other one has it; answers whether the strand has it now.
    pub(crate) fn hold(&self, strand: StrandRef) -> bool {
        let own = holder_of(strand);
        let was = self.holder.compare_exchange(0, own, Ordering::SeqCst, Ordering::Relaxed);
        was.is_ok() || was == Err(own)
    }

    /// The identity of the strand that has the right, unless none has it.
    pub(crate) fn holder(&self) -> Option<u64> {
        Some(self.holder.load(Ordering::SeqCst)).filter(|holder| *holder != 0)
    }

    /// Takes the right from its holder, and gives it to another strand, or to none.
    pub(crate) fn pass_to(&self, strand: Option<StrandRef>) {
        self.holder.store(strand.map_or(0, holder_of), Ordering::SeqCst);
    }
}

/// The stripe of an object's slots.
#[inline(always)]
pub fn stripe_of_slots(hash: u32) -> Stripe {
    stripe_of_number(number_of_hash(hash))
}

/// The stripe of an array's element: each run has one.
#[inline(always)]
pub fn stripe_of_element(hash: u32, index: usize) -> Stripe {
    stripe_of_number(number_of_hash(hash).wrapping_add((index / RUN) as u32))
}

/// Objects that are used together mostly have consecutive numbers: their stripes are in few pages, but not in
/// one cache line.
#[inline(always)]
fn stripe_of_number(number: u32) -> Stripe {
    const PAGE: u32 = 512;
    const LINE: u32 = 8;
    let page = number - number % PAGE;
    let (line, word) = (number % LINE, number % PAGE / LINE);
    Stripe(page + line * (PAGE / LINE) + word)
}

/// The stripes of some elements of an array.
pub fn stripes_of_elements(array: Object, start: usize, count: usize) -> Vec<Stripe> {
    let hash = array.identity_hash();
    let (first, last) = (start / RUN, (start + count.max(1) - 1) / RUN);
    (first..=last).map(|run| stripe_of_element(hash, run * RUN)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_number_has_a_stripe_of_its_own() {
        let stripes: HashSet<u32> = (0..4096).map(|number| stripe_of_number(number).0).collect();
        assert_eq!(stripes.len(), 4096);
        assert!(stripes.iter().all(|stripe| *stripe < 4096));
    }
}
