//! Blocks of native memory: where they come from, and when they go.
//!
//! A block lives as long as somebody has a reference to it; its *memory* goes earlier if it is released.
//! [`Pins`] say when that is safe.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::address::Address;
use crate::pins::{Pins, Unpinned};

/// A piece of memory outside of Rust's.
pub(super) struct Block {
    pub(super) address: usize,
    pub(super) size: usize,
    pins: Pins,
    /// Taken by who disposes of the memory.
    origin: Mutex<Option<Origin>>,
}

/// Something that must live as long as borrowed memory is used, such as a library.
pub type Keeper = Arc<dyn Any + Send + Sync>;

/// Where a block's memory comes from, which says how to give it back.
pub(super) enum Origin {
    /// Our own `calloc`.
    Allocated,
    /// C's own, which only keeps somebody else alive.
    Borrowed(#[expect(dead_code, reason = "it is there to be dropped")] Option<Keeper>),
    /// C's, given to us together with the function that frees it.
    Adopted(Box<dyn FnOnce(Address) + Send>),
}

/// The use of a block's memory, which stays there meanwhile.
pub(crate) struct Pin<'m>(pub(super) &'m Block);

static LIVE_BLOCKS: AtomicUsize = AtomicUsize::new(0);
static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// How much memory of our own is allocated in the process now: blocks and bytes.
pub fn allocated_memory() -> (usize, usize) {
    (LIVE_BLOCKS.load(Ordering::Relaxed), LIVE_BYTES.load(Ordering::Relaxed))
}

impl Block {
    pub(super) fn new(address: usize, size: usize, origin: Origin) -> Block {
        Block { address, size, pins: Pins::new(), origin: Mutex::new(Some(origin)) }
    }

    /// Memory of zeros for values of any type, or none if there is not that much.
    pub(super) fn allocate(size: usize) -> Option<Block> {
        if size > isize::MAX as usize {
            return None;
        }
        // SAFETY: `calloc` has no requirements. No allocation is of no bytes, so that addresses are unique.
        let address = unsafe { libc::calloc(size.max(1), 1) }.expose_provenance();
        if address == 0 {
            return None;
        }
        LIVE_BLOCKS.fetch_add(1, Ordering::Relaxed);
        LIVE_BYTES.fetch_add(size, Ordering::Relaxed);
        Some(Block::new(address, size, Origin::Allocated))
    }

    /// Pins the memory, unless it has been released.
    #[inline]
    pub(super) fn pin(&self) -> Option<Pin<'_>> {
        self.pins.pin().then(|| Pin(self))
    }

    /// Releases the memory: the first who asks gets a pin, and when all pins are gone, so is the memory.
    pub(super) fn retire(&self) -> Option<Pin<'_>> {
        self.pins.retire().then(|| Pin(self))
    }

    #[inline]
    pub(super) fn is_retired(&self) -> bool {
        self.pins.is_retired()
    }

    fn dispose(&self) {
        let origin = self.origin.lock().unwrap_or_else(PoisonError::into_inner).take();
        match origin {
            Some(Origin::Allocated) => self.free(),
            Some(Origin::Adopted(free)) => free(Address(self.address)),
            Some(Origin::Borrowed(_)) | None => {}
        }
    }

    fn free(&self) {
        // SAFETY: `calloc` gave it; the origin is taken once; who disposes knows that nobody uses it.
        unsafe { libc::free(std::ptr::with_exposed_provenance_mut(self.address)) };
        LIVE_BLOCKS.fetch_sub(1, Ordering::Relaxed);
        LIVE_BYTES.fetch_sub(self.size, Ordering::Relaxed);
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.0.pins.unpin() == Unpinned::Dispose {
            self.0.dispose();
        }
    }
}

impl Drop for Block {
    /// Nobody can pin it any more.
    fn drop(&mut self) {
        drop(self.retire());
    }
}
