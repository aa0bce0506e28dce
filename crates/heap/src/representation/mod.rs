//! How guest values are represented: as words, and as objects in memory behind them. The other modules of this crate,
//! the runtime and the tiers read and write guest values by them.
//!
//! | file | what it holds |
//! |---|---|
//! | `word` | tagged 64-bit values: small integers, doubles, specials, pointers |
//! | `layout` | the 32 bits in an object's header that say how to read the rest |
//! | `object` | objects in memory, and the accesses to them |
//! | `slot_kinds` | what the slots of a layout's objects have held so far |
//! | `speculation` | indices while the processor guesses |
//!
//! Nothing here allocates or knows the collector. Stores that need the write barrier are in `crate::mutator`.

mod layout;
mod object;
pub mod slot_kinds;
mod speculation;
mod word;

pub use layout::{Format, LayoutId};
pub use object::{
    CLASS_OFFSET, FIRST_BYTE_OFFSET, FIRST_ELEMENT_OFFSET, FIRST_SLOT_OFFSET, Flag, HASH_BITS,
    HEADER_OFFSET, LAYOUT_OFFSET, LENGTH_OFFSET, MAX_LENGTH, Object, RUN, UNLOGGED, WORD_BYTES,
    number_of_hash, size_of_array, size_of_bytes, size_of_slots,
};
pub(crate) use object::{COLLECTOR_BITS, UNLOGGED_BIT, offset_of_element, offset_of_slot};
pub use speculation::confine;
pub use word::{
    DOUBLE_BIT, DOUBLE_ROTATION, SMALL_INTEGER_MAX, SMALL_INTEGER_MIN, TAG_BITS, TAG_MASK,
    TAG_POINTER, TAG_SMALL_INTEGER, TAG_SPECIAL, Word,
};
