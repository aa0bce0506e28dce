//! Squall's runtime: everything a tier needs to execute bytecode, except the execution.
//!
//! | part | modules |
//! |---|---|
//! | what is loaded | [`module`], [`modules`], [`text`], [`function`], [`linking`], [`symbols`] |
//! | classes and messages | [`behavior`], [`behaviors`], [`classes`], [`values`], [`lookup`], [`known`] |
//! | running | [`thread`], [`stack`], [`calls`], [`outcome`], [`unwind`], [`trace`], [`tier`] |
//! | concurrency | [`worker`], [`strand`], [`vat`], [`affinity`], [`messages`], [`waiting`], [`timers`], [`stalls`] |
//! | its objects | [`promises`], [`isolation`], [`channels`], [`locks`] |
//! | processes of typed code | [`processes`] |
//! | transactions | [`transactions`] |
//! | calls of C | [`foreign`] |
//! | tuples, lists and maps of typed code | [`typed`] |
//! | the embedder's side | [`embedding`] |
//! | budgets | [`sandbox`] |
//! | objects the VM makes | [`objects`] |
//! | the library's floor | [`primitives`] |
//! | the whole | [`vm`], [`bootstrap`], [`roots`], [`host`], [`permissions`], [`tracing`] |
//!
//! Invariants: primitives never re-enter a tier; guest objects are reached through roots after
//! every GC point; what inline caches point at is immortal and immutable.

pub mod affinity;
pub mod behavior;
pub mod behaviors;
pub mod bootstrap;
pub mod calls;
pub mod channels;
pub mod classes;
pub mod early;
pub mod embedding;
pub mod fences;
pub mod foreign;
pub mod function;
pub mod host;
pub mod isolation;
pub mod known;
pub mod limit;
pub mod linking;
pub mod locks;
pub mod lookup;
mod meant;
pub mod messages;
pub mod module;
pub mod modules;
pub mod objects;
pub mod outcome;
pub mod permissions;
pub mod primitive;
pub mod primitives;
pub mod processes;
pub mod promises;
pub mod roots;
pub mod sandbox;
pub mod stack;
pub mod stalls;
pub mod strand;
pub mod strands;
pub mod symbols;
mod sync;
pub mod text;
pub mod thread;
pub mod tier;
pub mod timers;
pub mod trace;
pub mod tracing;
pub mod transactions;
pub mod typed;
pub mod unwind;
pub mod values;
pub mod vat;
pub mod vm;
pub mod waiting;
pub mod worker;
