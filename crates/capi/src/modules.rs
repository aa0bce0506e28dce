//! Functions of the embedder: found by guest code under a name, or imported by modules of bytecode by name, version and
//! type.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use machine::embedding::{HostModule, Value};

use crate::errors::{self, guarded, squall_error};
use crate::handles;
use crate::problem::Problem;
use crate::text;
use crate::values::{handle, squall_value, value};
use crate::vm::squall_vm;

/// A function of the embedder's. It answers a new value, which is taken over, or null for `nil`; or, if it fails, puts a new
/// error, which is taken over, at `error`. The arguments belong to the caller. It is called on any native thread of the machine's,
/// several times at once if guest code does that, and may call the machine.
pub type squall_function = Option<
    unsafe extern "C" fn(
        data: *mut c_void,
        arguments: *const *const squall_value,
        count: usize,
        error: *mut *mut squall_error,
    ) -> *mut squall_value,
>;

/// A function of a module of the host. All texts end with a NUL. Types are those of the assembly language, such as `i64`,
/// `list<f64>` or `any`, which is also that of no result: the function gets what it was promised, and what it
/// answers is looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct squall_host_function {
    /// What modules import.
    pub name: *const c_char,
    /// The types of the parameters; may be null if there are none.
    pub parameters: *const *const c_char,
    /// How many there are.
    pub parameter_count: usize,
    /// The type of the result.
    pub result: *const c_char,
    /// The function.
    pub function: squall_function,
    /// What is given to the function; lives as long as the machine.
    pub data: *mut c_void,
}

/// Registers a function, which guest code finds in `platform host`, in place of one with this name. The name ends with
/// a NUL. The data is given to the function, and lives as long as the machine.
///
/// # Safety
///
/// The name does; the function may be called as `squall_function` says.
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

/// Lets modules of bytecode that are loaded from now on import this one, which so many functions make up. The name begins with
/// `host:`, the version is one like `1.2.0`; both end with a NUL. A module with this name takes the place of an earlier
/// one.
///
/// # Safety
///
/// Both do; `functions` leads to as many, which are as `squall_host_function` says, and may be called as `squall_function` says.
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

/// The module with a function more.
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

/// A function of the embedder's, with its data.
struct NativeFunction {
    code: unsafe extern "C" fn(
        *mut c_void,
        *const *const squall_value,
        usize,
        *mut *mut squall_error,
    ) -> *mut squall_value,
    data: *mut c_void,
}

// SAFETY: the header says that the function is called on native threads of the machine's, several at once; what it
// does with its data is the embedder's responsibility.
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
        // SAFETY: the embedder has promised that it can be called so; the places live until it returns.
        let answer = unsafe {
            (self.code)(self.data, handles.as_ptr().cast(), handles.len(), &raw mut error)
        };
        handles.into_iter().for_each(|argument| drop(handles::free(argument)));
        let answered = match answer.is_null() {
            true => Ok(Value::Nil),
            false => value(answer).map_err(|_| "the function has answered what is no value".into()),
        };
        drop(handles::free(answer));
        if error.is_null() {
            return answered;
        }
        let message = match errors::message(error) {
            Some(message) => message,
            None => "the function has failed with what is no error".to_owned(),
        };
        drop(handles::free(error));
        Err(message)
    }
}
