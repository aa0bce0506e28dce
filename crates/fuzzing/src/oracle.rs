//! Runs two parties in the machine of this process, and judges what happened. Fuzz targets and tests call
//! [`Machine::meet`].
//!
//! It is a finding if
//!
//! - the [canary](CANARY) is printed, or part of a text that the machine makes: code of the guest ran outside;
//! - the host's own state changes, or the host gets no answer from its own objects for long, or too late;
//! - the guest uses more than its budgets, or its sandbox leaves strands behind;
//! - the host has no memory left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use squall::FileKind;
use squall::embedding::{Budgets, Error, Sandbox, Value, Vm};

use crate::machine::Machine;
use crate::parties::{CANARY, Language, MOST_WAYS, Parties};

/// The budgets of a guest.
const BUDGETS: Budgets = Budgets {
    fuel: Some(300_000),
    heap: Some(6 << 20),
    strands: Some(50),
    messages: Some(3000),
    time: None,
};

/// What a sandbox may have above its budget of memory at a measurement: a quarter is measured late, and the rest is one
/// allocation.
const SLACK: u64 = (6 << 20) / 4 + (2 << 20);

impl Machine {
    /// Has a guest and a host meet. The error is a mistake of the machine. `stall` is the longest time that the host may
    /// have to wait for an answer of its own.
    pub fn meet(&self, parties: &Parties, stall: Duration) -> Result<(), String> {
        self.meet_granting(parties, stall, &[])
    }

    /// The same with a guest that has grants.
    pub fn meet_granting(
        &self,
        parties: &Parties,
        stall: Duration,
        granted: &[&str],
    ) -> Result<(), String> {
        _ = self.take_heard();
        let host = self.host(&parties.host)?;
        let sandbox = self.vm().sandbox("guest", BUDGETS, granted).map_err(|e| e.to_string())?;
        let sandbox = Arc::new(sandbox);
        let ticker = Ticker::start(self.vm().clone(), self.clock(&host, parties.language));
        let (vm, guarded, own) = (self.vm().clone(), sandbox.clone(), host.clone());
        let parties = parties.clone();
        let run = move || talk(&vm, &guarded, &own, &parties);
        let talked = self.watch(&sandbox, run);
        let longest = ticker.stop();
        let talked = talked??;
        self.judge(&sandbox)?;
        sandbox.terminate().map_err(|error| format!("the sandbox cannot be ended: {error}"))?;
        self.wait_for_end(&sandbox)?;
        let heard = self.take_heard();
        if heard.contains(CANARY) || talked.contains(CANARY) {
            return Err(format!("code of the guest ran in the host: {heard}{talked}"));
        }
        match longest {
            longest if longest.length() > stall => {
                Err(format!("the host stood still: {longest:?}"))
            }
            _ => Ok(()),
        }
    }

    /// The object of the host that is to answer at any time: another actor, if guests hand out large data.
    fn clock(&self, host: &Value, language: Language) -> Value {
        let clock = match language {
            Language::Newspeak => None,
            // Hosts before this one may wait for ever in the main actor, for channels of their guests.
            Language::Typed => {
                let promise = self.vm().call(host, "clock", &[]);
                promise.and_then(|promise| self.vm().wait_for(&promise)).ok()
            }
        };
        clock.unwrap_or_else(|| host.clone())
    }

    /// The host's module, with all authority.
    fn host(&self, text: &str) -> Result<Value, String> {
        self.count_modules(2);
        let class = self.vm().load("host", FileKind::Newspeak, text.as_bytes());
        let class = class.map_err(|error| format!("the host does not load: {error}"))?;
        let platform = self.vm().platform().clone();
        let host = self.vm().call(&class, "usingPlatform:", &[platform]);
        host.map_err(|error| format!("there is no host: {error}"))
    }

    /// Checks the consumption of a guest, at its last measurement.
    fn judge(&self, sandbox: &Sandbox) -> Result<(), String> {
        let usage = sandbox.usage().map_err(|error| format!("the machine is gone: {error}"))?;
        let limits = [
            (0, BUDGETS.fuel, 20_000),
            (1, BUDGETS.heap, SLACK),
            (2, BUDGETS.strands, 1),
            (3, BUDGETS.messages, 1),
        ];
        for (index, budget, slack) in limits {
            if budget.is_some_and(|budget| usage[index] > budget + slack) {
                return Err(format!("the guest is past budget {index}: {usage:?}"));
            }
        }
        Ok(())
    }
}

