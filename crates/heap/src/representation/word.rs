//! The word: one 64-bit value of the guest, in a register, a frame, a slot or an array element. The whole VM passes
//! guest values in this form.
//!
//! The three lowest bits are the tag, the other 61 the payload:
//!
//! ```text
//!   63                                      3 2   0
//!  ┌─────────────────────────────────────────┬─────┐
//!  │ signed value                            │ 000 │  small integer
//!  │ address of an object (8-aligned)        │ 001 │  pointer
//!  │ exponent (8) │ fraction (52) │ sign (1) │ x1x │  immediate double
//!  │ index                                   │ 101 │  special: nil, false, true, …
//!  └─────────────────────────────────────────┴─────┘
//! ```
//!
//! A small integer carries tag zero so that words can be added, subtracted and compared without
//! untagging. A pointer is its object's address plus one, which address arithmetic folds into its
//! displacement: the slot at offset 16 is at word + 15.
//!
//! An immediate double has no tag added: its bits are rotated so that the three highest bits of its exponent, less one,
//! are the tag (Melançon, Serrano and Feeley, "Float Self-Tagging", OOPSLA 2025). The four tags with the middle bit are
//! doubles, so one bit tells them from all else:
//!
//! | tag | exponent | magnitudes |
//! |---|---|---|
//! | 010, 011 | 768 to 1279 | from 2⁻²⁵⁵ to just below 2²⁵⁷ |
//! | 110 | 1792 to 2047 | those from 2⁷⁶⁹ on, infinity, NaN |
//! | 111 | 0 to 255 | zero, those below 2⁻⁷⁶⁷ |
//!
//! The others live in boxes.
//!
//! Invariant: two words with equal bits denote the same guest value. Equal guest values have equal bits, except boxed
//! ones.

use super::Object;
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
/// The bit that is set in immediate doubles, and in no other word.
pub const DOUBLE_BIT: u64 = 0b10;
/// The tag of nil, the booleans and internal sentinels.
pub const TAG_SPECIAL: u64 = 0b101;

/// The least small integer, −2⁶⁰.
pub const SMALL_INTEGER_MIN: i64 = -(1 << 60);
/// The greatest small integer, 2⁶⁰ − 1.
pub const SMALL_INTEGER_MAX: i64 = (1 << 60) - 1;

/// How far the bits of a double are rotated to the left, before one is subtracted: the sign and the three highest bits of
/// the exponent come down.
pub const DOUBLE_ROTATION: u32 = 4;

const _: () = assert!(SMALL_INTEGER_MAX as u64 == (u64::MAX >> 1) >> TAG_BITS);
const _: () = assert!(size_of::<Word>() == 8 && size_of::<Option<Object>>() == 8);

impl Word {
    /// The undefined object.
    pub const NIL: Word = Word::special(0);
    /// The false object.
    pub const FALSE: Word = Word::special(1);
    /// The true object.
    pub const TRUE: Word = Word::special(2);
    /// The sentinel for a slot without a value; the guest never sees it.
    pub const UNSET: Word = Word::special(3);

    const fn special(index: u64) -> Word {
        Word(index << TAG_BITS | TAG_SPECIAL)
    }

    /// The word with these bits.
    ///
    /// # Safety
    ///
    /// If the tag is that of a pointer, the bits are [those](Word::bits) of a word that refers to a live object. Raw
    /// bits of a typed register qualify, too, if the word goes only to a place whose type says that it is raw: nothing
    /// reads a tag there.
    #[inline(always)]
    pub const unsafe fn from_bits(bits: u64) -> Word {
        Word(bits)
    }

    /// The small integer whose bits are this address, a multiple of 8: native addresses are kept in objects in this
    /// form. [`Word::bits`] gives the address back.
    #[inline(always)]
    pub const fn from_address(address: usize) -> Word {
        assert!(address as u64 & TAG_MASK == TAG_SMALL_INTEGER, "the address is aligned");
        Word(address as u64)
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
        // True follows false in the table of specials, so this needs no branch.
        Word(Word::FALSE.0 + ((value as u64) << TAG_BITS))
    }

