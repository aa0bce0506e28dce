//! The machine as the embedder's native threads use it: one native thread serves it, and all others call it. Embedders
//! in Rust and `squall-capi` call these functions.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use squall_newspeak::Source;
use squall_runtime::concurrency::embedding::calls::{self, Call, Site};
use squall_runtime::concurrency::embedding::value::native_of_main;
use squall_runtime::concurrency::embedding::{errands, functions};
use squall_runtime::state::fences;
use squall_runtime::state::thread::Thread;

use super::{Error, Value};
use crate::compiler::{FileKind, module_from_bytes};
use crate::host::Embedding;
use crate::machine::Machine;
use crate::options::Options;
use crate::surroundings::Surroundings;

/// The machine of this process. Copies stand for the same machine; it ends when the last copy is dropped.
#[derive(Clone)]
pub struct Vm(Arc<Running>);

/// A running machine.
struct Running {
    vm: &'static squall_runtime::state::vm::Vm,
    embedding: &'static Embedding,
    verify_all: bool,
    /// The exit code, set when the machine has ended.
    exit: Arc<OnceLock<i32>>,
    /// The native thread that serves it.
    server: Mutex<Option<std::thread::JoinHandle<()>>>,
    modules: AtomicU64,
    platform: Value,
    host: Value,
    /// The process that has the machine's native threads.
    process: u32,
}

/// A module that the machine can load, but has not loaded.
pub(super) struct Prepared {
    /// The path by which the machine finds it.
    pub key: String,
    /// Whether loading it gives a class.
    pub has_class: bool,
}

/// The greatest size of the native stack of the machine's first native thread.
const NATIVE_STACK: usize = 8 << 20;

/// With a seed, a caller that waits for an answer checks at this interval whether the running native thread is in a
/// native function.
const SEEDED_PATIENCE: Duration = Duration::from_millis(1);

/// The serving thread's message just before it serves.
struct Started {
    vm: &'static squall_runtime::state::vm::Vm,
    embedding: &'static Embedding,
    platform: Value,
    host: Value,
}

impl Vm {
    /// Starts the machine of this process.
    pub fn start(options: Options, surroundings: impl Surroundings + 'static) -> Result<Vm, Error> {
        static IS_TAKEN: AtomicBool = AtomicBool::new(false);
        if IS_TAKEN.swap(true, Ordering::SeqCst) {
            return Err(Error::AlreadyStarted);
        }
        fences::prepare();
        let verify_all = options.verify_all;
        let exit = Arc::new(OnceLock::new());
        let (tell, told) = sync_channel(1);
        let server = std::thread::Builder::new().name("squall".into()).stack_size(NATIVE_STACK);
        let code = exit.clone();
        let server = server.spawn(move || match prepare(options, surroundings) {
            Ok((machine, started)) => {
                _ = tell.send(Ok(started));
                drop(tell);
                _ = code.set(machine.serve());
            }
            Err(error) => _ = tell.send(Err(error)),
        });
        let server = server.map_err(|error| Error::Start(error.to_string()))?;
        let started = told.recv().map_err(|_| Error::Start("its native thread ended".into()))?;
        let Started { vm, embedding, platform, host } = started?;
        Ok(Vm(Arc::new(Running {
            vm,
            embedding,
            verify_all,
            exit,
            server: Mutex::new(Some(server)),
            modules: AtomicU64::new(0),
            platform,
            host,
            process: std::process::id(),
        })))
    }

    /// The platform object: all the authority that the options allow.
    pub fn platform(&self) -> &Value {
        &self.0.platform
    }

    /// The library's object for the embedder's requests.
    pub(super) fn host(&self) -> &Value {
        &self.0.host
    }

    /// Loads a module. Answers its class, which has no authority; for bytecode without a class, answers the object
    /// whose exports [`Vm::call_export`] calls. The path is the module's name in traces and diagnostics.
    pub fn load(&self, path: &str, kind: FileKind, bytes: &[u8]) -> Result<Value, Error> {
        self.load_prepared(&self.prepare(path, kind, bytes)?)
    }

