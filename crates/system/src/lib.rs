//! The operating system as Squall needs it: sockets, pipes, processes and signals that never make a
//! caller wait, and a poller that says when it is worth to try again.
//!
//! Nothing here knows objects or strands. What is open is a [`Resource`]; an operation on it does what it
//! can at once, and otherwise fails with `WouldBlock`. Who wants to wait then leaves a *wait*, a number
//! that means something to him only, with the resource's [`Source`]; the poller hands it to its
//! [`Deliver`] function when the resource is ready.
//!
//! | module | what it is about |
//! |---|---|
//! | [`resources`] | what is open, by numbers that are never used twice |
//! | [`tcp`], [`udp`], [`names`] | listening, connecting, datagrams, addresses of hosts |
//! | [`process`], [`signals`] | processes of the system, and what it tells this one |
//! | [`stream`] | streams of bytes: connections and pipes |
//! | [`tls`] | connections that are encrypted |
//! | `descriptor` | a stream's socket or pipe |
//! | [`poller`] | readiness, waits, and the thread that waits for the system |
//! | [`http`] | the heads of HTTP messages |
//! | [`errors`] | what went wrong, in words |
//!
//! [`Resource`]: resources::Resource
//! [`Source`]: poller::Source
//! [`Deliver`]: poller::Deliver

#![forbid(unsafe_code)]

mod descriptor;
pub mod errors;
pub mod http;
pub mod names;
pub mod poller;
pub mod process;
pub mod resources;
pub mod signals;
pub mod stream;
pub mod tcp;
pub mod tls;
pub mod udp;
