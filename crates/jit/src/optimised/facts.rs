//! The answers to the optimising compiler's questions about the runtime: functions, what their sites have seen, and
//! addresses. `optimised` makes them for each compilation, and `squall-compiler` asks.

use std::cell::{OnceCell, RefCell};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use squall_bytecode::entities::{ConstantId, FunctionId};
use squall_bytecode::instructions::Opcode;
use squall_bytecode::liveness::FrameMaps;
use squall_bytecode::module;
use squall_compiler::facts::{
    Action, BranchFacts, ClassPath, ConstantFact, Facts, Hardening, Helper, MachineFacts, Numbers,
    Seen, SiteFacts, Symbol,
};
use squall_compiler::ir::entities::{FunctionRef, PrimitiveRef};
use squall_compiler::ir::values::Cell;
use squall_heap::{Flag, LayoutId, Word, slot_kinds};
use squall_runtime::tiers::calls;
use squall_runtime::tiers::classes;
use squall_runtime::tiers::function::{CodeKind, Entries, Function, MOST_ENTRIES, Site, feedback};
use squall_runtime::tiers::hashing;
use squall_runtime::tiers::known::{self, KnownClass};
use squall_runtime::tiers::lookup::{self, CacheEntry};
use squall_runtime::tiers::primitive::{Primitive, Shape};
use squall_runtime::tiers::thread::Vm;
use squall_runtime::tiers::tracing;
use squall_runtime::tiers::values;

use crate::assembler::offset;
use crate::code::units::ExitRecord;
use crate::code::{Code, way};
use crate::optimised::Install;
use crate::stubs::{Execute, Stubs};

/// The answers to the compiler's questions, for one unit.
pub struct RuntimeFacts<'a> {
    vm: &'static Vm,
    stubs: &'a Stubs,
    kind: CodeKind,
    is_hardened: bool,
    tables: RefCell<Tables>,
    notice: OnceCell<&'static AtomicU64>,
}

#[derive(Default)]
struct Tables {
    functions: Vec<&'static Function>,
    primitives: Vec<&'static Primitive>,
    exits: Vec<&'static ExitRecord>,
}

/// The index of an immortal thing in a table, which it is added to.
fn number<T>(table: &mut Vec<&'static T>, thing: &'static T) -> u32 {
    let known = table.iter().position(|other| std::ptr::eq(*other, thing));
    known.unwrap_or_else(|| {
        table.push(thing);
        table.len() - 1
    }) as u32
}

