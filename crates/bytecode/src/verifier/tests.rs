//! One test per property, with modules that break it; and modules that have all properties.

use expect_test::{Expect, expect};

use super::*;
use crate::testing::seeds::{SUM, module};

mod hostile;
mod machine;
mod manual;

fn errors(module: &Module, trust: Trust) -> String {
    let errors = verify(module, trust).err().unwrap_or_default();
    errors.iter().map(|error| format!("{error}\n")).collect()
}

/// Verifies a module.
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&errors(&module(text), Trust::Untrusted));
}

/// Verifies a module whose first function is a method with one argument and this body.
fn check_method(body: &str, expected: Expect) {
    let others = "
        block fn1 \"block\" (0) captures 2 {\n registers any*2\n load_captured r1, 1\n return r1\n }
        function fn2 \"typed\" (2) -> bool {\n registers i64*2, bool\n lt r2, r0, r1\n return r2\n }";
    check(
        &format!("method fn0 \"test:\" (1) {{\n registers any*8\n {body}\n }}\n{others}"),
        expected,
    );
}

/// Verifies a module whose first function is a block function with one argument and this body.
fn check_block(body: &str, expected: Expect) {
    check(
        &format!("block fn0 \"block\" (1) captures 1 {{\n registers any*6\n {body}\n }}"),
        expected,
    );
}

/// Verifies a change to a correct module.
fn check_change(change: impl FnOnce(&mut Module), expected: Expect) {
    let mut module = module(SUM);
    change(&mut module);
    expected.assert_eq(&errors(&module, Trust::Untrusted));
}

/// Verifies a correct module with one part of its text replaced.
fn check_replaced(old: &str, new: &str, expected: Expect) {
    assert!(SUM.contains(old), "{old}");
    check(&SUM.replacen(old, new, 1), expected);
}

#[test]
fn correct_modules() {
    check("", expect![""]);
    check(SUM, expect![""]);
    check_method("return r0", expect![""]);
    check_block("return r0", expect![""]);
}

