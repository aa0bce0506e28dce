//! The encoding of guest values in words, and the places of an object's parts, as machine code needs them. The builder,
//! `simplify` and the lowering use them.
//!
//! `squall-heap` defines the encoding. This crate knows no heap, so the constants are repeated here. The crate that
//! installs compiled code asserts that both agree.

/// How many low bits of a word hold the tag.
pub const TAG_BITS: u32 = 3;
/// Selects the tag of a word.
pub const TAG_MASK: u64 = 0b111;
/// The tag of small integers.
pub const TAG_INTEGER: u64 = 0b000;
/// The tag of pointers to objects.
pub const TAG_POINTER: u64 = 0b001;
/// The bit that is set in immediate doubles, and in no other word.
pub const DOUBLE_BIT: u64 = 0b10;

/// The undefined object.
pub const NIL: u64 = 0b0_0101;
/// The false object.
pub const FALSE: u64 = 0b0_1101;
/// The true object.
pub const TRUE: u64 = 0b1_0101;

/// The kind of a slot that has held nothing but nil.
pub const NIL_ALONE: u32 = 0;
/// The kind of a slot that may hold any word.
pub const ANYTHING: u32 = u32::MAX;

/// What the leaf of a primitive answers if it has no answer; no guest value has this word.
pub const NO_ANSWER: u64 = 0b1_1101;

/// The least small integer.
pub const LEAST_INTEGER: i64 = -(1 << 60);
/// The greatest small integer.
pub const GREATEST_INTEGER: i64 = (1 << 60) - 1;

/// How far the bits of a double are rotated to the left, before one is subtracted.
pub const DOUBLE_ROTATION: u32 = 4;

/// The distance from a pointer's bits to the object's layout, 32 bits.
pub const LAYOUT: i32 = 4 - 1;
/// Where a layout is in the first word of an object.
pub const LAYOUT_SHIFT: u32 = 32;
/// The distance from a pointer's bits to the object's first word.
pub const HEADER: i32 = -1;
/// The bits in the lower half of a text's first word that say: its characters take more than a byte each.
pub const WIDE: u32 = 0b1100;
/// The bit of a header's lowest byte that is set if the next store into the object must be logged.
pub const UNLOGGED: u8 = 1 << 4;
/// The distance from a pointer's bits to the object's class.
pub const CLASS: i32 = 8 - 1;
/// The distance from a pointer's bits to the first slot.
pub const FIRST_SLOT: i32 = 16 - 1;
/// The distance from a pointer's bits to the length of an array in elements, or of a text in bytes.
pub const LENGTH: i32 = 16 - 1;
/// The distance from a pointer's bits to an array's first element, or a text's first byte.
pub const FIRST_ELEMENT: i32 = 24 - 1;
/// The bytes of a word.
pub const WORD_BYTES: u32 = 8;
/// An object of more bytes than this never comes from a thread's window.
pub const LARGE_OBJECT: u32 = 8 << 10;
/// The bit of a layout that says: the class redefines messages that compiled code inlines.
pub const CONTROL_FLAG: u32 = 1 << 3;

/// How many slots the objects of a layout have.
pub fn slot_count(layout: u32) -> u32 {
    layout >> 4 & 0x3FF
}

/// Layouts with a constant number, as 32 bits: number, slots, control flag, format.
pub mod layouts {
    const fn layout(number: u32, slots: u32, format: u32) -> u32 {
        number << 14 | slots << 4 | format
    }

    /// Small integers, which have no header.
    pub const INTEGER: u32 = layout(1, 0, 0);
    /// Immediate doubles.
    pub const DOUBLE: u32 = layout(2, 0, 0);
    /// `nil`.
    pub const NIL: u32 = layout(3, 0, 0);
    /// `false`.
    pub const FALSE: u32 = layout(4, 0, 0);
    /// `true`.
    pub const TRUE: u32 = layout(5, 0, 0);
    /// Those of all immediate values.
    pub const IMMEDIATE: [u32; 5] = [INTEGER, DOUBLE, NIL, TRUE, FALSE];
    /// Integers that are not small.
    pub const LARGE_INTEGER: u32 = layout(6, 0, 2);
    /// Doubles that are not immediate.
    pub const BOXED_DOUBLE: u32 = layout(7, 1, 3);
    /// Strings.
    pub const STRING: u32 = layout(8, 0, 2);
    /// Symbols.
    pub const SYMBOL: u32 = layout(9, 0, 2);
    /// Arrays.
    pub const ARRAY: u32 = layout(10, 0, 1);
    /// Arrays of values, which nothing assigns.
    pub const VALUE_ARRAY: u32 = layout(11, 0, 1);
    /// Closures: an array of the function and the captured values.
    pub const BLOCK: u32 = layout(13, 0, 1);
    /// Contexts: an array of variables.
    pub const CONTEXT: u32 = layout(14, 0, 1);
    /// Markers of activations that closures can return from.
    pub const HOME: u32 = layout(15, 2, 0);
    /// References to objects of other vats.
    pub const FAR_REFERENCE: u32 = layout(21, 2, 0);
}

/// The word of a small integer, if it is one.
pub fn integer_word(value: i64) -> Option<u64> {
    (LEAST_INTEGER..=GREATEST_INTEGER).contains(&value).then_some((value as u64) << TAG_BITS)
}

/// The value of a small integer's word.
pub fn word_integer(word: u64) -> Option<i64> {
    (word & TAG_MASK == TAG_INTEGER).then_some(word as i64 >> TAG_BITS)
}

/// The word of an immediate double, if it is one.
pub fn double_word(value: f64) -> Option<u64> {
    let word = value.to_bits().rotate_left(DOUBLE_ROTATION).wrapping_sub(1);
    is_double(word).then_some(word)
}

/// Whether a word is an immediate double.
pub fn is_double(word: u64) -> bool {
    word & DOUBLE_BIT != 0
}

/// The value of an immediate double's word.
pub fn word_double(word: u64) -> Option<f64> {
    is_double(word).then(|| f64::from_bits(word.wrapping_add(1).rotate_right(DOUBLE_ROTATION)))
}

/// Whether a constant may stand in the machine code of a guest that is not trusted as it is: its bits are too few for an
/// instruction of use.
pub fn is_harmless(bits: i64) -> bool {
    i16::try_from(bits).is_ok()
}

/// The word of a Boolean.
pub fn boolean_word(value: bool) -> u64 {
    if value { TRUE } else { FALSE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_their_words() {
        for value in [0, 1, -1, LEAST_INTEGER, GREATEST_INTEGER] {
            assert_eq!(integer_word(value).and_then(word_integer), Some(value));
        }
        assert_eq!(integer_word(GREATEST_INTEGER + 1), None);
        for value in [0.0, -0.0, 1.5, -2.25, 1e30, 1e-300, 1e300, f64::INFINITY, f64::NAN] {
            let word = double_word(value).and_then(word_double).map(f64::to_bits);
            assert_eq!(word, Some(value.to_bits()));
        }
        assert_eq!(double_word(1e100), None);
        assert_eq!(double_word(1e-100), None);
    }
}
