//! The debugger: stops strands at breakpoints, by steps and on request, and shows what is there. The command line starts it
//! for `squall run --debug`, and speaks to it by the Debug Adapter Protocol.
//!
//! | module | what it is about |
//! |---|---|
//! | [`breakpoints`] | what the user has set, and the places in code that it means |
//! | [`control`] | the machine asks here whether to stop |
//! | [`control::pauses`], `control/steps.rs` | a strand that has stopped, and how it goes on |
//! | `control/travel.rs`, [`front`] | going back: positions in a run, and its copies that repeat it |
//! | `control/checkpoints.rs`, `checkpoints` | copies of the process at moments of a run, where copies can begin |
//! | [`reasons`] | why a strand stops |
//! | [`places`] | functions and files |
//! | [`origins`] | the stacks that have sent messages and started strands |
//! | [`watches`] | data breakpoints |
//! | [`points`], [`goals`] | breakpoints and steps that are about concurrency |
//! | [`listing`] | bytecode as text |
//! | [`stopped`] | what a stopped strand shows: frames, variables, objects |
//! | [`evaluation`] | expressions of the user |
//! | [`server`], `server/looks.rs`, [`forms`] | the Debug Adapter Protocol, for one client: requests, those about strands, messages |
//! | [`adapter`] | `squall debug`: starts a program with its server, and stands between that and the client |
//! | [`client`] | a client of the same, for the terminal |
//! | [`protocol`] | messages on a stream |
//!
//! # How it stops
//!
//! The thread whose strand stops asks here ([`control::Control`]) and does not come back until the user lets it go on. It
//! waits in native state, so collections go on, and does itself what the user asks about its strand: so no other thread
//! ever touches a strand that is not its own. Meanwhile all other threads of the machine wait at their polls, or go on if the user
//! wants so.
//!
//! Invariant: words that are kept beyond one request are roots of the stopped thread.
#![forbid(unsafe_code)]

pub mod adapter;
pub mod breakpoints;
pub(crate) mod checkpoints;
pub mod client;
pub mod control;
pub mod evaluation;
pub mod forms;
pub mod front;
pub mod goals;
pub mod listing;
pub mod origins;
pub mod places;
pub mod points;
pub mod protocol;
pub mod reasons;
pub mod server;
pub mod stopped;
pub mod watches;
