//! Fuel: code for sandboxes counts its polls. `function` calls this module for entries, returns and exits, `calls` around
//! calls, and `guards` for the operations that charge.
//!
//! Between calls, the fuel is in a variable of its own, which Cranelift keeps in a register: a loop that counted in memory
//! would wait for its last store at each turn. The thread has the right number whenever anything else runs: before each call,
//! return and exit it is stored, and loaded again after each call.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_codegen::isa::CallConv;

use crate::code::Reason;
use crate::facts::{Helper, Symbol};
use crate::ir::entities::Inst;
use crate::lower::function::{Lowering, trusted};

impl Lowering<'_, '_> {
    /// Takes the fuel from the thread, if the code counts its polls. If the beginning counts as a poll, it is counted in the
    /// thread at once; then the answer is whether the fuel was used up.
    pub fn begin_fuel(&mut self, counts: bool) -> Option<ir::Value> {
        self.machine.fuel?;
        self.fuel = Some(self.b.declare_var(I32));
        self.load_fuel();
        if !counts {
            return None;
        }
        let is_spent = self.count_poll();
        self.store_fuel();
        is_spent
    }

    /// Loads the fuel again: something may have used or drawn some.
    pub fn load_fuel(&mut self) {
        if let (Some(offset), Some(variable)) = (self.machine.fuel, self.fuel) {
            let thread = self.thread();
            let fuel = self.b.ins().load(I32, trusted(), thread, offset);
            self.b.def_var(variable, fuel);
        }
    }

    /// Stores the fuel for others.
    pub fn store_fuel(&mut self) {
        if let (Some(offset), Some(variable)) = (self.machine.fuel, self.fuel) {
            let (thread, fuel) = (self.thread(), self.b.use_var(variable));
            self.b.ins().store(trusted(), fuel, thread, offset);
        }
    }

    /// Counts a poll, and draws more fuel if there is none. If that fails, base code executes the call, and counts it
    /// again; the poll at a loop's turn is over.
    pub fn charge(&mut self, inst: Inst, is_call: bool) {
        let Some(is_spent) = self.count_poll() else { return };
        let (spent, done) = (self.cold_block(), self.b.create_block());
        self.b.ins().brif(is_spent, spent, &[], done, &[]);
        self.b.switch_to_block(spent);
        let helper = self.symbol(Symbol::Helper(Helper::DrawFuel));
        let (thread, again) = (self.thread(), self.b.ins().iconst(I64, i64::from(is_call)));
        let is_paid = self.call_address(CallConv::SystemV, helper, &[thread, again]);
        let reason = if is_call { Reason::Poll } else { Reason::Fuel };
        self.leave_unless(inst, is_paid, true, reason);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Takes a poll from the fuel, if the code counts; answers whether too many were taken.
    fn count_poll(&mut self) -> Option<ir::Value> {
        let fuel = self.b.use_var(self.fuel?);
        let left = self.b.ins().iadd_imm_s(fuel, -1);
        self.b.def_var(self.fuel?, left);
        Some(self.b.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0))
    }
}
