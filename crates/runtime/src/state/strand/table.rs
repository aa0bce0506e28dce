//! The table of all strands: slabs of native memory, and the lists of those that are free. Threads take free strands from
//! it in batches; the collector asks it for roots and for lost strands.
//!
//! Slabs are never given back to the system, so that the address of a strand stays valid.

use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memmap2::MmapOptions;
use parking_lot::Mutex;
use squall_heap::{CollectionKind, RootAddress, Tracer};

use super::{
    ANY_SIZE, LARGE, LARGEST, MEDIUM, SIZES, SMALL, Strand, StrandRef, WithBottom, visit_touched,
};
use crate::state::sandbox::SandboxRef;
use crate::state::stack::{Bottom, Stack};

/// All strands: slabs of native memory, with a list of those that are free.
#[derive(Default)]
pub struct Strands {
    inner: Mutex<Slabs>,
    /// Strands that ran since the last collection on threads that have left.
    pub(super) orphans: Mutex<Vec<StrandRef>>,
    identities: AtomicU64,
    /// The identity of the strand that the embedder's message began last, the main one.
    main: AtomicU64,
    /// See [`Strands::cut_wait`].
    has_cut_waits: AtomicBool,
    /// The numbers by which reports have called strands other than main ones, by their identities.
    numbers: Mutex<HashMap<u64, u64>>,
}

#[derive(Default)]
struct Slabs {
    slabs: Vec<Slab>,
    /// By size.
    free: [Vec<StrandRef>; SIZES.len()],
}

/// Strands of one size, in consecutive memory.
#[derive(Clone, Copy)]
pub(crate) struct Slab {
    first: StrandRef,
    size: usize,
    length: usize,
}

/// The least and the largest number of strands in a slab of small strands.
const SLAB_LENGTHS: (usize, usize) = (128, 4096);
/// How many strands a slab of the largest ones has.
const LARGE_SLAB_LENGTH: usize = 8;
/// A new slab adds this fraction to the existing strands, which bounds the unused memory.
const SLAB_FRACTION: usize = 32;

/// The number of the main strand in reports.
const MAIN: u64 = 1;

/// How many identities a thread takes at a time.
const IDENTITIES: u64 = 1024;

/// How many free strands a thread takes and gives back at a time.
pub(super) const BATCH: usize = 32;

impl Strands {
    /// Takes free strands of a size, making some if there are none.
    pub(super) fn refill(&self, thread_pool: &mut Vec<StrandRef>, size: usize) {
        let Slabs { slabs, free } = &mut *self.inner.lock();
        if free[size].is_empty() {
            let made = slabs.iter().map(|slab| slab.length).sum::<usize>();
            let Some(slab) = Slab::new(size, made) else { return };
            free[size].extend(slab.strands().rev());
            slabs.push(slab);
        }
        let rest = free[size].len().saturating_sub(BATCH);
        thread_pool.extend(free[size].drain(rest..));
    }

    pub(super) fn give_back(&self, size: usize, strands: impl Iterator<Item = StrandRef>) {
        self.inner.lock().free[size].extend(strands);
    }

    /// Identities for a thread to use.
    pub(super) fn new_identities(&self) -> Range<u64> {
        let first = self.identities.fetch_add(IDENTITIES, Ordering::Relaxed);
        first..first + IDENTITIES
    }

    /// A strand in a queue was woken by a thread that does not know the queue.
    pub fn cut_wait(&self) {
        if !self.has_cut_waits() {
            self.has_cut_waits.store(true, Ordering::Relaxed);
        }
    }

    /// Whether that has ever happened.
    pub fn has_cut_waits(&self) -> bool {
        self.has_cut_waits.load(Ordering::Relaxed)
    }

    /// The number of a strand in reports: 1 for the main one; the others are numbered at their first mention. The
    /// caller ensures that no strand changes.
    pub fn number_of(&self, strand: StrandRef) -> u64 {
        self.number_of_identity(strand.identity())
    }

    /// The number by which reports call the strand with this identity, which may have ended.
    pub fn number_of_identity(&self, identity: u64) -> u64 {
        if self.main.load(Ordering::Relaxed) == identity {
            return MAIN;
        }
        let mut numbers = self.numbers.lock();
        let next = MAIN + 1 + numbers.len() as u64;
        *numbers.entry(identity).or_insert(next)
    }

    /// Whether the embedder's message began the strand.
    pub fn is_main(&self, strand: StrandRef) -> bool {
        self.main.load(Ordering::Relaxed) == strand.identity()
    }

    /// The embedder's message begins this strand.
    pub fn set_main(&self, strand: StrandRef) {
        self.main.store(strand.identity(), Ordering::Relaxed);
    }

    /// All strands that are not free. The caller ensures that no strand runs, or reads only atomic fields.
    pub fn all(&self) -> Vec<StrandRef> {
        let mut strands = Vec::new();
        self.for_each(|strand| strands.push(strand));
        strands
    }

