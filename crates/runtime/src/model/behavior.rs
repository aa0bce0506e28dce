//! Behaviors: the common part of all class objects of one definition with the same superclass and mixins. Lookup and
//! instantiation read them.
//!
//! A class definition produces a class object for every enclosing object. Their instances have the
//! same slots and methods as long as the superclasses agree, so layout and members live here, in
//! one [`Behavior`] per (definition, superclass's behavior, mixins), and inline caches, which
//! compare layouts, see one class where there are a thousand class objects.
//!
//! Mixins are flattened: a class gets the own slots and methods of each mixin, later ones before
//! earlier ones, its own body before all. Slots of the same name among mixins and body share one
//! cell, unless they are private. (SOMns does the same, for private slots as well; in the Newspeak specification a mixin
//! application is a class of its own.) A private slot belongs to its own text: a text that declares the name once more
//! has a slot of its own, so it neither reads nor replaces the contents. Private members of an overridden mixin stay
//! reachable for that mixin's own text.
//!
//! Behaviors are immortal; their number is bounded by the program's text.

use std::collections::HashMap;
use std::sync::OnceLock;

use squall_bytecode::entities::{ClassId, FunctionId};
use squall_bytecode::module::{Side, Visibility};
use squall_heap::{Format, LayoutId};

use crate::model::known::KnownClass;
use crate::model::module::Definition;
use crate::model::symbols::Symbol;

/// Slots of class objects, which have fixed places: see [`crate::objects::classes`].
pub const CLASS_OBJECT_SLOTS: usize = 5;

/// Layout and members of one side of a class.
pub struct Behavior {
    /// The definition whose body this is.
    pub definition: &'static Definition,
    /// Which half of the body.
    pub side: Side,
    /// The next behavior of the lookup; set once, for the root's class side after the fact.
    above: OnceLock<&'static Behavior>,
    /// The definitions applied as mixins, in order; none on the class side.
    pub mixins: Box<[&'static Definition]>,
    /// The layout of instances.
    pub layout: LayoutId,
    /// All data slots of instances, inherited ones first.
    pub slots: Vec<SlotCell>,
    /// The members declared here: for each selector the one in force first.
    pub members: HashMap<Symbol, Vec<Member>>,
    /// Whether instances are values, if all they hold is.
    pub is_value: bool,
    /// Whether instances travel between vats by copy.
    pub is_transfer: bool,
    /// The behavior of the class object; none for class sides.
    pub class_side: OnceLock<&'static Behavior>,
    /// The behavior of the class object's instances; none but for class sides.
    pub instance_side: OnceLock<&'static Behavior>,
}

/// A slot's place in instances.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotCell {
    /// The use of the cell.
    pub content: SlotContent,
    /// Whether a setter exists.
    pub mutable: bool,
    /// Whether it is inherited from the superclass.
    pub inherited: bool,
}

/// The contents of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotContent {
    /// A declared slot of this name, which is not private.
    Data(Symbol),
    /// A declared slot of this name that is private to the definition with this address.
    Private(Symbol, usize),
    /// The class object of a nested class, by the definition's address.
    Class(usize),
    /// In exceptions, the activations at the time of their signal: see [`crate::execution::stack_traces`].
    Trace,
}

impl SlotContent {
    /// Whether a program's text declares the slot, so that its initializer fills it.
    pub fn is_data(self) -> bool {
        self.name().is_some()
    }

    /// The name that a program's text declares.
    pub fn name(self) -> Option<Symbol> {
        match self {
            SlotContent::Data(name) | SlotContent::Private(name, _) => Some(name),
            SlotContent::Class(_) | SlotContent::Trace => None,
        }
    }
}

/// Something a message can reach.
#[derive(Clone, Copy)]
pub struct Member {
    /// The definition whose text declares it.
    pub definition: &'static Definition,
    /// The visibility of the message.
    pub visibility: Visibility,
    /// The member's action.
    pub kind: MemberKind,
}

