//! The header that is checked in is the one that the crate makes; `BLESS=1` rewrites it.

use std::path::Path;

/// What the header says before the functions.
const HEAD: &str = "/* Squall for C.

   Errors. What can fail answers an error, or null if all went well. Who gets an error frees it. If there is an error,
   the places for results are not written.

   Handles. What looks like a pointer to an incomplete type is a handle: it is not to be followed. Null, a handle that was freed,
   and one of another kind are errors with SQUALL_CODE_HANDLE, or, for functions that free something, nothing to do. Each handle
   that a function puts at a place, or answers, belongs to the caller, who frees it.

   Native threads. The machine has native threads of its own. All functions may be called on any native thread, several at
   the same time, also by functions that guest code has called. They block until there is an answer. What is not
   allowed at the same time: to free a handle and to use texts that belong to it.

   One machine per process, ever.

   Text is UTF-8. This file is made of crates/capi. */
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

/// The text without what only callers in Rust have to know.
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
