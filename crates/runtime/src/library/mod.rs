//! The top layer: the primitives that the library's modules call, and the boot that makes the VM and the kernel.
//! `squall` starts the boot; tiers call the primitives through the functions that name them.
//!
//! | module | what it is about |
//! |---|---|
//! | [`primitives`] | the primitives, by kind of receiver |
//! | [`bootstrap`] | the classes and objects that exist before the kernel runs |
//! | [`interference`] | what an observer may do to strands and sandboxes |
//! | [`layers`] | making a VM: primitives, roots and services are registered with the layers below |
//! | [`inspection`] | what a debugger sees of strands, frames and objects |
//! | [`observation`] | what an observer sees of strands, vats and the rest |
//! | [`parts`] | what the primitives keep for the whole VM |
//! | [`work`] | long primitives, done in pieces |

pub mod bootstrap;
pub mod inspection;
pub mod interference;
pub mod layers;
pub mod observation;
pub mod parts;
pub mod primitives;
pub mod recorded;
pub mod work;
