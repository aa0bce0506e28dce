//! Operation codes as the dispatch loop sees them: the bytecode's own, and the specialised forms.
//!
//! A specialised form has the operands and length of the instruction it stands for and does the
//! same; it is written over the opcode byte when the first execution shows that it pays, and it
//! handles every other case by doing what the general form does. So the words stay a valid program
//! at any moment, whoever else is executing them.

use squall_bytecode::for_each_instruction;

macro_rules! codes {
    ($($code:literal $name:ident $mnemonic:literal [$($operands:tt)*] $flow:ident $semantics:literal $notes:literal;)*) => {
        /// The bytecode's instructions.
        #[allow(non_upper_case_globals, reason = "named as in the instruction table")]
        #[allow(missing_docs, reason = "documented in the instruction table")]
        pub mod general {
            $(pub const $name: u8 = $code;)*
        }
    };
}

for_each_instruction!(codes);

/// The instructions that exist only at run time: see [`squall_runtime::stack`].
pub use squall_runtime::stack::{HALT, LEAVE_CHUNK, NOT_LINKED};
/// The forms of typed instructions, which are chosen when a function is linked.
pub use squall_runtime::typed::specialise as forms;

macro_rules! specialised {
    ($($(#[doc = $doc:literal])* $code:literal $name:ident;)*) => {
        $($(#[doc = $doc])* pub const $name: u8 = $code;)*
    };
}

specialised! {
    /// `send0` that reads a slot.
    128 SEND0_SLOT;
    /// `send0` that runs a method.
    129 SEND0_METHOD;
    /// `send1` that runs a method.
    130 SEND1_METHOD;
    /// `send2` that runs a method.
    131 SEND2_METHOD;
    /// `send` that runs a method.
    132 SEND_METHOD;
    /// `send1` that assigns a slot.
    133 SEND1_SLOT;
    /// `load_constant` whose object exists.
    134 LOAD_OBJECT;
    /// `send0` of `value` to a closure.
    135 SEND0_EVALUATE;
    /// `send1` of `value:` to a closure.
    136 SEND1_EVALUATE;
    /// `send2` of `value:with:` to a closure.
    137 SEND2_EVALUATE;
    /// `send1` of `+` to numbers.
    140 ADD;
    /// `send1` of `-` to numbers.
    141 SUBTRACT;
    /// `send1` of `*` to numbers.
    142 MULTIPLY;
    /// `send1` of `<` to numbers.
    143 LESS;
    /// `send1` of `<=` to numbers.
    144 LESS_OR_EQUAL;
    /// `send1` of `>` to numbers.
    145 GREATER;
    /// `send1` of `>=` to numbers.
    146 GREATER_OR_EQUAL;
    /// `send1` of `=` to numbers.
    147 EQUAL;
    /// `send1` of `<>` or `~=` to numbers.
    148 NOT_EQUAL;
    /// `send1` of `==`.
    149 IDENTICAL;
    /// `LESS` followed by a branch on its result.
    150 LESS_BRANCH;
    /// `LESS_OR_EQUAL` followed by a branch on its result.
    151 LESS_OR_EQUAL_BRANCH;
    /// `GREATER` followed by a branch on its result.
    152 GREATER_BRANCH;
    /// `GREATER_OR_EQUAL` followed by a branch on its result.
    153 GREATER_OR_EQUAL_BRANCH;
    /// `EQUAL` followed by a branch on its result.
    154 EQUAL_BRANCH;
    /// `NOT_EQUAL` followed by a branch on its result.
    155 NOT_EQUAL_BRANCH;
    /// `IDENTICAL` followed by a branch on its result.
    156 IDENTICAL_BRANCH;
    /// `send1` of `at:` to an array.
    160 ARRAY_AT;
    /// `send2` of `at:put:` to an array.
    161 ARRAY_AT_PUT;
    /// `send1` of `%` to small integers.
    162 MODULO;
    /// `send1` of `&` to small integers.
    163 BIT_AND;
    /// `send1` of `//` to doubles.
    164 DIVIDE;
    /// `send1` of `/` to small integers.
    165 QUOTIENT;
    /// `load_integer` followed by an `ADD` of it.
    170 LOAD_INTEGER_ADD;
    /// `load_integer` followed by a `SUBTRACT` of it.
    171 LOAD_INTEGER_SUBTRACT;
}
