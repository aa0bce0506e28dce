//! Gives uses of a word the most that is known of it where they stand. [`crate::optimise`] runs this pass after `loops`,
//! so that what it knows on one path only keeps nothing inside a loop.
//!
//! Guards refine words (`Op::refines`), but later instructions may use the word as it was before: registers of the
//! interpreter hold that. Branches on `has_layout` and on `same` refine words, too, on each way that they go. Where paths
//! meet, a word is what all of them know of it. The pass names that by an `assume`, and gives the name to all
//! instructions that follow; `simplify` then folds the tests and guards that are decided.
//!
//! It also *strengthens* guards: `x ifNil: […]` tests that `x` redefines nothing and that it is not nil, and a send to
//! `x` behind it tests its layout. The last test alone shows all of that, so it takes the place of the first one. Leaving
//! the unit earlier is always right; and a word that fails the last test leaves anyway, if only guards, loads and stores
//! are between.
//!
//! Types of words never change, so what a block knows holds in all blocks that it dominates.

use crate::ir::dominance::dominators;
use crate::ir::entities::{Block, Inst, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::types::{Layouts, Representation, Type};
use crate::ir::{End, Unit};
use crate::passes::hashing::FastMap;
use crate::passes::{fold, kinds};

/// The best refinement of each root that has one.
type Known = FastMap<Value, Value>;

/// Refines all uses of words, and strengthens guards.
pub fn refinement(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    for &block in &order {
        strengthen(unit, block);
    }
    let parents = dominators(unit, &order);
    let predecessors = unit.distinct_predecessors();
    let mut ends: FastMap<Block, Known> = FastMap::default();
    for &block in &order {
        let known = parents[block.index()].map(|parent| ends[&parent].clone()).unwrap_or_default();
        let mut refiner = Refiner { unit, known, added: Vec::new() };
        match predecessors[block.index()][..] {
            [] => {}
            [only] => refiner.learn_from_branch(only, block),
            // Of a loop's head, what jumps back is not known yet.
            ref several if several.iter().all(|from| ends.contains_key(from)) => {
                let ends: Vec<&Known> = several.iter().map(|from| &ends[from]).collect();
                refiner.learn_from_paths(&ends);
            }
            _ => {}
        }
        refiner.block(block);
        ends.insert(block, refiner.known);
    }
    unit.resolve_all();
}

/// Refines the words of a block.
struct Refiner<'u> {
    unit: &'u mut Unit,
    known: Known,
    /// Instructions for the block's beginning.
    added: Vec<Inst>,
}

