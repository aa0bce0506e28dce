//! The rules about the place of things: dependencies between crates, `unsafe`, printing, opening files. [`super::run`]
//! calls each check.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{File, Finding, text_of};
use crate::cargo;

/// For each crate, the crates of the project that it may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    ("squall-bytecode", &[]),
    ("squall-newspeak", &["squall-bytecode"]),
    ("squall-language-server", &["squall-bytecode", "squall-newspeak"]),
    ("squall-reference", &["squall-newspeak"]),
    ("squall-compiler", &["squall-bytecode"]),
    ("squall-data", &[]),
    ("squall-packages", &[]),
    ("squall-events", &[]),
    ("squall-heap", &[]),
    ("squall-scheduler", &[]),
    ("squall-foreign", &[]),
    ("squall-system", &[]),
    ("squall-transactions", &[]),
    (
        "squall-runtime",
        &[
            "squall-bytecode",
            "squall-data",
            "squall-events",
            "squall-foreign",
            "squall-heap",
            "squall-scheduler",
            "squall-system",
            "squall-transactions",
        ],
    ),
    ("squall-interpreter", &["squall-bytecode", "squall-heap", "squall-runtime"]),
    ("squall-jit", &["squall-bytecode", "squall-compiler", "squall-heap", "squall-runtime"]),
    (
        "squall",
        &[
            "squall-bytecode",
            "squall-events",
            "squall-heap",
            "squall-interpreter",
            "squall-jit",
            "squall-newspeak",
            "squall-runtime",
            "squall-scheduler",
        ],
    ),
    ("squall-fuzzing", &["squall", "squall-bytecode", "squall-newspeak"]),
    (
        "squall-debugger",
        &["squall-bytecode", "squall-events", "squall-heap", "squall-newspeak", "squall-runtime"],
    ),
    ("squall-observer", &["squall-events", "squall-runtime", "squall-system"]),
    ("squall-sqlite", &["squall-foreign"]),
    ("squall-capi", &["squall"]),
    (
        "squall-cli",
        &[
            "squall",
            "squall-bytecode",
            "squall-debugger",
            "squall-foreign",
            "squall-language-server",
            "squall-newspeak",
            "squall-observer",
            "squall-packages",
            "squall-reference",
            "squall-sqlite",
            "squall-system",
        ],
    ),
    ("xtask", &[]),
];

/// Libraries that one crate only may use.
const CONFINED: &[(&str, &str)] = &[
    ("mmtk", "squall-heap"),
    ("cranelift-codegen", "squall-compiler"),
    ("cranelift-frontend", "squall-compiler"),
    ("libffi-sys", "squall-foreign"),
    ("libloading", "squall-foreign"),
    ("mio", "squall-system"),
    ("rustls", "squall-system"),
    ("form_urlencoded", "squall-system"),
    ("httparse", "squall-system"),
    ("httpdate", "squall-system"),
    ("percent-encoding", "squall-system"),
    ("prost", "squall-events"),
    ("blake3", "squall-data"),
    ("csv", "squall-data"),
    ("flate2", "squall-data"),
    ("jiff", "squall-data"),
    ("jiter", "squall-data"),
    ("regex", "squall-data"),
    ("rand_chacha", "squall-data"),
    ("sha2", "squall-data"),
    ("url", "squall-data"),
    ("zstd", "squall-data"),
    ("libsqlite3-sys", "squall-sqlite"),
    ("dynasmrt", "squall-jit"),
    ("lsp-server", "squall-language-server"),
    ("lsp-types", "squall-language-server"),
    ("maud", "squall-reference"),
    ("pulldown-cmark", "squall-reference"),
    ("pubgrub", "squall-packages"),
    ("tar", "squall-packages"),
    ("toml_edit", "squall-packages"),
    ("ureq", "squall-packages"),
    ("clap", "squall-cli"),
    ("rustyline", "squall-cli"),
];

/// Libraries of [`CONFINED`] that packages need as well: their archives are fetched, unpacked and checked without a machine.
const SHARED: &[&str] = &["flate2", "rustls", "sha2"];

/// Crates that may contain `unsafe`; all others forbid it.
const UNSAFE: &[&str] = &["capi", "foreign", "heap", "runtime", "interpreter", "jit", "sqlite"];

