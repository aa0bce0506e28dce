//! Sessions of a client with the server: every request, texts with mistakes, random edits.
//! `UPDATE_EXPECT=1 cargo test -p squall-language-server` rewrites the expected texts.

mod client;
mod edits;
mod requests;
mod times;