/// Loads the guest, has the host meet it, and looks at some answers from Rust, too. Answers the texts that the machine
/// made.
fn talk(vm: &Vm, sandbox: &Sandbox, host: &Value, parties: &Parties) -> Result<String, String> {
    let kind = match parties.language {
        Language::Newspeak => FileKind::Newspeak,
        Language::Typed => FileKind::Assembly,
    };
    let loaded = match sandbox.load("guest", kind, parties.guest.as_bytes()) {
        Ok(loaded) => loaded,
        Err(Error::Compile(text)) => return Err(format!("the guest does not compile: {text}")),
        Err(_) => return Ok(String::new()),
    };
    let guests = match parties.language {
        Language::Newspeak => vm.call(&loaded, "new", &[]),
        Language::Typed => Ok(loaded),
    };
    let Ok(guests) = guests else { return Ok(String::new()) };
    let mut texts = String::new();
    let met = vm.call(host, "meet:", std::slice::from_ref(&guests));
    let balance = met.and_then(|promise| vm.wait_for(&promise));
    match balance {
        Ok(Value::Integer(100)) => {}
        Ok(other) => return Err(format!("the host's balance is {other:?}")),
        Err(Error::OutOfMemory) => return Err("the host has no memory left".to_owned()),
        // The guest did not answer; or its text is in the error.
        Err(error) => texts += &error.to_string(),
    }
    for number in 1..=MOST_WAYS {
        let answer = match parties.language {
            Language::Newspeak => {
                let selector = format!("way{number}:with:with:with:with:");
                vm.call(&guests, &selector, &[const { Value::Nil }; 5])
            }
            Language::Typed => {
                let end = vm.call(host, "ending", &[]).unwrap_or(Value::Nil);
                let arguments = Value::List(vec![Value::Integer(1000), end]);
                let name = Value::Text(format!("way{number}"));
                vm.call(&guests, "call:with:", &[name, arguments])
            }
        };
        match answer {
            Ok(object) => texts += &looked_at(vm, &object),
            Err(Error::OutOfMemory) => return Err("the host has no memory left".to_owned()),
            // The texts of a guest's exceptions are the machine's.
            Err(error) => texts += &error.to_string(),
        }
    }
    Ok(texts)
}

/// What an embedder may do with an object.
fn looked_at(vm: &Vm, object: &Value) -> String {
    let results = [
        vm.describe(object).map(Value::Text),
        vm.elements(object).map(Value::List),
        vm.evaluate(object, &[]),
        vm.call(object, "println", &[]),
        vm.call(object, "=", &[Value::Integer(1)]),
        vm.wait_for(object),
    ];
    let texts = results.into_iter().map(|result| match result {
        // A far reference is asked in the sandbox: what it says is the guest's.
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    });
    texts.collect()
}

/// How often a wait must be too long to count although the machine did not work meanwhile: the system may let the whole
/// process wait, but not for ever.
const STANDSTILL: u32 = 50;

/// A wait for an answer.
///
/// Only the time in which the machine worked counts against a guest. The rest is the system's, beside other work of the
/// computer, or a standstill, which [`STANDSTILL`] finds.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    /// By the clock.
    elapsed: Duration,
    /// The processor time that the process used meanwhile.
    worked: Duration,
}

impl Wait {
    /// Runs something and measures it.
    fn measure(run: impl FnOnce()) -> Wait {
        let (begin, worked) = (Instant::now(), processor_time());
        run();
        Wait { elapsed: begin.elapsed(), worked: processor_time().saturating_sub(worked) }
    }

    /// The part that counts, which `stall` limits.
    fn length(self) -> Duration {
        self.elapsed.min(self.worked).max(self.elapsed / STANDSTILL)
    }
}

/// What the process has used of all processors so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.try_into().unwrap_or_default()
}

/// A native thread that asks the host for an answer of its own, again and again, and keeps the longest wait.
struct Ticker {
    is_over: Arc<AtomicBool>,
    thread: thread::JoinHandle<Wait>,
}

impl Ticker {
    fn start(vm: Vm, host: Value) -> Ticker {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let thread = thread::spawn(move || {
            let mut longest = Wait::default();
            while !over.load(Ordering::Relaxed) {
                let wait = Wait::measure(|| _ = vm.call(&host, "tick", &[]));
                if wait.length() > longest.length() {
                    longest = wait;
                }
                thread::sleep(Duration::from_millis(2));
            }
            longest
        });
        Ticker { is_over, thread }
    }

    /// The longest wait of the host for an answer.
    fn stop(self) -> Wait {
        self.is_over.store(true, Ordering::Relaxed);
        let failed = Wait { elapsed: Duration::MAX, worked: Duration::MAX };
        self.thread.join().unwrap_or(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_in_which_the_machine_works_counts_until_it_stands() {
        let wait = |elapsed, worked| {
            let wait =
                Wait { elapsed: Duration::from_secs(elapsed), worked: Duration::from_secs(worked) };
            wait.length().as_secs()
        };
        assert_eq!(wait(6, 12), 6, "two processors worked for the machine");
        assert_eq!(wait(6, 1), 1, "the system gave the processors to others");
        assert_eq!(wait(500, 0), 10, "nothing moves");
    }
}
