//! Templates of moves, constants, captured variables and contexts. `mod.rs` appends them to a function's code.

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use squall_bytecode::decode::Instruction;
use squall_bytecode::instructions::{Field, Opcode, Special};
use squall_heap::Word;
use squall_runtime::tiers::block::FIRST_CAPTURED;
use squall_runtime::tiers::known;

use super::{Emitter, field, register};
use crate::assembler::offset;

impl Emitter<'_> {
    /// The template of a value's instruction; answers whether there is one.
    pub(super) fn value_template(&mut self, instruction: &Instruction) -> bool {
        let a = register(instruction, Field::A);
        match instruction.opcode {
            Opcode::Move => return self.move_register(instruction),
            Opcode::Take => self.copy(a, register(instruction, Field::B)),
            Opcode::LoadInteger => {
                let value = Field::Bc.extract_signed(instruction.words());
                self.store_word(a, Word::from_small_integer_unchecked(i64::from(value)));
            }
            Opcode::LoadSpecial => {
                let special = field(instruction, Field::B);
                let word = match Special::ALL[special] {
                    Special::Nil => Word::NIL,
                    Special::False => Word::FALSE,
                    Special::True => Word::TRUE,
                };
                self.store_word(a, word);
            }
            Opcode::LoadConstant => return self.load_constant(instruction),
            Opcode::LoadRaw => {
                let bits = self.function.constants[field(instruction, Field::Bc)].bits();
                self.store_bits(a, bits);
            }
            Opcode::LoadFunction => {
                let id =
                    squall_bytecode::entities::FunctionId(Field::X.extract(instruction.words()));
                let function = self.function.module.function(id);
                self.store_bits(a, std::ptr::from_ref(function) as u64);
            }
            Opcode::LoadCaptured => self.load_captured(instruction),
            Opcode::LoadContext => self.load_context(instruction),
            Opcode::StoreContext => self.store_context(instruction),
            _ => return false,
        }
        true
    }

    /// A list that two registers refer to is marked, which the interpreter does.
    fn move_register(&mut self, instruction: &Instruction) -> bool {
        let (to, from) = (register(instruction, Field::A), register(instruction, Field::B));
        let is_defined = self.function.register_types[to].defined().is_some();
        if !is_defined {
            self.copy(to, from);
        }
        !is_defined
    }

    /// The object of a constant is made when it is first needed; from then on, the constant's cell has it.
    fn load_constant(&mut self, instruction: &Instruction) -> bool {
        let constant = &self.function.constants[field(instruction, Field::Bc)];
        if constant.word() == Word::UNSET {
            return false;
        }
        dynasm!(self.ops
            ; .arch x64
            ; mov rax, QWORD std::ptr::from_ref(constant) as i64
            ; mov rax, [rax]
        );
        self.store_result(register(instruction, Field::A));
        true
    }

    /// The verifier has shown that register 0 is the closure, and that it captures that many values.
    fn load_captured(&mut self, instruction: &Instruction) {
        let element = offset::element(FIRST_CAPTURED + field(instruction, Field::Bc));
        self.load_rax(0);
        dynasm!(self.ops ; .arch x64 ; mov rax, [rax + element]);
        self.store_result(register(instruction, Field::A));
    }

    fn load_context(&mut self, instruction: &Instruction) {
        let index = field(instruction, Field::C);
        self.check_context(instruction, Field::B, index);
        dynasm!(self.ops ; .arch x64 ; mov rax, [rax + offset::element(index)]);
        self.store_result(register(instruction, Field::A));
    }

    fn store_context(&mut self, instruction: &Instruction) {
        let index = field(instruction, Field::B);
        self.check_context(instruction, Field::A, index);
        self.load_rcx(register(instruction, Field::C));
        dynasm!(self.ops ; .arch x64 ; mov [rax + offset::element(index)], rcx);
        self.slot_barrier();
    }

    /// Loads a context into `rax`; for another object, or a context that is too small, the interpreter fails.
    fn check_context(&mut self, instruction: &Instruction, context: Field, index: usize) {
        let other = self.otherwise_step(instruction);
        self.load_rax(register(instruction, context));
        self.check_object(known::CONTEXT, other);
        dynasm!(self.ops
            ; .arch x64
            ; cmp QWORD [rax + offset::LENGTH], index as i32
            ; jbe =>other
        );
        if self.is_hardened {
            // Where the processor only guesses that the context has the variable, it gets the address 0.
            dynasm!(self.ops ; .arch x64 ; mov ecx, 0 ; cmovbe rax, rcx);
        }
    }
}
