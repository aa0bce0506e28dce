//! Lists of typed code: a length, and room for elements that grows by doubling. The tier's instructions for lists, and
//! boxing, call this module.
//!
//! ```text
//! list   [ length, a small integer | elements: nil, packed bytes or an array of words ]
//! ```
//!
//! Booleans and numbers are packed in their natural width; everything else is a word. Elements
//! beyond the length mean nothing; words there are nil.
//!
//! The *shared* mark is the first flag of the header: see [`crate::objects::typed`]. Elements that are lists
//! are always shared, since a container knows them.
//!
//! Invariant for all functions here that take the word or the object of a list: it comes from a register or a container
//! whose type says so. The verifier has shown that; nothing is checked again. The position of an element was compared
//! with the length.

use std::slice;

use squall_heap::{Flag, Format, Object, RootHandle, Word};

use super::{Registers, index_error, position};
use crate::model::known;
use crate::model::outcome::Failure;
use crate::model::types::{Storage, Type};
use crate::state::thread::{Thread, allocated};

const LENGTH: usize = 0;
const ELEMENTS: usize = 1;

const _: () = known::assert_slots(known::LIST, ELEMENTS + 1);

const SHARED: Flag = Flag::First;

/// The smallest room for elements, in bytes.
const LEAST_ROOM: usize = 32;

/// Marks a list that another register or container gets. Comes before the list is published.
#[inline(always)]
pub fn share(list: Word) {
    // SAFETY: the word is that of a list (verifier).
    let object = unsafe { list.object_unchecked() };
    if !object.has_flag(SHARED) {
        _ = object.set_flag(SHARED);
    }
}

/// Whether another register or container may refer to the list.
#[inline(always)]
pub fn is_shared(list: Object) -> bool {
    list.has_flag(SHARED)
}

/// How many elements a list has.
#[inline(always)]
pub fn length(list: Word) -> usize {
    // SAFETY: the word is that of a list (verifier), which has this slot.
    let length = unsafe { list.object_unchecked().slot_unchecked(LENGTH) };
    length.small_integer_unchecked() as usize
}

/// An element of a list of words, which has it.
#[inline(always)]
pub fn word(list: Object, index: usize) -> Word {
    // SAFETY: the list has an element, so it has room for elements, where the element is.
    unsafe { room_of(list).element_unchecked(index) }
}

/// The room of a list that has elements.
///
/// # Safety
///
/// The object is a list, and has elements.
#[inline(always)]
unsafe fn room_of(list: Object) -> Object {
    // SAFETY: a list has this slot, with a pointer if it has elements.
    unsafe { list.slot_unchecked(ELEMENTS).object_unchecked() }
}

/// The bits of an element that the list has.
#[inline(always)]
pub fn bits(list: Object, index: usize, storage: Storage) -> u64 {
    debug_assert!(index < length(list.word()));
    // SAFETY: the list has elements, since it has this one.
    let elements = unsafe { room_of(list) };
    if storage == Storage::Word {
        // SAFETY: there is room for the list's elements.
        return unsafe { elements.element_unchecked(index) }.bits();
    }
    let first = elements.bytes_pointer();
    // SAFETY: there is room for the list's elements (file head), each aligned as the first is, and nothing writes them:
    // a shared list never changes, and any other list is in a register of this strand.
    unsafe {
        match storage {
            Storage::I8 => first.cast::<i8>().add(index).read() as i64 as u64,
            Storage::I16 => first.cast::<i16>().add(index).read() as i64 as u64,
            Storage::I32 => first.cast::<i32>().add(index).read() as i64 as u64,
            Storage::U8 => u64::from(first.add(index).read()),
            Storage::U16 => u64::from(first.cast::<u16>().add(index).read()),
            Storage::U32 => u64::from(first.cast::<u32>().add(index).read()),
            Storage::Bits64 | Storage::Word => first.cast::<u64>().add(index).read(),
        }
    }
}

/// Writes an element of a list that is not shared and has it.
#[inline(always)]
pub fn set_bits(thread: &mut Thread, list: Object, index: usize, storage: Storage, bits: u64) {
    // SAFETY: the list has elements, since it has this one.
    let elements = unsafe { room_of(list) };
    if storage == Storage::Word {
        // SAFETY: the bits are those of a register of the elements' type, so of a word; there is room for the list's
        // elements.
        return unsafe {
            let word = Word::from_bits(bits);
            elements.set_element_unchecked(&mut thread.mutator, index, word);
        };
    }
    let first = elements.bytes_pointer();
    // SAFETY: as for `bits`; only this strand has the list.
    unsafe {
        match storage.width() {
            1 => first.add(index).write(bits as u8),
            2 => first.cast::<u16>().add(index).write(bits as u16),
            4 => first.cast::<u32>().add(index).write(bits as u32),
            _ => first.cast::<u64>().add(index).write(bits),
        }
    }
}

