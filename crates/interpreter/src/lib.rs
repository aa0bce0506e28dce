//! Squall's interpreter: the tier in which all programs run. `squall` gives it to the runtime at boot, and the
//! runtime's workers call it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`dispatch`] | the loop: one line per instruction |
//! | [`machine`] | the interpreter's registers, and access to operands |
//! | `arithmetic`, `calls`, `composite`, `control`, `objects`, `processes`, `typed` | the handlers |
//! | `specialise` | chooses a specialised form after a miss |
//!
//! A handler does the common case in a few lines and leaves everything else to a slow path, which
//! runs with the registers saved and may collect, call, unwind or suspend.

mod arithmetic;
mod calls;
mod composite;
mod control;
pub mod dispatch;
pub mod machine;
mod objects;
mod processes;
mod specialise;
mod typed;

pub use dispatch::Interpreter;
