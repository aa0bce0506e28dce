//! Metering: counting what a mutator allocates, for as long as its owner wants.
//!
//! Small objects are taken from a window without a thought. So what was taken is found out afterwards, from how far the window's cursor
//! has come, whenever the collector is asked for another window, and when the metering ends. There, too, a mutator
//! whose *allowance* is used up asks the runtime for more ([`RootSource::draw_memory`]); if that wants to look at the heap
//! first, everything stops meanwhile ([`RootSource::measure_memory`]). Without an answer, there is no memory.
//!
//! What is allocated in between, at most a window, is *overdrawn*, and settled at the next occasion. A
//! collection takes the window away; what was taken of it since the last look is not counted.
//!
//! [`RootSource::draw_memory`]: crate::RootSource::draw_memory
//! [`RootSource::measure_memory`]: crate::RootSource::measure_memory

use super::Mutator;

/// What a mutator has taken since its metering began.
#[derive(Default)]
pub(super) struct Meter {
    is_on: bool,
    /// Where the window's cursor was at the last look.
    cursor: usize,
    taken: u64,
    allowance: u64,
}

impl Mutator {
    /// From now on, allocations are counted. The first one that needs more than the window has asks for an allowance.
    pub fn begin_meter(&mut self) {
        self.meter = Meter { is_on: true, cursor: self.cursor(), taken: 0, allowance: 0 };
    }

    /// Allocations are not counted any more. Answers how much of the allowance was not used; less than 0 if more was.
    pub fn end_meter(&mut self) -> i64 {
        if !self.meter.is_on {
            return 0;
        }
        self.look_at_cursor();
        let Meter { taken, allowance, .. } = std::mem::take(&mut self.meter);
        allowance as i64 - taken as i64
    }

    /// Counts memory outside of the heap.
    pub fn charge(&mut self, bytes: usize) {
        if self.meter.is_on {
            self.meter.taken += bytes as u64;
        }
    }

    /// Whether more was taken than was allowed.
    #[inline(always)]
    pub fn is_overdrawn(&self) -> bool {
        self.meter.taken > self.meter.allowance
    }

    /// Asks for an allowance for what was taken; `None` if there is none. *GC point.*
    pub fn settle_meter(&mut self) -> Option<()> {
        self.look_at_cursor();
        self.allow(0)
    }

    /// Before memory is reserved.
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

    /// After memory was reserved: the window may be another one, and the new object is counted.
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
