//! The end of a declaration: a name with stars before it and brackets after it. `parser` and `definitions` read it
//! here.
//!
//! The parts nearest to the name are the outermost levels of its type, and brackets bind more closely than stars. A
//! declarator is read into a list of levels from the name outward, and applied to the base type in the opposite order.

use std::ops::Range;

use super::error::Problem;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};
use super::specifiers::{QUALIFIERS, is_keyword};
use crate::types::{self, Kind, Type, TypeError};
use crate::types::{MOST_PARAMETERS, Parameter, Signature};

/// A name, if there is one, and the levels of its type around it.
pub(super) struct Declarator<'t> {
    pub(super) name: Option<&'t str>,
    /// The bytes that messages about it mark: the name, or the whole declarator.
    pub(super) span: Range<usize>,
    levels: Vec<Level>,
}

enum Level {
    Pointer,
    Array(Option<usize>),
    Function { parameters: Vec<Parameter>, is_variadic: bool },
}

impl Declarator<'_> {
    /// The type of the name, if the declaration begins with `base`.
    pub(super) fn applied_to(self, base: Type) -> Parsed<Type> {
        let Declarator { span, levels, .. } = self;
        let apply = |inner, level: Level| level.applied_to(inner);
        let result = levels.into_iter().rev().try_fold(base, apply);
        result.map_err(|error| Problem::new(error.to_string(), span))
    }
}

impl Level {
    fn applied_to(self, inner: Type) -> Result<Type, TypeError> {
        match self {
            Level::Pointer => Type::pointer_to(&inner),
            Level::Array(length) => Type::array_of(&inner, length),
            Level::Function { parameters, is_variadic } => {
                Type::function(&Signature::new(inner, parameters, is_variadic)?)
            }
        }
    }
}

impl<'t> Parser<'t, '_> {
    pub(super) fn declarator(&mut self) -> Parsed<Declarator<'t>> {
        let start = self.peek().span.start;
        let mut levels = Vec::new();
        let name = self.levels(&mut levels)?;
        let span = match &name {
            Some((_, span)) => span.clone(),
            None => self.since(start),
        };
        Ok(Declarator { name: name.map(|(name, _)| name), span, levels })
    }

    /// Collects levels from the name outward.
    fn levels(&mut self, levels: &mut Vec<Level>) -> Parsed<Option<(&'t str, Range<usize>)>> {
        let stars = self.stars()?;
        let name = if self.begins_nested_declarator() {
            self.advance();
            let name = self.nested(|parser| parser.levels(levels))?;
            self.expect(")")?;
            name
        } else {
            self.declared_name()
        };
        loop {
            if self.eat("[") {
                let length = self.array_length()?;
                levels.push(Level::Array(length));
            } else if self.eat("(") {
                let level = self.nested(Parser::parameters)?;
                levels.push(level);
            } else {
                break;
            }
            check_count(levels, self.peek().span.clone())?;
        }
        levels.extend((0..stars).map(|_| Level::Pointer));
        check_count(levels, self.peek().span.clone())?;
        Ok(name)
    }

    /// Counts stars, and skips the qualifiers between them.
    fn stars(&mut self) -> Parsed<usize> {
        let mut stars = 0;
        loop {
            let kind = self.peek().kind;
            if kind == TokenKind::Symbol("*") {
                stars += 1;
            } else if !matches!(kind, TokenKind::Word(word) if QUALIFIERS.contains(&word)) {
                return Ok(stars);
            }
            self.advance();
            if stars > usize::from(types::MOST_LEVELS) {
                return Err(Problem::new(TypeError::TooDeep.to_string(), self.peek().span.clone()));
            }
        }
    }

    /// Whether the next bracket holds a declarator, rather than parameters of a function without a
    /// name.
    fn begins_nested_declarator(&self) -> bool {
        self.peek().kind == TokenKind::Symbol("(")
            && match self.peek_second().kind {
                TokenKind::Symbol(symbol) => ["*", "(", "["].contains(&symbol),
                TokenKind::Word(word) => !is_keyword(word) && self.scope.alias(word).is_none(),
                _ => false,
            }
    }

    fn declared_name(&mut self) -> Option<(&'t str, Range<usize>)> {
        match self.peek().kind {
            TokenKind::Word(word) if !is_keyword(word) => Some((word, self.advance().span)),
            _ => None,
        }
    }

    /// The text after the `[` of an array.
    fn array_length(&mut self) -> Parsed<Option<usize>> {
        // In parameters, C allows these words; they do not change what is passed.
        while let TokenKind::Word("static" | "const" | "volatile" | "restrict" | "__restrict") =
            self.peek().kind
        {
            self.advance();
        }
        if self.eat("]") {
            return Ok(None);
        }
        let start = self.peek().span.start;
        let length = self.constant()?;
        let span = self.since(start);
        self.expect("]")?;
        match usize::try_from(length) {
            Ok(length) if length > 0 => Ok(Some(length)),
            _ => Err(Problem::new(
                "an array has at least one element, and not more than memory has",
                span,
            )),
        }
    }

    /// The text after the `(` of a function.
    fn parameters(&mut self) -> Parsed<Level> {
        let mut parameters = Vec::new();
        let mut is_variadic = false;
        if self.eat(")") || self.eat_lone_void() {
            return Ok(Level::Function { parameters, is_variadic });
        }
        loop {
            if !parameters.is_empty() && self.eat("...") {
                is_variadic = true;
                break;
            }
            parameters.push(self.parameter()?);
            if parameters.len() > MOST_PARAMETERS {
                let message = format!("a function has at most {MOST_PARAMETERS} parameters");
                return Err(Problem::new(message, self.peek().span.clone()));
            }
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(Level::Function { parameters, is_variadic })
    }

    /// Takes the `void)` of a function without parameters.
    fn eat_lone_void(&mut self) -> bool {
        let is_next = self.peek().kind == TokenKind::Word("void")
            && self.peek_second().kind == TokenKind::Symbol(")");
        if is_next {
            self.advance();
            self.advance();
        }
        is_next
    }

    fn parameter(&mut self) -> Parsed<Parameter> {
        if self.peek().kind == TokenKind::Symbol("...") {
            let message = "there must be a parameter before `...`";
            return Err(Problem::new(message, self.peek().span.clone()));
        }
        let specifiers = self.plain_specifiers()?;
        let declarator = self.declarator()?;
        let span = specifiers.span.start..declarator.span.end.max(specifiers.span.end);
        let name = declarator.name.map(Into::into);
        let is_plain = declarator.levels.is_empty();
        let c_type = declarator.applied_to(specifiers.base)?;
        if !matches!(c_type.kind(), Kind::Function(_)) {
            self.needs_values(&c_type, if is_plain { specifiers.span } else { span })?;
        }
        Ok(Parameter { name, c_type })
    }
}

fn check_count(levels: &[Level], span: Range<usize>) -> Parsed<()> {
    match levels.len() > usize::from(types::MOST_LEVELS) {
        true => Err(Problem::new(TypeError::TooDeep.to_string(), span)),
        false => Ok(()),
    }
}
