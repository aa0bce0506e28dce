//! What fuzzing needs: the fuzz targets in `fuzz/` and the integration tests do the same things, with
//! bytes from a fuzzer or with seeds.
//!
//! | module | what it holds |
//! |---|---|
//! | [`choices`] | where random choices come from: bytes, or a seed |
//! | [`mutation`] | damages modules: their bytes, or their parts |
//! | [`programs`] | well-typed programs with processes: generated, written as text, evaluated plainly |
//! | [`forms`] | what must hold of every module: it survives its text form and its binary form |
//! | [`machine`] | the machine of this process, in which modules run in sandboxes, one after the other |
//!
//! Verified code cannot crash the machine: that is what all this tries to refute.
#![forbid(unsafe_code)]

pub mod choices;
pub mod forms;
pub mod machine;
pub mod mutation;
pub mod programs;
