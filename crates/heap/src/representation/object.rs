//! Objects: their memory behind a pointer, and the accesses to it. The runtime and the interpreter read and write all
//! objects through these accessors.
//!
//! ```text
//!   offset  word
//!      0    layout (32) │ identity hash (27) │ unlogged (1) │ flags (2) │ collector (2)
//!      8    class, a tagged word
//!     16    first slot        or  first raw word     or  length, untagged
//!     24    second slot …         second raw word …      first element, or first eight bytes …
//! ```
//!
//! While a collection moves an object, the collector overwrites the first word with the new address. Mutators never see
//! that, since they stand still.
//!
//! # Which accesses are atomic
//!
//! Guest programs may race (two parallel strands of a vat share its objects), so every access to guest-visible memory
//! is atomic. Loads are relaxed. Stores that can publish a new object are releases, which cost nothing on x86-64: a
//! thread that loads the pointer sees the object's header and slots initialised, because its accesses depend on the
//! loaded address. The class and layout of an object never race: they are written before the object is published.
//!
//! # The rooting discipline
//!
//! An [`Object`] is a bare address, and moves at a collection. It may be used until the next *GC point* of its mutator:
//! an allocation, a safepoint, a native section, or a call that can reach one. Words that are needed afterwards go
//! through a root. Two conditions make it sound that the accessors are safe functions: that discipline, which each
//! thread accepts when it attaches to the heap ([`Heap::attach`](crate::Heap::attach) is `unsafe` for this reason), and
//! indices in range, which the accessors check by the object's layout and length. The accessors whose names end in
//! `_unchecked` do not check, and are `unsafe`: tiers use them where the layout or the length was compared just before.
//!
//! Stores into objects that may be old need a mutator, for the write barrier: they are in `mutator/barrier.rs`.

use super::{Format, LayoutId, TAG_POINTER, Word, slot_kinds};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Bytes in a word.
pub const WORD_BYTES: usize = 8;
/// Where an object's header word is.
pub const HEADER_OFFSET: usize = 0;
/// Where the 32 bits of an object's [`LayoutId`] are: the upper half of the header.
pub const LAYOUT_OFFSET: usize = 4;
/// Where an object's class is, as a tagged word.
pub const CLASS_OFFSET: usize = 8;
/// Where the first slot, or the first raw word, of an object without a length is.
pub const FIRST_SLOT_OFFSET: usize = 16;
/// Where the untagged length of an array or of a byte object is.
pub const LENGTH_OFFSET: usize = 16;
/// Where the first element of an array is.
pub const FIRST_ELEMENT_OFFSET: usize = 24;
/// Where the first byte of a byte object is.
pub const FIRST_BYTE_OFFSET: usize = 24;
/// The longest array, and the most bytes, that any object can have: far beyond memory, but small
/// enough that no size computed from it overflows.
pub const MAX_LENGTH: usize = 1 << 44;

/// The bits of the lower header half that belong to the collector.
pub(crate) const COLLECTOR_BITS: u32 = 0b11;
const FLAG_SHIFT: u32 = 2;
/// Where the bit of the write barrier is in the header, counted from the lowest bit.
pub(crate) const UNLOGGED_BIT: u32 = 4;
/// The bit of a header's lowest byte that is set if the next store into the object must be logged: see
/// `mutator/barrier.rs`.
pub const UNLOGGED: u8 = 1 << UNLOGGED_BIT;
const HASH_SHIFT: u32 = 5;
/// Identity hashes have this many bits.
pub const HASH_BITS: u32 = 27;

const _: () = assert!(cfg!(target_endian = "little"), "the layout is the header's upper half");
const _: () = assert!(HASH_SHIFT + HASH_BITS == u32::BITS);
const _: () = assert!(LAYOUT_OFFSET == HEADER_OFFSET + 4 && CLASS_OFFSET == HEADER_OFFSET + 8);
const _: () = assert!(FIRST_ELEMENT_OFFSET == LENGTH_OFFSET + WORD_BYTES);
const _: () = assert!(FIRST_BYTE_OFFSET == FIRST_ELEMENT_OFFSET);

/// One of the two flags in an object's header. The runtime gives them their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Flag {
    /// The first flag.
    First = 1 << FLAG_SHIFT,
    /// The second flag.
    Second = 2 << FLAG_SHIFT,
}

/// The address of an object, valid until the next GC point. The module's head states the discipline.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Object(NonZeroUsize);

