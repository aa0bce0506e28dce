//! Machine code for Squall: a tier that compiles hot functions and mixes their code with the interpreter. `squall` puts it
//! together with the interpreter, and the runtime's workers call it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`run`] | the tier: machine code and the interpreter in turn |
//! | [`resume`] | where a state goes on in machine code |
//! | [`compiler`] | the way from a hot function to its machine code |
//! | [`optimised`] | optimised code: facts, units, exits |
//! | [`base`] | the baseline compiler: a template for each instruction |
//! | [`stubs`] | the shared machine code: entries, exits, calls of helpers |
//! | [`doubles`] | the shared machine code for doubles |
//! | [`absence`] | objects that exits of optimised code make |
//! | [`assembler`] | the assembler, and the places of fields |
//! | [`helpers`] | the functions in Rust that machine code calls |
//! | [`code`](mod@code) | the description of a function's machine code |
//! | [`hardening`] | which code masks indices and blinds constants |
//! | [`chaos`] | makes rare ways common, for tests |
//! | [`memory`] | memory that is written and run at different addresses |
//! | [`observers`] | tell profilers and debuggers about code |
//! | [`history`] | what was compiled, and what became of it |
//! | [`listing`] | listings of functions |
//! | [`report`] | the summary of a run |
//!
//! # Invariants
//!
//! - Machine code keeps its activations' registers where the interpreter does. Between instructions the frame is
//!   complete, so collector, traces, unwinding and deadlock reports do not know that there is machine code.
//! - The native stack may be dropped whenever no function of Rust is on it above the tier's own (`stubs`).
//! - No code is patched: calls go through the cells of functions.

pub mod absence;
pub mod assembler;
pub mod base;
pub mod chaos;
pub mod code;
pub mod compiler;
pub mod doubles;
pub mod hardening;
pub mod helpers;
pub mod history;
pub mod listing;
pub mod memory;
pub mod observers;
pub mod optimised;
pub mod report;
pub mod resume;
pub mod run;
pub mod stubs;

pub use compiler::Settings;
pub use hardening::Hardening;
pub use optimised::Policy;
pub use run::Mixed;
