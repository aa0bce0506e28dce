//! The machinery of callbacks: libffi's closures, and the entries that they point to. `callback` makes a closure for
//! each callback.
//!
//! ```text
//!   C ──▶ trampoline ──▶ ffi_closure ──▶ enter(…, entry)          the closure belongs to libffi,
//!                                           │                     the entry to this module
//!                                           ▼
//!                                        Entry { pins, blueprint, handler }
//! ```
//!
//! | state of the entry | pins | handler | calls |
//! |---|---|---|---|
//! | live | live | there | run it |
//! | released, calls under way | retired, above 0 | there | those that began go on, others answer zero |
//! | lingering | retired, 0 | dropped | answer zero |
//! | freed | | | undefined |
//!
//! An entry goes from one state to the next, never back. The thread that makes the pins `(0, retired)` drops the
//! handler and appends the entry to the queue of lingering ones. The thread that makes the queue too long frees its
//! first entry. After `enter`, libffi's code reads neither closure nor `ffi_cif` (checked for x86-64 and AArch64 in
//! version 3.6.0), so an entry may be freed as soon as the last `enter` is over.

use std::any::Any;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{Mutex, PoisonError};

use libffi_sys as ffi;

use super::{Blueprint, Handler};
use crate::address::Address;
use crate::call::Form;
use crate::errno::Errno;
use crate::pins::{Pins, Unpinned};
use crate::types::Mismatch;
use crate::types::Primitive;
use crate::types::Signature;
use crate::value::Value;

/// How many released callbacks stay callable.
pub const LINGERING: usize = 1024;

/// The owner of an entry until its release.
pub(super) struct Closure(NonNull<Entry>);

/// The target of a trampoline.
struct Entry {
    pins: Pins,
    blueprint: Blueprint,
    /// Read with a pin, and taken by the thread that disposes of the entry.
    handler: UnsafeCell<Option<Handler>>,
    /// libffi's part, in libffi's memory.
    closure: *mut ffi::ffi_closure,
    code: Address,
}

// SAFETY: the handler is `Send` and `Sync`, and is taken only when no thread reads it; the other fields do not change.
unsafe impl Send for Entry {}
// SAFETY: likewise.
unsafe impl Sync for Entry {}
// SAFETY: it is a reference to an entry.
unsafe impl Send for Closure {}
// SAFETY: likewise.
unsafe impl Sync for Closure {}

impl Closure {
    /// A closure that runs `handler`; `None` if there is no memory for it.
    pub(super) fn new(blueprint: Blueprint, handler: Handler) -> Option<Closure> {
        let mut code = ptr::null_mut();
        // SAFETY: it has no requirements.
        let closure = unsafe { ffi::ffi_closure_alloc(size_of::<ffi::ffi_closure>(), &mut code) };
        let closure = closure.cast::<ffi::ffi_closure>();
        if closure.is_null() {
            return None;
        }
        let handler = UnsafeCell::new(Some(handler));
        let code_address = Address(code.expose_provenance());
        let entry = Entry { pins: Pins::new(), blueprint, handler, closure, code: code_address };
        let entry = NonNull::from(Box::leak(Box::new(entry)));
        // SAFETY: the entry's interface lives as long as the closure.
        let status = unsafe {
            let interface = entry.as_ref().blueprint.interface.as_ptr();
            ffi::ffi_prep_closure_loc(closure, interface, Some(enter), entry.as_ptr().cast(), code)
        };
        assert_eq!(status, ffi::ffi_status_FFI_OK, "the interface was prepared");
        Some(Closure(entry))
    }

    fn entry(&self) -> &Entry {
        // SAFETY: the entry lives until it is released, and longer.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn address(&self) -> Address {
        self.entry().code
    }

    pub(super) fn blueprint(&self) -> &Blueprint {
        &self.entry().blueprint
    }
}

impl Drop for Closure {
    /// Releases the entry.
    fn drop(&mut self) {
        let is_first = self.entry().pins.retire();
        debug_assert!(is_first, "an entry has one owner");
        // SAFETY: the pin is from `retire`.
        unsafe { unpin(self.0) };
    }
}

/// Gives a pin back, and disposes of the handler if it was the last of a released entry.
///
/// # Safety
/// The caller has a pin, and does not use the entry afterwards.
unsafe fn unpin(entry: NonNull<Entry>) {
    // SAFETY: the pin keeps the entry.
    let is_last = unsafe { entry.as_ref() }.pins.unpin() == Unpinned::Dispose;
    if is_last {
        // SAFETY: no thread has a pin any more, or can get one; the entry is not in the queue yet.
        let handler = unsafe { (*entry.as_ref().handler.get()).take() };
        drop(handler);
        linger(entry);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: `ffi_closure_alloc` gave it; C does not call it any more.
        unsafe { ffi::ffi_closure_free(self.closure.cast()) };
    }
}