impl<'a> RuntimeFacts<'a> {
    /// The answers for code of this kind, which is to be installed.
    pub fn new(vm: &'static Vm, to: &Install<'a>, kind: CodeKind) -> RuntimeFacts<'a> {
        let (stubs, is_hardened) = (to.stubs, to.hardening.includes(kind));
        let (tables, notice) = (RefCell::default(), OnceCell::new());
        RuntimeFacts { vm, stubs, kind, is_hardened, tables, notice }
    }

    /// The number of a function.
    pub fn function_ref(&self, function: &'static Function) -> FunctionRef {
        FunctionRef(number(&mut self.tables.borrow_mut().functions, function))
    }

    /// The function with a number.
    pub fn of(&self, function: FunctionRef) -> &'static Function {
        self.tables.borrow().functions[function.index()]
    }

    /// The record of the exit with a number.
    pub fn exit(&self, number: usize) -> &'static ExitRecord {
        let exits = &mut self.tables.borrow_mut().exits;
        while exits.len() <= number {
            exits.push(Box::leak(Box::default()));
        }
        exits[number]
    }

    /// The unit's notice: see [`Symbol::Notice`].
    pub fn notice(&self) -> &'static AtomicU64 {
        self.notice.get_or_init(|| Box::leak(Box::default()))
    }

    /// Whether exits are reported.
    pub fn reports(&self) -> bool {
        tracing::reports_compilations(self.vm)
    }

    /// The functions by their numbers, and the names of the primitives by theirs.
    pub fn numbered(&self) -> (Vec<&'static Function>, Vec<&'static str>) {
        let tables = self.tables.borrow();
        let primitives = tables.primitives.iter().map(|primitive| primitive.name).collect();
        (tables.functions.clone(), primitives)
    }

    /// The name of the class whose instances have this layout.
    pub fn class_of(&self, layout: u32) -> Option<String> {
        classes::name_of_layout(self.vm, LayoutId::from_bits(layout))
    }

    fn seen(&self, entry: &CacheEntry) -> Seen {
        let mut tables = self.tables.borrow_mut();
        let action = match entry.action {
            lookup::Action::Method(function) => {
                Action::Method(FunctionRef(number(&mut tables.functions, function)))
            }
            lookup::Action::LoadSlot(index) => Action::LoadSlot(index),
            lookup::Action::LoadConstantSlot(index) => Action::LoadConstantSlot(index),
            lookup::Action::StoreSlot(index) => Action::StoreSlot(index),
            lookup::Action::LoadClass(index, _) => Action::LoadClass(index),
            lookup::Action::Answer(word) => Action::Answer(word.bits()),
            lookup::Action::AnswerReceiver => Action::AnswerReceiver,
            lookup::Action::Primitive(primitive) => {
                Action::Primitive(PrimitiveRef(number(&mut tables.primitives, primitive)))
            }
            lookup::Action::SlotIndex(index) => Action::SlotIndex(index),
            lookup::Action::Enclosing(path) if path.mixin.is_none() => {
                Action::Enclosing(class_path(path))
            }
            _ => Action::Other,
        };
        Seen { layout: entry.layout.bits(), action }
    }

    /// Operators and accesses to elements, which base code does without a lookup for these receivers.
    fn inline_receivers(&self, function: &Function, site: &Site) -> Vec<LayoutId> {
        let observed = site.feedback.load(Ordering::Relaxed);
        match selector(function, site) {
            "+" | "-" | "*" | "//" | "/" | "%" | "&" | "<" | "<=" | ">" | ">=" | "=" | "<>"
            | "~=" => {
                let doubles = feedback::DOUBLES | feedback::MIXED;
                let kinds = [
                    (feedback::INTEGERS, known::SMALL_INTEGER),
                    (doubles, known::IMMEDIATE_DOUBLE),
                ];
                let observed = kinds.into_iter().filter(|(bits, _)| observed & bits != 0);
                observed.map(|(_, layout)| layout).collect()
            }
            // Base code compares immediate receivers without a trace.
            "==" => vec![known::NIL],
            "at:" | "at:put:" if observed & feedback::ARRAY != 0 => vec![known::ARRAY],
            _ => Vec::new(),
        }
    }
}

/// The selector that a site sends; empty for other sites.
fn selector<'f>(function: &'f Function, site: &Site) -> &'f str {
    match function.bytecode().sites.get(site.index()) {
        Some(module::Site::Send { selector, .. }) => function.module.bytecode.string(*selector),
        _ => "",
    }
}

fn class_path(path: lookup::ClassPath) -> ClassPath {
    ClassPath {
        from_class: path.from_class,
        hops: path.hops,
        superclass: classes::SUPERCLASS as u32,
        enclosing: classes::ENCLOSING as u32,
    }
}

/// The entries of a site, the most recent one first.
fn entries(site: &Site) -> Vec<&'static CacheEntry> {
    let last = site.entry();
    let mut all = Vec::new();
    if last.layout != LayoutId::NONE {
        all.push(last);
    }
    if let Some(entries) = site.entries() {
        all.extend(entries.all().iter().copied().filter(|entry| entry.layout != last.layout));
    }
    all
}

/// Whether base code does some of a site's work without a record: operators, accesses to elements, primitives.
pub fn may_mislead(site: &Site) -> bool {
    let entries = entries(site);
    entries.is_empty()
        || entries.iter().any(|entry| matches!(entry.action, lookup::Action::Primitive(_)))
}

