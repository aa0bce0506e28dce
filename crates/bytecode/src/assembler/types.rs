//! Types: assembles their declarations, and types that are written in place. The other files of the assembler call
//! these functions wherever the grammar has a type.
//!
//! A type in place is the first row of the type table that is equal to it, or a new one at the
//! table's end; so is a type that is declared with a symbolic name. A type that is declared by its
//! number is always a new row.

use super::diagnostic::Diagnostic;
use super::lexer::TokenKind;
use super::module::{Item, Scope};
use super::statement::{Result, Statement};
use crate::entities::TypeId;
use crate::types::{RegisterType, TypeDefinition};

/// How deep types may be nested in one expression. Deeper ones are put together from named parts.
const DEEPEST: usize = 64;

impl<'t> Scope<'t> {
    /// `type type3 = …` or `type $name = …`
    pub fn assemble_type(&mut self, item: &Item<'_, 't>) -> Result<()> {
        let mut head = item.head.clone();
        let span = head.span();
        if let TokenKind::Symbolic(name) = head.peek().kind {
            head.next();
            head.mark('=')?;
            let kind = self.register_type(&mut head)?;
            head.finish()?;
            if let Some(id) = kind.defined() {
                let names = &mut self.places.type_names;
                names.entry(id.index()).or_insert_with(|| name.to_owned());
            }
            return match self.types.insert(name, kind) {
                None => Ok(()),
                Some(_) => Err(Diagnostic::new(span, format!("`${name}` is declared twice"))),
            };
        }
        let Some(number) = head.peek_indexed("type") else {
            return head.expected("`$name` or the number of a type, such as `type0`");
        };
        head.next();
        head.mark('=')?;
        let definition = self.definition(&mut head, DEEPEST)?;
        head.finish()?;
        let next = self.builder.module.types.len();
        if number as usize != next {
            return Err(Diagnostic::new(span, format!("the next number is {next}")));
        }
        self.places.types.push(head.since(span));
        self.builder.append_type(definition).map(|_| ()).ok_or_else(|| full(&head))
    }

    /// A type.
    pub fn register_type(&mut self, line: &mut Statement<'_, 't>) -> Result<RegisterType> {
        self.nested_type(line, DEEPEST)
    }

    /// Whether a type can start here.
    pub fn is_type(&self, line: &Statement<'_, 't>) -> bool {
        match line.peek().kind {
            TokenKind::Symbolic(name) => self.types.contains_key(name),
            TokenKind::Name(name) => {
                RegisterType::from_name(name).is_some()
                    || TypeDefinition::KEYWORDS.contains(&name)
                    || line.peek_indexed("type").is_some()
            }
            _ => false,
        }
    }

    fn nested_type(&mut self, line: &mut Statement<'_, 't>, depth: usize) -> Result<RegisterType> {
        match line.peek().kind {
            TokenKind::Symbolic(name) => match self.types.get(name) {
                Some(&kind) => {
                    line.next();
                    Ok(kind)
                }
                None => line.expected("the name of a type that was declared above"),
            },
            TokenKind::Name(name) => {
                if let Some(kind) = RegisterType::from_name(name) {
                    line.next();
                    return Ok(kind);
                }
                if let Some(index) = line.peek_indexed("type") {
                    return row(line, index);
                }
                let start = line.span();
                let definition = self.definition(line, depth)?;
                let kind = self.builder.define(definition).ok_or_else(|| full(line))?;
                if self.places.types.len() < self.builder.module.types.len() {
                    self.places.types.push(line.since(start));
                }
                Ok(kind)
            }
            _ => line.expected("a type"),
        }
    }

    fn definition(&mut self, line: &mut Statement<'_, 't>, depth: usize) -> Result<TypeDefinition> {
        let Some(depth) = depth.checked_sub(1) else {
            let problem = Diagnostic::new(line.span(), "types are nested too deep here");
            return Err(problem.hint("declare a part of it with `type $name = …`"));
        };
        let index = line.one_of("a type", &TypeDefinition::KEYWORDS)?;
        Ok(match TypeDefinition::KEYWORDS[index] {
            "tuple" => TypeDefinition::Tuple(self.types_between(line, depth, ['<', '>'])?),
            "list" => TypeDefinition::List(self.element(line, depth)?),
            "map" => {
                line.mark('<')?;
                let key = self.nested_type(line, depth)?;
                line.mark(',')?;
                let value = self.nested_type(line, depth)?;
                line.mark('>')?;
                TypeDefinition::Map(key, value)
            }
            "channel" => TypeDefinition::Channel(self.element(line, depth)?),
            "reader" => TypeDefinition::Reader(self.element(line, depth)?),
            "writer" => TypeDefinition::Writer(self.element(line, depth)?),
            "barrier" => TypeDefinition::Barrier,
            "bucket" => TypeDefinition::Bucket,
            "function" => {
                let parameters = self.types_between(line, depth, ['(', ')'])?;
                TypeDefinition::Function { parameters, result: self.result(line, depth)? }
            }
            _ => {
                TypeDefinition::Process { parameters: self.types_between(line, depth, ['(', ')'])? }
            }
        })
    }

    /// `<type>`
    fn element(&mut self, line: &mut Statement<'_, 't>, depth: usize) -> Result<RegisterType> {
        line.mark('<')?;
        let kind = self.nested_type(line, depth)?;
        line.mark('>')?;
        Ok(kind)
    }

    /// The types between two brackets, with commas.
    fn types_between(
        &mut self,
        line: &mut Statement<'_, 't>,
        depth: usize,
        [open, close]: [char; 2],
    ) -> Result<Vec<RegisterType>> {
        line.mark(open)?;
        let mut types = Vec::new();
        while !line.accept(close) {
            if !types.is_empty() {
                line.mark(',')?;
            }
            types.push(self.nested_type(line, depth)?);
        }
        Ok(types)
    }

    /// The parameters of a function, with their types.
    pub fn parameter_types(&mut self, line: &mut Statement<'_, 't>) -> Result<Vec<RegisterType>> {
        self.types_between(line, DEEPEST, ['(', ')'])
    }

    /// `-> type`, or nothing for `any`.
    pub fn result_type(&mut self, line: &mut Statement<'_, 't>) -> Result<RegisterType> {
        self.result(line, DEEPEST)
    }

    fn result(&mut self, line: &mut Statement<'_, 't>, depth: usize) -> Result<RegisterType> {
        if line.accept('-') { self.nested_type(line, depth) } else { Ok(RegisterType::Any) }
    }
}

/// A type by the number of its row, which need not exist.
fn row(line: &mut Statement, index: u32) -> Result<RegisterType> {
    match u16::try_from(index) {
        Ok(index) => {
            line.next();
            Ok(RegisterType::Defined(TypeId(index)))
        }
        Err(_) => line.expected("a type up to type65535"),
    }
}

fn full(line: &Statement) -> Diagnostic {
    Diagnostic::new(line.span(), "a module has at most 65536 types")
}
