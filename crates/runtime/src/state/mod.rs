//! The state of a running VM: the VM, its native threads, strands, vats and stacks, with the protocols that say which
//! thread may touch what. All layers above read and change it.
//!
//! Most of these types refer to each other, so they share a layer. Here are the data and its invariants; what is done with
//! it is above.
//!
//! | part | modules |
//! |---|---|
//! | the whole | [`vm`], [`roots`], [`tracing`], [`tier`] |
//! | a native thread | [`thread`], [`limit`], [`affinity`] |
//! | a strand and its stack | [`strand`], [`stack`] |
//! | a vat | [`vat`] |
//! | synchronisation | [`fences`] |

pub mod affinity;
pub mod anchor;
pub mod ended;
pub mod events;
pub mod fences;
pub mod items;
pub mod limit;
pub mod primitive_code;
pub mod roots;
pub mod sandbox;
pub mod services;
pub mod stack;
pub mod strand;
pub(crate) mod sync;
pub mod thread;
pub mod tier;
pub mod tracing;
pub mod transactions;
pub mod vat;
pub mod vm;
