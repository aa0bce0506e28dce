//! The virtual machine: what all threads share.
//!
//! There is one per process, as there is one heap, and it lives until the process ends, so that
//! references to it are `&'static`. Tables grow behind locks that are leaves: no lock is held at a
//! GC point or while another is taken.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use squall_heap::{Heap, HeapError, HeapOptions, LayoutId, Word};
use squall_scheduler::{Scheduler, SchedulerOptions, WorkerId};
use squall_system::resources::Resources;

use crate::affinity::NativeThreads;
use crate::behavior::{Behavior, BehaviorFault};
use crate::early::Early;
use crate::embedding::Embedding;
use crate::fences;
use crate::foreign::{Foreign, LinkedLibrary};
use crate::function::{Constant, Function};
use crate::host::{CompileError, Host, ImportError};
use crate::known::{FIRST_FREE_NUMBER, KnownClass};
use crate::linking::{self, Provider};
use crate::lookup::LookupTable;
use crate::module::{Definition, LoadedModule};
use crate::objects::string;
use crate::outcome::Failure;
use crate::permissions::Permissions;
use crate::primitives::{self, files::OpenFiles};
use crate::promises::{Embedder, Unhandled};
use crate::roots::{GlobalRoots, Roots};
use crate::sandbox::{SandboxRef, Sandboxes};
use crate::stack::limit_growth;
use crate::stalls::{self, Stalls};
use crate::strand::{StrandRef, Strands};
use crate::symbols::{Symbol, SymbolTable};
use crate::text::ModuleText;
use crate::thread::Thread;
use crate::tier::Tier;
use crate::timers::{TimerKey, Timers};
use crate::tracing::Tracing;
use crate::transactions::Transactions;
use crate::vat::{VatRef, Vats};
use crate::worker::{Ended, Item, WorkerHooks};

/// How to create a VM.
pub struct VmOptions {
    /// The heap's choices.
    pub heap: HeapOptions,
    /// The most words one strand's stack may have.
    pub max_stack_words: usize,
    /// The most words of a stack's bottom that are used.
    pub max_bottom_words: usize,
    /// What the program may do.
    pub permissions: Permissions,
    /// The program's arguments; the first is the program itself.
    pub arguments: Vec<String>,
    /// How many workers there are, and who decides.
    pub scheduler: SchedulerOptions,
    /// Whether every poll is a slow one: for repeatable runs, and to find what is wrong.
    pub polls_always: bool,
    /// What to report while the program runs.
    pub tracing: Tracing,
    /// The C libraries that are part of the process, beside those that the platform knows.
    pub linked_libraries: Vec<LinkedLibrary>,
}

static PROCESS: OnceLock<&'static Vm> = OnceLock::new();

/// The virtual machine.
pub struct Vm {
    /// The heap.
    pub heap: &'static Heap,
    /// How the VM was created.
    pub options: VmOptions,
    /// The world outside.
    pub host: Box<dyn Host>,
    /// Lookup results.
    pub lookups: LookupTable,
    /// Runs functions.
    pub tier: &'static dyn Tier,
    /// Who runs what, and when.
    pub scheduler: Scheduler<Item, TimerKey>,
    /// All strands.
    pub strands: Strands,
    /// All vats.
    pub vats: Vats,
    /// The native threads that the program knows.
    pub native_threads: NativeThreads,
    /// What is due later.
    pub timers: Timers,
    /// Actors and processes that were made too early.
    pub early: Early,
    /// Whether the program has ended.
    pub ended: Ended,
    /// The embedder's message in progress.
    pub embedder: Embedder,
    /// Broken promises that nobody cares for.
    pub unhandled: Unhandled,
    /// What is known of strands that can never go on.
    pub stalls: Stalls,
    /// What transactions share.
    pub transactions: Transactions,
    /// Objects the VM itself refers to.
    pub roots: GlobalRoots,
    /// The files that the program has open.
    pub files: OpenFiles,
    /// What else it has open: connections, processes and the like.
    pub resources: Resources,
    /// What belongs to C.
    pub foreign: Foreign,
    /// The embedder's side.
    pub embedding: Embedding,
    /// Where strands have budgets.
    pub sandboxes: Sandboxes,
    /// The method `main:` of the program.
    pub main_method: OnceLock<&'static Function>,
    main_vat: OnceLock<VatRef>,
    /// The native thread that has made the VM.
    embedder_thread: std::thread::ThreadId,
    threads: Mutex<Vec<ThreadPointer>>,
    symbols: &'static SymbolTable,
    layouts: LayoutTable,
    behaviors: Mutex<Behaviors>,
    modules: Mutex<Vec<&'static LoadedModule>>,
    library: Mutex<HashMap<String, &'static LoadedModule>>,
    programs: Mutex<HashMap<String, &'static LoadedModule>>,
}

