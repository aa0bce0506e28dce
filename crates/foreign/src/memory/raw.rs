//! Loads and stores of memory that belongs to C. `memory` calls them after its checks.
//!
//! The memory is known by its address only. No Rust reference to it ever exists; all accesses are the volatile ones in
//! this file, of 1, 2, 4 or 8 bytes, each a single instruction on its own address. Rust defines such accesses to memory
//! outside of its own allocations by the hardware's behaviour. So when two native threads race on a block, or one races
//! with C, each byte of the outcome is a byte that one of them wrote; a value wider than its alignment may be torn.
//! Nothing is undefined. (Atomic accesses would not suffice: Rust leaves races between accesses of different sizes
//! undefined, and the guest chooses the sizes.) The guest's locks, channels and messages establish order between
//! threads.
//!
//! All functions require that `address … address + length` is mapped, may be read or written, and stays so meanwhile;
//! and that Rust code has no references to it.

use std::ptr;

use crate::types::Primitive;

/// The size of the largest access.
const WORD: usize = size_of::<u64>();

/// Reads a word (see [`crate::value`]) from memory.
///
/// # Safety
/// The file's requirements, for reading the primitive's size.
#[inline]
pub(super) unsafe fn load(address: usize, primitive: Primitive) -> u64 {
    let size = primitive.size();
    if !address.is_multiple_of(size) {
        let mut bytes = [0; WORD];
        // SAFETY: the caller's.
        unsafe { copy_out(address, &mut bytes[..size]) };
        return u64::from_le_bytes(bytes);
    }
    // SAFETY: the caller's; the address is aligned.
    unsafe {
        match size {
            1 => at::<u8>(address).read_volatile().into(),
            2 => at::<u16>(address).read_volatile().into(),
            4 => at::<u32>(address).read_volatile().into(),
            _ => at::<u64>(address).read_volatile(),
        }
    }
}

/// Writes a word to memory; its bits above the primitive's size are ignored.
///
/// # Safety
/// The file's requirements, for writing the primitive's size.
#[inline]
pub(super) unsafe fn store(address: usize, primitive: Primitive, word: u64) {
    let size = primitive.size();
    if !address.is_multiple_of(size) {
        // SAFETY: the caller's.
        return unsafe { copy_in(address, &word.to_le_bytes()[..size]) };
    }
    // SAFETY: the caller's; the address is aligned.
    unsafe {
        match size {
            1 => at::<u8>(address).write_volatile(word as u8),
            2 => at::<u16>(address).write_volatile(word as u16),
            4 => at::<u32>(address).write_volatile(word as u32),
            _ => at::<u64>(address).write_volatile(word),
        }
    }
}

/// Copies bytes from memory.
///
/// # Safety
/// The file's requirements, for reading as many bytes as there are in `into`.
pub(super) unsafe fn copy_out(address: usize, into: &mut [u8]) {
    let (front, words) = split(address, into.len());
    let (front, rest) = into.split_at_mut(front);
    let (middle, back) = rest.split_at_mut(words * WORD);
    let mut position = address;
    // SAFETY: the caller's, since the position stays inside; the words are aligned.
    unsafe {
        for byte in front {
            *byte = at::<u8>(position).read_volatile();
            position += 1;
        }
        for word in middle.chunks_exact_mut(WORD) {
            word.copy_from_slice(&at::<u64>(position).read_volatile().to_le_bytes());
            position += WORD;
        }
        for byte in back {
            *byte = at::<u8>(position).read_volatile();
            position += 1;
        }
    }
}

/// Copies bytes to memory.
///
/// # Safety
/// The file's requirements, for writing as many bytes as there are in `from`.
pub(super) unsafe fn copy_in(address: usize, from: &[u8]) {
    let (front, words) = split(address, from.len());
    let (front, rest) = from.split_at(front);
    let (middle, back) = rest.split_at(words * WORD);
    let mut position = address;
    // SAFETY: the caller's, since the position stays inside; the words are aligned.
    unsafe {
        for byte in front {
            at::<u8>(position).write_volatile(*byte);
            position += 1;
        }
        for word in middle.chunks_exact(WORD) {
            at::<u64>(position).write_volatile(word_of(word));
            position += WORD;
        }
        for byte in back {
            at::<u8>(position).write_volatile(*byte);
            position += 1;
        }
    }
}

/// The distance of the first zero byte, if it is among the first `length`.
///
/// # Safety
/// The file's requirements, for reading up to the zero, or `length` bytes.
pub(super) unsafe fn find_zero(address: usize, length: usize) -> Option<usize> {
    // SAFETY: the caller's.
    (0..length).find(|index| unsafe { at::<u8>(address + index).read_volatile() } == 0)
}

/// The bytes before the next multiple of [`WORD`], and the whole words after them.
fn split(address: usize, length: usize) -> (usize, usize) {
    let front = (address.next_multiple_of(WORD) - address).min(length);
    (front, (length - front) / WORD)
}

fn at<T>(address: usize) -> *mut T {
    ptr::with_exposed_provenance_mut(address)
}

/// The integer of some bytes.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; WORD];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
