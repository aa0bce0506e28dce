//! C: the primitives for memory and pointers. `lib/Foreign.ns` calls them.
//!
//! Offsets count bytes from 0, indices of elements count from 1.

use std::sync::atomic::{AtomicUsize, Ordering};

use squall_foreign::{Address, Kind, NativeMemory, Primitive as Representation};
use squall_heap::{CollectionKind, Word};

use super::answer;
use crate::concurrency::foreign::convert::{self, Encoded};
use crate::concurrency::foreign::{
    self, Body, ForeignMemory, KnownType, check_permission, memory, memory_failure,
};
use crate::concurrency::transactions::access;
use crate::model::outcome::Failure;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{make_integer, size_argument};
use crate::objects::string::{make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("newMemory:", |thread, window| answer(allocate(thread, window))),
    Primitive::ordinary("newMemoryOf:count:", |thread, window| {
        answer(allocate_typed(thread, window))
    }),
    Primitive::ordinary("newMemoryWithString:", |thread, window| {
        answer(allocate_text(thread, window))
    }),
    Primitive::effect("releaseMemory:", |_, window| {
        answer(memory(window.get(0)).map(|memory| memory.memory.release().into()))
    }),
    Primitive::ordinary("memoryIsReleased:", |_, window| {
        answer(memory(window.get(0)).map(|memory| memory.memory.is_released().into()))
    }),
    Primitive::ordinary("memorySize:", |thread, window| {
        let size = memory(window.get(0)).map(|memory| memory.memory.size());
        answer(size.and_then(|size| make_integer(thread, size as i64)))
    }),
    Primitive::ordinary("memory:from:size:", |thread, window| answer(view(thread, window))),
    Primitive::ordinary("memory:as:", |thread, window| answer(typed_view(thread, window))),
    Primitive::ordinary("memory:get:at:", |thread, window| answer(get(thread, window))),
    Primitive::effect("memory:put:as:at:", |thread, window| answer(put(thread, window))),
    Primitive::ordinary("memory:stringAt:", |thread, window| answer(string(thread, window))),
    Primitive::ordinary("memory:stringAt:size:", |thread, window| {
        answer(string_of_size(thread, window))
    }),
    Primitive::effect("memory:putString:at:", |thread, window| answer(put_string(thread, window))),
    Primitive::ordinary("memory:bytesAt:size:", |thread, window| answer(bytes(thread, window))),
    Primitive::effect("memory:putBytes:at:", |thread, window| answer(put_bytes(thread, window))),
    Primitive::ordinary("memory:field:", |thread, window| answer(field(thread, window))),
    Primitive::effect("memory:field:put:", |thread, window| answer(put_field(thread, window))),
    Primitive::ordinary("memoryCount:", |thread, window| answer(count(thread, window))),
    Primitive::ordinary("memory:element:", |thread, window| answer(element(thread, window))),
    Primitive::effect("memory:element:put:", |thread, window| answer(put_element(thread, window))),
    Primitive::ordinary("pointer:memory:", |thread, window| answer(borrow(thread, window))),
    Primitive::ordinary("pointer:as:", |thread, window| answer(borrow_typed(thread, window))),
    Primitive::ordinary("pointerString:", |thread, window| answer(pointer_string(thread, window))),
];

/// The representations of values in memory, in the order in which the library numbers them.
const REPRESENTATIONS: [Representation; 12] = [
    Representation::Bool,
    Representation::I8,
    Representation::U8,
    Representation::I16,
    Representation::U16,
    Representation::I32,
    Representation::U32,
    Representation::I64,
    Representation::U64,
    Representation::F32,
    Representation::F64,
    Representation::Pointer,
];

/// How much memory of C's there may be before a collection looks for some that is garbage.
static MUCH_MEMORY: AtomicUsize = AtomicUsize::new(LEAST_MUCH);
const LEAST_MUCH: usize = 64 << 20;

/// Allocates memory of C. A program that has much of it gets a collection, which frees garbage. *GC point.*
fn allocate_bytes(thread: &mut Thread, size: usize) -> Result<NativeMemory, Failure> {
    check_permission(thread, "native memory")?;
    let (_, used) = squall_foreign::allocated_memory();
    if used.saturating_add(size) > MUCH_MEMORY.load(Ordering::Relaxed) {
        thread.mutator.collect(CollectionKind::Full);
        foreign::release_dead(thread);
        let (_, used) = squall_foreign::allocated_memory();
        let much = used.saturating_add(size).saturating_mul(2).max(LEAST_MUCH);
        MUCH_MEMORY.store(much, Ordering::Relaxed);
    }
    NativeMemory::allocate(size).map_err(|error| memory_failure(thread, &error))
}

