//! The registers that the collector must trace in a frame, for each instruction. The runtime asks for these maps when
//! it links a function.
//!
//! [`FrameMaps::compute`] takes a *verified* function. For any other one it also terminates without
//! a panic, but its answers mean nothing.
//!
//! # Which registers are live
//!
//! A register is live before an instruction if on some path from there its value is read before it
//! is overwritten or destroyed. Paths include the exceptional ones: every instruction inside a
//! region can be left for the region's handler, before it has written its destination; the unwinder
//! then reads the class register of each `catch` region that it passes, and writes the value
//! register of the region whose handler it starts. Two kinds of register have readers that are not
//! in the code and are live wherever they are initialised:
//!
//! - the home register, which unwinding reads in every frame;
//! - in block functions `r0`, the closure.
//!
//! A branch of a fork has a copy of the frame. Registers that are live at the branch's beginning are live at the fork.
//! At its end, the live registers are those that it has written and that are live after the fork.
//!
//! In verified code a live register is initialised on every path to the place. The maps are
//! intersected with that set, so that they hold no register whose content is not defined.
//!
//! # What the maps answer
//!
//! | method | the frame stands … | registers |
//! |---|---|---|
//! | [`FrameMaps::at`] | *in* the instruction, for example in a call | live tagged registers (`any` and defined types), the instruction's operands included, its destination not (unless a handler still needs the old value). In a call only those below its window less one: the rest of the frame belongs to the callee by then |
//! | [`FrameMaps::before`] | before the instruction | live tagged registers (`any` and defined types), all of a window that the instruction reads included |
//! | [`FrameMaps::raw_before`] | before the instruction | live registers of other types |
//!
//! [`FrameMaps::fork`] describes the registers at a fork. A frame that stands *in* a fork also holds the words that its
//! branches have defined so far.
//!
//! An operand counts as live while its instruction is in progress, because instructions allocate and run slow paths
//! that read their operands again afterwards. The operands of a call that lie in its window are the exception: a tier
//! that collects between reading them there and completing the callee's frame must use [`FrameMaps::before`].

use crate::decode::{Effects, Instruction};
use crate::entities::Register;
use crate::flow::{Block, FlowGraph, Worklist};
use crate::initialisation::Initialisation;
use crate::module::{Function, FunctionKind, RegionKind};
use crate::register_set::RegisterSet;

/// The registers to trace at each instruction of a function.
#[derive(Clone, Debug)]
pub struct FrameMaps {
    /// For each word of the code the index of the instruction that starts there.
    index_of_pc: Vec<u32>,
    live_before: Vec<RegisterSet>,
    traced_at: Vec<RegisterSet>,
    tagged: RegisterSet,
    /// By ascending pc.
    forks: Vec<ForkMap>,
}

/// The registers at a fork.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForkMap {
    /// The pc of the fork's instruction.
    pub pc: usize,
    /// The pc after the fork.
    pub after: usize,
    /// Whether it is a `par_for`.
    pub is_loop: bool,
    /// Its branches.
    pub branches: Vec<BranchMap>,
    /// The words that the branches define and the frame does not hold at the fork.
    pub cleared: RegisterSet,
}

/// The registers of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BranchMap {
    /// The pc of its first instruction.
    pub start: usize,
    /// The registers that it reads of the copied frame.
    pub reads: RegisterSet,
    /// The registers that it writes.
    pub written: RegisterSet,
    /// The registers that it defines for the frame around it. No other branch may.
    pub results: RegisterSet,
    /// The registers that it leaves there: its results that are still read.
    pub left: RegisterSet,
}

/// Marks a word that starts no instruction.
const NO_INSTRUCTION: u32 = u32::MAX;

impl FrameMaps {
    /// Analyses a verified function.
    pub fn compute(function: &Function) -> FrameMaps {
        FrameMaps::compute_with(function, always_live(function))
    }

