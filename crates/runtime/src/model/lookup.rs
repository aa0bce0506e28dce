//! Lookup: finds the action of a site for a receiver's layout, and keeps the caches in between. Tiers call it after a
//! miss.
//!
//! A result is an immutable, immortal [`CacheEntry`]. Sites remember the last two they used; all
//! results are in one table keyed by layout and question, so a site that sees many classes still
//! pays one hash probe, and two sites that ask the same share an entry.
//!
//! The rules are Newspeak's in SOMns's reading: a message reaches
//!
//! | access | members | search starts at |
//! |---|---|---|
//! | public | public; others are skipped | the receiver's class |
//! | lexical | public and protected | the receiver's class |
//! | private | the private one of the sender's text, never overridden | the class with that text |
//! | super | public and protected | above the class with the sender's text |
//! | initializers | the initializer, if the message names the primary factory | as for super |

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use parking_lot::RwLock;
use squall_bytecode::entities::ClassId;
use squall_bytecode::module::{Access, Side, Site as SiteDescription};
use squall_heap::{LayoutId, Word};

use crate::model::behavior::{Behavior, Member, MemberKind, SlotContent};
use crate::model::function::{Function, Shortcut};
use crate::model::known::KnownClass;
use crate::model::module::{Definition, LoadedModule};
use crate::model::primitive::{Primitive, Shape};
use crate::model::symbols::Symbol;

/// The action of a site for receivers of one layout.
#[repr(C)]
pub struct CacheEntry {
    /// The receivers' layout.
    pub layout: LayoutId,
    /// The simple actions once more, as machine code reads them.
    pub simple: Simple,
    /// The operand of a simple action: the address of a function, the index of a slot, a word.
    pub operand: u64,
    /// The action.
    pub action: Action,
}

/// What machine code does itself after a lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Simple {
    /// Something else.
    None,
    /// [`Action::Method`].
    Method,
    /// [`Action::LoadSlot`], and [`Action::LoadConstantSlot`].
    LoadSlot,
    /// [`Action::Answer`].
    Answer,
    /// [`Action::AnswerReceiver`].
    AnswerReceiver,
    /// A primitive that evaluates the receiver, which is a closure.
    Evaluate,
    /// Another primitive; its operand is the primitive's address.
    Primitive,
    /// [`Action::LoadClass`], if the slot has its class object already; its operand is the index.
    LoadClass,
}

impl Action {
    /// The action as machine code reads it.
    const fn simple(&self) -> Simple {
        match self {
            Action::Method(_) => Simple::Method,
            Action::LoadSlot(_) | Action::LoadConstantSlot(_) => Simple::LoadSlot,
            Action::Answer(_) => Simple::Answer,
            Action::AnswerReceiver => Simple::AnswerReceiver,
            Action::LoadClass(..) => Simple::LoadClass,
            Action::Primitive(primitive) if matches!(primitive.shape, Shape::Evaluate) => {
                Simple::Evaluate
            }
            Action::Primitive(_) => Simple::Primitive,
            _ => Simple::None,
        }
    }

    fn operand(&self) -> u64 {
        match *self {
            Action::Method(function) => std::ptr::from_ref(function) as u64,
            Action::LoadSlot(index)
            | Action::LoadConstantSlot(index)
            | Action::LoadClass(index, _) => u64::from(index),
            Action::Answer(word) => word.bits(),
            Action::Primitive(primitive) => std::ptr::from_ref(primitive) as u64,
            _ => 0,
        }
    }
}

/// The action of a site, given the receiver's layout.
#[derive(Clone, Copy)]
pub enum Action {
    /// Runs a method.
    Method(&'static Function),
    /// Answers the slot with this index.
    LoadSlot(u32),
    /// Answers the slot with this index, which nothing assigns.
    LoadConstantSlot(u32),
    /// Stores the argument into the slot with this index and answers it.
    StoreSlot(u32),
    /// Answers the class object in the slot with this index; if there is none, runs the accessor.
    LoadClass(u32, &'static Function),
    /// Answers an immediate object.
    Answer(Word),
    /// Answers the receiver.
    AnswerReceiver,
    /// Runs a primitive on receiver and arguments.
    Primitive(&'static Primitive),
    /// Makes an array of the size that the argument tells, of the receiver's class.
    InitializeArray,
    /// Nothing was found: `doesNotUnderstand:arguments:`.
    Missing,
    /// Answers the object around the class that is found on this path.
    Enclosing(ClassPath),
    /// Answers the captured variables of the class that is found on this path.
    Captures(ClassPath),
    /// The index of a slot.
    SlotIndex(u32),
}

/// The path to a class object, from an object's class, or on the class side from the object itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassPath {
    /// Superclass steps.
    pub hops: u32,
    /// Then the mixin with this index, if any.
    pub mixin: Option<u32>,
    /// Whether the path starts at the object itself.
    pub from_class: bool,
}

static EMPTY: CacheEntry = CacheEntry {
    layout: LayoutId::NONE,
    simple: Simple::None,
    operand: 0,
    action: Action::Missing,
};

impl CacheEntry {
    /// The entry of a site that was not used yet: no object has its layout.
    pub const fn empty() -> &'static CacheEntry {
        &EMPTY
    }

    fn new(layout: LayoutId, action: Action) -> CacheEntry {
        CacheEntry { layout, simple: action.simple(), operand: action.operand(), action }
    }
}

/// A query about a layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    Public(Symbol),
    Lexical(Symbol),
    /// A site of a module, by the addresses of module and site description: equal descriptions
    /// may have two entries, which costs only memory.
    Described(usize, SiteKey),
}

