//! Memory that C and the guest share.
//!
//! [`NativeMemory`] is a part of a *block*: all of it at first, less for a view. Copies of it are cheap and
//! mean the same memory. A block is *allocated* (ours, zeroed), *borrowed* (C's: a variable of a library, the
//! target of a pointer) or *adopted* (C's, ours to free by C's own function).
//!
//! **Bounds.** Every access is checked against the part that it goes through, and is within the block
//! whatever the offset. Of borrowed memory the size is what the borrower says.
//!
//! **Lifetime.** The memory goes when somebody *releases* it, through any part, or when nobody has a part
//! of it any more. From then on all parts say [`MemoryError::Released`]. Releasing again does nothing.
//!
//! **Threads.** Anybody may use the same memory at the same time, and release it at any time.
//! - Races of accesses are harmless: `memory/raw.rs` says what their outcome can be.
//! - Memory is *pinned* while it is accessed, and while a call has it as an argument. Released memory
//!   that is pinned goes when the last pin does. So nothing is used after it is gone, whoever wins a race.
//! - Pinning costs two atomic operations. Whoever knows that nobody releases the memory meanwhile can do
//!   without: [`NativeMemory::access_unpinned`]. Such a caller must be sure that those who release wait for it,
//!   which is what [`NativeMemory::retire`] is for: it lets the memory go later than it takes it away.
//!
//! What C does with the memory, and when, nobody checks.

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

/// Reads and writes of memory that cannot go away meanwhile.
pub struct Access<'m> {
    address: usize,
    length: usize,
    _pin: Option<Pin<'m>>,
}

/// What has been released, and goes when this is dropped and no call uses it any more.
#[must_use = "the memory goes when this is dropped"]
pub struct Retired<'m> {
    _pin: Pin<'m>,
}

/// Why memory could not be used.
#[derive(Clone, PartialEq, Debug)]
pub enum MemoryError {
    /// There is not so much.
    Exhausted {
        /// How many bytes were asked for.
        size: usize,
    },
    /// It is no longer there.
    Released,
    /// These bytes are not all in it.
    Bounds {
        /// Where they begin.
        offset: usize,
        /// How many they are.
        length: usize,
        /// How many bytes there are.
        size: usize,
    },
    /// The value does not fit the type.
    Value(Mismatch),
    /// There is no NUL behind this offset.
    Unterminated {
        /// Where the string begins.
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

    /// Memory of C's. `keeper` is kept until nobody uses it any more.
    ///
    /// # Safety
    /// The memory is mapped, may be read and written, and stays so as long as the result is used, or as the
    /// keeper lives; and no Rust code has references to it.
    pub unsafe fn borrow(address: Address, size: usize, keeper: Option<Keeper>) -> NativeMemory {
        NativeMemory::whole(Block::new(address.0, size, Origin::Borrowed(keeper)))
    }

    /// Memory of C's which is ours now, and is given back by `free`: on whichever native thread
    /// releases it or forgets it last.
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

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.length
    }

    /// A part of it. Both go together.
    pub fn view(&self, offset: usize, length: usize) -> Result<NativeMemory, MemoryError> {
        let start = bounded(offset, length, self.length)?;
        Ok(NativeMemory { block: self.block.clone(), offset: self.offset + start, length })
    }

    /// Whether it has been released.
    #[inline]
    pub fn is_released(&self) -> bool {
        self.block.is_retired()
    }

    /// Releases the whole block. Answers whether it was there until now.
    pub fn release(&self) -> bool {
        self.retire().is_some()
    }

    /// Releases the whole block, but lets the memory go no earlier than the result. None if it was
    /// released already.
    pub fn retire(&self) -> Option<Retired<'_>> {
        self.block.retire().map(|pin| Retired { _pin: pin })
    }

    /// Where it is; what is there may go any time.
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

    /// Reads and writes it without pinning it.
    ///
    /// # Safety
    /// If somebody releases it before the result is dropped, then by [`retire`](NativeMemory::retire), and
    /// the [`Retired`] lives at least as long as the result of this.
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

    /// Whether both are the same part of the same block.
    pub fn is_same(&self, other: &NativeMemory) -> bool {
        Arc::ptr_eq(&self.block, &other.block)
            && (self.offset, self.length) == (other.offset, other.length)
    }
}

impl Access<'_> {
    /// The word that holds the primitive at an offset.
    #[inline]
    pub(crate) fn load(&self, offset: usize, primitive: Primitive) -> Result<u64, MemoryError> {
        let start = bounded(offset, primitive.size(), self.length)?;
        // SAFETY: it is within the block, which is there as long as this is.
        Ok(unsafe { raw::load(self.address + start, primitive) })
    }

    /// Changes the primitive at an offset, if there is room for it, to the one that a word holds.
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

/// The string at an address of C's, without its NUL. If there is no NUL among the first `limit` bytes, the
/// string is taken to end there.
///
/// # Safety
/// What is there may be read up to the NUL or the limit, and no Rust code has references to it.
pub unsafe fn text_at(address: Address, limit: usize) -> Vec<u8> {
    // SAFETY: the caller's.
    let length = unsafe { raw::find_zero(address.0, limit) }.unwrap_or(limit);
    let mut text = vec![0; length];
    // SAFETY: the caller's.
    unsafe { raw::copy_out(address.0, &mut text) };
    text
}

/// The offset, if it and `length` bytes behind it are within `size`.
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
                write!(f, "there is no NUL behind offset {offset} to end the string")
            }
        }
    }
}

impl std::error::Error for MemoryError {}
