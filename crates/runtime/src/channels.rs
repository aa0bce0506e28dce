//! Channels: rendezvous of processes.

/// The slots of a channel.
pub mod slots {
    /// How many there are.
    pub const COUNT: u32 = 8;
}
