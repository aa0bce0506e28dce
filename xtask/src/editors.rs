//! `cargo xtask editors`: tests of what editors use, with real clients and engines; and `cargo xtask vsix`, which packs the
//! extension for Visual Studio Code. `main` calls [`run`] and [`pack`].
//!
//! | part | what it does | needs |
//! |---|---|---|
//! | `session` | each request of the language server, by the client of pytest-lsp | Python with `pytest-lsp` |
//! | `clients` | Neovim and Emacs, by the configurations in `editors/README.md` | `nvim`; `emacs` with eglot |
//! | `debugger` | Neovim with nvim-dap debugs a program | `nvim`; a checkout of nvim-dap, by `--nvim-dap` |
//! | `sessions` | the client of Visual Studio Code's adapters debugs: each breakpoint and step, attaching, going back | npm |
//! | `edits` | ten thousand random edits of the library, compared with a fresh server | Python |
//! | `syntax` | the grammars of Vim, Emacs and Visual Studio Code, compared with the scanner | the editors; npm |
//! | `grammar` | the tree-sitter grammar on all programs | `tree-sitter`, a C compiler |
//! | `extension` | the extension's own tests | npm |
//!
//! A part whose tool is missing is skipped, with a line that says so. None of them is among the usual tests, which need no
//! tools from elsewhere. Packages of npm are installed in `target/editors`, never in the project's folders.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::{builds, root};

/// The options of `cargo xtask editors`.
#[derive(Args)]
pub struct Arguments {
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Part>,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,

    /// How many random edits
    #[arg(long, default_value_t = 10_000)]
    edits: u32,

    /// The seed of the random edits
    #[arg(long, default_value_t = 1)]
    seed: u32,

    /// A checkout of mfussenegger/nvim-dap, to test the debugger with
    #[arg(long, value_name = "FOLDER")]
    nvim_dap: Option<PathBuf>,

    /// A folder with more programs for the tree-sitter grammar, such as a checkout of SOMns
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
}

/// What can be tested.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Session,
    Clients,
    Debugger,
    Sessions,
    Edits,
    Syntax,
    Grammar,
    Extension,
}

/// The options of `cargo xtask vsix`.
#[derive(Args)]
pub struct Package {
    /// The file to write
    #[arg(value_name = "FILE", default_value = "target/squall.vsix")]
    file: PathBuf,
}

/// A part's end: done, or skipped for a reason.
type Tested = Result<Option<&'static str>, String>;

/// Tests the parts. Answers whether none failed.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let mut succeeded = true;
    for part in Part::value_variants() {
        if !arguments.only.is_empty() && !arguments.only.contains(part) {
            continue;
        }
        let name = part.to_possible_value().map_or_else(String::new, |part| part.get_name().into());
        println!("\n{name}");
        match part.test(arguments, &squall) {
            Ok(None) => println!("passed: {name}"),
            Ok(Some(reason)) => println!("skipped: {name}; {reason}"),
            Err(problem) => {
                println!("FAILED: {name}: {problem}");
                succeeded = false;
            }
        }
    }
    succeeded
}

impl Part {
    fn test(self, arguments: &Arguments, squall: &Path) -> Tested {
        match self {
            Part::Session => session(squall),
            Part::Clients => clients(squall),
            Part::Debugger => debugger(squall, arguments.nvim_dap.as_deref()),
            Part::Sessions => sessions(squall),
            Part::Edits => edits(arguments, squall),
            Part::Syntax => syntax(squall),
            Part::Grammar => grammar(squall, arguments.programs.as_deref()),
            Part::Extension => extension(squall),
        }
    }
}

