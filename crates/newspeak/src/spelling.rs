//! Names that are close to a name: slips of the keyboard, and words of other languages. Parser and checker ask it for
//! remedies.

use strsim::osa_distance;

/// The candidate that a name was probably meant to be, if one differs in few characters.
pub fn closest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let most = match name.trim_end_matches(':').chars().count() {
        0..=2 => return None,
        3..=5 => 1,
        _ => 2,
    };
    let near = candidates.filter(|candidate| *candidate != name && is_comparable(name, candidate));
    let near = near
        .map(|candidate| (osa_distance(name, candidate), !is_left_out(name, candidate), candidate));
    near.filter(|(distance, ..)| *distance <= most).min().map(|(.., candidate)| candidate)
}

/// The shortest candidate that has a name in it, in capitals or not: `trimmed` for `trim`, and `asUppercase` for
/// `uppercase`.
pub fn longer<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let name = name.to_lowercase();
    let longer = candidates.filter(|candidate| contains_word(candidate, &name));
    longer.min_by_key(|candidate| (candidate.len(), *candidate))
}

/// Whether a candidate has a word in it, which is written small, and takes as many arguments.
fn contains_word(candidate: &str, word: &str) -> bool {
    const SHORTEST: usize = 4;
    let arguments = |name: &str| name.matches(':').count();
    word.trim_end_matches(':').len() >= SHORTEST
        && arguments(candidate) == arguments(word)
        && candidate.len() > word.len()
        && candidate.to_lowercase().contains(word)
}

/// Whether a name is another one with letters left out: the most frequent slip, so that `printn` rather means `println`
/// than `print`.
fn is_left_out(name: &str, candidate: &str) -> bool {
    let mut rest = candidate.chars();
    name.chars().all(|letter| rest.any(|other| other == letter))
}

/// Words, names of classes and operators are different things, and so are messages with different numbers of arguments.
fn is_comparable(name: &str, candidate: &str) -> bool {
    let arguments = |name: &str| name.matches(':').count();
    let kind = |name: &str| match name.chars().next() {
        Some(first) if first.is_uppercase() => 0,
        Some(first) if first.is_alphabetic() => 1,
        _ => 2,
    };
    arguments(name) == arguments(candidate)
        && kind(name) == kind(candidate)
        && name.len().abs_diff(candidate.len()) <= 4
}

/// The remedy for a word of another language.
pub fn foreign_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "this" | "me" => "the receiver of the current message is `self`",
        "null" | "None" | "undefined" | "nullptr" | "NULL" => {
            "the object that stands for nothing is `nil`"
        }
        "True" | "TRUE" => "truth is written `true`",
        "False" | "FALSE" => "falsehood is written `false`",
        "return" => "a method answers a value by `^ value`",
        "let" | "var" | "const" | "val" | "mut" => {
            "declare locals between bars, at the beginning of the method or block: `| name = value. |`"
        }
        "if" | "elif" | "elseif" | "unless" | "else" | "then" | "ifTrue:else:" | "if:else:" => {
            "write `condition ifTrue: [ … ] ifFalse: [ … ]`"
        }
        "while" | "until" => "write `[ condition ] whileTrue: [ … ]`",
        "for" | "foreach" | "in" => {
            "write `collection do: [:each | … ]` or `1 to: n do: [:i | … ]`"
        }
        "def" | "function" | "func" | "fn" | "fun" | "sub" => {
            "declare a method as `public name = ( … )`"
        }
        "print" | "puts" | "echo" | "printf" | "console" | "Console" | "Transcript" | "println" => {
            "write `'text' println`, or `print` without the line end"
        }
        "import" | "require" | "include" | "use" => {
            "a module keeps what it needs in slots: `private Set = platform collections Set.`"
        }
        "throw" | "raise" => "signal an exception: `(Error message: 'reason') signal`",
        "try" | "catch" | "except" => "write `[ … ] on: Exception do: [:exception | … ]`",
        "finally" => "write `[ … ] ensure: [ … ]`",
        "=>" => "a block with a parameter is written `[:x | … ]`",
        "new" => "an instance is the answer of its class: `Name new`",
        "and" | "or" | "not" => "write `a and: [ b ]`, `a or: [ b ]` or `a not`",
        "break" | "continue" => "a loop ends with its condition, or by `^` in a method of its own",
        "await" => "write `promise whenResolved: [:value | … ]`",
        "async" => "an eventual send is written `object <-: message`",
        "len" | "length" => "the number of elements is `collection size`",
        "str" => "the text of an object is `object asString`",
        "int" => "the number in a string is `string asInteger`",
        "!=" | "/=" | "=/=" => "inequality is written `<>`, and non-identity `~=`",
        "===" => "equality is written `=`, and identity `==`",
        "+=" | "-=" | "*=" | "++" | "--" => "a variable is assigned by `name:: value`: `x:: x + 1`",
        "**" | "^^" => "powers are written `2 raisedTo: 10`, and of doubles `2.0 pow: 0.5`",
        "toString" | "to_s" | "printString" | "displayString" => {
            "the text of an object is `object asString`"
        }
        _ => return None,
    })
}

