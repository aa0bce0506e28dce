//! The control flow of one function: basic blocks, their edges, and the tree of exception regions. The analyses
//! `initialisation` and `liveness` walk over it, and the optimising compiler builds its code along it.
//!
//! Both flow analyses, initialisation (forwards) and liveness (backwards), run on this graph.
//!
//! # Edges
//!
//! A block ends before every jump target, region boundary and handler, and after every instruction that does not simply
//! continue with the next one. Besides the ordinary edges there is an exceptional one from *every* instruction inside a
//! region to the region's handler: a guest fault, a signal from a call, and unwinding can happen at any of them. These
//! edges are not stored one by one. A block lies in at most one innermost region, and an exception that this region
//! does not handle passes to the region's parent. So the analyses treat a region as a node between its blocks and inner
//! regions on one side, and its handler and parent on the other.
//!
//! # Branches
//!
//! A branch of a `par` ([`crate::scopes`]) is entered from the instruction that opens it. There are no edges to the
//! instruction after the fork: the state there depends on the ends of all branches together, so the analyses treat the
//! fork as a `ForkNode`. An exception does not leave a branch: it is signalled again at the fork, and so concerns the
//! region around the fork.
//!
//! # Wrong code
//!
//! The graph can be built for any function. A target that cannot be an edge (outside of the code, or within an
//! instruction) is left out, and so are all regions if they are not properly nested. The verifier reports these before
//! it relies on the graph.

use std::collections::{HashMap, VecDeque};

use crate::decode::{Instruction, instructions};
use crate::entities::Register;
use crate::instructions::{Field, Opcode};
use crate::module::{Function, Region};
use crate::register_set::RegisterSet;
use crate::scopes::{Fork, Scopes};
use crate::types::RegisterType;

/// A function's control flow.
#[derive(Debug)]
pub struct FlowGraph {
    /// The instructions, up to the first word that starts none.
    pub instructions: Vec<Instruction>,
    /// The basic blocks, in the order of the code. The first is where the function starts.
    pub blocks: Vec<Block>,
    /// For each region of the function its place in the tree; empty if they are malformed.
    pub(crate) regions: Vec<RegionNode>,
    /// The forks, in the order of the code.
    pub(crate) forks: Vec<ForkNode>,
    /// By the blocks that end with a fork's instruction or with an `end_branch`.
    fork_at_end: HashMap<usize, usize>,
    scopes: Scopes,
    index_of_pc: Vec<u32>,
}

/// A fork's place in the graph.
#[derive(Debug)]
pub(crate) struct ForkNode {
    /// The block that ends with the fork's instruction.
    pub block: usize,
    /// The block after the fork.
    pub after: usize,
    /// Its branches.
    pub branches: Vec<BranchNode>,
    /// Whether it is a `par_for`.
    pub is_loop: bool,
}

/// A branch's place in the graph.
#[derive(Debug)]
pub(crate) struct BranchNode {
    /// The block that it begins with.
    pub first: usize,
    /// The block that ends with its `end_branch`.
    pub last: usize,
    /// The registers that its instructions write.
    pub written: RegisterSet,
    /// The written registers that it may leave to the frame around it: all but objects.
    pub shareable: RegisterSet,
}

impl ForkNode {
    /// The branch that ends with a block.
    pub fn branch_that_ends_with(&self, block: usize) -> Option<&BranchNode> {
        // They are in the order of the code.
        let index = self.branches.binary_search_by_key(&block, |branch| branch.last).ok()?;
        Some(&self.branches[index])
    }

    /// The registers that the instructions of all branches write.
    pub fn written(&self) -> RegisterSet {
        self.branches.iter().fold(RegisterSet::EMPTY, |all, branch| all | branch.written)
    }
}

/// A run of instructions that is entered at the first and left after the last, or by an exception.
#[derive(Debug)]
pub struct Block {
    /// The index of its first instruction.
    pub first: usize,
    /// The index after its last instruction.
    pub end: usize,
    /// The next block in the code, if control can fall through to it.
    pub next: Option<usize>,
    /// The blocks that its last instruction can jump to.
    pub targets: Vec<usize>,
    /// The innermost region around the block.
    pub region: Option<usize>,
    /// The writers that wait while the block runs, which the unwinder lets go on.
    pub kept: RegisterSet,
}

