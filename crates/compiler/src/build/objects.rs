//! Closures, contexts, slots and array literals. `control` calls this module for their bytecodes.

use squall_bytecode::entities::{FunctionId, Register};
use squall_bytecode::instructions::Field;

use crate::build::body::Body;
use crate::facts::{Action, ClassPath, Seen};
use crate::ir::entities::{StateId, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Layouts, Type};
use crate::ir::values::{Cell, Condition, Place};
use crate::words::{self, layouts};

/// Objects with more slots, variables or elements are made by the runtime.
const MOST_WORDS: u32 = 24;

impl Body<'_, '_> {
    /// The write barrier after a store, unless the value is known to be no object.
    pub fn barrier(&mut self, object: Value, value: Value) {
        if self.kind(value).may_be_object() {
            self.store(Op::Barrier, &[object, value]);
        }
    }

    pub fn load_captured(&mut self) {
        let closure = self.get(Register(0));
        let value = self.emit(Op::LoadCaptured(Place(self.field(Field::Bc))), &[closure]);
        self.define(value);
    }

    /// The marker of this activation: an object of its frame and the strand.
    pub fn make_home(&mut self) {
        let class = self.emit(Op::Cell(Cell::OBJECT_CLASS), &[]);
        self.allocate(Op::NewObject(layouts::HOME), &[class]);
        let marker = self.operand(Field::A);
        let frame = self.emit(Op::FrameWord(self.place(Register(0))), &[]);
        let strand = self.emit(Op::StrandWord, &[]);
        let block = self.current.expect("a block is being built");
        // Nothing else has the object, so earlier states stay right.
        for (index, word) in [frame, strand].into_iter().enumerate() {
            let store = Op::StoreSlot(Place(index as u32));
            self.builder.emit(block, store, &[marker, word], None);
        }
    }

    /// The helper makes the object; what it is, is known. A guard after it may still leave before it: then another
    /// object is made, and nothing has the first one. So an object that only guards' states would have is not needed.
    fn allocate(&mut self, op: Op, arguments: &[Value]) {
        let state = self.state_here();
        let block = self.current.expect("a block is being built");
        let value = self.builder.emit(block, op, arguments, Some(state));
        // The earlier state's words must survive the call: only those that the later one has do.
        self.state = match self.state {
            Some(earlier) if self.has_all(earlier, state) => Some(earlier),
            _ => Some(state),
        };
        self.define(value.expect("it has a result"));
    }

    /// Whether the values of one state are among those of another one of the same activation.
    fn has_all(&self, some: StateId, all: StateId) -> bool {
        let unit = &self.builder.unit;
        let others: Vec<Value> =
            unit.chain(all).flat_map(|each| &each.registers).map(|r| r.1).collect();
        unit.chain(some).flat_map(|each| &each.registers).all(|(_, value)| others.contains(value))
    }

    pub fn make_context(&mut self) {
        match self.field(Field::Bc) {
            size @ 0..=MOST_WORDS => self.allocate(Op::NewContext(Place(size)), &[]),
            _ => self.generic(),
        }
    }

    pub fn make_array(&mut self) {
        match self.field(Field::X) {
            size @ 0..=MOST_WORDS => self.allocate(Op::NewArray(Place(size)), &[]),
            _ => self.generic(),
        }
    }

    /// An array of this length, which the current instruction makes in any case. Its operands are in the frame.
    pub fn allocate_array(&mut self, class: Value, length: Value) -> Value {
        let state = self.state_here();
        let block = self.current.expect("a block is being built");
        let op = Op::NewArrayOf(self.destroyed());
        let value = self.builder.emit(block, op, &[class, length], Some(state));
        self.state = None;
        value.expect("it has a result")
    }

    /// An instance of a class whose layout is known.
    pub fn instantiate(&mut self) {
        let class = self.operand(Field::B);
        let layout = match self.kind(class).layouts() {
            Some([layout]) => self.builder.facts.instance_layout(*layout),
            _ => None,
        };
        match layout {
            Some(layout) if words::slot_count(layout) <= MOST_WORDS => {
                self.allocate(Op::NewObject(layout), &[class]);
            }
            _ => self.generic(),
        }
    }

    pub fn make_closure(&mut self) {
        let index = FunctionId(self.field(Field::X));
        let function = self.builder.facts.callee(self.function_ref, index);
        let (start, count) = (self.register(Field::B).0, self.instruction.count().unwrap_or(0));
        let captured = (start..start + count as u8).map(|each| self.get(Register(each)));
        let captured: Vec<Value> = captured.collect();
        self.allocate(Op::NewClosure(function), &captured);
    }

