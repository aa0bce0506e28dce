//! Budgets: the limits of a sandbox, or of a whole program. `sandboxes` and `machine_options` take them from C.

use machine::embedding::Budgets;

/// No limit.
pub const SQUALL_UNLIMITED: u64 = u64::MAX;

/// The limits of a sandbox; `SQUALL_UNLIMITED` for none.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct squall_budgets {
    /// Calls and turns of loops.
    pub fuel: u64,
    /// Bytes that are reachable from the sandbox.
    pub heap: u64,
    /// Strands at a time: turns, processes and threads.
    pub strands: u64,
    /// Eventual sends and writes to channels.
    pub messages: u64,
    /// Milliseconds of processor time; 0, too, for no limit.
    pub time: u64,
}

impl squall_budgets {
    /// The limits in the machine's form.
    pub fn budgets(&self) -> Budgets {
        let budget = |amount: u64| (amount != SQUALL_UNLIMITED).then_some(amount);
        Budgets {
            fuel: budget(self.fuel),
            heap: budget(self.heap),
            strands: budget(self.strands),
            messages: budget(self.messages),
            time: budget(self.time).filter(|milliseconds| *milliseconds > 0),
        }
    }
}
