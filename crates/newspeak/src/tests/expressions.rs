//! Trees of expressions.

use expect_test::expect;

use super::{check_bodies, tree};
use crate::ast::{ExpressionKind, Receiver};

#[test]
fn literals() {
    check_bodies(
        &[
            "1. -1. 16rFF. 1e1. -0.5. 123456789012345678901234567890",
            "'a'. 'it''s\\n'. \"c\". \"\"\"\"",
            "#a. #a:b:. #+. #'a b'. #'100'",
            "nil. true. false. self. super",
        ],
        expect![[r#"
            1. -1. 16rFF. 1e1. -0.5. 123456789012345678901234567890
                1 -1 255 10.0 -0.5 123456789012345678901234567890
            'a'. 'it''s\n'. "c". """"
                'a' 'it\'s\n' 'c' '\"'
            #a. #a:b:. #+. #'a b'. #'100'
                #a #a:b: #+ #'a b' #100
            nil. true. false. self. super
                nil true false self super
        "#]],
    );
}

#[test]
fn messages() {
    check_bodies(
        &[
            "a",
            "a b c",
            "a + b * c",
            "a b + c d * e f",
            "a at: 1 put: b + c",
            "a at: b c + d e put: f g",
            "at: 1 put: 2",
            "foo: a bar: 1",
            "a foo + b bar: c",
            "1even",
            "a < b. a || b. a | b. a = b c",
            "a class private public",
        ],
        expect![[r#"
            a
                a
            a b c
                (send a b c)
            a + b * c
                (send a (+ b) (* c))
            a b + c d * e f
                (send a b (+ (send c d)) (* (send e f)))
            a at: 1 put: b + c
                (send a (at: 1 put: (send b (+ c))))
            a at: b c + d e put: f g
                (send a (at: (send b c (+ (send d e))) put: (send f g)))
            at: 1 put: 2
                (send implicit (at: 1 put: 2))
            foo: a bar: 1
                (send implicit (foo: a bar: 1))
            a foo + b bar: c
                (send a foo (+ b) (bar: c))
            1even
                (send 1 even)
            a < b. a || b. a | b. a = b c
                (send a (< b)) (send a (|| b)) (send a (| b)) (send a (= (send b c)))
            a class private public
                (send a class private public)
        "#]],
    );
}

#[test]
fn receivers() {
    check_bodies(
        &[
            "self a. self a: 1. self + 1. self a b",
            "super a. super a: 1. super + 1. super a b",
            "outer A. outer A b. outer A b: 1. outer A + 1. outer A b c",
            "(self) a. (super) a. (outer A) b",
            "a nil. a self outer. a: self b: super c: outer D",
        ],
        expect![[r#"
            self a. self a: 1. self + 1. self a b
                (send self a) (send self (a: 1)) (send self (+ 1)) (send self a b)
            super a. super a: 1. super + 1. super a b
                (send super a) (send super (a: 1)) (send super (+ 1)) (send super a b)
            outer A. outer A b. outer A b: 1. outer A + 1. outer A b c
                (outer A)
                (send (outer A) b)
                (send (outer A) (b: 1))
                (send (outer A) (+ 1))
                (send (outer A) b c)
            (self) a. (super) a. (outer A) b
                (send self a) (send super a) (send (outer A) b)
            a nil. a self outer. a: self b: super c: outer D
                (send a nil)
                (send a self outer)
                (send implicit (a: self b: super c: (outer D)))
        "#]],
    );
}

#[test]
fn parentheses() {
    check_bodies(
        &["(a b) c. (a + b) * c. a + (b * c). ((a)). (a: 1) b. (a:: 1) b"],
        expect![[r#"
            (a b) c. (a + b) * c. a + (b * c). ((a)). (a: 1) b. (a:: 1) b
                (send a b c)
                (send a (+ b) (* c))
                (send a (+ (send b (* c))))
                a
                (send implicit (a: 1) b)
                (send (set a 1) b)
        "#]],
    );
}

#[test]
fn setter_sends() {
    check_bodies(
        &["a:: 1", "a:: b:: c d + e", "a:: b at: 1 put: 2", "a:: (b:: c) d", "^ a:: b"],
        expect![[r#"
            a:: 1
                (set a 1)
            a:: b:: c d + e
                (set a b (send c d (+ e)))
            a:: b at: 1 put: 2
                (set a (send b (at: 1 put: 2)))
            a:: (b:: c) d
                (set a (send (set b c) d))
            ^ a:: b
                (return (set a b))
        "#]],
    );
}

#[test]
fn eventual_sends() {
    check_bodies(
        &[
            "a <-: b",
            "a <-: b c",
            "a b <-: c d",
            "a <-: + b",
            "a + b <-: c",
            "a + b <-: + c",
            "a <-: at: 1 put: 2",
            "a b + c <-: at: 1",
            "a at: b <-: c",
            "a at: b <-: + c put: d",
            "a at: (b <-: at: c)",
            "self <-: a. super <-: a. (outer A) <-: b",
            "a <-: b; c; + d; e: f",
        ],
        expect![[r#"
            a <-: b
                (send a (<-: b))
            a <-: b c
                (send a (<-: b) c)
            a b <-: c d
                (send a b (<-: c) d)
            a <-: + b
                (send a (<-: + b))
            a + b <-: c
                (send a (+ (send b (<-: c))))
            a + b <-: + c
                (send a (+ b) (<-: + c))
            a <-: at: 1 put: 2
                (send a (<-: at: 1 put: 2))
            a b + c <-: at: 1
                (send a b (+ c) (<-: at: 1))
            a at: b <-: c
                (send a (at: (send b (<-: c))))
            a at: b <-: + c put: d
                (send a (at: (send b (<-: + c)) put: d))
            a at: (b <-: at: c)
                (send a (at: (send b (<-: at: c))))
            self <-: a. super <-: a. (outer A) <-: b
                (send self (<-: a)) (send super (<-: a)) (send (outer A) (<-: b))
            a <-: b; c; + d; e: f
                (cascade a (<-: b) c (+ d) (e: f))
        "#]],
    );
}

#[test]
fn cascades() {
    check_bodies(
        &[
            "a b; c",
            "a b; + c; d: e f: g + h",
            "a b c; d",
            "a + b * c; d",
            "a b: c; d",
            "self a; b",
            "super a; b",
            "(a b; c) d; e",
            "a:: b c; d",
            "{ a b; c. d }",
        ],
        expect![[r#"
            a b; c
                (cascade a b c)
            a b; + c; d: e f: g + h
                (cascade a b (+ c) (d: e f: (send g (+ h))))
            a b c; d
                (cascade (send a b) c d)
            a + b * c; d
                (cascade (send a (+ b)) (* c) d)
            a b: c; d
                (cascade a (b: c) d)
            self a; b
                (cascade self a b)
            super a; b
                (cascade super a b)
            (a b; c) d; e
                (cascade (cascade a b c) d e)
            a:: b c; d
                (set a (cascade b c d))
            { a b; c. d }
                (array (cascade a b c) d)
        "#]],
    );
}

#[test]
fn blocks() {
    check_bodies(
        &[
            "[]",
            "[ a ]",
            "[ a. b. ]",
            "[ ^ a ]",
            "[ :a | ]",
            "[ :a :b | a. ^ b. ]",
            "[ | x y = 1. | x ]",
            "[ :a | | x | a ]",
            "[ :a || x | a ]",
            "[ || a ]",
            "[ :a | || a ]",
            "[:a|a]",
            "[[[]]]",
        ],
        expect![[r#"
            []
                (block)
            [ a ]
                (block a)
            [ a. b. ]
                (block a b)
            [ ^ a ]
                (block (return a))
            [ :a | ]
                (block (parameters a))
            [ :a :b | a. ^ b. ]
                (block (parameters a b) a (return b))
            [ | x y = 1. | x ]
                (block (local x) (local y = 1) x)
            [ :a | | x | a ]
                (block (parameters a) (local x) a)
            [ :a || x | a ]
                (block (parameters a) (local x) a)
            [ || a ]
                (block a)
            [ :a | || a ]
                (block (parameters a) a)
            [:a|a]
                (block (parameters a) a)
            [[[]]]
                (block (block (block)))
        "#]],
    );
}

#[test]
fn arrays() {
    check_bodies(
        &["{}. {1}. {1.}. {1. a b. {}}"],
        expect![[r#"
        {}. {1}. {1.}. {1. a b. {}}
            (array) (array 1) (array 1) (array 1 (send a b) (array))
    "#]],
    );
}

#[test]
fn object_literals() {
    check_bodies(
        &[
            "objL ()()",
            "objL()() foo",
            "objL A ()( foo = ( ^ objL ()() ) )",
            "objL A new: 1 <: B ( | x = 1. | x foo )( class C = ()() public a = () ) : ( b = () )",
            "a + objL (||)() b: 1",
            "x:: objL A <: B. y",
        ],
        expect![[r#"
            objL ()()
                (object)
            objL()() foo
                (send (object) foo)
            objL A ()( foo = ( ^ objL ()() ) )
                (object (superclass A) (method protected (foo) (return (object))))
            objL A new: 1 <: B ( | x = 1. | x foo )( class C = ()() public a = () ) : ( b = () )
                (object
                  (superclass A (new: 1))
                  (mixin B)
                  (slot protected x = 1)
                  (initialize (send x foo))
                  (class protected C (factory new))
                  (method public (a))
                  (class-method protected (b)))
            a + objL (||)() b: 1
                (send a (+ (object)) (b: 1))
            x:: objL A <: B. y
                (set x (object (superclass A) (mixin B))) y
        "#]],
    );
}

#[test]
fn spans_cover_the_whole_phrase() {
    let text = "class A = ()(foo = ( ( aa bb ) + cc at: 'x'; dd ))";
    let ast = tree(text);
    let spans: Vec<&str> =
        ast.nodes.expressions.iter().map(|(_, node)| &text[node.span.range()]).collect();
    expect![[r#"
        [
            "aa",
            "( aa bb )",
            "cc",
            "( aa bb ) + cc",
            "'x'",
            "( aa bb ) + cc at: 'x'",
            "( aa bb ) + cc at: 'x'; dd",
        ]
    "#]]
    .assert_debug_eq(&spans);
    let messages: Vec<(&str, &str)> = ast
        .nodes
        .messages
        .iter()
        .map(|(_, node)| (&text[node.selector_span.range()], &text[node.span.range()]))
        .collect();
    expect![[r#"
        [
            (
                "aa",
                "aa",
            ),
            (
                "bb",
                "bb",
            ),
            (
                "cc",
                "cc",
            ),
            (
                "+",
                "+ cc",
            ),
            (
                "at:",
                "at: 'x'",
            ),
            (
                "dd",
                "dd",
            ),
        ]
    "#]]
    .assert_debug_eq(&messages);
}

#[test]
fn chains_are_found_from_the_inside_out() {
    let ast = tree("class A = ()(foo = ( ^ a b + c at: d ))");
    let method = &ast[ast[ast.module].methods[0]];
    let returned = method.body.returned.expect("a return").value;
    let (first, sends) = ast.chain(returned);
    assert!(matches!(ast[first].kind, ExpressionKind::Send { receiver: Receiver::Implicit, .. }));
    let selectors: Vec<&str> = sends
        .iter()
        .map(|&send| match ast[send].kind {
            ExpressionKind::Send { message, .. } => &ast[ast[message].selector],
            _ => "no send",
        })
        .collect();
    assert_eq!(selectors, ["b", "+", "at:"]);
}
