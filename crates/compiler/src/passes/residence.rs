//! Decides what lies in the frame: which registers are stored before a call, which values are loaded again after it,
//! and what an exit stores. [`crate::optimise`] runs this pass last, and the lowering reads its result.
//!
//! # What is stored
//!
//! The pass follows, for each place of the frame, the value that the place is known to hold. A call needs the registers
//! of its state in their places, for all activations of the chain, and the sites of the inner calls below their frames;
//! it stores those that are not there. An exit does the same, in its own code. So a value that stays in its register
//! is stored once, and one that never meets a call is stored by exits alone.
//!
//! An allocation needs the same, but only if the runtime makes the object: its stores and loads are on that path. With an
//! absent object in its state, it has an exit in place of that path.
//!
//! # What is loaded
//!
//! A collection during the call may move objects. The collector updates the places of live registers. So each word that
//! may be an object and is used after the call is loaded from such a place: `reload` gives the value its new bits. From
//! here on a value can be defined several times; the lowering makes it a variable. A value without a place cannot
//! survive a call. No pass makes one: they would have to keep a word longer than the interpreter does. If one is found
//! all the same, the unit is given up.
//!
//! # Places after a call
//!
//! A callee destroys all from the word below its frame on. Of the places below, those in the state hold what they held,
//! updated by the collector. The others hold it too, but a pointer there is stale.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::ir::entities::{ActivationId, Block, Inst, StateId, Value};
use crate::ir::operations::Op;
use crate::ir::types::Representation;
use crate::ir::values::{Place, Site, Source};
use crate::ir::{End, InstData, Unit};
use crate::passes::liveness::Liveness;

/// The exits of a unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Residence {
    /// The exits, each with what it stores.
    pub exits: Vec<ExitPath>,
    /// The exits of guards, and of allocations that leave if there is no room, by instruction.
    pub of_guard: HashMap<Inst, usize>,
    /// The exits at the ends of blocks.
    pub of_block: HashMap<Block, usize>,
    /// For each allocation what is to be done if the runtime makes the object.
    pub of_allocation: HashMap<Inst, SlowPath>,
}

/// What is stored in the frame before machine code is left.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stores {
    /// The values, and their places.
    pub values: Vec<(Place, Value)>,
    /// The sites of the inlined activations.
    pub sites: Vec<Site>,
}

/// What surrounds the helper of an allocation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlowPath {
    /// What is stored before.
    pub stores: Stores,
    /// The words that are loaded again afterwards.
    pub reloads: Vec<(Source, Value)>,
}

/// An exit of the unit.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ExitPath {
    /// The state in which it leaves.
    pub state: StateId,
    /// What is stored before.
    pub stores: Stores,
    /// Whether leaving here says nothing about the code. Such exits are apart, for the others count.
    pub is_passing: bool,
}

/// A value that a call or an allocation needs a place for, but that has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Homeless(pub Value);

/// Inserts stores and reloads, and lists the exits.
pub fn residence(unit: &mut Unit) -> Result<Residence, Homeless> {
    unit.resolve_all();
    let order = unit.reverse_post_order();
    let contents = Flow::new(unit, &order).solve();
    let survivors = Liveness::compute(unit, &order).across_calls(unit, &order);
    let captured = captured(unit, &order);
    let mut inserter =
        Inserter { residence: Residence::default(), known: HashMap::new(), survivors, captured };
    for &block in &order {
        let contents = contents[block.index()].clone().unwrap_or_default();
        inserter.block(unit, block, contents)?;
    }
    Ok(inserter.residence)
}

/// For each word that closures of the unit capture, the closures and its index there.
fn captured(unit: &Unit, order: &[Block]) -> HashMap<Value, Vec<(Value, u32)>> {
    let mut captured: HashMap<Value, Vec<(Value, u32)>> = HashMap::new();
    let instructions = order.iter().flat_map(|&block| &unit.block(block).instructions);
    for inst in instructions.map(|&inst| unit.inst(inst)) {
        if let (Op::NewClosure(_), Some(closure)) = (inst.op, inst.result) {
            for (index, &value) in inst.arguments.iter().enumerate() {
                let holders = captured.entry(unit.root(value)).or_default();
                holders.push((unit.root(closure), index as u32));
            }
        }
    }
    captured
}

/// What a place holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    Value(Value),
    /// The ordinary site of an instruction of an activation.
    Site(ActivationId, u32),
}

