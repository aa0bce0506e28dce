//! `squall asm`, `disasm` and `verify`: bytecode in its binary and its text form.

use std::path::{Path, PathBuf};

use serde_json::json;
use squall::compiler::{self, CompileProblem, FileKind, compile_newspeak};
use squall_bytecode::disassembler::disassemble as disassemble_module;
use squall_bytecode::format;
use squall_bytecode::module::Module;
use squall_bytecode::verifier::{self, Trust, VerifyError};

use crate::arguments::{Asm, Disasm, Verify};
use crate::console::{colour, complain, print, print_error};
use crate::exit::Exit;
use crate::files::{self, Input};

pub fn assemble(arguments: &Asm) -> Result<Exit, Exit> {
    let input = files::read(&arguments.file, &[FileKind::Assembly])?;
    let module = load(&input)?;
    let bytes = format::encode(&module).map_err(|error| {
        complain(&format!("{}: {error}", input.path));
        Exit::Invalid
    })?;
    let output = arguments.output.clone();
    let output = output.unwrap_or_else(|| beside(&input.path, FileKind::Binary));
    std::fs::write(&output, bytes).map_err(|error| {
        complain(&format!("{} cannot be written: {error}", output.display()));
        Exit::Output
    })?;
    Ok(Exit::Success)
}

fn beside(path: &str, kind: FileKind) -> PathBuf {
    Path::new(path).with_extension(kind.extension())
}

pub fn disassemble(arguments: &Disasm) -> Result<Exit, Exit> {
    let module = load(&files::read(&arguments.file, &FileKind::ALL)?)?;
    print(&disassemble_module(&module));
    Ok(Exit::Success)
}

pub fn verify(arguments: &Verify) -> Result<Exit, Exit> {
    let mut exit = Exit::Success;
    for path in &arguments.files {
        let result = files::read(path, &FileKind::ALL)
            .and_then(|input| load(&input))
            .map(|module| verify_one(path, &module, arguments.json));
        exit = exit.and(result.unwrap_or_else(|exit| exit));
    }
    Ok(exit)
}

fn verify_one(path: &str, module: &Module, as_json: bool) -> Exit {
    let errors = verifier::verify(module, Trust::Untrusted).err().unwrap_or_default();
    for error in &errors {
        match as_json {
            true => print(&format!("{}\n", to_json(path, error))),
            false => complain(&format!("{path}: {error}")),
        }
    }
    if errors.is_empty() { Exit::Success } else { Exit::Invalid }
}

fn to_json(path: &str, error: &VerifyError) -> serde_json::Value {
    json!({
        "file": path,
        "class": error.class.map(|id| id.index()),
        "function": error.function.map(|id| id.index()),
        "name": error.name,
        "pc": error.pc,
        "line": error.position.map(|position| position.line),
        "column": error.position.map(|position| position.column),
        "message": error.message,
    })
}

/// The module in a file, not verified.
fn load(input: &Input) -> Result<Module, Exit> {
    let path = &input.path;
    match input.kind {
        FileKind::Newspeak => {
            let module = compile_newspeak(input.source(), false).map_err(show)?;
            Ok(module.module().clone())
        }
        FileKind::Binary => format::decode(&input.bytes).map_err(|error| {
            complain(&format!("{path}: {error}"));
            Exit::Invalid
        }),
        FileKind::Assembly => {
            compiler::assemble(path, &input.bytes, &files::read_included).map_err(show)
        }
    }
}

fn show(problem: CompileProblem) -> Exit {
    print_error(&problem.render(colour()));
    Exit::Invalid
}
