//! The parser: tokens to tree, by recursive descent. `squall::compiler`, sessions, the formatter and the language
//! server call it.
//!
//! # Protocol of the parsing methods
//!
//! A method that parses a phrase either consumes it and answers its node, or reports the mistake and answers
//! `Reported`, leaving the cursor at the mistake. Loops over members, declarations, statements and elements catch that,
//! `recover` to the next item, and continue, so that one run finds several mistakes. Of two complaints at one place
//! only the first is reported.
//!
//! # Depth
//!
//! Everything that nests passes `Parser::enter`, which refuses more than [`MOST_NESTED`]
//! levels. Chains of messages, cascades, setter sends and statements are loops. So neither
//! the native stack nor the tree's depth depends on the input.
//!
//! # Two attempts
//!
//! A forgotten closing bracket is legal text for a long way: in `foo = ( a  bar = ( b )` the second method reads as
//! messages to `a`. Only indentation shows the mistake, and indentation has no meaning in the language. So a program is
//! first parsed by the grammar alone. If that finds errors, and the brackets do not match, it is parsed once more, only
//! to explain the errors better. The second parser treats a line that looks like the next method as the next method
//! ([`TokenKind::Barrier`], `guesses.rs`).

mod bodies;
mod complaints;
mod cursor;
mod declarations;
mod expressions;
mod guesses;
mod imports;
mod recovery;
mod types;

use crate::ast::{Ast, Expression, ExpressionKind, Identifier, Message, Nodes, Receiver};
use crate::diagnostics::{Diagnostic, Reporter};
use crate::entities::{ClassId, ExpressionId, List, MessageId};
use crate::lexer::{Tokens, tokenize};
use crate::source::{Source, Span};
use crate::token::{Token, TokenKind};

use self::guesses::Surroundings;
use self::recovery::Brackets;

/// The greatest nesting of brackets, object literals and types. Hand-written programs stay below twenty; generated ones
/// have room; the parser's native stack stays below 512 KiB.
pub const MOST_NESTED: usize = 256;

/// The result of parsing a source.
#[derive(Clone, Debug)]
pub struct Parse {
    /// The tree; [`parse`] answers it if and only if there are no errors.
    pub ast: Option<Ast>,
    /// Errors and warnings by place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses a module.
pub fn parse(source: &Source) -> Parse {
    let mut parse = parse_partial(source);
    if parse.diagnostics.iter().any(Diagnostic::is_error) {
        parse.ast = None;
    }
    parse
}

/// Parses a module for tools, which want to know a program while it is written: there is a tree even if there are errors,
/// unless the text has no class at all. The declarations, statements and members with mistakes are missing in that tree,
/// so no node of it stands for a mistake.
pub fn parse_partial(source: &Source) -> Parse {
    let Tokens { list, diagnostics: mut reporter, is_cut_short } = tokenize(source);
    let mut attempt = Attempt::new(source, &list, Guesses::None);
    if attempt.reporter.has_errors() && !brackets_match(&list) {
        attempt = Attempt::new(source, &list, Guesses::ByIndentation);
    }
    // Without the rest of the text, the parser has nothing to say that the lexer has not said.
    if !is_cut_short {
        reporter.extend(attempt.reporter);
    }
    let nodes = attempt.nodes;
    let ast = attempt.module.map(|module| Ast { module, nodes });
    Parse { ast, diagnostics: reporter.into_sorted() }
}

/// A part of a program that stands alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fragment {
    /// The contents of a block, without its brackets and parameters.
    Statements,
    /// The contents of a class's second pair of parentheses.
    Members,
}

/// The mistakes of a text that is a fragment of a program: errors and warnings by place.
pub fn check_fragment(source: &Source, fragment: Fragment) -> Vec<Diagnostic> {
    let Tokens { list, diagnostics: mut reporter, is_cut_short } = tokenize(source);
    if !is_cut_short {
        let mut parser = Parser::new(source, &list, Guesses::None);
        parser.whole = "text";
        match fragment {
            Fragment::Statements => parser.lone_statements(),
            Fragment::Members => parser.lone_members(),
        }
        reporter.extend(parser.reporter);
    }
    reporter.into_sorted()
}

