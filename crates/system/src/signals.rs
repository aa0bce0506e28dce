//! Signals that ask the process to end. A program may watch for them, to end in good order; the embedder may do some
//! work before they have their usual effect. The runtime's signal primitives and the command line call this module.
//!
//! One thread takes all signals, so one place decides about them, and a signal handler has nothing to do. If programs
//! *watch* for a signal, the first one of its kind goes to all watches, which then end for that kind. Otherwise, for an
//! interrupt, or for the first signal of all, the embedder may have work to do instead of its end. If not, the signal has its usual effect: the embedder's
//! last work is done, for `LAST_WAIT` at most, and the process ends by the signal's default action.
//!
//! The thread is started at the first watch or the first request for such work; until then the process has no handlers.
//! A watch is a source for the poller: the thread writes into its pipe.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals as Arrivals};
use signal_hook::low_level;

use crate::poller::{Poller, READING, Registration};

/// The signals by name.
const NAMES: [(&str, i32); 3] = [("terminate", SIGTERM), ("interrupt", SIGINT), ("hangup", SIGHUP)];

/// The time limit of the work before the end: it may write into a full pipe that has no reader.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// A program's watch for signals.
pub struct Signals {
    /// Dropped before the descriptor.
    registration: Registration,
    watch: Arc<Watch>,
}

/// The part that the thread and the watching program share.
struct Watch {
    /// The program's end of the pipe, and the thread's.
    pipe: (UnixStream, UnixStream),
    /// The [`NAMES`] that have come.
    have_come: [AtomicBool; NAMES.len()],
}

impl Signals {
    /// Watches for the signals with these names from now on.
    pub fn open(poller: &Poller, names: &[String]) -> io::Result<Signals> {
        let pipe = UnixStream::pair()?;
        pipe.0.set_nonblocking(true)?;
        pipe.1.set_nonblocking(true)?;
        let registration = poller.register(&pipe.0, READING)?;
        let watch = Arc::new(Watch { pipe, have_come: Default::default() });
        let signals = Signals { registration, watch };
        for name in names {
            let index = NAMES.iter().position(|(known, _)| known == name);
            desk()?.watch(index.ok_or(io::ErrorKind::InvalidInput)?, &signals.watch)?;
        }
        Ok(signals)
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The name of a signal that has come.
    pub fn take(&self) -> io::Result<&'static str> {
        if let Some(name) = self.flagged() {
            return Ok(name);
        }
        // Signals that come in quick succession count as one.
        _ = (&self.watch.pipe.0).read(&mut [0; 64])?;
        self.flagged().ok_or(io::ErrorKind::WouldBlock.into())
    }

    fn flagged(&self) -> Option<&'static str> {
        let mut flags = self.watch.have_come.iter();
        let index = flags.position(|flag| flag.swap(false, Ordering::AcqRel))?;
        Some(NAMES[index].0)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if let Ok(desk) = desk() {
            desk.forget(&self.watch);
        }
    }
}

/// Runs `work`, and what was given before, when a signal ends the process. `ignored` has the numbers of the signals that the process was started
/// to ignore; they stay ignored.
pub fn before_the_end(ignored: &[i32], work: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
    let desk = desk()?;
    desk.state.lock().last_work.push(Arc::new(work));
    let handled = NAMES.iter().map(|(_, signal)| *signal);
    handled.filter(|signal| !ignored.contains(signal)).try_for_each(|signal| desk.handle(signal))
}

/// From now on, an interrupt does this, and does not end the process, unless a program watches for it.
pub fn instead_of_interrupts(work: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
    let desk = desk()?;
    desk.state.lock().at_interrupts = Some(Arc::new(work));
    desk.handle(SIGINT)
}

/// The next signal, unless a program watches for it, does this, and does not end the process: the work gets the signal's number. A later
/// one has its usual effect. For the signals in `ignored`, see [`before_the_end`].
pub fn instead_of_the_first(
    ignored: &[i32],
    work: impl FnOnce(i32) + Send + 'static,
) -> io::Result<()> {
    let desk = desk()?;
    desk.state.lock().at_first = Some(Box::new(work));
    let handled = NAMES.iter().map(|(_, signal)| *signal);
    handled.filter(|signal| !ignored.contains(signal)).try_for_each(|signal| desk.handle(signal))
}

