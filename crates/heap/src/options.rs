//! The choices at a heap's creation, and the errors of it. The embedder sets them through the options of `squall`.

use std::fmt;

/// The choices at a heap's creation. The defaults suit an interactive program.
#[derive(Clone, Debug, PartialEq)]
pub struct HeapOptions {
    /// The most bytes that the heap may take, and a third more during a compaction; `None` for three quarters of the
    /// machine's memory.
    pub max_heap: Option<usize>,
    /// The least number of bytes that are allocated between two nursery collections: about 4 MiB keep pauses near a
    /// millisecond. Up to eight times as many while much survives. Reduced to a sixteenth of a small `max_heap`.
    pub nursery_bytes: usize,
    /// The number of collector threads; `None` for one for two cores, up to [`HeapOptions::MAX_DEFAULT_THREADS`].
    pub gc_threads: Option<usize>,
    /// Collect at regular allocations, to find words that are missing from the roots.
    pub stress: Option<Stress>,
}

/// Regular collections, counted by the allocations of a mutator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stress {
    /// One of this many allocations collects; 1 for each one.
    pub every: u32,
    /// One of this many of these collections is full, and moves everything; 1 for all, 0 for none.
    pub full: u32,
}

/// The extent of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionKind {
    /// The objects allocated since the last collection.
    Nursery,
    /// All objects.
    Full,
}

impl HeapOptions {
    /// The smallest possible maximum of a heap.
    pub const MIN_MAX_HEAP: usize = 4 << 20;
    /// The addresses that the collector reserves, and those that the process needs beside them, in bytes.
    pub const ADDRESS_SPACE: u64 = 11 << 40;
    /// The smallest possible nursery.
    pub const MIN_NURSERY: usize = 256 << 10;
    /// The most collector threads that the default takes.
    pub const MAX_DEFAULT_THREADS: usize = 8;
}

impl Default for HeapOptions {
    fn default() -> HeapOptions {
        HeapOptions { max_heap: None, nursery_bytes: 4 << 20, gc_threads: None, stress: None }
    }
}

/// The reasons why a heap could not be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapError {
    /// The process has its heap already: the collector is a singleton.
    AlreadyCreated,
    /// `max_heap` is below [`HeapOptions::MIN_MAX_HEAP`].
    HeapTooSmall,
    /// `nursery_bytes` is below [`HeapOptions::MIN_NURSERY`].
    NurseryTooSmall,
    /// `gc_threads` is zero.
    NoThreads,
    /// `stress.every` is zero.
    NoStressInterval,
    /// The process may not have as much address space as the collector reserves; the limit in bytes.
    AddressSpace(u64),
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeapError::AlreadyCreated => f.write_str("this process has a heap already"),
            HeapError::HeapTooSmall => {
                write!(f, "the heap must have at least {} MiB", HeapOptions::MIN_MAX_HEAP >> 20)
            }
            HeapError::NurseryTooSmall => {
                write!(f, "the nursery must have at least {} KiB", HeapOptions::MIN_NURSERY >> 10)
            }
            HeapError::NoThreads => f.write_str("the collector needs at least one thread"),
            HeapError::NoStressInterval => {
                f.write_str("stress collections need an interval of at least one allocation")
            }
            HeapError::AddressSpace(limit) => {
                let (least, limit) = (HeapOptions::ADDRESS_SPACE >> 40, limit >> 20);
                write!(
                    f,
                    "the collector reserves {least} TiB of addresses, which take no memory, and the process may have \
                     {limit} MiB (`ulimit -v`); `--max-heap` limits the memory itself"
                )
            }
        }
    }
}

impl std::error::Error for HeapError {}
