//! Expressions of the user, computed without running any code of the program: variables, slots, literals, arithmetic,
//! comparisons and `size`. Conditions of breakpoints, watched expressions and the console use it.
//!
//! The text is parsed as Newspeak. A unary message to an object with a slot of that name reads the slot.

use std::cell::Cell;

use squall_heap::Word;
use squall_newspeak::Source;
use squall_newspeak::ast::{Ast, ExpressionKind, Literal, Receiver};
use squall_newspeak::entities::{ExpressionId, MessageId};
use squall_runtime::library::inspection;
use squall_runtime::library::primitives::decimal::format_double;
use squall_runtime::objects::number::Number;
use squall_runtime::objects::string::{Text, make_string, symbol_object};

use crate::stopped::{RECEIVER, Stopped};
use crate::watches::Target;

/// The most parts of an expression: each may lie in another one, and computing it uses the native stack.
const MOST_PARTS: usize = 2000;

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An object of the program. No GC point comes before it is shown.
    Object(Word),
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A text that is no object.
    Text(String),
    /// The name of a symbol that is no object.
    Symbol(String),
}

impl Value {
    /// The value as text.
    pub fn text(&self, stopped: &Stopped) -> String {
        match self {
            Value::Object(word) => inspection::text(stopped.thread.vm, *word),
            Value::Boolean(holds) => holds.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Double(value) => format_double(*value),
            Value::Text(text) => text.clone(),
            Value::Symbol(name) => format!("#{name}"),
        }
    }
}

/// The value of an expression in a frame; the error is for the user.
pub fn evaluate(stopped: &Stopped, frame: usize, text: &str) -> Result<Value, String> {
    let program = format!("class Watched = ()(\npublic value = ( ^ ({text}\n) )\n)");
    let source = Source::new("expression", &program);
    let parse = squall_newspeak::parse(&source);
    let Some(ast) = parse.ast else {
        let message = parse.diagnostics.first().map(|first| first.message.clone());
        return Err(message.unwrap_or_else(|| "this is no expression".into()));
    };
    let method = ast[ast.module].methods.first().copied().ok_or("this is no expression")?;
    let returned = ast[method].body.returned.as_ref().ok_or("this is no expression")?;
    Evaluation { stopped, frame, ast: &ast, parts: Cell::new(0) }.value(returned.value)
}

/// Assigns the variable or slot that an expression names; the error is for the user. *GC point.*
pub fn assign(
    stopped: &mut Stopped,
    frame: usize,
    text: &str,
    value: &str,
) -> Result<Value, String> {
    let value = evaluate(stopped, frame, value)?;
    let word = word_of(stopped, value)?;
    let text = text.trim();
    match object_and_slot(text) {
        None => {
            let is_variable = stopped.variable(frame, text).is_some();
            match stopped.variable(frame, RECEIVER).filter(|_| !is_variable) {
                Some(receiver) => stopped.assign_slot(receiver, text, word)?,
                None => stopped.assign(frame, text, word)?,
            }
        }
        Some((object, name)) => match evaluate(stopped, frame, object)? {
            Value::Object(object) => stopped.assign_slot(object, name, word)?,
            _ => return Err(format!("{object} has no slots")),
        },
    }
    evaluate(stopped, frame, &text.replace('.', " "))
}

/// The object and the slot of a text such as `counter count` or `counter.count`.
fn object_and_slot(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(['.', ' ']).filter(|(_, name)| is_name(name))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || char == '_')
}

/// The names that can complete the last word of a text, and where that word begins, in bytes.
pub fn completions(stopped: &Stopped, frame: usize, text: &str) -> (usize, Vec<String>) {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let start = text.trim_end_matches(is_part).len();
    let (before, word) = (text[..start].trim_end_matches([' ', '.']), &text[start..]);
    // Behind an object come its slots; behind an operator, a keyword or nothing, names.
    let is_behind_object = before.ends_with(|char: char| is_part(char) || char == ')');
    let object = match is_behind_object.then(|| evaluate(stopped, frame, before)) {
        Some(Ok(Value::Object(word))) => Some(word),
        Some(_) => return (start, Vec::new()),
        None => None,
    };
    let mut names = stopped.names(frame, object);
    names.retain(|name| name.starts_with(word));
    names.sort_unstable();
    names.dedup();
    (start, names)
}

/// The variable or slot that an expression names, for a data breakpoint: `sum`, `counter count`, or `counter.count`; the error
/// is for the user.
pub fn target(stopped: &Stopped, frame: usize, text: &str) -> Result<Target, String> {
    let text = text.trim();
    if is_name(text) {
        return stopped.variable_target(frame, text);
    }
    let parts = object_and_slot(text);
    let (object, name) =
        parts.ok_or("a data breakpoint is for a variable, or for a slot: EXPRESSION SLOT")?;
    match evaluate(stopped, frame, object)? {
        Value::Object(word) => stopped.slot_of(word, name),
        _ => Err(format!("{object} has no slots")),
    }
}

