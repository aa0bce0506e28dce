//! A running machine: its start, the program's turns, and messages to guest objects. The command line, sessions and
//! test runs own one; embedders use it through [`crate::embedding`].
//!
//! The machine's own native thread runs the main vat. The owner holds guest objects by [`RootHandle`]s, which the
//! collector updates; they are valid until [`Machine::release`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use squall_bytecode::entities::FunctionId;
use squall_heap::{HeapError, RootHandle, Word};
use squall_interpreter::Interpreter;
use squall_jit::listing::{self, Choice, Part};
use squall_jit::{Mixed, Policy, Settings};
use squall_runtime::concurrency::embedding::calls;
use squall_runtime::concurrency::interruption::{self, Interruptible};
use squall_runtime::concurrency::promises;
use squall_runtime::concurrency::sandbox;
use squall_runtime::concurrency::stalls;
use squall_runtime::concurrency::strands;
use squall_runtime::concurrency::worker::{self, Finished};
use squall_runtime::library::bootstrap::{self, BootError};
use squall_runtime::model::function::{Function, keep_registers};
use squall_runtime::model::module::LoadedModule;
use squall_runtime::objects::string;
use squall_runtime::state::debugging::Debugger;
use squall_runtime::state::thread::Thread;
use squall_runtime::state::vm::Vm;
use squall_runtime::tiers::tier::Tier;

use crate::compiler::RunnableModule;
use crate::host::{Embedding, EmbeddingRef};
use crate::options::{Jit, Options};
use crate::surroundings::Surroundings;
use squall_runtime::library::layers::make_vm;

/// A machine with a booted kernel.
pub struct Machine {
    vm: &'static Vm,
    thread: Box<Thread>,
    embedding: &'static Embedding,
}

/// The reason why a machine does not start.
#[derive(Debug)]
pub enum StartError {
    /// The heap cannot be created with these options.
    Heap(HeapError),
    /// The library and the machine do not fit together: a bug in Squall.
    Boot(BootError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Heap(error) => error.fmt(f),
            StartError::Boot(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}

impl From<HeapError> for StartError {
    fn from(error: HeapError) -> StartError {
        StartError::Heap(error)
    }
}

impl From<BootError> for StartError {
    fn from(error: BootError) -> StartError {
        StartError::Boot(error)
    }
}

/// The end of a message to a guest object, or of a series of turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply<T> {
    /// The message was answered.
    Answer(T),
    /// The program asked the machine to end with this exit code.
    Exit(i32),
    /// There is no answer: no strand can wake the message's strand any more. A report was printed, and the strand was
    /// ended.
    Stalled,
}

pub use squall_runtime::concurrency::stalls::DEADLOCK;

/// The heat at which functions are compiled: 40 calls, or 100 turns of a loop.
const HEAT: u32 = 200;

/// The tier of a machine with these options.
fn tier(options: &Options) -> &'static dyn Tier {
    // The interpreter reports sends.
    if options.jit == Jit::Off || options.tracing.sends {
        return &Interpreter;
    }
    if let Some(seed) = options.jit_chaos {
        squall_jit::chaos::begin(seed);
    }
    let heat = if options.jit_eager { 0 } else { HEAT };
    let policy = if options.jit_eager { Policy::EAGER } else { Policy::USUAL };
    let policy = (options.jit == Jit::On).then_some(policy);
    let settings = Settings {
        heat,
        policy,
        hardening: options.hardening,
        observers: options.jit_observers.clone(),
        keeps_views: options.jit_views,
    };
    match Mixed::start(&Interpreter, settings) {
        Some(mixed) => Box::leak(Box::new(mixed)),
        None => &Interpreter,
    }
}

