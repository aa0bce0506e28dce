//! The machine of this process. Fuzz targets and tests run modules in it, one after the other, since a process has one
//! machine.
//!
//! Hostile code runs in a sandbox with small budgets. If it takes long, the sandbox is ended, and must then be over
//! soon. Modules and their linked parts are never freed: a caller that runs very many modules starts a new process now
//! and then, see [`Machine::modules`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use squall::embedding::{Budgets, Error, Sandbox, Value, Vm};
use squall::{FileKind, Options, SchedulingPolicy, Surroundings};
use squall_bytecode::format;
use squall_bytecode::module::{Function, Module, selector_arity};
use squall_bytecode::types::{RegisterType, TypeDefinition};

use crate::parties::CANARY;
use crate::programs::evaluate::Outcome;
use crate::programs::text;

/// The machine of this process.
pub struct Machine {
    vm: Vm,
    files: Files,
    modules: AtomicUsize,
}

/// Files that modules import, by their paths; and the outputs that have the canary.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<HashMap<String, Vec<u8>>>>, Arc<Mutex<String>>);

impl Files {
    /// Keeps a text if code of a guest must have made it.
    fn hear(&self, text: &str) {
        if text.contains(CANARY) {
            self.1.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push_str(text);
        }
    }
}

impl Surroundings for Files {
    fn write_output(&self, text: &str) {
        self.hear(text);
    }

    fn write_error(&self, text: &str) {
        self.hear(text);
    }

    fn flush(&self) {}

