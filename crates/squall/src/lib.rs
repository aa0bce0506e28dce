//! The Squall virtual machine as a library, for the command line, `squall-capi` and embedders in Rust.
//!
//! | module | what it holds |
//! |---|---|
//! | [`options`] | the choices at a machine's start |
//! | [`surroundings`] | the embedder's services: output, source files |
//! | [`compiler`] | from the bytes of a file to a module that can run |
//! | [`library`] | the kernel and the libraries, compiled and embedded |
//! | [`embedding`] | the machine inside of another program, for all its native threads |
//! | [`machine`] | a running machine: programs, turns, messages to objects |
//! | [`profiling`] | profiles of a run |
//! | [`recording`] | records the events of a run |
//! | [`session`] | evaluates typed inputs, with variables that stay |
//! | [`testing`] | finds and runs the tests of a module |
//!
//! A process has one machine, since it has one heap. Nothing here prints or opens files: the embedder does, through
//! [`Surroundings`]. Guest code can be bound to the process's main thread if the embedder [lends](lend_main_thread) it.
//!
//! ```text
//! let mut machine = Machine::start(options, surroundings)?;
//! let code = machine.run_program();
//! ```
#![forbid(unsafe_code)]

pub mod compiler;
pub mod coverage;
pub mod embedding;
mod excerpts;
mod host;
pub mod library;
pub mod machine;
pub mod options;
pub mod profiling;
pub mod recording;
pub mod session;
pub mod surroundings;
pub mod testing;
mod ticker;
mod watchdog;

pub use compiler::FileKind;
pub use machine::{Machine, Reply, StartError};
pub use options::{Hardening, Jit, Options, Player, Recorder, Replays, SchedulingPolicy};
pub use squall_events as events;
pub use squall_heap::{CollectionKind, HeapOptions, Stress};
pub use squall_jit::listing::Part;
pub use squall_jit::observers;
pub use squall_jit::report::{Counters, counters};
pub use squall_runtime::concurrency::native_threads::lend_main_thread;
pub use squall_runtime::model::permissions::{Grant, HostGrant, NetworkGrant, Permissions};
pub use squall_runtime::state::tracing::Tracing;
pub use surroundings::Surroundings;
