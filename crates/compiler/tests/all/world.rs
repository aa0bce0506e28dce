//! A world without a virtual machine: a module of functions, what receivers do, and feedback. It answers the compiler's
//! questions.

use std::collections::HashMap;

use squall_bytecode::assembler;
use squall_bytecode::entities::{ConstantId, FunctionId};
use squall_bytecode::liveness::FrameMaps;
use squall_bytecode::module::{Constant, Function, Module, Site};
use squall_bytecode::verifier::{self, Trust};
use squall_compiler::facts::{
    Action, BranchFacts, ClassPath, ConstantFact, Facts, Hardening, Helper, MachineFacts, Seen,
    SiteFacts, Symbol,
};
use squall_compiler::ir::entities::{FunctionRef, PrimitiveRef};
use squall_compiler::ir::values::SlotKind;
use squall_compiler::words;

use crate::evaluator::{PAIR, TRIPLE};

/// What hardened code has: the key is any number.
pub const HARDENING: Hardening = Hardening { place: 48, key: 0x1234_5678_9ABC_DEF1 };

/// A module and what is known of its execution.
pub struct World {
    pub module: Module,
    maps: Vec<FrameMaps>,
    pub sites: HashMap<(u32, u32), SiteFacts>,
    pub branches: HashMap<(u32, u32), BranchFacts>,
    /// What a receiver of a layout does for a selector.
    pub actions: HashMap<(u32, String), Action>,
    pub primitives: Vec<String>,
    /// What the slots of layouts have held, where that is not nil alone.
    pub slot_kinds: HashMap<(u32, u32), u32>,
    /// The same when the feedback was recorded.
    pub recorded_kinds: HashMap<(u32, u32), u32>,
    /// Whether slots have objects at first, not numbers.
    pub has_objects: bool,
    pub hot: bool,
    /// Whether code is compiled with guarded accesses.
    pub is_guarded: bool,
    /// How code is hardened, if it is.
    pub hardening: Option<Hardening>,
}

