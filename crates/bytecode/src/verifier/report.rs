//! What the verifier found, and where.

use std::fmt;

use crate::entities::{ClassId, FunctionId, TypeId};
use crate::module::{LineEntry, Module};

/// A property that does not hold, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The class definition, if the error is in one.
    pub class: Option<ClassId>,
    /// The row of the type table, if the error is in one.
    pub row: Option<TypeId>,
    /// The function, if the error is in one.
    pub function: Option<FunctionId>,
    /// The instruction, if the error is in one: the index of its first word.
    pub pc: Option<usize>,
    /// Where the instruction comes from, if the module says so.
    pub position: Option<LineEntry>,
    /// The name of the class or function.
    pub name: String,
    /// What is wrong.
    pub message: String,
}

impl VerifyError {
    /// How many errors are reported for one module at most.
    pub const MOST: usize = 20;
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.class, self.function, self.row) {
            (Some(class), _, _) => write!(f, "{class} {}", self.name)?,
            (_, Some(function), _) => write!(f, "{function} {}", self.name)?,
            (_, _, Some(row)) => write!(f, "{row}")?,
            _ => f.write_str("module")?,
        }
        if let Some(pc) = self.pc {
            write!(f, " at pc {pc}")?;
        }
        if let Some(position) = self.position {
            write!(f, " (line {}:{})", position.line, position.column)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for VerifyError {}

/// What an error is about.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Module,
    Type(TypeId),
    Class(ClassId),
    Function(FunctionId),
    Instruction(FunctionId, usize),
}

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
        let (class, function, pc) = match place {
            Place::Module | Place::Type(_) => (None, None, None),
            Place::Class(class) => (Some(class), None, None),
            Place::Function(function) => (None, Some(function), None),
            Place::Instruction(function, pc) => (None, Some(function), Some(pc)),
        };
        let row = match place {
            Place::Type(row) => Some(row),
            _ => None,
        };
        let body = function.and_then(|id| self.module.functions.get(id.index()));
        let definition = class.and_then(|id| self.module.classes.get(id.index()));
        let name = definition.map(|class| class.name).or(body.map(|body| body.name));
        self.errors.push(VerifyError {
            class,
            row,
            function,
            pc,
            position: body.zip(pc).and_then(|(body, pc)| body.position(pc)),
            name: name.map_or_else(String::new, |name| quote(self.module.string(name))),
            message: message.into(),
        });
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
