//! Metering: counts the memory that a mutator allocates. The runtime switches it on while the mutator runs strands of a
//! sandbox.
//!
//! The allocation of a small object only moves the window's cursor. So the allocated bytes are computed afterwards,
//! from the cursor, whenever the mutator asks the collector for another window, and when the metering ends. At these
//! moments, a mutator whose *allowance* is used up also asks the runtime for more ([`RootSource::draw_memory`]). If the
//! runtime wants to look at the heap first, all mutators stop for that ([`RootSource::measure_memory`]). Without an
//! allowance, there is no memory.
//!
//! Memory that is allocated between these moments, at most a window, is *overdrawn*, and is settled at the next one. A
//! collection takes the window away; bytes that were taken from it since the last computation are not counted.
//!
//! [`RootSource::draw_memory`]: crate::RootSource::draw_memory
//! [`RootSource::measure_memory`]: crate::RootSource::measure_memory

use super::Mutator;

/// The bytes that a mutator has taken since its metering began.
#[derive(Default)]
pub(super) struct Meter {
    is_on: bool,
    /// The window's cursor at the last computation.
    cursor: usize,
    taken: u64,
    allowance: u64,
}

impl Meter {
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }
}

impl Mutator {
    /// Begins to count allocations. The first one that needs more than the window asks for an allowance.
    pub fn begin_meter(&mut self) {
        self.meter = Meter { is_on: true, cursor: self.cursor(), taken: 0, allowance: 0 };
    }

    /// Stops counting allocations. Answers the unused part of the allowance; less than 0 if more was taken.
    pub fn end_meter(&mut self) -> i64 {
        if !self.meter.is_on {
            return 0;
        }
        self.look_at_cursor();
        let Meter { taken, allowance, .. } = std::mem::take(&mut self.meter);
        allowance as i64 - taken as i64
    }

    /// Counts memory outside of the heap as if it were allocated here.
    pub fn charge(&mut self, bytes: usize) {
        if self.meter.is_on {
            self.meter.taken += bytes as u64;
        }
    }

    /// Whether the mutator has taken more than its allowance.
    #[inline(always)]
    pub fn is_overdrawn(&self) -> bool {
        self.meter.taken > self.meter.allowance
    }

    /// Asks for an allowance for the memory that was taken; `None` if the runtime gives none. *GC point.*
    pub fn settle_meter(&mut self) -> Option<()> {
        self.look_at_cursor();
        self.allow(0)
    }

    /// Called before memory is reserved.
    #[inline]
    pub(super) fn meter(&mut self, size: usize) -> Option<()> {
        if !self.meter.is_on {
            return Some(());
        }
        self.look_at_cursor();
        if !self.overcommits {
            self.allow(size)?;
        }
        self.meter.taken += size as u64;
        Some(())
    }

    /// Called after memory was reserved: the window may be another one, and the new object is counted.
    #[inline]
    pub(super) fn metered(&mut self) {
        if self.meter.is_on {
            self.meter.cursor = self.cursor();
        }
    }

    fn allow(&mut self, size: usize) -> Option<()> {
        let wanted = (self.meter.taken + size as u64).saturating_sub(self.meter.allowance);
        if wanted > 0 {
            self.meter.allowance += self.draw(wanted as usize)?;
        }
        Some(())
    }

    #[cold]
    fn draw(&mut self, wanted: usize) -> Option<u64> {
        let (heap, context) = (self.heap, self.context());
        let drawn = heap.roots().draw_memory(context, wanted);
        drawn.or_else(|| {
            self.native(|| heap.while_stopped(|| heap.roots().measure_memory(context, wanted)))
        })
    }

    fn look_at_cursor(&mut self) {
        let cursor = self.cursor();
        self.meter.taken += cursor.saturating_sub(self.meter.cursor) as u64;
        self.meter.cursor = cursor;
    }

    fn cursor(&self) -> usize {
        // SAFETY: the window is this mutator's, or the empty one.
        unsafe { (*self.window.as_ptr()).cursor }
    }
}
