//! Statements without an effect, periods that are missing or too many, and brackets of the wrong kind. The checker's
//! walk (`mod.rs`) and `sends` call this module.

use crate::ast::{Body, ExpressionKind, Identifier, Message, Receiver};
use crate::diagnostics::{Code, Diagnostic, quoted};
use crate::entities::{ExpressionId, SlotId};
use crate::source::Span;

use super::Checker;

/// Operators whose answer is all that they are sent for. Division is none of them: it may be sent to signal.
const PURE: &[&str] =
    &["+", "-", "*", "=", "==", "<", ">", "<=", ">=", "<>", "~=", "&", "|", "&&", "||"];
const COMPARISONS: &[&str] = &["=", "==", "<", ">", "<=", ">=", "<>", "~="];
const CONNECTIVES: &[&str] = &["&", "|", "&&", "||"];
/// Messages that are sent for their effect.
const EFFECTS: &[&str] = &["println", "print", "signal"];
/// Messages whose arguments are blocks.
const CONTROL: &[&str] = &[
    "ifTrue:",
    "ifFalse:",
    "ifTrue:ifFalse:",
    "ifFalse:ifTrue:",
    "whileTrue:",
    "whileFalse:",
    "do:",
    "to:do:",
    "timesRepeat:",
    "collect:",
    "select:",
];
const ACCESS: &[&str] = &["private", "public", "protected"];

