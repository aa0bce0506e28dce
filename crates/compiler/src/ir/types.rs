//! Types: what is known of a value. `infer` computes them, and all passes ask for them.
//!
//! A type is a set of guest values: a set of *kinds*, for integers a range, and for objects a set of layouts. The sets
//! form a lattice of finite height, but for the ranges, which `infer` widens. A type says nothing about the
//! representation: an integer may be a tagged word or a raw one.
//!
//! ```text
//! none   int(0..9)   int   double   nil   true   false   bool   object   object[8020|c020]   nil|object[8020]   any
//! ```

use std::fmt;

use crate::words::layouts;
use crate::words::{GREATEST_INTEGER, LEAST_INTEGER};

/// A set of guest values.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type {
    kinds: u8,
    range: Range,
    layouts: Layouts,
}

/// The integers from `least` to `greatest`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Range {
    /// The least one.
    pub least: i64,
    /// The greatest one.
    pub greatest: i64,
}

impl Range {
    /// All integers of 64 bits.
    pub const ALL: Range = Range { least: i64::MIN, greatest: i64::MAX };
    /// The small integers.
    pub const SMALL: Range = Range { least: LEAST_INTEGER, greatest: GREATEST_INTEGER };

    /// The range of these two and all between.
    pub fn new(least: i64, greatest: i64) -> Range {
        debug_assert!(least <= greatest);
        Range { least, greatest }
    }

    /// Whether each integer of `other` is in this range.
    pub fn includes(self, other: Range) -> bool {
        self.least <= other.least && other.greatest <= self.greatest
    }

    fn join(self, other: Range) -> Range {
        Range::new(self.least.min(other.least), self.greatest.max(other.greatest))
    }
}

/// Some layouts of objects, or all of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layouts {
    count: u8,
    layouts: [u32; MOST_LAYOUTS],
}

/// Sets of more layouts count as all.
pub const MOST_LAYOUTS: usize = 4;
const EVERY: u8 = u8::MAX;

impl Layouts {
    /// No layout.
    pub const NONE: Layouts = Layouts { count: 0, layouts: [0; MOST_LAYOUTS] };
    /// Every layout.
    pub const ALL: Layouts = Layouts { count: EVERY, layouts: [0; MOST_LAYOUTS] };

    /// This layout alone.
    pub fn of(layout: u32) -> Layouts {
        Layouts::NONE.with(layout)
    }

    /// These and one more.
    pub fn with(mut self, layout: u32) -> Layouts {
        let count = usize::from(self.count);
        if self.count == EVERY || self.layouts[..count].contains(&layout) {
            return self;
        }
        if count == MOST_LAYOUTS {
            return Layouts::ALL;
        }
        self.layouts[count] = layout;
        self.count += 1;
        self.layouts[..=count].sort_unstable();
        self
    }

    /// The layouts, unless it is all of them.
    pub fn list(&self) -> Option<&[u32]> {
        (self.count != EVERY).then(|| &self.layouts[..usize::from(self.count)])
    }

    /// Whether each layout of `other` is one of these.
    pub fn includes(&self, other: &Layouts) -> bool {
        match (self.list(), other.list()) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(all), Some(some)) => some.iter().all(|layout| all.contains(layout)),
        }
    }

    fn join(self, other: Layouts) -> Layouts {
        match other.list() {
            None => Layouts::ALL,
            Some(list) => list.iter().fold(self, |all, &layout| all.with(layout)),
        }
    }

    fn meet(self, other: Layouts) -> Layouts {
        let (Some(some), Some(_)) = (self.list(), other.list()) else {
            return if self.list().is_some() { self } else { other };
        };
        let common = some.iter().filter(|&&layout| other.includes(&Layouts::of(layout)));
        common.fold(Layouts::NONE, |all, &layout| all.with(layout))
    }
}

