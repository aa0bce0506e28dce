//! The items of a module: finds them, numbers them, and assembles all but the functions. The assembler (`mod.rs`) calls
//! it for each text.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::body;
use super::diagnostic::{Diagnostic, Diagnostics, Span};
use super::lexer::{Token, TokenKind};
use super::places::Places;
use super::statement::{Result, Statement};
use crate::builder::ModuleBuilder;
use crate::entities::{ClassId, FunctionId, StringId};
use crate::module::{ClassDefinition, Method, Module, Slot, Visibility};
use crate::types::RegisterType;

/// The keywords that start an item.
const ITEMS: [&str; 12] = [
    "path", "main", "module", "strings", "type", "import", "export", "class", "method", "block",
    "function", "process",
];

/// Assembles all parts of the module that can be understood.
pub(super) fn assemble(tokens: &[Token], diagnostics: &mut Diagnostics) -> (Module, Places) {
    let items = split(tokens, diagnostics);
    let mut scope = Scope::default();
    for item in &items {
        diagnostics.catch(scope.declare(item));
    }
    // Strings come first, because the others refer to them, then types; their place in the text is free.
    for item in items.iter().filter(|item| item.keyword == "strings") {
        diagnostics.catch(scope.assemble_strings(item));
    }
    for item in items.iter().filter(|item| item.keyword == "type") {
        diagnostics.catch(scope.assemble_type(item));
    }
    for item in items.iter().filter(|item| !["strings", "type"].contains(&item.keyword)) {
        if diagnostics.is_full() {
            break;
        }
        let result = scope.assemble_item(item, diagnostics);
        diagnostics.catch(result);
    }
    (scope.builder.module, scope.places)
}

impl Diagnostics {
    /// Reports the problem, if there is one.
    pub fn catch<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|problem| self.report(problem)).ok()
    }
}

/// An item: the line that starts it and, if that ends with a brace, the lines up to the closing one.
pub(super) struct Item<'a, 't> {
    pub keyword: &'t str,
    pub head: Statement<'a, 't>,
    pub body: Option<Vec<Statement<'a, 't>>>,
    pub span: Span,
}

/// The lines of a text that are not empty.
fn lines<'a, 't>(tokens: &'a [Token<'t>]) -> impl Iterator<Item = &'a [Token<'t>]> {
    let lines = tokens.split_inclusive(|token| token.kind == TokenKind::LineEnd);
    lines.filter(|line| line.len() > 1)
}

fn split<'a, 't>(tokens: &'a [Token<'t>], diagnostics: &mut Diagnostics) -> Vec<Item<'a, 't>> {
    let mut items: Vec<Item> = Vec::new();
    let mut open = false;
    for line in lines(tokens) {
        if open {
            let item = items.last_mut().and_then(|item| item.body.as_mut());
            let body = item.expect("an open item has a body");
            if line[0].kind == TokenKind::Mark('}') {
                open = false;
                diagnostics.catch(Statement::new(&line[1..]).finish());
            } else {
                body.push(Statement::new(line));
            }
            continue;
        }
        let mut head = Statement::new(line);
        let span = head.span();
        if let Some(index) = diagnostics.catch(head.one_of("an item of a module", &ITEMS)) {
            open = line[line.len() - 2].kind == TokenKind::Mark('{');
            items.push(Item { keyword: ITEMS[index], head, body: open.then(Vec::new), span });
        }
    }
    if let Some(item) = items.last().filter(|_| open) {
        let problem = Diagnostic::new(item.span, format!("this `{}` has no end", item.keyword));
        diagnostics.report(problem.label("the closing brace is missing"));
    }
    items
}

/// The module so far, and the meanings of names.
#[derive(Default)]
pub(super) struct Scope<'t> {
    pub builder: ModuleBuilder,
    pub places: Places,
    functions: HashMap<&'t str, FunctionId>,
    classes: HashMap<&'t str, ClassId>,
    pub types: HashMap<&'t str, RegisterType>,
    function_count: u32,
    class_count: u32,
    /// Items that were there already, of which there is one at most.
    seen: Vec<&'t str>,
}

