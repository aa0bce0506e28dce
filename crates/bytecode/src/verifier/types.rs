//! Checks the properties 25 to 28: the type table. `mod.rs` calls this module first.

use std::collections::HashMap;

use super::Facts;
use super::report::{Place, Report};
use crate::entities::TypeId;
use crate::types::{RegisterType, TypeDefinition};

/// Rows of a type table.
const MOST_TYPES: usize = 1 << 16;

/// Elements of a tuple, parameters of a function.
const MOST_PARTS: usize = 255;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let types = &facts.module.types;
    if types.len() > MOST_TYPES {
        let count = types.len();
        return report
            .error(Place::Module, format!("a module has at most {MOST_TYPES} types, not {count}"));
    }
    let checker = Checker { facts };
    let mut seen = HashMap::new();
    for (index, definition) in types.iter().enumerate() {
        let id = TypeId(index as u16);
        if let Some(first) = seen.insert(definition, id) {
            report.error(Place::Type(id), format!("it is the same type as {first}"));
        }
        if let Err(problem) = checker.check(id, definition) {
            report.error(Place::Type(id), problem);
        }
    }
}

struct Checker<'a> {
    facts: &'a Facts<'a>,
}

impl Checker<'_> {
    fn check(&self, id: TypeId, definition: &TypeDefinition) -> Result<(), String> {
        let later = |part: &RegisterType| part.defined().is_some_and(|part| part >= id);
        if let Some(part) = definition.parts().find(later) {
            return Err(match part.defined() == Some(id) {
                true => format!("{part} contains itself"),
                false => format!("{part} is no earlier type"),
            });
        }
        let keyword = definition.keyword();
        let parts = match definition {
            TypeDefinition::Tuple(parts) if parts.is_empty() => {
                return Err(format!("a tuple has 1 to {MOST_PARTS} elements, not 0"));
            }
            TypeDefinition::Tuple(parts) => Some((parts, "elements")),
            TypeDefinition::Function { parameters, .. } => Some((parameters, "parameters")),
            TypeDefinition::Process { parameters } => Some((parameters, "parameters")),
            _ => None,
        };
        if let Some((parts, what)) = parts.filter(|(parts, _)| parts.len() > MOST_PARTS) {
            let count = parts.len();
            return Err(format!("a {keyword} has at most {MOST_PARTS} {what}, not {count}"));
        }
        if definition.is_container() {
            self.check_contained(definition)?;
        }
        self.check_any(definition)?;
        match definition {
            TypeDefinition::Map(key, _) if !self.facts.is_ordered(*key) => {
                let key = self.facts.show(*key);
                Err(format!("the keys of a map are totally ordered, but `{key}` is not"))
            }
            _ => Ok(()),
        }
    }

    /// Nothing to communicate by hides in a container.
    fn check_contained(&self, definition: &TypeDefinition) -> Result<(), String> {
        let primitive = |part: &RegisterType| {
            self.definition(*part).is_some_and(TypeDefinition::is_communication)
        };
        let Some(part) = definition.parts().find(primitive) else { return Ok(()) };
        let (keyword, part) = (definition.keyword(), self.facts.show(part));
        Err(format!(
            "a {keyword} cannot hold `{part}`: other types cannot contain channels, their ends, barriers or buckets"
        ))
    }

    /// Objects belong to a vat, so they travel by themselves only.
    fn check_any(&self, definition: &TypeDefinition) -> Result<(), String> {
        let encloses =
            definition.is_container() || matches!(definition, TypeDefinition::Process { .. });
        if encloses && definition.parts().any(|part| part == RegisterType::Any) {
            let verb = if definition.is_container() { "hold" } else { "take" };
            return Err(format!("a {} cannot {verb} `any`", definition.keyword()));
        }
        Ok(())
    }

    fn definition(&self, part: RegisterType) -> Option<&TypeDefinition> {
        self.facts.module.definition(part)
    }
}
