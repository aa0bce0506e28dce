//! Golden files: `filetests/*.sqir`. `BLESS=1` rewrites the expectations.
//!
//! A file has three parts, with lines of dashes between them:
//!
//! ```text
//! ; What the file shows.
//! test build inline simplify      the passes, in order; `inline` makes `build` inline, `all` are all of them,
//!                                 `clif` is Cranelift's text, and `code` the code's size and tables
//! from 7                          the unit begins at the head of the loop at this pc
//! certain r0 object[c0020]        what is known of a register at the start, without a test
//! likely r1 int                   the same with a test
//! site f0 3 int=number:add:       feedback; see `World::fact`
//! branch f0 5 taken fell
//! ----
//! assembly, or a unit if `build` is not among the passes
//! ----
//! the result
//! ```

use std::fs;
use std::path::PathBuf;

use squall_bytecode::entities::Register;
use squall_compiler::build::{Limits, build_with};
use squall_compiler::code::{Request, Start};
use squall_compiler::ir::entities::FunctionRef;
use squall_compiler::ir::parse::{parse, parse_type};
use squall_compiler::ir::types::Type;
use squall_compiler::ir::verify::verify;
use squall_compiler::lower::Backend;
use squall_compiler::passes::residence::{Residence, residence};
use squall_compiler::{PASSES, ir::Unit};

use crate::world::World;

const DASHES: &str = "----\n";

#[test]
fn golden_files() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|file| file.expect("a file").path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a text");
        let parts: Vec<&str> = text.splitn(3, DASHES).collect();
        let [head, source, ..] = parts[..] else { panic!("{}: parts are missing", file.display()) };
        let result = run(head, source);
        if parts.get(2) == Some(&&*result) {
            continue;
        }
        if std::env::var_os("BLESS").is_some() {
            fs::write(&file, format!("{head}{DASHES}{source}{DASHES}{result}")).expect("written");
        } else {
            let expected = parts.get(2).unwrap_or(&"");
            wrong.push(format!("{}\nexpected:\n{expected}\nfound:\n{result}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "BLESS=1 accepts these results:\n{}", wrong.join("\n"));
}

/// The result of a file.
fn run(head: &str, source: &str) -> String {
    let (mut passes, mut facts) = (Vec::new(), Vec::new());
    let mut request = Request::function(FunctionRef(0));
    for line in head.lines().filter(|line| !line.starts_with(';') && !line.is_empty()) {
        match line.split_once(' ') {
            Some(("test", names)) => passes.extend(names.split_whitespace()),
            Some(("from", pc)) => request.start = Start::Loop(pc.parse().expect("a pc")),
            Some(("certain", rest)) => request.certain.push(register_kind(rest)),
            Some(("likely", rest)) => request.likely.push(register_kind(rest)),
            _ => facts.push(line),
        }
    }
    let is_built = passes.contains(&"build");
    let mut world = World::of(if is_built {
        source
    } else {
        "function fn0 \"none\" (1) {\nregisters any\nreturn r0\n}"
    });
    facts.into_iter().for_each(|line| world.fact(line));
    let mut unit = if is_built {
        let limits = if passes.contains(&"inline") { Limits::default() } else { Limits::NONE };
        build_with(&world, &request, limits).expect("it can be built")
    } else {
        let unit = parse(source).unwrap_or_else(|error| panic!("{error}"));
        let printed = unit.to_string();
        assert_eq!(parse(&printed).expect("the text form").to_string(), printed);
        unit
    };
    let mut result = None;
    for name in passes {
        apply(name, &mut unit, &world, &request, &mut result);
    }
    result.unwrap_or_else(|| unit.to_string())
}

fn apply(
    name: &str,
    unit: &mut Unit,
    world: &World,
    request: &Request,
    result: &mut Option<String>,
) {
    verify_or_panic(unit);
    match name {
        "build" | "inline" => {}
        "verify" => *result = Some("well formed\n".into()),
        "all" => {
            for pass in PASSES {
                (pass.run)(unit);
                verify_or_panic(unit);
            }
        }
        "residence" => {
            let exits = residence(unit).expect("each value has a place");
            *result = Some(format!("{unit}\n{}", exits.text()));
        }
        "clif" => {
            let exits = residence(unit).expect("each value has a place");
            let mut backend = Backend::new().expect("this machine has a backend");
            *result = Some(
                backend.translated(unit, &exits, world, request.start).0.display().to_string(),
            );
        }
        "code" => *result = Some(code(unit, world, request)),
        name => {
            let pass = PASSES.iter().find(|pass| pass.name == name);
            (pass.unwrap_or_else(|| panic!("no pass {name}")).run)(unit);
        }
    }
    if !matches!(name, "residence" | "clif" | "code") {
        verify_or_panic(unit);
    }
}

/// The tables of compiled code; the bytes depend on the machine.
fn code(unit: &mut Unit, world: &World, request: &Request) -> String {
    let exits: Residence = residence(unit).expect("each value has a place");
    let mut backend = Backend::new().expect("this machine has a backend");
    let code = backend.lower(unit, &exits, world, request).expect("Cranelift takes it");
    assert!(!code.bytes.is_empty());
    let mut text = format!("extent {}\n", code.extent);
    code.exits.iter().for_each(|exit| text += &format!("{exit:?}\n"));
    text
}

/// A register and its type, as in `r1 int`.
fn register_kind(text: &str) -> (Register, Type) {
    let (register, kind) = text.split_once(' ').expect("a register and a type");
    let register = register[1..].parse().map(Register).expect("a register");
    (register, parse_type(kind).expect("a type"))
}

fn verify_or_panic(unit: &Unit) {
    if let Err(errors) = verify(unit) {
        panic!("{errors:#?}\n{unit}");
    }
}
