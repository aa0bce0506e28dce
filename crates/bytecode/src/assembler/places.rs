//! The places of a module's parts in the text that it was assembled from. The assembler makes these tables, and
//! `squall::compiler` finds the places of errors in them.
//!
//! The verifier and the linker know a module, not its text. Their errors name a part of it ([`Place`]); these tables
//! give the place and the name of that part in the text.

use std::collections::HashMap;

use super::diagnostic::{Diagnostic, Span};
use crate::entities::{FunctionId, Register};
use crate::verifier::{Place, VerifyError};

/// Where the parts of a module stand in its text.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The name and version.
    pub(super) name: Option<Span>,
    /// Each row of the type table, where it was written first.
    pub(super) types: Vec<Span>,
    /// The symbolic names of types, by rows.
    pub(super) type_names: HashMap<usize, String>,
    pub(super) imports: Vec<ImportPlaces>,
    pub(super) exports: Vec<Span>,
    pub(super) classes: Vec<Span>,
    /// In the order of the functions; imported ones have an empty body.
    pub(super) functions: Vec<FunctionPlaces>,
}

/// Where an import stands, and the functions that it lists.
#[derive(Clone, Debug)]
pub(super) struct ImportPlaces {
    pub head: Span,
    pub functions: Vec<Span>,
}

/// Where a function and its parts stand.
#[derive(Clone, Debug)]
pub(super) struct FunctionPlaces {
    pub head: Span,
    pub name: String,
    /// The names that `let` has given to registers.
    pub registers: Vec<(Register, String)>,
    pub constants: Vec<Span>,
    pub regions: Vec<Span>,
    /// Instructions by ascending pc.
    pub code: Vec<(usize, Span)>,
}

impl FunctionPlaces {
    /// Of a function of this name, without a body.
    pub fn new(name: &str, head: Span) -> FunctionPlaces {
        const LONGEST: usize = 60;
        FunctionPlaces {
            head,
            name: name.chars().take(LONGEST).collect(),
            registers: Vec::new(),
            constants: Vec::new(),
            regions: Vec::new(),
            code: Vec::new(),
        }
    }

    /// The instruction at a pc, or the one that this word belongs to.
    fn instruction(&self, pc: usize) -> Option<Span> {
        let index = self.code.partition_point(|(start, _)| *start <= pc).checked_sub(1)?;
        Some(self.code[index].1)
    }
}

impl Places {
    /// The instructions of a function by ascending pc, with their places.
    pub fn instructions(&self, id: FunctionId) -> impl Iterator<Item = (usize, Span)> {
        self.function(id).into_iter().flat_map(|function| function.code.iter().copied())
    }

    /// Where a part stands; nothing if that is no certain place.
    pub fn find(&self, place: Place) -> Option<Span> {
        match place {
            Place::Module => None,
            Place::Name => self.name,
            Place::Type(id) => self.types.get(id.index()).copied(),
            Place::Import(index) => self.imports.get(index).map(|import| import.head),
            Place::Imported(import, index) => {
                self.imports.get(import)?.functions.get(index).copied()
            }
            Place::Export(index) => self.exports.get(index).copied(),
            Place::Class(id) => self.classes.get(id.index()).copied(),
            Place::Function(id) => self.function(id).map(|function| function.head),
            Place::Constant(id, index) => self.function(id)?.constants.get(index).copied(),
            Place::Region(id, index) => self.function(id)?.regions.get(index).copied(),
            Place::Instruction(id, pc) => {
                let function = self.function(id)?;
                function.instruction(pc).or(Some(function.head))
            }
        }
    }

    /// The verifier's error as a mistake at its place in the text. An error without a place is on line 0.
    pub fn diagnostic(&self, error: &VerifyError) -> Diagnostic {
        let span = self.find(error.place).unwrap_or(Span { line: 0, column: 0, length: 0 });
        let diagnostic = Diagnostic::new(span, error.message.clone()).label(self.label(error));
        match self.explain(error) {
            names if names.is_empty() => diagnostic,
            names => diagnostic.hint(names.join(", ")),
        }
    }

    /// Around which function an error is.
    fn label(&self, error: &VerifyError) -> String {
        let function = match error.place {
            Place::Constant(id, _) | Place::Region(id, _) | Place::Instruction(id, _) => {
                self.function(id)
            }
            _ => None,
        };
        let name = function.map(|function| function.name.as_str()).filter(|name| !name.is_empty());
        name.map_or_else(String::new, |name| format!("in {name}"))
    }

    /// The text's names for the registers, functions and types that a message names.
    fn explain(&self, error: &VerifyError) -> Vec<String> {
        let function = error.function.and_then(|id| self.function(id));
        let mut names = Vec::new();
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        for word in error.message.split(|character| !is_part(character)) {
            let number = |prefix: &str| word.strip_prefix(prefix)?.parse::<usize>().ok();
            let register = number("r").and_then(|number| {
                let names = function?.registers.iter().rev();
                let mut named = names.filter(|(register, _)| register.index() == number);
                named.next().map(|(_, name)| name.clone())
            });
            let row = number("type").and_then(|number| self.type_names.get(&number));
            let row = row.map(|name| format!("${name}"));
            let called = number("fn").and_then(|number| self.functions.get(number));
            let called = called.map(|called| called.name.clone()).filter(|name| !name.is_empty());
            let name = register.or(row).or(called);
            let explanation = name.map(|name| format!("{word} is `{name}`"));
            names.extend(explanation.filter(|explanation| !names.contains(explanation)));
        }
        names
    }

    fn function(&self, id: FunctionId) -> Option<&FunctionPlaces> {
        self.functions.get(id.index())
    }
}
