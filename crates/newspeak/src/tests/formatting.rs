//! The layout of programs. `crates/fuzzing/tests/layouts.rs` checks with very many programs that it is the same program.

use expect_test::{Expect, expect};

use super::source;
use crate::format::{FormatError, format, format_range};
use crate::source::Span;

fn check(text: &str, expected: Expect) {
    let laid_out = format(&source(text)).expect("it is a program");
    expected.assert_eq(&laid_out);
    assert_eq!(format(&source(&laid_out)).as_deref(), Ok(&*laid_out), "laid out twice");
}

/// The layout of the body of a method.
fn check_body(body: &str, expected: Expect) {
    let laid_out = format(&source(&format!("class T = ()(\nfoo = (\n{body}\n))")));
    let laid_out = laid_out.expect("it is a program");
    let inner = laid_out.strip_prefix("class T = ()(\n  foo = (\n").expect("the head is short");
    let inner = inner.strip_suffix("  )\n)\n").expect("method and class end");
    let lines = inner.split_inclusive('\n').map(|line| line.strip_prefix("    ").unwrap_or(line));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn a_class_has_its_brackets_at_the_start_of_lines() {
    check(
        "(* A.\n   B. *)\nclass Shop usingPlatform: platform = Value (| private a = 1.\n public longer <Integer> = 2. private c ::= 3. d ::= 4. (* why *)\n e |\n\n\n\na foo. b bar.\n)(   class Inner = Outer <: Mixin (| x |)()\n public foo = ( ^ 1 )\n\n\n  public bar: x <Integer> ^ <Integer> = (\n\n ^ x\n\n )\n) : ( make = ()\n\n)",
        expect![[r#"
            (* A.
               B. *)
            class Shop usingPlatform: platform = Value (
            | private a = 1.
              public longer <Integer> = 2.
              private c ::= 3.
              d         ::= 4. (* why *)
              e |

              a foo.
              b bar.
            )(
              class Inner = Outer <: Mixin (| x |)()
              public foo = ( ^ 1 )

              public bar: x <Integer> ^ <Integer> = (
                ^ x
              )
            ) : (
              make = ()
            )
        "#]],
    );
}

#[test]
fn the_head_of_a_class_may_have_lines() {
    check(
        "class A = ()(\n class B of: x\n = C of: x (\n | y = x. |\n)( foo = (\n ^ 1 ) )\n class C = D <: E\n <: F.\n)",
        expect![[r#"
            class A = ()(
              class B of: x
                = C of: x (
              | y = x. |
              )(
                foo = (
                  ^ 1
                )
              )
              class C = D <: E
                <: F.
            )
        "#]],
    );
}

#[test]
fn one_line_stays_one_line_if_it_fits() {
    check(
        "class A = (|a=1.|)(b=(^a) c: x=(x foo:[:y|y]) d=())",
        expect![[r#"
        class A = (| a = 1. |)( b = ( ^ a ) c: x = ( x foo: [:y | y ] ) d = () )
    "#]],
    );
    let long = "a".repeat(60);
    check(
        &format!("class A = ()( b = ( {long} foo: [ {long} ] ) )"),
        expect![[r#"
        class A = ()(
          b = (
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa foo: [
              aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ]
          )
        )
    "#]],
    );
}

#[test]
fn statements_begin_lines() {
    check_body(
        "|a b=1.| a:: b. b foo: [:x|x bar. x\nbaz] . [ a ] whileTrue: [\n b. c. ].\n\n\n^ [ ] value.",
        expect![[r#"
                | a b = 1. |
                a:: b.
                b foo: [:x |
                  x bar.
                  x
                    baz ].
                [ a ] whileTrue: [
                  b.
                  c. ].

                ^ [] value.
        "#]],
    );
}

#[test]
fn lines_that_continue_a_statement_are_indented() {
    check_body(
        "a foo\nbar\n+ b *\nc\nqux: d\nquux: e + f\n+ g;\nbar\n; baz: { 1. 2.\n3 }. x:: (a b: c\nd: e) f.",
        expect![[r#"
                a foo
                  bar
                  + b
                  * c
                  qux:  d
                  quux: e + f
                    + g;
                  bar;
                  baz: { 1. 2.
                    3 }.
                x:: (a b: c
                  d: e) f.
        "#]],
    );
}

#[test]
fn a_message_that_does_not_fit_has_a_line_for_each_keyword() {
    let long = "x".repeat(50);
    check_body(
        &format!("{long} at: {long} put: {long}. a ifTrue: [ {long} ] ifFalse: [ {long} ]"),
        expect![[r#"
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
              at:  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
              put: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.
            a
              ifTrue:  [ xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ]
              ifFalse: [ xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ]
    "#]],
    );
    check_body(
        &format!("{long} do: {long} with: [ {long} ]"),
        expect![[r#"
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx do: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx with: [
              xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ]
    "#]],
    );
}

#[test]
fn arguments_of_keywords_on_lines_are_in_one_column() {
    check_body(
        "a\nifTrue: [ b ]\nifFalse: [ c.\nd ].\na\non: b\nverySpecialKeyword: c",
        expect![[r#"
            a
              ifTrue:  [ b ]
              ifFalse: [
                c.
                d ].
            a
              on: b
              verySpecialKeyword: c
    "#]],
    );
}

#[test]
fn comments_stay_where_they_are() {
    check(
        "(* first *)\n\n\nclass A = (* superclass *) B ( (* slots *)\n| (* none *) | (* after *)\n)( (* members *)\n\n  (* one\n       two\n     three *)\n  foo = (\n (* nothing *)\n )\n\n (* last *)\n) (* end *)\n\n(* very end *)\n\n",
        expect![[r#"
            (* first *)

            class A = (* superclass *) B ( (* slots *)
            | (* none *) |                 (* after *)
            )(                             (* members *)

              (* one
                   two
                 three *)
              foo = (
                (* nothing *)
              )

              (* last *)
            ) (* end *)

            (* very end *)
        "#]],
    );
    check_body(
        "a (* x *) foo: (* y *) b (* z *) . (* trailing *)\n\n(* own *)\n[ (* block *)\n c (* d *)\n(* e *) ] value: (* #* *) #* (* f *)",
        expect![[r#"
            a (* x *) foo: (* y *) b (* z *). (* trailing *)

            (* own *)
            [                              (* block *)
              c                            (* d *)
              (* e *) ] value: (* #* *) #* (* f *)
        "#]],
    );
}

#[test]
fn tokens_that_touch_are_told_apart() {
    check_body(
        "[:x||y|y]value.[||]value.[:x<A|B>|x]value.[:x<A>||y<B>=1.|y]value.^(a foo:#* ),b",
        expect![[r#"
                [:x | | y | y ] value.
                [ || ] value.
                [:x <A|B> | x ] value.
                [:x <A> | | y <B> = 1. | y ] value.
                ^ (a foo: #* ), b
        "#]],
    );
}

#[test]
fn blanks_of_other_systems_vanish() {
    check(
        "\u{feff}class A = ()(\r\n\r\n\r\n\tfoo = (\r\n\t\t^\u{a0}1 ) (* a\r\n   b *)\r\n)\r\n",
        expect![[r#"
        class A = ()(

          foo = (
            ^ 1
          ) (* a
        b *)
        )
    "#]],
    );
}

#[test]
fn a_text_with_mistakes_has_no_layout() {
    let result = format(&source("class A = ( ( )"));
    assert!(matches!(result, Err(FormatError::Mistakes(mistakes)) if !mistakes.is_empty()));
}

#[test]
fn long_chains_and_deep_brackets_are_no_trouble() {
    let chain = format!("class A = ()( a = ( ^ b{} ) )", " c".repeat(100_000));
    assert!(format(&source(&chain)).is_ok());
    let deep = format!("class A = ()( a = ( ^ {}b{} ) )", "[ a. ".repeat(200), " ]".repeat(200));
    let laid_out = format(&source(&deep)).expect("it nests not too deeply");
    assert_eq!(format(&source(&laid_out)).as_deref(), Ok(&*laid_out));
}

#[test]
fn only_the_lines_of_a_range_change() {
    let text = "class A = ()(\n a = (^1)\n b = (^2)\n c = (\n d foo:1.\n  e foo:2.\n )\n)\n";
    let change = |part: &str| {
        let start = text.find(part).expect("the part is there");
        let source = source(text);
        let edit = format_range(&source, Span::from(start..start + part.len()));
        let edit = edit.expect("it is a program")?;
        Some((source.slice(edit.span).to_owned(), edit.text))
    };
    let pair = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
    assert_eq!(change("^2"), pair(" b = (^2)", "  b = ( ^ 2 )"));
    assert_eq!(change("e foo"), pair("  e foo:2.", "    e foo: 2."));
    assert_eq!(change("class A"), None);
    assert_eq!(
        change("a = (^1)\n b"),
        pair(" a = (^1)\n b = (^2)", "  a = ( ^ 1 )\n  b = ( ^ 2 )")
    );
}

#[test]
fn comments_at_the_ends_of_lines_are_in_one_column() {
    check_body(
        "a foo. (* one *)\nbar: 1.     (* two *)\n(* alone *)\nlonger foo: 1. (* three *)\nb. (* four (* nested *) *)\nc. (* ü *)\nd foo: (* a\n b *) e. f. (* five *) (* six *)\n",
        expect![[r#"
            a foo.  (* one *)
            bar: 1. (* two *)
            (* alone *)
            longer foo: 1. (* three *)
            b. (* four (* nested *) *)
            c. (* ü *)
            d foo: (* a
             b *) e.
            f. (* five *) (* six *)
        "#]],
    );
}

#[test]
fn comments_behind_much_longer_lines_have_a_column_of_their_own() {
    let long = "x".repeat(41);
    check_body(
        &format!("{long} a. (* one *)\nb. (* two *)\nccc. (* three *)"),
        expect![[r#"
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx a. (* one *)
            b.   (* two *)
            ccc. (* three *)
        "#]],
    );
    let long = "y".repeat(30);
    check_body(
        &format!("{long} a. (* one *)\nb. (* {} *)\nccc. (* three *)", "much ".repeat(16)),
        expect![[r#"
            yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy a. (* one *)
            b.   (* much much much much much much much much much much much much much much much much  *)
            ccc. (* three *)
        "#]],
    );
}
