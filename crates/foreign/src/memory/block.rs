//! Blocks of native memory: their origins, and their ends. [`super`] accesses memory through them.
//!
//! A block lives as long as there is a reference to it; its *memory* is freed earlier if it is released. [`Pins`] tell
//! when that is safe.

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
    /// Taken by the thread that frees the memory.
    origin: Mutex<Option<Origin>>,
}

/// An object that must live as long as borrowed memory is used, such as a library.
pub type Keeper = Arc<dyn Any + Send + Sync>;

/// The origin of a block's memory, which determines how it is freed.
pub(super) enum Origin {
    /// Squall's own `calloc`.
    Allocated,
    /// C's own; dropping it only drops the keeper.
    Borrowed(#[expect(dead_code, reason = "it is there to be dropped")] Option<Keeper>),
    /// C's, handed over together with the function that frees it.
    Adopted(Box<dyn FnOnce(Address) + Send>),
}

/// A use of a block's memory, which stays allocated meanwhile.
pub(crate) struct Pin<'m>(pub(super) &'m Block);

static LIVE_BLOCKS: AtomicUsize = AtomicUsize::new(0);
static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The memory that Squall has allocated in the process: blocks and bytes.
pub fn allocated_memory() -> (usize, usize) {
    (LIVE_BLOCKS.load(Ordering::Relaxed), LIVE_BYTES.load(Ordering::Relaxed))
}

impl Block {
    pub(super) fn new(address: usize, size: usize, origin: Origin) -> Block {
        Block { address, size, pins: Pins::new(), origin: Mutex::new(Some(origin)) }
    }

    /// Memory of zeros for values of any type; `None` if there is not enough.
    pub(super) fn allocate(size: usize) -> Option<Block> {
        if size > isize::MAX as usize {
            return None;
        }
        // SAFETY: `calloc` has no requirements. At least one byte is allocated, so that addresses are unique.
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

    /// Releases the memory: the first caller gets a pin, and after the last pin the memory is freed.
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
        // SAFETY: `calloc` gave it; the origin is taken once; no thread uses the memory at its disposal.
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
    /// No thread can pin it any more.
    fn drop(&mut self) {
        drop(self.retire());
    }
}
