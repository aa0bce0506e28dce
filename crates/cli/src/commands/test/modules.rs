//! The test modules in files and folders, and the options to run one. [`super::test`] and `squall bench` ask for them.
//!
//! A file that is named has tests, or its run says why not. Below a folder, the files with tests are those whose main class
//! has the factory of test modules, and programs with examples in their comments; packages that were copied into the
//! project are left out.

use std::path::Path;

use squall::Options;
use squall::compiler::FileKind;
use squall::testing::FACTORY;
use squall_newspeak::examples::examples;
use squall_newspeak::{Source, parse};

use crate::arguments::TestModules;
use crate::console::complain;
use crate::exit::Exit;
use crate::{files, packages};

/// The folder of packages that were copied into a project.
const VENDOR: &str = "vendor";

/// The options of the machine for the module in a file, with the packages of the file's project.
pub fn options(arguments: &TestModules, file: &str) -> Result<Options, Exit> {
    let mut options = arguments.machine.options(arguments.files.clone());
    if let Some(project) = packages::project_of(file, &arguments.packages)? {
        options.packages = packages::packages_of(&project)?;
    }
    Ok(options)
}

/// The test modules among files and below folders, each once.
pub fn in_files(paths: &[String]) -> Result<Vec<String>, Exit> {
    let mut modules = Vec::new();
    for path in paths {
        let found = match Path::new(path).is_dir() {
            true => below(path)?,
            false => vec![path.clone()],
        };
        modules.extend(found);
    }
    let mut seen = std::collections::HashSet::new();
    modules.retain(|path| seen.insert(path.clone()));
    Ok(modules)
}

/// The test modules at and below a folder.
fn below(folder: &str) -> Result<Vec<String>, Exit> {
    let mut found = files::below(folder, &[FileKind::Newspeak])?;
    found.retain(|path| !is_vendored(folder, path) && has_tests(path));
    if found.is_empty() {
        complain(&format!(
            "no tests are in {folder}: no class has the factory `{FACTORY}`, and no comment has examples"
        ));
        return Err(Exit::NoInput);
    }
    // `./a.ns` is `a.ns`.
    Ok(found
        .into_iter()
        .map(|path| path.strip_prefix("./").map_or(path.clone(), str::to_owned))
        .collect())
}

fn is_vendored(folder: &str, path: &str) -> bool {
    let below = Path::new(path).strip_prefix(folder).unwrap_or(Path::new(path));
    below.components().any(|part| part.as_os_str() == VENDOR)
}

/// Whether a file has tests or examples, as far as its mistakes allow.
fn has_tests(path: &str) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    let source = Source::from_bytes(path, &bytes);
    is_test_module(&source) || !examples(&source).is_empty()
}

/// Whether the file's main class has the factory of test modules.
fn is_test_module(source: &Source) -> bool {
    // Most files are no test modules, and need no parser to tell.
    if !FACTORY.split_inclusive(':').all(|keyword| source.text().contains(keyword)) {
        return false;
    }
    parse(source).ast.is_none_or(|ast| {
        let class = &ast[ast.module];
        let methods = class.class_methods.iter().map(|&method| ast[method].pattern.selector);
        methods.chain([class.factory.selector]).any(|selector| &ast[selector] == FACTORY)
    })
}
