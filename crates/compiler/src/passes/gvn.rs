//! Global value numbering: an operation that has been done before, on all paths, is not done again, and a word that was
//! stored or loaded is not loaded again. [`crate::optimise`] runs this pass three times, because other passes make
//! operations equal.
//!
//! The table of known operations follows the tree of dominators. Pure operations and guards are in it. A refinement also
//! stands for its word from then on, in the blocks that it dominates, so that later guards on the same word see what is
//! known.
//!
//! A pure operation may be found across a call only if its result is no object: objects move, and only registers of the
//! interpreter hold them meanwhile. So operations with a word that may be an object are forgotten at calls and
//! allocations.
//!
//! # Memory
//!
//! Memory is divided into regions: for each index of a slot one, the variables of contexts, and the elements of all
//! other arrays. A region has a version, which a store into it and each call change. A load is equal to another one with
//! the same object if the region's version is the same. A store makes its word known as a load of the new version, even
//! of other objects' words nothing more. Where paths join, the versions are those of the dominator, but for regions that a
//! block between the two stores into. If the word at a place of such a region is known at the end of each path, it is
//! known where they join, too: a parameter gets it. At the head of a loop, and after one, all versions are new: a loop that
//! waits for another strand's store must see it.

use crate::ir::Unit;
use crate::ir::dominance::{dominated, dominators};
use crate::ir::entities::{Block, Inst, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::types::{Representation, Type};
use crate::passes::hashing::FastMap;
use crate::passes::ranges::unnarrowed;
use crate::words::layouts;

/// Merges equal operations.
pub fn gvn(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    let parents = dominators(unit, &order);
    let predecessors = unit.distinct_predecessors();
    let children = dominated(&parents, &order);
    let memory = Memory::begin(0);
    let mut pending = vec![Step::Enter(Unit::ENTRY, memory.clone())];
    let mut numbering = Numbering {
        unit,
        known: FastMap::default(),
        memory,
        ends: FastMap::default(),
        stretches: 0,
        born: FastMap::default(),
    };
    while let Some(step) = pending.pop() {
        match step {
            Step::Leave(added) => numbering.forget(added),
            Step::Enter(block, memory) => {
                numbering.memory = memory;
                match parents[block.index()] {
                    Some(parent) => numbering.join(&predecessors, block, parent),
                    None => numbering.forget_memory(),
                }
                let mut added = Vec::new();
                numbering.join_contents(&predecessors[block.index()], block, &mut added);
                numbering.block(block, &mut added);
                numbering.ends.insert(block, numbering.memory.contents.clone());
                pending.push(Step::Leave(added));
                // The first child is entered first: so the paths to a block are known before it, but for those back.
                for &child in children[block.index()].iter().rev() {
                    pending.push(Step::Enter(child, numbering.memory.clone()));
                }
            }
        }
    }
    unit.resolve_all();
}

enum Step {
    /// A block, and the memory at the end of its dominator.
    Enter(Block, Memory),
    /// What a block has added, with what was known before, is forgotten.
    Leave(Vec<(Key, Option<Known>)>),
}

/// An operation with its arguments, and for loads the version of their region.
type Key = (Op, Vec<Value>, u32);

/// A part of memory that is told apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Region {
    Slot(u32),
    Context,
    Elements,
    Kinds,
}

#[derive(Clone, Copy)]
struct Known {
    value: Option<Value>,
    /// The number of the stretch in which no object moves where it is known.
    moves: u32,
}

/// What is known of memory at a place.
#[derive(Clone)]
struct Memory {
    /// The number of the stretch of code since the last call.
    calls: u32,
    /// The number of the stretch since the last call or allocation.
    moves: u32,
    /// The versions of regions that were stored into since it began; the others have its number.
    versions: FastMap<Region, u32>,
    /// The words that are known to be in memory, by the loads that would give them.
    contents: Contents,
}

type Contents = FastMap<Load, Content>;

/// A load with its arguments.
type Load = (Op, Vec<Value>);

#[derive(Clone, Copy)]
struct Content {
    region: Region,
    word: Value,
}

impl Memory {
    /// A stretch of code about whose memory nothing is known.
    fn begin(stretch: u32) -> Memory {
        Memory {
            calls: stretch,
            moves: stretch,
            versions: FastMap::default(),
            contents: FastMap::default(),
        }
    }
}

struct Numbering<'u> {
    unit: &'u mut Unit,
    known: FastMap<Key, Known>,
    memory: Memory,
    /// The contents at the ends of the blocks that are done.
    ends: FastMap<Block, Contents>,
    /// How many stretches and versions there were.
    stretches: u32,
    /// For objects that the unit makes, the stretch without moves that begins then.
    born: FastMap<Value, u32>,
}

