//! Running guest code: calls, returns, unwinding and traces. The tiers call it for everything that is not in their own
//! fast paths.
//!
//! What a call asks of other strands, of transactions or of sandboxes is done by the layer above, through the
//! [services](crate::state::services) that it registers.
//!
//! | module | what it is about |
//! |---|---|
//! | [`calls`] | sends, calls, returns, failures |
//! | [`unwind`] | exceptions, returns from closures, the ends of strands |
//! | [`trace`] | stack traces |
//! | [`meant`] | the messages that a misspelt one may have meant |

pub mod calls;
pub mod faults;
pub mod guarded;
pub(crate) mod meant;
pub mod trace;
pub mod unwind;
