//! The concurrency layer's part of the VM. The modules of this layer get it by [`Vm::concurrency`].

use std::sync::LazyLock;

use crate::concurrency::early_actors::Early;
use crate::concurrency::embedding::Embedding;
use crate::concurrency::foreign::Foreign;
use crate::concurrency::promises::{Embedder, Unhandled};
use crate::concurrency::stalls::Stalls;
use crate::concurrency::timers::Timers;
use crate::state::vm::Vm;

/// The data that the concurrency layer has once for the whole VM.
#[derive(Default)]
pub struct Parts {
    /// The timers.
    pub timers: Timers,
    /// Actors and processes that were made too early.
    pub early: Early,
    /// The embedder's message in progress.
    pub embedder: Embedder,
    /// Broken promises without reactions.
    pub unhandled: Unhandled,
    /// The record of strands that can never continue.
    pub stalls: Stalls,
    /// The data about C.
    pub foreign: Foreign,
    /// The embedder's side.
    pub embedding: Embedding,
}

/// A process has one VM, so this is that VM's.
static PARTS: LazyLock<Parts> = LazyLock::new(Parts::default);

impl Vm {
    /// The concurrency layer's part.
    #[inline]
    pub fn concurrency(&self) -> &'static Parts {
        &PARTS
    }
}
