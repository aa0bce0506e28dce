//! The decision to inline a function, and the inlined activation. `sends` asks here for each call whose callee is
//! known.
//!
//! An inlined activation's registers lie where its own frame would: at the window of the call. Its states are within the
//! caller's state in the call.

use squall_bytecode::decode::instructions;
use squall_bytecode::entities::Register;
use squall_bytecode::instructions::Opcode;
use squall_bytecode::module::RegionKind;

use crate::build::body::Body;
use crate::build::sends::Message;
use crate::ir::entities::{FunctionRef, Value};
use crate::ir::operations::Op;
use crate::ir::{Remark, Why};

/// How often a function may be among its own callers in the unit.
const MOST_RECURSION: usize = 2;

/// The unit's frame has at most this many words, so that its prologue's test is one comparison and a chunk holds many.
const MOST_WORDS: u32 = 1024;

impl Body<'_, '_> {
    /// Why a call of a function is not replaced by its code; none if it is.
    pub fn obstacle(&self, function: FunctionRef, window: Register) -> Option<Why> {
        let builder = &self.builder;
        let limits = builder.limits;
        let code = builder.facts.function(function);
        let is_interpreted = !builder.facts.may_be_inlined(function);
        let has_handlers = code.regions.iter().any(|region| region.kind != RegionKind::Ensure);
        if code.is_imported() || has_handlers || is_interpreted {
            return Some(Why::Shape(function));
        }
        if builder.chain.len() > limits.depth {
            return Some(Why::Depth(function));
        }
        let recursion = builder.chain.iter().filter(|each| **each == function).count();
        let words = self.place(window).0 + code.registers.len() as u32;
        if recursion >= MOST_RECURSION {
            return Some(Why::Recursion(function));
        }
        let pays = self.is_in_loop() || builder.facts.is_hot(function);
        let most = if pays { limits.hot.max(limits.always) } else { limits.always };
        let most = most.min(builder.left);
        let count = instructions(&code.code).take(most + 1).count();
        if count > most || words > MOST_WORDS {
            return Some(Why::Size(function));
        }
        let is_plain = instructions(&code.code).all(|each| is_plain(each.opcode));
        (!is_plain).then_some(Why::Shape(function))
    }

    /// Notes what became of the current instruction's call.
    pub fn remark(&mut self, why: Why) {
        let origin = self.origin();
        self.builder.unit.remarks.push(Remark { origin, why });
    }

    /// Builds a function's code in place of a call of it.
    pub fn inline(&mut self, function: FunctionRef, message: &Message) -> Option<Value> {
        self.remark(Why::Inlined(function));
        self.charge();
        let parent = self.state_in();
        let offset = self.place(message.window).0;
        let activation = self.builder.add_activation(function, offset);
        let block = self.current.take().expect("a block is being built");
        let state = self.state;
        let mut body = Body::new(self.builder, activation, Some(parent));
        body.start_inlined(block, &message.operands, state);
        body.run();
        let mut returns = body.returns;
        let early = self.builder.early_returns.extract_if(.., |each| each.0 == activation);
        returns.extend(early.map(|(_, block, value)| (block, value)));
        self.builder.unit.origin = Some(self.origin());
        self.continue_after(returns)
    }

    /// Counts the poll at the entry of a function that is inlined, if the code counts.
    fn charge(&mut self) {
        if self.builder.counts_polls() {
            let state = self.state_before();
            let block = self.current.expect("a block is being built");
            self.builder.emit(block, Op::ChargeCall, &[], Some(state));
            // Code behind this must not execute the call again, which would be counted again.
            self.state = None;
        }
    }
}

/// Whether code with this instruction can be inlined: not, if it waits for its strand or ends it.
fn is_plain(opcode: Opcode) -> bool {
    !matches!(
        opcode,
        Opcode::Par | Opcode::ParFor | Opcode::Accept | Opcode::Alt | Opcode::AltPriority
    )
}
