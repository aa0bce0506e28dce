//! Squall for C and C++: `libsquall`, whose header `include/squall.h` is made of this crate.
//!
//! | module | what it holds |
//! |---|---|
//! | [`vm`] | the machine: starting, loading, calls |
//! | [`modules`] | functions of the embedder's |
//! | [`channels`] | ends of channels |
//! | [`sandboxes`] | sandboxes |
//! | [`machine_options`] | what can be chosen when the machine starts |
//! | [`budgets`] | how much a sandbox or a program may use |
//! | [`values`] | values |
//! | [`errors`] | errors for C, and the way out of each function |
//! | [`text`] | text and memory from C |
//! | [`handles`] | what C has in place of objects |
//! | [`problem`] | what went wrong, and its code |
//!
//! Each uses those below it only.
//!
//! Invariants: no function unwinds into C; no handle is followed as a pointer; `unsafe` is where memory of C's is read or
//! written, or a function of C's is called, by what the header asks of the caller.
#![allow(non_camel_case_types, reason = "these are the names that C gets")]

// The header has the functions in the order of these lines: the machine first.
pub mod vm;

pub mod budgets;
pub mod channels;
pub mod errors;
pub mod handles;
pub mod machine_options;
pub mod modules;
pub mod problem;
pub mod sandboxes;
pub mod text;
pub mod values;