impl Machine {
    /// Starts the machine of this process. *GC point.*
    pub fn start(
        options: Options,
        surroundings: impl Surroundings + 'static,
    ) -> Result<Machine, StartError> {
        let embedding: &'static Embedding = Box::leak(Box::new(Embedding {
            surroundings: Box::new(surroundings),
            verify_all: options.verify_all,
            module_path: options.module_path.clone(),
            permissions: options.permissions.clone(),
            program: options.arguments.first().map(PathBuf::from),
            packages: options.packages.clone(),
            replays: options.replays,
            prepared: Default::default(),
        }));
        let budgets = options.budgets;
        let tier = tier(&options);
        let vm = make_vm(options.for_runtime(), Box::new(EmbeddingRef(embedding)), tier)?;
        let mut thread = Thread::attach(vm);
        bootstrap::boot(&mut thread)?;
        if !budgets.is_unlimited() {
            let confined = sandbox::confine_program(&mut thread, budgets, BUDGET_EXCEEDED);
            confined.map_err(BootError::from)?;
        }
        Ok(Machine { vm, thread, embedding })
    }

    /// Stores a compiled module: the program gets it when it loads this path.
    pub fn prepare(&mut self, path: &str, module: RunnableModule) {
        self.embedding.prepared.lock().insert(path.to_owned(), module.into_module());
    }

    /// Runs the first argument's program to its end; answers its exit code.
    pub fn run_program(&mut self) -> i32 {
        let code = match self.start_program() {
            Ok(Reply::Exit(code)) => code,
            Ok(Reply::Stalled) => DEADLOCK,
            Ok(Reply::Answer(_)) if self.vm.ended.near_code().is_some() => {
                self.vm.ended.near_code().unwrap_or(INTERNAL_ERROR)
            }
            Ok(Reply::Answer(end)) => {
                self.vm.concurrency().stalls.report(self.vm, self.thread.mutator.get(end));
                DEADLOCK
            }
            Err(error) => {
                self.vm.host().write_error(&format!("{error}\n"));
                INTERNAL_ERROR
            }
        };
        stalls::look_once_more(&mut self.thread);
        promises::report_unhandled(self.vm);
        self.vm.host().flush();
        self.vm.concurrency().stalls.report_lost(self.vm);
        code
    }

    /// Runs the program; if no strand can run before the program has ended, answers the promise for its end.
    fn start_program(&mut self) -> Result<Reply<RootHandle>, BootError> {
        let finished = worker::run_program(&mut self.thread)?;
        match self.reply_to(finished) {
            Reply::Answer(end) => Ok(match self.run_turns() {
                Reply::Exit(code) => Reply::Exit(code),
                Reply::Answer(()) | Reply::Stalled => Reply::Answer(end),
            }),
            reply => Ok(reply),
        }
    }

    /// Runs ready strands until the program ends or no strand can ever run again.
    pub fn run_turns(&mut self) -> Reply<()> {
        self.run_turns_until(|| false)
    }

    /// The same, but no longer than until this is true, which is asked between strands.
    pub fn run_turns_until(&mut self, is_over: impl Fn() -> bool) -> Reply<()> {
        match worker::work(&mut self.thread, |_| is_over()) {
            Finished::Exit(code) => Reply::Exit(code),
            Finished::Done | Finished::Stalled => Reply::Answer(()),
        }
    }

    /// Reports what the main vat's turn and all other strands wait for, and ends the turn.
    fn abandon_turn(&mut self) {
        self.vm.concurrency().stalls.report(self.vm, Word::NIL);
        let Some(vat) = self.vm.main_vat() else { return };
        match vat.turn() {
            Some(strand) => _ = strands::terminate(&mut self.thread, strand.object()),
            None => vat.forget_lost_turn(&mut self.thread),
        }
        if !self.thread.goes_on(vat) {
            return;
        }
        // If the turn's `ensure:` blocks wait as well, they are abandoned.
        worker::work(&mut self.thread, |vm| vm.concurrency().embedder.is_done());
    }
}

/// For debuggers.
impl Machine {
    /// Attaches a debugger, before the program runs; `loaded` is called with each module that is loaded from now on.
    pub fn attach_debugger(
        &mut self,
        debugger: Box<dyn Debugger>,
        loaded: impl Fn(&'static LoadedModule) + Send + Sync + 'static,
    ) {
        keep_registers();
        if self.vm.debugging.attach(debugger) {
            self.vm.modules.observe(Box::new(loaded));
            self.thread.look_for_observers();
        }
    }
}

/// For recordings, and for the observer.
impl Machine {
    /// From now on, vats count the messages in their mailboxes. Before the program runs.
    pub fn count_messages(&mut self) {
        self.vm.events.count_messages();
        // Vats get their numbers as they are made, from now on.
        self.vm.main_vat().inspect(|vat| _ = vat.number(self.vm));
        self.thread.look_for_observers();
    }

    pub(crate) fn vm(&self) -> &'static Vm {
        self.vm
    }

    /// The machine's own native thread, which attached before the log was on, notes events from now on.
    pub(crate) fn take_port(&mut self) {
        self.thread.port = self.vm.events.port(self.thread.worker_index());
        self.thread.look_for_observers();
    }

