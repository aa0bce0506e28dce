//! Affinity: strands and vats that run on one native thread only. Workers ask here whether a strand is at home, and the
//! primitives of native threads bind strands here.
//!
//! A strand's *home* is one native thread, a bound worker of the scheduler; without a home the strand may run on all
//! ordinary workers. The home is the first of these three that is set:
//!
//! | | set by | for |
//! |---|---|---|
//! | the strand is *confined* | `aNativeThread do: […]` | as long as the block runs |
//! | the strand is *bound* | `bindTo:`, or the strand that started it | good |
//! | its vat has a home | the strand that made the actor | good |
//!
//! Any thread may change a strand's binding at any time. A worker that is about to run a strand checks whether the
//! strand is at home, and otherwise sends it home (`vat.rs`, `worker.rs`).
//!
//! The process's *main* thread is one of the native threads if the embedder lends it
//! ([`lend_main_thread`](crate::concurrency::native_threads::lend_main_thread)): libraries for user interfaces need it.
//! It attaches itself when it is first needed. The program makes the others, which start at once. A native thread ends
//! when the collector has found that nothing refers to its guest object; a strand or vat at home on it counts as a
//! reference.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use squall_heap::{CollectionKind, RootAddress, Tracer, Word};
use squall_scheduler::WorkerId;

use crate::model::outcome::Failure;
use crate::state::vm::Vm;

/// Where a strand may run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Home(u16);

impl Home {
    /// On any ordinary worker.
    pub const ANYWHERE: Home = Home(0);

    /// On the native thread that is this bound worker.
    pub fn of(worker: WorkerId) -> Home {
        Home(worker.index() as u16 + 1)
    }

    /// The bound worker, if it is one native thread only.
    #[inline]
    pub fn worker(self) -> Option<WorkerId> {
        self.0.checked_sub(1).map(|index| WorkerId::from_index(usize::from(index)))
    }

    /// As a number that the guest keeps.
    pub fn number(self) -> i64 {
        i64::from(self.0)
    }

    /// As 16 bits; anywhere is 0.
    #[inline]
    pub(crate) fn bits(self) -> u32 {
        u32::from(self.0)
    }

    #[inline]
    pub(crate) fn from_bits(bits: u32) -> Home {
        Home(bits as u16)
    }
}

/// The homes of a strand, in one word: in the lower half the one that it is bound to, above it the one that it is
/// confined to, and a flag. Any thread may change them.
#[derive(Default)]
pub struct Affinity(AtomicU32);

const BOUND: u32 = 0xFFFF;
const CONFINED: u32 = 0x7FFF << CONFINED_SHIFT;
const CONFINED_SHIFT: u32 = 16;
/// C has called the strand, so that it belongs where C's frames are.
const ANCHORED: u32 = 1 << 31;

impl Affinity {
    /// The place where the strand may run, if it has a home, or is anchored, so that any worker may hand it over.
    #[inline(always)]
    pub fn home(&self) -> Option<Home> {
        // Relaxed, here and below: a thread that changes it for another one makes that one look again.
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            bits if bits & ANCHORED != 0 => Some(Home::ANYWHERE),
            bits if bits & CONFINED != 0 => Some(Affinity::confined(bits)),
            bits => Some(Home::from_bits(bits)),
        }
    }

    /// Whether the strand has no home, and C has not called it.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Whether C has called the strand.
    #[inline]
    pub fn is_anchored(&self) -> bool {
        self.0.load(Ordering::Relaxed) & ANCHORED != 0
    }

    /// Whether C has called the strand, from now on.
    pub fn set_anchored(&self, is_anchored: bool) {
        match is_anchored {
            true => self.0.fetch_or(ANCHORED, Ordering::Relaxed),
            false => self.0.fetch_and(!ANCHORED, Ordering::Relaxed),
        };
    }

    /// The strand has this home for good, wherever else it may be confined to for a time.
    pub fn bind(&self, home: Home) {
        self.change(|bits| bits & !BOUND | home.bits());
    }

    /// The strand has this home for a time; answers the one that it had for a time before.
    pub fn confine(&self, home: Home) -> Home {
        Affinity::confined(self.change(|bits| bits & !CONFINED | home.bits() << CONFINED_SHIFT))
    }

    /// The strand has been given no home.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Every home that the strand has been given.
    pub fn homes(&self) -> [Home; 2] {
        let bits = self.0.load(Ordering::Relaxed);
        [Home::from_bits(bits & BOUND), Affinity::confined(bits)]
    }

    fn confined(bits: u32) -> Home {
        Home::from_bits((bits & CONFINED) >> CONFINED_SHIFT)
    }

    /// Changes the homes; answers their previous word.
    fn change(&self, change: impl Fn(u32) -> u32) -> u32 {
        let changed = |bits| Some(change(bits));
        let updated = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed);
        updated.unwrap_or_else(|bits| bits)
    }
}

