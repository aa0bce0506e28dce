//! The lexer's complaints.

use expect_test::expect;

use super::{check_mistakes, module_with_body, source};
use crate::diagnostics::Diagnostic;
use crate::diagnostics::render::{Colour, to_text};
use crate::parser::parse;
use crate::source::{MAX_SOURCE_BYTES, Source};

fn check(body: &str, expected: expect_test::Expect) {
    check_mistakes(&module_with_body(body), expected);
}

#[test]
fn unterminated_strings() {
    check(
        "x:: 'abc",
        expect![[r#"
        error[unterminated-string]: this string is never closed
         --> test.ns:3:5
          |
        3 | x:: 'abc
          |     ^ opened here
          |
          = help: close it with ', and write '' for a quote inside a string
    "#]],
    );
    check(
        "x:: 'abc.\ny:: 'def'.\nz:: 3",
        expect![[r#"
        error[unterminated-string]: this string is never closed
         --> test.ns:4:9
          |
        4 | y:: 'def'.
          |         ^ opened here
          |
         ::: test.ns:3:5
          |
        3 | x:: 'abc.
          |     - perhaps because this one should end earlier
          |
          = help: close it with ', and write '' for a quote inside a string
    "#]],
    );
    check(
        "#'abc",
        expect![[r#"
        error[unterminated-string]: this string is never closed
         --> test.ns:3:2
          |
        3 | #'abc
          |  ^ opened here
          |
          = help: close it with ', and write '' for a quote inside a string
    "#]],
    );
}

#[test]
fn unterminated_comments() {
    check(
        "(* abc",
        expect![[r#"
        error[unterminated-comment]: this comment is never closed
         --> test.ns:3:1
          |
        3 | (* abc
          | ^^ opened here
          |
          = help: close it with *)
    "#]],
    );
    check(
        "(* a (* b *) (* (* c",
        expect![[r#"
        error[unterminated-comment]: this comment is never closed
         --> test.ns:3:1
          |
        3 | (* a (* b *) (* (* c
          | ^^ opened here
          |
          = help: comments nest, and 3 of them are open: each `(*` needs its `*)`
    "#]],
    );
}

#[test]
fn stray_comment_end() {
    check(
        "a. *) b",
        expect![[r#"
        error[stray-comment-end]: this `*)` ends no comment
         --> test.ns:3:4
          |
        3 | a. *) b
          |    ^^
          |
          = help: if it is the operator `*`, write a space before `)`
    "#]],
    );
    check(
        "{#*)",
        expect![[r#"
        error[malformed-symbol]: a symbol is `#` directly before a name, keywords, an operator or a string
         --> test.ns:3:2
          |
        3 | {#*)
          |  ^

        error[stray-comment-end]: this `*)` ends no comment
         --> test.ns:3:3
          |
        3 | {#*)
          |   ^^
          |
          = help: if it is the operator `*`, write a space before `)`
    "#]],
    );
}

#[test]
fn keywords_against_their_arguments() {
    check(
        "a at:i put:j",
        expect![[r#"
        error[keyword-without-space]: the keyword `at:` needs a space before its argument
         --> test.ns:3:3
          |
        3 | a at:i put:j
          |   ^^^
          |
          = help: write `at: i`

        error[keyword-without-space]: the keyword `put:` needs a space before its argument
         --> test.ns:3:8
          |
        3 | a at:i put:j
          |        ^^^^
          |
          = help: write `put: j`
    "#]],
    );
}

#[test]
fn characters() {
    check(
        "\"ab\". \"\". \"a. b",
        expect![[r#"
        error[malformed-character]: double quotes hold exactly one character
         --> test.ns:3:1
          |
        3 | "ab". "". "a. b
          | ^^^^
          |
          = help: write strings between single quotes: 'text'

        error[malformed-character]: double quotes hold exactly one character
         --> test.ns:3:7
          |
        3 | "ab". "". "a. b
          |       ^^
          |
          = help: write strings between single quotes: 'text'

        error[malformed-character]: double quotes hold exactly one character
         --> test.ns:3:11
          |
        3 | "ab". "". "a. b
          |           ^
          |
          = help: a character is written "c", a string 'text'
    "#]],
    );
    check(
        "$c foo. $",
        expect![[r#"
            error[unexpected-character]: `$` begins no character literal
             --> test.ns:3:1
              |
            3 | $c foo. $
              | ^^
              |
              = help: write `"c"`

            error[unexpected-character]: `$` begins no character literal
             --> test.ns:3:9
              |
            3 | $c foo. $
              |         ^
              |
              = help: write `"\n"`
        "#]],
    );
}

#[test]
fn symbols() {
    check(
        "{#<:. #<-:. #-1}",
        expect![[r#"
        error[malformed-symbol]: `<:` is not a selector
         --> test.ns:3:2
          |
        3 | {#<:. #<-:. #-1}
          |  ^^^
          |
          = help: quote a symbol that is not a selector, as in #'<:'

        error[malformed-symbol]: `<-:` is not a selector
         --> test.ns:3:7
          |
        3 | {#<:. #<-:. #-1}
          |       ^^^^
          |
          = help: quote a symbol that is not a selector, as in #'<:'

        error[malformed-symbol]: `-1` is not a selector
         --> test.ns:3:13
          |
        3 | {#<:. #<-:. #-1}
          |             ^^^
          |
          = help: quote a symbol that is not a selector, as in #'<:'
    "#]],
    );
}

#[test]
fn numerals() {
    check(
        "{16r. 16rff. 0r1. 2r2. 1e999. 12345r1}",
        expect![[r#"
        error[malformed-numeral]: this numeral has no digits after its radix
         --> test.ns:3:2
          |
        3 | {16r. 16rff. 0r1. 2r2. 1e999. 12345r1}
          |  ^^^
          |
          = help: digits are 0 to 9 and A to Z, as in 16rFF

        error[malformed-numeral]: this numeral has no digits after its radix
         --> test.ns:3:7
          |
        3 | {16r. 16rff. 0r1. 2r2. 1e999. 12345r1}
          |       ^^^
          |
          = help: digits are 0 to 9 and A to Z, as in 16rFF

        error[malformed-numeral]: a radix is between 1 and 9999
         --> test.ns:3:14
          |
        3 | {16r. 16rff. 0r1. 2r2. 1e999. 12345r1}
          |              ^^^

        warning[digit-beyond-radix]: the digit `2` is not below the radix
         --> test.ns:3:19
          |
        3 | {16r. 16rff. 0r1. 2r2. 1e999. 12345r1}
          |                   ^^^

        warning[infinite-numeral]: this numeral is beyond the doubles and reads as infinity
         --> test.ns:3:24
          |
        3 | {16r. 16rff. 0r1. 2r2. 1e999. 12345r1}
          |                        ^^^^^

        error[malformed-numeral]: a radix is between 1 and 9999
         --> test.ns:3:31
          |
        3 | {16r. 16rff. 0r1. 2r2. 1e999. 12345r1}
          |                               ^^^^^^^
    "#]],
    );
    check(
        "2raisedTo: 3",
        expect![[r#"
        error[malformed-numeral]: this numeral has no digits after its radix
         --> test.ns:3:1
          |
        3 | 2raisedTo: 3
          | ^^
          |
          = help: digits are 0 to 9 and A to Z, as in 16rFF
    "#]],
    );
}

#[test]
fn escapes_without_meaning_are_dropped_with_a_warning() {
    check(
        r"^ 'a\d\é'",
        expect![[r#"
            warning[unknown-escape]: the escape `\d` stands for nothing
             --> test.ns:3:5
              |
            3 | ^ 'a\d\é'
              |     ^^
              |
              = help: a backslash itself is written \\; escapes are \t \b \n \r \f \' and \\

            warning[unknown-escape]: the escape `\é` stands for nothing
             --> test.ns:3:7
              |
            3 | ^ 'a\d\é'
              |       ^^
              |
              = help: a backslash itself is written \\; escapes are \t \b \n \r \f \' and \\
        "#]],
    );
    assert!(parse(&source(&module_with_body(r"^ 'a\d'"))).ast.is_some());
}

#[test]
fn unknown_characters() {
    check(
        "a ??? b ` \u{0} c",
        expect![[r#"
            error[unexpected-character]: the character `?` begins no token
             --> test.ns:3:3
              |
            3 | a ??? b ` ␀ c
              |   ^^^
              |
              = help: write `condition ifTrue: [ … ] ifFalse: [ … ]`

            error[unexpected-character]: the character ``` begins no token
             --> test.ns:3:9
              |
            3 | a ??? b ` ␀ c
              |         ^
              |
              = help: a text stands in single quotes; `'hello {}' formatted: { name }` fills it in

            error[unexpected-character]: the character `\u{0}` begins no token
             --> test.ns:3:11
              |
            3 | a ??? b ` ␀ c
              |           ^
        "#]],
    );
}

#[test]
fn bytes_that_are_not_utf8() {
    let source = Source::from_bytes("test.ns", b"class A = ()(\n foo = ( 'a\xff\xfeb'. \xc3 x ))");
    let diagnostics = parse(&source).diagnostics;
    expect![[r#"
        error[invalid-utf8]: the source is not UTF-8 here
         --> test.ns:2:12
          |
        2 |  foo = ( 'a  b'.   x ))
          |            ^^

        error[invalid-utf8]: the source is not UTF-8 here
         --> test.ns:2:18
          |
        2 |  foo = ( 'a  b'.   x ))
          |                  ^
    "#]]
    .assert_eq(&to_text(&source, &diagnostics, Colour::None));
}

#[test]
fn enormous_sources_are_refused() {
    let source = Source::from_bytes("test.ns", &vec![b' '; MAX_SOURCE_BYTES + 1]);
    let diagnostics = parse(&source).diagnostics;
    expect![[r#"
        error[source-too-large]: the source has 67108865 bytes
         --> test.ns:1:1
          |
        1 |
          | ^
          |
          = help: a source has at most 67108864 bytes
    "#]]
    .assert_eq(&to_text(&source, &diagnostics, Colour::None));
}

#[test]
fn at_most_a_hundred_errors_are_kept() {
    let diagnostics = parse(&source(&module_with_body(&"` ".repeat(100_000)))).diagnostics;
    assert_eq!(diagnostics.iter().filter(|d| d.code.name() == "unexpected-character").count(), 100);
    assert_eq!(diagnostics.iter().filter(|d| d.code.name() == "too-many-errors").count(), 1);
}

#[test]
fn warnings_do_not_hide_errors() {
    let text = module_with_body(&format!("{} ?", r"'\d'. ".repeat(1000)));
    let diagnostics = parse(&source(&text)).diagnostics;
    assert_eq!(diagnostics.iter().filter(|d| d.is_error()).count(), 1);
    let is_sorted = |pair: &[Diagnostic]| pair[0].span().start <= pair[1].span().start;
    assert!(diagnostics.windows(2).all(is_sorted));
}