impl fmt::Display for Layouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(list) = self.list() else { return f.write_str("*") };
        for (index, layout) in list.iter().enumerate() {
            let separator = if index > 0 { "|" } else { "" };
            write!(f, "{separator}{layout:x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Layouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const INTEGER: u8 = 1;
const DOUBLE: u8 = 2;
const NIL: u8 = 4;
const FALSE: u8 = 8;
const TRUE: u8 = 16;
const OBJECT: u8 = 32;
const KINDS: [(u8, &str); 6] = [
    (INTEGER, "int"),
    (DOUBLE, "double"),
    (NIL, "nil"),
    (FALSE, "false"),
    (TRUE, "true"),
    (OBJECT, "object"),
];

const fn kinds(kinds: u8) -> Type {
    let range = if kinds & INTEGER != 0 { Range::SMALL } else { NO_RANGE };
    let layouts = if kinds & OBJECT != 0 { Layouts::ALL } else { Layouts::NONE };
    Type { kinds, range, layouts }
}

/// The range of types without integers, so that equal types have equal fields.
const NO_RANGE: Range = Range { least: 0, greatest: 0 };

impl Type {
    /// No value: code that has one is never reached.
    pub const NONE: Type = kinds(0);
    /// Every value that a word can have.
    pub const ANY: Type = kinds(INTEGER | DOUBLE | NIL | FALSE | TRUE | OBJECT);
    /// The small integers.
    pub const INTEGER: Type = kinds(INTEGER);
    /// All integers of 64 bits, which only a raw value can have.
    pub const RAW: Type = Type { range: Range::ALL, ..kinds(INTEGER) };
    /// The doubles: as words the immediate ones.
    pub const DOUBLE: Type = kinds(DOUBLE);
    /// `nil`.
    pub const NIL: Type = kinds(NIL);
    /// `true`.
    pub const TRUE: Type = kinds(TRUE);
    /// `false`.
    pub const FALSE: Type = kinds(FALSE);
    /// The Booleans.
    pub const BOOLEAN: Type = kinds(TRUE | FALSE);
    /// All objects that a pointer leads to.
    pub const OBJECT: Type = kinds(OBJECT);

    /// The integers of a range.
    pub fn integers(range: Range) -> Type {
        Type { range, ..Type::INTEGER }
    }

    /// Objects of these layouts.
    pub fn objects(layouts: Layouts) -> Type {
        if layouts == Layouts::NONE { Type::NONE } else { Type { layouts, ..Type::OBJECT } }
    }

    /// The values whose layout for inline caches is this one: immediate values have layouts, too.
    pub fn of_layout(layout: u32) -> Type {
        match layout {
            layouts::INTEGER => Type::INTEGER,
            layouts::DOUBLE => Type::DOUBLE,
            layouts::NIL => Type::NIL,
            layouts::TRUE => Type::TRUE,
            layouts::FALSE => Type::FALSE,
            object => Type::objects(Layouts::of(object)),
        }
    }

    /// The values of either type.
    pub fn join(self, other: Type) -> Type {
        let range = match (self.kinds & INTEGER != 0, other.kinds & INTEGER != 0) {
            (true, true) => self.range.join(other.range),
            (true, false) => self.range,
            _ => other.range,
        };
        let layouts = self.layouts.join(other.layouts);
        Type { kinds: self.kinds | other.kinds, range, layouts }
    }

    /// The values of both types.
    pub fn meet(self, other: Type) -> Type {
        let mut kinds = self.kinds & other.kinds;
        let least = self.range.least.max(other.range.least);
        let greatest = self.range.greatest.min(other.range.greatest);
        if least > greatest {
            kinds &= !INTEGER;
        }
        let layouts = self.layouts.meet(other.layouts);
        if layouts == Layouts::NONE {
            kinds &= !OBJECT;
        }
        let range = if kinds & INTEGER != 0 { Range { least, greatest } } else { NO_RANGE };
        Type { kinds, range, layouts: if kinds & OBJECT != 0 { layouts } else { Layouts::NONE } }
    }

    /// The values that are not nil.
    pub fn without_nil(self) -> Type {
        Type { kinds: self.kinds & !NIL, ..self }
    }

    /// The values that are no integers.
    pub fn without_integers(self) -> Type {
        Type { kinds: self.kinds & !INTEGER, range: NO_RANGE, ..self }
    }

    /// Whether each value of this type is one of `other`.
    pub fn is(self, other: Type) -> bool {
        self.kinds & !other.kinds == 0
            && (self.kinds & INTEGER == 0 || other.range.includes(self.range))
            && (self.kinds & OBJECT == 0 || other.layouts.includes(&self.layouts))
    }

    /// Whether some value is of both types.
    pub fn may_be(self, other: Type) -> bool {
        self.meet(other) != Type::NONE
    }

    /// Whether a word of this type can be a pointer, which a collection changes.
    pub fn may_be_object(self) -> bool {
        self.kinds & OBJECT != 0
    }

    /// The range of its integers, if it has only integers.
    pub fn range(self) -> Option<Range> {
        (self.kinds == INTEGER).then_some(self.range)
    }

    /// The range of its integers, if it has some.
    pub fn integer_part(self) -> Option<Range> {
        (self.kinds & INTEGER != 0).then_some(self.range)
    }

    /// The layouts of its objects, if it has only objects, and few layouts.
    pub fn layouts(&self) -> Option<&[u32]> {
        if self.kinds == OBJECT { self.layouts.list() } else { None }
    }

    /// The layouts of all its values, those of immediate values included, if they are few.
    pub fn every_layout(self) -> Option<Vec<u32>> {
        let may_be = |layout: &u32| self.may_be(Type::of_layout(*layout));
        let immediate = layouts::IMMEDIATE.into_iter().filter(may_be);
        Some(immediate.chain(self.layouts.list()?.iter().copied()).collect())
    }

    /// The layouts of its objects.
    pub fn object_layouts(&self) -> Layouts {
        self.layouts
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Type::NONE {
            return f.write_str("none");
        }
        if *self == Type::ANY {
            return f.write_str("any");
        }
        let mut separator = "";
        if self.kinds & (TRUE | FALSE) == TRUE | FALSE {
            let rest = Type { kinds: self.kinds & !(TRUE | FALSE), ..*self };
            return if rest == Type::NONE { f.write_str("bool") } else { write!(f, "{rest}|bool") };
        }
        for (kind, name) in KINDS.into_iter().filter(|(kind, _)| self.kinds & kind != 0) {
            write!(f, "{separator}{name}")?;
            separator = "|";
            match kind {
                INTEGER if self.range == Range::ALL => f.write_str("(*)")?,
                INTEGER if self.range != Range::SMALL => {
                    write!(f, "({}..{})", self.range.least, self.range.greatest)?;
                }
                OBJECT if self.layouts != Layouts::ALL => write!(f, "[{}]", self.layouts)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a value is coded in a machine register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Representation {
    /// A tagged word.
    Word,
    /// A raw integer of 64 bits.
    I64,
    /// A raw double.
    F64,
    /// Zero or one, as a comparison gives it.
    Bool,
}

impl Representation {
    /// Every representation.
    pub const ALL: [Representation; 4] =
        [Representation::Word, Representation::I64, Representation::F64, Representation::Bool];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        ["word", "i64", "f64", "bool"][self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Type> {
        let mut all =
            vec![Type::NONE, Type::ANY, Type::INTEGER, Type::RAW, Type::DOUBLE, Type::NIL];
        all.extend([Type::TRUE, Type::BOOLEAN, Type::OBJECT, Type::integers(Range::new(0, 9))]);
        all.extend([Type::integers(Range::new(5, 20)), Type::of_layout(0xc0020)]);
        all.extend([Type::of_layout(0xc0020).join(Type::of_layout(0xd0020)).join(Type::NIL)]);
        all
    }

    #[test]
    fn join_and_meet_are_bounds() {
        for left in samples() {
            for right in samples() {
                let (join, meet) = (left.join(right), left.meet(right));
                assert!(left.is(join) && right.is(join), "{left} join {right} = {join}");
                assert!(meet.is(left) && meet.is(right), "{left} meet {right} = {meet}");
                assert_eq!(join, right.join(left));
                assert_eq!(meet, right.meet(left));
                assert_eq!(left.is(right), left.meet(right) == left, "{left} is {right}");
            }
        }
    }

    #[test]
    fn a_type_has_the_layouts_of_all_its_values() {
        let kind = Type::of_layout(0xc0020).join(Type::INTEGER).join(Type::TRUE);
        assert_eq!(kind.every_layout(), Some(vec![layouts::INTEGER, layouts::TRUE, 0xc0020]));
        assert_eq!(Type::NONE.every_layout(), Some(vec![]));
        assert_eq!(Type::ANY.every_layout(), None);
    }

    #[test]
    fn more_layouts_than_a_set_holds_are_all() {
        let many = (1..=5).fold(Layouts::NONE, |all, layout| all.with(layout));
        assert_eq!(many, Layouts::ALL);
        assert_eq!(Layouts::of(7).with(7), Layouts::of(7));
    }
}
