//! The memory of a call, usually on the native stack of the callout. The runtime's callouts make one for each call that
//! is not light, and `call` puts the arguments into it.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::mem::MaybeUninit;

use smallvec::SmallVec;

use crate::address::Address;
use crate::memory::{MemoryError, NativeMemory, Pin};
use crate::types::Mismatch;

/// Words that need no allocation: enough for all calls through registers, and most others.
const INLINE: usize = 64;

/// Room for the arguments of one call at a time. It serves any number of calls, one after the other. Making one costs
/// nothing.
pub struct CallSpace<'m> {
    /// The area of the call, then strings. Only raw pointers lead into it, so that C may have pointers as well.
    words: UnsafeCell<MaybeUninit<[u64; INLINE]>>,
    /// The number of used words.
    used: Cell<usize>,
    /// `None` for most calls, so that beginning and ending them costs nothing.
    kept: RefCell<Option<Kept<'m>>>,
}

/// Data that must live until the call has returned.
#[derive(Default)]
struct Kept<'m> {
    /// The guest's memory.
    pins: SmallVec<[Pin<'m>; 6]>,
    /// Copies of strings, and a large area.
    copies: Vec<NativeMemory>,
}

impl Default for CallSpace<'_> {
    fn default() -> Self {
        CallSpace::new()
    }
}

impl<'m> CallSpace<'m> {
    /// Room for a call.
    #[inline]
    pub fn new() -> CallSpace<'m> {
        let mut space = MaybeUninit::<CallSpace<'m>>::uninit();
        let start = space.as_mut_ptr();
        // Not as one expression: compilers tend to clear the words together with their neighbours. SAFETY: all fields
        // are written but the words, which may have any contents.
        unsafe {
            (&raw mut (*start).used).write(Cell::new(0));
            (&raw mut (*start).kept).write(RefCell::new(None));
            space.assume_init()
        }
    }

    /// Begins a call with an area of `count` words, with any contents.
    #[inline]
    pub(super) fn begin(&self, words: usize) -> Result<*mut u64, MemoryError> {
        debug_assert!(self.kept.borrow().is_none(), "the call before this one is over");
        if words > INLINE {
            self.used.set(0);
            return self.allocate(words);
        }
        self.used.set(words);
        Ok(self.words.get().cast())
    }

    #[cold]
    fn allocate(&self, words: usize) -> Result<*mut u64, MemoryError> {
        let memory = NativeMemory::allocate(words * size_of::<u64>())?;
        let area = memory.address()?;
        self.keep(|kept| kept.copies.push(memory));
        Ok(std::ptr::with_exposed_provenance_mut(area.0))
    }

    /// Keeps memory in place until the call is over, and answers its address.
    #[inline]
    pub(super) fn pin(&self, memory: &'m NativeMemory) -> Result<Address, Mismatch> {
        let (address, pin) = memory.pin().ok_or(Mismatch::Released)?;
        self.keep(|kept| kept.pins.push(pin));
        Ok(address)
    }

    /// Copies a string and adds a NUL. The copy lives until the call is over.
    pub(super) fn copy_text(&self, text: &[u8]) -> Result<Address, CopyError> {
        if text.contains(&0) {
            return Err(CopyError::Mismatch(Mismatch::InnerNul));
        }
        let words = text.len() / size_of::<u64>() + 1;
        if words > INLINE - self.used.get() {
            return self.allocate_text(text).map_err(CopyError::Memory);
        }
        // SAFETY: at the first free word there is room for the text and the NUL, and nothing else refers to it.
        let start = unsafe {
            let start = self.words.get().cast::<u64>().add(self.used.get()).cast::<u8>();
            start.copy_from_nonoverlapping(text.as_ptr(), text.len());
            start.add(text.len()).write(0);
            start
        };
        self.used.set(self.used.get() + words);
        Ok(Address(start.expose_provenance()))
    }

    #[cold]
    fn allocate_text(&self, text: &[u8]) -> Result<Address, MemoryError> {
        let memory = NativeMemory::allocate_text(text)?;
        let address = memory.address()?;
        self.keep(|kept| kept.copies.push(memory));
        Ok(address)
    }

    fn keep(&self, keep: impl FnOnce(&mut Kept<'m>)) {
        keep(self.kept.borrow_mut().get_or_insert_with(Kept::default));
    }

    /// Ends a call.
    #[inline]
    pub(super) fn end(&self) {
        let mut kept = self.kept.borrow_mut();
        if kept.is_some() {
            *kept = None;
        }
    }
}

/// The reason why a string was not copied.
pub(super) enum CopyError {
    Mismatch(Mismatch),
    Memory(MemoryError),
}

impl From<Mismatch> for CopyError {
    fn from(mismatch: Mismatch) -> CopyError {
        CopyError::Mismatch(mismatch)
    }
}
