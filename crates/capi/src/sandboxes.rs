//! Sandboxes.

use std::ffi::c_char;

use machine::embedding::{Budgets, Reason, Sandbox, Value};

use crate::budgets::squall_budgets;
use crate::errors::{caught, guarded, squall_error};
use crate::handles::{self, Handle, Kind};
use crate::text;
use crate::values::{handle, squall_value, value};
use crate::vm::{file_kind, squall_vm};

/// A sandbox: what its actors do, and all that they start, has budgets. Who gets one frees the handle, which does not
/// end the sandbox.
pub struct squall_sandbox {
    _incomplete: [u8; 0],
}

impl Handle for squall_sandbox {
    type Entry = Sandbox;
    const KIND: Kind = Kind::Sandbox;
    const NAME: &'static str = "squall_sandbox";
}

/// Why a sandbox is over.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum squall_reason {
    /// It is not.
    Live = 0,
    /// The fuel is used up.
    Fuel = 1,
    /// There is too much memory.
    Heap = 2,
    /// There were to be too many strands.
    Strands = 3,
    /// There were to be too many messages.
    Messages = 4,
    /// Somebody has ended it.
    Terminated = 5,
    /// It was to end the program.
    Exit = 6,
}

/// A new sandbox, which is granted so many modules by their names: what it does to the world needs a grant. The name, for reports,
/// ends with a NUL, and so do those of modules.
///
/// # Safety
///
/// They do; `budgets` leads to some, or is null for as much as it likes; `granted` leads to as many; `sandbox` is null or leads to a
/// place for a handle.
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

/// An actor in the sandbox, whose root object is this value, such as the class of a module: a far reference to it, which
/// `squall_call` sends messages to. A far reference is answered as it is, so what `squall_call` has answered may be given to this: a
/// message to a value runs outside, whoever made the value.
///
/// # Safety
///
/// `actor` is null or leads to a place for a handle.
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

/// Loads a module for a sandbox, as `squall_load` does: a far reference to what that would answer, in an actor of the sandbox. If a
/// module imports a module of the host that the sandbox is not granted, that is an error with `SQUALL_CODE_COMPILE`. What the module
/// runs to make its class runs in the sandbox.
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

/// Ends a sandbox, whether it was over or not.
#[unsafe(no_mangle)]
pub extern "C" fn squall_sandbox_terminate(sandbox: *mut squall_sandbox) -> *mut squall_error {
    guarded(|| Ok(handles::get(sandbox)?.terminate().map(drop)?))
}

/// Why a sandbox is over.
///
/// # Safety
///
/// `reason` is null or leads to a place for it.
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
        };
        // SAFETY: the caller's promise.
        unsafe { text::put(reason, found) }
    })
}

/// What was reported about the end of a sandbox, a text.
///
/// # Safety
///
/// `report` is null or leads to a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_sandbox_report(
    sandbox: *mut squall_sandbox,
    report: *mut *mut squall_value,
) -> *mut squall_error {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { text::put(report, handle(Value::Text(handles::get(sandbox)?.report()?))) })
}

/// What a sandbox has used: fuel; bytes, when they were last measured; strands now; messages. What has no budget is not counted, but
/// for strands.
///
/// # Safety
///
/// `usage` is null or leads to a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_sandbox_usage(
    sandbox: *mut squall_sandbox,
    usage: *mut squall_budgets,
) -> *mut squall_error {
    guarded(|| {
        let [fuel, heap, strands, messages] = handles::get(sandbox)?.usage()?;
        // SAFETY: the caller's promise.
        unsafe { text::put(usage, squall_budgets { fuel, heap, strands, messages }) }
    })
}

/// Frees a handle of a sandbox. Null is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn squall_sandbox_free(sandbox: *mut squall_sandbox) {
    drop(caught(|| Ok(handles::free(sandbox))));
}
