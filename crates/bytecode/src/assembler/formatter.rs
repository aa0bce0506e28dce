//! The formatter of the text form. `squall format`, the language server and the fuzz targets call it.
//!
//! Each line keeps its meaning: its tokens are those that the assembler reads, in the same spelling, and comments stay
//! in their places. Only white space changes.
//!
//! - Text between braces is indented by four columns; labels stand at the margin.
//! - Operands begin in the same column, unless the mnemonic is long; one blank follows a comma, none precedes it.
//! - Comments at the ends of lines are aligned within each paragraph.
//! - There is at most one blank line, none at the start and the end of the text between braces, and one after an item
//!   with braces.
//!
//! Formatting a formatted text changes nothing.

use super::diagnostic::{Diagnostic, Diagnostics};
use super::lexer::{Token, TokenKind, tokenize};
use crate::instructions::Opcode;

/// The indentation of the text between braces.
const INDENTATION: usize = 4;

/// How wide mnemonics are, as the disassembler has them.
const MNEMONIC_WIDTH: usize = 18;

/// The text in its layout. On failure answers the first [`Diagnostic::MOST`] characters at most that cannot
/// stand where they do.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let mut diagnostics = Diagnostics::default();
    let mut layout = Layout::default();
    for (number, line) in (1..).zip(text.lines()) {
        let mut problems = Diagnostics::default();
        let tokens = tokenize(line, &mut problems);
        match problems.finish(()) {
            Ok(()) => layout.add(&Line::new(line, &tokens)),
            Err(problems) => problems.into_iter().for_each(|mut problem| {
                problem.span.line = number;
                diagnostics.report(problem);
            }),
        }
    }
    diagnostics.finish(layout.finish())
}

/// A line of the text, taken apart.
struct Line {
    /// The text before the comment, with its blanks.
    code: String,
    comment: String,
    kind: Kind,
    /// Whether it begins something between braces.
    opens: bool,
    /// Whether it ends something between braces.
    closes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Comment,
    Label,
    Other,
}

impl Line {
    fn new(text: &str, tokens: &[Token]) -> Line {
        let characters: Vec<char> = text.chars().collect();
        // The last two are the ends of the line and of the text.
        let tokens = &tokens[..tokens.len().saturating_sub(2)];
        let end = tokens.last().map_or(0, |last| end_of(last).min(characters.len()));
        let comment: String = characters[end..].iter().collect();
        let kind = match tokens {
            [] if comment.trim().is_empty() => Kind::Blank,
            [] => Kind::Comment,
            [name, colon] if is_name(name) && is_mark(colon, ':') => Kind::Label,
            _ => Kind::Other,
        };
        Line {
            code: match kind {
                Kind::Label => format!("{}:", code(&tokens[..1], &characters)),
                _ => code(tokens, &characters),
            },
            comment: comment.trim().to_owned(),
            kind,
            opens: tokens.last().is_some_and(|last| is_mark(last, '{')),
            closes: tokens.first().is_some_and(|first| is_mark(first, '}')),
        }
    }
}

/// The tokens as they are spelled, with blanks where they belong.
fn code(tokens: &[Token], characters: &[char]) -> String {
    let mut code = String::new();
    for (index, token) in tokens.iter().enumerate() {
        if let Some(last) = index.checked_sub(1).map(|last| &tokens[last]) {
            if index == 1 && is_mnemonic(last) && !is_mark(token, '=') {
                code = format!("{code:<MNEMONIC_WIDTH$} ");
            } else if is_apart(last, token) {
                code.push(' ');
            }
        }
        let start = token.span.column as usize - 1;
        code.extend(&characters[start..end_of(token).min(characters.len())]);
    }
    code
}

/// Whether there is a blank between two tokens.
fn is_apart(one: &Token, other: &Token) -> bool {
    match (&one.kind, &other.kind) {
        (_, TokenKind::Mark(',' | ')' | ':' | '*' | '<' | '>')) => false,
        (TokenKind::Mark('(' | ':' | '*' | '<' | '@' | '#'), _) => false,
        // `function(i64)` is a type; `"f" (1)` is a name and a number of parameters.
        (TokenKind::Name(_), TokenKind::Mark('(')) => false,
        _ => true,
    }
}

fn end_of(token: &Token) -> usize {
    (token.span.column - 1 + token.span.length) as usize
}

fn is_name(token: &Token) -> bool {
    matches!(token.kind, TokenKind::Name(_))
}

fn is_mark(token: &Token, mark: char) -> bool {
    token.kind == TokenKind::Mark(mark)
}

