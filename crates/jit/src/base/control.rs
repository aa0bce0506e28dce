//! Templates of jumps, branches, loops and returns. `mod.rs` appends them to a function's code.

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use squall_bytecode::decode::Instruction;
use squall_bytecode::instructions::{Field, Opcode};
use squall_heap::{LayoutId, Word};
use squall_runtime::tiers::function::CodeKind;
use squall_runtime::tiers::known;

use super::{Emitter, place, register, target};
use crate::assembler::offset;
use crate::code::way;
use crate::stubs::Helper;

/// The bit of a layout whose instances have their own methods for the messages that compiled code inlines.
const CUSTOM_CONTROL: i32 = {
    let with = LayoutId::new(squall_heap::Format::Slots, 0, true, 1);
    let without = LayoutId::new(squall_heap::Format::Slots, 0, false, 1);
    match (with, without) {
        (Some(with), Some(without)) => (with.bits() ^ without.bits()) as i32,
        _ => 0,
    }
};

impl Emitter<'_> {
    /// The template of an instruction that moves control; answers whether there is one.
    pub(super) fn control_template(&mut self, instruction: &Instruction) -> bool {
        match instruction.opcode {
            Opcode::Jump => {
                let label = self.labels[target(instruction, Field::Abc)];
                self.jump(label);
            }
            Opcode::Loop => self.jump_back(target(instruction, Field::Abc)),
            Opcode::BranchTrue => self.branch_boolean(instruction, Word::TRUE, Word::FALSE),
            Opcode::BranchFalse => self.branch_boolean(instruction, Word::FALSE, Word::TRUE),
            Opcode::BranchNil => self.branch_nil(instruction, true),
            Opcode::BranchNotNil => self.branch_nil(instruction, false),
            Opcode::ForEnter => self.for_enter(instruction),
            Opcode::ForLoop => self.for_loop(instruction),
            Opcode::Return => self.return_value(register(instruction, Field::A)),
            Opcode::ReturnHome => {
                self.leave_home(register(instruction, Field::B));
                self.return_value(register(instruction, Field::A));
            }
            Opcode::LeaveHome => self.leave_home(register(instruction, Field::A)),
            Opcode::Branch => {}
            _ => return false,
        }
        true
    }

    /// Polls, and jumps to a pc.
    pub(super) fn jump_back(&mut self, pc: usize) {
        self.poll(pc);
        self.count(pc, true);
        let label = self.labels[pc];
        self.jump(label);
    }

    /// Polls before the instruction at a pc; if the thread was asked, goes on there after that.
    fn poll(&mut self, pc: usize) {
        let asked = self.label();
        if self.kind == CodeKind::Sandboxed {
            dynasm!(self.ops
                ; .arch x64
                ; sub DWORD [r15 + offset::FUEL], 1
                ; js =>asked
            );
        }
        dynasm!(self.ops
            ; .arch x64
            ; cmp QWORD [r15 + offset::LIMIT], 0
            ; je =>asked
        );
        self.later(move |emitter| {
            let word = emitter.code_word(pc);
            emitter.bind(asked);
            dynasm!(emitter.ops
                ; .arch x64
                ; mov rsi, QWORD word
                ; mov rdx, QWORD std::ptr::from_ref(emitter.function) as i64
                ; call extern emitter.stubs.of(Helper::Poll)
                ; ud2
            );
        });
    }

    fn branch_boolean(&mut self, instruction: &Instruction, taken: Word, not_taken: Word) {
        let goal = self.branch_label(instruction, Field::Bc, way::TAKEN);
        let otherwise = self.branch_label(instruction, Field::X, way::OTHERWISE);
        self.load_rax(register(instruction, Field::A));
        dynasm!(self.ops
            ; .arch x64
            ; cmp rax, taken.bits() as i32
            ; je =>goal
            ; cmp rax, not_taken.bits() as i32
            ; jne =>otherwise
        );
        self.record(instruction.pc, way::FELL_THROUGH);
    }

    /// Where a branch goes to one of its targets, with a record of its way.
    fn branch_label(&mut self, branch: &Instruction, field: Field, way: u8) -> DynamicLabel {
        let label = self.labels[target(branch, field)];
        self.by_way(branch.pc, way, label)
    }

    fn branch_nil(&mut self, instruction: &Instruction, jumps_on_nil: bool) {
        let goal = self.branch_label(instruction, Field::Bc, way::TAKEN);
        let otherwise = self.branch_label(instruction, Field::X, way::OTHERWISE);
        let (immediate, next) = (self.label(), self.label());
        self.load_rax(register(instruction, Field::A));
        self.check_pointer(immediate);
        dynasm!(self.ops
            ; .arch x64
            ; test DWORD [rax + offset::OBJECT_LAYOUT], CUSTOM_CONTROL
            ; jnz =>otherwise
        );
        // An object is not nil.
        let object_goes = if jumps_on_nil { next } else { goal };
        dynasm!(self.ops
            ; .arch x64
            ; jmp =>object_goes
            ; =>immediate
            ; cmp rax, Word::NIL.bits() as i32
        );
        match jumps_on_nil {
            true => dynasm!(self.ops ; .arch x64 ; je =>goal),
            false => dynasm!(self.ops ; .arch x64 ; jne =>goal),
        }
        self.bind(next);
        self.record(instruction.pc, way::FELL_THROUGH);
    }

    /// Skips the loop if the counter is beyond the limit. A limit that is no small integer is rounded by the interpreter.
    fn for_enter(&mut self, instruction: &Instruction) {
        let step = Field::C.extract_signed(instruction.words());
        let other = self.otherwise_step(instruction);
        let other = self.by_way(instruction.pc, way::OTHERWISE, other);
        if step == 0 {
            return self.jump(other);
        }
        let exit = self.branch_label(instruction, Field::X, way::TAKEN);
        self.load_rax(register(instruction, Field::A));
        self.load_rcx(register(instruction, Field::B));
        dynasm!(self.ops
            ; .arch x64
            ; mov edx, eax
            ; or edx, ecx
            ; test dl, 7
            ; jnz =>other
            ; cmp rax, rcx
        );
        match step > 0 {
            true => dynasm!(self.ops ; .arch x64 ; jg =>exit),
            false => dynasm!(self.ops ; .arch x64 ; jl =>exit),
        }
        self.record(instruction.pc, way::FELL_THROUGH);
    }

    /// Counts in steps to the limit, if both are small integers.
    fn for_loop(&mut self, instruction: &Instruction) {
        let (counter, limit) = (register(instruction, Field::A), register(instruction, Field::B));
        let step = Field::C.extract_signed(instruction.words());
        let end = self.labels[instruction.next_pc()];
        let end = self.by_way(instruction.pc, way::FELL_THROUGH, end);
        let again = target(instruction, Field::X);
        self.load_rax(counter);
        self.load_rcx(limit);
        dynasm!(self.ops
            ; .arch x64
            ; mov edx, eax
            ; or edx, ecx
            ; test dl, 7
            ; jnz =>end
            ; add rax, 8 * step
            ; jo =>end
            ; mov [rbx + place(counter)], rax
            ; cmp rax, rcx
        );
        match step > 0 {
            true => dynasm!(self.ops ; .arch x64 ; jg =>end),
            false => dynasm!(self.ops ; .arch x64 ; jl =>end),
        }
        self.record(instruction.pc, way::TAKEN);
        self.jump_back(again);
    }

    /// Leaves the function with the value of a register.
    pub(super) fn return_value(&mut self, value: usize) {
        self.load_rax(value);
        dynasm!(self.ops ; .arch x64 ; pop rbx ; ret);
    }

    /// Closures cannot return from the activation any more.
    fn leave_home(&mut self, home: usize) {
        let done = self.label();
        self.load_rax(home);
        self.check_object(known::HOME, done);
        dynasm!(self.ops
            ; .arch x64
            ; mov QWORD [rax + offset::slot(0)], Word::NIL.bits() as i32
            ; =>done
        );
    }

    /// Goes to one of two places by the condition that the flags hold, as the branch at this pc would by the Boolean.
    pub(super) fn branch_by_flags(
        &mut self,
        branch: &Instruction,
        holds: impl Fn(&mut Emitter<'_>, DynamicLabel),
        written: usize,
    ) {
        let goal = target(branch, Field::Bc);
        let jumps_on = branch.opcode == Opcode::BranchTrue;
        let (taken, next) = ((goal, way::TAKEN), (branch.next_pc(), way::FELL_THROUGH));
        let ((if_true, true_way), (if_false, false_way)) = match jumps_on {
            true => (taken, next),
            false => (next, taken),
        };
        let pc = branch.pc;
        let is_read = |emitter: &Emitter<'_>, pc: usize| {
            emitter.live_before(pc).contains(written_register(written))
        };
        let true_label = match is_read(self, if_true) {
            false => self.by_way(pc, true_way, self.labels[if_true]),
            true => {
                let label = self.label();
                self.later(move |emitter| {
                    emitter.bind(label);
                    emitter.store_word(written, Word::TRUE);
                    emitter.record(pc, true_way);
                    let target = emitter.labels[if_true];
                    emitter.jump(target);
                });
                label
            }
        };
        holds(self, true_label);
        if is_read(self, if_false) {
            self.store_word(written, Word::FALSE);
        }
        self.record(pc, false_way);
        let target = self.labels[if_false];
        self.jump(target);
    }
}

fn written_register(index: usize) -> squall_bytecode::entities::Register {
    squall_bytecode::entities::Register(index as u8)
}
