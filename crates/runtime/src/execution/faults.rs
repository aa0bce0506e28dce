//! Faults: the names by which typed code knows exceptions. [`super::unwind`] asks whether an exception belongs to a
//! fault; [`crate::concurrency::processes::faults`] raises and boxes exceptions for typed code.

use squall_bytecode::module::Fault;

use crate::model::behavior::Behavior;

/// The kernel's classes whose instances a fault stands for.
fn class_names(fault: Fault) -> &'static [&'static str] {
    match fault {
        Fault::Any => &["Exception"],
        Fault::ZeroDivide => &["ZeroDivide"],
        Fault::Overflow => &["Overflow"],
        Fault::Poison => &["ChannelPoisoned"],
        Fault::StackOverflow => &["StackOverflow"],
        Fault::OutOfMemory => &["OutOfMemory"],
        // The first is typed code's class, the second Newspeak's.
        Fault::IndexError => &["IndexError", "IndexOutOfBounds"],
        Fault::KeyError => &["KeyNotFound"],
        Fault::Raised => &["Raised"],
    }
}

/// Whether exceptions with this behavior are this fault.
pub fn is(behavior: &'static Behavior, fault: Fault) -> bool {
    fault == Fault::Any || of(behavior) == Some(fault)
}

/// The fault that exceptions with this behavior are; none if it has no name.
pub fn of(behavior: &'static Behavior) -> Option<Fault> {
    behavior.chain().filter(|behavior| behavior.definition.module.bytecode.is_image()).find_map(
        |behavior| {
            let name = behavior.definition.name_text();
            let mut named = Fault::ALL.into_iter().filter(|fault| *fault != Fault::Any);
            named.find(|fault| class_names(*fault).contains(&name))
        },
    )
}
