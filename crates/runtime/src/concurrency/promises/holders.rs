//! The search for resolvers, and for the strands that can use them. Reports about a stalled machine
//! ([`super::unsettled`]) call it.
//!
//! A walk from all blocked strands and waiting messages, along objects' slots and elements, finds the resolvers. It goes
//! through the callbacks of unsettled promises, too: a resolver that is found there is used when that promise is settled.
//! Classes, other strands and other vats are not followed, since they lead to nearly everything.

use std::collections::{HashMap, HashSet, VecDeque};

use squall_heap::{Format, Object, Word};

use super::{State, slots, state};
use crate::model::known;
use crate::objects::rights;
use crate::state::strand::StrandRef;
use crate::state::vat::VatRef;

/// How a resolver is held.
#[derive(Clone, Copy)]
pub enum Holder {
    /// A strand can use it when it goes on.
    Strand(StrandRef),
    /// A message has it that comes after this turn.
    Message(StrandRef),
    /// A callback of this promise can use it.
    Promise(Object),
}

/// Holders of resolvers, by the addresses of the promises.
pub struct Holders {
    found: HashMap<usize, Holder>,
    seen: HashSet<usize>,
    /// Objects to look at: the ones with the shortest ways come first.
    pending: VecDeque<(Object, Holder)>,
}

impl Holders {
    /// Those among these strands, and among messages for these vats.
    pub fn find(strands: &[StrandRef], vats: &[VatRef]) -> Holders {
        let (found, seen) = (HashMap::new(), HashSet::new());
        let mut holders = Holders { found, seen, pending: VecDeque::new() };
        for &strand in strands {
            let holder = Holder::Strand(strand);
            // SAFETY: all mutators stand, so the frames stay in place.
            strand.visit_frames(&mut |root| holders.add(unsafe { root.word() }, holder));
            let object = strand.object();
            (0..object.layout().slot_count())
                .for_each(|index| holders.add(object.slot(index), holder));
        }
        for &vat in vats {
            let Some(turn) = vat.turn() else { continue };
            vat.messages().for_each(|message| holders.add(message.word(), Holder::Message(turn)));
        }
        while let Some((object, holder)) = holders.pending.pop_front() {
            holders.scan(object, holder);
        }
        holders
    }

    /// How the resolver of a promise is held, if one was found.
    pub fn of(&self, promise: Object) -> Option<Holder> {
        self.found.get(&promise.address()).copied()
    }

    fn add(&mut self, word: Word, holder: Holder) {
        if let Some(object) = word.as_object()
            && self.seen.insert(object.address())
        {
            self.pending.push_back((object, holder));
        }
    }

    fn scan(&mut self, object: Object, holder: Holder) {
        let layout = object.layout();
        match (layout, layout.format()) {
            (known::STRAND | known::VAT | known::FAR_REFERENCE, _) => {}
            (known::PROMISE, _) if matches!(state(object), State::Unresolved | State::Decided) => {
                self.add(object.slot(slots::FIRST), Holder::Promise(object));
            }
            (known::PROMISE, _) => self.add(object.slot(slots::OUTCOME), holder),
            (known::RIGHT, _) => {
                // Only a right to settle has a promise for its subject.
                let promise = rights::subject_of(object).as_object();
                if let Some(promise) = promise.filter(|object| object.layout() == known::PROMISE) {
                    self.found.entry(promise.address()).or_insert(holder);
                }
            }
            (_, Format::Slots) => {
                (0..layout.slot_count()).for_each(|index| self.add(object.slot(index), holder));
            }
            (_, Format::Array) => {
                (0..object.length()).for_each(|index| self.add(object.element(index), holder));
            }
            _ => {}
        }
    }
}