/// A region's place in the tree.
#[derive(Debug)]
pub(crate) struct RegionNode {
    /// The block where its handler starts.
    pub handler: Option<usize>,
    /// The next region around it.
    pub parent: Option<usize>,
}

/// Marks a word that starts no instruction.
const NO_INSTRUCTION: u32 = u32::MAX;

impl FlowGraph {
    /// Builds the graph of any function.
    pub fn build(function: &Function) -> FlowGraph {
        let instructions: Vec<Instruction> = instructions(&function.code).collect();
        let mut index_of_pc = vec![NO_INSTRUCTION; function.code.len()];
        for (index, instruction) in instructions.iter().enumerate() {
            index_of_pc[instruction.pc] = index as u32;
        }
        let nesting = Nesting::of(&function.regions).ok();
        let mut graph = FlowGraph {
            instructions,
            blocks: Vec::new(),
            regions: Vec::new(),
            forks: Vec::new(),
            fork_at_end: HashMap::new(),
            scopes: Scopes::of(function),
            index_of_pc,
        };
        graph.find_blocks(function, nesting.is_some());
        graph.connect_blocks();
        if let Some(nesting) = nesting {
            graph.place_regions(&function.regions, &nesting);
        }
        graph.place_forks(function);
        graph
    }

    /// The fork whose instruction, or the end of one of whose branches, is at the end of a block.
    pub(crate) fn fork_at_end(&self, block: usize) -> Option<&ForkNode> {
        self.fork_index_at_end(block).map(|fork| &self.forks[fork])
    }

    /// Its index.
    pub(crate) fn fork_index_at_end(&self, block: usize) -> Option<usize> {
        self.fork_at_end.get(&block).copied()
    }

    /// The index of the instruction that starts at this word.
    pub fn instruction_at(&self, pc: usize) -> Option<usize> {
        self.index_of_pc
            .get(pc)
            .filter(|&&index| index != NO_INSTRUCTION)
            .map(|&index| index as usize)
    }

    /// The instructions of a block.
    pub fn instructions_of(&self, block: &Block) -> &[Instruction] {
        &self.instructions[block.first..block.end]
    }

    /// Cuts the code into blocks.
    fn find_blocks(&mut self, function: &Function, with_regions: bool) {
        let leaders = self.leaders(function, with_regions);
        for (index, leads) in leaders.into_iter().enumerate() {
            match self.blocks.last_mut() {
                Some(block) if !leads => block.end = index + 1,
                _ => self.blocks.push(Block {
                    first: index,
                    end: index + 1,
                    next: None,
                    targets: Vec::new(),
                    region: None,
                    kept: RegisterSet::EMPTY,
                }),
            }
        }
    }

    /// For each instruction whether a block starts at it.
    fn leaders(&self, function: &Function, with_regions: bool) -> Vec<bool> {
        let mut leaders = vec![false; self.instructions.len()];
        let mut mark = |pc: usize| {
            if let Some(index) = self.instruction_at(pc) {
                leaders[index] = true;
            }
        };
        for instruction in &self.instructions {
            let mut jumps = !instruction.falls_through();
            for target in instruction.targets() {
                jumps = true;
                usize::try_from(target).into_iter().for_each(&mut mark);
            }
            if jumps {
                mark(instruction.next_pc());
            }
        }
        for region in function.regions.iter().filter(|_| with_regions) {
            for pc in [region.start, region.end, region.handler] {
                mark(pc as usize);
            }
        }
        leaders
    }

    fn connect_blocks(&mut self) {
        for index in 0..self.blocks.len() {
            let last = self.instructions[self.blocks[index].end - 1];
            let targets = last.targets().filter(|&pc| self.is_edge(&last, pc));
            let targets =
                targets.filter_map(|pc| self.block_at(usize::try_from(pc).ok()?)).collect();
            let block = &mut self.blocks[index];
            block.targets = targets;
            block.next = Some(index + 1).filter(|_| last.falls_through());
        }
        if let Some(last) = self.blocks.last_mut() {
            last.next = None;
        }
    }

