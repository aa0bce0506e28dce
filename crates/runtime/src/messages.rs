//! Messages: what a vat's mailbox holds, and what a strand begins with.
//!
//! A message is an array. Its *kind* says what its receiver and arguments are for:
//!
//! | kind | meaning |
//! |---|---|
//! | the address of a send site | the eventual send at that site, whose caches serve the look-up |
//! | a symbol | a send with this selector, past visibility: the library's own |
//! | nil | the receiver, a closure, is evaluated with as many of the arguments as it takes |
//!
//! A message's *result* is for what it returns: nil for nobody, or a promise.

use squall_heap::{Object, Word};

use crate::calls;
use crate::function::Site;
use crate::known::{self, KnownClass};
use crate::objects::{block, string};
use crate::outcome::Failure;
use crate::stack::exit_site;
use crate::thread::{Thread, Window, allocated};

/// The next message in the mailbox, or nil.
pub const NEXT: usize = 0;
/// The kind.
pub const KIND: usize = 1;
/// Who gets the result.
pub const RESULT: usize = 2;
/// The receiver; the arguments follow.
pub const RECEIVER: usize = 3;

/// Makes a message from the words of a window, receiver first. *GC point.*
pub fn make(
    thread: &mut Thread,
    kind: Word,
    result: Word,
    window: Window,
) -> Result<Object, Failure> {
    let class = thread.vm.known_class(KnownClass::Array);
    let mut scope = thread.mutator.scope();
    let (kind, result) = (scope.root(kind), scope.root(result));
    let length = RECEIVER + window.len();
    let message = allocated(scope.allocate_array(known::MESSAGE, class, length, Word::NIL))?;
    message.initialize_element(KIND, scope.get(kind));
    message.initialize_element(RESULT, scope.get(result));
    for (index, word) in window.words().enumerate() {
        message.initialize_element(RECEIVER + index, word);
    }
    Ok(message)
}

/// The kind of a message that is sent at a site.
pub fn site_kind(site: &'static Site) -> Word {
    // Sites are aligned, so that the address is the bits of a small integer.
    Word::from_bits(std::ptr::from_ref(site) as u64)
}

/// Begins what a message asks for, as the first activation of the thread's strand, which is empty.
/// *GC point.*
pub fn begin(thread: &mut Thread, message: Object) {
    thread.message.clear();
    let kind = message.element(KIND);
    let words = (RECEIVER..message.length()).map(|index| message.element(index));
    thread.message.extend(words);
    if kind == Word::NIL {
        return evaluate(thread);
    }
    if kind.is_small_integer() {
        // SAFETY: `site_kind` made it of the address of an immortal site, and no guest code reaches
        // the elements of messages.
        let site: &'static Site = unsafe { &*(kind.bits() as *const Site) };
        return calls::send_from(thread, exit_site(), site);
    }
    match string::Text::of(kind) {
        Some(text) => {
            let selector = thread.vm.symbol(&text.to_rust());
            calls::send_past_visibility(thread, exit_site(), selector);
        }
        None => calls::fail(thread, exit_site(), Failure::argument(kind)),
    }
}

/// Whether an exception that nothing catches in the running strand is to be reported: those of turns
/// are told to whoever waits for the result.
pub fn reports_errors(thread: &Thread) -> bool {
    let message = thread.strand().object().slot(crate::strand::slots::MESSAGE);
    message.as_object().is_none_or(|message| message.element(RESULT) == crate::promises::EMBEDDER)
}

/// Evaluates the closure in the thread's message with as many of the other words as it takes.
fn evaluate(thread: &mut Thread) {
    let closure = thread.message[0];
    if let Some(object) = block::closure(closure) {
        let takes = block::closure_function(object).arguments as usize;
        if takes < thread.message.len() {
            thread.message.truncate(takes);
        }
    }
    calls::evaluate_message(thread, exit_site());
}
