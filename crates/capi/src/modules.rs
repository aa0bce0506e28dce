//! Functions of the embedder: guest code finds them under a name, and modules of bytecode import them by name, version
//! and type. Embedders in C register them with this module.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use machine::embedding::{HostModule, Value};

use crate::errors::{self, guarded, squall_error};
use crate::handles;
use crate::problem::Problem;
use crate::text;
use crate::values::{handle, squall_value, value};
use crate::vm::squall_vm;

/// A function of the embedder. It answers a new value, or null for `nil`; if it fails, it puts a new error at `error`.
/// The machine takes over both. The arguments belong to the machine. The function is called on any native thread of the
/// machine, several at once if guest code does that, and may call the machine.
pub type squall_function = Option<
    unsafe extern "C" fn(
        data: *mut c_void,
        arguments: *const *const squall_value,
        count: usize,
        error: *mut *mut squall_error,
    ) -> *mut squall_value,
>;

/// A function of a host module. All texts end with a NUL. Types are those of the assembly language, such as `i64`,
/// `list<f64>` or `any`; a function without result has the type `any`. The function gets arguments of the declared
/// types, and its answer is checked.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct squall_host_function {
    /// The name that modules import.
    pub name: *const c_char,
    /// The types of the parameters; may be null if there are none.
    pub parameters: *const *const c_char,
    /// The number of parameters.
    pub parameter_count: usize,
    /// The type of the result.
    pub result: *const c_char,
    /// The function.
    pub function: squall_function,
    /// The data that the function gets; lives as long as the machine.
    pub data: *mut c_void,
}

/// Registers a function, which guest code finds in `platform host`. It replaces an earlier one with this name. The name
/// ends with a NUL. The function gets the data, which lives as long as the machine.
///
/// # Safety
///
/// The name ends with a NUL; the function may be called as `squall_function` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_register(
    vm: *mut squall_vm,
    name: *const c_char,
    function: squall_function,
    data: *mut c_void,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text::required(name) }?;
        let function = NativeFunction::new(function, data)?;
        handles::get(vm)?.register(&name, move |arguments| function.call(arguments));
        Ok(())
    })
}

/// Lets modules of bytecode that are loaded from now on import this module, which consists of `count` functions. The
/// name begins with `host:`, and the version has the form `1.2.0`; both end with a NUL. The module replaces an earlier
/// one with this name.
///
/// # Safety
///
/// Both texts end with a NUL; `functions` points to `count` functions as described at `squall_host_function`, which may
/// be called as `squall_function` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_register_module(
    vm: *mut squall_vm,
    name: *const c_char,
    version: *const c_char,
    functions: *const squall_host_function,
    count: usize,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (name, version, functions) = unsafe {
            (text::required(name)?, text::required(version)?, text::elements(functions, count)?)
        };
        let mut module = HostModule::new(&name, &version);
        for function in functions {
            // SAFETY: the caller's promise.
            module = unsafe { with_function(module, function) }?;
        }
        Ok(handles::get(vm)?.register_module(module)?)
    })
}

/// The module with one more function.
///
/// # Safety
///
/// The function is as `squall_host_function` says.
unsafe fn with_function(
    module: HostModule,
    function: &squall_host_function,
) -> Result<HostModule, Problem> {
    // SAFETY: the caller's promise.
    let (name, result, parameters) = unsafe {
        (
            text::required(function.name)?,
            text::required(function.result)?,
            text::all(function.parameters, function.parameter_count)?,
        )
    };
    let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
    let native = NativeFunction::new(function.function, function.data)?;
    Ok(module.function(&name, &parameters, &result, move |arguments| native.call(arguments)))
}

/// A function of the embedder, with its data.
struct NativeFunction {
    code: unsafe extern "C" fn(
        *mut c_void,
        *const *const squall_value,
        usize,
        *mut *mut squall_error,
    ) -> *mut squall_value,
    data: *mut c_void,
}

// SAFETY: the header says that the function is called on native threads of the machine, several at once; the embedder
// is responsible for its accesses to the data.
unsafe impl Send for NativeFunction {}
// SAFETY: as for `Send`.
unsafe impl Sync for NativeFunction {}

impl NativeFunction {
    fn new(function: squall_function, data: *mut c_void) -> Result<NativeFunction, Problem> {
        let code = function.ok_or_else(|| Problem::argument("the function is a null pointer"))?;
        Ok(NativeFunction { code, data })
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, String> {
        let handles: Vec<*mut squall_value> = arguments.iter().cloned().map(handle).collect();
        let mut error = null_mut();
        // SAFETY: the embedder has promised that it can be called in this way; the places live until it returns.
        let answer = unsafe {
            (self.code)(self.data, handles.as_ptr().cast(), handles.len(), &raw mut error)
        };
        handles.into_iter().for_each(|argument| drop(handles::free(argument)));
        let answered = match answer.is_null() {
            true => Ok(Value::Nil),
            false => value(answer)
                .map_err(|_| "the function has answered a pointer that is no value".into()),
        };
        drop(handles::free(answer));
        if error.is_null() {
            return answered;
        }
        let message = match errors::message(error) {
            Some(message) => message,
            None => "the function has failed with a pointer that is no error".to_owned(),
        };
        drop(handles::free(error));
        Err(message)
    }
}
