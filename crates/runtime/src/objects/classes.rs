//! Class objects: makes and instantiates them. The tiers' instructions for classes, the boot and the primitives call
//! it.
//!
//! A class object is an ordinary object with five slots. The first holds its behavior's address,
//! which is aligned and so reads as a small integer to the collector.

use squall_bytecode::module::Side;
use squall_heap::{Format, LayoutId, Object, Word};

use crate::model::behavior::{Behavior, BehaviorFault, CLASS_OBJECT_SLOTS};
use crate::model::function::Function;
use crate::model::known::{self, FIRST_FREE_NUMBER, KnownClass};
use crate::model::lookup::ClassPath;
use crate::model::module::Definition;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::string;
use crate::state::sandbox;
use crate::state::thread::{Thread, Window, allocated};
use crate::state::vm::Vm;

/// The slot with the address of the behavior of the class's instances.
const BEHAVIOR: usize = 0;
/// The slot with the superclass, or nil.
pub const SUPERCLASS: usize = 1;
/// The slot with the object around the class.
pub const ENCLOSING: usize = 2;
/// The slot with the array of applied mixins' class objects, or nil.
const MIXINS: usize = 3;
/// The slot with the captured variables of an object literal's class, or nil.
const CAPTURES: usize = 4;

/// The behavior of a class object's instances; `None` if the word is no class object.
pub fn behavior_of_class(vm: &Vm, class: Word) -> Option<&'static Behavior> {
    let object = class.as_object()?;
    let metaclass = vm.behavior_of_layout(object.layout())?;
    (metaclass.side == Side::Class).then(|| behavior_slot(object))
}

/// A slot of a class object.
#[inline(always)]
fn part(class: Object, slot: usize) -> Word {
    assert!(slot < CLASS_OBJECT_SLOTS);
    // SAFETY: callers have a class object: they asked its metaclass, or got it from a lookup or from another class object.
    unsafe { class.slot_unchecked(slot) }
}

fn behavior_slot(class: Object) -> &'static Behavior {
    // SAFETY: `make_class` stored the address of an immortal behavior, and no guest code reaches
    // the slots of class objects.
    unsafe { &*(part(class, BEHAVIOR).bits() as *const Behavior) }
}

/// The behavior for a definition of the library with this superclass and these mixins.
pub fn behavior(
    vm: &Vm,
    definition: &'static Definition,
    superclass: Option<&'static Behavior>,
    mixins: &[&'static Definition],
) -> Result<&'static Behavior, BehaviorFault> {
    // The class sides of roots are like all other objects instances of `Class`; while that does
    // not exist, the boot completes them later.
    let class = behavior_of_class(vm, vm.known_class(KnownClass::Class));
    vm.behaviors.of_parts(definition, superclass, mixins, class, false).map(|(made, _)| made)
}

/// The name of the class whose instances have this layout; for objects that only the machine knows, what they are.
pub fn name_of_layout(vm: &Vm, layout: LayoutId) -> Option<String> {
    match layout {
        known::CONTEXT => return Some("context".to_owned()),
        known::HOME => return Some("home".to_owned()),
        _ => {}
    }
    let behavior = vm.behavior_of_layout(layout).filter(|behavior| behavior.layout == layout)?;
    Some(behavior.full_name())
}

/// The primary factory of a class object.
pub fn factory(vm: &Vm, class: Word) -> Option<&'static Function> {
    let definition = behavior_of_class(vm, class)?.definition;
    Some(definition.module.function(definition.bytecode().factory))
}

/// The behavior of an object that guest code knows, without a look into a table.
pub fn behavior_of(vm: &Vm, object: Object) -> Option<&'static Behavior> {
    let layout = object.layout();
    match object.class().as_object() {
        // Instances of the known classes share constant layouts with objects that only the VM knows.
        Some(class) if layout.number() >= FIRST_FREE_NUMBER && is_class_object(vm, class) => {
            let behavior = behavior_slot(class);
            if behavior.layout == layout { Some(behavior) } else { vm.behavior_of_layout(layout) }
        }
        _ => vm.behavior_of_layout(layout),
    }
}

