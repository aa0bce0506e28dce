//! The summary of a run: what was compiled, how long that took, and where optimised code was left. `--report=jit` shows
//! it, and tests compare its numbers.
//!
//! Exits are counted by their records, which count anyway: a report costs a program nothing before it is made.

use std::cmp::Reverse;
use std::fmt::Write;

use squall_compiler::code::{Reason, Start};
use squall_runtime::tiers::function::CodeKind;

use crate::code::suffix;
use crate::code::units::Destination;
use crate::compiler::Compiler;
use crate::history::{Made, MadeUnit};
use crate::memory;
use crate::optimised::{line_of, place_of};

/// So many places are shown.
const SHOWN: usize = 10;

/// Numbers of a run until now.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// The functions with base code; one with code for both kinds of accesses counts twice.
    pub functions: usize,
    /// The bytes of base code.
    pub base_bytes: usize,
    /// The units, dropped ones included.
    pub units: usize,
    /// The bytes of units.
    pub unit_bytes: usize,
    /// The units that were dropped.
    pub dropped: usize,
    /// The bytes of all code, with what all functions share.
    pub used: usize,
    /// The most bytes of code.
    pub budget: usize,
    /// The exits that say something about the code.
    pub exits: u64,
    /// The exits for a request to the thread, or a conflict with another strand.
    pub passing_exits: u64,
}

/// The numbers of the process; none if nothing compiles.
pub fn counters() -> Option<Counters> {
    let compiler = Compiler::of_process()?;
    let made = compiler.history.made();
    let mut counters = Counters {
        functions: made.codes.len(),
        base_bytes: made.codes.iter().map(|code| code.size).sum(),
        units: made.units.len(),
        unit_bytes: made.units.iter().map(|each| each.unit.size).sum(),
        dropped: made.units.iter().filter(|each| each.is_dropped()).count(),
        used: compiler.memory().used(),
        budget: memory::RESERVED,
        ..Counters::default()
    };
    for (reason, count) in by_reason(&exits(&made)) {
        let sum =
            if reason.is_passing() { &mut counters.passing_exits } else { &mut counters.exits };
        *sum += count;
    }
    Some(counters)
}

/// An exit that was taken.
struct Taken {
    count: u64,
    from: MadeUnit,
    destination: &'static Destination,
}

/// The exits that were taken, the most frequent ones first.
fn exits(made: &Made) -> Vec<Taken> {
    let of_unit = |each: &MadeUnit| {
        let from = *each;
        from.unit.exits.iter().filter_map(move |record| {
            let count = u64::from(record.taken());
            let destination = record.destination().filter(|_| count > 0)?;
            Some(Taken { count, from, destination })
        })
    };
    let mut exits: Vec<Taken> = made.units.iter().flat_map(of_unit).collect();
    exits.sort_by_cached_key(|taken| (Reverse(taken.count), taken.text()));
    exits
}

/// How many exits had which reason, the most frequent ones first.
fn by_reason(exits: &[Taken]) -> Vec<(Reason, u64)> {
    let mut sums: Vec<(Reason, u64)> = Vec::new();
    for taken in exits {
        let reason = taken.destination.reason;
        match sums.iter_mut().find(|sum| sum.0 == reason) {
            Some(sum) => sum.1 += taken.count,
            None => sums.push((reason, taken.count)),
        }
    }
    sums.sort_by_key(|sum| Reverse(sum.1));
    sums
}

impl Taken {
    fn text(&self) -> String {
        let MadeUnit { code, unit } = self.from;
        let (function, pc) = self.destination.cause;
        let (from, kind) = (place_of(code.function, unit.start), suffix(code.kind));
        format!("{from}{kind} at {}: {}", line_of(function, pc), self.destination.reason)
    }
}

/// The summary as text.
pub fn text() -> String {
    let Some(compiler) = Compiler::of_process() else {
        return "machine code: none, the interpreter runs everything\n".to_owned();
    };
    let made = compiler.history.made();
    let mut text = String::new();
    describe_base(&made, &mut text);
    if compiler.policy.is_some() {
        describe_units(&made, &mut text);
    }
    let used = compiler.memory().used();
    _ = writeln!(text, "  code memory: {used} of {} bytes are used", memory::RESERVED);
    describe_exits(&exits(&made), &mut text);
    text
}

fn describe_base(made: &Made, text: &mut String) {
    let bytes: usize = made.codes.iter().map(|code| code.size).sum();
    let guarded = made.codes_with(CodeKind::Guarded).count();
    let (count, time) = (made.codes.len(), milliseconds(made.base_time));
    _ = write!(text, "machine code: {count} functions compiled in {time} ms, {bytes} bytes");
    let metered = made.codes_with(CodeKind::Sandboxed).count();
    _ = write!(text, "{}", some(guarded, "; ", " of them for guarded accesses"));
    _ = writeln!(text, "{}", some(metered, "; ", " of them with counted polls"));
}

fn describe_units(made: &Made, text: &mut String) {
    let bytes: usize = made.units.iter().map(|each| each.unit.size).sum();
    let loops = made.units.iter().filter(|each| each.unit.start != Start::Function).count();
    let dropped = made.units.iter().filter(|each| each.is_dropped()).count();
    let (count, time) = (made.units.len(), milliseconds(made.unit_time));
    _ = write!(text, "  optimised: {count} functions and loops in {time} ms, {bytes} bytes");
    let parts = [
        some(loops, "; ", " of them are loops"),
        some(made.made_again(), "; ", " were made again"),
        some(dropped, "; ", " were dropped, since they were left too often"),
        some(made.refused, "; ", " could not be made"),
    ];
    _ = writeln!(text, "{}", parts.concat());
}

fn describe_exits(exits: &[Taken], text: &mut String) {
    let all: u64 = exits.iter().map(|taken| taken.count).sum();
    let reasons = by_reason(exits);
    let reasons: Vec<String> =
        reasons.iter().map(|(reason, count)| format!("{count} for {reason}")).collect();
    let separator = if all > 0 { ": " } else { "" };
    _ = writeln!(text, "  exits from optimised code: {all}{separator}{}", reasons.join(", "));
    for taken in exits.iter().take(SHOWN) {
        _ = writeln!(text, "    {} from {}", taken.count, taken.text());
    }
    let rest = exits.len().saturating_sub(SHOWN);
    if rest > 0 {
        _ = writeln!(text, "    and {rest} places more");
    }
}

/// A number between two texts, if it is not 0.
fn some(count: usize, before: &str, after: &str) -> String {
    if count > 0 { format!("{before}{count}{after}") } else { String::new() }
}

fn milliseconds(time: std::time::Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}
