//! What the compilers have made since the machine's start, and what became of it. `compiler` adds to it; `report` and
//! `listing` read it, and nothing that runs a program does.
//!
//! Everything in it is immortal, so a history costs two words for each piece of code.

use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use squall_compiler::code::Start;
use squall_runtime::tiers::function::CodeKind;

use crate::code::Code;
use crate::code::units::Unit;

/// All machine code so far.
#[derive(Default)]
pub struct History {
    made: Mutex<Made>,
}

/// The machine code that was made until a moment, in its order.
#[derive(Clone, Default)]
pub struct Made {
    /// The base code of functions.
    pub codes: Vec<&'static Code>,
    /// The units, dropped ones included.
    pub units: Vec<MadeUnit>,
    /// How many units could not be compiled.
    pub refused: usize,
    /// The time of the compiler of base code.
    pub base_time: Duration,
    /// The time of the compiler of units.
    pub unit_time: Duration,
}

/// A unit with the code of its function.
#[derive(Clone, Copy)]
pub struct MadeUnit {
    /// The code of the function.
    pub code: &'static Code,
    /// The unit.
    pub unit: &'static Unit,
}

impl MadeUnit {
    /// Whether it was dropped.
    pub fn is_dropped(self) -> bool {
        self.unit.is_dropped.load(Ordering::Relaxed)
    }

    /// Whether it is optimised code for the same place as another one.
    fn replaces(self, code: &Code, start: Start) -> bool {
        std::ptr::eq(self.code, code) && self.unit.start == start
    }
}

impl History {
    /// Adds base code.
    pub fn add_code(&self, code: &'static Code, time: Duration) {
        let mut made = self.made.lock();
        made.codes.push(code);
        made.base_time += time;
    }

    /// Adds the unit that was made of this code.
    pub fn add_unit(&self, code: &'static Code, unit: &'static Unit) {
        self.made.lock().units.push(MadeUnit { code, unit });
    }

    /// Adds the time in which a unit was made, or was not, since it could not be compiled or was not wanted any more.
    pub fn add_time(&self, is_made: bool, time: Duration) {
        let mut made = self.made.lock();
        made.unit_time += time;
        made.refused += usize::from(!is_made);
    }

    /// Whether there was a unit for this place.
    pub fn has_unit(&self, code: &Code, start: Start) -> bool {
        self.made.lock().units.iter().any(|each| each.replaces(code, start))
    }

    /// What was made so far.
    pub fn made(&self) -> Made {
        self.made.lock().clone()
    }
}

impl Made {
    /// The base code of functions that has such accesses.
    pub fn codes_with(&self, kind: CodeKind) -> impl Iterator<Item = &'static Code> {
        self.codes.iter().copied().filter(move |code| code.kind == kind)
    }

    /// How many units were made for a place that had one before.
    pub fn made_again(&self) -> usize {
        let is_again = |&(index, each): &(usize, &MadeUnit)| {
            self.units[..index].iter().any(|other| other.replaces(each.code, each.unit.start))
        };
        self.units.iter().enumerate().filter(is_again).count()
    }
}