    /// Whether control goes from an instruction to its target. It does not from those that open scopes,
    /// but from the beginning of a branch to the next one, which begins at the same time.
    fn is_edge(&self, from: &Instruction, target: i64) -> bool {
        let begins_branch = || {
            let target = usize::try_from(target).ok().and_then(|pc| self.instruction_at(pc));
            target.is_some_and(|index| self.instructions[index].opcode == Opcode::Branch)
        };
        match from.opcode {
            Opcode::Par | Opcode::ParFor | Opcode::Accept => false,
            Opcode::Branch => begins_branch(),
            _ => true,
        }
    }

    fn place_regions(&mut self, regions: &[Region], nesting: &Nesting) {
        let mut sweep = nesting.sweep(regions);
        for block in &mut self.blocks {
            let pc = self.instructions[block.first].pc;
            let innermost = sweep.innermost_at(pc);
            block.region = innermost.filter(|&region| self.scopes.reaches(&regions[region], pc));
        }
        let reaches = |inner: &Region, outer: usize| {
            self.scopes.reaches(&regions[outer], inner.start as usize)
        };
        self.regions = regions
            .iter()
            .zip(&nesting.parents)
            .map(|(region, &parent)| RegionNode {
                handler: self.block_at(region.handler as usize),
                parent: parent.filter(|&parent| reaches(region, parent)),
            })
            .collect();
    }

    fn place_forks(&mut self, function: &Function) {
        for block in &mut self.blocks {
            let openers = self.scopes.rendezvous_around(self.instructions[block.first].pc);
            let openers =
                openers.filter_map(|scope| Instruction::decode(&function.code, scope.opener).ok());
            block.kept = openers.map(|opener| opener.register(Field::B)).collect();
        }
        let written = self.written(function);
        let kinds = function.registers.iter().take(RegisterSet::CAPACITY).enumerate();
        let objects = kinds.filter(|(_, kind)| **kind == RegisterType::Any);
        let objects = objects.map(|(index, _)| Register(index as u8)).collect();
        let forks = self.scopes.forks.iter();
        self.forks = forks.filter_map(|fork| self.fork_node(fork, &written, objects)).collect();
        for (index, fork) in self.forks.iter().enumerate() {
            let blocks = fork.branches.iter().map(|branch| branch.last).chain([fork.block]);
            self.fork_at_end.extend(blocks.map(|block| (block, index)));
        }
    }

    fn fork_node(
        &self,
        fork: &Fork,
        written: &[RegisterSet],
        objects: RegisterSet,
    ) -> Option<ForkNode> {
        let branches = fork.branches.iter().map(|&index| {
            let scope = &self.scopes.scopes[index];
            Some(BranchNode {
                first: self.block_at(scope.code.start)?,
                last: self.block_around(scope.last())?,
                written: written[index],
                shareable: written[index] - objects,
            })
        });
        let node = ForkNode {
            block: self.block_around(fork.pc)?,
            after: self.block_at(fork.after)?,
            branches: branches.collect::<Option<_>>()?,
            is_loop: fork.is_loop,
        };
        Some(node)
    }

    /// For each scope, the registers that are written by its instructions, by the unwinder on the way to its handlers,
    /// and by a `par_for` that sets the index of its body.
    fn written(&self, function: &Function) -> Vec<RegisterSet> {
        let mut written = vec![RegisterSet::EMPTY; self.scopes.scopes.len()];
        if written.is_empty() {
            return written;
        }
        let mut add = |pc: usize, registers: RegisterSet| {
            self.scopes.around(pc).for_each(|scope| written[scope] |= registers);
        };
        for instruction in &self.instructions {
            add(instruction.pc, instruction.effects().defined());
            if instruction.opcode == Opcode::ParFor {
                add(instruction.next_pc(), instruction.effects().defined());
            }
        }
        for region in &function.regions {
            add(region.start as usize, RegisterSet::of(region.value));
        }
        written
    }

