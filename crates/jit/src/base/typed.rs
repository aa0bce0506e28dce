//! Templates of arithmetic, comparisons and jumps on typed registers, whose bits carry no tag. `mod.rs` appends them to
//! a function's code.
//!
//! Narrow integers are kept extended to 64 bits, so comparisons need no care, and sums are cut back to the type's width.

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use squall_bytecode::decode::Instruction;
use squall_bytecode::instructions::{Field, Opcode};
use squall_bytecode::types::RegisterType;

use super::{Emitter, place, register, target};
use crate::code::way;

impl Emitter<'_> {
    /// The template of a typed instruction; answers whether there is one.
    pub(super) fn typed_template(&mut self, instruction: &Instruction) -> bool {
        let kind = |field| self.function.register_types[register(instruction, field)];
        match instruction.opcode {
            Opcode::Add | Opcode::Subtract | Opcode::Multiply => match kind(Field::A) {
                RegisterType::F64 => self.floats(instruction),
                RegisterType::F32 => return false,
                kind => self.integers(instruction, kind),
            },
            Opcode::Divide if kind(Field::A) == RegisterType::F64 => self.floats(instruction),
            Opcode::And | Opcode::Or | Opcode::Xor => self.integers(instruction, kind(Field::A)),
            Opcode::ShiftLeft | Opcode::ShiftRight if kind(Field::A).bits() == 64 => {
                self.shift(instruction, kind(Field::A).is_signed());
            }
            Opcode::AddChecked | Opcode::SubtractChecked | Opcode::MultiplyChecked
                if kind(Field::A) == RegisterType::I64 =>
            {
                self.checked(instruction);
            }
            Opcode::Equal | Opcode::NotEqual | Opcode::Less | Opcode::LessOrEqual => {
                let kind = kind(Field::B);
                return (kind.is_integer() || kind == RegisterType::Bool)
                    && self.compare(instruction, kind);
            }
            Opcode::JumpIf => self.jump_on(instruction, true),
            Opcode::JumpUnless => self.jump_on(instruction, false),
            Opcode::LoopIf => self.loop_on(instruction, true),
            Opcode::LoopUnless => self.loop_on(instruction, false),
            _ => return false,
        }
        true
    }

    fn operands(&mut self, instruction: &Instruction) {
        self.load_rax(register(instruction, Field::B));
        self.load_rcx(register(instruction, Field::C));
    }

    fn integers(&mut self, instruction: &Instruction, kind: RegisterType) {
        self.operands(instruction);
        match instruction.opcode {
            Opcode::Add => dynasm!(self.ops ; .arch x64 ; add rax, rcx),
            Opcode::Subtract => dynasm!(self.ops ; .arch x64 ; sub rax, rcx),
            Opcode::Multiply => dynasm!(self.ops ; .arch x64 ; imul rax, rcx),
            Opcode::And => dynasm!(self.ops ; .arch x64 ; and rax, rcx),
            Opcode::Or => dynasm!(self.ops ; .arch x64 ; or rax, rcx),
            _ => dynasm!(self.ops ; .arch x64 ; xor rax, rcx),
        }
        self.cut(kind);
        self.store_result(register(instruction, Field::A));
    }

    /// Cuts `rax` back to the width of a type.
    fn cut(&mut self, kind: RegisterType) {
        match kind {
            RegisterType::I8 => dynasm!(self.ops ; .arch x64 ; movsx rax, al),
            RegisterType::I16 => dynasm!(self.ops ; .arch x64 ; movsx rax, ax),
            RegisterType::I32 => dynasm!(self.ops ; .arch x64 ; movsxd rax, eax),
            RegisterType::U8 => dynasm!(self.ops ; .arch x64 ; movzx eax, al),
            RegisterType::U16 => dynasm!(self.ops ; .arch x64 ; movzx eax, ax),
            RegisterType::U32 => dynasm!(self.ops ; .arch x64 ; mov eax, eax),
            _ => {}
        }
    }

    fn shift(&mut self, instruction: &Instruction, is_signed: bool) {
        self.operands(instruction);
        match (instruction.opcode, is_signed) {
            (Opcode::ShiftLeft, _) => dynasm!(self.ops ; .arch x64 ; shl rax, cl),
            (_, true) => dynasm!(self.ops ; .arch x64 ; sar rax, cl),
            (_, false) => dynasm!(self.ops ; .arch x64 ; shr rax, cl),
        }
        self.store_result(register(instruction, Field::A));
    }

    /// A result that does not fit fails in the interpreter.
    fn checked(&mut self, instruction: &Instruction) {
        let other = self.otherwise_step(instruction);
        self.operands(instruction);
        match instruction.opcode {
            Opcode::AddChecked => dynasm!(self.ops ; .arch x64 ; add rax, rcx ; jo =>other),
            Opcode::SubtractChecked => dynasm!(self.ops ; .arch x64 ; sub rax, rcx ; jo =>other),
            _ => dynasm!(self.ops ; .arch x64 ; imul rax, rcx ; jo =>other),
        }
        self.store_result(register(instruction, Field::A));
    }

    fn floats(&mut self, instruction: &Instruction) {
        let [left, right] = [Field::B, Field::C].map(|field| place(register(instruction, field)));
        dynasm!(self.ops ; .arch x64 ; movsd xmm0, [rbx + left]);
        match instruction.opcode {
            Opcode::Add => dynasm!(self.ops ; .arch x64 ; addsd xmm0, [rbx + right]),
            Opcode::Subtract => dynasm!(self.ops ; .arch x64 ; subsd xmm0, [rbx + right]),
            Opcode::Multiply => dynasm!(self.ops ; .arch x64 ; mulsd xmm0, [rbx + right]),
            _ => dynasm!(self.ops ; .arch x64 ; divsd xmm0, [rbx + right]),
        }
        dynasm!(self.ops
            ; .arch x64
            ; movsd [rbx + place(register(instruction, Field::A))], xmm0
        );
    }

    /// A comparison; a jump on its result that follows takes the flags.
    fn compare(&mut self, instruction: &Instruction, kind: RegisterType) -> bool {
        let is_signed = kind.is_signed();
        let destination = register(instruction, Field::A);
        self.operands(instruction);
        dynasm!(self.ops ; .arch x64 ; cmp rax, rcx);
        match (instruction.opcode, is_signed) {
            (Opcode::Equal, _) => dynasm!(self.ops ; .arch x64 ; sete al),
            (Opcode::NotEqual, _) => dynasm!(self.ops ; .arch x64 ; setne al),
            (Opcode::Less, true) => dynasm!(self.ops ; .arch x64 ; setl al),
            (Opcode::Less, false) => dynasm!(self.ops ; .arch x64 ; setb al),
            (_, true) => dynasm!(self.ops ; .arch x64 ; setle al),
            (_, false) => dynasm!(self.ops ; .arch x64 ; setbe al),
        }
        // None of these changes the flags.
        dynasm!(self.ops
            ; .arch x64
            ; movzx eax, al
            ; mov [rbx + place(destination)], rax
        );
        self.fused_jump(instruction, destination, is_signed);
        true
    }

    /// Does the jump on a comparison's result that comes next, by the flags. The jump's own template follows for code
    /// that comes there otherwise.
    fn fused_jump(&mut self, comparison: &Instruction, destination: usize, is_signed: bool) {
        let code = &self.function.bytecode().code;
        let Ok(next) = Instruction::decode(code, comparison.next_pc()) else { return };
        let (jumps_if, is_loop) = match next.opcode {
            Opcode::JumpIf => (true, false),
            Opcode::JumpUnless => (false, false),
            Opcode::LoopIf => (true, true),
            Opcode::LoopUnless => (false, true),
            _ => return,
        };
        if register(&next, Field::A) != destination {
            return;
        }
        let goal = target(&next, Field::Bc);
        let fall = self.labels[next.next_pc()];
        let taken = match is_loop {
            false => self.labels[goal],
            true => {
                let label = self.label();
                self.later(move |emitter| {
                    emitter.bind(label);
                    emitter.jump_back(goal);
                });
                label
            }
        };
        let taken = self.by_way(next.pc, way::TAKEN, taken);
        let fall = self.by_way(next.pc, way::FELL_THROUGH, fall);
        self.jump_if_holds(comparison.opcode, is_signed, jumps_if, taken);
        self.jump(fall);
    }

    fn jump_if_holds(
        &mut self,
        comparison: Opcode,
        is_signed: bool,
        holds: bool,
        label: DynamicLabel,
    ) {
        match (comparison, is_signed, holds) {
            (Opcode::Equal, _, true) | (Opcode::NotEqual, _, false) => {
                dynasm!(self.ops ; .arch x64 ; je =>label);
            }
            (Opcode::Equal, _, false) | (Opcode::NotEqual, _, true) => {
                dynasm!(self.ops ; .arch x64 ; jne =>label);
            }
            (Opcode::Less, true, true) => dynasm!(self.ops ; .arch x64 ; jl =>label),
            (Opcode::Less, true, false) => dynasm!(self.ops ; .arch x64 ; jge =>label),
            (Opcode::Less, false, true) => dynasm!(self.ops ; .arch x64 ; jb =>label),
            (Opcode::Less, false, false) => dynasm!(self.ops ; .arch x64 ; jae =>label),
            (_, true, true) => dynasm!(self.ops ; .arch x64 ; jle =>label),
            (_, true, false) => dynasm!(self.ops ; .arch x64 ; jg =>label),
            (_, false, true) => dynasm!(self.ops ; .arch x64 ; jbe =>label),
            (_, false, false) => dynasm!(self.ops ; .arch x64 ; ja =>label),
        }
    }

    fn jump_on(&mut self, instruction: &Instruction, condition: bool) {
        let goal = self.labels[target(instruction, Field::Bc)];
        let goal = self.by_way(instruction.pc, way::TAKEN, goal);
        self.test(instruction);
        match condition {
            true => dynasm!(self.ops ; .arch x64 ; jne =>goal),
            false => dynasm!(self.ops ; .arch x64 ; je =>goal),
        }
        self.record(instruction.pc, way::FELL_THROUGH);
    }

    fn loop_on(&mut self, instruction: &Instruction, condition: bool) {
        let next = self.label();
        self.test(instruction);
        match condition {
            true => dynasm!(self.ops ; .arch x64 ; je =>next),
            false => dynasm!(self.ops ; .arch x64 ; jne =>next),
        }
        self.record(instruction.pc, way::TAKEN);
        self.jump_back(target(instruction, Field::Bc));
        self.bind(next);
        self.record(instruction.pc, way::FELL_THROUGH);
    }

    fn test(&mut self, instruction: &Instruction) {
        dynasm!(self.ops
            ; .arch x64
            ; cmp QWORD [rbx + place(register(instruction, Field::A))], 0
        );
    }
}
