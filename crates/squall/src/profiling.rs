//! Profiles of a run: a native thread of its own, the ticker, asks for samples, and a recording of some events adds up the
//! waits. The command line begins and ends a profile.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use squall_events::profile::waits::{KINDS, Table, Waits};
use squall_events::profile::{Profile, Samples};
use squall_runtime::state::recording::VmNames;
use squall_runtime::state::vm::Vm;

use crate::machine::Machine;
use crate::recording::Recording;
use crate::ticker::Ticker;

/// A profile in progress.
pub struct Profiling {
    vm: &'static Vm,
    period: Duration,
    waits: Arc<Mutex<Table>>,
    recording: Recording,
    ticker: Option<Ticker>,
}

impl Machine {
    /// Begins a profile with a sample for each period. The machine has run no program yet.
    pub fn profile(&mut self, period: Duration) -> Profiling {
        let vm = self.vm();
        let (sink, waits) = Waits::new();
        vm.sampling.begin();
        self.take_sampler();
        let recording = self.record(&KINDS, |_| Box::new(sink));
        let ticker = Ticker::begin("ticker", period, move || vm.ask_for_samples());
        Profiling { vm, period, waits, recording, ticker }
    }
}

impl Profiling {
    /// Ends the profile, and answers it with all names.
    pub fn end(self) -> Profile {
        self.ticker.into_iter().for_each(Ticker::end);
        _ = self.recording.end();
        let all = self.vm.sampling.all();
        let locked: Vec<_> = all.iter().map(|samples| samples.lock()).collect();
        let samples: Vec<&Samples> = locked.iter().map(|samples| &**samples).collect();
        let period = self.period.as_nanos() as u64;
        Profile::new(period, &samples, &self.waits.lock(), &VmNames(self.vm))
    }
}
