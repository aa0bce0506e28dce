//! The links of a module to others: assembles its name, its imports and its exports. `module.rs` calls these functions,
//! for each item of these kinds.

use super::diagnostic::Diagnostics;
use super::lexer::TokenKind;
use super::module::{Item, Scope};
use super::places::{FunctionPlaces, ImportPlaces};
use super::statement::{Result, Statement};
use crate::entities::StringId;
use crate::module::{Export, Function, FunctionKind, Import};

/// The words that start the declaration of an imported function.
fn linkable() -> Vec<&'static str> {
    let all = FunctionKind::ALL.into_iter().filter(|kind| kind.is_linkable());
    all.map(FunctionKind::name).collect()
}

impl<'t> Scope<'t> {
    /// `module "name" "version"`
    pub fn assemble_name(&mut self, head: &mut Statement<'_, 't>) -> Result<()> {
        self.builder.module.name = self.optional_string(head)?;
        if head.accept_word("version") || is_string(head) {
            self.builder.module.version = Some(self.string(head)?);
        }
        Ok(())
    }

    /// `export "name" function`
    pub fn assemble_export(&mut self, head: &mut Statement<'_, 't>) -> Result<()> {
        let name = self.string(head)?;
        let function = self.function(head)?;
        self.builder.module.exports.push(Export { name, function });
        Ok(())
    }

    /// Numbers the functions that an import declares.
    pub fn declare_imports(&mut self, item: &Item<'_, 't>) -> Result<()> {
        for line in item.body.iter().flatten() {
            let mut line = line.clone();
            if is_declaration(&line) {
                line.next();
                self.declare_function(&mut line)?;
            }
        }
        Ok(())
    }

    /// The functions of an import are declared there, or named because they are declared elsewhere.
    pub fn assemble_import(
        &mut self,
        item: &Item<'_, 't>,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let mut head = item.head.clone();
        let module = self.string(&mut head)?;
        let requirement = self.optional_string(&mut head)?;
        let mut place = ImportPlaces { head: head.since(item.span), functions: Vec::new() };
        head.mark('{')?;
        head.finish()?;
        let mut functions = Vec::new();
        for line in item.body.iter().flatten() {
            let mut line = line.clone();
            let start = line.span();
            let function = match is_declaration(&line) {
                true => self.imported_function(&mut line),
                false => self.function(&mut line),
            };
            let function = function.and_then(|id| line.finish().map(|()| id));
            place.functions.push(line.since(start));
            functions.extend(diagnostics.catch(function));
        }
        self.builder.module.imports.push(Import { module, requirement, functions });
        self.places.imports.push(place);
        Ok(())
    }

    fn imported_function(
        &mut self,
        line: &mut Statement<'_, 't>,
    ) -> Result<crate::entities::FunctionId> {
        let start = line.span();
        let words = linkable();
        let word = words[line.one_of("a kind of function", &words)?];
        let kind = FunctionKind::ALL.into_iter().find(|kind| kind.name() == word);
        line.next();
        let name = self.string(line)?;
        let registers = self.parameter_types(line)?;
        let head = line.since(start);
        let result = self.result_type(line)?;
        let parameters = u8::try_from(registers.len())
            .map_err(|_| super::Diagnostic::new(head, "a function has at most 255 parameters"))?;
        let text = self.builder.module.string(name);
        self.places.functions.push(FunctionPlaces::new(text, line.since(start)));
        Ok(self.builder.function(Function {
            name,
            kind: kind.unwrap_or(FunctionKind::Plain),
            parameters,
            captured: 0,
            registers,
            result,
            home: None,
            constants: Vec::new(),
            sites: Vec::new(),
            regions: Vec::new(),
            code: Vec::new(),
            lines: Vec::new(),
        }))
    }

    fn optional_string(&mut self, line: &mut Statement<'_, 't>) -> Result<Option<StringId>> {
        if is_string(line) { self.string(line).map(Some) } else { Ok(None) }
    }
}

fn is_string(line: &Statement) -> bool {
    matches!(line.peek().kind, TokenKind::Text(_)) || line.peek_indexed("str").is_some()
}

/// Whether a line of an import declares a function.
fn is_declaration(line: &Statement) -> bool {
    matches!(line.peek().kind, TokenKind::Name(name) if linkable().contains(&name))
}
