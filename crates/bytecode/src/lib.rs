//! Squall's bytecode: one register machine for every source language. Compilers make modules of it, the command line
//! converts and verifies them, and the runtime and its tiers execute them.
//!
//! The crate knows no heap and does no input or output: one can build, assemble,
//! disassemble and verify modules without a virtual machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`instructions`] | **the** instruction table: every other part derives from it |
//! | [`codes`] | operation codes at run time: instructions, their forms, and what no module contains |
//! | [`entities`] | typed indices: registers, functions, classes, sites, constants |
//! | [`types`] | register types |
//! | [`module`] | functions, class definitions, sites, constants: a module in memory |
//! | [`decode`] | a view of each instruction, and what it does to registers |
//! | [`register_set`] | sets of registers |
//! | [`flow`] | basic blocks and their edges |
//! | [`scopes`] | branches of `par` and bodies of rendezvous: closed pieces of code |
//! | [`liveness`] | which registers the collector traces at each instruction |
//! | [`mod@format`] | the binary form of a module, decoded lazily |
//! | [`verifier`] | proves that a module is safe to run |
//! | [`assembler`] | the text form of a module, read |
//! | [`disassembler`] | the text form of a module, written |
//! | [`mod@reference`] | the manual of all instructions, from the table |
//! | [`adapters`] | functions that call exported ones with objects |
//! | [`builder`] | emits code with labels; used by compilers and the assembler |
#![forbid(unsafe_code)]

pub mod adapters;
pub mod assembler;
pub mod builder;
pub mod codes;
pub mod decode;
pub mod disassembler;
pub mod entities;
pub mod flow;
pub mod format;
mod initialisation;
pub mod instructions;
pub mod liveness;
pub mod module;
pub mod reference;
pub mod register_set;
pub mod scopes;
#[cfg(test)]
mod testing;
pub mod types;
pub mod verifier;
