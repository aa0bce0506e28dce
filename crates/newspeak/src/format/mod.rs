//! The formatter of Newspeak text. `squall format` and the language server call it.
//!
//! The tokens stay as they are spelled, and in their order; comments stay between the tokens where they are. Only the
//! white space changes, and the bytecode only in the positions that it names. There is one style, without options:
//!
//! - Contents are indented by two columns. Brackets that close classes and methods begin a line; those that close blocks
//!   end one.
//! - The contents of brackets stay on one line if the author has them there and they fit into 120 columns. Otherwise
//!   each statement, declaration and member begins a line, and so does each keyword of a message that does not fit.
//! - Lines that begin with a message, an operator or an element of an array stay, and are indented as what continues the
//!   statement. Lines begin with operators, and do not end with them.
//! - The signs of slots and locals that follow each other are in one column, and so are the arguments of keywords that
//!   stand below each other, and comments at the ends of lines that follow each other, unless widths differ much.
//! - There is at most one blank line, and none at the start and end of brackets, but before the first member of a class.
//! - A comment that begins a line gets the indentation of the code that follows; its lines move with its first one.
//!
//! Formatting a formatted text changes nothing.
//!
//! | module | what it does |
//! |---|---|
//! | `pieces` | takes the text apart: tokens, and comments and line ends between them |
//! | `marks` | finds the roles of the tokens in the syntax tree |
//! | `layout` | writes the tokens |
//! | `columns` | puts comments at the ends of lines below each other |

mod columns;
mod layout;
mod marks;
mod pieces;

use self::layout::Written;
use self::marks::Marks;
use self::pieces::Pieces;
use crate::diagnostics::Diagnostic;
use crate::lexer::tokenize;
use crate::parser::parse;
use crate::source::{Source, Span};

/// The reason why a text has no layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormatError {
    /// The text is no program: its errors, and warnings, by place.
    Mistakes(Vec<Diagnostic>),
    /// A bug in the formatter: its output would have been another program.
    Changed,
}

/// The replacement of a part of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The part.
    pub span: Span,
    /// Its new text.
    pub text: String,
}

/// The program in its layout.
pub fn format(source: &Source) -> Result<String, FormatError> {
    laid_out(source).map(|(_, written)| written.text)
}

/// The change that gives the lines of a program their layout that a span touches; lines before and after them belong to
/// it where a line of the text and one of the layout do not begin with the same token. None if nothing changes.
pub fn format_range(source: &Source, range: Span) -> Result<Option<Edit>, FormatError> {
    let (pieces, written) = laid_out(source)?;
    let old = |index: usize| pieces.tokens[index].span;
    let new = |index: usize| written.places[index];
    // The last token is the end of the text, which no line needs.
    let count = pieces.tokens.len() - 1;
    let first = (0..count).find(|&index| old(index).end > range.start).unwrap_or(count);
    let last = (0..count).rev().find(|&index| old(index).start < range.end);
    let Some(last) = last.filter(|&last| first <= last) else { return Ok(None) };
    let begins = |index: &usize| {
        begins_line(source.text(), old(*index)) && begins_line(&written.text, new(*index))
    };
    let ends = |index: &usize| {
        ends_line(source.text(), old(*index)) && ends_line(&written.text, new(*index))
    };
    let first = (0..=first).rev().find(begins).unwrap_or(0);
    let last = (last..count).find(ends).unwrap_or(count - 1);
    let span = Span { start: line_start(source.text(), old(first).start), end: old(last).end };
    let start = line_start(&written.text, new(first).start) as usize;
    let text = &written.text[start..new(last).end as usize];
    Ok((source.slice(span) != text).then(|| Edit { span, text: text.to_owned() }))
}

/// How often a layout may be laid out again.
const MOST_PASSES: usize = 4;

/// The pieces of the text, and its layout, which is that of itself: where the first pass has broken or joined lines, the
/// next one may align others.
fn laid_out(source: &Source) -> Result<(Pieces, Written), FormatError> {
    let (pieces, mut written) = laid_out_once(source)?;
    for _ in 0..MOST_PASSES {
        let (_, again) = laid_out_once(&Source::new(source.name(), &*written.text))?;
        if again.text == written.text {
            break;
        }
        written = again;
    }
    Ok((pieces, written))
}

fn laid_out_once(source: &Source) -> Result<(Pieces, Written), FormatError> {
    let parsed = parse(source);
    let Some(ast) = parsed.ast else { return Err(FormatError::Mistakes(parsed.diagnostics)) };
    let pieces = Pieces::of(&ast, source);
    let marks = Marks::of(&ast, &pieces);
    let written = layout::write(source, &pieces, &marks);
    match is_same(source, &pieces, &written.text) {
        true => Ok((pieces, written)),
        false => Err(FormatError::Changed),
    }
}

/// Whether the layout has the tokens and comments of the text.
fn is_same(source: &Source, pieces: &Pieces, text: &str) -> bool {
    let written = Source::new(source.name(), text);
    let tokens = tokenize(&written).list;
    let pairs = || pieces.tokens.iter().zip(&tokens);
    tokens.len() == pieces.tokens.len()
        && pairs().all(|(old, new)| source.slice(old.span) == written.slice(new.span))
        && words_of_comments(source, &pieces.tokens).eq(words_of_comments(&written, &tokens))
}

/// The comments without white space.
fn words_of_comments<'s>(
    source: &'s Source,
    tokens: &[crate::token::Token],
) -> impl Iterator<Item = &'s str> {
    let comments = crate::comments::comments(source, tokens);
    comments.into_iter().flat_map(|comment| source.slice(comment).split_whitespace())
}

fn line_start(text: &str, offset: u32) -> u32 {
    text[..offset as usize].rfind('\n').map_or(0, |end| end as u32 + 1)
}

fn begins_line(text: &str, span: Span) -> bool {
    text[line_start(text, span.start) as usize..span.start as usize].trim().is_empty()
}

fn ends_line(text: &str, span: Span) -> bool {
    let rest = &text[span.end as usize..];
    rest.split('\n').next().unwrap_or_default().trim().is_empty()
}
