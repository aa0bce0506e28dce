//! The machine of this process. There is one for ever, so modules run in it one after the other.
//!
//! What is hostile runs in a sandbox with small budgets, which is ended if it takes its time, and has to be over soon
//! after. Modules and what is linked of them are never freed: whoever runs very many starts a new
//! process now and then, see [`Machine::modules`].

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

use crate::programs::evaluate::Outcome;
use crate::programs::text;

/// The machine of this process.
pub struct Machine {
    vm: Vm,
    files: Files,
    modules: AtomicUsize,
}

/// Files that modules import, by their paths.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<HashMap<String, Vec<u8>>>>);

impl Surroundings for Files {
    fn write_output(&self, _: &str) {}

    fn write_error(&self, _: &str) {}

    fn flush(&self) {}

    fn read_module(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let files = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        files.get(path).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

/// How long a hostile module runs before its sandbox is ended.
const PATIENCE: Duration = Duration::from_millis(250);

/// Longer than this, nothing takes that can be ended.
const LONGEST: Duration = Duration::from_secs(60);

/// What a hostile module may use.
const BUDGETS: Budgets =
    Budgets { fuel: Some(100_000), heap: Some(6 << 20), strands: Some(50), messages: Some(1000) };

/// What it may do to the world: write, and look at the clock.
const GRANTS: &[&str] = &["host:console", "host:clock"];

/// How many exports, or methods, of a hostile module are called.
const CALLED: usize = 8;

impl Machine {
    /// Starts it. The words are like options of `squall run`: `seed=7`, `workers=2`, `scheduler=peered`,
    /// `gc-stress=16`, `tiny-stacks`, `polls`.
    fn start(words: &str) -> Result<Machine, String> {
        let files = Files::default();
        let vm = Vm::start(options(words)?, files.clone()).map_err(|error| error.to_string())?;
        Ok(Machine { vm, files, modules: AtomicUsize::new(0) })
    }

    /// The machine, with the words in `SQUALL_FUZZ`; it is started if it was not.
    pub fn of_process() -> &'static Machine {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(|| {
            let words = std::env::var("SQUALL_FUZZ").unwrap_or_default();
            Machine::start(&words).expect("the machine starts")
        })
    }

    /// How many modules have been loaded.
    pub fn modules(&self) -> usize {
        self.modules.load(Ordering::Relaxed)
    }

    /// Whether the first program of a module answers what the evaluator says. Answers what it has found instead.
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

    /// Loads a module whose file has this content, and calls one of its exports.
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

    /// The text that an object answers to `asString`; an error's, if there is none.
    pub fn describe(&self, value: &Value) -> String {
        self.vm.describe(value).unwrap_or_else(|error| error.to_string())
    }

    /// Loads and runs the first of several modules, which may import the others by their names. Answers what is
    /// wrong with the machine: that the modules are nonsense, it may say.
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

    /// Runs what a verified module exports, or its class, in a sandbox. Answers what is wrong with the machine.
    pub fn attack(&self, module: &Module) -> Result<(), String> {
        let Ok(bytes) = format::encode(module) else { return Ok(()) };
        self.modules.fetch_add(1, Ordering::Relaxed);
        self.attack_from(module, move |sandbox| sandbox.load("hostile", FileKind::Binary, &bytes))
    }

    /// Does so with an actor that begins in a sandbox, if it does.
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
            // Imports may not be there, for instance, and a class that is no value cannot be the root of an actor.
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

    /// Does something in a sandbox, which is ended if that takes its time.
    fn watch(
        &self,
        sandbox: &Arc<Sandbox>,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<(), String> {
        let (tell, told) = channel();
        let worker = thread::spawn(move || {
            run();
            _ = tell.send(());
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

    /// Nothing of a sandbox goes on for long after its end.
    fn wait_for_end(&self, sandbox: &Sandbox) -> Result<(), String> {
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

/// Does something that should not take longer than that.
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

/// Calls what a module of bytecode exports with arguments of the right types, as far as there are objects for them.
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

/// An object for a type; nil, if there is none, which is refused.
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
    // A value runs where it is sent a message, and this is not to run out here.
    let Ok(instance) = sandbox.actor(&instance) else { return };
    for method in class.methods.iter().take(CALLED) {
        _ = send(&instance, module.string(method.selector));
    }
}
