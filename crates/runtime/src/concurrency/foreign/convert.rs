//! Conversions of guest values to C's and back, for callouts, callbacks and memory.
//!
//! | guest | C |
//! |---|---|
//! | integer, double, boolean | number, `_Bool` |
//! | nil | the null pointer |
//! | string, symbol | for `char *` and `void *`: a copy in UTF-8, until the call returns |
//! | pointer, function, callback | its address |
//! | memory | its address, or its bytes for a structure |
//!
//! Anything else is refused, far references among them: C never sees an object.

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use squall_foreign::{Address, NativeMemory, Type, Value};
use squall_heap::{Format, Object, Word};

use super::{Body, ForeignMemory, KnownType, native};
use crate::concurrency::values::SHARED;
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::classes::behavior_of_class;
use crate::objects::number::{Number, make_big, make_double, make_integer};
use crate::objects::string::{Text, Width};
use crate::state::thread::{Thread, allocated};
use crate::state::vm::Vm;

/// Strings that are encoded for a call. The strings do not move when the list grows.
pub type Encoded = Vec<Vec<u8>>;

/// The value of a word for C; none if there is none.
///
/// # Safety
///
/// The value refers to memory that lives until the next GC point, or in `encoded`, or, for memory objects, as long as
/// the word is reachable: the caller uses it while all three last. The lifetime in the type does not express this.
#[inline]
pub unsafe fn to_c(vm: &Vm, word: Word, encoded: &mut Encoded) -> Option<Value<'static>> {
    if let Some(integer) = word.as_small_integer() {
        return Some(Value::Integer(integer));
    }
    if let Some(double) = word.as_double() {
        return Some(Value::Double(double));
    }
    match word {
        Word::NIL => Some(Value::Pointer(Address::NULL)),
        Word::TRUE => Some(Value::Bool(true)),
        Word::FALSE => Some(Value::Bool(false)),
        // SAFETY: as the caller promises.
        _ => unsafe { object_to_c(vm, word, encoded) },
    }
}

/// As [`to_c`], for objects.
///
/// # Safety
///
/// As for [`to_c`].
unsafe fn object_to_c(vm: &Vm, word: Word, encoded: &mut Encoded) -> Option<Value<'static>> {
    if let Some(native) = native(word) {
        return native_to_c(&native.body);
    }
    if let Some(text) = Text::of(word) {
        // SAFETY: as the caller promises.
        return Some(unsafe { text_to_c(text, encoded) });
    }
    if let Some(address) = address_of_pointer(vm, word) {
        return Some(Value::Pointer(address));
    }
    match Number::of(word)? {
        Number::Small(integer) => Some(Value::Integer(integer)),
        Number::Large(integer) => integer.to_u64().map(Value::unsigned),
        Number::Double(double) => Some(Value::Double(double)),
    }
}

fn native_to_c(body: &'static Body) -> Option<Value<'static>> {
    match body {
        Body::Memory(memory) => Some(Value::Memory(&memory.memory)),
        Body::Function(function) => Some(Value::Pointer(function.function.address())),
        Body::Callback(_, callback) => {
            callback.lock().as_ref().map(|callback| Value::Pointer(callback.address()))
        }
        Body::Library(_) | Body::Type(_) => None,
    }
}

/// The value of a text.
///
/// # Safety
///
/// As for [`to_c`].
unsafe fn text_to_c(text: Text, encoded: &mut Encoded) -> Value<'static> {
    // SAFETY: the caller uses the bytes until the next GC point only.
    let bytes = unsafe { text.bytes_unbound() };
    if text.width() == Width::One && bytes.is_ascii() {
        return Value::Text(bytes);
    }
    encoded.push(text.to_rust().into_bytes());
    let bytes: &[u8] = encoded.last().map_or(&[], Vec::as_slice);
    let bytes = std::ptr::from_ref(bytes);
    // SAFETY: the bytes stay in place as long as `encoded` lives, and the caller uses the value no longer.
    Value::Text(unsafe { &*bytes })
}

/// The address for a word, if the memory there does not depend on the word's object: for nil, a pointer, or a function.
pub fn lasting_address(vm: &Vm, word: Word) -> Option<Address> {
    if word == Word::NIL {
        return Some(Address::NULL);
    }
    match native(word).map(|native| &native.body) {
        Some(Body::Function(function)) => Some(function.function.address()),
        Some(_) => None,
        None => address_of_pointer(vm, word),
    }
}

/// The address in an instance of the library's class of pointers.
pub fn address_of_pointer(vm: &Vm, word: Word) -> Option<Address> {
    let object = word.as_object().filter(|object| is_wrapper(*object))?;
    if object.class() != vm.concurrency().foreign.pointer_class.get() {
        return None;
    }
    match Number::of(object.slot(0))? {
        Number::Small(address) => Some(Address(address as usize)),
        _ => None,
    }
}