fn is_mnemonic(token: &Token) -> bool {
    matches!(token.kind, TokenKind::Name(name) if Opcode::from_mnemonic(name).is_some())
}

/// The text so far.
#[derive(Default)]
struct Layout {
    text: String,
    /// Lines of which it is not known yet where their comments begin: their code, and the comments.
    paragraph: Vec<(String, String)>,
    depth: usize,
    /// Whether the last line may be followed by a blank one.
    may_be_apart: bool,
    /// Whether it must be, by anything but the end.
    must_be_apart: bool,
}

impl Layout {
    fn add(&mut self, line: &Line) {
        if line.kind == Kind::Blank {
            self.must_be_apart |= self.may_be_apart;
            return;
        }
        if line.closes {
            self.depth = self.depth.saturating_sub(1);
            self.must_be_apart = false;
        }
        if std::mem::take(&mut self.must_be_apart) {
            self.end_paragraph();
            self.text.push('\n');
        }
        let depth = if line.kind == Kind::Label { 0 } else { self.depth };
        let code = " ".repeat(depth * INDENTATION) + &line.code;
        match line.kind {
            // It is no end of a line, so it stands where code would.
            Kind::Comment => self.paragraph.push((code + &line.comment, String::new())),
            _ => self.paragraph.push((code, line.comment.clone())),
        }
        self.depth += usize::from(line.opens);
        self.may_be_apart = !line.opens;
        self.must_be_apart = line.closes && self.depth == 0;
    }

    /// Writes the lines that wait, with their comments below each other.
    fn end_paragraph(&mut self) {
        let width = |code: &str| code.chars().count();
        let commented = self.paragraph.iter().filter(|(_, comment)| !comment.is_empty());
        let column = commented.map(|(code, _)| width(code) + 2).max().unwrap_or(0);
        for (code, comment) in self.paragraph.drain(..) {
            let line = match comment.is_empty() {
                true => code,
                false => format!("{code:<column$}{comment}"),
            };
            self.text += line.trim_end();
            self.text.push('\n');
        }
    }

    fn finish(mut self) -> String {
        self.end_paragraph();
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembler::{Span, assemble};

    #[test]
    fn a_text_gets_its_layout() {
        let text = "\
\n\n;A module
 path   \"a.ns\"
main class0
class class0 \"A\" public{

 slot \"n\" private   mutable ; how many
position 1 : 7;where
}
function $f \"f\"(1)->i64 {
registers any * 5 , f64
; the loop
   again :
at 3:20


send1 r2,r1 , r1,r4,\"+ ;\" ; r2 := r1 + r1
   load_constant r1, #  \"symbol\"
 jump @ 12   ; a long way

}
";
        let expected = "\
;A module
path \"a.ns\"
main class0
class class0 \"A\" public {
    slot \"n\" private mutable  ; how many
    position 1:7              ;where
}

function $f \"f\" (1) -> i64 {
    registers any*5, f64
    ; the loop
again:
    at 3:20

    send1              r2, r1, r1, r4, \"+ ;\"  ; r2 := r1 + r1
    load_constant      r1, #\"symbol\"
    jump               @12                    ; a long way
}
";
        assert_eq!(format(text).expect("its characters can stand there"), expected);
        assert_eq!(format(expected).as_deref(), Ok(expected));
    }

    #[test]
    fn what_is_no_text_form_is_located() {
        let problems = format("main class0\n  ?\nname \"").expect_err("no text form");
        assert_eq!(problems[0].span, Span { line: 2, column: 3, length: 1 });
        assert_eq!(problems[1].span.line, 3);
    }

    #[test]
    fn every_text_of_the_tests_means_the_same_afterwards() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut texts = Vec::new();
        for folder in ["tests", "examples", "benchmarks", "fuzz/seeds", "crates"] {
            collect(&root.join(folder), &mut texts);
        }
        assert!(texts.len() > 30, "only {} texts", texts.len());
        for (path, text) in texts {
            let Ok(formatted) = format(&text) else { continue };
            assert_eq!(format(&formatted).as_deref(), Ok(&*formatted), "{}", path.display());
            // Numbers that are none are not equal to themselves, but look alike.
            let meaning = |text: &str| assemble(text).ok().map(|module| format!("{module:?}"));
            assert!(meaning(&text) == meaning(&formatted), "{}", path.display());
        }
    }

    fn collect(folder: &std::path::Path, texts: &mut Vec<(std::path::PathBuf, String)>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                collect(&path, texts);
            } else if path.extension().is_some_and(|extension| extension == "sqasm") {
                texts.extend(std::fs::read_to_string(&path).ok().map(|text| (path, text)));
            }
        }
    }
}
