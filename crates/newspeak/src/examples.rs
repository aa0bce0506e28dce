//! Examples in comments: code that documents a class or member, and says what it answers. `squall test` runs them, by a
//! module that [`as_tests`] writes.
//!
//! An example is a block of code in a comment that documents a declaration which is not private. It makes at least one
//! *claim*: an expression, the sign `==>`, and the value that is expected, up to the end of the line:
//!
//! ```text
//! (* The area.
//!
//!      | circle = Circle radius: 2. |
//!      circle area ==> 12 *)
//! ```
//!
//! The module of tests has each example as a test, whose context is a class of its own. Each line of an example is the line
//! with the same number in the module, so stack traces lead to the comment. For diagnostics, [`Tests::relocate`] finds the
//! place in the comment.

use std::collections::HashSet;
use std::ops::Range;

use crate::ast::{Access, Ast};
use crate::comments::{code_in, documenting};
use crate::diagnostics::Diagnostic;
use crate::entities::ClassId;
use crate::lexer::tokenize;
use crate::parser::{Fragment, brackets_match, check_fragment, parse};
use crate::source::{Source, Span};
use crate::token::{Token, TokenKind};

/// The sign between an expression and the value that is expected.
const SIGN: &str = "==>";

/// An example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// What it documents: the names of the classes around, and the selector, as in `Shapes.Circle.area`.
    pub of: String,
    /// Its code, from the beginning of its first line on.
    pub code: Span,
    claims: Vec<Claim>,
}

/// An expression and its expected value.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Claim {
    /// Where the expression begins.
    start: u32,
    /// The sign.
    sign: Span,
    /// Where the expected value ends.
    end: u32,
    /// Whether a period follows.
    has_period: bool,
}

/// The examples of a text, in the order of their places; none if it is no program.
pub fn examples(source: &Source) -> Vec<Example> {
    // Most files have none, and need no parser to tell.
    if !source.text().contains(SIGN) {
        return Vec::new();
    }
    let Some(ast) = parse(source).ast else { return Vec::new() };
    let mut finder = Finder {
        source,
        tokens: tokenize(source).list,
        ast: &ast,
        seen: HashSet::new(),
        found: Vec::new(),
    };
    finder.class(ast.module, "");
    finder.found.sort_by_key(|example| example.code.start);
    finder.found
}

struct Finder<'a> {
    source: &'a Source,
    tokens: Vec<Token>,
    ast: &'a Ast,
    /// The comments so far: one may document a group of methods.
    seen: HashSet<Span>,
    found: Vec<Example>,
}

impl Finder<'_> {
    fn class(&mut self, id: ClassId, around: &str) {
        let ast = self.ast;
        let class = &ast[id];
        let Some(name) = class.name.filter(|_| class.access != Access::Private) else { return };
        let path = format!("{around}{}", &ast[name.name]);
        self.declaration(class.span, &path);
        for &slot in class.slots.iter().filter(|&&slot| ast[slot].access != Access::Private) {
            self.declaration(ast[slot].span, &format!("{path}.{}", &ast[ast[slot].name.name]));
        }
        for &method in class.class_methods.iter().chain(&class.methods) {
            let method = &ast[method];
            if method.access != Access::Private {
                self.declaration(method.span, &format!("{path}.{}", &ast[method.pattern.selector]));
            }
        }
        for &nested in &class.classes {
            self.class(nested, &format!("{path}."));
        }
    }

    fn declaration(&mut self, declaration: Span, of: &str) {
        let comment = documenting(self.source, &self.tokens, declaration.start);
        let Some(comment) = comment.filter(|comment| self.seen.insert(*comment)) else { return };
        for code in code_in(self.source, comment) {
            let tokens = tokens_in(self.source, code);
            let claims = claims_in(self.source, &tokens);
            // In a list of statements, a bracket that is not closed hides the claims behind it.
            let is_broken = || {
                let mut signs = tokens.iter().filter(|token| self.source.slice(token.span) == SIGN);
                signs.next().is_some() && !brackets_match(&tokens)
            };
            if !claims.is_empty() || is_broken() {
                self.found.push(Example { of: of.to_owned(), code, claims });
            }
        }
    }
}

