//! Programs under each scheduler: what they do does not depend on it.
//!
//! A small selection runs always, once for each policy but the default one; `cargo xtask schedulers` has all
//! programs run under each. With a seed there is no policy, so nothing runs with one here.

use std::path::Path;

use libtest_mimic::Trial;
use squall::SchedulingPolicy;

use crate::language;

/// Programs in which much depends on who runs when: what waits, who helps, what a stall is, and who blocks.
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