    /// Analyses a verified function all of whose registers count as live wherever they are initialised.
    pub fn compute_keeping(function: &Function) -> FrameMaps {
        FrameMaps::compute_with(function, RegisterSet::below(function.registers.len()))
    }

    fn compute_with(function: &Function, always: RegisterSet) -> FrameMaps {
        let graph = FlowGraph::build(function);
        let initialisation = Initialisation::compute(function, &graph);
        let liveness = Liveness::compute(function, &graph, always);
        let mut maps = FrameMaps {
            index_of_pc: vec![NO_INSTRUCTION; function.code.len()],
            live_before: vec![RegisterSet::EMPTY; graph.instructions.len()],
            traced_at: vec![RegisterSet::EMPTY; graph.instructions.len()],
            tagged: tagged_registers(function),
            forks: Vec::new(),
        };
        for (index, instruction) in graph.instructions.iter().enumerate() {
            maps.index_of_pc[instruction.pc] = index as u32;
        }
        for (index, block) in graph.blocks.iter().enumerate() {
            maps.record_live(&graph, &liveness, block, index);
            maps.restrict_to_initialised(&graph, &initialisation, index);
        }
        maps.record_forks(&graph, &initialisation);
        maps
    }

    /// The fork at this pc.
    pub fn fork(&self, pc: usize) -> Option<&ForkMap> {
        let index = self.forks.binary_search_by_key(&pc, |fork| fork.pc).ok()?;
        Some(&self.forks[index])
    }

    /// All forks, in the order of the code.
    pub fn forks(&self) -> &[ForkMap] {
        &self.forks
    }

    fn record_forks(&mut self, graph: &FlowGraph, initialisation: &Initialisation) {
        for fork in &graph.forks {
            let pc_of = |block: usize| graph.instructions[graph.blocks[block].first].pc;
            // At the end of a branch, its register may hold a word that the collector has not updated, if no
            // instruction reads the register any more.
            let live_after = self.live_before[graph.blocks[fork.after].first];
            let branches = fork.branches.iter().map(|branch| {
                let end = initialisation.after_block(branch.last).filter(|_| !fork.is_loop);
                let results =
                    end.map_or(RegisterSet::EMPTY, |end| end.definitely & branch.shareable);
                let left = results & live_after;
                let first = graph.blocks[branch.first].first;
                let (written, mut reads) = (branch.written, self.live_before[first]);
                if let Some(index) = index_of(&graph.instructions[graph.blocks[fork.block].end - 1])
                {
                    reads.remove(index);
                }
                BranchMap { start: pc_of(branch.first), reads, written, results, left }
            });
            let branches: Vec<BranchMap> = branches.collect();
            let index = graph.blocks[fork.block].end - 1;
            let left = branches.iter().fold(RegisterSet::EMPTY, |all, branch| all | branch.left);
            let cleared = (left & self.tagged) - self.live_before[index];
            self.traced_at[index] |= cleared;
            let (pc, after) = (graph.instructions[index].pc, pc_of(fork.after));
            self.forks.push(ForkMap { pc, after, is_loop: fork.is_loop, branches, cleared });
        }
    }

    /// The registers to trace in a frame that stands in the instruction at `pc`.
    ///
    /// There are none if no instruction starts there.
    pub fn at(&self, pc: usize) -> &RegisterSet {
        self.index(pc).map_or(&RegisterSet::EMPTY, |index| &self.traced_at[index])
    }

    /// The registers to trace in a frame that stands before the instruction at `pc`.
    pub fn before(&self, pc: usize) -> RegisterSet {
        self.live(pc) & self.tagged
    }

    /// The live registers, before the instruction at `pc`, that hold no tagged words.
    pub fn raw_before(&self, pc: usize) -> RegisterSet {
        self.live(pc) - self.tagged
    }

    fn live(&self, pc: usize) -> RegisterSet {
        self.index(pc).map_or(RegisterSet::EMPTY, |index| self.live_before[index])
    }

    fn index(&self, pc: usize) -> Option<usize> {
        let &index = self.index_of_pc.get(pc)?;
        (index != NO_INSTRUCTION).then_some(index as usize)
    }

