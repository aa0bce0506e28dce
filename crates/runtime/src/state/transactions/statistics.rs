//! Statistics of transactions, and the lines of a program that were in conflict. The library's `Transaction` and
//! `--report transactions` show them.
//!
//! Each thread has its own counters, which only it writes, so counting costs a load and a store. Conflicts are recorded
//! in one table: a lost attempt costs more than the record.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use squall_heap::LayoutId;
use squall_transactions::Conflict;

use super::memory::Memory;
use super::record::Note;
use crate::model::function::Function;
use crate::model::function::Site;
use crate::state::vm::Vm;

/// Why a transaction lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Something that it had read was changed.
    Changed,
    /// Another one was about to commit to the same object.
    Busy,
    /// An inevitable transaction has read a stripe that it wanted to write.
    Reserved,
}

impl Cause {
    /// The cause of a conflict.
    pub fn of(conflict: &Conflict<Note>) -> Cause {
        match conflict {
            Conflict::Changed(..) => Cause::Changed,
            Conflict::Busy(_) => Cause::Busy,
            Conflict::Reserved(_) => Cause::Reserved,
        }
    }
}

/// How long a transaction is.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Objects read, some perhaps several times.
    pub reads: usize,
    /// Places written.
    pub writes: usize,
}

/// The names of counters, as programs get them.
pub const NAMES: [&str; COUNTERS] = [
    "begun",
    "committed",
    "onlyRead",
    "changed",
    "busy",
    "reserved",
    "retried",
    "choseSecond",
    "inevitable",
    "reads",
    "writes",
    "longestReads",
    "longestWrites",
    "lostNanoseconds",
];

const COUNTERS: usize = 14;

/// A counted event.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Counter {
    Begun,
    Committed,
    OnlyRead,
    Changed,
    Busy,
    Reserved,
    Retried,
    ChoseSecond,
    Inevitable,
    Reads,
    Writes,
    LongestReads,
    LongestWrites,
    LostNanoseconds,
}

/// Powers of two of lengths that are told apart.
const LENGTHS: usize = 24;

/// The counts of one thread.
#[repr(align(128))]
#[derive(Default)]
struct Counters {
    counters: [AtomicU64; COUNTERS],
    /// How many transactions that committed had a length below each power of two.
    lengths: [AtomicU64; LENGTHS],
}

/// A thread's right to its counters.
#[derive(Clone, Copy)]
pub struct Tally(&'static Counters);

impl Tally {
    fn add(self, counter: Counter, number: u64) -> u64 {
        add(&self.0.counters[counter as usize], number)
    }

    fn raise(self, counter: Counter, to: usize) {
        let counter = &self.0.counters[counter as usize];
        if (to as u64) > counter.load(Ordering::Relaxed) {
            counter.store(to as u64, Ordering::Relaxed);
        }
    }

    /// How many attempts have begun.
    #[inline(always)]
    pub(crate) fn will_begin(self) -> u64 {
        self.0.counters[Counter::Begun as usize].load(Ordering::Relaxed)
    }

    /// An attempt has begun; answers the number of earlier ones.
    #[inline(always)]
    pub(crate) fn begun(self) -> u64 {
        self.add(Counter::Begun, 1)
    }

    #[inline]
    pub(crate) fn committed(self, length: Length) {
        self.add(Counter::Committed, 1);
        if length.writes == 0 {
            self.add(Counter::OnlyRead, 1);
        }
        self.add(Counter::Reads, length.reads as u64);
        self.add(Counter::Writes, length.writes as u64);
        self.raise(Counter::LongestReads, length.reads);
        self.raise(Counter::LongestWrites, length.writes);
        let all = (length.reads + length.writes) as u64;
        let power = (u64::BITS - all.leading_zeros()) as usize;
        add(&self.0.lengths[power.min(LENGTHS - 1)], 1);
    }

    /// An attempt has lost. `took` is its duration and the number of attempts that it stands for, if it was measured.
    pub(crate) fn lost(self, cause: Cause, took: Option<(Duration, u64)>) {
        let counter = match cause {
            Cause::Changed => Counter::Changed,
            Cause::Busy => Counter::Busy,
            Cause::Reserved => Counter::Reserved,
        };
        self.add(counter, 1);
        if let Some((time, attempts)) = took {
            let lost = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            self.add(Counter::LostNanoseconds, lost.saturating_mul(attempts));
        }
    }

    pub(crate) fn retried(self) {
        self.add(Counter::Retried, 1);
    }

    pub(crate) fn chose_second(self) {
        self.add(Counter::ChoseSecond, 1);
    }

    pub(crate) fn became_inevitable(self) {
        self.add(Counter::Inevitable, 1);
    }
}

/// Adds to a counter that only this thread writes; answers its old value.
fn add(counter: &AtomicU64, number: u64) -> u64 {
    let before = counter.load(Ordering::Relaxed);
    counter.store(before.wrapping_add(number), Ordering::Relaxed);
    before
}

/// Two instructions that got into each other's way.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    /// The address of the instruction of the transaction that lost.
    loser: usize,
    /// The address of the instruction that wrote, or 0.
    writer: usize,
    /// The bits of the layout of the object.
    layout: u32,
    is_write: bool,
}

