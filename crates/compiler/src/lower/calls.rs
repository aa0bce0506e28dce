//! Calls of functions and of the runtime's helpers. `residence` has stored what the frame must hold; what is left is the
//! site and the call itself.

use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_codegen::isa::CallConv;

use crate::facts::{Helper, Symbol};
use crate::ir::entities::{ActivationId, Inst};
use crate::ir::operations::Op;
use crate::ir::types::Representation;
use crate::ir::values::Place;
use crate::lower::function::{Lowering, trusted};
use crate::lower::offset;

impl Lowering<'_, '_> {
    /// A call; answers its result.
    pub fn call(&mut self, inst: Inst) -> Option<ir::Value> {
        let data = self.unit.inst(inst);
        let state = self.unit.state(data.state.expect("a call has a state"));
        let (activation, pc) = (state.activation, state.pc);
        let function = self.unit.activations[activation.index()].function;
        let bits = match data.op {
            Op::Call(target) => {
                let site = self.symbol(Symbol::Site(function, pc));
                let frame = self.window(target.window);
                self.b.ins().store(trusted(), site, frame, -8);
                let callee = self.symbol(Symbol::Function(target.function));
                let entry = self.b.ins().load(I64, trusted(), callee, self.machine.entry);
                self.call_address(CallConv::Tail, entry, &[frame, callee])
            }
            Op::Send(window) => {
                let site = self.symbol(Symbol::Site(function, pc));
                let frame = self.window(window);
                self.call_helper(Helper::Send, &[frame, site])
            }
            _ => self.execute(activation, pc),
        };
        let result = data.result?;
        let repr = match data.op {
            Op::Decide => Representation::Bool,
            _ => self.unit.representation(result),
        };
        Some(self.of_bits(bits, repr))
    }

    /// Has the runtime execute an instruction; answers what that defines.
    pub fn execute(&mut self, activation: ActivationId, pc: u32) -> ir::Value {
        let function = self.unit.activations[activation.index()].function;
        let helper = Helper::Instruction(self.opcode(activation, pc));
        let frame = self.frame_of(activation);
        let instruction = self.symbol(Symbol::Instruction(function, pc));
        let function = self.symbol(Symbol::Function(function));
        self.call_helper(helper, &[frame, instruction, function])
    }

    /// The opcode of an instruction in the module.
    fn opcode(&self, activation: ActivationId, pc: u32) -> u8 {
        let function = self.unit.activations[activation.index()].function;
        self.facts.function(function).code[pc as usize] as u8
    }

    /// The address of a callee's frame.
    fn window(&mut self, window: Place) -> ir::Value {
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

    pub fn call_address(
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