/// The tokens of a block of code, at their places in the text.
fn tokens_in(source: &Source, code: Span) -> Vec<Token> {
    let tokens = tokenize(&Source::new("example", source.slice(code))).list.into_iter();
    let tokens = tokens.filter(|token| token.kind != TokenKind::EndOfFile);
    tokens.map(|token| Token { span: moved(token.span, code.start), ..token }).collect()
}

/// The claims in the tokens of a block of code.
fn claims_in(source: &Source, tokens: &[Token]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut index = after_locals(tokens);
    let mut start = index;
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(index) {
        index += 1;
        depth = depth_after(depth, token.kind);
        if depth > 0 {
            continue;
        }
        if token.kind == TokenKind::Period {
            start = index;
        } else if source.slice(token.span) == SIGN && start < index - 1 {
            let last = last_of_expected(source, tokens, index);
            let has_period =
                tokens.get(last + 1).is_some_and(|next| next.kind == TokenKind::Period);
            let (start_of, end) = (tokens[start].span.start, tokens[last].span.end);
            claims.push(Claim { start: start_of, sign: token.span, end, has_period });
            index = last + 1 + usize::from(has_period);
            start = index;
        }
    }
    claims
}

fn moved(span: Span, distance: u32) -> Span {
    Span { start: span.start + distance, end: span.end + distance }
}

fn depth_after(depth: usize, kind: TokenKind) -> usize {
    match kind {
        _ if kind.closer().is_some() => depth + 1,
        _ if kind.is_closer() => depth.saturating_sub(1),
        _ => depth,
    }
}

/// The place behind the declarations of variables at the beginning.
fn after_locals(tokens: &[Token]) -> usize {
    let is_bar = |token: &Token| token.kind == TokenKind::Bar;
    if !tokens.first().is_some_and(is_bar) {
        return 0;
    }
    let mut depth = 0;
    let closing = tokens.iter().skip(1).position(|token| {
        depth = depth_after(depth, token.kind);
        depth == 0 && is_bar(token)
    });
    closing.map_or(0, |closing| closing + 2)
}

/// The last token of the expected value that begins here: its line ends outside of brackets, or a period follows.
fn last_of_expected(source: &Source, tokens: &[Token], first: usize) -> usize {
    let line = |token: &Token| source.line(token.span.start);
    let (mut depth, mut last) = (0_usize, first.min(tokens.len()) - 1);
    for (index, token) in tokens.iter().enumerate().skip(first) {
        let ends_line = index > first && line(token) > line(&tokens[last]);
        if depth == 0 && (ends_line || token.kind == TokenKind::Period) {
            break;
        }
        depth = depth_after(depth, token.kind);
        last = index;
    }
    last
}

/// A module of tests that are the examples of a text.
#[derive(Debug)]
pub struct Tests {
    /// Its text. The name is that of the text with the examples.
    pub module: Source,
    /// The names of the contexts, and of the examples, in the order of the tests.
    pub names: Vec<(String, String)>,
    copies: Vec<Copy>,
}

/// A part of the module that is a part of the text.
#[derive(Debug)]
struct Copy {
    /// Where it is in the module.
    range: Range<u32>,
    /// Where it begins in the text.
    origin: u32,
}

/// The selector of each test.
pub const SELECTOR: &str = "testAsyncExample";

