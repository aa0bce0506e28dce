//! The boot: from an empty heap to a running kernel. `squall` calls it when a machine starts.
//!
//! Classes are made by sending messages to the object around them, and every object has a class, so
//! the first of both are made by hand:
//!
//! 1. the behaviors of the root classes, from the kernel's class definitions and the superclasses
//!    in [`KnownClass::ROOTS`];
//! 2. the kernel instance, not initialised yet, whose class is a `Value`;
//! 3. the class objects of the roots, put into the kernel instance's slots for nested classes;
//! 4. the other known classes, by their ordinary accessors, which find the roots in those slots;
//! 5. the kernel's initializer.
//!
//! From then on everything is messages: the platform is made by its factory and started.

use squall_heap::Word;

use crate::concurrency::values;
use crate::concurrency::worker;
use crate::model::behavior::{Behavior, SlotContent};
use crate::model::known::KnownClass;
use crate::model::module::{Definition, LoadedModule};
use crate::model::outcome::Failure;
use crate::objects::classes;
use crate::state::thread::{Thread, Window};
use crate::state::vat;
use crate::state::vm::Vm;

/// Why the kernel did not come up: the library and the VM do not fit together.
#[derive(Debug)]
pub struct BootError(pub String);

impl std::fmt::Display for BootError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the kernel library does not fit this VM: {}", self.0)
    }
}

impl std::error::Error for BootError {}

impl From<Failure> for BootError {
    fn from(failure: Failure) -> BootError {
        BootError(format!("{:?} while booting", failure.reason))
    }
}

/// Boots the kernel and makes the platform object.
pub fn boot(thread: &mut Thread) -> Result<(), BootError> {
    let vm = thread.vm;
    vm.set_main_vat(vat::make(thread)?);
    let module = library(vm, "Kernel")?;
    let kernel = main_definition(module)?;
    for &known in KnownClass::ALL {
        _ = nested(kernel, known.name())?.known.set(known);
    }
    let kernel_behavior = make_root_behaviors(vm, kernel)?;
    make_kernel_instance(thread, kernel_behavior)?;
    make_root_classes(thread, kernel)?;
    for &known in KnownClass::ALL {
        let class = run_accessor(thread, kernel, known)?;
        vm.roots.set_known_class(known, class);
    }
    adopt_kernel_class(thread, kernel)?;
    initialize_kernel(thread, kernel)?;
    prepare_exceptions(thread, kernel)?;
    let platform = make_platform(thread)?;
    vm.roots.platform.set(platform);
    Ok(())
}

fn library(vm: &Vm, name: &str) -> Result<&'static LoadedModule, BootError> {
    vm.modules.of_library(name).ok_or_else(|| BootError(format!("there is no module {name}")))
}

