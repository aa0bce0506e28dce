//! Calls of real C, in the library `library.c` and in libraries that tests write.
//!
//! The tests need a C compiler. Without one, they say so and pass.

mod callbacks;
mod calls;
mod compiler;
mod fixture;
mod generated;
mod generator;
mod layout;
mod libraries;
mod memory;
mod scalars;
mod seeds;
mod structures;