/// Whether this is a class object. Direct instances of `Class` are none, and have no slots.
fn is_class_object(vm: &Vm, object: Object) -> bool {
    object.class() == vm.known_class(KnownClass::Class)
        && object.layout().slot_count() == CLASS_OBJECT_SLOTS
}

/// Whether instances of a class object go to other vats, as they are or as copies.
pub fn is_of_travellers(class: Object) -> bool {
    let behavior = behavior_slot(class);
    behavior.is_value || behavior.is_transfer
}

/// Whether an object travels between vats by copy.
pub fn is_transfer(vm: &Vm, object: Object) -> bool {
    behavior_of(vm, object).is_some_and(|behavior| behavior.is_transfer)
}

/// The superclass of a class object.
pub fn superclass(class: Object) -> Word {
    part(class, SUPERCLASS)
}

/// The object around a class object.
pub fn enclosing(class: Object) -> Word {
    part(class, ENCLOSING)
}

/// The objects that the code of a class object's instances, and its own code, reaches through it: the enclosing object,
/// the superclass, and the mixins.
pub fn reached_from(class: Object) -> impl Iterator<Item = Word> {
    let mixins = part(class, MIXINS).as_object();
    let mixins =
        mixins.into_iter().flat_map(|array| (0..array.length()).map(move |i| array.element(i)));
    [enclosing(class), superclass(class)].into_iter().chain(mixins)
}

/// The captured variables of a class object.
pub fn captures(class: Object) -> Word {
    part(class, CAPTURES)
}

/// The class object at the end of a path from an object.
pub fn follow(path: ClassPath, object: Word, thread: &Thread) -> Option<Object> {
    let start = if path.from_class { object } else { thread.class_of(object) };
    let mut class = start.as_object()?;
    for _ in 0..path.hops {
        class = superclass(class).as_object()?;
    }
    match path.mixin {
        Some(index) => part(class, MIXINS).as_object()?.element(index as usize).as_object(),
        None => Some(class),
    }
}

/// Makes a class object. *GC point.*
///
/// The parts are the enclosing object, the captured variables or nil, the superclass, and the
/// mixins in order.
pub fn make_class(
    thread: &mut Thread,
    definition: &'static Definition,
    parts: Window,
) -> Result<Word, Failure> {
    let vm = thread.vm;
    if parts.len() < FIRST_MIXIN {
        return Err(Failure::argument(Word::NIL));
    }
    let behavior = match behavior_for(vm, definition, parts, thread.sandbox.is_some())? {
        Ok((behavior, bytes)) => {
            charge_for(thread, behavior, bytes);
            behavior
        }
        Err(fault) => return Err(class_fault(thread, definition, fault)),
    };
    let travels = behavior.is_value || behavior.is_transfer;
    let is_trusted = thread.sandbox.is_none() || may_have_parts(vm, definition, parts);
    if !is_trusted || travels && !leads_to_values(vm, parts) {
        return Err(Failure::with(
            FailureReason::NotAValue,
            vm.name_word(thread, definition.name)?,
            Word::NIL,
        ));
    }
    let mixins = mixin_array(thread, parts)?;
    let mut scope = thread.mutator.scope();
    let mixins = scope.root(mixins);
    let layout = behavior.class_side.get().map_or(LayoutId::NONE, |side| side.layout);
    let object = allocated(scope.allocate_slots(layout, vm.known_class(KnownClass::Class)))?;
    let behavior_word = Word::from_address(std::ptr::from_ref(behavior) as usize);
    object.initialize_slot(BEHAVIOR, behavior_word);
    object.initialize_slot(SUPERCLASS, parts.get(2));
    object.initialize_slot(ENCLOSING, parts.get(0));
    object.initialize_slot(MIXINS, scope.get(mixins));
    object.initialize_slot(CAPTURES, parts.get(1));
    Ok(object.word())
}

