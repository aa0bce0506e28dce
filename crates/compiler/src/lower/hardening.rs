//! Code for guests that are not trusted: indices that stay within their object although the processor guesses, and constants
//! that are not to be seen in the code. `memory`, `texts` and `arithmetic` call this module. The crate that installs code says
//! which code is hardened, and against what.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self, InstBuilder};

use crate::lower::function::{Lowering, trusted};
use crate::words;

impl Lowering<'_, '_> {
    /// An index that is below the length of the array or text; where it is not, which the processor may only guess, 0.
    pub fn confined(&mut self, object: ir::Value, index: ir::Value) -> ir::Value {
        if self.machine.hardening.is_none() {
            return index;
        }
        let length = self.b.ins().load(I64, trusted().with_readonly(), object, words::LENGTH);
        let is_within = self.b.ins().icmp(IntCC::UnsignedLessThan, index, length);
        let first = self.b.ins().iconst(I64, 0);
        self.b.ins().select_spectre_guard(is_within, index, first)
    }

    /// The bits of a constant that a guest may have chosen.
    pub fn guest_constant(&mut self, bits: i64) -> ir::Value {
        let Some(hardening) = self.machine.hardening.filter(|_| !words::is_harmless(bits)) else {
            return self.b.ins().iconst(I64, bits);
        };
        let blinded = self.b.ins().iconst(I64, bits ^ hardening.key as i64);
        let thread = self.thread();
        let flags = trusted().with_readonly().with_can_move();
        let key = self.b.ins().load(I64, flags, thread, hardening.place);
        self.b.ins().bxor(blinded, key)
    }
}
