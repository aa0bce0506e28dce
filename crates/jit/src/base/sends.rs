//! Templates of sends, calls, evaluations of closures, and accesses to slots. `mod.rs` appends them to a function's
//! code.
//!
//! A send does inline what its site has seen: one kind of receiver, whose layout is compared with a constant. All other
//! receivers go to the shared code for sends, with the window complete.

use std::sync::atomic::Ordering;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use squall_bytecode::decode::Instruction;
use squall_bytecode::entities::FunctionId;
use squall_bytecode::instructions::{Field, Opcode};
use squall_runtime::tiers::calls;
use squall_runtime::tiers::function::{Function, Site, feedback};
use squall_runtime::tiers::known;
use squall_runtime::tiers::lookup::{Action, CacheEntry};
use squall_runtime::tiers::primitive::Shape;

use super::{Emitter, field, place, register};
use crate::assembler::offset;
use crate::stubs::Helper;

/// A send's site, and the registers of receiver and arguments that are to be copied into the window; none if they are
/// there already.
#[derive(Clone)]
pub(super) struct Send {
    /// The pc after the instruction.
    pub next: usize,
    /// The site.
    pub site: &'static Site,
    /// The operands, the receiver first.
    pub operands: Vec<usize>,
}

impl Send {
    /// The register of the receiver.
    fn receiver(&self) -> usize {
        self.operands.first().copied().unwrap_or(usize::from(self.site.window))
    }

    fn window(&self) -> usize {
        usize::from(self.site.window)
    }

    fn destination(&self) -> usize {
        usize::from(self.site.destination)
    }
}

