//! Types in C's own notation, for messages and for guests. The `Display` of types and signatures, and messages about
//! calls, write types in this way.
//!
//! C writes a type around the name that has it, inside out: `int (*f)(char)` is a pointer to a function.
//! [`declaration`] writes it in the same way, from the outermost level to the innermost.

use std::fmt::{self, Write};

use super::{Enumeration, Kind, Record, RecordKind, Tag, Type};
use crate::Signature;

/// The number of names of a nameless `enum` that are shown.
const SHOWN: usize = 4;

impl fmt::Display for Type {
    /// The notation of a cast or of a nameless parameter: `const` and aliases are lost.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&declaration(self, String::new()))
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordKind::Struct => "struct",
            RecordKind::Union => "union",
        })
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tag::Record(kind, name) => write!(f, "{kind} {name}"),
            Tag::Alias(name) => f.write_str(name),
        }
    }
}

impl Type {
    /// The declaration of `name` with this type, without the semicolon.
    pub fn declaring(&self, name: &str) -> String {
        declaration(self, name.to_owned())
    }
}

/// The declaration of `declarator`: a name, or a name with stars and brackets around it.
fn declaration(of: &Type, declarator: String) -> String {
    match of.kind() {
        Kind::Pointer(target) => match target.kind() {
            Kind::Array(_) | Kind::Function(_) => declaration(target, format!("(*{declarator})")),
            _ => declaration(target, format!("*{declarator}")),
        },
        Kind::Array(array) => {
            let length = array.length.map_or(String::new(), |length| length.to_string());
            declaration(&array.element, format!("{declarator}[{length}]"))
        }
        Kind::Function(signature) => function(signature, &declarator),
        Kind::Void => beside("void", &declarator),
        Kind::Scalar(scalar) => beside(&scalar.to_string(), &declarator),
        Kind::Enumeration(enumeration) => beside(&enumeration_name(enumeration), &declarator),
        Kind::Record(record) => beside(&record_name(record), &declarator),
        Kind::Opaque(tag) => beside(&tag.to_string(), &declarator),
    }
}

/// The declaration of a function.
pub(crate) fn function(signature: &Signature, declarator: &str) -> String {
    let mut parameters: Vec<String> = signature
        .parameters()
        .iter()
        .map(|parameter| parameter.c_type.declaring(parameter.name.as_deref().unwrap_or("")))
        .collect();
    if signature.is_variadic() {
        parameters.push("...".to_owned());
    } else if parameters.is_empty() {
        parameters.push("void".to_owned());
    }
    declaration(signature.result(), format!("{declarator}({})", parameters.join(", ")))
}

fn beside(name: &str, declarator: &str) -> String {
    match declarator.is_empty() {
        true => name.to_owned(),
        false => format!("{name} {declarator}"),
    }
}

fn record_name(record: &Record) -> String {
    let kind = record.kind();
    if let Some(tag) = record.tag() {
        return format!("{kind} {tag}");
    }
    let mut text = format!("{kind} {{ ");
    for field in record.fields() {
        let _ = write!(text, "{}; ", field.c_type.declaring(field.name.as_deref().unwrap_or("")));
    }
    text + "}"
}

fn enumeration_name(enumeration: &Enumeration) -> String {
    if let Some(tag) = &enumeration.tag {
        return format!("enum {tag}");
    }
    let one = |(name, value): &(_, i128)| format!("{name} = {value}");
    let mut shown: Vec<String> = enumeration.enumerators.iter().take(SHOWN).map(one).collect();
    if enumeration.enumerators.len() > SHOWN {
        shown.push("...".to_owned());
    }
    format!("enum {{ {} }}", shown.join(", "))
}
