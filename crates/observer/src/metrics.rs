//! Counts in the text form of Prometheus, version 0.0.4. [`crate::routes`] serves them at `/metrics`.

use std::fmt::Write;

use squall_runtime::library::observation::{self, Activity, PauseStatistics};

use crate::view::View;

/// The type of the content.
pub const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics.
pub fn metrics(view: &View) -> String {
    let mut text = Text(String::new());
    add_strands(view, &mut text);
    add_vats(view, &mut text);
    add_heap(view, &mut text);
    add_transactions(view, &mut text);
    text.begin(
        "squall_events_lost_total",
        "counter",
        "Events that came faster than they were taken.",
    );
    text.sample("squall_events_lost_total", "", view.vm.events.lost() as f64);
    text.0
}

/// A text of metrics.
struct Text(String);

impl Text {
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A sample; the labels are in braces, or are none.
    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.begin(name, kind, help);
        self.sample(name, "", value);
    }

    /// A gauge with a sample for each of some names.
    fn labelled<'n>(
        &mut self,
        (name, label, help): (&str, &str, &str),
        values: impl Iterator<Item = (&'n str, usize)>,
    ) {
        self.begin(name, "gauge", help);
        let mut values: Vec<_> = values.collect();
        values.sort_unstable();
        for (of, value) in values {
            self.sample(name, &format!("{{{label}=\"{of}\"}}"), value as f64);
        }
    }
}

fn add_strands(view: &View, text: &mut Text) {
    let swept = view.strands.counts(view.vm);
    let count = |name: &&'static str| swept.activities.get(name).copied().unwrap_or(0);
    let states = Activity::NAMES.iter().map(|name| (*name, count(name)));
    text.labelled(("squall_strands", "state", "Strands, by what they do."), states);
    let reasons = swept.reasons.iter().map(|(name, count)| (*name, *count));
    text.labelled(
        ("squall_strands_waiting", "for", "Waiting strands, by what they wait for."),
        reasons,
    );
    let help = "Cycles of strands that wait for each other.";
    text.single("squall_wait_cycles", "gauge", help, swept.cycles.len() as f64);
}

fn add_vats(view: &View, text: &mut Text) {
    let vats = view.vats.counts(view.vm);
    text.single("squall_vats", "gauge", "Vats.", vats.total as f64);
    text.single("squall_vats_active", "gauge", "Vats with something to do.", vats.active as f64);
    text.single(
        "squall_mailbox_messages",
        "gauge",
        "Messages in all mailboxes.",
        vats.waiting as f64,
    );
    text.single(
        "squall_mailbox_longest",
        "gauge",
        "Messages in the longest mailbox.",
        vats.longest as f64,
    );
    // Vats take their counts with them when they die.
    let help = "Messages put into mailboxes, of the vats that there are.";
    text.single("squall_messages", "gauge", help, vats.posted as f64);
}

fn add_heap(view: &View, text: &mut Text) {
    let heap = observation::heap(view.vm);
    text.single("squall_heap_used_bytes", "gauge", "Bytes in use.", heap.used_bytes as f64);
    text.single(
        "squall_heap_live_bytes",
        "gauge",
        "Bytes of objects that lived at the last full collection.",
        heap.live_bytes as f64,
    );
    text.single(
        "squall_heap_max_bytes",
        "gauge",
        "Bytes that the heap may have.",
        heap.max_heap_bytes as f64,
    );
    text.single(
        "squall_heap_allocated_bytes_total",
        "counter",
        "Bytes ever allocated.",
        heap.allocated_bytes as f64,
    );
    text.begin("squall_collection_pause_seconds", "summary", "Pauses for collections.");
    add_pauses("nursery", &heap.nursery, text);
    add_pauses("full", &heap.full, text);
}

fn add_pauses(kind: &str, pauses: &PauseStatistics, text: &mut Text) {
    const NAME: &str = "squall_collection_pause_seconds";
    let quantile = |quantile: &str| format!("{{kind=\"{kind}\",quantile=\"{quantile}\"}}");
    text.sample(NAME, &quantile("0.5"), pauses.median.as_secs_f64());
    text.sample(NAME, &quantile("1"), pauses.max.as_secs_f64());
    let labels = format!("{{kind=\"{kind}\"}}");
    text.sample(&format!("{NAME}_sum"), &labels, pauses.total.as_secs_f64());
    text.sample(&format!("{NAME}_count"), &labels, pauses.count as f64);
}

fn add_transactions(view: &View, text: &mut Text) {
    let (counts, _) = observation::transactions(view.vm);
    let count = |name: &str| {
        counts.iter().find(|(other, _)| *other == name).map_or(0, |(_, count)| *count) as f64
    };
    let help = "Attempts of transactions that have begun.";
    text.single("squall_transactions_begun_total", "counter", help, count("begun"));
    text.begin("squall_transactions_total", "counter", "Attempts of transactions, by their end.");
    for name in ["committed", "changed", "busy", "reserved", "retried"] {
        text.sample("squall_transactions_total", &format!("{{end=\"{name}\"}}"), count(name));
    }
}
