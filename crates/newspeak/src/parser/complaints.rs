//! The parser's complaints: a method for each kind of mistake. The other files of the parser call these methods where
//! they meet a mistake.
//!
//! Each method reports a mistake at the cursor. A method that answers [`Reported`] stands for the missing node; after
//! the others, parsing continues at the cursor.

use super::recovery::Opening;
use super::{MOST_NESTED, Parsed, Parser, Reported};
use crate::ast::Identifier;
use crate::diagnostics::{Code, Diagnostic, quoted};
use crate::source::Span;
use crate::spelling::foreign_word;
use crate::token::{Token, TokenKind};

impl Parser<'_> {
    /// Reports a mistake, unless one was reported with the cursor at the same place.
    pub(super) fn complain(&mut self, diagnostic: Diagnostic) -> Reported {
        let place = Some(self.current.span.start);
        if self.last_complaint != place {
            self.last_complaint = place;
            self.reporter.report(diagnostic);
        }
        Reported
    }

    fn error_here(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, message, self.current.span)
    }

    /// The token at the cursor, in words.
    fn found(&self) -> String {
        match self.current.kind {
            TokenKind::EndOfFile => format!("the end of the {}", self.whole),
            TokenKind::Barrier => format!("{}, less indented", quoted(self.current_text())),
            TokenKind::String => "a string".into(),
            TokenKind::Keyword => format!("the keyword {}", quoted(self.current_text())),
            _ => quoted(self.current_text()),
        }
    }

    pub(super) fn not_expected(&self, what: &str) -> Diagnostic {
        let message = format!("expected {what}, found {}", self.found());
        self.error_here(Code::UnexpectedToken, message)
    }

    pub(super) fn expected(&mut self, what: &str) -> Reported {
        self.complain(self.not_expected(what))
    }

    // Brackets and depth

    pub(super) fn nested_too_deeply(&mut self) -> Reported {
        let message = format!("more than {MOST_NESTED} brackets nest in each other here");
        self.complain(
            self.error_here(Code::NestedTooDeeply, message)
                .with_hint("give the inner parts names of their own"),
        )
    }

    /// Another token stands where the bracket should be closed.
    pub(super) fn unclosed(&mut self, opening: Opening) -> Reported {
        let bracket = quoted(self.source.slice(opening.span));
        let closer = closer_text(opening.closer);
        if self.at_end() && !self.at_stray_bracket() {
            let message = format!("this {bracket} is never closed");
            let place = match self.current.kind {
                TokenKind::EndOfFile => &format!("the {} ends here", self.whole),
                TokenKind::Barrier if self.text_at(self.position) == ")" => {
                    "by its indentation, this closes something else"
                }
                TokenKind::Barrier => "the next member begins here",
                _ => "this closes something else",
            };
            return self.complain(
                Diagnostic::error(Code::UnclosedBracket, message, opening.span)
                    .and_label(self.current.span, format!("{place}; `{closer}` is missing")),
            );
        }
        let diagnostic = self
            .not_expected(&format!("`{closer}`"))
            .and_label(opening.span, format!("to close this {bracket}"));
        self.complain(match (opening.closer, self.current.kind) {
            (TokenKind::CloseParenthesis, TokenKind::Period) => {
                diagnostic.with_hint("parentheses hold one expression; statements need a block [ ]")
            }
            _ => diagnostic,
        })
    }

    /// A closing bracket of the wrong kind.
    pub(super) fn mistyped_closer(&mut self, opening: Opening) -> Reported {
        let diagnostic = self
            .not_expected(&format!("`{}`", closer_text(opening.closer)))
            .and_label(opening.span, "to close this");
        self.complain(diagnostic)
    }

    pub(super) fn stray_bracket(&mut self) {
        let message = format!("this {} closes nothing", quoted(self.current_text()));
        self.complain(self.error_here(Code::StrayBracket, message));
    }

    // Modules and classes

    pub(super) fn no_module(&mut self) -> Reported {
        let message = format!("a module is one class, but here is {}", self.found());
        self.complain(
            self.error_here(Code::UnexpectedToken, message)
                .with_hint("begin with `class Name usingPlatform: platform = (`"),
        )
    }

    pub(super) fn access_of_module(&mut self) {
        let message = "the class of a module has no access modifier";
        self.complain(self.error_here(Code::UnexpectedToken, message));
    }

    /// Not reported after other mistakes: then the class has ended because of them.
    pub(super) fn text_after_module(&mut self) {
        if self.reporter.has_errors() {
            return;
        }
        let message = "a module is one class, and it ended before this";
        let diagnostic = self.error_here(Code::TextAfterModule, message);
        self.complain(if self.current.kind.is_closer() {
            diagnostic.with_hint("there is a closing bracket too many, here or further up")
        } else {
            diagnostic.with_hint("nest further classes inside the first")
        });
    }

    /// No name behind `class`.
    pub(super) fn no_name_of_class(&mut self) -> Reported {
        let diagnostic = self.not_expected("the name of the class");
        self.complain(match self.current.kind {
            TokenKind::Keyword => diagnostic.with_hint(self.hint_for_name_of_class()),
            _ => diagnostic,
        })
    }

    /// No `=` behind the head of a class.
    pub(super) fn no_equals_of_class(&mut self) -> Reported {
        let diagnostic = self.not_expected("`=` between the head of the class and its definition");
        self.complain(match self.current.kind {
            TokenKind::OpenBrace
            | TokenKind::OpenParenthesis
            | TokenKind::Colon
            | TokenKind::Identifier => {
                diagnostic.with_hint("write `class Name = Superclass ( | slots | ) ( methods )`")
            }
            _ => diagnostic,
        })
    }

    /// No `=` behind the head of a method.
    pub(super) fn no_equals_of_method(&mut self) -> Reported {
        let diagnostic = self.not_expected("`=` between the method's pattern and its body");
        let word = self.source.slice(self.previous.span);
        let is_call = self.is_adjacent() && self.peek(1) != TokenKind::CloseParenthesis;
        self.complain(match (self.current.kind, self.previous.kind) {
            (TokenKind::OpenParenthesis, TokenKind::Identifier) if is_call => diagnostic
                .with_hint("the arguments of a method follow keywords: `add: x to: y = ( … )`"),
            (TokenKind::OpenParenthesis | TokenKind::OpenBrace, TokenKind::Identifier) => {
                diagnostic.with_hint(format!("write {}", quoted(&format!("{word} = ( … )"))))
            }
            (TokenKind::Identifier, TokenKind::Identifier) => match foreign_word(word) {
                Some(hint) => diagnostic.with_hint(hint),
                None => diagnostic,
            },
            (TokenKind::Keyword, TokenKind::Identifier) if word == "class" => {
                diagnostic.with_hint(self.hint_for_name_of_class())
            }
            _ => diagnostic,
        })
    }

    /// The remedy for a keyword in place of the name of a class.
    fn hint_for_name_of_class(&self) -> String {
        let name = self.source.slice(self.current.span).trim_end_matches(':');
        let head = quoted(&format!("class {name} of: …"));
        format!("name the class before the message that makes its instances: {head}")
    }

    /// No `(` before the body of a method.
    pub(super) fn no_body(&mut self) -> Reported {
        let diagnostic = self.not_expected("the `(` before the method's body");
        self.complain(diagnostic.with_hint("a method's body stands in parentheses: `name = ( … )`"))
    }

    pub(super) fn no_class_header(&mut self) -> Reported {
        let diagnostic = self.not_expected("the `(` before the slots of the class");
        self.complain(match self.current.kind {
            TokenKind::Period => {
                diagnostic.with_hint("only a class with mixins can do without a body: write ()()")
            }
            _ => diagnostic,
        })
    }

    pub(super) fn no_members(&mut self) -> Reported {
        let diagnostic = self.not_expected("the `(` before the members of the class");
        self.complain(diagnostic.with_hint(
            "a class has two pairs of parentheses, for its slots and for its classes and methods",
        ))
    }

    pub(super) fn misplaced_class(&mut self, is_class_side: bool) {
        let message = if is_class_side {
            "the class side has methods only"
        } else {
            "nested classes come before the methods"
        };
        self.complain(self.error_here(Code::MisplacedClass, message));
    }

    // Declarations

    pub(super) fn simultaneous_slots(&mut self) {
        let message = "slots between `||` and `||` are not supported";
        self.complain(
            self.error_here(Code::SimultaneousSlots, message)
                .with_hint("declare slots between `|` and `|`"),
        );
    }

    pub(super) fn unclosed_declarations(&mut self, opening: Span) {
        let message = format!("expected `|` after the declarations, found {}", self.found());
        self.complain(
            self.error_here(Code::UnclosedBracket, message)
                .and_label(opening, "the declarations begin here")
                .with_hint("an initialised declaration ends with a period, also before `|`"),
        );
    }

    pub(super) fn no_declared_name(&mut self, what: &str) -> Reported {
        let diagnostic = self.not_expected(what);
        let name = self.current_text().trim_end_matches(':');
        let declaration = format!("declare it by {}", quoted(&format!("{name} ::= …")));
        self.complain(match self.current.kind {
            TokenKind::Setter => diagnostic.with_hint(declaration),
            TokenKind::Keyword if self.peek(1) == TokenKind::Equals => {
                let message = "`:=` declares nothing";
                self.error_here(Code::SmalltalkAssignment, message).with_hint(declaration)
            }
            _ => diagnostic.with_hint("an initialised declaration ends with a period"),
        })
    }

    /// After the name of a slot or local without `=`.
    pub(super) fn check_smalltalk_declaration(&mut self) -> Parsed<()> {
        if !self.at_smalltalk_assignment() {
            return Ok(());
        }
        Err(self.complain(
            self.error_here(Code::SmalltalkAssignment, "`:=` declares nothing")
                .with_hint("write `::=` for a variable and `=` for a constant"),
        ))
    }

    pub(super) fn no_period_after_initializer(&mut self) {
        let diagnostic = self
            .error_here(Code::MissingPeriod, "an initialised declaration ends with a period")
            .and_label(self.previous.span.after(), "the period belongs here");
        self.complain(diagnostic);
    }

    pub(super) fn no_bar_after_parameters(&mut self) -> Reported {
        self.expected("`|` after the block's parameters")
    }

    pub(super) fn malformed_type(&mut self, what: &str) -> Reported {
        let message = format!("expected {what} in a type annotation, found {}", self.found());
        self.complain(self.error_here(Code::MalformedType, message))
    }

    // Statements

    pub(super) fn empty_statement(&mut self) {
        let message = "there is no statement before this period";
        let diagnostic = self.error_here(Code::EmptyStatement, message);
        let digits = self.text_at(self.position + 1);
        self.complain(match self.is_before_numeral() {
            true => diagnostic.with_hint(format!(
                "a number begins with a digit: {}",
                quoted(&format!("0.{digits}"))
            )),
            false => diagnostic,
        });
    }

    pub(super) fn text_after_return(&mut self, statement: Span) {
        let message = "nothing can follow a return";
        let diagnostic = self
            .error_here(Code::TextAfterReturn, message)
            .and_label(statement, "the method returns here");
        self.complain(diagnostic);
    }

    /// After an expression that no token in its brackets can continue. Answers `Ok` if another expression begins here.
    pub(super) fn no_period(&mut self) -> Parsed<()> {
        use TokenKind::*;
        match self.current.kind {
            Colon if self.at_smalltalk_assignment() => Err(self.smalltalk_assignment()),
            MutableEquals => Err(self.misplaced_declaration()),
            EventualArrow => Err(self.malformed_eventual_send()),
            Semicolon => Err(self.cascade_without_message()),
            Identifier | Setter | Caret | Numeral | String | Character | Symbol | OpenBracket
            | OpenBrace | OpenParenthesis => {
                self.missing_period();
                Ok(())
            }
            _ => Err(self.no_end_of_statements()),
        }
    }

    fn no_end_of_statements(&mut self) -> Reported {
        use TokenKind::*;
        let diagnostic = self.not_expected("a period or the end of the statements");
        // `{ 'key': value }` of other languages.
        let before = self.position.checked_sub(2).map(|position| self.kind_at(position));
        let is_pair = self.at(Colon)
            && matches!(self.previous.kind, String | Symbol | Numeral)
            && matches!(before, Some(OpenBrace | Period));
        self.complain(match is_pair {
            true => diagnostic.with_hint(
                "a pair is written `'key' -> value`; a dictionary is filled by `at: 'key' put: value`",
            ),
            false => diagnostic,
        })
    }

    fn missing_period(&mut self) {
        let message = format!("expected a message or a period, found {}", self.found());
        let begins_line = self.column(self.current.span.start).is_some();
        let follows_word = self.previous.kind == TokenKind::Identifier && !begins_line;
        let label = match follows_word {
            true => "neither a message nor the end of the statement",
            false => "a period is missing here",
        };
        let diagnostic = self
            .error_here(Code::MissingPeriod, message)
            .and_label(self.previous.span.after(), label);
        self.complain(match self.hint_for_missing_period() {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        });
    }

    pub(super) fn unused_comparison(&mut self, name: Identifier, span: Span) {
        let name = &self.nodes.names[name.name];
        let hint = format!("to assign, write {}", quoted(&format!("{name}:: …")));
        let message = "the result of this comparison is not used";
        self.reporter
            .report(Diagnostic::warning(Code::UnusedComparison, message, span).with_hint(hint));
    }

    // Expressions

    /// The cursor is at a token that begins no expression.
    pub(super) fn no_expression(&mut self) -> Reported {
        use TokenKind::*;
        match self.current.kind {
            _ if self.is_behind_last_declaration() => self.no_period_before_bar(),
            Equals if self.previous.kind == Keyword && self.is_adjacent() => {
                self.smalltalk_assignment()
            }
            Hash => self.no_symbol(),
            Caret => self.misplaced_return(),
            MutableEquals => self.misplaced_declaration(),
            _ => {
                let diagnostic = self.not_expected("an expression");
                self.complain(match self.hint_for_no_expression() {
                    Some(hint) => diagnostic.with_hint(hint),
                    None => diagnostic,
                })
            }
        }
    }

    fn hint_for_no_expression(&self) -> Option<&'static str> {
        if ["++", "--"].contains(&self.source.slice(self.previous.span)) {
            return Some("to count, write `x:: x + 1`");
        }
        match self.current.kind {
            TokenKind::Keyword if self.previous.kind == TokenKind::Keyword => {
                Some("the keyword before it has no argument")
            }
            TokenKind::Bar if self.previous.kind == TokenKind::Period => {
                Some("locals are declared at the beginning of a method or block only")
            }
            TokenKind::CloseParenthesis if self.previous.kind == TokenKind::OpenParenthesis => {
                Some("a message without arguments has no parentheses: `object message`")
            }
            TokenKind::Period if self.is_before_numeral() => {
                Some("a number begins with a digit, as in 0.5")
            }
            TokenKind::Period if self.previous.kind == TokenKind::Keyword => {
                Some("the keyword before it has no argument")
            }
            kind if kind.is_operator() && begins_comment(self.current_text()) => {
                Some("comments are written (* … *)")
            }
            TokenKind::Operator if self.current_text() == "!" => {
                Some("the negation is a message: `condition not`")
            }
            TokenKind::Keyword => Some("a keyword message inside an operand needs parentheses"),
            TokenKind::Setter => Some("a setter send inside an operand needs parentheses"),
            TokenKind::Operator if self.current_text() == "-" => {
                Some("there is no unary minus: negate by `0 - …` or write a number like -1")
            }
            _ => None,
        }
    }

    /// Whether the `|` consumed last was meant to end declarations, not as an operator.
    fn is_behind_last_declaration(&self) -> bool {
        self.previous == self.tokens[self.position.saturating_sub(1)]
            && self.previous.kind == TokenKind::Bar
            && self.around.initializer_depth == self.depth()
    }

    /// Goes back to the bar, so that it can end the declarations.
    fn no_period_before_bar(&mut self) -> Reported {
        self.retreat();
        let message = "an initialised declaration ends with a period, also before `|`";
        self.complain(self.error_here(Code::MissingPeriod, message))
    }

    /// A `#` that begins no symbol.
    fn no_symbol(&mut self) -> Reported {
        let behind = self.peek(1);
        if matches!(behind, TokenKind::OpenParenthesis | TokenKind::OpenBracket) {
            let message = "there are no literal arrays";
            return self.complain(
                self.error_here(Code::LiteralArray, message)
                    .with_hint("write an array as { 1. 2. 3 }"),
            );
        }
        let message = "a symbol is `#` directly before a name, keywords, an operator or a string";
        let diagnostic = self.error_here(Code::MalformedSymbol, message);
        let begins_line = self.column(self.current.span.start).is_some();
        self.complain(match begins_line {
            true => diagnostic.with_hint("comments are written (* … *)"),
            false => diagnostic,
        })
    }

    fn misplaced_return(&mut self) -> Reported {
        let message = "`^` begins a statement and cannot stand inside an expression";
        self.complain(self.error_here(Code::MisplacedReturn, message))
    }

    fn misplaced_declaration(&mut self) -> Reported {
        let message = "`::=` stands only in declarations";
        self.complain(
            self.error_here(Code::MisplacedDeclaration, message)
                .with_hint("assign by `name:: value`"),
        )
    }

    /// Whether the cursor is at a `:=`, which is no token of the language.
    fn at_smalltalk_assignment(&self) -> bool {
        let here = self.current.span;
        let Some(&Token { kind, span }) = self.tokens.get(self.position + 1) else {
            return false;
        };
        self.at(TokenKind::Colon) && kind == TokenKind::Equals && span.start == here.end
    }

    fn smalltalk_assignment(&mut self) -> Reported {
        let name = self.previous;
        let hint = match name.kind {
            TokenKind::Identifier | TokenKind::Keyword => {
                let name = self.source.slice(name.span).trim_end_matches(':');
                format!("assign by {}", quoted(&format!("{name}:: …")))
            }
            _ => "assign by `name:: …`".into(),
        };
        self.complain(
            self.error_here(Code::SmalltalkAssignment, "`:=` assigns nothing").with_hint(hint),
        )
    }

    pub(super) fn negative_numeral_after_operand(&mut self) {
        let numeral = self.current_text();
        let digits = &numeral[1..];
        let message = format!("{} is a number here, not a subtraction", quoted(numeral));
        let hint = format!("write a space: {}", quoted(&format!("- {digits}")));
        let diagnostic = self.error_here(Code::NegativeNumeralAfterOperand, message);
        self.complain(diagnostic.with_hint(hint));
    }

    pub(super) fn cascade_without_message(&mut self) -> Reported {
        let message = "a cascade continues a message to an explicit receiver";
        let next = self.tokens.get(self.position + 1);
        let ends_line =
            next.is_none_or(|next| next.kind.is_closer() || self.column(next.span.start).is_some());
        self.complain(self.error_here(Code::MalformedCascade, message).with_hint(match ends_line {
            true => "a period ends a statement, not a semicolon",
            false => "write `receiver first; second`",
        }))
    }

    pub(super) fn no_message_in_cascade(&mut self) -> Reported {
        let diagnostic = self.not_expected("a message after `;`");
        self.complain(match self.current.kind {
            TokenKind::EventualArrow => {
                diagnostic.with_hint("only the first message of a cascade can be eventual")
            }
            _ => diagnostic.with_hint("a period ends a statement, not a semicolon"),
        })
    }

    /// A `<-:` that no message follows, or one in a wrong place.
    fn malformed_eventual_send(&mut self) -> Reported {
        let diagnostic = self.error_here(
            Code::MalformedEventualSend,
            match self.peek(1) {
                TokenKind::Keyword => "an eventual keyword message cannot stand here",
                _ => "no message follows `<-:`",
            },
        );
        self.complain(match self.peek(1) {
            TokenKind::Keyword => {
                diagnostic.with_hint("put parentheses around the receiver and its messages")
            }
            _ => diagnostic,
        })
    }
}

