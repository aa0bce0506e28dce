//! Guards, and the tests of layouts. `function` calls this module for all operations that may leave the unit.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{self, BlockArg, InstBuilder};
use cranelift_codegen::isa::CallConv;

use crate::build::{MOST_LEAF_ARGUMENTS, MOST_SHORT_ARGUMENTS};
use crate::code::Reason;
use crate::facts::{Helper, Symbol};
use crate::ir::End;
use crate::ir::entities::{FunctionRef, Inst, PrimitiveRef, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Layouts, Range, Type};
use crate::lower::function::{Lowering, trusted};
use crate::passes::{fold, kinds};
use crate::words::{self, layouts};

impl Lowering<'_, '_> {
    /// A guard; answers its result, if it makes one.
    pub fn guard(&mut self, inst: Inst) -> Option<ir::Value> {
        let op = self.unit.inst(inst).op;
        match op {
            Op::Poll => self.poll(inst),
            Op::ChargeTurn => self.charge(inst, false),
            Op::ChargeCall => self.charge(inst, true),
            Op::GuardNotKilled => self.guard_not_killed(inst),
            Op::Guard | Op::GuardNot => {
                let condition = self.argument(inst, 0);
                self.leave_unless(inst, condition, op == Op::Guard, Reason::Condition);
            }
            Op::AddSmall | Op::SubtractSmall | Op::MultiplySmall => {
                return Some(self.small(inst, op));
            }
            Op::GuardImmediate => return Some(self.guard_immediate(inst)),
            Op::GuardSlotKind(_) => self.guard_slot_kind(inst),
            Op::Leaf(primitive) => return Some(self.leaf(inst, primitive)),
            Op::CharacterAt(primitive) => return Some(self.character_at(inst, primitive)),
            _ if op.is_guarded_access() => return self.guarded_access(inst, op),
            _ => self.refine(inst, op),
        }
        None
    }

    /// The answer of a primitive's leaf, which moves nothing.
    pub fn try_leaf(&mut self, inst: Inst, primitive: PrimitiveRef) -> ir::Value {
        self.try_primitive(inst, primitive, Helper::Leaf, MOST_LEAF_ARGUMENTS)
    }

    /// The answer of a primitive's short form, which moves nothing.
    pub fn try_short(&mut self, inst: Inst, primitive: PrimitiveRef) -> ir::Value {
        self.try_primitive(inst, primitive, Helper::ShortForm, MOST_SHORT_ARGUMENTS)
    }

    /// Calls a helper that takes so many of a primitive's operands; it ignores those that there are not.
    fn try_primitive(
        &mut self,
        inst: Inst,
        primitive: PrimitiveRef,
        helper: Helper,
        most: usize,
    ) -> ir::Value {
        let count = self.unit.inst(inst).arguments.len();
        let thread = self.thread();
        let mut arguments = vec![thread, self.symbol(Symbol::Primitive(primitive))];
        for index in 0..most {
            arguments.push(self.argument(inst, index.min(count - 1)));
        }
        let helper = self.symbol(Symbol::Helper(helper));
        self.call_address(CallConv::SystemV, helper, &arguments)
    }

    /// The same, or the unit is left.
    pub fn leaf(&mut self, inst: Inst, primitive: PrimitiveRef) -> ir::Value {
        let answer = self.try_leaf(inst, primitive);
        let is_none = self.is_word(answer, words::NO_ANSWER);
        self.leave_unless(inst, is_none, false, Reason::Condition);
        answer
    }

    /// An access that the runtime does, if nothing is in its way.
    fn guarded_access(&mut self, inst: Inst, op: Op) -> Option<ir::Value> {
        let data = self.unit.inst(inst);
        let mut operands: Vec<ir::Value> =
            data.arguments.iter().map(|&value| self.get(value)).collect();
        let helper = match op {
            Op::LoadGuardedSlot(_) => Helper::LoadGuardedSlot,
            Op::StoreGuardedSlot(_) => Helper::StoreGuardedSlot,
            Op::LoadGuardedElement => Helper::LoadGuardedElement,
            _ => Helper::StoreGuardedElement,
        };
        if let Op::LoadGuardedSlot(index) | Op::StoreGuardedSlot(index) = op {
            operands.insert(1, self.b.ins().iconst(I64, i64::from(index.0)));
        }
        let state = self.unit.state(data.state.expect("an access has a state"));
        let function = self.unit.activations[state.activation.index()].function;
        operands.insert(0, self.thread());
        operands.push(self.symbol(Symbol::Instruction(function, state.pc)));
        let helper = self.symbol(Symbol::Helper(helper));
        let answer = self.call_address(CallConv::SystemV, helper, &operands);
        if data.result.is_none() {
            self.leave_unless(inst, answer, true, Reason::Conflict);
            return None;
        }
        let is_none = self.is_word(answer, words::NO_ANSWER);
        self.leave_unless(inst, is_none, false, Reason::Conflict);
        Some(answer)
    }

