//! The verifier's errors and their places. The assembler's places and the command line show them.

use std::fmt;

use crate::entities::{ClassId, FunctionId, TypeId};
use crate::module::{LineEntry, Module};

/// A property that does not hold, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The place of the error.
    pub place: Place,
    /// The function, if it is about one or about an import of one.
    pub function: Option<FunctionId>,
    /// Where the instruction comes from, if it is about one and the module says so.
    pub position: Option<LineEntry>,
    /// The name of the class or function.
    pub name: String,
    /// The mistake.
    pub message: String,
}

impl VerifyError {
    /// How many errors are reported for one module at most.
    pub const MOST: usize = 20;

    /// The class definition, if the error is in one.
    pub fn class(&self) -> Option<ClassId> {
        match self.place {
            Place::Class(class) => Some(class),
            _ => None,
        }
    }

    /// The instruction, if the error is in one: the index of its first word.
    pub fn pc(&self) -> Option<usize> {
        match self.place {
            Place::Instruction(_, pc) => Some(pc),
            _ => None,
        }
    }
}

/// A part of a module that an error can be about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The module, for mistakes that belong to no other part.
    Module,
    /// Its name and version.
    Name,
    /// A row of the type table.
    Type(TypeId),
    /// An import, by its index.
    Import(usize),
    /// A function that an import lists, by the indices of both.
    Imported(usize, usize),
    /// An export, by its index.
    Export(usize),
    /// A class definition.
    Class(ClassId),
    /// A function.
    Function(FunctionId),
    /// A constant of a function, by its index.
    Constant(FunctionId, usize),
    /// A region of a function, by its index.
    Region(FunctionId, usize),
    /// The instruction at a pc.
    Instruction(FunctionId, usize),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.place, self.function) {
            (Place::Class(class), _) => write!(f, "{class} {}", self.name)?,
            (Place::Type(row), _) => write!(f, "{row}")?,
            (_, Some(function)) => write!(f, "{function} {}", self.name)?,
            _ => f.write_str("module")?,
        }
        if let Some(pc) = self.pc() {
            write!(f, " at pc {pc}")?;
        }
        if let Some(position) = self.position {
            write!(f, " (line {}:{})", position.line, position.column)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for VerifyError {}

/// Collects errors.
pub(super) struct Report<'a> {
    module: &'a Module,
    errors: Vec<VerifyError>,
}

impl<'a> Report<'a> {
    pub fn new(module: &'a Module) -> Report<'a> {
        Report { module, errors: Vec::new() }
    }

    /// How many errors there are so far.
    pub fn count(&self) -> usize {
        self.errors.len()
    }

    /// Whether there is no point in looking for more.
    pub fn is_full(&self) -> bool {
        self.errors.len() >= VerifyError::MOST
    }

    pub fn finish(self) -> Result<(), Vec<VerifyError>> {
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }

    pub fn error(&mut self, place: Place, message: impl Into<String>) {
        if self.is_full() {
            return;
        }
        let function = self.function_at(place);
        let body = function.and_then(|id| self.module.functions.get(id.index()));
        let name = match place {
            Place::Class(id) => self.module.classes.get(id.index()).map(|class| class.name),
            _ => body.map(|body| body.name),
        };
        let position = match place {
            Place::Instruction(_, pc) => body.and_then(|body| body.position(pc)),
            _ => None,
        };
        self.errors.push(VerifyError {
            place,
            function,
            position,
            name: name.map_or_else(String::new, |name| quote(self.module.string(name))),
            message: message.into(),
        });
    }

    fn function_at(&self, place: Place) -> Option<FunctionId> {
        match place {
            Place::Function(function)
            | Place::Constant(function, _)
            | Place::Region(function, _)
            | Place::Instruction(function, _) => Some(function),
            Place::Imported(import, index) => {
                self.module.imports.get(import)?.functions.get(index).copied()
            }
            _ => None,
        }
    }
}

/// A text between backquotes, cut off if it is long.
pub(super) fn quote(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => format!("`{}`", text.escape_debug()),
        Some((end, _)) => format!("`{}…`", text[..end].escape_debug()),
    }
}
