//! The optimised code of a function: its units, and the records of their exits. `optimised` adds and drops units, and
//! `compiler` finds the unit that goes on after a sample.
//!
//! Protocol: a table's lock orders its changes. The function's entry is an atomic cell, which always leads to code that
//! is right. A unit that is dropped is not entered any more; its code stays, for activations are in it. Records are
//! complete before their code is reached, but for their counters, which any thread may change at any time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use parking_lot::Mutex;
use squall_compiler::code::{Exit, Reason, Start};
use squall_compiler::ir::values::SlotKind;
use squall_runtime::tiers::function::Function;

use crate::absence::AbsentObject;
use crate::code::Code;

/// A function has at most this many units, dropped ones included.
const MOST_UNITS: u32 = 10;

/// An exit that is taken this often drops its unit.
pub const EXIT_PATIENCE: u32 = 50;

/// So many turns after the thread was asked to poll, the loop goes on in its unit.
const TURNS_AFTER_POLL: u32 = 4;

/// The units of a function.
#[derive(Default)]
pub struct Units {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// How many there were.
    made: u32,
    live: Vec<&'static Unit>,
}

/// A piece of optimised code, immortal.
pub struct Unit {
    /// Where it starts.
    pub start: Start,
    /// Its address.
    pub entry: usize,
    /// What the feedback that it relies on was: see `optimised`.
    pub relied_on: u64,
    /// Whether it also relies on what was likely at its start.
    pub guesses: bool,
    /// The kinds of slots that it relies on.
    pub kinds: Vec<SlotKind>,
    /// The functions whose feedback that is.
    pub functions: Vec<&'static Function>,
    /// The bytes of its code.
    pub size: usize,
    /// The records of its exits.
    pub exits: Vec<&'static ExitRecord>,
    /// Which instruction each piece of its code is for.
    pub lines: Vec<CodeLine>,
    /// The unit as the compiler saw it, if it is to be shown.
    pub views: Vec<View>,
    /// Whether it was dropped.
    pub is_dropped: AtomicBool,
}

/// The code from a place in a unit on is for an instruction.
#[derive(Clone, Copy)]
pub struct CodeLine {
    /// The distance from the unit's entry, in bytes.
    pub offset: u32,
    /// The function of the instruction.
    pub function: &'static Function,
    /// Its place there.
    pub pc: u32,
}

/// The text form of a unit after a pass.
pub struct View {
    /// The name of the pass.
    pub pass: &'static str,
    /// The text.
    pub text: String,
}

impl Units {
    /// The unit that starts there.
    pub fn at(&self, start: Start) -> Option<&'static Unit> {
        self.table.lock().live.iter().copied().find(|unit| unit.start == start)
    }

    /// How many units there were.
    pub fn made(&self) -> u32 {
        self.table.lock().made
    }

    /// Whether there may be another one.
    pub fn is_full(&self) -> bool {
        self.made() >= MOST_UNITS
    }

    /// Forgets that there was a unit: it ended since a slot's kind widened, which happens twice for each slot at most.
    pub fn discount(&self) {
        self.table.lock().made -= 1;
    }

    /// Adds a unit.
    pub fn add(&self, unit: &'static Unit) {
        let mut table = self.table.lock();
        table.made += 1;
        table.live.retain(|other| other.start != unit.start);
        table.live.push(unit);
    }

    /// Removes a unit; answers whether it was there.
    pub fn remove(&self, unit: &Unit) -> bool {
        let mut table = self.table.lock();
        let before = table.live.len();
        table.live.retain(|other| !std::ptr::eq(*other, unit));
        table.live.len() < before
    }
}

/// The record of an exit, immortal. The stub for exits reads the first fields.
#[derive(Default)]
#[repr(C)]
pub struct ExitRecord {
    /// How often the exit may still be taken before Rust looks at it: the unit is dropped then.
    patience: AtomicU32,
    /// What the thread's countdown to the next sample is set to; 0 leaves it alone.
    countdown: AtomicU32,
    /// How many activations are around the innermost one.
    depth: AtomicU32,
    /// Where base code goes on, or 0.
    address: AtomicUsize,
    /// For each activation around, the outermost first, how it goes on.
    levels: AtomicPtr<Level>,
    destination: OnceLock<Destination>,
    /// All patience that the exit ever had.
    granted: AtomicU32,
}

/// An activation with another one inside.
#[repr(C)]
pub struct Level {
    /// Where the inner one returns to, in base code.
    return_address: usize,
    /// The bytes from this frame to the inner one.
    distance: usize,
}

