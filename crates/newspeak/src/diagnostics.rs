//! Diagnostics: the compiler's errors and warnings about a program. The command line, sessions and embedders show them.
//!
//! A [`Diagnostic`] is plain data: a severity, a stable [`Code`], a message, the places that it concerns and an
//! optional hint. Its first [`Label`] is the place to jump to. Messages and hints begin in lower case and end without a
//! full stop; a hint says what to write instead.
//!
//! [`render`] shows diagnostics to people, [`json`] to programs.

pub mod json;
pub mod render;

use std::fmt;

use crate::source::Span;

/// One error or warning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// The kind of mistake.
    pub code: Code,
    /// The mistake, in one line.
    pub message: String,
    /// The places, at least one, the principal one first.
    pub labels: Vec<Label>,
    /// The remedy, if it is obvious.
    pub hint: Option<String>,
    /// The selector of a message that is not understood.
    pub selector: Option<String>,
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The program is valid, but perhaps not what the user intended.
    Warning,
    /// The program cannot be compiled.
    Error,
}

impl Severity {
    /// The severity in one word.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A place that a diagnostic concerns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// A remark about the place; empty if the message suffices.
    pub text: String,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: Code, message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, message.into(), span)
    }

    /// A warning at a place.
    pub fn warning(code: Code, message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, message.into(), span)
    }

    /// A warning about a message that is not understood.
    pub fn unknown_message(
        selector: &str,
        message: impl Into<String>,
        selector_span: Span,
    ) -> Diagnostic {
        let warning = Diagnostic::warning(Code::UnknownMessage, message, selector_span);
        Diagnostic { selector: Some(selector.to_owned()), ..warning }
    }

    fn new(severity: Severity, code: Code, message: String, span: Span) -> Diagnostic {
        let labels = vec![Label { span, text: String::new() }];
        Diagnostic { severity, code, message, labels, hint: None, selector: None }
    }

    /// Adds a remark about the principal place.
    pub fn labelled(mut self, text: impl Into<String>) -> Diagnostic {
        self.labels[0].text = text.into();
        self
    }

    /// Adds another place that explains the first.
    pub fn and_label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds the text to write instead.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    /// The principal place.
    pub fn span(&self) -> Span {
        self.labels[0].span
    }

    /// Whether it forbids compilation.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// A list of diagnostics with a limited length for every program.
///
/// Errors and warnings are counted apart, so warnings never hide the first error.
#[derive(Clone, Default, Debug)]
pub struct Reporter {
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Reporter {
    /// More errors, or more warnings, than this are not kept.
    pub const MOST: usize = 100;

    /// Keeps a diagnostic, or drops it beyond the limit.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= Reporter::MOST {
            self.list.push(diagnostic);
        } else if *count == Reporter::MOST + 1 && diagnostic.is_error() {
            let message = format!("more than {} errors; the others are not shown", Reporter::MOST);
            self.list.push(Diagnostic::error(Code::TooManyErrors, message, diagnostic.span()));
        }
    }

    /// Adds all that another reporter kept.
    pub fn extend(&mut self, other: Reporter) {
        other.list.into_iter().for_each(|diagnostic| self.report(diagnostic));
    }

    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// The diagnostics in the order of their places.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|diagnostic| diagnostic.span().start);
        self.list
    }
}