/// The site of the instruction at a pc.
pub fn site_at(function: &'static Function, pc: u32) -> Option<&'static Site> {
    function.sites.iter().find(|site| site.pc == pc)
}

/// What was observed in functions, in one number, which changes if more is observed.
pub fn observed(functions: &[&'static Function], kind: CodeKind) -> u64 {
    functions.iter().map(|function| observed_in(function, kind)).sum()
}

fn observed_in(function: &'static Function, kind: CodeKind) -> u64 {
    let sites = function.sites.iter().map(|site| {
        let count = site.entries().map_or(0, Entries::count) as u64;
        let bits = site.feedback.load(Ordering::Relaxed).count_ones();
        2 * count + u64::from(site.entry().layout != LayoutId::NONE) + u64::from(bits)
    });
    let ways = Code::of(function, kind).map_or(0, |code| {
        let ways = code.profile.iter().map(|ways| ways.load(Ordering::Relaxed).count_ones());
        ways.map(u64::from).sum()
    });
    sites.sum::<u64>() + ways
}

impl Facts for RuntimeFacts<'_> {
    fn function(&self, function: FunctionRef) -> &module::Function {
        self.of(function).bytecode()
    }

    fn may_be_inlined(&self, function: FunctionRef) -> bool {
        !self.of(function).native(self.kind).is_given_up()
    }

    fn frame_maps(&self, function: FunctionRef) -> &FrameMaps {
        self.of(function).frame_maps()
    }

    fn callee(&self, caller: FunctionRef, function: FunctionId) -> FunctionRef {
        let callee = self.of(caller).module.function(function);
        self.function_ref(callee)
    }

    fn site(&self, function: FunctionRef, pc: u32) -> SiteFacts {
        let function = self.of(function);
        let Some(site) = site_at(function, pc) else { return SiteFacts::default() };
        if Opcode::of_word(function.bytecode().code[pc as usize]) == Some(Opcode::Primitive) {
            let primitive = calls::primitive_of(site);
            let number = number(&mut self.tables.borrow_mut().primitives, primitive);
            let action = Action::Primitive(PrimitiveRef(number));
            let seen = vec![Seen { layout: known::NIL.bits(), action }];
            return SiteFacts { seen, numbers: numbers(site), ..self.observed_at(site) };
        }
        let entries = entries(site);
        let mut seen: Vec<Seen> = entries.iter().map(|entry| self.seen(entry)).collect();
        for layout in self.inline_receivers(function, site) {
            let is_new = seen.iter().all(|each| each.layout != layout.bits());
            if let Some(entry) = calls::find(self.vm, site, layout).filter(|_| is_new) {
                seen.push(self.seen(entry));
            }
        }
        let is_identity = selector(function, site) == "==";
        SiteFacts { seen, is_identity, ..self.observed_at(site) }
    }

    fn branch(&self, function: FunctionRef, pc: u32) -> BranchFacts {
        // A function without base code was executed by the interpreter, which records nothing.
        let Some(code) = Code::of(self.of(function), self.kind) else {
            return BranchFacts { taken: true, fell_through: true, otherwise: false };
        };
        let ways = code.ways(pc as usize);
        BranchFacts {
            taken: ways & way::TAKEN != 0,
            fell_through: ways & way::FELL_THROUGH != 0,
            otherwise: ways & way::OTHERWISE != 0,
        }
    }

    fn constant(&self, function: FunctionRef, constant: ConstantId) -> ConstantFact {
        let function = self.of(function);
        let cell = &function.constants[constant.index()];
        if let module::Constant::Raw(..) = function.bytecode().constants[constant.index()] {
            return ConstantFact::Raw(cell.bits());
        }
        match cell.word() {
            Word::UNSET => ConstantFact::Unmade,
            word if word.is_pointer() => ConstantFact::Object,
            word => ConstantFact::Word(word.bits()),
        }
    }

    fn primitive(&self, primitive: PrimitiveRef) -> &str {
        self.tables.borrow().primitives[primitive.index()].name
    }

    fn has_leaf(&self, primitive: PrimitiveRef) -> bool {
        self.tables.borrow().primitives[primitive.index()].leaf().is_some()
    }

    fn has_short_form(&self, primitive: PrimitiveRef) -> bool {
        self.tables.borrow().primitives[primitive.index()].short_form().is_some()
    }

    fn instance_layout(&self, class: u32) -> Option<u32> {
        classes::instance_layout(self.vm, LayoutId::from_bits(class)).map(LayoutId::bits)
    }

    fn array_layout(&self, class: u32) -> Option<u32> {
        classes::array_layout(self.vm, LayoutId::from_bits(class)).map(LayoutId::bits)
    }

    fn is_instance(&self, layout: u32, class: u32) -> Option<bool> {
        classes::is_instance(self.vm, LayoutId::from_bits(layout), LayoutId::from_bits(class))
    }

    fn layout_of_instances(&self, class: u32) -> Option<u32> {
        let layout = classes::layout_of_instances(self.vm, LayoutId::from_bits(class))?;
        Some(layout.bits())
    }

    fn slot_kind(&self, layout: u32, slot: u32) -> u32 {
        let cell = slot_kinds::cell(LayoutId::from_bits(layout), slot as usize);
        cell.map_or(slot_kinds::ANYTHING, |cell| cell.load(Ordering::Relaxed))
    }

    fn is_checked(&self, layout: u32) -> bool {
        values::is_checked(self.vm, LayoutId::from_bits(layout))
    }

    fn is_hot(&self, function: FunctionRef) -> bool {
        self.of(function).native(self.kind).is_hot()
    }

    fn is_guarded(&self) -> bool {
        self.kind == CodeKind::Guarded
    }

    fn machine(&self) -> MachineFacts {
        MachineFacts {
            limit: offset::LIMIT,
            window: offset::WINDOW_OF_OBJECTS,
            entry: offset::entry(self.kind),
            arguments: offset::ARGUMENTS,
            floor: offset::NATIVE_FLOOR,
            strand: offset::STRAND,
            strand_identity: offset::STRAND_IDENTITY,
            strand_wishes: offset::STRAND_WISHES,
            killed: offset::KILLED,
            fuel: (self.kind == CodeKind::Sandboxed).then_some(offset::FUEL),
            hardening: self
                .is_hardened
                .then(|| Hardening { place: offset::CODE_KEY, key: hashing::code_key() }),
        }
    }

    fn address(&self, symbol: Symbol) -> u64 {
        let address = match symbol {
            Symbol::Cell(Cell::Constant(function, index)) => {
                (&raw const self.of(function).constants[usize::from(index)]).addr()
            }
            Symbol::Cell(cell) => {
                let class = match cell {
                    Cell::BLOCK_CLASS => KnownClass::Block,
                    Cell::ARRAY_CLASS => KnownClass::Array,
                    _ => KnownClass::Object,
                };
                self.vm.known_class_cell(class)
            }
            Symbol::Characters => self.vm.character_cells(),
            Symbol::Primitive(primitive) => {
                let primitive: *const Primitive =
                    self.tables.borrow().primitives[primitive.index()];
                primitive.addr()
            }
            Symbol::SlotKind(layout, slot) => kind_cell(layout, slot).as_ptr().addr(),
            Symbol::Notice => self.notice().as_ptr().addr(),
            Symbol::Function(function) => std::ptr::from_ref(self.of(function)).addr(),
            Symbol::Site(function, pc) => {
                let site = site_at(self.of(function), pc).expect("a call has a site");
                std::ptr::from_ref(site).addr()
            }
            Symbol::Instruction(function, pc) => {
                (&raw const self.of(function).code[pc as usize]).addr()
            }
            Symbol::Exit(number) => std::ptr::from_ref(self.exit(number as usize)).addr(),
            Symbol::Helper(Helper::Exit) => self.stubs.exit,
            Symbol::Helper(Helper::MakingExit) => self.stubs.making_exit,
            Symbol::Helper(Helper::Enter) => self.stubs.slow_entry,
            Symbol::Helper(Helper::Send) => self.stubs.unit_send(self.kind),
            Symbol::Helper(Helper::Log) => self.stubs.log,
            Symbol::Helper(Helper::Leaf) => self.stubs.leaf,
            Symbol::Helper(Helper::ShortForm) => self.stubs.short_form,
            Symbol::Helper(Helper::Admit) => self.stubs.admit,
            Symbol::Helper(Helper::TakeMemory) => self.stubs.take_memory,
            Symbol::Helper(Helper::ChargeCopy) => self.stubs.charge_copy,
            Symbol::Helper(Helper::DrawFuel) => self.stubs.draw_fuel,
            Symbol::Helper(Helper::LoadGuardedSlot) => self.stubs.accesses.load_slot,
            Symbol::Helper(Helper::StoreGuardedSlot) => self.stubs.accesses.store_slot,
            Symbol::Helper(Helper::LoadGuardedElement) => self.stubs.accesses.load_element,
            Symbol::Helper(Helper::StoreGuardedElement) => self.stubs.accesses.store_element,
            Symbol::Helper(Helper::Instruction(opcode)) => {
                self.stubs.executors[executor(opcode) as usize]
            }
        };
        address as u64
    }
}

impl RuntimeFacts<'_> {
    /// What a site has observed beside receivers.
    fn observed_at(&self, site: &'static Site) -> SiteFacts {
        let observed = site.feedback.load(Ordering::Relaxed);
        SiteFacts {
            seen: Vec::new(),
            is_megamorphic: site.entries().is_some_and(|entries| entries.count() == MOST_ENTRIES),
            is_identity: false,
            numbers: numbers(site),
            closure: self.closure(site),
            distrusts: observed & feedback::DISTRUSTED != 0,
        }
    }

    /// The function of the closures that a site has evaluated, if it was one.
    fn closure(&self, site: &'static Site) -> Option<FunctionRef> {
        let evaluates = entries(site).into_iter().any(|entry| {
            matches!(entry.action, lookup::Action::Primitive(primitive) if primitive.shape == Shape::Evaluate)
        });
        let is_one = site.feedback.load(Ordering::Relaxed) & feedback::OTHERS == 0;
        let function = site.callee.load(Ordering::Relaxed) as *const Function;
        if !evaluates || !is_one {
            return None;
        }
        // SAFETY: at a site that evaluates closures, the cell has the address of a function, which is immortal, or null.
        let function = unsafe { function.as_ref() }?;
        Some(self.function_ref(function))
    }
}

