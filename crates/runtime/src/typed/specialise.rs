//! Typed instructions specialised by the types of their registers, when a function is linked.
//!
//! A form has the operands and the length of the instruction that it stands for. A comparison that
//! is followed by a jump on its result does that jump as well, and an addition the loop's end that
//! follows it; the words of what follows stay, for those who jump to it.
//!
//! One form is no matter of speed: `move` of a list has to mark it, see [`crate::typed`].

use squall_bytecode::decode::{Instruction, instructions};
use squall_bytecode::instructions::{Field, Opcode};
use squall_bytecode::module::Function;
use squall_bytecode::types::RegisterType;

use super::types::{Storage, Type};

/// Declares the codes of the forms.
macro_rules! forms {
    ($($(#[doc = $doc:literal])* $code:literal $name:ident;)*) => {
        $($(#[doc = $doc])* pub const $name: u8 = $code;)*
    };
}

forms! {
    /// `move` of a list.
    122 MOVE_LIST;
    /// `add` of 64-bit integers.
    123 ADD_64;
    /// `sub` of 64-bit integers.
    124 SUBTRACT_64;
    /// `mul` of 64-bit integers.
    125 MULTIPLY_64;
    /// `add` of `f64`.
    126 ADD_F64;
    /// `sub` of `f64`.
    127 SUBTRACT_F64;
    /// `mul` of `f64`.
    180 MULTIPLY_F64;
    /// `div` of `f64`.
    181 DIVIDE_F64;
    /// `add` of `i32`.
    182 ADD_I32;
    /// `sub` of `i32`.
    183 SUBTRACT_I32;
    /// `lt` of integers but `u64`.
    184 LESS_SIGNED;
    /// `le` of integers but `u64`.
    185 LESS_OR_EQUAL_SIGNED;
    /// `eq` of integers and booleans.
    186 EQUAL_BITS;
    /// `ne` of integers and booleans.
    187 NOT_EQUAL_BITS;
    /// `LESS_SIGNED` and a jump.
    188 LESS_SIGNED_JUMP;
    /// `LESS_OR_EQUAL_SIGNED` and a jump.
    189 LESS_OR_EQUAL_SIGNED_JUMP;
    /// `EQUAL_BITS` and a jump.
    190 EQUAL_BITS_JUMP;
    /// `NOT_EQUAL_BITS` and a jump.
    191 NOT_EQUAL_BITS_JUMP;
    /// `LESS_SIGNED` and a jump backwards.
    192 LESS_SIGNED_LOOP;
    /// `LESS_OR_EQUAL_SIGNED` and a jump backwards.
    193 LESS_OR_EQUAL_SIGNED_LOOP;
    /// `EQUAL_BITS` and a jump backwards.
    194 EQUAL_BITS_LOOP;
    /// `NOT_EQUAL_BITS` and a jump backwards.
    195 NOT_EQUAL_BITS_LOOP;
    /// `list_get` of elements of 64 bits.
    196 LIST_GET_64;
    /// `list_set` of elements of 64 bits.
    197 LIST_SET_64;
    /// `lt` of `f64`, and a jump.
    198 LESS_F64_JUMP;
    /// `le` of `f64`, and a jump.
    199 LESS_OR_EQUAL_F64_JUMP;
    /// `ADD_64`, and the `LESS_SIGNED_LOOP` after it.
    244 ADD_64_LESS_LOOP;
    /// `ADD_64`, and the `loop` after it.
    245 ADD_64_LOOP;
}

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
    // From the end, so that what an addition is followed by has its form already.
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

/// The form that does what follows as well, if there is one.
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