    fn poll(&mut self, inst: Inst) {
        let thread = self.thread();
        let limit = self.b.ins().load(I64, trusted(), thread, self.machine.limit);
        let is_set = self.b.ins().icmp_imm_s(IntCC::NotEqual, limit, 0);
        if !self.ends_turn(inst) {
            return self.leave_unless(inst, is_set, true, Reason::Poll);
        }
        // The block with the way out comes right after the jump back, if it is not cold. So Cranelift makes one
        // conditional jump back of the two jumps.
        let way_out = self.b.create_block();
        self.go_on_if(is_set, true, way_out);
        let next = self.b.current_block();
        let exit = self.exit_of(inst, Reason::Poll);
        self.b.switch_to_block(way_out);
        self.b.ins().jump(exit, &[]);
        next.into_iter().for_each(|next| self.b.switch_to_block(next));
    }

    /// Whether the block jumps right after this instruction, in a loop.
    fn ends_turn(&self, inst: Inst) -> bool {
        let block = self.unit.block(self.current);
        self.depths[self.current.index()] > 0
            && matches!(block.end, End::Jump(_))
            && block.instructions.last() == Some(&inst)
    }

    fn guard_not_killed(&mut self, inst: Inst) {
        let strand = self.strand();
        let wishes = self.b.ins().load(I64, trusted(), strand, self.machine.strand_wishes);
        let killed = self.b.ins().band_imm_u(wishes, self.machine.killed);
        let is_killed = self.b.ins().icmp_imm_s(IntCC::NotEqual, killed, 0);
        self.leave_unless(inst, is_killed, false, Reason::Poll);
    }

    /// One notice is for all kinds that the unit relies on. One instruction compares it in memory.
    fn guard_slot_kind(&mut self, inst: Inst) {
        let address = self.symbol(Symbol::Notice);
        let notice = self.b.ins().load(I64, trusted(), address, 0);
        let has_notice = self.b.ins().icmp_imm_s(IntCC::NotEqual, notice, 0);
        self.leave_unless(inst, has_notice, false, Reason::Slot);
    }

    /// A guard on the kind of a word.
    fn refine(&mut self, inst: Inst, op: Op) {
        let word = self.argument(inst, 0);
        let (condition, wanted) = match op {
            Op::GuardInteger => (self.tag(word), false),
            Op::GuardDouble => (self.is_double(word), true),
            Op::GuardBoolean => {
                let distance = self.b.ins().iadd_imm_s(word, -(words::FALSE as i64));
                let mask = !((words::TRUE - words::FALSE) as i64);
                (self.b.ins().band_imm_s(distance, mask), false)
            }
            Op::GuardNil => (self.is_word(word, words::NIL), true),
            Op::GuardNotNil => (self.is_word(word, words::NIL), false),
            Op::GuardPlain => return self.guard_plain(inst, word),
            Op::GuardLayout(layouts) => return self.guard_layout(inst, word, layouts),
            Op::GuardFunction(function) => return self.guard_function(inst, word, function),
            _ => unreachable!("{op} is no guard"),
        };
        self.leave_unless(inst, condition, wanted, Reason::Kind);
    }

    fn tag(&mut self, word: ir::Value) -> ir::Value {
        self.b.ins().band_imm_u(word, words::TAG_MASK as i64)
    }

    pub fn is_integer(&mut self, word: ir::Value) -> ir::Value {
        let tag = self.tag(word);
        self.b.ins().icmp_imm_u(IntCC::Equal, tag, words::TAG_INTEGER as i64)
    }

    /// Whether a word is a pointer: less the tag, it has none. That takes an instruction less than to compare the tag.
    pub fn is_pointer(&mut self, word: ir::Value) -> ir::Value {
        let address = self.b.ins().iadd_imm_s(word, -(words::TAG_POINTER as i64));
        let rest = self.tag(address);
        self.b.ins().icmp_imm_u(IntCC::Equal, rest, 0)
    }

    /// Whether a word is an immediate double.
    pub fn is_double(&mut self, word: ir::Value) -> ir::Value {
        let bit = self.b.ins().band_imm_u(word, words::DOUBLE_BIT as i64);
        self.b.ins().icmp_imm_u(IntCC::NotEqual, bit, 0)
    }

    pub fn is_word(&mut self, word: ir::Value, wanted: u64) -> ir::Value {
        self.b.ins().icmp_imm_s(IntCC::Equal, word, wanted as i64)
    }