/// All behaviors.
#[derive(Default)]
struct Behaviors {
    /// How many layout numbers are taken, from 0 on.
    numbers: usize,
    by_parts: HashMap<Parts, &'static Behavior>,
}

/// What a behavior is determined by: addresses of definition, superclass's behavior and mixins.
#[derive(PartialEq, Eq, Hash)]
struct Parts {
    definition: usize,
    superclass: usize,
    mixins: Vec<usize>,
}

impl Vm {
    /// Creates the VM of this process.
    pub fn new(
        options: VmOptions,
        host: Box<dyn Host>,
        tier: &'static dyn Tier,
    ) -> Result<&'static Vm, HeapError> {
        fences::prepare();
        let heap = Heap::new(options.heap.clone())?;
        // Stacks may take half as much as objects, or as much as one of them may; transactions, too.
        let half = heap.statistics().max_heap_bytes / 2;
        let grown = half / size_of::<u64>();
        limit_growth(options.max_bottom_words, options.max_stack_words, grown);
        let scheduler = Scheduler::new(options.scheduler.clone(), WorkerHooks);
        let vm: &'static Vm = Box::leak(Box::new(Vm {
            heap,
            options,
            host,
            lookups: LookupTable::default(),
            tier,
            scheduler,
            strands: Strands::default(),
            vats: Vats::default(),
            native_threads: NativeThreads::default(),
            timers: Timers::default(),
            early: Early::default(),
            ended: Ended::default(),
            embedder: Embedder::default(),
            unhandled: Unhandled::default(),
            stalls: Stalls::default(),
            transactions: Transactions::new(half),
            roots: GlobalRoots::default(),
            files: OpenFiles::default(),
            resources: Resources::default(),
            foreign: Foreign::default(),
            embedding: Embedding::default(),
            sandboxes: Sandboxes::default(),
            main_method: OnceLock::new(),
            main_vat: OnceLock::new(),
            embedder_thread: std::thread::current().id(),
            threads: Mutex::default(),
            symbols: Box::leak(Box::default()),
            layouts: LayoutTable::default(),
            behaviors: Mutex::default(),
            modules: Mutex::default(),
            library: Mutex::default(),
            programs: Mutex::default(),
        }));
        heap.set_root_source(Box::new(Roots::new(vm)));
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
        self.foreign.end();
        self.embedding.end();
        if std::thread::current().id() != self.embedder_thread {
            self.abandon_soon(code);
        }
    }

    /// Whether the embedder's native thread is in foreign code.
    fn embedder_is_outside(&self) -> bool {
        let first = self.threads.lock().first().copied();
        // SAFETY: the embedder's thread stays as long as the VM works for it; its number never changes.
        first.is_some_and(|first| self.scheduler.is_outside(unsafe { (*first.0).number }))
    }

    /// The program has ended. If the embedder's native thread is in foreign code then, or is about to call some,
    /// and does not come back soon, the host decides.
    fn abandon_soon(&'static self, code: i32) {
        let end = std::thread::Builder::new().name("end".into()).spawn(move || {
            for _ in 0..RETURN_LOOKS {
                std::thread::sleep(RETURN_GRACE);
                if self.embedder_is_outside() {
                    return self.host.abandon(code);
                }
            }
        });
        // Without another native thread, the program ends when the call does.
        drop(end);
    }

    /// All symbols.
    pub fn symbols(&self) -> &'static SymbolTable {
        self.symbols
    }

    /// The symbol with this text.
    pub fn symbol(&self, text: &str) -> Symbol {
        self.symbols.intern(text)
    }

    /// Loads a module, which the caller has verified or trusts.
    pub fn load(&self, bytecode: impl Into<ModuleText>) -> &'static LoadedModule {
        let module = LoadedModule::load(bytecode.into(), self.symbols, primitives::find);
        self.modules.lock().push(module);
        module
    }

    /// The module of the library with this name, loaded when it is first asked for.
    pub fn library_module(&self, name: &str) -> Option<&'static LoadedModule> {
        if let Some(&module) = self.library.lock().get(name) {
            return Some(module);
        }
        let module = self.load(self.host.library_module(name)?);
        Some(*self.library.lock().entry(name.to_owned()).or_insert(module))
    }

    /// The module in the source file at this path, compiled and linked when it is first asked for.
    pub fn program_module(
        &'static self,
        path: &str,
    ) -> Result<&'static LoadedModule, CompileError> {
        let module = self.file_module(path)?;
        let linked = linking::link(self, module, path);
        linked.map_err(|errors| CompileError::Invalid(linking::render(&*self.host, &errors)))?;
        Ok(module)
    }

    /// Whether the program may load the module in this file: it is part of the program, was loaded before, was
    /// compiled by the embedder, or the program may read the file.
    pub fn may_load(&self, path: &str) -> bool {
        let program = self.options.arguments.first().map(Path::new);
        self.options.permissions.allows_module(program, Path::new(path))
            || self.programs.lock().contains_key(path)
            || self.host.has_prepared(path)
    }

    /// The module of a file will be compiled again when somebody asks for it.
    pub(crate) fn forget_module(&self, path: &str) {
        self.programs.lock().remove(path);
    }

    fn file_module(&self, path: &str) -> Result<&'static LoadedModule, CompileError> {
        if let Some(&module) = self.programs.lock().get(path) {
            return Ok(module);
        }
        let module = self.load(self.host.compile(path)?);
        Ok(*self.programs.lock().entry(path.to_owned()).or_insert(module))
    }

    /// The module of this name that the one at `importer` imports from.
    pub(crate) fn imported_module(
        &self,
        name: &str,
        importer: &str,
    ) -> Result<Provider, ImportError> {
        let path = self.host.import(name, importer).map_err(ImportError::Refused)?;
        match self.file_module(&path) {
            Ok(module) => Ok(Provider { module, path: String::leak(path) }),
            Err(CompileError::Invalid(problem)) => Err(ImportError::Invalid(path, problem)),
            Err(CompileError::NotFound) => {
                Err(ImportError::Refused(format!("{path} cannot be read any more")))
            }
        }
    }

    /// Makes a module of the host one that others can import from. Its name begins with `host:`, and
    /// it is trusted, so that its functions may use primitives. A later one takes the place of an
    /// earlier one, for those who are linked from then on.
    pub fn provide(&self, module: impl Into<ModuleText>) -> &'static LoadedModule {
        let module = self.load(module);
        let name = module.bytecode.name().unwrap_or_default();
        self.library.lock().insert(name.to_owned(), module);
        module
    }

    /// The module of the host with this name.
    pub(crate) fn host_module(&self, name: &str) -> Option<Provider> {
        let module = self.library_module(name)?;
        Some(Provider { module, path: module.bytecode.name().unwrap_or_default() })
    }

    /// The loaded module with this number.
    pub fn module_at(&self, number: usize) -> Option<&'static LoadedModule> {
        self.modules.lock().get(number).copied()
    }

    /// The number of a loaded module.
    pub fn module_number(&self, module: &'static LoadedModule) -> Option<usize> {
        self.modules.lock().iter().position(|&loaded| std::ptr::eq(loaded, module))
    }

    /// The class object of a known class.
    #[inline]
    pub fn known_class(&self, class: KnownClass) -> Word {
        self.roots.known_class(class)
    }

    /// The class object of immediate objects with this layout.
    pub fn class_of_layout(&self, layout: LayoutId) -> Word {
        match self.behavior_of_layout(layout).and_then(|behavior| behavior.known()) {
            Some(known) => self.known_class(known),
            None => Word::NIL,
        }
    }

    /// The one-character string for a code point, if it was made before and is kept.
    pub fn character(&self, code_point: u32) -> Option<Word> {
        self.roots.character(code_point)
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

/// How long foreign code may go on after the program's end before the host is asked what to do.
const RETURN_GRACE: Duration = Duration::from_millis(100);

/// How often one looks whether it does.
const RETURN_LOOKS: u32 = 10;

/// The native threads that run guest code.
impl Vm {
    pub(crate) fn add_thread(&self, thread: &Thread) {
        self.threads.lock().push(ThreadPointer(std::ptr::from_ref(thread)));
    }

    pub(crate) fn remove_thread(&self, thread: &Thread) {
        let thread = ThreadPointer(std::ptr::from_ref(thread));
        self.threads.lock().retain(|other| *other != thread);
    }

    /// Describes the strands that run, while all mutators stand.
    pub(crate) fn describe_running(&self, text: &mut String) {
        for thread in self.threads.lock().iter() {
            // SAFETY: the thread stands at a safepoint or is in a native section, so that it changes
            // nothing, and it cannot go before it has left the list.
            let thread = unsafe { &*thread.0 };
            if let Some(strand) = thread.running_strand() {
                let place = match self.native_threads.name(thread.home) {
                    Some(name) => format!("native thread {name}"),
                    None => thread.number.to_string(),
                };
                stalls::describe_running(self, strand, &place, thread.activations(), text);
            }
        }
    }

    /// Visits the words of the strands that run and belong to such a sandbox, while all mutators stand.
    pub(crate) fn visit_running(
        &self,
        belongs: &dyn Fn(SandboxRef) -> bool,
        visit: &mut dyn FnMut(Word),
    ) {
        for thread in self.threads.lock().iter() {
            // SAFETY: as in `describe_running`.
            let thread = unsafe { &*thread.0 };
            if thread.sandbox.is_some_and(belongs) {
                crate::roots::visit_running(thread, visit);
            }
        }
    }

    /// Makes the embedder's thread, which attached first, look around.
    pub fn summon_embedder(&self) {
        let first = self.threads.lock().first().copied();
        if let Some(first) = first {
            // SAFETY: the embedder's thread stays as long as the VM works for it.
            self.scheduler.summon(unsafe { (*first.0).number });
        }
    }

    /// Makes the worker on which a strand runs, if it does, poll.
    pub fn preempt_strand(&self, strand: StrandRef) {
        if let Some(worker) = strand.worker.load(Ordering::Relaxed).checked_sub(1) {
            self.ask_to_poll(worker);
        }
    }

    /// Makes the worker with this number poll, and the strand that runs there give way.
    pub fn ask_to_poll(&self, worker: u32) {
        for thread in self.threads.lock().iter().filter(|thread| thread.number() == worker) {
            thread.ask_to_poll();
        }
    }

    /// Makes the worker with this number poll, and see what the scheduler wants of it.
    pub fn pass_request(&self, worker: u32) {
        for thread in self.threads.lock().iter().filter(|thread| thread.number() == worker) {
            thread.pass_request();
        }
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
struct ThreadPointer(*const Thread);

// SAFETY: only the atomic parts of the thread are accessed, and a thread removes itself from the
// list, under the list's lock, before it goes.
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
        let (is_preempted, limit) = unsafe { (&(*self.0).is_preempted, &(*self.0).limit) };
        is_preempted.store(true, Ordering::Relaxed);
        limit.ask_from_outside();
    }

    /// Makes the thread ask its worker at the next poll what the scheduler wants.
    fn pass_request(self) {
        // SAFETY: see above; the fields are atomics.
        let (has_request, limit) = unsafe { (&(*self.0).has_request, &(*self.0).limit) };
        has_request.store(true, Ordering::Relaxed);
        limit.ask_from_outside();
    }
}

/// Behaviors and the layouts they own.
impl Vm {
    /// The behavior of instances with this layout.
    #[inline]
    pub fn behavior_of_layout(&self, layout: LayoutId) -> Option<&'static Behavior> {
        self.layouts.get(layout)
    }

    /// The behavior for a definition with this superclass and these mixins; made if it is new,
    /// together with that of its class side.
    pub fn behavior(
        &self,
        definition: &'static Definition,
        superclass: Option<&'static Behavior>,
        mixins: &[&'static Definition],
    ) -> Result<&'static Behavior, BehaviorFault> {
        let address = |definition: &Definition| std::ptr::from_ref(definition) as usize;
        let parts = Parts {
            definition: address(definition),
            superclass: superclass.map_or(0, |behavior| std::ptr::from_ref(behavior) as usize),
            mixins: mixins.iter().map(|mixin| address(mixin)).collect(),
        };
        if let Some(&behavior) = self.behaviors.lock().by_parts.get(&parts) {
            return Ok(behavior);
        }
        // The class sides of roots are like all other objects instances of `Class`; while that does
        // not exist, the boot completes them later.
        let class_super = match superclass {
            Some(superclass) => superclass.class_side.get().copied(),
            None => crate::classes::behavior_of_class(self, self.known_class(KnownClass::Class)),
        };
        let mut behaviors = self.behaviors.lock();
        if let Some(&behavior) = behaviors.by_parts.get(&parts) {
            return Ok(behavior);
        }
        let number = behaviors.next_number();
        let behavior = Behavior::instance_side(definition, superclass, mixins, number)?;
        let behavior: &'static Behavior = Box::leak(Box::new(behavior));
        behaviors.register(&self.layouts, behavior.layout, behavior);
        if let Some(boxed) = definition.known().and_then(KnownClass::boxed_layout) {
            behaviors.register(&self.layouts, boxed, behavior);
        }
        let number = behaviors.next_number();
        let class_side = Box::leak(Box::new(Behavior::class_side(behavior, class_super, number)?));
        behaviors.register(&self.layouts, class_side.layout, class_side);
        _ = behavior.class_side.set(class_side);
        behaviors.by_parts.insert(parts, behavior);
        Ok(behavior)
    }
}

