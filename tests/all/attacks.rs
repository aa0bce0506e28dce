//! Tests of attacks: `tests/attacks/*.ns`, programs whose comments say what becomes of an attack. `main.rs` collects
//! them. Each runs as ordinary programs do, interpreted only, and with everything compiled at once.
//!
//! The modules in `tests/attacks/guests` are loaded by these programs.

use std::path::Path;

use libtest_mimic::Trial;

use crate::language;
use crate::sample;

/// A test per program.
pub fn trials() -> Vec<Trial> {
    let programs = crate::files_in("tests/attacks", "ns");
    let is_guest = |path: &Path| path.parent().is_some_and(|folder| folder.ends_with("guests"));
    programs.iter().filter(|path| !is_guest(path)).map(|path| attack(path)).collect()
}

fn attack(path: &Path) -> Trial {
    let (name, path) = (sample::name_of(path), path.to_owned());
    Trial::test(name, move || {
        let (text, shown) = (sample::text_of(&path), crate::shown(&path));
        language::run_program(&text, &shown)?;
        language::run_interpreted(&text, &shown)?;
        Ok(language::run_compiled(&text, &shown, 1)?)
    })
}
