//! The state of a running VM: the VM, its native threads, strands, vats and stacks, with the protocols that say which
//! thread may access which data. All layers above read and change it.
//!
//! Most of these types refer to each other, so they share a layer. This layer has the data and its invariants; the
//! layers above have the operations.
//!
//! | part | modules |
//! |---|---|
//! | the whole | [`vm`], [`roots`], [`ended`], [`tracing`] |
//! | a native thread | [`thread`], [`native_stack`], [`limit`], [`affinity`], [`items`], [`effort`] |
//! | a strand, its stack, its long work | [`strand`], [`stack`], [`anchor`], [`work`] |
//! | a vat, its transactions, its sandbox, what breaks with that, its time and its measurements | [`vat`], [`transactions`], [`sandbox`], [`orphans`], [`pacing`], `rests`, `shares` |
//! | what a debugger has set, what tests have covered | [`debugging`], [`coverage`] |
//! | what other layers register | [`tier`], [`services`], [`primitive_code`] |
//! | synchronisation | [`fences`], [`events`] |

pub mod affinity;
pub mod anchor;
pub mod coverage;
pub mod debugging;
pub mod effort;
pub mod ended;
pub mod events;
pub mod fences;
pub mod items;
pub mod limit;
pub mod native_stack;
pub mod orphans;
pub mod pacing;
pub mod primitive_code;
pub mod recording;
pub mod replays;
pub(crate) mod rests;
pub mod roots;
pub mod sampling;
pub mod sandbox;
pub mod services;
pub(crate) mod shares;
pub mod stack;
pub mod strand;
pub(crate) mod sync;
pub mod thread;
pub mod tier;
pub mod tracing;
pub mod transactions;
pub mod vat;
pub mod vm;
pub mod waits;
pub mod work;
