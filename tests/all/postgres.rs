//! Programs that need a server of PostgreSQL: `tests/postgres/*.ns`, which are judged as those in `tests/language`.
//!
//! `{server}` stands for the settings of a connection in `SQUALL_POSTGRES`, such as `host=/tmp/s dbname=postgres`. The
//! programs make tables there. `cargo xtask postgres` starts a server for them; without one, these tests say so and
//! pass.

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
