//! C declarations as text: headers in small.
//!
//! [`Declarations`] is what a compiler would know after reading a header: aliases, structures, functions,
//! variables and constants by name. More text can be added at any time; a text with a mistake adds
//! nothing. It knows the integer types of the standard headers (`size_t`, `int32_t` …) from the beginning.
//!
//! ```
//! use squall_foreign::Declarations;
//!
//! let mut header = Declarations::new();
//! header.declare("struct point { int x; double y[3]; };")?;
//! header.declare("typedef struct database database;  int open(const char *, database **);")?;
//! assert_eq!(header.function("open").unwrap().declaring("open"), "int open(char *, struct database **)");
//! assert_eq!(header.parse_type("struct point[2]")?.layout().unwrap().size, 64);
//!
//! let text = "int add(int, itn);";
//! let mistake = header.declare(text).unwrap_err();
//! assert_eq!(mistake.excerpt(text), "int add(int, itn);\n             ^^^");
//! # Ok::<(), squall_foreign::DeclarationError>(())
//! ```
//!
//! The language is C's for declarations at the level of a file, without what only a preprocessor
//! or a code generator could do: no `#` lines, no bodies, no initialisers. Bit-fields, attributes, `long double`,
//! complex and 128-bit numbers are refused with a message. `const`, `volatile`, `restrict` and `extern` are
//! read and forgotten. A name that nothing declares may stand where a type is needed, if only a pointer
//! to it is used: `int sqlite3_open(const char *, sqlite3 **)` alone is a complete text.
//!
//! | file | reads |
//! |---|---|
//! | `lexer` | words, numbers, symbols |
//! | `parser` | declarations, and what the others share |
//! | `specifiers` | the front of a declaration: `const unsigned long`, `struct point` |
//! | `declarators` | its back, around the name: `*names[10]`, `(*compare)(const void *, const void *)` |
//! | `definitions` | what is between the braces of `struct`, `union` and `enum` |
//! | `constants` | values: `1 << 4`, `sizeof(int) * 2` |
//! | `scope` | what the names of a text mean before it is accepted as a whole |
//!
//! Nothing recurses deeper than `parser::DEEPEST` levels, whatever the text.

mod constants;
mod declarators;
mod definitions;
mod error;
mod lexer;
mod parser;
mod scope;
mod specifiers;
#[cfg(all(test, not(feature = "loom")))]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

pub use error::DeclarationError;

use crate::types::Signature;
use crate::types::{Kind, RecordKind, Tag, Type};
use parser::Parser;

/// What is known by name.
#[derive(Clone, Default, Debug)]
pub struct Declarations {
    names: HashMap<Arc<str>, Meaning>,
    /// C gives the names behind `struct`, `union` and `enum` a space of their own.
    tags: HashMap<Arc<str>, Tagged>,
}

/// A name, and what a text declared it to be.
#[derive(Clone, PartialEq, Debug)]
pub struct Declaration {
    /// The name.
    pub name: Arc<str>,
    /// What it stands for.
    pub meaning: Meaning,
}

/// What a name stands for.
#[derive(Clone, PartialEq, Debug)]
pub enum Meaning {
    /// A type: a `typedef`.
    Type(Type),
    /// A type that is known as `struct name`, `union name` or `enum name`.
    Tagged(Type),
    /// A function.
    Function(Signature),
    /// A variable.
    Variable(Type),
    /// One of the names of an `enum`.
    Constant(i128),
}

/// What a name behind `struct`, `union` or `enum` stands for.
#[derive(Clone, Debug)]
struct Tagged {
    kind: TagKind,
    /// None before the definition.
    definition: Option<Type>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum TagKind {
    Record(RecordKind),
    Enumeration,
}

impl Declarations {
    /// Knows the standard integer types only.
    pub fn new() -> Declarations {
        Declarations::default()
    }

    /// Reads declarations and adds all of them, or none and says why. Answers them in their order.
    pub fn declare(&mut self, text: &str) -> Result<Vec<Declaration>, DeclarationError> {
        let result = Parser::new(text, self).and_then(Parser::declarations);
        let (added, declared) = result.map_err(|problem| problem.located(text))?;
        self.names.extend(added.names);
        self.tags.extend(added.tags);
        Ok(declared)
    }

    /// Reads a type as in a cast: `const char *`, `struct point[4]`, `int (*)(void)`.
    pub fn parse_type(&self, text: &str) -> Result<Type, DeclarationError> {
        let result = Parser::new(text, self).and_then(Parser::lone_type);
        result.map_err(|problem| problem.located(text))
    }

    /// Reads the declaration of one function, and adds nothing.
    pub fn parse_function(&self, text: &str) -> Result<(Arc<str>, Signature), DeclarationError> {
        let result = Parser::new(text, self).and_then(Parser::lone_function);
        result.map_err(|problem| problem.located(text))
    }

    /// What `name` stands for, if a text has declared it; tags are not names.
    pub fn meaning(&self, name: &str) -> Option<&Meaning> {
        self.names.get(name)
    }

    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<&Signature> {
        match self.meaning(name)? {
            Meaning::Function(signature) => Some(signature),
            _ => None,
        }
    }

    /// The type of the variable of this name.
    pub fn variable(&self, name: &str) -> Option<&Type> {
        match self.meaning(name)? {
            Meaning::Variable(of) => Some(of),
            _ => None,
        }
    }

    /// The value of the constant of this name.
    pub fn constant(&self, name: &str) -> Option<i128> {
        match self.meaning(name)? {
            Meaning::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// The definition of `struct tag`, `union tag` or `enum tag`.
    pub fn tagged(&self, tag: &str) -> Option<&Type> {
        self.tags.get(tag)?.definition.as_ref()
    }

    /// The definition behind a mere name, if it is known by now; otherwise the type itself.
    pub fn resolved(&self, of: &Type) -> Type {
        self.definition(of).unwrap_or_else(|| of.clone())
    }

    /// The definition behind a mere name.
    fn definition(&self, of: &Type) -> Option<Type> {
        match of.kind() {
            Kind::Opaque(Tag::Record(kind, name)) => {
                let tagged = self.tags.get(name)?;
                tagged.definition.clone().filter(|_| tagged.kind == TagKind::Record(*kind))
            }
            Kind::Opaque(Tag::Alias(name)) => match self.names.get(name)? {
                // The alias may have been of a name that is defined by now.
                Meaning::Type(alias) => {
                    Some(self.definition(alias).unwrap_or_else(|| alias.clone()))
                }
                _ => None,
            },
            _ => None,
        }
    }
}
