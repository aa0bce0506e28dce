//! Strands, vats, and all operations that concern several strands. Workers, primitives and tiers call it.
//!
//! | part | modules |
//! |---|---|
//! | what runs, and where | [`worker`], [`switches`], `turns`, [`vats`], [`strands`], [`polls`], [`native_threads`] |
//! | waiting | [`waiting`], [`timers`], [`stalls`] |
//! | actors | [`messages`], [`promises`], [`isolation`], [`values`], [`early_actors`] |
//! | shared by strands | [`channels`], [`locks`] |
//! | processes of typed code | [`processes`] |
//! | transactions | [`transactions`] |
//! | budgets, memory | [`sandbox`], [`census`], `reach` |
//! | native code | [`foreign`], [`embedding`], [`interruption`] |
//! | copies of the process | [`copies`] |
//! | the layer as the others see it | [`parts`], [`services`], `root_source` |

pub mod census;
pub mod channels;
pub mod copies;
pub mod early_actors;
pub mod embedding;
pub mod foreign;
pub mod gates;
pub mod interruption;
pub mod isolation;
pub mod locks;
pub mod messages;
pub mod native_threads;
pub mod outputs;
pub mod parts;
pub mod polls;
pub mod processes;
pub mod promises;
pub(crate) mod reach;
pub(crate) mod root_source;
pub mod sandbox;
pub mod services;
pub mod stalls;
pub mod strands;
pub mod switches;
pub mod timers;
pub mod transactions;
pub(crate) mod turns;
pub mod values;
pub mod vats;
pub mod waiting;
pub mod worker;
