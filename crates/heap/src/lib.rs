//! The heap of the Squall virtual machine: words, object formats, allocation, barriers, roots and
//! weak references. The only crate that names the collector (MMTk, plan GenImmix); none of its types
//! appears in this interface.
//!
//! - [`Word`] is a tagged 64-bit value, [`Object`] the address of an object, [`LayoutId`] what its
//!   header says about its shape.
//! - [`Heap`] is the one heap of the process. A thread attaches to it and gets a [`Mutator`], with
//!   which it allocates, stores and reaches safepoints.
//! - [`RootSource`] is what the collector asks the runtime.
//!
//! A *GC point* is a call at which a collection may run: everything in [`Mutator`] that allocates,
//! [`Mutator::safepoint`], [`Mutator::collect`] and the return from native code. Such calls take
//! `&mut Mutator` and are marked *GC point* in their documentation. `docs/internals/heap.md` has the
//! whole picture.

mod allocation;
mod collector;
mod handles;
mod heap;
mod layout;
mod meter;
mod mutator;
mod object;
mod options;
mod roots;
mod safepoint;
mod sizing;
mod statistics;
mod sync;
mod weak;
mod word;

pub use collector::Tracer;
pub use handles::{Handle, HandleScope};
pub use heap::Heap;
pub use layout::{Format, LayoutId};
pub use mutator::Mutator;
pub use object::{
    CLASS_OFFSET, FIRST_BYTE_OFFSET, FIRST_ELEMENT_OFFSET, FIRST_SLOT_OFFSET, Flag, HASH_BITS,
    HEADER_OFFSET, LAYOUT_OFFSET, LENGTH_OFFSET, MAX_LENGTH, Object, RUN, WORD_BYTES,
    number_of_hash, size_of_array, size_of_bytes, size_of_slots,
};
pub use options::{CollectionKind, HeapError, HeapOptions, Stress};
pub use roots::RootSource;
pub use statistics::{CollectionReport, HeapStatistics, PauseStatistics};
pub use weak::Finalizable;
pub use word::{
    SMALL_INTEGER_MAX, SMALL_INTEGER_MIN, TAG_BITS, TAG_DOUBLE, TAG_MASK, TAG_POINTER,
    TAG_SMALL_INTEGER, TAG_SPECIAL, Word,
};