/// The action of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberKind {
    /// Runs a function of the definition's module.
    Method(FunctionId),
    /// Runs the primary factory, which subclasses do not inherit.
    Factory(FunctionId),
    /// Answers the slot with this index.
    SlotReader(usize),
    /// Assigns the slot with this index.
    SlotWriter(usize),
    /// Answers the nested class, whose class object is in the slot with this index.
    NestedClass(usize, ClassId),
}

/// Why a class cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BehaviorFault {
    /// More slots than an object can have.
    TooLarge,
    /// More classes than there are layouts.
    TooMany,
    /// The superclass's instances have a form the VM fixes, which has no room for slots.
    SlotsInVmFormat,
    /// A value class with a mutable slot.
    MutableValue,
    /// Both a value and a transfer object.
    ValueAndTransfer,
}

impl Behavior {
    /// The instance side of a class with this superclass and these mixins.
    pub(crate) fn instance_side(
        definition: &'static Definition,
        superclass: Option<&'static Behavior>,
        mixins: &[&'static Definition],
        number: u32,
    ) -> Result<Behavior, BehaviorFault> {
        let mut builder = Builder::new(superclass);
        for &source in mixins.iter().chain(std::iter::once(&definition)) {
            builder.add_instance_members(source);
        }
        if definition.known() == Some(KnownClass::Exception) {
            builder.cell(SlotContent::Trace, false);
        }
        let marks = Marks::of(definition, superclass, mixins);
        if marks.is_value && marks.is_transfer {
            return Err(BehaviorFault::ValueAndTransfer);
        }
        if marks.is_value && builder.slots.iter().any(|slot| slot.mutable) {
            return Err(BehaviorFault::MutableValue);
        }
        let custom = builder.redefines_inlined_messages(definition, superclass);
        let layout = instance_layout(definition, superclass, builder.slots.len(), custom, number)?;
        Ok(Behavior {
            definition,
            side: Side::Instance,
            above: cell(superclass),
            mixins: mixins.into(),
            layout,
            slots: builder.slots,
            members: builder.members,
            is_value: marks.is_value,
            is_transfer: marks.is_transfer,
            class_side: OnceLock::new(),
            instance_side: OnceLock::new(),
        })
    }

    /// About how many bytes it takes, with its entries in tables.
    pub(crate) fn bytes(&self) -> usize {
        const ENTRIES: usize = 512;
        let (slots, members) = (self.slots.len(), self.members.len());
        ENTRIES
            + size_of::<Behavior>()
            + 2 * (slots * size_of::<SlotCell>() + members * size_of::<Member>())
    }

    /// The class side that goes with an instance side; `superclass` is that of the superclass, or
    /// for the root class the instance side of `Class`.
    pub(crate) fn class_side(
        instances: &Behavior,
        superclass: Option<&'static Behavior>,
        number: u32,
    ) -> Result<Behavior, BehaviorFault> {
        let mut builder = Builder::new(None);
        builder.add_class_members(instances.definition);
        let layout = LayoutId::new(Format::Slots, CLASS_OBJECT_SLOTS as u32, false, number);
        Ok(Behavior {
            definition: instances.definition,
            side: Side::Class,
            above: cell(superclass),
            mixins: [].into(),
            layout: layout.ok_or(BehaviorFault::TooMany)?,
            slots: Vec::new(),
            members: builder.members,
            is_value: false,
            is_transfer: false,
            class_side: OnceLock::new(),
            instance_side: OnceLock::new(),
        })
    }

    /// The next behavior of the lookup.
    pub fn superclass(&self) -> Option<&'static Behavior> {
        self.above.get().copied()
    }

    /// Puts the root's class side below the instance side of `Class`, which is made later.
    pub(crate) fn set_superclass(&self, superclass: &'static Behavior) {
        _ = self.above.set(superclass);
    }

