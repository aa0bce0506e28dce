//! Tests that what ends and is forgotten is freed, although the heap has room: `tests/language/soak/one_after_another.ns`.
//! `main.rs` collects them as trials. `cargo xtask soak` runs the program for long, and measures memory; these tests look
//! for the collections that free it.

use libtest_mimic::{Failed, Trial};

use crate::process::{Run, is_under_stress};

const PROGRAM: &str = "tests/language/soak/one_after_another.ns";

/// How many sandboxes a run makes, one after the other; and the full collections that there are at least. Each sandbox has
/// two native parts or more, and some eight thousand of these are enough for a collection. The heap alone needs none.
const SANDBOXES: usize = 40_000;
const COLLECTIONS: usize = 4;

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("succession/sandboxes", sandboxes)]
}

fn sandboxes() -> Result<(), Failed> {
    // Under stress, everything is collected all the time.
    if is_under_stress() {
        return Ok(());
    }
    let count = SANDBOXES.to_string();
    let run = Run::new(["run", "--trace=gc", PROGRAM, "sandboxes", &count]);
    let result = run.execute();
    let collections = result.error.matches("gc: full collection").count();
    match result.exit == 0 && collections >= COLLECTIONS {
        true => Ok(()),
        false => {
            let repetition = run.repetition();
            Err(format!(
                "exit code {}, {collections} full collections; repeat with\n  {repetition}",
                result.exit
            )
            .into())
        }
    }
}