/// Whether a condition holds; the error is for the user.
pub fn holds(stopped: &Stopped, frame: usize, text: &str) -> Result<bool, String> {
    truth(&evaluate(stopped, frame, text)?)
}

fn truth(value: &Value) -> Result<bool, String> {
    let holds = match value {
        Value::Boolean(holds) => Some(*holds),
        Value::Object(word) => boolean(*word),
        _ => None,
    };
    holds.ok_or_else(|| "that is no condition".into())
}

struct Evaluation<'a> {
    stopped: &'a Stopped<'a>,
    frame: usize,
    ast: &'a Ast,
    /// How many parts of the expression were computed.
    parts: Cell<usize>,
}

fn boolean(word: Word) -> Option<bool> {
    match word {
        Word::TRUE => Some(true),
        Word::FALSE => Some(false),
        _ => None,
    }
}

/// A value that can be compared: a symbol by its text.
fn comparable(value: Value) -> Value {
    match value {
        Value::Object(word) => opened(word),
        Value::Symbol(name) => Value::Text(name),
        _ => value,
    }
}

/// A word as a value that can be compared.
fn opened(word: Word) -> Value {
    if let Some(holds) = boolean(word) {
        return Value::Boolean(holds);
    }
    match Number::of(word) {
        Some(Number::Small(value)) => Value::Integer(value),
        Some(Number::Double(value)) => Value::Double(value),
        _ => match Text::of(word) {
            Some(text) => Value::Text(text.to_rust()),
            None => Value::Object(word),
        },
    }
}

impl Evaluation<'_> {
    fn value(&self, expression: ExpressionId) -> Result<Value, String> {
        if self.parts.replace(self.parts.get() + 1) == MOST_PARTS {
            return Err(format!(
                "expressions of more than {MOST_PARTS} parts are not computed here"
            ));
        }
        match self.ast[expression].kind {
            ExpressionKind::Literal(literal) => self.literal(literal),
            ExpressionKind::SelfObject | ExpressionKind::Super => self.named(RECEIVER),
            ExpressionKind::Send { receiver, message } => self.send(receiver, message),
            _ => {
                Err("only variables, slots, literals, arithmetic and comparisons are computed here"
                    .into())
            }
        }
    }

    fn literal(&self, literal: Literal) -> Result<Value, String> {
        Ok(match literal {
            Literal::Nil => Value::Object(Word::NIL),
            Literal::True => Value::Boolean(true),
            Literal::False => Value::Boolean(false),
            Literal::Integer(value) => Value::Integer(value),
            Literal::Double(value) => Value::Double(value),
            Literal::String(text) => Value::Text(self.ast[text].to_owned()),
            Literal::Symbol(name) => Value::Symbol(self.ast[name].to_owned()),
            Literal::BigInteger(_) => {
                return Err("such large integers are not computed here".into());
            }
        })
    }

    fn named(&self, name: &str) -> Result<Value, String> {
        if let Some((_, word)) = self.stopped.given.iter().find(|(given, _)| *given == name) {
            return Ok(Value::Object(*word));
        }
        if let Some(word) = self.stopped.variable(self.frame, name) {
            return Ok(Value::Object(word));
        }
        let receiver = self.stopped.variable(self.frame, RECEIVER);
        let slot = receiver.and_then(|receiver| self.slot(receiver, name));
        slot.map(Value::Object).ok_or_else(|| format!("there is no variable or slot {name} here"))
    }

    fn slot(&self, object: Word, name: &str) -> Option<Word> {
        let slots = inspection::slots(self.stopped.thread.vm, object);
        slots.into_iter().find(|slot| slot.name == name).map(|slot| slot.word)
    }

    fn send(&self, receiver: Receiver, message: MessageId) -> Result<Value, String> {
        let message = &self.ast[message];
        let selector = &self.ast[message.selector];
        let arguments = &self.ast[message.arguments];
        let receiver = match receiver {
            Receiver::Expression(expression) => self.value(expression)?,
            Receiver::SelfObject | Receiver::Super => self.named(RECEIVER)?,
            Receiver::Implicit if arguments.is_empty() => return self.named(selector),
            Receiver::Implicit | Receiver::Outer(_) => return Err(unknown(selector)),
        };
        match arguments {
            [] => self.unary(receiver, selector),
            &[argument] if matches!(selector, "and:" | "or:" | "&&" | "||") => {
                self.connective(&receiver, matches!(selector, "and:" | "&&"), argument)
            }
            &[argument] => binary(receiver, selector, self.value(argument)?),
            _ => Err(unknown(selector)),
        }
    }

    /// `left and: [ right ]` or `left or: [ right ]`; the right side, which need be no block, is computed only if it matters.
    fn connective(&self, left: &Value, is_and: bool, right: ExpressionId) -> Result<Value, String> {
        if truth(left)? != is_and {
            return Ok(Value::Boolean(!is_and));
        }
        let right = match self.ast[right].kind {
            ExpressionKind::Block(block) => match &self.ast[self.ast[block].body.statements] {
                &[statement] => statement,
                _ => return Err("the block is no single expression".into()),
            },
            _ => right,
        };
        truth(&self.value(right)?).map(Value::Boolean)
    }

    fn unary(&self, receiver: Value, selector: &str) -> Result<Value, String> {
        if let Value::Object(word) = receiver {
            if let Some(slot) = self.slot(word, selector) {
                return Ok(Value::Object(slot));
            }
            let (_, elements) = inspection::part_counts(self.stopped.thread.vm, word);
            match selector {
                "isNil" => return Ok(Value::Boolean(word == Word::NIL)),
                "notNil" => return Ok(Value::Boolean(word != Word::NIL)),
                "size" if elements > 0 => return Ok(Value::Integer(elements as i64)),
                _ => {}
            }
        }
        let receiver = comparable(receiver);
        match (receiver, selector) {
            (Value::Boolean(holds), "not") => Ok(Value::Boolean(!holds)),
            (Value::Text(text), "size") => Ok(Value::Integer(text.chars().count() as i64)),
            _ => Err(unknown(selector)),
        }
    }
}