impl Behaviors {
    fn next_number(&self) -> u32 {
        (self.numbers as u32).max(FIRST_FREE_NUMBER)
    }

    fn register(&mut self, layouts: &LayoutTable, layout: LayoutId, behavior: &'static Behavior) {
        self.numbers = self.numbers.max(layout.number() as usize + 1);
        layouts.set(layout, behavior);
    }
}

/// The behaviors by layout, for readers that take no lock: pages that are made when they are needed,
/// of cells that are set once.
struct LayoutTable {
    pages: [OnceLock<LayoutPage>; LAYOUT_PAGES],
}

type LayoutPage = Box<[OnceLock<&'static Behavior>]>;

/// Layout numbers in a page.
const LAYOUT_PAGE: usize = 512;
const LAYOUT_PAGES: usize = (LayoutId::MAX_NUMBER as usize + 1) / LAYOUT_PAGE;

impl Default for LayoutTable {
    fn default() -> LayoutTable {
        LayoutTable { pages: [const { OnceLock::new() }; LAYOUT_PAGES] }
    }
}

impl LayoutTable {
    #[inline]
    fn get(&self, layout: LayoutId) -> Option<&'static Behavior> {
        let number = layout.number() as usize;
        let page = self.pages[number / LAYOUT_PAGE].get()?;
        page[number % LAYOUT_PAGE].get().copied()
    }

    /// The first behavior of a layout stays.
    fn set(&self, layout: LayoutId, behavior: &'static Behavior) {
        let number = layout.number() as usize;
        let page = self.pages[number / LAYOUT_PAGE]
            .get_or_init(|| std::iter::repeat_with(OnceLock::new).take(LAYOUT_PAGE).collect());
        _ = page[number % LAYOUT_PAGE].set(behavior);
    }
}

/// Names as guest objects.
impl Vm {
    /// The symbol object for a name. *GC point.*
    pub fn name_word(&self, thread: &mut Thread, name: Symbol) -> Result<Word, Failure> {
        string::symbol_object(thread, name)
    }
}