/// Writes the module of tests. `factory` has an argument `testing`, the framework; `slots` and `members` are more of the
/// class, without a line end. An example that is no code is an error, at a place of the text.
pub fn as_tests(
    source: &Source,
    examples: &[Example],
    factory: &str,
    slots: &str,
    members: &str,
) -> Result<Tests, Vec<Diagnostic>> {
    let mut writer = Writer { source, text: String::new(), line: 1, copies: Vec::new() };
    writer.put(&format!(
        "class Examples {factory} = ( | private ContextOfExamples = testing ExampleContext. {slots} | )("
    ));
    let mut names = Vec::new();
    for example in examples {
        check(source, example)?;
        let context = format!("ExampleInLine{}", source.line(example.code.start));
        writer.example(example, &context);
        names.push((context, title(&names, examples, example)));
    }
    writer.put(&format!(" {members} )"));
    let Writer { text, copies, .. } = writer;
    Ok(Tests { module: Source::new(source.name(), text), names, copies })
}

/// The name of an example, with a number if what it documents has several.
fn title(before: &[(String, String)], examples: &[Example], example: &Example) -> String {
    let count = examples.iter().filter(|other| other.of == example.of).count();
    let title = format!("{} example", example.of);
    let number = before.iter().filter(|(_, other)| other.starts_with(&title)).count() + 1;
    if count == 1 { title } else { format!("{title} {number}") }
}

/// Refuses an example whose code is not a list of statements, so that it does not end the classes around it.
fn check(source: &Source, example: &Example) -> Result<(), Vec<Diagnostic>> {
    let mut writer = Writer { source, text: String::new(), line: 1, copies: Vec::new() };
    // Statements, so that no mistake is about a bracket that the author has not written.
    writer.code(example, ["", ". ", ""]);
    let Writer { text, copies, .. } = writer;
    let module = Source::new(source.name(), text);
    let tests = Tests { module, names: Vec::new(), copies };
    let mut errors = check_fragment(&tests.module, Fragment::Statements);
    errors.retain(Diagnostic::is_error);
    match errors.is_empty() {
        true => Ok(()),
        false => Err(tests.relocate(errors)),
    }
}

struct Writer<'a> {
    source: &'a Source,
    text: String,
    /// The number of the line that is written.
    line: usize,
    copies: Vec<Copy>,
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.text += text;
    }

    fn copy(&mut self, from: u32, to: u32) {
        let text = self.source.slice(Span { start: from, end: to.max(from) });
        let begin = self.text.len() as u32;
        self.text += text;
        self.copies.push(Copy { range: begin..self.text.len() as u32, origin: from });
        self.line += text.matches('\n').count();
    }

    /// Writes the context and the test of an example; the code is on the same lines as in the comment.
    fn example(&mut self, example: &Example, context: &str) {
        self.put(&format!(" public class {context} = ContextOfExamples ()( public {SELECTOR} = ("));
        let line = self.source.line(example.code.start);
        while self.line < line {
            self.put("\n");
            self.line += 1;
        }
        self.code(example, ["self the: (", ") is: (", ")"]);
        self.put(" ^ self checked ) ) : ( public TEST_CONTEXT = () )");
    }

    /// Writes the code of an example, with these texts before, between and behind the parts of its claims.
    fn code(&mut self, example: &Example, [before, between, behind]: [&str; 3]) {
        let mut place = example.code.start;
        for claim in &example.claims {
            self.copy(place, claim.start);
            self.put(before);
            self.copy(claim.start, claim.sign.start);
            self.put(between);
            self.copy(claim.sign.end, claim.end);
            self.put(behind);
            if !claim.has_period {
                self.put(".");
            }
            place = claim.end;
        }
        self.copy(place, example.code.end);
        let rest = self.source.slice(Span { start: place, end: example.code.end });
        let last = tokenize(&Source::new("rest", rest)).list;
        let last = last.iter().rfind(|token| token.kind != TokenKind::EndOfFile);
        if last.is_some_and(|token| token.kind != TokenKind::Period) {
            self.put(".");
        }
    }
}

impl Tests {
    /// Diagnostics of the module as those of the text: at the same places in the comments.
    pub fn relocate(&self, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for label in diagnostics.iter_mut().flat_map(|diagnostic| &mut diagnostic.labels) {
            let Span { start, end } = label.span;
            let start = self.origin(start);
            label.span = Span { start, end: self.origin(end).max(start) };
        }
        diagnostics
    }

