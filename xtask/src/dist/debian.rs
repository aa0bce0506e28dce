//! The package of Debian: an `ar` file of two tar files. `dist` calls [`package`].
//!
//! Dependencies are what the command's file says that it needs; there are no scripts. Certificates are recommended, not
//! required: only programs with connections by TLS need them.

use super::VERSION;
use super::program::Program;
use super::tree::{Entry, PLAIN, Tree, compressed};

/// The name of the file.
pub fn name() -> String {
    format!("squall_{VERSION}_{}.deb", architecture())
}

/// Debian's name of this machine's architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The bytes of the package.
pub fn package(program: &Program, time: u64) -> Result<Vec<u8>, String> {
    let data = data(program)?;
    let mut control = Tree::default();
    control.add("control", PLAIN, control_text(program, data.size()));
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", compressed(&control.tar(time)?)?),
        ("data.tar.gz", compressed(&data.tar(time)?)?),
    ];
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let length = content.len();
        let header = format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{length:<10}`\n", 0, 0, "100644");
        bytes.extend(header.as_bytes());
        bytes.extend(&content);
        // Members begin at even places.
        bytes.extend(b"\n".iter().take(length % 2));
    }
    Ok(bytes)
}

/// The files below `/usr`, as Debian's policy has them: compressed pages, and licences in `copyright`.
fn data(program: &Program) -> Result<Tree, String> {
    let mut tree = Tree::default();
    for (path, entry) in program.tree("usr").entries {
        match entry {
            Entry::File { bytes, mode } if path.contains("/man1/") => {
                tree.add(format!("{path}.gz"), mode, compressed(&bytes)?);
            }
            Entry::File { bytes, .. } if path.ends_with("CHANGELOG.md") => {
                tree.add("usr/share/doc/squall/changelog.gz", PLAIN, compressed(&bytes)?);
            }
            Entry::File { bytes, mode } => {
                // Debian's zsh looks into a folder of its own for the completions of packages.
                let path = path.replace("/zsh/site-functions/", "/zsh/vendor-completions/");
                tree.add(path, mode, bytes);
            }
            Entry::Folder { .. } => {}
        }
    }
    tree.add("usr/share/doc/squall/copyright", PLAIN, copyright(program));
    Ok(tree)
}

/// The licences of the command, and where those of the libraries in it are.
fn copyright(program: &Program) -> String {
    let documents = program.documents();
    let licence = documents.iter().find(|(name, _)| *name == "LICENSE-MIT");
    let text = licence.map(|(_, text)| String::from_utf8_lossy(text)).unwrap_or_default();
    format!(
        "Squall is under the MIT licence or the Apache licence 2.0, as you choose.\n\
         The Apache licence is in /usr/share/common-licenses/Apache-2.0. This is the MIT licence:\n\n\
         {text}\n\
         THIRD-PARTY-NOTICES.txt in this folder has the licences of the libraries in the command.\n"
    )
}

fn control_text(program: &Program, size: usize) -> String {
    let (major, minor) = program.needs.glibc;
    format!(
        "Package: squall\n\
         Version: {VERSION}\n\
         Architecture: {}\n\
         Maintainer: The Squall project\n\
         Installed-Size: {}\n\
         Depends: libc6 (>= {major}.{minor}), libgcc-s1\n\
         Recommends: ca-certificates\n\
         Section: interpreters\n\
         Priority: optional\n\
         Description: virtual machine for many models of concurrency, and for Newspeak\n \
         Squall runs Newspeak programs of actors, processes, threads and transactions. It\n \
         explains why a program waits, fails or is slow, and no program can hurt it.\n",
        architecture(),
        size.div_ceil(1024),
    )
}
