//! The common part of the fuzz targets in `fuzz/` and of the integration tests: both do the same things, with bytes
//! from a fuzzer or with seeds.
//!
//! | module | what it holds |
//! |---|---|
//! | [`choices`] | the source of random choices: bytes, or a seed |
//! | [`mutation`] | damages modules: their bytes, or their parts |
//! | [`programs`] | well-typed programs with processes: generated, written as text, evaluated plainly |
//! | [`guests`] | programs in Newspeak, which must do the same in all tiers |
//! | [`parties`] | a guest in a sandbox and a host with authority |
//! | [`oracle`] | runs these, and judges what happened |
//! | [`forms`] | properties of all modules: the text form and the binary form give the same module |
//! | [`machine`] | the machine of this process, in which modules run in sandboxes, one after the other |
//!
//! Verified code cannot crash the machine: all this tries to refute that.
#![forbid(unsafe_code)]

pub mod choices;
pub mod forms;
pub mod guests;
pub mod machine;
pub mod mutation;
pub mod oracle;
pub mod parties;
pub mod programs;
