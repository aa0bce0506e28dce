//! Ends of channels: native threads of the embedder read and write guest channels with these functions.

use std::time::Duration;

use machine::embedding::{Reader, Writer};

use crate::errors::{caught, guarded, squall_error};
use crate::handles::{self, Handle, Kind};
use crate::problem::Problem;
use crate::text;
use crate::values::{handle, squall_value, value};
use crate::vm::squall_vm;

/// The end of a channel to read from. The function's caller frees it.
pub struct squall_reader {
    _incomplete: [u8; 0],
}

impl Handle for squall_reader {
    type Entry = Reader;
    const KIND: Kind = Kind::Reader;
    const NAME: &'static str = "squall_reader";
}

/// The end of a channel to write to. The function's caller frees it.
pub struct squall_writer {
    _incomplete: [u8; 0],
}

impl Handle for squall_writer {
    type Entry = Writer;
    const KIND: Kind = Kind::Writer;
    const NAME: &'static str = "squall_writer";
}

/// Makes a channel to guest code, whose buffer has room for `capacity` values: one end for native code, and one to be
/// given to guest code.
///
/// # Safety
///
/// `writer` and `reading_end` are null or point to places for handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_channel_to_guest(
    vm: *mut squall_vm,
    capacity: usize,
    writer: *mut *mut squall_writer,
    reading_end: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        let (native, guest) = handles::get(vm)?.channel_to_guest(capacity)?;
        // SAFETY: the caller's promise.
        unsafe {
            text::put(reading_end, handle(guest))?;
            text::put(writer, handles::new::<squall_writer>(native))
        }
    })
}

/// Makes a channel from guest code, whose buffer has room for `capacity` values: one end for native code, and one to be
/// given to guest code.
///
/// # Safety
///
/// `reader` and `writing_end` are null or point to places for handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_channel_from_guest(
    vm: *mut squall_vm,
    capacity: usize,
    reader: *mut *mut squall_reader,
    writing_end: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        let (native, guest) = handles::get(vm)?.channel_from_guest(capacity)?;
        // SAFETY: the caller's promise.
        unsafe {
            text::put(writing_end, handle(guest))?;
            text::put(reader, handles::new::<squall_reader>(native))
        }
    })
}

/// Makes an end for native code of a guest object that is a reading end, such as a channel's `in`.
///
/// # Safety
///
/// `reader` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_reader_of(
    vm: *mut squall_vm,
    end: *const squall_value,
    reader: *mut *mut squall_reader,
) -> *mut squall_error {
    guarded(|| {
        let native = handles::get(vm)?.reader(value(end)?);
        // SAFETY: the caller's promise.
        unsafe { text::put(reader, handles::new::<squall_reader>(native)) }
    })
}

/// Makes an end for native code of a guest object that is a writing end, such as a channel's `out`.
///
/// # Safety
///
/// `writer` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_writer_of(
    vm: *mut squall_vm,
    end: *const squall_value,
    writer: *mut *mut squall_writer,
) -> *mut squall_error {
    guarded(|| {
        let native = handles::get(vm)?.writer(value(end)?);
        // SAFETY: the caller's promise.
        unsafe { text::put(writer, handles::new::<squall_writer>(native)) }
    })
}

/// Waits for a value.
///
/// # Safety
///
/// `value` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_reader_read(
    reader: *mut squall_reader,
    value: *mut *mut squall_value,
) -> *mut squall_error {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { text::put(value, handle(handles::get(reader)?.read()?)) })
}

/// Waits for a value for at most this many milliseconds. After that, the value is null.
///
/// # Safety
///
/// `value` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_reader_read_within(
    reader: *mut squall_reader,
    milliseconds: f64,
    value: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        let patience = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1000.0);
        let patience = patience.map_err(|_| Problem::argument("that is no time"))?;
        let read = handles::get(reader)?.read_within(patience)?;
        // SAFETY: the caller's promise.
        unsafe { text::put(value, read.map_or(std::ptr::null_mut(), handle)) }
    })
}

/// Waits until the value is read, or the channel's buffer has room for it.
#[unsafe(no_mangle)]
pub extern "C" fn squall_writer_write(
    writer: *mut squall_writer,
    value: *const squall_value,
) -> *mut squall_error {
    guarded(|| Ok(handles::get(writer)?.write(&self::value(value)?)?))
}

/// Poisons the channel: all its readers and writers fail from now on.
#[unsafe(no_mangle)]
pub extern "C" fn squall_reader_poison(reader: *mut squall_reader) -> *mut squall_error {
    guarded(|| Ok(handles::get(reader)?.poison()?))
}

/// Poisons the channel: all its writers fail from now on, and its readers once the buffer is empty.
#[unsafe(no_mangle)]
pub extern "C" fn squall_writer_poison(writer: *mut squall_writer) -> *mut squall_error {
    guarded(|| Ok(handles::get(writer)?.poison()?))
}

/// Frees an end. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn squall_reader_free(reader: *mut squall_reader) {
    drop(caught(|| Ok(handles::free(reader))));
}

/// Frees an end. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn squall_writer_free(writer: *mut squall_writer) {
    drop(caught(|| Ok(handles::free(writer))));
}
