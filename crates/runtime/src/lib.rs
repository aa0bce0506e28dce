//! Squall's runtime: everything a tier needs to execute bytecode, except the execution.
//!
//! | part | modules |
//! |---|---|
//! | what is loaded | [`module`], [`text`], [`function`], [`symbols`] |
//! | classes and messages | [`behavior`], [`classes`], [`lookup`], [`known`] |
//! | running | [`thread`], [`stack`], [`calls`], [`outcome`], [`unwind`], [`trace`], [`tier`], [`turns`] |
//! | objects the VM makes | [`objects`] |
//! | the library's floor | [`primitives`] |
//! | the whole | [`vm`], [`bootstrap`], [`roots`], [`host`], [`permissions`], [`tracing`] |
//!
//! Invariants: primitives never re-enter a tier; guest objects are reached through roots after
//! every GC point; what inline caches point at is immortal and immutable.

pub mod behavior;
pub mod bootstrap;
pub mod calls;
pub mod classes;
pub mod function;
pub mod host;
pub mod known;
pub mod lookup;
pub mod module;
pub mod objects;
pub mod outcome;
pub mod permissions;
pub mod primitives;
pub mod roots;
pub mod stack;
pub mod symbols;
pub mod text;
pub mod thread;
pub mod tier;
pub mod trace;
pub mod tracing;
pub mod turns;
pub mod unwind;
pub mod vm;
