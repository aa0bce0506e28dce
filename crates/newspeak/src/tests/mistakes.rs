//! What the parser complains about.

mod bodies;
mod brackets;
mod declarations;

use expect_test::Expect;

use super::{check_mistakes, module_with_body};

/// Compares what is reported about a method with this body.
fn check(body: &str, expected: Expect) {
    check_mistakes(&module_with_body(body), expected);
}