    /// The block that contains the instruction at this pc.
    fn block_around(&self, pc: usize) -> Option<usize> {
        let instruction = self.instruction_at(pc)?;
        self.blocks.partition_point(|block| block.first <= instruction).checked_sub(1)
    }

    /// The block that starts at this pc.
    fn block_at(&self, pc: usize) -> Option<usize> {
        let instruction = self.instruction_at(pc)?;
        self.blocks.binary_search_by_key(&instruction, |block| block.first).ok()
    }
}

/// How a function's regions lie within each other.
#[derive(Debug)]
pub(crate) struct Nesting {
    /// For each region the next one around it.
    pub parents: Vec<Option<usize>>,
    /// The regions from left to right, outer ones first.
    order: Vec<usize>,
}

/// Two regions that are neither apart nor properly nested.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NestingError {
    /// The region ends before it starts, or is empty.
    Empty(usize),
    /// The two overlap, but neither contains the other.
    Overlap(usize, usize),
    /// The first lies within the second, but comes after it in the table.
    Order(usize, usize),
}

impl Nesting {
    /// Checks the nesting, in `O(n log n)`.
    pub fn of(regions: &[Region]) -> Result<Nesting, NestingError> {
        if let Some(empty) = regions.iter().position(|region| region.start >= region.end) {
            return Err(NestingError::Empty(empty));
        }
        let mut order: Vec<usize> = (0..regions.len()).collect();
        order.sort_by_key(|&index| {
            (regions[index].start, std::cmp::Reverse((regions[index].end, index)))
        });
        let mut parents = vec![None; regions.len()];
        let mut open: Vec<usize> = Vec::new();
        for &index in &order {
            while open.last().is_some_and(|&outer| regions[outer].end <= regions[index].start) {
                open.pop();
            }
            if let Some(&outer) = open.last() {
                if regions[outer].end < regions[index].end {
                    return Err(NestingError::Overlap(index, outer));
                }
                if outer < index {
                    return Err(NestingError::Order(index, outer));
                }
            }
            parents[index] = open.last().copied();
            open.push(index);
        }
        Ok(Nesting { parents, order })
    }

    /// Answers questions about ascending pcs.
    fn sweep<'a>(&'a self, regions: &'a [Region]) -> Sweep<'a> {
        Sweep { regions, ahead: &self.order, open: Vec::new() }
    }
}

/// Finds the innermost region around ascending pcs.
struct Sweep<'a> {
    regions: &'a [Region],
    ahead: &'a [usize],
    open: Vec<usize>,
}

impl Sweep<'_> {
    fn innermost_at(&mut self, pc: usize) -> Option<usize> {
        while let Some((&next, rest)) = self.ahead.split_first() {
            if self.regions[next].start as usize > pc {
                break;
            }
            self.close_before(self.regions[next].start as usize);
            self.open.push(next);
            self.ahead = rest;
        }
        self.close_before(pc);
        self.open.last().copied()
    }

    /// Drops the regions that end at or before `pc`.
    fn close_before(&mut self, pc: usize) {
        while self.open.last().is_some_and(|&open| self.regions[open].end as usize <= pc) {
            self.open.pop();
        }
    }
}

/// Nodes that an analysis has yet to look at, each at most once, first in first out.
pub(crate) struct Worklist {
    queue: VecDeque<usize>,
    queued: Vec<bool>,
}

impl Worklist {
    /// No node yet, of `nodes` that there are.
    pub fn new(nodes: usize) -> Worklist {
        Worklist { queue: VecDeque::new(), queued: vec![false; nodes] }
    }

    /// Adds a node, unless it is queued already.
    pub fn push(&mut self, node: usize) {
        if !std::mem::replace(&mut self.queued[node], true) {
            self.queue.push_back(node);
        }
    }

    /// Takes the next node.
    pub fn pop(&mut self) -> Option<usize> {
        let node = self.queue.pop_front()?;
        self.queued[node] = false;
        Some(node)
    }
}