fn allocate(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let size = size_argument(window.get(0))?;
    let memory = allocate_bytes(thread, size)?;
    convert::make_memory(thread, memory, None)
}

/// Memory for `count` values of a type, one after the other; without a count, for one value of the type itself.
fn allocate_typed(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let known = type_argument(window.get(0))?;
    let content = match window.get(1) {
        Word::NIL => known.clone(),
        count => array_of(thread, known, size_argument(count)?)?,
    };
    let size = size_of(thread, &content)?;
    let memory = allocate_bytes(thread, size)?;
    convert::make_memory(thread, memory, Some(content))
}

fn type_argument(word: Word) -> Result<&'static KnownType, Failure> {
    match foreign::body(word)? {
        Body::Type(known) => Ok(known),
        _ => Err(Failure::argument(word)),
    }
}

fn array_of(thread: &mut Thread, of: &KnownType, count: usize) -> Result<KnownType, Failure> {
    match squall_foreign::Type::array_of(&of.c_type, Some(count)) {
        Ok(c_type) => Ok(KnownType { c_type, declarations: of.declarations.clone() }),
        Err(error) => Err(foreign::failure(thread, "Declaration", &error.to_string())),
    }
}

fn size_of(thread: &mut Thread, content: &KnownType) -> Result<usize, Failure> {
    match content.c_type.layout() {
        Some(layout) => Ok(layout.size),
        None => {
            let text = format!("there are no values of type `{}`", content.c_type);
            Err(foreign::failure(thread, "Declaration", &text))
        }
    }
}

/// Memory with a string in UTF-8 and a NUL.
fn allocate_text(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = text_argument(window.get(0))?;
    let memory = allocate_bytes(thread, text.len() + 1)?;
    match memory.write_bytes(0, text.as_bytes()) {
        Ok(()) => convert::make_memory(thread, memory, None),
        Err(error) => Err(memory_failure(thread, &error)),
    }
}

fn view(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let memory = memory(window.get(0))?;
    let (from, size) = (size_argument(window.get(1))?, size_argument(window.get(2))?);
    make_view(thread, memory, from, size, None)
}

fn make_view(
    thread: &mut Thread,
    of: &ForeignMemory,
    from: usize,
    size: usize,
    content: Option<KnownType>,
) -> Result<Word, Failure> {
    match of.memory.view(from, size) {
        Ok(view) => convert::make_memory(thread, view, content),
        Err(error) => Err(memory_failure(thread, &error)),
    }
}

/// The memory as a value of a type, which must fit.
fn typed_view(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (memory, known) = (memory(window.get(0))?, type_argument(window.get(1))?);
    let size = size_of(thread, known)?;
    make_view(thread, memory, 0, size, Some(known.clone()))
}

fn representation(word: Word) -> Result<Representation, Failure> {
    let found = REPRESENTATIONS.get(size_argument(word)?);
    found.copied().ok_or(Failure::argument(word))
}

fn get(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let memory = memory(window.get(0))?;
    let (kind, offset) = (representation(window.get(1))?, size_argument(window.get(2))?);
    read(thread, memory, offset, kind)
}

fn read(
    thread: &mut Thread,
    memory: &ForeignMemory,
    offset: usize,
    kind: Representation,
) -> Result<Word, Failure> {
    match memory.memory.read(offset, kind) {
        Ok(value) => convert::to_guest(thread, value, || None),
        Err(error) => Err(memory_failure(thread, &error)),
    }
}

fn put(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let memory = memory(window.get(0))?;
    let (kind, offset) = (representation(window.get(2))?, size_argument(window.get(3))?);
    write(thread, memory, offset, kind, window.get(1))
}

fn write(
    thread: &mut Thread,
    memory: &ForeignMemory,
    offset: usize,
    kind: Representation,
    word: Word,
) -> Result<Word, Failure> {
    let mut encoded = Encoded::new();
    // SAFETY: the value is written at once; `encoded` lives longer, and the word is an argument in progress.
    let Some(value) = (unsafe { convert::to_c(thread.vm, word, &mut encoded) }) else {
        return Err(refuse(thread, word));
    };
    match memory.memory.write(offset, kind, value) {
        Ok(()) => Ok(Word::NIL),
        Err(error) => Err(memory_failure(thread, &error)),
    }
}

