//! The embedder's side of the machine: what native threads that run no guest code may ask for.
//!
//! | module | what it is about |
//! |---|---|
//! | [`errands`] | work that any native thread leaves to a worker |
//! | [`kept`] | objects that native code holds |
//! | [`value`] | guest values as native ones, and back |
//! | [`calls`] | messages that native threads send, and wait for; stalls |
//! | [`functions`] | native functions and objects that guest code finds under a name |
//!
//! A native thread of the embedder never touches the heap. It leaves an *errand*, a closure, which a worker
//! runs between two strands; what it needs to know comes back as a [`value::Value`], which consists of native
//! memory, and of handles for objects that stay in the heap. So there is no attaching of native threads, and
//! every one of them may do everything, at any time.
//!
//! The embedder is part of the *main vat*: objects that it holds belong to that, its calls are exclusive strands there,
//! and what it gets from other vats is wrapped for that one.

pub mod calls;
pub mod errands;
pub mod functions;
pub mod kept;
pub mod value;

use squall_heap::Word;

use calls::Calls;
use errands::Errands;
use functions::Functions;
use kept::KeptWords;

/// What the machine knows of its embedder.
#[derive(Default)]
pub struct Embedding {
    /// What native threads have left to workers.
    pub errands: Errands,
    /// The objects that native code holds.
    pub kept: KeptWords,
    /// The calls whose answers native threads wait for.
    pub calls: Calls,
    /// What guest code finds under a name.
    pub functions: Functions,
}

impl Embedding {
    /// The program has ended: who waits is told.
    pub(crate) fn end(&self) {
        self.errands.end();
        self.calls.end();
    }

    /// Shows what native code holds to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&mut Word)) {
        self.kept.visit(visit);
        self.calls.visit(visit);
    }
}
