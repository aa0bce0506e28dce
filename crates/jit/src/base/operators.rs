//! Templates of operators: sends to numbers and arrays whose results are computed inline. `sends` tries them first for
//! each send.
//!
//! The selector decides, not what the site has seen, for such a send is nearly always one to numbers. Small integers are
//! done inline; doubles, and the divisions, by a function of Rust; everything else is sent.

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use squall_bytecode::decode::Instruction;
use squall_bytecode::instructions::Opcode;
use squall_bytecode::module::Site as Description;
use squall_heap::{LAYOUT_OFFSET, Word};
use squall_runtime::tiers::function::{CodeKind, Site, feedback};
use squall_runtime::tiers::known;
use squall_runtime::tiers::lookup::Action;
use squall_runtime::tiers::operators;
use squall_runtime::tiers::primitive::Shape;

use crate::doubles::{self, Operator};

use super::sends::Send;
use super::{Emitter, place};
use crate::assembler::offset;

/// An operator's result for two words that are not both small integers, or [`Word::UNSET`] if it is to be sent.
type Function = extern "C" fn(Word, Word) -> Word;

/// How an operator is computed for words that are not both small integers.
#[derive(Clone, Copy)]
struct Rest {
    /// Shared code for doubles, which comes first.
    doubles: Option<Doubles>,
    /// A function of Rust, which comes after it.
    function: Option<Function>,
}

/// Shared code for doubles.
#[derive(Clone, Copy)]
enum Doubles {
    Operator(Operator),
    Comparison(doubles::Comparison),
}

/// The result of an arithmetic operator, as a function.
macro_rules! function_of {
    ($operator:ident) => {{
        extern "C" fn compute(left: Word, right: Word) -> Word {
            operators::compute(operators::$operator, left, right).unwrap_or(Word::UNSET)
        }
        Some(compute as Function)
    }};
}

/// A comparison's way for small integers, and for other words.
macro_rules! comparison_of {
    ($operator:ident) => {{
        extern "C" fn compare(left: Word, right: Word) -> Word {
            operators::compare(operators::$operator, left, right)
                .map_or(Word::UNSET, Word::from_bool)
        }
        let doubles = Some(Doubles::Comparison(doubles::Comparison::$operator));
        (Condition::$operator, Rest { doubles, function: Some(compare as Function) })
    }};
}

/// How two small integers are compared.
type Condition = doubles::Comparison;

/// What is done inline.
#[derive(Clone, Copy)]
enum Inline {
    Add,
    Subtract,
    Multiply,
    BitAnd,
    /// Nothing: shared code and functions do all.
    Nothing,
}

fn arithmetic(selector: &str) -> Option<(Inline, Rest)> {
    let operator = |operator| Some(Doubles::Operator(operator));
    let (inline, doubles, function) = match selector {
        "+" => (Inline::Add, operator(Operator::Add), None),
        "-" => (Inline::Subtract, operator(Operator::Subtract), None),
        "*" => (Inline::Multiply, operator(Operator::Multiply), None),
        "//" => (Inline::Nothing, operator(Operator::Divide), function_of!(Divide)),
        "&" => (Inline::BitAnd, None, None),
        "/" => (Inline::Nothing, None, function_of!(Quotient)),
        "%" => (Inline::Nothing, None, function_of!(Modulo)),
        _ => return None,
    };
    Some((inline, Rest { doubles, function }))
}

fn comparison(selector: &str) -> Option<(Condition, Rest)> {
    Some(match selector {
        "<" => comparison_of!(Less),
        "<=" => comparison_of!(LessOrEqual),
        ">" => comparison_of!(Greater),
        ">=" => comparison_of!(GreaterOrEqual),
        "=" => comparison_of!(Equal),
        "<>" | "~=" => comparison_of!(NotEqual),
        _ => return None,
    })
}

