//! Programs from elsewhere, if they are present on the machine.
//!
//! `SQUALL_SOMNS=path/to/SOMns cargo test -p squall-newspeak corpus` parses SOMns's core library,
//! and `SQUALL_AWFY=path/to/are-we-fast-yet` its benchmarks.

use std::path::{Path, PathBuf};

use crate::diagnostics::render::{Colour, to_text};
use crate::parser::parse;
use crate::source::Source;

/// Files of SOMns that are not SOMns programs, though named like some.
const NO_PROGRAMS: &[&str] =
    &["LanguageFeatures/SlopStone.ns", "LanguageFeatures/DoesNotUnderstand/"];

#[test]
fn the_core_library_of_somns_is_accepted() {
    let Some(root) = std::env::var_os("SQUALL_SOMNS") else {
        return;
    };
    let files = programs(&Path::new(&root).join("core-lib"));
    let (strangers, programs): (Vec<_>, Vec<_>) =
        files.iter().partition(|path| is_no_program(path));
    assert_eq!((programs.len(), strangers.len()), (129, 11));
    programs.iter().for_each(|path| accept(path));
    strangers.iter().for_each(|path| refuse(path));
}

#[test]
fn the_benchmarks_of_are_we_fast_yet_are_accepted() {
    let Some(root) = std::env::var_os("SQUALL_AWFY") else {
        return;
    };
    let files = programs(&Path::new(&root).join("benchmarks/SOMns"));
    assert_eq!(files.len(), 16);
    files.iter().for_each(|path| accept(path));
}

fn accept(path: &Path) {
    let source = read(path);
    let parse = parse(&source);
    let report = to_text(&source, &parse.diagnostics, Colour::None);
    assert!(parse.ast.is_some() && parse.diagnostics.is_empty(), "{report}");
}

fn refuse(path: &Path) {
    assert!(parse(&read(path)).ast.is_none(), "{} is accepted", path.display());
}

fn is_no_program(path: &Path) -> bool {
    let name = path.to_string_lossy();
    NO_PROGRAMS.iter().any(|part| name.contains(part))
}

fn read(path: &Path) -> Source {
    let bytes = std::fs::read(path).expect("the file can be read");
    Source::from_bytes(path.to_string_lossy(), &bytes)
}

/// All Newspeak files below a directory.
fn programs(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the directory can be read");
    let paths = entries.map(|entry| entry.expect("the entry can be read").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => programs(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "ns"))
        .collect()
}
