//! Memory that C and the guest share. The runtime's primitives for `lib/Foreign.ns` access it.
//!
//! [`NativeMemory`] is a part of a *block*: the whole block at first, less for a view. Copies are cheap and denote the
//! same memory. A block is *allocated* (Squall's, zeroed), *borrowed* (C's: a variable of a library, the target of a
//! pointer) or *adopted* (made by C, and freed by Squall with C's own function).
//!
//! **Bounds.** Each access is checked against its part, and is within the block for every offset. The size of borrowed
//! memory is the borrower's claim.
//!
//! **Lifetime.** The memory is freed when it is *released*, through any part, or when no part of it is left. After a
//! release all parts answer [`MemoryError::Released`]. Releasing again does nothing.
//!
//! **Threads.** All threads may use the same memory at the same time, and release it at any time.
//! - Races of accesses are harmless: `memory/raw.rs` describes their outcomes.
//! - Memory is *pinned* while it is accessed, and while a call has it as an argument. Released memory that is pinned is
//!   freed after the last pin. So no memory is used after it is freed, in any order of events.
//! - Pinning costs two atomic operations. A caller that knows that no thread frees the memory meanwhile can do without:
//!   [`NativeMemory::access_unpinned`]. The releasing threads must then wait for it; [`NativeMemory::retire`] serves
//!   that purpose: it takes the memory away at once, and frees it later.
//!
//! C's own accesses to the memory are not checked.

mod block;
mod raw;
#[cfg(all(test, not(feature = "loom")))]
mod tests;

use std::fmt;
use std::sync::Arc;

pub(crate) use block::Pin;
use block::{Block, Origin};
pub use block::{Keeper, allocated_memory};

use crate::address::Address;
use crate::types::{Mismatch, Primitive};

/// A part of a block of native memory.
#[derive(Clone)]
pub struct NativeMemory {
    block: Arc<Block>,
    offset: usize,
    length: usize,
}

/// Reads and writes of memory that stays allocated meanwhile.
pub struct Access<'m> {
    address: usize,
    length: usize,
    _pin: Option<Pin<'m>>,
}

/// Released memory, which is freed when this is dropped and no call uses it any more.
#[must_use = "the memory goes when this is dropped"]
pub struct Retired<'m> {
    _pin: Pin<'m>,
}

/// The reason why memory could not be used.
#[derive(Clone, PartialEq, Debug)]
pub enum MemoryError {
    /// The system does not have this much memory.
    Exhausted {
        /// The number of bytes asked for.
        size: usize,
    },
    /// The memory was released.
    Released,
    /// Some of these bytes are outside of the memory.
    Bounds {
        /// The first byte's offset.
        offset: usize,
        /// The number of bytes.
        length: usize,
        /// The size of the memory.
        size: usize,
    },
    /// The value does not fit the type.
    Value(Mismatch),
    /// There is no NUL after this offset.
    Unterminated {
        /// The string's offset.
        offset: usize,
    },
}

impl NativeMemory {
    /// New memory of zeros, aligned for any type.
    pub fn allocate(size: usize) -> Result<NativeMemory, MemoryError> {
        let block = Block::allocate(size).ok_or(MemoryError::Exhausted { size })?;
        Ok(NativeMemory::whole(block))
    }

    /// New memory with a copy of `text` and a NUL.
    pub fn allocate_text(text: &[u8]) -> Result<NativeMemory, MemoryError> {
        let memory = NativeMemory::allocate(text.len().saturating_add(1))?;
        memory.write_bytes(0, text)?;
        Ok(memory)
    }

    /// Memory of C. `keeper` is dropped when no part of the memory is left.
    ///
    /// # Safety
    /// The memory is mapped, may be read and written, and stays so while the result is used or the keeper lives; and no
    /// Rust code has references to it.
    pub unsafe fn borrow(address: Address, size: usize, keeper: Option<Keeper>) -> NativeMemory {
        NativeMemory::whole(Block::new(address.0, size, Origin::Borrowed(keeper)))
    }

    /// Memory of C that now belongs to Squall. `free` gives it back, on the native thread that releases it or drops its
    /// last part.
    ///
    /// # Safety
    /// As for [`borrow`](NativeMemory::borrow), until `free` is called.
    pub unsafe fn adopt(
        address: Address,
        size: usize,
        free: impl FnOnce(Address) + Send + 'static,
    ) -> NativeMemory {
        NativeMemory::whole(Block::new(address.0, size, Origin::Adopted(Box::new(free))))
    }

    fn whole(block: Block) -> NativeMemory {
        let length = block.size;
        NativeMemory { block: Arc::new(block), offset: 0, length }
    }

    /// The size in bytes.
    pub fn size(&self) -> usize {
        self.length
    }

    /// A part of it. Releasing one releases both.
    pub fn view(&self, offset: usize, length: usize) -> Result<NativeMemory, MemoryError> {
        let start = bounded(offset, length, self.length)?;
        Ok(NativeMemory { block: self.block.clone(), offset: self.offset + start, length })
    }

    /// Whether it has been released.
    #[inline]
    pub fn is_released(&self) -> bool {
        self.block.is_retired()
    }

    /// Releases the whole block; false if it was released before.
    pub fn release(&self) -> bool {
        self.retire().is_some()
    }