impl World {
    /// The world of a module in the text form.
    pub fn of(text: &str) -> World {
        let module =
            assembler::assemble(text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
        if let Err(errors) = verifier::verify(&module, Trust::Trusted) {
            panic!("{errors:#?}\n{text}");
        }
        let maps = module.functions.iter().map(FrameMaps::compute).collect();
        World {
            module,
            maps,
            sites: HashMap::new(),
            branches: HashMap::new(),
            actions: HashMap::new(),
            primitives: Vec::new(),
            slot_kinds: HashMap::new(),
            recorded_kinds: HashMap::new(),
            has_objects: false,
            hot: false,
            is_guarded: false,
            hardening: None,
        }
    }

    /// Widens the kind of a slot so that it admits a word of a layout.
    pub fn admit(&mut self, layout: u32, slot: u32, word: u32) {
        let kind = self.slot_kinds.entry((layout, slot)).or_insert(words::NIL_ALONE);
        *kind = match word {
            words::layouts::NIL => *kind,
            _ if *kind == word => word,
            _ if *kind == words::NIL_ALONE && word & 7 == 0 && word >> 14 > 5 => word,
            _ => words::ANYTHING,
        };
    }

    /// Whether the kinds are still these.
    pub fn keeps(&self, kinds: &[SlotKind]) -> bool {
        kinds.iter().all(|kind| self.slot_kind(kind.layout, kind.slot) == kind.kind)
    }

    /// Whether a slot may hold a word of a layout.
    pub fn admits(&self, layout: u32, slot: u32, word: u32) -> bool {
        let kind = self.slot_kind(layout, slot);
        kind == words::ANYTHING || kind == word || word == words::layouts::NIL
    }

    /// The number of a primitive.
    pub fn primitive_of(&mut self, name: &str) -> PrimitiveRef {
        let known = self.primitives.iter().position(|each| each == name);
        let index = known.unwrap_or_else(|| {
            self.primitives.push(name.to_owned());
            self.primitives.len() - 1
        });
        PrimitiveRef(index as u32)
    }

    /// The selector of the send at a place.
    pub fn selector(&self, function: u32, site: u16) -> &str {
        match &self.module.functions[function as usize].sites[usize::from(site)] {
            Site::Send { selector, .. } => self.module.string(*selector),
            _ => "",
        }
    }

    /// An action in words: `method:f2`, `slot:1`, `store:1`, `enclosing:1`, `receiver`, `answer:nil`, or a primitive.
    pub fn action_of(&mut self, text: &str) -> Action {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let number = || rest.trim_start_matches('f').parse().expect("a number");
        match kind {
            "method" => Action::Method(FunctionRef(number())),
            "slot" => Action::LoadSlot(number()),
            "store" => Action::StoreSlot(number()),
            "index" => Action::SlotIndex(number()),
            "enclosing" => {
                let hops = number();
                Action::Enclosing(ClassPath {
                    from_class: false,
                    hops,
                    superclass: 1,
                    enclosing: 2,
                })
            }
            "receiver" => Action::AnswerReceiver,
            "answer" => Action::Answer(words::NIL),
            "other" => Action::Other,
            _ => Action::Primitive(self.primitive_of(text)),
        }
    }

    /// The name of a layout: `int`, `double`, `nil`, `array`, `block`, or its bits.
    pub fn layout_of(text: &str) -> u32 {
        match text {
            "int" => words::layouts::INTEGER,
            "double" => words::layouts::DOUBLE,
            "nil" => words::layouts::NIL,
            "true" => words::layouts::TRUE,
            "false" => words::layouts::FALSE,
            "array" => words::layouts::ARRAY,
            "block" => words::layouts::BLOCK,
            bits => u32::from_str_radix(bits, 16).expect("the bits of a layout"),
        }
    }

    /// A line of feedback, as golden files have it.
    pub fn fact(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "guarded" {
            self.is_guarded = true;
            return;
        }
        if words[0] == "hardened" {
            self.hardening = Some(HARDENING);
            return;
        }
        if words[0] == "hot" {
            self.hot = true;
            return;
        }
        let key = (words[1][1..].parse().expect("a function"), words[2].parse().expect("a pc"));
        match words[0] {
            "site" => {
                let mut site = SiteFacts::default();
                for word in &words[3..] {
                    self.site_fact(&mut site, word);
                }
                self.sites.insert(key, site);
            }
            "branch" => {
                let has = |word| words.contains(&word);
                let facts = BranchFacts {
                    taken: has("taken"),
                    fell_through: has("fell"),
                    otherwise: has("otherwise"),
                };
                self.branches.insert(key, facts);
            }
            other => panic!("{other} is no fact"),
        }
    }

    fn site_fact(&mut self, site: &mut SiteFacts, word: &str) {
        match word.split_once('=') {
            Some(("closure", function)) => {
                site.closure = Some(FunctionRef(function[1..].parse().expect("a function")));
            }
            Some((layout, action)) => {
                let action = self.action_of(action);
                site.seen.push(Seen { layout: World::layout_of(layout), action });
            }
            None => match word {
                "megamorphic" => site.is_megamorphic = true,
                "doubles" => site.numbers.doubles = true,
                "mixed" => site.numbers.mixed = true,
                "overflow" => site.numbers.overflow = true,
                "others" => site.numbers.others = true,
                "distrusts" => site.distrusts = true,
                other => panic!("{other} is no fact of a site"),
            },
        }
    }
}

impl Facts for World {
    fn function(&self, function: FunctionRef) -> &Function {
        &self.module.functions[function.index()]
    }

    fn may_be_inlined(&self, _function: FunctionRef) -> bool {
        true
    }

    fn frame_maps(&self, function: FunctionRef) -> &FrameMaps {
        &self.maps[function.index()]
    }

    fn callee(&self, _caller: FunctionRef, function: FunctionId) -> FunctionRef {
        FunctionRef(function.0)
    }

    fn site(&self, function: FunctionRef, pc: u32) -> SiteFacts {
        self.sites.get(&(function.0, pc)).cloned().unwrap_or_default()
    }

    fn branch(&self, function: FunctionRef, pc: u32) -> BranchFacts {
        self.branches.get(&(function.0, pc)).copied().unwrap_or_default()
    }

    fn constant(&self, function: FunctionRef, constant: ConstantId) -> ConstantFact {
        match &self.function(function).constants[constant.index()] {
            Constant::Integer(value) => {
                let small = i64::try_from(value).ok().and_then(words::integer_word);
                small.map_or(ConstantFact::Object, ConstantFact::Word)
            }
            Constant::Double(value) => {
                words::double_word(*value).map_or(ConstantFact::Object, ConstantFact::Word)
            }
            Constant::Raw(_, bits) => ConstantFact::Raw(*bits),
            Constant::String(_) | Constant::Symbol(_) => ConstantFact::Object,
        }
    }

    fn primitive(&self, primitive: PrimitiveRef) -> &str {
        &self.primitives[primitive.index()]
    }

    fn has_leaf(&self, primitive: PrimitiveRef) -> bool {
        let name = &self.primitives[primitive.index()];
        name.starts_with("number:") || name == "identical:to:"
    }