    fn guard_layout(&mut self, inst: Inst, word: ir::Value, layouts: Layouts) {
        let kind = self.unit.kind(self.unit.inst(inst).arguments[0]);
        if kind.without_nil().is(kinds::of_layouts(layouts)) {
            let is_nil = self.is_word(word, words::NIL);
            return self.leave_unless(inst, is_nil, false, Reason::Kind);
        }
        if !kind.is(Type::OBJECT) {
            let is_pointer = self.is_pointer(word);
            self.leave_unless(inst, is_pointer, true, Reason::Kind);
        }
        let Some(list) = layouts.list() else { return };
        let list = list.to_vec();
        let fits = self.is_object_of(word, &list, false);
        self.leave_unless(inst, fits, true, Reason::Kind);
    }

    /// Leaves for objects whose class redefines what compiled code inlines.
    fn guard_plain(&mut self, inst: Inst, word: ir::Value) {
        let plain = self.b.create_block();
        let object = self.b.create_block();
        let is_pointer = self.is_pointer(word);
        self.b.ins().brif(is_pointer, object, &[], plain, &[]);
        self.b.switch_to_block(object);
        let layout = self.layout(word);
        let flag = self.b.ins().band_imm_u(layout, i64::from(words::CONTROL_FLAG));
        self.leave_unless(inst, flag, false, Reason::Kind);
        self.b.ins().jump(plain, &[]);
        self.b.switch_to_block(plain);
    }