#[test]
fn property_1_indices_name_something() {
    check(
        "strings {\n \"a\"\n \"b\"\n \"a\"\n }",
        expect![[r#"
        module: str2 is the same string as str0
    "#]],
    );
    check(
        "path str7",
        expect![[r#"
        module: the path is str7, which does not exist
    "#]],
    );
    check(
        "main class7",
        expect![[r#"
        module: the main class class7 does not exist
    "#]],
    );
    check(
        "function str9 (0) {\n registers any\n load_special r0, nil\n return r0\n }"
            .replacen("function", "function fn0", 1)
            .as_str(),
        expect![[r#"
        fn0 ``: the name str9 does not exist
    "#]],
    );
    check_method(
        "load_constant r1, k3\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `load_constant`: constant 3 does not exist
    "#]],
    );
    check_method(
        "send0 r1, r0, r3, site3\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send0`: site 3 does not exist
    "#]],
    );
    check_method(
        "make_closure r1, r0, 2, fn9\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `make_closure`: function 9 does not exist
    "#]],
    );
    check_method(
        "call r1, r2, 0, fn9\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `call`: function 9 does not exist
    "#]],
    );
    check_method(
        "move r2, r0\n move r3, r0\n move r4, r0\n make_class r1, r2, 3, class9\n return r1",
        expect![[r#"
        fn0 `test:` at pc 3: `make_class`: class 9 does not exist
    "#]],
    );
    check_method(
        "load_special r1, 3\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `load_special`: value 3 does not exist
    "#]],
    );
    check_method(
        "k0 = string str99\n load_constant r1, k0\n return r1",
        expect![[r#"
        fn0 `test:`: k0 is str99, which does not exist
    "#]],
    );
    check_method(
        "send0 r1, r0, r3, str99\n return r1",
        expect![[r#"
        fn0 `test:`: site0 names str99, which does not exist or is empty
    "#]],
    );
    check_method(
        "send0 r1, r0, r3, super class4 instance \"foo\"\n return r1",
        expect![[r#"
        fn0 `test:`: site0 names class4, which does not exist
    "#]],
    );
    check_change(
        |module| module.classes[0].name = StringId(99),
        expect![[r#"
        class0 ``: the name str99 does not exist
    "#]],
    );
    check_change(
        |module| module.classes[0].outer = Some(ClassId(99)),
        expect![[r#"
        class0 `Sum`: the main class has an outer class
        class0 `Sum`: the outer class class99 does not exist
    "#]],
    );
    check_change(
        |module| module.classes[0].nested.push(ClassId(99)),
        expect![[r#"
        class0 `Sum`: the class lists class99 as nested, which does not exist
    "#]],
    );
    check_change(
        |module| module.classes[0].factory = FunctionId(99),
        expect![[r#"
        class0 `Sum`: the primary factory fn99 does not exist
    "#]],
    );
    check_change(
        |module| module.classes[0].methods[0].selector = StringId(99),
        expect![[r#"
        class0 `Sum`: the selector str99 of a method does not exist or is empty
    "#]],
    );
    check_change(
        |module| module.classes[0].slots[0].name = StringId(99),
        expect![[r#"
        class0 `Sum`: the name `` of a slot is no unary selector
        fn3 `initialize own Sum`: site0: class0 declares no slot `total`
    "#]],
    );
}

#[test]
fn property_2_the_main_class() {
    check_change(
        |module| module.classes[0].accessor = None,
        expect![[r#"
        class0 `Sum`: the main class has no accessor
    "#]],
    );
    check_change(
        |module| {
            module.classes.push(module.classes[0].clone());
            module.classes[1].nested.push(ClassId(0));
            module.classes[0].outer = Some(ClassId(1));
        },
        expect![[r#"
            class0 `Sum`: the main class has an outer class
        "#]],
    );
}

#[test]
fn property_3_nesting_of_classes() {
    let nest = |outers: &'static [Option<u32>], nested: &'static [&'static [u32]]| {
        move |module: &mut Module| {
            module.main_class = None;
            module.classes = vec![module.classes[0].clone(); outers.len()];
            for (class, (outer, nested)) in module.classes.iter_mut().zip(outers.iter().zip(nested))
            {
                class.outer = outer.map(ClassId);
                class.nested = nested.iter().copied().map(ClassId).collect();
                class.slots.clear();
                class.methods.clear();
            }
            module.functions.truncate(3);
            module.classes.iter_mut().for_each(|class| class.own_initializer = FunctionId(2));
        }
    };
    check_change(nest(&[None, Some(0), Some(1)], &[&[1], &[2], &[]]), expect![[""]]);
    check_change(
        nest(&[Some(0)], &[&[0]]),
        expect![[r#"
        class0 `Sum`: the class is its own outer class, or theirs
    "#]],
    );
    check_change(
        nest(&[Some(1), Some(2), Some(1)], &[&[], &[2, 0], &[1]]),
        expect![[r#"
        class1 `Sum`: the class is its own outer class, or theirs
        class1 `Sum`: two members have the selector `Sum`
    "#]],
    );
    check_change(
        nest(&[None, Some(0)], &[&[], &[]]),
        expect![[r#"
        class1 `Sum`: class0 does not list this class as nested
    "#]],
    );
    check_change(
        nest(&[None, None], &[&[1], &[]]),
        expect![[r#"
        class0 `Sum`: the class lists class1 as nested, which names another outer class
    "#]],
    );
    check_change(
        nest(&[None, Some(0)], &[&[1, 1], &[]]),
        expect![[r#"
        class0 `Sum`: the class lists class1 as nested, more than once
        class0 `Sum`: two members have the selector `Sum`
    "#]],
    );
}

#[test]
fn property_4_functions_of_classes() {
    check_change(
        |module| module.classes[0].accessor = Some(FunctionId(4)),
        expect![[r#"
        class0 `Sum`: the accessor fn4 `upTo:` has 1 parameters instead of 0
    "#]],
    );
    check_change(
        |module| module.classes[0].factory = FunctionId(4),
        expect![[r#"
        class0 `Sum`: the primary factory fn4 `upTo:` has 1 parameters instead of 0
    "#]],
    );
    check_change(
        |module| module.classes[0].initializer = FunctionId(7),
        expect![[r#"
        class0 `Sum`: the initializer fn7 is a function, not a method
        class0 `Sum`: the initializer fn7 `count` has 1 parameters instead of 0
    "#]],
    );
    check_change(
        |module| module.classes[0].methods[0].function = FunctionId(0),
        expect![[r#"
        class0 `Sum`: the method fn0 `Sum` has 0 parameters instead of 1
    "#]],
    );
    check_change(
        |module| module.classes[0].methods[0].function = FunctionId(5),
        expect![[r#"
        class0 `Sum`: the method fn5 is a block, not a method
    "#]],
    );
}

#[test]
fn property_5_members_are_distinct() {
    let slot = "slot \"total\" public mutable";
    check_replaced(
        slot,
        "slot \"total\" public\n slot \"total\" private mutable",
        expect![[r#"
        class0 `Sum`: two members have the selector `total`
    "#]],
    );
    check_replaced(
        "method \"upTo:\" public $upTo",
        "method \"total:\" public $upTo",
        expect![[r#"
        class0 `Sum`: two members have the selector `total:`
    "#]],
    );
    check_replaced(
        "method \"upTo:\" public $upTo",
        "method \"each:\" public $upTo",
        expect![[r#"
        class0 `Sum`: two members have the selector `each:`
    "#]],
    );
    let twice = "class_method \"make\" public $class\n class_method \"make\" public $class";
    check_replaced(
        "method \"upTo:\" public $upTo",
        twice,
        expect![[r#"
        class0 `Sum`: two members have the selector `make`
    "#]],
    );
    check_replaced(
        slot,
        "slot \"to:\" public\n slot \"total\" public",
        expect![[r#"
        class0 `Sum`: the name `to:` of a slot is no unary selector
    "#]],
    );
}

#[test]
fn property_6_frames() {
    check(
        "function fn0 \"f\" (0) {\n return r0\n }",
        expect![[r#"
            fn0 `f`: a frame has 1 to 256 registers, not 0
        "#]],
    );
    check(
        "function fn0 \"f\" (0) {\n registers any\n }",
        expect![[r#"
            fn0 `f`: it has no code, but no import lists it
        "#]],
    );
    check(
        "function fn0 \"f\" (3) {\n registers any\n return r0\n }",
        expect![[r#"
        fn0 `f`: 3 arguments do not fit 1 registers
    "#]],
    );
    check("method fn0 \"f\" (255) {\n registers any*256\n return r255\n }", expect![[""]]);
    let mut module = module("function fn0 \"f\" (1) {\n registers any\n return r0\n }");
    module.functions[0].registers = vec![crate::types::RegisterType::Any; 257];
    expect![[r#"
        fn0 `f`: a frame has 1 to 256 registers, not 257
    "#]]
    .assert_eq(&errors(&module, Trust::Untrusted));
}

#[test]
fn property_7_arguments_and_results() {
    check(
        "method fn0 \"f:\" (1) {\n registers any, i64\n return r0\n }",
        expect![[r#"
        fn0 `f:`: the arguments and the result of a method are `any`
    "#]],
    );
    check(
        "method fn0 \"f\" (0) -> i64 {\n registers any, i64\n load_raw r1, i64 1\n return r1\n }",
        expect![[r#"
        fn0 `f`: the arguments and the result of a method are `any`
    "#]],
    );
    check(
        "method fn0 \"f\" (0) captures 1 {\n registers any\n return r0\n }",
        expect![[r#"
        fn0 `f`: only block functions have captured values
    "#]],
    );
    check("function fn0 \"f\" (1) -> i64 {\n registers i64\n return r0\n }", expect![[""]]);
}

#[test]
fn property_8_the_home_register() {
    check_method(
        "home r1\n return r0",
        expect![[r#"
        fn0 `test:`: the home register r1 is an argument
    "#]],
    );
    check_method(
        "home r9\n return r0",
        expect![[r#"
        fn0 `test:`: the home register r9 does not exist
    "#]],
    );
    check(
        "method fn0 \"f\" (0) {\n registers any, i64\n home r1\n return r0\n }",
        expect![[r#"
        fn0 `f`: the home register r1 is `i64`, not `any`
    "#]],
    );
}

#[test]
fn property_9_raw_constants() {
    let check_raw = |constant: &str, expected: Expect| {
        let kind = constant.split(' ').next().unwrap_or_default();
        let text = format!(
            "function fn0 \"f\" (0) -> {kind} {{\n registers {kind}\n load_raw r0, {constant}\n return r0\n }}"
        );
        check(&text, expected);
    };
    check_raw(
        "bool 0x2",
        expect![[r#"
            fn0 `f`: k0 cannot be 0x2 as `bool`
        "#]],
    );
    check_raw(
        "i8 0x80",
        expect![[r#"
            fn0 `f`: k0 cannot be 0x80 as `i8`
        "#]],
    );
    check_raw("i8 -128", expect![[""]]);
    check_raw(
        "u8 0x100",
        expect![[r#"
            fn0 `f`: k0 cannot be 0x100 as `u8`
        "#]],
    );
    check_raw("i64 -1", expect![[""]]);
    check_raw("u32 4294967295", expect![[""]]);
    check_raw(
        "f32 0x100000000",
        expect![[r#"
            fn0 `f`: k0 cannot be 0x100000000 as `f32`
        "#]],
    );
    check_raw("f32 0x7fc00000", expect![[""]]);
    check_raw(
        "any 0x0",
        expect![[r#"
            fn0 `f`: k0 cannot be 0x0 as `any`
        "#]],
    );
}

#[test]
fn property_10_sites() {
    check_method(
        "send0 r1, r0, r3, \"\"\n return r1",
        expect![[r#"
        fn0 `test:`: site0 names str1, which does not exist or is empty
    "#]],
    );
    check_replaced(
        "slot class0 \"total\"",
        "slot class0 \"missing\"",
        expect![[r#"
        fn3 `initialize own Sum`: site0: class0 declares no slot `missing`
    "#]],
    );
    check_replaced(
        "check_value        r1",
        "publish_class r1, r0, r1, class_slot class0",
        expect![[r#"
        fn1 `new`: site1: class0 is no nested class
    "#]],
    );
}

#[test]
fn property_11_source_positions() {
    check_method(
        "at @0 1:1\n at @0 2:1\n return r0",
        expect![[r#"
        fn0 `test:`: the source positions are not in ascending order
    "#]],
    );
    check_method(
        "at @2 1:1\n return r0",
        expect![[r#"
        fn0 `test:`: a source position is beyond the end of the code
    "#]],
    );
    check_method("return r0\n at 1:1", expect![[""]]);
}

#[test]
fn property_12_regions() {
    let check_region = |region: &str, expected: Expect| {
        check_method(&format!("{region}\n a: move r2, r0\n b: move r3, r0\n c: send0 r4, r0, r6, \"foo\"\n d: return r0\n h: return r0\n e:").replace(": ", ":\n"), expected);
    };
    check_region("ensure into r5 from a to b handler h", expect![[""]]);
    check_region(
        "ensure into r5 from a to a handler h",
        expect![[r#"
        fn0 `test:`: region 0 is empty
    "#]],
    );
    check_region(
        "ensure into r5 from b to a handler h",
        expect![[r#"
        fn0 `test:`: region 0 is empty
    "#]],
    );
    check_region(
        "ensure into r5 from @3 to d handler h",
        expect![[r#"
        fn0 `test:`: region 0 starts at 3, no instruction
    "#]],
    );
    check_region(
        "ensure into r5 from a to @3 handler h",
        expect![[r#"
        fn0 `test:`: region 0 ends at 3, no instruction
    "#]],
    );
    check_region(
        "ensure into r5 from a to @99 handler h",
        expect![[r#"
        fn0 `test:`: region 0 ends at 99, no instruction
        fn0 `test:`: the handler of region 0 lies inside of it
    "#]],
    );
    check_region("ensure into r5 from h to e handler a", expect![[""]]);
    let many = |count: usize| "catch_fault Any into r5 from a to b handler h\n".repeat(count);
    check_region(&many(1000), expect![[""]]);
    check_region(
        &many(1001),
        expect![[r#"
        fn0 `test:`: it has more than 1000 regions
    "#]],
    );
    check_region(
        "ensure into r5 from a to d handler b",
        expect![[r#"
        fn0 `test:`: the handler of region 0 lies inside of it
    "#]],
    );
    check_region(
        "ensure into r5 from a to d handler e",
        expect![[r#"
        fn0 `test:`: the handler of region 0 is at 6, no instruction
    "#]],
    );
    check_region(
        "ensure into r8 from a to d handler h",
        expect![[r#"
        fn0 `test:`: the value register r8 does not exist
    "#]],
    );
    check_region(
        "catch r8 into r5 from a to d handler h",
        expect![[r#"
        fn0 `test:`: the class register r8 does not exist
    "#]],
    );
    check_method(
        "home r2\n ensure into r2 from a to b handler b\n a:\n move r3, r0\n b:\n return r0",
        expect![[r#"
        fn0 `test:`: region 0 writes r2, which nothing may overwrite
    "#]],
    );
    check_region(
        "ensure into r5 from a to c handler h\n ensure into r5 from b to d handler h",
        expect![[r#"
        fn0 `test:`: regions 1 and 0 overlap, but neither contains the other
    "#]],
    );
    check_region(
        "ensure into r5 from a to d handler h\n ensure into r5 from b to c handler h",
        expect![[r#"
        fn0 `test:`: region 1 lies within region 0, but comes after it
    "#]],
    );
    check_region(
        "ensure into r5 from b to c handler c\n ensure into r5 from a to d handler h",
        expect![[""]],
    );
    check_region(
        "catch r0 into r5 from a to b handler h\n ensure into r5 from a to b handler h\n ensure into r5 from b to c handler a",
        expect![[""]],
    );
    check_region(
        "ensure into r5 from b to c handler h\n ensure into r5 from a to d handler h",
        expect![[r#"
        fn0 `test:`: the handler of region 0 lies outside of region 1, which is around region 0
    "#]],
    );
    check_block(
        "ensure into r0 from a to b handler b\n a:\n move r1, r0\n b:\n return r1",
        expect![[r#"
        fn0 `block`: region 0 writes r0, which nothing may overwrite
    "#]],
    );
    check(
        "method fn0 \"f\" (0) {\n registers any, i64\n ensure into r1 from a to b handler b\n a:\n move r0, r0\n b:\n return r0\n }",
        expect![[r#"
        fn0 `f`: the value register r1 is `i64`, not `any`
    "#]],
    );
}

#[test]
fn property_13_instructions() {
    check_method(
        "word 0",
        expect![[r#"
        fn0 `test:` at pc 0: 0 is not an opcode
    "#]],
    );
    check_method(
        "return r0\n word 0xff",
        expect![[r#"
        fn0 `test:` at pc 1: 255 is not an opcode
    "#]],
    );
    check_method(
        "return r0\n word 0x20",
        expect![[r#"
        fn0 `test:` at pc 1: the code ends within `send0`
    "#]],
    );
    check_method(
        "word 0x01000028",
        expect![[r#"
        fn0 `test:` at pc 0: `return`: unused bits are not zero
    "#]],
    );
    check_method(
        "move r1, r0",
        expect![[r#"
        fn0 `test:` at pc 0: `move` is the last instruction, but can go on
    "#]],
    );
    check_method(
        "jump a\n a:\n resume_unwind r0",
        expect![[r#"
        fn0 `test:` at pc 1: `resume_unwind` is the last instruction, but can go on
    "#]],
    );
}

#[test]
fn property_14_register_types() {
    check_method(
        "move r8, r0\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `move`: r8 does not exist
    "#]],
    );
    check_method(
        "move r1, r8\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `move`: r8 does not exist
    "#]],
    );
    check_method(
        "add r1, r0, r0\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `add`: destination r1 is `any`, not an integer or a float
    "#]],
    );
    let check_typed = |line: &str, expected: Expect| {
        let registers = "any*2, i64*2, u8, f64, bool";
        check(
            &format!(
                "method fn0 \"f:\" (1) {{\n registers {registers}\n load_raw r2, i64 1\n load_raw r4, u8 1\n load_raw r5, f64 0.5\n load_raw r6, bool true\n {line}\n e:\n return r0\n }}"
            ),
            expected,
        );
    };
    for correct in [
        "add r2, r2, r2",
        "lt r6, r5, r5",
        "eq r6, r6, r6",
        "and r6, r6, r6",
        "not r6, r6",
        "shl r4, r4, r4",
        "convert r5, r4",
        "box r1, r6",
        "unbox r4, r1, e",
        "jump_if r6, e",
        "move r3, r2",
    ] {
        check_typed(correct, expect![""]);
    }
    check_typed(
        "move r3, r5",
        expect![[r#"
        fn0 `f:` at pc 4: `move`: source r5 is `f64`, not the type of the first register
    "#]],
    );
    check_typed(
        "move r1, r2",
        expect![[r#"
        fn0 `f:` at pc 4: `move`: source r2 is `i64`, not the type of the first register
    "#]],
    );
    check_typed(
        "add r2, r2, r4",
        expect![[r#"
        fn0 `f:` at pc 4: `add`: right r4 is `u8`, not the type of the first register
    "#]],
    );
    check_typed(
        "add r6, r6, r6",
        expect![[r#"
        fn0 `f:` at pc 4: `add`: destination r6 is `bool`, not an integer or a float
    "#]],
    );
    check_typed(
        "lt r6, r5, r2",
        expect![[r#"
        fn0 `f:` at pc 4: `lt`: right r2 is `i64`, not the type of the second register
    "#]],
    );
    check_typed(
        "lt r2, r2, r2",
        expect![[r#"
        fn0 `f:` at pc 4: `lt`: destination r2 is `i64`, not `bool`
    "#]],
    );
    check_typed(
        "eq r6, r0, r1",
        expect![[r#"
            fn0 `f:` at pc 4: `eq`: left r0 is `any`, not a type other than `any`
        "#]],
    );
    check_typed(
        "shl r5, r5, r5",
        expect![[r#"
        fn0 `f:` at pc 4: `shl`: destination r5 is `f64`, not an integer
    "#]],
    );
    check_typed(
        "and r5, r5, r5",
        expect![[r#"
        fn0 `f:` at pc 4: `and`: destination r5 is `f64`, not an integer or `bool`
    "#]],
    );
    check_typed(
        "convert r6, r2",
        expect![[r#"
        fn0 `f:` at pc 4: `convert`: destination r6 is `bool`, not an integer or a float
    "#]],
    );
    check_typed(
        "box r2, r2",
        expect![[r#"
        fn0 `f:` at pc 4: `box`: destination r2 is `i64`, not `any`
    "#]],
    );
    check_typed(
        "unbox r1, r0, e",
        expect![[r#"
            fn0 `f:` at pc 4: `unbox`: destination r1 is `any`, not a type whose values are objects, too
        "#]],
    );
    check_typed(
        "jump_if r0, e",
        expect![[r#"
        fn0 `f:` at pc 4: `jump_if`: condition r0 is `any`, not `bool`
    "#]],
    );
    check_typed(
        "load_integer r2, 1",
        expect![[r#"
        fn0 `f:` at pc 4: `load_integer`: destination r2 is `i64`, not `any`
    "#]],
    );
    check_typed(
        "store_context r0, 0, r2",
        expect![[r#"
        fn0 `f:` at pc 4: `store_context`: value r2 is `i64`, not `any`
    "#]],
    );
}

#[test]
fn property_15_windows_and_ranges() {
    check_method(
        "send0 r1, r0, r0, \"foo\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send0`: a window cannot start at r0
    "#]],
    );
    check_method("send0 r1, r0, r7, \"foo\"\n return r1", expect![[""]]);
    check_method(
        "send1 r1, r0, r0, r7, \"+\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send1`: the window of 2 from r7 on is outside of the frame
    "#]],
    );
    check_method("send2 r1, r0, r0, r0, r5, \"at:put:\"\n return r1", expect![[""]]);
    check_method(
        "send2 r1, r0, r0, r0, r6, \"at:put:\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send2`: the window of 3 from r6 on is outside of the frame
    "#]],
    );
    check_method(
        "send0 r1, r0, r8, \"foo\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send0`: the window of 1 from r8 on is outside of the frame
    "#]],
    );
    check_method(
        "send r1, r7, 2, \"+\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send`: the window of 2 from r7 on is outside of the frame
    "#]],
    );
    check_method(
        "send1 r1, r0, r1, r2, \"+\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send1`: the call destroys its operand r1 before it is made
    "#]],
    );
    check_method(
        "move r3, r0\n send0 r1, r3, r3, \"foo\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 1: `send0`: the call destroys its operand r3 before it is made
    "#]],
    );
    check_method(
        "make_closure r1, r7, 2, fn1\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `make_closure`: the range of 2 from r7 on is outside of the frame
    "#]],
    );
    check_method("make_closure r2, r0, 2, fn1\n return r2", expect![[""]]);
    check(
        "method fn0 \"f\" (0) {\n registers any*3, i64\n send0 r1, r0, r3, \"foo\"\n return r1\n }",
        expect![[r#"
        fn0 `f` at pc 0: `send0`: r3 is `i64`, not `any`
    "#]],
    );
    check(
        "method fn0 \"f\" (0) {\n registers any*2, i64, any\n send0 r1, r0, r3, \"foo\"\n return r1\n }",
        expect![[""]],
    );
    check(
        "method fn0 \"f\" (0) {\n registers any, i64, any\n load_raw r1, i64 1\n make_closure r2, r0, 2, fn1\n return r2\n }\n block fn1 \"b\" (0) captures 2 {\n registers any\n return r0\n }",
        expect![[r#"
        fn0 `f` at pc 1: `make_closure`: r1 is `i64`, not `any`
    "#]],
    );
}

#[test]
fn property_16_reserved_registers() {
    check_method(
        "home r3\n make_home r2\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `make_home`: r2 is not the function's home register
    "#]],
    );
    check_method(
        "make_home r2\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `make_home`: r2 is not the function's home register
    "#]],
    );
    check_method(
        "home r3\n move r3, r0\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `move`: r3 must not be written
    "#]],
    );
    check_method("home r5\n send0 r1, r0, r6, \"foo\"\n return r0", expect![""]);
    check_method("home r5\n send0 r1, r0, r7, \"foo\"\n return r0", expect![[""]]);
    check_method(
        "home r5\n send0 r5, r0, r7, \"foo\"\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `send0`: r5 must not be written
    "#]],
    );
    check_method(
        "home r3\n for_loop r3, r0, 1, a\n a:\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `for_loop`: r3 must not be written
    "#]],
    );
    check_block(
        "move r0, r1\n return r0",
        expect![[r#"
        fn0 `block` at pc 0: `move`: r0 must not be written
    "#]],
    );
    check_block(
        "send0 r2, r0, r1, \"foo\"\n return r0",
        expect![[r#"
        fn0 `block` at pc 0: `send0`: the call destroys its operand r0 before it is made
    "#]],
    );
}

#[test]
fn property_17_jumps() {
    check_method("jump @1\n return r0", expect![[""]]);
    check_method(
        "jump @0",
        expect![[r#"
        fn0 `test:` at pc 0: `jump`: target 0 is no later instruction; only loops jump back
    "#]],
    );
    check_method(
        "jump @-1",
        expect![[r#"
        fn0 `test:` at pc 0: `jump`: target -1 is not the start of an instruction
    "#]],
    );
    check_method(
        "jump @9",
        expect![[r#"
        fn0 `test:` at pc 0: `jump`: target 9 is not the start of an instruction
    "#]],
    );
    check_method(
        "a:\n move r1, r0\n jump a",
        expect![[r#"
        fn0 `test:` at pc 1: `jump`: target 0 is no later instruction; only loops jump back
    "#]],
    );
    check_method("a:\n move r1, r0\n loop a", expect![[""]]);
    check_method("loop a\n a:\n return r0", expect![[""]]);
    check_method(
        "a:\n branch_true r0, a, b\n b:\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `branch_true`: target 0 is no later instruction; only loops jump back
    "#]],
    );
    check_method(
        "branch_true r0, b, @1\n b:\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `branch_true`: otherwise 1 is not the start of an instruction
    "#]],
    );
    check_method("move r2, r0\n a:\n for_loop r2, r1, 1, a\n return r0", expect![[""]]);
    check_method(
        "move r2, r0\n a:\n for_enter r2, r1, 1, a, b\n b:\n return r0",
        expect![[r#"
        fn0 `test:` at pc 1: `for_enter`: exit 1 is no later instruction; only loops jump back
    "#]],
    );
}

#[test]
fn property_18_constants_and_sites() {
    check_method(
        "load_constant r1, i64 1\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `load_constant`: k0 is `i64`, not `any`
    "#]],
    );
    check(
        "function fn0 \"f\" (0) -> i64 {\n registers i64\n load_raw r0, f64 0.5\n return r0\n }",
        expect![[r#"
        fn0 `f` at pc 0: `load_raw`: k0 is `f64`, not `i64`
    "#]],
    );
    check(
        "function fn0 \"f\" (0) -> f64 {\n registers f64\n load_raw r0, 0.5\n return r0\n }",
        expect![[r#"
        fn0 `f` at pc 0: `load_raw`: k0 is an object, not `f64`
    "#]],
    );
    check_method(
        "send0 r1, r0, r4, \"+\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send0`: `+` takes 1 arguments besides the receiver
    "#]],
    );
    check_method(
        "send1 r1, r0, r0, r4, \"at:put:\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send1`: `at:put:` takes 2 arguments besides the receiver
    "#]],
    );
    check_method(
        "move r3, r0\n send r1, r3, 1, \"+\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 1: `send`: `+` takes 1 arguments besides the receiver
    "#]],
    );
    check_method(
        "send r1, r3, 0, \"foo\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `send`: `foo` takes 0 arguments besides the receiver
    "#]],
    );
    check_method(
        "site0 = \"foo\"\n send0 r1, r0, r4, site0\n send0 r1, r0, r4, site0\n return r1",
        expect![[r#"
        fn0 `test:` at pc 2: `send0`: site0 belongs to another instruction already
    "#]],
    );
    check_method(
        "site0 = \"foo\"\n return r0",
        expect![[r#"
        fn0 `test:`: site0 belongs to no instruction
    "#]],
    );
    check_replaced(
        "check_value        r1",
        "enclosing r1, r0, captures class0",
        expect![[r#"
        fn1 `new` at pc 3: `enclosing`: site1 is of another kind
    "#]],
    );
    check_replaced(
        "check_value        r1",
        "send0 r1, r0, r3, captures class0",
        expect![[r#"
        fn1 `new` at pc 3: `send0`: site1 is of another kind
    "#]],
    );
}

#[test]
fn property_19_callees_and_parts() {
    check_method(
        "call r1, r3, 0, fn1\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `call`: fn1 is a block function
    "#]],
    );
    check_method(
        "move r3, r0\n move r4, r0\n call r1, r3, 2, fn2\n return r1",
        expect![[r#"
            fn0 `test:` at pc 2: `call`: r3 is `any`, but fn2 takes `i64`
        "#]],
    );
    check_method(
        "move r3, r0\n call r1, r3, 1, fn0\n return r1",
        expect![[r#"
            fn0 `test:` at pc 1: `call`: fn0 takes 2 arguments, not 1
        "#]],
    );
    check_method("move r3, r0\n move r4, r0\n call r1, r3, 2, fn0\n return r1", expect![[""]]);
    let typed = "function fn1 \"g\" (1) -> i64 {\n registers i64\n return r0\n }";
    let caller = "function fn0 \"f\" (1) -> bool {\n registers i64, any, i64, bool, f64";
    check(
        &format!("{caller}\n move r2, r0\n call r3, r2, 1, fn1\n return r3\n }}\n{typed}"),
        expect![[r#"
        fn0 `f` at pc 1: `call`: r3 is `bool`, but fn1 answers `i64`
    "#]],
    );
    check(
        &format!(
            "{caller}\n load_raw r4, f64 0.5\n call r0, r4, 1, fn1\n load_raw r3, bool true\n return r3\n }}\n{typed}"
        ),
        expect![[r#"
            fn0 `f` at pc 1: `call`: r4 is `f64`, but fn1 takes `i64`
        "#]],
    );
    check(
        &format!(
            "{caller}\n move r2, r0\n call r0, r2, 1, fn1\n lt r3, r0, r0\n return r3\n }}\n{typed}"
        ),
        expect![[""]],
    );
    check_method(
        "make_closure r1, r0, 2, fn0\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `make_closure`: fn0 is no block function
    "#]],
    );
    check_method(
        "make_closure r1, r0, 1, fn1\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `make_closure`: fn1 captures 2 values, not 1
    "#]],
    );
    check_replaced(
        "make_class         r1, r1, 3, class0",
        "make_class r1, r1, 2, class0",
        expect![[r#"
        fn0 `Sum` at pc 4: `make_class`: a class is made of at least 3 parts
    "#]],
    );
    check_method("make_context r1, 255\n return r1", expect![[""]]);
    check_method(
        "make_context r1, 256\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `make_context`: a context has at most 255 variables
    "#]],
    );
    check_method(
        "for_enter r1, r0, 0, a, a\n a:\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `for_enter`: the step is 0
    "#]],
    );
    check_method(
        "a:\n for_loop r1, r0, 0, a\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `for_loop`: the step is 0
    "#]],
    );
}

#[test]
fn property_20_closures_and_homes() {
    check_method(
        "load_captured r1, 0\n return r1",
        expect![[r#"
        fn0 `test:` at pc 0: `load_captured`: only block functions have captured values
    "#]],
    );
    check_block("load_captured r1, 0\n return r1", expect![[""]]);
    check_block(
        "load_captured r1, 1\n return r1",
        expect![[r#"
        fn0 `block` at pc 0: `load_captured`: 1 is not below 1, the number of captured values
    "#]],
    );
    check_block("return_nonlocal r0, r1", expect![[""]]);
    check_method(
        "return_nonlocal r0, r1",
        expect![[r#"
        fn0 `test:` at pc 0: `return_nonlocal`: only block functions have captured values
    "#]],
    );
    check(
        "block fn0 \"block\" (1) {\n registers any*6\n return_nonlocal r0, r1\n }",
        expect![[r#"
        fn0 `block` at pc 0: `return_nonlocal`: 0 is not below 0, the number of captured values
    "#]],
    );
    check_method("home r3\n make_home r3\n return_home r0, r3", expect![[""]]);
    check_method(
        "home r3\n make_home r3\n return_home r0, r1",
        expect![[r#"
        fn0 `test:` at pc 1: `return_home`: r1 is not the function's home register
    "#]],
    );
    check_method(
        "return_home r0, r1",
        expect![[r#"
        fn0 `test:` at pc 0: `return_home`: r1 is not the function's home register
    "#]],
    );
}

#[test]
fn property_21_results() {
    check(
        "function fn0 \"f\" (1) -> i64 {\n registers any\n return r0\n }",
        expect![[r#"
        fn0 `f` at pc 0: `return`: r0 is `any`, but the result is `i64`
    "#]],
    );
    check(
        "function fn0 \"f\" (1) {\n registers i64\n return r0\n }",
        expect![[r#"
        fn0 `f` at pc 0: `return`: r0 is `i64`, but the result is `any`
    "#]],
    );
    check(
        "function fn0 \"f\" (1) -> i64 {\n registers any*2\n home r1\n make_home r1\n return_home r0, r1\n }",
        expect![[r#"
        fn0 `f` at pc 1: `return_home`: r0 is `any`, but the result is `i64`
    "#]],
    );
}

#[test]
fn property_22_primitives() {
    let text = "function fn0 \"f\" (0) {\n registers any*2\n primitive r0, r1, 0, \"integer:add:\"\n return r0\n }";
    check(
        text,
        expect![[r#"
        fn0 `f` at pc 0: `primitive`: only trusted modules may use primitives
    "#]],
    );
    expect![[""]].assert_eq(&errors(&module(text), Trust::Trusted));
    let text = text.replace("r1, 0", "r1, 2");
    expect![[r#"
        fn0 `f` at pc 0: `primitive`: the window of 2 from r1 on is outside of the frame
    "#]]
    .assert_eq(&errors(&module(&text), Trust::Trusted));
    let text = text.replace("r1, 2", "r1, 1");
    expect![[r#"
        fn0 `f` at pc 0: `primitive`: r1 is not initialised here
    "#]]
    .assert_eq(&errors(&module(&text), Trust::Trusted));
    let text = text.replace("\"integer:add:\"", "str9");
    expect![[r#"
        fn0 `f` at pc 0: `primitive`: primitive 9 does not exist
    "#]]
    .assert_eq(&errors(&module(&text), Trust::Trusted));
}

#[test]
fn property_23_initialisation() {
    check_method(
        "at 7:3\n return r2",
        expect![[r#"
        fn0 `test:` at pc 0 (line 7:3): `return`: r2 is not initialised here
    "#]],
    );
    check_method(
        "branch_true r0, a, b\n a:\n move r2, r0\n b:\n return r2",
        expect![[r#"
        fn0 `test:` at pc 3: `return`: r2 is not initialised on every path to this place
    "#]],
    );
    check_method(
        "branch_true r0, a, b\n load_integer r2, 1\n jump c\n a:\n load_integer r2, 2\n jump c\n b:\n load_integer r2, 3\n c:\n return r2",
        expect![[""]],
    );
    check_method(
        "move r2, r0\n send0 r1, r0, r3, \"foo\"\n return r2",
        expect![[r#"
        fn0 `test:` at pc 3: `return`: r2 is not initialised here
    "#]],
    );
    check_method("move r2, r0\n send0 r1, r0, r4, \"foo\"\n return r2", expect![[""]]);
    check_method("move r5, r0\n send0 r5, r0, r4, \"foo\"\n return r5", expect![[""]]);
    check_method(
        "move r3, r0\n send r1, r3, 2, \"+\"\n return r1",
        expect![[r#"
        fn0 `test:` at pc 1: `send`: r4 is not initialised here
    "#]],
    );
    check_method(
        "make_closure r2, r1, 2, fn1\n return r2",
        expect![[r#"
        fn0 `test:` at pc 0: `make_closure`: r2 is not initialised here
    "#]],
    );
    check_method(
        "a:\n send0 r2, r0, r4, \"foo\"\n branch_true r2, b, b\n load_integer r3, 1\n loop a\n b:\n return r3",
        expect![[r#"
        fn0 `test:` at pc 6: `return`: r3 is not initialised here
    "#]],
    );
    check_method("jump a\n move r2, r5\n a:\n return r0", expect![[""]]);
    // On the way to a handler, the registers that the instruction itself would initialise do not count.
    check_method(
        "ensure into r4 from a to b handler b\n a:\n send0 r2, r0, r6, \"foo\"\n b:\n return r2",
        expect![[r#"
        fn0 `test:` at pc 2: `return`: r2 is not initialised on every path to this place
    "#]],
    );
    check_method(
        "catch_fault Any into r4 from a to b handler c\n a:\n send0 r2, r0, r6, \"foo\"\n b:\n return r2\n c:\n return r4",
        expect![[""]],
    );
    check_method(
        "move r3, r0\n ensure into r4 from a to b handler c\n a:\n send0 r2, r0, r4, \"foo\"\n b:\n return r2\n c:\n return r3",
        expect![[r#"
        fn0 `test:` at pc 4: `return`: r3 is not initialised on every path to this place
    "#]],
    );
    check_method(
        "catch_fault Any into r4 from a to b handler c\n catch r0 into r5 from a to b handler d\n move r2, r0\n a:\n send0 r2, r0, r3, \"foo\"\n b:\n return r0\n c:\n return r4\n d:\n return r2",
        expect![[r#"
        fn0 `test:` at pc 5: `return`: r2 is not initialised on every path to this place
    "#]],
    );
    // The class register of a region is read in all of it, even after a call destroyed it.
    check_method(
        "catch r3 into r4 from a to b handler b\n a:\n move r3, r0\n b:\n return r0",
        expect![[r#"
        fn0 `test:`: the class register r3 of region 0 is not initialised in all of it
    "#]],
    );
    check_method(
        "move r3, r0\n catch r3 into r4 from a to b handler b\n a:\n send0 r1, r0, r4, \"foo\"\n b:\n return r0",
        expect![[r#"
        fn0 `test:`: the class register r3 of region 0 is not initialised in all of it
    "#]],
    );
    check(
        "function fn0 \"f\" (1) -> i64 {\n registers any, i64\n load_raw r1, i64 1\n unbox r1, r0, a\n a:\n return r1\n }",
        expect![[r#"
        fn0 `f` at pc 3: `return`: r1 is not initialised on every path to this place
    "#]],
    );
}

#[test]
fn property_24_the_home_marker() {
    check_method(
        "home r3\n branch_true r0, a, a\n make_home r3\n a:\n load_integer r2, 1\n return r0",
        expect![[r#"
        fn0 `test:` at pc 3: whether there is a home marker in r3 depends on the path here
        fn0 `test:` at pc 4: `return`: where there is a home marker, a function is left by return_home
    "#]],
    );
    check_method(
        "home r3\n make_home r3\n make_home r3\n return_home r0, r3",
        expect![[r#"
        fn0 `test:` at pc 1: `make_home`: there is a home marker already
    "#]],
    );
    check_method(
        "home r3\n a:\n make_home r3\n loop a",
        expect![[r#"
        fn0 `test:` at pc 0: whether there is a home marker in r3 depends on the path here
        fn0 `test:` at pc 0: `make_home`: there is a home marker already
    "#]],
    );
    check_method(
        "home r3\n make_home r3\n return r0",
        expect![[r#"
        fn0 `test:` at pc 1: `return`: where there is a home marker, a function is left by return_home
    "#]],
    );
    check_method(
        "home r3\n branch_true r0, a, a\n return r0\n a:\n make_home r3\n return_home r0, r3",
        expect![[""]],
    );
    check_method(
        "home r3\n make_home r3\n send0 r2, r0, r4, \"foo\"\n return_home r0, r3",
        expect![[r#"
        fn0 `test:` at pc 1: `send0`: the call destroys the home marker
        fn0 `test:` at pc 3: `return_home`: r3 is not initialised here
    "#]],
    );
    check_method(
        "home r3\n send0 r2, r0, r4, \"foo\"\n make_home r3\n return_home r0, r3",
        expect![[""]],
    );
    check_method(
        "home r3\n a:\n make_home r3\n leave_home r3\n branch_true r0, b, b\n loop a\n b:\n return r0",
        expect![[""]],
    );
    check_method(
        "home r3\n branch_true r0, b, a\n a:\n make_home r3\n send0 r2, r0, r5, \"foo\"\n leave_home r3\n b:\n return r0",
        expect![[""]],
    );
    check_method(
        "home r3\n leave_home r3\n return r0",
        expect![[r#"
        fn0 `test:` at pc 0: `leave_home`: r3 is not initialised here
    "#]],
    );
    check_method(
        "home r3\n make_home r3\n leave_home r3\n return_home r0, r3",
        expect![[r#"
        fn0 `test:` at pc 2: `return_home`: r3 is not initialised here
    "#]],
    );
    check_method(
        "home r3\n make_home r3\n leave_home r1\n return_home r0, r3",
        expect![[r#"
        fn0 `test:` at pc 1: `leave_home`: r1 is not the function's home register
    "#]],
    );
    check_method(
        "home r3\n catch_fault Any into r4 from a to b handler c\n a:\n make_home r3\n send0 r2, r0, r6, \"foo\"\n leave_home r3\n b:\n return r0\n c:\n return r4",
        expect![[r#"
        fn0 `test:` at pc 5: whether there is a home marker in r3 depends on the path here
        fn0 `test:` at pc 5: `return`: where there is a home marker, a function is left by return_home
    "#]],
    );
    check_method(
        "home r3\n catch_fault Any into r4 from a to b handler c\n a:\n make_home r3\n b:\n return_home r0, r3\n c:\n return r4",
        expect![[""]],
    );
}