/// The cell of a kind that the compiler has asked for.
pub fn kind_cell(layout: u32, slot: u32) -> &'static AtomicU32 {
    let cell = slot_kinds::cell(LayoutId::from_bits(layout), slot as usize);
    cell.expect("its kind was asked for")
}

fn numbers(site: &Site) -> Numbers {
    let observed = site.feedback.load(Ordering::Relaxed);
    let has = |bit| observed & bit != 0;
    Numbers {
        doubles: has(feedback::DOUBLES),
        mixed: has(feedback::MIXED),
        overflow: has(feedback::OTHERS),
        others: has(feedback::OTHERS),
    }
}

/// The helper that executes instructions with this opcode.
fn executor(opcode: u8) -> Execute {
    match Opcode::of_word(u32::from(opcode)) {
        Some(Opcode::Primitive) => Execute::Primitive,
        Some(Opcode::MakeClosure) => Execute::MakeClosure,
        Some(Opcode::MakeContext) => Execute::MakeContext,
        Some(Opcode::MakeHome) => Execute::MakeHome,
        Some(Opcode::MakeArray) => Execute::MakeArray,
        Some(Opcode::Instantiate) => Execute::Instantiate,
        Some(Opcode::CheckValue) => Execute::CheckValue,
        Some(Opcode::SendEventual | Opcode::SendEventualOnly) => Execute::SendEventually,
        _ => Execute::Any,
    }
}

