//! The operating system as Squall needs it: sockets, pipes, processes and signals that never block, and a poller that
//! tells when to try again. The runtime's primitives call this crate.
//!
//! Nothing here knows objects or strands. An open connection, process and so on is a [`Resource`]. An operation on it
//! does as much as it can at once, and otherwise fails with `WouldBlock`. To wait, the caller then leaves a *wait*, a
//! number of its own, with the resource's [`Source`]; the poller hands the number to its [`Deliver`] function when the
//! resource is ready.
//!
//! | module | subject |
//! |---|---|
//! | [`confinement`] | what the kernel leaves to the process |
//! | [`places`] | paths that a program may use, and the operations on them |
//! | [`resources`] | open resources, by numbers that are never used twice |
//! | [`tcp`], [`udp`], [`names`] | listening, connecting, datagrams, addresses of hosts |
//! | [`process`], [`signals`] | processes of the system, and signals to this process |
//! | [`stream`] | streams of bytes: connections and pipes |
//! | [`tls`] | connections that are encrypted |
//! | `descriptor` | a stream's socket or pipe |
//! | [`poller`] | readiness, waits, and the thread that waits for the system |
//! | [`http`] | the heads of HTTP messages |
//! | [`url`] | addresses of the web, percent encoding, forms |
//! | [`errors`] | the names and texts of errors |
//!
//! [`Resource`]: resources::Resource
//! [`Source`]: poller::Source
//! [`Deliver`]: poller::Deliver

#![forbid(unsafe_code)]

pub mod confinement;
mod descriptor;
pub mod errors;
pub mod http;
pub mod names;
pub mod places;
pub mod poller;
pub mod process;
pub mod resources;
pub mod signals;
pub mod stream;
pub mod tcp;
pub mod tls;
pub mod udp;
pub mod url;
