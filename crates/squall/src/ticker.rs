//! Native threads that do something once in a period, beside the machine. Recordings and profiles have one each.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A native thread in its periods.
pub(crate) struct Ticker {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Ticker {
    /// Does something once in a period; `None` if the system has no thread.
    pub(crate) fn begin(
        name: &str,
        period: Duration,
        action: impl Fn() + Send + 'static,
    ) -> Option<Ticker> {
        let (end, ended) = channel();
        let thread = std::thread::Builder::new().name(name.into());
        let thread = thread.spawn(move || {
            let mut next = Instant::now() + period;
            while ended.recv_timeout(next.saturating_duration_since(Instant::now()))
                == Err(RecvTimeoutError::Timeout)
            {
                action();
                // A period that ended late is no reason for two at once.
                next = (next + period).max(Instant::now());
            }
        });
        Some(Ticker { end, thread: thread.ok()? })
    }

    /// Ends the thread, and waits for its end.
    pub(crate) fn end(self) {
        drop(self.end);
        // It panics only if the action did.
        _ = self.thread.join();
    }
}
