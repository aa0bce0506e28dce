//! What can be chosen when a machine starts.

use std::path::PathBuf;

use squall_heap::{HeapOptions, Stress};
pub use squall_runtime::foreign::LinkedLibrary;
use squall_runtime::permissions::Permissions;
use squall_runtime::sandbox::Budgets;
use squall_runtime::tracing::Tracing;
use squall_runtime::vm::VmOptions;
pub use squall_scheduler::{Policy as SchedulingPolicy, SchedulerOptions};

/// The choices.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the program may do to the world; nothing, unless said otherwise.
    pub permissions: Permissions,
    /// The heap.
    pub heap: HeapOptions,
    /// The most bytes that the stack of one strand may take.
    pub max_stack: usize,
    /// Whether stacks grow in the smallest possible steps, to find what is wrong at their seams.
    pub tiny_stacks: bool,
    /// Whether modules are verified even if our own compiler made them. Other ones always are.
    pub verify_all: bool,
    /// How many workers there are, and who decides what they run.
    pub scheduler: SchedulerOptions,
    /// Whether strands are pre-empted at every occasion, to find what is wrong then.
    pub polls_always: bool,
    /// The program's arguments; the first is the program's path.
    pub arguments: Vec<String>,
    /// Folders in which modules of bytecode are looked for that are not next to those that import them.
    pub module_path: Vec<PathBuf>,
    /// What to report while the program runs.
    pub tracing: Tracing,
    /// What the program may use altogether; it ends when that is exceeded.
    pub budgets: Budgets,
    /// The C libraries that are part of the process, for programs that may call C.
    pub linked_libraries: Vec<LinkedLibrary>,
}

/// Deep recursion is a program's own business until it threatens the machine.
const DEFAULT_MAX_STACK: usize = 128 << 20;

impl Default for Options {
    fn default() -> Options {
        Options {
            permissions: Permissions::default(),
            heap: HeapOptions::default(),
            max_stack: DEFAULT_MAX_STACK,
            tiny_stacks: false,
            scheduler: SchedulerOptions::default(),
            polls_always: false,
            verify_all: cfg!(debug_assertions),
            arguments: Vec::new(),
            module_path: Vec::new(),
            tracing: Tracing::default(),
            budgets: Budgets::default(),
            linked_libraries: Vec::new(),
        }
    }
}

/// One of so many collections under stress is full: they take longer, and only they find what has died among strands, vats and sandboxes,
/// and move what is old.
const FULL_UNDER_STRESS: u32 = 256;

impl Options {
    /// Collects at every so many allocations.
    pub fn stress_collector(&mut self, every: u32) {
        self.heap.stress = Some(Stress { every, full: FULL_UNDER_STRESS });
    }

    /// The part of the options that the runtime wants to know.
    pub(crate) fn for_runtime(self) -> VmOptions {
        VmOptions {
            heap: self.heap,
            max_stack_words: self.max_stack / size_of::<u64>(),
            max_bottom_words: if self.tiny_stacks { 0 } else { usize::MAX },
            permissions: self.permissions,
            polls_always: self.polls_always || self.scheduler.seed.is_some(),
            scheduler: self.scheduler,
            arguments: self.arguments,
            tracing: self.tracing,
            linked_libraries: self.linked_libraries,
        }
    }
}
