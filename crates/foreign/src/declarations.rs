//! C declarations as text: small headers. The runtime reads the declarations of guest programs with it.
//!
//! [`Declarations`] has the knowledge of a compiler that has read a header: aliases, structures, functions, variables
//! and constants by name. More text can be added at any time; a text with a mistake adds nothing. The integer types of
//! the standard headers (`size_t`, `int32_t` …) are known from the beginning.
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
//! The language is C's for declarations at file level, without the parts that need a preprocessor or a code generator:
//! no `#` lines, no bodies, no initialisers. Bit-fields, attributes, `long double`, complex and 128-bit numbers are
//! refused with a message. `const`, `volatile`, `restrict` and `extern` are read and ignored. An undeclared name may
//! stand where a type is needed, if only pointers to it are used: `int sqlite3_open(const char *, sqlite3 **)` alone is
//! a complete text.
//!
//! | file | reads |
//! |---|---|
//! | `lexer` | words, numbers, symbols |
//! | `parser` | declarations, and the parts that the others share |
//! | `specifiers` | the front of a declaration: `const unsigned long`, `struct point` |
//! | `declarators` | its back, around the name: `*names[10]`, `(*compare)(const void *, const void *)` |
//! | `definitions` | the text between the braces of `struct`, `union` and `enum` |
//! | `constants` | values: `1 << 4`, `sizeof(int) * 2` |
//! | `scope` | the meanings of a text's names before the text is accepted as a whole |
//!
//! No text makes the parser recurse deeper than `parser::DEEPEST` levels.

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

/// The meanings of all names.
#[derive(Clone, Default, Debug)]
pub struct Declarations {
    names: HashMap<Arc<str>, Meaning>,
    /// C has a separate name space for the names after `struct`, `union` and `enum`.
    tags: HashMap<Arc<str>, Tagged>,
}

/// A name, and its declared meaning.
#[derive(Clone, PartialEq, Debug)]
pub struct Declaration {
    /// The name.
    pub name: Arc<str>,
    /// Its meaning.
    pub meaning: Meaning,
}

/// The meaning of a name.
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

/// The meaning of a name after `struct`, `union` or `enum`.
#[derive(Clone, Debug)]
struct Tagged {
    kind: TagKind,
    /// `None` before the definition.
    definition: Option<Type>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum TagKind {
    Record(RecordKind),
    Enumeration,
}

impl Declarations {
    /// Declarations with the standard integer types only.
    pub fn new() -> Declarations {
        Declarations::default()
    }

    /// Reads declarations and adds all of them; after a mistake, adds none and answers the mistake. Answers the
    /// declarations in their order.
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

    /// The meaning of `name`, if a text has declared it; tags are not names.
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

    /// The definition of a named type, if it is known by now; otherwise the type itself.
    pub fn resolved(&self, of: &Type) -> Type {
        self.definition(of).unwrap_or_else(|| of.clone())
    }

    /// The definition of a named type.
    fn definition(&self, of: &Type) -> Option<Type> {
        match of.kind() {
            Kind::Opaque(Tag::Record(kind, name)) => {
                let tagged = self.tags.get(name)?;
                tagged.definition.clone().filter(|_| tagged.kind == TagKind::Record(*kind))
            }
            Kind::Opaque(Tag::Alias(name)) => match self.names.get(name)? {
                // The alias may be of a name that is defined by now.
                Meaning::Type(alias) => {
                    Some(self.definition(alias).unwrap_or_else(|| alias.clone()))
                }
                _ => None,
            },
            _ => None,
        }
    }
}
