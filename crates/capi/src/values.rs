//! Values: functions that make numbers, texts and lists for guest code, and read them. Embedders in C make and read
//! values with these functions, as arguments and results of calls.

use std::ffi::c_char;
use std::sync::OnceLock;

use machine::embedding::Value;

use crate::errors::{caught, guarded, squall_error};
use crate::handles::{self, Handle, Kind};
use crate::problem::{Problem, squall_code};
use crate::text;

/// A number, a text, a list, or an object of the machine, which the handle keeps alive. The function's caller frees it.
pub struct squall_value {
    _incomplete: [u8; 0],
}

/// Kinds of values.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum squall_kind {
    /// `nil`.
    Nil = 0,
    /// `true` or `false`.
    Boolean = 1,
    /// An integer that fits 64 bits.
    Integer = 2,
    /// A double.
    Double = 3,
    /// A string or a symbol, in UTF-8.
    Text = 4,
    /// A value array.
    List = 5,
    /// Any other object.
    Object = 6,
}

/// The entry of a value's handle.
pub struct ValueEntry {
    value: Value,
    /// The text and a NUL, made at the first request.
    text: OnceLock<Vec<u8>>,
}

impl Handle for squall_value {
    type Entry = ValueEntry;
    const KIND: Kind = Kind::Value;
    const NAME: &'static str = "squall_value";
}

/// Makes a handle for a value.
pub fn handle(value: Value) -> *mut squall_value {
    handles::new::<squall_value>(ValueEntry { value, text: OnceLock::new() })
}

/// The value of a handle.
pub fn value(handle: *const squall_value) -> Result<Value, Problem> {
    Ok(handles::get(handle)?.value.clone())
}

/// The values of handles.
pub fn values(handles: &[*const squall_value]) -> Result<Vec<Value>, Problem> {
    handles.iter().map(|&handle| value(handle)).collect()
}

fn wrong_kind(wanted: &str) -> Problem {
    Problem::new(squall_code::Kind, format!("the value is not {wanted}"))
}

/// Makes `nil`.
#[unsafe(no_mangle)]
pub extern "C" fn squall_nil() -> *mut squall_value {
    handle(Value::Nil)
}

/// Makes `true` or `false`.
#[unsafe(no_mangle)]
pub extern "C" fn squall_boolean(boolean: bool) -> *mut squall_value {
    handle(Value::Boolean(boolean))
}

/// Makes an integer.
#[unsafe(no_mangle)]
pub extern "C" fn squall_integer(integer: i64) -> *mut squall_value {
    handle(Value::Integer(integer))
}

/// Makes a double.
#[unsafe(no_mangle)]
pub extern "C" fn squall_double(number: f64) -> *mut squall_value {
    handle(Value::Double(number))
}

/// Makes a string of `length` bytes in UTF-8.
///
/// # Safety
///
/// `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_text(
    bytes: *const c_char,
    length: usize,
    value: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { text::elements(bytes.cast::<u8>(), length) }?;
        let text =
            std::str::from_utf8(bytes).map_err(|_| Problem::argument("a text is not UTF-8"))?;
        // SAFETY: the caller's promise.
        unsafe { text::put(value, handle(Value::Text(text.to_owned()))) }
    })
}

/// Makes a list of `count` values. The handles of the elements stay the caller's.
///
/// # Safety
///
/// `elements` points to `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_list(
    elements: *const *const squall_value,
    count: usize,
    value: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let elements = values(unsafe { text::elements(elements, count) }?)?;
        // SAFETY: the caller's promise.
        unsafe { text::put(value, handle(Value::List(elements))) }
    })
}

/// Makes another handle for the same value.
///
/// # Safety
///
/// `copy` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_value_copy(
    value: *const squall_value,
    copy: *mut *mut squall_value,
) -> *mut squall_error {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { text::put(copy, handle(self::value(value)?)) })
}

