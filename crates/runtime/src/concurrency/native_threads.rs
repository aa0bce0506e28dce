//! Native threads that the program has made, and the main thread that the embedder lends. Primitives start them; each
//! runs a bound worker. Their use is in [`crate::state::affinity`].

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use squall_heap::Word;
use squall_scheduler::WorkerId;

use crate::concurrency::sandbox::grants;
use crate::concurrency::worker;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::string::make_string;
use crate::state::affinity::{Entry, Home};
use crate::state::fences;
use crate::state::thread::{Thread, Window};
use crate::state::vm::Vm;
use squall_heap::CollectionKind;

/// Starts a native thread for the guest object that is the window's last word; answers its home. *GC point.*
pub fn start(thread: &mut Thread, name: String, window: Window) -> Result<Home, Failure> {
    let vm = thread.vm;
    let Some(id) = reserve(thread) else {
        return Err(unsupported(thread, "one more native thread"));
    };
    let (home, object) = (Home::of(id), window.get(window.len() - 1));
    vm.native_threads.entries.lock().insert(home.bits(), Entry { object, name: name.clone() });
    // The system's names end with a zero.
    let builder = std::thread::Builder::new().name(name.replace('\0', ""));
    if builder.spawn(move || serve(vm, home)).is_err() {
        vm.native_threads.entries.lock().remove(&home.bits());
        vm.scheduler.release_bound(id);
        return Err(unsupported(thread, "one more native thread"));
    }
    Ok(home)
}

/// A number for a native thread. If all are taken, some native threads may have been dismissed and still be leaving, which
/// takes a moment; if none is, a collection may find some without references, which leave then. *GC point.*
fn reserve(thread: &mut Thread) -> Option<WorkerId> {
    let scheduler = &thread.vm.scheduler;
    let id = scheduler.reserve_bound();
    // In a native section, since threads that leave may wait for a collection.
    let id = id.or_else(|| thread.mutator.native(|| scheduler.reserve_bound_of_leaving()));
    id.or_else(|| {
        thread.mutator.collect(CollectionKind::Full);
        thread.mutator.native(|| scheduler.reserve_bound_of_leaving())
    })
}

/// Makes a guest object the one for the main thread, unless there is one; answers its home. The thread need not
/// be there.
pub fn register_main(thread: &Thread, object: Word) -> Result<Home, Failure> {
    let vm = thread.vm;
    let home = vm.native_threads.main(vm)?;
    if let Some(entry) = vm.native_threads.entries.lock().get_mut(&home.bits())
        && entry.object == Word::NIL
    {
        entry.object = object;
    }
    Ok(home)
}

/// The grant that a sandbox needs to bind strands to native threads.
pub(crate) const NATIVE_THREADS: &str = "nativeThreads";

/// The home with this number or, for nil, that of those without one, which is there from now on.
/// *GC point.*
pub fn home_argument(thread: &mut Thread, word: Word) -> Result<Home, Failure> {
    if word == Word::NIL {
        return Ok(Home::ANYWHERE);
    }
    grants::check(thread, NATIVE_THREADS, "a native thread of one's own")?;
    let vm = thread.vm;
    let home = vm.native_threads.home(word).ok_or(Failure::argument(word))?;
    if vm.native_threads.main.get() == Some(&home) && !call_main(vm, home) {
        return Err(unsupported(thread, "the main thread, which the embedder keeps,"));
    }
    Ok(home)
}

/// Whether the calling thread is the one that this guest object stands for: for calls of libraries that are
/// confined to it. If it is not, the object is sent `do:withArguments:`, and the call comes again from there.
pub fn is_here(thread: &Thread, native_thread: Word) -> bool {
    let here = thread.home;
    here != Home::ANYWHERE && thread.vm.native_threads.object(here) == native_thread
}

/// The failure for something that is not supported. *GC point.*
pub fn unsupported(thread: &mut Thread, what: &str) -> Failure {
    match make_string(thread, what) {
        Ok(what) => Failure::with(FailureReason::NotSupported, what, Word::NIL),
        Err(failure) => failure,
    }
}

