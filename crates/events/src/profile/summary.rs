//! A profile in words, for a terminal: the functions with the most time, the lines that make the most objects, the longest
//! waits, and the idle time of workers.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::samples::State;
use super::texts::{Profile, Wait};
use crate::table::Reason;

/// How many lines a table has.
const ROWS: usize = 15;

/// The tables.
pub fn text(profile: &Profile) -> String {
    let mut text = String::new();
    times(profile, &mut text);
    allocations(profile, &mut text);
    waits(profile, &mut text);
    idle(profile, &mut text);
    text
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// The time of a function alone, and with all that it calls.
#[derive(Default)]
struct Time {
    own: u64,
    all: u64,
    /// The time of its lines, if it is the innermost function.
    lines: HashMap<u32, u64>,
}

fn times(profile: &Profile, text: &mut String) {
    let total = profile.total();
    let seconds = (total * profile.period) as f64 / 1e9;
    let outside: u64 = profile
        .stacks
        .iter()
        .filter(|stack| stack.state == State::Outside)
        .map(|stack| stack.weight)
        .sum();
    _ = writeln!(
        text,
        "{} samples for {seconds:.2} s of all workers, {:.1} % outside of the machine\n",
        profile.stacks.len(),
        percent(outside, total)
    );
    if total == 0 {
        return;
    }
    _ = writeln!(text, "    self    total  function");
    let mut functions: Vec<(&str, &str, Time)> = by_function(profile);
    functions.sort_by(|one, other| {
        (other.2.own, other.2.all, one.0).cmp(&(one.2.own, one.2.all, other.0))
    });
    for (function, file, time) in functions.iter().take(ROWS) {
        let (own, all) = (percent(time.own, total), percent(time.all, total));
        let busiest = time.lines.iter().max_by_key(|(line, weight)| (**weight, u32::MAX - **line));
        let place = match busiest {
            Some((&line, _)) if line > 0 => format!(" ({file}:{line})"),
            _ if file.is_empty() => String::new(),
            _ => format!(" ({file})"),
        };
        _ = writeln!(text, "{own:>7.1}% {all:>7.1}%  {function}{place}");
    }
}

fn by_function(profile: &Profile) -> Vec<(&str, &str, Time)> {
    let mut times: HashMap<(&str, &str), Time> = HashMap::new();
    for stack in &profile.stacks {
        let mut seen = HashSet::new();
        for (depth, &frame) in stack.frames.iter().enumerate() {
            let frame = &profile.frames[frame];
            let key = (frame.function.as_str(), frame.file.as_str());
            let time = times.entry(key).or_default();
            if depth == 0 {
                time.own += stack.weight;
                *time.lines.entry(frame.line).or_default() += stack.weight;
            }
            // A recursive function counts once.
            if seen.insert(key) {
                time.all += stack.weight;
            }
        }
    }
    times.into_iter().map(|((function, file), time)| (function, file, time)).collect()
}

fn allocations(profile: &Profile, text: &mut String) {
    let total: u64 = profile.allocated.iter().map(|(_, bytes)| bytes).sum();
    if total == 0 {
        return;
    }
    let mut lines: HashMap<(&str, &str, u32), u64> = HashMap::new();
    for (frames, bytes) in &profile.allocated {
        let Some(&innermost) = frames.first() else { continue };
        let frame = &profile.frames[innermost];
        *lines.entry((&frame.function, &frame.file, frame.line)).or_default() += bytes;
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    _ = writeln!(
        text,
        "\n   bytes  objects made by ({:.1} MiB in all)",
        total as f64 / f64::from(1 << 20)
    );
    for ((function, file, line), bytes) in lines.into_iter().take(ROWS) {
        _ = writeln!(text, "{:>7.1}%  {function} ({file}:{line})", percent(bytes, total));
    }
}

fn waits(profile: &Profile, text: &mut String) {
    if profile.waits.is_empty() {
        return;
    }
    _ = writeln!(text, "\n  waited    count  longest  for");
    for Wait { reason, entity, place, waited } in profile.waits.iter().take(ROWS) {
        let thing = match *entity {
            0 => reason.text().to_owned(),
            vat if *reason == Reason::Turn => format!("{} {vat}", reason.text()),
            entity => format!("{} #{entity:x}", reason.text()),
        };
        let place = match place.line {
            0 => place.function.clone(),
            line => format!("{} ({}:{line})", place.function, place.file),
        };
        let (all, longest) = (time(waited.time), time(waited.longest));
        _ = writeln!(text, "{all:>8} {:>8} {longest:>8}  {thing}, at {place}", waited.count);
    }
}

/// A time in a unit that suits it.
fn time(nanoseconds: u64) -> String {
    match nanoseconds as f64 {
        time if time < 1e6 => format!("{:.1} µs", time / 1e3),
        time if time < 1e9 => format!("{:.1} ms", time / 1e6),
        time => format!("{:.2} s", time / 1e9),
    }
}

fn idle(profile: &Profile, text: &mut String) {
    let mut workers: HashMap<u32, (u64, u64)> = HashMap::new();
    for &(worker, idle) in &profile.idle {
        workers.entry(worker).or_default().0 += idle;
    }
    for stack in &profile.stacks {
        workers.entry(stack.worker).or_default().1 += stack.weight;
    }
    let mut workers: Vec<_> = workers.into_iter().collect();
    workers.sort_unstable();
    text.push('\n');
    for (worker, (idle, busy)) in workers {
        _ = writeln!(text, "worker {worker}: {:.0} % idle", percent(idle, idle + busy));
    }
}
