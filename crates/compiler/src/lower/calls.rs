//! Calls of functions and of the runtime's helpers. `residence` has stored what the frame must hold; what is left is the
//! native site and the call itself.

use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_codegen::isa::CallConv;

use crate::code::NativeSite;
use crate::facts::{Helper, Symbol};
use crate::ir::entities::{ActivationId, Inst};
use crate::ir::operations::Op;
use crate::ir::types::Representation;
use crate::ir::values::Place;
use crate::lower::function::{Lowering, trusted};
use crate::lower::offset;

/// The size of a native site.
const SITE_BYTES: u64 = 64;

impl Lowering<'_, '_> {
    /// A call; answers its result.
    pub fn call(&mut self, inst: Inst) -> Option<ir::Value> {
        let data = self.unit.inst(inst);
        let site = self.native_site(inst);
        let bits = match data.op {
            Op::Call(target) => {
                let frame = self.enter_window(target.window, site);
                let cells = self.symbol(Symbol::Entries(target.function));
                let entry = self.b.ins().load(I64, trusted(), cells, self.machine.entry);
                self.call_address(CallConv::Tail, entry, &[frame])
            }
            Op::Send(window) => {
                let frame = self.enter_window(window, site);
                self.call_helper(Helper::Send, &[frame, site])
            }
            _ => {
                let state = self.unit.state(data.state.expect("a call has a state"));
                let (activation, pc) = (state.activation, state.pc);
                let frame = self.frame_of(activation);
                self.call_helper(Helper::Instruction(self.opcode(activation, pc)), &[frame, site])
            }
        };
        let result = data.result?;
        let repr = match data.op {
            Op::Decide => Representation::Bool,
            _ => self.unit.representation(result),
        };
        Some(self.of_bits(bits, repr))
    }

    /// The opcode of an instruction in the module.
    fn opcode(&self, activation: ActivationId, pc: u32) -> u8 {
        let function = self.unit.activations[activation.index()].function;
        self.facts.function(function).code[pc as usize] as u8
    }

    /// The address of the next native site.
    fn native_site(&mut self, inst: Inst) -> ir::Value {
        let state = self.unit.inst(inst).state.expect("a call has a state");
        let state = self.unit.state(state);
        let function = self.unit.activations[state.activation.index()].function;
        let address = self.first_site + SITE_BYTES * self.native_sites.len() as u64;
        self.native_sites.push(NativeSite { function, pc: state.pc });
        self.b.ins().iconst(I64, address as i64)
    }

    /// Stores the native site below a callee's frame; answers the frame's address.
    fn enter_window(&mut self, window: Place, site: ir::Value) -> ir::Value {
        self.b.ins().store(trusted(), site, self.frame, 8 * (window.0 as i32 - 1));
        self.b.ins().iadd_imm_s(self.frame, 8 * i64::from(window.0))
    }

    fn frame_of(&mut self, activation: ActivationId) -> ir::Value {
        match offset(self.unit, activation) {
            0 => self.frame,
            words => self.b.ins().iadd_imm_s(self.frame, 8 * i64::from(words)),
        }
    }

    fn call_helper(&mut self, helper: Helper, arguments: &[ir::Value]) -> ir::Value {
        let address = self.symbol(Symbol::Helper(helper));
        self.call_address(CallConv::SystemV, address, arguments)
    }

    fn call_address(
        &mut self,
        convention: CallConv,
        address: ir::Value,
        arguments: &[ir::Value],
    ) -> ir::Value {
        let signature = self.signature(convention, arguments.len());
        let call = self.b.ins().call_indirect(signature, address, arguments);
        self.b.inst_results(call)[0]
    }
}
