//! Builds for the other commands: the machine that they test, and crates with a sanitizer. All commands that run
//! `squall`, and those that run tests under sanitizers, call these functions.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{cargo, root};

/// The command to test, as an absolute path: the one in the arguments, or a release build; nothing if the build fails.
pub fn squall(given: Option<&Path>) -> Option<PathBuf> {
    match given {
        Some(path) => Some(absolute(path)),
        None => release().inspect_err(|problem| eprintln!("{problem}")).ok(),
    }
}

/// Builds the command for release. Answers its path.
pub fn release() -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["build", "--release", "--package", "squall-cli", "--quiet"]);
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    match status.success() {
        true => Ok(target_folder()?.join("release/squall")),
        false => Err("squall could not be built".to_owned()),
    }
}

/// The folder in which Cargo builds.
pub fn target_folder() -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = output_of(&mut command)?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let folder = metadata["target_directory"].as_str().ok_or("Cargo names no target folder")?;
    Ok(PathBuf::from(folder))
}

/// Runs a command. Answers its output, or the errors that it printed if it failed.
pub fn output_of(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(output),
        false => {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(format!("{command:?}: {}\n{errors}", output.status))
        }
    }
}

/// Makes a command of a nightly Cargo build with a sanitizer. Answers the target that it builds for.
pub fn sanitize(command: &mut Command, sanitizer: &str) -> String {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    // With a target, build scripts and procedural macros are built without the sanitizer.
    command.args(["--target", &target]);
    command.env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"));
    // Debug information about all variables would take gigabytes.
    command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only").env("CARGO_INCREMENTAL", "0");
    target
}

/// A path that does not depend on the current folder.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The folder for builds with a sanitizer, or by a tool that needs flags of its own.
pub fn special_folder(name: &str) -> PathBuf {
    root().join("target/sanitizers").join(name)
}