/// A released entry without an owner.
struct Lingering(NonNull<Entry>);

// SAFETY: entries may be sent to other threads.
unsafe impl Send for Lingering {}

/// Appends an entry to the queue of those that C might still call, and frees the first if there are too many.
fn linger(entry: NonNull<Entry>) {
    static QUEUE: Mutex<VecDeque<Lingering>> = Mutex::new(VecDeque::new());
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    queue.push_back(Lingering(entry));
    let first = if queue.len() > LINGERING { queue.pop_front() } else { None };
    drop(queue);
    if let Some(Lingering(first)) = first {
        // SAFETY: it was leaked when it was made, has been disposed of, and was in the queue once.
        drop(unsafe { Box::from_raw(first.as_ptr()) });
    }
}

/// The function that C's calls reach.
///
/// # Safety
/// libffi calls it with pointers to the arguments and to room for the result, of an entry's signature.
unsafe extern "C" fn enter(
    _interface: *mut ffi::ffi_cif,
    result: *mut c_void,
    arguments: *mut *mut c_void,
    entry: *mut c_void,
) {
    let Some(entry) = NonNull::new(entry.cast::<Entry>()) else { return };
    let errno = Errno::of_this_thread();
    let mut errno_after = errno.get();
    {
        // SAFETY: the entry lives longer than C calls it, which the owner of the callback ensures.
        let entry = unsafe { entry.as_ref() };
        let mut frame = CallbackFrame {
            blueprint: &entry.blueprint,
            arguments,
            result: result.cast(),
            errno: errno_after,
        };
        frame.clear_result();
        if !entry.pins.pin() {
            return;
        }
        // SAFETY: the pin keeps the handler where it is.
        if let Some(handler) = unsafe { &*entry.handler.get() } {
            run(handler, &mut frame);
        }
        errno_after = frame.errno;
    }
    // SAFETY: the pin was taken above.
    unsafe { unpin(entry) };
    errno.set(errno_after);
}

