//! Comments: the lexer skips them, and the tools that show or keep text find them again between the tokens. The
//! formatter, the language server and the reference ask for them.
//!
//! The comment that documents a declaration is the last one before it, if only white space lies between them and the
//! comment begins its line, or begins the slots behind their `|`. A comment that begins with dashes is a heading: it
//! gives the members behind it a category, and documents none of them.

use crate::source::{Source, Span};
use crate::token::{Token, TokenKind};

/// A comment with at least so many dashes is a heading.
const HEADING: &str = "---";

/// The comments in a stretch of text without tokens, in order. Comments that nest are one.
pub fn comments_in(source: &Source, gap: Span) -> Vec<Span> {
    let bytes = source.slice(gap).as_bytes();
    let (mut comments, mut position) = (Vec::new(), 0);
    while position + 1 < bytes.len() {
        match &bytes[position..position + 2] {
            b"(*" => {
                let start = position;
                position = end_of_comment(bytes, start);
                let offset = gap.start as usize;
                comments.push(Span::from(offset + start..offset + position));
            }
            _ => position += 1,
        }
    }
    comments
}

/// The place behind the comment that begins here; the end of the text if nothing closes the comment.
fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let (mut position, mut depth) = (start, 0);
    while position < bytes.len() {
        match bytes.get(position..position + 2) {
            Some(b"(*") => {
                depth += 1;
                position += 2;
            }
            Some(b"*)") => {
                depth -= 1;
                position += 2;
                if depth == 0 {
                    return position;
                }
            }
            _ => position += 1,
        }
    }
    position
}

/// All comments of a text that has these tokens.
pub fn comments(source: &Source, tokens: &[Token]) -> Vec<Span> {
    let mut end = 0;
    let mut comments = Vec::new();
    for token in tokens {
        let gap = Span { start: end, end: token.span.start.max(end) };
        comments.extend(comments_in(source, gap));
        end = token.span.end;
    }
    comments
}

/// The text of the comment that documents the declaration at this place, without its marks and its indentation.
pub fn documentation(source: &Source, tokens: &[Token], declaration: u32) -> Option<String> {
    let index = tokens.partition_point(|token| token.span.start < declaration);
    let previous = index.checked_sub(1).map(|previous| tokens[previous]);
    let start = previous.map_or(0, |previous| previous.span.end);
    let comment = *comments_in(source, Span { start, end: declaration }).last()?;
    let line = source.line_span(source.line(comment.start));
    let begins_line = source.text()[line.start as usize..comment.start as usize].trim().is_empty();
    let is_behind_bar = previous.is_some_and(|previous| {
        previous.kind == TokenKind::Bar
            && source.text()[start as usize..comment.start as usize].trim().is_empty()
    });
    let is_next = source.text()[comment.end as usize..declaration as usize].trim().is_empty();
    let comment = source.slice(comment);
    ((begins_line || is_behind_bar) && is_next && heading(comment).is_none())
        .then(|| contents(comment))
}

/// The title of a comment that is a heading.
pub fn heading(comment: &str) -> Option<&str> {
    let text = comment.strip_prefix("(*")?.strip_suffix("*)")?.trim();
    let is_heading = text.starts_with(HEADING) && text.lines().count() == 1;
    is_heading.then(|| text.trim_matches('-').trim())
}

/// The text of a comment without its marks; lines lose the indentation that they have in common.
pub fn contents(comment: &str) -> String {
    let text = comment.strip_prefix("(*").unwrap_or(comment);
    unindented(text.strip_suffix("*)").unwrap_or(text).trim())
}

/// A text that begins somewhere in a line; its other lines lose the indentation that they have in common.
pub fn unindented(text: &str) -> String {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let rest = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let common = rest.map(indentation).min().unwrap_or(0);
    let mut lines = text.lines();
    let mut contents = lines.next().unwrap_or_default().trim_end().to_owned();
    for line in lines {
        contents.push('\n');
        contents.push_str(line.get(common..).unwrap_or_else(|| line.trim_start()).trim_end());
    }
    contents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::tokenize;

    #[test]
    fn comments_nest_and_strings_have_none() {
        let source = Source::new("t", "(* a (* b *) *) class 'no (* comment *)' (**)(* c");
        let tokens = tokenize(&source).list;
        let texts: Vec<&str> =
            comments(&source, &tokens).into_iter().map(|span| source.slice(span)).collect();
        assert_eq!(texts, ["(* a (* b *) *)", "(**)", "(* c"]);
    }

    #[test]
    fn the_last_comment_before_a_declaration_documents_it() {
        let text = "class A = ()( (* end *)\n (* not this *)\n (* Answers\n      one.\n\n        Two. *)\n a = ()  (* side *) b = () )";
        let source = Source::new("t", text);
        let tokens = tokenize(&source).list;
        let documentation = |name: &str| {
            documentation(&source, &tokens, text.find(name).expect("it is there") as u32)
        };
        assert_eq!(documentation("a = ").as_deref(), Some("Answers\none.\n\n  Two."));
        assert_eq!(documentation("b = "), None);
        assert_eq!(documentation("class"), None);
    }

    #[test]
    fn headings_document_nothing() {
        let text = "class A = (| (* One. *) a = 1. (* no *) b = 2. |)(\n (* ---- more *)\n c = ())";
        let source = Source::new("t", text);
        let tokens = tokenize(&source).list;
        let documentation = |name: &str| {
            documentation(&source, &tokens, text.find(name).expect("it is there") as u32)
        };
        assert_eq!(documentation("a = ").as_deref(), Some("One."));
        assert_eq!(documentation("b = "), None);
        assert_eq!(documentation("c = "), None);
        assert_eq!(heading("(* ---- more *)"), Some("more"));
        assert_eq!(heading("(* - no heading *)"), None);
        assert_eq!(heading("(* ---- open"), None);
    }
}
