//! A watchdog: ends a machine in which a test takes too long. `testing` starts it.
//!
//! A native thread waits beside the machine's thread, which tells it when a test begins and when it has ended. If the
//! end is late, the watchdog describes all strands and makes the program end, so that the machine's thread returns.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Watches one test at a time.
pub(crate) struct Watchdog {
    /// Alternately a beginning and an end.
    changes: Sender<()>,
    findings: Receiver<Finding>,
}

/// The description of the strands at the time limit; `None` if the limit was not reached.
type Finding = Option<String>;

impl Watchdog {
    /// A watchdog that describes and ends the machine after this time.
    pub(crate) fn new(
        limit: Duration,
        describe: impl Fn() -> String + Send + 'static,
        end: impl Fn() + Send + 'static,
    ) -> std::io::Result<Watchdog> {
        let (changes, told) = channel();
        let (report, findings) = channel();
        let look = move || {
            let text = describe();
            end();
            text
        };
        let thread = std::thread::Builder::new().name("watchdog".into());
        thread.spawn(move || watch(limit, &told, &report, look))?;
        Ok(Watchdog { changes, findings })
    }

    /// A test begins.
    pub(crate) fn begin(&self) {
        self.changes.send(()).expect("the watchdog lives as long as this");
    }

    /// The test has ended. Waits until the watchdog has finished its description, for which all mutators stand still.
    pub(crate) fn end(&self) -> Finding {
        self.changes.send(()).expect("the watchdog lives as long as this");
        self.findings.recv().expect("the watchdog lives as long as this")
    }
}

fn watch(
    limit: Duration,
    changes: &Receiver<()>,
    findings: &Sender<Finding>,
    look: impl Fn() -> String,
) {
    while changes.recv().is_ok() {
        let finding = match changes.recv_timeout(limit) {
            Ok(()) => None,
            Err(RecvTimeoutError::Timeout) => {
                let finding = look();
                _ = changes.recv();
                Some(finding)
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if findings.send(finding).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dog(limit: Duration) -> (Watchdog, Receiver<()>) {
        let (end, ends) = channel();
        let end = move || end.send(()).expect("somebody looks");
        (Watchdog::new(limit, || "spins".to_owned(), end).expect("a thread"), ends)
    }

    #[test]
    fn what_ends_in_time_is_left_alone() {
        let (dog, ends) = dog(Duration::from_secs(3600));
        for _ in 0..3 {
            dog.begin();
            assert_eq!(dog.end(), None);
        }
        assert!(ends.try_recv().is_err());
    }

    #[test]
    fn what_does_not_is_described_and_ended() {
        let (dog, ends) = dog(Duration::from_millis(1));
        dog.begin();
        ends.recv().expect("it is ended");
        assert_eq!(dog.end().as_deref(), Some("spins"));
    }
}
