//! Specialises typed instructions by the types of their registers. [`super::module`] calls it when it links a function.
//!
//! The forms are in [`squall_bytecode::codes::typed_forms`]. One form is needed for correctness: `move` of a list has
//! to mark the list, see [`crate::objects::typed`].

use squall_bytecode::codes::typed_forms::*;
use squall_bytecode::decode::{Instruction, instructions};
use squall_bytecode::instructions::{Field, Opcode};
use squall_bytecode::module::Function;
use squall_bytecode::types::RegisterType;

use crate::model::types::{Storage, Type};

/// Jumps on a condition whose codes are odd are those that jump if it holds.
pub const JUMPS_IF: u8 = 1;

const _: () = assert!(Opcode::JumpIf as u8 & Opcode::LoopIf as u8 & JUMPS_IF == JUMPS_IF);
const _: () = assert!((Opcode::JumpUnless as u8 | Opcode::LoopUnless as u8) & JUMPS_IF == 0);

/// Replaces the opcodes of a verified function's instructions, where there is a form for them.
pub fn specialise(function: &Function, types: &[Type], words: &mut [u32]) {
    if types.iter().all(|kind| kind.is_any()) {
        return;
    }
    let all: Vec<Instruction> = instructions(&function.code).collect();
    // From the end, so that the successor of an addition has its form already.
    for (index, instruction) in all.iter().enumerate().rev() {
        let next = all.get(index + 1);
        let jump = next.filter(|next| is_jump_on_result(instruction, next));
        let form = form(function, types, instruction, jump.map(|jump| jump.opcode));
        let Some(form) = form else { continue };
        let follower = next.map_or(0, |next| words[next.pc] as u8);
        let word = &mut words[instruction.pc];
        *word = *word & !0xFF | u32::from(with_follower(form, follower));
    }
}

/// The form that also does the next instruction, if there is one.
fn with_follower(form: u8, follower: u8) -> u8 {
    const LOOP: u8 = Opcode::Loop as u8;
    match (form, follower) {
        (ADD_64, LESS_SIGNED_LOOP) => ADD_64_LESS_LOOP,
        (ADD_64, LOOP) => ADD_64_LOOP,
        _ => form,
    }
}

/// Whether an instruction jumps on the first operand of the one before.
fn is_jump_on_result(before: &Instruction, instruction: &Instruction) -> bool {
    use Opcode::{JumpIf, JumpUnless, LoopIf, LoopUnless};
    matches!(instruction.opcode, JumpIf | JumpUnless | LoopIf | LoopUnless)
        && instruction.register(Field::A) == before.register(Field::A)
}

fn form(
    function: &Function,
    types: &[Type],
    instruction: &Instruction,
    jump: Option<Opcode>,
) -> Option<u8> {
    let [a, b] = [Field::A, Field::B].map(|field| instruction.register(field).index());
    let kind = |register: usize| function.registers[register];
    let loops = jump.map(Opcode::polls);
    match instruction.opcode {
        Opcode::Move => types[a].is_list().then_some(MOVE_LIST),
        Opcode::Add | Opcode::Subtract | Opcode::Multiply | Opcode::Divide => {
            arithmetic(instruction.opcode, kind(a))
        }
        Opcode::Less | Opcode::LessOrEqual if kind(b) == RegisterType::F64 => {
            let form = [LESS_F64_JUMP, LESS_OR_EQUAL_F64_JUMP];
            let form = form[usize::from(instruction.opcode == Opcode::LessOrEqual)];
            (loops == Some(false)).then_some(form)
        }
        Opcode::Less | Opcode::LessOrEqual | Opcode::Equal | Opcode::NotEqual => {
            comparison(instruction.opcode, kind(b), loops)
        }
        Opcode::ListGet => (types[a].storage() == Storage::Bits64).then_some(LIST_GET_64),
        Opcode::ListSet => {
            let value = instruction.register(Field::C).index();
            (types[value].storage() == Storage::Bits64).then_some(LIST_SET_64)
        }
        _ => None,
    }
}

fn arithmetic(opcode: Opcode, kind: RegisterType) -> Option<u8> {
    use RegisterType::{F64, I32, I64, U64};
    Some(match (opcode, kind) {
        (Opcode::Add, I64 | U64) => ADD_64,
        (Opcode::Subtract, I64 | U64) => SUBTRACT_64,
        (Opcode::Multiply, I64 | U64) => MULTIPLY_64,
        (Opcode::Add, I32) => ADD_I32,
        (Opcode::Subtract, I32) => SUBTRACT_I32,
        (Opcode::Add, F64) => ADD_F64,
        (Opcode::Subtract, F64) => SUBTRACT_F64,
        (Opcode::Multiply, F64) => MULTIPLY_F64,
        (Opcode::Divide, F64) => DIVIDE_F64,
        _ => return None,
    })
}

/// The form for a comparison of integers or booleans; the jump after it, if any, loops or not.
fn comparison(opcode: Opcode, kind: RegisterType, loops: Option<bool>) -> Option<u8> {
    let is_ordering = matches!(opcode, Opcode::Less | Opcode::LessOrEqual);
    let is_suitable = match kind {
        RegisterType::U64 => !is_ordering,
        RegisterType::Bool => true,
        kind => kind.is_integer(),
    };
    let column = match loops {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    };
    let row = match opcode {
        Opcode::Less => [LESS_SIGNED, LESS_SIGNED_JUMP, LESS_SIGNED_LOOP],
        Opcode::LessOrEqual => {
            [LESS_OR_EQUAL_SIGNED, LESS_OR_EQUAL_SIGNED_JUMP, LESS_OR_EQUAL_SIGNED_LOOP]
        }
        Opcode::Equal => [EQUAL_BITS, EQUAL_BITS_JUMP, EQUAL_BITS_LOOP],
        _ => [NOT_EQUAL_BITS, NOT_EQUAL_BITS_JUMP, NOT_EQUAL_BITS_LOOP],
    };
    is_suitable.then_some(row[column])
}