    fn read_module(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let files = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        files.get(path).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

/// The time after which a hostile module's sandbox is ended.
const PATIENCE: Duration = Duration::from_millis(250);

/// The longest time that any endable work may take.
const LONGEST: Duration = Duration::from_secs(60);

/// The budgets of a hostile module.
const BUDGETS: Budgets = Budgets {
    fuel: Some(100_000),
    heap: Some(6 << 20),
    strands: Some(50),
    messages: Some(1000),
    time: None,
};

/// Its grants: to write, and to look at the clock.
const GRANTS: &[&str] = &["host:console", "host:clock"];

/// The number of exports, or methods, of a hostile module that are called.
const CALLED: usize = 8;

impl Machine {
    /// Starts the machine. The words are like options of `squall run`: `seed=7`, `workers=2`, `scheduler=peered`,
    /// `gc-stress=16`, `tiny-stacks`, `polls`.
    fn start(words: &str) -> Result<Machine, String> {
        let files = Files::default();
        let vm = Vm::start(options(words)?, files.clone()).map_err(|error| error.to_string())?;
        Ok(Machine { vm, files, modules: AtomicUsize::new(0) })
    }

    /// The machine, with the options in `SQUALL_FUZZ`; the first call starts it.
    pub fn of_process() -> &'static Machine {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(|| {
            let words = std::env::var("SQUALL_FUZZ").unwrap_or_default();
            Machine::start(&words).expect("the machine starts")
        })
    }

    /// The machine itself.
    pub(crate) fn vm(&self) -> &Vm {
        &self.vm
    }

    /// The outputs with the canary since the last call.
    pub(crate) fn take_heard(&self) -> String {
        std::mem::take(&mut self.files.1.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    pub(crate) fn count_modules(&self, count: usize) {
        self.modules.fetch_add(count, Ordering::Relaxed);
    }

    /// The number of modules that were loaded.
    pub fn modules(&self) -> usize {
        self.modules.load(Ordering::Relaxed)
    }

    /// Checks that the first program of a module answers what the evaluator predicts. The error says what it answered.
    pub fn agrees(&self, module: &[u8], expected: Outcome) -> Result<(), String> {
        let arguments = text::arguments(0).map(Value::Integer).to_vec();
        let found = self.call(FileKind::Binary, module, "0", arguments);
        let agrees = match (&found, expected) {
            (Ok(Value::Integer(answer)), Outcome::Answer(wanted)) => *answer == wanted,
            // Integers of more than 61 bits are objects.
            (Ok(value), Outcome::Answer(wanted)) => self.describe(value) == wanted.to_string(),
            (Err(Error::Exception { class, .. }), Outcome::Fault(fault)) => class == fault.name(),
            _ => false,
        };
        if agrees { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
    }

    /// Loads a module from its file's contents, and calls one of its exports.
    pub fn call(
        &self,
        kind: FileKind,
        bytes: &[u8],
        export: &str,
        arguments: Vec<Value>,
    ) -> Result<Value, Error> {
        self.modules.fetch_add(1, Ordering::Relaxed);
        let module = self.vm.load("program", kind, bytes)?;
        let (vm, export) = (self.vm.clone(), export.to_owned());
        within(LONGEST, move || vm.call_export(&module, &export, &arguments))
            .unwrap_or_else(|_| Err(Error::Kind("an answer: the program does not end")))
    }

    /// The text that an object answers to `asString`; if there is none, the error's text.
    pub fn describe(&self, value: &Value) -> String {
        self.vm.describe(value).unwrap_or_else(|error| error.to_string())
    }

    /// Loads and runs the first of several modules, which may import the others by their names. The error is a mistake
    /// of the machine; refusing senseless modules is none.
    pub fn attack_linked(&self, modules: &[(String, Vec<u8>)]) -> Result<(), String> {
        let number = self.modules.fetch_add(modules.len(), Ordering::Relaxed);
        let path = |name: &str| format!("fuzz/{number}/{name}.sqb");
        let files = || self.files.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        files().extend(modules.iter().map(|(name, bytes)| (path(name), bytes.clone())));
        let loader = self.vm.call(self.vm.platform(), "bytecode", &[]);
        let loader = loader.map_err(|error| format!("there is no loader: {error}"))?;
        for (name, bytes) in modules {
            let loaded = self.vm.call(&loader, "load:", &[Value::Text(path(name))]);
            if let (Ok(value), Ok(module)) = (loaded, format::decode(bytes)) {
                self.attack_from(&module, move |sandbox| sandbox.actor(&value))?;
            }
        }
        files().clear();
        Ok(())
    }

    /// Runs the exports of a verified module, or its class, in a sandbox. The error is a mistake of the machine.
    pub fn attack(&self, module: &Module) -> Result<(), String> {
        let Ok(bytes) = format::encode(module) else { return Ok(()) };
        self.modules.fetch_add(1, Ordering::Relaxed);
        self.attack_from(module, move |sandbox| sandbox.load("hostile", FileKind::Binary, &bytes))
    }

    /// Does this with an actor that begins in a sandbox, if it begins.
    fn attack_from(
        &self,
        module: &Module,
        begin: impl FnOnce(&Sandbox) -> Result<Value, Error> + Send + 'static,
    ) -> Result<(), String> {
        let problem = |what: &str, error: Error| format!("{what}: {error}");
        let sandbox =
            self.vm.sandbox("fuzz", BUDGETS, GRANTS).map_err(|e| problem("no sandbox", e))?;
        let sandbox = Arc::new(sandbox);
        let (vm, module, guarded) = (self.vm.clone(), module.clone(), sandbox.clone());
        let run = move || {
            // Imports may be missing, for instance, and a class that is no value cannot be the root of an actor.
            let Ok(actor) = begin(&guarded) else { return };
            match module.main_class {
                Some(_) => send_messages(&vm, &guarded, &actor, &module),
                None => call_exports(&vm, &actor, &module),
            }
        };
        self.watch(&sandbox, run)?;
        sandbox.terminate().map_err(|error| problem("the sandbox cannot be ended", error))?;
        self.wait_for_end(&sandbox)
    }

    /// Runs work in a sandbox, and ends the sandbox if the work takes long. Answers the work's result.
    pub(crate) fn watch<R: Send + 'static>(
        &self,
        sandbox: &Arc<Sandbox>,
        run: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, String> {
        let (tell, told) = channel();
        let worker = thread::spawn(move || {
            let result = run();
            _ = tell.send(());
            result
        });
        if told.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let sandbox = sandbox.clone();
            thread::spawn(move || sandbox.terminate());
            if told.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                return Err("it goes on though its sandbox was ended".to_owned());
            }
        }
        worker.join().map_err(|_| "there was a panic".to_owned())
    }

    /// Checks that no strand of a sandbox runs for long after the sandbox's end.
    pub(crate) fn wait_for_end(&self, sandbox: &Sandbox) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let usage = sandbox.usage().map_err(|error| format!("the machine is gone: {error}"))?;
            match usage[2] {
                0 => return Ok(()),
                left if begin.elapsed() > LONGEST => {
                    return Err(format!("{left} strands are left of a sandbox that is over"));
                }
                _ => thread::yield_now(),
            }
        }
    }
}

