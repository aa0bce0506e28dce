//! `squall build`: makes one file of a program and its packages. `commands` calls this module.
//!
//! All modules are compiled first, so a bundle has no mistake that the compiler can find.

use std::path::{Path, PathBuf};

use clap::Parser;
use squall::compiler::FileKind;
use squall_packages::authority::Authority;
use squall_packages::bundle::{self, Bundle, EXTENSION};
use squall_packages::problem::Problem;
use squall_packages::project::{Project, Update, shown};

use super::run::{check_program, compile, compile_input, show_warnings};
use crate::arguments::{Arguments, Build, Command};
use crate::console::{complain, print};
use crate::exit::Exit;
use crate::files;
use crate::packages::{Program, folder_of_package, open, refuse};

pub fn build(arguments: &Build) -> Result<Exit, Exit> {
    check_flags(&arguments.flag)?;
    let folder = folder_of_package()?;
    let project = open(&folder, &arguments.packages, Update::None)?;
    check_modules(&folder, &project, arguments)?;
    let authority = Authority::of(&project).map_err(refuse)?;
    let bundle = Bundle::of(&project, &authority, arguments.flag.clone()).map_err(refuse)?;
    let bytes = bundle.bytes();
    let path = arguments.output.clone().unwrap_or_else(|| default_output(&project, arguments));
    let machine = if arguments.standalone { Some(machine()?) } else { None };
    bundle::write(&path, machine.as_deref(), &bytes).map_err(refuse)?;
    let modules = counted(bundle.modules.len(), "module");
    let packages = counted(project.packages.len(), "package");
    print(&format!("{}: {modules} of {packages}\n", path.display()));
    Ok(Exit::Success)
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Complains about flags that are no options of `squall run`.
fn check_flags(flags: &[String]) -> Result<(), Exit> {
    let line = ["squall", "run"].into_iter().chain(flags.iter().map(String::as_str));
    let parsed = Arguments::try_parse_from(line.chain(["program.ns"]));
    let is_run = |command: &Command| match command {
        Command::Run(run) => run.program == ["program.ns"],
        _ => false,
    };
    match parsed {
        Ok(arguments) if is_run(&arguments.command) => Ok(()),
        Ok(_) => {
            complain("--flag names an option of `squall run`, such as --flag=--allow-net");
            Err(Exit::Usage)
        }
        Err(error) => {
            complain(&format!("--flag names no option of `squall run`: {}", error.kind()));
            Err(Exit::Usage)
        }
    }
}

/// Compiles all modules, or shows their mistakes.
fn check_modules(folder: &Path, project: &Project, arguments: &Build) -> Result<(), Exit> {
    let main = folder.display().to_string();
    let program = Program::find(&[main], &arguments.packages)?;
    let module = compile(&program, true)?;
    check_program(&program.input.path, module.module())?;
    show_warnings(&program.input);
    let mut result = Ok(());
    for package in &project.packages {
        for name in bundle::modules_of(package).map_err(refuse)? {
            let path = shown(&package.folder, Path::new(&name));
            // The file of a text that another one includes need not be a module.
            if FileKind::of_path(&name) == Some(FileKind::Assembly) {
                continue;
            }
            let input = files::read(&path.display().to_string(), &FileKind::ALL)?;
            if let Err(exit) = compile_input(&input, true, &files::read_included) {
                result = Err(exit);
            }
        }
    }
    result
}

fn default_output(project: &Project, arguments: &Build) -> PathBuf {
    let path = PathBuf::from(&project.application().manifest.name);
    match arguments.standalone {
        true => path,
        false => path.with_extension(EXTENSION),
    }
}

/// The machine's own binary.
fn machine() -> Result<PathBuf, Exit> {
    std::env::current_exe().map_err(|error| {
        refuse(Problem::failed(format!("the machine's own binary is not found: {error}")))
    })
}
