//! Budgets: how much of the machine a sandbox may use, or a whole program.

use machine::embedding::Budgets;

/// As much as it likes.
pub const SQUALL_UNLIMITED: u64 = u64::MAX;

/// What a sandbox may use; `SQUALL_UNLIMITED` for as much as it likes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct squall_budgets {
    /// Calls and turns of loops.
    pub fuel: u64,
    /// Bytes that are reachable from the sandbox.
    pub heap: u64,
    /// Strands at a time: turns, processes, threads.
    pub strands: u64,
    /// Eventual sends and writes to channels.
    pub messages: u64,
}

impl squall_budgets {
    /// The same, for the machine.
    pub fn budgets(&self) -> Budgets {
        let budget = |amount: u64| (amount != SQUALL_UNLIMITED).then_some(amount);
        Budgets {
            fuel: budget(self.fuel),
            heap: budget(self.heap),
            strands: budget(self.strands),
            messages: budget(self.messages),
        }
    }
}
