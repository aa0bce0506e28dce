//! Running guest code: calls, returns, unwinding and traces. The tiers call it for all work that is not on their own
//! fast paths.
//!
//! The layer above serves the requests of calls to other strands, transactions and sandboxes, through the
//! [services](crate::state::services) that it registers.
//!
//! | module | what it is about |
//! |---|---|
//! | [`calls`] | sends, calls, returns, failures |
//! | [`unwind`] | exceptions, returns from closures, the ends of strands |
//! | [`debugging`] | breakpoints, and strands that step |
//! | [`guarded`] | the change between bare and guarded accesses |
//! | [`faults`] | exceptions by the names that typed code has for them |
//! | [`stack_traces`] | stack traces |
//! | `suggestions` | the messages that a misspelt one may have meant |

pub mod calls;
pub mod debugging;
pub mod faults;
pub mod guarded;
pub mod stack_traces;
pub(crate) mod suggestions;
pub mod unwind;