impl<'t> Scope<'t> {
    /// Numbers an item, and remembers its symbolic name.
    fn declare(&mut self, item: &Item<'_, 't>) -> Result<()> {
        let mut head = item.head.clone();
        let duplicate = match item.keyword {
            "strings" | "type" | "export" => return Ok(()),
            "path" | "main" | "module" => return self.declare_once(item),
            "import" => return self.declare_imports(item),
            "class" => {
                let id = ClassId(self.class_count);
                self.class_count += 1;
                let span = head.span();
                let name = declared_name(&mut head, "class", id.0)?;
                name.map(|name| (name, span, insert(&mut self.classes, name, id)))
            }
            _ => return self.declare_function(&mut head),
        };
        match duplicate {
            Some((name, span, false)) => Err(declared_twice(name, span)),
            _ => Ok(()),
        }
    }

    /// A module has one path, one main class and one name.
    fn declare_once(&mut self, item: &Item<'_, 't>) -> Result<()> {
        if self.seen.contains(&item.keyword) {
            let problem = format!("a module has one `{}` only", item.keyword);
            return Err(Diagnostic::new(item.span, problem));
        }
        self.seen.push(item.keyword);
        Ok(())
    }

    /// Numbers a function, and remembers its symbolic name.
    pub fn declare_function(&mut self, head: &mut Statement<'_, 't>) -> Result<()> {
        let id = FunctionId(self.function_count);
        self.function_count += 1;
        let span = head.span();
        match declared_name(head, "fn", id.0)? {
            Some(name) if !insert(&mut self.functions, name, id) => Err(declared_twice(name, span)),
            _ => Ok(()),
        }
    }

    fn assemble_strings(&mut self, item: &Item<'_, 't>) -> Result<()> {
        let mut head = item.head.clone();
        head.mark('{')?;
        head.finish()?;
        for line in item.body.iter().flatten() {
            let mut line = line.clone();
            let TokenKind::Text(text) = &line.peek().kind else {
                return line.expected("a text");
            };
            line.next();
            line.finish()?;
            self.builder.append_string(text);
        }
        Ok(())
    }

    fn assemble_item(&mut self, item: &Item<'_, 't>, diagnostics: &mut Diagnostics) -> Result<()> {
        let mut head = item.head.clone();
        match item.keyword {
            "path" => self.builder.module.path = Some(self.string(&mut head)?),
            "main" => self.builder.module.main_class = Some(self.class(&mut head)?),
            "module" => {
                self.assemble_name(&mut head)?;
                self.places.name = Some(head.since(item.span));
            }
            "export" => {
                self.assemble_export(&mut head)?;
                self.places.exports.push(head.since(item.span));
            }
            "import" => return self.assemble_import(item, diagnostics),
            "class" => return self.assemble_class(item, diagnostics),
            _ => return body::assemble(self, item, diagnostics),
        }
        head.finish()
    }

    fn assemble_class(&mut self, item: &Item<'_, 't>, diagnostics: &mut Diagnostics) -> Result<()> {
        let mut head = item.head.clone();
        head.next();
        let name = self.string(&mut head)?;
        let visibility = visibility(&mut head)?;
        let place = head.since(item.span);
        head.mark('{')?;
        head.finish()?;
        let mut class = ClassDefinition::incomplete(name, visibility);
        let mut missing = vec!["factory", "initializer", "own_initializer"];
        for line in item.body.iter().flatten() {
            let mut line = line.clone();
            let result = self.assemble_class_line(&mut class, &mut line, &mut missing);
            diagnostics.catch(result.and_then(|()| line.finish()));
        }
        self.builder.module.classes.push(class);
        self.places.classes.push(place);
        if missing.is_empty() {
            return Ok(());
        }
        let problem = Diagnostic::new(item.span, "this class is not complete");
        Err(problem.label(format!("missing: {}", missing.join(", "))))
    }

