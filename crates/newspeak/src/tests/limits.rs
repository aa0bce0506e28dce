//! Functions that do not fit the bytecode's limits: located errors, never a panic.

use expect_test::{Expect, expect};

use super::source;
use crate::diagnostics::render::{Colour, to_text};
use crate::lower::{CompileOptions, compile_source};

/// Compares the diagnostics of a class with these members, each source line cut to a few columns.
fn check(members: &str, expected: Expect) {
    let source = source(&format!("class T = ()(\n  small = ( ^ 1 )\n  {members}\n)"));
    let diagnostics = compile_source(&source, &CompileOptions::default())
        .err()
        .unwrap_or_else(|| panic!("{members} compiles"));
    let report = to_text(&source, &diagnostics, Colour::None);
    let cut = |line: &str| line.chars().take(58).collect::<String>().trim_end().to_owned() + "\n";
    expected.assert_eq(&report.lines().map(cut).collect::<String>());
}

fn repeated(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_message_with_too_many_arguments() {
    let message = repeated(300, |index| format!("k{index}: 1"));
    check(
        &format!("public large = ( ^ self {message} )"),
        expect![[r#"
        error[too-large]: `T>>large` is too large: it needs too ma
         --> test.ns:3:10
          |
        3 |   public large = ( ^ self k0: 1 k1: 1 k2: 1 k3: 1 k4:
          |          ^^^^^
          |
          = help: split it into several methods
    "#]],
    );
    let message = repeated(300, |index| format!("k{index}: x"));
    check(
        &format!("large = ( ^ [:x | self {message} ] )"),
        expect![[r#"
        error[too-large]: `block in T>>large` is too large: it nee
         --> test.ns:3:15
          |
        3 |   large = ( ^ [:x | self k0: x k1: x k2: x k3: x k4: x
          |               ^
          |
          = help: split it into several methods
    "#]],
    );
}

#[test]
fn too_many_parameters() {
    let pattern = repeated(260, |index| format!("k{index}: p{index}"));
    let block = repeated(260, |index| format!(":p{index}"));
    check(
        &format!("{pattern} = ( ^ 1 )"),
        expect![[r#"
        error[too-large]: `T>>k0:k1:k2:k3:k4:k5:k6:k7:k8:k9:k10:k1
         --> test.ns:3:3
          |
        3 |   k0: p0 k1: p1 k2: p2 k3: p3 k4: p4 k5: p5 k6: p6 k7:
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: split it into several methods
    "#]],
    );
    check(
        &format!("large = ( ^ [ {block} | 1 ] )"),
        expect![[r#"
        error[too-large]: `block in T>>large` is too large: it nee
         --> test.ns:3:15
          |
        3 |   large = ( ^ [ :p0 :p1 :p2 :p3 :p4 :p5 :p6 :p7 :p8 :p
          |               ^
          |
          = help: split it into several methods
    "#]],
    );
}

#[test]
fn too_many_mixins() {
    let mixins = repeated(300, |index| format!("<: M{index}"));
    check(
        &format!("foo = ( ^ objL Object {mixins} ()() )"),
        expect![[r#"
        error[too-large]: `T>>foo` is too large: it needs too many
         --> test.ns:3:3
          |
        3 |   foo = ( ^ objL Object <: M0 <: M1 <: M2 <: M3 <: M4
          |   ^^^
          |
          = help: split it into several methods
    "#]],
    );
}

#[test]
fn too_long_a_jump() {
    let statements = repeated(12_000, |_| "1 foo: 2.".to_owned());
    check(
        &format!("large = ( self isNil ifTrue: [ {statements} ]. ^ 0 )"),
        expect![[r#"
        error[too-large]: `T>>large` is too large: a jump would be
         --> test.ns:3:3
          |
        3 |   large = ( self isNil ifTrue: [ 1 foo: 2. 1 foo: 2. 1
          |   ^^^^^
          |
          = help: split it into several methods
    "#]],
    );
}

#[test]
fn too_many_variables() {
    let variables = |count| repeated(count, |index| format!("v{index}"));
    check(
        &format!("large = ( | {} | ^ v1 )", variables(2001)),
        expect![[r#"
            error[too-large]: `T>>large` is too large: it has more tha
             --> test.ns:3:3
              |
            3 |   large = ( | v0 v1 v2 v3 v4 v5 v6 v7 v8 v9 v10 v11 v1
              |   ^^^^^
              |
              = help: split it into several methods
        "#]],
    );
    let text = format!("class T = ()( most = ( | {} | ^ v1 ) )", variables(2000));
    assert!(compile_source(&source(&text), &CompileOptions::default()).is_ok());
}
