//! `cargo xtask dist FOLDER`: makes the folder that programs in C and C++ need to embed the machine. `main` calls
//! [`run`].
//!
//! ```text
//! lib/libsquall.so.X.Y.Z       the shared library; its soname is libsquall.so.X.Y, as long as X is 0
//! lib/libsquall.so.X.Y         a link to it, which programs find when they run
//! lib/libsquall.so             a link to it, which linkers find
//! lib/libsquall.a              the static library
//! lib/pkgconfig/squall.pc      how to compile and link
//! include/squall.h, squall.hpp
//! THIRD-PARTY-NOTICES.txt      the licences of the libraries in it
//! ```
//!
//! The folder can be moved: the paths in `squall.pc` begin where it is.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::{builds, cargo, notices, root};

/// The options of `cargo xtask dist`.
#[derive(Args)]
pub struct Arguments {
    /// A build for tests instead of a release build, which takes minutes
    #[arg(long)]
    debug: bool,

    /// Where to put everything; what is there already of the same names is replaced
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Builds everything and writes the folder. Answers whether that succeeded.
pub fn run(arguments: &Arguments) -> bool {
    match make(&arguments.folder, arguments.debug) {
        Ok(()) => true,
        Err(problem) => {
            println!("FAILED: {problem}");
            false
        }
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The part of the version that decides about compatibility: below 1.0, versions with the same second number are
/// compatible.
fn interface_version() -> &'static str {
    let patch = VERSION.rfind('.').unwrap_or(VERSION.len());
    &VERSION[..patch]
}

fn make(folder: &Path, is_debug: bool) -> Result<(), String> {
    let built = build(is_debug)?;
    let (libraries, headers) = (folder.join("lib"), folder.join("include"));
    for made in [libraries.join("pkgconfig"), headers.clone()] {
        std::fs::create_dir_all(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    let shared = format!("libsquall.so.{VERSION}");
    copy(&built.join("libsquall.so"), &libraries.join(&shared))?;
    copy(&built.join("libsquall.a"), &libraries.join("libsquall.a"))?;
    for name in [format!("libsquall.so.{}", interface_version()), "libsquall.so".to_owned()] {
        let link = libraries.join(name);
        _ = std::fs::remove_file(&link);
        symlink(&shared, &link).map_err(|error| format!("{}: {error}", link.display()))?;
    }
    for header in ["squall.h", "squall.hpp"] {
        copy(&root().join("include").join(header), &headers.join(header))?;
    }
    let description = libraries.join("pkgconfig/squall.pc");
    std::fs::write(&description, package()).map_err(|error| error.to_string())?;
    let notices = notices::text()?;
    let file = folder.join("THIRD-PARTY-NOTICES.txt");
    std::fs::write(&file, notices).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("libsquall {VERSION} is in {}", folder.display());
    Ok(())
}

/// Builds the libraries. Answers their folder.
fn build(is_debug: bool) -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["build", "--quiet", "--package", "squall-capi"]);
    match is_debug {
        // The command is built, too: then Cargo uses the same features for the common crates, and does not build them
        // twice.
        true => command.args(["--package", "squall-cli"]),
        false => command.arg("--release"),
    };
    builds::output_of(&mut command)?;
    Ok(builds::target_folder()?.join(if is_debug { "debug" } else { "release" }))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    // A running program may use the existing library. It keeps its file if that is removed, not if it is overwritten.
    _ = std::fs::remove_file(to);
    let copied = std::fs::copy(from, to);
    copied.map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// The text of `squall.pc`.
fn package() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         libdir=${{prefix}}/lib\n\
         includedir=${{prefix}}/include\n\
         \n\
         Name: squall\n\
         Description: a virtual machine for many models of concurrency, as a library\n\
         Version: {VERSION}\n\
         Libs: -L${{libdir}} -lsquall\n\
         Libs.private: -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc\n\
         Cflags: -I${{includedir}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// The standard output of a command.
    fn output(command: &mut Command) -> String {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
        String::from_utf8(output.stdout).expect("it is UTF-8")
    }

    fn is_there(tool: &str) -> bool {
        Command::new(tool).arg("--version").output().is_ok()
    }

    /// Compiles and runs the example in C with the folder's content.
    fn run_example(folder: &Path, options: &[&str]) -> String {
        let mut package = Command::new("pkg-config");
        package.env("PKG_CONFIG_PATH", folder.join("lib/pkgconfig"));
        let flags = output(package.args(["--cflags", "--libs", "squall"]).args(options));
        let program = folder.join("embed");
        let mut compiler = Command::new("cc");
        compiler.arg("-o").arg(&program).arg(root().join("examples/embedding/embed.c"));
        output(compiler.args(flags.split_whitespace()).arg("-pthread"));
        let mut example = Command::new(&program);
        example.env("LD_LIBRARY_PATH", folder.join("lib"));
        let files = ["pipeline.ns", "areas.sqasm"];
        output(example.args(files.map(|name| root().join("examples/embedding").join(name))))
    }

    #[test]
    fn the_example_in_c_finds_the_library_through_pkg_config() {
        if !is_there("cc") || !is_there("pkg-config") {
            return println!("skipped: there is no C compiler, or no pkg-config");
        }
        let folder = std::env::temp_dir().join(format!("squall-dist-{}", std::process::id()));
        make(&folder, true).expect("it can be made");
        let shared = run_example(&folder, &[]);
        assert!(shared.starts_with("area: 42\n"), "{shared}");
        let needed = folder.join(format!("lib/libsquall.so.{}", interface_version()));
        assert!(needed.exists());
        std::fs::remove_file(needed).expect("it can be removed");
        let program =
            Command::new(folder.join("embed")).env("LD_LIBRARY_PATH", folder.join("lib")).output();
        assert!(
            !program.expect("it can be started").status.success(),
            "it does not need the soname"
        );
        std::fs::remove_dir_all(folder).expect("it can be removed");
    }
}