/// Runs work that should not take longer than `limit`.
fn within<R: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, RecvTimeoutError> {
    let (tell, told) = channel();
    thread::spawn(move || _ = tell.send(work()));
    told.recv_timeout(time)
}

fn options(words: &str) -> Result<Options, String> {
    let mut options = Options { max_stack: 4 << 20, ..Options::default() };
    options.heap.max_heap = Some(256 << 20);
    options.heap.gc_threads = Some(1);
    options.scheduler.workers = 2;
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u64>().map_err(|error| format!("{word}: {error}"));
        match key {
            "seed" => options.scheduler.seed = Some(number()?),
            "workers" => options.scheduler.workers = number()?.max(1) as usize,
            "gc-stress" => options.stress_collector(number()?.max(1) as u32),
            "tiny-stacks" => options.tiny_stacks = true,
            "polls" => options.polls_always = true,
            "scheduler" => {
                let policy =
                    SchedulingPolicy::ALL.into_iter().find(|policy| policy.name() == value);
                options.scheduler.policy =
                    policy.ok_or(format!("there is no scheduler {value}"))?;
            }
            _ => return Err(format!("there is no option {key}")),
        }
    }
    Ok(options)
}

/// Calls the exports of a bytecode module with arguments of the right types, as far as there are objects for them.
fn call_exports(vm: &Vm, actor: &Value, module: &Module) {
    for export in module.exports.iter().take(CALLED) {
        let Some(function) = module.functions.get(export.function.index()) else { continue };
        let name = Value::Text(module.string(export.name).to_owned());
        let arguments = Value::List(arguments(module, function));
        _ = vm.call(actor, "call:with:", &[name, arguments]);
    }
}

fn arguments(module: &Module, function: &Function) -> Vec<Value> {
    let types = function.registers.iter().take(function.arguments());
    types.map(|kind| example(module, *kind, 0)).collect()
}

/// Types deeper than this get no example.
const DEEPEST: usize = 8;

/// An object for a type; nil if there is none, which the call refuses.
fn example(module: &Module, kind: RegisterType, depth: usize) -> Value {
    match module.definition(kind) {
        None if kind == RegisterType::Bool => Value::Boolean(true),
        None if kind.is_float() => Value::Double(1.5),
        None => Value::Integer(3),
        _ if depth > DEEPEST => Value::Nil,
        Some(TypeDefinition::Tuple(parts)) => {
            Value::List(parts.iter().map(|part| example(module, *part, depth + 1)).collect())
        }
        Some(TypeDefinition::List(element)) => {
            Value::List(vec![example(module, *element, depth + 1); 3])
        }
        Some(TypeDefinition::Map(key, value)) => {
            let pair = [*key, *value].map(|part| example(module, part, depth + 1));
            Value::List(vec![Value::List(pair.to_vec())])
        }
        Some(_) => Value::Nil,
    }
}

/// Makes an instance of a module's main class, and sends it messages.
fn send_messages(vm: &Vm, sandbox: &Sandbox, actor: &Value, module: &Module) {
    let Some(class) = module.main_class.and_then(|id| module.classes.get(id.index())) else {
        return;
    };
    let send = |receiver: &Value, selector: &str| {
        let arguments = vec![Value::Integer(3); selector_arity(selector)];
        vm.call(receiver, selector, &arguments)
    };
    let Ok(instance) = send(actor, module.string(class.factory_selector)) else { return };
    // A value runs where the message is sent; this keeps the message in the sandbox.
    let Ok(instance) = sandbox.actor(&instance) else { return };
    for method in class.methods.iter().take(CALLED) {
        _ = send(&instance, module.string(method.selector));
    }
}
