//! The word: one 64-bit value of the guest, in a register, a frame, a slot or an array element.
//!
//! The three lowest bits are the tag, the other 61 the payload:
//!
//! ```text
//!   63                                      3 2   0
//!  ┌─────────────────────────────────────────┬─────┐
//!  │ signed value                            │ 000 │  small integer
//!  │ address of an object (8-aligned)        │ 001 │  pointer
//!  │ exponent (8) │ fraction (52) │ sign (1) │ 010 │  immediate double
//!  │ index                                   │ 011 │  special: nil, false, true, …
//!  └─────────────────────────────────────────┴─────┘
//! ```
//!
//! A small integer carries tag zero so that words can be added, subtracted and compared without
//! untagging. A pointer is its object's address plus one, which address arithmetic folds into its
//! displacement: the slot at offset 16 is at word + 15.
//!
//! An immediate double is rotated left by one bit, so that the sign is lowest, and has the excess of
//! its exponent removed: 256 of the 2048 exponents are representable, those between 2⁻¹²⁷ and
//! 2¹²⁸ (the encoding of Spur's 64-bit images; Miranda and Béra, "A Partial Read Barrier for
//! Efficient Support of Live Object-oriented Programming", ISMM 2015). Both zeroes keep the payloads
//! 0 and 1, which is why 2⁻¹²⁷ itself is the one double of that range that needs a box. Infinities,
//! NaNs and the very large and small live in boxes.
//!
//! Invariant: two words with equal bits denote the same guest value. The converse holds for all but
//! boxed values.

use crate::object::Object;
use std::fmt;

/// One tagged 64-bit guest value. The module's head describes the encoding.
///
/// Equality is identity of bits: the guest's `==` on everything but boxed numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Word(u64);

/// How many low bits hold the tag.
pub const TAG_BITS: u32 = 3;
/// Selects the tag of a word.
pub const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// The tag of small integers. Zero, so that the payload of a small integer is its shifted value.
pub const TAG_SMALL_INTEGER: u64 = 0b000;
/// The tag of pointers to objects.
pub const TAG_POINTER: u64 = 0b001;
/// The tag of immediate doubles.
pub const TAG_DOUBLE: u64 = 0b010;
/// The tag of nil, the booleans and internal sentinels.
pub const TAG_SPECIAL: u64 = 0b011;

/// The least small integer, −2⁶⁰.
pub const SMALL_INTEGER_MIN: i64 = -(1 << 60);
/// The greatest small integer, 2⁶⁰ − 1.
pub const SMALL_INTEGER_MAX: i64 = (1 << 60) - 1;

/// What the rotated bits of an immediate double lose: the excess of the exponent, above the fraction
/// and the sign.
const DOUBLE_EXCESS: u64 = 896 << 53;
/// Payloads up to this one are the two zeroes, which have no excess.
const LAST_ZERO_PAYLOAD: u64 = 1;
/// The first payload that does not fit.
const PAYLOAD_END: u64 = 1 << (64 - TAG_BITS);

const _: () = assert!(SMALL_INTEGER_MAX as u64 == (u64::MAX >> 1) >> TAG_BITS);
const _: () = assert!(size_of::<Word>() == 8 && size_of::<Option<Object>>() == 8);

impl Word {
    /// The undefined object.
    pub const NIL: Word = Word::special(0);
    /// The false object.
    pub const FALSE: Word = Word::special(1);
    /// The true object.
    pub const TRUE: Word = Word::special(2);
    /// No value yet: a sentinel that the guest never sees.
    pub const UNSET: Word = Word::special(3);

    const fn special(index: u64) -> Word {
        Word(index << TAG_BITS | TAG_SPECIAL)
    }

    /// The word with these bits, which must be those of a word.
    ///
    /// The pointer tag makes the heap dereference the bits: only bits read from a word qualify.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Word {
        Word(bits)
    }

    /// The bits of the word, tag included.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The tag: one of the `TAG_` constants.
    #[inline(always)]
    pub const fn tag(self) -> u64 {
        self.0 & TAG_MASK
    }

    /// Whether this is nil.
    #[inline(always)]
    pub const fn is_nil(self) -> bool {
        self.0 == Word::NIL.0
    }

    /// The guest's boolean for `value`.
    #[inline(always)]
    pub const fn from_bool(value: bool) -> Word {
        // True follows false in the table of specials, so that this needs no branch.
        Word(Word::FALSE.0 + ((value as u64) << TAG_BITS))
    }

    /// The boolean this word is, if it is one.
    #[inline]
    pub const fn as_bool(self) -> Option<bool> {
        match self {
            Word::FALSE => Some(false),
            Word::TRUE => Some(true),
            _ => None,
        }
    }
}