    fn assemble_class_line(
        &mut self,
        class: &mut ClassDefinition,
        line: &mut Statement<'_, 't>,
        missing: &mut Vec<&str>,
    ) -> Result<()> {
        const LINES: [&str; 10] = [
            "outer",
            "position",
            "accessor",
            "factory",
            "initializer",
            "own_initializer",
            "slot",
            "nested",
            "method",
            "class_method",
        ];
        let keyword = LINES[line.one_of("a part of a class", &LINES)?];
        missing.retain(|part| *part != keyword);
        match keyword {
            "outer" => class.outer = Some(self.class(line)?),
            "position" => class.position = position(line)?,
            "accessor" => class.accessor = Some(self.function(line)?),
            "factory" => {
                class.factory = self.function(line)?;
                class.factory_selector = self.string(line)?;
            }
            "initializer" => class.initializer = self.function(line)?,
            "own_initializer" => class.own_initializer = self.function(line)?,
            "slot" => {
                let (name, visibility) = (self.string(line)?, visibility(line)?);
                let mutable = line.accept_word("mutable");
                class.slots.push(Slot { name, mutable, visibility });
            }
            "nested" => class.nested.push(self.class(line)?),
            "method" => class.methods.push(self.method(line)?),
            _ => class.class_methods.push(self.method(line)?),
        }
        Ok(())
    }

    fn method(&mut self, line: &mut Statement<'_, 't>) -> Result<Method> {
        Ok(Method {
            selector: self.string(line)?,
            visibility: visibility(line)?,
            function: self.function(line)?,
        })
    }

    /// A string: a text, or the index of one.
    pub fn string(&mut self, line: &mut Statement<'_, 't>) -> Result<StringId> {
        if let Some(index) = line.peek_indexed("str") {
            line.next();
            return Ok(StringId(index));
        }
        match &line.peek().kind {
            TokenKind::Text(text) => {
                line.next();
                Ok(self.builder.string(text))
            }
            _ => line.expected("a text"),
        }
    }

    /// A function: its index or symbolic name.
    pub fn function(&self, line: &mut Statement<'_, 't>) -> Result<FunctionId> {
        reference(line, "fn", "function", &self.functions, FunctionId)
    }

    /// A class: its index or symbolic name.
    pub fn class(&self, line: &mut Statement<'_, 't>) -> Result<ClassId> {
        reference(line, "class", "class", &self.classes, ClassId)
    }
}

fn declared_twice(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(span, format!("`${name}` is declared twice"))
}

/// Whether the name is new.
fn insert<'t, T>(names: &mut HashMap<&'t str, T>, name: &'t str, id: T) -> bool {
    match names.entry(name) {
        Entry::Occupied(_) => false,
        Entry::Vacant(place) => {
            place.insert(id);
            true
        }
    }
}

/// Reads the number that an item must have, or its symbolic name.
fn declared_name<'t>(
    head: &mut Statement<'_, 't>,
    prefix: &str,
    number: u32,
) -> Result<Option<&'t str>> {
    let wanted = format!("{prefix}{number}");
    match head.peek().kind {
        TokenKind::Symbolic(name) => {
            head.next();
            Ok(Some(name))
        }
        _ if head.peek_indexed(prefix) == Some(number) => {
            head.next();
            Ok(None)
        }
        _ => head.expected(&format!("`{wanted}`")).map_err(|problem: Diagnostic| {
            problem.hint("number the items in order, or use `$name`")
        }),
    }
}

fn reference<'t, T: Copy>(
    line: &mut Statement<'_, 't>,
    prefix: &str,
    what: &str,
    names: &HashMap<&'t str, T>,
    make: fn(u32) -> T,
) -> Result<T> {
    if let Some(index) = line.peek_indexed(prefix) {
        line.next();
        return Ok(make(index));
    }
    match line.peek().kind {
        TokenKind::Symbolic(name) => {
            let span = line.next().span;
            let unknown = || Diagnostic::new(span, format!("there is no {what} `${name}`"));
            names.get(name).copied().ok_or_else(unknown)
        }
        _ => line.expected(&format!("a {what}, such as `{prefix}0`")),
    }
}

fn visibility(line: &mut Statement) -> Result<Visibility> {
    let index = line.one_of("a visibility", &Visibility::ALL.map(Visibility::name))?;
    Ok(Visibility::ALL[index])
}

/// A line and a column.
pub(super) fn position(line: &mut Statement) -> Result<(u32, u32)> {
    let row = line.integer("line")?;
    line.mark(':')?;
    Ok((row, line.integer("column")?))
}