/// What the places are known to hold.
type Contents = BTreeMap<Place, Content>;

/// What an instruction needs in the frame, and what it leaves there.
struct Demand {
    values: Vec<(Place, Value)>,
    sites: Vec<Site>,
    /// For a call: the first place that it destroys.
    destroys: Option<Place>,
}

impl Demand {
    /// What a state needs.
    fn of_state(unit: &Unit, state: StateId) -> Demand {
        let mut demand = Demand { values: Vec::new(), sites: Vec::new(), destroys: None };
        let mut inner: Option<ActivationId> = None;
        for each in unit.chain(state) {
            if let Some(callee) = inner {
                let place = Place(unit.activations[callee.index()].offset - 1);
                demand.sites.push(Site { activation: each.activation, pc: each.pc, place });
            }
            inner = Some(each.activation);
            demand.values.extend(each.registers.iter().map(|&(register, value)| {
                (unit.place(each.activation, register), unit.root(value))
            }));
        }
        demand
    }

    /// What an instruction needs.
    fn of(unit: &Unit, inst: &InstData) -> Option<Demand> {
        let state = inst.state?;
        let mut demand = Demand::of_state(unit, state);
        match inst.op {
            Op::Call(target) => demand.add_window(unit, target.window, &inst.arguments),
            Op::Send(window) | Op::CallClosure(window) => {
                demand.add_window(unit, window, &inst.arguments)
            }
            Op::Instruction(destroyed) | Op::NewArrayOf(destroyed) => {
                demand.destroys = Some(destroyed)
            }
            op if op.is_instruction() => {
                let activation = &unit.activations[unit.state(state).activation.index()];
                demand.destroys = Some(Place(activation.offset + activation.words));
            }
            _ => {}
        }
        Some(demand)
    }

    fn add_window(&mut self, unit: &Unit, window: Place, arguments: &[Value]) {
        for (index, &value) in arguments.iter().enumerate() {
            self.values.push((Place(window.0 + index as u32), unit.root(value)));
        }
        self.destroys = Some(Place(window.0 - 1));
    }

    /// The part that the frame does not hold yet.
    fn missing(&self, contents: &Contents) -> Stores {
        let lacks = |place: Place, content: Content| contents.get(&place) != Some(&content);
        let values = self.values.iter().copied();
        let values = values.filter(|&(place, value)| lacks(place, Content::Value(value)));
        let sites = self.sites.iter().copied();
        let sites = sites.filter(|site| lacks(site.place, Content::Site(site.activation, site.pc)));
        Stores { values: values.collect(), sites: sites.collect() }
    }

    /// What the frame holds after the call that made this demand.
    fn after(&self, unit: &Unit, contents: &mut Contents) {
        let Some(destroyed) = self.destroys else { return };
        contents.retain(|place, content| match content {
            Content::Value(value) => *place < destroyed && !moves(unit, *value),
            Content::Site(..) => *place < destroyed,
        });
        for &(place, value) in self.values.iter().filter(|(place, _)| *place < destroyed) {
            contents.insert(place, Content::Value(value));
        }
        for site in &self.sites {
            contents.insert(site.place, Content::Site(site.activation, site.pc));
        }
    }
}

/// Whether a collection can make a copy of a value stale.
fn moves(unit: &Unit, value: Value) -> bool {
    unit.representation(value) == Representation::Word && unit.kind(value).may_be_object()
}

/// Whether an allocation leaves the unit if there is no room, since its state has an absent object.
fn leaves_for_room(unit: &Unit, inst: &InstData) -> bool {
    let state = inst.state.filter(|_| inst.op.allocates());
    let mut states = state.into_iter().flat_map(|state| unit.chain(state));
    states.any(|each| each.registers.iter().any(|&(_, value)| unit.is_absent(value)))
}

/// What an instruction leaves in the frame.
fn step(unit: &Unit, inst: &InstData, contents: &mut Contents) {
    if let (Op::Argument(place) | Op::LoadFrame(place), Some(result)) = (inst.op, inst.result) {
        contents.insert(place, Content::Value(result));
    }
    let Some(demand) = Demand::of(unit, inst) else { return };
    if leaves_for_room(unit, inst) {
        return;
    }
    if !inst.op.allocates() {
        return demand.after(unit, contents);
    }
    // Nothing is stored if there is room for the object.
    let mut slow = contents.clone();
    demand.after(unit, &mut slow);
    contents.retain(|place, content| slow.get(place) == Some(content));
}

