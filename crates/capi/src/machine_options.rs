//! The choices at a machine's start: the embedder makes options, sets them and passes them to `squall_start`.

use std::ffi::{c_char, c_void};

use machine::embedding::Budgets;
use machine::{Options, Permissions, Surroundings};
use parking_lot::Mutex;

use crate::budgets::squall_budgets;
use crate::errors::{caught, guarded, squall_error};
use crate::handles::{self, Handle, Kind};
use crate::text;

/// The choices at a machine's start. The function's caller frees them.
pub struct squall_options {
    _incomplete: [u8; 0],
}

/// The program may read and write files.
pub const SQUALL_ALLOW_FILES: u32 = 1;
/// The program may use the network.
pub const SQUALL_ALLOW_NETWORK: u32 = 2;
/// The program may call C.
pub const SQUALL_ALLOW_FOREIGN_FUNCTIONS: u32 = 4;
/// The program may start processes of the operating system.
pub const SQUALL_ALLOW_PROCESSES: u32 = 8;

/// Receives the machine's output: `length` bytes of UTF-8, without a NUL. Called on native threads of the machine, one
/// call at a time.
pub type squall_writer_function =
    Option<unsafe extern "C" fn(data: *mut c_void, text: *const c_char, length: usize)>;

/// The choices behind a handle.
#[derive(Default)]
pub struct OptionsEntry {
    choices: Mutex<Choices>,
}

impl Handle for squall_options {
    type Entry = OptionsEntry;
    const KIND: Kind = Kind::Options;
    const NAME: &'static str = "squall_options";
}

#[derive(Clone, Default)]
struct Choices {
    options: Options,
    output: Option<Sink>,
    error: Option<Sink>,
}

/// A function of the embedder for output.
#[derive(Clone)]
struct Sink {
    function: unsafe extern "C" fn(*mut c_void, *const c_char, usize),
    data: *mut c_void,
}

// SAFETY: the header says that the function is called on native threads of the machine, so the embedder is responsible
// for the data.
unsafe impl Send for Sink {}
// SAFETY: as for `Send`; calls come one at a time, under a lock.
unsafe impl Sync for Sink {}

impl Sink {
    fn write(&self, text: &str) {
        // SAFETY: the embedder has promised that it can be called with this data.
        unsafe { (self.function)(self.data, text.as_ptr().cast(), text.len()) }
    }
}

/// The machine's surroundings: the embedder's functions for output, and no files.
pub struct Outside {
    output: Mutex<Option<Sink>>,
    error: Mutex<Option<Sink>>,
}

impl Surroundings for Outside {
    fn write_output(&self, text: &str) {
        if let Some(sink) = &*self.output.lock() {
            sink.write(text);
        }
    }

    fn write_error(&self, text: &str) {
        if let Some(sink) = &*self.error.lock() {
            sink.write(text);
        }
    }

    fn flush(&self) {}

    fn read_module(&self, path: &str) -> std::io::Result<Vec<u8>> {
        std::fs::read(path)
    }
}

impl OptionsEntry {
    /// The parts that the machine is started with.
    pub fn parts(&self) -> (Options, Outside) {
        let Choices { options, output, error } = self.choices.lock().clone();
        (options, Outside { output: Mutex::new(output), error: Mutex::new(error) })
    }
}

/// Makes new options: no authority, no output, and the defaults for all others.
#[unsafe(no_mangle)]
pub extern "C" fn squall_options_new() -> *mut squall_options {
    handles::new::<squall_options>(OptionsEntry::default())
}

/// Frees options. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn squall_options_free(options: *mut squall_options) {
    drop(caught(|| Ok(handles::free(options))));
}

fn change(options: *mut squall_options, work: impl FnOnce(&mut Choices)) -> *mut squall_error {
    guarded(|| {
        work(&mut handles::get(options)?.choices.lock());
        Ok(())
    })
}

/// Sets the most memory that the heap may take, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn squall_options_set_max_heap(
    options: *mut squall_options,
    bytes: usize,
) -> *mut squall_error {
    change(options, |choices| choices.options.heap.max_heap = Some(bytes))
}

/// Sets the number of native threads that run the program; 0 for the number of cores.
#[unsafe(no_mangle)]
pub extern "C" fn squall_options_set_workers(
    options: *mut squall_options,
    workers: u32,
) -> *mut squall_error {
    change(options, |choices| {
        if workers > 0 {
            choices.options.scheduler.workers = workers as usize;
        }
    })
}

/// Makes the run repeatable: it depends on this number and on the embedder only.
#[unsafe(no_mangle)]
pub extern "C" fn squall_options_set_seed(
    options: *mut squall_options,
    seed: u64,
) -> *mut squall_error {
    change(options, |choices| choices.options.scheduler.seed = Some(seed))
}

/// Adds permissions of the program: a sum of `SQUALL_ALLOW_…`.
#[unsafe(no_mangle)]
pub extern "C" fn squall_options_allow(
    options: *mut squall_options,
    authority: u32,
) -> *mut squall_error {
    change(options, |choices| {
        let all = Permissions::all();
        let permissions = &mut choices.options.permissions;
        if authority & SQUALL_ALLOW_FILES != 0 {
            permissions.reading = all.reading;
            permissions.writing = all.writing;
        }
        if authority & SQUALL_ALLOW_NETWORK != 0 {
            permissions.network = all.network;
        }
        permissions.foreign_functions |= authority & SQUALL_ALLOW_FOREIGN_FUNCTIONS != 0;
        permissions.processes |= authority & SQUALL_ALLOW_PROCESSES != 0;
    })
}

/// Limits the program as a whole: the machine ends with exit code 1 when it exceeds a budget.
///
/// # Safety
///
/// `budgets` is null or points to budgets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_options_set_budgets(
    options: *mut squall_options,
    budgets: *const squall_budgets,
) -> *mut squall_error {
    // SAFETY: the caller's promise.
    let budgets = unsafe { budgets.as_ref() }.map_or(Budgets::default(), squall_budgets::budgets);
    change(options, |choices| choices.options.budgets = budgets)
}

/// Adds an argument of the program, which ends with a NUL.
///
/// # Safety
///
/// The argument ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_options_add_argument(
    options: *mut squall_options,
    argument: *const c_char,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let argument = unsafe { text::required(argument) }?;
        handles::get(options)?.choices.lock().options.arguments.push(argument);
        Ok(())
    })
}

/// Adds a folder, whose path ends with a NUL, to the folders in which imported modules are looked for. The first folder
/// that has the module counts. Modules that are loaded from memory look in the working directory first.
///
/// # Safety
///
/// The path ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_options_add_module_folder(
    options: *mut squall_options,
    path: *const c_char,
) -> *mut squall_error {
    guarded(|| {
        // SAFETY: the caller's promise.
        let path = unsafe { text::required(path) }?;
        handles::get(options)?.choices.lock().options.module_path.push(path.into());
        Ok(())
    })
}

/// Sets the functions that receive standard output and standard error output; null discards it. The functions get the
/// data, which must live as long as the machine.
#[unsafe(no_mangle)]
pub extern "C" fn squall_options_set_output(
    options: *mut squall_options,
    output: squall_writer_function,
    error: squall_writer_function,
    data: *mut c_void,
) -> *mut squall_error {
    let sink = |function: squall_writer_function| function.map(|function| Sink { function, data });
    change(options, |choices| {
        choices.output = sink(output);
        choices.error = sink(error);
    })
}