    /// Makes a module known to the machine. No code of it runs yet.
    pub(super) fn prepare(
        &self,
        path: &str,
        kind: FileKind,
        bytes: &[u8],
    ) -> Result<Prepared, Error> {
        let module = match kind {
            FileKind::Newspeak => crate::compiler::compile_newspeak(
                Source::from_bytes(path, bytes),
                self.0.verify_all,
            ),
            kind => module_from_bytes(path, kind, bytes, self.0.verify_all),
        };
        let (module, number) = (module?, self.0.modules.fetch_add(1, Ordering::Relaxed));
        let prepared = Prepared {
            key: format!("host:{number}"),
            has_class: module.module().main_class.is_some(),
        };
        self.0.embedding.prepared.lock().insert(prepared.key.clone(), module.into_module());
        Ok(prepared)
    }

    /// Loads a prepared module.
    pub(super) fn load_prepared(&self, prepared: &Prepared) -> Result<Value, Error> {
        let selector = if prepared.has_class { "load:" } else { "bytecode:" };
        self.ask(selector, &[Value::Text(prepared.key.clone())])
    }

    /// Sends a message to a guest object, and waits for the answer. The message reaches public and protected methods.
    /// If the receiver is a far reference, its actor processes the message, beside the messages in its mailbox.
    pub fn call(
        &self,
        receiver: &Value,
        selector: &str,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        self.check_arguments(selector, arguments)?;
        self.send(Site::Main, receiver, selector, arguments)
    }

    /// Calls a function that a module of bytecode exports, or runs an exported process, and waits for its end. Tuples
    /// and lists are passed as lists, maps as lists of pairs, ends of channels as guest objects.
    pub fn call_export(
        &self,
        module: &Value,
        name: &str,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        let arguments = [Value::Text(name.to_owned()), Value::List(arguments.to_vec())];
        self.call(module, "call:with:", &arguments)
    }

    /// Waits until a promise is resolved, and answers its value. Any other value is answered at once.
    pub fn wait_for(&self, promise: &Value) -> Result<Value, Error> {
        self.ask("awaitResult:", std::slice::from_ref(promise))
    }

    /// Evaluates a block, and waits for its answer.
    pub fn evaluate(&self, block: &Value, arguments: &[Value]) -> Result<Value, Error> {
        let selectors = ["value", "value:", "value:with:", "value:with:with:"];
        match selectors.get(arguments.len()) {
            Some(selector) => self.call(block, selector, arguments),
            None => Err(Error::Argument),
        }
    }

    fn check_arguments(&self, selector: &str, arguments: &[Value]) -> Result<(), Error> {
        match squall_bytecode::module::selector_arity(selector) == arguments.len() {
            true => Ok(()),
            false => Err(Error::Argument),
        }
    }

    /// Sends a message to the library's object for requests.
    pub(super) fn ask(&self, selector: &str, arguments: &[Value]) -> Result<Value, Error> {
        self.send(Site::Main, self.host(), selector, arguments)
    }

    /// Sends a message, and waits for the answer.
    pub(super) fn send(
        &self,
        place: Site,
        receiver: &Value,
        selector: &str,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        let (answer, answered) = sync_channel(1);
        let call = Call {
            receiver: receiver.clone(),
            selector: selector.to_owned(),
            arguments: arguments.to_vec(),
            place,
            answer,
        };
        self.leave(|thread| calls::begin(thread, call));
        Ok(self.wait(&answered)??)
    }