impl Object {
    /// The object whose header is at `address`.
    ///
    /// # Safety
    ///
    /// An object is there, or memory for one that the caller is about to initialise.
    #[inline(always)]
    pub(crate) unsafe fn from_address(address: usize) -> Object {
        debug_assert!(address != 0 && address.is_multiple_of(WORD_BYTES));
        // SAFETY: no object is at address zero.
        Object(unsafe { NonZeroUsize::new_unchecked(address) })
    }

    /// The address of the header.
    #[inline(always)]
    pub fn address(self) -> usize {
        self.0.get()
    }

    /// The pointer to this object, as a word.
    #[inline(always)]
    pub fn word(self) -> Word {
        // SAFETY: these are the bits of a pointer to a live object, by the rooting discipline.
        unsafe { Word::from_bits(self.address() as u64 | TAG_POINTER) }
    }

    /// How many bytes the object takes in memory, header and padding included.
    #[inline]
    pub fn size(self) -> usize {
        let layout = self.layout();
        match layout.format() {
            Format::Slots | Format::Raw | Format::Ephemeron | Format::Strand => {
                size_of_slots(layout.slot_count())
            }
            // SAFETY: these formats have a length.
            Format::Array | Format::WeakArray => size_of_array(unsafe { self.length_unchecked() }),
            // SAFETY: as above.
            Format::Bytes => size_of_bytes(unsafe { self.length_unchecked() }),
        }
    }
}

/// The bytes of an object with this many slots or raw words.
#[inline(always)]
pub const fn size_of_slots(slots: usize) -> usize {
    FIRST_SLOT_OFFSET + slots * WORD_BYTES
}

/// The bytes of an array of this many elements.
#[inline(always)]
pub const fn size_of_array(length: usize) -> usize {
    FIRST_ELEMENT_OFFSET + length * WORD_BYTES
}

/// The bytes of an object with this many bytes of contents.
#[inline(always)]
pub const fn size_of_bytes(length: usize) -> usize {
    FIRST_BYTE_OFFSET + length.next_multiple_of(WORD_BYTES)
}

/// The header: layout, class, flags and identity hash.
impl Object {
    /// The layout, which gives the format of all other words.
    #[inline(always)]
    pub fn layout(self) -> LayoutId {
        LayoutId::from_bits(self.half(LAYOUT_OFFSET).load(Ordering::Relaxed))
    }

    /// The class object.
    #[inline(always)]
    pub fn class(self) -> Word {
        // SAFETY: each object has a class.
        unsafe { self.load(CLASS_OFFSET) }
    }

    /// Whether `flag` is set.
    #[inline(always)]
    pub fn has_flag(self, flag: Flag) -> bool {
        self.half(HEADER_OFFSET).load(Ordering::Relaxed) & flag as u32 != 0
    }

    /// Whether the next store into the object must be logged.
    #[inline(always)]
    pub(crate) fn is_unlogged(self) -> bool {
        // Relaxed: only the collector sets the bit, and logging twice is harmless.
        self.half(HEADER_OFFSET).load(Ordering::Relaxed) & u32::from(UNLOGGED) != 0
    }

    /// Sets `flag`; true for exactly one of the calls that find it clear.
    pub fn set_flag(self, flag: Flag) -> bool {
        self.half(HEADER_OFFSET).fetch_or(flag as u32, Ordering::Relaxed) & flag as u32 == 0
    }

    /// Clears `flag`; whether it was set.
    pub fn clear_flag(self, flag: Flag) -> bool {
        self.half(HEADER_OFFSET).fetch_and(!(flag as u32), Ordering::Relaxed) & flag as u32 != 0
    }

    /// The identity hash, 27 bits and never zero, assigned at the first request.
    #[inline]
    pub fn identity_hash(self) -> u32 {
        match self.half(HEADER_OFFSET).load(Ordering::Relaxed) >> HASH_SHIFT {
            0 => self.assign_identity_hash(fresh_hash(self.runs())),
            hash => hash,
        }
    }

    /// As [`Object::identity_hash`], for an object that the machine numbers for its own sake: if it has no hash yet, it
    /// gets one from the other end of the range, so that the hashes of the program's objects stay the same.
    pub fn hidden_hash(self) -> u32 {
        match self.assigned_hash() {
            None => self.assign_identity_hash(fresh_hidden_hash()),
            Some(hash) => hash,
        }
    }

