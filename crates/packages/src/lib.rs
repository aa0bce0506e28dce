//! Packages: folders with a manifest, what they depend on, and what they may do. The command line calls this crate; it runs
//! no program, prints nothing, and asks no user.
//!
//! | module | what it holds |
//! |---|---|
//! | `problem` | why something fails: what, where, and what to do |
//! | `capability` | the platform's modules that a package needs a grant for |
//! | `digest` | SHA-256 of bytes and of folders |
//! | `source` | where a package comes from |
//! | `manifest` | `squall.toml`, read |
//! | `editing` | `squall.toml`, changed without losing comments |
//! | `lock` | `squall.lock` |
//! | `unpacking` | archives of others: what is refused, limits |
//! | `download` | files of the web |
//! | `git` | commits, by the command `git` |
//! | `cache` | packages that were fetched, by their content; those next to the manifest (`vendor`) |
//! | `resolution` | which versions of which packages are chosen |
//! | `project` | a package with all that it depends on |
//! | `authority` | which capability each package has, and from where |
//! | `bundle` | all of it in one file |
//!
//! From a manifest to a program: [`Project::open`](project::Project::open) reads the manifest and the lock, finds all
//! sources that are named, and has `resolution` choose; [`authority::Authority::of`] follows the grants from the
//! application on; the answer is the table that the machine gets. A bundle holds that table and the modules.
//!
//! Bytes from elsewhere (archives, manifests, locks, bundles) are never trusted: they may be anything, and a mistake in
//! them is a [`Problem`](problem::Problem).
#![forbid(unsafe_code)]

pub mod authority;
pub mod bundle;
pub mod cache;
pub mod capability;
pub mod digest;
pub mod download;
pub mod editing;
pub mod git;
pub mod lock;
pub mod manifest;
pub mod problem;
pub mod project;
pub mod resolution;
pub mod source;
pub mod unpacking;