/// How often they did.
#[derive(Clone, Copy, Default)]
struct Meetings {
    count: u64,
    /// The identity of the strand that wrote, the last time.
    strand: u64,
}

/// The reason why a transaction became inevitable: the address of the instruction, and its action; `None` if the
/// transaction had lost too often.
type Inevitability = (usize, Option<&'static str>);

/// The counts of all threads so far.
#[derive(Default)]
pub struct Statistics {
    counters: Mutex<Vec<&'static Counters>>,
    /// The counters of threads that have ended, for other threads to go on with.
    spare: Mutex<Vec<Tally>>,
    conflicts: Mutex<HashMap<Pair, Meetings>>,
    inevitable: Mutex<HashMap<Inevitability, u64>>,
}

impl Statistics {
    /// Counters for a thread.
    pub fn tally(&self) -> Tally {
        if let Some(tally) = self.spare.lock().pop() {
            return tally;
        }
        let counters: &'static Counters = Box::leak(Box::default());
        self.counters.lock().push(counters);
        Tally(counters)
    }

    /// The thread with these counters has ended.
    pub(crate) fn give_back(&self, tally: Tally) {
        self.spare.lock().push(tally);
    }

    /// A transaction has lost. The instruction is the read that failed, or the write that could not be committed.
    pub(crate) fn note_conflict(
        &self,
        memory: &Memory,
        written: Option<Note>,
        conflict: &Conflict<Note>,
    ) {
        let (stripe, note, is_write) = match *conflict {
            Conflict::Changed(stripe, note) => (stripe, Some(note), false),
            Conflict::Busy(stripe) | Conflict::Reserved(stripe) => (stripe, written, true),
        };
        let Some(note) = note else { return };
        let (writer, strand) = memory.writer(stripe);
        let pair = Pair { loser: note.pc(), writer, layout: note.layout.bits(), is_write };
        let mut conflicts = self.conflicts.lock();
        let meetings = conflicts.entry(pair).or_default();
        *meetings = Meetings { count: meetings.count + 1, strand };
    }

    /// A transaction has become inevitable at this instruction, for this cause, or because it had lost too
    /// often.
    pub(crate) fn note_inevitable(&self, pc: usize, cause: Option<&'static str>) {
        *self.inevitable.lock().entry((pc, cause)).or_default() += 1;
    }

    /// The sums of all threads, as [`NAMES`] has them.
    pub fn sums(&self) -> [u64; COUNTERS] {
        let counters = self.counters.lock();
        std::array::from_fn(|index| {
            let values = counters.iter().map(|one| one.counters[index].load(Ordering::Relaxed));
            match NAMES[index] {
                "longestReads" | "longestWrites" => values.max().unwrap_or(0),
                _ => values.sum(),
            }
        })
    }

    fn lengths(&self) -> [u64; LENGTHS] {
        let counters = self.counters.lock();
        std::array::from_fn(|index| {
            counters.iter().map(|one| one.lengths[index].load(Ordering::Relaxed)).sum()
        })
    }

    /// The counts so far, for people.
    pub fn report(&self, vm: &Vm) -> String {
        let mut text = String::new();
        let sums = self.sums();
        let get = |counter: Counter| sums[counter as usize];
        let lost = get(Counter::Changed) + get(Counter::Busy) + get(Counter::Reserved);
        let committed = get(Counter::Committed);
        _ = writeln!(
            text,
            "transactions: {committed} committed, {} of them without a change; {lost} began anew; \
             {} waited for a change; {} took the second way; {} were inevitable",
            get(Counter::OnlyRead),
            get(Counter::Retried),
            get(Counter::ChoseSecond),
            get(Counter::Inevitable),
        );
        if lost > 0 {
            _ = writeln!(
                text,
                "  began anew: {} since what they had read was changed, {} since others were about to \
                 commit, {} because of an inevitable one; about {:?} lost",
                get(Counter::Changed),
                get(Counter::Busy),
                get(Counter::Reserved),
                Duration::from_nanos(get(Counter::LostNanoseconds)),
            );
        }
        if committed > 0 {
            self.describe_lengths(&sums, &mut text);
        }
        self.describe_conflicts(vm, &mut text);
        self.describe_inevitable(vm, &mut text);
        text
    }

    fn describe_lengths(&self, sums: &[u64; COUNTERS], text: &mut String) {
        let get = |counter: Counter| sums[counter as usize];
        let mean = |counter| get(counter) as f64 / get(Counter::Committed) as f64;
        _ = writeln!(
            text,
            "  lengths: {:.1} objects read and {:.1} places written on average, {} and {} at most",
            mean(Counter::Reads),
            mean(Counter::Writes),
            get(Counter::LongestReads),
            get(Counter::LongestWrites),
        );
        let lengths = self.lengths();
        let used = lengths.iter().enumerate().filter(|(_, count)| **count > 0);
        let parts: Vec<String> =
            used.map(|(power, count)| format!("below {}: {count}", 1u64 << power)).collect();
        _ = writeln!(text, "  reads and writes: {}", parts.join(", "));
    }

    /// The pairs of instructions that were in conflict, the most frequent first.
    fn sorted_conflicts(&self) -> Vec<(Pair, Meetings)> {
        let mut conflicts: Vec<(Pair, Meetings)> =
            self.conflicts.lock().iter().map(|(pair, meetings)| (*pair, *meetings)).collect();
        let order = |(pair, meetings): &(Pair, Meetings)| {
            (std::cmp::Reverse(meetings.count), pair.loser, pair.writer)
        };
        conflicts.sort_by_key(order);
        conflicts
    }

    /// The most frequent conflicts, with their lines.
    pub fn conflicts(&self, vm: &Vm) -> Vec<SeenConflict> {
        let seen = |(pair, meetings): (Pair, Meetings)| {
            let loser = Line::at(vm, pair.loser);
            SeenConflict {
                count: meetings.count,
                class: class_of(vm, pair).to_owned(),
                slot: loser.as_ref().map_or_else(String::new, |line| line.what(vm)),
                is_write: pair.is_write,
                loser: loser.map(|line| (line.function, line.pc)),
                writer: Line::at(vm, pair.writer).map(|line| (line.function, line.pc)),
            }
        };
        self.sorted_conflicts().into_iter().take(SHOWN).map(seen).collect()
    }

    fn describe_conflicts(&self, vm: &Vm, text: &mut String) {
        let conflicts = self.sorted_conflicts();
        let rest = conflicts.len().saturating_sub(SHOWN);
        for (pair, meetings) in conflicts.into_iter().take(SHOWN) {
            let class = class_of(vm, pair);
            let verb = if pair.is_write { "written" } else { "read" };
            let loser = Line::at(vm, pair.loser);
            _ = writeln!(
                text,
                "  {} × {class} {}, {verb} at {}",
                meetings.count,
                loser.as_ref().map_or_else(String::new, |line| line.what(vm)),
                loser.as_ref().map_or_else(|| UNKNOWN.to_owned(), Line::describe),
            );
            if let Some(writer) = Line::at(vm, pair.writer) {
                let strand = vm.strands.number_of_identity(meetings.strand);
                let place = writer.describe();
                _ = writeln!(text, "      and changed by strand {strand} at {place}");
            }
        }
        if rest > 0 {
            _ = writeln!(text, "  … and {rest} more pairs of lines");
        }
    }

    fn describe_inevitable(&self, vm: &Vm, text: &mut String) {
        let mut causes: Vec<(Inevitability, u64)> =
            self.inevitable.lock().iter().map(|(cause, count)| (*cause, *count)).collect();
        causes.sort_by_key(|((pc, _), count)| (std::cmp::Reverse(*count), *pc));
        for ((pc, cause), count) in causes.into_iter().take(SHOWN) {
            let place = Line::at(vm, pc).map_or_else(|| UNKNOWN.to_owned(), |line| line.describe());
            let why = match cause {
                Some(primitive) => format!("for `{primitive}`"),
                None => "since they had lost too often".to_owned(),
            };
            _ = writeln!(text, "  {count} × inevitable {why}, at {place}");
        }
    }
}

/// The class of the object of a conflict.
fn class_of(vm: &Vm, pair: Pair) -> &'static str {
    vm.behavior_of_layout(LayoutId::from_bits(pair.layout)).map_or("an object", |it| it.name())
}

