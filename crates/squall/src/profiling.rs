//! Profiles of a run: a native thread of its own, the ticker, asks for samples, and a recording of some events adds up the
//! waits. The command line begins and ends a profile.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_events::profile::waits::{KINDS, Table, Waits};
use squall_events::profile::{Profile, Samples};
use squall_runtime::state::recording::VmNames;
use squall_runtime::state::vm::Vm;

use crate::machine::Machine;
use crate::recording::Recording;

/// A profile in progress.
pub struct Profiling {
    vm: &'static Vm,
    period: Duration,
    waits: Arc<Mutex<Table>>,
    recording: Recording,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Machine {
    /// Begins a profile with a sample for each period. The machine has run no program yet.
    pub fn profile(&mut self, period: Duration) -> Profiling {
        let vm = self.vm();
        let (sink, waits) = Waits::new();
        vm.sampling.begin();
        self.take_sampler();
        let recording = self.record(&KINDS, |_| Box::new(sink));
        Profiling { vm, period, waits, recording, ticker: tick(vm, period) }
    }
}

/// Asks for samples once in a period, until the sender is dropped.
fn tick(vm: &'static Vm, period: Duration) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (end, ended) = channel();
    let thread = std::thread::Builder::new().name("ticker".into());
    let ticker = thread.spawn(move || {
        let mut next = Instant::now() + period;
        while ended.recv_timeout(next.saturating_duration_since(Instant::now()))
            == Err(RecvTimeoutError::Timeout)
        {
            vm.ask_for_samples();
            // A tick that came late is no reason for two at once.
            next = (next + period).max(Instant::now());
        }
    });
    Some((end, ticker.ok()?))
}

impl Profiling {
    /// Ends the profile, and answers it with all names.
    pub fn end(self) -> Profile {
        if let Some((end, ticker)) = self.ticker {
            drop(end);
            // It does not panic.
            _ = ticker.join();
        }
        _ = self.recording.end();
        let all = self.vm.sampling.all();
        let locked: Vec<_> = all.iter().map(|samples| samples.lock()).collect();
        let samples: Vec<&Samples> = locked.iter().map(|samples| &**samples).collect();
        let period = self.period.as_nanos() as u64;
        Profile::new(period, &samples, &self.waits.lock(), &VmNames(self.vm))
    }
}
