//! The state of transactions: the memory of a vat, the reads and writes of a transaction, its sleepers, and the counts.
//! [`crate::concurrency::transactions`] runs them, and describes the protocol.

pub mod effects;
pub mod logs;
pub mod memory;
pub mod presence;
pub mod record;
pub mod shared;
pub mod sleepers;
pub mod statistics;
pub mod writes;

use parking_lot::Mutex;
use squall_heap::{CollectionKind, RootAddress};
use squall_transactions::Presence;

use crate::state::events::Event;
use logs::Logs;
use memory::Memory;
use shared::SharedTransactions;
use sleepers::Sleepers;
use statistics::Statistics;

/// The data that transactions of all vats share.
pub struct Transactions {
    /// The memory for the reads and writes of transactions.
    pub logs: Logs,
    /// Strands that wait because of a transaction.
    pub sleepers: Sleepers,
    /// The transactions that several strands execute.
    pub(crate) shared: SharedTransactions,
    /// The counts so far.
    pub statistics: Statistics,
    /// A thread has ceased to access a vat's objects bare: see [`guarding`](crate::concurrency::transactions::guarding).
    pub became_guarded: Event,
    /// Memories whose vats are gone.
    free: Mutex<Vec<&'static Memory>>,
    /// The presences of all threads, by their keys.
    pub(crate) presences: Mutex<Vec<&'static Presence>>,
    /// The keys of threads that have ended.
    pub(crate) spare_keys: Mutex<Vec<u64>>,
}

impl Transactions {
    /// Makes it with this many bytes for the reads and writes of transactions.
    pub(crate) fn new(bytes: usize) -> Transactions {
        Transactions {
            logs: Logs::new(bytes),
            sleepers: Sleepers::default(),
            shared: SharedTransactions::default(),
            statistics: Statistics::default(),
            became_guarded: Event::default(),
            free: Mutex::default(),
            presences: Mutex::default(),
            spare_keys: Mutex::default(),
        }
    }

    /// A memory for a vat.
    pub(crate) fn take_memory(&self) -> &'static Memory {
        let free = self.free.lock().pop();
        free.unwrap_or_else(|| Box::leak(Box::new(Memory::new())))
    }

    /// The vat of a memory is gone, or has got another memory.
    pub(crate) fn give_back(&self, memory: &'static Memory) {
        // A strand that was lost may have had the right to be inevitable.
        memory.pass_to(None);
        self.free.lock().push(memory);
    }

    /// Shows the objects of the strands that wait, and the words of idle transactions, to the collector.
    pub(crate) fn visit(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        self.sleepers.visit(kind, visit);
        self.shared.visit(visit);
    }
}