    /// This behavior and those above it.
    pub fn chain(&'static self) -> impl Iterator<Item = &'static Behavior> {
        std::iter::successors(Some(self), |behavior| behavior.superclass())
    }

    /// Whether this definition's text is part of this class: its own, or that of a mixin.
    pub fn applies(&self, definition: &Definition) -> bool {
        self.definition == definition || self.mixins.contains(&definition)
    }

    /// The definitions whose texts are part of this class.
    pub fn parts(&self) -> impl Iterator<Item = &'static Definition> {
        std::iter::once(self.definition).chain(self.mixins.iter().copied())
    }

    /// How far up the chain this definition's text is part of a class, and that class.
    ///
    /// Only behaviors of that side count: a class object is an instance of `Class`, and the class
    /// sides before that in its chain are no class objects on the way.
    pub fn find(
        &'static self,
        definition: &Definition,
        side: Side,
    ) -> Option<(usize, &'static Behavior)> {
        let of_side = self.chain().filter(|behavior| behavior.side == side);
        of_side.enumerate().find(|(_, behavior)| behavior.applies(definition))
    }

    /// The member in force for a selector.
    pub fn member(&self, selector: Symbol) -> Option<&Member> {
        self.members.get(&selector).and_then(|members| members.first())
    }

    /// The member that this definition's text declares.
    pub fn member_of(&self, selector: Symbol, definition: &Definition) -> Option<&Member> {
        let members = self.members.get(&selector)?;
        members.iter().find(|member| member.definition == definition)
    }

    /// The index of a slot.
    pub fn slot_index(&self, content: SlotContent) -> Option<usize> {
        self.slots.iter().rposition(|slot| slot.content == content)
    }

    /// The slot of this name, whoever may use it.
    pub fn slot_of_name(&self, name: Symbol) -> Option<usize> {
        self.slots.iter().rposition(|slot| slot.content.name() == Some(name))
    }

    /// The known class this is or inherits from most closely.
    pub fn known(&'static self) -> Option<KnownClass> {
        self.chain().find_map(|behavior| behavior.definition.known())
    }

    /// The index of the slot with this name that the class's own text declares, or that others share.
    pub fn slot_named(&self, name: Symbol) -> Option<usize> {
        let content = self.definition.slot_named(name).unwrap_or(SlotContent::Data(name));
        self.slot_index(content)
    }

    /// The class's name, for traces and `asString`.
    pub fn name(&self) -> &'static str {
        self.definition.name_text()
    }

    /// The class's name, with the side.
    pub fn full_name(&self) -> String {
        match self.side {
            Side::Instance => self.name().to_owned(),
            Side::Class => format!("{} class", self.name()),
        }
    }
}

fn cell<T>(value: Option<T>) -> OnceLock<T> {
    value.map_or_else(OnceLock::new, OnceLock::from)
}

/// Whether a class is marked as value or transfer object, by itself or by its superclass and mixins.
struct Marks {
    is_value: bool,
    is_transfer: bool,
}

impl Marks {
    fn of(
        definition: &Definition,
        superclass: Option<&'static Behavior>,
        mixins: &[&'static Definition],
    ) -> Marks {
        let has = |known| {
            definition.known() == Some(known)
                || mixins.iter().any(|mixin| mixin.known() == Some(known))
        };
        let inherits = |test: fn(&Behavior) -> bool| superclass.is_some_and(test);
        Marks {
            is_value: has(KnownClass::Value) || inherits(|behavior| behavior.is_value),
            is_transfer: has(KnownClass::TransferObject)
                || inherits(|behavior| behavior.is_transfer),
        }
    }
}

/// Instances of VM-made classes have a constant layout; subclasses of arrays share the format.
fn instance_layout(
    definition: &Definition,
    superclass: Option<&'static Behavior>,
    slots: usize,
    custom: bool,
    number: u32,
) -> Result<LayoutId, BehaviorFault> {
    let known = definition.known().and_then(KnownClass::layout);
    if let Some(layout) = known {
        return if slots == 0 { Ok(layout) } else { Err(BehaviorFault::SlotsInVmFormat) };
    }
    if number > LayoutId::MAX_NUMBER {
        return Err(BehaviorFault::TooMany);
    }
    let format = superclass.map_or(Format::Slots, |behavior| behavior.layout.format());
    if format != Format::Slots && slots > 0 {
        return Err(BehaviorFault::SlotsInVmFormat);
    }
    let size = if format == Format::Raw { 1 } else { slots as u32 };
    LayoutId::new(format, size, custom, number).ok_or(BehaviorFault::TooLarge)
}

/// Collects slots and members.
struct Builder {
    slots: Vec<SlotCell>,
    members: HashMap<Symbol, Vec<Member>>,
}

impl Builder {
    fn new(superclass: Option<&'static Behavior>) -> Builder {
        let inherited = superclass.map_or(Vec::new(), |behavior| behavior.slots.clone());
        let slots =
            inherited.into_iter().map(|slot| SlotCell { inherited: true, ..slot }).collect();
        Builder { slots, members: HashMap::new() }
    }

