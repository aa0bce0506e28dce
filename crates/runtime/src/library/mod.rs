//! The library's floor: the primitives that kernel modules call, and the boot that makes the VM and the kernel. `squall`
//! and the kernel's modules call it.
//!
//! It is the highest layer, so it knows all others: it registers primitives, roots and services with the layers below.

pub mod bootstrap;
pub mod layers;
pub mod parts;
pub mod primitives;
