//! Tests of the forms of profiles, on one small profile.

use super::samples::{Sample, Samples, State};
use super::texts::{Frame, Places, Profile};
use super::waits::Cause;
use super::{collapsed, firefox, flame, pprof, summary};
use crate::record::Track;
use crate::table::Reason;

/// Functions named after their numbers.
struct Numbers;

impl Places for Numbers {
    fn frame(&self, (function, line): (u64, u32)) -> Frame {
        Frame { function: format!("f{function}"), file: "p.ns".to_owned(), line }
    }

    fn site(&self, site: u64) -> Frame {
        Frame { function: "waits<>".to_owned(), file: "p.ns".to_owned(), line: site as u32 }
    }
}

/// f1 calls f2 and itself: three samples of seven periods, one of them outside.
fn profile() -> Profile {
    let mut samples = Samples::new(1);
    let mut add = |time, frames: &[(u64, u32)], weight, state| {
        let node = samples.node(frames.iter().copied());
        let track = Track::Vat(2);
        samples.samples.push(Sample { time, node, weight, track, state });
    };
    add(10, &[(2, 5), (1, 3)], 4, State::Running);
    add(20, &[(1, 4), (1, 3)], 2, State::Running);
    add(30, &[(2, 6), (1, 3)], 1, State::Outside);
    let node = samples.node([(2, 5), (1, 3)].into_iter());
    samples.allocated.insert(node, 3 << 20);
    samples.idle = 7;
    let cause = Cause { reason: Reason::Lock as u64, entity: 0xab, site: 9 };
    samples.waits.add(cause, 2_000_000, 1);
    samples.waits.add(cause, 250_000, 2);
    Profile::new(1_000_000, &[&samples], &Numbers)
}

#[test]
fn collapsed_stacks_begin_outside() {
    assert_eq!(collapsed::text(&profile()), "f1;f1 2\nf1;f2 4\nf1;f2;(outside) 1\n");
}

#[test]
fn the_summary_has_shares_and_lines() {
    let text = summary::text(&profile());
    let parts = [
        "3 samples for 0.01 s of all workers, 14.3 % outside of the machine",
        "   71.4%    71.4%  f2 (p.ns:5)",
        "   28.6%   100.0%  f1 (p.ns:4)",
        "  100.0%  f2 (p.ns:5)",
        "  2.5 ms        3   2.0 ms  a lock #ab, at waits<> (p.ns:9)",
        "worker 1: 50 % idle",
    ];
    for part in parts {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn a_flame_graph_is_well_formed_and_has_each_function() {
    let picture = flame::svg(&profile(), "a < b");
    assert!(picture.contains("a &lt; b") && picture.ends_with("</svg>\n"));
    assert_eq!(picture.matches("<g>").count(), picture.matches("</g>").count());
    assert!(picture.contains("<title>f2: 5 samples, 71.43 %</title>"));
    assert!(picture.contains("<title>(outside): 1 samples, 14.29 %</title>"));
}

#[test]
fn the_firefox_profiler_gets_its_threads() {
    let text = firefox::json(&profile(), "p.ns", 0.0).expect("it is made of texts and numbers");
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(json["threads"][0]["name"], "worker 1");
    assert_eq!(json["threads"][0]["samples"]["weight"], serde_json::json!([4, 2, 1]));
    assert!(text.contains("f2 (p.ns:5)") && text.contains("vat 2"));
}

/// By the numbers of `profile.proto`.
#[test]
fn pprof_gets_values_for_places() {
    let bytes = pprof::bytes(&profile());
    let decoded = pprof::decoded(&bytes);
    assert_eq!(
        decoded.kinds,
        ["samples count", "cpu nanoseconds", "allocated bytes", "waited nanoseconds"]
    );
    let all = |index: usize| decoded.samples.iter().map(|(_, values)| values[index]).sum::<i64>();
    assert_eq!([all(0), all(1), all(2), all(3)], [7, 7_000_000, 3 << 20, 2_500_000]);
    assert!(decoded.samples.iter().any(|(places, _)| places == &["f2 p.ns:5", "f1 p.ns:3"]));
}