impl Parser<'_> {
    /// The remedy for two expressions in a row, if the first one tells what was meant.
    fn hint_for_missing_period(&self) -> Option<String> {
        use TokenKind::*;
        let word = self.source.slice(self.previous.span);
        if self.previous.kind != Identifier || self.column(self.current.span.start).is_some() {
            return None;
        }
        let argument = self.current_text();
        let argument =
            if self.at(OpenParenthesis) || self.at(OpenBracket) { "…" } else { argument };
        if word == "return" {
            return Some(format!(
                "a method answers a value by {}",
                quoted(&format!("^ {argument}"))
            ));
        }
        let continues = matches!(word, "in" | "then" | "else" | "catch" | "except" | "finally");
        if let Some(hint) = foreign_word(word).filter(|_| continues || !self.is_after_operand()) {
            return Some(hint.to_owned());
        }
        if self.at(OpenBracket) && self.is_adjacent() {
            let hint = quoted(&format!("{word} at: index"));
            return Some(format!("the element at an index is {hint}"));
        }
        // `$` has its own diagnostic.
        if self.at(Character) && argument.starts_with('$') {
            return None;
        }
        if self.at(OpenParenthesis) && self.is_adjacent() {
            return Some(match self.peek(1) {
                CloseParenthesis => {
                    format!("a message without arguments has no parentheses: {}", quoted(word))
                }
                _ => format!(
                    "an argument follows a keyword: {}",
                    quoted(&format!("{}{word}: …", self.receiver_before_period()))
                ),
            });
        }
        let hint = quoted(&format!("{word}: {argument}"));
        Some(format!("a message with an argument is a keyword: {hint}"))
    }

    /// Whether the cursor's token stands directly before a number.
    fn is_before_numeral(&self) -> bool {
        let next = self.tokens.get(self.position + 1);
        next.is_some_and(|next| {
            next.kind == TokenKind::Numeral && next.span.start == self.current.span.end
        })
    }

    /// Whether the previous word is a message, not the beginning of its statement.
    fn is_after_operand(&self) -> bool {
        let before = self.position.checked_sub(2).map(|position| self.kind_at(position));
        use TokenKind::*;
        matches!(
            before,
            Some(
                Identifier
                    | Numeral
                    | String
                    | Character
                    | Symbol
                    | CloseParenthesis
                    | CloseBracket
                    | CloseBrace
            )
        )
    }

    /// In `v.append(3)`, the `v ` that the message was meant for.
    fn receiver_before_period(&self) -> String {
        let token =
            |back: usize| self.position.checked_sub(back).map(|position| self.tokens[position]);
        match (token(3), token(2), token(1)) {
            (Some(receiver), Some(period), Some(word))
                if period.kind == TokenKind::Period
                    && receiver.kind == TokenKind::Identifier
                    && receiver.span.end == period.span.start
                    && period.span.end == word.span.start =>
            {
                format!("{} ", self.source.slice(receiver.span))
            }
            _ => String::new(),
        }
    }
}

/// Whether an operator begins a comment in other languages.
fn begins_comment(operator: &str) -> bool {
    operator.starts_with("//") || operator.starts_with("/*") || operator.starts_with("--")
}

fn closer_text(closer: TokenKind) -> &'static str {
    match closer {
        TokenKind::CloseParenthesis => ")",
        TokenKind::CloseBracket => "]",
        _ => "}",
    }
}
