//! Tests of programs that use a server of PostgreSQL: `tests/postgres/*.ns`, which have the same comments as
//! `tests/language`. `main.rs` collects them as trials.
//!
//! `{server}` stands for the settings of a connection in `SQUALL_POSTGRES`, such as `host=/tmp/s dbname=postgres`. The
//! programs make tables there. `cargo xtask postgres` starts a server for them. Without a server, these tests say so
//! and pass.

use std::path::Path;

use libtest_mimic::Trial;

use crate::language;

pub fn trials() -> Vec<Trial> {
    crate::trials_in("tests/postgres", "ns", run)
}

fn run(path: &Path) -> Result<(), String> {
    let Ok(server) = std::env::var("SQUALL_POSTGRES") else {
        println!("skipped: SQUALL_POSTGRES names no server");
        return Ok(());
    };
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    language::run_program(&text.replace("{server}", &server), &crate::shown(path))
}