    /// Walks a block backwards from the registers that are live after it.
    fn record_live(
        &mut self,
        graph: &FlowGraph,
        liveness: &Liveness,
        block: &Block,
        block_index: usize,
    ) {
        let raised = liveness.raised(block.region);
        let mut live = liveness.after(block) | liveness.after_fork(graph, block_index);
        for index in (block.first..block.end).rev() {
            live = liveness.always
                | block.kept
                | live_before(&graph.instructions[index].effects(), live, raised);
            self.live_before[index] = live;
        }
    }

    /// Walks a block forwards, adds the registers that are always live, and drops those without a value.
    fn restrict_to_initialised(
        &mut self,
        graph: &FlowGraph,
        initialisation: &Initialisation,
        block_index: usize,
    ) {
        let block = &graph.blocks[block_index];
        let Some(mut state) = initialisation.at_block(block_index) else {
            self.live_before[block.first..block.end].fill(RegisterSet::EMPTY);
            return;
        };
        for index in block.first..block.end {
            let instruction = &graph.instructions[index];
            let live = self.live_before[index] & state.definitely;
            self.live_before[index] = live;
            self.traced_at[index] = (live & self.tagged) - instruction.effects().destroyed();
            state = state.after(instruction);
        }
    }
}

/// The register that a `par_for` gives to each copy of its body.
fn index_of(fork: &Instruction) -> Option<Register> {
    fork.effects().defines
}

fn tagged_registers(function: &Function) -> RegisterSet {
    let types = function.registers.iter().take(RegisterSet::CAPACITY).enumerate();
    types.filter(|(_, kind)| kind.is_tagged()).map(|(index, _)| Register(index as u8)).collect()
}

/// The registers whose readers are not in the code.
fn always_live(function: &Function) -> RegisterSet {
    let closure = (function.kind == FunctionKind::Block).then_some(Register(0));
    function.home.into_iter().chain(closure).collect()
}

/// The equation of one instruction.
fn live_before(effects: &Effects, after: RegisterSet, raised: RegisterSet) -> RegisterSet {
    effects.uses | (((after - effects.defined()) | raised) - effects.destroyed())
}

/// The registers that are live at the start of each block, and when an exception is raised in each region.
///
/// The nodes of the equations are the blocks and, after them, the regions.
struct Liveness {
    always: RegisterSet,
    at_block: Vec<RegisterSet>,
    in_region: Vec<RegisterSet>,
}

impl Liveness {
    /// Solves the flow equations. Each node changes at most once per register.
    fn compute(function: &Function, graph: &FlowGraph, always: RegisterSet) -> Liveness {
        let mut liveness = Liveness {
            always,
            at_block: vec![RegisterSet::EMPTY; graph.blocks.len()],
            in_region: vec![RegisterSet::EMPTY; graph.regions.len()],
        };
        let summaries: Vec<Summary> =
            graph.blocks.iter().map(|block| Summary::of(graph.instructions_of(block))).collect();
        let dependents = Dependents::of(graph);
        let blocks = graph.blocks.len();
        let mut worklist = Worklist::new(blocks + graph.regions.len());
        (0..blocks + graph.regions.len()).rev().for_each(|node| worklist.push(node));
        while let Some(node) = worklist.pop() {
            let changed = match node.checked_sub(blocks) {
                None => liveness.update_block(graph, &summaries[node], node),
                Some(region) => liveness.update_region(function, graph, region),
            };
            if changed {
                dependents.of_node(node).iter().for_each(|&node| worklist.push(node as usize));
            }
        }
        liveness
    }

    /// The registers that are live after a block's last instruction.
    fn after(&self, block: &Block) -> RegisterSet {
        let successors = block.targets.iter().chain(&block.next);
        successors.fold(self.always, |live, &successor| live | self.at_block[successor])
    }

