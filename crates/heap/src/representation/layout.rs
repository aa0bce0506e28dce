//! Layouts: the 32 bits in an object's header that tell the collector and the inline caches all they need. The runtime
//! makes one for each behavior.
//!
//! ```text
//!   31                14 13          4 3        2  0
//!  ┌────────────────────┬─────────────┬──────┬───────┐
//!  │ unique number (18) │ fixed slots │ ctrl │ format│
//!  └────────────────────┴─────────────┴──────┴───────┘
//! ```
//!
//! The collector takes format and size from the header alone, without a table; an inline cache compares all 32 bits at
//! once. The *control* flag marks the layouts whose instances have their own methods for the messages that compiled
//! code inlines (`ifTrue:` and so on); this crate only stores the flag.
//!
//! Invariant: an object's layout never changes after its allocation. The number 0 is reserved for
//! [`LayoutId::NONE`], which no object has.

use std::fmt;

/// The way to read the words after an object's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Format {
    /// A fixed number of tagged slots.
    Slots = 0,
    /// A length, then that many tagged elements.
    Array = 1,
    /// A length, then that many bytes, padded to a whole word.
    Bytes = 2,
    /// A fixed number of untagged words.
    Raw = 3,
    /// Like `Array`, but the elements do not keep their objects alive: nil takes a dead one's place.
    WeakArray = 4,
    /// Two slots, a key and a value. The value is kept alive as long as the key is alive for
    /// another reason; then nil takes the place of both (Hayes, "Ephemerons", OOPSLA 1997).
    Ephemeron = 5,
    /// A fixed number of tagged slots, and words outside the heap that the runtime shows with
    /// [`RootSource::visit_frames`](crate::RootSource::visit_frames): a strand with its stack.
    Strand = 6,
}

impl Format {
    /// Whether objects of this format have a length of their own; otherwise the layout gives it.
    #[inline(always)]
    pub const fn is_indexed(self) -> bool {
        matches!(self, Format::Array | Format::Bytes | Format::WeakArray)
    }

    /// Whether the words after the header are tagged elements behind a length.
    #[inline(always)]
    pub const fn has_elements(self) -> bool {
        matches!(self, Format::Array | Format::WeakArray)
    }

    /// Whether the words after the header are tagged slots, their number fixed by the layout.
    #[inline(always)]
    pub const fn has_slots(self) -> bool {
        matches!(self, Format::Slots | Format::Ephemeron | Format::Strand)
    }
}

/// Format, slot count, control flag and identity of a layout, in 32 bits. The module's head shows the bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct LayoutId(u32);

const FORMAT_BITS: u32 = 3;
const FORMAT_MASK: u32 = (1 << FORMAT_BITS) - 1;
const CONTROL_FLAG: u32 = 1 << FORMAT_BITS;
const SLOTS_SHIFT: u32 = FORMAT_BITS + 1;
const SLOTS_BITS: u32 = 10;
const SLOTS_MASK: u32 = (1 << SLOTS_BITS) - 1;
const NUMBER_SHIFT: u32 = SLOTS_SHIFT + SLOTS_BITS;
const NUMBER_BITS: u32 = 18;

const _: () = assert!(NUMBER_SHIFT + NUMBER_BITS == u32::BITS);

impl LayoutId {
    /// The layout of no object. An empty inline cache compares with it.
    pub const NONE: LayoutId = LayoutId(0);
    /// The most slots that an object can have: one less than the bits allow, so that the largest object without a
    /// length takes 8 KiB, which is the largest object of the nursery.
    pub const MAX_SLOTS: u32 = SLOTS_MASK - 1;
    /// The greatest number a layout can have. The least is 1.
    pub const MAX_NUMBER: u32 = (1 << NUMBER_BITS) - 1;