/// The blocks on the paths from a block's dominator to the block; `None` if the block is one of them, as the head of a
/// loop is.
fn between(predecessors: &[Vec<Block>], block: Block, dominator: Block) -> Option<Vec<Block>> {
    let mut found = Vec::new();
    let mut seen = vec![false; predecessors.len()];
    let mut pending = predecessors[block.index()].clone();
    while let Some(next) = pending.pop() {
        if next == block {
            return None;
        }
        if next != dominator && !std::mem::replace(&mut seen[next.index()], true) {
            found.push(next);
            pending.extend(&predecessors[next.index()]);
        }
    }
    Some(found)
}

impl Numbering<'_> {
    fn fresh(&mut self) -> u32 {
        self.stretches += 1;
        self.stretches
    }

    /// All of memory may have changed.
    fn forget_memory(&mut self) {
        let stretch = self.fresh();
        self.memory = Memory::begin(stretch);
    }

    /// Forgets what a path from the dominator to a block may have changed. The memory is that at the dominator's end.
    fn join(&mut self, predecessors: &[Vec<Block>], block: Block, dominator: Block) {
        let Some(between) = between(predecessors, block, dominator) else {
            return self.forget_memory();
        };
        let instructions = between.iter().map(|block| &self.unit.block(*block).instructions);
        let instructions: Vec<Inst> = instructions.flatten().copied().collect();
        for inst in instructions {
            let op = self.unit.inst(inst).op;
            match op.effect() {
                Effect::Call => return self.forget_memory(),
                Effect::Allocate => self.objects_move(),
                Effect::Write => {
                    if let Some(region) = self.region(op, &self.unit.inst(inst).arguments) {
                        self.write(region);
                    }
                }
                // There is a loop between.
                _ if op == Op::Poll => return self.forget_memory(),
                _ => {}
            }
        }
    }

    /// A region was written, so it has a new version.
    fn write(&mut self, region: Region) -> u32 {
        let version = self.fresh();
        self.memory.versions.insert(region, version);
        self.memory.contents.retain(|_, content| content.region != region);
        version
    }

    /// Objects may be elsewhere from here on.
    fn objects_move(&mut self) {
        self.memory.moves = self.fresh();
        let unit = &*self.unit;
        self.memory.contents.retain(|_, content| !unit.kind(content.word).may_be_object());
    }

    /// Where paths meet, the word at a place is what each of them has left there. The memory is that of `join`.
    fn join_contents(
        &mut self,
        predecessors: &[Block],
        block: Block,
        added: &mut Vec<(Key, Option<Known>)>,
    ) {
        let [first, others @ ..] = predecessors else { return };
        if others.is_empty() || !predecessors.iter().all(|from| self.ends.contains_key(from)) {
            return;
        }
        let mut loads: Vec<(Load, Region)> = Vec::new();
        for (load, content) in &self.ends[first] {
            let is_known = |from: &Block| self.ends[from].contains_key(load);
            if !self.memory.contents.contains_key(load) && others.iter().all(is_known) {
                loads.push((load.clone(), content.region));
            }
        }
        // The order of a table is no order.
        loads.sort_by(|left, right| left.0.1.cmp(&right.0.1).then(left.1.cmp(&right.1)));
        for (load, region) in loads {
            self.join_content(predecessors, block, (load, region), added);
        }
    }

    /// Where paths meet, this load gives what each of them knows.
    fn join_content(
        &mut self,
        predecessors: &[Block],
        block: Block,
        (load, region): (Load, Region),
        added: &mut Vec<(Key, Option<Known>)>,
    ) {
        let word_at = |this: &Self, from: &Block| this.unit.resolve(this.ends[from][&load].word);
        let words: Vec<Value> = predecessors.iter().map(|from| word_at(self, from)).collect();
        let kind = words.iter().fold(Type::NONE, |all, &word| all.join(self.unit.kind(word)));
        let is_same = words.iter().all(|&word| word == words[0]);
        let word = if is_same {
            words[0]
        } else if kind.may_be_object() {
            // A parameter would need a register of the interpreter at the next call.
            return;
        } else {
            let parameter = self.unit.add_parameter(block, Representation::Word, kind);
            for (from, word) in predecessors.iter().zip(words) {
                for jump in self.unit.blocks[from.index()].end.jumps_mut() {
                    if jump.block == block {
                        jump.arguments.push(word);
                    }
                }
            }
            parameter
        };
        let version = self.version(region);
        self.memory.contents.insert(load.clone(), Content { region, word });
        self.add((load.0, load.1, version), Some(word), added);
    }

    fn forget(&mut self, added: Vec<(Key, Option<Known>)>) {
        for (key, before) in added.into_iter().rev() {
            match before {
                Some(known) => self.known.insert(key, known),
                None => self.known.remove(&key),
            };
        }
    }

    fn block(&mut self, block: Block, added: &mut Vec<(Key, Option<Known>)>) {
        let instructions = std::mem::take(&mut self.unit.blocks[block.index()].instructions);
        let kept = instructions.into_iter().filter(|&inst| !self.is_known(inst, added));
        let kept: Vec<Inst> = kept.collect();
        self.unit.blocks[block.index()].instructions = kept;
    }

    /// Whether an instruction's work has been done, and its result replaced.
    fn is_known(&mut self, inst: Inst, added: &mut Vec<(Key, Option<Known>)>) -> bool {
        let data = self.unit.inst(inst);
        let (op, result) = (data.op, data.result);
        if op == Op::Barrier && self.is_new(self.unit.inst(inst).arguments[0]) {
            // An object that no collection has seen is not old.
            return true;
        }
        let is_numbered = match op.effect() {
            Effect::Call => {
                self.forget_memory();
                false
            }
            Effect::Allocate => {
                self.objects_move();
                if let Some(result) = result {
                    self.born.insert(result, self.memory.moves);
                }
                false
            }
            Effect::Write => {
                self.note_store(inst, added);
                false
            }
            Effect::Read => true,
            Effect::Pure | Effect::Guard => !op.is_pinned(),
            Effect::Frame => false,
        };
        if !is_numbered {
            return false;
        }
        let key = self.key(inst);
        let moves = result.is_some_and(|value| self.unit.kind(value).may_be_object());
        // A refinement is its argument's word, which lives as long as that.
        let moves = moves && !op.is_constant() && !op.refines();
        let known = self.known.get(&key).copied();
        if let Some(known) = known.filter(|known| !moves || known.moves == self.memory.moves) {
            if let (Some(result), Some(value)) = (result, known.value) {
                self.unit.replace(result, value);
            }
            return true;
        }
        if let Some(word) = result.filter(|_| op.effect() == Effect::Read)
            && let Some(region) = self.region(op, &key.1)
        {
            self.memory.contents.insert((op, key.1.clone()), Content { region, word });
        }
        self.add(key, result, added);
        false
    }

    /// Whether an object was made since objects moved last.
    fn is_new(&self, object: Value) -> bool {
        self.born.get(&self.unit.root(object)) == Some(&self.memory.moves)
    }

    fn add(&mut self, key: Key, value: Option<Value>, added: &mut Vec<(Key, Option<Known>)>) {
        let known = Known { value, moves: self.memory.moves };
        let before = self.known.insert(key.clone(), known);
        added.push((key, before));
    }

    /// What an instruction is known by. Of integers and of the object of a load, the bits count, not what is known of them.
    fn key(&self, inst: Inst) -> Key {
        let data = self.unit.inst(inst);
        let mut arguments: Vec<Value> =
            data.arguments.iter().map(|&value| unnarrowed(self.unit, value)).collect();
        let Some(region) = self.region(data.op, &arguments) else { return (data.op, arguments, 0) };
        if let Some(object) = arguments.first_mut() {
            *object = self.unit.root(*object);
        }
        (data.op, arguments, self.version(region))
    }

    fn version(&self, region: Region) -> u32 {
        self.memory.versions.get(&region).copied().unwrap_or(self.memory.calls)
    }

    /// The region that a load or store is about.
    fn region(&self, op: Op, arguments: &[Value]) -> Option<Region> {
        match op {
            Op::LoadSlot(index) | Op::StoreSlot(index) => Some(Region::Slot(index.0)),
            Op::GuardSlotKind(_) | Op::Admit(_) => Some(Region::Kinds),
            Op::LoadElement | Op::StoreElement => {
                let kind = self.unit.kind(arguments[0]);
                let is_context = kind.layouts() == Some(&[layouts::CONTEXT]);
                Some(if is_context { Region::Context } else { Region::Elements })
            }
            _ => None,
        }
    }

    /// A store changes its region; a load of the place that it wrote gives its word.
    fn note_store(&mut self, inst: Inst, added: &mut Vec<(Key, Option<Known>)>) {
        let data = self.unit.inst(inst);
        let mut arguments: Vec<Value> =
            data.arguments.iter().map(|&value| unnarrowed(self.unit, value)).collect();
        let load = match data.op {
            Op::StoreSlot(index) => Op::LoadSlot(index),
            Op::StoreElement => Op::LoadElement,
            Op::Admit(kind) => {
                if self.unit.relies_on_slot(kind) {
                    self.write(Region::Kinds);
                }
                return;
            }
            _ => return,
        };
        let Some(region) = self.region(load, &arguments) else { return };
        let version = self.write(region);
        let value = arguments.pop();
        arguments[0] = self.unit.root(arguments[0]);
        if let Some(word) = value {
            let content = Content { region, word };
            self.memory.contents.insert((load, arguments.clone()), content);
        }
        self.add((load, arguments, version), value, added);
    }
}
