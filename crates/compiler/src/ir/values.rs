//! The small values that operations contain: places in the frame, cells, sites, conditions, widths. The table of
//! operations uses them, and each has a text form of one word.

use std::fmt;
use std::str::FromStr;

use crate::ir::entities::{ActivationId, FunctionRef};
use crate::ir::operations::Operand;
use crate::ir::types::Layouts;
use crate::words;

/// A number that counts words: a place in the frame, from the unit's first register on; or a slot, an element, a
/// register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place(pub u32);

/// The bits of a double, which have an order and a hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bits(pub u64);

/// The bits of an immediate word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WordBits(pub u64);

/// An immortal cell with an object, which the collector updates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cell {
    /// A constant of a function.
    Constant(FunctionRef, u16),
    /// An object that the runtime knows by a number.
    Known(u32),
}

impl Cell {
    /// The class of closures.
    pub const BLOCK_CLASS: Cell = Cell::Known(0);
    /// The class of contexts.
    pub const OBJECT_CLASS: Cell = Cell::Known(1);
    /// The class of array literals.
    pub const ARRAY_CLASS: Cell = Cell::Known(2);
}

/// What a slot of a layout's objects has held so far: nil, and objects of one layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlotKind {
    /// The bits of the layout.
    pub layout: u32,
    /// The slot.
    pub slot: u32,
    /// The bits of the layout of the objects; [`words::NIL_ALONE`] if there were none.
    pub kind: u32,
}

impl SlotKind {
    /// The layouts of the words that the slot has held.
    pub fn layouts(self) -> Layouts {
        let nil = Layouts::of(words::layouts::NIL);
        if self.kind == words::NIL_ALONE { nil } else { nil.with(self.kind) }
    }
}

/// A direct call: the callee, and where its frame begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The callee.
    pub function: FunctionRef,
    /// The place of its first register.
    pub window: Place,
}

/// The ordinary site of an instruction, and the place below the callee's frame where its address is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    /// The activation that calls.
    pub activation: ActivationId,
    /// The instruction.
    pub pc: u32,
    /// Where the address goes.
    pub place: Place,
}

/// Where a word is loaded from again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Source {
    /// The place that has it, or a closure that has captured it.
    pub place: Place,
    /// Its index among what the closure has captured.
    pub captured: Option<u32>,
}

/// How two numbers are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named as in mathematics; `Unsigned…` compares bits")]
pub enum Condition {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    UnsignedLess,
    UnsignedLessOrEqual,
}

/// Integers of typed code that are narrower than 64 bits. Their values are kept extended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Width {
    /// How many bits the value has.
    pub bits: u8,
    /// Whether it is extended by its sign.
    pub is_signed: bool,
}

impl Condition {
    const NAMES: [(Condition, &str); 8] = [
        (Condition::Equal, "eq"),
        (Condition::NotEqual, "ne"),
        (Condition::Less, "lt"),
        (Condition::LessOrEqual, "le"),
        (Condition::Greater, "gt"),
        (Condition::GreaterOrEqual, "ge"),
        (Condition::UnsignedLess, "ult"),
        (Condition::UnsignedLessOrEqual, "ule"),
    ];

    /// Whether it holds for two integers.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Condition::Equal => left == right,
            Condition::NotEqual => left != right,
            Condition::Less => left < right,
            Condition::LessOrEqual => left <= right,
            Condition::Greater => left > right,
            Condition::GreaterOrEqual => left >= right,
            Condition::UnsignedLess => (left as u64) < right as u64,
            Condition::UnsignedLessOrEqual => left as u64 <= right as u64,
        }
    }

    /// Whether it holds for two doubles.
    pub fn holds_for_doubles(self, left: f64, right: f64) -> bool {
        match self {
            Condition::Equal => left == right,
            Condition::NotEqual => left != right,
            Condition::Less | Condition::UnsignedLess => left < right,
            Condition::LessOrEqual | Condition::UnsignedLessOrEqual => left <= right,
            Condition::Greater => left > right,
            Condition::GreaterOrEqual => left >= right,
        }
    }

    /// The condition that holds for integers when this one does not, if it has a name.
    pub fn negated(self) -> Option<Condition> {
        Some(match self {
            Condition::Equal => Condition::NotEqual,
            Condition::NotEqual => Condition::Equal,
            Condition::Less => Condition::GreaterOrEqual,
            Condition::LessOrEqual => Condition::Greater,
            Condition::Greater => Condition::LessOrEqual,
            Condition::GreaterOrEqual => Condition::Less,
            Condition::UnsignedLess | Condition::UnsignedLessOrEqual => return None,
        })
    }
}