    /// The same thread takes samples from now on.
    pub(crate) fn take_sampler(&mut self) {
        self.thread.sampler = self.vm.sampling.sampler(self.thread.worker_index());
        self.thread.mutator.report_memory();
        self.thread.look_for_observers();
    }
}

/// The exit code of a program that has exceeded a budget.
pub const BUDGET_EXCEEDED: i32 = 1;

/// The exit code for a bug in Squall.
pub const INTERNAL_ERROR: i32 = 70;

/// Guest objects.
impl Machine {
    /// The platform object.
    pub fn platform(&mut self) -> RootHandle {
        let platform = self.vm.roots.platform.get();
        self.thread.mutator.push_root(platform)
    }

    /// A string; `None` if the heap is full.
    pub fn string(&mut self, text: &str) -> Option<RootHandle> {
        let string = string::make_string(&mut self.thread, text).ok()?;
        Some(self.thread.mutator.push_root(string))
    }

    /// The text of a string or symbol.
    pub fn text(&self, object: RootHandle) -> Option<String> {
        string::Text::of(self.thread.mutator.get(object)).map(string::Text::to_rust)
    }

    /// The value of a Boolean.
    pub fn boolean(&self, object: RootHandle) -> Option<bool> {
        match self.thread.mutator.get(object) {
            Word::TRUE => Some(true),
            Word::FALSE => Some(false),
            _ => None,
        }
    }

    /// Sends a message that reaches public and protected methods.
    ///
    /// An exception that nothing catches ends the program.
    pub fn send(
        &mut self,
        receiver: RootHandle,
        selector: &str,
        arguments: &[RootHandle],
    ) -> Result<Reply<RootHandle>, BootError> {
        let words = std::iter::once(receiver).chain(arguments.iter().copied());
        let words: Vec<Word> = words.map(|handle| self.thread.mutator.get(handle)).collect();
        let finished = worker::call(&mut self.thread, selector, &words)?;
        Ok(self.reply_to(finished))
    }

    fn reply_to(&mut self, finished: Finished) -> Reply<RootHandle> {
        match finished {
            Finished::Exit(code) => Reply::Exit(code),
            Finished::Stalled => {
                self.abandon_turn();
                Reply::Stalled
            }
            Finished::Done => {
                let result =
                    self.vm.concurrency().embedder.take().map_or(Word::NIL, |(_, value)| value);
                Reply::Answer(self.thread.mutator.push_root(result))
            }
        }
    }

    /// The instance of a library module, made at the first request.
    pub(crate) fn library_instance(&mut self, name: &str) -> Result<RootHandle, BootError> {
        let kernel = self.vm.roots.kernel.get();
        let kernel = self.thread.mutator.push_root(kernel);
        let symbol = self.vm.name_word(&mut self.thread, self.vm.symbol(name))?;
        let symbol = self.thread.mutator.push_root(symbol);
        let words = [kernel, symbol].map(|handle| self.thread.mutator.get(handle));
        let method = self.vm.kernel_method("instanceOf:");
        let method = method.ok_or_else(|| BootError("the kernel makes no modules".into()))?;
        let instance = worker::run_function(&mut self.thread, method, &words)?;
        Ok(self.thread.mutator.push_root(instance))
    }

    /// The class object of a library module.
    pub fn library_class(&mut self, name: &str) -> Result<RootHandle, BootError> {
        let module = self.vm.modules.of_library(name);
        let module = module.ok_or_else(|| BootError(format!("there is no module {name}")))?;
        self.class_of(module)
    }

    /// The class object of a module that the embedder compiled.
    pub fn class_of_module(&mut self, module: RunnableModule) -> Result<RootHandle, BootError> {
        let module = self.vm.modules.load(module.into_module());
        self.class_of(module)
    }

    fn class_of(&mut self, module: &'static LoadedModule) -> Result<RootHandle, BootError> {
        let definition = module.main_definition();
        let definition = definition.ok_or_else(|| BootError("a module has no class".into()))?;
        let class = bootstrap::make_module_class(&mut self.thread, definition, Word::NIL)?;
        Ok(self.thread.mutator.push_root(class))
    }

    /// The number of root handles, for [`Machine::release`].
    pub fn handles(&self) -> usize {
        self.thread.mutator.root_depth()
    }

    /// Releases all root handles but the first `count`.
    pub fn release(&mut self, count: usize) {
        self.thread.mutator.truncate_roots(count);
    }
}

/// For embedders on other native threads, see [`crate::embedding`].
impl Machine {
    pub(crate) fn parts(&self) -> (&'static Vm, &'static Embedding) {
        (self.vm, self.embedding)
    }