    /// The registers that are live after the fork that begins at the end of a block, or after the fork of the branch
    /// that ends there.
    fn after_fork(&self, graph: &FlowGraph, block: usize) -> RegisterSet {
        let Some(fork) = graph.fork_at_end(block) else { return RegisterSet::EMPTY };
        let after = self.at_block[fork.after];
        match fork.branch_that_ends_with(block) {
            None => after,
            Some(_) if fork.is_loop => RegisterSet::EMPTY,
            Some(branch) => after & branch.shareable,
        }
    }

    /// The registers that an exception raised inside this region leaves live.
    fn raised(&self, region: Option<usize>) -> RegisterSet {
        region.map_or(RegisterSet::EMPTY, |region| self.in_region[region])
    }

    fn update_block(&mut self, graph: &FlowGraph, summary: &Summary, index: usize) -> bool {
        let block = &graph.blocks[index];
        let after = self.after(block) | self.after_fork(graph, index);
        let after = after - summary.overwritten;
        let raised = self.raised(block.region) - summary.destroyed_first;
        let live = self.always | block.kept | summary.read_first | after | raised;
        std::mem::replace(&mut self.at_block[index], live) != live
    }

    fn update_region(&mut self, function: &Function, graph: &FlowGraph, index: usize) -> bool {
        let (region, node) = (&function.regions[index], &graph.regions[index]);
        let mut live = node.handler.map_or(RegisterSet::EMPTY, |handler| self.at_block[handler]);
        live.remove(region.value);
        if let RegionKind::Catch(class) = region.kind {
            live.insert(class);
        }
        live |= self.raised(node.parent);
        std::mem::replace(&mut self.in_region[index], live) != live
    }
}

/// The effect of a whole block on the registers that are live after it.
struct Summary {
    /// Read before the block writes them.
    read_first: RegisterSet,
    /// Written or destroyed.
    overwritten: RegisterSet,
    /// The registers that the first instruction destroys. A register that an exception in a later instruction leaves
    /// live, and that the block does not overwrite before, is live in the first one, too.
    destroyed_first: RegisterSet,
}

impl Summary {
    fn of(instructions: &[Instruction]) -> Summary {
        let first = instructions.first().map(Instruction::effects).unwrap_or_default();
        let mut summary = Summary {
            read_first: RegisterSet::EMPTY,
            overwritten: RegisterSet::EMPTY,
            destroyed_first: first.destroyed(),
        };
        for instruction in instructions {
            let effects = instruction.effects();
            summary.read_first |= effects.uses - summary.overwritten;
            summary.overwritten |= effects.destroyed() | effects.defined();
        }
        summary
    }
}

/// For each node the nodes whose equations mention it, as one array of runs.
struct Dependents {
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Dependents {
    fn of(graph: &FlowGraph) -> Dependents {
        let blocks = graph.blocks.len();
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for (index, block) in graph.blocks.iter().enumerate() {
            let regions = block.region.map(|region| blocks + region);
            let mentions = block.targets.iter().copied().chain(block.next).chain(regions);
            edges.extend(mentions.map(|mentioned| (mentioned as u32, index as u32)));
        }
        for fork in &graph.forks {
            let blocks = fork.branches.iter().map(|branch| branch.last).chain([fork.block]);
            edges.extend(blocks.map(|block| (fork.after as u32, block as u32)));
        }
        for (index, region) in graph.regions.iter().enumerate() {
            let parent = region.parent.map(|parent| blocks + parent);
            let mentions = region.handler.into_iter().chain(parent);
            edges.extend(mentions.map(|mentioned| (mentioned as u32, (blocks + index) as u32)));
        }
        edges.sort_unstable();
        let nodes = blocks + graph.regions.len();
        let starts =
            (0..=nodes as u32).map(|node| edges.partition_point(|edge| edge.0 < node) as u32);
        Dependents { starts: starts.collect(), nodes: edges.iter().map(|edge| edge.1).collect() }
    }

    fn of_node(&self, node: usize) -> &[u32] {
        &self.nodes[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

#[cfg(test)]
mod tests;
