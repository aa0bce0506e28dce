//! Writes a unit as text. Golden tests compare it, and `parse` reads it again.
//!
//! ```text
//! activation a0 = f0 at 0 words 8
//! activation a1 = f3 at 5 words 4
//! state s0 = a0 before 4 r0=v0 r1=v1
//! state s1 = a1 before 0 r0=v1 within s0
//!
//! b0:
//!     v0: word any = argument 0
//!     v1: word int = guard_integer v0 s0
//!     jump b1(v1)
//! b1(v2: word int):
//!     v3: i64 int = untag_integer v2
//!     branch v5 b2() b1(v4)
//! b2():
//!     return v2
//! ```
//!
//! A line `leave s3` before the end of a block is the state there, for guards that are moved out of a loop.
//!
//! Blocks appear in reverse post order; blocks that cannot be reached, states that nothing uses, and replaced values do
//! not appear. Replaced values are written as the ones that replaced them.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use crate::ir::entities::{ActivationId, Block, StateId, Value};
use crate::ir::{End, InstData, Jump, Stands, State, Unit};

impl Display for Unit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, activation) in self.activations.iter().enumerate() {
            let id = ActivationId(index as u32);
            let (function, words) = (activation.function, activation.words);
            writeln!(f, "activation {id} = {function} at {} words {words}", activation.offset)?;
        }
        let order = self.reverse_post_order();
        for state in self.used_states(&order) {
            write!(f, "state {state} = ")?;
            self.write_state(f, self.state(state))?;
        }
        if !self.activations.is_empty() {
            writeln!(f)?;
        }
        order.into_iter().try_for_each(|block| self.write_block(f, block))
    }
}

impl Unit {
    /// The states that reachable code names, and those around them.
    fn used_states(&self, order: &[Block]) -> BTreeSet<StateId> {
        let mut used = BTreeSet::new();
        for &block in order {
            let data = self.block(block);
            let in_code = data.instructions.iter().filter_map(|&inst| self.inst(inst).state);
            let at_end = match data.end {
                End::Exit(state) => Some(state),
                _ => data.leave,
            };
            for state in in_code.chain(at_end) {
                let around = std::iter::successors(Some(state), |&state| self.state(state).parent);
                used.extend(around);
            }
        }
        used
    }

    fn write_state(&self, f: &mut Formatter<'_>, state: &State) -> fmt::Result {
        let stands = match state.stands {
            Stands::Before => "before",
            Stands::In => "in",
        };
        write!(f, "{} {stands} {}", state.activation, state.pc)?;
        for (register, value) in &state.registers {
            write!(f, " {register}={}", self.resolve(*value))?;
        }
        if let Some(parent) = state.parent {
            write!(f, " within {parent}")?;
        }
        writeln!(f)
    }

    fn write_block(&self, f: &mut Formatter<'_>, block: Block) -> fmt::Result {
        let data = self.block(block);
        write!(f, "{block}(")?;
        for (index, &value) in data.parameters.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            write!(f, "{separator}{}", self.declared(value))?;
        }
        writeln!(f, "):")?;
        for &inst in &data.instructions {
            self.write_instruction(f, self.inst(inst))?;
        }
        if let Some(state) = data.leave {
            writeln!(f, "    leave {state}")?;
        }
        self.write_end(f, &data.end)
    }

    /// A value as it is defined: with representation and type.
    fn declared(&self, value: Value) -> String {
        let data = &self.values[value.index()];
        format!("{value}: {} {}", data.representation.name(), data.kind)
    }

    fn write_instruction(&self, f: &mut Formatter<'_>, inst: &InstData) -> fmt::Result {
        f.write_str("    ")?;
        if let Some(result) = inst.result {
            write!(f, "{} = ", self.declared(result))?;
        }
        write!(f, "{}", inst.op)?;
        for &argument in &inst.arguments {
            write!(f, " {}", self.resolve(argument))?;
        }
        match inst.state {
            Some(state) => writeln!(f, " {state}"),
            None => writeln!(f),
        }
    }

    fn write_end(&self, f: &mut Formatter<'_>, end: &End) -> fmt::Result {
        f.write_str("    ")?;
        match end {
            End::Open => writeln!(f, "open"),
            End::Jump(jump) => writeln!(f, "jump {}", self.jump_text(jump)),
            End::Branch(value, then, otherwise) => {
                let (then, otherwise) = (self.jump_text(then), self.jump_text(otherwise));
                writeln!(f, "branch {} {then} {otherwise}", self.resolve(*value))
            }
            End::Return(value) => writeln!(f, "return {}", self.resolve(*value)),
            End::Exit(state) => writeln!(f, "exit {state}"),
        }
    }

    fn jump_text(&self, jump: &Jump) -> String {
        let arguments = jump.arguments.iter().map(|&value| self.resolve(value).to_string());
        format!("{}({})", jump.block, arguments.collect::<Vec<_>>().join(" "))
    }
}