    /// The count of numbers that the object takes when it gets a hash: an array takes one for each run.
    fn runs(self) -> u32 {
        match self.layout().format() {
            Format::Array => self.length().div_ceil(RUN).max(1) as u32,
            _ => 1,
        }
    }

    /// The identity hash, if there is one already.
    #[inline]
    pub fn assigned_hash(self) -> Option<u32> {
        let hash = self.half(HEADER_OFFSET).load(Ordering::Relaxed) >> HASH_SHIFT;
        (hash != 0).then_some(hash)
    }

    /// Makes `hash`, of which 27 bits count, the identity hash, unless there is one already. Answers the object's hash.
    /// The runtime keeps content hashes of symbols here.
    #[cold]
    pub fn assign_identity_hash(self, hash: u32) -> u32 {
        let hash = (hash & ((1 << HASH_BITS) - 1)).max(1);
        let half = self.half(HEADER_OFFSET);
        let assigned = half.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |header| {
            (header >> HASH_SHIFT == 0).then_some(header | hash << HASH_SHIFT)
        });
        match assigned {
            Ok(_) => hash,
            Err(header) => header >> HASH_SHIFT,
        }
    }

    /// As [`Object::assign_identity_hash`], for an object without a hash that no other thread knows. The number has at most 27
    /// bits.
    #[inline(always)]
    pub fn number_own(self, number: u32) {
        let half = self.half(HEADER_OFFSET);
        let header = half.load(Ordering::Relaxed);
        half.store(header | number << HASH_SHIFT, Ordering::Relaxed);
    }

    /// Writes the header of a new object.
    #[inline(always)]
    pub(crate) fn initialize_header(self, layout: LayoutId, class: Word) {
        // SAFETY: each object has these two words.
        unsafe {
            self.initialize(HEADER_OFFSET, u64::from(layout.bits()) << 32);
            self.initialize(CLASS_OFFSET, class.bits());
        }
    }
}

/// The number of consecutive elements of an array that are a *run*.
pub const RUN: usize = 8;

/// An odd factor, from the golden ratio: a bijection of the numbers below 2²⁷, which spreads
/// consecutive ones.
const FACTOR: u32 = 0x9E3_779B;
/// Undoes the multiplication with the factor, modulo 2³².
const INVERSE: u32 = inverse(FACTOR);

const _: () = assert!(FACTOR.wrapping_mul(INVERSE) == 1);