/// Where an exit leads.
pub struct Destination {
    /// The function of the innermost activation.
    pub function: &'static Function,
    /// Its instruction.
    pub pc: u32,
    /// The words from the unit's frame to its frame.
    pub offset: u32,
    /// The places of the unit's frame that have raw doubles if the exit makes objects.
    pub doubles: Vec<u32>,
    /// The other objects that the exit makes.
    pub objects: Vec<AbsentObject>,
    /// The first place of the unit's frame for these objects and their parts, and how many there are.
    pub parts: (u32, u32),
    /// Why the unit is left.
    pub reason: Reason,
    /// The function and the instruction whose guard failed.
    pub cause: (&'static Function, u32),
    /// The code of the unit's own function.
    pub code: &'static Code,
    /// The unit.
    pub unit: &'static Unit,
}

impl Level {
    /// Where the address is, in bytes.
    pub const RETURN: i32 = std::mem::offset_of!(Level, return_address) as i32;
    /// Where the distance is, in bytes.
    pub const DISTANCE: i32 = std::mem::offset_of!(Level, distance) as i32;
}

impl ExitRecord {
    /// Where the patience is, in bytes.
    pub const PATIENCE: i32 = std::mem::offset_of!(ExitRecord, patience) as i32;
    /// Where the countdown is, in bytes.
    pub const COUNTDOWN: i32 = std::mem::offset_of!(ExitRecord, countdown) as i32;
    /// Where the depth is, in bytes.
    pub const DEPTH: i32 = std::mem::offset_of!(ExitRecord, depth) as i32;
    /// Where the address is, in bytes.
    pub const ADDRESS: i32 = std::mem::offset_of!(ExitRecord, address) as i32;
    /// Where the list of levels is, in bytes.
    pub const LEVELS: i32 = std::mem::offset_of!(ExitRecord, levels) as i32;

    /// Where the exit leads.
    pub fn destination(&self) -> Option<&Destination> {
        self.destination.get()
    }

    /// Whether the patience is at its end.
    pub fn is_exhausted(&self) -> bool {
        // The stub counts beyond 0 if the exit is taken again.
        self.patience.load(Ordering::Relaxed).cast_signed() <= 0
    }

    /// Whether this is the first exit, which is to be reported: then the first patience was for it alone.
    pub fn is_first(&self) -> bool {
        self.granted.load(Ordering::Relaxed) < EXIT_PATIENCE
    }

    /// Gives more patience.
    pub fn grant(&self, count: u32) {
        self.granted.fetch_add(count, Ordering::Relaxed);
        self.patience.fetch_add(count, Ordering::Relaxed);
    }

    /// How often the exit was taken. If several threads took it at once, counts may be lost.
    pub fn taken(&self) -> u32 {
        let patience = self.patience.load(Ordering::Relaxed);
        self.granted.load(Ordering::Relaxed).wrapping_sub(patience)
    }

    /// Completes the record, with this patience at first. `returns` are the places in base code to which the inlined
    /// activations return, the outermost first, with the distances to the inner frames in words; `None` if some function has
    /// no base code.
    pub fn complete(
        &self,
        exit: &Exit,
        destination: Destination,
        patience: u32,
        returns: Option<Vec<(usize, u32)>>,
    ) {
        self.grant(patience);
        if exit.reason.is_passing() && exit.reason != Reason::Baseline {
            self.countdown.store(TURNS_AFTER_POLL, Ordering::Relaxed);
        }
        let code = Code::of(destination.function, destination.code.kind);
        // The tier draws fuel before the instruction, or ends the strand there.
        let code = code.filter(|_| exit.reason != Reason::Fuel);
        let place = code.and_then(|code| code.place(exit.pc as usize));
        if let (Some(place), Some(returns)) = (place, returns) {
            let level = |(return_address, words): (usize, u32)| Level {
                return_address,
                distance: 8 * words as usize,
            };
            let levels: Vec<Level> = returns.into_iter().map(level).collect();
            self.depth.store(levels.len() as u32, Ordering::Relaxed);
            self.levels.store(levels.leak().as_mut_ptr(), Ordering::Relaxed);
            self.address.store(place, Ordering::Relaxed);
        }
        _ = self.destination.set(destination);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(start: Start) -> &'static Unit {
        Box::leak(Box::new(Unit {
            start,
            entry: 1,
            relied_on: 0,
            guesses: false,
            kinds: Vec::new(),
            functions: Vec::new(),
            size: 0,
            exits: Vec::new(),
            lines: Vec::new(),
            views: Vec::new(),
            is_dropped: AtomicBool::new(false),
        }))
    }

    #[test]
    fn exits_are_counted_beyond_their_patience() {
        let record = ExitRecord::default();
        record.grant(1);
        record.patience.fetch_sub(1, Ordering::Relaxed);
        assert!(record.is_exhausted() && record.is_first());
        record.grant(EXIT_PATIENCE - 1);
        assert!(!record.is_exhausted() && !record.is_first());
        record.patience.fetch_sub(EXIT_PATIENCE + 2, Ordering::Relaxed);
        assert!(record.is_exhausted());
        assert_eq!(record.taken(), EXIT_PATIENCE + 3);
    }

    #[test]
    fn a_unit_takes_the_place_of_the_one_with_its_start() {
        let units = Units::default();
        let (first, second) = (unit(Start::Function), unit(Start::Function));
        let in_loop = unit(Start::Loop(4));
        [first, in_loop, second].into_iter().for_each(|unit| units.add(unit));
        assert!(units.at(Start::Function).is_some_and(|unit| std::ptr::eq(unit, second)));
        assert!(!units.remove(first) && units.remove(second));
        assert!(units.at(Start::Function).is_none() && units.at(Start::Loop(4)).is_some());
        assert_eq!(units.made(), 3);
    }

    #[test]
    fn a_function_has_a_bounded_number_of_units() {
        let units = Units::default();
        for number in 0..MOST_UNITS {
            assert!(!units.is_full());
            units.add(unit(Start::Loop(number)));
            assert!(units.remove(units.at(Start::Loop(number)).expect("it was added")));
        }
        assert!(units.is_full());
    }
}