    fn has_short_form(&self, _primitive: PrimitiveRef) -> bool {
        false
    }

    fn instance_layout(&self, class: u32) -> Option<u32> {
        (class == CLASS).then_some(INSTANCE)
    }

    fn layout_of_instances(&self, _class: u32) -> Option<u32> {
        None
    }

    fn array_layout(&self, _class: u32) -> Option<u32> {
        None
    }

    fn is_instance(&self, layout: u32, class: u32) -> Option<bool> {
        (class == CLASS).then_some(layout == INSTANCE)
    }

    fn slot_kind(&self, layout: u32, slot: u32) -> u32 {
        if ![INSTANCE, PAIR, TRIPLE].contains(&layout) {
            return words::ANYTHING;
        }
        self.slot_kinds.get(&(layout, slot)).copied().unwrap_or(words::NIL_ALONE)
    }

    fn is_checked(&self, _layout: u32) -> bool {
        true
    }

    fn is_guarded(&self) -> bool {
        self.is_guarded
    }

    fn is_hot(&self, _function: FunctionRef) -> bool {
        self.hot
    }

    fn machine(&self) -> MachineFacts {
        MachineFacts {
            limit: 8,
            entry: 0,
            arguments: 4,
            floor: 24,
            window: 32,
            strand: 40,
            strand_identity: 0,
            strand_wishes: 8,
            killed: 1,
            fuel: None,
            hardening: self.hardening,
        }
    }

    /// Addresses that tell apart what they belong to: the uppermost four bits are the kind.
    fn address(&self, symbol: Symbol) -> u64 {
        let (base, offset) = match symbol {
            Symbol::Cell(_) => (CELL, 0),
            Symbol::Function(function) => (FUNCTION, u64::from(function.0)),
            Symbol::Site(function, pc) => (SITE, u64::from(function.0) << 16 | u64::from(pc)),
            Symbol::Instruction(function, pc) => {
                (PLACE, u64::from(function.0) << 16 | u64::from(pc))
            }
            Symbol::Characters => panic!("the programs have no texts"),
            Symbol::Primitive(primitive) => (PRIMITIVE, u64::from(primitive.0)),
            Symbol::SlotKind(layout, slot) => {
                (SLOT_KIND, u64::from(layout) << 10 | u64::from(slot))
            }
            Symbol::Notice => (NOTICE, 0),
            Symbol::Exit(number) => (EXIT, u64::from(number)),
            Symbol::Helper(Helper::Instruction(opcode)) => (INSTRUCTION, u64::from(opcode)),
            Symbol::Helper(helper) => (HELPER, helper_number(helper)),
        };
        base << KIND_SHIFT | offset << 6
    }
}

/// The layout of a class object, and that of its instances.
pub const CLASS: u32 = 50 << 14 | 5 << 4;
/// See [`CLASS`].
pub const INSTANCE: u32 = 51 << 14 | 2 << 4;

/// Where an address has its kind.
pub const KIND_SHIFT: u32 = 60;
/// Kinds of addresses.
pub const CELL: u64 = 1;
/// See [`CELL`].
pub const FUNCTION: u64 = 2;
/// See [`FUNCTION`].
pub const PLACE: u64 = 3;
/// See [`FUNCTION`].
pub const SITE: u64 = 4;
/// See [`FUNCTION`].
pub const EXIT: u64 = 5;
/// See [`FUNCTION`].
pub const HELPER: u64 = 6;
/// See [`FUNCTION`].
pub const INSTRUCTION: u64 = 7;

/// See [`FUNCTION`].
pub const PRIMITIVE: u64 = 12;

/// See [`FUNCTION`].
pub const SLOT_KIND: u64 = 14;
/// See [`FUNCTION`].
pub const NOTICE: u64 = 15;

/// The number of a helper in its address.
pub fn helper_number(helper: Helper) -> u64 {
    match helper {
        Helper::Exit => 1,
        Helper::Enter => 2,
        Helper::Send => 3,
        Helper::Log => 4,
        Helper::Instruction(_) => 5,
        Helper::Leaf => 6,
        Helper::MakingExit => 7,
        Helper::LoadGuardedSlot => 8,
        Helper::StoreGuardedSlot => 9,
        Helper::LoadGuardedElement => 10,
        Helper::StoreGuardedElement => 11,
        Helper::Admit => 12,
        Helper::DrawFuel => 13,
        Helper::ShortForm => 14,
        Helper::TakeMemory => 15,
        Helper::ChargeCopy => 16,
    }
}