impl Refiner<'_> {
    /// What is known of a word best.
    fn best(&self, value: Value) -> Value {
        let value = self.unit.resolve(value);
        if self.unit.representation(value) != Representation::Word {
            return value;
        }
        let Some(&best) = self.known.get(&self.unit.root(value)) else { return value };
        let (given, refined) = (self.unit.kind(value), self.unit.kind(best));
        if refined != given && refined.is(given) { best } else { value }
    }

    /// The word is of this type from here on, as far as layouts can say so.
    fn learn(&mut self, value: Value, kind: Type) {
        let best = self.best(value);
        let narrower = self.unit.kind(best).meet(kind);
        if narrower == self.unit.kind(best) || narrower == Type::NONE {
            return;
        }
        let Some(layouts) = layouts_of(narrower) else { return };
        let kind = self.unit.kind(best).meet(kinds::of_layouts(layouts));
        if kind == self.unit.kind(best) {
            return;
        }
        let inst = self.unit.make_typed(Op::Assume(layouts), &[best], None, kind);
        self.added.push(inst);
        let result = self.unit.inst(inst).result.expect("a refinement has a result");
        self.known.insert(self.unit.root(best), result);
    }

    /// Learns what the branch at the end of the only block before this one shows.
    fn learn_from_branch(&mut self, from: Block, block: Block) {
        let End::Branch(condition, then, otherwise) = &self.unit.block(from).end else { return };
        if then.block == otherwise.block {
            return;
        }
        let (mut condition, mut holds) = (self.unit.resolve(*condition), then.block == block);
        while let Some(inner) = self.unit.definition(condition).filter(|inst| inst.op == Op::Not) {
            (condition, holds) = (self.unit.resolve(inner.arguments[0]), !holds);
        }
        let Some(test) = self.unit.definition(condition) else { return };
        let arguments = test.arguments.clone();
        let (word, shown) = match test.op {
            Op::HasLayout(layouts) => (arguments[0], kinds::of_layouts(layouts)),
            Op::Same => match [0, 1].map(|index| self.unit.kind(arguments[index])) {
                [Type::NIL, _] => (arguments[1], Type::NIL),
                [_, Type::NIL] => (arguments[0], Type::NIL),
                _ => return,
            },
            _ => return,
        };
        let kind = if holds { shown } else { without(self.unit.kind(self.best(word)), shown) };
        self.learn(word, kind);
    }

    /// Learns what all paths to a block know.
    fn learn_from_paths(&mut self, ends: &[&Known]) {
        let Some((first, others)) = ends.split_first() else { return };
        let mut roots: Vec<Value> = first.keys().copied().collect();
        roots.retain(|root| others.iter().all(|known| known.contains_key(root)));
        roots.sort_unstable();
        for root in roots {
            let kinds = ends.iter().map(|known| self.unit.kind(known[&root]));
            let kind = kinds.fold(Type::NONE, Type::join);
            self.learn(root, kind);
        }
    }

    fn block(&mut self, block: Block) {
        let mut instructions = std::mem::take(&mut self.added);
        let others = std::mem::take(&mut self.unit.blocks[block.index()].instructions);
        others.iter().for_each(|&inst| self.instruction(inst));
        instructions.extend(others);
        let mut end = self.unit.block(block).end.clone();
        if let End::Return(value) = &mut end {
            *value = self.best(*value);
        }
        for value in end.jumps_mut().flat_map(|jump| &mut jump.arguments) {
            *value = self.best(*value);
        }
        let data = &mut self.unit.blocks[block.index()];
        (data.instructions, data.end) = (instructions, end);
    }

    fn instruction(&mut self, inst: Inst) {
        let arguments = self.unit.inst(inst).arguments.clone();
        let refined = arguments.iter().map(|&value| self.best(value)).collect();
        self.unit.instructions[inst.index()].arguments = refined;
        let data = self.unit.inst(inst);
        let (op, Some(result)) = (data.op, data.result) else { return };
        if !op.refines() {
            return;
        }
        let kind = kinds::result_kind(self.unit, op, &data.arguments, self.unit.kind(result));
        if kind == Type::NONE {
            // The unit leaves there.
            return;
        }
        let root = self.unit.root(result);
        self.unit.values[result.index()].kind = kind;
        let before =
            self.known.get(&root).map_or(self.unit.kind(root), |&best| self.unit.kind(best));
        if kind != before && kind.is(before) {
            self.known.insert(root, result);
        }
    }
}

/// A type's layouts, if a test can name them.
fn layouts_of(kind: Type) -> Option<Layouts> {
    let all = kind.every_layout()?.into_iter().fold(Layouts::NONE, Layouts::with);
    all.list().is_some().then_some(all)
}

/// A type without the values of another one, as far as their layouts can be named.
fn without(kind: Type, other: Type) -> Type {
    let Some(all) = kind.every_layout() else {
        return if other == Type::NIL { kind.without_nil() } else { kind };
    };
    let left = all.into_iter().filter(|&layout| !Type::of_layout(layout).is(other));
    kind.meet(left.fold(Type::NONE, |sum, layout| sum.join(Type::of_layout(layout))))
}

/// Puts the last of several guards on a word in the place of the first, if it shows the same and more.
fn strengthen(unit: &mut Unit, block: Block) {
    let mut weak: FastMap<Value, Inst> = FastMap::default();
    for index in 0..unit.block(block).instructions.len() {
        let inst = unit.block(block).instructions[index];
        let data = unit.inst(inst);
        let op = data.op;
        match op {
            _ if op.effect() == Effect::Call => weak.clear(),
            Op::GuardPlain | Op::GuardNotNil => {
                let root = unit.root(data.arguments[0]);
                weak.entry(root).or_insert(inst);
            }
            _ if is_strong(op) => {
                let root = unit.root(data.arguments[0]);
                if let Some(first) = weak.remove(&root) {
                    replace_guard(unit, first, op);
                }
            }
            _ => {}
        }
    }
}

/// Makes another guard of a guard, unless no word passes that: then it stays, and the other one leaves.
fn replace_guard(unit: &mut Unit, inst: Inst, op: Op) {
    let data = unit.inst(inst);
    let result = data.result.expect("a refinement has a result");
    let kind = kinds::result_kind(unit, op, &data.arguments, Type::ANY);
    if kind != Type::NONE {
        unit.instructions[inst.index()].op = op;
        unit.values[result.index()].kind = kind;
    }
}

/// Whether a guard shows that a word is neither nil nor an object whose class redefines what compiled code inlines.
fn is_strong(op: Op) -> bool {
    match op {
        Op::GuardInteger | Op::GuardDouble | Op::GuardBoolean => true,
        Op::GuardLayout(layouts) => fold::are_plain(layouts),
        _ => false,
    }
}
