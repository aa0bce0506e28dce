//! `squall check`: compiles files without running them. `commands` calls this module, and so does `squall run` to show
//! the stages of a compilation.

use std::io::{IsTerminal, stderr};

use squall::compiler::{
    CompileProblem, FileKind, check_newspeak, compile_newspeak, module_from_bytes,
};
use squall_bytecode::disassembler::disassemble;
use squall_newspeak::diagnostics::{json, render};
use squall_newspeak::{Diagnostic, dump, lexer, parse};

use crate::arguments::{Check, Stage};
use crate::console::{colour, print, print_error};
use crate::exit::Exit;
use crate::files::{self, Input};

pub fn check(arguments: &Check) -> Result<Exit, Exit> {
    let (mut exit, mut has_warnings) = (Exit::Success, false);
    for path in &arguments.files {
        let result = files::read(path, &[FileKind::Newspeak]).and_then(|input| {
            let checked = check_one(&input, arguments.json).map(|exit| match exit {
                // Warnings do not forbid to run the program.
                Exit::Failure if !arguments.strict => {
                    has_warnings = true;
                    Exit::Success
                }
                exit => exit,
            });
            match arguments.dump.is_empty() {
                true => checked,
                false => checked.and_then(|_| show_stages(&input, &arguments.dump)),
            }
        });
        exit = exit.and(result.unwrap_or_else(|exit| exit));
    }
    if exit == Exit::Success
        && !has_warnings
        && !arguments.json
        && arguments.dump.is_empty()
        && stderr().is_terminal()
    {
        print_error("no mistakes found\n");
    }
    Ok(exit)
}

/// Shows the errors and warnings of a file.
fn check_one(input: &Input, as_json: bool) -> Result<Exit, Exit> {
    let source = input.source();
    let diagnostics = check_newspeak(&source);
    let exit = match diagnostics.iter().any(Diagnostic::is_error) {
        true => Exit::Invalid,
        false if diagnostics.is_empty() => Exit::Success,
        false => Exit::Failure,
    };
    let problem = match exit {
        Exit::Invalid => CompileProblem::Newspeak(source, diagnostics),
        // Only a bug in the compiler makes a module that the verifier refuses.
        _ => match compile_newspeak(source.clone(), true) {
            Ok(_) => CompileProblem::Newspeak(source, diagnostics),
            Err(problem) => problem,
        },
    };
    match (&problem, as_json) {
        (CompileProblem::Newspeak(source, diagnostics), true) => {
            print(&json::to_json_lines(source, diagnostics));
        }
        _ => print_error(&problem.render(colour())),
    }
    match problem {
        CompileProblem::Newspeak(..) => Ok(exit),
        _ => Ok(Exit::Invalid),
    }
}

/// Shows the compiler's stages for a file.
pub fn show_stages(input: &Input, stages: &[Stage]) -> Result<Exit, Exit> {
    for stage in stages {
        print(&show(input, *stage)?);
    }
    Ok(Exit::Success)
}

fn show(input: &Input, stage: Stage) -> Result<String, Exit> {
    let source = input.source();
    let refuse = |diagnostics: &[Diagnostic]| {
        print_error(&render::to_text(&source, diagnostics, colour()));
        Exit::Invalid
    };
    match stage {
        Stage::Tokens => Ok(dump::tokens(&source, &lexer::tokenize(&source).list)),
        Stage::Ast => {
            let parsed = parse(&source);
            parsed.ast.map(|ast| dump::ast(&ast)).ok_or_else(|| refuse(&parsed.diagnostics))
        }
        Stage::Bytecode => match module_from_bytes(&input.path, input.kind, &input.bytes, false) {
            Ok(module) => Ok(disassemble(module.module())),
            Err(problem) => {
                print_error(&problem.render(colour()));
                Err(Exit::Invalid)
            }
        },
    }
}