    /// The place in the text for a place in the module.
    fn origin(&self, place: u32) -> u32 {
        let index = self.copies.partition_point(|copy| copy.range.start <= place);
        let Some(copy) = index.checked_sub(1).and_then(|index| self.copies.get(index)) else {
            return self.copies.first().map_or(0, |copy| copy.origin);
        };
        copy.origin + place.min(copy.range.end) - copy.range.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
(* Shapes.

     3 + 4 ==> 7
     | no | *)
class Shapes usingPlatform: platform = Value ()(
  (* A circle.

       | c = Circle radius: (2 max: [:each | each ]). |
       c grow.
       c area
         + 1 ==> { 13.
           14 }.
       (c is: [:each | each ==> 3 ]) ==> true

     This is no example:

       c shrink. *)
  public class Circle radius: radius = ()(
    (* One of a group: `2 ==> 3`.

         \">\" code ==> 62 *)
    public area = ()
    public size = ()

    (* Hidden.

         1 ==> 2 *)
    private hidden = ()
  )
)
";

    fn source() -> Source {
        Source::new("shapes.ns", TEXT)
    }

    #[test]
    fn examples_are_blocks_of_code_with_claims() {
        let source = source();
        let found = examples(&source);
        let names: Vec<&str> = found.iter().map(|example| &*example.of).collect();
        assert_eq!(names, ["Shapes", "Shapes.Circle", "Shapes.Circle.area"]);
        let claims: Vec<usize> = found.iter().map(|example| example.claims.len()).collect();
        assert_eq!(claims, [1, 2, 1]);
    }

    #[test]
    fn code_is_on_the_same_lines() {
        let source = source();
        let mut found = examples(&source);
        found.remove(0);
        let tests = as_tests(&source, &found, "a: testing", "", "").expect("it is code");
        let line = |number: usize| {
            let span = tests.module.line_span(number);
            tests.module.slice(span).to_owned()
        };
        assert_eq!(line(8), "       | c = Circle radius: (2 max: [:each | each ]). |");
        assert_eq!(line(10), "       self the: (c area");
        assert_eq!(line(11), "         + 1 ) is: ( { 13.");
        assert_eq!(line(12), "           14 }).");
        assert!(
            line(13).starts_with("       self the: ((c is: [:each | each ==> 3 ]) ) is: ( true).")
        );
        assert!(line(13).ends_with("= ContextOfExamples ()( public testAsyncExample = ("));
        assert_eq!(tests.names[1].0, "ExampleInLine21");
        assert!(parse(&tests.module).ast.is_some(), "{}", tests.module.text());
    }

    #[test]
    fn mistakes_are_at_their_places() {
        let text = "(* A.\n\n     3 + ==> 4 ] *)\nclass A = ()()";
        let source = Source::new("a.ns", text);
        let found = examples(&source);
        let errors = as_tests(&source, &found, "a: testing", "", "").expect_err("it is no code");
        let lines: Vec<usize> =
            errors.iter().map(|error| source.line(error.span().start)).collect();
        assert!(lines.iter().all(|&line| line == 3), "{errors:?}");
    }

    #[test]
    fn hostile_comments_have_no_examples_or_mistakes() {
        let codes = ["==>", "==> 3", "3 ==>", "| 3 ==> 4", "( ==> 3", "3 ==> )", "'a ==> 3"];
        for code in
            codes.into_iter().chain(["3 ==> 4 ==> 5", "^ 3 ==> 3", "| a b | ==> a", "# ==> 3"])
        {
            let text = format!("(* A.\n\n     {code} *)\nclass A = ()()");
            let source = Source::new("a.ns", &*text);
            let found = examples(&source);
            // Neither panics, and what is accepted is a program.
            if let Ok(tests) = as_tests(&source, &found, "a: testing", "", "") {
                let parsed = parse(&tests.module);
                assert!(parsed.ast.is_some(), "{code}: {}", tests.module.text());
            }
        }
    }
}
