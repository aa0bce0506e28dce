//! The machine: an embedder starts it, loads modules and calls guest objects with these functions.

use std::ffi::c_char;

use machine::FileKind;
use machine::embedding::{Value, Vm};

use crate::errors::{caught, guarded, squall_error};
use crate::handles::{self, Handle, Kind};
use crate::machine_options::{OptionsEntry, squall_options};
use crate::problem::Problem;
use crate::text;
use crate::values::{self, handle, squall_value, value};

/// The machine of this process.
pub struct squall_vm {
    _incomplete: [u8; 0],
}

impl Handle for squall_vm {
    type Entry = Vm;
    const KIND: Kind = Kind::Vm;
    const NAME: &'static str = "squall_vm";
}

/// Forms of modules.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum squall_format {
    /// Newspeak source.
    Newspeak = 0,
    /// The text form of bytecode.
    Assembly = 1,
    /// The binary form of bytecode.
    Binary = 2,
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn squall_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Starts the machine of this process, with the default options if `options` is null. A process has one machine, ever:
/// a second start is an error with `SQUALL_CODE_ALREADY_STARTED`.
///
/// # Safety
///
/// `vm` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_start(
    options: *const squall_options,
    vm: *mut *mut squall_vm,
) -> *mut squall_error {
    guarded(|| {
        if vm.is_null() {
            return Err(Problem::argument("the place for the machine is a null pointer"));
        }
        let (options, outside) = match options.is_null() {
            true => OptionsEntry::default().parts(),
            false => handles::get(options)?.parts(),
        };
        let started = Vm::start(options, outside)?;
        // SAFETY: the caller's promise.
        unsafe { text::put(vm, handles::new::<squall_vm>(started)) }
    })
}

/// Ends the machine. Calls that wait for an answer get an error with `SQUALL_CODE_ENDED`. If the machine had ended
/// before, this has no effect, and `exit_code` gets the exit code of that end; it may be null.
///
/// # Safety
///
/// `exit_code` is null or points to a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_end(
    vm: *mut squall_vm,
    code: i32,
    exit_code: *mut i32,
) -> *mut squall_error {
    guarded(|| {
        let code = handles::get(vm)?.end(code);
        if exit_code.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { text::put(exit_code, code) }
    })
}

/// Frees the handle of the machine. If no end of a channel and no sandbox needs the machine, it ends.
#[unsafe(no_mangle)]
pub extern "C" fn squall_vm_free(vm: *mut squall_vm) {
    drop(caught(|| Ok(handles::free(vm))));
}

/// Answers the platform object: all the authority that the options allow.
///
/// # Safety
///
/// `platform` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_platform(
    vm: *mut squall_vm,
    platform: *mut *mut squall_value,
) -> *mut squall_error {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { text::put(platform, handle(handles::get(vm)?.platform().clone())) })
}

/// Loads a module from `length` bytes. Answers its class, which has no authority; for bytecode without a class, answers
/// the object that `squall_call_export` takes. The path, which ends with a NUL, is the module's name in traces and
/// diagnostics. `format` is a `squall_format`.
///
/// # Safety
///
/// The path ends with a NUL; `bytes` points to `length` bytes; `class_object` is null or points to a place for a
/// handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_load(
    vm: *mut squall_vm,
    path: *const c_char,
    format: u32,
    bytes: *const c_char,
    length: usize,
    class_object: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (path, bytes) =
            unsafe { (text::required(path)?, text::elements(bytes.cast::<u8>(), length)?) };
        let class = handles::get(vm)?.load(&path, file_kind(format)?, bytes)?;
        // SAFETY: the caller's promise.
        unsafe { text::put(class_object, handle(class)) }
    })
}

/// The form of modules with this number. C may pass any number, which a Rust `enum` could not hold.
pub fn file_kind(format: u32) -> Result<FileKind, Problem> {
    const FORMATS: [(squall_format, FileKind); 3] = [
        (squall_format::Newspeak, FileKind::Newspeak),
        (squall_format::Assembly, FileKind::Assembly),
        (squall_format::Binary, FileKind::Binary),
    ];
    let kind = FORMATS.iter().find(|(known, _)| *known as u32 == format);
    kind.map(|(_, kind)| *kind).ok_or_else(|| Problem::argument("there is no such format"))
}

