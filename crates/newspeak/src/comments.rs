//! Comments: the lexer skips them, and the tools that show or keep text find them again between the tokens. The
//! formatter, the language server and the reference ask for them.
//!
//! The comment that documents a declaration is the last one before it, if only white space lies between them and the
//! comment begins its line, or begins the slots behind their `|`. Methods on lines below each other, without a blank line,
//! are a group: the comment above the first one documents all that have none. A comment that begins with dashes is a
//! heading: it gives the members behind it a category, and documents none of them.

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
    documenting(source, tokens, declaration).map(|comment| contents(source, comment))
}

/// The comment that documents the declaration at this place.
pub fn documenting(source: &Source, tokens: &[Token], declaration: u32) -> Option<Span> {
    let mut index = tokens.partition_point(|token| token.span.start < declaration);
    loop {
        let end = tokens.get(index).map_or(declaration, |token| token.span.start);
        let previous = index.checked_sub(1).map(|previous| tokens[previous]);
        let gap = Span { start: previous.map_or(0, |previous| previous.span.end), end };
        if let Some(&comment) = comments_in(source, gap).last() {
            let is_behind_bar = previous.is_some_and(|token| token.kind == TokenKind::Bar);
            return documents(source, gap, comment, is_behind_bar).then_some(comment);
        }
        index = method_above(source, tokens, index)?;
    }
}

/// Whether a comment documents the declaration at the end of the gap that has it.
fn documents(source: &Source, gap: Span, comment: Span, is_behind_bar: bool) -> bool {
    let text = |start: u32, end: u32| source.text()[start as usize..end as usize].trim();
    let line = source.line_span(source.line(comment.start));
    let begins_line = text(line.start, comment.start).is_empty();
    let begins_slots = is_behind_bar && text(gap.start, comment.start).is_empty();
    (begins_line || begins_slots)
        && text(comment.end, gap.end).is_empty()
        && heading(source.slice(comment)).is_none()
}

