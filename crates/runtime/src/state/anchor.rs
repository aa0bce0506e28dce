//! Anchors as state: a strand that C has called refers to the place where its native thread waits. Callbacks and
//! workers use anchors through [`crate::concurrency::foreign::anchor`], which describes the protocol.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use parking_lot::{Condvar, Mutex};

use crate::state::vm::Vm;

/// Where a native thread waits for its strand's turn.
pub struct Anchor {
    /// The number of its worker.
    pub(crate) worker: AtomicU32,
    /// Whether it is the strand's turn.
    pub(crate) has_turn: Mutex<bool>,
    pub(crate) given: Condvar,
}

impl Anchor {
    /// An anchor at the worker with this number.
    pub fn new(worker: u32) -> Arc<Anchor> {
        let worker = AtomicU32::new(worker);
        Arc::new(Anchor { worker, has_turn: Mutex::new(false), given: Condvar::new() })
    }

    pub(crate) fn give(&self) {
        *self.has_turn.lock() = true;
        self.given.notify_one();
    }

    pub(crate) fn has_turn(&self) -> bool {
        *self.has_turn.lock()
    }

    /// Waits for the turn, and takes it; whether it came before the program's end.
    pub(crate) fn wait(&self, vm: &Vm) -> bool {
        let mut has_turn = self.has_turn.lock();
        while !*has_turn && vm.ended.code().is_none() {
            self.given.wait(&mut has_turn);
        }
        std::mem::take(&mut *has_turn)
    }
}
