//! The pending effects of a transaction: output, messages, settled promises. Primitives add them, and the layer above
//! performs them at the commit ([`crate::concurrency::transactions::effects`]).

use squall_heap::{Object, RootAddress, Word};

use crate::model::function::Site;
use crate::state::thread::Thread;
use crate::state::vat::VatRef;

/// A function that settles a promise.
pub type Settling = fn(&mut Thread, VatRef, Object, Word);

/// An action after the commit.
pub(crate) enum Kind {
    /// A text is written to the standard output.
    Output(String),
    /// A text is written to the error output.
    Error(String),
    /// A message is sent: result, receiver and arguments.
    Send(&'static Site),
    /// A promise is settled: the promise, and the outcome.
    Settle(Settling),
}

/// The pending effects of a transaction.
#[derive(Default)]
pub struct Effects {
    /// With each, where its words begin.
    pub(crate) list: Vec<(Kind, usize)>,
    pub(crate) words: Vec<Word>,
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
    pub(crate) fn take_output(&mut self) -> Vec<Kind> {
        let is_output = |kind: &Kind| matches!(kind, Kind::Output(_) | Kind::Error(_));
        self.list.extract_if(.., |(kind, _)| is_output(kind)).map(|(kind, _)| kind).collect()
    }

    /// Forgets all but the first.
    pub(crate) fn truncate(&mut self, count: usize) {
        if let Some((_, words)) = self.list.get(count) {
            self.words.truncate(*words);
            self.list.truncate(count);
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.words.clear();
    }

    /// Shows the words to the collector.
    pub(crate) fn visit(&mut self, visit: &mut dyn FnMut(RootAddress)) {
        RootAddress::of_all(&mut self.words).for_each(visit);
    }
}