/// Small integers.
impl Word {
    /// The small integer `value`, or `None` if it needs a box.
    #[inline(always)]
    pub const fn from_small_integer(value: i64) -> Option<Word> {
        if SMALL_INTEGER_MIN <= value && value <= SMALL_INTEGER_MAX {
            Some(Word::from_small_integer_unchecked(value))
        } else {
            None
        }
    }

    /// The small integer `value`, which the caller knows to be in range; otherwise it wraps around.
    #[inline(always)]
    pub const fn from_small_integer_unchecked(value: i64) -> Word {
        debug_assert!(SMALL_INTEGER_MIN <= value && value <= SMALL_INTEGER_MAX);
        Word((value << TAG_BITS) as u64)
    }

    /// Whether this is a small integer.
    #[inline(always)]
    pub const fn is_small_integer(self) -> bool {
        self.tag() == TAG_SMALL_INTEGER
    }

    /// Whether both words are small integers, in one test.
    #[inline(always)]
    pub const fn both_small_integers(self, other: Word) -> bool {
        (self.0 | other.0) & TAG_MASK == TAG_SMALL_INTEGER
    }

    /// The value of a small integer.
    #[inline(always)]
    pub const fn as_small_integer(self) -> Option<i64> {
        if self.is_small_integer() {
            Some(self.small_integer_unchecked())
        } else {
            None
        }
    }

    /// The value of a word that the caller knows to be a small integer; otherwise meaningless.
    #[inline(always)]
    pub const fn small_integer_unchecked(self) -> i64 {
        debug_assert!(self.is_small_integer());
        self.0 as i64 >> TAG_BITS
    }
}

/// Doubles.
impl Word {
    /// The immediate double `value`, or `None` if it needs a box.
    #[inline(always)]
    pub const fn from_double(value: f64) -> Option<Word> {
        let rotated = value.to_bits().rotate_left(1);
        if rotated <= LAST_ZERO_PAYLOAD {
            return Some(Word(rotated << TAG_BITS | TAG_DOUBLE));
        }
        // Smaller exponents wrap around to payloads that are too large, like larger exponents.
        let payload = rotated.wrapping_sub(DOUBLE_EXCESS);
        if LAST_ZERO_PAYLOAD < payload && payload < PAYLOAD_END {
            Some(Word(payload << TAG_BITS | TAG_DOUBLE))
        } else {
            None
        }
    }

    /// Whether this is an immediate double.
    #[inline(always)]
    pub const fn is_double(self) -> bool {
        self.tag() == TAG_DOUBLE
    }

    /// The value of an immediate double.
    #[inline(always)]
    pub const fn as_double(self) -> Option<f64> {
        if self.is_double() {
            Some(self.double_unchecked())
        } else {
            None
        }
    }

    /// The value of a word that the caller knows to be an immediate double; otherwise meaningless.
    #[inline(always)]
    pub const fn double_unchecked(self) -> f64 {
        debug_assert!(self.is_double());
        let payload = self.0 >> TAG_BITS;
        let excess = if payload > LAST_ZERO_PAYLOAD {
            DOUBLE_EXCESS
        } else {
            0
        };
        f64::from_bits((payload + excess).rotate_right(1))
    }
}

/// Pointers.
impl Word {
    /// Whether this points to an object.
    #[inline(always)]
    pub const fn is_pointer(self) -> bool {
        self.tag() == TAG_POINTER
    }

    /// The object this word points to.
    #[inline(always)]
    pub fn as_object(self) -> Option<Object> {
        if self.is_pointer() {
            Some(self.object_unchecked())
        } else {
            None
        }
    }

    /// The object of a word that the caller knows to be a pointer.
    #[inline(always)]
    pub fn object_unchecked(self) -> Object {
        debug_assert!(self.is_pointer());
        Object::from_word_bits(self.0)
    }
}

impl From<Object> for Word {
    #[inline(always)]
    fn from(object: Object) -> Word {
        object.word()
    }
}

impl From<bool> for Word {
    #[inline(always)]
    fn from(value: bool) -> Word {
        Word::from_bool(value)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Word::NIL => f.write_str("nil"),
            Word::FALSE => f.write_str("false"),
            Word::TRUE => f.write_str("true"),
            Word::UNSET => f.write_str("unset"),
            word => match word.tag() {
                TAG_SMALL_INTEGER => write!(f, "{}", word.small_integer_unchecked()),
                TAG_DOUBLE => write!(f, "{:?}", word.double_unchecked()),
                TAG_POINTER => write!(f, "@{:x}", word.0 - TAG_POINTER),
                _ => write!(f, "?{:x}", word.0),
            },
        }
    }
}
