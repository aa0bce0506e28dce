//! Data breakpoints: slots of objects, and variables that closures share, whose writes stop the strand that writes. The server
//! changes the table; `control` asks here at each place that may write, and for slots that are written by no instruction.
//!
//! # How a write is seen
//!
//! A slot is written by a send of its writer, `count:` for the slot `count`; a shared variable by `store_context`. While there is
//! a data breakpoint, each such instruction of the program and of the library has a breakpoint in its code word. There the
//! receiver is compared with the object. So functions that may write lose their machine code while the data breakpoint exists,
//! and all other code runs as fast as without.
//!
//! A few writes have no such instruction: an eventual send to the writer, for example. The machine tells of them
//! ([`slot_stored`](squall_runtime::state::debugging::Debugger::slot_stored)).
//!
//! Invariant: objects here are roots of the machine, so comparing words compares identities.

use std::collections::VecDeque;
use std::sync::Arc;

use squall_bytecode::decode::{Instruction, instructions};
use squall_bytecode::entities::Register;
use squall_bytecode::instructions::{Field, Opcode};
use squall_bytecode::module::Site;
use squall_heap::Word;
use squall_runtime::execution::calls;
use squall_runtime::library::inspection::{self, Frame};
use squall_runtime::model::function::Function;
use squall_runtime::model::known;
use squall_runtime::model::lookup::Action;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::Place;
use squall_runtime::state::roots::RootWord;
use squall_runtime::state::vm::Vm;

use crate::breakpoints::Breakpoint;
use crate::places::functions;

/// How many targets are known at most beside those with a breakpoint.
const MOST_TARGETS: usize = 256;

/// The place that a data breakpoint is about.
#[derive(Clone)]
pub struct Target {
    /// The name of the slot or variable.
    pub name: String,
    /// The object, or the context.
    pub holder: Arc<RootWord>,
    /// The index of the slot or variable there.
    pub index: usize,
    /// Whether the holder is an object, whose slots are written by sends.
    pub is_slot: bool,
}

/// A data breakpoint.
#[derive(Clone)]
pub struct Watch {
    /// The identifier of its target.
    pub id: String,
    /// Its number, condition and count.
    pub breakpoint: Breakpoint,
    /// What it is about.
    pub target: Target,
}

impl Watch {
    /// A write in words. *No GC point.*
    pub fn told(&self, vm: &'static Vm, write: &Write) -> String {
        let text = |word| inspection::text(vm, word);
        format!("{}: {} → {}", self.target.name, text(write.old), text(write.new))
    }
}

/// A write that is about to happen.
pub struct Write {
    /// The value so far.
    pub old: Word,
    /// The value afterwards.
    pub new: Word,
}

/// All targets that the client knows, and all data breakpoints.
#[derive(Default)]
pub struct Watches {
    made: u64,
    known: VecDeque<(String, Target)>,
    /// The data breakpoints.
    pub set: Vec<Watch>,
}

impl Watches {
    /// The client gets to know a target at a moment of the run, by the identifier that is answered. A process that repeats the run
    /// up to an earlier moment gives no such identifier again.
    pub fn introduce(&mut self, target: Target, moment: u64) -> String {
        let is_same = |(_, other): &&(String, Target)| {
            other.holder.get() == target.holder.get()
                && (other.index, other.is_slot) == (target.index, target.is_slot)
        };
        if let Some((id, _)) = self.known.iter().find(is_same) {
            return id.clone();
        }
        self.made += 1;
        let id = format!("{}#{moment}.{}", target.name, self.made);
        self.know(id.clone(), target);
        id
    }

    /// This is the target with an identifier.
    pub fn know(&mut self, id: String, target: Target) {
        if self.known.len() == MOST_TARGETS {
            self.known.pop_front();
        }
        self.known.push_back((id, target));
    }

    /// The target with an identifier.
    pub fn target(&self, id: &str) -> Option<Target> {
        let known = self.known.iter().find(|(other, _)| other == id);
        known.map(|(_, target)| target.clone())
    }

    /// The data breakpoints whose target is written by the instruction at a place, where a frame stands; each counts as
    /// reached.
    pub fn reach(&self, vm: &Vm, frame: Frame, place: Place) -> Vec<(Watch, Write)> {
        let mut reached = Vec::new();
        for watch in &self.set {
            if let Some(write) = write_at(vm, frame, place, &watch.target) {
                reached.push((watch.clone(), write));
            }
        }
        reached
    }

    /// The data breakpoint with this number counts a write; answers the count.
    pub fn count(&mut self, id: u64) -> u64 {
        let breakpoint =
            self.set.iter_mut().map(|watch| &mut watch.breakpoint).find(|each| each.id == id);
        breakpoint.map_or(0, |breakpoint| {
            breakpoint.reached += 1;
            breakpoint.reached
        })
    }

