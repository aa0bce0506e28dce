//! The gate, in all interleavings of small programs (loom).
