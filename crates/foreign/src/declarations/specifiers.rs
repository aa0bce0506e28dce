//! The beginning of a declaration, which all its names share. The parser reads it first.

use std::ops::Range;

use super::TagKind;
use super::error::Problem;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};
use crate::types::{RecordKind, Scalar, Tag, Type};

/// The beginning of a declaration.
pub(super) struct Specifiers {
    pub(super) base: Type,
    pub(super) span: Range<usize>,
    pub(super) is_typedef: bool,
    /// Whether it defines or declares a `struct`, `union` or `enum`.
    pub(super) has_definition: bool,
}

/// Words without influence on the passing of values.
pub(super) const QUALIFIERS: &[&str] =
    &["const", "__const", "volatile", "__volatile__", "restrict", "__restrict", "__restrict__"];

/// Whether a word has no influence on types.
fn is_ignored(word: &str) -> bool {
    QUALIFIERS.contains(&word) || matches!(word, "extern" | "__extension__")
}

/// The words that names of arithmetic types are made of.
const TYPE_WORDS: &[&str] = &[
    "void", "_Bool", "bool", "char", "short", "int", "long", "float", "double", "signed",
    "unsigned",
];

/// Words of C's declarations that are refused here, with the reasons.
const REFUSED: &[(&str, &str)] = &[
    ("static", "it cannot be called from outside of its file"),
    ("inline", "it need not be in a library"),
    ("register", "it has no address"),
    ("auto", "it belongs to a function"),
    ("_Thread_local", "there is one for every native thread"),
    ("thread_local", "there is one for every native thread"),
    ("_Complex", "complex numbers are not supported"),
    ("_Atomic", "atomic types are not supported"),
    ("_Alignas", "alignment is that of the types"),
    ("alignas", "alignment is that of the types"),
    ("__attribute__", "attributes are not supported"),
    ("__declspec", "attributes are not supported"),
    ("__int128", "integers of 128 bits are not supported"),
    ("__float128", "`double` is the widest floating-point type"),
    ("_Float128", "`double` is the widest floating-point type"),
    ("typeof", "name the type"),
    ("__typeof__", "name the type"),
    ("va_list", "declare the variant of the function with `...`"),
    ("_Static_assert", "it declares nothing"),
    ("static_assert", "it declares nothing"),
    ("_Noreturn", "a function must return"),
];

/// Whether a word cannot be a name.
pub(super) fn is_keyword(word: &str) -> bool {
    let is_refused = REFUSED.iter().any(|(refused, _)| *refused == word);
    let others = ["struct", "union", "enum", "typedef", "sizeof", "_Alignof"];
    is_refused || is_ignored(word) || TYPE_WORDS.contains(&word) || others.contains(&word)
}

impl<'t> Parser<'t, '_> {
    /// The beginning of a parameter, a field or a type, none of which can declare an alias.
    pub(super) fn plain_specifiers(&mut self) -> Parsed<Specifiers> {
        let specifiers = self.specifiers()?;
        match specifiers.is_typedef {
            true => Err(Problem::new("`typedef` cannot stand here", specifiers.span)),
            false => Ok(specifiers),
        }
    }

    /// Reads words up to the first that belongs to a declarator.
    pub(super) fn specifiers(&mut self) -> Parsed<Specifiers> {
        let start = self.peek().span.start;
        let mut words: Vec<&str> = Vec::new();
        let mut base: Option<Type> = None;
        let (mut is_typedef, mut has_definition) = (false, false);
        while let TokenKind::Word(word) = self.peek().kind {
            let is_first = base.is_none() && words.is_empty();
            let is_type_word = TYPE_WORDS.contains(&word);
            if is_ignored(word) || word == "typedef" {
                is_typedef |= word == "typedef";
                self.advance();
            } else if is_type_word && base.is_none() {
                words.push(word);
                self.advance();
            } else if let Some(kind) = tag_kind(word).filter(|_| is_first) {
                base = Some(self.tagged_type(kind)?);
                has_definition = true;
            } else if is_first && !is_keyword(word) {
                base = Some(self.named_type(word));
            } else if is_keyword(word) {
                return Err(self.misplaced(word));
            } else {
                break;
            }
        }
        let base = match base {
            Some(base) => base,
            None if words.is_empty() => return Err(self.expected("a type")),
            None => arithmetic_type(&words)
                .map_err(|message| Problem::new(message, self.since(start)))?,
        };
        Ok(Specifiers { base, span: self.since(start), is_typedef, has_definition })
    }

    /// An alias, or an unknown name, to which there can be pointers.
    fn named_type(&mut self, name: &'t str) -> Type {
        self.advance();
        let unknown = || Type::opaque(Tag::Alias(name.into()));
        self.scope.alias(name).unwrap_or_else(unknown)
    }

    fn misplaced(&self, word: &str) -> Problem {
        let refused = REFUSED.iter().find(|(refused, _)| *refused == word);
        let message = match refused {
            Some((_, reason)) => format!("`{word}` is not supported: {reason}"),
            None => format!("`{word}` cannot stand here"),
        };
        Problem::new(message, self.peek().span.clone())
    }
}

fn tag_kind(word: &str) -> Option<TagKind> {
    match word {
        "struct" => Some(TagKind::Record(RecordKind::Struct)),
        "union" => Some(TagKind::Record(RecordKind::Union)),
        "enum" => Some(TagKind::Enumeration),
        _ => None,
    }
}

/// The type that these words name, in any order.
fn arithmetic_type(words: &[&str]) -> Result<Type, String> {
    let mut sorted = words.to_vec();
    sorted.sort_unstable();
    // `int` adds nothing to `short`, `long`, `signed` and `unsigned`.
    if sorted.iter().any(|word| ["short", "long", "signed", "unsigned"].contains(word)) {
        let place = sorted.iter().position(|word| *word == "int");
        place.map(|place| sorted.remove(place));
    }
    let scalar = match sorted.join(" ").as_str() {
        "void" => return Ok(Type::void()),
        "_Bool" | "bool" => Scalar::Bool,
        "char" => Scalar::Char,
        "char signed" => Scalar::SignedChar,
        "char unsigned" => Scalar::UnsignedChar,
        "short" | "short signed" => Scalar::Short,
        "short unsigned" => Scalar::UnsignedShort,
        "int" | "signed" => Scalar::Int,
        "unsigned" => Scalar::UnsignedInt,
        "long" | "long signed" => Scalar::Long,
        "long unsigned" => Scalar::UnsignedLong,
        "long long" | "long long signed" => Scalar::LongLong,
        "long long unsigned" => Scalar::UnsignedLongLong,
        "float" => Scalar::Float,
        "double" => Scalar::Double,
        "double long" => return Err("`long double` is not supported".to_owned()),
        _ => return Err(format!("there is no type `{}`", words.join(" "))),
    };
    Ok(Type::scalar(scalar))
}