/// The compiler repeats the heap's encoding, since it knows no heap.
const _: () = {
    use squall_compiler::words::{self, layouts};
    assert!(words::TAG_MASK == squall_heap::TAG_MASK);
    assert!(words::TAG_POINTER == squall_heap::TAG_POINTER);
    assert!(words::NIL_ALONE == slot_kinds::NIL_ALONE && words::ANYTHING == slot_kinds::ANYTHING);
    assert!(words::DOUBLE_BIT == squall_heap::DOUBLE_BIT);
    assert!(words::DOUBLE_ROTATION == squall_heap::DOUBLE_ROTATION);
    assert!(words::LAYOUT == squall_heap::LAYOUT_OFFSET as i32 - words::TAG_POINTER as i32);
    assert!(words::LAYOUT_SHIFT as usize == 8 * squall_heap::LAYOUT_OFFSET);
    assert!(words::CLASS == offset::CLASS && words::LENGTH == offset::LENGTH);
    assert!(words::FIRST_SLOT == offset::slot(0) && words::FIRST_ELEMENT == offset::element(0));
    assert!(words::HEADER == squall_heap::HEADER_OFFSET as i32 - words::TAG_POINTER as i32);
    assert!(words::LARGE_OBJECT as usize == squall_heap::LARGE_OBJECT);
    assert!(words::UNLOGGED == squall_heap::UNLOGGED);
    assert!(words::WIDE == Flag::First as u32 | Flag::Second as u32);
    assert!(layouts::STRING == known::STRING.bits() && layouts::SYMBOL == known::SYMBOL.bits());
    assert!(layouts::ARRAY == known::ARRAY.bits() && layouts::BLOCK == known::BLOCK.bits());
    assert!(layouts::CONTEXT == known::CONTEXT.bits() && layouts::HOME == known::HOME.bits());
};

#[cfg(test)]
mod tests {
    use squall_compiler::words;

    use super::*;

    #[test]
    fn special_words_are_those_of_the_heap() {
        let pairs = [
            (words::NIL, Word::NIL),
            (words::FALSE, Word::FALSE),
            (words::TRUE, Word::TRUE),
            (words::NO_ANSWER, Word::UNSET),
        ];
        assert!(pairs.iter().all(|(bits, word)| *bits == word.bits()));
    }
}
