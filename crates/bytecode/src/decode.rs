//! Decodes code: a view of one instruction, and iteration over a function's instructions. The verifier, the
//! disassembler, the flow analyses and the linker read code through it.
//!
//! Decoding is safe on any words. An [`Instruction`] is only made of a known opcode whose words are all there; the
//! verifier checks the *meaning* of its operands (registers in range, targets on instructions). Everything here derives
//! from the instruction table.
//!
//! # What an instruction does to registers
//!
//! [`Instruction::effects`] states it once for the verifier and the liveness analysis:
//!
//! 1. it reads the `uses`;
//! 2. a call destroys every register from `destroys_from` on, the word below its window first;
//! 3. it ends `ends`, which holds nothing that may be read from then on: the home register after
//!    `leave_home`, the source of `take`;
//! 4. it writes `defines`, and `accept` a second register. `unbox` does so on the way to the next
//!    instruction only: on the way to its other target the destination holds nothing that may be
//!    read. With `alt_read` it is the other way round.

use std::fmt;

use crate::entities::{ConstantId, Register, SiteId};
use crate::instructions::{Field, Flow, InstructionInfo, Opcode, Operand, OperandKind};
use crate::register_set::RegisterSet;

/// Why there is no instruction at a place in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// The low byte of the word is no opcode.
    UnknownOpcode {
        /// The word's index.
        pc: usize,
        /// The byte.
        code: u8,
    },
    /// The code ends within the instruction.
    Truncated {
        /// The index of the instruction's first word.
        pc: usize,
        /// The instruction.
        opcode: Opcode,
    },
    /// There is no such word.
    OutOfBounds {
        /// The index.
        pc: usize,
    },
}

impl DecodeError {
    /// The index of the word that does not start an instruction.
    pub fn pc(&self) -> usize {
        match *self {
            DecodeError::UnknownOpcode { pc, .. }
            | DecodeError::Truncated { pc, .. }
            | DecodeError::OutOfBounds { pc } => pc,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::UnknownOpcode { code, .. } => write!(f, "{code} is not an opcode"),
            DecodeError::Truncated { opcode, .. } => {
                write!(f, "the code ends within `{}`", opcode.info().mnemonic)
            }
            DecodeError::OutOfBounds { .. } => write!(f, "there is no code here"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// One decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// The index of its first word.
    pub pc: usize,
    /// Its opcode.
    pub opcode: Opcode,
    words: [u32; 3],
}

impl Instruction {
    /// The instruction whose first word is `code[pc]`.
    pub fn decode(code: &[u32], pc: usize) -> Result<Instruction, DecodeError> {
        let rest = code.get(pc..).unwrap_or_default();
        let &first = rest.first().ok_or(DecodeError::OutOfBounds { pc })?;
        let opcode =
            Opcode::of_word(first).ok_or(DecodeError::UnknownOpcode { pc, code: first as u8 })?;
        let length = opcode.info().words();
        let present = rest.get(..length).ok_or(DecodeError::Truncated { pc, opcode })?;
        let mut words = [0; 3];
        words[..length].copy_from_slice(present);
        Ok(Instruction { pc, opcode, words })
    }

    /// The opcode's row of the table.
    pub fn info(&self) -> &'static InstructionInfo {
        self.opcode.info()
    }

    /// The instruction's words.
    pub fn words(&self) -> &[u32] {
        &self.words[..self.info().words()]
    }

    /// The pc of the instruction after it in the code.
    pub fn next_pc(&self) -> usize {
        self.pc + self.info().words()
    }

    /// The value of an operand of this instruction: sign-extended if its kind is signed.
    pub fn value(&self, operand: &Operand) -> i64 {
        if operand.kind.is_signed() {
            i64::from(operand.field.extract_signed(&self.words))
        } else {
            i64::from(operand.field.extract(&self.words))
        }
    }

    /// The operands with their values, in the table's order.
    pub fn operands(&self) -> impl Iterator<Item = (&'static Operand, i64)> + use<> {
        let instruction = *self;
        self.info().operands.iter().map(move |operand| (operand, instruction.value(operand)))
    }

    /// The register that an eight-bit field names.
    pub fn register(&self, field: Field) -> Register {
        Register(field.extract(&self.words) as u8)
    }

    /// The pcs of the jump targets, in the table's order; they can be outside of the code.
    pub fn targets(&self) -> impl Iterator<Item = i64> + use<> {
        let pc = self.pc as i64;
        self.operands()
            .filter(|(operand, _)| operand.kind == OperandKind::Target)
            .map(move |(_, distance)| pc + distance)
    }

    /// The value of the first operand of this kind.
    fn first(&self, kind: OperandKind) -> Option<i64> {
        self.info().operand(kind).map(|operand| self.value(operand))
    }

    /// The first register of the call window.
    pub fn window(&self) -> Option<Register> {
        self.first(OperandKind::Window).map(|value| Register(value as u8))
    }

    /// The length of the window or range.
    pub fn count(&self) -> Option<usize> {
        self.first(OperandKind::Count).map(|value| value as usize)
    }

    /// The site, if the instruction has one.
    pub fn site(&self) -> Option<SiteId> {
        self.operands()
            .find(|(operand, _)| matches!(operand.kind, OperandKind::Site(_)))
            .map(|(_, value)| SiteId(value as u16))
    }

    /// The constant, if the instruction has one.
    pub fn constant(&self) -> Option<ConstantId> {
        self.first(OperandKind::Constant).map(|value| ConstantId(value as u16))
    }

    /// Whether control can go on to the next instruction.
    pub fn falls_through(&self) -> bool {
        !matches!(self.info().flow, Flow::Jump | Flow::Leave)
    }

    /// Whether all bits that belong to no operand are zero.
    pub fn is_canonical(&self) -> bool {
        let mut rest = self.words;
        rest[0] &= !0xff;
        for operand in self.info().operands {
            operand.field.insert(&mut rest, 0);
        }
        rest == [0; 3]
    }

    /// The instruction's effects on registers; see the module's description.
    pub fn effects(&self) -> Effects {
        let mut effects = Effects::default();
        match self.opcode {
            Opcode::LeaveHome => effects.ends = Some(self.register(Field::A)),
            Opcode::Take => effects.ends = Some(self.register(Field::B)),
            _ => {}
        }
        let count = self.count();
        for (operand, value) in self.operands() {
            let register = Register(value as u8);
            match operand.kind {
                OperandKind::Define(_) if effects.defines.is_some() => {
                    effects.defines_too = Some(register);
                }
                OperandKind::Define(_) => effects.defines = Some(register),
                OperandKind::Use(_) => effects.uses.insert(register),
                OperandKind::Update(_) => {
                    effects.uses.insert(register);
                    effects.defines = Some(register);
                }
                OperandKind::Window => {
                    effects.uses |= run(register, count.unwrap_or(0));
                    effects.destroys_from = Some(Register(register.0.saturating_sub(1)));
                }
                OperandKind::Range => effects.uses |= run(register, count.unwrap_or(0)),
                _ => {}
            }
        }
        effects
    }
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pc, self.info().mnemonic)?;
        for (operand, value) in self.operands() {
            write!(f, " {}={value}", operand.name)?;
        }
        Ok(())
    }
}

