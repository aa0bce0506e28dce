//! The parser's explanations of brackets that do not match, and their number.

use expect_test::expect;

use super::check;
use crate::lexer::tokenize;
use crate::parser::parse;
use crate::tests::{check_mistakes, source};
use crate::token::Token;

#[test]
fn unclosed_brackets_at_the_end() {
    check_mistakes(
        "class A = ()(\n foo = (\n  a foo: [ b",
        expect![[r#"
        error[unclosed-bracket]: this `[` is never closed
         --> test.ns:3:10
          |
        3 |   a foo: [ b
          |          ^  - the file ends here; `]` is missing
    "#]],
    );
    check_mistakes(
        "class A = ()(\n foo = ( a )\n",
        expect![[r#"
        error[unclosed-bracket]: this `(` is never closed
         --> test.ns:1:13
          |
        1 | class A = ()(
          |             ^
          |
         ::: test.ns:3:1
          |
        3 |
          | - the file ends here; `)` is missing
    "#]],
    );
    check_mistakes(
        "class A = (",
        expect![[r#"
        error[unclosed-bracket]: this `(` is never closed
         --> test.ns:1:11
          |
        1 | class A = (
          |           ^- the file ends here; `)` is missing
    "#]],
    );
    check_mistakes(
        "class A = (| a",
        expect![[r#"
            error[unclosed-bracket]: expected `|` after the declarations, found the end of the file
             --> test.ns:1:15
              |
            1 | class A = (| a
              |            -  ^
              |            |
              |            the declarations begin here
              |
              = help: an initialised declaration ends with a period, also before `|`
        "#]],
    );
}

#[test]
fn a_missing_bracket_is_noticed_at_the_next_method() {
    check_mistakes(
        "class A = ()(
  public foo = (
    a ifTrue: [ b ].
    ^ (c + d

  public bar: x = (
    ^ x
  )

  baz = (
    ^ 3 + .
  )
)",
        expect![[r#"
            error[unclosed-bracket]: this `(` is never closed
             --> test.ns:4:7
              |
            4 |     ^ (c + d
              |       ^
              |
             ::: test.ns:6:3
              |
            6 |   public bar: x = (
              |   ------ the next member begins here; `)` is missing

            error[unexpected-token]: expected an expression, found `.`
              --> test.ns:11:11
               |
            11 |     ^ 3 + .
               |           ^
        "#]],
    );
    check_mistakes(
        "class A = ()(
  foo = (
    a ifTrue: [
      b.

  + other = ( ^ other )
  at: i put: j = ( ^ j )
)",
        expect![[r#"
            error[unclosed-bracket]: this `[` is never closed
             --> test.ns:3:15
              |
            3 |     a ifTrue: [
              |               ^
              |
             ::: test.ns:6:3
              |
            6 |   + other = ( ^ other )
              |   - the next member begins here; `]` is missing
        "#]],
    );
}

#[test]
fn wrong_brackets() {
    check(
        "a foo: [ b ). c",
        expect![[r#"
            error[unexpected-token]: expected `]`, found `)`
             --> test.ns:3:12
              |
            3 | a foo: [ b ). c
              |        -   ^
              |        |
              |        to close this
        "#]],
    );
    check(
        "a ] b. c } d",
        expect![[r#"
        error[stray-bracket]: this `]` closes nothing
         --> test.ns:3:3
          |
        3 | a ] b. c } d
          |   ^

        error[stray-bracket]: this `}` closes nothing
         --> test.ns:3:10
          |
        3 | a ] b. c } d
          |          ^
    "#]],
    );
    check(
        "{ a ]. b",
        expect![[r#"
            error[unclosed-bracket]: this `{` is never closed
             --> test.ns:3:1
              |
            3 | { a ]. b
              | ^
              |
             ::: test.ns:4:1
              |
            4 | ))
              | - this closes something else; `}` is missing

            error[stray-bracket]: this `]` closes nothing
             --> test.ns:3:5
              |
            3 | { a ]. b
              |     ^
        "#]],
    );
    check_mistakes(
        "class A = ()( foo = () ] bar = () )",
        expect![[r#"
        error[stray-bracket]: this `]` closes nothing
         --> test.ns:1:24
          |
        1 | class A = ()( foo = () ] bar = () )
          |                        ^
    "#]],
    );
}

#[test]
fn several_mistakes_in_one_run() {
    check_mistakes(
        "class A = (
  | a = 1 + . b = 2. |
  foo + .
)(
  class B = (| ^ |)(
    x = ( a := 3. b. #(1 2) )
  )
  one = ( ^ ) 
  two: = ( a )
  three = ( [ :x | x + ] value. ( + ). { 1 + . 2 } )
)",
        expect![[r#"
            error[unexpected-token]: expected an expression, found `.`
             --> test.ns:2:13
              |
            2 |   | a = 1 + . b = 2. |
              |             ^

            error[unexpected-token]: expected an expression, found `.`
             --> test.ns:3:9
              |
            3 |   foo + .
              |         ^

            error[unexpected-token]: expected the name of a slot, or `|`, found `^`
             --> test.ns:5:16
              |
            5 |   class B = (| ^ |)(
              |                ^
              |
              = help: an initialised declaration ends with a period

            error[smalltalk-assignment]: `:=` assigns nothing
             --> test.ns:6:13
              |
            6 |     x = ( a := 3. b. #(1 2) )
              |             ^
              |
              = help: assign by `a:: …`

            error[literal-array]: there are no literal arrays
             --> test.ns:6:22
              |
            6 |     x = ( a := 3. b. #(1 2) )
              |                      ^
              |
              = help: write an array as { 1. 2. 3 }

            error[unexpected-token]: expected an expression, found `)`
             --> test.ns:8:13
              |
            8 |   one = ( ^ ) 
              |             ^

            error[unexpected-token]: expected the name of a parameter, found `=`
             --> test.ns:9:8
              |
            9 |   two: = ( a )
              |        ^

            error[unexpected-token]: expected an expression, found `]`
              --> test.ns:10:24
               |
            10 |   three = ( [ :x | x + ] value. ( + ). { 1 + . 2 } )
               |                        ^

            error[unexpected-token]: expected an expression, found `+`
              --> test.ns:10:35
               |
            10 |   three = ( [ :x | x + ] value. ( + ). { 1 + . 2 } )
               |                                   ^

            error[unexpected-token]: expected an expression, found `.`
              --> test.ns:10:46
               |
            10 |   three = ( [ :x | x + ] value. ( + ). { 1 + . 2 } )
               |                                              ^
        "#]],
    );
}

#[test]
fn a_missing_bracket_is_noticed_at_the_next_class() {
    check_mistakes(
        "class A = ()(
  class B = (
    | a = 1. |
  )(
    foo = ( ^ a )

  class C = ()(
    bar = ( ^ 3 + )
  )

  baz = ( ^ C new )
)",
        expect![[r#"
            error[unclosed-bracket]: this `(` is never closed
             --> test.ns:4:4
              |
            4 |   )(
              |    ^
              |
             ::: test.ns:7:3
              |
            7 |   class C = ()(
              |   ----- the next member begins here; `)` is missing

            error[unexpected-token]: expected an expression, found `)`
             --> test.ns:8:19
              |
            8 |     bar = ( ^ 3 + )
              |                   ^
        "#]],
    );
    check_mistakes(
        "class A = ()(
  class B = ()(
    foo = (
      ^ a
  ) : (
    new = ( ^ 3 )
  )
  class C = ()()
)",
        expect![[r#"
            error[unclosed-bracket]: this `(` is never closed
             --> test.ns:3:11
              |
            3 |     foo = (
              |           ^
              |
             ::: test.ns:5:3
              |
            5 |   ) : (
              |   - by its indentation, this closes something else; `)` is missing
        "#]],
    );
}

/// If brackets match, a strangely indented program is parsed by the grammar alone.
#[test]
fn indentation_alone_is_no_mistake() {
    check_mistakes(
        "class A = ()(
  foo = (
bar = ( 3 ) ifTrue: [
 ].
^ 1 +
  )
      baz = ()
)",
        expect![[r#"
            error[unexpected-token]: expected an expression, found `)`
             --> test.ns:6:3
              |
            6 |   )
              |   ^
        "#]],
    );
}

const TIDY: &str = "class Shapes usingPlatform: platform = Value (
  | private Array = platform kernel Array.
    count ::= 0. |
  self reset
)(
  public class Point x: ax y: ay = Value (
    | public x = ax.
      public y = ay. |
  )(
    public + other = (
      ^ Point x: x + other x y: y + other y
    )

    public isNear: other within: radius = (
      | dx dy |
      dx:: x - other x.
      dy:: y - other y.
      ^ (dx * dx) + (dy * dy) <= (radius * radius)
    )
  ) : (
    public origin = ( ^ self x: 0 y: 0 )
  )

  private reset = (
    count:: 0
  )

  public sum: points <Array[Point]> ^ <Point> = (
    | sum = Point origin. |
    points do: [ :each |
      each isNil
        ifTrue: [ self error: 'no point' ]
        ifFalse: [ sum:: sum + each. count:: count + 1 ] ].
    platform actors log <-: note: #sum: with: { sum. points }.
    ^ sum
  )
)
";

/// The words to remove, one at a time, and the errors that makes.
fn errors_without_each_token() -> Vec<usize> {
    let whole = source(TIDY);
    let tokens = tokenize(&whole).list;
    let errors_without = |token: &Token| {
        let mut text = TIDY.to_string();
        text.replace_range(token.span.range(), " ");
        let diagnostics = parse(&source(&text)).diagnostics;
        diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count()
    };
    tokens.iter().map(errors_without).collect()
}

#[test]
fn one_mistake_is_not_reported_as_many() {
    let counts = errors_without_each_token();
    let mistakes: Vec<usize> = counts.into_iter().filter(|&count| count > 0).collect();
    let sum: usize = mistakes.iter().sum();
    assert!(mistakes.iter().all(|&count| count <= 4), "{mistakes:?}");
    assert!(sum * 10 <= mistakes.len() * 13, "{sum} errors for {} mistakes", mistakes.len());
}