/// A site description with its names interned.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum SiteKey {
    Bound(Symbol, Access),
    Enclosing(ClassId, Side),
    Captures(ClassId),
    Slot(ClassId, Symbol),
    Class(ClassId),
}

/// All results so far.
#[derive(Default)]
pub struct LookupTable {
    entries: RwLock<HashMap<(u32, Question), &'static CacheEntry>>,
    /// How often a site asked here: the misses of inline caches.
    pub misses: AtomicU64,
}

impl LookupTable {
    /// The action of the site with this description for receivers of this behavior.
    ///
    /// `layout` is the receiver's own, which may be another than the behavior's (boxed numbers).
    pub fn site(
        &self,
        layout: LayoutId,
        behavior: &'static Behavior,
        module: &'static LoadedModule,
        site: &SiteDescription,
    ) -> &'static CacheEntry {
        let question = question(module, site);
        self.find(layout, question, || resolve(behavior, module, site))
    }

    /// The action of an ordinary message for receivers of this behavior.
    pub fn public(
        &self,
        layout: LayoutId,
        behavior: &'static Behavior,
        selector: Symbol,
    ) -> &'static CacheEntry {
        self.find(layout, Question::Public(selector), || {
            resolve_send(behavior, None, selector, Access::Public)
        })
    }

    /// The action of a message of the VM, which also reaches protected members.
    pub fn lexical(
        &self,
        layout: LayoutId,
        behavior: &'static Behavior,
        selector: Symbol,
    ) -> &'static CacheEntry {
        self.find(layout, Question::Lexical(selector), || {
            resolve_send(behavior, None, selector, Access::Lexical)
        })
    }

    fn find(
        &self,
        layout: LayoutId,
        question: Question,
        resolve: impl FnOnce() -> Action,
    ) -> &'static CacheEntry {
        let key = (layout.bits(), question);
        if let Some(&entry) = self.entries.read().get(&key) {
            return entry;
        }
        // Resolving may link functions; doing it outside the lock keeps the lock a leaf.
        let entry: &'static CacheEntry = Box::leak(Box::new(CacheEntry::new(layout, resolve())));
        self.entries.write().entry(key).or_insert(entry)
    }
}

fn question(module: &'static LoadedModule, site: &SiteDescription) -> Question {
    let key = match *site {
        SiteDescription::Send { selector, access } => {
            let selector = module.symbol(selector);
            match access {
                Access::Public => return Question::Public(selector),
                Access::Lexical => return Question::Lexical(selector),
                _ => SiteKey::Bound(selector, access),
            }
        }
        SiteDescription::Enclosing(class, side) => SiteKey::Enclosing(class, side),
        SiteDescription::Captures(class) => SiteKey::Captures(class),
        SiteDescription::InitializeSlot(class, name) => SiteKey::Slot(class, module.symbol(name)),
        SiteDescription::ClassSlot(class) => SiteKey::Class(class),
    };
    Question::Described(std::ptr::from_ref(module) as usize, key)
}

fn resolve(
    behavior: &'static Behavior,
    module: &'static LoadedModule,
    site: &SiteDescription,
) -> Action {
    match *site {
        SiteDescription::Send { selector, access } => {
            resolve_send(behavior, Some(module), module.symbol(selector), access)
        }
        SiteDescription::Enclosing(class, side) => path(behavior, module.definition(class), side)
            .map_or(Action::Missing, Action::Enclosing),
        SiteDescription::Captures(class) => {
            path(behavior, module.definition(class), Side::Instance)
                .map_or(Action::Missing, Action::Captures)
        }
        SiteDescription::InitializeSlot(class, name) => {
            let definition = module.definition(class);
            let content = definition.slot_named(module.symbol(name));
            content.map_or(Action::Missing, |content| own_slot(behavior, definition, content))
        }
        SiteDescription::ClassSlot(class) => {
            let nested = module.definition(class);
            let content = SlotContent::Class(std::ptr::from_ref(nested) as usize);
            nested.outer.map_or(Action::Missing, |outer| own_slot(behavior, outer, content))
        }
    }
}

