//! The assembler: every item, every operand, and located errors.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::disassembler::disassemble;
use crate::testing::seeds::SUM;

fn check_errors(text: &str, expected: Expect) {
    let problems = assemble(text).expect_err("the text is wrong");
    expected.assert_eq(&problems.iter().map(|problem| format!("{problem}\n")).collect::<String>());
}

/// Assembles a function with this body.
fn check_body(body: &str, expected: Expect) {
    check_errors(&format!("method fn0 \"f\" (0) {{\nregisters any*4\n{body}\n}}"), expected);
}

/// Assembles and disassembles a text.
fn check_normal_form(text: &str, expected: Expect) {
    let normal = match assemble(text) {
        Ok(module) => disassemble(&module),
        Err(problems) => panic!("{}", problems[0]),
    };
    expected.assert_eq(&normal);
    assert_eq!(assemble(&normal).map(|module| disassemble(&module)), Ok(normal));
}

#[test]
fn the_normal_form_of_a_module() {
    check_normal_form(
        SUM,
        expect![[r#"
        path "examples/sum.ns"
        main class0

        class class0 "Sum" public {
            position 1:7
            accessor fn0
            factory fn1 "new"
            initializer fn2
            own_initializer fn3
            slot "total" public mutable
            method "upTo:" public fn4
            method "each:" private fn6
        }

        method fn0 "Sum" (0) {
            registers any*5
            move               r1, r0
            load_special       r2, nil
            send0              r3, r0, r4, lexical "Object"
            make_class         r1, r1, 3, class0  ; Sum
            return             r1
        }

        method fn1 "new" (0) {
            registers any*4
            instantiate        r1, r0
            send0              r2, r1, r3, initializer class0 "new"
            check_value        r1
            return             r1
        }

        method fn2 "initialize Sum" (0) {
            registers any*4
            send0              r1, r0, r3, super_initializer class0 "new"
            send0              r1, r0, r3, own_initializer class0 "new"
            return             r0
        }

        method fn3 "initialize own Sum" (0) {
            registers any*2
            load_integer       r1, 0
            initialize_slot    r0, r1, slot class0 "total"
            return             r0
        }

        method fn4 "upTo:" (1) {
            registers any*9
            load_integer       r2, 1
            move               r3, r1
            for_enter          r2, r3, 1, L1, L2
        L0:
            at 4:30
            send0              r4, r0, r7, lexical "total"
            send1              r4, r4, r2, r7, "+"
            at 4:22
            send1              r4, r0, r4, r6, lexical "total:"
            for_loop           r2, r3, 1, L0
        L1:
            return             r0
        L2:
            make_closure       r3, r0, 1, fn5  ; block in upTo:
            move               r5, r2
            move               r6, r1
            move               r7, r3
            send               r4, r5, 3, "to:do:"
            return             r0
        }

        block fn5 "block in upTo:" (1) captures 1 {
            registers any*7
            load_captured      r2, 0
            send0              r3, r2, r5, lexical "total"
            send1              r3, r3, r1, r5, "+"
            send1              r3, r2, r3, r5, lexical "total:"
            return             r3
        }

        method fn6 "each:" (1) {
            registers any*7
            catch r2 into r3 from L0 to L1 handler L2
            ensure into r4 from L0 to L1 handler L3
            send0              r2, r0, r6, lexical "Error"
        L0:
            send0              r5, r1, r6, "value"
        L1:
            load_special       r4, nil
            jump               L3
        L2:
            move               r5, r3
            load_special       r4, nil
        L3:
            resume_unwind      r4
            return             r0
        }

        function fn7 "count" (1) -> i64 {
            registers i64*3, bool
            load_raw           r1, i64 0
            load_raw           r2, i64 1
            jump               L0
        L0:
            lt                 r3, r1, r0
            jump_unless        r3, L1
            add                r1, r1, r2
            loop               L0
        L1:
            return             r1
        }
    "#]],
    );
}

#[test]
fn constants_sites_and_strings_in_unusual_order() {
    check_normal_form(
        "strings {\n\"unused\"\n\"twice\"\n\"twice\"\n}
        method fn0 \"f\" (0) {
            k0 = 1.0
            k1 = double 0x7ff8000000000001
            k2 = string str2
            k3 = #\"twice\"
            k4 = string str77
            k5 = i64 -1
            k6 = bool 0x7
            k7 = f32 1.5
            k8 = f32 0x7f800000
            k9 = any 0x1
            k10 = 1
            k11 = 1
            site0 = private class3 class \"a\"
            site1 = mixin_initializer class0 7 \"new\"
            load_constant r0, k9
        }",
        expect![[r#"
            method fn0 "f" (0) {
                k0 = 1.0
                k1 = double 0x7ff8000000000001
                k2 = string str2
                k3 = #"twice"
                k4 = string str77
                k5 = i64 -1
                k6 = bool 0x7
                k7 = f32 1.5
                k8 = f32 0x7f800000
                k9 = any 0x1
                k10 = 1
                k11 = 1
                site0 = private class3 class "a"
                site1 = mixin_initializer class0 7 "new"
                load_constant      r0, k9
            }

            strings {
                "unused"
                "twice"
                "twice"
                "f"
                "a"
                "new"
            }
        "#]],
    );
}

#[test]
fn words_that_are_no_instructions() {
    check_normal_form(
        "function fn0 \"f\" (0) captures 65535 -> f64 {
            catch r255 into r0 from @1 to b handler @77
            at @1 3:4
            at @0 1:2
            jump b
            word 0xffffffff
            word 0x01000028
            b:
            jump @-12
            branch_true r1, @99, b
            load_special r1, 200
        }",
        expect![[r#"
            function fn0 "f" (0) captures 65535 -> f64 {
                catch r255 into r0 from L0 to L1 handler @77
                at @1 3:4
                at @0 1:2
                jump               L1
            L0:
                word 0xffffffff
                word 0x01000028
            L1:
                jump               @-12
                branch_true        r1, @99, L1
                load_special       r1, 200
            }
        "#]],
    );
}

#[test]
fn in_place_constants_are_shared() {
    check_normal_form(
        "function $f \"f\" (0) {
            registers any*2
            load_constant r0, 1
            load_constant r1, 1.0
            load_constant r0, 1
            load_constant r0, -0.0
            load_constant r0, 0.0
            load_constant r0, \"one\"
            load_constant r0, #\"one\"
            load_constant r0, -123456789012345678901234567890
            make_closure r0, r0, 0, $f
        }",
        expect![[r#"
            function fn0 "f" (0) {
                registers any*2
                load_constant      r0, 1
                load_constant      r1, 1.0
                load_constant      r0, 1
                load_constant      r0, -0.0
                load_constant      r0, 0.0
                load_constant      r0, "one"
                load_constant      r0, #"one"
                load_constant      r0, -123456789012345678901234567890
                make_closure       r0, r0, 0, fn0  ; f
            }
        "#]],
    );
}

#[test]
fn long_integers_are_hexadecimal() {
    let digits = "f".repeat(300);
    let text = format!("function fn0 \"f\" (0) {{\n load_constant r0, -0x{digits}\n}}");
    let normal = disassemble(&assemble(&text).unwrap());
    assert!(normal.contains(&format!("-0x{digits}")), "{normal}");
}

#[test]
fn errors_in_tokens() {
    check_errors(
        "path \"abc",
        expect![[r#"
        1:6: the text has no end (a quote is missing)
    "#]],
    );
    check_errors(
        "path \"a\\q\"",
        expect![[r#"
        1:8: there is no such escape; write one of \n \r \t \0 \" \\ \u{1f600}
    "#]],
    );
    check_errors(
        "path \"a\\u{110000}\"",
        expect![[r#"
        1:8: this is no character code
    "#]],
    );
    check_errors(
        "path \"ü\" ?",
        expect![[r#"
        1:10: '?' cannot stand here
    "#]],
    );
}

#[test]
fn errors_in_items() {
    check_errors(
        "foo",
        expect![[r#"
            1:1: expected an item of a module (not `foo`); one of: path, main, module, strings, type, import, export, class, method, block, function, process
        "#]],
    );
    check_errors(
        "path",
        expect![[r#"
        1:5: expected a text (the line ends here)
    "#]],
    );
    check_errors(
        "path 7",
        expect![[r#"
        1:6: expected a text (not `7`)
    "#]],
    );
    check_errors(
        "path \"a\" \"b\"",
        expect![[r#"
        1:10: expected the end of the line (not a text)
    "#]],
    );
    check_errors(
        "main $Foo",
        expect![[r#"
        1:6: there is no class `$Foo`
    "#]],
    );
    check_errors(
        "strings {\nfoo\n}",
        expect![[r#"
        2:1: expected a text (not `foo`)
    "#]],
    );
    check_errors(
        "method fn1 \"f\" (0) {\n}",
        expect![[r#"
        1:8: expected `fn0` (not `fn1`); number the items in order, or use `$name`
    "#]],
    );
    check_errors(
        "method $f \"f\" (0) {\n}\nblock $f \"f\" (0) {\n}",
        expect![[r#"
        3:7: `$f` is declared twice
    "#]],
    );
    check_errors(
        "method fn0 \"f\" (0) {\nreturn r0",
        expect![[r#"
        1:1: this `method` has no end (the closing brace is missing)
    "#]],
    );
    check_errors(
        "method fn0 \"f\" (256) {\n}",
        expect![[r#"
        1:17: 256 is no possible number of parameters
    "#]],
    );
    check_errors(
        "method fn0 \"f\" (0) -> i33 {\n}",
        expect![[r#"
            1:23: expected a type (not `i33`); one of: tuple, list, map, channel, reader, writer, barrier, bucket, function, process
        "#]],
    );
    check_errors(
        "method fn0 \"f\" (0)",
        expect![[r#"
        1:19: expected `{` (the line ends here)
    "#]],
    );
    check_errors(
        "}",
        expect![[r#"
            1:1: expected an item of a module (not `}`); one of: path, main, module, strings, type, import, export, class, method, block, function, process
        "#]],
    );
    check_errors(
        "class class0 \"C\" public {\nfactory fn0 \"new\"\ninitializer fn0\n}",
        expect![[r#"
        1:1: this class is not complete (missing: own_initializer)
    "#]],
    );
    check_errors(
        "class class0 \"C\" secret {\n}",
        expect![[r#"
        1:18: expected a visibility (not `secret`); one of: private, protected, public
    "#]],
    );
    check_errors(
        "class class0 \"C\" public {\nslots \"a\"\nposition 3\n}",
        expect![[r#"
        1:1: this class is not complete (missing: factory, initializer, own_initializer)
        2:1: expected a part of a class (not `slots`); one of: outer, position, accessor, factory, initializer, own_initializer, slot, nested, method, class_method
        3:11: expected `:` (the line ends here)
    "#]],
    );
}

#[test]
fn errors_in_bodies() {
    check_body(
        "mov r0, r1",
        expect![[r#"
        3:1: there is no instruction `mov`; did you mean `move`?
    "#]],
    );
    check_body(
        "frobnicate r0",
        expect![[r#"
        3:1: there is no instruction `frobnicate`
    "#]],
    );
    check_body(
        "move r0",
        expect![[r#"
        3:8: expected `,` (the line ends here)
    "#]],
    );
    check_body(
        "move r0, r1, r2",
        expect![[r#"
        3:12: expected the end of the line (not `,`)
    "#]],
    );
    check_body(
        "move r0, r256",
        expect![[r#"
        3:10: expected a register up to r255 (not `r256`)
    "#]],
    );
    check_body(
        "move r0, r01",
        expect![[r#"
        3:10: expected a register (not `r01`)
    "#]],
    );
    check_body(
        "move r0, total",
        expect![[r#"
        3:10: expected a register (not `total`)
    "#]],
    );
    check_body(
        "load_integer r0, 32768\nload_integer r0, -32769",
        expect![[r#"
        3:18: the value of `load_integer` cannot be 32768
        4:18: the value of `load_integer` cannot be -32769
    "#]],
    );
    check_body(
        "load_integer r0, 1.5",
        expect![[r#"
        3:18: 1.5 is no possible value
    "#]],
    );
    check_body(
        "load_special r0, null",
        expect![[r#"
        3:18: expected a special (not `null`); one of: nil, false, true
    "#]],
    );
    check_body(
        "jump nowhere",
        expect![[r#"
        3:6: there is no label `nowhere`
    "#]],
    );
    check_body(
        "here:\nhere:\njump here",
        expect![[r#"
        4:1: the label `here` is defined twice
    "#]],
    );
    check_body(
        "jump @99999999",
        expect![[r#"
        3:6: the target is too far away
    "#]],
    );
    check_body(
        "send0 r0, r1, r2, sideways \"foo\"",
        expect![[r#"
        3:19: expected a site (not `sideways`); one of: public, lexical, private, super, initializer, own_initializer, super_initializer, mixin_initializer, enclosing, captures, slot, class_slot
    "#]],
    );
    check_body(
        "load_constant r0, i8 128",
        expect![[r#"
        3:22: this is no value of type `i8`
    "#]],
    );
    check_body(
        "load_constant r0, 12x",
        expect![[r#"
        3:19: 12x is no number
    "#]],
    );
    check_body(
        "load_constant r0, foo",
        expect![[r#"
        3:19: expected a constant (not `foo`)
    "#]],
    );
    check_body(
        "k1 = 5",
        expect![[r#"
        3:1: the next number is 0
    "#]],
    );
    check_body(
        "registers any*253",
        expect![[r#"
        3:11: there are more than 256 registers
    "#]],
    );
    check_body(
        "catch r1 into r2 from a to b",
        expect![[r#"
        3:29: expected `handler` (the line ends here)
    "#]],
    );
    check_body(
        "ensure into r2 from a to @4294967296 handler @0\na:",
        expect![[r#"
        3:26: there can be no such word
    "#]],
    );
    check_body(
        "make_closure r0, r0, 256, fn0",
        expect![[r#"
        3:22: the count of `make_closure` cannot be 256
    "#]],
    );
    check_body(
        "at 1",
        expect![[r#"
        3:5: expected `:` (the line ends here)
    "#]],
    );
    check_body(
        "word 0x123456789",
        expect![[r#"
        3:6: 0x123456789 is no possible word
    "#]],
    );
    check_body(
        &format!("load_constant r0, {}", "9".repeat(1001)),
        expect![[r#"
        3:19: this number has too many digits; write it in hexadecimal, with `0x`
    "#]],
    );
}

#[test]
fn only_the_first_problems_are_reported() {
    let problems = assemble(&"foo\n".repeat(1000)).unwrap_err();
    assert_eq!(problems.len(), Diagnostic::MOST);
    assert_eq!(problems[19].span, Span { line: 20, column: 1, length: 3 });
}

#[test]
fn spans_count_characters() {
    let problems = assemble("path \"äöü\" \"x\"").unwrap_err();
    assert_eq!(problems[0].span, Span { line: 1, column: 12, length: 3 });
}

proptest! {
    #[test]
    fn any_text_is_safe(text: String) {
        let _ = assemble(&text);
    }

    #[test]
    fn damaged_texts_are_safe(place: prop::sample::Index, length in 0usize..20, insert in "[ -~\n]{0,10}") {
        let start = place.index(SUM.len());
        let end = (start + length).min(SUM.len());
        let text = format!("{}{insert}{}", &SUM[..start], &SUM[end..]);
        if let Ok(module) = assemble(&text) {
            prop_assert_eq!(assemble(&disassemble(&module)), Ok(module));
        }
    }
}
