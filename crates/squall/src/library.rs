//! The kernel and the libraries, `lib/*.ns`, and the host modules for bytecode, `lib/host/*.sqasm`, compiled when this
//! crate is built. The machine gives them to the runtime.
//!
//! A module is opened when a program first needs it, and decoded function by function. These modules are trusted: only
//! they may use primitives.

use squall_bytecode::format::ModuleImage;
use squall_bytecode::module::Module;

/// The names and binary forms of all modules, by name.
static MODULES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

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
    fn a_module_that_does_not_exist_is_none() {
        assert!(module("NoSuchModule").is_none());
    }
}