/// This process is a copy of another one, and has none of its threads: if signals were taken there, they are taken here as well.
pub fn begin_again() {
    let Some(desk) = DESK.get() else { return };
    let signals = desk.state.lock().handled.clone();
    let Ok(arrivals) = Arrivals::new(signals) else { return };
    *desk.handle.lock() = arrivals.handle();
    // Without the thread, signals have no effect.
    _ = desk.serve(arrivals);
}

/// The place where signals arrive.
struct Desk {
    handle: Mutex<Handle>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The watches for each of [`NAMES`].
    watches: [Vec<Arc<Watch>>; NAMES.len()],
    /// The signals that the thread takes.
    handled: Vec<i32>,
    /// The work before a signal ends the process.
    last_work: Vec<Arc<dyn Fn() + Send + Sync>>,
    /// The work at the first signal, which then does not end the process.
    at_first: Option<Box<dyn FnOnce(i32) + Send>>,
    /// The work at an interrupt, which then does not end the process.
    at_interrupts: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// The process's one desk.
static DESK: OnceLock<&Desk> = OnceLock::new();

/// The process's one desk, with its thread.
fn desk() -> io::Result<&'static Desk> {
    static OPENING: Mutex<()> = Mutex::new(());
    let _guard = OPENING.lock();
    if let Some(desk) = DESK.get() {
        return Ok(desk);
    }
    let arrivals = Arrivals::new(&[] as &[i32])?;
    let desk = Desk { handle: Mutex::new(arrivals.handle()), state: Mutex::default() };
    let desk: &'static Desk = Box::leak(Box::new(desk));
    desk.serve(arrivals)?;
    // Last: without the thread no signal may be handled.
    Ok(*DESK.get_or_init(|| desk))
}

impl Desk {
    /// Starts the thread that takes the signals which arrive.
    fn serve(&'static self, mut arrivals: Arrivals) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("signals".into());
        thread.spawn(move || arrivals.forever().for_each(|signal| self.take(signal)))?;
        Ok(())
    }

    fn handle(&self, signal: i32) -> io::Result<()> {
        self.handle.lock().add_signal(signal)?;
        let handled = &mut self.state.lock().handled;
        if !handled.contains(&signal) {
            handled.push(signal);
        }
        Ok(())
    }

    fn watch(&self, index: usize, watch: &Arc<Watch>) -> io::Result<()> {
        // In this order: a signal that comes in between finds the watch.
        self.state.lock().watches[index].push(watch.clone());
        self.handle(NAMES[index].1)
    }

    fn forget(&self, watch: &Arc<Watch>) {
        let mut state = self.state.lock();
        state.watches.iter_mut().for_each(|list| list.retain(|other| !Arc::ptr_eq(other, watch)));
    }

    /// Handles a signal. Called by the thread.
    fn take(&self, signal: i32) {
        let Some(index) = NAMES.iter().position(|(_, known)| *known == signal) else { return };
        let mut state = self.state.lock();
        let watches = std::mem::take(&mut state.watches[index]);
        if !watches.is_empty() {
            return watches.iter().for_each(|watch| watch.tell(index));
        }
        let at_first = state.at_first.take();
        let last_work = state.last_work.clone();
        let at_interrupts = state.at_interrupts.clone();
        drop(state);
        if let Some(work) = at_first {
            return work(signal);
        }
        if signal == SIGINT
            && let Some(work) = at_interrupts
        {
            return work();
        }
        if !last_work.is_empty() {
            do_in_time(move || last_work.iter().for_each(|work| work()));
        }
        _ = low_level::emulate_default_handler(signal);
    }
}

impl Watch {
    fn tell(&self, index: usize) {
        // In this order: the reader of the byte finds the flag. A full pipe wakes its reader, too.
        self.have_come[index].store(true, Ordering::Release);
        _ = (&self.pipe.1).write(&[1]);
    }
}

/// Runs `work` on a thread, and waits for it for [`LAST_WAIT`] at most.
fn do_in_time(work: impl FnOnce() + Send + 'static) {
    let (tell, told) = channel();
    let thread = std::thread::Builder::new().name("last-work".into());
    let begun = thread.spawn(move || {
        work();
        _ = tell.send(());
    });
    if begun.is_ok() {
        _ = told.recv_timeout(LAST_WAIT);
    }
}