/// By Newton's method: each step doubles the number of bits that are right.
const fn inverse(factor: u32) -> u32 {
    let mut inverse = factor;
    let mut step = 0;
    while step < 4 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(factor.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

/// The hash of a new number, the first of `count` numbers. The first 2²⁷ − 1 numbers give distinct hashes, spread over
/// all 27 bits.
fn fresh_hash(count: u32) -> u32 {
    static NUMBERS: AtomicU32 = AtomicU32::new(1);
    // The numbers need only differ, so relaxed suffices.
    NUMBERS.fetch_add(count, Ordering::Relaxed).wrapping_mul(FACTOR)
}

/// A hash made of the numbers from the greatest one downwards.
fn fresh_hidden_hash() -> u32 {
    static NUMBERS: AtomicU32 = AtomicU32::new(u32::MAX);
    NUMBERS.fetch_sub(1, Ordering::Relaxed).wrapping_mul(FACTOR)
}

/// The number that an identity hash was made of. Numbers are consecutive, in the order of the objects' first requests
/// for a hash. For an array, the following numbers belong to its other [runs](RUN).
#[inline(always)]
pub fn number_of_hash(hash: u32) -> u32 {
    hash.wrapping_mul(INVERSE) & ((1 << HASH_BITS) - 1)
}

/// Slots, of `Format::Slots`, `Format::Ephemeron` and `Format::Strand`.
impl Object {
    /// The slot `index`. Panics if the object has none.
    #[inline(always)]
    pub fn slot(self, index: usize) -> Word {
        // SAFETY: the offset is that of a slot.
        unsafe { self.load(self.slot_offset(index)) }
    }

    /// The slot `index`.
    ///
    /// # Safety
    ///
    /// The object [has](Object::has_slot) it.
    #[inline(always)]
    pub unsafe fn slot_unchecked(self, index: usize) -> Word {
        debug_assert!(self.has_slot(index));
        // SAFETY: the offset is that of a slot.
        unsafe { self.load(offset_of_slot(index)) }
    }

    /// Stores into the slot `index` of an object allocated since the last GC point: no barrier. Panics if the object
    /// has no such slot.
    #[inline(always)]
    pub fn initialize_slot(self, index: usize, value: Word) {
        let offset = self.slot_offset(index);
        slot_kinds::note(self, index, value);
        // SAFETY: the offset is that of a slot.
        unsafe { self.initialize(offset, value.bits()) };
    }

    /// Stores into the slot `index` of an object allocated since the last GC point: no barrier.
    ///
    /// # Safety
    ///
    /// The object [has](Object::has_slot) it.
    #[inline(always)]
    pub unsafe fn initialize_slot_unchecked(self, index: usize, value: Word) {
        debug_assert!(self.has_slot(index));
        slot_kinds::note(self, index, value);
        // SAFETY: the offset is that of a slot.
        unsafe { self.initialize(offset_of_slot(index), value.bits()) };
    }

    /// Whether the object has a slot `index`.
    #[inline(always)]
    pub fn has_slot(self, index: usize) -> bool {
        let layout = self.layout();
        // Layouts of indexed formats have no fixed slots, so this excludes them, too.
        index < layout.slot_count() && layout.format() != Format::Raw
    }

    /// The offset of the slot `index`. Panics if the object has none.
    #[inline(always)]
    pub(crate) fn slot_offset(self, index: usize) -> usize {
        if !self.has_slot(index) {
            out_of_range(self, index);
        }
        offset_of_slot(index)
    }
}

/// Elements, of `Format::Array` and `Format::WeakArray`.
impl Object {
    /// The number of elements of an array, or of bytes of a byte object. Panics if the object is neither.
    #[inline(always)]
    pub fn length(self) -> usize {
        if !self.layout().format().is_indexed() {
            out_of_range(self, 0);
        }
        // SAFETY: the object has a length.
        unsafe { self.length_unchecked() }
    }

    /// The number of elements of an array, or of bytes of a byte object.
    ///
    /// # Safety
    ///
    /// The object is an array or a byte object.
    #[inline(always)]
    pub unsafe fn length_unchecked(self) -> usize {
        debug_assert!(self.layout().format().is_indexed());
        // SAFETY: an object of an indexed format has a length.
        unsafe { self.atom(LENGTH_OFFSET) }.load(Ordering::Relaxed) as usize
    }

    /// The element `index`, counted from 0. Panics if the object has none.
    #[inline(always)]
    pub fn element(self, index: usize) -> Word {
        // SAFETY: the offset is that of an element.
        unsafe { self.load(self.element_offset(index)) }
    }

    /// The element `index`, counted from 0.
    ///
    /// # Safety
    ///
    /// The object [has](Object::has_element) it.
    #[inline(always)]
    pub unsafe fn element_unchecked(self, index: usize) -> Word {
        debug_assert!(self.has_element(index));
        // SAFETY: the offset is that of an element.
        unsafe { self.load(offset_of_element(index)) }
    }

    /// Stores into the element `index` of an array allocated since the last GC point: no barrier. Panics if the array
    /// has no such element.
    #[inline(always)]
    pub fn initialize_element(self, index: usize, value: Word) {
        // SAFETY: the offset is that of an element.
        unsafe { self.initialize(self.element_offset(index), value.bits()) };
    }

    /// Stores into the element `index` of an array allocated since the last GC point: no barrier.
    ///
    /// # Safety
    ///
    /// The object [has](Object::has_element) it.
    #[inline(always)]
    pub unsafe fn initialize_element_unchecked(self, index: usize, value: Word) {
        debug_assert!(self.has_element(index));
        // SAFETY: the offset is that of an element.
        unsafe { self.initialize(offset_of_element(index), value.bits()) };
    }

    /// Gives an array allocated since the last GC point its length and its elements: no barrier.
    ///
    /// # Safety
    ///
    /// Its memory has room for so many elements.
    #[inline]
    pub(crate) unsafe fn initialize_array(self, length: usize, fill: Word) {
        // SAFETY: there is room for the length and the elements.
        unsafe { self.initialize_length(length) };
        for index in 0..length {
            // SAFETY: as above.
            unsafe { self.initialize(offset_of_element(index), fill.bits()) };
        }
    }

    /// Gives a new array or byte object its length.
    ///
    /// # Safety
    ///
    /// Its memory has room for so many elements or bytes.
    #[inline(always)]
    pub(crate) unsafe fn initialize_length(self, length: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.initialize(LENGTH_OFFSET, length as u64) };
    }

    /// Whether the object has an element `index`, counted from 0.
    #[inline(always)]
    pub fn has_element(self, index: usize) -> bool {
        // SAFETY: a format with elements has a length.
        self.layout().format().has_elements() && index < unsafe { self.length_unchecked() }
    }

    /// The offset of the element `index`. Panics if the object has none.
    #[inline(always)]
    pub(crate) fn element_offset(self, index: usize) -> usize {
        if !self.has_element(index) {
            out_of_range(self, index);
        }
        offset_of_element(index)
    }
}

/// Bytes, of `Format::Bytes`.
impl Object {
    /// The byte `index`, counted from 0. Panics if the object has none.
    #[inline(always)]
    pub fn byte(self, index: usize) -> u8 {
        self.check_bytes(index, 1);
        // SAFETY: the object has the byte.
        unsafe { self.byte_unchecked(index) }
    }

    /// The byte `index`, counted from 0.
    ///
    /// # Safety
    ///
    /// The object has it.
    #[inline(always)]
    pub unsafe fn byte_unchecked(self, index: usize) -> u8 {
        // SAFETY: as the caller promises.
        unsafe { self.byte_atom(index) }.load(Ordering::Relaxed)
    }

    /// Stores into the byte `index`, counted from 0. Panics if the object has none.
    #[inline(always)]
    pub fn set_byte(self, index: usize, value: u8) {
        self.check_bytes(index, 1);
        // SAFETY: the object has the byte.
        unsafe { self.byte_atom(index) }.store(value, Ordering::Relaxed);
    }

    /// Copies the bytes from `start` on into `target`, and fills it. Panics if the object has too few.
    pub fn read_bytes(self, start: usize, target: &mut [u8]) {
        self.check_bytes(start, target.len());
        for (offset, byte) in target.iter_mut().enumerate() {
            // SAFETY: the object has all these bytes.
            *byte = unsafe { self.byte_unchecked(start + offset) };
        }
    }

    /// Copies `source` to the bytes from `start` on. Panics if there is no room for it.
    pub fn write_bytes(self, start: usize, source: &[u8]) {
        self.check_bytes(start, source.len());
        for (offset, &byte) in source.iter().enumerate() {
            // SAFETY: the object has all these bytes.
            unsafe { self.byte_atom(start + offset) }.store(byte, Ordering::Relaxed);
        }
    }

    /// Copies `source` to the bytes from `start` on: much faster than byte by byte. Panics if there is no room for it.
    ///
    /// # Safety
    ///
    /// The object was allocated since the last GC point, and no other thread and no slice knows its bytes.
    #[inline]
    pub unsafe fn initialize_bytes(self, start: usize, source: &[u8]) {
        self.check_bytes(start, source.len());
        // SAFETY: the target is inside of the object, and the source, which no reference to the object's bytes is, does
        // not overlap with it.
        unsafe {
            let target = self.bytes_pointer().add(start);
            target.copy_from_nonoverlapping(source.as_ptr(), source.len());
        }
    }

    /// Panics unless this is a byte object with so many bytes from `start` on.
    #[inline(always)]
    fn check_bytes(self, start: usize, count: usize) {
        let is_inside = self.layout().format() == Format::Bytes && {
            // SAFETY: a byte object has a length.
            let length = unsafe { self.length_unchecked() };
            start <= length && count <= length - start
        };
        if !is_inside {
            out_of_range(self, start);
        }
    }

    /// The address of the first byte.
    #[inline(always)]
    pub fn bytes_pointer(self) -> *mut u8 {
        (self.address() + FIRST_BYTE_OFFSET) as *mut u8
    }

    /// The bytes as a slice: for strings and symbols, which are not written once they are shared.
    ///
    /// # Safety
    ///
    /// While the slice lives, its mutator reaches no GC point and no thread writes into the object.
    ///
    /// Panics if the object has no bytes.
    #[inline]
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        self.check_bytes(0, 0);
        // SAFETY: an object of format Bytes has `length` initialised bytes from its first byte on;
        // the caller promises that they neither move nor change.
        unsafe { std::slice::from_raw_parts(self.bytes_pointer(), self.length_unchecked()) }
    }

    /// The byte `index` as an atom, not to be kept over a GC point.
    ///
    /// # Safety
    ///
    /// This is a byte object with more bytes than the index.
    #[inline(always)]
    unsafe fn byte_atom<'a>(self, index: usize) -> &'a AtomicU8 {
        debug_assert!(index < self.length());
        // SAFETY: the byte is inside of the object, which is live by the rooting discipline, and all accesses that may
        // race are atomic.
        unsafe { &*self.bytes_pointer().add(index).cast::<AtomicU8>() }
    }
}