/// Whether every bracket has its counterpart.
pub(crate) fn brackets_match(tokens: &[Token]) -> bool {
    let mut brackets = Brackets::default();
    for &token in tokens {
        if token.kind.closer().is_some() {
            brackets.push(token);
        } else if token.kind.is_closer() {
            match brackets.innermost() {
                Some(opening) if opening.closer == token.kind => brackets.pop(),
                _ => return false,
            }
        }
    }
    brackets.depth() == 0
}

/// The results of one run over the tokens.
struct Attempt {
    module: Option<ClassId>,
    nodes: Nodes,
    reporter: Reporter,
}

impl Attempt {
    fn new(source: &Source, tokens: &[Token], guesses: Guesses) -> Attempt {
        let mut parser = Parser::new(source, tokens, guesses);
        let module = parser.module().ok();
        Attempt { module, nodes: parser.nodes, reporter: parser.reporter }
    }
}

/// Whether indentation may decide where a member ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guesses {
    None,
    ByIndentation,
}

/// Proof that a diagnostic was reported, instead of a node.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'s> {
    source: &'s Source,
    text: &'s str,
    /// The name of the source's kind, in words.
    whole: &'static str,
    tokens: &'s [Token],
    /// Where `current` stands in `tokens`.
    position: usize,
    /// The token at the cursor, or the rest of it: see [`Parser::split`].
    current: Token,
    /// The last token consumed.
    previous: Token,

    nodes: Nodes,
    reporter: Reporter,
    /// Where the cursor stood at the last complaint.
    last_complaint: Option<u32>,

    brackets: Brackets,
    nesting: usize,
    guesses: Guesses,
    around: Surroundings,

    /// Expressions that wait to become a list. The method that pushes them also takes them.
    operands: Vec<ExpressionId>,
    /// Messages that wait to become a list, in the same way.
    messages: Vec<MessageId>,
    /// Keywords that wait to become a selector, in the same way.
    keywords: Vec<Span>,
    /// The buffer in which keywords are joined.
    selector: String,
}

impl<'s> Parser<'s> {
    fn new(source: &'s Source, tokens: &'s [Token], guesses: Guesses) -> Parser<'s> {
        Parser {
            source,
            text: source.text(),
            whole: "file",
            tokens,
            position: 0,
            current: tokens[0],
            previous: Token { kind: TokenKind::EndOfFile, span: Span::default() },
            nodes: Nodes::default(),
            reporter: Reporter::default(),
            last_complaint: None,
            brackets: Brackets::default(),
            nesting: 0,
            guesses,
            around: Surroundings::default(),
            operands: Vec::new(),
            messages: Vec::new(),
            keywords: Vec::new(),
            selector: String::new(),
        }
    }

    // Making nodes

    fn identifier_at(&mut self, span: Span) -> Identifier {
        let name = self.nodes.names.intern(&self.text[span.range()]);
        Identifier { name, span }
    }

    fn add(&mut self, kind: ExpressionKind, span: Span) -> ExpressionId {
        self.nodes.expressions.add(Expression { kind, span })
    }

    /// A send from the start of its receiver to the token consumed last.
    fn add_send(&mut self, receiver: Receiver, message: MessageId, start: Span) -> ExpressionId {
        self.add(ExpressionKind::Send { receiver, message }, start.to(self.previous.span))
    }

    /// A message without arguments, named by the token consumed last.
    fn add_unary(&mut self, is_eventual: bool) -> MessageId {
        let Identifier { name: selector, span } = self.identifier_at(self.previous.span);
        let arguments = List::default();
        let message = Message { selector, arguments, is_eventual, selector_span: span, span };
        self.nodes.messages.add(message)
    }

    /// The operands pushed since `mark`, as a list.
    fn take_operands(&mut self, mark: usize) -> List<ExpressionId> {
        let list = self.nodes.expression_lists.add(&self.operands[mark..]);
        self.operands.truncate(mark);
        list
    }

    /// The form of an expression as a receiver.
    fn receiver(&self, expression: ExpressionId) -> Receiver {
        match self.nodes[expression].kind {
            ExpressionKind::SelfObject => Receiver::SelfObject,
            ExpressionKind::Super => Receiver::Super,
            ExpressionKind::Outer(name) => Receiver::Outer(name),
            _ => Receiver::Expression(expression),
        }
    }
}
