//! Tests of the front end, by stage. Each topic has one `check` function and a list of cases.
//! `UPDATE_EXPECT=1 cargo test -p squall-newspeak` rewrites the expected texts.

mod corpus;
mod declarations;
mod expressions;
mod formatting;
mod hostile;
mod lexing;
mod lexing_mistakes;
mod limits;
mod mistakes;
mod numerals;
mod reports;
mod types;

use expect_test::Expect;

use crate::ast::Ast;
use crate::diagnostics::render::{Colour, to_text};
use crate::dump;
use crate::parser::parse;
use crate::source::Source;

fn source(text: &str) -> Source {
    Source::new("test.ns", text)
}

/// The tree of a program without mistakes.
fn tree(text: &str) -> Ast {
    let source = source(text);
    let parse = parse(&source);
    match parse.ast {
        Some(ast) => ast,
        None => panic!("{}", to_text(&source, &parse.diagnostics, Colour::None)),
    }
}

/// A module with one method that has this body.
fn module_with_body(body: &str) -> String {
    format!("class T = ()(\nfoo = (\n{body}\n))")
}

fn check_tree(text: &str, expected: Expect) {
    expected.assert_eq(&dump::ast(&tree(text)));
}

/// Compares the trees of bodies, one a line, without the nodes around them.
fn check_bodies(bodies: &[&str], expected: Expect) {
    let trees: Vec<String> = bodies.iter().map(|body| body_tree(body)).collect();
    expected.assert_eq(&trees.join(""));
}

fn body_tree(body: &str) -> String {
    let dump = dump::ast(&tree(&module_with_body(body)));
    let inner = dump.split_once("(foo)").expect("the method is in the dump").1;
    let inner = inner.trim_start().strip_suffix("))\n").expect("method and class end");
    format!("{body}\n    {inner}\n")
}

/// Compares the diagnostics of a program that has at least one mistake.
fn check_mistakes(text: &str, expected: Expect) {
    let source = source(text);
    let parse = parse(&source);
    assert!(!parse.diagnostics.is_empty(), "nothing reported about {text}");
    expected.assert_eq(&to_text(&source, &parse.diagnostics, Colour::None));
}
