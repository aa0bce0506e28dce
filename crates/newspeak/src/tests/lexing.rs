//! The tokens of correct text.

use expect_test::{Expect, expect};

use super::source;
use crate::dump;
use crate::lexer::tokenize;
use crate::literals::{character_value, string_value, symbol_value};
use crate::token::TokenKind;

fn check(text: &str, expected: Expect) {
    let source = source(text);
    let tokens = tokenize(&source);
    assert!(tokens.diagnostics.into_sorted().is_empty());
    expected.assert_eq(&dump::tokens(&source, &tokens.list));
}

/// Kinds and texts of the tokens in one line, the end left out.
fn words(text: &str) -> String {
    let source = source(text);
    let tokens = tokenize(&source).list;
    let word =
        |token: &crate::token::Token| format!("{}:{}", token.kind.name(), source.slice(token.span));
    tokens[..tokens.len() - 1].iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn words_keywords_setters() {
    check(
        "class Kernel vmMirror: vm = x:: _a1: größe Δ",
        expect![[r#"
        1:1     identifier   class
        1:7     identifier   Kernel
        1:14    keyword      vmMirror:
        1:24    identifier   vm
        1:27    operator     =
        1:29    setter       x::
        1:33    keyword      _a1:
        1:38    identifier   größe
        1:44    identifier   Δ
        1:45    end
    "#]],
    );
}

#[test]
fn a_keyword_needs_no_space_before_what_is_no_letter() {
    assert_eq!(words("foo:1"), "keyword:foo: numeral:1");
    assert_eq!(words("foo:_x"), "keyword:foo: identifier:_x");
    assert_eq!(words("foo:[ ]"), "keyword:foo: punctuation:[ punctuation:]");
    assert_eq!(words("foo:'a'"), "keyword:foo: string:'a'");
    assert_eq!(words("x::y"), "setter:x:: identifier:y");
    assert_eq!(words("x::=1"), "setter:x:: operator:= numeral:1");
}

#[test]
fn operators_are_as_long_as_possible() {
    for operator in [
        "~", "&", "|", "*", "/", "\\", "+", "=", ">", "<", ",", "@", "%", "-", "!", "->", "<-",
        ">>>", "<=", "//", "||", "&&", "++", "~=", "<>", "!-", "-->", "<--", "+-", "=-", "**",
    ] {
        assert_eq!(words(operator), format!("operator:{operator}"));
        assert_eq!(
            words(&format!("a{operator} b")),
            format!("identifier:a operator:{operator} identifier:b")
        );
    }
}

#[test]
fn what_looks_like_an_operator_but_is_none() {
    assert_eq!(words("A<:B"), "identifier:A punctuation:<: identifier:B");
    assert_eq!(words("a<-:b"), "identifier:a punctuation:<-: identifier:b");
    assert_eq!(words("a<-b"), "identifier:a operator:<- identifier:b");
    assert_eq!(words("a ::= 1"), "identifier:a punctuation:::= numeral:1");
    assert_eq!(words("a-1"), "identifier:a numeral:-1");
    assert_eq!(words("a- 1"), "identifier:a operator:- numeral:1");
    assert_eq!(words("a+-1"), "identifier:a operator:+- numeral:1");
    assert_eq!(words("a- -1"), "identifier:a operator:- numeral:-1");
    assert_eq!(words("value-value"), "identifier:value operator:- identifier:value");
    assert_eq!(words("0+1"), "numeral:0 operator:+ numeral:1");
    assert_eq!(words("0*1"), "numeral:0 operator:* numeral:1");
    assert_eq!(words("(**)"), "");
    assert_eq!(words("**)"), "operator:** punctuation:)");
}

#[test]
fn comments_nest_and_stand_anywhere() {
    assert_eq!(words("(* a (* b *) ' c *)x(**)y"), "identifier:x identifier:y");
    assert_eq!(words("a (* (* (* *) *) *) at: (* *) 1"), "identifier:a keyword:at: numeral:1");
    assert_eq!(words("(***)x"), "identifier:x");
    assert_eq!(words("(* *)(* *)"), "");
}

#[test]
fn white_space_is_whatever_unicode_says() {
    assert_eq!(words("\u{feff}a\u{a0}b\u{2003}c\u{3000}\u{85}\r\n\t\u{b}\u{c}d"), {
        "identifier:a identifier:b identifier:c identifier:d"
    });
}

#[test]
fn symbols_of_every_form() {
    for (text, value) in [
        ("#foo", "foo"),
        ("#foo:", "foo:"),
        ("#at:put:", "at:put:"),
        ("#at1:put2:", "at1:put2:"),
        ("#at:put", "at:put"),
        ("#_x", "_x"),
        ("#+", "+"),
        ("#||", "||"),
        ("#|", "|"),
        ("#!", "!"),
        ("#-!", "-!"),
        ("#-", "-"),
        ("#<-", "<-"),
        ("#->", "->"),
        ("#<", "<"),
        ("#'100'", "100"),
        ("#''", ""),
        ("#'it''s'", "it's"),
        ("#self", "self"),
    ] {
        // Not at the start of the text, where `#!` begins a line for the system.
        let inner = format!(" {text}");
        assert_eq!(words(&inner), format!("symbol:{text}"));
        assert_eq!(symbol_value(text), value);
    }
    assert_eq!(words("#foo:#bar"), "symbol:#foo: symbol:#bar");
    assert_eq!(words("#at:put:1"), "symbol:#at:put: numeral:1");
    assert_eq!(words("#foo.bar"), "symbol:#foo punctuation:. identifier:bar");
    assert_eq!(words("{#+. #-}"), "punctuation:{ symbol:#+ punctuation:. symbol:#- punctuation:}");
}

#[test]
fn string_values() {
    for (text, value) in [
        ("''", ""),
        ("'abc'", "abc"),
        ("'it''s'", "it's"),
        ("''''", "'"),
        ("''''''", "''"),
        (r"'\t\b\n\r\f\'\\'", "\t\u{8}\n\r\u{c}'\\"),
        (r"'a\'b'", "a'b"),
        (r"'\\'", "\\"),
        ("'line\nline'", "line\nline"),
        ("'𝄞 (* no comment *)'", "𝄞 (* no comment *)"),
        ("'\"'", "\""),
    ] {
        assert_eq!(words(text), format!("string:{text}"));
        assert_eq!(string_value(text), value);
    }
}

#[test]
fn character_values() {
    for (text, value) in [
        ("\"a\"", "a"),
        ("\"'\"", "'"),
        ("\"\"\"\"", "\""),
        ("\"𝄞\"", "𝄞"),
        ("\"\n\"", "\n"),
        ("\"\\\"", "\\"),
    ] {
        assert_eq!(words(text), format!("character:{text}"));
        assert_eq!(character_value(text), value);
    }
}

#[test]
fn every_byte_belongs_to_a_token_or_a_blank() {
    let source = source("class A = (|a=1.|)(b:c=(^c<-:d (* x *) e;f))");
    let tokens = tokenize(&source).list;
    assert!(tokens.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    assert_eq!(tokens.last().map(|token| token.kind), Some(TokenKind::EndOfFile));
}
