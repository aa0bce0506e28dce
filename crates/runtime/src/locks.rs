//! Mutexes, conditions and semaphores.

/// The slots of a lock.
pub mod slots {
    /// How many there are.
    pub const COUNT: u32 = 6;
}