    /// The context in a register, with a variable of this index.
    fn context(&mut self, register: Register, index: u32) -> Value {
        let value = self.get(register);
        let context = self.guard(Op::GuardLayout(Layouts::of(layouts::CONTEXT)), &[value]);
        self.refine(value, context);
        let root = self.builder.unit.root(context);
        let is_known = self
            .builder
            .unit
            .definition(root)
            .is_some_and(|inst| matches!(inst.op, Op::NewContext(size) if index < size.0));
        if !is_known {
            let length = self.emit(Op::Length, &[context]);
            let index = self.integer(i64::from(index));
            let within = self.emit(Op::Compare(Condition::Less), &[index, length]);
            self.check(Op::Guard, within);
        }
        context
    }

    pub fn load_context(&mut self) {
        let index = self.field(Field::C);
        let context = self.context(self.register(Field::B), index);
        let index = self.integer(i64::from(index));
        let value = self.emit(Op::LoadElement, &[context, index]);
        self.define(value);
    }

    pub fn store_context(&mut self) {
        let index = self.field(Field::B);
        let context = self.context(self.register(Field::A), index);
        let value = self.operand(Field::C);
        let index = self.integer(i64::from(index));
        self.store_bare(Op::StoreElement, &[context, index, value]);
    }

    pub fn initialize_slot(&mut self) {
        let facts = self.builder.facts.site(self.function_ref, self.instruction.pc as u32);
        let (object, value) = (self.operand(Field::A), self.operand(Field::B));
        let seen = self.possible(object, &facts);
        let Some(Action::SlotIndex(index)) = seen.first().map(|each| each.action) else {
            return self.generic();
        };
        // An inherited slot has the same index in all subclasses.
        let is_one = seen.iter().all(|each| each.action == Action::SlotIndex(index));
        let layouts = seen.iter().fold(Layouts::NONE, |all, each| all.with(each.layout));
        let are_objects = seen.iter().all(|each| Type::of_layout(each.layout).layouts().is_some());
        if !is_one || !are_objects || layouts.list().is_none() || facts.is_megamorphic {
            return self.generic();
        }
        let refined = self.guard_layouts(object, layouts);
        self.refine(object, refined);
        self.initialize(refined, index, value);
    }

    /// The object around the class at the end of a path, if the site has seen few layouts of objects.
    pub fn enclosing(&mut self) {
        let facts = self.builder.facts.site(self.function_ref, self.instruction.pc as u32);
        let object = self.operand(Field::B);
        let seen = self.possible(object, &facts);
        let path_of = |each: &Seen| match each.action {
            Action::Enclosing(path) if Type::of_layout(each.layout).layouts().is_some() => {
                Some(path)
            }
            _ => None,
        };
        let paths: Option<Vec<ClassPath>> = seen.iter().map(path_of).collect();
        let Some(paths) = paths.filter(|paths| self.can_switch(object, paths.len(), &facts)) else {
            return self.generic();
        };
        let mut paths = paths.into_iter();
        let result = self.switch(object, &seen, |body, _, refined| {
            paths.next().map(|path| body.follow(path, refined))
        });
        match result {
            Some(enclosing) => self.define(enclosing),
            None => debug_assert!(self.current.is_none()),
        }
    }

    /// The object around the class at the end of a path from an object.
    fn follow(&mut self, path: ClassPath, object: Value) -> Value {
        let mut class = object;
        if !path.from_class {
            class = self.emit(Op::ClassOf, &[class]);
        }
        for _ in 0..path.hops {
            class = self.emit(Op::LoadPart(Place(path.superclass)), &[class]);
        }
        self.emit(Op::LoadPart(Place(path.enclosing)), &[class])
    }

    /// Objects of most classes are not checked.
    pub fn check_value(&mut self) {
        let kind = self.kind(self.operand(Field::A));
        let is_checked = |layout: &u32| self.builder.facts.is_checked(*layout);
        if kind.layouts().is_none_or(|layouts| layouts.iter().any(is_checked)) {
            self.generic();
        }
    }

    /// An element of an array literal.
    pub fn initialize_element(&mut self) {
        let (array, value) = (self.operand(Field::A), self.operand(Field::B));
        let refined = self.guard(Op::GuardLayout(Layouts::of(layouts::ARRAY)), &[array]);
        self.refine(array, refined);
        let index = self.integer(i64::from(self.field(Field::X)));
        let length = self.emit(Op::Length, &[refined]);
        let within = self.emit(Op::Compare(Condition::Less), &[index, length]);
        self.check(Op::Guard, within);
        self.store_bare(Op::StoreElement, &[refined, index, value]);
    }
}
