//! The parser's complaints.

mod bodies;
mod brackets;
mod declarations;

use expect_test::Expect;

use super::{check_mistakes, module_with_body};

/// Compares the diagnostics of a method with this body.
fn check(body: &str, expected: Expect) {
    check_mistakes(&module_with_body(body), expected);
}