/// The native threads that the program knows.
pub struct NativeThreads {
    /// By the bits of their homes.
    pub(crate) entries: Mutex<BTreeMap<u32, Entry>>,
    pub(crate) main: OnceLock<Home>,
    /// Whether the main thread was asked to come.
    pub(crate) is_main_called: AtomicBool,
}

pub(crate) struct Entry {
    /// The guest's object, which does not live because it is here.
    pub(crate) object: Word,
    pub(crate) name: String,
}

/// The name of the main thread in reports.
pub(crate) const MAIN: &str = "main";

impl Default for NativeThreads {
    fn default() -> NativeThreads {
        NativeThreads {
            entries: Mutex::default(),
            main: OnceLock::new(),
            is_main_called: AtomicBool::new(false),
        }
    }
}

impl NativeThreads {
    /// The home on the main thread, for which the scheduler keeps a number.
    pub(crate) fn main(&self, vm: &Vm) -> Result<Home, Failure> {
        if let Some(&home) = self.main.get() {
            return Ok(home);
        }
        let mut entries = self.entries.lock();
        if let Some(&home) = self.main.get() {
            return Ok(home);
        }
        let home = vm.scheduler.reserve_bound().map(Home::of).ok_or(Failure::out_of_memory())?;
        entries.insert(home.bits(), Entry { object: Word::NIL, name: MAIN.to_owned() });
        _ = self.main.set(home);
        Ok(home)
    }

    /// Whether the program knows any.
    pub(crate) fn has_any(&self) -> bool {
        !self.entries.lock().is_empty()
    }

    /// The guest's object for a home, or nil.
    pub fn object(&self, home: Home) -> Word {
        self.entries.lock().get(&home.bits()).map_or(Word::NIL, |entry| entry.object)
    }

    /// The name of a home's native thread in reports.
    pub fn name(&self, home: Home) -> Option<String> {
        self.entries.lock().get(&home.bits()).map(|entry| entry.name.clone())
    }

    /// The home with this number, if the program knows it.
    pub fn home(&self, word: Word) -> Option<Home> {
        let bits = word.as_small_integer().and_then(|number| u32::try_from(number).ok())?;
        self.entries.lock().contains_key(&bits).then(|| Home::from_bits(bits))
    }

    /// Shows the guest's objects to the collector: in full collections, the main thread's and those for
    /// which `is_needed`.
    pub(crate) fn visit(
        &self,
        kind: CollectionKind,
        is_needed: impl Fn(Home) -> bool,
        visit: &mut dyn FnMut(RootAddress),
    ) {
        let main = self.main.get().copied();
        for (&bits, entry) in self.entries.lock().iter_mut() {
            let home = Home::from_bits(bits);
            if kind == CollectionKind::Nursery || Some(home) == main || is_needed(home) {
                visit(RootAddress::from(&mut entry.object));
            }
        }
    }

    /// Follows the guest's objects that survive a full collection; the native threads of the others end.
    pub(crate) fn update(&self, vm: &Vm, tracer: &mut Tracer<'_>) {
        let main = self.main.get().copied();
        self.entries.lock().retain(|&bits, entry| {
            let home = Home::from_bits(bits);
            let survives = tracer.update(&mut entry.object) || Some(home) == main;
            if let Some(worker) = home.worker().filter(|_| !survives) {
                vm.scheduler.dismiss_bound(worker);
            }
            survives
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_a_time_comes_before_what_is_for_good() {
        let [one, two] = [1, 32_000].map(|index| Home::of(WorkerId::from_index(index)));
        let affinity = Affinity::default();
        assert_eq!(affinity.home(), None);
        affinity.bind(one);
        assert_eq!(affinity.home(), Some(one));
        assert_eq!(affinity.confine(two), Home::ANYWHERE);
        assert_eq!(affinity.home(), Some(two));
        assert_eq!(affinity.homes(), [one, two]);
        affinity.set_anchored(true);
        assert_eq!(affinity.home(), Some(Home::ANYWHERE));
        affinity.bind(two);
        assert_eq!(affinity.confine(Home::ANYWHERE), two);
        affinity.set_anchored(false);
        assert_eq!(affinity.home(), Some(two));
        affinity.reset();
        assert_eq!(affinity.home(), None);
    }

    #[test]
    fn homes_are_found_by_their_numbers() {
        for index in [0, 1, 256, 4351] {
            let home = Home::of(WorkerId::from_index(index));
            assert_eq!(home.worker().map(WorkerId::index), Some(index));
            assert_eq!(Home::from_bits(home.bits()), home);
        }
        assert_eq!(Home::ANYWHERE.worker(), None);
    }
}
