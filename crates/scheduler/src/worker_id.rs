//! The numbers of workers. The scheduler, the runtime and the embedder name a worker by its number.

use std::fmt;

/// The number of a worker. Numbers of ordinary workers are below
/// [`SchedulerOptions::threads`](crate::SchedulerOptions::threads); numbers of bound workers follow. The first worker to
/// join has number 0. When a worker leaves, the next worker to join can get its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WorkerId(pub(crate) usize);

impl WorkerId {
    /// The first worker. The embedder waits for it, so it never leaves by itself.
    pub(crate) const FIRST: WorkerId = WorkerId(0);

    /// The worker with this number.
    pub fn from_index(index: usize) -> WorkerId {
        WorkerId(index)
    }

    /// The number, as an index into tables.
    pub fn index(self) -> usize {
        self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "worker {}", self.0)
    }
}
