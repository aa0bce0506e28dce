//! The tools that groups need, and their files if they are installed. [`super::plan`] looks the tools up that commands
//! mention.
//!
//! Commands in a `group.toml` mention a tool by its name, in braces. The newest Java is taken, unless `JAVA_HOME` names
//! one. Version managers install a script in the place of Python, and the script would be measured, too; so Python
//! itself is asked for its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tool that may be installed.
struct Tool {
    /// The tool's name in manifests.
    name: &'static str,
    /// The possible names of its file.
    files: &'static [&'static str],
    /// The arguments that make the tool print its version.
    version: &'static [&'static str],
}

const TOOLS: &[Tool] = &[
    Tool { name: "cc", files: &["gcc", "cc", "clang"], version: &["--version"] },
    Tool { name: "erl", files: &["erl"], version: &["-noshell", "-eval", ERLANG_VERSION] },
    Tool { name: "erlc", files: &["erlc"], version: &[] },
    Tool { name: "ghc", files: &["ghc"], version: &["--version"] },
    Tool { name: "go", files: &["go"], version: &["version"] },
    Tool { name: "java", files: &["java"], version: &["-version"] },
    Tool { name: "javac", files: &["javac"], version: &[] },
    Tool { name: "kroc", files: &["kroc"], version: &["--version"] },
    Tool { name: "luajit", files: &["luajit"], version: &["-v"] },
    Tool { name: "mvn", files: &["mvn"], version: &["--batch-mode", "--version"] },
    Tool { name: "node", files: &["node"], version: &["--version"] },
    Tool { name: "npm", files: &["npm"], version: &["--version"] },
    Tool { name: "pypy3", files: &["pypy3"], version: &["--version"] },
    Tool { name: "python3", files: &["python3"], version: &["--version"] },
    Tool { name: "ruby", files: &["ruby"], version: &["--version"] },
    Tool { name: "squall", files: &[], version: &["--version"] },
];

const ERLANG_VERSION: &str =
    "io:format(\"Erlang/OTP ~s~n\", [erlang:system_info(otp_release)]), halt().";

/// The files of the installed tools.
#[derive(Debug)]
pub struct Peers {
    files: BTreeMap<&'static str, PathBuf>,
}

impl Peers {
    /// Looks for all tools.
    pub fn find(squall: &Path) -> Peers {
        let java = java_folder();
        let mut files = BTreeMap::from([
            ("squall", squall.to_owned()),
            ("cargo", PathBuf::from(env!("CARGO"))),
        ]);
        for tool in TOOLS {
            let chosen = java.as_ref().map(|folder| folder.join("bin").join(tool.name));
            let chosen = chosen.filter(|file| file.exists());
            let found = tool.files.iter().find_map(|name| on_path(name));
            if let Some(file) = chosen.or(found) {
                files.insert(tool.name, file);
            }
        }
        if let Some(python) = files.get_mut("python3") {
            let answer = first_line(python, &["-c", "import sys; print(sys.executable)"]);
            *python = answer.map_or(python.clone(), PathBuf::from);
        }
        Peers { files }
    }

    /// The file of a tool.
    pub fn file(&self, name: &str) -> Option<&Path> {
        self.files.get(name).map(PathBuf::as_path)
    }

    /// Whether a tool of this name is known, installed or not.
    pub fn is_known(&self, name: &str) -> bool {
        self.files.contains_key(name) || TOOLS.iter().any(|tool| tool.name == name)
    }

    /// The first line of the tool's message about its version; nothing for a tool without such a message.
    pub fn version(&self, name: &str) -> Option<String> {
        let arguments = TOOLS.iter().find(|tool| tool.name == name)?.version;
        if arguments.is_empty() {
            return None;
        }
        first_line(self.file(name)?, arguments)
    }
}

/// The folder of the Java to use, if that is not the Java on the path.
fn java_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("JAVA_HOME") {
        return Some(PathBuf::from(folder));
    }
    let folders = std::fs::read_dir("/usr/lib/jvm").ok()?;
    let folders = folders.filter_map(|entry| Some(entry.ok()?.path()));
    let with_versions =
        folders.filter(|folder| folder.join("bin/javac").exists()).filter_map(|folder| {
            Some((java_version(&std::fs::read_to_string(folder.join("release")).ok()?)?, folder))
        });
    with_versions.max().map(|(_, folder)| folder)
}

/// The major version in the file `release` of a Java.
fn java_version(release: &str) -> Option<u32> {
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    line.trim_matches('"').split('.').next()?.parse().ok()
}

/// The first file of that name in the folders of the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The first line that a command prints, if it succeeds.
pub fn first_line(file: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(file).args(arguments).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_java_is_in_its_release_file() {
        assert_eq!(java_version("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"25.0.3\"\n"), Some(25));
        assert_eq!(java_version("JAVA_VERSION=\"9\""), Some(9));
        assert_eq!(java_version("nothing"), None);
    }

    #[test]
    fn what_is_not_installed_is_known_all_the_same() {
        let peers = Peers { files: BTreeMap::new() };
        assert!(peers.is_known("erl") && peers.file("erl").is_none());
        assert!(!peers.is_known("workload"));
    }
}
