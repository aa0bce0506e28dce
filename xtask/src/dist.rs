//! `cargo xtask dist FOLDER`: makes what a release consists of. `main` calls [`run`].
//!
//! ```text
//! squall-V-TARGET.tar.gz          the command, its pages, completions and licences; unpack it into a prefix
//! squall-V-TARGET-debug.tar.gz    the debug information of the command and of the shared library
//! squall_V_ARCH.deb               the same as a package of Debian
//! squall-V-py3-none-….whl         the command as a package for pip
//! squall-V-TARGET-oci.tar         an image for containers, in the OCI's layout
//! squall-V.cdx.json               what the command is made of, in the form of CycloneDX
//! lib/, include/                  the library for programs in C and C++: see `library`
//! SHA256SUMS                      the digests of the files above
//! ```
//!
//! | module | what it makes |
//! |---|---|
//! | [`tree`] | folders of files as data, and tar files of them |
//! | [`program`] | the stripped command, its debug information, and the files beside it |
//! | [`library`] | the folder for C and C++ |
//! | [`debian`], [`wheel`], [`image`], [`sbom`] | one form each |
//! | [`trial`] | tries all of them on a bare Debian root and in a fresh environment of Python |
//!
//! The same sources and the same binary give the same bytes: the times in archives are that of the last commit, or of
//! `SOURCE_DATE_EPOCH`, and all lists are sorted.

mod debian;
mod image;
mod library;
mod program;
mod sbom;
mod tree;
mod trial;
mod wheel;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sha2::{Digest, Sha256};

use crate::{builds, cargo, root};
use program::Program;

/// The options of `cargo xtask dist`.
#[derive(Args)]
pub struct Arguments {
    /// Make these parts only
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Part>,

    /// A build for tests instead of a release build, which takes minutes
    #[arg(long)]
    debug: bool,

    /// Package this command instead of building one
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,

    /// The root file system below the command in the image; by default, the libraries that it needs
    #[arg(long, value_name = "FOLDER")]
    base: Option<PathBuf>,

    /// Try each part afterwards: needs root, and `debootstrap` or a root file system of Debian
    #[arg(long = "try")]
    is_tried: bool,

    /// A root file system of Debian for `--try`, instead of a new one by `debootstrap`; a copy of it is used
    #[arg(long, value_name = "FOLDER")]
    debian: Option<PathBuf>,

    /// Where to put everything; what is there already of the same names is replaced
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// What can be made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Part {
    /// The command with its pages, completions and licences, and its debug information
    Archive,
    /// A package of Debian
    Deb,
    /// A package for Python's pip
    Wheel,
    /// An image for containers
    Oci,
    /// The list of what the command is made of
    Sbom,
    /// The libraries and headers for C and C++
    Library,
}

/// The version of everything that is made here.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Makes the parts, and tries them. Answers whether that succeeded.
pub fn run(arguments: &Arguments) -> bool {
    let made = make(arguments).and_then(|()| match arguments.is_tried {
        true => trial::run(&arguments.folder, arguments.debian.as_deref()),
        false => Ok(()),
    });
    match made {
        Ok(()) => true,
        Err(problem) => {
            println!("FAILED: {problem}");
            false
        }
    }
}

fn make(arguments: &Arguments) -> Result<(), String> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let parts: BTreeSet<Part> = match arguments.only.is_empty() {
        true => Part::value_variants().iter().copied().collect(),
        false => arguments.only.iter().copied().collect(),
    };
    let mut built = Vec::new();
    if parts.iter().any(|part| *part != Part::Library) {
        let binary = match &arguments.squall {
            Some(path) => builds::absolute(path),
            None => build("squall-cli", arguments.debug)?.join("squall"),
        };
        let program = Program::read(&binary)?;
        for part in &parts {
            built.extend(pack(*part, &program, arguments.base.as_deref())?);
        }
    }
    for (name, bytes) in &built {
        write(&folder.join(name), bytes)?;
        println!("{name}: {:.1} MB", bytes.len() as f64 / 1e6);
    }
    if parts.contains(&Part::Library) {
        let libraries = build("squall-capi", arguments.debug)?;
        library::make(&libraries, folder)?;
        println!("lib, include: libsquall {VERSION}");
    }
    let sums = folder.join("SHA256SUMS");
    write(&sums, sums_of(folder)?.as_bytes())
}

