//! The meanings of names while a text is read: earlier declarations, and those that the text has added so far. The
//! parser asks and extends it.

use std::sync::Arc;

use super::{Declaration, Declarations, Meaning, TagKind, Tagged};
use crate::types::{Kind, Scalar, Tag, Type};

pub(super) struct Scope<'d> {
    known: &'d Declarations,
    added: Declarations,
    declared: Vec<Declaration>,
}

impl<'d> Scope<'d> {
    pub(super) fn new(known: &'d Declarations) -> Scope<'d> {
        Scope { known, added: Declarations::new(), declared: Vec::new() }
    }

    /// The added declarations.
    pub(super) fn finish(self) -> (Declarations, Vec<Declaration>) {
        (self.added, self.declared)
    }

    pub(super) fn meaning(&self, name: &str) -> Option<&Meaning> {
        self.added.names.get(name).or_else(|| self.known.names.get(name))
    }

    /// The type that `name` is an alias of.
    pub(super) fn alias(&self, name: &str) -> Option<Type> {
        match self.meaning(name) {
            Some(Meaning::Type(alias)) => Some(self.resolved(alias)),
            Some(_) => None,
            None => standard_type(name).map(Type::scalar),
        }
    }

    /// The definition of a named type, if there is one by now.
    fn resolved(&self, of: &Type) -> Type {
        match of.kind() {
            Kind::Opaque(Tag::Record(_, name)) => {
                let tagged = self.tagged(name).and_then(|tagged| tagged.definition.clone());
                tagged.unwrap_or_else(|| of.clone())
            }
            _ => of.clone(),
        }
    }

    fn tagged(&self, tag: &str) -> Option<&Tagged> {
        self.added.tags.get(tag).or_else(|| self.known.tags.get(tag))
    }

    /// The definition of `struct tag` or the like, or `Ok(None)` if there is none so far.
    pub(super) fn tag_definition(&self, kind: TagKind, tag: &str) -> Result<Option<Type>, String> {
        match self.tagged(tag) {
            Some(tagged) if tagged.kind != kind => {
                Err(format!("`{tag}` was declared as something else: `{} {tag}`", tagged.kind))
            }
            Some(tagged) => Ok(tagged.definition.clone()),
            None => Ok(None),
        }
    }

    /// Gives a name its meaning. Repeating the same declaration is allowed.
    pub(super) fn declare(&mut self, name: &str, meaning: Meaning) -> Result<(), String> {
        let standard = || standard_type(name).map(|scalar| Meaning::Type(Type::scalar(scalar)));
        let former = self.meaning(name).cloned().or_else(standard);
        if let Some(former) = former.filter(|former| *former != meaning) {
            return Err(format!(
                "`{name}` was declared differently before: {}",
                former.describe(name)
            ));
        }
        let name: Arc<str> = name.into();
        self.added.names.insert(name.clone(), meaning.clone());
        self.declared.push(Declaration { name, meaning });
        Ok(())
    }

    /// Notes that there is a `struct tag` or the like, which may be defined later.
    pub(super) fn mention(&mut self, kind: TagKind, tag: &str) {
        if self.tagged(tag).is_none() {
            self.added.tags.insert(tag.into(), Tagged { kind, definition: None });
        }
    }

    /// Defines `struct tag` or the like. It must have no definition.
    pub(super) fn define(&mut self, kind: TagKind, tag: &Arc<str>, definition: Type) {
        self.added.tags.insert(tag.clone(), Tagged { kind, definition: Some(definition.clone()) });
        let meaning = Meaning::Tagged(definition);
        self.declared.push(Declaration { name: tag.clone(), meaning });
    }

    /// A known type whose name is nearly `name`.
    pub(super) fn similar(&self, name: &str) -> Option<String> {
        const WORDS: [&str; 10] = [
            "void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned",
        ];
        let names = self.added.names.iter().chain(&self.known.names);
        let aliases = names.filter(|(_, meaning)| matches!(meaning, Meaning::Type(_)));
        let standard = STANDARD_TYPES.iter().map(|(name, ..)| *name);
        let candidates = aliases.map(|(name, _)| &**name).chain(standard).chain(WORDS);
        candidates.filter(|candidate| is_similar(candidate, name)).min().map(str::to_owned)
    }
}

impl Meaning {
    fn describe(&self, name: &str) -> String {
        match self {
            Meaning::Type(of) | Meaning::Tagged(of) => format!("`typedef {}`", of.declaring(name)),
            Meaning::Function(signature) => format!("`{}`", signature.declaring(name)),
            Meaning::Variable(of) => format!("`{}`", of.declaring(name)),
            Meaning::Constant(value) => format!("as the constant {value}"),
        }
    }
}

impl std::fmt::Display for TagKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TagKind::Record(kind) => kind.fmt(f),
            TagKind::Enumeration => f.write_str("enum"),
        }
    }
}

/// The integer types of the standard headers: name, size, signedness.
const STANDARD_TYPES: &[(&str, usize, bool)] = &[
    ("int8_t", 1, true),
    ("uint8_t", 1, false),
    ("int16_t", 2, true),
    ("uint16_t", 2, false),
    ("int32_t", 4, true),
    ("uint32_t", 4, false),
    ("int64_t", 8, true),
    ("uint64_t", 8, false),
    ("intmax_t", 8, true),
    ("uintmax_t", 8, false),
    ("size_t", size_of::<usize>(), false),
    ("ssize_t", size_of::<usize>(), true),
    ("ptrdiff_t", size_of::<usize>(), true),
    ("intptr_t", size_of::<usize>(), true),
    ("uintptr_t", size_of::<usize>(), false),
    ("char16_t", 2, false),
    ("char32_t", 4, false),
    // A type whose least value is not zero is signed.
    ("wchar_t", size_of::<libc::wchar_t>(), libc::wchar_t::MIN != 0),
    ("off_t", size_of::<libc::off_t>(), true),
    ("time_t", size_of::<libc::time_t>(), true),
];

fn standard_type(name: &str) -> Option<Scalar> {
    let (_, size, is_signed) = STANDARD_TYPES.iter().find(|(standard, ..)| *standard == name)?;
    Some(Scalar::integer(*size, *is_signed))
}

/// Whether the names differ by one inserted, lost, wrong or swapped character.
fn is_similar(one: &str, other: &str) -> bool {
    strsim::osa_distance(one, other) <= 1
}

#[cfg(test)]
mod tests {
    use super::is_similar;

    #[test]
    fn slips_of_the_pen_are_similar() {
        for other in ["it", "itn", "iint", "ant", "int", "inta"] {
            assert!(is_similar("int", other) && is_similar(other, "int"), "{other}");
        }
        for other in ["", "i", "tin", "in_t_", "double", "tni"] {
            assert!(!is_similar("int", other) && !is_similar(other, "int"), "{other}");
        }
    }
}
