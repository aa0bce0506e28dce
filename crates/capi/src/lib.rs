//! Squall for C and C++: `libsquall`. Embedders call it through the header `include/squall.h`, which is made from this
//! crate.
//!
//! | module | what it holds |
//! |---|---|
//! | [`vm`] | the machine: starting, loading, calls |
//! | [`modules`] | functions of the embedder |
//! | [`channels`] | ends of channels |
//! | [`sandboxes`] | sandboxes |
//! | [`machine_options`] | the choices at the machine's start |
//! | [`budgets`] | the limits of a sandbox or of a program |
//! | [`values`] | values |
//! | [`errors`] | errors for C, and the common end of all functions |
//! | [`text`] | text and memory from C |
//! | [`handles`] | the handles that C has in place of objects |
//! | [`problem`] | errors before they have a handle, and their codes |
//!
//! Each uses only modules below it.
//!
//! Invariants: no function unwinds into C; no handle is followed as a pointer; `unsafe` appears only where memory of C
//! is read or written, or a function of C is called, under the conditions that the header states.
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
