//! The reasons why a promise is not settled: the promises that it waits for, their origins, and the strand that must
//! settle the last of them. Reports about stalls call this module.
//!
//! A promise that follows another one, or is for the answer of a reaction to another one, refers to that promise in the
//! slot of its outcome until it is settled itself (`add_reaction` and [`note_awaited`](super::note_awaited) ensure that).
//! If a callback of another promise can use its resolver (`holders.rs`), it waits for that promise. So the path leads
//! from promise to promise, to one that a strand is to settle, or none.

use std::collections::HashSet;
use std::fmt::Write;

use squall_heap::Object;

use super::holders::{Holder, Holders};
use super::{State, origins, state};
use crate::concurrency::messages;
use crate::model::known;
use crate::state::strand::{Standing, StrandRef, slots};
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// How many promises a report shows at each end of a long way.
const SHOWN: usize = 4;

/// The strand or event that is to settle a promise which waits for no other one.
pub enum Settler {
    /// A strand: it is its result.
    Strand(StrandRef),
    /// No strand before this turn has ended: the promise is for the result of a later turn of the same vat.
    After(StrandRef),
    /// No strand: the promise is for the result of a turn that would come after a lost one.
    AfterLost,
    /// No strand: the promise is for the result of a message to an actor that may not begin.
    Held,
    /// A strand that has its resolver.
    HolderOf(StrandRef),
    /// No strand before this turn has ended: its resolver is in a later message.
    HolderAfter(StrandRef),
    /// One of those that wait for it.
    Circle,
    /// No known strand.
    Nobody,
}

/// Describes the origins of a promise and of those it waits for; answers the settler of the last. Nothing changes
/// meanwhile.
pub fn describe(promise: Object, vm: &Vm, strands: &[StrandRef], text: &mut String) -> Settler {
    let vats = vm.vats.all();
    let holders = Holders::find(strands, &vats);
    let (mut way, is_circle) = way_of(promise, &holders);
    let last = way.last().copied().filter(|_| !is_circle);
    // A promise that travelled is several in different vats; loops make many in one place.
    way.dedup_by_key(|promise| promise.slot(super::slots::ORIGIN).bits());
    for (index, &promise) in way.iter().enumerate() {
        let from_end = way.len() - index;
        if index < SHOWN || from_end <= SHOWN {
            text.push_str(if index == 0 { "" } else { "that waits for one made\n" });
            origins::render_place_of(promise, text);
        } else if index == SHOWN {
            _ = writeln!(text, "  … {} more …", from_end - SHOWN);
        }
    }
    let settles = |last| match holders.of(last) {
        Some(Holder::Strand(strand)) => Settler::HolderOf(strand),
        Some(Holder::Message(turn)) => Settler::HolderAfter(turn),
        Some(Holder::Promise(_)) | None => settler(last, strands, &vats),
    };
    last.map_or(Settler::Circle, settles)
}

/// A promise, the one that it waits for, and so on; and whether that leads back.
fn way_of(promise: Object, holders: &Holders) -> (Vec<Object>, bool) {
    let mut way = vec![promise];
    let mut seen = HashSet::from([promise.address()]);
    let next = |promise| {
        awaited(promise).or_else(|| match holders.of(promise) {
            Some(Holder::Promise(other)) => Some(other),
            _ => None,
        })
    };
    while let Some(next) = way.last().copied().and_then(next) {
        if !seen.insert(next.address()) {
            return (way, true);
        }
        way.push(next);
    }
    (way, false)
}

/// The promise that an unsettled one waits for, if that is unsettled.
pub fn awaited(promise: Object) -> Option<Object> {
    let is_open = |promise: &Object| matches!(state(*promise), State::Unresolved | State::Decided);
    let other = promise.slot(super::slots::OUTCOME).as_object().filter(|_| is_open(&promise))?;
    (other.layout() == known::PROMISE && is_open(&other)).then_some(other)
}

fn settler(promise: Object, strands: &[StrandRef], vats: &[VatRef]) -> Settler {
    let settles = |message: Object| message.element(messages::RESULT) == promise.word();
    let is_result = |strand: StrandRef| {
        let task = strand.slot(slots::TASK);
        match strand.standing() {
            Standing::New => messages::message(task).is_some_and(settles),
            _ => task == promise.word(),
        }
    };
    if let Some(&strand) = strands.iter().find(|&&strand| is_result(strand)) {
        return Settler::Strand(strand);
    }
    let vat = vats.iter().find(|vat| vat.messages().any(settles));
    match vat.map(|vat| (vat.turn(), vat.has_lost_turn())) {
        Some((Some(turn), _)) => Settler::After(turn),
        Some((None, true)) => Settler::AfterLost,
        // Nothing else keeps an actor from its next message.
        Some((None, false)) => Settler::Held,
        None => Settler::Nobody,
    }
}
