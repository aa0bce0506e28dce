//! `struct`, `union` and `enum`, with or without braces. `specifiers` reads them here.

use std::sync::Arc;

use super::error::Problem;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};
use super::specifiers::is_keyword;
use super::{Meaning, TagKind};
use crate::types::{Enumeration, Record, Scalar, Tag, Type};

/// The most fields or names of one definition; more could not be one type anyway.
const MOST_MEMBERS: usize = 10_000;

type NamedFields = Vec<(Option<Arc<str>>, Type)>;

impl<'t> Parser<'t, '_> {
    /// A type that begins with `struct`, `union` or `enum`, which is the next word.
    pub(super) fn tagged_type(&mut self, kind: TagKind) -> Parsed<Type> {
        let start = self.advance().span.start;
        let tag = match self.peek().kind {
            TokenKind::Word(word) if !is_keyword(word) => {
                self.advance();
                Some(word)
            }
            _ => None,
        };
        let span = self.since(start);
        let known = match tag {
            Some(tag) => self.scope.tag_definition(kind, tag),
            None => Ok(None),
        };
        let known = known.map_err(|message| Problem::new(message, span.clone()))?;
        if !self.eat("{") {
            let Some(tag) = tag else { return Err(self.expected("a name or `{`")) };
            return known.map_or_else(|| self.undefined(kind, tag, span), Ok);
        }
        if let Some(tag) = tag.filter(|_| known.is_some()) {
            return Err(Problem::new(format!("`{kind} {tag}` is defined already"), span));
        }
        let definition = self.nested(|parser| parser.definition(kind, tag, start))?;
        if let Some(tag) = tag {
            self.check_still_undefined(kind, tag, start)?;
            self.scope.define(kind, &tag.into(), definition.clone());
        }
        Ok(definition)
    }

    /// `struct name` that is not defined yet.
    fn undefined(
        &mut self,
        kind: TagKind,
        tag: &'t str,
        span: std::ops::Range<usize>,
    ) -> Parsed<Type> {
        let TagKind::Record(record) = kind else {
            return Err(Problem::new(format!("`enum {tag}` is not declared"), span));
        };
        self.scope.mention(kind, tag);
        Ok(Type::opaque(Tag::Record(record, tag.into())))
    }

    /// Checks again after a definition, which may have contained another definition of the same name.
    fn check_still_undefined(&self, kind: TagKind, tag: &str, start: usize) -> Parsed<()> {
        match self.scope.tag_definition(kind, tag) {
            Ok(None) => Ok(()),
            _ => Err(Problem::new(
                format!("`{kind} {tag}` is defined inside of itself"),
                self.since(start),
            )),
        }
    }

    fn definition(&mut self, kind: TagKind, tag: Option<&'t str>, start: usize) -> Parsed<Type> {
        match kind {
            TagKind::Record(kind) => {
                let fields = self.fields()?;
                let record = Record::new(kind, tag.map(Into::into), fields);
                let result = record.and_then(Type::record);
                result.map_err(|error| Problem::new(error.to_string(), self.since(start)))
            }
            TagKind::Enumeration => self.enumeration(tag, start),
        }
    }

    /// The fields up to the closing brace.
    fn fields(&mut self) -> Parsed<NamedFields> {
        let mut fields = Vec::new();
        while !self.eat("}") {
            self.fields_of_one_type(&mut fields)?;
            if fields.len() > MOST_MEMBERS {
                let message = format!("there are more than {MOST_MEMBERS} fields");
                return Err(Problem::new(message, self.peek().span.clone()));
            }
        }
        Ok(fields)
    }

    /// `int x, *y;`
    fn fields_of_one_type(&mut self, fields: &mut NamedFields) -> Parsed<()> {
        let specifiers = self.plain_specifiers()?;
        if self.peek().kind == TokenKind::Symbol(";") {
            self.advance();
            return self
                .nameless_part(specifiers.base, specifiers.span)
                .map(|part| fields.push((None, part)));
        }
        loop {
            let declarator = self.declarator()?;
            let span = declarator.span.clone();
            if self.peek().kind == TokenKind::Symbol(":") {
                let message =
                    "bit-fields are not supported: where their bits are is the compiler's affair";
                return Err(Problem::new(message, span.start..self.peek().span.end));
            }
            let Some(name) = declarator.name else {
                return Err(self.expected("the name of a field"));
            };
            let c_type = declarator.applied_to(specifiers.base.clone())?;
            self.needs_values(&c_type, span)?;
            fields.push((Some(name.into()), c_type));
            if self.eat(";") {
                return Ok(());
            }
            if !self.eat(",") {
                return Err(self.expected("`;`"));
            }
        }
    }

    /// A `struct { … };` among fields, whose fields count as those around it.
    fn nameless_part(&self, part: Type, span: std::ops::Range<usize>) -> Parsed<Type> {
        match part.as_record() {
            Some(record) if record.tag().is_none() => Ok(part),
            _ => Err(Problem::new("this field has no name", span)),
        }
    }

    /// The names of an `enum` up to the closing brace.
    fn enumeration(&mut self, tag: Option<&'t str>, start: usize) -> Parsed<Type> {
        let mut enumerators: Vec<(Arc<str>, i128)> = Vec::new();
        let mut next = 0;
        loop {
            if !enumerators.is_empty() && self.eat("}") {
                break;
            }
            let (name, value) = self.enumerator(next)?;
            enumerators.push((name, value));
            next = value + 1;
            if enumerators.len() > MOST_MEMBERS {
                let message = format!("there are more than {MOST_MEMBERS} names");
                return Err(Problem::new(message, self.peek().span.clone()));
            }
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        let Some(representation) = representation(&enumerators) else {
            let message = "no integer type has all these values";
            return Err(Problem::new(message, self.since(start)));
        };
        let enumerators = enumerators.into();
        Ok(Type::enumeration(Enumeration { tag: tag.map(Into::into), representation, enumerators }))
    }

    /// `name` or `name = value`.
    fn enumerator(&mut self, next: i128) -> Parsed<(Arc<str>, i128)> {
        let TokenKind::Word(name) = self.peek().kind else { return Err(self.expected("a name")) };
        if is_keyword(name) {
            return Err(self.expected("a name"));
        }
        let span = self.advance().span;
        let value = if self.eat("=") { self.constant()? } else { next };
        if !(i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value) {
            return Err(Problem::new(format!("{value} has more than 64 bits"), span));
        }
        let declared = self.scope.declare(name, Meaning::Constant(value));
        declared.map_err(|message| Problem::new(message, span))?;
        Ok((name.into(), value))
    }
}