fn refuse(thread: &mut Thread, word: Word) -> Failure {
    let text = format!("{} cannot be given to C", convert::refused(thread.vm, word));
    foreign::failure(thread, "Argument", &text)
}

/// The string at an offset, which a NUL ends.
fn string(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let memory = memory(window.get(0))?;
    let offset = size_argument(window.get(1))?;
    match memory.memory.read_text(offset) {
        Ok(text) => make_string(thread, &String::from_utf8_lossy(&text)),
        Err(error) => Err(memory_failure(thread, &error)),
    }
}

fn read_bytes(thread: &mut Thread, window: Window) -> Result<Vec<u8>, Failure> {
    let memory = memory(window.get(0))?;
    let (offset, size) = (size_argument(window.get(1))?, size_argument(window.get(2))?);
    // So that no more is allocated than there is.
    let view = match memory.memory.view(offset, size) {
        Ok(view) => view,
        Err(error) => return Err(memory_failure(thread, &error)),
    };
    let mut bytes = vec![0; size];
    match view.read_bytes(0, &mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(memory_failure(thread, &error)),
    }
}

fn string_of_size(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let bytes = read_bytes(thread, window)?;
    make_string(thread, &String::from_utf8_lossy(&bytes))
}

/// Writes a string, without a NUL; answers the number of bytes.
fn put_string(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let memory = memory(window.get(0))?;
    let text = text_argument(window.get(1))?;
    let offset = size_argument(window.get(2))?;
    match memory.memory.write_bytes(offset, text.as_bytes()) {
        Ok(()) => make_integer(thread, text.len() as i64),
        Err(error) => Err(memory_failure(thread, &error)),
    }
}

fn bytes(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let bytes = read_bytes(thread, window)?;
    array::make_of(thread, bytes.len(), |_, index| {
        Ok(Word::from_small_integer_unchecked(bytes[index].into()))
    })
}

fn put_bytes(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let memory = memory(window.get(0))?;
    let array = array::of(window.get(1)).ok_or(Failure::argument(window.get(1)))?;
    let offset = size_argument(window.get(2))?;
    let byte = |word: Word| match word.as_small_integer() {
        Some(value @ -128..=255) => Ok(value as u8),
        _ => Err(Failure::argument(word)),
    };
    let bytes: Result<Vec<u8>, Failure> =
        (0..array.length()).map(|index| byte(access::element(thread, array, index)?)).collect();
    match memory.memory.write_bytes(offset, &bytes?) {
        Ok(()) => Ok(Word::NIL),
        Err(error) => Err(memory_failure(thread, &error)),
    }
}

/// A part of memory: its offset, and the type of its contents.
type Part = (usize, KnownType);

/// The type of the memory's contents, which must be known.
fn content<'m>(thread: &mut Thread, memory: &'m ForeignMemory) -> Result<&'m KnownType, Failure> {
    memory.content.as_ref().ok_or_else(|| {
        foreign::failure(thread, "Declaration", "this memory holds bytes, of no certain type")
    })
}

/// Where a field of the structure in memory is.
fn field_part(thread: &mut Thread, memory: &ForeignMemory, name: Word) -> Result<Part, Failure> {
    let name = text_argument(name)?;
    let known = content(thread, memory)?;
    let found = known.c_type.as_record().and_then(|record| record.field(&name));
    match found {
        Some((offset, c_type)) => Ok((offset, convert::known_type(c_type, known))),
        None => {
            let text = format!("`{}` has no field `{name}`", known.c_type);
            Err(foreign::failure(thread, "Declaration", &text))
        }
    }
}

fn field(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let memory = memory(window.get(0))?;
    let part = field_part(thread, memory, window.get(1))?;
    read_part(thread, memory, part)
}

fn put_field(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let memory = memory(window.get(0))?;
    let part = field_part(thread, memory, window.get(1))?;
    write_part(thread, memory, part, window.get(2))
}