    /// Whether two words are the same object: boxed ones are asked.
    pub fn identical(&mut self, inst: Inst, primitive: PrimitiveRef) -> ir::Value {
        let (left, right) = (self.argument(inst, 0), self.argument(inst, 1));
        let (object, boxed) = (self.b.create_block(), self.cold_block());
        let (differs, done) = (self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(done, I8);
        let same = self.b.ins().icmp(IntCC::Equal, left, right);
        self.b.ins().brif(same, done, &[BlockArg::Value(same)], differs, &[]);
        self.b.switch_to_block(differs);
        let is_pointer = self.is_pointer(left);
        self.b.ins().brif(is_pointer, object, &[], done, &[BlockArg::Value(same)]);
        self.b.switch_to_block(object);
        let list = fold::boxed().object_layouts();
        let list = list.list().expect("they are listed").to_vec();
        let is_boxed = self.is_object_of(left, &list, false);
        self.b.ins().brif(is_boxed, boxed, &[], done, &[BlockArg::Value(same)]);
        self.b.switch_to_block(boxed);
        let answer = self.try_leaf(inst, primitive);
        let is_true = self.is_word(answer, words::TRUE);
        self.b.ins().jump(done, &[BlockArg::Value(is_true)]);
        self.b.switch_to_block(done);
        result
    }

    /// A closure's first element is the address of its function.
    fn guard_function(&mut self, inst: Inst, word: ir::Value, function: FunctionRef) {
        let given = self.function_of_closure(word);
        let wanted = self.symbol(Symbol::Function(function));
        let same = self.b.ins().icmp(IntCC::Equal, given, wanted);
        self.leave_unless(inst, same, true, Reason::Kind);
    }

    /// The layout of an object.
    fn layout(&mut self, object: ir::Value) -> ir::Value {
        self.b.ins().load(I32, trusted().with_readonly(), object, words::LAYOUT)
    }

    /// Whether a word has the layout of an immediate value; `None` if it is one of objects.
    pub fn has_immediate_layout(&mut self, word: ir::Value, layout: u32) -> Option<ir::Value> {
        Some(match layout {
            layouts::INTEGER => self.is_integer(word),
            layouts::DOUBLE => self.is_double(word),
            layouts::NIL => self.is_word(word, words::NIL),
            layouts::TRUE => self.is_word(word, words::TRUE),
            layouts::FALSE => self.is_word(word, words::FALSE),
            _ => return None,
        })
    }

    /// Whether a word is an object of one of these layouts.
    pub fn is_object_of(&mut self, word: ir::Value, list: &[u32], may_be_none: bool) -> ir::Value {
        if !may_be_none {
            let layout = self.layout(word);
            let mut tests = Vec::new();
            for &each in list {
                tests.push(self.b.ins().icmp_imm_u(IntCC::Equal, layout, i64::from(each)));
            }
            let any = tests.into_iter().reduce(|left, right| self.b.ins().bor(left, right));
            return any.unwrap_or_else(|| self.b.ins().iconst(I8, 0));
        }
        let (object, joined) = (self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(joined, I8);
        let is_pointer = self.is_pointer(word);
        let no = BlockArg::Value(is_pointer);
        self.b.ins().brif(is_pointer, object, &[], joined, &[no]);
        self.b.switch_to_block(object);
        let fits = self.is_object_of(word, list, false);
        self.b.ins().jump(joined, &[BlockArg::Value(fits)]);
        self.b.switch_to_block(joined);
        result
    }
}

/// Arithmetic that leaves for some results.
impl Lowering<'_, '_> {
    /// Arithmetic whose result must be a small integer. With tagged operands at hand it is done on them, where the
    /// processor's overflow is the test, and the tagged result is kept for those who want it.
    fn small(&mut self, inst: Inst, op: Op) -> ir::Value {
        let arguments = self.unit.inst(inst).arguments.clone();
        let tagged = (self.tagged(arguments[0]), self.tagged(arguments[1]));
        let result = match (op, tagged) {
            (Op::MultiplySmall, _) => {
                let left = self.get(arguments[0]);
                let left = self.b.ins().ishl_imm_u(left, i64::from(words::TAG_BITS));
                let right = self.get(arguments[1]);
                let (product, overflow) = self.b.ins().smul_overflow(left, right);
                self.leave_unless(inst, overflow, false, Reason::Overflow);
                product
            }
            (Op::AddSmall | Op::SubtractSmall, (Some(left), Some(right))) => {
                self.checked(inst, (left, right), op == Op::AddSmall)
            }
            _ => return self.small_of_raw(inst, op == Op::AddSmall),
        };
        self.keep_tagged(inst, result);
        self.b.ins().sshr_imm_u(result, i64::from(words::TAG_BITS))
    }

    fn small_of_raw(&mut self, inst: Inst, is_sum: bool) -> ir::Value {
        let (left, right) = (self.argument(inst, 0), self.argument(inst, 1));
        let result = if self.fits_64_bits(inst, is_sum) {
            self.wrapping(left, right, is_sum)
        } else {
            self.checked(inst, (left, right), is_sum)
        };
        let tagged = self.b.ins().ishl_imm_u(result, i64::from(words::TAG_BITS));
        let back = self.b.ins().sshr_imm_u(tagged, i64::from(words::TAG_BITS));
        let fits = self.b.ins().icmp(IntCC::Equal, back, result);
        self.leave_unless(inst, fits, true, Reason::Overflow);
        self.keep_tagged(inst, tagged);
        result
    }

    /// A sum or difference in 64 bits; leaves if there is none. Of a constant, the sum tells: it is on the wrong side
    /// of the other operand. Otherwise the processor tells, in one instruction more.
    fn checked(
        &mut self,
        inst: Inst,
        (left, right): (ir::Value, ir::Value),
        is_sum: bool,
    ) -> ir::Value {
        let constant = |index: usize| self.unit.integer(self.unit.inst(inst).arguments[index]);
        let (operand, is_above) = match (is_sum, constant(0), constant(1)) {
            (true, Some(constant), None) => (right, constant >= 0),
            (true, None, Some(constant)) => (left, constant >= 0),
            (false, None, Some(constant)) => (left, constant < 0),
            _ => {
                let (result, overflow) = if is_sum {
                    self.b.ins().sadd_overflow(left, right)
                } else {
                    self.b.ins().ssub_overflow(left, right)
                };
                self.leave_unless(inst, overflow, false, Reason::Overflow);
                return result;
            }
        };
        let result = self.wrapping(left, right, is_sum);
        let side = match is_above {
            true => IntCC::SignedGreaterThanOrEqual,
            false => IntCC::SignedLessThanOrEqual,
        };
        let fits = self.b.ins().icmp(side, result, operand);
        self.leave_unless(inst, fits, true, Reason::Overflow);
        result
    }

    fn wrapping(&mut self, left: ir::Value, right: ir::Value, is_sum: bool) -> ir::Value {
        if is_sum { self.b.ins().iadd(left, right) } else { self.b.ins().isub(left, right) }
    }

    fn keep_tagged(&mut self, inst: Inst, tagged: ir::Value) {
        if let Some(result) = self.unit.inst(inst).result {
            self.tagged_forms.insert(result, tagged);
        }
    }

    /// The word of an integer, if it is there or a constant.
    pub fn tagged(&mut self, value: Value) -> Option<ir::Value> {
        let value = self.unit.resolve(value);
        if let Some(tagged) = self.tagged_forms.get(&value) {
            return Some(*tagged);
        }
        let definition = self.unit.definition(value)?;
        match definition.op {
            Op::AssumeWithin(_) => self.tagged(definition.arguments[0]),
            Op::UntagInteger => {
                let word = definition.arguments[0];
                Some(self.get(word))
            }
            Op::Integer(constant) => {
                let word = words::integer_word(constant)?;
                Some(self.guest_constant(word as i64))
            }
            _ => None,
        }
    }

    /// Whether a sum or difference cannot overflow 64 bits.
    fn fits_64_bits(&self, inst: Inst, is_sum: bool) -> bool {
        let arguments = &self.unit.inst(inst).arguments;
        let range = |index: usize| self.unit.kind(arguments[index]).range().unwrap_or(Range::ALL);
        let op = if is_sum { Op::Add } else { Op::Subtract };
        kinds::integer_range(op, range(0), range(1)) != Range::ALL
    }
}