/// Whether a command with these arguments succeeds, silently.
fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs a command and shows what it prints.
fn shown(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

fn tests(name: &str) -> PathBuf {
    root().join("tests/editors").join(name)
}

fn session(squall: &Path) -> Tested {
    if !succeeds(Command::new("python3").args(["-c", "import pytest_lsp"])) {
        return Ok(Some("Python has no `pytest_lsp` (`pip install pytest-lsp`)"));
    }
    let mut python = Command::new("python3");
    python.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(tests("test_session.py"));
    python.env("SQUALL", squall).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(tests(""));
    shown(&mut python).map(|()| None)
}

fn clients(squall: &Path) -> Tested {
    let has_neovim = succeeds(Command::new("nvim").arg("--version"));
    let package = "(progn (package-initialize) (require 'eglot))";
    let has_eglot = succeeds(Command::new("emacs").args(["--batch", "--eval", package]));
    if has_neovim {
        let mut neovim = Command::new("nvim");
        neovim.args(["--headless", "-u", "NONE", "-i", "NONE", "-S"]).arg(tests("neovim.lua"));
        shown(neovim.env("SQUALL", squall))?;
    } else {
        println!("skipped: Neovim; there is no `nvim`");
    }
    if has_eglot {
        let mut emacs = Command::new("emacs");
        emacs.args(["--batch", "-l"]).arg(root().join("editors/emacs/squall-modes.el"));
        shown(emacs.arg("-l").arg(tests("eglot.el")).env("SQUALL", squall))?;
    } else {
        println!("skipped: Emacs; there is no `emacs` with eglot");
    }
    Ok((!has_neovim && !has_eglot).then_some("none of them is installed"))
}

fn debugger(squall: &Path, nvim_dap: Option<&Path>) -> Tested {
    let Some(nvim_dap) = nvim_dap else {
        return Ok(Some("there is no checkout of nvim-dap (`--nvim-dap=FOLDER`)"));
    };
    if !succeeds(Command::new("nvim").arg("--version")) {
        return Ok(Some("there is no `nvim`"));
    }
    let folder = nvim_dap.canonicalize().map_err(|error| format!("{nvim_dap:?}: {error}"))?;
    let mut neovim = Command::new("nvim");
    neovim.args(["--headless", "-u", "NONE", "-i", "NONE", "-S"]).arg(tests("dap.lua"));
    neovim.env("SQUALL", squall).env("NVIM_DAP", folder);
    shown(&mut neovim).map(|()| None)
}

fn edits(arguments: &Arguments, squall: &Path) -> Tested {
    if !succeeds(Command::new("python3").arg("--version")) {
        return Ok(Some("there is no `python3`"));
    }
    let mut python = Command::new("python3");
    python.arg(tests("random_edits.py")).arg("--squall").arg(squall);
    python.args([format!("--edits={}", arguments.edits), format!("--seed={}", arguments.seed)]);
    shown(&mut python).map(|()| None)
}

fn syntax(squall: &Path) -> Tested {
    if !succeeds(Command::new("python3").arg("--version")) {
        return Ok(Some("there is no `python3`"));
    }
    let mut python = Command::new("python3");
    python.arg(tests("syntax.py")).arg("--squall").arg(squall);
    if has_npm() {
        python.arg("--modules").arg(modules()?);
    }
    shown(&mut python).map(|()| None)
}

// The grammar of tree-sitter

/// The folders with programs of the project that are right.
const PROGRAMS: [&str; 4] = ["lib", "examples", "tests/language", "benchmarks"];

fn grammar(squall: &Path, more: Option<&Path>) -> Tested {
    if !succeeds(Command::new("tree-sitter").arg("--version")) {
        return Ok(Some("there is no `tree-sitter` (`cargo install tree-sitter-cli`)"));
    }
    let folder = copy("tree-sitter-newspeak")?;
    let tree_sitter = || {
        let mut command = Command::new("tree-sitter");
        command.current_dir(&folder);
        command
    };
    shown(tree_sitter().arg("generate"))?;
    shown(tree_sitter().arg("test"))?;
    let mut folders: Vec<_> = PROGRAMS.iter().map(|name| root().join(name)).collect();
    folders.extend(more.map(builds::absolute));
    let mut programs = Vec::new();
    folders.iter().try_for_each(|folder| programs_below(folder, &mut programs))?;
    let list = folder.join("programs");
    let text: String = programs.iter().map(|path| format!("{}\n", path.display())).collect();
    std::fs::write(&list, text).map_err(|error| error.to_string())?;
    // The command fails if there is a mistake anywhere, so its output decides.
    let output = tree_sitter().args(["parse", "--quiet", "--paths"]).arg(&list).output();
    let output = output.map_err(|error| error.to_string())?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let refused = refused(&output);
    let accepted: Vec<_> = refused
        .iter()
        .filter(|path| succeeds(Command::new(squall).arg("check").arg(path)))
        .collect();
    let count = programs.len();
    println!(
        "{count} programs; {} are refused, by the compiler, too",
        refused.len() - accepted.len()
    );
    match accepted.is_empty() {
        true => Ok(None),
        false => Err(format!("the grammar refuses right programs: {accepted:#?}")),
    }
}

/// The files with mistakes, by what `tree-sitter parse` prints: a path, times, and the first mistake.
fn refused(output: &str) -> Vec<&str> {
    let lines = output.lines().filter(|line| line.contains("(ERROR") || line.contains("(MISSING"));
    lines.filter_map(|line| line.split('\t').next()).map(str::trim_end).collect()
}

fn programs_below(folder: &Path, programs: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        // A link may lead back.
        if path.is_dir() && !path.is_symlink() {
            programs_below(&path, programs)?;
        } else if path.extension().is_some_and(|extension| extension == "ns") {
            programs.push(path);
        }
    }
    Ok(())
}