/// The number of elements that there is room for.
fn room(list: Object, storage: Storage) -> usize {
    let Some(elements) = list.slot(ELEMENTS).as_object() else { return 0 };
    match elements.layout().format() {
        Format::Bytes => elements.length() / storage.width(),
        _ => elements.length(),
    }
}

fn set_length(thread: &mut Thread, list: Object, length: usize) {
    let length = Word::from_small_integer_unchecked(length as i64);
    list.set_slot(&mut thread.mutator, LENGTH, length);
}

/// Room for elements, as a root. *GC point.*
fn allocate_room(
    thread: &mut Thread,
    storage: Storage,
    count: usize,
) -> Result<RootHandle, Failure> {
    let mutator = &mut thread.mutator;
    let object = match storage {
        Storage::Word => mutator.allocate_array(known::WORDS, Word::NIL, count, Word::NIL),
        packed => {
            let bytes = count.checked_mul(packed.width()).ok_or_else(Failure::out_of_memory)?;
            mutator.allocate_bytes(known::PACKED, Word::NIL, bytes)
        }
    };
    Ok(thread.mutator.push_root(allocated(object)?.word()))
}

/// A new list whose elements are in this room. *GC point.*
fn allocate_list(thread: &mut Thread, room: RootHandle, length: usize) -> Result<Word, Failure> {
    let list = allocated(thread.mutator.allocate_slots(known::LIST, Word::NIL))?;
    list.initialize_slot(LENGTH, Word::from_small_integer_unchecked(length as i64));
    list.initialize_slot(ELEMENTS, thread.mutator.get(room));
    Ok(list.word())
}

/// Runs `work` and drops the roots it made.
fn with_roots<T>(thread: &mut Thread, work: impl FnOnce(&mut Thread) -> T) -> T {
    let depth = thread.mutator.root_depth();
    let result = work(thread);
    thread.mutator.truncate_roots(depth);
    result
}

/// Copies elements of a list into room for the same type, which may be the list's own.
fn copy(
    thread: &mut Thread,
    storage: Storage,
    (source, from): (Object, usize),
    (target, to): (Object, usize),
    count: usize,
) {
    if count == 0 {
        return;
    }
    thread.with_effort(|_, effort| effort.add_copied(count * storage.width()));
    let source = source.slot(ELEMENTS).object();
    if storage == Storage::Word {
        return target.copy_elements(&mut thread.mutator, to, source, from, count);
    }
    let width = storage.width();
    // SAFETY: both ranges are inside of the room; nothing else writes there (see `bits`).
    unsafe {
        let from = source.bytes_pointer().add(from * width);
        target.bytes_pointer().add(to * width).copy_from(from, count * width);
    }
}

/// An empty list. *GC point.*
pub fn empty(thread: &mut Thread) -> Result<Word, Failure> {
    with_roots(thread, |thread| {
        let nothing = thread.mutator.push_root(Word::NIL);
        allocate_list(thread, nothing, 0)
    })
}

/// A list of this many elements, which are zero, or nil and to be set before other code sees them. *GC point.*
pub fn of_length(thread: &mut Thread, storage: Storage, length: usize) -> Result<Word, Failure> {
    with_roots(thread, |thread| {
        let room = allocate_room(thread, storage, length)?;
        allocate_list(thread, room, length)
    })
}

/// A list of bytes. *GC point.*
pub fn of_bytes(thread: &mut Thread, bytes: &[u8]) -> Result<Word, Failure> {
    thread.with_effort(|_, effort| effort.add_copied(bytes.len()));
    with_roots(thread, |thread| {
        let room = allocate_room(thread, Storage::U8, bytes.len())?;
        // SAFETY: the room is new.
        unsafe { thread.mutator.get(room).object().initialize_bytes(0, bytes) };
        allocate_list(thread, room, bytes.len())
    })
}

/// The bytes of a list of bytes; none if the word is no list of numbers.
pub fn to_bytes(word: Word) -> Option<Vec<u8>> {
    let list = word.as_object().filter(|object| object.layout() == known::LIST)?;
    let Some(room) = list.slot(ELEMENTS).as_object() else { return Some(Vec::new()) };
    if room.layout().format() != Format::Bytes {
        return None;
    }
    // SAFETY: nothing writes the room while it is copied (see `bits`), and there is no GC point.
    let bytes = unsafe { room.bytes() };
    Some(bytes[..length(word)].to_vec())
}

