//! The command as it is handed out: stripped, with its debug information apart, and with the files that belong beside it.
//! `dist` reads one and makes all forms of it.
//!
//! `objcopy` and `strip` of the GNU binutils split the file. The command keeps a link to the name of its debug information:
//! debuggers, profilers and the reports of the machine's own mistakes find `squall.debug` beside the command, or in
//! `/usr/lib/debug`.

use std::path::Path;
use std::process::Command;

use super::tree::{EXECUTABLE, PLAIN, Tree};
use super::{VERSION, read};
use crate::{builds, notices, root};

/// The name of the file with the debug information.
pub const DEBUG: &str = "squall.debug";

/// Everything that the forms of a release contain.
pub struct Program {
    /// The command, stripped.
    pub binary: Vec<u8>,
    pub debug: Vec<u8>,
    /// The manual pages, by their names.
    pub pages: Vec<(String, Vec<u8>)>,
    /// Completions: the path below `share`, and the text.
    pub completions: Vec<(&'static str, Vec<u8>)>,
    pub notices: String,
    pub needs: Needs,
}

/// What the command needs of the system.
#[derive(Debug, PartialEq, Eq)]
pub struct Needs {
    /// The least version of the GNU C library.
    pub glibc: (u32, u32),
    /// Shared libraries.
    pub libraries: Vec<String>,
}

impl Program {
    /// Splits a command, and has it write its pages and completions.
    pub fn read(binary: &Path) -> Result<Program, String> {
        let folder = Scratch::new("program")?;
        let (stripped, debug) = split(binary, &folder.0, DEBUG, "--strip-all")?;
        let pages = folder.0.join("pages");
        builds::output_of(Command::new(binary).args(["man", "--output"]).arg(&pages))?;
        let mut program = Program {
            binary: read(&stripped)?,
            debug: read(&debug)?,
            pages: files_in(&pages)?,
            completions: Vec::new(),
            notices: notices::text()?,
            needs: Needs::of(&stripped)?,
        };
        for (shell, path) in COMPLETIONS {
            let text = builds::output_of(Command::new(binary).args(["completions", shell]))?.stdout;
            program.completions.push((path, text));
        }
        Ok(program)
    }

    /// All files, as they lie below a prefix such as `/usr/local`.
    pub fn tree(&self, prefix: &str) -> Tree {
        let mut tree = Tree::default();
        tree.add(format!("{prefix}/bin/squall"), EXECUTABLE, self.binary.clone());
        for (name, page) in &self.pages {
            tree.add(format!("{prefix}/share/man/man1/{name}"), PLAIN, page.clone());
        }
        for (path, text) in &self.completions {
            tree.add(format!("{prefix}/share/{path}"), PLAIN, text.clone());
        }
        for (name, text) in self.documents() {
            tree.add(format!("{prefix}/share/doc/squall/{name}"), PLAIN, text);
        }
        tree
    }

    pub fn debug_tree(&self, prefix: &str) -> Tree {
        let mut tree = Tree::default();
        tree.add(format!("{prefix}/bin/{DEBUG}"), PLAIN, self.debug.clone());
        tree
    }

    /// Licences, notices and what is new.
    pub fn documents(&self) -> Vec<(&'static str, Vec<u8>)> {
        let files = ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"];
        let texts = files.map(|name| (name, read(&root().join(name)).unwrap_or_default()));
        let notices = [("THIRD-PARTY-NOTICES.txt", self.notices.clone().into_bytes())];
        texts.into_iter().chain(notices).collect()
    }
}

/// Shells, and where the systems of users look for their completions, below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/squall"),
    ("zsh", "zsh/site-functions/_squall"),
    ("fish", "fish/vendor_completions.d/squall.fish"),
];

/// Splits a file into code and debug information. Answers the paths of both, in the folder.
pub fn split(
    file: &Path,
    folder: &Path,
    debug: &str,
    how: &str,
) -> Result<(std::path::PathBuf, std::path::PathBuf), String> {
    let stripped = folder.join(file.file_name().unwrap_or_default());
    let symbols = folder.join(debug);
    let mut keep = Command::new("objcopy");
    keep.args(["--only-keep-debug", "--compress-debug-sections=zlib"]).arg(file).arg(&symbols);
    builds::output_of(&mut keep)?;
    let mut strip = Command::new("strip");
    builds::output_of(strip.arg(how).arg("-o").arg(&stripped).arg(file))?;
    // The link holds the name and a checksum of the file, so it is read from its folder.
    let mut link = Command::new("objcopy");
    link.current_dir(folder).arg(format!("--add-gnu-debuglink={debug}")).arg(&stripped);
    builds::output_of(&mut link)?;
    Ok((stripped, symbols))
}

impl Needs {
    fn of(binary: &Path) -> Result<Needs, String> {
        let output = builds::output_of(Command::new("objdump").arg("-p").arg(binary))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Needs::read(&text).ok_or_else(|| format!("{}: no dynamic program", binary.display()))
    }

    /// Reads the output of `objdump -p`.
    fn read(text: &str) -> Option<Needs> {
        let words =
            |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
        let lines: Vec<_> = text.lines().map(words).collect();
        let needed = lines.iter().filter(|words| words.len() == 2 && words[0] == "NEEDED");
        let libraries = needed.map(|words| words[1].clone()).collect();
        let version = |words: &Vec<String>| {
            let (major, rest) = words.last()?.strip_prefix("GLIBC_")?.split_once('.')?;
            let minor = rest.split('.').next()?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        Some(Needs { glibc: lines.iter().filter_map(version).max()?, libraries })
    }
}

/// The files of a folder, sorted by their names.
fn files_in(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries.flatten() {
        files.push((entry.file_name().to_string_lossy().into_owned(), read(&entry.path())?));
    }
    files.sort();
    Ok(files)
}

/// A folder that is removed in the end.
pub struct Scratch(pub std::path::PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Result<Scratch, String> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        // Relaxed: the numbers must differ only.
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("squall-{VERSION}-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_read_from_the_output_of_objdump() {
        let text = "Dynamic Section:\n  NEEDED               libgcc_s.so.1\n  NEEDED               \
                    libc.so.6\n  INIT   0x1\nVersion References:\n  required from libc.so.6:\n    \
                    0x09691a75 0x00 03 GLIBC_2.2.5\n    0x069691b4 0x00 04 GLIBC_2.34\n    \
                    0x0b792650 0x00 04 GCC_3.0\n";
        let libraries = vec!["libgcc_s.so.1".to_owned(), "libc.so.6".to_owned()];
        assert_eq!(Needs::read(text), Some(Needs { glibc: (2, 34), libraries }));
        assert_eq!(Needs::read("Dynamic Section:\n"), None);
    }
}