/// The remedy for a message or name of Smalltalk that the library has under another name, or not at all.
pub fn smalltalk_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "displayNl" | "printNl" | "displayString:" => "write `object println`",
        "OrderedCollection" => "a collection that grows is a `Vector`: `kernel Vector new`",
        "IdentityDictionary" => "a dictionary is made by `platform collections Dictionary new`",
        "ReadStream" | "WriteStream" | "ReadWriteStream" => "streams are in `platform streams`",
        "Smalltalk" => "there are no globals: what a program uses, it gets from the platform",
        "thisContext" => "activations are no objects; an exception has a `stackTrace`",
        "Character" => "a character is a string of length 1: `\"a\"`",
        "add:" => "elements are added by `append:` to a Vector, and by `add:` to a Set",
        "addAll:" => "the elements of another collection are added by `appendAll:`",
        "|" => "of Booleans, `or:` and `||` evaluate their block only if they need it",
        "&" => "of Booleans, `and:` and `&&` evaluate their block only if they need it",
        "\\\\" => "the remainder is written `%`, and with the sign of the receiver `rem:`",
        "~~" => "non-identity is written `~=`",
        "even" => "write `number isEven`",
        "odd" => "write `number isOdd`",
        "includes:" => "write `contains:`",
        "includesSubstring:" => "write `includes:`",
        "detect:" => "write `detect:ifNone:`",
        "yourself" => {
            "a cascade answers what its last message answers: keep the receiver in a variable"
        }
        "size" => "the number of characters is `string length`",
        "at:" => "the character at an index is `string charAt: index`",
        "copyFrom:to:" => "a part of a string is `substringFrom:to:`",
        "asFloat" => "write `asDouble`",
        "truncated" => "write `asInteger`",
        "subclass:" => "declare a class: `class Name = Superclass ( | slots | ) ( methods )`",
        "fork" | "newProcess" => {
            "strands are made by `platform threading`, `processes` or `actors`: guide, page 8"
        }
        "isKindOf:" | "respondsTo:" | "perform:" | "perform:with:" | "isMemberOf:" | "class" => {
            "what is inside of an object is known to its mirror: `platform mirrors ObjectMirror`"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["println", "print", "at:put:", "size", "do:", "+"];
        let closest = |name| closest(name, names.iter().copied());
        assert_eq!(closest("prinln"), Some("println"));
        assert_eq!(closest("pritnln"), Some("println"));
        assert_eq!(closest("printn"), Some("println"));
        assert_eq!(closest("prints"), Some("print"));
        assert_eq!(closest("at:putt:"), Some("at:put:"));
        assert_eq!(closest("siez"), Some("size"));
        assert_eq!(closest("weather"), None);
        assert_eq!(closest("at:"), None);
        assert_eq!(closest("-"), None);
    }

    #[test]
    fn longer_names_have_the_name_in_them() {
        let names = ["trimmedLeft", "trimmed", "asUppercase", "printRadix:", "print"];
        let longer = |name| longer(name, names.iter().copied());
        assert_eq!(longer("trim"), Some("trimmed"));
        assert_eq!(longer("uppercase"), Some("asUppercase"));
        assert_eq!(longer("radix:"), Some("printRadix:"));
        assert_eq!(longer("upper:"), None);
        assert_eq!(longer("rim"), None);
    }
}
