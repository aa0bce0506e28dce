//! Records the events of a run: turns the machine's log on, and has a native thread of its own give the events to a sink
//! while the program runs. The command line begins and ends a recording.
//!
//! Under a seed there is no such thread: see [`squall_events::log`].

use std::time::Duration;

use squall_events::{Kind, Names, Sink};
use squall_runtime::state::recording::VmNames;
use squall_runtime::state::vm::Vm;

use crate::machine::Machine;
use crate::ticker::Ticker;

/// How often the buffers are emptied: they hold the events of more time even at the greatest rate.
const PERIOD: Duration = Duration::from_millis(2);

/// A recording in progress.
pub struct Recording {
    vm: &'static Vm,
    drainer: Option<Ticker>,
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
        // Without another native thread, what the buffers hold is kept, and the rest is counted as lost.
        let drainer = (!vm.events.is_seeded())
            .then(|| Ticker::begin("recorder", PERIOD, move || vm.events.drain()))
            .flatten();
        Recording { vm, drainer }
    }
}

impl Recording {
    /// Ends the recording: the sink gets all that is left.
    pub fn end(self) -> Recorded {
        self.drainer.into_iter().for_each(Ticker::end);
        let sink = self.vm.events.end();
        Recorded { lost: self.vm.events.lost(), failure: sink.and_then(|sink| sink.failure()) }
    }
}