/// Sends a message with `count` arguments, and waits for the answer. The selector ends with a NUL. `answer` may be
/// null.
///
/// # Safety
///
/// The selector ends with a NUL; `arguments` points to `count` handles; `answer` is null or points to a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_call(
    vm: *mut squall_vm,
    receiver: *const squall_value,
    selector: *const c_char,
    arguments: *const *const squall_value,
    count: usize,
    answer: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (selector, arguments) =
            unsafe { (text::required(selector)?, text::elements(arguments, count)?) };
        let arguments = values::values(arguments)?;
        let answered = handles::get(vm)?.call(&value(receiver)?, &selector, &arguments)?;
        // SAFETY: the caller's promise.
        unsafe { put_answer(answer, answered) }
    })
}

/// Calls the export of a bytecode module without a class, and waits for its end. The export's name ends with a NUL.
/// `answer` may be null.
///
/// # Safety
///
/// The name ends with a NUL; `arguments` points to `count` handles; `answer` is null or points to a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_call_export(
    vm: *mut squall_vm,
    module: *const squall_value,
    name: *const c_char,
    arguments: *const *const squall_value,
    count: usize,
    answer: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (name, arguments) =
            unsafe { (text::required(name)?, text::elements(arguments, count)?) };
        let arguments = values::values(arguments)?;
        let answered = handles::get(vm)?.call_export(&value(module)?, &name, &arguments)?;
        // SAFETY: the caller's promise.
        unsafe { put_answer(answer, answered) }
    })
}

/// Evaluates a block with up to three arguments, and waits for the answer. `answer` may be null.
///
/// # Safety
///
/// `arguments` points to `count` handles; `answer` is null or points to a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_evaluate(
    vm: *mut squall_vm,
    block: *const squall_value,
    arguments: *const *const squall_value,
    count: usize,
    answer: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let arguments = values::values(unsafe { text::elements(arguments, count) }?)?;
        let answered = handles::get(vm)?.evaluate(&value(block)?, &arguments)?;
        // SAFETY: the caller's promise.
        unsafe { put_answer(answer, answered) }
    })
}

/// Waits until a promise is resolved, and answers its value; any other value is answered at once. `answer` may be null.
///
/// # Safety
///
/// `answer` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_wait_for(
    vm: *mut squall_vm,
    promise: *const squall_value,
    answer: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        let answered = handles::get(vm)?.wait_for(&value(promise)?)?;
        // SAFETY: the caller's promise.
        unsafe { put_answer(answer, answered) }
    })
}

/// Writes an answer unless the place is null.
///
/// # Safety
///
/// The pointer is null or leads to a place for a handle.
unsafe fn put_answer(place: *mut *mut squall_value, answer: Value) -> Result<(), Problem> {
    match place.is_null() {
        true => Ok(()),
        // SAFETY: the caller's promise.
        false => unsafe { text::put(place, handle(answer)) },
    }
}

/// Answers the text that an object answers to `asString`.
///
/// # Safety
///
/// `text` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_describe(
    vm: *mut squall_vm,
    object: *const squall_value,
    text: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        let found = handles::get(vm)?.describe(&value(object)?)?;
        // SAFETY: the caller's promise.
        unsafe { text::put(text, handle(Value::Text(found))) }
    })
}

/// Answers the present elements of a collection: a list.
///
/// # Safety
///
/// `list` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_elements(
    vm: *mut squall_vm,
    collection: *const squall_value,
    list: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        let found = handles::get(vm)?.elements(&value(collection)?)?;
        // SAFETY: the caller's promise.
        unsafe { text::put(list, handle(Value::List(found))) }
    })
}

/// Lets guest code find a value in `platform host`. The name ends with a NUL.
///
/// # Safety
///
/// The name ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_provide(
    vm: *mut squall_vm,
    name: *const c_char,
    provided: *const squall_value,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text::required(name) }?;
        handles::get(vm)?.provide(&name, value(provided)?);
        Ok(())
    })
}
