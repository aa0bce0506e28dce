//! The virtual machine: the part that all threads share. The boot makes it.
//!
//! There is one per process, as there is one heap, and it lives until the process ends, so that
//! references to it are `&'static`. Tables grow behind locks that are leaves: no lock is held at a
//! GC point or while another is taken.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use squall_events::Log;
use squall_foreign::LinkedFunction;
use squall_heap::{Heap, HeapError, HeapOptions, LayoutId, RootSource, Word};
use squall_scheduler::{Scheduler, SchedulerOptions, WorkerId};

use crate::model::behavior::Behavior;
use crate::model::behaviors::BehaviorTable;
use crate::model::function::{Constant, Function};
use crate::model::hashing;
use crate::model::host::Host;
use crate::model::known::{KnownClass, immediate_layout};
use crate::model::lookup::LookupTable;
use crate::model::modules::ModuleTable;
use crate::model::packages::Packages;
use crate::model::permissions::Permissions;
use crate::model::primitive::FindPrimitive;
use crate::model::symbols::Symbol;
use crate::state::affinity::NativeThreads;
use crate::state::debugging::Debugging;
use crate::state::ended::Ended;
use crate::state::fences;
use crate::state::items::Item;
use crate::state::items::TimerKey;
use crate::state::limit::Request;
use crate::state::replays::Replays;
use crate::state::roots::GlobalRoots;
use crate::state::sampling::Sampling;
use crate::state::sandbox::Sandboxes;
use crate::state::services::Services;
use crate::state::stack::limit_growth;
use crate::state::strand::{StrandRef, Strands};
use crate::state::thread::Thread;
use crate::state::tier::Tier;
use crate::state::tracing::Tracing;
use crate::state::transactions::Transactions;
use crate::state::vat::{VatRef, Vats};

/// How to create a VM.
pub struct VmOptions {
    /// The heap's choices.
    pub heap: HeapOptions,
    /// The most words one strand's stack may have.
    pub max_stack_words: usize,
    /// The most words of a stack's bottom that are used.
    pub max_bottom_words: usize,
    /// The permissions of the program.
    pub permissions: Permissions,
    /// The program's arguments; the first is the program itself.
    pub arguments: Vec<String>,
    /// The number of workers, and the policy.
    pub scheduler: SchedulerOptions,
    /// Whether every poll is a slow one: for repeatable runs, and to find mistakes.
    pub polls_always: bool,
    /// The events to report while the program runs.
    pub tracing: Tracing,
    /// The C libraries that are part of the process, beside those that the platform knows.
    pub linked_libraries: Vec<LinkedLibrary>,
    /// The packages of the program.
    pub packages: Packages,
    /// Whether the run is recorded, or repeats a recording.
    pub replays: Option<&'static Replays>,
    /// The seed of the keys for hash codes, if they are to be the same in several runs.
    pub key: Option<u64>,
}

/// A C library that is part of the process: its name, and its functions.
pub type LinkedLibrary = (&'static str, &'static [LinkedFunction]);

