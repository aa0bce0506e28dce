//! `squall disasm --native`: runs a program, and shows the machine code of its functions. `bytecode` calls this module.
//!
//! The listing alone goes to the standard output, so that it can be compared with another one; what the program writes
//! goes to the standard error output.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use squall::{Jit, Part, Surroundings};

use super::run::{check_program, compile, options};
use super::start_in;
use crate::arguments::{Disasm, NativePart, PackageArguments};
use crate::console::{complain, print};
use crate::exit::Exit;
use crate::packages::{Program, ProgramSurroundings};

pub fn disassemble(arguments: &Disasm) -> Result<Exit, Exit> {
    let program = Program::find(&arguments.program, &PackageArguments::default())?;
    let mut options = options(&arguments.machine, &program);
    options.jit_views = true;
    if options.jit == Jit::Off {
        complain("with `--jit=off`, there is no machine code to show");
        return Err(Exit::Usage);
    }
    let module = compile(&program, options.verify_all)?;
    check_program(&program.input.path, module.module())?;
    let mut machine = start_in(options, OnErrors(program.surroundings()))?;
    machine.prepare(&program.arguments[0], module);
    let code = machine.run_program();
    let sources = Sources::default();
    let line = |path: &str, number| sources.line(path, number);
    let parts = parts(arguments.native.as_deref().unwrap_or_default());
    match machine.listing(&arguments.method, &parts, &line) {
        Ok(listing) if listing.is_empty() => {
            complain(
                "there is nothing to show: these functions were too cold\n  \
                 hint: `--jit-eager` compiles each function when it runs first",
            );
            Err(Exit::Failure)
        }
        Ok(listing) => {
            print(&listing);
            Ok(Exit::Program(code))
        }
        Err(name) => {
            complain(&format!("no function has `{name}` in its name"));
            Err(Exit::Failure)
        }
    }
}

/// The parts to show; none stands for the usual ones.
fn parts(chosen: &[NativePart]) -> Vec<Part> {
    if chosen == [NativePart::All] {
        return Vec::new();
    }
    chosen.iter().flat_map(|part| parts_of(*part)).copied().collect()
}

fn parts_of(part: NativePart) -> &'static [Part] {
    match part {
        NativePart::All => &[Part::Bytecode, Part::Unit, Part::Code, Part::Exits],
        NativePart::Bytecode => &[Part::Bytecode],
        NativePart::Base => &[Part::Base],
        NativePart::Passes => &[Part::Passes],
        NativePart::Ir => &[Part::Unit],
        NativePart::Code => &[Part::Code],
        NativePart::Exits => &[Part::Exits],
    }
}

/// The lines of source texts, read when they are first asked for. Texts of the library are no files.
#[derive(Default)]
struct Sources {
    lines: RefCell<HashMap<String, Vec<String>>>,
}

impl Sources {
    fn line(&self, path: &str, number: u32) -> Option<String> {
        let mut lines = self.lines.borrow_mut();
        let lines = lines.entry(path.to_owned()).or_insert_with(|| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        });
        lines.get(number.checked_sub(1)? as usize).cloned()
    }
}

/// A console on which the program's output is among its errors.
struct OnErrors(ProgramSurroundings);

impl Surroundings for OnErrors {
    fn write_output(&self, text: &str) {
        self.0.write_error(text);
    }

    fn write_error(&self, text: &str) {
        self.0.write_error(text);
    }

    fn read_input(&self, most: usize) -> io::Result<Vec<u8>> {
        self.0.read_input(most)
    }

    fn flush(&self) {
        self.0.flush();
    }

    fn abandon(&self, code: i32) {
        self.0.abandon(code);
    }

    fn read_module(&self, path: &str) -> io::Result<Vec<u8>> {
        self.0.read_module(path)
    }
}