/// Raw words, of `Format::Raw`.
impl Object {
    /// The raw word `index`. Panics if the object has none.
    #[inline(always)]
    pub fn raw(self, index: usize) -> u64 {
        // SAFETY: the offset is that of a raw word.
        unsafe { self.atom(self.raw_offset(index)) }.load(Ordering::Relaxed)
    }

    /// Stores into the raw word `index`. Panics if the object has none.
    #[inline(always)]
    pub fn set_raw(self, index: usize, value: u64) {
        // SAFETY: the offset is that of a raw word.
        unsafe { self.initialize(self.raw_offset(index), value) };
    }

    /// The double in the first raw word.
    #[inline(always)]
    pub fn double(self) -> f64 {
        f64::from_bits(self.raw(0))
    }

    /// Stores a double into the first raw word.
    #[inline(always)]
    pub fn set_double(self, value: f64) {
        self.set_raw(0, value.to_bits());
    }

    #[inline(always)]
    fn raw_offset(self, index: usize) -> usize {
        let layout = self.layout();
        if layout.format() != Format::Raw || index >= layout.slot_count() {
            out_of_range(self, index);
        }
        offset_of_slot(index)
    }
}

/// The offset of a slot, or of a raw word.
#[inline(always)]
pub(crate) const fn offset_of_slot(index: usize) -> usize {
    FIRST_SLOT_OFFSET + index * WORD_BYTES
}