impl Emitter<'_> {
    /// The template of an instruction that sends or calls; answers whether there is one.
    pub(super) fn send_template(&mut self, instruction: &Instruction) -> bool {
        let fields: &[Field] = match instruction.opcode {
            Opcode::Send0 => &[Field::B],
            Opcode::Send1 => &[Field::B, Field::C],
            Opcode::Send2 => &[Field::B, Field::C, Field::X2],
            Opcode::Send => &[],
            _ => return self.call_template(instruction),
        };
        let site = self.site(field(instruction, Field::Xlo));
        let operands = fields.iter().map(|&operand| register(instruction, operand)).collect();
        let send = Send { next: instruction.next_pc(), site, operands };
        if !self.operator_template(instruction, &send) {
            self.send(&send);
        }
        true
    }

    fn call_template(&mut self, instruction: &Instruction) -> bool {
        match instruction.opcode {
            Opcode::Call => {
                let site = self.linked_site(instruction);
                let callee = self
                    .function
                    .module
                    .function(FunctionId(site.callee.load(Ordering::Relaxed) as u32));
                self.call(site, callee);
            }
            Opcode::Primitive => {
                let site = self.linked_site(instruction);
                let helper = match calls::primitive_of(site).direct_form() {
                    Some(_) => Helper::Meet,
                    None => Helper::Primitive,
                };
                self.helped_call(site, helper);
            }
            Opcode::CallIndirect => {
                let site = self.linked_site(instruction);
                dynasm!(self.ops
                    ; .arch x64
                    ; mov rsi, [rbx + place(register(instruction, Field::C))]
                );
                self.call_rsi(site);
            }
            Opcode::SendEventual | Opcode::SendEventualOnly => {
                let site = self.site(field(instruction, Field::Xlo));
                self.helped_call(site, Helper::SendEventually);
            }
            _ => return false,
        }
        true
    }

    /// The site that the linker has made for an instruction without one in the module.
    fn linked_site(&self, instruction: &Instruction) -> &'static Site {
        let word = &self.function.code[instruction.pc + 1];
        self.site(word.load(Ordering::Relaxed) as usize)
    }

    /// A send by what its site has seen.
    pub(super) fn send(&mut self, send: &Send) {
        let entry = send.site.entry();
        match entry.action {
            Action::Method(function) => self.send_to_method(send, entry, function),
            Action::LoadSlot(index) => self.send_to_slot(send, entry, index as usize),
            Action::LoadConstantSlot(index) => {
                self.send_to_constant_slot(send, entry, index as usize);
            }
            Action::StoreSlot(index) if send.operands.len() == 2 => {
                self.store_slot(send, entry, index as usize);
            }
            Action::AnswerReceiver => self.answer_receiver(send, entry),
            Action::Primitive(primitive) if primitive.shape == Shape::Evaluate => {
                self.evaluate(send);
            }
            _ => self.general_send(send),
        }
    }

    /// Copies the operands, and sends by the shared code.
    pub(super) fn general_send(&mut self, send: &Send) {
        self.fill_window(send);
        self.shared_send(send);
    }

    /// Sends what is in the window.
    fn shared_send(&mut self, send: &Send) {
        dynasm!(self.ops
            ; .arch x64
            ; mov rsi, QWORD std::ptr::from_ref(send.site) as i64
            ; lea rdi, [rbx + place(send.window())]
            ; call extern self.stubs.send(self.kind)
        );
        self.store_result(send.destination());
    }

    /// The general send, after all templates, for operands that are in their registers.
    pub(super) fn otherwise_send(&mut self, send: &Send) -> DynamicLabel {
        let label = self.label();
        let send = send.clone();
        self.later(move |emitter| {
            emitter.bind(label);
            emitter.general_send(&send);
            let next = emitter.labels[send.next];
            emitter.jump(next);
        });
        label
    }

    fn fill_window(&mut self, send: &Send) {
        for (index, &operand) in send.operands.iter().enumerate() {
            self.copy(send.window() + index, operand);
        }
    }

    fn send_to_method(&mut self, send: &Send, entry: &CacheEntry, function: &'static Function) {
        let other = self.otherwise_send(send);
        self.load_rax(send.receiver());
        self.check_layout(entry.layout, other);
        self.fill_window(send);
        self.call(send.site, function);
    }

    /// Calls a function whose arguments are in the window.
    fn call(&mut self, site: &'static Site, function: &'static Function) {
        dynasm!(self.ops
            ; .arch x64
            ; mov rsi, QWORD std::ptr::from_ref(function) as i64
        );
        self.call_rsi(site);
    }

    /// Calls the function whose address is in `rsi`.
    fn call_rsi(&mut self, site: &'static Site) {
        dynasm!(self.ops
            ; .arch x64
            ; mov rax, QWORD std::ptr::from_ref(site) as i64
            ; lea rdi, [rbx + place(usize::from(site.window))]
            ; mov [rdi - 8], rax
            ; call QWORD [rsi + offset::entry(self.kind)]
        );
        self.store_result(usize::from(site.destination));
    }

    fn send_to_slot(&mut self, send: &Send, entry: &CacheEntry, index: usize) {
        let other = self.otherwise_send(send);
        self.load_rax(send.receiver());
        self.check_layout(entry.layout, other);
        self.load_slot(index, send.site.pc as usize, other);
        self.store_result(send.destination());
    }

    /// Nothing changes the slot any more.
    fn send_to_constant_slot(&mut self, send: &Send, entry: &CacheEntry, index: usize) {
        let other = self.otherwise_send(send);
        self.load_rax(send.receiver());
        self.check_layout(entry.layout, other);
        dynasm!(self.ops ; .arch x64 ; mov rax, [rax + offset::slot(index)]);
        self.store_result(send.destination());
    }

    fn store_slot(&mut self, send: &Send, entry: &CacheEntry, index: usize) {
        let other = self.otherwise_send(send);
        self.load_rax(send.receiver());
        self.check_layout(entry.layout, other);
        self.load_rcx(send.operands[1]);
        self.store_slot_of(entry.layout, index, send.site.pc as usize, other);
        self.copy(send.destination(), send.operands[1]);
    }

    fn answer_receiver(&mut self, send: &Send, entry: &CacheEntry) {
        let other = self.otherwise_send(send);
        self.load_rax(send.receiver());
        self.check_layout(entry.layout, other);
        self.store_result(send.destination());
    }

    /// Runs a closure that takes as many arguments as the site gives.
    fn evaluate(&mut self, send: &Send) {
        let other = self.otherwise_send(send);
        self.load_rax(send.receiver());
        self.check_object(known::BLOCK, other);
        dynasm!(self.ops
            ; .arch x64
            ; mov rsi, [rax + offset::element(0)]
            ; cmp DWORD [rsi + offset::ARGUMENTS], i32::from(send.site.arguments)
            ; jne =>other
        );
        self.observe_closure(send.site);
        self.fill_window(send);
        self.call_rsi(send.site);
    }

    /// Records the function of a closure, in `rsi`, or that there were several.
    fn observe_closure(&mut self, site: &'static Site) {
        if self.profile.is_empty() {
            return;
        }
        let (other, known) = (self.label(), self.label());
        dynasm!(self.ops
            ; .arch x64
            ; mov rdx, QWORD std::ptr::from_ref(site) as i64
            ; cmp [rdx + offset::CLOSURE], rsi
            ; jne =>other
            ; =>known
        );
        self.later(move |emitter| {
            dynasm!(emitter.ops
                ; .arch x64
                ; =>other
                ; cmp QWORD [rdx + offset::CLOSURE], 0
                ; je >first
                ; or BYTE [rdx + offset::FEEDBACK], feedback::OTHERS as i8
                ; first:
                ; mov [rdx + offset::CLOSURE], rsi
                ; jmp =>known
            );
        });
    }
}
