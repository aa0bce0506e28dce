//! The parser's complaints about statements and expressions.

use expect_test::expect;

use super::check;

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
              |                neither a message nor the end of the statement
              |
              = help: a message with an argument is a keyword: `foo: 3`
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

            error[unexpected-token]: expected a message after `;`, found `3`
             --> test.ns:3:25
              |
            3 | a; b. foo: 1; bar. a b; 3. a b; <-: c. a b; c d
              |                         ^
              |
              = help: a period ends a statement, not a semicolon

            error[unexpected-token]: expected a message after `;`, found `<-:`
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
              |                                              neither a message nor the end of the statement
              |
              = help: a message with an argument is a keyword: `c: d`
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
              |
              = help: the keyword before it has no argument

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
              = help: the keyword before it has no argument

            error[unexpected-token]: expected an expression, found the keyword `bar:`
             --> test.ns:3:21
              |
            3 | foo: bar: 1. a foo: bar: 2
              |                     ^^^^
              |
              = help: the keyword before it has no argument
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
              |
              = help: a message without arguments has no parentheses: `object message`

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
