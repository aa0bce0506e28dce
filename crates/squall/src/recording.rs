//! Records the events of a run: turns the machine's log on, and has a native thread of its own give the events to a sink
//! while the program runs. The command line begins and ends a recording.
//!
//! Under a seed there is no such thread: see [`squall_events::log`].

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use squall_events::{Kind, Names, Sink};
use squall_runtime::state::recording::VmNames;
use squall_runtime::state::vm::Vm;

use crate::machine::Machine;

/// How often the buffers are emptied: they hold the events of more time even at the greatest rate.
const PERIOD: Duration = Duration::from_millis(2);

/// A recording in progress.
pub struct Recording {
    vm: &'static Vm,
    drainer: Option<(Sender<()>, JoinHandle<()>)>,
}

/// How a recording has ended.
pub struct Recorded {
    /// The number of events that were lost, since they came faster than the sink took them.
    pub lost: u64,
    /// Why events could not be kept.
    pub failure: Option<String>,
}

impl Machine {
    /// Begins to record what happens from now on, as far as it is of these kinds. The machine has run no program yet.
    pub fn record(
        &mut self,
        kinds: &[Kind],
        sink: impl FnOnce(Box<dyn Names>) -> Box<dyn Sink>,
    ) -> Recording {
        let vm = self.vm();
        vm.events.begin(kinds, sink(Box::new(VmNames(vm))));
        self.take_port();
        let drainer = if vm.events.is_seeded() { None } else { drain(vm) };
        Recording { vm, drainer }
    }
}

/// Empties the buffers now and then, until the sender is dropped.
fn drain(vm: &'static Vm) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (end, ended) = channel();
    let thread = std::thread::Builder::new().name("recorder".into());
    let drainer = thread.spawn(move || {
        while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            vm.events.drain();
        }
    });
    // Without another native thread, what the buffers hold is kept, and the rest is counted as lost.
    Some((end, drainer.ok()?))
}

impl Recording {
    /// Ends the recording: the sink gets all that is left.
    pub fn end(self) -> Recorded {
        if let Some((end, drainer)) = self.drainer {
            drop(end);
            // It panics only if the sink did.
            _ = drainer.join();
        }
        let sink = self.vm.events.end();
        Recorded { lost: self.vm.events.lost(), failure: sink.and_then(|sink| sink.failure()) }
    }
}