    /// Releases the whole block; the memory is freed after the result is dropped. `None` if it was released before.
    pub fn retire(&self) -> Option<Retired<'_>> {
        self.block.retire().map(|pin| Retired { _pin: pin })
    }

    /// The address. The memory there may be freed at any time.
    pub fn address(&self) -> Result<Address, MemoryError> {
        match self.is_released() {
            true => Err(MemoryError::Released),
            false => Ok(self.start()),
        }
    }

    #[inline]
    fn start(&self) -> Address {
        Address(self.block.address + self.offset)
    }

    /// Pins it.
    #[inline]
    pub(crate) fn pin(&self) -> Option<(Address, Pin<'_>)> {
        Some((self.start(), self.block.pin()?))
    }

    /// Pins it for reads and writes.
    #[inline]
    pub fn access(&self) -> Result<Access<'_>, MemoryError> {
        let (address, pin) = self.pin().ok_or(MemoryError::Released)?;
        Ok(Access { address: address.0, length: self.length, _pin: Some(pin) })
    }

    /// Gives access without a pin.
    ///
    /// # Safety
    /// A thread that releases the memory before the result is dropped uses [`retire`](NativeMemory::retire), and its
    /// [`Retired`] lives at least as long as the result of this.
    #[inline]
    pub unsafe fn access_unpinned(&self) -> Result<Access<'_>, MemoryError> {
        let address = self.address()?;
        Ok(Access { address: address.0, length: self.length, _pin: None })
    }

    /// Copies from an offset.
    pub fn read_bytes(&self, offset: usize, into: &mut [u8]) -> Result<(), MemoryError> {
        self.access()?.read_bytes(offset, into)
    }

    /// Copies to an offset.
    pub fn write_bytes(&self, offset: usize, from: &[u8]) -> Result<(), MemoryError> {
        self.access()?.write_bytes(offset, from)
    }

    /// The string at an offset, without its NUL.
    pub fn read_text(&self, offset: usize) -> Result<Vec<u8>, MemoryError> {
        self.access()?.read_text(offset)
    }

    /// Whether both denote the same part of the same block.
    pub fn is_same(&self, other: &NativeMemory) -> bool {
        Arc::ptr_eq(&self.block, &other.block)
            && (self.offset, self.length) == (other.offset, other.length)
    }
}

impl Access<'_> {
    /// The word of the primitive at an offset.
    #[inline]
    pub(crate) fn load(&self, offset: usize, primitive: Primitive) -> Result<u64, MemoryError> {
        let start = bounded(offset, primitive.size(), self.length)?;
        // SAFETY: it is within the block, which lives as long as this access.
        Ok(unsafe { raw::load(self.address + start, primitive) })
    }

    /// Sets the primitive at an offset from a word, if there is room for it.
    #[inline]
    pub(crate) fn store(
        &self,
        offset: usize,
        primitive: Primitive,
        word: impl FnOnce() -> Result<u64, MemoryError>,
    ) -> Result<(), MemoryError> {
        let start = bounded(offset, primitive.size(), self.length)?;
        let word = word()?;
        // SAFETY: as in `load`.
        unsafe { raw::store(self.address + start, primitive, word) };
        Ok(())
    }

    /// Copies from an offset.
    pub fn read_bytes(&self, offset: usize, into: &mut [u8]) -> Result<(), MemoryError> {
        let start = bounded(offset, into.len(), self.length)?;
        // SAFETY: as in `load`.
        unsafe { raw::copy_out(self.address + start, into) };
        Ok(())
    }

    /// Copies to an offset.
    pub fn write_bytes(&self, offset: usize, from: &[u8]) -> Result<(), MemoryError> {
        let start = bounded(offset, from.len(), self.length)?;
        // SAFETY: as in `load`.
        unsafe { raw::copy_in(self.address + start, from) };
        Ok(())
    }

    /// The length of the string at an offset: the bytes before the first NUL.
    pub fn text_length(&self, offset: usize) -> Result<usize, MemoryError> {
        let start = bounded(offset, 0, self.length)?;
        // SAFETY: as in `load`, up to the end.
        let found = unsafe { raw::find_zero(self.address + start, self.length - start) };
        found.ok_or(MemoryError::Unterminated { offset })
    }

    /// The string at an offset, without its NUL.
    pub fn read_text(&self, offset: usize) -> Result<Vec<u8>, MemoryError> {
        let mut text = vec![0; self.text_length(offset)?];
        self.read_bytes(offset, &mut text)?;
        Ok(text)
    }
}

/// The string at an address of C, without its NUL. If there is no NUL among the first `limit` bytes, the string ends
/// there.
///
/// # Safety
/// The memory may be read up to the NUL or the limit, and no Rust code has references to it.
pub unsafe fn text_at(address: Address, limit: usize) -> Vec<u8> {
    // SAFETY: the caller's.
    let length = unsafe { raw::find_zero(address.0, limit) }.unwrap_or(limit);
    let mut text = vec![0; length];
    // SAFETY: the caller's.
    unsafe { raw::copy_out(address.0, &mut text) };
    text
}

/// The offset, if it and the next `length` bytes are within `size`.
#[inline]
fn bounded(offset: usize, length: usize, size: usize) -> Result<usize, MemoryError> {
    match offset.checked_add(length).is_some_and(|end| end <= size) {
        true => Ok(offset),
        false => Err(MemoryError::Bounds { offset, length, size }),
    }
}

impl fmt::Debug for NativeMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_released() { ", released" } else { "" };
        write!(f, "NativeMemory({}, {} bytes{state})", self.start(), self.length)
    }
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryError::Exhausted { size } => write!(f, "there is no memory for {size} bytes"),
            MemoryError::Released => write!(f, "this memory has been released"),
            MemoryError::Bounds { offset, length, size } => {
                write!(f, "{length} bytes at offset {offset} are not within {size} bytes")
            }
            MemoryError::Value(mismatch) => mismatch.fmt(f),
            MemoryError::Unterminated { offset } => {
                write!(f, "there is no NUL after offset {offset} to end the string")
            }
        }
    }
}

impl std::error::Error for MemoryError {}
