//! Newspeak in; tree, diagnostics and bytecode out. The crate `squall`, the command line and the language server call
//! it, and the build compiles the library with it.
//!
//! The crate reads the Newspeak dialect of SOMns. It knows no heap and does no input or
//! output: callers pass bytes and get back values.
//!
//! ```text
//! bytes ── Source ── tokenize ── Tokens ── parse ── Ast ── lower ── Module
//!                        └── Diagnostics ──┘
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`source`] | source text, spans, lines and columns |
//! | [`diagnostics`] | located errors and warnings; their terminal and JSON forms |
//! | [`token`], [`lexer`] | the tokens, and the scanner that makes them |
//! | [`numerals`], [`literals`] | what the text of a literal stands for |
//! | [`entities`], [`names`], [`ast`] | the syntax tree: arenas, typed indices, interned names |
//! | [`parser`] | recursive descent with error recovery |
//! | [`lower`] | code generation |
//! | [`outline`] | the interfaces of the library's classes |
//! | [`check`] | name resolution for people: mistakes in a program that compiles |
//! | [`comments`] | comments between tokens, and the ones that document declarations |
//! | [`examples`](mod@examples) | the examples in comments, as tests |
//! | [`format`](mod@format) | the layout of programs |
//! | `spelling` | names that are close to a name, words of other languages |
//! | [`dump`] | readable, stable text forms of tokens and trees |
//!
//! Nothing here fails or panics on hostile text: a faulty program is answered with
//! diagnostics, however long, deep or garbled it is.
#![forbid(unsafe_code)]

pub mod ast;
pub mod check;
pub mod comments;
pub mod diagnostics;
pub mod dump;
pub mod entities;
pub mod examples;
pub mod format;
pub mod lexer;
pub mod literals;
pub mod lower;
pub mod names;
pub mod numerals;
pub mod outline;
pub mod parser;
pub mod source;
mod spelling;
pub mod token;

#[cfg(test)]
mod tests;

pub use diagnostics::{Diagnostic, Severity};
pub use lower::{CompileOptions, compile, compile_source};
pub use outline::Library;
pub use parser::{Fragment, Parse, check_fragment, parse, parse_partial};
pub use source::{Source, Span};
