//! Which values are used after a place. `residence` asks for the words that a call must not lose.
//!
//! Refinements count as the word that they refine: all have the same bits.

use std::collections::HashMap;

use crate::ir::entities::{Block, Inst, StateId, Value};
use crate::ir::types::Representation;
use crate::ir::{End, Unit};

/// A set of values, a bit each.
#[derive(Clone, PartialEq, Eq, Default)]
struct Values(Vec<u64>);

impl Values {
    fn new(count: usize) -> Values {
        Values(vec![0; count.div_ceil(64)])
    }

    fn insert(&mut self, value: Value) {
        self.0[value.index() / 64] |= 1 << (value.index() % 64);
    }

    fn remove(&mut self, value: Value) {
        self.0[value.index() / 64] &= !(1 << (value.index() % 64));
    }

    fn add_all(&mut self, other: &Values) {
        self.0.iter_mut().zip(&other.0).for_each(|(all, some)| *all |= some);
    }

    fn iter(&self) -> impl Iterator<Item = Value> + '_ {
        let bits = |(index, &word): (usize, &u64)| {
            let set = (0..64).filter(move |bit| word >> bit & 1 != 0);
            set.map(move |bit| Value(index as u32 * 64 + bit))
        };
        self.0.iter().enumerate().flat_map(bits)
    }
}

/// The values that are live at the beginning of each block.
pub struct Liveness {
    before: Vec<Values>,
}

impl Liveness {
    /// Solves the equations backwards.
    pub fn compute(unit: &Unit, order: &[Block]) -> Liveness {
        let empty = Values::new(unit.values.len());
        let mut liveness = Liveness { before: vec![empty; unit.blocks.len()] };
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev() {
                let mut live = liveness.after(unit, block);
                for &inst in unit.block(block).instructions.iter().rev() {
                    step(unit, inst, &mut live);
                }
                unit.block(block).parameters.iter().for_each(|&value| live.remove(value));
                if liveness.before[block.index()] != live {
                    liveness.before[block.index()] = live;
                    changed = true;
                }
            }
        }
        liveness
    }

    /// The values that are live at the end of a block, those that the end uses included.
    fn after(&self, unit: &Unit, block: Block) -> Values {
        let end = &unit.block(block).end;
        let mut live = Values::new(unit.values.len());
        for jump in end.jumps() {
            live.add_all(&self.before[jump.block.index()]);
        }
        for jump in end.jumps() {
            jump.arguments.iter().for_each(|&value| live.insert(unit.root(value)));
        }
        match end {
            End::Branch(value, ..) | End::Return(value) => live.insert(unit.root(*value)),
            End::Exit(state) => use_state(unit, *state, &mut live),
            _ => {}
        }
        live
    }

    /// For each call and allocation the words that are used after it and may be objects.
    pub fn across_calls(&self, unit: &Unit, order: &[Block]) -> HashMap<Inst, Vec<Value>> {
        let mut survivors = HashMap::new();
        for &block in order {
            let mut live = self.after(unit, block);
            for &inst in unit.block(block).instructions.iter().rev() {
                if unit.inst(inst).op.may_collect() {
                    let result = unit.inst(inst).result;
                    let values =
                        live.iter().filter(|&value| Some(value) != result && may_move(unit, value));
                    survivors.insert(inst, values.collect());
                }
                step(unit, inst, &mut live);
            }
        }
        survivors
    }
}

fn may_move(unit: &Unit, value: Value) -> bool {
    let is_constant = unit.definition(value).is_some_and(|inst| inst.op.is_constant());
    unit.representation(value) == Representation::Word
        && unit.kind(value).may_be_object()
        && !is_constant
}

fn step(unit: &Unit, inst: Inst, live: &mut Values) {
    let data = unit.inst(inst);
    if let Some(result) = data.result {
        live.remove(result);
    }
    data.arguments.iter().for_each(|&value| live.insert(unit.root(value)));
    if let Some(state) = data.state {
        use_state(unit, state, live);
    }
}

fn use_state(unit: &Unit, state: StateId, live: &mut Values) {
    for each in unit.chain(state) {
        each.registers.iter().for_each(|&(_, value)| live.insert(unit.root(value)));
    }
}
