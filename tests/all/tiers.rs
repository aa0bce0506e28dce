//! Tests of the tiers: each program of `tests/language` runs with everything compiled at once, and with chaos in machine
//! code. `main.rs` collects them.
//!
//! Programs otherwise run with the tiers of ordinary runs, in which most of their code is cold. The programs' comments say
//! what is expected, as in `language`. Programs in bytecode that say `; everywhere` run so, too (`bytecode`).

use std::path::Path;

use libtest_mimic::Trial;

use crate::language;
use crate::sample;

/// A test per program.
pub fn trials() -> Vec<Trial> {
    let programs = crate::files_in("tests/language", "ns");
    programs.iter().map(|path| compiled(path)).collect()
}

fn compiled(path: &Path) -> Trial {
    let (name, path) = (sample::name_of(path), path.to_owned());
    Trial::test(format!("tiers/{name}"), move || {
        let text = sample::text_of(&path);
        Ok(language::run_compiled(&text, &crate::shown(&path), chaos())?)
    })
}

/// The seed of the chaos: the number that draws the sample, so that each run of `cargo xtask ci` has another.
fn chaos() -> u64 {
    sample::number().unwrap_or(1)
}