    /// The boolean that this word is; `None` for other words.
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
        if self.is_small_integer() { Some(self.small_integer_unchecked()) } else { None }
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
        let word = Word(value.to_bits().rotate_left(DOUBLE_ROTATION).wrapping_sub(1));
        if word.is_double() { Some(word) } else { None }
    }

    /// Whether this is an immediate double.
    #[inline(always)]
    pub const fn is_double(self) -> bool {
        self.0 & DOUBLE_BIT != 0
    }

    /// The value of an immediate double.
    #[inline(always)]
    pub const fn as_double(self) -> Option<f64> {
        if self.is_double() { Some(self.double_unchecked()) } else { None }
    }

    /// The value of a word that the caller knows to be an immediate double; otherwise meaningless.
    #[inline(always)]
    pub const fn double_unchecked(self) -> f64 {
        debug_assert!(self.is_double());
        f64::from_bits(self.0.wrapping_add(1).rotate_right(DOUBLE_ROTATION))
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
        // SAFETY: the word is a pointer.
        if self.is_pointer() { Some(unsafe { self.object_unchecked() }) } else { None }
    }

    /// The object of a word that is a pointer by an invariant of the caller. Panics if it is none.
    #[inline(always)]
    pub fn object(self) -> Object {
        match self.as_object() {
            Some(object) => object,
            None => no_pointer(self),
        }
    }

    /// The object of a word that the caller knows to be a pointer.
    ///
    /// # Safety
    ///
    /// It is one.
    #[inline(always)]
    pub unsafe fn object_unchecked(self) -> Object {
        debug_assert!(self.is_pointer());
        // SAFETY: the word is a pointer, and so the bits are an object's address plus the tag: `from_bits` is the only
        // way to make a pointer of bits, and its callers promise that.
        unsafe { Object::from_address((self.0 - TAG_POINTER) as usize) }
    }
}

