//! Tests that the table of primitives, the library and `lib/PRIMITIVES.md` agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::all;
use crate::model::outcome::FailureReason;

/// Messages to `vmMirror` that the compiler makes exception regions of.
const REGIONS: [&str; 2] = ["try:catching:with:", "try:finally:"];

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn names() -> BTreeSet<String> {
    all().map(|primitive| primitive.name.to_owned()).collect()
}

#[test]
fn no_primitive_is_there_twice() {
    assert_eq!(all().count(), names().len());
}

#[test]
fn the_library_sends_only_what_there_is() {
    let mut sent = BTreeMap::new();
    for entry in std::fs::read_dir(library()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ns") {
            for selector in messages_to_machine(&tokens(&read(&path))) {
                sent.entry(selector).or_insert(path.clone());
            }
        }
    }
    assert!(sent.len() > 100, "the library sends just {sent:?}");
    let names = names();
    sent.retain(|selector, _| !names.contains(selector) && !REGIONS.contains(&selector.as_str()));
    assert!(sent.is_empty(), "there are no such primitives: {sent:#?}");
}

#[test]
fn the_page_lists_exactly_what_there_is() {
    let listed = listed_primitives(&read(&library().join("PRIMITIVES.md")));
    let names = names();
    let undocumented: Vec<_> = names.difference(&listed).collect();
    let missing: Vec<_> = listed.difference(&names).collect();
    assert!(undocumented.is_empty(), "not in PRIMITIVES.md: {undocumented:#?}");
    assert!(missing.is_empty(), "only in PRIMITIVES.md: {missing:#?}");
}

#[test]
fn the_kernel_has_a_method_for_each_reason_to_fail_and_the_page_a_row() {
    let (kernel, page) =
        (read(&library().join("Kernel.ns")), read(&library().join("PRIMITIVES.md")));
    for (reason, selector) in FailureReason::SIGNALLED {
        let is_defined = kernel.lines().any(|line| {
            let pattern = line.strip_prefix("  ").unwrap_or_default().split(" = (").next();
            pattern.is_some_and(|pattern| selector_of_pattern(pattern) == *selector)
        });
        assert!(is_defined, "{reason:?}: Kernel.ns has no method {selector}");
        assert!(
            page.contains(&format!("| `{selector}` |")),
            "PRIMITIVES.md: no row for {selector}"
        );
    }
}

/// The selector of a method's pattern such as `signalIndexError: index size: size`.
fn selector_of_pattern(pattern: &str) -> String {
    pattern.split_whitespace().step_by(2).collect()
}

/// The selectors in the first column of the tables whose head says `primitive`.
fn listed_primitives(page: &str) -> BTreeSet<String> {
    let mut listed = BTreeSet::new();
    let mut in_table = false;
    for line in page.lines() {
        in_table = line.starts_with("| primitive |") || (in_table && line.starts_with('|'));
        if in_table {
            let cell = line.split('|').nth(1).unwrap_or_default();
            listed.extend(cell.split('`').skip(1).step_by(2).map(selector_of_form));
        }
    }
    listed
}

/// The selector of a form such as `array: Arr at: Int`.
fn selector_of_form(form: &str) -> String {
    match form.contains(':') {
        true => form.split_whitespace().filter(|word| word.ends_with(':')).collect(),
        false => form.to_owned(),
    }
}

/// The selectors of all messages to the name `vmMirror`.
fn messages_to_machine(tokens: &[String]) -> Vec<String> {
    let sends = tokens.iter().enumerate().filter(|(_, token)| *token == "vmMirror");
    sends.filter_map(|(index, _)| selector(&tokens[index + 1..])).collect()
}

/// The selector of the message that these tokens start with, unless it is a binary one.
fn selector(tokens: &[String]) -> Option<String> {
    let first = tokens.first()?;
    if !first.starts_with(|character: char| character.is_alphabetic()) {
        return None;
    }
    if !first.ends_with(':') {
        return Some(first.clone());
    }
    let mut depth = 0;
    let mut selector = String::new();
    for token in tokens {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => break,
            ")" | "]" | "}" => depth -= 1,
            "." | ";" if depth == 0 => break,
            keyword if depth == 0 && is_keyword(keyword) => selector.push_str(keyword),
            _ => {}
        }
    }
    Some(selector)
}

fn is_keyword(token: &str) -> bool {
    token.starts_with(|character: char| character.is_alphabetic()) && token.ends_with(':')
}

/// Names, keywords, symbols and single other characters; literals of characters and comments are
/// left out.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' if rest.starts_with("(*") => comment_length(rest),
            '\'' | '"' => literal_length(rest, first),
            '#' => 1 + name_length(&rest[1..]),
            _ if first.is_alphabetic() || first == '_' => name_length(rest),
            _ => first.len_utf8(),
        };
        let token = &rest[..length];
        if !token.trim().is_empty() && !token.starts_with("(*") && !"'\"".contains(first) {
            tokens.push(token.to_owned());
        }
        rest = &rest[length..];
    }
    tokens
}

fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'(', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b')', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// A doubled quote counts as the end of one literal and the start of the next, which is as good.
fn literal_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text[1..].find(|character| {
        let ends = character == quote && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

fn name_length(text: &str) -> usize {
    let is_part = |character: char| character.is_alphanumeric() || "_:".contains(character);
    text.find(|character| !is_part(character)).unwrap_or(text.len())
}
