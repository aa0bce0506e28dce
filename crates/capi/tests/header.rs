//! The header in the repository is the one that the crate generates; `BLESS=1` rewrites it.

use std::path::Path;

/// The header's text before the functions.
const HEAD: &str = "/* Squall for C.

   Errors. A function that can fail answers an error, or null if it has succeeded. The caller frees the error. If there
   is an error, the places for results are not written.

   Handles. A pointer to an incomplete type is a handle: do not dereference it. Null, a freed handle, and a handle of another
   kind are errors with SQUALL_CODE_HANDLE; functions that free a handle ignore them. Each handle that a function answers
   or puts at a place belongs to the caller, which frees it.

   Native threads. The machine has native threads of its own. All functions may be called on any native thread, several at
   the same time, and also by functions that guest code has called. They block until there is an answer. One thing is not
   allowed: to free a handle while another native thread uses a text that belongs to it.

   A process has one machine, ever.

   Text is UTF-8. This file is generated from crates/capi. */
";

#[test]
fn the_header_is_current() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(crate_folder.join("cbindgen.toml"));
    let mut config = config.expect("the configuration can be read");
    config.header = Some(HEAD.to_owned());
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = builder.with_src(crate_folder.join("src/lib.rs"));
    let mut made = Vec::new();
    builder.generate().expect("the crate can be read").write(&mut made);
    let made = without_rust(&String::from_utf8(made).expect("it is UTF-8"));
    let path = crate_folder.join("../../include/squall.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, made).expect("it can be written");
    } else {
        let found = std::fs::read_to_string(&path).expect("it is there");
        assert!(found == made, "include/squall.h is not current; BLESS=1 rewrites it");
    }
}

/// The text without the parts that only Rust callers need.
fn without_rust(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut is_safety = false;
    for line in text.lines() {
        let comment = line.trim_start();
        if comment == "* # Safety" {
            is_safety = true;
            lines.pop_if(|last| last.trim() == "*");
        }
        is_safety &= comment != "*/";
        if !is_safety {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}