/// A class object is about to be made, for which a new behavior has taken so many bytes. That is never freed, and all that looks at
/// the superclasses takes time.
fn charge_for(thread: &mut Thread, behavior: &'static Behavior, bytes: usize) {
    /// As many superclasses as an ordinary class has.
    const USUAL: usize = 8;
    /// The work for each further one.
    const UNITS: usize = 20;
    if thread.sandbox.is_some() {
        sandbox::count_kept(thread, bytes);
        thread.charge(UNITS * behavior.chain().count().saturating_sub(USUAL));
    }
}

/// Whether vats may share all that a class with these parts leads to.
fn leads_to_values(vm: &Vm, parts: Window) -> bool {
    let mut shared = std::iter::once(0).chain(SUPERCLASS_PART..parts.len());
    captures_values(vm, parts.get(1))
        && shared.all(|index| vm.services.counts_as_value(vm, parts.get(index)))
}

/// Whether a guest may make a class with these parts: one that a guest has not written inherits no code of a guest.
fn may_have_parts(vm: &Vm, definition: &Definition, parts: Window) -> bool {
    let mut inherited = SUPERCLASS_PART..parts.len();
    definition.module.loaded().is_for_guests()
        || inherited.all(|index| vm.services.may_be_inherited(vm, parts.get(index)))
}

/// Where the superclass is among a class's parts; the mixins follow.
const SUPERCLASS_PART: usize = 2;
/// Where the mixins start among a class's parts.
const FIRST_MIXIN: usize = 3;

fn behavior_for(
    vm: &Vm,
    definition: &'static Definition,
    parts: Window,
    is_for_guest: bool,
) -> Result<Result<(&'static Behavior, usize), BehaviorFault>, Failure> {
    let superclass = match parts.get(2) {
        Word::NIL if may_be_root(vm, definition) => None,
        class => Some(class_argument(vm, class)?),
    };
    let mixins: Result<Vec<_>, _> = (FIRST_MIXIN..parts.len())
        .map(|index| class_argument(vm, parts.get(index)))
        .map(|mixin| mixin.map(|behavior| behavior.definition.for_subclass_of(superclass)))
        .collect();
    let class = behavior_of_class(vm, vm.known_class(KnownClass::Class));
    let definition = definition.for_subclass_of(superclass);
    Ok(vm.behaviors.of_parts(definition, superclass, &mixins?, class, is_for_guest))
}

/// Whether a class may lack a superclass. Its objects do not understand the machine's own messages, so only the kernel
/// has such classes.
fn may_be_root(vm: &Vm, definition: &Definition) -> bool {
    vm.modules.of_library("Kernel").is_some_and(|kernel| std::ptr::eq(kernel, definition.module))
}

/// The applied mixins as an array, or nil if there are none.
fn mixin_array(thread: &mut Thread, parts: Window) -> Result<Word, Failure> {
    let count = parts.len() - FIRST_MIXIN;
    if count == 0 {
        return Ok(Word::NIL);
    }
    let class = thread.vm.known_class(KnownClass::Array);
    let array = allocated(thread.mutator.allocate_array(known::ARRAY, class, count, Word::NIL))?;
    for index in 0..count {
        array.initialize_element(index, parts.get(FIRST_MIXIN + index));
    }
    Ok(array.word())
}

fn class_argument(vm: &Vm, class: Word) -> Result<&'static Behavior, Failure> {
    behavior_of_class(vm, class).ok_or(Failure::argument(class))
}

/// Why a class object cannot be made. It names the class, as there is no object. *GC point.*
fn class_fault(thread: &mut Thread, definition: &Definition, fault: BehaviorFault) -> Failure {
    let reason = match fault {
        BehaviorFault::ValueAndTransfer => FailureReason::TransferObjectsCannotBeValues,
        BehaviorFault::MutableValue => FailureReason::NotAValue,
        // To signal another exception, its class might have to be made first.
        BehaviorFault::TooMany => return Failure::out_of_memory(),
        BehaviorFault::SlotsInVmFormat | BehaviorFault::TooLarge => FailureReason::NotSupported,
    };
    let name = definition.name_text();
    let detail = match fault {
        BehaviorFault::SlotsInVmFormat => {
            let text = format!("{name}, a class with slots whose superclass has none,");
            string::make_string(thread, &text)
        }
        BehaviorFault::TooLarge => {
            string::make_string(thread, &format!("{name}, a class with so many slots,"))
        }
        _ => thread.vm.name_word(thread, definition.name),
    };
    match detail {
        Ok(detail) => Failure::with(reason, detail, Word::NIL),
        Err(failure) => failure,
    }
}

