//! The text form of a unit as people read it: layouts are written as the classes that have them, and a legend names
//! the functions and primitives, which the text form numbers. `optimised` keeps it of the units that are to be shown.

use std::collections::HashSet;
use std::fmt::Write;

use squall_compiler::ir::Unit;

use super::facts::RuntimeFacts;

/// The operations whose operand is a list of layouts.
const TESTS: [&str; 3] = ["guard_layout", "assume", "has_layout"];

/// The text of a unit.
pub fn text(facts: &RuntimeFacts<'_>, unit: &Unit) -> String {
    let mut text = String::new();
    for line in unit.to_string().lines() {
        let mut before = "";
        for (index, word) in line.split(' ').enumerate() {
            text += if index > 0 { " " } else { "" };
            let is_kind = word.contains('.') && word.contains('=');
            match TESTS.contains(&before) || is_kind || word.contains('[') {
                true => text += &with_classes(facts, word),
                false => text += word,
            }
            before = word;
        }
        text += "\n";
    }
    let legend = legend(facts, &text);
    legend + &text
}

/// The text with the names of classes in place of layouts, which are hexadecimal numbers.
fn with_classes(facts: &RuntimeFacts<'_>, text: &str) -> String {
    let ends = |character: char| !character.is_ascii_alphanumeric();
    let pieces = text.split_inclusive(ends).map(|piece| {
        let number = piece.trim_end_matches(ends);
        let layout = u32::from_str_radix(number, 16).ok().filter(|_| number.len() > 3);
        match layout.and_then(|layout| facts.class_of(layout)) {
            Some(class) => format!("{class}{}", &piece[number.len()..]),
            None => piece.to_owned(),
        }
    });
    pieces.collect()
}

/// A line for each function and primitive that the text has.
fn legend(facts: &RuntimeFacts<'_>, text: &str) -> String {
    let mut legend = String::new();
    let words: HashSet<&str> =
        text.split(|character: char| !character.is_ascii_alphanumeric()).collect();
    let (functions, primitives) = facts.numbered();
    let functions = functions.iter().map(|function| function.name()).enumerate();
    let primitives = primitives.into_iter().enumerate();
    for (letter, (index, name)) in
        functions.map(|each| ('f', each)).chain(primitives.map(|each| ('p', each)))
    {
        let number = format!("{letter}{index}");
        if words.contains(number.as_str()) {
            _ = writeln!(legend, "; {number} is {name}");
        }
    }
    legend
}