/// Calls that only the command may contain.
const PRINTING: &[&str] =
    &["println!", "print!(", "eprintln!", "eprint!(", "io::stdout", "io::stderr"];

/// Calls that only the command, the primitives for files and the places that these work on may contain.
const OPENING: &[&str] = &["std::fs", "File::open"];

/// Exceptions: files of programs and of the system, and messages of a process that cannot go on.
const EXCUSED: &[(&str, &str)] = &[
    ("crates/system/src/process.rs", "std::fs"),
    ("crates/capi/src/machine_options.rs", "std::fs"),
    ("crates/packages/src/", "std::fs"),
    ("crates/packages/src/", "File::open"),
    ("crates/runtime/src/library/primitives/", "std::fs"),
    ("crates/runtime/src/model/permissions.rs", "std::fs"),
    ("crates/system/src/places.rs", "std::fs"),
    ("crates/heap/src/collector/", "eprintln!"),
];

/// Checks the manifests.
pub fn dependencies() -> Vec<Finding> {
    let allowed: BTreeMap<_, _> = LAYERS.iter().copied().collect();
    let mut findings = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(layers) = allowed.get(name) else {
            findings.push(format!(
                "{name}: xtask/src/tidy/architecture.rs does not say where it belongs"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let other = dependency["name"].as_str().unwrap_or_default();
            let is_for_tests = dependency["kind"] == "dev";
            if allowed.contains_key(other) && !layers.contains(&other) && !is_for_tests {
                findings.push(format!("{name} must not depend on {other}"));
            }
            let home = CONFINED.iter().find(|(library, _)| *library == other);
            let is_shared = name == "squall-packages" && SHARED.contains(&other);
            let is_test_server = is_for_tests && ["flate2", "rustls", "tar"].contains(&other);
            let is_free = is_shared || is_test_server || name == "xtask";
            if let Some((library, home)) = home.filter(|(_, home)| *home != name && !is_free) {
                findings
                    .push(format!("{name} must not depend on {library}, which belongs to {home}"));
            }
        }
    }
    findings
}

fn packages() -> Vec<Value> {
    let output =
        cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).output();
    let output = output.expect("Cargo is there").stdout;
    let metadata: Value = serde_json::from_slice(&output).expect("Cargo writes JSON");
    metadata["packages"].as_array().cloned().unwrap_or_default()
}

/// A crate whose manifest says `doctest = false` has no examples in its documentation. (The setting saves the time to
/// look for them.)
pub fn untested_examples(files: &[File]) -> Vec<Finding> {
    let packages = packages();
    let untested: Vec<&str> = packages
        .iter()
        .filter(|package| {
            let targets = package["targets"].as_array().into_iter().flatten();
            let mut libraries = targets.filter(|target| target["kind"][0] == "lib");
            libraries.any(|target| target["doctest"] == false)
        })
        .filter_map(|package| package["name"].as_str()?.strip_prefix("squall-"))
        .collect();
    let is_untested = |file: &&File| file.crate_name().is_some_and(|name| untested.contains(&name));
    let sources = files.iter().filter(|file| file.is_rust()).filter(is_untested);
    sources
        .flat_map(|file| {
            let lines = rust_examples(&file.text).into_iter();
            lines.map(|line| {
                format!("{}:{line}: no test runs this: remove doctest = false", file.path)
            })
        })
        .collect()
}

/// The lines on which the documentation begins a block of Rust.
fn rust_examples(text: &str) -> Vec<usize> {
    const RUST: [&str; 5] = ["", "rust", "no_run", "should_panic", "compile_fail"];
    let mut lines = Vec::new();
    let mut is_inside = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let documentation = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let fence = documentation.and_then(|text| text.trim_start().strip_prefix("```"));
        let Some(language) = fence else { continue };
        let first = language.split(',').next().unwrap_or_default();
        if !is_inside && RUST.contains(&first) {
            lines.push(number + 1);
        }
        is_inside = !is_inside;
    }
    lines
}

