//! Effects: what a transaction does beyond memory.
//!
//! | effect | meaning within a transaction |
//! |---|---|
//! | output, eventual sends, resolving promises | happen after the commit, in order |
//! | everything else that others can notice, or that waits | makes the transaction inevitable, then happens at once |
//!
//! The first kind answers nothing that depends on others, so nobody can tell that it happens later. A
//! primitive of the second kind has the shape [`Shape::Effect`](crate::model::primitive::Shape::Effect).

use squall_heap::{Object, Word};

use crate::concurrency::promises;
use crate::model::function::Site;
use crate::model::outcome::Outcome;
use crate::state::thread::{Thread, Window};
use crate::state::vat::{self, VatRef};

/// What settles a promise.
pub type Settling = fn(&mut Thread, VatRef, Object, Word);

/// What happens after the commit.
enum Kind {
    /// A text is written to the standard output.
    Output(String),
    /// A text is written to the error output.
    Error(String),
    /// A message is sent: result, receiver and arguments.
    Send(&'static Site),
    /// A promise is settled: the promise, and the outcome.
    Settle(Settling),
}

/// What a transaction will have done when it commits.
#[derive(Default)]
pub struct Effects {
    /// With each, where its words begin.
    list: Vec<(Kind, usize)>,
    words: Vec<Word>,
}

/// The effects of the transaction of the strand that runs, if it is in one.
pub fn pending(thread: &mut Thread) -> Option<&mut Effects> {
    thread.transaction.as_deref_mut().map(|transaction| &mut transaction.effects)
}

/// The same, for output: a transaction that cannot go back writes at once.
pub fn pending_output(thread: &mut Thread) -> Option<&mut Effects> {
    let transaction = thread.transaction.as_deref_mut()?;
    (!transaction.has_effect()).then_some(&mut transaction.effects)
}

/// Writes the output of a transaction that has become inevitable. *GC point.*
pub(super) fn write_pending_output(thread: &mut Thread) {
    let host = &thread.vm.host;
    let Some(effects) = pending(thread) else { return };
    let output = effects.take_output();
    thread.mutator.native(|| {
        for kind in &output {
            match kind {
                Kind::Output(text) => host.write_output(text),
                Kind::Error(text) => host.write_error(text),
                Kind::Send(_) | Kind::Settle(_) => {}
            }
        }
    });
}

impl Effects {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Writes a text to the standard output.
    pub fn output(&mut self, text: String) {
        self.list.push((Kind::Output(text), self.words.len()));
    }

    /// Writes a text to the error output.
    pub fn error(&mut self, text: String) {
        self.list.push((Kind::Error(text), self.words.len()));
    }

    /// Sends a message, for a promise or nil.
    pub fn send(&mut self, site: &'static Site, result: Word, words: impl Iterator<Item = Word>) {
        self.list.push((Kind::Send(site), self.words.len()));
        self.words.push(result);
        self.words.extend(words);
    }

    /// Settles a promise.
    pub fn settle(&mut self, how: Settling, promise: Word, outcome: Word) {
        self.list.push((Kind::Settle(how), self.words.len()));
        self.words.extend([promise, outcome]);
    }

    /// Takes the output from the list.
    fn take_output(&mut self) -> Vec<Kind> {
        let is_output = |kind: &Kind| matches!(kind, Kind::Output(_) | Kind::Error(_));
        self.list.extract_if(.., |(kind, _)| is_output(kind)).map(|(kind, _)| kind).collect()
    }

    /// Forgets all but the first.
    pub(super) fn truncate(&mut self, count: usize) {
        if let Some((_, words)) = self.list.get(count) {
            self.words.truncate(*words);
            self.list.truncate(count);
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.words.clear();
    }

    /// Shows the words to the collector.
    pub(super) fn visit(&mut self, visit: &mut dyn FnMut(&mut Word)) {
        self.words.iter_mut().for_each(visit);
    }

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

/// Lets one effect happen, whose words are in the thread's message. *GC point.*
fn perform_one(thread: &mut Thread, kind: &Kind) {
    let host = &thread.vm.host;
    match kind {
        Kind::Output(text) => thread.mutator.native(|| host.write_output(text)),
        Kind::Error(text) => thread.mutator.native(|| host.write_error(text)),
        Kind::Send(site) => {
            let words = thread.message.len() - 1;
            // SAFETY: the message has a result and words behind it, and is not changed before they were
            // copied into the new message.
            let window = unsafe { Window::new(thread.message.as_mut_ptr().add(1), words) };
            promises::send_deferred(thread, site, window);
        }
        Kind::Settle(how) => {
            // A strand that was in a transaction has a vat.
            let Ok(here) = vat::current(thread) else { return };
            let (promise, outcome) = (thread.message[0].object_unchecked(), thread.message[1]);
            how(thread, here, promise, outcome);
        }
    }
}
