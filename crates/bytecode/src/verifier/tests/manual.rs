//! The examples of docs/bytecode.md are right.

use super::*;

const MANUAL: &str = include_str!("../../../../../docs/bytecode.md");

#[test]
fn examples_of_the_manual_are_accepted() {
    let examples: Vec<&str> = MANUAL
        .split("```sqasm\n")
        .skip(1)
        .map(|rest| rest.split_once("```").expect("a fence closes each example").0)
        .collect();
    assert!(examples.len() >= 6);
    for (index, example) in examples.iter().enumerate() {
        let errors = errors(&module(example), Trust::Untrusted);
        // The first one is there to be rejected, with an error that the text quotes.
        let quoted = errors.lines().all(|error| MANUAL.contains(error));
        assert!(errors.is_empty() == (index > 0) && quoted, "example {index}: {errors}");
    }
}