#[inline(always)]
pub(crate) const fn offset_of_element(index: usize) -> usize {
    FIRST_ELEMENT_OFFSET + index * WORD_BYTES
}

/// An access missed the object: an invariant of the machine does not hold.
#[cold]
#[inline(never)]
fn out_of_range(object: Object, index: usize) -> ! {
    panic!("{object:?} with {:?} has nothing at {index} for this access", object.layout());
}

/// The accesses that all others are made of.
impl Object {
    /// The word at an offset.
    ///
    /// # Safety
    ///
    /// A tagged word of the object is there.
    #[inline(always)]
    pub(crate) unsafe fn load(self, offset: usize) -> Word {
        // SAFETY: as the caller promises; only `store` and `initialize` write tagged words of objects, and store bits
        // of words.
        unsafe { Word::from_bits(self.atom(offset).load(Ordering::Relaxed)) }
    }

    /// Stores a word that may publish the object that it points to. The reader's side of the release is the dependency
    /// of its accesses on the loaded address.
    ///
    /// # Safety
    ///
    /// A tagged word of the object is there.
    #[inline(always)]
    pub(crate) unsafe fn store(self, offset: usize, value: Word) {
        // SAFETY: as the caller promises.
        unsafe { self.atom(offset) }.store(value.bits(), Ordering::Release);
    }

    /// Stores a word that publishes nothing.
    ///
    /// # Safety
    ///
    /// A word of the object is there; if it is tagged, the bits are those of a word.
    #[inline(always)]
    unsafe fn initialize(self, offset: usize, bits: u64) {
        // SAFETY: as the caller promises.
        unsafe { self.atom(offset) }.store(bits, Ordering::Relaxed);
    }

    /// The word at an offset as an atom, not to be kept over a GC point.
    ///
    /// # Safety
    ///
    /// A word of the object is there.
    #[inline(always)]
    pub(crate) unsafe fn atom<'a>(self, offset: usize) -> &'a AtomicU64 {
        // SAFETY: the object is live and has not moved (rooting discipline) and `offset` is that of
        // a word inside it; heap memory is read and written by mutators as atoms only. The
        // reference is dropped within the calling accessor, before any GC point.
        unsafe { &*((self.address() + offset) as *const AtomicU64) }
    }

    #[inline(always)]
    fn half<'a>(self, offset: usize) -> &'a AtomicU32 {
        // SAFETY: as for `atom`. The halves of the header never race with an access to the whole word: only the
        // allocator, before publication, and the collector access it as 64 bits.
        unsafe { &*((self.address() + offset) as *const AtomicU32) }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{:x}", self.address())
    }
}
