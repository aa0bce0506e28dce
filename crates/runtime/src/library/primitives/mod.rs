//! Primitives: the operations that library code cannot express in Newspeak. Library modules call them by a message to
//! `vmMirror`; `lib/PRIMITIVES.md` lists them with their arguments, results and failures.
//!
//! A primitive is a Rust function with the name of a keyword message. It gets its arguments in a window, which the
//! collector updates, and answers an [`Outcome`]. It never calls guest code, never blocks, and never holds an object
//! across a GC point.
//!
//! One table per file, one file per kind of receiver.

pub mod arithmetic;
pub mod arrays;
pub mod bytecode;
pub mod calendar;
pub mod channels;
pub mod control;
pub mod data;
pub mod decimal;
pub mod documents;
pub mod embedding;
pub mod files;
pub mod foreign;
pub mod foreign_memory;
pub mod http;
pub mod json;
pub mod locks;
pub mod modules;
pub mod native_threads;
pub mod network;
pub mod numbers;
pub mod objects;
pub mod packages;
pub mod patterns;
pub mod problems;
pub mod processes;
pub mod promises;
pub mod reflection;
pub mod resources;
pub mod sandboxes;
pub mod strands;
pub mod strings;
pub mod system;
pub mod text;
pub mod transactions;
pub mod trees;

use std::collections::HashMap;
use std::sync::OnceLock;

use squall_heap::Word;

use crate::library::work;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::Primitive;
use crate::state::thread::{Thread, Window};

/// The primitive with this name; for an unknown name, one that fails.
pub fn find(name: &str) -> &'static Primitive {
    static UNKNOWN: Primitive = Primitive::ordinary("", unknown);
    static TABLE: OnceLock<HashMap<&'static str, &'static Primitive>> = OnceLock::new();
    let table = TABLE.get_or_init(|| all().map(|primitive| (primitive.name, primitive)).collect());
    table.get(name).copied().unwrap_or(&UNKNOWN)
}

/// One table per kind of receiver.
static TABLES: &[&[Primitive]] = &[
    arrays::PRIMITIVES,
    bytecode::PRIMITIVES,
    calendar::PRIMITIVES,
    channels::PRIMITIVES,
    control::PRIMITIVES,
    data::PRIMITIVES,
    documents::PRIMITIVES,
    embedding::PRIMITIVES,
    files::PRIMITIVES,
    foreign::PRIMITIVES,
    foreign_memory::PRIMITIVES,
    http::PRIMITIVES,
    json::PRIMITIVES,
    locks::PRIMITIVES,
    modules::PRIMITIVES,
    native_threads::PRIMITIVES,
    network::PRIMITIVES,
    numbers::PRIMITIVES,
    objects::PRIMITIVES,
    packages::PRIMITIVES,
    patterns::PRIMITIVES,
    processes::PRIMITIVES,
    promises::PRIMITIVES,
    reflection::PRIMITIVES,
    resources::PRIMITIVES,
    sandboxes::PRIMITIVES,
    strands::PRIMITIVES,
    strings::PRIMITIVES,
    system::PRIMITIVES,
    text::PRIMITIVES,
    transactions::PRIMITIVES,
    work::PRIMITIVES,
];

/// Every primitive.
pub fn all() -> impl Iterator<Item = &'static Primitive> {
    TABLES.iter().copied().flatten()
}

/// The outcome of a primitive that answers or fails.
#[inline]
fn answer(result: Result<Word, Failure>) -> Outcome {
    result.into()
}

fn unknown(_: &mut Thread, _: Window) -> Outcome {
    Failure::new(FailureReason::UnknownPrimitive).into()
}

#[cfg(test)]
mod tests;
