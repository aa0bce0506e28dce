//! The embedder's side of the machine: the requests of native threads that run no guest code. `squall::embedding` makes
//! them.
//!
//! | module | subject |
//! |---|---|
//! | [`errands`] | work that any native thread leaves to a worker |
//! | [`kept`] | guest objects that native code holds |
//! | [`value`] | guest values as native ones, and back |
//! | [`calls`] | messages that native threads send and wait for; stalls |
//! | [`functions`] | native functions and objects that guest code finds under a name |
//!
//! A native thread of the embedder never touches the heap. It leaves an *errand*, a closure, which a worker runs
//! between two strands. Results come back as a [`value::Value`], which consists of native memory, and of handles for
//! objects that stay in the heap. So native threads need not attach, and each of them may make each request, at any
//! time.
//!
//! The embedder is part of the *main vat*: its objects belong to that vat, its calls are exclusive strands there, and
//! objects from other vats are wrapped for it.

pub mod calls;
pub mod errands;
pub mod functions;
pub mod kept;
pub mod value;

use squall_heap::RootAddress;

use calls::Calls;
use errands::Errands;
use functions::Functions;
use kept::KeptWords;

/// The machine's data about its embedder.
#[derive(Default)]
pub struct Embedding {
    /// Errands that native threads have left to workers.
    pub errands: Errands,
    /// The objects that native code holds.
    pub kept: KeptWords,
    /// The calls whose answers native threads wait for.
    pub calls: Calls,
    /// Functions and objects that guest code finds under a name.
    pub functions: Functions,
}

impl Embedding {
    /// The program has ended: waiting native threads are told.
    pub(crate) fn end(&self) {
        self.errands.end();
        self.calls.end();
    }

    /// Shows the kept objects to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        self.kept.visit(visit);
        self.calls.visit(visit);
    }
}