fn is_wrapper(object: Object) -> bool {
    let layout = object.layout();
    layout.format() == Format::Slots
        && layout.slot_count() > 0
        && layout.number() >= known::FIRST_FREE_NUMBER
}

/// The description of a word that cannot be passed to C.
pub fn refused(vm: &Vm, word: Word) -> String {
    match native(word).map(|native| &native.body) {
        Some(Body::Callback(..)) => return "a released callback".into(),
        Some(Body::Library(_)) => return "a library".into(),
        Some(Body::Type(_)) => return "a type".into(),
        _ => {}
    }
    let layout = known::layout_of(word);
    match layout {
        known::FAR_REFERENCE => "an object of another actor".into(),
        known::LARGE_INTEGER => "an integer of more than 64 bits".into(),
        _ => {
            let name = vm.behavior_of_layout(layout).map_or("Object", |behavior| behavior.name());
            format!("an instance of {name}")
        }
    }
}

/// The word for an integer of at most 32 bits, a boolean or nothing.
#[inline]
pub fn narrow_to_guest(value: Value<'static>) -> Word {
    match value {
        Value::Integer(integer) => Word::from_small_integer_unchecked(integer),
        Value::Bool(boolean) => boolean.into(),
        _ => Word::NIL,
    }
}

/// The word for a value of C. `of` gives the meaning of a structure's bytes. *GC point* unless it is an integer that
/// fits a word, a boolean or nothing.
#[inline]
pub fn to_guest(
    thread: &mut Thread,
    value: Value<'_>,
    of: impl FnOnce() -> Option<KnownType>,
) -> Result<Word, Failure> {
    match value {
        Value::Void => Ok(Word::NIL),
        Value::Integer(integer) => make_integer(thread, integer),
        Value::Bool(boolean) => Ok(boolean.into()),
        Value::Double(double) => make_double(thread, double),
        Value::Unsigned(integer) => make_big(thread, BigInt::from(integer)),
        Value::Pointer(address) => make_pointer(thread, address),
        Value::Record(bytes) => make_record(thread, bytes, of()),
        // These come from guests only.
        Value::Memory(_) | Value::Text(_) => Err(Failure::new(FailureReason::NotSupported)),
    }
}

/// A pointer; nil for null. *GC point.*
pub fn make_pointer(thread: &mut Thread, address: Address) -> Result<Word, Failure> {
    if address.is_null() {
        return Ok(Word::NIL);
    }
    let number = make_integer(thread, address.0 as i64)?;
    let class = thread.vm.concurrency().foreign.pointer_class.get();
    let pointer = make_wrapper(thread, class, number)?;
    // It holds an integer.
    _ = pointer.set_flag(SHARED);
    Ok(pointer.word())
}

/// An instance of a class of the library, with this word in its first slot. *GC point.*
fn make_wrapper(thread: &mut Thread, class: Word, first: Word) -> Result<Object, Failure> {
    let behavior = behavior_of_class(thread.vm, class).ok_or(Failure::argument(class))?;
    let layout = behavior.layout;
    if layout.format() != Format::Slots || layout.slot_count() == 0 {
        return Err(Failure::argument(class));
    }
    let mut scope = thread.mutator.scope();
    let first = scope.root(first);
    let wrapper = allocated(scope.allocate_slots(layout, class))?;
    wrapper.initialize_slot(0, scope.get(first));
    Ok(wrapper)
}

/// Memory of its own with a copy of a structure. *GC point.*
fn make_record(
    thread: &mut Thread,
    bytes: &[u8],
    content: Option<KnownType>,
) -> Result<Word, Failure> {
    let memory = NativeMemory::allocate(bytes.len())
        .and_then(|memory| memory.write_bytes(0, bytes).map(|()| memory));
    match memory {
        Ok(memory) => make_memory(thread, memory, content),
        Err(_) => Err(Failure::out_of_memory()),
    }
}

/// The guest's object for memory. *GC point.*
pub fn make_memory(
    thread: &mut Thread,
    memory: NativeMemory,
    content: Option<KnownType>,
) -> Result<Word, Failure> {
    let handle = super::make(thread, Body::Memory(ForeignMemory { memory, content }))?;
    let class = thread.vm.concurrency().foreign.memory_class.get();
    make_wrapper(thread, class, handle.word()).map(Object::word)
}

/// The meaning of a type with these declarations, for the memory that holds a value of it.
pub fn known_type(c_type: &Type, like: &KnownType) -> KnownType {
    let declarations = like.declarations.clone();
    KnownType { c_type: declarations.resolved(c_type), declarations }
}