/// The layout of the instances of classes whose class objects have this layout, if [`instantiate`] makes them with slots.
pub fn instance_layout(vm: &Vm, class: LayoutId) -> Option<LayoutId> {
    let instances = vm.behavior_of_layout(class)?.instance_side.get()?;
    has_plain_instances(instances).then_some(instances.layout)
}

/// Whether objects with one behavior are instances of the classes whose instances have another: if this or a superclass
/// or a mixin has the same definition. A class object is an instance of `Class` alone.
pub fn are_instances(behavior: &'static Behavior, caught: &'static Behavior) -> bool {
    if std::ptr::eq(behavior, caught) {
        return true;
    }
    let mut instance_sides = behavior.chain().filter(|behavior| behavior.side == Side::Instance);
    instance_sides.any(|behavior| behavior.parts().any(|part| part.has_text_of(caught.definition)))
}

/// Whether objects with one layout are instances of the classes whose class objects have another; `None` if those are no
/// class objects.
pub fn is_instance(vm: &Vm, layout: LayoutId, class: LayoutId) -> Option<bool> {
    let caught = instances_of(vm, class)?;
    Some(are_instances(vm.behavior_of_layout(layout)?, caught))
}

/// The layout of the direct instances of the class whose class object has this layout.
pub fn layout_of_instances(vm: &Vm, class: LayoutId) -> Option<LayoutId> {
    Some(instances_of(vm, class)?.layout)
}

/// What the instances of the class are whose class object has this layout.
fn instances_of(vm: &Vm, class: LayoutId) -> Option<&'static Behavior> {
    let metaclass = vm.behavior_of_layout(class).filter(|behavior| behavior.side == Side::Class)?;
    metaclass.instance_side.get().copied()
}

/// The layout of the arrays that classes make on demand whose class objects have this layout.
pub fn array_layout(vm: &Vm, class: LayoutId) -> Option<LayoutId> {
    let instances = vm.behavior_of_layout(class)?.instance_side.get()?;
    makes_arrays(instances).then_some(instances.layout)
}

/// Whether instances are arrays of any length, whose elements can be assigned.
pub fn makes_arrays(behavior: &'static Behavior) -> bool {
    behavior.layout.format() == Format::Array
        && behavior.known().is_some_and(KnownClass::is_array)
        && !behavior.is_value
}

fn has_plain_instances(behavior: &'static Behavior) -> bool {
    behavior.layout.format() == Format::Slots
        && behavior.known().is_none_or(KnownClass::is_instantiable)
}

/// Makes an instance with all slots nil. *GC point.*
pub fn instantiate(thread: &mut Thread, class: Word) -> Result<Word, Failure> {
    let behavior = class_argument(thread.vm, class)?;
    let layout = behavior.layout;
    match layout.format() {
        Format::Slots if has_plain_instances(behavior) => {
            allocated(thread.mutator.allocate_slots(layout, class)).map(Object::word)
        }
        Format::Array if behavior.known().is_some_and(KnownClass::is_array) => {
            allocated(thread.mutator.allocate_array(layout, class, 0, Word::NIL)).map(Object::word)
        }
        _ => Err(Failure::argument(class)),
    }
}

/// A value was required: the failure names the class, or the class object itself.
pub fn not_a_value(thread: &Thread, object: Word) -> Failure {
    let class = match behavior_of_class(thread.vm, object) {
        Some(_) => object,
        None => thread.class_of(object),
    };
    Failure::with(FailureReason::NotAValue, class, Word::NIL)
}

/// Whether the variables that an object literal's class captured can be shared: copies of values. A
/// variable that is assigned later is in a context of its own.
pub fn captures_values(vm: &Vm, captures: Word) -> bool {
    let Some(context) = captures.as_object() else { return true };
    (0..context.length()).all(|index| vm.services.counts_as_value(vm, context.element(index)))
}
