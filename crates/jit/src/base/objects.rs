//! Templates of the instructions for enclosing objects and initial slots. `mod.rs` appends them to a function's code.

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use squall_bytecode::decode::Instruction;
use squall_bytecode::entities::FunctionId;
use squall_bytecode::instructions::{Field, Opcode};
use squall_runtime::tiers::classes;
use squall_runtime::tiers::lookup::Action;

use super::{Emitter, field, place, register};
use crate::assembler::offset;
use crate::stubs::Helper;

impl Emitter<'_> {
    /// The template of an instruction for objects; answers whether there is one.
    pub(super) fn object_template(&mut self, instruction: &Instruction) -> bool {
        match instruction.opcode {
            Opcode::Enclosing => self.enclosing(instruction),
            Opcode::InitializeSlot => self.initialize_slot(instruction),
            _ => self.allocation_template(instruction),
        }
    }

    /// The template of an instruction that makes an object by a function of Rust, or checks one.
    fn allocation_template(&mut self, instruction: &Instruction) -> bool {
        let a = register(instruction, Field::A) as i64;
        let (helper, first, second) = match instruction.opcode {
            Opcode::MakeClosure => {
                let id = FunctionId(Field::X.extract(instruction.words()));
                let body = std::ptr::from_ref(self.function.module.function(id));
                // The fields as they are in the instruction: destination, range, count.
                (Helper::MakeClosure, body as i64, i64::from(instruction.words()[0] >> 8))
            }
            Opcode::MakeContext => (Helper::MakeContext, a, field(instruction, Field::Bc) as i64),
            Opcode::MakeHome => (Helper::MakeHome, a, 0),
            Opcode::MakeArray => (Helper::MakeArray, a, field(instruction, Field::X) as i64),
            Opcode::Instantiate => (Helper::Instantiate, a, register(instruction, Field::B) as i64),
            Opcode::CheckValue => (Helper::CheckValue, a, 0),
            _ => return false,
        };
        dynasm!(self.ops
            ; .arch x64
            ; mov rsi, QWORD self.code_word(instruction.pc)
            ; mov rdx, QWORD std::ptr::from_ref(self.function) as i64
            ; mov r8, QWORD first
            ; mov r9, QWORD second
            ; call extern self.stubs.of(helper)
        );
        true
    }

    /// The object around the receiver's own class.
    fn enclosing(&mut self, instruction: &Instruction) -> bool {
        let entry = self.site(field(instruction, Field::Xlo)).entry();
        let Action::Enclosing(path) = entry.action else { return false };
        if path.hops != 0 || path.mixin.is_some() || super::is_immediate(entry.layout) {
            return false;
        }
        let other = self.otherwise_step(instruction);
        self.load_rax(register(instruction, Field::B));
        self.check_object(entry.layout, other);
        if !path.from_class {
            dynasm!(self.ops ; .arch x64 ; mov rax, [rax + offset::CLASS]);
        }
        let slot = offset::slot(classes::ENCLOSING);
        dynasm!(self.ops ; .arch x64 ; mov rax, [rax + slot]);
        self.store_result(register(instruction, Field::A));
        true
    }

    fn initialize_slot(&mut self, instruction: &Instruction) -> bool {
        let entry = self.site(field(instruction, Field::Xlo)).entry();
        let Action::SlotIndex(index) = entry.action else { return false };
        if super::is_immediate(entry.layout) {
            return false;
        }
        let other = self.otherwise_step(instruction);
        self.load_rax(register(instruction, Field::A));
        self.check_object(entry.layout, other);
        dynasm!(self.ops
            ; .arch x64
            ; mov rcx, [rbx + place(register(instruction, Field::B))]
        );
        self.admit(entry.layout, index as usize);
        dynasm!(self.ops ; .arch x64 ; mov [rax + offset::slot(index as usize)], rcx);
        self.slot_barrier();
        true
    }
}