/// The contents of a register, for a list of words: a list in the register is shared from then on.
fn shared(element: Type, bits: u64) -> u64 {
    if element.is_list() {
        // SAFETY: the register is of a list type, so it holds a word.
        share(unsafe { Word::from_bits(bits) });
    }
    bits
}

/// A list of the contents of `count` registers. *GC point.*
pub fn make(
    thread: &mut Thread,
    registers: Registers,
    destination: usize,
    start: usize,
    count: usize,
) -> Result<Word, Failure> {
    let kind = registers.kind(destination).element();
    let storage = kind.storage();
    with_roots(thread, |thread| {
        let room = allocate_room(thread, storage, count)?;
        let list = allocate_list(thread, room, count)?;
        thread.with_effort(|_, effort| effort.add_copied(count * size_of::<Word>()));
        for index in 0..count {
            let bits = shared(kind, registers.bits(start + index));
            set_bits(thread, list.object(), index, storage, bits);
        }
        Ok(list)
    })
}

/// A list of the same value many times. *GC point.*
pub fn fill(
    thread: &mut Thread,
    registers: Registers,
    destination: usize,
    length: usize,
    value: usize,
) -> Result<Word, Failure> {
    let kind = registers.kind(destination).element();
    let asked = registers.bits(length) as i64;
    let length = usize::try_from(asked).map_err(|_| index_error(asked, 0))?;
    let bits = shared(kind, registers.bits(value));
    with_roots(thread, |thread| {
        let room = allocate_filled(thread, kind.storage(), length, bits)?;
        thread.with_effort(|_, effort| effort.add_copied(length * size_of::<Word>()));
        allocate_list(thread, room, length)
    })
}

/// Room for elements that all have these bits, as a root. *GC point.*
fn allocate_filled(
    thread: &mut Thread,
    storage: Storage,
    count: usize,
    bits: u64,
) -> Result<RootHandle, Failure> {
    if storage == Storage::Word {
        // SAFETY: the bits are those of a register of the elements' type, so of a word; nothing was allocated since.
        let fill = unsafe { Word::from_bits(bits) };
        let room = thread.mutator.allocate_array(known::WORDS, Word::NIL, count, fill);
        return Ok(thread.mutator.push_root(allocated(room)?.word()));
    }
    let room = allocate_room(thread, storage, count)?;
    let first = thread.mutator.get(room).object().bytes_pointer();
    // SAFETY: the room has this many elements of this width, each aligned as the first is. It is new: nothing else
    // knows it.
    unsafe {
        match storage.width() {
            1 => slice::from_raw_parts_mut(first, count).fill(bits as u8),
            2 => slice::from_raw_parts_mut(first.cast(), count).fill(bits as u16),
            4 => slice::from_raw_parts_mut(first.cast(), count).fill(bits as u32),
            _ => slice::from_raw_parts_mut(first.cast(), count).fill(bits),
        }
    }
    Ok(room)
}

/// The list in a register, not shared and with room for `needed` elements; it is another one afterwards if it was
/// shared. *GC point.*
fn own(
    thread: &mut Thread,
    registers: Registers,
    register: usize,
    needed: usize,
) -> Result<Object, Failure> {
    let list = registers.word(register).object();
    let storage = registers.kind(register).element().storage();
    let has_room = room(list, storage) >= needed;
    if !is_shared(list) && has_room {
        return Ok(list);
    }
    let count = match has_room {
        true => needed.max(length(list.word())),
        false => needed.max(2 * length(list.word())).max(LEAST_ROOM / storage.width()),
    };
    with_roots(thread, |thread| {
        let room = allocate_room(thread, storage, count)?;
        let is_shared = is_shared(registers.word(register).object());
        if is_shared {
            let fresh = allocate_list(thread, room, 0)?.object();
            let source = registers.word(register);
            let count = length(source);
            let elements = thread.mutator.get(room).object();
            copy(thread, storage, (source.object(), 0), (elements, 0), count);
            set_length(thread, fresh, count);
            registers.set(register, fresh.word());
            return Ok(fresh);
        }
        let list = registers.word(register).object();
        let elements = thread.mutator.get(room).object();
        copy(thread, storage, (list, 0), (elements, 0), length(list.word()));
        list.set_slot(&mut thread.mutator, ELEMENTS, elements.word());
        Ok(list)
    })
}

