//! The forms in which diagnostics are shown.

use expect_test::expect;

use super::source;
use crate::diagnostics::json::{to_json, to_json_lines};
use crate::diagnostics::render::{Colour, to_text};
use crate::diagnostics::{Code, Diagnostic};
use crate::parser::parse;
use crate::source::{Source, Span};

const MISTAKEN: &str = "class A = ()(\n  größe = ( a foo: [ b )\n)";

#[test]
fn json_names_every_place_twice() {
    let source = source(MISTAKEN);
    let diagnostics = parse(&source).diagnostics;
    let json = to_json(&source, &diagnostics[0]);
    expect![[r#"
        {
          "code": "unclosed-bracket",
          "column": 20,
          "end_column": 21,
          "end_line": 2,
          "file": "test.ns",
          "hint": null,
          "labels": [
            {
              "column": 20,
              "end": 36,
              "end_column": 21,
              "end_line": 2,
              "line": 2,
              "start": 35,
              "text": ""
            },
            {
              "column": 24,
              "end": 40,
              "end_column": 25,
              "end_line": 2,
              "line": 2,
              "start": 39,
              "text": "this closes something else; `]` is missing"
            }
          ],
          "line": 2,
          "message": "this `[` is never closed",
          "severity": "error"
        }"#]]
    .assert_eq(&format!("{json:#}"));
}

#[test]
fn json_has_one_object_per_line() {
    let source = source("class A = (` ?)()");
    let text = to_json_lines(&source, &parse(&source).diagnostics);
    let codes: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a JSON object"))
        .map(|object| object["code"].clone())
        .collect();
    assert_eq!(codes, ["unexpected-character", "unexpected-character"]);
}

#[test]
fn colour_is_optional() {
    let source = source(MISTAKEN);
    let diagnostics = parse(&source).diagnostics;
    assert!(to_text(&source, &diagnostics, Colour::Ansi).contains('\u{1b}'));
    assert!(!to_text(&source, &diagnostics, Colour::None).contains('\u{1b}'));
}

#[test]
fn codes_are_distinct_and_plain() {
    let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert!(
        names
            .iter()
            .all(|name| { name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'8') })
    );
    names.sort();
    names.dedup();
    assert_eq!(names.len(), Code::ALL.len());
}

#[test]
fn places_in_long_lines_are_shown_in_a_window() {
    let text = format!("class A = ()( foo = ( {} ? {} ) )", "a ".repeat(5000), "b ".repeat(5000));
    let source = source(&text);
    let shown = to_text(&source, &parse(&source).diagnostics, Colour::None);
    assert!(shown.contains("test.ns:1:10024"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() < 200), "{shown}");
}

#[test]
fn any_span_can_be_shown() {
    let source = Source::new("test.ns", "äöü\n\n\t𝄞x\r\nend");
    let boundaries: Vec<u32> = (0..=source.text().len())
        .filter(|&offset| source.text().is_char_boundary(offset))
        .map(|offset| offset as u32)
        .collect();
    for &start in &boundaries {
        for &end in boundaries.iter().filter(|&&end| end >= start) {
            let span = Span { start, end };
            let diagnostic = Diagnostic::error(Code::UnexpectedToken, "here", span)
                .and_label(source.end(), "and the end");
            assert_eq!(to_json(&source, &diagnostic)["labels"][0]["start"], start);
            assert!(to_text(&source, &[diagnostic], Colour::None).contains("here"));
        }
    }
}

#[test]
fn positions_count_characters() {
    let source = Source::new("test.ns", "ä𝄞b\nc");
    let position = |offset| source.position(offset).to_string();
    assert_eq!(position(0), "1:1");
    assert_eq!(position(2), "1:2");
    assert_eq!(position(6), "1:3");
    assert_eq!(position(7), "1:4");
    assert_eq!(position(8), "2:1");
    assert_eq!(position(9), "2:2");
}

#[test]
fn positions_in_long_lines_count_characters() {
    let text = "aä𝄞".repeat(700) + "\n" + &"é".repeat(512);
    let source = Source::new("test.ns", text.as_str());
    let (mut line, mut column) = (1, 1);
    for (offset, character) in text.char_indices().chain([(text.len(), ' ')]) {
        assert_eq!(source.position(offset as u32).to_string(), format!("{line}:{column}"));
        (line, column) = if character == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
}
