//! Profiles: where a program spends its time, where it makes objects, and what its strands wait for. The runtime takes
//! samples, and measures some waits; the command line writes what became of them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`samples`] | the samples of one native thread, as a tree of stacks |
//! | [`waits`] | the time that strands and messages have waited |
//! | [`texts`] | the same with names, all threads together |
//! | [`summary`] | the tables for a terminal |
//! | [`collapsed`], [`flame`], [`pprof`], [`firefox`] | the forms for other tools |

pub mod collapsed;
pub mod firefox;
pub mod flame;
pub mod pprof;
pub mod samples;
pub mod summary;
pub mod texts;
pub mod waits;

#[cfg(test)]
mod tests;

pub use samples::Samples;
pub use texts::Profile;