/// `list[index] := value`. *GC point* if the list is shared.
pub fn set(
    thread: &mut Thread,
    registers: Registers,
    list: usize,
    index: usize,
    value: usize,
) -> Result<Word, Failure> {
    let count = length(registers.word(list));
    let place = position(registers.bits(index), count)?;
    let object = own(thread, registers, list, count)?;
    let element = registers.kind(list).element();
    let bits = shared(element, registers.bits(value));
    set_bits(thread, object, place, element.storage(), bits);
    Ok(object.word())
}

/// The list with a value at its end. *GC point.*
pub fn append(
    thread: &mut Thread,
    registers: Registers,
    list: usize,
    value: usize,
) -> Result<Word, Failure> {
    let count = length(registers.word(list));
    insert_at(thread, registers, list, count, value)
}

/// The list with a value before an element or at its end. *GC point.*
pub fn insert(
    thread: &mut Thread,
    registers: Registers,
    list: usize,
    index: usize,
    value: usize,
) -> Result<Word, Failure> {
    let count = length(registers.word(list));
    let index = registers.bits(index);
    let place = position(index, count + 1).map_err(|_| index_error(index as i64, count))?;
    insert_at(thread, registers, list, place, value)
}

fn insert_at(
    thread: &mut Thread,
    registers: Registers,
    list: usize,
    place: usize,
    value: usize,
) -> Result<Word, Failure> {
    let count = length(registers.word(list));
    let element = registers.kind(list).element();
    let storage = element.storage();
    let object = own(thread, registers, list, count + 1)?;
    let bits = shared(element, registers.bits(value));
    let elements = object.slot(ELEMENTS).object();
    copy(thread, storage, (object, place), (elements, place + 1), count - place);
    set_length(thread, object, count + 1);
    set_bits(thread, object, place, storage, bits);
    Ok(object.word())
}

/// The list without an element. *GC point* if the list is shared.
pub fn remove(
    thread: &mut Thread,
    registers: Registers,
    list: usize,
    index: usize,
) -> Result<Word, Failure> {
    let count = length(registers.word(list));
    let place = position(registers.bits(index), count)?;
    let storage = registers.kind(list).element().storage();
    let object = own(thread, registers, list, count)?;
    let elements = object.slot(ELEMENTS).object();
    copy(thread, storage, (object, place + 1), (elements, place), count - place - 1);
    if storage == Storage::Word {
        elements.set_element(&mut thread.mutator, count - 1, Word::NIL);
    }
    set_length(thread, object, count - 1);
    Ok(object.word())
}

/// The list with two elements in each other's place. *GC point* if the list is shared.
pub fn exchange(
    thread: &mut Thread,
    registers: Registers,
    list: usize,
    first: usize,
    second: usize,
) -> Result<Word, Failure> {
    let count = length(registers.word(list));
    let first = position(registers.bits(first), count)?;
    let second = position(registers.bits(second), count)?;
    let storage = registers.kind(list).element().storage();
    let object = own(thread, registers, list, count)?;
    let [left, right] = [first, second].map(|place| bits(object, place, storage));
    set_bits(thread, object, first, storage, right);
    set_bits(thread, object, second, storage, left);
    Ok(object.word())
}

/// The elements from `start` up to `end`, without that. *GC point.*
pub fn slice(
    thread: &mut Thread,
    registers: Registers,
    list: usize,
    start: usize,
    end: usize,
) -> Result<Word, Failure> {
    let count = length(registers.word(list));
    let within = |register: usize, limit: usize| {
        let index = registers.bits(register);
        position(index, limit + 1).map_err(|_| index_error(index as i64, count))
    };
    let end = within(end, count)?;
    let start = within(start, end)?;
    let storage = registers.kind(list).element().storage();
    with_roots(thread, |thread| {
        let room = allocate_room(thread, storage, end - start)?;
        let made = allocate_list(thread, room, end - start)?;
        let elements = thread.mutator.get(room).object();
        let source = registers.word(list).object();
        copy(thread, storage, (source, start), (elements, 0), end - start);
        Ok(made)
    })
}

/// The elements of one list, then those of another. *GC point.*
pub fn concatenate(
    thread: &mut Thread,
    registers: Registers,
    left: usize,
    right: usize,
) -> Result<Word, Failure> {
    let [first, second] = [left, right].map(|register| length(registers.word(register)));
    let storage = registers.kind(left).element().storage();
    with_roots(thread, |thread| {
        let room = allocate_room(thread, storage, first + second)?;
        let made = allocate_list(thread, room, first + second)?;
        let elements = thread.mutator.get(room).object();
        let list = |register: usize| registers.word(register).object();
        copy(thread, storage, (list(left), 0), (elements, 0), first);
        copy(thread, storage, (list(right), 0), (elements, first), second);
        Ok(made)
    })
}