/// The integer type that compilers choose for an `enum`: `unsigned int` if there are no negative values.
fn representation(enumerators: &[(Arc<str>, i128)]) -> Option<Scalar> {
    let values = || enumerators.iter().map(|(_, value)| *value);
    let fits =
        |least: i128, greatest: i128| values().all(|value| (least..=greatest).contains(&value));
    if fits(0, u32::MAX.into()) {
        Some(Scalar::UnsignedInt)
    } else if fits(i32::MIN.into(), i32::MAX.into()) {
        Some(Scalar::Int)
    } else if fits(0, u64::MAX.into()) {
        Some(Scalar::integer(8, false))
    } else if fits(i64::MIN.into(), i64::MAX.into()) {
        Some(Scalar::integer(8, true))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enumerations_have_the_type_that_compilers_choose() {
        let of = |values: &[i128]| {
            let all: Vec<_> = values.iter().map(|value| ("name".into(), *value)).collect();
            representation(&all)
        };
        assert_eq!(of(&[0, 1]), Some(Scalar::UnsignedInt));
        assert_eq!(of(&[0, -1]), Some(Scalar::Int));
        assert_eq!(of(&[0, 1 << 32]), Some(Scalar::integer(8, false)));
        assert_eq!(of(&[-1, 1 << 31]), Some(Scalar::integer(8, true)));
        assert_eq!(of(&[-1, 1 << 63]), None);
    }
}
