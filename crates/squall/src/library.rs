//! The kernel and the libraries, `lib/*.ns`, and the host modules for bytecode, `lib/host/*.sqasm`, compiled when this
//! crate is built. The machine gives them to the runtime.
//!
//! A module is opened when a program first needs it, and decoded function by function. These modules are trusted: only
//! they may use primitives.

use std::sync::LazyLock;

use squall_bytecode::format::ModuleImage;
use squall_bytecode::module::Module;
use squall_newspeak::Library;

/// The names and binary forms of all modules, by name.
static MODULES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// The names and texts of the modules in Newspeak, by name.
static SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The interfaces of all classes.
static OUTLINE: LazyLock<Library> =
    LazyLock::new(|| Library::of_text(include_str!(concat!(env!("OUT_DIR"), "/outline.txt"))));

/// The names of all modules, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|(name, _)| *name)
}

/// The image of the module of this name, whose functions can be decoded one by one.
pub fn image(name: &str) -> Option<ModuleImage<'static>> {
    let index = MODULES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(ModuleImage::open(MODULES[index].1).expect(WRITTEN_BY_US))
}

/// The module of this name.
pub fn module(name: &str) -> Option<Module> {
    image(name).map(|image| image.to_module().expect(WRITTEN_BY_US))
}

/// The interfaces of the library's classes, for checks and for readers.
pub fn outline() -> &'static Library {
    &OUTLINE
}

/// The text of the module of this name.
pub fn source(name: &str) -> Option<&'static str> {
    let index = SOURCES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(SOURCES[index].1)
}

const WRITTEN_BY_US: &str = "the build wrote it with the same crate";

#[cfg(test)]
mod tests {
    use super::*;
    use squall_bytecode::verifier::{Trust, verify};

    #[test]
    fn every_module_can_be_verified() {
        for name in names() {
            let module = module(name).expect("it is in the table");
            let errors = verify(&module, Trust::Trusted).err().unwrap_or_default();
            assert!(errors.is_empty(), "{name}: {}", errors[0]);
        }
    }

    #[test]
    fn every_class_of_the_outline_has_its_text() {
        assert!(outline().classes().len() > 100);
        for class in outline().classes() {
            let text = &source(class.module()).expect("it has a text")[class.span.range()];
            assert!(text.contains(&format!("class {}", class.name())), "{text}");
            assert!(class.parents.is_some(), "the superclass of {} is unknown", class.path);
        }
        assert_eq!(outline().ways_to("Set"), ["platform collections"]);
    }

    #[test]
    fn a_module_that_does_not_exist_is_none() {
        assert!(module("NoSuchModule").is_none());
    }
}
