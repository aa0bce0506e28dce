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
//! That is all for strands that run one at a time in their vat. Strands that write the same objects in parallel have no such
//! order, and machine code tests a kind once for many loads. So before the first of those starts, [`give_up`] makes all
//! kinds [`ANYTHING`], for the rest of the process's life. A race between it and [`admit`] is harmless: a kind that was
//! given up never changes, since `admit` replaces only the kind that it has seen, and nothing is wider.

use super::{LayoutId, Object, Word};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// The kind of a slot that has held nothing but nil.
pub const NIL_ALONE: u32 = 0;
/// The kind of a slot that may hold any word.
pub const ANYTHING: u32 = u32::MAX;

/// For each layout number the first of its slots' kinds, or null.
static KINDS: [AtomicPtr<AtomicU32>; LayoutId::MAX_NUMBER as usize + 1] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; LayoutId::MAX_NUMBER as usize + 1];

/// All kinds, until they are given up: then none.
static REGISTERED: Mutex<Option<Vec<&'static [AtomicU32]>>> = Mutex::new(Some(Vec::new()));

/// Gives the slots of a layout kinds, which live as long as the process. Layouts whose kinds are given up have none.
pub fn register(layout: LayoutId) {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(registered) = registered.as_mut() else { return };
    let kinds = (0..layout.slot_count()).map(|_| AtomicU32::new(NIL_ALONE));
    let kinds: &'static [AtomicU32] = Box::leak(kinds.collect());
    registered.push(kinds);
    KINDS[layout.number() as usize].store(kinds.as_ptr().cast_mut(), Ordering::Release);
}

/// Makes all kinds [`ANYTHING`]. Layouts that are registered later have none.
pub fn give_up() {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).take();
    for kind in registered.into_iter().flatten().flatten() {
        kind.store(ANYTHING, Ordering::Release);
    }
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
pub fn admit(cell: &AtomicU32, value: Word) {
    if value.is_nil() {
        return;
    }
    let layout = value.as_object().map(|object| object.layout().bits());
    let mut kind = cell.load(Ordering::Relaxed);
    loop {
        let wider = match layout {
            Some(layout) if kind == layout || kind == NIL_ALONE => layout,
            _ => ANYTHING,
        };
        if wider == kind {
            return;
        }
        match cell.compare_exchange_weak(kind, wider, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(other) => kind = other,
        }
    }
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