/// The analysis: what the places hold at the beginning of each block.
struct Flow<'u> {
    unit: &'u Unit,
    order: &'u [Block],
    predecessors: Vec<Vec<Block>>,
    before: Vec<Option<Contents>>,
    after: Vec<Option<Contents>>,
}

impl<'u> Flow<'u> {
    fn new(unit: &'u Unit, order: &'u [Block]) -> Flow<'u> {
        let empty = vec![None; unit.blocks.len()];
        let predecessors = unit.predecessors();
        Flow { unit, order, predecessors, before: empty.clone(), after: empty }
    }

    /// Begins with everything known at loops' ends, and takes back what does not hold.
    fn solve(mut self) -> Vec<Option<Contents>> {
        let mut changed = true;
        while changed {
            changed = false;
            for &block in self.order {
                let before = self.join(block);
                if self.before[block.index()].as_ref() == Some(&before) {
                    continue;
                }
                let mut contents = before.clone();
                for &inst in &self.unit.block(block).instructions {
                    step(self.unit, self.unit.inst(inst), &mut contents);
                }
                self.before[block.index()] = Some(before);
                self.after[block.index()] = Some(contents);
                changed = true;
            }
        }
        self.before
    }

    /// What all predecessors agree on, in terms of the block's parameters.
    fn join(&self, block: Block) -> Contents {
        let mut joined: Option<BTreeMap<Place, Vec<Content>>> = None;
        let mut seen = None;
        for &from in &self.predecessors[block.index()] {
            // A predecessor that jumps here twice is listed twice.
            if seen.replace(from) == Some(from) {
                continue;
            }
            let Some(contents) = &self.after[from.index()] else { continue };
            for jump in self.unit.block(from).end.jumps().filter(|jump| jump.block == block) {
                let candidates = self.candidates(block, &jump.arguments, contents);
                joined = Some(match joined {
                    None => candidates,
                    Some(all) => intersect(all, &candidates),
                });
            }
        }
        let all = joined.unwrap_or_default().into_iter();
        all.filter_map(|(place, contents)| Some((place, *contents.first()?))).collect()
    }

    /// For each place the names that its content has in the block: parameters first.
    fn candidates(
        &self,
        block: Block,
        arguments: &[Value],
        contents: &Contents,
    ) -> BTreeMap<Place, Vec<Content>> {
        let parameters = &self.unit.block(block).parameters;
        let named = |content: &Content| {
            let mut names = Vec::new();
            if let Content::Value(value) = content {
                let pairs = parameters.iter().zip(arguments);
                let same = pairs.filter(|(_, argument)| self.unit.root(**argument) == *value);
                names.extend(same.map(|(parameter, _)| Content::Value(*parameter)));
            }
            // A parameter of this very block has a new value now.
            if !matches!(content, Content::Value(value) if parameters.contains(value)) {
                names.push(*content);
            }
            names
        };
        contents.iter().map(|(place, content)| (*place, named(content))).collect()
    }
}

fn intersect(
    all: BTreeMap<Place, Vec<Content>>,
    other: &BTreeMap<Place, Vec<Content>>,
) -> BTreeMap<Place, Vec<Content>> {
    let common = |(place, mut contents): (Place, Vec<Content>)| {
        let others = other.get(&place)?;
        contents.retain(|content| others.contains(content));
        (!contents.is_empty()).then_some((place, contents))
    };
    all.into_iter().filter_map(common).collect()
}

/// Writes the result into the unit.
struct Inserter {
    residence: Residence,
    known: HashMap<ExitPath, usize>,
    /// For each call the moving values that are used after it.
    survivors: HashMap<Inst, Vec<Value>>,
    /// For each word that closures capture, the closures and its index there.
    captured: HashMap<Value, Vec<(Value, u32)>>,
}

