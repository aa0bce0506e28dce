//! Which registers hold a value when control reaches a place: a forward flow analysis. The verifier and `liveness` use
//! it.
//!
//! On entry the arguments are initialised. An instruction first destroys the registers that a call destroys, then
//! initialises those that it defines. Where paths meet, a register is *definitely* initialised if it is so on all of
//! them, and *possibly* if it is on at least one.
//!
//! An exception leaves an instruction before it defined anything and, if it is a call, after the
//! call destroyed its window. The handler finds the region's value register initialised in
//! addition. `leave_home` makes the home register uninitialised again. `unbox` (`convert_exact`, `map_get`) initialises its
//! destination on the way to the next instruction; on the way to its target it leaves it
//! uninitialised. `alt_read` initialises its destination on the way to its target only.
//!
//! A branch of a fork begins with the registers that are initialised at the fork. After the ends of all branches, a
//! register that a branch has written is initialised if it is so at that branch's end and is not `any`; all other
//! registers are as they were at the fork. After a `par_for`, no register that its body writes is initialised; the same
//! holds for a fork that an exception leaves.
//!
//! The analysis also finds the registers that possibly hold a *token*: the handler of an `ensure` region finds one in the
//! region's value register, and it stays there until the register is written or destroyed, or a `resume_unwind` of it goes on.

use crate::decode::Instruction;
use crate::flow::{Block, FlowGraph, ForkNode, Worklist};
use crate::instructions::Opcode;
use crate::module::{Function, Region, RegionKind};
use crate::register_set::RegisterSet;

/// The state of the registers where control passes a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Initialised {
    /// Initialised on every path to the place.
    pub definitely: RegisterSet,
    /// Initialised on some path to the place.
    pub possibly: RegisterSet,
    /// Holding the token of an unwinding on some path to the place.
    pub tokens: RegisterSet,
}

impl Initialised {
    /// On entry to a function.
    pub fn on_entry(function: &Function) -> Initialised {
        let arguments = RegisterSet::below(function.arguments());
        Initialised { definitely: arguments, possibly: arguments, tokens: RegisterSet::EMPTY }
    }

    /// After the instruction, on the way to the next one.
    pub fn after(self, instruction: &Instruction) -> Initialised {
        let effects = instruction.effects();
        let after = self.apply(effects.destroyed() | effects.ended(), effects.defined());
        match instruction.opcode {
            Opcode::AltRead => after.apply(effects.defined(), RegisterSet::EMPTY),
            Opcode::ResumeUnwind => after.without_tokens(effects.uses),
            _ => after,
        }
    }

    fn apply(self, destroyed: RegisterSet, defined: RegisterSet) -> Initialised {
        Initialised {
            definitely: (self.definitely - destroyed) | defined,
            possibly: (self.possibly - destroyed) | defined,
            tokens: self.tokens - destroyed - defined,
        }
    }

    /// After a `resume_unwind` of these registers that goes on: they hold nil.
    fn without_tokens(self, resumed: RegisterSet) -> Initialised {
        Initialised { tokens: self.tokens - resumed, ..self }
    }

    /// Where the handler of a region starts that an exception has left in this state.
    fn in_handler(self, region: &Region) -> Initialised {
        let value = RegisterSet::of(region.value);
        let handling = self.apply(RegisterSet::EMPTY, value);
        match region.kind {
            RegionKind::Ensure => Initialised { tokens: handling.tokens | value, ..handling },
            RegionKind::Catch(_) | RegionKind::Fault(_) => handling,
        }
    }

    fn meet(self, other: Initialised) -> Initialised {
        Initialised {
            definitely: self.definitely & other.definitely,
            possibly: self.possibly | other.possibly,
            tokens: self.tokens | other.tokens,
        }
    }
}

/// The analysis of one function.
#[derive(Debug)]
pub(crate) struct Initialisation {
    at_block: Vec<Option<Initialised>>,
    in_region: Vec<Option<Initialised>>,
    /// At the end of each block.
    after_block: Vec<Option<Initialised>>,
}

impl Initialisation {
    /// Solves the flow equations. Each node changes at most three times per register.
    pub fn compute(function: &Function, graph: &FlowGraph) -> Initialisation {
        let mut analysis = Initialisation {
            at_block: vec![None; graph.blocks.len()],
            in_region: vec![None; graph.regions.len()],
            after_block: vec![None; graph.blocks.len()],
        };
        if graph.blocks.is_empty() {
            return analysis;
        }
        let mut summaries: Vec<Summary> =
            graph.blocks.iter().map(|block| Summary::of(graph.instructions_of(block))).collect();
        for fork in &graph.forks {
            summaries[fork.block].ever_destroyed |= fork.written();
        }
        let mut worklist = Worklist::new(graph.blocks.len());
        analysis.flow_to_block(0, Initialised::on_entry(function), &mut worklist);
        // A fork's turn comes when its branches have had theirs: each looks at all of them.
        let mut forks = Worklist::new(graph.forks.len());
        loop {
            while let Some(index) = worklist.pop() {
                let summary = &summaries[index];
                analysis.update_block(function, graph, index, summary, &mut worklist);
                graph.fork_index_at_end(index).into_iter().for_each(|fork| forks.push(fork));
            }
            match forks.pop() {
                Some(fork) => analysis.flow_from_fork(&graph.forks[fork], &mut worklist),
                None => return analysis,
            }
        }
    }

