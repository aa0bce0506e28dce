//! The parking, in all interleavings of small programs (loom).