#[cold]
#[inline(never)]
fn no_pointer(word: Word) -> ! {
    panic!("{word:?} is no pointer");
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
            word if word.is_double() => write!(f, "{:?}", word.double_unchecked()),
            word => match word.tag() {
                TAG_SMALL_INTEGER => write!(f, "{}", word.small_integer_unchecked()),
                TAG_POINTER => write!(f, "@{:x}", word.0 - TAG_POINTER),
                _ => write!(f, "?{:x}", word.0),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A pointer to this address, where no object is.
    fn pointer(address: u64) -> Word {
        // SAFETY: the tests in this file do not use the memory of objects.
        unsafe { Word::from_bits(address | TAG_POINTER) }
    }

    #[test]
    fn addresses_are_small_integers() {
        let word = Word::from_address(0x1008);
        assert!(word.is_small_integer());
        assert_eq!(word.bits(), 0x1008);
    }

    #[test]
    #[should_panic(expected = "the address is aligned")]
    fn an_address_with_a_tag_is_refused() {
        _ = Word::from_address(0x1001);
    }

    #[test]
    #[should_panic(expected = "nil is no pointer")]
    fn only_a_pointer_has_an_object() {
        _ = Word::NIL.object();
    }

    #[test]
    fn specials_are_distinct_and_nothing_else() {
        let specials = [Word::NIL, Word::FALSE, Word::TRUE, Word::UNSET];
        for (index, word) in specials.into_iter().enumerate() {
            assert_eq!(word.tag(), TAG_SPECIAL);
            assert!(!word.is_small_integer() && !word.is_double() && !word.is_pointer());
            assert_eq!(specials.iter().position(|other| *other == word), Some(index));
            assert_eq!(word.is_nil(), index == 0);
            assert_eq!(word.as_object(), None);
        }
    }

    #[test]
    fn booleans_round_trip() {
        assert_eq!(Word::from_bool(true), Word::TRUE);
        assert_eq!(Word::from(false), Word::FALSE);
        assert_eq!(Word::TRUE.as_bool(), Some(true));
        assert_eq!(Word::FALSE.as_bool(), Some(false));
        assert_eq!(Word::NIL.as_bool(), None);
    }

    #[test]
    fn small_integers_end_where_they_should() {
        for (value, fits) in [
            (0, true),
            (-1, true),
            (SMALL_INTEGER_MIN, true),
            (SMALL_INTEGER_MAX, true),
            (SMALL_INTEGER_MIN - 1, false),
            (SMALL_INTEGER_MAX + 1, false),
            (i64::MIN, false),
            (i64::MAX, false),
        ] {
            let word = Word::from_small_integer(value);
            assert_eq!(word.is_some(), fits, "{value}");
            assert_eq!(word.and_then(Word::as_small_integer), fits.then_some(value));
        }
    }

    /// The doubles at the edges of what is immediate, and the usual suspects.
    #[test]
    fn doubles_are_immediate_between_their_edges() {
        // The double with this exponent and this fraction.
        let double = |exponent: u64, fraction: u64| f64::from_bits(exponent << 52 | fraction);
        let last = (1 << 52) - 1;
        for (value, is_immediate) in [
            (0.0, true),
            (1.0, true),
            (1.5, true),
            (0.1, true),
            (1e38, true),
            (1e-38, true),
            (1e77, true),
            (1e-76, true),
            (1e78, false),
            (1e-77, false),
            (1e200, false),
            (1e-200, false),
            (1e300, true),
            (1e-300, true),
            (f64::MIN_POSITIVE, true),
            (f64::MAX, true),
            (f64::INFINITY, true),
            (f64::NAN, true),
            (double(0, 1), true),
            (double(255, last), true),
            (double(256, 0), false),
            (double(767, last), false),
            (double(768, 0), true),
            (double(1279, last), true),
            (double(1280, 0), false),
            (double(1791, last), false),
            (double(1792, 0), true),
        ] {
            assert_eq!(Word::from_double(value).is_some(), is_immediate, "{value:e}");
            assert_eq!(Word::from_double(-value).is_some(), is_immediate, "-{value:e}");
        }
    }

    #[test]
    fn debug_forms_can_be_told_apart() {
        let forms = |words: &[Word]| format!("{words:?}");
        let numbers = [
            Word::from_small_integer_unchecked(-7),
            Word::from_double(-0.0).unwrap(),
            Word::from_double(2.5).unwrap(),
        ];
        assert_eq!(forms(&numbers), "[-7, -0.0, 2.5]");
        let others = [Word::NIL, Word::TRUE, Word::FALSE, Word::UNSET, pointer(0x1000)];
        assert_eq!(forms(&others), "[nil, true, false, unset, @1000]");
    }

    #[test]
    fn pointers_and_objects_convert() {
        let word = pointer(0x2000);
        let object = word.as_object().unwrap();
        assert_eq!(object.address(), 0x2000);
        assert_eq!(Word::from(object), word);
    }

    proptest! {
        #[test]
        fn small_integers_round_trip(value in SMALL_INTEGER_MIN..=SMALL_INTEGER_MAX) {
            let word = Word::from_small_integer(value).unwrap();
            prop_assert_eq!(word.as_small_integer(), Some(value));
            prop_assert!(!word.is_double() && !word.is_pointer());
        }

        #[test]
        fn tagged_arithmetic_is_arithmetic(a in -1i64 << 58..1 << 58, b in -1i64 << 58..1 << 58) {
            let [x, y] = [a, b].map(Word::from_small_integer_unchecked);
            prop_assert!(x.both_small_integers(y));
            // SAFETY: the sum of two words with the tag of small integers has this tag.
            let sum = unsafe { Word::from_bits(x.bits().wrapping_add(y.bits())) };
            prop_assert_eq!(sum.as_small_integer(), Some(a + b));
            prop_assert_eq!((x.bits() as i64).cmp(&(y.bits() as i64)), a.cmp(&b));
        }

        #[test]
        fn doubles_round_trip_or_need_a_box(bits: u64) {
            if let Some(word) = Word::from_double(f64::from_bits(bits)) {
                prop_assert!(word.is_double() && !word.is_small_integer() && !word.is_pointer());
                prop_assert_eq!(word.double_unchecked().to_bits(), bits);
            }
        }

        #[test]
        fn doubles_of_middle_exponents_are_immediate(
            sign in 0u64..2,
            exponent in 768u64..1280,
            fraction in 0u64..1 << 52,
        ) {
            let value = f64::from_bits(sign << 63 | exponent << 52 | fraction);
            let word = Word::from_double(value).unwrap();
            prop_assert_eq!(word.as_double().map(f64::to_bits), Some(value.to_bits()));
        }

        #[test]
        fn mixed_words_are_not_both_integers(value in SMALL_INTEGER_MIN..=SMALL_INTEGER_MAX) {
            let number = Word::from_small_integer_unchecked(value);
            for other in [Word::NIL, pointer(0x1000), Word::from_double(1.0).unwrap()] {
                prop_assert!(!number.both_small_integers(other));
                prop_assert!(!other.both_small_integers(number));
            }
        }
    }
}
