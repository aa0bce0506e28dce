//! Squall's runtime: everything that a tier needs to execute bytecode, except the execution. Tiers use it through
//! [`tiers`]; the crate `squall` makes a machine of it.
//!
//! The runtime has layers. A module imports modules of its own layer and of the layers below, and `cargo xtask tidy`
//! refuses all other imports.
//!
//! | layer | what it is about |
//! |---|---|
//! | [`library`], [`tiers`] | primitives, the boot; what a tier may use |
//! | [`concurrency`] | strands, vats, promises, channels, transactions, sandboxes, calls of C, the embedder's side |
//! | [`execution`] | calls, unwinding, traces |
//! | [`objects`] | the objects that the VM itself makes |
//! | [`state`] | the VM, threads, strands, vats, stacks |
//! | [`model`] | symbols, functions, behaviors, modules, lookup |
//!
//! Invariants: primitives never call a tier; guest objects are reached through roots after every GC point; inline
//! caches point only at immortal and immutable data.

pub mod concurrency;
pub mod execution;
pub mod library;
pub mod model;
pub mod objects;
pub mod state;
pub mod tiers;
