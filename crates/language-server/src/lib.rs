//! The language server behind `squall lsp`: editors ask it about programs while they are written.
//!
//! It speaks the Language Server Protocol over a connection that the command makes. It needs no virtual machine: it knows
//! programs by the compiler's front end, and the library by its outline and its text.
//!
//! ```text
//! client ── messages ── server ── requests ── workspace ── documents: tokens, tree, model
//!                                                └── library: outline, texts
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`server`] | the loop over the client's messages |
//! | `requests` | the requests, by topic |
//! | [`workspace`] | all texts; definitions and senders across them |
//! | [`document`] | a text, taken apart |
//! | [`model`] | what a text declares, and what its names refer to |
//! | [`library`] | the library's texts |
//! | [`text`] | places and addresses, as the protocol has them |
//! | [`host`] | what the server needs from the command |
//!
//! Invariants: a text is taken apart as a whole after each change, and requests are answered in their order; so no answer
//! is about an earlier text. A text with mistakes has a tree, too, without the parts with mistakes. No request changes
//! a text; clients apply the edits that are answered.
#![forbid(unsafe_code)]

pub mod document;
pub mod host;
pub mod library;
pub mod model;
mod requests;
pub mod server;
pub mod text;
pub mod workspace;

pub use host::Host;
pub use lsp_server::Connection;
pub use server::serve;