impl Emitter<'_> {
    /// The template of a send that is one of an operator; answers whether it is.
    pub(super) fn operator_template(&mut self, instruction: &Instruction, send: &Send) -> bool {
        let Some(Description::Send { selector, .. }) =
            self.function.bytecode().sites.get(send.site.index())
        else {
            return false;
        };
        let selector = self.function.module.bytecode.string(*selector);
        match (instruction.opcode, selector) {
            (Opcode::Send1, "at:") => self.array_at(send),
            (Opcode::Send2, "at:put:") => self.array_at_put(send),
            (Opcode::Send1, "==") => return self.identical(instruction, send),
            (Opcode::Send1, _) => {
                if let Some((inline, rest)) = arithmetic(selector) {
                    self.arithmetic(send, inline, rest);
                } else if let Some((condition, rest)) = comparison(selector) {
                    self.comparison(instruction, send, condition, rest);
                } else {
                    return false;
                }
            }
            _ => return false,
        }
        true
    }

    fn arithmetic(&mut self, send: &Send, inline: Inline, rest: Rest) {
        let other = self.otherwise_compute(send, rest);
        let [left, right] = [send.operands[0], send.operands[1]];
        self.load_rax(left);
        self.load_rcx(right);
        if !matches!(inline, Inline::Nothing) {
            self.check_small_integers(other);
        }
        match inline {
            Inline::Add => dynasm!(self.ops ; .arch x64 ; add rax, rcx ; jo =>other),
            Inline::Subtract => dynasm!(self.ops ; .arch x64 ; sub rax, rcx ; jo =>other),
            Inline::Multiply => {
                dynasm!(self.ops ; .arch x64 ; sar rax, 3 ; imul rax, rcx ; jo =>other);
            }
            Inline::BitAnd => dynasm!(self.ops ; .arch x64 ; and rax, rcx),
            Inline::Nothing => return self.compute(send, rest),
        }
        self.observe(send.site, feedback::INTEGERS);
        self.store_result(send.site.destination.into());
    }

    /// Jumps if `rax` and `rcx` are not both small integers. Destroys `rdx`.
    fn check_small_integers(&mut self, other: DynamicLabel) {
        dynasm!(self.ops
            ; .arch x64
            ; mov edx, eax
            ; or edx, ecx
            ; test dl, 7
            ; jnz =>other
        );
    }

    /// The rest of an operator, after all templates.
    fn otherwise_compute(&mut self, send: &Send, rest: Rest) -> DynamicLabel {
        let label = self.label();
        let send = send.clone();
        self.later(move |emitter| {
            emitter.bind(label);
            emitter.compute(&send, rest);
            let next = emitter.labels[send.next];
            emitter.jump(next);
        });
        label
    }

    /// Computes the rest of an operator, and sends if nothing knows its result.
    fn compute(&mut self, send: &Send, rest: Rest) {
        let other = self.otherwise_send(send);
        let other = self.by_observation(send.site, feedback::OTHERS, other);
        let (done, function) = (self.label(), self.label());
        let next = if rest.function.is_some() { function } else { other };
        if let Some(doubles) = rest.doubles {
            let code = match doubles {
                Doubles::Operator(operator) => self.stubs.operators[operator as usize],
                Doubles::Comparison(comparison) => self.stubs.comparisons[comparison as usize],
            };
            self.load_rax(send.operands[0]);
            self.load_rcx(send.operands[1]);
            dynasm!(self.ops ; .arch x64 ; call extern code);
            self.check_computed(next);
            self.observe_doubles(send);
            self.jump(done);
        }
        self.bind(function);
        if let Some(function) = rest.function {
            self.observe_integers(send);
            dynasm!(self.ops
                ; .arch x64
                ; mov rdi, [rbx + place(send.operands[0])]
                ; mov rsi, [rbx + place(send.operands[1])]
                ; mov rax, QWORD function as usize as i64
                ; call rax
            );
            self.check_computed(other);
        }
        if rest.doubles.is_none() && rest.function.is_none() {
            self.jump(other);
        }
        self.bind(done);
        self.store_result(send.site.destination.into());
    }

    /// Jumps elsewhere if nothing was computed.
    fn check_computed(&mut self, other: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; cmp rax, Word::UNSET.bits() as i32 ; je =>other);
    }

    /// A label that notes what an operator has had, and then goes on at `goal`.
    fn by_observation(
        &mut self,
        site: &'static Site,
        bits: u8,
        goal: DynamicLabel,
    ) -> DynamicLabel {
        let label = self.label();
        self.later(move |emitter| {
            emitter.bind(label);
            emitter.observe(site, bits);
            emitter.jump(goal);
        });
        label
    }

    /// Notes that the operands are two doubles, or a double and a small integer.
    fn observe_doubles(&mut self, send: &Send) {
        if self.profile.is_empty() {
            return;
        }
        let (mixed, done) = (self.label(), self.label());
        dynasm!(self.ops
            ; .arch x64
            ; mov edx, [rbx + place(send.operands[0])]
            ; xor edx, [rbx + place(send.operands[1])]
            ; test dl, squall_heap::DOUBLE_BIT as i8
            ; jnz =>mixed
        );
        self.observe(send.site, feedback::DOUBLES);
        self.bind(done);
        let mixed_done = self.by_observation(send.site, feedback::MIXED, done);
        self.later(move |emitter| {
            emitter.bind(mixed);
            emitter.jump(mixed_done);
        });
    }

    /// Notes it if the operands are two small integers.
    fn observe_integers(&mut self, send: &Send) {
        if self.profile.is_empty() {
            return;
        }
        let others = self.label();
        dynasm!(self.ops
            ; .arch x64
            ; mov edx, [rbx + place(send.operands[0])]
            ; or edx, [rbx + place(send.operands[1])]
            ; test dl, 7
            ; jnz =>others
        );
        self.observe(send.site, feedback::INTEGERS);
        self.bind(others);
    }

    fn comparison(
        &mut self,
        instruction: &Instruction,
        send: &Send,
        condition: Condition,
        rest: Rest,
    ) {
        let other = self.otherwise_compute(send, rest);
        self.load_rax(send.operands[0]);
        self.load_rcx(send.operands[1]);
        self.check_small_integers(other);
        self.observe(send.site, feedback::INTEGERS);
        dynasm!(self.ops ; .arch x64 ; cmp rax, rcx);
        self.answer_condition(instruction, send, condition);
    }

    /// Makes the flags the send's result, or does the branch on it that follows.
    fn answer_condition(&mut self, instruction: &Instruction, send: &Send, condition: Condition) {
        let destination = usize::from(send.site.destination);
        let code = &self.function.bytecode().code;
        let next = Instruction::decode(code, instruction.next_pc()).ok();
        let branch = next.filter(|next| {
            matches!(next.opcode, Opcode::BranchTrue | Opcode::BranchFalse)
                && super::register(next, squall_bytecode::instructions::Field::A) == destination
        });
        if let Some(branch) = branch {
            let holds = move |emitter: &mut Emitter<'_>, label| emitter.jump_if(condition, label);
            return self.branch_by_flags(&branch, holds, destination);
        }
        let (yes, next) = (self.label(), self.labels[send.next]);
        self.jump_if(condition, yes);
        self.store_word(destination, Word::FALSE);
        self.later(move |emitter| {
            emitter.bind(yes);
            emitter.store_word(destination, Word::TRUE);
            emitter.jump(next);
        });
    }

    fn jump_if(&mut self, condition: Condition, label: DynamicLabel) {
        match condition {
            Condition::Less => dynasm!(self.ops ; .arch x64 ; jl =>label),
            Condition::LessOrEqual => dynasm!(self.ops ; .arch x64 ; jle =>label),
            Condition::Greater => dynasm!(self.ops ; .arch x64 ; jg =>label),
            Condition::GreaterOrEqual => dynasm!(self.ops ; .arch x64 ; jge =>label),
            Condition::Equal => dynasm!(self.ops ; .arch x64 ; je =>label),
            Condition::NotEqual => dynasm!(self.ops ; .arch x64 ; jne =>label),
        }
    }

    /// `==` of a receiver that is immediate, or an object of the class that the site has seen, if that compares words.
    fn identical(&mut self, instruction: &Instruction, send: &Send) -> bool {
        let entry = send.site.entry();
        let compares_words = |shape| shape == Shape::Identical;
        let is_plain =
            matches!(entry.action, Action::Primitive(primitive) if compares_words(primitive.shape));
        let is_boxed = matches!(
            entry.layout,
            known::LARGE_INTEGER | known::BOXED_DOUBLE | known::FAR_REFERENCE
        );
        let other = self.otherwise_send(send);
        let immediate = self.label();
        self.load_rax(send.operands[0]);
        self.check_pointer(immediate);
        match is_plain && !is_boxed && !super::is_immediate(entry.layout) {
            true => dynasm!(self.ops
                ; .arch x64
                ; cmp DWORD [rax + LAYOUT_OFFSET as i32 - 1], entry.layout.bits() as i32
                ; jne =>other
            ),
            false => self.jump(other),
        }
        self.bind(immediate);
        dynasm!(self.ops ; .arch x64 ; cmp rax, [rbx + place(send.operands[1])]);
        self.answer_condition(instruction, send, Condition::Equal);
        true
    }

    /// Checks that the operands are an array and an index in it. Leaves the array in `rax` and the index, times eight
    /// and counted from zero, in `rcx`.
    fn check_element(&mut self, send: &Send, other: DynamicLabel) {
        self.load_rax(send.operands[0]);
        self.check_object(known::ARRAY, other);
        self.load_rcx(send.operands[1]);
        dynasm!(self.ops
            ; .arch x64
            ; test cl, 7
            ; jnz =>other
            ; sub rcx, 8
            ; mov rdx, rcx
            ; shr rdx, 3
            ; cmp rdx, [rax + offset::LENGTH]
            ; jae =>other
        );
        if self.is_hardened {
            // The comparison's carry makes the mask.
            dynasm!(self.ops ; .arch x64 ; sbb rdx, rdx ; and rcx, rdx);
        }
        self.observe(send.site, feedback::ARRAY);
    }

    fn array_at(&mut self, send: &Send) {
        let other = self.otherwise_send(send);
        self.check_element(send, other);
        match self.kind {
            CodeKind::Bare | CodeKind::Sandboxed => {
                dynasm!(self.ops ; .arch x64 ; mov rax, [rax + rcx + offset::element(0)]);
            }
            CodeKind::Guarded => {
                dynasm!(self.ops ; .arch x64 ; mov rsi, rcx ; shr rsi, 3);
                let load = self.stubs.base_accesses.load_element;
                self.call_load(load, send.site.pc as usize, other);
            }
        }
        self.store_result(send.site.destination.into());
    }

    fn array_at_put(&mut self, send: &Send) {
        let other = self.otherwise_send(send);
        self.check_element(send, other);
        if self.kind == CodeKind::Guarded {
            dynasm!(self.ops ; .arch x64 ; mov rsi, rcx ; shr rsi, 3);
            self.load_rcx(send.operands[2]);
            let store = self.stubs.base_accesses.store_element;
            self.call_store(store, send.site.pc as usize, other);
            return self.copy(send.site.destination.into(), send.operands[2]);
        }
        dynasm!(self.ops
            ; .arch x64
            ; mov r8, rcx
            ; mov rcx, [rbx + place(send.operands[2])]
            ; mov [rax + r8 + offset::element(0)], rcx
            ; mov [rbx + place(send.site.destination.into())], rcx
        );
        let (logged, done) = (self.label(), self.label());
        self.test_barrier(logged);
        self.bind(done);
        self.later(move |emitter| {
            emitter.bind(logged);
            dynasm!(emitter.ops
                ; .arch x64
                ; mov rdi, rax
                ; mov rsi, r8
                ; shr rsi, 3
                ; mov rdx, rcx
                ; call extern emitter.stubs.element_written
                ; jmp =>done
            );
        });
    }
}
