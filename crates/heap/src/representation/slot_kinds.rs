//! What the slots of a layout's objects have held so far. Machine code relies on it where it would have to look at each
//! word that it loads.
//!
//! Each slot of a registered layout has a *kind*, 32 bits that only widen:
//!
//! | kind | the slot of each object of the layout holds |
//! |---|---|
//! | [`NIL_ALONE`] | nil |
//! | the bits of a layout | nil, or an object of this layout |
//! | [`ANYTHING`] | any word |
//!
//! # Protocol
//!
//! A store widens the kind before it writes the word: the functions of [`Object`] do so by `note`, and machine code in
//! its own way. So the kind admits each word that a strand finds in a slot, if
//!
//! - the strand has written it itself, or
//! - it has come by something that orders the stores before its loads: a message, a channel, the hand-over of a vat.
//!
//! Machine code that relies on a kind has a [`Reliance`]. Kinds change under one lock, which also orders the reliances: one begins
//! while its kinds are what they are thought to be, and ends *before* one of them widens. So whoever sees a wider kind, and
//! stores on the strength of that, comes after the end of all that has relied on the narrower one; and so does each load that
//! the store is ordered before.
//!
//! That is all for strands that run one at a time in their vat. Strands that write the same objects in parallel have no such
//! order, and machine code tests its reliance once for many loads. So before the first of those starts, [`give_up`] makes all
//! kinds [`ANYTHING`], for the rest of the process's life.

use super::{LayoutId, Object, Word};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The kind of a slot that has held nothing but nil.
pub const NIL_ALONE: u32 = 0;
/// The kind of a slot that may hold any word.
pub const ANYTHING: u32 = u32::MAX;

/// For each layout number the first of its slots' kinds, or null.
static KINDS: [AtomicPtr<AtomicU32>; LayoutId::MAX_NUMBER as usize + 1] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; LayoutId::MAX_NUMBER as usize + 1];

static REGISTER: Mutex<Register> =
    Mutex::new(Register { kinds: Vec::new(), are_given_up: false, reliances: BTreeMap::new() });

/// Something that is right only as long as some kinds do not widen.
pub trait Reliance: Sync {
    /// One of the kinds is about to widen. The caller holds the lock of all kinds, so nothing here may store into an object. It
    /// may be called again for another kind.
    fn end(&self);
}

/// All kinds, and what relies on them.
struct Register {
    kinds: Vec<&'static [AtomicU32]>,
    /// Whether all kinds are [`ANYTHING`] for good.
    are_given_up: bool,
    /// By the address of the kind.
    reliances: BTreeMap<usize, Vec<&'static dyn Reliance>>,
}

impl Register {
    fn lock() -> MutexGuard<'static, Register> {
        REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Widens a kind, after what relies on it has ended.
    fn widen(&mut self, kind: &AtomicU32, wider: u32) {
        let reliances = self.reliances.remove(&address(kind));
        reliances.into_iter().flatten().for_each(Reliance::end);
        kind.store(wider, Ordering::Release);
    }
}

fn address(kind: &AtomicU32) -> usize {
    kind.as_ptr().addr()
}

/// Gives the slots of a layout kinds, which live as long as the process. Layouts whose kinds are given up have none.
pub fn register(layout: LayoutId) {
    let mut register = Register::lock();
    if register.are_given_up {
        return;
    }
    let kinds = (0..layout.slot_count()).map(|_| AtomicU32::new(NIL_ALONE));
    let kinds: &'static [AtomicU32] = Box::leak(kinds.collect());
    register.kinds.push(kinds);
    KINDS[layout.number() as usize].store(kinds.as_ptr().cast_mut(), Ordering::Release);
}

/// Makes all kinds [`ANYTHING`].
pub fn give_up() {
    let mut register = Register::lock();
    register.are_given_up = true;
    for kind in std::mem::take(&mut register.kinds).into_iter().flatten() {
        register.widen(kind, ANYTHING);
    }
}

