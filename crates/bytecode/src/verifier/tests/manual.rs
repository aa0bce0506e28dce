//! The examples of docs/bytecode.md are right.

use super::*;
use crate::testing::seeds::{MANUAL, manual_examples};

#[test]
fn examples_of_the_manual_are_accepted() {
    let examples = manual_examples();
    assert!(examples.len() >= 6);
    for (index, example) in examples.iter().enumerate() {
        let errors = errors(&module(example), Trust::Untrusted);
        // The first one is there to be rejected, with an error that the text quotes.
        let quoted = errors.lines().all(|error| MANUAL.contains(error));
        assert!(errors.is_empty() == (index > 0) && quoted, "example {index}: {errors}");
    }
}
