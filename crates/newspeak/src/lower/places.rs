//! Where the variables of compiled functions are, for debuggers. `function` notes each variable when its scope opens, and
//! [`variables_of`] compiles a module again to answer the notes: modules themselves have no names of variables.
//!
//! Compilation is the same each time, so the places are those of the module that runs, if its text is the same.

use squall_bytecode::entities::{FunctionId, Register};

use super::function::{FunctionScope, Item, Place};
use super::{CompileOptions, Lowering, lower_module};
use crate::diagnostics::Diagnostic;
use crate::source::{Source, Span};

/// The variables of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionVariables {
    /// The variables, those of inner scopes last.
    pub variables: Vec<Variable>,
}

/// A variable that code of a function can read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where its value is.
    pub place: VariablePlace,
    /// The part of the text where it is visible, as positions; everywhere in the function if there is none.
    pub scope: Option<Scope>,
    /// Whether programs may assign it.
    pub is_assignable: bool,
}

/// A part of a text: lines and columns of its first and last character, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scope {
    /// The first one.
    pub from: (u32, u32),
    /// The last one.
    pub to: (u32, u32),
}

impl Scope {
    /// Whether a position is in it.
    pub fn contains(&self, position: (u32, u32)) -> bool {
        self.from <= position && position <= self.to
    }
}

/// Where the value of a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariablePlace {
    /// In a register.
    Register(Register),
    /// At an index of the context in a register.
    Context(Register, u8),
    /// At an index of what the closure in register 0 has captured.
    Captured(usize),
    /// At an index of a context, which is at an index of what the closure has captured.
    CapturedContext(usize, u8),
}

/// A variable of an open function, or of one that was open.
#[derive(Clone, Debug)]
pub struct Noted {
    variable: super::function::Variable,
    context: Option<Register>,
    scope: Option<Span>,
}

impl FunctionScope {
    /// Notes the variables from an index on, whose scope is this part of the text, or the whole function.
    pub fn note_places(&mut self, first: usize, scope: Option<Span>) {
        let variables = self.variables[first..].to_vec();
        for variable in variables {
            let context = match variable.place {
                Place::Context(id, _) => self.context_register(id),
                Place::Register(_) => None,
            };
            self.noted.push(Noted { variable, context, scope });
        }
    }
}

impl Lowering<'_> {
    /// What a function that was just finished knows of variables; the functions around it are still open.
    pub(super) fn places_of(&self, function: &FunctionScope) -> FunctionVariables {
        let outer = self.functions.iter().flat_map(|around| &around.noted);
        let mut variables = Vec::new();
        for (index, captured) in function.captured.iter().enumerate() {
            match captured.item {
                Item::SelfObject | Item::Home => {}
                Item::Value(key) => {
                    let found = outer.clone().find(|noted| noted.variable.key == key);
                    variables.extend(
                        found.map(|noted| {
                            self.variable(noted, VariablePlace::Captured(index), None)
                        }),
                    );
                }
                Item::Context(id) => {
                    for noted in outer.clone() {
                        if let Place::Context(other, place) = noted.variable.place
                            && other == id
                        {
                            let place = VariablePlace::CapturedContext(index, place);
                            variables.push(self.variable(noted, place, None));
                        }
                    }
                }
            }
        }
        variables.extend(function.noted.iter().filter_map(|noted| {
            let place = match (noted.variable.place, noted.context) {
                (Place::Register(register), _) => VariablePlace::Register(register),
                (Place::Context(_, index), Some(register)) => {
                    VariablePlace::Context(register, index)
                }
                (Place::Context(..), None) => return None,
            };
            Some(self.variable(noted, place, noted.scope))
        }));
        FunctionVariables { variables }
    }

    fn variable(&self, noted: &Noted, place: VariablePlace, scope: Option<Span>) -> Variable {
        let position = |offset: usize| {
            let position = self.source.position(offset as u32);
            (position.line as u32, position.column as u32)
        };
        Variable {
            name: self.ast[noted.variable.name].to_owned(),
            place,
            scope: scope.map(|span| {
                let range = span.range();
                Scope { from: position(range.start), to: position(range.end) }
            }),
            is_assignable: noted.variable.is_assignable,
        }
    }
}

/// The variables of a module's functions, by their numbers.
pub fn variables_of(
    source: &Source,
    options: &CompileOptions,
) -> Result<Vec<FunctionVariables>, Vec<Diagnostic>> {
    let parse = crate::parse(source);
    let Some(ast) = parse.ast else { return Err(parse.diagnostics) };
    let mut all = Vec::new();
    let mut tell = |function: FunctionId, variables| {
        let index = function.index();
        if all.len() <= index {
            all.resize(index + 1, FunctionVariables::default());
        }
        all[index] = variables;
    };
    lower_module(&ast, source, options, Some(&mut tell), None)?;
    Ok(all)
}

/// The lines of the methods and blocks of a module: the first and the last of each. None, if the text is wrong.
pub fn bodies_of(source: &Source) -> Vec<(u32, u32)> {
    let Some(ast) = crate::parse(source).ast else { return Vec::new() };
    let methods = ast.nodes.methods.iter().map(|(_, method)| method.span);
    let blocks = ast.nodes.blocks.iter().map(|(_, block)| block.span);
    let line = |offset: usize| source.position(offset as u32).line as u32;
    let lines = |span: Span| {
        let range = span.range();
        (line(range.start), line(range.end.max(range.start + 1) - 1))
    };
    methods.chain(blocks).map(lines).collect()
}