    fn add_instance_members(&mut self, source: &'static Definition) {
        for slot in &source.slots {
            let index = self.cell(source.slot_content(slot), slot.setter.is_some());
            let member = |kind| Member { definition: source, visibility: slot.visibility, kind };
            self.add(slot.name, member(MemberKind::SlotReader(index)));
            if let Some(setter) = slot.setter {
                self.add(setter, member(MemberKind::SlotWriter(index)));
            }
        }
        for &id in &source.bytecode().nested {
            let nested = source.module.definition(id);
            let index = self.cell(SlotContent::Class(nested as *const Definition as usize), false);
            let kind = MemberKind::NestedClass(index, id);
            self.add(
                nested.name,
                Member { definition: source, visibility: nested.visibility, kind },
            );
        }
        self.add_methods(source, &source.bytecode().methods);
    }

    fn add_class_members(&mut self, source: &'static Definition) {
        let kind = MemberKind::Factory(source.bytecode().factory);
        let visibility = Visibility::Public;
        self.add(source.factory_selector, Member { definition: source, visibility, kind });
        self.add_methods(source, &source.bytecode().class_methods);
    }

    fn add_methods(
        &mut self,
        source: &'static Definition,
        methods: &[squall_bytecode::module::Method],
    ) {
        for method in methods {
            let kind = MemberKind::Method(method.function);
            let member = Member { definition: source, visibility: method.visibility, kind };
            self.add(source.module.symbol(method.selector), member);
        }
    }

    /// The later member is in force.
    fn add(&mut self, selector: Symbol, member: Member) {
        self.members.entry(selector).or_default().insert(0, member);
    }

    /// The cell for a slot: that of the same name in this class, or a new one.
    fn cell(&mut self, content: SlotContent, mutable: bool) -> usize {
        let same = |slot: &SlotCell| !slot.inherited && slot.content == content;
        if let Some(index) = self.slots.iter().position(same) {
            self.slots[index].mutable |= mutable;
            return index;
        }
        self.slots.push(SlotCell { content, mutable, inherited: false });
        self.slots.len() - 1
    }

    /// Whether instances answer `==`, `ifNil:` and the like in their own way.
    fn redefines_inlined_messages(
        &self,
        definition: &Definition,
        superclass: Option<&'static Behavior>,
    ) -> bool {
        const INLINED: [&str; 5] =
            ["==", "ifNil:", "ifNotNil:", "ifNil:ifNotNil:", "ifNotNil:ifNil:"];
        if superclass.is_some_and(|behavior| behavior.layout.has_custom_control()) {
            return true;
        }
        // The kernel's own `==` compares as the primitive does, which tiers know.
        let is_kernels =
            matches!(definition.known(), Some(KnownClass::Thing | KnownClass::FarReference));
        let module = definition.module;
        !is_kernels && INLINED.iter().any(|test| self.members.contains_key(&module.intern(test)))
    }
}
