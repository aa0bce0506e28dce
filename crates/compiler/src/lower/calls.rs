//! Calls of functions and of the runtime's helpers. `function` calls this module for each operation that is a call.
//! `residence` has stored what the frame must hold; what is left is the site and the call itself.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_codegen::isa::CallConv;
use squall_bytecode::instructions::Opcode;

use crate::facts::{Helper, Symbol};
use crate::ir::entities::{ActivationId, FunctionRef, Inst};
use crate::ir::operations::Op;
use crate::ir::types::Representation;
use crate::ir::values::Place;
use crate::lower::function::{Lowering, trusted};
use crate::lower::offset;
use crate::words;

impl Lowering<'_, '_> {
    /// A call; answers its result.
    pub fn call(&mut self, inst: Inst) -> Option<ir::Value> {
        let data = self.unit.inst(inst);
        let state = self.unit.state(data.state.expect("a call has a state"));
        let (activation, pc) = (state.activation, state.pc);
        let function = self.unit.activations[activation.index()].function;
        let bits = match data.op {
            Op::Call(target) => {
                let callee = self.symbol(Symbol::Function(target.function));
                self.call_function((function, pc), target.window, callee)
            }
            Op::CallClosure(window) => {
                let closure = self.argument(inst, 0);
                let callee = self.function_of_closure(closure);
                self.call_function((function, pc), window, callee)
            }
            Op::Send(window) => {
                let site = self.symbol(Symbol::Site(function, pc));
                let frame = self.place_address(window);
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

    /// Enters a function by its entry, from the site of an instruction.
    fn call_function(
        &mut self,
        (caller, pc): (FunctionRef, u32),
        window: Place,
        callee: ir::Value,
    ) -> ir::Value {
        let site = self.symbol(Symbol::Site(caller, pc));
        let frame = self.place_address(window);
        self.b.ins().store(trusted(), site, frame, -8);
        let entry = self.b.ins().load(I64, trusted(), callee, self.machine.entry);
        self.call_address(CallConv::Tail, entry, &[frame, callee])
    }

    /// Whether the function of a closure takes so many words, with the closure itself.
    pub fn takes_arguments(&mut self, inst: Inst, count: u32) -> ir::Value {
        let closure = self.argument(inst, 0);
        let function = self.function_of_closure(closure);
        let flags = trusted().with_readonly();
        let given = self.b.ins().load(I32, flags, function, self.machine.arguments);
        self.b.ins().icmp_imm_u(IntCC::Equal, given, i64::from(count))
    }

    /// The address of a closure's function.
    pub fn function_of_closure(&mut self, closure: ir::Value) -> ir::Value {
        self.b.ins().load(I64, trusted().with_readonly(), closure, words::FIRST_ELEMENT)
    }

    /// Has the runtime execute an instruction; answers what that defines.
    pub fn execute(&mut self, activation: ActivationId, pc: u32) -> ir::Value {
        let function = self.unit.activations[activation.index()].function;
        let opcode = self.opcode(activation, pc);
        let helper = Helper::Instruction(opcode);
        let frame = self.frame_of(activation);
        if opcode == Opcode::Primitive as u8 {
            let site = self.symbol(Symbol::Site(function, pc));
            return self.call_helper(helper, &[frame, site]);
        }
        let instruction = self.symbol(Symbol::Instruction(function, pc));
        let function = self.symbol(Symbol::Function(function));
        self.call_helper(helper, &[frame, instruction, function])
    }

    /// The opcode of an instruction in the module.
    pub fn opcode(&self, activation: ActivationId, pc: u32) -> u8 {
        let function = self.unit.activations[activation.index()].function;
        self.facts.function(function).code[pc as usize] as u8
    }

    /// The address of a place in the frame.
    pub fn place_address(&mut self, place: Place) -> ir::Value {
        self.b.ins().iadd_imm_s(self.frame, 8 * i64::from(place.0))
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
        self.store_fuel();
        let call = self.b.ins().call_indirect(signature, address, arguments);
        let answer = self.b.inst_results(call)[0];
        self.load_fuel();
        answer
    }
}