/// The registers of a window or range; it can reach beyond the frame, the set cannot.
fn run(start: Register, count: usize) -> RegisterSet {
    RegisterSet::range(start.index(), start.index() + count)
}

/// The effects of an instruction on registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// The registers it reads, those of a window with a count included.
    pub uses: RegisterSet,
    /// The register it writes.
    pub defines: Option<Register>,
    /// Another one.
    pub defines_too: Option<Register>,
    /// The lowest register that a call destroys before it writes its destination.
    pub destroys_from: Option<Register>,
    /// The register that has no value any more once the instruction is over.
    pub ends: Option<Register>,
}

impl Effects {
    /// The registers that a call destroys.
    pub fn destroyed(&self) -> RegisterSet {
        self.destroys_from
            .map_or(RegisterSet::EMPTY, |from| RegisterSet::ALL - RegisterSet::below(from.index()))
    }

    /// The register it ends, as a set.
    pub fn ended(&self) -> RegisterSet {
        self.ends.map_or(RegisterSet::EMPTY, RegisterSet::of)
    }

    /// The registers it writes, as a set.
    pub fn defined(&self) -> RegisterSet {
        self.defines.into_iter().chain(self.defines_too).collect()
    }
}

/// Iterates over the instructions of a piece of code, up to the first word that starts none.
///
/// In verified code that is the end of the code; [`Instructions::finish`] tells.
pub fn instructions(code: &[u32]) -> Instructions<'_> {
    Instructions { code, pc: 0 }
}

/// See [`instructions`].
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    code: &'a [u32],
    pc: usize,
}

impl Instructions<'_> {
    /// After the last instruction: why there is no further one, if that is not the code's end.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match Instruction::decode(self.code, self.pc) {
            Err(error) if self.pc < self.code.len() => Err(error),
            _ => Ok(()),
        }
    }
}

impl Iterator for Instructions<'_> {
    type Item = Instruction;

    fn next(&mut self) -> Option<Instruction> {
        let instruction = Instruction::decode(self.code, self.pc).ok()?;
        self.pc = instruction.next_pc();
        Some(instruction)
    }
}

#[cfg(test)]
mod tests;
