//! Compiles C to a shared library. `SQUALL_FOREIGN_CFLAGS` adds options, such as `-fsanitize=undefined`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use squall_foreign::Library;

/// The platform's C compiler, if there is one.
fn compiler() -> Option<&'static cc::Tool> {
    static COMPILER: OnceLock<Option<cc::Tool>> = OnceLock::new();
    let find = || {
        let target = format!("{}-{}", std::env::consts::ARCH, SYSTEM);
        let mut build = cc::Build::new();
        build.cargo_metadata(false).cargo_warnings(false).opt_level(1).debug(false);
        let tool = build.target(&target).host(&target).try_get_compiler().ok()?;
        let works =
            tool.to_command().arg("--version").output().is_ok_and(|output| output.status.success());
        works.then_some(tool)
    };
    let found = COMPILER.get_or_init(find);
    if found.is_none() {
        println!("skipped: there is no C compiler");
    }
    found.as_ref()
}

const SYSTEM: &str =
    if cfg!(target_vendor = "apple") { "apple-darwin" } else { "unknown-linux-gnu" };

/// A file with a name of its own in a folder for temporary files.
fn scratch(extension: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("foreign-{}-{number}.{extension}", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles a file to a library, and loads it. `None` without a compiler.
pub fn load_file(source: &Path) -> Option<Library> {
    let compiler = compiler()?;
    let library = scratch("so");
    let mut command: Command = compiler.to_command();
    command.args(["-shared", "-fPIC", "-pthread", "-std=gnu11", "-o"]).arg(&library).arg(source);
    let flags = std::env::var("SQUALL_FOREIGN_CFLAGS").unwrap_or_default();
    command.args(flags.split_whitespace());
    let output = command.output().expect("the compiler ran before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // SAFETY: the sources have no initialisers.
    let loaded = unsafe { Library::open(library.to_str().expect("paths of tests are plain")) };
    std::fs::remove_file(&library).expect("it was just made");
    Some(loaded.expect("it was just made"))
}

/// Compiles a text to a library, and loads it. `None` without a compiler.
pub fn load_text(text: &str) -> Option<Library> {
    compiler()?;
    let source = scratch("c");
    std::fs::write(&source, text).expect("the folder is there");
    let library = load_file(&source);
    std::fs::remove_file(&source).expect("it was just made");
    library
}
