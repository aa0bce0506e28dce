//! Operation codes at run time: all meanings of the lowest byte of a linked function's code word. The runtime's linker
//! and the interpreter use them.
//!
//! | codes | meaning | chosen by |
//! |---|---|---|
//! | [`general`] | the bytecode's own instructions, from the [instruction table](crate::instructions) | the compiler |
//! | [`typed_forms`] | forms of typed instructions, by the types of their registers | the linker |
//! | [`observed_forms`] | forms of sends and loads, by the result of the first execution | a tier |
//! | [`internal`] | codes that no module contains: ends of stacks, functions without code, the completion of a wait | the runtime |
//!
//! A *form* has the operands and the length of its instruction. It handles the cases that it is made for, and does the
//! same as the instruction in all others. It is written over the opcode's byte alone. So the words are a valid program
//! at any moment, for every thread that executes them, and [`original`] answers the first opcode.
//!
//! Invariants, tested below: a code has one meaning, and a form stands for an instruction.

use crate::for_each_instruction;
use crate::instructions::Opcode;

macro_rules! codes {
    ($($code:literal $name:ident $mnemonic:literal [$($operands:tt)*] $flow:ident $semantics:literal $notes:literal;)*) => {
        /// The bytecode's instructions, as constants that a `match` on a byte can name.
        #[allow(non_upper_case_globals, reason = "named as in the instruction table")]
        pub mod general {
            $(#[doc = concat!("`", $semantics, "`")] pub const $name: u8 = $code;)*
        }
    };
}

for_each_instruction!(codes);

/// Declares a module of forms, and the table of their instructions.
macro_rules! forms {
    ($(#[doc = $about:literal])* $module:ident $($(#[doc = $doc:literal])* $code:literal $name:ident for $opcode:ident;)*) => {
        $(#[doc = $about])*
        pub mod $module {
            use crate::instructions::Opcode;

            $($(#[doc = $doc])* pub const $name: u8 = $code;)*

            /// Each form's code, and the instruction that it stands for.
            pub const ALL: &[(u8, Opcode)] = &[$(($name, Opcode::$opcode)),*];
        }
    };
}

forms! {
    /// Forms of typed instructions. The form of a comparison also does the jump on its result that follows it, and the
    /// form of an addition the end of the loop that follows it. The words of the second instruction stay, for code that
    /// jumps there.
    typed_forms
    /// `move` of a list.
    122 MOVE_LIST for Move;
    /// `add` of 64-bit integers.
    123 ADD_64 for Add;
    /// `sub` of 64-bit integers.
    124 SUBTRACT_64 for Subtract;
    /// `mul` of 64-bit integers.
    125 MULTIPLY_64 for Multiply;
    /// `add` of `f64`.
    126 ADD_F64 for Add;
    /// `sub` of `f64`.
    127 SUBTRACT_F64 for Subtract;
    /// `mul` of `f64`.
    180 MULTIPLY_F64 for Multiply;
    /// `div` of `f64`.
    181 DIVIDE_F64 for Divide;
    /// `add` of `i32`.
    182 ADD_I32 for Add;
    /// `sub` of `i32`.
    183 SUBTRACT_I32 for Subtract;
    /// `lt` of integers but `u64`.
    184 LESS_SIGNED for Less;
    /// `le` of integers but `u64`.
    185 LESS_OR_EQUAL_SIGNED for LessOrEqual;
    /// `eq` of integers and booleans.
    186 EQUAL_BITS for Equal;
    /// `ne` of integers and booleans.
    187 NOT_EQUAL_BITS for NotEqual;
    /// `LESS_SIGNED` and a jump.
    188 LESS_SIGNED_JUMP for Less;
    /// `LESS_OR_EQUAL_SIGNED` and a jump.
    189 LESS_OR_EQUAL_SIGNED_JUMP for LessOrEqual;
    /// `EQUAL_BITS` and a jump.
    190 EQUAL_BITS_JUMP for Equal;
    /// `NOT_EQUAL_BITS` and a jump.
    191 NOT_EQUAL_BITS_JUMP for NotEqual;
    /// `LESS_SIGNED` and a jump backwards.
    192 LESS_SIGNED_LOOP for Less;
    /// `LESS_OR_EQUAL_SIGNED` and a jump backwards.
    193 LESS_OR_EQUAL_SIGNED_LOOP for LessOrEqual;
    /// `EQUAL_BITS` and a jump backwards.
    194 EQUAL_BITS_LOOP for Equal;
    /// `NOT_EQUAL_BITS` and a jump backwards.
    195 NOT_EQUAL_BITS_LOOP for NotEqual;
    /// `list_get` of elements of 64 bits.
    196 LIST_GET_64 for ListGet;
    /// `list_set` of elements of 64 bits.
    197 LIST_SET_64 for ListSet;
    /// `lt` of `f64`, and a jump.
    198 LESS_F64_JUMP for Less;
    /// `le` of `f64`, and a jump.
    199 LESS_OR_EQUAL_F64_JUMP for LessOrEqual;
    /// `ADD_64`, and the `LESS_SIGNED_LOOP` after it.
    244 ADD_64_LESS_LOOP for Add;
    /// `ADD_64`, and the `loop` after it.
    245 ADD_64_LOOP for Add;
}

forms! {
    /// Forms of sends and loads, which a tier writes when the first execution shows that they pay.
    observed_forms
    /// `send0` that reads a slot.
    200 SEND0_SLOT for Send0;
    /// `send0` that runs a method.
    201 SEND0_METHOD for Send0;
    /// `send1` that runs a method.
    202 SEND1_METHOD for Send1;
    /// `send2` that runs a method.
    203 SEND2_METHOD for Send2;
    /// `send` that runs a method.
    204 SEND_METHOD for Send;
    /// `send1` that assigns a slot.
    205 SEND1_SLOT for Send1;
    /// `load_constant` whose object exists.
    206 LOAD_OBJECT for LoadConstant;
    /// `send0` of `value` to a closure.
    207 SEND0_EVALUATE for Send0;
    /// `send1` of `value:` to a closure.
    208 SEND1_EVALUATE for Send1;
    /// `send2` of `value:with:` to a closure.
    209 SEND2_EVALUATE for Send2;
    /// `send1` of `+` to numbers.
    212 ADD for Send1;
    /// `send1` of `-` to numbers.
    213 SUBTRACT for Send1;
    /// `send1` of `*` to numbers.
    214 MULTIPLY for Send1;
    /// `send1` of `<` to numbers.
    215 LESS for Send1;
    /// `send1` of `<=` to numbers.
    216 LESS_OR_EQUAL for Send1;
    /// `send1` of `>` to numbers.
    217 GREATER for Send1;
    /// `send1` of `>=` to numbers.
    218 GREATER_OR_EQUAL for Send1;
    /// `send1` of `=` to numbers.
    219 EQUAL for Send1;
    /// `send1` of `<>` or `~=` to numbers.
    220 NOT_EQUAL for Send1;
    /// `send1` of `==`.
    221 IDENTICAL for Send1;
    /// `LESS` followed by a branch on its result.
    222 LESS_BRANCH for Send1;
    /// `LESS_OR_EQUAL` followed by a branch on its result.
    223 LESS_OR_EQUAL_BRANCH for Send1;
    /// `GREATER` followed by a branch on its result.
    224 GREATER_BRANCH for Send1;
    /// `GREATER_OR_EQUAL` followed by a branch on its result.
    225 GREATER_OR_EQUAL_BRANCH for Send1;
    /// `EQUAL` followed by a branch on its result.
    226 EQUAL_BRANCH for Send1;
    /// `NOT_EQUAL` followed by a branch on its result.
    227 NOT_EQUAL_BRANCH for Send1;
    /// `IDENTICAL` followed by a branch on its result.
    228 IDENTICAL_BRANCH for Send1;
    /// `send1` of `at:` to an array.
    232 ARRAY_AT for Send1;
    /// `send2` of `at:put:` to an array.
    233 ARRAY_AT_PUT for Send2;
    /// `send1` of `%` to small integers.
    234 MODULO for Send1;
    /// `send1` of `&` to small integers.
    235 BIT_AND for Send1;
    /// `send1` of `//` to doubles.
    236 DIVIDE for Send1;
    /// `send1` of `/` to small integers.
    237 QUOTIENT for Send1;
    /// `load_integer` followed by an `ADD` of it.
    242 LOAD_INTEGER_ADD for LoadInteger;
    /// `load_integer` followed by a `SUBTRACT` of it.
    243 LOAD_INTEGER_SUBTRACT for LoadInteger;
}

/// Codes that no module contains.
pub mod internal {
    /// A debugger is asked before the instruction that was here.
    pub const BREAKPOINT: u8 = 249;
    /// An imported function that no module provides.
    pub const NOT_LINKED: u8 = 250;
    /// Completes a `read`: its destination holds a word, and has another type.
    pub const RECEIVED: u8 = 251;
    /// Completes an `accept`: its destination holds a pair of a writer and the value read.
    pub const ACCEPTED: u8 = 252;
    /// Completes an `alt`.
    pub const CHOSEN: u8 = 253;
    /// A strand ends.
    pub const HALT: u8 = 254;
    /// Completes a return to the chunk below.
    pub const LEAVE_CHUNK: u8 = 255;

    /// Every code.
    pub const ALL: &[u8] = &[BREAKPOINT, NOT_LINKED, RECEIVED, ACCEPTED, CHOSEN, HALT, LEAVE_CHUNK];
}

/// The instruction that a code of a linked function stands for; nothing for [`internal`] ones.
pub fn original(code: u8) -> Option<Opcode> {
    let forms = typed_forms::ALL.iter().chain(observed_forms::ALL);
    let form = || forms.clone().find(|form| form.0 == code).map(|form| form.1);
    Opcode::from_code(code).or_else(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_one_meaning() {
        let instructions = Opcode::ALL.iter().map(|opcode| *opcode as u8);
        let forms = typed_forms::ALL.iter().chain(observed_forms::ALL).map(|form| form.0);
        let mut all: Vec<u8> =
            instructions.chain(forms).chain(internal::ALL.iter().copied()).collect();
        all.sort_unstable();
        let twice: Vec<_> = all.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn the_original_of_a_form_is_an_instruction() {
        assert_eq!(original(general::Move), Some(Opcode::Move));
        assert_eq!(original(observed_forms::ADD), Some(Opcode::Send1));
        assert_eq!(original(typed_forms::ADD_64), Some(Opcode::Add));
        assert_eq!(original(internal::HALT), None);
        assert_eq!(original(0), None);
    }
}
