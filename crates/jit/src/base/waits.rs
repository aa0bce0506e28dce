//! Templates of the instructions that wait for other processes. `mod.rs` appends them to a function's code. They call a
//! helper, and the strand may go on elsewhere.

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use squall_bytecode::codes::internal::RECEIVED;
use squall_bytecode::decode::Instruction;
use squall_bytecode::instructions::{Field, Opcode};
use squall_heap::{TAG_BITS, TAG_MASK, TAG_SMALL_INTEGER};
use squall_runtime::tiers::function::Site;
use squall_runtime::tiers::links;

use super::{Emitter, place, register};
use crate::stubs::Helper;

impl Emitter<'_> {
    /// The template of an instruction that waits; answers whether there is one.
    pub(super) fn waiting_template(&mut self, instruction: &Instruction) -> bool {
        match instruction.opcode {
            Opcode::Read => self.read(instruction),
            Opcode::Write => {
                let value = register(instruction, Field::B) as i32;
                dynasm!(self.ops ; .arch x64 ; mov r8d, value);
                self.wait(instruction, Helper::Write, register(instruction, Field::A));
            }
            Opcode::Yield => self.wait(instruction, Helper::Yield, 0),
            _ => return false,
        }
        true
    }

    /// Calls the helper, which goes on with the next instruction when the wait is over.
    fn wait(&mut self, instruction: &Instruction, helper: Helper, operand: usize) {
        let site: &'static Site = self.site_of_link(instruction);
        dynasm!(self.ops
            ; .arch x64
            ; mov rsi, QWORD std::ptr::from_ref(site) as i64
            ; mov edx, operand as i32
            ; call extern self.stubs.of(helper)
        );
    }

    /// What is read is a word, in `rax`. Where the register holds bits without a tag, the link word takes the tag off; a strand
    /// that has waited may go on there, with the word in the register.
    fn read(&mut self, instruction: &Instruction) {
        self.wait(instruction, Helper::Read, register(instruction, Field::B));
        let destination = register(instruction, Field::A);
        let link = instruction.pc + 1;
        let site = self.site_of_link(instruction);
        if self.function.pc_index(site.return_pc) != link {
            return self.store_result(destination);
        }
        debug_assert!(self.link(instruction) as u8 == RECEIVED);
        let (untag, other) = (self.label(), self.label());
        dynasm!(self.ops
            ; .arch x64
            ; =>untag
            ; mov ecx, eax
            ; and ecx, TAG_MASK as i32
            ; cmp ecx, TAG_SMALL_INTEGER as i32
            ; jne =>other
            ; sar rax, TAG_BITS as i8
            ; mov [rbx + place(destination)], rax
        );
        self.later(move |emitter| {
            emitter.begin(link);
            emitter.load_rax(destination);
            emitter.jump(untag);
            emitter.bind(other);
            emitter.store_result(destination);
            emitter.step_at(link);
        });
    }

    fn link(&self, instruction: &Instruction) -> u32 {
        self.function.code[instruction.pc + 1].load(std::sync::atomic::Ordering::Relaxed)
    }

    fn site_of_link(&self, instruction: &Instruction) -> &'static Site {
        self.site(links::site_index(self.link(instruction)) as usize)
    }
}
