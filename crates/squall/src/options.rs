//! The choices at a machine's start. The command line and embedders set them.

use std::path::PathBuf;

use squall_heap::{HeapOptions, Stress};
pub use squall_jit::Hardening;
pub use squall_jit::observers::Observers;
pub use squall_runtime::model::packages::{Packages, Part};
use squall_runtime::model::permissions::Permissions;
pub use squall_runtime::state::replays::{Player, Recorder, Replays};
use squall_runtime::state::sandbox::Budgets;
use squall_runtime::state::tracing::Tracing;
pub use squall_runtime::state::vm::LinkedLibrary;
use squall_runtime::state::vm::VmOptions;
pub use squall_scheduler::{Policy as SchedulingPolicy, SchedulerOptions};

/// The choices.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program's permissions; none by default.
    pub permissions: Permissions,
    /// The heap.
    pub heap: HeapOptions,
    /// The most bytes that the stack of one strand may take.
    pub max_stack: usize,
    /// Whether stacks grow in the smallest possible steps, to find mistakes at chunk boundaries.
    pub tiny_stacks: bool,
    /// Whether modules made by Squall's own compiler are verified, too. All others always are.
    pub verify_all: bool,
    /// The number of workers, and the policy of the scheduler.
    pub scheduler: SchedulerOptions,
    /// Whether strands are pre-empted at every poll, to find mistakes of pre-emption.
    pub polls_always: bool,
    /// The program's arguments; the first is the program's path.
    pub arguments: Vec<String>,
    /// The folders in which imported modules of bytecode are looked for that are not next to their importers.
    pub module_path: Vec<PathBuf>,
    /// Events to report while the program runs.
    pub tracing: Tracing,
    /// The budgets of the whole program, which ends when it exceeds one.
    pub budgets: Budgets,
    /// The tiers that run code.
    pub jit: Jit,
    /// Whether functions are compiled when they run first, to find mistakes of the compiler.
    pub jit_eager: bool,
    /// The seed of the chaos in machine code, to find mistakes of the compiler.
    pub jit_chaos: Option<u64>,
    /// Which machine code masks indices and blinds constants, against guests that abuse the processor.
    pub hardening: Hardening,
    /// What learns of all machine code: profilers and debuggers.
    pub jit_observers: Observers,
    /// Whether optimised code keeps what the compiler saw of it, for [`Machine::listing`](crate::Machine::listing).
    pub jit_views: bool,
    /// The C libraries that are part of the process, for programs that may call C.
    pub linked_libraries: Vec<LinkedLibrary>,
    /// The packages of the program.
    pub packages: Packages,
    /// Whether the run is recorded, or repeats a recording.
    pub replays: Option<&'static Replays>,
    /// The seed of the keys for hash codes, if they are to be the same in several runs.
    pub key: Option<u64>,
}

/// The tiers that run code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Jit {
    /// The interpreter alone: no page of the process's memory for code is made.
    Off,
    /// The interpreter, and machine code for functions that are hot.
    Base,
    /// The same, and optimised machine code for those that are hotter.
    #[default]
    On,
}

/// Deep recursion is the program's choice until it threatens the machine.
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
            jit: Jit::default(),
            jit_eager: false,
            jit_chaos: None,
            hardening: Hardening::default(),
            jit_observers: Observers::default(),
            jit_views: false,
            linked_libraries: Vec::new(),
            packages: Packages::default(),
            replays: None,
            key: None,
        }
    }
}

/// Under stress, one of this many collections is full. Full collections take longer, but only they find dead strands,
/// vats and sandboxes, and move old objects.
const FULL_UNDER_STRESS: u32 = 256;

impl Options {
    /// Makes one of `every` allocations collect.
    pub fn stress_collector(&mut self, every: u32) {
        self.heap.stress = Some(Stress { every, full: FULL_UNDER_STRESS });
    }

    /// The options that the runtime needs.
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
            packages: self.packages,
            replays: self.replays,
            key: self.key,
        }
    }
}
