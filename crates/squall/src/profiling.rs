//! Profiles of a run: a native thread of its own, the ticker, asks for samples. The command line begins and ends a profile.

use std::time::Duration;

use squall_events::profile::{Profile, Samples};
use squall_runtime::state::recording::VmNames;
use squall_runtime::state::vm::Vm;

use crate::machine::Machine;
use crate::ticker::Ticker;

/// A profile in progress.
pub struct Profiling {
    vm: &'static Vm,
    period: Duration,
    ticker: Option<Ticker>,
}

impl Machine {
    /// Begins a profile with a sample for each period. The machine has run no program yet.
    pub fn profile(&mut self, period: Duration) -> Profiling {
        let vm = self.vm();
        vm.sampling.begin();
        self.take_sampler();
        let ticker = Ticker::begin("ticker", period, move || vm.ask_for_samples());
        Profiling { vm, period, ticker }
    }
}

impl Profiling {
    /// Ends the profile, and answers it with all names.
    pub fn end(self) -> Profile {
        self.ticker.into_iter().for_each(Ticker::end);
        let all = self.vm.sampling.all();
        let locked: Vec<_> = all.iter().map(|samples| samples.lock()).collect();
        let samples: Vec<&Samples> = locked.iter().map(|samples| &**samples).collect();
        Profile::new(self.period.as_nanos() as u64, &samples, &VmNames(self.vm))
    }
}
