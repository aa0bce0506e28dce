//! What the compiler makes of modules: `tests/compile/*.ns` and the `.sqasm` files beside them.

use std::path::Path;

use libtest_mimic::Trial;

use crate::compare_with_file;
use crate::process::Run;

pub fn trials() -> Vec<Trial> {
    crate::trials_in("tests/compile", "ns", run)
}

fn run(path: &Path) -> Result<(), String> {
    let shown = crate::shown(path);
    let run = Run::new(["disasm", &shown]);
    let result = run.execute();
    if result.exit != 0 {
        return Err(format!("{}\nrepeat with\n  {}", result.error, run.repetition()));
    }
    compare_with_file(&path.with_extension("sqasm"), &result.output)
        .map_err(|problem| format!("{problem}\nrepeat with\n  {}", run.repetition()))
}