impl Checker<'_> {
    // Values that nothing uses

    /// Reports statements without effect. `body` is their body, with the head of the method if it is a method's; the
    /// last statement of a block is its value.
    pub fn unused_statements(
        &mut self,
        statements: &[ExpressionId],
        body: Option<(&Body, Option<Span>)>,
    ) {
        let returned = body.and_then(|(body, _)| body.returned);
        let mut is_split = vec![false; statements.len()];
        for (index, pair) in statements.windows(2).enumerate() {
            is_split[index] = self.period_inside_of_message(pair[0], pair[1]);
        }
        let is_block = body.is_some_and(|(_, head)| head.is_none());
        let count = statements.len()
            - usize::from(is_block && returned.is_none() && !statements.is_empty());
        for (index, &statement) in statements[..count].iter().enumerate() {
            if is_split[index] {
                continue;
            }
            let is_last = index + 1 == statements.len() && returned.is_none();
            let head = body.and_then(|(_, head)| head).filter(|_| is_last);
            self.unused_statement(statement, head);
        }
    }

    fn unused_statement(&mut self, id: ExpressionId, head: Option<Span>) {
        let Some((what, place)) = self.pure(id) else { return };
        let message = format!("{what} is not used");
        let diagnostic = Diagnostic::warning(Code::UnusedValue, message, place);
        let diagnostic = match (self.effect_at_the_end(id), head) {
            (Some(hint), _) => diagnostic.with_hint(hint),
            (None, Some(head)) => diagnostic
                .and_label(head, "this method answers its receiver")
                .with_hint("to answer the value, write `^` before the statement"),
            (None, None) => diagnostic,
        };
        self.report(diagnostic);
    }

    /// A description of an expression that has a value and no effect, and its place.
    fn pure(&self, id: ExpressionId) -> Option<(String, Span)> {
        let span = self.ast[id].span;
        match self.ast[id].kind {
            ExpressionKind::Literal(crate::ast::Literal::Nil) => None,
            ExpressionKind::Literal(_) => Some(("this value".into(), span)),
            ExpressionKind::Block(_) => {
                Some(("this block is not evaluated: its value".into(), span))
            }
            ExpressionKind::Send { receiver: Receiver::Implicit, message } => {
                let message = &self.ast[message];
                let variable = self.scopes.find(message.selector)?;
                let name = quoted(&self.ast[variable.name]);
                message.arguments.is_empty().then(|| (format!("the value of {name}"), span))
            }
            ExpressionKind::Send { receiver: Receiver::Expression(receiver), message } => {
                let (selector, message) = self.message(message);
                let is_reported = selector == "=" && self.is_name(receiver);
                (PURE.contains(&selector) && !message.is_eventual && !is_reported)
                    .then(|| (format!("the answer of {}", quoted(selector)), message.selector_span))
            }
            _ => None,
        }
    }

    /// Whether this is a name alone; the parser reports comparisons with one.
    fn is_name(&self, id: ExpressionId) -> bool {
        match self.ast[id].kind {
            ExpressionKind::Send { receiver: Receiver::Implicit, message } => {
                self.ast[message].arguments.is_empty()
            }
            _ => false,
        }
    }

    /// In `'sum ' + 1 + 2 println`, only `2` is printed.
    fn effect_at_the_end(&self, id: ExpressionId) -> Option<String> {
        let ExpressionKind::Send { message, .. } = self.ast[id].kind else { return None };
        let &last = self.ast[self.ast[message].arguments].last()?;
        let ExpressionKind::Send { message: effect, .. } = self.ast[last].kind else { return None };
        let (selector, effect) = self.message(effect);
        if !EFFECTS.contains(&selector) {
            return None;
        }
        let text = self.source.slice(self.ast[id].span);
        let before = &text[..text.len().saturating_sub(effect.selector_span.range().len())];
        let receiver = self
            .source
            .slice(Span { start: self.ast[last].span.start, end: effect.selector_span.start });
        Some(format!(
            "{} goes to {} only, as words bind closer than operators; write `({}) {selector}`",
            quoted(selector),
            quoted(receiver.trim()),
            before.trim(),
        ))
    }

    // Periods

    /// `object.message`: the period ends a statement.
    fn period_inside_of_message(&mut self, first: ExpressionId, second: ExpressionId) -> bool {
        let (first, second) = (self.ast[first].span, self.ast[second].span);
        let text = self.source.text();
        let is_word = |character: Option<char>| character.is_some_and(char::is_alphabetic);
        let is_tight = first.end + 1 == second.start
            && text[first.range()].ends_with(|last: char| last.is_alphanumeric())
            && is_word(text[second.start as usize..].chars().next());
        if !is_tight {
            return false;
        }
        let word: String =
            text[second.start as usize..].chars().take_while(|c| c.is_alphanumeric()).collect();
        let last = text[first.range()].split_whitespace().last().unwrap_or_default();
        let message = "a period ends the statement";
        let place = Span { start: first.end, end: first.end + 1 };
        self.report(Diagnostic::warning(Code::PeriodInMessage, message, place).with_hint(format!(
            "a message follows its receiver after a space: {}",
            quoted(&format!("{last} {word}"))
        )));
        self.reported.insert(word.clone());
        self.reported.insert(format!("{word}:"));
        true
    }

    /// A reserved word as a message: the next statement begins there.
    pub fn period_before_word(&mut self, receiver: ExpressionId, word: &str, message: &Message) {
        let text = format!("{} is no message", quoted(word));
        let end = self.ast[receiver].span.after();
        self.report(
            Diagnostic::warning(Code::MissingPeriod, text, message.selector_span)
                .and_label(end, "a period is missing here"),
        );
    }

    /// Reports a unary message that looks like the beginning of the next statement: it is a variable or member, and
    /// stands on a line of its own, no further to the right than the line before.
    pub fn lines_of_chain(&mut self, innermost: ExpressionId, sends: &[ExpressionId]) {
        let start = self.ast[innermost].span.start;
        let mut end = self.ast[innermost].span.after();
        for &send in sends {
            let ExpressionKind::Send { message, .. } = self.ast[send].kind else { continue };
            let (selector, message) = self.message(message);
            let looks_like_name = message.arguments.is_empty()
                && !message.is_eventual
                && self.begins_line(message.selector_span, start)
                && (self.scopes.find(message.selector).is_some() || self.is_member(selector));
            if looks_like_name {
                let text =
                    format!("{} is a message to the value of the line above", quoted(selector));
                self.report(
                    Diagnostic::warning(Code::MissingPeriod, text, message.selector_span)
                        .and_label(end, "a period is missing here")
                        .with_hint("indent the line if it continues the one above"),
                );
                self.silenced.insert(selector.to_owned());
                if let Some(variable) = self.scopes.find_mut(message.selector) {
                    variable.is_read = true;
                }
            }
            end = self.ast[send].span.after();
        }
    }

    /// Whether a class around the code declares a member of this name.
    fn is_member(&self, name: &str) -> bool {
        let mut places = self.places.iter();
        places.any(|place| {
            let class = super::ClassRef::Text(place.class);
            self.classes.own_member(class, place.side, name).is_some()
        })
    }

    /// Whether this is the first word of its line, and the line is not indented deeper than the earlier one at `start`.
    fn begins_line(&self, word: Span, start: u32) -> bool {
        let (line, first) = (self.source.line(word.start), self.source.line(start));
        if line == first {
            return false;
        }
        let indentation = |line: usize| {
            let text = self.source.slice(self.source.line_span(line));
            text.len() - text.trim_start().len()
        };
        let own = (word.start - self.source.line_span(line).start) as usize;
        own == indentation(line) && own <= indentation(first)
    }

    /// A slot whose period is missing takes the next one into its initialiser.
    pub fn end_of_slot(&mut self, slot: SlotId, value: ExpressionId) {
        let name = self.ast[slot].name;
        self.end_of_declaration(name, value);
    }

    /// As `end_of_slot`, also for locals.
    pub fn end_of_declaration(&mut self, name: Identifier, value: ExpressionId) {
        let ast = self.ast;
        let (innermost, sends) = ast.chain(value);
        let mut end = ast[innermost].span.after();
        let compares = sends.last().is_some_and(|&last| self.is_comparison(last));
        for (index, &send) in sends.iter().enumerate() {
            let ExpressionKind::Send { message, .. } = ast[send].kind else { continue };
            let (selector, message) = self.message(message);
            let is_unary = message.arguments.is_empty();
            let is_next = compares && index + 2 == sends.len() && is_unary;
            let begins_line =
                self.source.line(message.selector_span.start) > self.source.line(end.start);
            if is_unary && ACCESS.contains(&selector) || is_next && begins_line {
                let text = format!("the declaration of {} has no end", quoted(&ast[name.name]));
                self.report(
                    Diagnostic::warning(Code::MissingPeriod, text, name.span)
                        .and_label(end, "a period is missing here"),
                );
                return self.silence(&sends[index..]);
            }
            end = ast[send].span.after();
        }
    }

    fn is_comparison(&self, send: ExpressionId) -> bool {
        match self.ast[send].kind {
            ExpressionKind::Send { message, .. } => self.ast[self.ast[message].selector] == *"=",
            _ => false,
        }
    }

    /// Names that only the reported mistake makes unknown.
    fn silence(&mut self, sends: &[ExpressionId]) {
        for &send in sends {
            let ExpressionKind::Send { message, .. } = self.ast[send].kind else { continue };
            let (selector, _) = self.message(message);
            self.silenced.insert(selector.to_owned());
            self.reported.extend([selector.to_owned(), format!("{selector}::")]);
        }
    }

    // Brackets, precedence

    /// `{ 1, 2 }` is an array with one element.
    pub fn elements(&mut self, array: ExpressionId, elements: &[ExpressionId]) {
        let &[element] = elements else { return };
        let ExpressionKind::Send { message, .. } = self.ast[element].kind else { return };
        let (selector, message) = self.message(message);
        if selector == "," && !self.is_in_parentheses(element) {
            let message_text = "the elements of an array are separated by periods";
            self.report(
                Diagnostic::warning(Code::CommaInArray, message_text, message.selector_span)
                    .and_label(self.ast[array].span, "an array with one element")
                    .with_hint(
                        "write `{ 1. 2 }`; if a concatenation is meant, put parentheses around it",
                    ),
            );
        }
    }

    /// The arguments of a message: whether control structures have blocks.
    pub fn blocks_of(&mut self, selector: &str, message: &Message) {
        if !CONTROL.contains(&selector) {
            return;
        }
        for &argument in &self.ast[message.arguments] {
            let span = self.ast[argument].span;
            match self.ast[argument].kind {
                ExpressionKind::Array(_) => self.report(
                    Diagnostic::warning(
                        Code::NotABlock,
                        format!("the argument of {} is an array", quoted(selector)),
                        span,
                    )
                    .with_hint("braces make an array; a block stands between brackets: `[ … ]`"),
                ),
                ExpressionKind::Send { message: inner, .. }
                    if EFFECTS.contains(&self.message(inner).0) =>
                {
                    let text =
                        format!("the argument of {} is evaluated in any case", quoted(selector));
                    self.report(
                        Diagnostic::warning(Code::NotABlock, text, span)
                            .with_hint("put it into a block: `[ … ]`"),
                    );
                }
                _ => {}
            }
        }
    }

    /// `(i < 3) whileTrue: […]`: the condition must be evaluated again and again.
    pub fn condition_of_loop(
        &mut self,
        receiver: ExpressionId,
        selector: &str,
        message: &Message,
    ) -> bool {
        let is_loop = ["whileTrue:", "whileFalse:", "whileTrue", "whileFalse"].contains(&selector);
        let ExpressionKind::Send { message: condition, .. } = self.ast[receiver].kind else {
            return false;
        };
        if !is_loop || !COMPARISONS.contains(&self.message(condition).0) {
            return false;
        }
        let text = format!("the receiver of {} is a Boolean, not a block", quoted(selector));
        let written = self.source.slice(self.ast[receiver].span);
        let inner =
            written.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(written);
        self.report(Diagnostic::warning(Code::NotABlock, text, message.selector_span).with_hint(
            format!(
                "the condition is evaluated before each round: {}",
                quoted(&format!("[ {} ]", inner.trim()))
            ),
        ));
        true
    }

    /// `a = 1 & b = 2` means `((a = 1) & b) = 2`.
    pub fn order_of_operators(
        &mut self,
        receiver: ExpressionId,
        selector: &str,
        message: &Message,
    ) {
        if !COMPARISONS.contains(&selector) || self.is_in_parentheses(receiver) {
            return;
        }
        let ExpressionKind::Send { receiver: Receiver::Expression(left), message: connective } =
            self.ast[receiver].kind
        else {
            return;
        };
        let (connective, _) = self.message(connective);
        let ExpressionKind::Send { message: first, .. } = self.ast[left].kind else { return };
        let compares = COMPARISONS.contains(&self.message(first).0) || self.is_in_parentheses(left);
        if CONNECTIVES.contains(&connective) && compares {
            let text =
                format!("{} compares the answer of {}", quoted(selector), quoted(connective));
            self.report(
                Diagnostic::warning(Code::OrderOfOperators, text, message.selector_span).with_hint(
                    "operators are sent from left to right, whichever they are: put parentheses around each comparison",
                ),
            );
        }
    }

    fn is_in_parentheses(&self, id: ExpressionId) -> bool {
        let text = self.source.slice(self.ast[id].span);
        text.starts_with('(') && text.ends_with(')')
    }
}
