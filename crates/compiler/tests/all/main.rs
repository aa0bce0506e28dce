//! The compiler's tests, one binary: golden files, and the comparison of compiled units with the interpreted bytecode.

mod clif;
mod differential;
mod evaluator;
mod filetests;
mod generator;
mod machine;
mod world;