    /// The layout numbered `number`, of `slots` fixed slots.
    ///
    /// `None` if the number is 0 or too large, there are too many slots, an indexed format has
    /// fixed slots, or an ephemeron has not just two.
    pub const fn new(format: Format, slots: u32, control: bool, number: u32) -> Option<LayoutId> {
        let slots_fit = match format {
            Format::Slots | Format::Raw | Format::Strand => slots <= LayoutId::MAX_SLOTS,
            Format::Ephemeron => slots == 2,
            Format::Array | Format::Bytes | Format::WeakArray => slots == 0,
        };
        if !slots_fit || number == 0 || number > LayoutId::MAX_NUMBER {
            return None;
        }
        let control = if control { CONTROL_FLAG } else { 0 };
        Some(LayoutId(number << NUMBER_SHIFT | slots << SLOTS_SHIFT | control | format as u32))
    }

    /// The layout with these bits, which must come from [`LayoutId::bits`].
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> LayoutId {
        LayoutId(bits)
    }

    /// All 32 bits. Inline caches compare them.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The way to read the words of an instance.
    #[inline(always)]
    pub const fn format(self) -> Format {
        match self.0 & FORMAT_MASK {
            0 => Format::Slots,
            1 => Format::Array,
            2 => Format::Bytes,
            3 => Format::Raw,
            4 => Format::WeakArray,
            5 => Format::Ephemeron,
            // 7 is never made: `new` takes a `Format`.
            _ => Format::Strand,
        }
    }

    /// The number of fixed slots, or raw words, of an instance; 0 for indexed formats.
    #[inline(always)]
    pub const fn slot_count(self) -> usize {
        (self.0 >> SLOTS_SHIFT & SLOTS_MASK) as usize
    }

    /// Whether instances have their own methods for the messages that compiled code inlines.
    #[inline(always)]
    pub const fn has_custom_control(self) -> bool {
        self.0 & CONTROL_FLAG != 0
    }

    /// The number that makes the layout unique.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0 >> NUMBER_SHIFT
    }
}

impl fmt::Debug for LayoutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == LayoutId::NONE {
            return f.write_str("layout none");
        }
        write!(f, "layout {} {:?}", self.number(), self.format())?;
        if !self.format().is_indexed() {
            write!(f, "[{}]", self.slot_count())?;
        }
        if self.has_custom_control() { f.write_str(" control") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_kept() {
        for (format, slots) in [
            (Format::Slots, 0),
            (Format::Slots, LayoutId::MAX_SLOTS),
            (Format::Array, 0),
            (Format::Bytes, 0),
            (Format::Raw, 1),
            (Format::WeakArray, 0),
            (Format::Ephemeron, 2),
            (Format::Strand, 6),
        ] {
            for control in [false, true] {
                for number in [1, 77, LayoutId::MAX_NUMBER] {
                    let layout = LayoutId::new(format, slots, control, number).unwrap();
                    assert_eq!(layout.format(), format);
                    assert_eq!(layout.slot_count(), slots as usize);
                    assert_eq!(layout.has_custom_control(), control);
                    assert_eq!(layout.number(), number);
                    assert_eq!(LayoutId::from_bits(layout.bits()), layout);
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(LayoutId::new(Format::Slots, LayoutId::MAX_SLOTS + 1, false, 1), None);
        assert_eq!(LayoutId::new(Format::Slots, 0, false, 0), None);
        assert_eq!(LayoutId::new(Format::Slots, 0, false, LayoutId::MAX_NUMBER + 1), None);
        assert_eq!(LayoutId::new(Format::Array, 1, false, 1), None);
        assert_eq!(LayoutId::new(Format::Ephemeron, 3, false, 1), None);
    }

    #[test]
    fn debug_form_names_the_parts() {
        let layout = LayoutId::new(Format::Slots, 3, true, 12).unwrap();
        assert_eq!(format!("{layout:?}"), "layout 12 Slots[3] control");
        assert_eq!(format!("{:?}", LayoutId::NONE), "layout none");
    }
}