fn path(behavior: &'static Behavior, definition: &Definition, side: Side) -> Option<ClassPath> {
    let (hops, found) = behavior.find(definition, side)?;
    let mixin = match found.definition == definition {
        true => None,
        false => found.mixins.iter().position(|&mixin| mixin == definition),
    };
    Some(ClassPath {
        hops: hops as u32,
        mixin: mixin.map(|index| index as u32),
        from_class: side == Side::Class,
    })
}

fn own_slot(behavior: &'static Behavior, definition: &Definition, content: SlotContent) -> Action {
    let found = behavior.find(definition, Side::Instance);
    let index = found.and_then(|(_, owner)| owner.slot_index(content));
    index.map_or(Action::Missing, |index| Action::SlotIndex(index as u32))
}

fn resolve_send(
    behavior: &'static Behavior,
    module: Option<&'static LoadedModule>,
    selector: Symbol,
    access: Access,
) -> Action {
    use squall_bytecode::module::Visibility::{Protected, Public};
    let definition = |id: ClassId| module.map(|module| module.definition(id));
    let bound = |id, side| behavior.find(definition(id)?, side).map(|(_, found)| found);
    let found = match access {
        Access::Public => visible_member(behavior, selector, Public, Factories::Own),
        Access::Lexical => visible_member(behavior, selector, Protected, Factories::Own),
        Access::Private(id, side) => definition(id)
            .and_then(|text| bound(id, side).and_then(|owner| owner.member_of(selector, text))),
        Access::Super(id, side) => bound(id, side)
            .and_then(|owner| owner.superclass())
            .and_then(|start| visible_member(start, selector, Protected, Factories::All)),
        _ => return resolve_initializer(behavior, module, selector, access),
    };
    found.map_or(Action::Missing, |member| action_of(behavior, member))
}

/// Which primary factories a search finds.
#[derive(Clone, Copy, PartialEq)]
enum Factories {
    /// Only that of the class where it starts: factories are not inherited.
    Own,
    /// Any, for `super` sends.
    All,
}

fn visible_member(
    start: &'static Behavior,
    selector: Symbol,
    least: squall_bytecode::module::Visibility,
    factories: Factories,
) -> Option<&'static Member> {
    let inherited_factory = |behavior: &'static Behavior, member: &Member| {
        matches!(member.kind, MemberKind::Factory(_))
            && factories == Factories::Own
            && !std::ptr::eq(behavior, start)
    };
    start.chain().find_map(|behavior| {
        let member = behavior.member(selector)?;
        (member.visibility >= least && !inherited_factory(behavior, member)).then_some(member)
    })
}

fn resolve_initializer(
    behavior: &'static Behavior,
    module: Option<&'static LoadedModule>,
    selector: Symbol,
    access: Access,
) -> Action {
    let owner = |id| {
        let definition = module?.definition(id);
        behavior.find(definition, Side::Instance).map(|(_, owner)| (definition, owner))
    };
    let chosen = match access {
        Access::Initializer(id) => owner(id).map(|(definition, _)| (definition, false)),
        Access::OwnInitializer(id) => owner(id).map(|(definition, _)| (definition, true)),
        Access::SuperInitializer(id) => owner(id)
            .and_then(|(_, owner)| owner.superclass())
            .map(|superclass| (superclass.definition, false)),
        Access::MixinInitializer(id, index) => owner(id)
            .and_then(|(_, owner)| owner.mixins.get(usize::from(index)).copied())
            .map(|mixin| (mixin, true)),
        _ => None,
    };
    let Some((definition, own)) = chosen else { return Action::Missing };
    if definition.factory_selector != selector {
        return Action::Missing;
    }
    if !own && definition.known().is_some_and(|known| known.is_array()) {
        return Action::InitializeArray;
    }
    let class = definition.bytecode();
    let id = if own { class.own_initializer } else { class.initializer };
    // The classes at the root initialise nothing, and most objects have no other superclass.
    let is_root = !own && definition.known().is_some_and(KnownClass::initializes_nothing);
    let function = definition.module.function(id);
    if is_root || own && function.answers_receiver() {
        return Action::AnswerReceiver;
    }
    Action::Method(function)
}

fn action_of(receiver: &Behavior, member: &Member) -> Action {
    match member.kind {
        MemberKind::Method(id) | MemberKind::Factory(id) => {
            let function = member.definition.module.function(id);
            match function.shortcut {
                Some(Shortcut::Primitive(primitive)) => Action::Primitive(primitive),
                Some(Shortcut::Immediate(word)) => Action::Answer(word),
                None => Action::Method(function),
            }
        }
        MemberKind::SlotReader(index) if receiver.slots[index].mutable => {
            Action::LoadSlot(index as u32)
        }
        MemberKind::SlotReader(index) => Action::LoadConstantSlot(index as u32),
        MemberKind::SlotWriter(index) => Action::StoreSlot(index as u32),
        MemberKind::NestedClass(index, id) => {
            let module = member.definition.module;
            match module.bytecode.class(id).accessor {
                Some(accessor) => Action::LoadClass(index as u32, module.function(accessor)),
                None => Action::Missing,
            }
        }
    }
}