    pub(crate) fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Runs the requests of other native threads until the machine ends; answers the exit code.
    pub(crate) fn serve(mut self) -> i32 {
        let code = loop {
            match worker::work(&mut self.thread, |_| false) {
                Finished::Exit(code) => break code,
                Finished::Stalled => {
                    let report = self.vm.concurrency().stalls.describe(self.vm, Word::NIL);
                    calls::end_stalled(&mut self.thread, &report);
                }
                Finished::Done => {}
            }
        };
        promises::report_unhandled(self.vm);
        self.vm.host().flush();
        self.vm.concurrency().stalls.report_lost(self.vm);
        code
    }
}

/// Questions of the embedder about a machine.
impl Machine {
    /// Notes that a work begins which may be interrupted.
    pub(crate) fn begin(&self, work: &Interruptible) {
        work.begin(self.vm);
    }

    /// A function that interrupts this work, for another thread.
    pub(crate) fn interrupter(&self, work: Arc<Interruptible>) -> impl Fn() + Send + Sync + use<> {
        let vm = self.vm;
        move || interruption::interrupt(vm, &work)
    }

    /// A function that describes the present activity of all strands, for another thread. It stops the machine for a
    /// moment, whatever the machine does.
    pub fn observer(&self) -> impl Fn() -> String + Send + Sync + use<> {
        let vm = self.vm;
        move || squall_runtime::concurrency::stalls::picture(vm)
    }

    /// A function that ends the program, for another thread: the machine's thread returns with this exit code, if the
    /// program polls.
    pub fn ender(&self) -> impl Fn(i32) + Send + use<> {
        let vm = self.vm;
        move |code| vm.end(code)
    }

    /// A description of the program's transactions so far.
    pub fn describe_transactions(&self) -> String {
        self.vm.transactions.statistics.report(self.vm)
    }

    /// A description of what was compiled to machine code so far, and where such code was left.
    pub fn describe_compilation(&self) -> String {
        squall_jit::report::text()
    }

    /// A listing of functions: their bytecode, and their machine code if they have some. They are those of the program
    /// that have machine code or, if names are given, all whose name contains one of these; the error is a name that
    /// none has. `line` answers the lines of source texts.
    pub fn listing(
        &self,
        names: &[String],
        parts: &[Part],
        line: &dyn Fn(&str, u32) -> Option<String>,
    ) -> Result<String, String> {
        let mut functions = listing::compiled_functions();
        if names.is_empty() {
            functions.retain(|function| !function.module.bytecode.is_image());
        } else {
            functions.extend(self.functions_without_code(&functions));
            let has = |function: &Function, name: &String| function.name().contains(name);
            let is_missing = |name: &&String| functions.iter().all(|function| !has(function, name));
            if let Some(name) = names.iter().find(is_missing) {
                return Err(name.clone());
            }
            functions.retain(|function| names.iter().any(|name| has(function, name)));
        }
        functions.sort_by_key(|function| (function.module.bytecode.path_text(), function.index));
        Ok(listing::text(self.vm, &Choice { functions, parts, line }))
    }

    /// The program's functions that are not among these.
    fn functions_without_code(&self, compiled: &[&'static Function]) -> Vec<&'static Function> {
        let modules = self.modules().filter(|module| !module.bytecode.is_image());
        let all = modules.flat_map(|module| {
            let numbers = 0..module.bytecode.function_count() as u32;
            numbers.map(|number| module.function(FunctionId(number)))
        });
        let is_new = |function: &&'static Function| {
            !compiled.iter().any(|other| std::ptr::eq(*other, *function))
        };
        all.filter(is_new).collect()
    }

    /// Runs long work that does not touch the machine; collections and other workers do not wait for it.
    pub fn outside<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.thread.mutator.native(work)
    }

    /// The number of turns so far that ended with an exception which was reported, as nothing waited for their results.
    pub(crate) fn failed_turns(&self) -> usize {
        // No strand runs when the embedder asks.
        self.vm.failed_turns.load(Ordering::Relaxed)
    }

    /// Flushes the program's output.
    pub fn flush(&self) {
        self.vm.host().flush();
    }

    /// A summary of all collections so far.
    pub fn heap_statistics(&self) -> squall_heap::HeapStatistics {
        self.vm.heap.statistics()
    }

    /// The modules loaded so far.
    pub fn modules(&self) -> impl Iterator<Item = &'static LoadedModule> {
        self.vm.modules.all()
    }
}
