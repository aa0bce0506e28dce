//! The events of the machine: what can happen in a run, as one table, and the way of events from the thread where they
//! happen to those who read them. The runtime notes events here; traces read them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`table`] | the entities, the events with their fields, and a sentence about each: the single source |
//! | [`record`] | one event that has happened, as six words |
//! | [`ring`] | the buffer of one native thread, which never makes its thread wait |
//! | [`log`] | all buffers, and the way from there to one reader |
//! | [`perfetto`] | a reader that writes a file for Perfetto |
//! | [`profile`] | samples and waits, and the forms of profiles |
//! | [`reference`](mod@reference) | the table as a page of the documentation |
//! | [`replay`] | the file from which a run is repeated |
//!
//! Nothing here knows an object, a site or a class: fields are numbers. The reader asks [`Names`] for texts.
#![forbid(unsafe_code)]

pub mod log;
pub mod perfetto;
pub mod profile;
pub mod record;
pub mod reference;
pub mod replay;
pub mod ring;
pub mod table;

pub use log::{Log, Port, Sink};
pub use record::{Record, Track};
pub use table::{Entity, Field, Kind};

/// Texts for the numbers in fields. The runtime implements it.
pub trait Names: Send + Sync {
    /// The selector that is sent at a site; the name of the function around it if the site sends nothing.
    fn selector(&self, site: u64) -> Option<String>;

    /// The file and the line of a site.
    fn place(&self, site: u64) -> Option<(String, u32)>;

    /// The name of the class whose instances have a layout.
    fn class(&self, layout: u64) -> Option<String>;
}
