//! Constants and sites: assembles their declarations, and those that are written in place. `module.rs` and `body.rs`
//! call these functions.

use num_bigint::BigInt;

use super::diagnostic::Diagnostic;
use super::lexer::TokenKind;
use super::module::Scope;
use super::statement::{Result, Statement};
use crate::module::{Access, Constant, Side, Site};
use crate::types::RegisterType;

/// A constant.
pub(super) fn constant<'t>(
    scope: &mut Scope<'t>,
    line: &mut Statement<'_, 't>,
) -> Result<Constant> {
    match line.peek().kind {
        TokenKind::Number(text) => number(line, text),
        TokenKind::Text(_) => Ok(Constant::String(scope.string(line)?)),
        TokenKind::Mark('#') => {
            line.next();
            Ok(Constant::Symbol(scope.string(line)?))
        }
        TokenKind::Name("string") => {
            line.next();
            Ok(Constant::String(scope.string(line)?))
        }
        TokenKind::Name("double") => {
            line.next();
            Ok(Constant::Double(f64::from_bits(line.integer("bits of a double")?)))
        }
        _ if scope.is_type(line) => {
            let kind = scope.register_type(line)?;
            Ok(Constant::Raw(kind, raw_bits(line, kind)?))
        }
        _ => line.expected("a constant"),
    }
}

/// An integer, or a double if there is a point or an exponent.
fn number(line: &mut Statement, text: &str) -> Result<Constant> {
    let constant = match big_integer(text) {
        Some(integer) => Some(Constant::Integer(integer)),
        None => double(text).map(Constant::Double),
    };
    match constant {
        Some(constant) => {
            line.next();
            Ok(constant)
        }
        None if text.len() > MOST_DIGITS => {
            let problem = Diagnostic::new(line.span(), "this number has too many digits");
            Err(problem.hint("write it in hexadecimal, with `0x`"))
        }
        None => Err(Diagnostic::new(line.span(), format!("{text} is no number"))),
    }
}

/// Decimal digits that are converted; longer numbers would take quadratic time.
const MOST_DIGITS: usize = 1000;

/// A decimal number that is not too long, or a hexadecimal one of any length.
fn big_integer(text: &str) -> Option<BigInt> {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (-1, magnitude),
        None => (1, text),
    };
    match magnitude.strip_prefix("0x") {
        Some(digits) => Some(BigInt::parse_bytes(digits.as_bytes(), 16)? * sign),
        None if text.len() <= MOST_DIGITS => text.parse().ok(),
        None => None,
    }
}

fn double(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && text.contains(['.', 'e', 'E']))
}

/// The bits of a typed register: a value of the type, or hexadecimal bits.
fn raw_bits(line: &mut Statement, kind: RegisterType) -> Result<u64> {
    let token = line.peek();
    let bits = match token.kind {
        TokenKind::Name("false") if kind == RegisterType::Bool => Some(0),
        TokenKind::Name("true") if kind == RegisterType::Bool => Some(1),
        TokenKind::Number(text) if text.starts_with("0x") => return line.integer("bits"),
        TokenKind::Number(text) => match kind {
            RegisterType::F32 => {
                double(text).map(|_| u64::from(text.parse::<f32>().unwrap_or_default().to_bits()))
            }
            RegisterType::F64 => double(text).map(f64::to_bits),
            _ => text.parse::<i128>().ok().and_then(|value| integer_bits(kind, value)),
        },
        _ => return line.expected(&format!("a value of type `{kind}`, or its bits")),
    };
    let problem = || Diagnostic::new(token.span, format!("this is no value of type `{kind}`"));
    line.next();
    bits.ok_or_else(problem)
}

/// The bits of an integer, extended to the register, if it fits the type.
fn integer_bits(kind: RegisterType, value: i128) -> Option<u64> {
    if !kind.is_integer() {
        return None;
    }
    let values = 1i128 << kind.bits();
    let range = if kind.is_signed() { -values / 2..values / 2 } else { 0..values };
    range.contains(&value).then_some(value as u64)
}

/// A site.
pub(super) fn site<'t>(scope: &mut Scope<'t>, line: &mut Statement<'_, 't>) -> Result<Site> {
    const KINDS: [&str; 12] = [
        "public",
        "lexical",
        "private",
        "super",
        "initializer",
        "own_initializer",
        "super_initializer",
        "mixin_initializer",
        "enclosing",
        "captures",
        "slot",
        "class_slot",
    ];
    let is_text = matches!(line.peek().kind, TokenKind::Text(_));
    let kind = if is_text || line.peek_indexed("str").is_some() {
        "public"
    } else {
        KINDS[line.one_of("a site", &KINDS)?]
    };
    let access = match kind {
        "public" => Access::Public,
        "lexical" => Access::Lexical,
        "private" => Access::Private(scope.class(line)?, side(line)?),
        "super" => Access::Super(scope.class(line)?, side(line)?),
        "initializer" => Access::Initializer(scope.class(line)?),
        "own_initializer" => Access::OwnInitializer(scope.class(line)?),
        "super_initializer" => Access::SuperInitializer(scope.class(line)?),
        "mixin_initializer" => {
            Access::MixinInitializer(scope.class(line)?, line.integer("index of a mixin")?)
        }
        "enclosing" => return Ok(Site::Enclosing(scope.class(line)?, side(line)?)),
        "captures" => return Ok(Site::Captures(scope.class(line)?)),
        "slot" => return Ok(Site::InitializeSlot(scope.class(line)?, scope.string(line)?)),
        _ => return Ok(Site::ClassSlot(scope.class(line)?)),
    };
    Ok(Site::Send { selector: scope.string(line)?, access })
}

fn side(line: &mut Statement) -> Result<Side> {
    let index = line.one_of("a side of the class", &["instance", "class"])?;
    Ok([Side::Instance, Side::Class][index])
}