/// The files of a part: names and contents.
fn pack(
    part: Part,
    program: &Program,
    base: Option<&Path>,
) -> Result<Vec<(String, Vec<u8>)>, String> {
    let (time, target) = (time()?, target());
    let prefix = format!("squall-{VERSION}-{target}");
    Ok(match part {
        Part::Archive => {
            let (files, symbols) = (program.tree(&prefix), program.debug_tree(&prefix));
            vec![
                (format!("{prefix}.tar.gz"), tree::compressed(&files.tar(time)?)?),
                (format!("{prefix}-debug.tar.gz"), tree::compressed(&symbols.tar(time)?)?),
            ]
        }
        Part::Deb => {
            vec![(debian::name(), debian::package(program, time)?)]
        }
        Part::Wheel => vec![(wheel::name(program), wheel::package(program)?)],
        Part::Oci => vec![(format!("{prefix}-oci.tar"), image::layout(program, base, time)?)],
        Part::Sbom => vec![(format!("squall-{VERSION}.cdx.json"), sbom::text(program, time)?)],
        Part::Library => Vec::new(),
    })
}

/// Builds a package. Answers the folder of its files.
fn build(package: &str, is_debug: bool) -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["build", "--quiet"]);
    match is_debug {
        // With all that the tests are made of: for less, Cargo would build their common parts again, with fewer features.
        true => command.args(["--workspace", "--lib", "--tests"]),
        // As for release, with debug information, which is split off afterwards.
        false => command.args(["--package", package, "--profile", "profiling"]),
    };
    builds::output_of(&mut command)?;
    Ok(builds::target_folder()?.join(if is_debug { "debug" } else { "profiling" }))
}

/// The machine and system that the files are for.
fn target() -> String {
    format!("{}-{}-gnu", std::env::consts::ARCH, std::env::consts::OS)
}

/// The time that archives give for their files, in seconds since 1970.
fn time() -> Result<u64, String> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return given.parse().map_err(|_| format!("SOURCE_DATE_EPOCH is no number: {given}"));
    }
    let mut command = std::process::Command::new("git");
    command.args(["log", "-1", "--format=%ct"]).current_dir(root());
    // Sources without a repository have no commit; the first day that archives of all kinds can express stands for it.
    let answer = builds::output_of(&mut command).ok();
    let time =
        answer.and_then(|answer| String::from_utf8_lossy(&answer.stdout).trim().parse().ok());
    Ok(time.unwrap_or(315_532_800))
}

/// The digests of the files in a folder and in its folders, in the form that `sha256sum --check` reads.
fn sums_of(folder: &Path) -> Result<String, String> {
    let mut names = Vec::new();
    files_below(folder, "", &mut names)?;
    names.sort();
    let mut text = String::new();
    for name in names.iter().filter(|name| *name != "SHA256SUMS") {
        _ = writeln!(text, "{}  {name}", digest(&read(&folder.join(name))?));
    }
    Ok(text)
}

fn files_below(folder: &Path, prefix: &str, names: &mut Vec<String>) -> Result<(), String> {
    let unread = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().map_err(unread)?;
        if kind.is_dir() {
            files_below(&entry.path(), &format!("{name}/"), names)?;
        } else if kind.is_file() {
            names.push(name);
        }
    }
    Ok(())
}

/// The SHA-256 digest, in hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file anew. A running program may use the existing one: it keeps it if that is removed, not if it is
/// overwritten.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
