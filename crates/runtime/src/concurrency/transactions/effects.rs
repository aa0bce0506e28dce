//! Effects: actions of a transaction beyond memory. Primitives leave them here, and the commit performs them.
//!
//! | effect | meaning within a transaction |
//! |---|---|
//! | output, eventual sends, resolving promises | happen after the commit, in order |
//! | everything else that others can notice, or that waits | makes the transaction inevitable, then happens at once |
//!
//! An effect of the first kind answers nothing that depends on other strands, so its delay cannot be observed. A
//! primitive of the second kind has the shape [`Shape::Effect`](crate::model::primitive::Shape::Effect).

use squall_heap::Word;

use crate::concurrency::outputs;
use crate::concurrency::promises;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::state::thread::{Thread, Window};
use crate::state::transactions::effects::{Effects, Kind};
use crate::state::vat::{self};

/// The most effects of a sandbox's transaction: they happen in one go.
const MOST_OF_GUESTS: usize = 10_000;

/// Takes memory for an effect with so many words, and a text of so many bytes, if the strand that runs is in a transaction. The
/// memory counts as its sandbox's, if it is in one.
pub fn make_room(thread: &mut Thread, words: usize, text: usize) -> Result<(), Failure> {
    let Some(transaction) = thread.transaction.as_deref_mut() else { return Ok(()) };
    if thread.sandbox.is_some() && transaction.effects.len() >= MOST_OF_GUESTS {
        return Err(Failure::new(FailureReason::MessageTooLarge));
    }
    let bytes = 2 * (size_of::<(Kind, usize)>() + words * size_of::<Word>()) + text;
    if !transaction.take_for_effect(bytes) {
        return Err(Failure::out_of_memory());
    }
    thread.charge_memory(bytes);
    Ok(())
}

/// The effects of the transaction of the strand that runs, if it is in one.
pub fn pending(thread: &mut Thread) -> Option<&mut Effects> {
    thread.transaction.as_deref_mut().map(|transaction| &mut transaction.effects)
}

/// The pending effects, for output: a transaction that cannot go back writes at once.
pub fn pending_output(thread: &mut Thread) -> Option<&mut Effects> {
    let transaction = thread.transaction.as_deref_mut()?;
    (!transaction.has_effect()).then_some(&mut transaction.effects)
}

/// Writes the output of a transaction that has become inevitable. *GC point.*
pub(super) fn write_pending_output(thread: &mut Thread) {
    let Some(effects) = pending(thread) else { return };
    for kind in effects.take_output() {
        match kind {
            Kind::Output(text) => outputs::write(thread, &text, false),
            Kind::Error(text) => outputs::write(thread, &text, true),
            Kind::Send(_) | Kind::Settle(_) => {}
        }
    }
}

/// Lets one effect happen, whose words are in the thread's message. *GC point.*
fn perform_one(thread: &mut Thread, kind: &Kind) {
    match kind {
        Kind::Output(text) => outputs::write(thread, text, false),
        Kind::Error(text) => outputs::write(thread, text, true),
        Kind::Send(site) => {
            let words = thread.message.len() - 1;
            // SAFETY: the message has a result and further words, and does not change before they are copied into the
            // new message.
            let window = unsafe { Window::new(thread.message.as_mut_ptr().add(1), words) };
            promises::send_deferred(thread, site, window);
        }
        Kind::Settle(how) => {
            // A strand that was in a transaction has a vat.
            let Ok(here) = vat::current(thread) else { return };
            let (promise, outcome) = (thread.message[0].object(), thread.message[1]);
            how(thread, here, promise, outcome);
        }
    }
}

impl Effects {
    /// Lets all happen. *GC point.*
    pub(super) fn perform(self, thread: &mut Thread) -> Outcome {
        let Effects { list, words } = self;
        let depth = thread.mutator.root_depth();
        let roots: Vec<_> = words.into_iter().map(|word| thread.mutator.push_root(word)).collect();
        for (number, (kind, start)) in list.iter().enumerate() {
            let end = list.get(number + 1).map_or(roots.len(), |(_, end)| *end);
            thread.message.clear();
            let words = roots[*start..end].iter().map(|&root| thread.mutator.get(root));
            thread.message.extend(words);
            perform_one(thread, kind);
        }
        thread.mutator.truncate_roots(depth);
        Outcome::Return(Word::NIL)
    }
}
