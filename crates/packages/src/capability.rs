//! Capabilities: the modules of the platform that a package gets only if it is granted them. Manifests name them; the
//! library's `Packages` has a method for each, and a test of the command line compares the two.
//!
//! All other modules of the platform only compute, so every package has them.

use std::collections::BTreeSet;

/// The capabilities, each with what its owner can do.
pub const ALL: &[(&str, &str)] = &[
    ("bytecode", "load modules of bytecode"),
    ("ffi", "call C"),
    ("files", "read and write files"),
    ("host", "use what the embedder offers"),
    ("http", "serve and ask the web"),
    ("mirrors", "look into objects and classes"),
    ("net", "connect, listen, look up hosts"),
    ("os", "start processes, see the environment"),
    ("postgres", "use databases of PostgreSQL"),
    ("programs", "read the standard input, the options, and act at the end"),
    ("sandboxes", "make sandboxes"),
    ("sqlite", "use databases in files"),
    ("system", "end the program, see its arguments, load modules from anywhere"),
    ("time", "see the clock"),
];

/// A set of capabilities.
pub type Capabilities = BTreeSet<&'static str>;

/// The capability of this name.
pub fn named(name: &str) -> Option<&'static str> {
    ALL.iter().map(|(known, _)| *known).find(|known| *known == name)
}

/// All of them.
pub fn all() -> Capabilities {
    ALL.iter().map(|(name, _)| *name).collect()
}

/// The names, for a text about an unknown one.
pub fn list() -> String {
    let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}
