//! The machine that the tests of this folder start: one worker, an interpreter, the library as it is in the source tree,
//! and one program. Each test file is a process of its own, which has one heap.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use squall_bytecode::module::Module;
use squall_heap::{HeapOptions, Stress};
use squall_interpreter::Interpreter;
use squall_newspeak::{CompileOptions, Source, compile_source};
use squall_runtime::library::bootstrap;
use squall_runtime::library::layers::make_vm;
use squall_runtime::model::host::{CompileError, Host};
use squall_runtime::model::permissions::Permissions;
use squall_runtime::model::text::ModuleText;
use squall_runtime::state::thread::Thread;
use squall_runtime::state::tracing::Tracing;
use squall_runtime::state::vm::VmOptions;
use squall_scheduler::SchedulerOptions;

/// A program to be run.
pub struct Program {
    /// The name of its file.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// Whether it may use primitives.
    pub trusted: bool,
}

/// What a program has written.
pub type Output = Arc<Mutex<String>>;

struct TestHost {
    program: Program,
    output: Output,
}

impl Host for TestHost {
    fn write_output(&self, text: &str) {
        self.output.lock().expect("no writer has panicked").push_str(text);
    }

    fn write_error(&self, _: &str) {}

    fn flush(&self) {}

    fn library_module(&self, name: &str) -> Option<ModuleText> {
        let text = std::fs::read_to_string(library().join(format!("{name}.ns"))).ok()?;
        Some(compile(name, &text, true).into())
    }

    fn compile(&self, path: &str) -> Result<Module, CompileError> {
        if path != self.program.name {
            return Err(CompileError::NotFound);
        }
        Ok(compile(path, &self.program.text, self.program.trusted))
    }
}

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib")
}

fn compile(name: &str, text: &str, trusted: bool) -> Module {
    compile_source(&Source::new(name, text), &CompileOptions { trusted })
        .unwrap_or_else(|diagnostics| panic!("{name}: {diagnostics:?}\n{text}"))
}

/// Starts the machine up to the point where it would run the program. It collects garbage at one of `every` allocations.
pub fn start(program: Program, every: u32) -> (Box<Thread>, Output) {
    let output = Output::default();
    let options = VmOptions {
        heap: HeapOptions {
            max_heap: Some(256 << 20),
            stress: Some(Stress { every, full: 4 }),
            ..HeapOptions::default()
        },
        max_stack_words: 1 << 20,
        max_bottom_words: usize::MAX,
        scheduler: SchedulerOptions { workers: 1, ..SchedulerOptions::default() },
        polls_always: false,
        permissions: Permissions::default(),
        arguments: vec![program.name.to_owned()],
        tracing: Tracing::default(),
        linked_libraries: Vec::new(),
        packages: Default::default(),
        replays: None,
        key: None,
    };
    let host = TestHost { program, output: output.clone() };
    let vm = make_vm(options, Box::new(host), &Interpreter).expect("there is no other heap");
    let mut thread = Thread::attach(vm);
    bootstrap::boot(&mut thread).expect("the library fits the machine");
    (thread, output)
}
