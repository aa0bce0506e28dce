//! Tests of programs under each scheduler, on which their behaviour must not depend. `main.rs` collects them as trials.
//!
//! A small selection of programs always runs, once for each policy except the default one; `cargo xtask schedulers`
//! runs all programs under each. Runs with a seed have no policy, so none of these programs runs with a seed here.

use std::path::Path;

use libtest_mimic::Trial;
use squall::SchedulingPolicy;

use crate::language;

/// Programs that depend much on the scheduling: waiting, helping, stalls, and blocking calls.
const SELECTION: [&str; 15] = [
    "actors/mailboxes",
    "actors/timers",
    "deadlocks/channel",
    "deadlocks/lost_at_end",
    "deadlocks/lost_at_end_of_threads",
    "litmus/publication",
    "native_threads/blocking",
    "native_threads/mixed",
    "processes/choice",
    "processes/poison",
    "promises/order",
    "scheduling/control",
    "threading/fairness",
    "threading/semaphores",
    "transactions/retry",
];

pub fn trials() -> Vec<Trial> {
    let others = SchedulingPolicy::ALL.into_iter().filter(|policy| *policy != Default::default());
    others.flat_map(|policy| SELECTION.map(|program| trial(policy, program))).collect()
}

fn trial(policy: SchedulingPolicy, program: &'static str) -> Trial {
    Trial::test(format!("schedulers/{policy}/{program}"), move || {
        let path = crate::root().join("tests/language").join(program).with_extension("ns");
        run(&path, policy).map_err(Into::into)
    })
}

fn run(path: &Path, policy: SchedulingPolicy) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{error}: {path:?}"))?;
    language::run_under(&text, &crate::shown(path), policy.name())
}
