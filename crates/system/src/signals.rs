//! Signals that a program looks at, to end in good order.
//!
//! The handler sets a flag and writes a byte into a pipe, which is all that a handler may do; the pipe is
//! a source like others. When the program does not look at a signal any more, that has its usual effect
//! again.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// Set when the signals are to have their usual effect.
    is_over: Arc<AtomicBool>,
}

struct Watched {
    name: &'static str,
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
        let is_over = Arc::new(AtomicBool::new(false));
        let mut signals = Signals { registration, pipe, watched: Vec::new(), is_over };
        for name in names {
            signals.watch(name, handlers_end.try_clone()?)?;
        }
        Ok(signals)
    }

    fn watch(&mut self, name: &str, handlers_end: UnixStream) -> io::Result<()> {
        let known = NAMES.iter().find(|(known, _)| *known == name);
        let &(name, signal) = known.ok_or(io::ErrorKind::InvalidInput)?;
        let has_come = Arc::new(AtomicBool::new(false));
        flag::register_conditional_default(signal, self.is_over.clone())?;
        // In this order: who reads the byte finds the flag.
        let flag = flag::register(signal, has_come.clone())?;
        let byte = low_level::pipe::register(signal, handlers_end)?;
        self.watched.push(Watched { name, has_come, actions: [flag, byte] });
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
        self.watched.iter().find(has_come).map(|watched| watched.name)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for action in self.watched.iter().flat_map(|watched| watched.actions) {
            low_level::unregister(action);
        }
        self.is_over.store(true, Ordering::Release);
    }
}
