//! The observer: a server inside of the process of a program, which shows what the program does. The command line starts it
//! for `squall run --observe`.
//!
//! | module | what it is about |
//! |---|---|
//! | [`server`] | connections: their limits and times |
//! | [`gate`] | which requests are let in |
//! | [`view`] | what answers are made from |
//! | [`answer`] | what is sent back |
//! | [`routes`] | from a request to an answer |
//! | [`sweep`] | the strands that a client asks for, and the counts of all |
//! | [`vats`] | the same for vats, and the rates of messages |
//! | [`rested`] | how long a sweep serves |
//! | [`answers`] | what the machine shows, as JSON |
//! | [`window`] | the events of the last moments, for the time view |
//! | [`metrics`] | counts in the text form of Prometheus |
//! | [`page`] | the page and its parts |
//! | [`client`] | asks a server: `squall top` uses it |
//!
//! A request is served by a native thread that is none of the machine's. It looks at the machine through
//! [`squall_runtime::library::observation`], whose head says why that is safe, and what it costs the program.
//!
//! Invariants: a client gets only what it has asked for, a bounded number of rows; a request that the gate refuses
//! learns nothing; without `control` no request changes the program.
#![forbid(unsafe_code)]

pub mod answer;
pub mod answers;
pub mod client;
pub mod gate;
pub mod metrics;
pub mod page;
pub mod rested;
pub mod routes;
pub mod server;
pub mod sweep;
pub mod vats;
pub mod view;
pub mod window;

pub use server::Observer;
pub use view::Options;