    fn update_block(
        &mut self,
        function: &Function,
        graph: &FlowGraph,
        index: usize,
        summary: &Summary,
        worklist: &mut Worklist,
    ) {
        let block = &graph.blocks[index];
        if let Some(state) = self.at_block[index] {
            let out = self.flow_from_block(block, state, summary, worklist);
            self.after_block[index] = Some(out);
            self.flow_to_region(function, graph, block.region, summary.raise(state), worklist);
        }
    }

    /// The state at the start of a block; `None` if control never gets there.
    pub fn at_block(&self, block: usize) -> Option<Initialised> {
        self.at_block[block]
    }

    /// The state common to all exceptions that leave a region, before its handler starts.
    pub fn in_region(&self, region: usize) -> Option<Initialised> {
        self.in_region[region]
    }

    fn flow_from_block(
        &mut self,
        block: &Block,
        state: Initialised,
        summary: &Summary,
        worklist: &mut Worklist,
    ) -> Initialised {
        let out = state.apply(summary.destroyed, summary.defined).without_tokens(summary.resumed);
        let jumping = out.apply(summary.destroyed_by_jump, RegisterSet::EMPTY);
        let going_on = out.apply(summary.destroyed_by_going_on, RegisterSet::EMPTY);
        block.targets.iter().for_each(|&target| self.flow_to_block(target, jumping, worklist));
        block.next.into_iter().for_each(|next| self.flow_to_block(next, going_on, worklist));
        out
    }

    /// The state at the end of a branch; `None` if control never gets there.
    pub fn after_block(&self, block: usize) -> Option<Initialised> {
        self.after_block[block]
    }

    /// Goes on after a fork, if all its branches can end.
    fn flow_from_fork(&mut self, fork: &ForkNode, worklist: &mut Worklist) {
        let Some(before) = self.after_block[fork.block] else { return };
        let mut after = before.apply(fork.written(), RegisterSet::EMPTY);
        for branch in fork.branches.iter().filter(|_| !fork.is_loop) {
            let Some(end) = self.after_block[branch.last] else { return };
            after.definitely |= end.definitely & branch.shareable;
            after.possibly |= end.possibly & branch.shareable;
        }
        self.flow_to_block(fork.after, after, worklist);
    }

    fn flow_to_block(&mut self, block: usize, state: Initialised, worklist: &mut Worklist) {
        if meet_into(&mut self.at_block[block], state) {
            worklist.push(block);
        }
    }

    /// Follows an exception outwards through the regions, as far as it brings anything new.
    fn flow_to_region(
        &mut self,
        function: &Function,
        graph: &FlowGraph,
        innermost: Option<usize>,
        state: Initialised,
        worklist: &mut Worklist,
    ) {
        let mut around = innermost;
        while let Some(region) = around {
            if !meet_into(&mut self.in_region[region], state) {
                return;
            }
            if let Some(handler) = graph.regions[region].handler {
                let handling = state.in_handler(&function.regions[region]);
                self.flow_to_block(handler, handling, worklist);
            }
            around = graph.regions[region].parent;
        }
    }
}

/// Meets `state` into `place`; whether that changed it.
fn meet_into(place: &mut Option<Initialised>, state: Initialised) -> bool {
    let met = place.map_or(state, |known| known.meet(state));
    place.replace(met) != Some(met)
}

/// The effect of a whole block on the state at its start.
struct Summary {
    /// Destroyed and not defined again afterwards.
    destroyed: RegisterSet,
    /// Defined and not destroyed afterwards.
    defined: RegisterSet,
    /// Without a value at some instruction, where an exception could leave.
    ever_destroyed: RegisterSet,
    /// Defined where some later instruction could raise an exception.
    possibly_defined: RegisterSet,
    /// The destination of a final `unbox` or the like.
    destroyed_by_jump: RegisterSet,
    /// The destination of a final `alt_read`.
    destroyed_by_going_on: RegisterSet,
    /// Read by a `resume_unwind`.
    resumed: RegisterSet,
}

impl Summary {
    fn of(instructions: &[Instruction]) -> Summary {
        let mut summary = Summary {
            destroyed: RegisterSet::EMPTY,
            defined: RegisterSet::EMPTY,
            ever_destroyed: RegisterSet::EMPTY,
            possibly_defined: RegisterSet::EMPTY,
            destroyed_by_jump: RegisterSet::EMPTY,
            destroyed_by_going_on: RegisterSet::EMPTY,
            resumed: RegisterSet::EMPTY,
        };
        for instruction in instructions {
            summary.append(instruction);
        }
        summary
    }

    fn append(&mut self, instruction: &Instruction) {
        let effects = instruction.effects();
        let (destroyed, defined) = (effects.destroyed(), effects.defined());
        self.ever_destroyed |= self.destroyed | destroyed;
        self.possibly_defined |= self.defined - destroyed;
        let destroyed = destroyed | effects.ended();
        self.destroyed = (self.destroyed | destroyed) - defined;
        self.defined = (self.defined - destroyed) | defined;
        match instruction.opcode {
            opcode if opcode.defines_unless_jumping() => self.destroyed_by_jump = defined,
            Opcode::AltRead => self.destroyed_by_going_on = defined,
            Opcode::ResumeUnwind => self.resumed |= effects.uses,
            _ => {}
        }
    }

    /// The meet over all instructions of the states in which an exception leaves.
    fn raise(&self, state: Initialised) -> Initialised {
        Initialised {
            definitely: state.definitely - self.ever_destroyed,
            possibly: state.possibly | self.possibly_defined,
            // No instruction makes a token.
            tokens: state.tokens,
        }
    }
}
