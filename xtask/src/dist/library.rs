//! The folder that programs in C and C++ need to embed the machine. `dist` calls [`make`].
//!
//! ```text
//! lib/libsquall.so.X.Y.Z       the shared library; its soname is libsquall.so.X.Y, as long as X is 0
//! lib/libsquall.so.X.Y         a link to it, which programs find when they run
//! lib/libsquall.so             a link to it, which linkers find
//! lib/libsquall.so.X.Y.Z.debug its debug information
//! lib/libsquall.a              the static library
//! lib/pkgconfig/squall.pc      how to compile and link
//! include/squall.h, squall.hpp
//! THIRD-PARTY-NOTICES.txt      the licences of the libraries in it
//! ```
//!
//! Both libraries are stripped; the static one keeps the names that a linker needs. The folder can be moved: the paths in
//! `squall.pc` begin where it is.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::program::{Scratch, split};
use super::{VERSION, read, write};
use crate::{builds, notices, root};

/// The part of the version that decides about compatibility: below 1.0, versions with the same second number are
/// compatible.
fn interface_version() -> &'static str {
    let patch = VERSION.rfind('.').unwrap_or(VERSION.len());
    &VERSION[..patch]
}

/// Makes the folder from the folder in which Cargo has built.
pub fn make(built: &Path, folder: &Path) -> Result<(), String> {
    let (libraries, headers) = (folder.join("lib"), folder.join("include"));
    for made in [libraries.join("pkgconfig"), headers.clone()] {
        std::fs::create_dir_all(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    strip(built, &libraries)?;
    for name in [format!("libsquall.so.{}", interface_version()), "libsquall.so".to_owned()] {
        let link = libraries.join(name);
        _ = std::fs::remove_file(&link);
        symlink(format!("libsquall.so.{VERSION}"), &link)
            .map_err(|error| format!("{}: {error}", link.display()))?;
    }
    for header in ["squall.h", "squall.hpp"] {
        write(&headers.join(header), &read(&root().join("include").join(header))?)?;
    }
    write(&libraries.join("pkgconfig/squall.pc"), package().as_bytes())?;
    write(&folder.join("THIRD-PARTY-NOTICES.txt"), notices::text()?.as_bytes())
}

/// Puts the stripped libraries, and the debug information of the shared one, into a folder.
fn strip(built: &Path, libraries: &Path) -> Result<(), String> {
    let scratch = Scratch::new("library")?;
    let debug = format!("libsquall.so.{VERSION}.debug");
    let (shared, symbols) =
        split(&built.join("libsquall.so"), &scratch.0, &debug, "--strip-unneeded")?;
    write(&libraries.join(format!("libsquall.so.{VERSION}")), &read(&shared)?)?;
    write(&libraries.join(debug), &read(&symbols)?)?;
    let archive = scratch.0.join("libsquall.a");
    let mut strip = Command::new("strip");
    strip.args(["--strip-unneeded", "-o"]).arg(&archive).arg(built.join("libsquall.a"));
    builds::output_of(&mut strip)?;
    write(&libraries.join("libsquall.a"), &read(&archive)?)
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
        let built = super::super::build("squall-capi", true).expect("it can be built");
        make(&built, &folder).expect("it can be made");
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
