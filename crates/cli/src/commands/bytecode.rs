//! `squall asm`, `disasm` and `verify`: bytecode in its binary and its text form. `commands` calls a function for each
//! of these commands.

use std::path::{Path, PathBuf};

use serde_json::json;
use squall::compiler::{Assembly, CompileProblem, FileKind, compile_newspeak};
use squall_bytecode::disassembler::disassemble as disassemble_module;
use squall_bytecode::format;
use squall_bytecode::module::Module;
use squall_bytecode::verifier::{self, Trust, VerifyError};

use super::native;
use crate::arguments::{Asm, Disasm, Verify};
use crate::console::{colour, complain, print, print_error};
use crate::exit::Exit;
use crate::files::{self, Input};

pub fn assemble(arguments: &Asm) -> Result<Exit, Exit> {
    let input = files::read(&arguments.file, &[FileKind::Assembly])?;
    let module = load(&input)?.into_module();
    let bytes = format::encode(&module).map_err(|error| {
        complain(&format!("{}: {error}", input.path));
        Exit::Invalid
    })?;
    let output = arguments.output.clone();
    let output = output.unwrap_or_else(|| beside(&input.path, FileKind::Binary));
    std::fs::write(&output, bytes).map_err(|error| files::unwritten(output.display(), &error))?;
    Ok(Exit::Success)
}

fn beside(path: &str, kind: FileKind) -> PathBuf {
    Path::new(path).with_extension(kind.extension())
}

pub fn disassemble(arguments: &Disasm) -> Result<Exit, Exit> {
    if arguments.native.is_some() {
        return native::disassemble(arguments);
    }
    let [file] = arguments.program.as_slice() else {
        complain("`disasm` shows one file; only with `--native`, a program has arguments");
        return Err(Exit::Usage);
    };
    let module = load(&files::read(file, &FileKind::ALL)?)?.into_module();
    print(&disassemble_module(&module));
    Ok(Exit::Success)
}

pub fn verify(arguments: &Verify) -> Result<Exit, Exit> {
    let mut exit = Exit::Success;
    for path in &arguments.files {
        let result = files::read(path, &FileKind::ALL)
            .and_then(|input| load(&input))
            .map(|loaded| verify_one(path, &loaded, arguments.json));
        exit = exit.and(result.unwrap_or_else(|exit| exit));
    }
    Ok(exit)
}

fn verify_one(path: &str, loaded: &Loaded, as_json: bool) -> Exit {
    let Err(errors) = verifier::verify(loaded.module(), Trust::Untrusted) else {
        return Exit::Success;
    };
    match loaded {
        _ if as_json => errors.iter().for_each(|error| {
            print(&format!("{}\n", to_json(path, loaded, error)));
        }),
        Loaded::Text(assembly) => print_error(&assembly.problem(&errors).render(colour())),
        Loaded::Module(_) => {
            errors.iter().for_each(|error| complain(&format!("{path}: {error}")));
        }
    }
    Exit::Invalid
}

fn to_json(path: &str, loaded: &Loaded, error: &VerifyError) -> serde_json::Value {
    json!({
        "file": path,
        "class": error.class().map(|id| id.index()),
        "function": error.function.map(|id| id.index()),
        "name": error.name,
        "pc": error.pc(),
        "line": error.position.map(|position| position.line),
        "column": error.position.map(|position| position.column),
        "message": error.message,
        "text": text_place(loaded, error),
    })
}

/// The place of an error in the text form.
fn text_place(loaded: &Loaded, error: &VerifyError) -> serde_json::Value {
    let Loaded::Text(assembly) = loaded else { return serde_json::Value::Null };
    let mistake = assembly.mistake(error);
    let span = mistake.diagnostic.span;
    match span.line {
        0 => serde_json::Value::Null,
        _ => json!({
            "file": assembly.files()[mistake.file].name,
            "line": span.line,
            "column": span.column,
            "length": span.length,
        }),
    }
}

/// The module in a file, not verified.
enum Loaded {
    Module(Module),
    /// A module with the text that it was assembled from.
    Text(Box<Assembly>),
}

impl Loaded {
    fn module(&self) -> &Module {
        match self {
            Loaded::Module(module) => module,
            Loaded::Text(assembly) => &assembly.module,
        }
    }

    fn into_module(self) -> Module {
        match self {
            Loaded::Module(module) => module,
            Loaded::Text(assembly) => assembly.module,
        }
    }
}

fn load(input: &Input) -> Result<Loaded, Exit> {
    let path = &input.path;
    match input.kind {
        FileKind::Newspeak => {
            let module = compile_newspeak(input.source(), false).map_err(show)?;
            Ok(Loaded::Module(module.module().clone()))
        }
        FileKind::Binary => format::decode(&input.bytes).map(Loaded::Module).map_err(|error| {
            complain(&format!("{path}: {error}"));
            Exit::Invalid
        }),
        FileKind::Assembly => Assembly::of(path, &input.bytes, &files::read_included)
            .map(|assembly| Loaded::Text(Box::new(assembly)))
            .map_err(show),
    }
}

fn show(problem: CompileProblem) -> Exit {
    print_error(&problem.render(colour()));
    Exit::Invalid
}
