//! Trees of modules, classes, slots and methods.

use expect_test::expect;

use super::check_tree;

#[test]
fn smallest_module() {
    check_tree(
        "class A = ()()",
        expect![[r#"
        (class public A (factory new))
    "#]],
    );
    check_tree(
        "Newspeak3 'category' (* comment *) class A = () () : ()",
        expect![[r#"
            (class public A (factory new))
        "#]],
    );
}

#[test]
fn factory_patterns() {
    check_tree(
        "class A = ()()",
        expect![[r#"
        (class public A (factory new))
    "#]],
    );
    check_tree(
        "class A create = ()()",
        expect![[r#"
        (class public A (factory create))
    "#]],
    );
    check_tree(
        "class A x: ax y: ay = ()()",
        expect![[r#"
        (class public A (factory x: ax y: ay))
    "#]],
    );
}

#[test]
fn superclasses() {
    check_tree(
        "class M = ()(
            class A = B ()()
            class A = B new ()()
            class A = B x: 1 + 2 y: z foo ()()
            class A = self B ()()
            class A = super B foo ()()
            class A = outer M ()()
            class A = outer M B ()()
            class A = outer M B foo ()()
            class A = outer M B foo: [ ] ()()
        )",
        expect![[r#"
            (class public M (factory new)
              (class protected A (factory new) (superclass B))
              (class protected A (factory new) (superclass B new))
              (class protected A (factory new) (superclass B (x: (send 1 (+ 2)) y: (send z foo))))
              (class protected A (factory new) (superclass (send self B)))
              (class protected A (factory new) (superclass (send super B) foo))
              (class protected A (factory new) (superclass (outer M)))
              (class protected A (factory new) (superclass (send (outer M) B)))
              (class protected A (factory new) (superclass (send (outer M) B) foo))
              (class protected A (factory new) (superclass (send (outer M) B) (foo: (block)))))
        "#]],
    );
}

#[test]
fn mixins() {
    check_tree(
        "class M = ()(
            class A = B <: C ()()
            class A = B <: C.
            class A = B new: 1 <: C foo <: outer M D c: 2 ()(foo = ())
            class A = Object <: C <: D.
            foo = ( ^ objL B <: C. )
        )",
        expect![[r#"
            (class public M (factory new)
              (class protected A (factory new) (superclass B) (mixin C))
              (class protected A (factory new) (superclass B) (mixin C))
              (class protected A (factory new)
                (superclass B (new: 1))
                (mixin C foo)
                (mixin (send (outer M) D) (c: 2))
                (method protected (foo)))
              (class protected A (factory new) (superclass Object) (mixin C) (mixin D))
              (method protected (foo) (return (object (superclass B) (mixin C)))))
        "#]],
    );
}

#[test]
fn slots() {
    check_tree(
        "class A = (
            | a private b protected c public d
              e = 1. private f ::= 2 + 3. public g = h:: 4.
              class private class = 5. |
        )()",
        expect![[r#"
            (class public A (factory new)
              (slot protected a)
              (slot private b)
              (slot protected c)
              (slot public d)
              (slot protected e = 1)
              (slot private f ::= (send 2 (+ 3)))
              (slot public g = (set h 4))
              (slot protected class)
              (slot private class = 5))
        "#]],
    );
    check_tree(
        "class A = (||)()",
        expect![[r#"
        (class public A (factory new))
    "#]],
    );
    check_tree(
        "class A = (| |)()",
        expect![[r#"
        (class public A (factory new))
    "#]],
    );
}

#[test]
fn initializers() {
    check_tree(
        "class A = ( | a = 1. | foo. self bar: a. )()",
        expect![[r#"
        (class public A (factory new)
          (slot protected a = 1)
          (initialize foo)
          (initialize (send self (bar: a))))
    "#]],
    );
    check_tree(
        "class A = ( self signal )()",
        expect![[r#"
        (class public A (factory new) (initialize (send self signal)))
    "#]],
    );
}

#[test]
fn members() {
    check_tree(
        "class A = ()(
            private class B = ()()
            public class C = ()(class D = ()())
            unary = ()
            private + other = ()
            public = other = ()
            | other = ()
            || other = ()
            < other = ()
            protected at: index put: value = ()
            class = ()
            outer = ()
        ) : (
            public new = ( ^ super new )
            with: a = ()
        )",
        expect![[r#"
            (class public A (factory new)
              (class private B (factory new))
              (class public C (factory new) (class protected D (factory new)))
              (method protected (unary))
              (method private (+ other))
              (method public (= other))
              (method protected (| other))
              (method protected (|| other))
              (method protected (< other))
              (method protected (at: index put: value))
              (method protected (class))
              (method protected (outer))
              (class-method public (new) (return (send super new)))
              (class-method protected (with: a)))
        "#]],
    );
}

#[test]
fn bodies() {
    check_tree(
        "class A = ()(
            a = ()
            b = (||)
            c = (| x y = 1. z ::= 2. w | x. y. )
            d = ( ^ self )
            e = ( a. b. ^ c. )
            f = ( (* empty *) )
        )",
        expect![[r#"
            (class public A (factory new)
              (method protected (a))
              (method protected (b))
              (method protected (c) (local x) (local y = 1) (local z ::= 2) (local w) x y)
              (method protected (d) (return self))
              (method protected (e) a b (return c))
              (method protected (f)))
        "#]],
    );
}