fn unknown(selector: &str) -> String {
    format!("{selector} would run code of the program, which is not done here")
}

fn binary(left: Value, selector: &str, right: Value) -> Result<Value, String> {
    let (left, right) = (comparable(left), comparable(right));
    if matches!(selector, "=" | "<>") {
        let are_equal = match (&left, &right) {
            (Value::Integer(left), Value::Double(right)) => *left as f64 == *right,
            (Value::Double(left), Value::Integer(right)) => *left == *right as f64,
            _ => left == right,
        };
        return Ok(Value::Boolean(are_equal == (selector == "=")));
    }
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => of_integers(left, selector, right),
        (Value::Integer(left), Value::Double(right)) => of_doubles(left as f64, selector, right),
        (Value::Double(left), Value::Integer(right)) => of_doubles(left, selector, right as f64),
        (Value::Double(left), Value::Double(right)) => of_doubles(left, selector, right),
        (Value::Text(left), Value::Text(right)) => match selector {
            "<" => Ok(Value::Boolean(left < right)),
            ">" => Ok(Value::Boolean(left > right)),
            _ => Err(unknown(selector)),
        },
        _ => Err(unknown(selector)),
    }
}

fn of_integers(left: i64, selector: &str, right: i64) -> Result<Value, String> {
    if right == 0 && matches!(selector, "/" | "%") {
        return Err("a division by zero".into());
    }
    let result = match selector {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        // The result has the sign of the right side.
        "%" => left.checked_rem(right).map(|rest| match rest != 0 && (rest < 0) != (right < 0) {
            true => rest + right,
            false => rest,
        }),
        "//" => return Ok(Value::Double(left as f64 / right as f64)),
        "<" => return Ok(Value::Boolean(left < right)),
        ">" => return Ok(Value::Boolean(left > right)),
        "<=" => return Ok(Value::Boolean(left <= right)),
        ">=" => return Ok(Value::Boolean(left >= right)),
        _ => return Err(unknown(selector)),
    };
    result.map(Value::Integer).ok_or_else(|| "the result is no small integer".into())
}

fn of_doubles(left: f64, selector: &str, right: f64) -> Result<Value, String> {
    Ok(match selector {
        "+" => Value::Double(left + right),
        "-" => Value::Double(left - right),
        "*" => Value::Double(left * right),
        "//" => Value::Double(left / right),
        "<" => Value::Boolean(left < right),
        ">" => Value::Boolean(left > right),
        "<=" => Value::Boolean(left <= right),
        ">=" => Value::Boolean(left >= right),
        _ => return Err(unknown(selector)),
    })
}

/// A value as an object of the program. *GC point.*
pub fn word_of(stopped: &mut Stopped, value: Value) -> Result<Word, String> {
    match value {
        Value::Object(word) => Ok(word),
        Value::Boolean(holds) => Ok(Word::from_bool(holds)),
        Value::Integer(value) => {
            squall_runtime::objects::number::make_integer(stopped.thread, value)
                .map_err(|_| "there is no memory for it".into())
        }
        Value::Double(value) => squall_runtime::objects::number::make_double(stopped.thread, value)
            .map_err(|_| "there is no memory for it".into()),
        Value::Text(text) => {
            make_string(stopped.thread, &text).map_err(|_| "there is no memory for it".into())
        }
        Value::Symbol(name) => {
            let symbol = stopped.thread.vm.symbol(&name);
            symbol_object(stopped.thread, symbol).map_err(|_| "there is no memory for it".into())
        }
    }
}