    /// The same for a write of a slot that no instruction names.
    pub fn reach_slot(&self, object: Word, slot: usize, new: Word) -> Vec<(Watch, Write)> {
        let mut reached = Vec::new();
        for watch in &self.set {
            let target = &watch.target;
            if target.is_slot && target.index == slot && target.holder.get() == object {
                let old = object.object().slot(slot);
                reached.push((watch.clone(), Write { old, new }));
            }
        }
        reached
    }
}

/// The write of a target by the instruction at a place, if it is one.
pub fn write_at(vm: &Vm, frame: Frame, (function, pc): Place, target: &Target) -> Option<Write> {
    let instruction = Instruction::decode(&function.bytecode().code, pc).ok()?;
    let holder = target.holder.get();
    if instruction.opcode == Opcode::StoreContext {
        let index = instruction.register(Field::B).index();
        let context = frame.register(instruction.register(Field::A).index())?;
        if target.is_slot || index != target.index || context != holder {
            return None;
        }
        let new = frame.register(instruction.register(Field::C).index())?;
        return Some(Write { old: inspection::context_variable(context, index)?, new });
    }
    let (receiver, argument) = operands(&instruction)?;
    if !target.is_slot || frame.register(receiver)? != holder {
        return None;
    }
    let site = function.sites.get(instruction.site()?.0 as usize)?;
    match calls::find(vm, site, known::layout_of(holder))?.action {
        Action::StoreSlot(slot) if slot as usize == target.index => {
            let old = holder.object().slot(target.index);
            Some(Write { old, new: frame.register(argument)? })
        }
        _ => None,
    }
}

/// The registers of receiver and argument of a send with one argument.
fn operands(instruction: &Instruction) -> Option<(usize, usize)> {
    let index = |register: Register| register.index();
    match instruction.opcode {
        Opcode::Send1 => {
            Some((index(instruction.register(Field::B)), index(instruction.register(Field::C))))
        }
        Opcode::Send if instruction.count() == Some(2) => {
            let window = index(instruction.window()?);
            Some((window, window + 1))
        }
        _ => None,
    }
}

/// What may be written somewhere: a slot with this name, or the variable at this index of a context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sought {
    /// The name of the slot or variable.
    pub name: String,
    /// Its index in the object, or in the context.
    pub index: usize,
    /// Whether it is a slot.
    pub is_slot: bool,
}

impl Sought {
    /// The one of this object or context.
    pub fn target(&self, holder: Arc<RootWord>) -> Target {
        let (name, index, is_slot) = (self.name.clone(), self.index, self.is_slot);
        Target { name, holder, index, is_slot }
    }
}

impl Target {
    /// What may write it, whatever the object.
    pub fn sought(&self) -> Sought {
        Sought { name: self.name.clone(), index: self.index, is_slot: self.is_slot }
    }
}

/// The object or context whose slot or variable is written by the instruction at a place, where a frame stands.
pub fn written_at(vm: &Vm, frame: Frame, (function, pc): Place, sought: &Sought) -> Option<Word> {
    let instruction = Instruction::decode(&function.bytecode().code, pc).ok()?;
    if !may_write(function, &instruction, sought) {
        return None;
    }
    if instruction.opcode == Opcode::StoreContext {
        return frame.register(instruction.register(Field::A).index());
    }
    let receiver = frame.register(operands(&instruction)?.0)?;
    let site = function.sites.get(instruction.site()?.0 as usize)?;
    match calls::find(vm, site, known::layout_of(receiver))?.action {
        Action::StoreSlot(slot) if slot as usize == sought.index => Some(receiver),
        _ => None,
    }
}

/// The instructions of a module that may write one of the targets.
pub fn writers(module: &'static LoadedModule, watches: &Watches) -> Vec<Place> {
    let all: Vec<Sought> = watches.set.iter().map(|watch| watch.target.sought()).collect();
    writers_of(module, &all)
}

/// The instructions of a module that may write one of these.
pub fn writers_of(module: &'static LoadedModule, all: &[Sought]) -> Vec<Place> {
    let mut places = Vec::new();
    if all.is_empty() {
        return places;
    }
    for function in functions(module) {
        for instruction in instructions(&function.bytecode().code) {
            if all.iter().any(|sought| may_write(function, &instruction, sought)) {
                places.push((function, instruction.pc));
            }
        }
    }
    places
}

fn may_write(function: &'static Function, instruction: &Instruction, sought: &Sought) -> bool {
    if instruction.opcode == Opcode::StoreContext {
        return !sought.is_slot && instruction.register(Field::B).index() == sought.index;
    }
    let Some(site) = operands(instruction).and(instruction.site()) else { return false };
    match function.bytecode().sites.get(site.0 as usize) {
        Some(Site::Send { selector, .. }) => {
            let selector = function.module.bytecode.string(*selector);
            sought.is_slot && selector.strip_suffix(':') == Some(sought.name.as_str())
        }
        _ => false,
    }
}
