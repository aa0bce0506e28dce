//! The examples in C and C++, hostile calls of the library in C, and what guests in a sandbox hand out to C: compiled against
//! the library and run.
//!
//! `CC` and `CXX`, or `cc` and `c++`, compile them; without a compiler, these tests say so and pass.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The project's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The shared library. Cargo builds none for tests, so this builds it.
fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        // The test is in the folder `deps` next to the library.
        let test = std::env::current_exe().expect("a process has a program");
        let built = test.parent().and_then(Path::parent).expect("it is in a folder");
        let target = built.parent().expect("it is one of the target folder's");
        let mut cargo = Command::new(env!("CARGO"));
        // With all that the tests are made of: for less, Cargo would build their common parts again, with fewer features.
        cargo.args(["build", "--quiet", "--workspace", "--lib", "--tests"]);
        cargo.args(if cfg!(debug_assertions) { &[][..] } else { &["--release"] });
        cargo.arg("--target-dir").arg(target).current_dir(root());
        let status = cargo.status().expect("Cargo can be started");
        assert!(status.success(), "{cargo:?}: {status}");
        built.join("libsquall.so")
    });
    &LIBRARY
}

/// A folder with the shared library under the names that linkers and loaders look for.
fn library_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.libraries"));
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("it can be made");
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    for link in ["libsquall.so".to_owned(), format!("libsquall.so.{major}.{minor}")] {
        std::os::unix::fs::symlink(library(), folder.join(link)).expect("it can be made");
    }
    folder
}

/// A compiler, if there is one.
fn compiler(variable: &str, name: &str) -> Option<String> {
    let compiler = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
    Command::new(&compiler).arg("--version").output().ok().map(|_| compiler)
}

/// The arguments of the examples, and of programs that need none.
const MODULES: &[&str] = &["examples/embedding/pipeline.ns", "examples/embedding/areas.sqasm"];

/// Compiles a program and runs it with the examples' modules; answers its output.
fn output_of(compiler: &str, options: &[&str], source: &str, name: &str) -> String {
    output_with(MODULES, compiler, options, source, name)
}

/// Compiles a program and runs it with these files; answers its output.
fn output_with(
    files: &[&str],
    compiler: &str,
    options: &[&str],
    source: &str,
    name: &str,
) -> String {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let libraries = library_folder(name);
    let mut command = Command::new(compiler);
    command.args(options).args(["-Wall", "-Wextra", "-Werror", "-g", "-pthread", "-I"]);
    command.arg(root().join("include")).arg("-o").arg(&program).arg(root().join(source));
    command.arg("-L").arg(&libraries).arg("-lsquall");
    let made = command.output().expect("the compiler can be started");
    assert!(made.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&made.stderr));
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", &libraries);
    let run = command.args(files.iter().map(|name| root().join(name))).output();
    let run = run.expect("the program can be started");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}\n{errors}", run.status);
    String::from_utf8(run.stdout).expect("it is UTF-8")
}

#[test]
fn the_example_in_c() {
    let Some(compiler) = compiler("CC", "cc") else {
        return println!("skipped: there is no C compiler");
    };
    let output = output_of(&compiler, &["-std=c11"], "examples/embedding/embed.c", "embed_c");
    let expected = "area: 42\nframe: 42, scaled: 2.5\nsums: 1 3 6 10\nerror: ZeroDivide\n\
                    stranger: ended, used 100000 of fuel\n\
                    stranger: not granted host:geometry\nsecond machine: refused\n";
    assert_eq!(output, expected);
}

#[test]
fn the_example_in_cpp() {
    let Some(compiler) = compiler("CXX", "c++") else {
        return println!("skipped: there is no C++ compiler");
    };
    let output = output_of(&compiler, &["-std=c++17"], "examples/embedding/embed.cpp", "embed_cpp");
    let expected = "area: 42\nframe: 42, scaled: 2.5\nsums: 1 3 6 10\nerror: ZeroDivide\n\
                    stranger: ended, used 100000 of fuel\n\
                    stranger: not granted host:geometry\nthrown: HostError: area: not today\n";
    assert_eq!(output, expected);
}

#[test]
fn wrong_handles_and_arguments_are_errors() {
    let Some(compiler) = compiler("CC", "cc") else {
        return println!("skipped: there is no C compiler");
    };
    let output = output_of(&compiler, &["-std=c11"], "crates/capi/tests/hostile.c", "hostile_c");
    assert_eq!(output, "done\n");
}

#[test]
fn what_leaves_a_sandbox() {
    let Some(compiler) = compiler("CC", "cc") else {
        return println!("skipped: there is no C compiler");
    };
    let guest = ["tests/attacks/guests/cells.ns"];
    let source = "crates/capi/tests/cells.c";
    let output = output_with(&guest, &compiler, &["-std=c11"], source, "cells_c");
    assert_eq!(output, include_str!("cells.txt"));
}

#[test]
fn many_native_threads() {
    let Some(compiler) = compiler("CC", "cc") else {
        return println!("skipped: there is no C compiler");
    };
    let output = output_of(&compiler, &["-std=c11"], "crates/capi/tests/threads.c", "threads_c");
    assert_eq!(output, "done\n");
}

#[test]
fn what_needs_no_machine() {
    let Some(compiler) = compiler("CC", "cc") else {
        return println!("skipped: there is no C compiler");
    };
    let output = output_of(&compiler, &["-std=c11"], "crates/capi/tests/border.c", "border_c");
    assert_eq!(output, "done\n");
}

#[test]
fn a_fork_has_no_machine() {
    let Some(compiler) = compiler("CC", "cc") else {
        return println!("skipped: there is no C compiler");
    };
    let output = output_of(&compiler, &["-std=c11"], "crates/capi/tests/fork.c", "fork_c");
    assert_eq!(output, "done\n");
}