/// What the layers above register with the VM when it is made.
pub struct Layers {
    /// Finds a primitive of the library.
    pub find_primitive: FindPrimitive,
    /// What the concurrency layer does for the layers below.
    pub services: &'static dyn Services,
    /// Makes the scheduler, with what its workers run.
    pub make_scheduler: fn(SchedulerOptions) -> Scheduler<Item, TimerKey>,
    /// Makes the collector's view of all roots.
    pub make_roots: fn(&'static Vm) -> Box<dyn RootSource>,
}

static PROCESS: OnceLock<&'static Vm> = OnceLock::new();

/// The exit code of a process that gets no native thread that it needs: that for errors of the operating system
/// (`sysexits.h`).
const NO_THREAD: i32 = 71;

/// The virtual machine.
pub struct Vm {
    /// The heap.
    pub heap: &'static Heap,
    /// How the VM was created.
    pub options: VmOptions,
    /// All modules.
    pub modules: ModuleTable,
    /// All behaviors.
    pub behaviors: BehaviorTable,
    /// Lookup results.
    pub lookups: LookupTable,
    /// What the layers above do for those below.
    pub services: &'static dyn Services,
    /// Runs functions.
    pub tier: &'static dyn Tier,
    /// The scheduler of strands and vats.
    pub scheduler: Scheduler<Item, TimerKey>,
    /// All strands.
    pub strands: Strands,
    /// All vats.
    pub vats: Vats,
    /// The native threads that the program knows.
    pub native_threads: NativeThreads,
    /// The events of the run.
    pub events: Log,
    /// The samples for a profile.
    pub sampling: Sampling,
    /// What a debugger has set.
    pub debugging: Debugging,
    /// Whether the program has ended.
    pub ended: Ended,
    /// With a seed: how often random bytes were asked for.
    pub entropy: std::sync::atomic::AtomicU64,
    /// The data that transactions share.
    pub transactions: Transactions,
    /// Objects the VM itself refers to.
    pub roots: GlobalRoots,
    /// Where strands have budgets.
    pub sandboxes: Sandboxes,
    /// The method `main:` of the program.
    pub main_method: OnceLock<&'static Function>,
    /// The number of turns that ended with an exception which was reported, as nothing waited for their results.
    pub failed_turns: AtomicUsize,
    main_vat: OnceLock<VatRef>,
    /// The native thread that has made the VM.
    embedder_thread: std::thread::ThreadId,
    /// That thread as a worker, from its attachment on.
    embedder: OnceLock<WorkerId>,
    pub(crate) threads: Mutex<Vec<ThreadPointer>>,
}

impl Vm {
    /// Creates the VM of this process.
    pub fn new(
        options: VmOptions,
        host: Box<dyn Host>,
        tier: &'static dyn Tier,
        layers: Layers,
    ) -> Result<&'static Vm, HeapError> {
        fences::prepare();
        hashing::choose_key(options.key.or(options.scheduler.seed));
        let heap = Heap::new(options.heap.clone())?;
        let host: &'static dyn Host = Box::leak(host);
        // Stacks may take half as much as objects, or as much as one of them may; transactions, too.
        let half = heap.statistics().max_heap_bytes / 2;
        let grown = half / size_of::<u64>();
        limit_growth(options.max_bottom_words, options.max_stack_words, grown);
        let is_seeded = options.scheduler.seed.is_some();
        let scheduler = (layers.make_scheduler)(options.scheduler.clone());
        let vm: &'static Vm = Box::leak(Box::new(Vm {
            heap,
            options,
            modules: ModuleTable::new(host, layers.find_primitive),
            behaviors: BehaviorTable::default(),
            lookups: LookupTable::default(),
            services: layers.services,
            tier,
            scheduler,
            strands: Strands::default(),
            vats: Vats::default(),
            native_threads: NativeThreads::default(),
            events: Log::new(is_seeded),
            sampling: Sampling::default(),
            debugging: Debugging::default(),
            ended: Ended::default(),
            entropy: std::sync::atomic::AtomicU64::new(0),
            transactions: Transactions::new(half),
            roots: GlobalRoots::default(),
            sandboxes: Sandboxes::default(),
            main_method: OnceLock::new(),
            failed_turns: AtomicUsize::new(0),
            main_vat: OnceLock::new(),
            embedder_thread: std::thread::current().id(),
            embedder: OnceLock::new(),
            threads: Mutex::default(),
        }));
        heap.set_root_source((layers.make_roots)(vm));
        _ = PROCESS.set(vm);
        Ok(vm)
    }

    /// The VM of this process.
    pub fn of_process() -> &'static Vm {
        PROCESS.get().expect("there is a VM before there are threads of it")
    }

    /// The vat in which the program starts; none before the boot has made it.
    pub fn main_vat(&self) -> Option<VatRef> {
        self.main_vat.get().copied()
    }

    /// Makes a vat the one in which the program starts.
    pub fn set_main_vat(&self, vat: VatRef) {
        _ = self.main_vat.set(vat);
    }

    /// Milliseconds since the start, as the scheduler last looked.
    pub fn ticks(&self) -> u32 {
        self.scheduler.now() as u32
    }

    /// Ends the program with this exit code.
    pub fn end(&'static self, code: i32) {
        self.ended.set(code);
        self.scheduler.stop();
        for thread in self.threads.lock().iter() {
            thread.ask_to_poll();
        }
        self.services.program_ended(self);
        if std::thread::current().id() != self.embedder_thread {
            self.abandon_soon(code);
        }
    }

    /// Whether the embedder's native thread is in foreign code.
    fn embedder_is_outside(&self) -> bool {
        self.embedder.get().is_some_and(|worker| self.scheduler.is_outside(*worker))
    }

    /// The program has ended. If the embedder's native thread is in foreign code then, or is about to call some,
    /// and does not come back soon, the host decides.
    fn abandon_soon(&'static self, code: i32) {
        let end = std::thread::Builder::new().name("end".into()).spawn(move || {
            for _ in 0..RETURN_LOOKS {
                std::thread::sleep(RETURN_GRACE);
                if self.embedder_is_outside() {
                    return self.host().abandon(code);
                }
            }
        });
        // Without another native thread, the program ends when the call does.
        drop(end);
    }

    /// Ends the process, since the operating system grants no native thread that the machine needs.
    pub(crate) fn lacks_thread(&self, error: &std::io::Error) -> ! {
        let report = format!(
            "error: the operating system grants the machine no native thread: {error}\n\
             The machine needs some four (`ulimit -u`, or a limit of the container).\n"
        );
        self.host().write_error(&report);
        self.host().flush();
        std::process::exit(NO_THREAD);
    }

    /// A method of the kernel module's instance, which may be one that programs cannot reach.
    pub fn kernel_method(&self, selector: &str) -> Option<&'static Function> {
        let kernel = self.modules.of_library("Kernel")?.main_definition()?;
        kernel.method(self.symbol(selector))
    }

    /// The symbol with this text.
    pub fn symbol(&self, text: &str) -> Symbol {
        self.modules.symbols.intern(text)
    }

    /// Whether the program may load the module in this file: it is part of the program, was loaded before, was
    /// compiled by the embedder, belongs to a package, or the program may read the file.
    pub fn may_load(&self, path: &str) -> bool {
        let program = self.options.arguments.first().map(Path::new);
        self.options.permissions.allows_module(program, Path::new(path))
            || self.modules.has_file(path)
            || self.options.packages.owner(Path::new(path)).is_some()
    }

    /// The behavior of instances with this layout.
    #[inline]
    pub fn behavior_of_layout(&self, layout: LayoutId) -> Option<&'static Behavior> {
        self.behaviors.of_layout(layout)
    }

    /// The class object of a known class.
    #[inline]
    pub fn known_class(&self, class: KnownClass) -> Word {
        self.roots.known_class(class)
    }

    /// The address of the cell of a known class's object, which the collector updates.
    pub fn known_class_cell(&self, class: KnownClass) -> usize {
        self.roots.known_class_cell(class)
    }

    /// The class object of immediate objects with this layout.
    pub fn class_of_layout(&self, layout: LayoutId) -> Word {
        match self.behavior_of_layout(layout).and_then(|behavior| behavior.known()) {
            Some(known) => self.known_class(known),
            None => Word::NIL,
        }
    }

    /// The class of any object.
    pub fn class_of(&self, word: Word) -> Word {
        match word.as_object() {
            Some(object) => object.class(),
            None => self.class_of_layout(immediate_layout(word)),
        }
    }

    /// The one-character string for a code point, if it was made before and is kept.
    pub fn character(&self, code_point: u32) -> Option<Word> {
        self.roots.character(code_point)
    }

    /// The address of 256 words: the one-character strings by code point, nil for those that are not kept yet.
    pub fn character_cells(&self) -> usize {
        self.roots.character_cells()
    }

    /// Keeps the one-character string for a code point.
    pub fn set_character(&self, code_point: u32, string: Word) {
        self.roots.set_character(code_point, string);
    }

    /// Gives a constant its object, and makes it a root.
    pub fn define_constant(&self, constant: &'static Constant, object: Word) {
        constant.set(object);
        self.roots.add_constant(constant);
    }
}