/// Frees a handle of a value. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn squall_value_free(value: *mut squall_value) {
    drop(caught(|| Ok(handles::free(value))));
}

/// The kind of a value; `SQUALL_KIND_NIL` for a pointer that is no value.
#[unsafe(no_mangle)]
pub extern "C" fn squall_value_kind(value: *const squall_value) -> squall_kind {
    let value = caught(|| self::value(value));
    match value.unwrap_or_default() {
        Value::Nil => squall_kind::Nil,
        Value::Boolean(_) => squall_kind::Boolean,
        Value::Integer(_) => squall_kind::Integer,
        Value::Double(_) => squall_kind::Double,
        Value::Text(_) => squall_kind::Text,
        Value::List(_) => squall_kind::List,
        Value::Object(_) => squall_kind::Object,
    }
}

/// Answers the Boolean.
///
/// # Safety
///
/// `boolean` is null or points to a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_value_boolean(
    value: *const squall_value,
    boolean: *mut bool,
) -> *mut squall_error {
    guarded(|| match self::value(value)? {
        // SAFETY: the caller's promise.
        Value::Boolean(found) => unsafe { text::put(boolean, found) },
        _ => Err(wrong_kind("a Boolean")),
    })
}

/// Answers the integer.
///
/// # Safety
///
/// `integer` is null or points to a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_value_integer(
    value: *const squall_value,
    integer: *mut i64,
) -> *mut squall_error {
    guarded(|| match self::value(value)? {
        // SAFETY: the caller's promise.
        Value::Integer(found) => unsafe { text::put(integer, found) },
        _ => Err(wrong_kind("an integer of 64 bits")),
    })
}

/// Answers the number as a double.
///
/// # Safety
///
/// `number` is null or points to a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_value_double(
    value: *const squall_value,
    number: *mut f64,
) -> *mut squall_error {
    guarded(|| {
        let found = match self::value(value)? {
            Value::Double(found) => found,
            Value::Integer(found) => found as f64,
            _ => return Err(wrong_kind("a number")),
        };
        // SAFETY: the caller's promise.
        unsafe { text::put(number, found) }
    })
}

/// Answers the text, in UTF-8, with a NUL after it. It lives as long as this handle. `length` may be null.
///
/// # Safety
///
/// `bytes` and `length` are null or point to places for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_value_text(
    value: *const squall_value,
    bytes: *mut *const c_char,
    length: *mut usize,
) -> *mut squall_error {
    guarded(|| {
        let entry = handles::get(value)?;
        let Value::Text(found) = &entry.value else { return Err(wrong_kind("a text")) };
        let with_end = entry.text.get_or_init(|| [found.as_bytes(), &[0]].concat());
        if !length.is_null() {
            // SAFETY: the caller's promise.
            unsafe { text::put(length, found.len()) }?;
        }
        // SAFETY: the caller's promise. The table keeps the entry, and thereby the text.
        unsafe { text::put(bytes, with_end.as_ptr().cast()) }
    })
}

/// Answers the number of elements of a list.
///
/// # Safety
///
/// `count` is null or points to a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_value_count(
    value: *const squall_value,
    count: *mut usize,
) -> *mut squall_error {
    guarded(|| match &handles::get(value)?.value {
        // SAFETY: the caller's promise.
        Value::List(elements) => unsafe { text::put(count, elements.len()) },
        _ => Err(wrong_kind("a list")),
    })
}

/// Answers a new handle for an element of a list, counted from 0.
///
/// # Safety
///
/// `element` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_value_element(
    value: *const squall_value,
    index: usize,
    element: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        let entry = handles::get(value)?;
        let Value::List(elements) = &entry.value else { return Err(wrong_kind("a list")) };
        let found =
            elements.get(index).ok_or_else(|| Problem::argument("an index is too large"))?;
        // SAFETY: the caller's promise.
        unsafe { text::put(element, handle(found.clone())) }
    })
}