/// Begins to rely on kinds by this function, unless one of them is another one by now; answers whether it has begun. Kinds do not
/// change meanwhile, so the function must not store into an object.
pub fn rely(
    kinds: &[(&'static AtomicU32, u32)],
    reliance: &'static dyn Reliance,
    begin: impl FnOnce(),
) -> bool {
    let mut register = Register::lock();
    if kinds.iter().any(|(kind, wanted)| kind.load(Ordering::Relaxed) != *wanted) {
        return false;
    }
    for (kind, _) in kinds {
        register.reliances.entry(address(kind)).or_default().push(reliance);
    }
    begin();
    true
}

/// The kind of a slot, if the layout is registered and has the slot.
pub fn cell(layout: LayoutId, index: usize) -> Option<&'static AtomicU32> {
    if index >= layout.slot_count() {
        return None;
    }
    let first = KINDS[layout.number() as usize].load(Ordering::Acquire);
    // SAFETY: `register` has made a kind for each slot of the layout, and they are never freed.
    (!first.is_null()).then(|| unsafe { &*first.add(index) })
}

/// Whether the slots of an object have kinds.
pub(crate) fn are_known(object: Object) -> bool {
    !KINDS[object.layout().number() as usize].load(Ordering::Relaxed).is_null()
}

/// Widens the kind of an object's slot so that it admits a word, which is stored next.
#[inline(always)]
pub(crate) fn note(object: Object, index: usize, value: Word) {
    let first = KINDS[object.layout().number() as usize].load(Ordering::Relaxed);
    if first.is_null() {
        return;
    }
    // SAFETY: the caller has seen to it that the object has the slot, and `register` has made a kind for each.
    let kind = unsafe { &*first.add(index) };
    if kind.load(Ordering::Relaxed) != ANYTHING {
        admit(kind, value);
    }
}

/// Widens a kind so that it admits a word.
pub fn admit(kind: &AtomicU32, value: Word) {
    if value.is_nil() || wider(kind, value).is_none() {
        return;
    }
    let mut register = Register::lock();
    // Another thread may have widened it meanwhile.
    if let Some(wider) = wider(kind, value) {
        register.widen(kind, wider);
    }
}

/// What a kind has to become so that it admits a word other than nil, if it does not.
fn wider(kind: &AtomicU32, value: Word) -> Option<u32> {
    let kind = kind.load(Ordering::Relaxed);
    let layout = value.as_object().map(|object| object.layout().bits());
    let wanted = match layout {
        Some(layout) if kind == layout || kind == NIL_ALONE => layout,
        _ => ANYTHING,
    };
    (wanted != kind).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::representation::Format;

    #[test]
    fn kinds_only_widen() {
        let layout =
            LayoutId::new(Format::Slots, 2, false, LayoutId::MAX_NUMBER).expect("it is valid");
        assert!(cell(layout, 0).is_none(), "it is not registered");
        register(layout);
        let [first, second] = [0, 1].map(|index| cell(layout, index).expect("it has two slots"));
        assert!(cell(layout, 2).is_none());
        assert_eq!(first.load(Ordering::Relaxed), NIL_ALONE);
        admit(first, Word::NIL);
        assert_eq!(first.load(Ordering::Relaxed), NIL_ALONE);
        for word in [Word::TRUE, Word::from_small_integer_unchecked(1), Word::NIL] {
            admit(first, word);
            assert_eq!(first.load(Ordering::Relaxed), ANYTHING);
        }
        assert_eq!(second.load(Ordering::Relaxed), NIL_ALONE);
    }

    /// Counts its ends, and looks that the kind has not changed yet.
    struct Counting(AtomicU32, &'static AtomicU32, u32);

    impl Reliance for Counting {
        fn end(&self) {
            assert_eq!(self.1.load(Ordering::Relaxed), self.2);
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn reliances_end_before_their_kinds_widen() {
        let layout =
            LayoutId::new(Format::Slots, 2, false, LayoutId::MAX_NUMBER - 2).expect("it is valid");
        register(layout);
        let kind = cell(layout, 0).expect("it has two slots");
        let reliance: &'static Counting =
            Box::leak(Box::new(Counting(AtomicU32::new(0), kind, NIL_ALONE)));
        assert!(!rely(&[(kind, ANYTHING)], reliance, || panic!("the kind is another one")));
        let mut has_begun = false;
        assert!(rely(&[(kind, NIL_ALONE)], reliance, || has_begun = true) && has_begun);
        admit(cell(layout, 1).expect("it has two slots"), Word::TRUE);
        admit(kind, Word::NIL);
        assert_eq!(reliance.0.load(Ordering::Relaxed), 0);
        for word in [Word::TRUE, Word::FALSE] {
            admit(kind, word);
            assert_eq!(reliance.0.load(Ordering::Relaxed), 1);
        }
        assert!(!rely(&[(kind, NIL_ALONE)], reliance, || panic!("the kind has widened")));
    }

    #[test]
    fn what_differs_from_the_layout_is_anything() {
        let layout =
            LayoutId::new(Format::Slots, 1, false, LayoutId::MAX_NUMBER - 1).expect("it is valid");
        let kind = AtomicU32::new(layout.bits());
        admit(&kind, Word::NIL);
        assert_eq!(kind.load(Ordering::Relaxed), layout.bits());
        admit(&kind, Word::FALSE);
        assert_eq!(kind.load(Ordering::Relaxed), ANYTHING);
    }
}
