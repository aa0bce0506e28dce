//! Checks the properties 29 to 31: the imports and exports of a module. `mod.rs` calls this module.

use std::collections::HashSet;

use super::Facts;
use super::report::{self, Place, Report};
use crate::entities::{FunctionId, StringId};
use crate::module::{Function, FunctionKind, Import};
use crate::types::RegisterType;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    check_name(facts, report);
    let mut imported = HashSet::new();
    for (index, import) in facts.module.imports.iter().enumerate() {
        check_import(facts, index, import, report);
        for (number, &id) in import.functions.iter().enumerate() {
            let place = Place::Imported(index, number);
            match facts.module.functions.get(id.index()) {
                None => {
                    let problem = format!("an import names {id}, which does not exist");
                    report.error(place, problem);
                }
                Some(_) if !imported.insert(id) => report.error(place, "it is imported twice"),
                Some(function) => check_signature(facts, place, function, report),
            }
        }
    }
    check_exports(facts, report);
    for (index, function) in facts.module.functions.iter().enumerate() {
        let id = FunctionId(index as u32);
        if function.is_imported() && !imported.contains(&id) {
            report.error(Place::Function(id), "it has no code, but no import lists it");
        }
    }
}

fn check_name(facts: &Facts, report: &mut Report) {
    check_text(facts, Place::Name, "name", facts.module.name, report);
    check_text(facts, Place::Name, "version", facts.module.version, report);
    let version = facts.module.version.map(|id| facts.module.string(id));
    if let Some(text) = version.filter(|text| semver::Version::parse(text).is_err()) {
        let problem = format!("{} is no version, such as `1.2.0`", report::quote(text));
        report.error(Place::Name, problem);
    }
}

/// Whose import it is, and in which versions.
fn check_import(facts: &Facts, index: usize, import: &Import, report: &mut Report) {
    let place = Place::Import(index);
    check_text(facts, place, "imported module", Some(import.module), report);
    check_text(facts, place, "requirement", import.requirement, report);
    let requirement = import.requirement.map(|id| facts.module.string(id));
    if let Some(text) = requirement.filter(|text| semver::VersionReq::parse(text).is_err()) {
        let problem = format!("{} is no requirement of a version", report::quote(text));
        report.error(place, problem);
    }
}

fn check_text(facts: &Facts, place: Place, what: &str, id: Option<StringId>, report: &mut Report) {
    if let Some(id) = id.filter(|id| facts.arity(*id).is_none()) {
        report.error(place, format!("the {what} is {id}, which does not exist or is empty"));
    }
}

/// An imported function is a signature, and nothing but that.
fn check_signature(facts: &Facts, place: Place, function: &Function, report: &mut Report) {
    let mut error = |message: &str| report.error(place, message);
    if !function.kind.is_linkable() {
        return error("functions of this kind cannot be imported");
    }
    if facts.arity(function.name).is_none() {
        return error("the name of an imported function does not exist or is empty");
    }
    if !function.is_imported() {
        return error("an import lists it, but it has code of its own");
    }
    let is_bare = function.registers.len() == usize::from(function.parameters)
        && function.captured == 0
        && function.home.is_none()
        && function.constants.is_empty()
        && function.sites.is_empty()
        && function.regions.is_empty()
        && function.lines.is_empty();
    if !is_bare {
        return error("an imported function has parameters and a result only");
    }
    if function.kind == FunctionKind::Process
        && (function.registers.contains(&RegisterType::Any) || function.result != RegisterType::Any)
    {
        return error("a process has no parameter that is `any`, and no result");
    }
    let mut types = function.registers.iter().chain([&function.result]);
    if let Some(kind) = types.find(|kind| !facts.has_type(**kind)) {
        error(&format!("{kind} does not exist"));
    }
}

fn check_exports(facts: &Facts, report: &mut Report) {
    let mut names = HashSet::new();
    for (index, export) in facts.module.exports.iter().enumerate() {
        let place = Place::Export(index);
        check_text(facts, place, "name of an export", Some(export.name), report);
        let name = facts.quote(export.name);
        if !names.insert(export.name) {
            report.error(place, format!("{name} is exported twice"));
        }
        let id = export.function;
        match facts.module.functions.get(id.index()) {
            None => report.error(place, format!("{name} exports {id}, which does not exist")),
            Some(function) if !function.kind.is_linkable() => {
                let kind = function.kind.name();
                report.error(place, format!("{name} exports {id}, a {kind}, which cannot be"));
            }
            Some(function) if function.is_imported() => {
                report.error(place, format!("{name} exports {id}, which has no code here"));
            }
            Some(_) => {}
        }
    }
}