/// The time for which foreign code may run after the program's end before the host is asked.
const RETURN_GRACE: Duration = Duration::from_millis(100);

/// How often one looks whether it does.
const RETURN_LOOKS: u32 = 10;

/// The native threads that run guest code.
impl Vm {
    /// The world outside.
    pub fn host(&self) -> &'static dyn Host {
        self.modules.host
    }

    /// A thread is attached: from now on requests reach it.
    pub(crate) fn add_thread(&self, thread: &Thread) {
        // The embedder's thread attaches first.
        self.embedder.get_or_init(|| thread.number);
        self.threads.lock().push(ThreadPointer(std::ptr::from_ref(thread)));
        self.services.attached();
    }

    pub(crate) fn remove_thread(&self, thread: &Thread) {
        let thread = ThreadPointer(std::ptr::from_ref(thread));
        self.threads.lock().retain(|other| *other != thread);
    }

    /// Shows each native thread, while all mutators stand.
    pub(crate) fn look_at_threads(&self, look: &mut dyn FnMut(&Thread)) {
        for thread in self.threads.lock().iter() {
            // SAFETY: the thread stands at a safepoint or is in a native section, so that it changes
            // nothing, and it cannot go before it has left the list.
            look(unsafe { &*thread.0 });
        }
    }

    /// Visits the words of the strands that run, with their native threads, while all mutators stand.
    pub(crate) fn visit_running(&self, visit: &mut dyn FnMut(&Thread, Word)) {
        self.look_at_threads(&mut |thread| {
            crate::state::roots::visit_running(thread, &mut |word| visit(thread, word));
        });
    }

    /// Makes the embedder's thread look around. At the end of a program it may have left already.
    pub fn summon_embedder(&self) {
        if let Some(worker) = self.embedder.get() {
            self.scheduler.summon(*worker);
        }
    }

    /// Makes the worker on which a strand runs, if it does, poll.
    pub fn preempt_strand(&self, strand: StrandRef) {
        if let Some(worker) = strand.worker_asked() {
            self.ask_to_poll(worker);
        }
    }

    /// Makes the worker with this number poll, and the strand that runs there give way.
    pub fn ask_to_poll(&self, worker: u32) {
        for thread in self.threads.lock().iter().filter(|thread| thread.number() == worker) {
            thread.ask_to_poll();
        }
    }

    /// Makes the worker with this number poll, and serve the scheduler's request.
    pub fn pass_request(&self, worker: u32) {
        for thread in self.threads.lock().iter().filter(|thread| thread.number() == worker) {
            thread.pass_request();
        }
    }

    /// Makes each thread that has a sampler and something to run take a sample soon.
    pub fn ask_for_samples(&self) {
        for thread in self.threads.lock().iter() {
            thread.ask_for_sample();
        }
    }

    /// Makes each thread come to its next poll.
    pub fn ask_all_to_look(&self) {
        self.threads.lock().iter().for_each(|thread| thread.pass_request());
    }

    /// Makes the threads poll that run timed strands; whether there are any.
    pub(crate) fn ask_timed_threads(&self) -> bool {
        let threads = self.threads.lock();
        let mut timed = threads.iter().filter(|thread| thread.is_timed()).peekable();
        let is_any = timed.peek().is_some();
        timed.for_each(|thread| thread.pass_request());
        is_any
    }

    /// Whether some thread accesses objects of this vat bare; those are asked to poll.
    pub(crate) fn asks_plain_threads(&self, vat: VatRef) -> bool {
        let threads = self.threads.lock();
        let mut plain = threads.iter().filter(|thread| thread.is_plain_in(vat)).peekable();
        let is_any = plain.peek().is_some();
        plain.for_each(|thread| thread.ask_to_poll());
        is_any
    }

    /// The vat that the strand on a worker has left to others.
    pub(crate) fn left_vat(&self, worker: WorkerId) -> Option<VatRef> {
        let threads = self.threads.lock();
        let thread = threads.iter().find(|thread| thread.number() == worker.index() as u32)?;
        thread.left_vat()
    }
}

