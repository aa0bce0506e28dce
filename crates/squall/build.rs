//! Compiles the library, `lib/*.ns`, and assembles the host modules, `lib/host/*.sqasm`, into binary modules that the
//! crate embeds.
//!
//! Writes `OUT_DIR/<Name>.sqb` per module, and `OUT_DIR/library.rs` with the table of them. The
//! module in `lib/host/console.sqasm` is called `host:console`. `OUT_DIR/outline.txt` has the interfaces of the classes,
//! and `OUT_DIR/sources.rs` the paths of the texts.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use squall_newspeak::diagnostics::render::{Colour, to_text};
use squall_newspeak::{CompileOptions, Library, Source, check, compile_source, parse};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib");
    let output = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut table = String::from("&[\n");
    let mut modules: Vec<(String, Vec<u8>)> = Vec::new();
    let texts = sources(&folder, "ns");
    for path in &texts {
        modules.push((name_of(path).to_owned(), compiled(path, name_of(path))));
    }
    for path in sources(&folder.join("host"), "sqasm") {
        modules.push((format!("host:{}", name_of(&path)), assembled(&path)));
    }
    modules.sort();
    for (name, bytes) in modules {
        let binary = output.join(name.replace(':', "-")).with_extension("sqb");
        std::fs::write(&binary, bytes).expect("OUT_DIR is writable");
        writeln!(table, "    ({name:?}, include_bytes!({binary:?})),").expect("strings grow");
    }
    table.push(']');
    std::fs::write(output.join("library.rs"), table).expect("OUT_DIR is writable");
    std::fs::write(output.join("outline.txt"), outline(&texts)).expect("OUT_DIR is writable");
    std::fs::write(output.join("sources.rs"), source_table(&texts)).expect("OUT_DIR is writable");
}

/// The text form of the library's interfaces. Modules name classes of each other, so each round knows more of them.
fn outline(texts: &[PathBuf]) -> String {
    const ROUNDS: usize = 3;
    let text = |path| std::fs::read_to_string(path).expect("library modules are UTF-8");
    let trees = texts.iter().filter_map(|path| parse(&Source::new("lib", text(path))).ast);
    let trees: Vec<_> = trees.collect();
    let mut library = Library::default();
    for _ in 0..ROUNDS {
        let outlines = trees.iter().flat_map(|tree| check::outlines(tree, &library));
        library = Library::new(outlines.collect());
    }
    library.to_text()
}

/// The table of the texts themselves, by module, for those who read the library.
fn source_table(texts: &[PathBuf]) -> String {
    let mut table = String::from("&[\n");
    for path in texts {
        let file = path.canonicalize().expect("the file is there");
        writeln!(table, "    ({:?}, include_str!({file:?})),", name_of(path))
            .expect("strings grow");
    }
    table + "]"
}

fn name_of(path: &Path) -> &str {
    path.file_stem().and_then(|name| name.to_str()).expect("names are UTF-8")
}

fn sources(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the library's folder is there");
    let paths = entries.map(|entry| entry.expect("its entries can be read").path());
    let mut sources: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|own| own == extension)).collect();
    sources.sort();
    for source in &sources {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    sources
}

/// The binary form of a library module; a mistake in it ends the build.
fn compiled(path: &Path, name: &str) -> Vec<u8> {
    let text = std::fs::read_to_string(path).expect("library modules are UTF-8");
    // The path in traces: the path on the build machine would not help a user.
    let shown = format!("lib/{name}.ns");
    let options = CompileOptions { trusted: true };
    let source = Source::new(shown, text);
    match compile_source(&source, &options) {
        Ok(module) => {
            squall_bytecode::format::encode(&module).expect("the module has a binary form")
        }
        Err(diagnostics) => {
            eprintln!(
                "the library does not compile:\n{}",
                to_text(&source, &diagnostics, Colour::None)
            );
            std::process::exit(1);
        }
    }
}

/// The binary form of a host module; a mistake in it ends the build.
fn assembled(path: &Path) -> Vec<u8> {
    let text = std::fs::read_to_string(path).expect("modules are UTF-8");
    match squall_bytecode::assembler::assemble(&text) {
        Ok(module) => {
            squall_bytecode::format::encode(&module).expect("the module has a binary form")
        }
        Err(problems) => {
            eprintln!("{} does not assemble: {}", path.display(), problems[0]);
            std::process::exit(1);
        }
    }
}
