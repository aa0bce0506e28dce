//! Calls of real C, in a library of our own (`library.c`) and in ones that tests write.
//!
//! They need a C compiler. Where there is none, they say so and pass.

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