/// The first token of the method that ends on the line above a token, if that token begins its line.
fn method_above(source: &Source, tokens: &[Token], index: usize) -> Option<usize> {
    let last = index.checked_sub(1)?;
    let line = |index: usize| source.line(tokens[index].span.start);
    let is_end = tokens[last].kind == TokenKind::CloseParenthesis;
    if !is_end || index >= tokens.len() || line(index) != line(last) + 1 {
        return None;
    }
    let mut depth = 0;
    let opening = (0..=last).rev().find(|&index| {
        match tokens[index].kind {
            TokenKind::CloseParenthesis => depth += 1,
            TokenKind::OpenParenthesis => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let first = (0..=opening).rev().take_while(|&index| line(index) == line(opening)).last()?;
    let head = first..opening.min(first + 2);
    let is_class = head.into_iter().any(|index| source.slice(tokens[index].span) == "class");
    (!is_class && first < opening).then_some(first)
}

/// The title of a comment that is a heading.
pub fn heading(comment: &str) -> Option<&str> {
    let text = comment.strip_prefix("(*")?.strip_suffix("*)")?.trim();
    let is_heading = text.starts_with(HEADING) && text.lines().count() == 1;
    is_heading.then(|| text.trim_matches('-').trim())
}

/// The text of a comment without its marks; lines lose the indentation that they have in common. The column in which the
/// text begins counts, too, if its first paragraph has no other line: else what follows would not be indented.
fn contents(source: &Source, comment: Span) -> String {
    let text = body(source, comment);
    let column =
        begin_of_text(source, comment) - source.line_span(source.line(comment.start)).start;
    let is_alone = text.lines().nth(1).is_some_and(|line| line.trim().is_empty());
    let most = if is_alone { column as usize } else { usize::MAX };
    without_indentation(text, most)
}

/// The text of a comment without its marks and the white space around it.
fn body(source: &Source, comment: Span) -> &str {
    let text = source.slice(comment);
    let text = text.strip_prefix("(*").unwrap_or(text);
    text.strip_suffix("*)").unwrap_or(text).trim()
}

/// Where the text of a comment begins.
fn begin_of_text(source: &Source, comment: Span) -> u32 {
    let text = source.slice(comment);
    let text = text.strip_prefix("(*").unwrap_or(text);
    comment.end - text.trim_start().len() as u32
}

/// The blocks of code in a comment, each from the beginning of its first line on.
pub fn code_in(source: &Source, comment: Span) -> Vec<Span> {
    let text = contents(source, comment);
    let end = comment.start + source.slice(comment).trim_end_matches("*)").len() as u32;
    let mut line = source.line(begin_of_text(source, comment));
    let mut found = Vec::new();
    for (block, is_code) in blocks(&text) {
        let last = line + block.matches('\n').count();
        if is_code {
            let end = source.line_span(last).end.min(end);
            found.push(Span { start: source.line_span(line).start, end });
        }
        line = last + BETWEEN_BLOCKS.len();
    }
    found
}

/// A text that begins somewhere in a line; its other lines lose the indentation that they have in common.
pub fn unindented(text: &str) -> String {
    without_indentation(text, usize::MAX)
}

/// A text that begins somewhere in a line; its other lines lose the indentation that they have in common, and not more
/// than so much.
fn without_indentation(text: &str, most: usize) -> String {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let rest = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let common = rest.map(indentation).min().unwrap_or(0).min(most);
    let mut lines = text.lines();
    let mut contents = lines.next().unwrap_or_default().trim_end().to_owned();
    for line in lines {
        contents.push('\n');
        contents.push_str(line.get(common..).unwrap_or_else(|| line.trim_start()).trim_end());
    }
    contents
}

/// The text of a comment as Markdown: a block of lines that are all indented is code there, however far they are indented,
/// unless it belongs to a list.
pub fn markdown(text: &str) -> String {
    let blocks = blocks(text).map(|(block, is_code)| match is_code {
        true => block.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n"),
        false => block.to_owned(),
    });
    blocks.collect::<Vec<_>>().join(BETWEEN_BLOCKS)
}

/// What is between two blocks of a comment: an empty line.
const BETWEEN_BLOCKS: &str = "\n\n";

/// The blocks of a comment, and whether each is code.
fn blocks(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut is_after_list = false;
    text.split(BETWEEN_BLOCKS).map(move |block| {
        let is_indented = block.lines().all(|line| line.starts_with("  "));
        // In code, a line may begin with an operator.
        let lines = if is_indented { 1 } else { usize::MAX };
        let is_list = block.lines().take(lines).any(|line| begins_item(line.trim_start()));
        let is_code = is_indented && !is_list && !is_after_list;
        is_after_list = is_list || is_after_list && is_indented;
        (block, is_code)
    })
}

/// Whether a line begins an item of a list.
fn begins_item(line: &str) -> bool {
    let rest = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let is_numbered = rest.len() < line.len() && rest.starts_with(". ");
    is_numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
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
    fn code_behind_one_line_is_indented() {
        let text = "class A = ()(\n  (* One.\n\n       1 + 2\n         + 3 *)\n  a = ()\n)";
        let source = Source::new("t", text);
        let tokens = tokenize(&source).list;
        let declaration = text.find("a = ").expect("it is there") as u32;
        let documented = documentation(&source, &tokens, declaration);
        assert_eq!(documented.as_deref(), Some("One.\n\n  1 + 2\n    + 3"));
        let comment = documenting(&source, &tokens, declaration).expect("it has one");
        let code: Vec<&str> =
            code_in(&source, comment).into_iter().map(|span| source.slice(span)).collect();
        assert_eq!(code, ["       1 + 2\n         + 3 "]);
    }

    #[test]
    fn methods_below_each_other_are_a_group() {
        let text = "class A = ()(\n (* All. *)\n a = ( ^ (1) )\n b: x = (\n  ^ x )\n c = ()\n\n d = ()\n \
                    (* In. *)\n class E = ()()\n f = ()\n (* G. *)\n g = () h = ()\n i = ()\n)";
        let source = Source::new("t", text);
        let tokens = tokenize(&source).list;
        let documentation = |name: &str| {
            documentation(&source, &tokens, text.find(name).expect("it is there") as u32)
        };
        for name in ["a = ", "b: ", "c = "] {
            assert_eq!(documentation(name).as_deref(), Some("All."), "{name}");
        }
        for name in ["d = ", "f = ", "h = "] {
            assert_eq!(documentation(name), None, "{name}");
        }
    }

    #[test]
    fn indented_blocks_are_code() {
        assert_eq!(markdown("A.\n\n  a b\n    c\n\nB."), "A.\n\n      a b\n        c\n\nB.");
        let list = "A:\n  - b\n\n  and c\n\nD.\n  e";
        assert_eq!(markdown(list), list);
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
