//! Strands, vats and all that they do with each other. Workers, primitives and tiers call it.
//!
//! | part | modules |
//! |---|---|
//! | who runs | [`worker`], [`strands`], [`waiting`], [`timers`], [`stalls`] |
//! | actors | [`messages`], [`promises`], [`isolation`], [`values`], [`early`] |
//! | shared by strands | [`channels`], [`locks`] |
//! | processes of typed code | [`processes`] |
//! | transactions | [`transactions`] |
//! | budgets | [`sandbox`] |
//! | native code | [`foreign`], [`embedding`] |

pub mod channels;
pub mod early;
pub mod embedding;
pub mod foreign;
pub mod isolation;
pub mod locks;
pub mod messages;
pub mod native_threads;
pub mod parts;
pub mod polls;
pub mod processes;
pub mod promises;
pub(crate) mod root_source;
pub mod sandbox;
pub mod services;
pub mod stalls;
pub mod strands;
pub mod timers;
pub mod transactions;
pub mod values;
pub mod vats;
pub mod waiting;
pub mod worker;
