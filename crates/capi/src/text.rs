//! Text and memory from C. The functions of the interface read their arguments and write their results here.

use std::ffi::{CStr, c_char};

use crate::problem::Problem;

/// The text up to the NUL.
///
/// # Safety
///
/// The pointer is null or points to text that ends with a NUL and does not change during the call.
pub unsafe fn required(text: *const c_char) -> Result<String, Problem> {
    // SAFETY: the caller's promise.
    unsafe { optional(text) }?.ok_or_else(|| Problem::argument("a text is a null pointer"))
}

/// The text up to the NUL; `None` for null.
///
/// # Safety
///
/// As for [`required`].
pub unsafe fn optional(text: *const c_char) -> Result<Option<String>, Problem> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not null, so the caller has promised the rest.
    let text = unsafe { CStr::from_ptr(text) };
    match text.to_str() {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(Problem::argument("a text is not UTF-8")),
    }
}

/// The elements at a pointer, which may be null if there are none.
///
/// # Safety
///
/// The pointer leads to `count` elements, which do not change while the slice is used.
pub unsafe fn elements<'c, T>(start: *const T, count: usize) -> Result<&'c [T], Problem> {
    match (start.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Problem::argument("an array is a null pointer")),
        _ if !start.is_aligned() || count > isize::MAX as usize / size_of::<T>() => {
            Err(Problem::argument("an array cannot be there, or as long"))
        }
        // SAFETY: the caller's promise.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(start, count) }),
    }
}

/// The texts at a pointer.
///
/// # Safety
///
/// The pointer leads to `count` texts, each as for [`required`].
pub unsafe fn all(start: *const *const c_char, count: usize) -> Result<Vec<String>, Problem> {
    // SAFETY: the caller's promise.
    let texts = unsafe { elements(start, count) }?;
    // SAFETY: the caller's promise.
    texts.iter().map(|&text| unsafe { required(text) }).collect()
}

/// Writes a result.
///
/// # Safety
///
/// The pointer is null or leads to a place for the result.
pub unsafe fn put<T>(place: *mut T, result: T) -> Result<(), Problem> {
    if place.is_null() {
        return Err(Problem::argument("the place for the result is a null pointer"));
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(result) };
    Ok(())
}
