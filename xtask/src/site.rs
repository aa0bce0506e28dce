//! `cargo xtask site`: guide, how-to, internals and decisions as a book, and the reference of the library beside it, as one
//! folder of pages that can be read without a server. `main` calls [`run`].
//!
//! ```text
//! Markdown ── book: a copy with links that stay in the site ── mdbook ──┐
//! lib/*.ns ── squall doc ───────────────────────────────────────────────┴── pages ── links: each address leads somewhere
//! ```
//!
//! mdBook makes the pages; it is a command of its own, because nothing else here needs its hundred packages. Without it
//! the command says how to install it, and fails.

mod book;
mod links;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::{builds, root};

/// The options of `cargo xtask site`.
#[derive(Args)]
pub struct Arguments {
    /// The folder for the pages; what is there is replaced
    #[arg(long, value_name = "FOLDER", default_value = "target/site")]
    output: PathBuf,

    /// The address of the sources: links to them lead there; without it, they are plain text
    #[arg(long, value_name = "ADDRESS")]
    sources: Option<String>,

    /// The command `squall`, which writes the reference; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,

    /// The command `mdbook`
    #[arg(long, value_name = "FILE", default_value = "mdbook")]
    mdbook: PathBuf,
}

/// The folder of the reference in the site.
const REFERENCE: &str = "reference";

/// Makes the site. Answers whether that succeeded and all its links lead somewhere.
pub fn run(arguments: &Arguments) -> bool {
    match make(arguments) {
        Ok(report) => {
            println!("{report}");
            true
        }
        Err(problem) => {
            eprintln!("{problem}");
            false
        }
    }
}

fn make(arguments: &Arguments) -> Result<String, String> {
    let mdbook = arguments.mdbook.display();
    let version = builds::output_of(Command::new(&arguments.mdbook).arg("--version"));
    version.map_err(|_| format!("{mdbook} cannot be run: `cargo install mdbook` installs it"))?;
    let squall = builds::squall(arguments.squall.as_deref()).ok_or("there is no squall")?;

    let site = builds::absolute(&arguments.output);
    let book = root().join("target/site-book");
    book::write(&book, arguments.sources.as_deref())?;
    let mut command = Command::new(&arguments.mdbook);
    builds::output_of(command.arg("build").arg("--dest-dir").arg(&site).arg(&book))?;
    write_reference(&squall, &site.join(REFERENCE))?;
    let report = links::check(&site)?;
    Ok(format!("{}: {report}", site.join("index.html").display()))
}

/// Writes the reference of the library.
fn write_reference(squall: &Path, folder: &Path) -> Result<(), String> {
    let mut command = Command::new(squall);
    command.arg("doc").arg("--site").arg("../index.html").arg("--output").arg(folder);
    builds::output_of(&mut command).map(|_| ())
}
