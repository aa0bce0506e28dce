//! How a program's main strand ends, as the embedder finds it. The process has one heap, so this file is one case.
//!
//! An exception that nothing catches ends the main strand's step, whose result it is. In the next step, on the same
//! empty stack, the kernel reports it and ends the program, so that the strand stops without a result. It must have none
//! then: the place still held the exception, which no collection had updated.

use std::path::Path;

use squall_bytecode::module::Module;
use squall_heap::{CollectionKind, HeapOptions, Stress, Word};
use squall_interpreter::Interpreter;
use squall_newspeak::{CompileOptions, Source, compile_source};
use squall_runtime::concurrency::worker::{self, Finished};
use squall_runtime::library::bootstrap;
use squall_runtime::library::layers::make_vm;
use squall_runtime::model::host::{CompileError, Host};
use squall_runtime::model::permissions::Permissions;
use squall_runtime::model::text::ModuleText;
use squall_runtime::state::strand::Ending;
use squall_runtime::state::thread::Thread;
use squall_runtime::state::tracing::Tracing;
use squall_runtime::state::vm::VmOptions;
use squall_scheduler::SchedulerOptions;

const PROGRAM: &str = "
class Failing usingPlatform: platform = Value (
| private Exception = platform kernel Exception. |
)(
  public main: args = ( Exception signal: 'nothing catches this' )
)
";

struct TestHost;

impl Host for TestHost {
    fn write_output(&self, _: &str) {}

    fn write_error(&self, _: &str) {}

    fn flush(&self) {}

    fn library_module(&self, name: &str) -> Option<ModuleText> {
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib");
        let text = std::fs::read_to_string(library.join(format!("{name}.ns"))).ok()?;
        Some(compile(name, &text, true).into())
    }

    fn compile(&self, path: &str) -> Result<Module, CompileError> {
        match path {
            "failing.ns" => Ok(compile(path, PROGRAM, false)),
            _ => Err(CompileError::NotFound),
        }
    }
}

fn compile(name: &str, text: &str, trusted: bool) -> Module {
    compile_source(&Source::new(name, text), &CompileOptions { trusted })
        .unwrap_or_else(|diagnostics| panic!("{name}: {diagnostics:?}"))
}

#[test]
fn a_strand_that_ends_the_program_has_no_result() {
    let options = VmOptions {
        heap: HeapOptions {
            max_heap: Some(256 << 20),
            stress: Some(Stress { every: 50, full: 4 }),
            ..HeapOptions::default()
        },
        max_stack_words: 1 << 20,
        max_bottom_words: usize::MAX,
        scheduler: SchedulerOptions { workers: 1, ..SchedulerOptions::default() },
        polls_always: false,
        permissions: Permissions::default(),
        arguments: vec!["failing.ns".to_owned()],
        tracing: Tracing::default(),
        linked_libraries: Vec::new(),
    };
    let vm = make_vm(options, Box::new(TestHost), &Interpreter).expect("there is no other heap");
    let mut thread = Thread::attach(vm);
    bootstrap::boot(&mut thread).expect("the library fits the machine");
    let finished = worker::run_program(&mut thread).expect("there is memory");
    assert_eq!(finished, Finished::Exit(1));
    assert_eq!(vm.concurrency().embedder.take(), Some((Ending::Killed, Word::NIL)));
    thread.mutator.collect(CollectionKind::Full);
}