impl Width {
    /// The value that is left of an integer.
    pub fn wrap(self, value: i64) -> i64 {
        let unused = 64 - u32::from(self.bits);
        let shifted = value << unused;
        if self.is_signed { shifted >> unused } else { (shifted as u64 >> unused) as i64 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Place, ()> {
        text.parse().map(Place).map_err(|_| ())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        self.captured.map_or(Ok(()), |index| write!(f, "[{index}]"))
    }
}

impl FromStr for Source {
    type Err = ();

    fn from_str(text: &str) -> Result<Source, ()> {
        let Some((place, index)) = text.trim_end_matches(']').split_once('[') else {
            return Ok(Source { place: text.parse()?, captured: None });
        };
        let captured = Some(index.parse().map_err(|_| ())?);
        Ok(Source { place: place.parse()?, captured })
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = f64::from_bits(self.0);
        if value.is_nan() { write!(f, "#{:x}", self.0) } else { write!(f, "{value:?}") }
    }
}

impl FromStr for Bits {
    type Err = ();

    fn from_str(text: &str) -> Result<Bits, ()> {
        let bits = match text.strip_prefix('#') {
            Some(bits) => u64::from_str_radix(bits, 16).ok(),
            None => text.parse::<f64>().ok().map(f64::to_bits),
        };
        bits.map(Bits).ok_or(())
    }
}

/// The words with a name.
const NAMES: [(u64, &str); 3] =
    [(words::NIL, "nil"), (words::FALSE, "false"), (words::TRUE, "true")];

impl fmt::Display for WordBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, name)) = NAMES.into_iter().find(|(word, _)| *word == self.0) {
            return f.write_str(name);
        }
        match (words::word_integer(self.0), words::word_double(self.0)) {
            (Some(value), _) => write!(f, "{value}"),
            (None, Some(value)) => write!(f, "{value:?}"),
            (None, None) => write!(f, "#{:x}", self.0),
        }
    }
}

impl FromStr for WordBits {
    type Err = ();

    fn from_str(text: &str) -> Result<WordBits, ()> {
        if let Some((word, _)) = NAMES.into_iter().find(|(_, name)| *name == text) {
            return Ok(WordBits(word));
        }
        if let Some(bits) = text.strip_prefix('#') {
            return u64::from_str_radix(bits, 16).map(WordBits).map_err(|_| ());
        }
        let integer = text.parse::<i64>().ok().and_then(words::integer_word);
        let double = || text.parse::<f64>().ok().and_then(words::double_word);
        integer.or_else(double).map(WordBits).ok_or(())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Constant(function, index) => write!(f, "{function}.k{index}"),
            Cell::Known(number) => write!(f, "known{number}"),
        }
    }
}

impl FromStr for Cell {
    type Err = ();

    fn from_str(text: &str) -> Result<Cell, ()> {
        if let Some(number) = text.strip_prefix("known") {
            return number.parse().map(Cell::Known).map_err(|_| ());
        }
        let (function, index) = text.split_once(".k").ok_or(())?;
        let function = FunctionRef::read(function).ok_or(())?;
        index.parse().map(|index| Cell::Constant(function, index)).map_err(|_| ())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.function, self.window)
    }
}

impl FromStr for Target {
    type Err = ();

    fn from_str(text: &str) -> Result<Target, ()> {
        let (function, window) = text.split_once('@').ok_or(())?;
        let function = FunctionRef::read(function).ok_or(())?;
        Ok(Target { function, window: window.parse()? })
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}@{}", self.activation, self.pc, self.place)
    }
}

impl FromStr for Site {
    type Err = ();

    fn from_str(text: &str) -> Result<Site, ()> {
        let (site, place) = text.split_once('@').ok_or(())?;
        let (activation, pc) = site.split_once(':').ok_or(())?;
        let activation = ActivationId::read(activation).ok_or(())?;
        Ok(Site { activation, pc: pc.parse().map_err(|_| ())?, place: place.parse()? })
    }
}

impl fmt::Display for SlotKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{}={:x}", self.layout, self.slot, self.kind)
    }
}

impl FromStr for SlotKind {
    type Err = ();

    fn from_str(text: &str) -> Result<SlotKind, ()> {
        let (place, kind) = text.split_once('=').ok_or(())?;
        let (layout, slot) = place.split_once('.').ok_or(())?;
        let hexadecimal = |text| u32::from_str_radix(text, 16).map_err(|_| ());
        let slot = slot.parse().map_err(|_| ())?;
        Ok(SlotKind { layout: hexadecimal(layout)?, slot, kind: hexadecimal(kind)? })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Condition::NAMES[*self as usize].1)
    }
}

impl FromStr for Condition {
    type Err = ();

    fn from_str(text: &str) -> Result<Condition, ()> {
        let found = Condition::NAMES.into_iter().find(|(_, name)| *name == text);
        found.map(|(condition, _)| condition).ok_or(())
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_signed { 'i' } else { 'u' }, self.bits)
    }
}

impl FromStr for Width {
    type Err = ();

    fn from_str(text: &str) -> Result<Width, ()> {
        let is_signed = text.starts_with('i');
        let bits = text.strip_prefix(['i', 'u']).and_then(|bits| bits.parse().ok());
        bits.filter(|bits| (1..=64).contains(bits)).map(|bits| Width { bits, is_signed }).ok_or(())
    }
}
