//! Units rely on kinds of slots: they are in use while these are what they were. `optimised` calls this module to take a unit into
//! use.
//!
//! Protocol: the lock of all kinds orders everything here. A unit comes into use while its kinds are right, and goes out of use, by
//! [`Reliance::end`], before one of them widens. Activations that are in the unit then find its *notice* after their calls:
//! the notice is written before the kind, and the kind before the store that widens it. Another thread that relies on a kind
//! still finds none of the wider words, until something that orders that store before its loads, which a call does: see
//! [`slot_kinds`].

use std::sync::atomic::{AtomicU64, Ordering};

use squall_compiler::ir::values::SlotKind;
use squall_heap::slot_kinds::{self, Reliance};

use crate::chaos;
use crate::code::Code;
use crate::code::units::Unit;
use crate::optimised::facts::{self, RuntimeFacts};
use crate::optimised::remove_unit;

/// What a notice says while nothing has changed, and afterwards.
const NONE: u64 = 0;
const GIVEN: u64 = 1;

/// A unit that relies on kinds.
struct ReliantUnit {
    code: &'static Code,
    unit: &'static Unit,
    /// What its code looks at.
    notice: &'static AtomicU64,
    /// How many samples the function needs for its next unit.
    samples: i32,
}

/// Takes a unit into use by this function, which may refuse, if the kinds that it relies on are still what they were.
pub fn begin(
    facts: &RuntimeFacts<'_>,
    code: &'static Code,
    unit: &'static Unit,
    samples: i32,
    begin: impl FnOnce(),
) {
    if unit.kinds.is_empty() {
        return begin();
    }
    let reliant = ReliantUnit { code, unit, notice: facts.notice(), samples };
    let cell = |kind: &SlotKind| (facts::kind_cell(kind.layout, kind.slot), kind.kind);
    let kinds: Vec<_> = unit.kinds.iter().map(cell).collect();
    if chaos::strikes() {
        // The unit is left after its first calls.
        reliant.notice.store(GIVEN, Ordering::Relaxed);
    }
    // If they are not, nothing has begun.
    _ = slot_kinds::rely(&kinds, Box::leak(Box::new(reliant)), begin);
}

impl Reliance for ReliantUnit {
    fn end(&self) {
        let was_given = self.notice.swap(GIVEN, Ordering::Release) != NONE;
        if !remove_unit(self.code, self.unit) || was_given {
            return;
        }
        self.code.units.discount();
        self.code.native().set_patience(self.samples);
    }
}