/// The loop of a native thread that belongs to an object of the program. *GC point.*
fn serve(vm: &'static Vm, home: Home) {
    let Some(id) = home.worker() else { return };
    let mut thread = Thread::attach_bound(vm, id);
    // Until it is dismissed, or the program ends.
    worker::work(&mut thread, |_| false);
}

/// Where the main thread waits until a machine needs it.
static MAIN_THREAD: Loan = Loan { state: Mutex::new(Lent::No), called: Condvar::new() };

/// The lock is one of the standard library: it keeps no list of the threads that wait, in which a copy of the process
/// would find a thread that it does not have ([`copies`](super::copies)).
struct Loan {
    state: Mutex<Lent>,
    called: Condvar,
}

impl Loan {
    fn state(&self) -> MutexGuard<'_, Lent> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Lent {
    /// No strand waits.
    No,
    /// It waits.
    Waits,
    /// It is to serve this machine.
    Called(&'static Vm, Home),
    /// It serves one.
    Serves,
}

/// Has the main thread come; whether there is one that does.
fn call_main(vm: &'static Vm, home: Home) -> bool {
    let called = &vm.native_threads.is_main_called;
    if called.load(Ordering::Relaxed) {
        return true;
    }
    let mut state = MAIN_THREAD.state();
    match *state {
        Lent::No => return false,
        Lent::Called(..) | Lent::Serves => {}
        Lent::Waits => {
            *state = Lent::Called(vm, home);
            MAIN_THREAD.called.notify_one();
        }
    }
    called.store(true, Ordering::Relaxed);
    true
}

/// Runs `work` on a native thread of its own, and lends the calling one, which should be the process's main
/// thread, to the machine that `work` starts. `work` is to end the process, since this does not return
/// before it has.
///
/// If the system has no other thread, `work` runs on this one. *GC point.*
pub fn lend_main_thread(work: impl FnOnce() + Send + 'static) {
    fences::prepare();
    *MAIN_THREAD.state() = Lent::Waits;
    // The system takes it only if it has a thread for it.
    let place = Arc::new(Mutex::new(Some(work)));
    let other = Arc::clone(&place);
    let builder = std::thread::Builder::new().name("program".into()).stack_size(PROGRAM_STACK);
    let program = builder.spawn(move || {
        let _end = EndOfLoan;
        run(&other);
    });
    match program {
        Ok(program) => {
            serve_machine();
            _ = program.join();
        }
        Err(_) => {
            drop(EndOfLoan);
            run(&place);
        }
    }
}

fn run(place: &Mutex<Option<impl FnOnce()>>) {
    let work = place.lock().unwrap_or_else(PoisonError::into_inner).take();
    work.into_iter().for_each(|work| work());
}

/// However the program ends, the main thread does not wait any more.
struct EndOfLoan;

impl Drop for EndOfLoan {
    fn drop(&mut self) {
        *MAIN_THREAD.state() = Lent::No;
        MAIN_THREAD.called.notify_one();
    }
}

/// As much as main threads have.
const PROGRAM_STACK: usize = 8 << 20;

/// In a copy of the process, which lacks the main thread: another one waits in its place, if it waited.
pub(super) fn replace_main_thread() {
    if matches!(*MAIN_THREAD.state(), Lent::Waits) {
        let builder = std::thread::Builder::new().name("main".into()).stack_size(PROGRAM_STACK);
        if builder.spawn(serve_machine).is_err() {
            *MAIN_THREAD.state() = Lent::No;
        }
    }
}

/// Waits until a machine needs the calling thread, and serves it to its end, or until none will.
/// *GC point.*
fn serve_machine() {
    let mut state = MAIN_THREAD.state();
    while matches!(*state, Lent::Waits) {
        state = MAIN_THREAD.called.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    if let Lent::Called(vm, home) = *state {
        *state = Lent::Serves;
        drop(state);
        serve(vm, home);
    }
}