/// The value of a part; of a structure or an array, its memory.
fn read_part(
    thread: &mut Thread,
    memory: &ForeignMemory,
    (offset, known): Part,
) -> Result<Word, Failure> {
    match known.c_type.primitive() {
        Some(kind) => read(thread, memory, offset, kind),
        None => {
            // The last field of a structure may be an array without a length: all that is there.
            let size = size_of(thread, &known)?;
            let rest = memory.memory.size().saturating_sub(offset);
            let size = if size == 0 { rest } else { size };
            make_view(thread, memory, offset, size, Some(known))
        }
    }
}

fn write_part(
    thread: &mut Thread,
    target: &ForeignMemory,
    (offset, known): Part,
    word: Word,
) -> Result<Word, Failure> {
    if let Some(kind) = known.c_type.primitive() {
        return write(thread, target, offset, kind, word);
    }
    let size = size_of(thread, &known)?;
    let source = memory(word)?;
    if source.memory.size() != size {
        let (given, c_type) = (source.memory.size(), &known.c_type);
        let text = format!("`{c_type}` has {size} bytes, but {given} are given");
        return Err(foreign::failure(thread, "Argument", &text));
    }
    let mut bytes = vec![0; size];
    let copied = source.memory.read_bytes(0, &mut bytes);
    match copied.and_then(|()| target.memory.write_bytes(offset, &bytes)) {
        Ok(()) => Ok(Word::NIL),
        Err(error) => Err(memory_failure(thread, &error)),
    }
}

/// The element type of the array in memory, the elements' size, and their number.
fn elements(
    thread: &mut Thread,
    memory: &ForeignMemory,
) -> Result<(KnownType, usize, usize), Failure> {
    let known = content(thread, memory)?;
    let Kind::Array(array) = known.c_type.kind() else {
        let text = format!("`{}` is no array", known.c_type);
        return Err(foreign::failure(thread, "Declaration", &text));
    };
    let of = convert::known_type(&array.element, known);
    let size = size_of(thread, &of)?;
    Ok((of, size, memory.memory.size() / size.max(1)))
}

fn count(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let memory = memory(window.get(0))?;
    let (_, _, count) = elements(thread, memory)?;
    make_integer(thread, count as i64)
}

fn element_part(thread: &mut Thread, window: Window) -> Result<Part, Failure> {
    let memory = memory(window.get(0))?;
    let (of, size, count) = elements(thread, memory)?;
    let position = array::position(window.get(0), count, window.get(1))?;
    Ok((position * size, of))
}

fn element(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let part = element_part(thread, window)?;
    read_part(thread, memory(window.get(0))?, part)
}

fn put_element(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let part = element_part(thread, window)?;
    write_part(thread, memory(window.get(0))?, part, window.get(2))
}

/// The address in a pointer, which the program may use. *GC point.*
fn address_argument(thread: &mut Thread, word: Word) -> Result<Address, Failure> {
    check_permission(thread, "a pointer")?;
    convert::address_of_pointer(thread.vm, word)
        .filter(|address| !address.is_null())
        .ok_or(Failure::argument(word))
}

/// Memory of C's, which the program says is there.
fn borrow(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let address = address_argument(thread, window.get(0))?;
    let size = size_argument(window.get(1))?;
    if address.0.checked_add(size).is_none() {
        return Err(Failure::argument(window.get(1)));
    }
    // SAFETY: the user who allows the program to call C vouches for its claims about memory.
    let memory = unsafe { NativeMemory::borrow(address, size, None) };
    convert::make_memory(thread, memory, None)
}

/// The value of a type that the program says is there.
fn borrow_typed(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let address = address_argument(thread, window.get(0))?;
    let known = type_argument(window.get(1))?;
    let size = size_of(thread, known)?;
    if address.0.checked_add(size).is_none() {
        return Err(Failure::argument(window.get(0)));
    }
    // SAFETY: as in `borrow`.
    let memory = unsafe { NativeMemory::borrow(address, size, None) };
    convert::make_memory(thread, memory, Some(known.clone()))
}

/// The longest string that is read at a pointer.
const LONGEST_STRING: usize = 1 << 30;

/// The string that a pointer leads to, which a NUL ends.
fn pointer_string(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let address = address_argument(thread, window.get(0))?;
    // SAFETY: as in `borrow`.
    let text = unsafe { squall_foreign::text_at(address, LONGEST_STRING) };
    make_string(thread, &String::from_utf8_lossy(&text))
}