/// Runs a handler; a panic ends here.
fn run(handler: &Handler, frame: &mut CallbackFrame<'_>) {
    // State that a panicking handler leaves is the handler's own, or behind a lock.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| handler(&mut *frame)));
    if let Err(panic) = outcome {
        frame.clear_result();
        frame.blueprint.keep_panic(message(&*panic));
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

/// A result for a callback, checked by [`Signature::answer`], without references.
#[derive(Clone, Debug)]
pub struct CallbackAnswer(Encoded);

#[derive(Clone, Debug)]
enum Encoded {
    Void,
    Word(u64),
    Record(Vec<u8>),
}

impl Signature {
    /// Checks that this value fits the result of a callback with this signature, and converts it for C. For a pointer,
    /// memory is converted to its address, and nothing keeps it alive.
    pub fn answer(&self, value: Value<'_>) -> Result<CallbackAnswer, Mismatch> {
        let form = Form::of(self.result()).map_err(|_| Mismatch::Kind(value.kind()))?;
        let encoded = match (form, value) {
            (Form::Void, _) => Encoded::Void,
            (Form::Record(size), _) => Encoded::Record(bytes_of(value, size)?),
            (Form::Text | Form::Word(Primitive::Pointer), Value::Memory(memory)) => {
                Encoded::Word(memory.address().map_err(|_| Mismatch::Released)?.0 as u64)
            }
            (Form::Text, _) => Encoded::Word(Primitive::Pointer.encode(value)?),
            (Form::Word(primitive), _) => Encoded::Word(primitive.encode(value)?),
        };
        Ok(CallbackAnswer(encoded))
    }
}

/// The bytes of a structure of this size.
fn bytes_of(value: Value<'_>, size: usize) -> Result<Vec<u8>, Mismatch> {
    match value {
        Value::Record(bytes) if bytes.len() == size => Ok(bytes.to_owned()),
        Value::Record(bytes) => Err(Mismatch::Size { given: bytes.len(), expected: size }),
        Value::Memory(memory) if memory.size() < size => {
            Err(Mismatch::Size { given: memory.size(), expected: size })
        }
        Value::Memory(memory) => {
            let mut bytes = vec![0; size];
            memory.read_bytes(0, &mut bytes).map_err(|_| Mismatch::Released)?;
            Ok(bytes)
        }
        _ => Err(Mismatch::Kind(value.kind())),
    }
}

/// A call of a callback: its arguments, and its result.
pub struct CallbackFrame<'f> {
    blueprint: &'f Blueprint,
    arguments: *mut *mut c_void,
    result: *mut u8,
    errno: i32,
}

impl<'f> CallbackFrame<'f> {
    /// The number of arguments.
    pub fn len(&self) -> usize {
        self.blueprint.arguments.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The argument with this index, from 0.
    pub fn argument(&self, index: usize) -> Option<Value<'f>> {
        let form = *self.blueprint.arguments.get(index)?;
        // SAFETY: there are as many pointers as arguments, and they point to values of their forms until the callback
        // returns. Frame and handler do not outlive that.
        unsafe {
            let argument = (*self.arguments.add(index)).cast::<u8>();
            Some(match form {
                Form::Record(size) => Value::Record(slice::from_raw_parts(argument, size)),
                _ => form.primitive().map_or(Value::Void, |primitive| load(argument, primitive)),
            })
        }
    }

    /// All arguments.
    pub fn arguments(&self) -> impl Iterator<Item = Value<'f>> + use<'_, 'f> {
        (0..self.len()).filter_map(|index| self.argument(index))
    }

    /// Sets the result, which has to fit. Memory as a result is converted to its address, and nothing keeps it alive.
    pub fn set_result(&mut self, value: Value<'_>) -> Result<(), Mismatch> {
        let (form, value) = match (self.blueprint.result, value) {
            (form @ (Form::Text | Form::Word(Primitive::Pointer)), Value::Memory(memory)) => {
                (form, Value::Pointer(memory.address().map_err(|_| Mismatch::Released)?))
            }
            (form, value) => (form, value),
        };
        match (form, value) {
            (Form::Void, Value::Void) => Ok(()),
            (Form::Record(size), _) => self.set_record(size, value),
            _ => {
                let primitive = form.primitive().ok_or(Mismatch::Kind(value.kind()))?;
                let word = primitive.encode(value)?;
                // SAFETY: there is room for a word, which libffi wants for integers of any size.
                unsafe { self.result.cast::<u64>().write_unaligned(word) };
                Ok(())
            }
        }
    }

    /// Sets a checked result.
    pub fn set_answer(&mut self, answer: &CallbackAnswer) {
        match (self.blueprint.result, &answer.0) {
            (Form::Record(size), Encoded::Record(bytes)) if bytes.len() == size => {
                // SAFETY: there is room for the structure, and nothing else refers to it.
                unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.result, size) };
            }
            (form, Encoded::Word(word)) if form.primitive().is_some() => {
                // SAFETY: there is room for a word, which libffi wants for integers of any size.
                unsafe { self.result.cast::<u64>().write_unaligned(*word) };
            }
            _ => {}
        }
    }

    fn set_record(&mut self, size: usize, value: Value<'_>) -> Result<(), Mismatch> {
        // SAFETY: there is room for the structure, and nothing else refers to it.
        let room = unsafe { slice::from_raw_parts_mut(self.result, size) };
        match value {
            Value::Record(bytes) if bytes.len() == size => room.copy_from_slice(bytes),
            Value::Record(bytes) => {
                return Err(Mismatch::Size { given: bytes.len(), expected: size });
            }
            Value::Memory(memory) if memory.size() < size => {
                return Err(Mismatch::Size { given: memory.size(), expected: size });
            }
            Value::Memory(memory) => memory.read_bytes(0, room).map_err(|_| Mismatch::Released)?,
            _ => return Err(Mismatch::Kind(value.kind())),
        }
        Ok(())
    }

    /// Makes the result zero.
    fn clear_result(&mut self) {
        let size = match self.blueprint.result {
            Form::Void => 0,
            Form::Record(size) => size,
            // libffi reads a whole word for integers of any size.
            Form::Word(_) | Form::Text => size_of::<u64>(),
        };
        // SAFETY: there is room for the result.
        unsafe { ptr::write_bytes(self.result, 0, size) };
    }

    /// The `errno` that C will see after the callback.
    pub fn errno(&self) -> i32 {
        self.errno
    }

    /// Changes `errno` for C.
    pub fn set_errno(&mut self, errno: i32) {
        self.errno = errno;
    }
}

/// A value from its bytes.
///
/// # Safety
/// There are bytes of the primitive's size.
unsafe fn load(from: *const u8, primitive: Primitive) -> Value<'static> {
    // SAFETY: the caller's.
    let word = unsafe {
        match primitive.size() {
            1 => from.read().into(),
            2 => from.cast::<u16>().read_unaligned().into(),
            4 => from.cast::<u32>().read_unaligned().into(),
            _ => from.cast::<u64>().read_unaligned(),
        }
    };
    primitive.decode(word)
}