/// A thread as others see it: they ask it to poll.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadPointer(pub(crate) *const Thread);

// SAFETY: only the atomic parts of the thread are accessed, and a thread removes itself from the list, under the list's
// lock, before it ends.
unsafe impl Send for ThreadPointer {}

impl ThreadPointer {
    fn number(self) -> u32 {
        // SAFETY: see above; the number never changes.
        unsafe { (*self.0).number }.index() as u32
    }

    fn is_plain_in(self, vat: VatRef) -> bool {
        // SAFETY: see above; the field is an atomic. Pairs with the stores of `guarding.rs`.
        unsafe { &(*self.0).plain_in }.load(Ordering::SeqCst) == vat.address()
    }

    fn left_vat(self) -> Option<VatRef> {
        // SAFETY: see above; the field is an atomic.
        let address = unsafe { &(*self.0).left_vat }.load(Ordering::Relaxed);
        // SAFETY: the thread stored the address of a vat, or 0.
        (address != 0).then(|| unsafe { VatRef::from_address(address) })
    }

    /// See [`Thread::ask_to_poll`].
    fn ask_to_poll(self) {
        // SAFETY: see above; the fields are atomics.
        let (requests, limit) = unsafe { (&(*self.0).requests, &(*self.0).limit) };
        requests.add(Request::GiveWay);
        limit.ask_from_outside();
    }

    /// Whether the thread runs a strand whose processor time is counted.
    fn is_timed(self) -> bool {
        // SAFETY: see above; the field is an atomic.
        unsafe { &(*self.0).metering.is_timed }.load(Ordering::SeqCst)
    }

    /// Counts a period, and makes the thread poll if it has something to run.
    fn ask_for_sample(self) {
        // SAFETY: see above. The sampler is set before the thread is in the list, or before there is a thread that asks,
        // and never changed; its fields are atomics.
        let sampler = unsafe { &(*self.0).sampler };
        if sampler.as_ref().is_some_and(|sampler| sampler.tick()) {
            // SAFETY: see above; the fields are atomics.
            let (requests, limit) = unsafe { (&(*self.0).requests, &(*self.0).limit) };
            requests.add(Request::Sample);
            limit.ask_from_outside();
        }
    }

    /// Makes the thread ask its worker at the next poll for the scheduler's request.
    fn pass_request(self) {
        // SAFETY: see above; the fields are atomics.
        let (requests, limit) = unsafe { (&(*self.0).requests, &(*self.0).limit) };
        requests.add(Request::AskScheduler);
        limit.ask_from_outside();
    }
}
