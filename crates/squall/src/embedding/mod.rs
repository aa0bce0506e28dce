//! The machine inside of another program: the interface for embedders in Rust, and the base of `squall-capi`.
//!
//! ```no_run
//! use squall::embedding::{Value, Vm};
//! use squall::{FileKind, Options};
//!
//! # struct Quiet;
//! # impl squall::Surroundings for Quiet {
//! #     fn write_output(&self, _: &str) {}
//! #     fn write_error(&self, _: &str) {}
//! #     fn flush(&self) {}
//! #     fn read_module(&self, _: &str) -> std::io::Result<Vec<u8>> { Err(std::io::ErrorKind::NotFound.into()) }
//! # }
//! # fn main() -> Result<(), squall::embedding::Error> {
//! let vm = Vm::start(Options::default(), Quiet)?;
//! let source = "class Sums = Value ()( public of: a and: b = ( ^ a + b ) )";
//! let class = vm.load("sums.ns", FileKind::Newspeak, source.as_bytes())?;
//! let sums = vm.call(&class, "new", &[])?;
//! let sum = vm.call(&sums, "of:and:", &[Value::Integer(3), Value::Integer(4)])?;
//! assert_eq!(sum, Value::Integer(7));
//! # Ok(())
//! # }
//! ```
//!
//! # Rules
//!
//! **One machine per process**, ever, since the process has one heap: a second start is [`Error::AlreadyStarted`], even
//! after the first machine has ended.
//!
//! **Native threads.** The machine has native threads of its own, and takes none of the embedder's. All functions here
//! may be called on any native thread, several at the same time. A call blocks its native thread until it is answered.
//! A native function that guest code has called may call the machine, too.
//!
//! **Values.** Numbers, text and lists are copied. An [`Object`] keeps its guest object alive until it is dropped; it
//! can be cloned, sent to other native threads and dropped there. The guest object belongs to the main actor, or is a
//! value.
//!
//! **Calls** are processed by the main actor, between its turns or while a turn waits. Calls of several native threads have
//! no order.
//!
//! **Ends of channels.** While native code has an end and does not use it at the moment, the machine reports no
//! deadlock, since native code may still use it. So each native thread has an end of its own, and drops it after the
//! last use.

#[cfg(test)]
mod authority;
mod channels;
mod error;
mod modules;
mod sandboxes;
mod vm;

pub use channels::{Reader, Writer};
pub use error::Error;
pub use modules::HostModule;
pub use sandboxes::Sandbox;
pub use squall_runtime::concurrency::embedding::kept::Object;
pub use squall_runtime::concurrency::embedding::value::Value;
pub use squall_runtime::state::sandbox::{Budgets, Reason};
pub use vm::Vm;