    /// Calls `action` with each of [`Strands::all`], while the table is locked.
    fn for_each(&self, mut action: impl FnMut(StrandRef)) {
        for slab in &self.inner.lock().slabs {
            slab.strands().filter(|strand| !strand.is_free()).for_each(&mut action);
        }
    }

    /// All strands in pieces of so many, free ones as well. Those that are made from now on may be missing.
    pub(crate) fn pieces(&self, most: usize) -> Vec<Slab> {
        // The table is locked for a copy only: threads that make strands wait for it.
        let slabs = self.inner.lock().slabs.clone();
        slabs.iter().flat_map(|slab| slab.pieces(most)).collect()
    }

    /// Shows the objects of strands that are ready or run, and of the main one, to the collector, in
    /// full collections: in the others only those that ran since the last one matter, which their
    /// threads show.
    pub(crate) fn visit_roots(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        visit_touched(&mut self.orphans.lock(), kind, visit);
        if kind == CollectionKind::Full {
            let waits = |strand: &StrandRef| strand.is_parked() || strand.is_held();
            let is_root = |strand: &StrandRef| !waits(strand) || self.is_main(*strand);
            self.for_each(|strand| {
                if is_root(&strand) {
                    strand.object.visit(visit);
                }
            });
        }
    }

    /// Keeps the strands of sandboxes that can still end, while a run is recorded or repeats a recording: a strand that nothing can wake
    /// is not lost then, but ends with its sandbox, whenever collections happen.
    pub(crate) fn keep_guests(&self, tracer: &mut Tracer<'_>) {
        self.for_each(|strand| {
            let mut chain = strand.sandbox().into_iter().flat_map(SandboxRef::chain);
            if chain.any(|sandbox| tracer.is_live(sandbox.object())) {
                strand.object.keep(tracer);
            }
        });
    }

    /// Follows the strand objects that survive; answers the strands whose objects are dead, so that
    /// nothing can ever wake them.
    pub(crate) fn update(&self, tracer: &mut Tracer<'_>) -> Vec<StrandRef> {
        let mut lost = Vec::new();
        self.for_each(|strand| {
            if !strand.object.update(tracer) {
                lost.push(strand);
            }
        });
        lost
    }
}

impl Slab {
    /// A slab, if `made` strands were made so far; `None` if there is no memory.
    fn new(size: usize, made: usize) -> Option<Slab> {
        let (least, most) = SLAB_LENGTHS;
        let length = match size {
            ANY_SIZE => LARGE_SLAB_LENGTH,
            _ => (made / SLAB_FRACTION).clamp(least, most),
        };
        let first = match SIZES[size] {
            SMALL => make_slab::<SMALL>(size, length),
            MEDIUM => make_slab::<MEDIUM>(size, length),
            LARGE => make_slab::<LARGE>(size, length),
            _ => make_slab::<LARGEST>(size, length),
        };
        Some(Slab { first: first?, size, length })
    }

    /// The slab in pieces of so many strands.
    fn pieces(self, most: usize) -> impl Iterator<Item = Slab> {
        (0..self.length).step_by(most).map(move |begin| {
            let first = self.strands().nth(begin).unwrap_or(self.first);
            Slab { first, length: most.min(self.length - begin), ..self }
        })
    }

    pub(crate) fn strands(&self) -> impl DoubleEndedIterator<Item = StrandRef> + use<> {
        let (first, size) = (self.first.0.cast::<u8>(), self.size);
        let stride = match SIZES[size] {
            SMALL => size_of::<WithBottom<SMALL>>(),
            MEDIUM => size_of::<WithBottom<MEDIUM>>(),
            LARGE => size_of::<WithBottom<LARGE>>(),
            _ => size_of::<WithBottom<LARGEST>>(),
        };
        // SAFETY: the slab is an array of so many elements of this size, each with a strand first.
        (0..self.length).map(move |index| StrandRef(unsafe { first.add(index * stride) }.cast()))
    }
}

/// The first of `length` strands, in memory with present pages: the operating system is asked once, not at the first
/// use of each page.
fn make_slab<const N: usize>(size: usize, length: usize) -> Option<StrandRef> {
    let bytes = length * size_of::<WithBottom<N>>();
    let mut memory = ManuallyDrop::new(MmapOptions::new().len(bytes).populate().map_anon().ok()?);
    let first: NonNull<WithBottom<N>> = NonNull::new(memory.as_mut_ptr())?.cast();
    for index in 0..length {
        // SAFETY: the mapping has room for all of them, is aligned to pages, and is never given back; no other thread
        // knows the strands yet.
        unsafe {
            let place = first.add(index).as_ptr();
            (&raw mut (*place).strand).write(Strand::new(size));
            // The mapping's bytes are zero.
            Bottom::complete(&raw mut (*place).bottom);
            let WithBottom { strand, bottom } = &mut *place;
            strand.stack.as_ptr().write(Stack::new(bottom));
        }
    }
    Some(StrandRef(first.cast()))
}
