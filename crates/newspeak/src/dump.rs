//! Readable, stable text forms of what the front end makes: `--dump=tokens`, `--dump=ast`. `squall check` and
//! `squall run` print them.

mod sexpression;
mod tokens;
mod tree;

pub use tokens::tokens;
pub use tree::ast;
