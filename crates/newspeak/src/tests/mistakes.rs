//! What the parser complains about.

use expect_test::{Expect, expect};

use super::{check_mistakes, module_with_body};

fn check(body: &str, expected: Expect) {
    check_mistakes(&module_with_body(body), expected);
}

#[test]
fn modules() {
    check_mistakes(
        "",
        expect![[r#"
        error[unexpected-token]: a module is one class, but here is the end of the file
         --> test.ns:1:1
          |
        1 |
          | ^
          |
          = help: begin with `class Name usingPlatform: platform = (`
    "#]],
    );
    check_mistakes(
        "foo",
        expect![[r#"
        error[unexpected-token]: a module is one class, but here is `foo`
         --> test.ns:1:1
          |
        1 | foo
          | ^^^
          |
          = help: begin with `class Name usingPlatform: platform = (`
    "#]],
    );
    check_mistakes(
        "public class A = ()()",
        expect![[r#"
        error[unexpected-token]: the class of a module has no access modifier
         --> test.ns:1:1
          |
        1 | public class A = ()()
          | ^^^^^^
    "#]],
    );
    check_mistakes(
        "class A = ()() class B = ()()",
        expect![[r#"
        error[text-after-module]: a module is one class, and it ended before this
         --> test.ns:1:16
          |
        1 | class A = ()() class B = ()()
          |                ^^^^^
          |
          = help: nest further classes inside the first
    "#]],
    );
    check_mistakes(
        "class A = ()())",
        expect![[r#"
        error[text-after-module]: a module is one class, and it ended before this
         --> test.ns:1:15
          |
        1 | class A = ()())
          |               ^
          |
          = help: there is a closing bracket too many, here or further up
    "#]],
    );
}

#[test]
fn class_heads() {
    check_mistakes(
        "class = ()()",
        expect![[r#"
        error[unexpected-token]: expected the name of the class, found `=`
         --> test.ns:1:7
          |
        1 | class = ()()
          |       ^
    "#]],
    );
    check_mistakes(
        "class A ()()",
        expect![[r#"
        error[unexpected-token]: expected `=` between the head of the class and its definition, found `(`
         --> test.ns:1:9
          |
        1 | class A ()()
          |         ^
    "#]],
    );
    check_mistakes(
        "class A = 3 ()()",
        expect![[r#"
        error[unexpected-token]: expected the name of a superclass or mixin, or `(`, found `3`
         --> test.ns:1:11
          |
        1 | class A = 3 ()()
          |           ^
    "#]],
    );
    check_mistakes(
        "class A x: = ()()",
        expect![[r#"
        error[unexpected-token]: expected the name of a parameter, found `=`
         --> test.ns:1:12
          |
        1 | class A x: = ()()
          |            ^
    "#]],
    );
    check_mistakes(
        "class A = B.",
        expect![[r#"
            error[unexpected-token]: expected the `(` before the slots of the class, found `.`
             --> test.ns:1:12
              |
            1 | class A = B.
              |            ^
              |
              = help: only a class with mixins can do without a body: write ()()
        "#]],
    );
    check_mistakes(
        "class A = B <: ()()",
        expect![[r#"
        error[unexpected-token]: expected the name of a superclass or mixin, or `(`, found `(`
         --> test.ns:1:16
          |
        1 | class A = B <: ()()
          |                ^
    "#]],
    );
    check_mistakes(
        "class A = ()",
        expect![[r#"
            error[unexpected-token]: expected the `(` before the members of the class, found the end of the file
             --> test.ns:1:13
              |
            1 | class A = ()
              |             ^
              |
              = help: a class has two pairs of parentheses, for its slots and for its classes and methods
        "#]],
    );
    check_mistakes(
        "class A = B + 1 ()()",
        expect![[r#"
        error[unexpected-token]: expected the `(` before the slots of the class, found `+`
         --> test.ns:1:13
          |
        1 | class A = B + 1 ()()
          |             ^
    "#]],
    );
    check_mistakes(
        "class A = outer ()()",
        expect![[r#"
        error[unexpected-token]: expected the name of an enclosing class, found `(`
         --> test.ns:1:17
          |
        1 | class A = outer ()()
          |                 ^
    "#]],
    );
}

#[test]
fn slots() {
    check_mistakes(
        "class A = (| a = 1 |)()",
        expect![[r#"
        error[missing-period]: an initialised declaration ends with a period, also before `|`
         --> test.ns:1:20
          |
        1 | class A = (| a = 1 |)()
          |                    ^
    "#]],
    );
    check_mistakes(
        "class A = (| a = 1. b )()",
        expect![[r#"
            error[unclosed-bracket]: expected `|` after the declarations, found `)`
             --> test.ns:1:23
              |
            1 | class A = (| a = 1. b )()
              |            -          ^
              |            |
              |            the declarations begin here
              |
              = help: an initialised declaration ends with a period, also before `|`
        "#]],
    );
    check_mistakes(
        "class A = (| a := 1. b:= 2. c:: 3. 4 d |)()",
        expect![[r#"
        error[smalltalk-assignment]: `:=` declares nothing
         --> test.ns:1:16
          |
        1 | class A = (| a := 1. b:= 2. c:: 3. 4 d |)()
          |                ^
          |
          = help: write `::=` for a variable and `=` for a constant

        error[smalltalk-assignment]: `:=` declares nothing
         --> test.ns:1:22
          |
        1 | class A = (| a := 1. b:= 2. c:: 3. 4 d |)()
          |                      ^^
          |
          = help: declare it by `b ::= …`

        error[unexpected-token]: expected the name of a slot, or `|`, found `c::`
         --> test.ns:1:29
          |
        1 | class A = (| a := 1. b:= 2. c:: 3. 4 d |)()
          |                             ^^^
          |
          = help: declare it by `c ::= …`

        error[unexpected-token]: expected the name of a slot, or `|`, found `4`
         --> test.ns:1:36
          |
        1 | class A = (| a := 1. b:= 2. c:: 3. 4 d |)()
          |                                    ^
          |
          = help: an initialised declaration ends with a period
    "#]],
    );
    check_mistakes(
        "class A = (| a = foo; bar. b = 2. |)()",
        expect![[r#"
        error[malformed-cascade]: a cascade continues a message to an explicit receiver
         --> test.ns:1:21
          |
        1 | class A = (| a = foo; bar. b = 2. |)()
          |                     ^
          |
          = help: write `receiver first; second`
    "#]],
    );
    check_mistakes(
        "class A = (|| a b ||)()",
        expect![[r#"
        error[simultaneous-slots]: slots between `||` and `||` are not supported
         --> test.ns:1:12
          |
        1 | class A = (|| a b ||)()
          |            ^^
          |
          = help: declare slots between `|` and `|`
    "#]],
    );
}

#[test]
fn locals() {
    check(
        "| a = 1 | ^ a",
        expect![[r#"
        error[missing-period]: an initialised declaration ends with a period, also before `|`
         --> test.ns:3:9
          |
        3 | | a = 1 | ^ a
          |         ^
    "#]],
    );
    check(
        "| a = 1 | a foo. ^ a",
        expect![[r#"
            error[unclosed-bracket]: expected `|` after the declarations, found `^`
             --> test.ns:3:18
              |
            3 | | a = 1 | a foo. ^ a
              | -                ^
              | |
              | the declarations begin here
              |
              = help: an initialised declaration ends with a period, also before `|`
        "#]],
    );
    check(
        "| a = [ x | ] | a foo. ^ a",
        expect![[r#"
            error[unexpected-token]: expected an expression, found `]`
             --> test.ns:3:13
              |
            3 | | a = [ x | ] | a foo. ^ a
              |             ^

            error[unclosed-bracket]: expected `|` after the declarations, found `^`
             --> test.ns:3:24
              |
            3 | | a = [ x | ] | a foo. ^ a
              | -                      ^
              | |
              | the declarations begin here
              |
              = help: an initialised declaration ends with a period, also before `|`
        "#]],
    );
}

#[test]
fn members() {
    check_mistakes(
        "class A = ()(\n foo ( 1 )\n bar: = ()\n + = ()\n baz = 3\n ok = ()\n)",
        expect![[r#"
            error[unexpected-token]: expected `=` between the method's pattern and its body, found `(`
             --> test.ns:2:6
              |
            2 |  foo ( 1 )
              |      ^

            error[unexpected-token]: expected the name of a parameter, found `=`
             --> test.ns:3:7
              |
            3 |  bar: = ()
              |       ^

            error[unexpected-token]: expected the name of a parameter, found `=`
             --> test.ns:4:4
              |
            4 |  + = ()
              |    ^

            error[unexpected-token]: expected the `(` before the method's body, found `3`
             --> test.ns:5:8
              |
            5 |  baz = 3
              |        ^
        "#]],
    );
    check_mistakes(
        "class A = ()(\n foo = ()\n class B = ()()\n) : (\n class C = ()()\n)",
        expect![[r#"
            error[misplaced-class]: nested classes come before the methods
             --> test.ns:3:2
              |
            3 |  class B = ()()
              |  ^^^^^

            error[misplaced-class]: the class side has methods only
             --> test.ns:5:2
              |
            5 |  class C = ()()
              |  ^^^^^
        "#]],
    );
    check_mistakes(
        "class A = ()(\n foo = ().\n bar = ()\n)",
        expect![[r#"
        error[unexpected-token]: expected the pattern of a method, found `.`
         --> test.ns:2:10
          |
        2 |  foo = ().
          |          ^
    "#]],
    );
}

#[test]
fn missing_periods() {
    check(
        "x:: 1\ny:: 2\n^ x",
        expect![[r#"
            error[missing-period]: expected a message or a period, found `y::`
             --> test.ns:4:1
              |
            4 | y:: 2
              | ^^^
              |
             ::: test.ns:3:6
              |
            3 | x:: 1
              |      - a period is missing here

            error[missing-period]: expected a message or a period, found `^`
             --> test.ns:5:1
              |
            5 | ^ x
              | ^
              |
             ::: test.ns:4:6
              |
            4 | y:: 2
              |      - a period is missing here
        "#]],
    );
    check(
        "foo: 1 'a'. foo 3",
        expect![[r#"
            error[missing-period]: expected a message or a period, found a string
             --> test.ns:3:8
              |
            3 | foo: 1 'a'. foo 3
              |       -^^^
              |       |
              |       a period is missing here

            error[missing-period]: expected a message or a period, found `3`
             --> test.ns:3:17
              |
            3 | foo: 1 'a'. foo 3
              |                -^
              |                |
              |                a period is missing here
        "#]],
    );
    check(
        "a\n[ b ] c",
        expect![[r#"
            error[missing-period]: expected a message or a period, found `[`
             --> test.ns:4:1
              |
            4 | [ b ] c
              | ^
              |
             ::: test.ns:3:2
              |
            3 | a
              |  - a period is missing here
        "#]],
    );
}

#[test]
fn periods_too_many() {
    check(
        ". a.. b",
        expect![[r#"
        error[empty-statement]: there is no statement before this period
         --> test.ns:3:1
          |
        3 | . a.. b
          | ^

        error[empty-statement]: there is no statement before this period
         --> test.ns:3:5
          |
        3 | . a.. b
          |     ^
    "#]],
    );
}

#[test]
fn returns() {
    check(
        "^ a. b. c",
        expect![[r#"
        error[text-after-return]: nothing can follow a return
         --> test.ns:3:6
          |
        3 | ^ a. b. c
          | ---  ^
          | |
          | the method returns here
    "#]],
    );
    check(
        "(^ a). a + ^ b. { ^ c }",
        expect![[r#"
        error[misplaced-return]: `^` begins a statement and cannot stand inside an expression
         --> test.ns:3:2
          |
        3 | (^ a). a + ^ b. { ^ c }
          |  ^

        error[misplaced-return]: `^` begins a statement and cannot stand inside an expression
         --> test.ns:3:12
          |
        3 | (^ a). a + ^ b. { ^ c }
          |            ^

        error[misplaced-return]: `^` begins a statement and cannot stand inside an expression
         --> test.ns:3:19
          |
        3 | (^ a). a + ^ b. { ^ c }
          |                   ^
    "#]],
    );
    check(
        "^",
        expect![[r#"
        error[unexpected-token]: expected an expression, found `)`
         --> test.ns:4:1
          |
        4 | ))
          | ^
    "#]],
    );
}

#[test]
fn smalltalk_habits() {
    check(
        "x := 3. y:= 4. z:=5. a b := c",
        expect![[r#"
        error[smalltalk-assignment]: `:=` assigns nothing
         --> test.ns:3:3
          |
        3 | x := 3. y:= 4. z:=5. a b := c
          |   ^
          |
          = help: assign by `x:: …`

        error[smalltalk-assignment]: `:=` assigns nothing
         --> test.ns:3:11
          |
        3 | x := 3. y:= 4. z:=5. a b := c
          |           ^
          |
          = help: assign by `y:: …`

        error[smalltalk-assignment]: `:=` assigns nothing
         --> test.ns:3:18
          |
        3 | x := 3. y:= 4. z:=5. a b := c
          |                  ^
          |
          = help: assign by `z:: …`

        error[smalltalk-assignment]: `:=` assigns nothing
         --> test.ns:3:26
          |
        3 | x := 3. y:= 4. z:=5. a b := c
          |                          ^
          |
          = help: assign by `b:: …`
    "#]],
    );
    check(
        "#(1 2 3) foo. #[1 2]. # foo",
        expect![[r#"
        error[literal-array]: there are no literal arrays
         --> test.ns:3:1
          |
        3 | #(1 2 3) foo. #[1 2]. # foo
          | ^
          |
          = help: write an array as { 1. 2. 3 }

        error[literal-array]: there are no literal arrays
         --> test.ns:3:15
          |
        3 | #(1 2 3) foo. #[1 2]. # foo
          |               ^
          |
          = help: write an array as { 1. 2. 3 }

        error[malformed-symbol]: a symbol is `#` directly before a name, keywords, an operator or a string
         --> test.ns:3:23
          |
        3 | #(1 2 3) foo. #[1 2]. # foo
          |                       ^
    "#]],
    );
    check(
        "a -1. a-1 foo. b + -1",
        expect![[r#"
        error[negative-numeral-after-operand]: `-1` is a number here, not a subtraction
         --> test.ns:3:3
          |
        3 | a -1. a-1 foo. b + -1
          |   ^^
          |
          = help: write a space: `- 1`

        error[negative-numeral-after-operand]: `-1` is a number here, not a subtraction
         --> test.ns:3:8
          |
        3 | a -1. a-1 foo. b + -1
          |        ^^
          |
          = help: write a space: `- 1`
    "#]],
    );
    check(
        "- x",
        expect![[r#"
        error[unexpected-token]: expected an expression, found `-`
         --> test.ns:3:1
          |
        3 | - x
          | ^
          |
          = help: there is no unary minus: negate by `0 - …` or write a number like -1
    "#]],
    );
    check(
        "x ::= 3",
        expect![[r#"
        error[misplaced-declaration]: `::=` stands only in declarations
         --> test.ns:3:3
          |
        3 | x ::= 3
          |   ^^^
          |
          = help: assign by `name:: value`
    "#]],
    );
}

#[test]
fn comparison_where_assignment_was_meant() {
    check(
        "x = 3. [ y = 4 ] value. ^ x",
        expect![[r#"
        warning[unused-comparison]: the result of this comparison is not used
         --> test.ns:3:1
          |
        3 | x = 3. [ y = 4 ] value. ^ x
          | ^^^^^
          |
          = help: to assign, write `x:: …`
    "#]],
    );
    check(
        "x = 3",
        expect![[r#"
        warning[unused-comparison]: the result of this comparison is not used
         --> test.ns:3:1
          |
        3 | x = 3
          | ^^^^^
          |
          = help: to assign, write `x:: …`
    "#]],
    );
}

#[test]
fn cascades() {
    check(
        "a; b. foo: 1; bar. a b; 3. a b; <-: c. a b; c d",
        expect![[r#"
            error[malformed-cascade]: a cascade continues a message to an explicit receiver
             --> test.ns:3:2
              |
            3 | a; b. foo: 1; bar. a b; 3. a b; <-: c. a b; c d
              |  ^
              |
              = help: write `receiver first; second`

            error[malformed-cascade]: a cascade continues a message to an explicit receiver
             --> test.ns:3:13
              |
            3 | a; b. foo: 1; bar. a b; 3. a b; <-: c. a b; c d
              |             ^
              |
              = help: write `receiver first; second`

            error[unexpected-token]: expected a message behind `;`, found `3`
             --> test.ns:3:25
              |
            3 | a; b. foo: 1; bar. a b; 3. a b; <-: c. a b; c d
              |                         ^

            error[unexpected-token]: expected a message behind `;`, found `<-:`
             --> test.ns:3:33
              |
            3 | a; b. foo: 1; bar. a b; 3. a b; <-: c. a b; c d
              |                                 ^^^
              |
              = help: only the first message of a cascade can be eventual

            error[missing-period]: expected a message or a period, found `d`
             --> test.ns:3:47
              |
            3 | a; b. foo: 1; bar. a b; 3. a b; <-: c. a b; c d
              |                                              -^
              |                                              |
              |                                              a period is missing here
        "#]],
    );
}

#[test]
fn eventual_sends() {
    check(
        "a <-: . a <-: 3. a foo: b <-: bar: c",
        expect![[r#"
        error[malformed-eventual-send]: no message follows `<-:`
         --> test.ns:3:3
          |
        3 | a <-: . a <-: 3. a foo: b <-: bar: c
          |   ^^^

        error[malformed-eventual-send]: no message follows `<-:`
         --> test.ns:3:11
          |
        3 | a <-: . a <-: 3. a foo: b <-: bar: c
          |           ^^^

        error[malformed-eventual-send]: an eventual keyword message cannot stand here
         --> test.ns:3:27
          |
        3 | a <-: . a <-: 3. a foo: b <-: bar: c
          |                           ^^^
          |
          = help: put parentheses around the receiver and its messages
    "#]],
    );
}

#[test]
fn operands() {
    check(
        "a + . a foo: . a + b: 1 + c: 2. a foo: x:: 3",
        expect![[r#"
        error[unexpected-token]: expected an expression, found `.`
         --> test.ns:3:5
          |
        3 | a + . a foo: . a + b: 1 + c: 2. a foo: x:: 3
          |     ^

        error[unexpected-token]: expected an expression, found `.`
         --> test.ns:3:14
          |
        3 | a + . a foo: . a + b: 1 + c: 2. a foo: x:: 3
          |              ^

        error[unexpected-token]: expected an expression, found the keyword `b:`
         --> test.ns:3:20
          |
        3 | a + . a foo: . a + b: 1 + c: 2. a foo: x:: 3
          |                    ^^
          |
          = help: a keyword message inside an operand needs parentheses

        error[unexpected-token]: expected an expression, found `x::`
         --> test.ns:3:40
          |
        3 | a + . a foo: . a + b: 1 + c: 2. a foo: x:: 3
          |                                        ^^^
          |
          = help: a setter send inside an operand needs parentheses
    "#]],
    );
    check(
        "foo: bar: 1. a foo: bar: 2",
        expect![[r#"
        error[unexpected-token]: expected an expression, found the keyword `bar:`
         --> test.ns:3:6
          |
        3 | foo: bar: 1. a foo: bar: 2
          |      ^^^^
          |
          = help: a keyword message inside an operand needs parentheses

        error[unexpected-token]: expected an expression, found the keyword `bar:`
         --> test.ns:3:21
          |
        3 | foo: bar: 1. a foo: bar: 2
          |                     ^^^^
          |
          = help: a keyword message inside an operand needs parentheses
    "#]],
    );
    check(
        "( ). (a. b)",
        expect![[r#"
        error[unexpected-token]: expected an expression, found `)`
         --> test.ns:3:3
          |
        3 | ( ). (a. b)
          |   ^

        error[unexpected-token]: expected `)`, found `.`
         --> test.ns:3:8
          |
        3 | ( ). (a. b)
          |      - ^
          |      |
          |      to close this `(`
          |
          = help: parentheses hold one expression; statements need a block [ ]
    "#]],
    );
    check(
        "outer foo: 3. outer",
        expect![[r#"
        error[unexpected-token]: expected the name of an enclosing class, found the keyword `foo:`
         --> test.ns:3:7
          |
        3 | outer foo: 3. outer
          |       ^^^^

        error[unexpected-token]: expected the name of an enclosing class, found `)`
         --> test.ns:4:1
          |
        4 | ))
          | ^
    "#]],
    );
}

#[test]
fn blocks() {
    check(
        "[ :x ]. [ :a b ]. [ : | ]. [ :a :b c | ]",
        expect![[r#"
        error[unexpected-token]: expected `|` after the block's parameters, found `]`
         --> test.ns:3:6
          |
        3 | [ :x ]. [ :a b ]. [ : | ]. [ :a :b c | ]
          |      ^

        error[unexpected-token]: expected `|` after the block's parameters, found `b`
         --> test.ns:3:14
          |
        3 | [ :x ]. [ :a b ]. [ : | ]. [ :a :b c | ]
          |              ^

        error[unexpected-token]: expected the name of a block parameter, found `|`
         --> test.ns:3:23
          |
        3 | [ :x ]. [ :a b ]. [ : | ]. [ :a :b c | ]
          |                       ^

        error[unexpected-token]: expected `|` after the block's parameters, found `c`
         --> test.ns:3:36
          |
        3 | [ :x ]. [ :a b ]. [ : | ]. [ :a :b c | ]
          |                                    ^
    "#]],
    );
}

#[test]
fn types() {
    for annotation in [
        "< >",
        "<A",
        "<A B[>",
        "<[:]>",
        "<A | >",
        "<3>",
        "<{A B. 3}>",
    ] {
        let text = format!("class T = ()(\n foo: a {annotation} = ( a )\n bar = ( ^ ) )");
        let diagnostics = super::parse(&super::source(&text)).diagnostics;
        assert_eq!(diagnostics[0].code.name(), "malformed-type", "{text}");
        assert_eq!(
            diagnostics.last().map(|d| d.span().start > 20),
            Some(true),
            "{text}"
        );
    }
    check_mistakes(
        "class T = ()( foo ^ Integer = () )",
        expect![[r#"
        error[malformed-type]: expected a type such as `<Integer>` in a type annotation, found `Integer`
         --> test.ns:1:21
          |
        1 | class T = ()( foo ^ Integer = () )
          |                     ^^^^^^^
    "#]],
    );
}

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

/// Where brackets match, a strangely indented program is taken by the book.
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
    let whole = super::source(TIDY);
    let tokens = crate::lexer::tokenize(&whole).list;
    let errors_without = |token: &crate::token::Token| {
        let mut text = TIDY.to_string();
        text.replace_range(token.span.range(), " ");
        let diagnostics = super::parse(&super::source(&text)).diagnostics;
        diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .count()
    };
    tokens.iter().map(errors_without).collect()
}

#[test]
fn one_mistake_is_not_reported_as_many() {
    let counts = errors_without_each_token();
    let mistakes: Vec<usize> = counts.into_iter().filter(|&count| count > 0).collect();
    let sum: usize = mistakes.iter().sum();
    assert!(mistakes.iter().all(|&count| count <= 4), "{mistakes:?}");
    assert!(
        sum * 10 <= mistakes.len() * 13,
        "{sum} errors for {} mistakes",
        mistakes.len()
    );
}
