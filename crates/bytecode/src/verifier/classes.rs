//! Checks the properties 3 to 5, and 1 as far as it concerns class definitions. `mod.rs` calls this module for each
//! verified module.

use std::collections::HashSet;

use super::Facts;
use super::report::{Place, Report};
use crate::entities::{ClassId, FunctionId, StringId};
use crate::module::{ClassDefinition, FunctionKind, Method};

pub(super) fn check(facts: &Facts, report: &mut Report) {
    check_outer_chains(facts, report);
    check_nesting(facts, report);
    for (index, class) in facts.module.classes.iter().enumerate() {
        if report.is_full() {
            return;
        }
        ClassChecker { facts, class, place: Place::Class(ClassId(index as u32)), report }.check();
    }
}

/// Every chain of outer classes ends. Each class is walked through once.
fn check_outer_chains(facts: &Facts, report: &mut Report) {
    let classes = &facts.module.classes;
    // The walk, counting from 1, that came through a class first.
    let mut walked = vec![0; classes.len()];
    for start in 0..classes.len() {
        let mut place = Some(ClassId(start as u32));
        while let Some(id) = place.filter(|id| facts.has_class(*id)) {
            match std::mem::replace(&mut walked[id.index()], start + 1) {
                0 => place = classes[id.index()].outer,
                walk if walk == start + 1 => {
                    report.error(Place::Class(id), "the class is its own outer class, or theirs");
                    break;
                }
                earlier => {
                    walked[id.index()] = earlier;
                    break;
                }
            }
        }
    }
}

/// `nested` and `outer` say the same.
fn check_nesting(facts: &Facts, report: &mut Report) {
    let classes = &facts.module.classes;
    let mut listed = vec![false; classes.len()];
    for (index, class) in classes.iter().enumerate() {
        let outer = ClassId(index as u32);
        for &id in &class.nested {
            let problem = match classes.get(id.index()) {
                None => "which does not exist",
                Some(nested) if nested.outer != Some(outer) => "which names another outer class",
                Some(nested) if nested.accessor.is_none() => "which has no accessor",
                Some(_) if std::mem::replace(&mut listed[id.index()], true) => "more than once",
                Some(_) => continue,
            };
            report.error(Place::Class(outer), format!("the class lists {id} as nested, {problem}"));
        }
    }
    for (index, class) in classes.iter().enumerate() {
        let place = Place::Class(ClassId(index as u32));
        match class.outer {
            Some(outer) if !facts.has_class(outer) => {
                report.error(place, format!("the outer class {outer} does not exist"));
            }
            Some(outer) if class.accessor.is_some() && !listed[index] => {
                report.error(place, format!("{outer} does not list this class as nested"));
            }
            _ => {}
        }
    }
}

struct ClassChecker<'a, 'm> {
    facts: &'a Facts<'a>,
    class: &'a ClassDefinition,
    place: Place,
    report: &'a mut Report<'m>,
}

impl ClassChecker<'_, '_> {
    fn check(mut self) {
        let class = self.class;
        if !self.facts.has_string(class.name) {
            self.error(format!("the name {} does not exist", class.name));
        }
        if let Some(accessor) = class.accessor {
            self.check_function("accessor", accessor, Some(0));
        }
        let arity = self.check_selector("primary factory", class.factory_selector);
        self.check_function("primary factory", class.factory, arity);
        self.check_function("initializer", class.initializer, arity);
        self.check_function("own initializer", class.own_initializer, arity);
        for method in class.methods.iter().chain(&class.class_methods) {
            let arity = self.check_selector("method", method.selector);
            self.check_function("method", method.function, arity);
        }
        self.check_instance_members();
        self.check_class_members();
    }

    fn error(&mut self, message: impl Into<String>) {
        self.report.error(self.place, message);
    }

    /// How many arguments the selector takes.
    fn check_selector(&mut self, what: &str, selector: StringId) -> Option<usize> {
        let arity = self.facts.arity(selector);
        if arity.is_none() {
            self.error(format!("the selector {selector} of a {what} does not exist or is empty"));
        }
        arity
    }

    fn check_function(&mut self, what: &str, id: FunctionId, parameters: Option<usize>) {
        let Some(function) = self.facts.module.functions.get(id.index()) else {
            return self.error(format!("the {what} {id} does not exist"));
        };
        if function.kind != FunctionKind::Method {
            self.error(format!("the {what} {id} is a {}, not a method", function.kind.name()));
        }
        let Some(wanted) = parameters else { return };
        if usize::from(function.parameters) != wanted {
            let (name, given) = (self.facts.quote(function.name), function.parameters);
            self.error(format!(
                "the {what} {id} {name} has {given} parameters instead of {wanted}"
            ));
        }
    }

    fn check_instance_members(&mut self) {
        let (class, facts) = (self.class, self.facts);
        let mut members = Members::default();
        for slot in &class.slots {
            self.check_unary("slot", slot.name);
            self.add(&mut members, slot.name);
            if let Some(&setter) = facts.setters.get(&slot.name).filter(|_| slot.mutable) {
                self.add(&mut members, setter);
            }
        }
        for nested in class.nested.iter().filter_map(|id| facts.module.classes.get(id.index())) {
            self.check_unary("nested class", nested.name);
            self.add(&mut members, nested.name);
        }
        class.methods.iter().for_each(|method| self.add(&mut members, method.selector));
    }

    /// A class method may have the primary factory's selector, and then replaces it.
    fn check_class_members(&mut self) {
        let mut members = Members::default();
        let methods: &[Method] = &self.class.class_methods;
        methods.iter().for_each(|method| self.add(&mut members, method.selector));
    }

    fn check_unary(&mut self, what: &str, name: StringId) {
        if self.facts.arity(name) != Some(0) {
            let quoted = self.facts.quote(name);
            self.error(format!("the name {quoted} of a {what} is no unary selector"));
        }
    }

    fn add(&mut self, members: &mut Members, selector: StringId) {
        if !members.0.insert(selector) {
            let quoted = self.facts.quote(selector);
            self.error(format!("two members have the selector {quoted}"));
        }
    }
}

/// The selectors of one side of a class.
#[derive(Default)]
struct Members(HashSet<StringId>);