    /// Has a worker run `work`, and waits for it.
    pub(super) fn do_inside<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Thread) -> R + Send + 'static,
    ) -> Result<R, Error> {
        let (answer, answered) = sync_channel(1);
        self.leave(move |thread| _ = answer.send(work(thread)));
        self.wait(&answered)
    }

    /// Waits for an answer of the machine. With a seed, one native thread runs at a time. If it stays in a native
    /// function for long, another one takes over, since the function may be waiting for this very answer.
    fn wait<R>(&self, answered: &Receiver<R>) -> Result<R, Error> {
        let scheduler = &self.0.vm.scheduler;
        let mut seen = None;
        loop {
            let answer = match scheduler.is_seeded() {
                true => answered.recv_timeout(SEEDED_PATIENCE),
                false => answered.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match answer {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => seen = scheduler.relieve_outside(seen),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            }
        }
    }

    /// Has a worker run an errand. If the process has none, the errand is dropped, and [`Vm::wait`] finds that out.
    fn leave(&self, errand: impl FnOnce(&mut Thread) + Send + 'static) {
        if !self.0.is_forked() {
            errands::leave(self.0.vm, errand);
        }
    }

    /// Registers a native function, which guest code finds in `platform host`. It is called on any native thread of the
    /// machine, several at once if guest code does that. Its errors and panics are a `HostError` for guest code.
    pub fn register(
        &self,
        name: &str,
        function: impl Fn(&[Value]) -> Result<Value, String> + Send + Sync + 'static,
    ) {
        self.0.vm.concurrency().embedding.functions.register(name, Arc::new(function));
    }

    /// Lets guest code find a value in `platform host`.
    pub fn provide(&self, name: &str, value: Value) {
        self.0.vm.concurrency().embedding.functions.provide(name, value);
    }

    /// The text that the object answers to `asString`.
    pub fn describe(&self, value: &Value) -> Result<String, Error> {
        match self.call(value, "asString", &[])? {
            Value::Text(text) => Ok(text),
            _ => Err(Error::Kind("a string")),
        }
    }

    /// The elements of a collection, as they are now.
    pub fn elements(&self, collection: &Value) -> Result<Vec<Value>, Error> {
        let array = match self.ask("elements:", std::slice::from_ref(collection))? {
            Value::Object(array) => array,
            Value::List(elements) => return Ok(elements),
            _ => return Err(Error::Kind("a collection")),
        };
        self.do_inside(move |thread| {
            let word = thread.vm.concurrency().embedding.kept.word(&array);
            let array = word.as_object().filter(|object| object.layout().format().has_elements());
            let array = array.ok_or(Error::Kind("a collection"))?;
            let elements = (0..array.length()).map(|index| array.element(index));
            Ok(elements.map(|element| native_of_main(thread, element)).collect())
        })?
    }

    /// The number of objects that native code holds, or held at the last collection.
    pub fn objects_held(&self) -> usize {
        self.0.vm.concurrency().embedding.kept.count()
    }

    /// Collects all garbage.
    pub fn collect_garbage(&self) -> Result<(), Error> {
        self.do_inside(|thread| thread.mutator.collect(squall_heap::CollectionKind::Full))
    }

    pub(super) fn runtime(&self) -> &'static squall_runtime::state::vm::Vm {
        self.0.vm
    }

    fn ended(&self) -> Error {
        if self.0.is_forked() {
            return Error::Forked;
        }
        let code = self.0.exit.get().copied();
        Error::Ended(code.or_else(|| self.0.vm.ended.code()))
    }

    /// Ends the machine: calls that wait for an answer get [`Error::Ended`]. Waits until its first native thread has
    /// ended, unless that thread is the caller. Answers the exit code; if the machine had ended before, this is the
    /// code of that end.
    pub fn end(&self, code: i32) -> i32 {
        self.0.end(code)
    }
}

impl Running {
    /// Whether this process is a fork of the machine's.
    fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    fn end(&self, code: i32) -> i32 {
        if self.is_forked() {
            return code;
        }
        if self.vm.ended.code().is_none() {
            self.vm.end(code);
        }
        let server = self.server.lock().take();
        let is_elsewhere = |server: &std::thread::JoinHandle<()>| {
            server.thread().id() != std::thread::current().id() && !functions::is_inside()
        };
        if let Some(server) = server.filter(is_elsewhere) {
            _ = server.join();
        }
        self.exit.get().copied().unwrap_or(code)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(0);
    }
}

/// Starts the machine on the calling native thread, which will serve it. *GC point.*
fn prepare(
    options: Options,
    surroundings: impl Surroundings + 'static,
) -> Result<(Machine, Started), Error> {
    let mut machine = Machine::start(options, surroundings)?;
    let platform = machine.platform();
    let host = machine.library_instance("Host").map_err(|error| Error::Start(error.to_string()))?;
    let started = machine.started(platform, host);
    Ok((machine, started))
}

impl Machine {
    fn started(
        &mut self,
        platform: squall_heap::RootHandle,
        host: squall_heap::RootHandle,
    ) -> Started {
        let (vm, embedding) = self.parts();
        let value = |handle| native_of_main(self.thread(), self.thread().mutator.get(handle));
        let (platform, host) = (value(platform), value(host));
        self.release(0);
        vm.concurrency().embedding.calls.serve(vm);
        Started { vm, embedding, platform, host }
    }
}
