//! Strings and symbols: comparison, length, and access to characters. `arithmetic` and `guards` call this module for
//! their operations on texts. Most texts have a byte for each character; those that are compared mostly differ in
//! length or in the first byte. The rest is left to the leaves of primitives.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{self, BlockArg, InstBuilder};

use crate::facts::Symbol;
use crate::ir::entities::{Inst, PrimitiveRef};
use crate::lower::function::{Lowering, trusted};
use crate::words::{self, layouts};

impl Lowering<'_, '_> {
    /// Whether a text and a word have the same characters. Characters take no more bytes than the widest one of their
    /// text needs, so texts of different lengths in bytes differ.
    pub fn same_text(&mut self, inst: Inst, primitive: PrimitiveRef) -> ir::Value {
        let (left, right) = (self.argument(inst, 0), self.argument(inst, 1));
        let done = self.b.create_block();
        let result = self.b.append_block_param(done, I8);
        let same = self.b.ins().icmp(IntCC::Equal, left, right);
        self.done_if(true, same, done);
        let is_text = self.is_object_of(right, &[layouts::STRING, layouts::SYMBOL], true);
        self.done_if(false, is_text, done);
        let [length, other] = [left, right].map(|text| self.length_in_bytes(text));
        let same = self.b.ins().icmp(IntCC::Equal, length, other);
        self.done_if(false, same, done);
        let is_empty = self.b.ins().icmp_imm_u(IntCC::Equal, length, 0);
        self.done_if(true, is_empty, done);
        let [first, other] = [left, right].map(|text| self.byte(text));
        let same = self.b.ins().icmp(IntCC::Equal, first, other);
        self.done_if(false, same, done);
        let is_one = self.b.ins().icmp_imm_u(IntCC::Equal, length, 1);
        self.done_if(true, is_one, done);
        let answer = self.try_leaf(inst, primitive);
        let same = self.is_word(answer, words::TRUE);
        self.b.ins().jump(done, &[BlockArg::Value(same)]);
        self.b.switch_to_block(done);
        result
    }

    /// The number of a text's characters, a tagged integer.
    pub fn text_length(&mut self, inst: Inst, primitive: PrimitiveRef) -> ir::Value {
        let text = self.argument(inst, 0);
        let (slow, done) = (self.cold_block(), self.b.create_block());
        let result = self.b.append_block_param(done, I64);
        let length = self.length_in_bytes(text);
        let length = self.b.ins().ishl_imm_u(length, i64::from(words::TAG_BITS));
        let is_narrow = self.is_narrow(text);
        self.b.ins().brif(is_narrow, done, &[BlockArg::Value(length)], slow, &[]);
        self.b.switch_to_block(slow);
        let answer = self.try_leaf(inst, primitive);
        self.b.ins().jump(done, &[BlockArg::Value(answer)]);
        self.b.switch_to_block(done);
        result
    }

    /// The string of a text's character, or the unit is left.
    pub fn character_at(&mut self, inst: Inst, primitive: PrimitiveRef) -> ir::Value {
        let (text, index) = (self.argument(inst, 0), self.argument(inst, 1));
        let (slow, done) = (self.cold_block(), self.b.create_block());
        let result = self.b.append_block_param(done, I64);
        let is_narrow = self.is_narrow(text);
        self.skip_unless(is_narrow, slow);
        let is_integer = self.is_integer(index);
        self.skip_unless(is_integer, slow);
        let position = self.b.ins().sshr_imm_u(index, i64::from(words::TAG_BITS));
        let position = self.b.ins().iadd_imm_s(position, -1);
        let length = self.length_in_bytes(text);
        let is_within = self.b.ins().icmp(IntCC::UnsignedLessThan, position, length);
        self.skip_unless(is_within, slow);
        let position = self.confined(text, position);
        let place = self.b.ins().iadd(text, position);
        let byte = self.byte(place);
        let byte = self.b.ins().uextend(I64, byte);
        let offset = self.b.ins().ishl_imm_u(byte, 3);
        let table = self.symbol(Symbol::Characters);
        let entry = self.b.ins().iadd(table, offset);
        let character = self.b.ins().load(I64, trusted(), entry, 0);
        let is_unmade = self.is_word(character, words::NIL);
        self.b.ins().brif(is_unmade, slow, &[], done, &[BlockArg::Value(character)]);
        self.b.switch_to_block(slow);
        let answer = self.leaf(inst, primitive);
        self.b.ins().jump(done, &[BlockArg::Value(answer)]);
        self.b.switch_to_block(done);
        result
    }

    /// If the condition is this, it is the result; otherwise goes on.
    fn done_if(&mut self, is: bool, condition: ir::Value, done: ir::Block) {
        let next = self.b.create_block();
        let result = [BlockArg::Value(condition)];
        match is {
            true => self.b.ins().brif(condition, done, &result, next, &[]),
            false => self.b.ins().brif(condition, next, &[], done, &result),
        };
        self.b.switch_to_block(next);
    }

    /// Whether a text has a byte for each character.
    fn is_narrow(&mut self, text: ir::Value) -> ir::Value {
        let header = self.b.ins().load(I32, trusted(), text, words::HEADER);
        let wide = self.b.ins().band_imm_u(header, i64::from(words::WIDE));
        self.b.ins().icmp_imm_u(IntCC::Equal, wide, 0)
    }

    fn length_in_bytes(&mut self, text: ir::Value) -> ir::Value {
        self.b.ins().load(I64, trusted().with_readonly(), text, words::LENGTH)
    }

    /// The first byte of a text, or the one as far behind that as the address is behind the text.
    fn byte(&mut self, address: ir::Value) -> ir::Value {
        self.b.ins().load(I8, trusted().with_readonly(), address, words::FIRST_ELEMENT)
    }
}
