//! `cargo xtask json PATH`: reads the files of a checkout of JSONTestSuite, and checks that each is accepted or refused
//! as its name says. `main` calls [`run`].
//!
//! PATH is the checkout. The program that reads the files is `tests/json/classify.ns`.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::builds::{self, absolute};

/// The options of `cargo xtask json`.
#[derive(Args)]
pub struct Arguments {
    /// A checkout of JSONTestSuite
    suite: Option<PathBuf>,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
}

/// Runs the suite, if there is one. Answers whether all files were classified as they should.
pub fn run(arguments: &Arguments) -> bool {
    let Some(suite) = &arguments.suite else {
        println!("skipped: no checkout of JSONTestSuite is given");
        return true;
    };
    let folder = absolute(suite).join("test_parsing");
    if !folder.is_dir() {
        eprintln!("there is no folder {}", folder.display());
        return false;
    }
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let status = Command::new(squall)
        .arg("run")
        .arg(format!("--allow-files={}", folder.display()))
        .arg("tests/json/classify.ns")
        .arg(&folder)
        .status();
    status.is_ok_and(|status| status.success())
}
