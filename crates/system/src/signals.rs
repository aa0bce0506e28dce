//! Signals that a program looks at, to end in good order.
//!
//! The handler sets a flag and writes a byte into a pipe, which is all that a handler may do; the pipe is
//! a source like others. The first signal of a kind is the program's; those after it have their usual
//! effect, and so have all when the program does not look any more.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::poller::{Poller, READING, Registration};

/// Signals that the program looks at.
pub struct Signals {
    /// Dropped before the descriptor.
    registration: Registration,
    pipe: UnixStream,
    watched: Vec<Watched>,
}

struct Watched {
    /// Which of [`NAMES`] it is.
    index: usize,
    has_come: Arc<AtomicBool>,
    actions: [SigId; 2],
}

/// The signals by name.
const NAMES: [(&str, i32); 3] = [("terminate", SIGTERM), ("interrupt", SIGINT), ("hangup", SIGHUP)];

impl Signals {
    /// Looks at the signals with these names from now on.
    pub fn open(poller: &Poller, names: &[String]) -> io::Result<Signals> {
        let (pipe, handlers_end) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        handlers_end.set_nonblocking(true)?;
        let registration = poller.register(&pipe, READING)?;
        let mut signals = Signals { registration, pipe, watched: Vec::new() };
        for name in names {
            signals.watch(name, handlers_end.try_clone()?)?;
        }
        Ok(signals)
    }

    fn watch(&mut self, name: &str, handlers_end: UnixStream) -> io::Result<()> {
        let index = NAMES.iter().position(|(known, _)| *known == name);
        let index = index.ok_or(io::ErrorKind::InvalidInput)?;
        let signal = NAMES[index].1;
        has_usual_effect(index)?.store(false, Ordering::Release);
        let has_come = Arc::new(AtomicBool::new(false));
        // In this order: who reads the byte finds the flag.
        let flag = flag::register(signal, has_come.clone())?;
        let byte = low_level::pipe::register(signal, handlers_end)?;
        self.watched.push(Watched { index, has_come, actions: [flag, byte] });
        Ok(())
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The name of a signal that has come.
    pub fn take(&self) -> io::Result<&'static str> {
        if let Some(name) = self.flagged() {
            return Ok(name);
        }
        // Signals that come quickly are one.
        _ = (&self.pipe).read(&mut [0; 64])?;
        self.flagged().ok_or(io::ErrorKind::WouldBlock.into())
    }

    fn flagged(&self) -> Option<&'static str> {
        let has_come = |watched: &&Watched| watched.has_come.swap(false, Ordering::AcqRel);
        self.watched.iter().find(has_come).map(|watched| NAMES[watched.index].0)
    }
}

/// Whether the signal with this place in [`NAMES`] has its usual effect the next time: that itself sets it.
fn has_usual_effect(index: usize) -> io::Result<&'static Arc<AtomicBool>> {
    static FLAGS: [OnceLock<Arc<AtomicBool>>; NAMES.len()] =
        [const { OnceLock::new() }; NAMES.len()];
    static STARTING: Mutex<()> = Mutex::new(());
    let _guard = STARTING.lock();
    if FLAGS[index].get().is_none() {
        let flag = Arc::new(AtomicBool::new(true));
        // In this order: the signal that sets the flag does not find it set.
        flag::register_conditional_default(NAMES[index].1, flag.clone())?;
        flag::register(NAMES[index].1, flag.clone())?;
        _ = FLAGS[index].set(flag);
    }
    Ok(FLAGS[index].get().expect("it was set"))
}

impl Drop for Signals {
    fn drop(&mut self) {
        for Watched { index, actions, .. } in &self.watched {
            if let Ok(flag) = has_usual_effect(*index) {
                flag.store(true, Ordering::Release);
            }
            actions.iter().for_each(|action| _ = low_level::unregister(*action));
        }
    }
}