/// ARCHITECTURE.md names each folder in `crates`, and no other.
pub fn named_in_codemap() -> Vec<Finding> {
    const CODEMAP: &str = "ARCHITECTURE.md";
    let Some(text) = text_of(CODEMAP) else {
        return vec![format!("{CODEMAP} is missing")];
    };
    let folders: Vec<String> = packages()
        .iter()
        .filter_map(|package| package["manifest_path"].as_str()?.split("/crates/").nth(1))
        .filter_map(|path| path.split('/').next().map(str::to_owned))
        .collect();
    let named: Vec<&str> = text
        .split("crates/")
        .skip(1)
        .filter_map(|rest| {
            rest.split(|end: char| !end.is_alphanumeric() && !"_-".contains(end)).next()
        })
        .filter(|name| !name.is_empty())
        .collect();
    let missing = folders.iter().filter(|folder| !named.contains(&folder.as_str()));
    let unknown = named.iter().filter(|name| !folders.iter().any(|folder| folder == *name));
    missing
        .map(|folder| format!("{CODEMAP} does not mention crates/{folder}"))
        .chain(
            unknown.map(|name| format!("{CODEMAP} mentions crates/{name}, which does not exist")),
        )
        .collect()
}

/// Checks one source file.
pub fn check(file: &File) -> Vec<Finding> {
    let Some(name) = file.crate_name().filter(|_| file.is_rust()) else { return Vec::new() };
    let mut findings = Vec::new();
    if file.path == format!("crates/{name}/src/lib.rs")
        || file.path == format!("crates/{name}/src/main.rs")
    {
        let forbids = file.text.contains("#![forbid(unsafe_code)]");
        if !forbids && !UNSAFE.contains(&name) {
            findings.push(format!("{}:1: add #![forbid(unsafe_code)]", file.path));
        }
    }
    if name != "cli" && file.is_product() {
        findings.extend(forbidden(file, PRINTING, "only the command prints"));
        findings.extend(forbidden(file, OPENING, "only the command opens files"));
    }
    if name != "heap" && file.is_product() {
        findings.extend(forbidden(file, &["mmtk::"], "only the heap names the collector"));
    }
    if name == "interpreter" && file.is_product() {
        findings.extend(called_methods(file));
    }
    if (name == "interpreter" || name == "jit") && file.is_product() {
        findings.extend(past_the_contract(file));
    }
    findings
}

/// Imports of a tier from the runtime that go past the contract, `squall_runtime::tiers`.
fn past_the_contract(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.product_lines() {
        let paths = line.split("squall_runtime::").skip(1);
        if paths.into_iter().any(|path| !path.starts_with("tiers")) {
            findings.push(format!(
                "{}:{number}: a tier uses the runtime through squall_runtime::tiers only",
                file.path
            ));
        }
    }
    findings
}

/// Methods of the interpreter's machine that are not inlined. To call one, the machine would have to be in memory.
fn called_methods(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut previous = "";
    for (number, line) in file.product_lines() {
        let borrows = line.contains("(&self") || line.contains("(&mut self");
        // The interpreter itself has no registers.
        let is_machines = !line.contains("fn run(") && !line.contains("(&self, thread:");
        let is_method = line.contains("fn ") && borrows && is_machines;
        if is_method && !previous.contains("#[inline(always)]") {
            findings.push(format!("{}:{number}: add #[inline(always)]: see machine.rs", file.path));
        }
        previous = line;
    }
    findings
}

fn forbidden(file: &File, words: &[&str], rule: &str) -> Vec<Finding> {
    let is_excused = |word: &str| {
        EXCUSED.iter().any(|(place, what)| file.path.starts_with(place) && *what == word)
    };
    let mut findings = Vec::new();
    for (number, line) in file.product_lines() {
        let code = line.split("//").next().unwrap_or_default();
        let used = words.iter().find(|word| code.contains(**word) && !is_excused(word));
        if let Some(word) = used {
            findings.push(format!("{}:{number}: {word}: {rule}", file.path));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_that_goes_past_the_contract_is_found() {
        let file = |text: &str| File {
            path: "crates/interpreter/src/planted.rs".to_owned(),
            text: text.to_owned(),
        };
        assert!(check(&file("use squall_runtime::tiers::calls;\n")).is_empty());
        assert_eq!(check(&file("\nuse squall_runtime::execution::calls;\n")).len(), 1);
    }

    #[test]
    fn blocks_of_rust_are_found() {
        let text =
            "/// ```\n/// a();\n/// ```\n//! ```text\n//! b\n//! ```\n    /// ```rust,ignore\n";
        assert_eq!(rust_examples(text), [1, 7]);
        assert_eq!(rust_examples("/// ```text\n/// ```\n// ```\n"), [0; 0]);
    }
}
