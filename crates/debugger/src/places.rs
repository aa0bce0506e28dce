//! Places in code: what `breakpoints`, `points`, `watches` and `listing` know of functions and files.

use std::path::{Path, PathBuf};

use squall_bytecode::entities::FunctionId;
use squall_runtime::model::function::Function;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::Place;

/// The key of a place.
pub fn key(place: Place) -> usize {
    std::ptr::from_ref(&place.0.code[place.1]).addr()
}

/// A path as breakpoints are compared by.
pub fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The functions of a module that have code.
pub(crate) fn functions(module: &'static LoadedModule) -> impl Iterator<Item = &'static Function> {
    let numbers = 0..module.bytecode.function_count();
    let all = numbers.map(|number| module.function(FunctionId(number as u32)));
    all.filter(|function| !function.bytecode().is_imported())
}