/// Two lines that were in conflict.
pub struct SeenConflict {
    /// How often they were.
    pub count: u64,
    /// The class of the object.
    pub class: String,
    /// The slot, or `elements`.
    pub slot: String,
    /// Whether the transaction that lost was to write there.
    pub is_write: bool,
    /// The instruction of the transaction that lost.
    pub loser: Option<(&'static Function, usize)>,
    /// The instruction that has written.
    pub writer: Option<(&'static Function, usize)>,
}

/// How many lines of each kind a report has.
const SHOWN: usize = 20;

const UNKNOWN: &str = "an unknown place";

/// An instruction, found by its address.
pub(super) struct Line {
    function: &'static Function,
    pc: usize,
}

impl Line {
    pub(super) fn at(vm: &Vm, address: usize) -> Option<Line> {
        let modules = vm.modules.all();
        let mut functions = modules.flat_map(|module| module.linked_functions());
        let function = functions
            .find(|function| function.code.as_ptr_range().contains(&(address as *const _)))?;
        Some(Line { function, pc: function.pc_index(address as *const _) })
    }

    /// The name of the slot, or of the other place that is accessed.
    pub(super) fn what(&self, vm: &Vm) -> String {
        let site = self.function.sites.iter().find(|site| site.pc as usize == self.pc);
        match site.and_then(Site::selector) {
            Some(selector) => {
                let text = vm.modules.symbols.text(selector);
                match text {
                    "at:" | "at:put:" => "elements".to_owned(),
                    name => name.trim_end_matches(':').to_owned(),
                }
            }
            None => "elements".to_owned(),
        }
    }

    pub(super) fn describe(&self) -> String {
        let (path, line, column) = self.function.position(self.pc);
        format!("{path}:{line}:{column} in {}", self.function.name())
    }
}
