//! The command line of the commands about packages, and the options about packages of those that run programs.

use std::path::PathBuf;

use clap::{ArgAction, Args};

/// How the packages of a program are found.
#[derive(Args, Clone, Debug, Default)]
pub struct PackageArguments {
    /// Fail if `squall.lock` is not up to date, instead of changing it
    #[arg(long, help_heading = "Packages")]
    pub locked: bool,

    /// Fetch nothing: use the cache, and the folder `vendor`
    #[arg(long, help_heading = "Packages")]
    pub offline: bool,
}

/// Make a package: a folder with a manifest and a main module.
#[derive(Args, Debug)]
pub struct New {
    /// Make a library, without `main:`
    #[arg(long)]
    pub library: bool,

    /// The folder; its name is that of the package
    #[arg(value_name = "NAME")]
    pub path: PathBuf,
}

/// Add a dependency to the package of the current folder, or change one.
///
/// Say where it is by --path, --git or --archive; or give a --version only, if another manifest names the source. A
/// commit, or the digest of an archive, that you do not give is found out and written down.
#[derive(Args, Debug)]
pub struct Add {
    #[command(flatten)]
    pub packages: PackageArguments,

    /// The folder of the dependency
    #[arg(long, value_name = "FOLDER", group = "source")]
    pub path: Option<PathBuf>,

    /// The repository of the dependency
    #[arg(long, value_name = "ADDRESS", group = "source")]
    pub git: Option<String>,

    /// This commit of the repository
    #[arg(long, value_name = "COMMIT", requires = "git", group = "reference")]
    pub commit: Option<String>,

    /// The newest commit of a branch, as of `squall update`
    #[arg(long, value_name = "NAME", requires = "git", group = "reference")]
    pub branch: Option<String>,

    /// The commit with a tag
    #[arg(long, value_name = "NAME", requires = "git", group = "reference")]
    pub tag: Option<String>,

    /// The archive of the dependency, .tar.gz: an address or a file
    #[arg(long, value_name = "ADDRESS", group = "source")]
    pub archive: Option<String>,

    /// The SHA-256 of the archive
    #[arg(long, value_name = "DIGEST", requires = "archive")]
    pub sha256: Option<String>,

    /// The versions that suit, such as ^1.2; by default, the one at the source only
    #[arg(long, value_name = "REQUIREMENT")]
    pub version: Option<String>,

    /// The dependency's own name, if it is not the one under which the code knows it
    #[arg(long, value_name = "NAME")]
    pub package: Option<String>,

    /// Grant the dependency a module of the platform, such as `files`; may be repeated
    #[arg(long, value_name = "CAPABILITY", value_delimiter = ',', action = ArgAction::Append)]
    pub grant: Vec<String>,

    /// The name under which the package's code knows the dependency; with --path, its own name by default
    #[arg(value_name = "NAME", required_unless_present = "path")]
    pub name: Option<String>,
}

/// Remove dependencies from the package of the current folder.
#[derive(Args, Debug)]
pub struct Remove {
    #[command(flatten)]
    pub packages: PackageArguments,

    /// The names under which the package's code knows them
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}

/// Choose versions, commits and archives anew, whatever `squall.lock` says.
#[derive(Args, Debug)]
pub struct Update {
    /// Fetch nothing: use the cache, and the folder `vendor`
    #[arg(long, help_heading = "Packages")]
    pub offline: bool,

    /// Those of these packages only
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
}

/// Copy all packages that were fetched into the folder `vendor`, where they are found first.
#[derive(Args, Debug)]
pub struct Vendor {
    #[command(flatten)]
    pub packages: PackageArguments,
}

/// Show the packages of a program.
#[derive(Args, Debug)]
pub struct Tree {
    #[command(flatten)]
    pub packages: PackageArguments,

    /// Show which package may use what of the platform, and the line that grants it
    #[arg(long)]
    pub authority: bool,
}

/// Make one file of the program and all its packages.
///
/// `squall run FILE` runs it. With --standalone, the file has the machine in it and runs by itself; all arguments are the
/// program's.
#[derive(Args, Debug)]
pub struct Build {
    #[command(flatten)]
    pub packages: PackageArguments,

    /// Make an executable file
    #[arg(long)]
    pub standalone: bool,

    /// An option of `squall run` with which the executable file always runs, such as --flag=--allow-net; may be repeated
    #[arg(long, value_name = "OPTION", requires = "standalone", allow_hyphen_values = true)]
    pub flag: Vec<String>,

    /// The file [default: the package's name, with the extension .sqar if it is no executable file]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
