//! The decoder: the effects of every instruction.

use expect_test::expect;
use proptest::prelude::*;

use super::*;

/// An instruction whose register operands are r1, r2, … in order, and whose numbers are 3.
fn sample(opcode: Opcode) -> Instruction {
    let mut words = vec![0; opcode.info().words()];
    words[0] = opcode as u32;
    let mut next_register = 0;
    for operand in opcode.info().operands {
        let value = match operand.kind {
            OperandKind::Window => 20,
            OperandKind::Range => 10,
            OperandKind::Define(_) | OperandKind::Use(_) | OperandKind::Update(_) => {
                next_register += 1;
                next_register
            }
            _ => 3,
        };
        operand.field.insert(&mut words, value);
    }
    Instruction::decode(&words, 0).unwrap()
}

#[test]
fn effects_of_every_instruction() {
    let mut listing = String::new();
    for &opcode in Opcode::ALL {
        let Effects { uses, defines, defines_too, destroys_from, ends } = sample(opcode).effects();
        listing += &format!("{:<18} uses {uses:?}", opcode.info().mnemonic);
        defines
            .iter()
            .chain(&defines_too)
            .for_each(|register| listing += &format!(" defines {register}"));
        destroys_from.iter().for_each(|register| listing += &format!(" destroys {register}.."));
        ends.iter().for_each(|register| listing += &format!(" ends {register}"));
        listing += "\n";
    }
    expect![[r#"
        move               uses {r2} defines r1
        load_integer       uses {} defines r1
        load_special       uses {} defines r1
        load_constant      uses {} defines r1
        load_raw           uses {} defines r1
        load_captured      uses {} defines r1
        make_context       uses {} defines r1
        load_context       uses {r2} defines r1
        store_context      uses {r1, r2}
        make_closure       uses {r10, r11, r12} defines r1
        make_home          uses {} defines r1
        load_captures      uses {r2} defines r1
        enclosing          uses {r2} defines r1
        jump               uses {}
        loop               uses {}
        branch_true        uses {r1}
        branch_false       uses {r1}
        branch_nil         uses {r1}
        branch_not_nil     uses {r1}
        for_enter          uses {r1, r2} defines r2
        for_loop           uses {r1, r2} defines r1
        send0              uses {r2} defines r1 destroys r19..
        send1              uses {r2, r3} defines r1 destroys r19..
        send2              uses {r2, r3, r4} defines r1 destroys r19..
        send               uses {r20, r21, r22} defines r1 destroys r19..
        send_eventual      uses {r20, r21, r22} defines r1 destroys r19..
        send_eventual_only uses {r20, r21, r22} defines r1 destroys r19..
        call               uses {r20, r21, r22} defines r1 destroys r19..
        primitive          uses {r20, r21, r22} defines r1 destroys r19..
        return             uses {r1}
        return_home        uses {r1, r2}
        return_nonlocal    uses {r1, r2}
        resume_unwind      uses {r1}
        leave_home         uses {r1} ends r1
        make_class         uses {r10, r11, r12} defines r1
        publish_class      uses {r2, r3} defines r1
        instantiate        uses {r2} defines r1
        check_value        uses {r1}
        initialize_slot    uses {r1, r2}
        make_array         uses {} defines r1
        store_element      uses {r1, r2}
        add                uses {r2, r3} defines r1
        sub                uses {r2, r3} defines r1
        mul                uses {r2, r3} defines r1
        div                uses {r2, r3} defines r1
        rem                uses {r2, r3} defines r1
        neg                uses {r2} defines r1
        and                uses {r2, r3} defines r1
        or                 uses {r2, r3} defines r1
        xor                uses {r2, r3} defines r1
        not                uses {r2} defines r1
        shl                uses {r2, r3} defines r1
        shr                uses {r2, r3} defines r1
        eq                 uses {r2, r3} defines r1
        ne                 uses {r2, r3} defines r1
        lt                 uses {r2, r3} defines r1
        le                 uses {r2, r3} defines r1
        convert            uses {r2} defines r1
        box                uses {r2} defines r1
        unbox              uses {r2} defines r1
        jump_if            uses {r1}
        jump_unless        uses {r1}
        loop_if            uses {r1}
        loop_unless        uses {r1}
        add_checked        uses {r2, r3} defines r1
        sub_checked        uses {r2, r3} defines r1
        mul_checked        uses {r2, r3} defines r1
        div_checked        uses {r2, r3} defines r1
        neg_checked        uses {r2} defines r1
        convert_exact      uses {r2} defines r1
        make_tuple         uses {r10, r11, r12} defines r1
        tuple_get          uses {r2} defines r1
        tuple_set          uses {r1, r2} defines r1
        empty              uses {} defines r1
        make_list          uses {r10, r11, r12} defines r1
        fill_list          uses {r2, r3} defines r1
        load_bytes         uses {} defines r1
        length             uses {r2} defines r1
        list_get           uses {r2, r3} defines r1
        list_set           uses {r1, r2, r3} defines r1
        list_append        uses {r1, r2} defines r1
        list_insert        uses {r1, r2, r3} defines r1
        list_remove        uses {r1, r2} defines r1
        list_exchange      uses {r1, r2, r3} defines r1
        list_slice         uses {r2, r3, r4} defines r1
        list_concatenate   uses {r2, r3} defines r1
        map_get            uses {r2, r3} defines r1
        map_put            uses {r1, r2, r3} defines r1
        map_remove         uses {r1, r2} defines r1
        map_has            uses {r2, r3} defines r1
        map_key            uses {r2, r3} defines r1
        map_value          uses {r2, r3} defines r1
        take               uses {r2} defines r1 ends r2
        load_function      uses {} defines r1
        call_indirect      uses {r2, r20, r21, r22} defines r1 destroys r19..
        spawn              uses {r10, r11, r12}
        spawn_indirect     uses {r1, r10, r11, r12}
        end_process        uses {}
        par                uses {}
        branch             uses {}
        end_branch         uses {}
        par_for            uses {r2} defines r1
        make_channel       uses {} defines r1
        reading_end        uses {r2} defines r1
        writing_end        uses {r2} defines r1
        read               uses {r2} defines r1
        write              uses {r1, r2}
        accept             uses {r3} defines r1 defines r2
        end_accept         uses {r1}
        poison             uses {r1}
        alt                uses {}
        alt_priority       uses {}
        alt_if             uses {r1}
        alt_read           uses {r2} defines r1
        alt_after          uses {r1}
        alt_skip           uses {}
        alt_end            uses {}
        make_barrier       uses {r2} defines r1
        enrol              uses {r1}
        resign             uses {r1}
        sync               uses {r1}
        make_bucket        uses {} defines r1
        fall               uses {r1}
        flush              uses {r2} defines r1
        yield              uses {}
        sleep              uses {r1}
        now                uses {} defines r1
        raise              uses {r1}
        raised             uses {r2} defines r1
        fault_of           uses {r2} defines r1
    "#]]
    .assert_eq(&listing);
}

#[test]
fn targets_are_relative_to_the_instruction() {
    let code = [Opcode::Jump as u32, Opcode::Loop as u32 | (-1i32 << 8) as u32];
    let targets: Vec<i64> =
        instructions(&code).flat_map(|instruction| instruction.targets()).collect();
    assert_eq!(targets, [0, 0]);
}

#[test]
fn errors() {
    let check = |code: &[u32], pc, expected: DecodeError| {
        assert_eq!(Instruction::decode(code, pc), Err(expected));
        assert_eq!(expected.pc(), pc);
    };
    check(&[], 0, DecodeError::OutOfBounds { pc: 0 });
    check(&[1], usize::MAX, DecodeError::OutOfBounds { pc: usize::MAX });
    check(&[0xffff_ff00], 0, DecodeError::UnknownOpcode { pc: 0, code: 0 });
    let opcode = Opcode::ForEnter;
    check(&[opcode as u32, 0], 0, DecodeError::Truncated { pc: 0, opcode });
}

#[test]
fn iteration_ends_at_the_first_word_that_starts_no_instruction() {
    let code = [Opcode::Jump as u32, 0, Opcode::Jump as u32];
    let mut walk = instructions(&code);
    assert_eq!(walk.by_ref().count(), 1);
    assert_eq!(walk.finish(), Err(DecodeError::UnknownOpcode { pc: 1, code: 0 }));
    assert_eq!(instructions(&[]).finish(), Ok(()));
}

#[test]
fn stray_bits_are_noticed() {
    for &opcode in Opcode::ALL {
        let instruction = sample(opcode);
        assert!(instruction.is_canonical(), "{instruction:?}");
        let used = |word: usize, bit: u32| {
            word == 0 && bit < 8
                || opcode.info().operands.iter().any(|operand| {
                    let (place, shift, width) = operand.field.place();
                    place == word && (shift..shift + width).contains(&bit)
                })
        };
        for (word, bit) in
            (0..opcode.info().words()).flat_map(|word| (0..32).map(move |bit| (word, bit)))
        {
            let mut words = instruction.words().to_vec();
            words[word] ^= 1 << bit;
            match Instruction::decode(&words, 0) {
                Ok(changed) if changed.opcode == opcode => {
                    assert_eq!(changed.is_canonical(), used(word, bit), "{changed:?}");
                }
                _ => assert!(word == 0 && bit < 8),
            }
        }
    }
}

proptest! {
    #[test]
    fn decoding_any_words_is_safe(code: Vec<u32>, pc: usize) {
        let _ = Instruction::decode(&code, pc);
        let mut walk = instructions(&code);
        let lengths: usize = walk.by_ref().map(|instruction| instruction.words().len()).sum();
        prop_assert_eq!(walk.finish().is_ok(), lengths == code.len());
    }
}
