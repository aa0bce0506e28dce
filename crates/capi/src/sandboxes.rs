//! Sandboxes: an embedder makes them to run code under budgets, with `platform` access by grants only.

use std::ffi::c_char;

use machine::embedding::{Budgets, Reason, Sandbox, Value};

use crate::budgets::squall_budgets;
use crate::errors::{caught, guarded, squall_error};
use crate::handles::{self, Handle, Kind};
use crate::text;
use crate::values::{handle, squall_value, value};
use crate::vm::{file_kind, squall_vm};

/// A sandbox: its actors, and all strands that they start, have budgets. The function's caller frees the handle, which
/// does not end the sandbox.
pub struct squall_sandbox {
    _incomplete: [u8; 0],
}

impl Handle for squall_sandbox {
    type Entry = Sandbox;
    const KIND: Kind = Kind::Sandbox;
    const NAME: &'static str = "squall_sandbox";
}

/// The reason why a sandbox is over.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum squall_reason {
    /// The sandbox is not over.
    Live = 0,
    /// The fuel is used up.
    Fuel = 1,
    /// The sandbox needed too much memory.
    Heap = 2,
    /// The sandbox needed too many strands.
    Strands = 3,
    /// The sandbox sent too many messages.
    Messages = 4,
    /// The embedder or another actor has ended it.
    Terminated = 5,
    /// An actor of the sandbox asked the program to end.
    Exit = 6,
    /// The processor time is used up.
    Time = 7,
}

/// Makes a sandbox. Its access to the world needs grants: `granted` has the names of `count` modules. The sandbox's
/// name, for reports, ends with a NUL, and so do the names of modules.
///
/// # Safety
///
/// All texts end with a NUL; `budgets` points to budgets, or is null for none; `granted` points to `count` texts;
/// `sandbox` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_sandbox_new(
    vm: *mut squall_vm,
    name: *const c_char,
    budgets: *const squall_budgets,
    granted: *const *const c_char,
    count: usize,
    sandbox: *mut *mut squall_sandbox,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (name, budgets) = unsafe { (text::required(name)?, budgets.as_ref()) };
        let budgets = budgets.map_or(Budgets::default(), squall_budgets::budgets);
        // SAFETY: the caller's promise.
        let granted = unsafe { text::all(granted, count) }?;
        let granted: Vec<&str> = granted.iter().map(String::as_str).collect();
        let new = handles::get(vm)?.sandbox(&name, budgets, &granted)?;
        // SAFETY: the caller's promise.
        unsafe { text::put(sandbox, handles::new::<squall_sandbox>(new)) }
    })
}

/// Makes an actor in the sandbox, whose root object is this value, such as the class of a module. Answers a far
/// reference to it, to which `squall_call` sends messages. A far reference is answered unchanged, so answers of
/// `squall_call` may be passed here. A message to a value runs outside of the sandbox; a value that the sandbox answers
/// has no code of the sandbox.
///
/// # Safety
///
/// `actor` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_sandbox_actor(
    sandbox: *mut squall_sandbox,
    root: *const squall_value,
    actor: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        let far = handles::get(sandbox)?.actor(&value(root)?)?;
        // SAFETY: the caller's promise.
        unsafe { text::put(actor, handle(far)) }
    })
}

/// Loads a module like `squall_load`, but in a new actor of the sandbox, and answers a far reference to the result. If
/// a module imports a host module without a grant, that is an error with `SQUALL_CODE_COMPILE`. The code that makes the
/// module's class runs in the sandbox.
///
/// # Safety
///
/// As for `squall_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_sandbox_load(
    sandbox: *mut squall_sandbox,
    path: *const c_char,
    format: u32,
    bytes: *const c_char,
    length: usize,
    actor: *mut *mut squall_value,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (path, bytes) =
            unsafe { (text::required(path)?, text::elements(bytes.cast::<u8>(), length)?) };
        let far = handles::get(sandbox)?.load(&path, file_kind(format)?, bytes)?;
        // SAFETY: the caller's promise.
        unsafe { text::put(actor, handle(far)) }
    })
}

/// Ends a sandbox; has no effect if it was over.
#[unsafe(no_mangle)]
pub extern "C" fn squall_sandbox_terminate(sandbox: *mut squall_sandbox) -> *mut squall_error {
    guarded(|| Ok(handles::get(sandbox)?.terminate().map(drop)?))
}

/// Answers why a sandbox is over.
///
/// # Safety
///
/// `reason` is null or points to a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_sandbox_reason(
    sandbox: *mut squall_sandbox,
    reason: *mut squall_reason,
) -> *mut squall_error {
    guarded(|| {
        let found = match handles::get(sandbox)?.reason()? {
            Reason::Live => squall_reason::Live,
            Reason::Fuel => squall_reason::Fuel,
            Reason::Heap => squall_reason::Heap,
            Reason::Strands => squall_reason::Strands,
            Reason::Messages => squall_reason::Messages,
            Reason::Terminated => squall_reason::Terminated,
            Reason::Exit => squall_reason::Exit,
            Reason::Time => squall_reason::Time,
        };
        // SAFETY: the caller's promise.
        unsafe { text::put(reason, found) }
    })
}

/// Answers the report about the end of a sandbox, a text.
///
/// # Safety
///
/// `report` is null or points to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_sandbox_report(
    sandbox: *mut squall_sandbox,
    report: *mut *mut squall_value,
) -> *mut squall_error {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { text::put(report, handle(Value::Text(handles::get(sandbox)?.report()?))) })
}

/// Answers the consumption of a sandbox: fuel; bytes at the last measurement; strands now; messages; milliseconds.
/// Resources without a budget are not counted, except strands.
///
/// # Safety
///
/// `usage` is null or points to a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_sandbox_usage(
    sandbox: *mut squall_sandbox,
    usage: *mut squall_budgets,
) -> *mut squall_error {
    guarded(|| {
        let [fuel, heap, strands, messages, time] = handles::get(sandbox)?.usage()?;
        // SAFETY: the caller's promise.
        unsafe { text::put(usage, squall_budgets { fuel, heap, strands, messages, time }) }
    })
}

/// Frees a handle of a sandbox. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn squall_sandbox_free(sandbox: *mut squall_sandbox) {
    drop(caught(|| Ok(handles::free(sandbox))));
}
