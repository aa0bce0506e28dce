//! The parser's complaints about declarations.

use expect_test::expect;

use super::check;
use crate::parser::parse;
use crate::tests::{check_mistakes, source};

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
              |
              = help: write `class Name = Superclass ( | slots | ) ( methods )`
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
              |
              = help: write `foo = ( … )`

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
              |
              = help: a method's body stands in parentheses: `name = ( … )`
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
fn types() {
    for annotation in ["< >", "<A", "<A B[>", "<[:]>", "<A | >", "<3>", "<{A B. 3}>"] {
        let text = format!("class T = ()(\n foo: a {annotation} = ( a )\n bar = ( ^ ) )");
        let diagnostics = parse(&source(&text)).diagnostics;
        assert_eq!(diagnostics[0].code.name(), "malformed-type", "{text}");
        assert_eq!(diagnostics.last().map(|d| d.span().start > 20), Some(true), "{text}");
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
