//! Promises: results that are not there yet.

use parking_lot::Mutex;
use squall_heap::{Object, Word};

use crate::function::Site;
use crate::messages;
use crate::outcome::Failure;
use crate::strand::Ending;
use crate::thread::{Thread, Window};
use crate::vat;
use crate::worker::Item;

/// The slots of a promise.
pub mod slots {
    /// How many there are.
    pub const COUNT: u32 = 7;
}

/// The slots of a reaction.
pub mod reaction {
    /// How many there are.
    pub const COUNT: u32 = 5;
}

/// In place of a promise, in messages that the embedder sent.
pub const EMBEDDER: Word = Word::TRUE;

/// The message of the embedder in progress.
#[derive(Default)]
pub struct Embedder(Mutex<Option<(Ending, Word)>>);

impl Embedder {
    /// A message is about to be sent.
    pub fn begin(&self) {
        *self.0.lock() = None;
    }

    /// Whether its turn has ended.
    pub fn is_done(&self) -> bool {
        self.0.lock().is_some()
    }

    /// How it ended, and with what.
    pub fn take(&self) -> Option<(Ending, Word)> {
        self.0.lock().take()
    }

    fn set(&self, ending: Ending, value: Word) {
        *self.0.lock() = Some((ending, value));
    }

    /// Shows the result to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&mut Word)) {
        if let Some((_, value)) = &mut *self.0.lock() {
            visit(value);
        }
    }
}

/// The strand of this message has ended. *GC point.*
pub fn settle_result(thread: &mut Thread, message: Object, ending: Ending, value: Word) {
    match message.element(messages::RESULT) {
        EMBEDDER => {
            thread.vm.embedder.set(ending, value);
            thread.vm.scheduler.inject(Item::NOTHING);
        }
        _ => {}
    }
}

/// Sends a message to be processed in a later turn; answers a promise for the result, or nil. The
/// window has receiver and arguments, and is a root. *GC point.*
pub fn send_eventually(
    thread: &mut Thread,
    site: &'static Site,
    window: Window,
    _wants_result: bool,
) -> Result<Word, Failure> {
    let vat = vat::current(thread)?;
    let message = messages::make(thread, messages::site_kind(site), Word::NIL, window)?;
    vat.post(thread, message);
    Ok(Word::NIL)
}