fn main_definition(module: &'static LoadedModule) -> Result<&'static Definition, BootError> {
    module.main_definition().ok_or_else(|| BootError("a module has no class".into()))
}

fn nested(kernel: &'static Definition, name: &str) -> Result<&'static Definition, BootError> {
    kernel
        .nested(kernel.module.intern(name))
        .ok_or_else(|| BootError(format!("Kernel has no class {name}")))
}

/// Makes the behaviors of the root classes, and that of the kernel itself.
fn make_root_behaviors(
    vm: &Vm,
    kernel: &'static Definition,
) -> Result<&'static Behavior, BootError> {
    let fault = |_| BootError("a root class cannot be laid out".into());
    let mut made: Vec<(KnownClass, &'static Behavior)> = Vec::new();
    let find = |made: &[(KnownClass, &'static Behavior)], known| {
        made.iter().find(|(class, _)| *class == known).map(|(_, behavior)| *behavior)
    };
    for (known, superclass) in KnownClass::ROOTS {
        let superclass = superclass.and_then(|superclass| find(&made, superclass));
        let behavior =
            classes::behavior(vm, nested(kernel, known.name())?, superclass, &[]).map_err(fault)?;
        made.push((known, behavior));
    }
    let class_sides = find(&made, KnownClass::Top).and_then(|top| top.class_side.get().copied());
    if let (Some(root), Some(class)) = (class_sides, find(&made, KnownClass::Class)) {
        root.set_superclass(class);
    }
    classes::behavior(vm, kernel, find(&made, KnownClass::Value), &[]).map_err(fault)
}

/// Allocates the kernel module's instance; its class object comes later.
fn make_kernel_instance(thread: &mut Thread, behavior: &'static Behavior) -> Result<(), BootError> {
    let instance = thread.mutator.allocate_slots(behavior.layout, Word::NIL);
    let instance = crate::state::thread::allocated(instance)?;
    // It has no slots but those of its classes.
    _ = instance.set_flag(values::SHARED);
    thread.vm.roots.kernel.set(instance.word());
    Ok(())
}

/// Makes the class objects of the roots and puts them into the kernel instance.
fn make_root_classes(thread: &mut Thread, kernel: &'static Definition) -> Result<(), BootError> {
    let vm = thread.vm;
    for (known, superclass) in KnownClass::ROOTS {
        let superclass = superclass.map_or(Word::NIL, |superclass| vm.known_class(superclass));
        let definition = nested(kernel, known.name())?;
        let class = make_class(thread, definition, [vm.roots.kernel.get(), Word::NIL, superclass])?;
        vm.roots.set_known_class(known, class);
        publish(thread, kernel, definition, class)?;
    }
    // The class objects made before `Class` existed do not know their own class yet.
    for (known, _) in KnownClass::ROOTS {
        if let Some(class) = vm.known_class(known).as_object() {
            class.set_class(&mut thread.mutator, vm.known_class(KnownClass::Class));
        }
    }
    Ok(())
}

fn publish(
    thread: &mut Thread,
    kernel: &'static Definition,
    definition: &'static Definition,
    class: Word,
) -> Result<(), BootError> {
    let instance = thread.vm.roots.kernel.get().as_object();
    let instance = instance.ok_or_else(|| BootError("there is no kernel instance".into()))?;
    let behavior = thread.vm.behavior_of_layout(instance.layout());
    let content = SlotContent::Class(std::ptr::from_ref(definition) as usize);
    let slot = behavior.and_then(|behavior| behavior.slot_index(content));
    let slot = slot.ok_or_else(|| BootError(format!("{} has no slot", kernel.name_text())))?;
    instance.set_slot(&mut thread.mutator, slot, class);
    Ok(())
}

/// Makes a class object of parts that are kept in the thread's message meanwhile.
fn make_class(
    thread: &mut Thread,
    definition: &'static Definition,
    parts: [Word; 3],
) -> Result<Word, BootError> {
    thread.message.clear();
    thread.message.extend(parts);
    // SAFETY: the message is a root, and making a class does not touch it.
    let window = unsafe { Window::new(thread.message.as_mut_ptr(), parts.len()) };
    Ok(classes::make_class(thread, definition, window)?)
}

/// The class object of a known class, made by its accessor unless it exists.
fn run_accessor(
    thread: &mut Thread,
    kernel: &'static Definition,
    known: KnownClass,
) -> Result<Word, BootError> {
    let existing = thread.vm.known_class(known);
    if existing != Word::NIL {
        return Ok(existing);
    }
    let definition = nested(kernel, known.name())?;
    let receiver = thread.vm.roots.kernel.get();
    make_module_class(thread, definition, receiver)
}

/// Runs the accessor of a class definition. *GC point.*
pub fn make_module_class(
    thread: &mut Thread,
    definition: &'static Definition,
    enclosing: Word,
) -> Result<Word, BootError> {
    let accessor = definition.bytecode().accessor;
    let accessor = accessor.ok_or_else(|| BootError("a class has no accessor".into()))?;
    run(thread, definition.module.function(accessor), &[enclosing])
}

fn run(
    thread: &mut Thread,
    function: &'static crate::model::function::Function,
    arguments: &[Word],
) -> Result<Word, BootError> {
    Ok(worker::run_function(thread, function, arguments)?)
}

/// Gives the kernel instance its class object, now that classes can be made.
fn adopt_kernel_class(thread: &mut Thread, kernel: &'static Definition) -> Result<(), BootError> {
    let value = thread.vm.known_class(KnownClass::Value);
    let class = make_class(thread, kernel, [Word::NIL, Word::NIL, value])?;
    if let Some(instance) = thread.vm.roots.kernel.get().as_object() {
        instance.set_class(&mut thread.mutator, class);
    }
    Ok(())
}

/// Runs the kernel's initializer on its instance.
fn initialize_kernel(thread: &mut Thread, kernel: &'static Definition) -> Result<(), BootError> {
    let initializer = kernel.module.function(kernel.bytecode().own_initializer);
    let mut arguments = vec![Word::NIL; initializer.arguments as usize];
    arguments[0] = thread.vm.roots.kernel.get();
    run(thread, initializer, &arguments).map(|_| ())
}

/// Makes the exceptions that are needed where none can be made.
fn prepare_exceptions(thread: &mut Thread, kernel: &'static Definition) -> Result<(), BootError> {
    let vm = thread.vm;
    for (name, root) in vm.roots.prepared() {
        let definition = nested(kernel, name)?;
        let class = make_module_class(thread, definition, vm.roots.kernel.get())?;
        let factory = definition.module.function(definition.bytecode().factory);
        let exception = run(thread, factory, &[class])?;
        root.set(exception);
    }
    Ok(())
}

/// Makes the platform object with its factory, whose one argument is the kernel.
fn make_platform(thread: &mut Thread) -> Result<Word, BootError> {
    let vm = thread.vm;
    let definition = main_definition(library(vm, "Platform")?)?;
    let class = make_module_class(thread, definition, Word::NIL)?;
    let factory = definition.module.function(definition.bytecode().factory);
    run(thread, factory, &[class, vm.roots.kernel.get()])
}