// Sessions with the debugger

/// The client, which others test their adapters with.
const CLIENT: &str = "@vscode/debugadapter-testsupport@1.68.0";

fn sessions(squall: &Path) -> Tested {
    if !has_npm() {
        return Ok(Some("there is no `npm`"));
    }
    let folder = builds::target_folder()?.join("editors/sessions");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", CLIENT]);
    builds::output_of(npm.arg("--prefix").arg(&folder))?;
    let mut node = Command::new("node");
    node.arg(tests("dap_sessions.js")).arg(format!("--modules={}", folder.display()));
    shown(node.env("SQUALL", squall)).map(|()| None)
}

// The extension for Visual Studio Code

fn has_npm() -> bool {
    succeeds(Command::new("npm").arg("--version"))
}

/// A copy of a folder of `editors` in which a tool may leave its files.
fn copy(name: &str) -> Result<PathBuf, String> {
    let folder = builds::target_folder()?.join("editors").join(name);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let from = root().join("editors").join(name).join(".");
    builds::output_of(Command::new("cp").arg("-R").arg(from).arg(&folder))?;
    Ok(folder)
}

/// A copy of the extension with the packages that its lock file names.
fn modules() -> Result<PathBuf, String> {
    let folder = copy("vscode")?;
    let mut npm = Command::new("npm");
    // Nothing that is installed runs: the packages bring what they need.
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
    builds::output_of(npm.current_dir(&folder))?;
    Ok(folder)
}

fn extension(squall: &Path) -> Tested {
    if !has_npm() {
        return Ok(Some("there is no `npm`"));
    }
    let folder = modules()?;
    let mut npm = Command::new("npm");
    npm.args(["test", "--silent"]).env("SQUALL", squall).current_dir(folder);
    shown(&mut npm).map(|()| None)
}

/// Packs the extension. Answers whether that succeeded.
pub fn pack(package: &Package) -> bool {
    let packed = if has_npm() {
        vsix(&builds::absolute(&package.file))
    } else {
        Err("there is no `npm`".into())
    };
    match packed {
        Ok(()) => println!("{}", package.file.display()),
        Err(ref problem) => println!("FAILED: {problem}"),
    }
    packed.is_ok()
}

fn vsix(file: &Path) -> Result<(), String> {
    let folder = modules()?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        std::fs::copy(root().join(licence), folder.join(licence))
            .map_err(|error| error.to_string())?;
    }
    let mut npm = Command::new("npm");
    npm.args(["run", "--silent", "package", "--", "--out"]).arg(file).current_dir(folder);
    builds::output_of(&mut npm).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_mistakes_are_named() {
        let output = "a b.ns      \tParse:    0.39 ms\t7684 bytes/ms\t(MISSING identifier [21, 89] - [21, 89])\n\
                      c.ns\tParse: 1 ms\t2 bytes/ms\t(ERROR [0, 0] - [1, 0])\nother\n";
        assert_eq!(refused(output), ["a b.ns", "c.ns"]);
    }

    #[test]
    fn the_extension_has_the_version_of_the_project() {
        for folder in ["vscode", "tree-sitter-newspeak"] {
            let path = root().join("editors").join(folder).join("package.json");
            let text = std::fs::read_to_string(&path).expect("it is there");
            let package: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
            assert_eq!(package["version"], env!("CARGO_PKG_VERSION"), "{}", path.display());
        }
    }

    #[test]
    fn the_lock_file_names_no_registry() {
        let text = std::fs::read_to_string(root().join("editors/vscode/package-lock.json"));
        assert!(!text.expect("it is there").contains("\"resolved\""));
    }
}