/// Program text for a message, shortened if it is long and without control characters.
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown = String::from("`");
    for character in text.chars().take(LONGEST) {
        match character.is_control() {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown + "`"
}

macro_rules! codes {
    ($($(#[$doc:meta])+ $name:ident = $text:literal;)+) => {
        /// The kinds of mistakes. Their names are stable: scripts and editors may match on them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Code { $($(#[$doc])+ $name,)+ }

        impl Code {
            /// Every code.
            pub const ALL: &[Code] = &[$(Code::$name,)+];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }
        }
    };
}

codes! {
    /// Bytes that are not UTF-8.
    InvalidUtf8 = "invalid-utf8";
    /// A source beyond the size limit.
    SourceTooLarge = "source-too-large";
    /// A character that no token begins with.
    UnexpectedCharacter = "unexpected-character";
    /// A comment without its `*)`.
    UnterminatedComment = "unterminated-comment";
    /// A `*)` without its `(*`.
    StrayCommentEnd = "stray-comment-end";
    /// A string without its closing quote.
    UnterminatedString = "unterminated-string";
    /// A backslash before a character that it gives no meaning to.
    UnknownEscape = "unknown-escape";
    /// Double quotes around something other than one character.
    MalformedCharacter = "malformed-character";
    /// A symbol literal without a selector or string after its `#`.
    MalformedSymbol = "malformed-symbol";
    /// A keyword written against its argument.
    KeywordWithoutSpace = "keyword-without-space";
    /// A radix numeral without digits or with an impossible radix.
    MalformedNumeral = "malformed-numeral";
    /// A digit that is not smaller than the numeral's radix.
    DigitBeyondRadix = "digit-beyond-radix";
    /// A numeral so large that it reads as infinity.
    InfiniteNumeral = "infinite-numeral";
    /// A token that the grammar does not allow here.
    UnexpectedToken = "unexpected-token";
    /// A bracket that nothing closes.
    UnclosedBracket = "unclosed-bracket";
    /// A closing bracket that closes nothing.
    StrayBracket = "stray-bracket";
    /// Brackets, object literals or types nested beyond the limit.
    NestedTooDeeply = "nested-too-deeply";
    /// Two statements, slots or elements without a period between them.
    MissingPeriod = "missing-period";
    /// A period that ends nothing.
    EmptyStatement = "empty-statement";
    /// Text after the `^` statement that ends a body.
    TextAfterReturn = "text-after-return";
    /// A `^` inside an expression or outside of any method.
    MisplacedReturn = "misplaced-return";
    /// A numeral such as `-1` where an operator is needed.
    NegativeNumeralAfterOperand = "negative-numeral-after-operand";
    /// Smalltalk's `:=`.
    SmalltalkAssignment = "smalltalk-assignment";
    /// `::=` outside a declaration.
    MisplacedDeclaration = "misplaced-declaration";
    /// Smalltalk's `#( )` or `#[ ]`.
    LiteralArray = "literal-array";
    /// A cascade that has no first message or no receiver.
    MalformedCascade = "malformed-cascade";
    /// A `<-:` without a message, or with a keyword message inside an argument.
    MalformedEventualSend = "malformed-eventual-send";
    /// A type annotation that the type grammar does not allow.
    MalformedType = "malformed-type";
    /// A nested class after a method or on the class side.
    MisplacedClass = "misplaced-class";
    /// Slots between `||` and `||`, which the dialect does not have.
    SimultaneousSlots = "simultaneous-slots";
    /// Text after the class that a module consists of.
    TextAfterModule = "text-after-module";
    /// A comparison with `=` whose result is not used.
    UnusedComparison = "unused-comparison";
    /// Two members of one side of a class, or two variables of one scope, with the same name.
    DuplicateName = "duplicate-name";
    /// An assignment to an argument.
    AssignedArgument = "assigned-argument";
    /// An `outer` whose name is not that of a class around it.
    UnknownOuter = "unknown-outer";
    /// A name that nothing visible has.
    UndeclaredName = "undeclared-name";
    /// An assignment to a slot that is declared as a constant.
    AssignedConstant = "assigned-constant";
    /// A message that its receiver, or nothing at all, understands.
    UnknownMessage = "unknown-message";
    /// A message with a receiver that reaches no public member.
    NotPublic = "not-public";
    /// A message to a promise that is meant for its result.
    SendToPromise = "send-to-promise";
    /// A class of values with a part that is no value or can change.
    MutableValue = "mutable-value";
    /// A variable or private slot that nothing reads.
    UnusedName = "unused-name";
    /// A variable that hides another one.
    HiddenName = "hidden-name";
    /// A statement whose only point is a value that nothing uses.
    UnusedValue = "unused-value";
    /// A period between a receiver and its message.
    PeriodInMessage = "period-in-message";
    /// A comma between the elements of an array.
    CommaInArray = "comma-in-array";
    /// An argument or receiver of a control structure that should be a block.
    NotABlock = "not-a-block";
    /// A comparison of the answer of `&` or `|`.
    OrderOfOperators = "order-of-operators";
    /// A method or initialiser beyond a limit of the bytecode.
    TooLarge = "too-large";
    /// More mistakes than are worth listing.
    TooManyErrors = "too-many-errors";
}

impl Code {
    /// Whether the mistake concerns readers only, not the behaviour of the program.
    pub fn is_style(self) -> bool {
        matches!(self, Code::UnusedName | Code::HiddenName)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
