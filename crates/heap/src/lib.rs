//! The heap of the Squall virtual machine: words, object formats, allocation, barriers, roots and weak references. The
//! runtime creates it, and the interpreter reads and writes objects with it. No other crate names the collector (MMTk,
//! plan GenImmix), and none of its types appears in this interface.
//!
//! - [`Word`] is a tagged 64-bit value, [`Object`] the address of an object. [`LayoutId`] is the part of its header
//!   that describes its shape.
//! - [`Heap`] is the one heap of the process. A thread attaches to it and gets a [`Mutator`], with which it allocates,
//!   stores and reaches safepoints.
//! - [`RootSource`] is the interface through which the collector asks the runtime for roots.
//!
//! A *GC point* is a call at which a collection may run: all of [`Mutator`] that allocates, [`Mutator::safepoint`],
//! [`Mutator::collect`] and the return from native code. Such calls take `&mut Mutator` and are marked *GC point* in
//! their documentation. `docs/internals/heap.md` describes the whole heap.
//!
//! | module | subject |
//! |---|---|
//! | `process` | the heap's creation; threads that attach |
//! | `mutator` | attached threads: allocation, the write barrier, root handles, metering |
//! | `evacuation` | the objects of the cradle move to the collector's memory |
//! | `collector` | the binding to MMTk |
//! | `heap` | the state that mutators and the collector share |
//! | `cradle` | the memory of the first objects, before there is a collector |
//! | `weak` | weak references and finalisation |
//! | `roots`, `tracer` | the collector's questions to the runtime, and the runtime's to the collector |
//! | `record` | the part of a mutator that the collector reads |
//! | `safepoint`, `sync` | stopping the world; knows no object |
//! | `sizing` | the size of the heap: when to collect, and when memory is exhausted |
//! | `representation` | words, layouts, objects in memory |
//! | `options`, `statistics` | the choices at creation, and the counts |
//!
//! Each module imports only modules that are below it in the table.

mod collector;
mod cradle;
mod evacuation;
mod heap;
mod mutator;
mod options;
mod process;
mod record;
mod representation;
mod roots;
mod safepoint;
mod sizing;
mod statistics;
mod sync;
mod tracer;
mod weak;

pub use collector::LARGE_OBJECT;
pub use heap::Heap;
pub use mutator::{Mutator, RootHandle, RootScope};
pub use options::{CollectionKind, HeapError, HeapOptions, Stress};
pub use representation::{
    CLASS_OFFSET, DOUBLE_BIT, DOUBLE_ROTATION, FIRST_BYTE_OFFSET, FIRST_ELEMENT_OFFSET,
    FIRST_SLOT_OFFSET, Flag, Format, HASH_BITS, HEADER_OFFSET, LAYOUT_OFFSET, LENGTH_OFFSET,
    LayoutId, MAX_LENGTH, Object, RUN, SMALL_INTEGER_MAX, SMALL_INTEGER_MIN, TAG_BITS, TAG_MASK,
    TAG_POINTER, TAG_SMALL_INTEGER, TAG_SPECIAL, UNLOGGED, WORD_BYTES, Word, confine,
    number_of_hash, size_of_array, size_of_bytes, size_of_slots, slot_kinds,
};
pub use roots::{RootAddress, RootSource};
pub use statistics::{CollectionReport, HeapStatistics, PauseStatistics};
pub use tracer::Tracer;
pub use weak::Finalizable;
