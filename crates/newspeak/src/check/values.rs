//! Values: instances of classes that inherit from `Value`. The checker's walk (`mod.rs`) checks here, for each class,
//! that the slots of values are constants that hold values.

use crate::diagnostics::{Code, Diagnostic, quoted};
use crate::entities::ClassId;

use super::Checker;
use super::classes::{ClassRef, Known};

impl Checker<'_> {
    /// Reports the parts of a class by which it cannot have instances, if they are to be values.
    pub fn slots_of_values(&mut self, id: ClassId) {
        let Some(value) = self.classes.library_class("Kernel.Value") else { return };
        if !self.classes.inherits(ClassRef::Text(id), value) {
            return;
        }
        let ast = self.ast;
        for slot in ast[id].slots.iter().map(|&slot| &ast[slot]) {
            let name = quoted(&ast[slot.name.name]);
            if slot.is_mutable {
                let class = quoted(&self.class_name());
                let text =
                    format!("the slot {name} can change, but instances of {class} are values");
                self.report(
                    Diagnostic::warning(Code::MutableValue, text, slot.name.span).with_hint(
                        "declare it by `=`, or let the class inherit from Object instead of Value",
                    ),
                );
            } else if let Some(held) = slot.initializer
                && let Known::Instance(class) = self.classes.in_initializer(id, held, 0)
                && self.is_certainly_no_value(class, value)
            {
                let holder = self.class_name();
                let held_class = self.classes.name(class);
                let text = format!(
                    "the slot {name} of the value class {holder} holds an instance of {held_class}, which is no value"
                );
                self
                    .report(Diagnostic::warning(Code::MutableValue, text, ast[held].span).with_hint(
                    "values hold values only: let the class inherit from Object, or hold a value",
                ));
            }
        }
    }

    /// Whether no instance of the class is a value: it belongs to the text, or is one of the usual collections.
    fn is_certainly_no_value(&self, class: ClassRef, value: ClassRef) -> bool {
        let is_usual = match class {
            ClassRef::Text(_) => true,
            ClassRef::Library(number) => {
                let class = self.classes.library.class(number);
                let module = class.module();
                (module == "Kernel" || module == "Collections") && class.path != module
            }
        };
        is_usual && self.is_complete(class, 0) && !self.classes.inherits(class, value)
    }

    fn is_complete(&self, class: ClassRef, steps: u32) -> bool {
        steps < 64
            && self.classes.parents(class).is_some_and(|parents| {
                parents.iter().all(|&parent| self.is_complete(parent, steps + 1))
            })
    }
}