impl Inserter {
    fn block(
        &mut self,
        unit: &mut Unit,
        block: Block,
        mut contents: Contents,
    ) -> Result<(), Homeless> {
        let instructions = std::mem::take(&mut unit.blocks[block.index()].instructions);
        let mut placed = Vec::with_capacity(instructions.len());
        for inst in instructions {
            let data = unit.inst(inst).clone();
            let demand = Demand::of(unit, &data);
            match demand {
                Some(demand) if leaves_for_room(unit, &data) => {
                    let state = data.state.expect("an allocation has a state");
                    let exit = self.exit(state, &demand, &contents, true);
                    self.residence.of_guard.insert(inst, exit);
                }
                Some(demand) if data.op.allocates() => {
                    let slow = self.slow_path(unit, inst, &demand, &contents)?;
                    self.residence.of_allocation.insert(inst, slow);
                }
                Some(demand) if demand.destroys.is_some() => {
                    store_missing(unit, &demand, &contents, &mut placed);
                    placed.push(inst);
                    step(unit, &data, &mut contents);
                    for (source, value) in self.reloads(inst, &contents)? {
                        placed.push(unit.make(Op::Reload(source), &[value], None, None));
                    }
                    continue;
                }
                Some(demand) => {
                    let state = data.state.expect("a demand comes from a state");
                    let exit = self.exit(state, &demand, &contents, data.op.leaves_in_passing());
                    self.residence.of_guard.insert(inst, exit);
                }
                None => {}
            }
            placed.push(inst);
            step(unit, &data, &mut contents);
        }
        unit.blocks[block.index()].instructions = placed;
        if let End::Exit(state) = unit.block(block).end {
            let exit = self.exit(state, &Demand::of_state(unit, state), &contents, false);
            self.residence.of_block.insert(block, exit);
        }
        Ok(())
    }

    /// The exit with this state and these stores.
    fn exit(
        &mut self,
        state: StateId,
        demand: &Demand,
        contents: &Contents,
        is_passing: bool,
    ) -> usize {
        let stores = ExitPath { state, stores: demand.missing(contents), is_passing };
        if let Some(&exit) = self.known.get(&stores) {
            return exit;
        }
        let exit = self.residence.exits.len();
        self.known.insert(stores.clone(), exit);
        self.residence.exits.push(stores);
        exit
    }

    /// What surrounds an allocation's helper.
    fn slow_path(
        &self,
        unit: &Unit,
        inst: Inst,
        demand: &Demand,
        contents: &Contents,
    ) -> Result<SlowPath, Homeless> {
        let mut after = contents.clone();
        demand.after(unit, &mut after);
        Ok(SlowPath { stores: demand.missing(contents), reloads: self.reloads(inst, &after)? })
    }

    /// The words that are used after a call or an allocation, and where they are.
    fn reloads(&self, inst: Inst, contents: &Contents) -> Result<Vec<(Source, Value)>, Homeless> {
        let survivors = self.survivors.get(&inst).into_iter().flatten();
        let sources = survivors
            .map(|&value| Ok((self.source(value, contents).ok_or(Homeless(value))?, value)));
        sources.collect()
    }

    /// Where a word is: in a place, or in a closure that is in a place. Code of the closure that is inlined may use what
    /// no register but the closure's has.
    fn source(&self, value: Value, contents: &Contents) -> Option<Source> {
        let place_of = |value: Value| {
            let is_there = |(_, content): &(&Place, &Content)| **content == Content::Value(value);
            contents.iter().find(is_there).map(|(&place, _)| place)
        };
        if let Some(place) = place_of(value) {
            return Some(Source { place, captured: None });
        }
        let mut holders = self.captured.get(&value)?.iter();
        holders.find_map(|&(closure, index)| {
            Some(Source { place: place_of(closure)?, captured: Some(index) })
        })
    }
}

fn store_missing(unit: &mut Unit, demand: &Demand, contents: &Contents, placed: &mut Vec<Inst>) {
    let Stores { values, sites } = demand.missing(contents);
    for (place, value) in values {
        placed.push(unit.make(Op::StoreFrame(place), &[value], None, None));
    }
    for site in sites {
        placed.push(unit.make(Op::StoreSite(site), &[], None, None));
    }
}

impl Residence {
    /// The exits and the slow paths, in the text form.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (index, exit) in self.exits.iter().enumerate() {
            text += &format!("exit {index} = {}{}\n", exit.state, exit.stores);
        }
        let mut allocations: Vec<_> = self.of_allocation.iter().collect();
        allocations.sort_by_key(|(inst, _)| **inst);
        for (_, slow) in allocations {
            text += &format!("slow{}", slow.stores);
            slow.reloads.iter().for_each(|(source, value)| text += &format!(" {value}={source}"));
            text += "\n";
        }
        text
    }
}

impl fmt::Display for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.iter().try_for_each(|(place, value)| write!(f, " {place}={value}"))?;
        self.sites.iter().try_for_each(|site| write!(f, " {site}"))
    }
}
