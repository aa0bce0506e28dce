//! How much work it is to read a pattern, told before the library does it: a few bytes stand for large classes of characters,
//! and each is made of the tables of Unicode. If case is ignored, the library looks up each character of a class.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    Ast, ClassPerl, ClassPerlKind, ClassSetBinaryOp, ClassSetItem, Flag, Flags, GroupKind, Visitor,
    visit,
};

/// The characters of Unicode.
const ALL: usize = 0x0011_0000;

/// Those of `\w`.
const LETTERS: usize = 140_000;

/// The units of work for a class with hundreds of ranges.
const LARGE_CLASS: usize = 20_000;

/// How many characters are looked up in a unit of work.
const LOOKED_UP: usize = 2;

/// The units of work to read a pattern. One that is none is read fast.
pub fn reading(pattern: &str) -> usize {
    let Ok(ast) = Parser::new().parse(pattern) else { return pattern.len() };
    visit(&ast, Classes::default()).unwrap_or_else(|never| match never {})
}

/// The classes that were seen.
#[derive(Default)]
struct Classes {
    units: usize,
    /// The characters of all.
    characters: usize,
    ignores_case: bool,
}

impl Classes {
    fn add(&mut self, units: usize, characters: usize) {
        self.units += units;
        self.characters += characters;
    }

    fn add_perl(&mut self, class: &ClassPerl) {
        match class.kind {
            _ if class.negated => self.add(LARGE_CLASS, ALL),
            ClassPerlKind::Word => self.add(LARGE_CLASS, LETTERS),
            ClassPerlKind::Digit | ClassPerlKind::Space => self.add(LARGE_CLASS / 10, 1000),
        }
    }

    /// The library makes one class of alternatives that are characters, and puts them in order after each.
    fn add_alternatives(&mut self, alternatives: &[Ast]) {
        const UNITS_OF_TWO: usize = 10;
        let is_character = |ast: &&Ast| !matches!(ast, Ast::Concat(_) | Ast::Group(_));
        let count = alternatives.iter().filter(is_character).count();
        self.add(count.saturating_mul(count).saturating_mul(UNITS_OF_TWO), 0);
    }

    fn set(&mut self, flags: &Flags) {
        self.ignores_case |= flags.flag_state(Flag::CaseInsensitive) == Some(true);
    }
}

impl Visitor for Classes {
    type Output = usize;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<usize, Self::Err> {
        let looked_up = if self.ignores_case { self.characters / LOOKED_UP } else { 0 };
        Ok(self.units + looked_up)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        match ast {
            Ast::Flags(set) => self.set(&set.flags),
            Ast::Group(group) => {
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.set(flags);
                }
            }
            Ast::Alternation(alternation) => self.add_alternatives(&alternation.asts),
            Ast::ClassUnicode(_) => self.add(LARGE_CLASS, ALL),
            Ast::ClassPerl(class) => self.add_perl(class),
            _ => self.add(1, 1),
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        match item {
            ClassSetItem::Range(range) => {
                self.add(1, (range.end.c as usize).saturating_sub(range.start.c as usize) + 1);
            }
            ClassSetItem::Ascii(class) => self.add(10, if class.negated { ALL } else { 128 }),
            ClassSetItem::Unicode(_) => self.add(LARGE_CLASS, ALL),
            ClassSetItem::Perl(class) => self.add_perl(class),
            // All that is in it is looked up once more.
            ClassSetItem::Bracketed(_) => self.add(LARGE_CLASS / 10, ALL),
            _ => self.add(1, 1),
        }
        Ok(())
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ClassSetBinaryOp) -> Result<(), Self::Err> {
        self.add(LARGE_CLASS / 10, 2 * ALL);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_work() {
        assert!(reading("[a-z]+=[0-9]+") < 100);
        assert!(reading(r"\w+") >= LARGE_CLASS);
        assert!(reading(r"(?i)[\w\W]") > reading(r"[\w\W]") + ALL / LOOKED_UP);
        assert!(reading(r"(?i:a)[^\w\s]") > reading(r"(?-i:a)[^\w\s]"));
        assert!(reading(r"(?i)[[a]&&[b]]") > ALL);
        assert!(reading(&"[ac]|".repeat(1000)) > 1_000_000);
        assert!(reading(&"abc|".repeat(1000)) < 10_000);
        assert_eq!(reading("(("), 2, "it is no pattern");
    }
}
