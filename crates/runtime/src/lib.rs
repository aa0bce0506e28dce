//! Squall's runtime: everything a tier needs to execute bytecode, except the execution.
//!
//! It has layers. A module imports modules of its own layer and of those below, and `cargo xtask tidy` refuses anything
//! else.
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
//! Invariants: primitives never re-enter a tier; guest objects are reached through roots after
//! every GC point; what inline caches point at is immortal and immutable.

pub mod concurrency;
pub mod execution;
pub mod library;
pub mod model;
pub mod objects;
pub mod state;
pub mod tiers;
