//! Messages: the elements of a vat's mailbox, and the beginning of each strand. Sends make them, and workers begin
//! them.
//!
//! A message is an array. Its *kind* gives the meaning of its receiver and arguments:
//!
//! | kind | meaning |
//! |---|---|
//! | the address of a send site | the eventual send at that site, whose caches serve the look-up |
//! | a symbol | a send with this selector, past visibility: the library's own |
//! | nil | the receiver, a closure, is evaluated with as many of the arguments as it takes |
//! | [`PROCESS`] | of the receiver, a class, an instance is made, which is then sent `run` |
//! | [`PROGRAM`] | the receiver, the platform, makes an instance of the program, which is then sent `main:`, and deals with the answer |
//!
//! A message's *result* is the destination of its return value: nil for none, or a promise. A message without one that has
//! left a sandbox has the sandbox there instead: the message counts as the sandbox's until it is taken.

use squall_heap::{Object, Word};

use crate::concurrency::promises;
use crate::concurrency::stalls;
use crate::execution::calls;
use crate::model::behavior::Behavior;
use crate::model::function::{MAIN, Site};
use crate::model::known::{self, KnownClass};
use crate::model::lookup::{Action, CacheEntry};
use crate::model::outcome::Failure;
use crate::model::outcome::Outcome;
use crate::objects::classes;
use crate::objects::{array, block, string};
use crate::state::sandbox::SandboxRef;
use crate::state::stack::exit_site;
use crate::state::strand::EMBEDDER;
use crate::state::strand::{Delivery, Role, slots};
use crate::state::thread::{Stop, Thread, Window, allocated};

pub use crate::state::vat::{KIND, RESULT};

/// The receiver; the arguments follow.
pub const RECEIVER: usize = 3;

/// The kind of the message that a process begins with.
pub const PROCESS: Word = Word::from_small_integer_unchecked(0);
/// The kind of the message that a program begins with. Like the other, it is no site's address.
pub const PROGRAM: Word = Word::from_small_integer_unchecked(1);

/// Makes a message from the words of a window, receiver first. *GC point.*
pub fn make(
    thread: &mut Thread,
    kind: Word,
    result: Word,
    window: Window,
) -> Result<Object, Failure> {
    if let Some(message) = make_if_room(thread, kind, result, window) {
        return Ok(message);
    }
    let (message, kind, result) = allocate_slowly(thread, RECEIVER + window.len(), kind, result)?;
    fill(message, kind, result, window);
    Ok(message)
}

/// As [`make`], if there is room for the message without a collection. *No GC point.*
#[inline]
pub fn make_if_room(
    thread: &mut Thread,
    kind: Word,
    result: Word,
    window: Window,
) -> Option<Object> {
    let class = thread.vm.known_class(KnownClass::Array);
    let length = RECEIVER + window.len();
    let message =
        thread.mutator.allocate_array_if_room(known::MESSAGE, class, length, Word::NIL)?;
    fill(message, kind, result, window);
    Some(message)
}

/// Fills a new message, which was made for so many words.
#[inline]
fn fill(message: Object, kind: Word, result: Word, window: Window) {
    assert!(message.length() == RECEIVER + window.len());
    // SAFETY: it has these elements.
    unsafe {
        message.initialize_element_unchecked(KIND, kind);
        message.initialize_element_unchecked(RESULT, result);
        for (index, word) in window.words().enumerate() {
            message.initialize_element_unchecked(RECEIVER + index, word);
        }
    }
}

/// A new message, with the kind and the result, which may have moved. *GC point.*
#[cold]
fn allocate_slowly(
    thread: &mut Thread,
    length: usize,
    kind: Word,
    result: Word,
) -> Result<(Object, Word, Word), Failure> {
    let class = thread.vm.known_class(KnownClass::Array);
    let mut scope = thread.mutator.scope();
    let (kind, result) = (scope.root(kind), scope.root(result));
    let message = allocated(scope.allocate_array(known::MESSAGE, class, length, Word::NIL))?;
    Ok((message, scope.get(kind), scope.get(result)))
}

/// The message in a word, if it is one.
pub fn message(word: Word) -> Option<Object> {
    word.as_object().filter(|object| object.layout() == known::MESSAGE)
}

/// The kind of a message that is sent at a site.
pub fn site_kind(site: &'static Site) -> Word {
    // Sites are aligned, so that the address is the bits of a small integer.
    Word::from_address(std::ptr::from_ref(site) as usize)
}

/// Whether a message of this kind is a send at a site.
#[inline(always)]
pub fn is_of_site(kind: Word) -> bool {
    kind.is_small_integer() && kind != PROCESS && kind != PROGRAM
}

/// Begins the action of a message, as the first activation of the thread's strand, which is empty. *GC point.*
pub fn begin(thread: &mut Thread, message: Object) {
    thread.message.clear();
    let length = message.length();
    assert!(length >= RECEIVER, "a message has a kind and a result");
    // SAFETY: each message has these elements, and those up to its length.
    let part = |index| unsafe { message.element_unchecked(index) };
    let kind = part(KIND);
    thread.message.extend((RECEIVER..length).map(part));
    let is_process = kind == PROCESS;
    let task = if is_process { thread.message[0] } else { destination(part(RESULT)) };
    let strand = thread.strand();
    strand.set_slot(&mut thread.mutator, slots::TASK, task);
    if task == EMBEDDER {
        thread.vm.strands.set_main(strand);
    }
    if thread.running().delivery() == Delivery::Kill {
        // It has waited to begin again, and is to end instead.
        return;
    }
    if thread.is_guarded {
        keep(thread, message);
    }
    if is_process {
        thread.running().set_role(Role::Maker);
        return make_instance(thread);
    }
    if kind == PROGRAM {
        thread.running().set_role(Role::Loader);
        return send(thread, "loadProgram");
    }
    if kind == Word::NIL {
        return evaluate(thread);
    }
    if kind.is_small_integer() {
        // SAFETY: `site_kind` made it of the address of an immortal site, and no guest code reaches
        // the elements of messages.
        let site: &'static Site = unsafe { &*(kind.bits() as *const Site) };
        thread.running().set_origin(Some(site));
        return calls::send_from(thread, exit_site(), site);
    }
    match string::Text::of(kind) {
        Some(text) => {
            let selector = string::intern(thread, text);
            calls::send_past_visibility(thread, exit_site(), selector);
        }
        None => calls::fail(thread, exit_site(), Failure::argument(kind)),
    }
}

/// Keeps the message that the strand begins with, as long as it has no activation: an assignment that has to wait
/// may give it [back](hand_back).
fn keep(thread: &mut Thread, message: Object) {
    thread.strand().set_slot(&mut thread.mutator, slots::VALUE, message.word());
}

/// The running strand, which has no activation yet, is to begin again with the message that it has begun with.
pub fn hand_back(thread: &mut Thread) {
    let object = thread.strand().object();
    let message = object.slot(slots::VALUE);
    debug_assert!(self::message(message).is_some());
    object.set_slot(&mut thread.mutator, slots::TASK, message);
}

/// Undoes [`hand_back`]: the strand continues at once.
pub fn take_again(thread: &mut Thread) {
    let object = thread.strand().object();
    let result = destination(object.slot(slots::TASK).object().element(RESULT));
    object.set_slot(&mut thread.mutator, slots::TASK, result);
}

/// Where the return value goes, by the result of a message: nil for nowhere.
pub fn destination(result: Word) -> Word {
    let is_sandbox = |object: Object| object.layout() == known::SANDBOX;
    if result.as_object().is_some_and(is_sandbox) { Word::NIL } else { result }
}

/// The sandbox that has sent a message, if one has and the message tells.
pub fn sender(message: Object) -> Option<SandboxRef> {
    let result = message.element(RESULT).as_object()?;
    match result.layout() {
        known::SANDBOX => Some(SandboxRef::of_object(result)),
        known::PROMISE => promises::owner(result).sandbox(),
        _ => None,
    }
}

/// Begins the next step of the thread's strand, which has stopped; whether there is one. *GC point.*
pub fn next_step(thread: &mut Thread) -> bool {
    // A parked strand may belong to another thread by now.
    let has_ended = matches!(thread.stop, Stop::Returned | Stop::Failed);
    let role = if has_ended { thread.strand().role() } else { Role::Other };
    match (role, thread.stop) {
        (Role::Maker, Stop::Returned) => run_instance(thread),
        (Role::Loader, Stop::Returned) => run_main(thread),
        (Role::Main, Stop::Returned) => end_program(thread),
        (Role::Loader | Role::Main, Stop::Failed) => fail_program(thread),
        _ => return false,
    }
    true
}

/// Begins a step with the answer of the step before. Answers that word.
fn begin_step(thread: &mut Thread, role: Role) -> Word {
    let running = thread.running();
    let result = running.result();
    running.set_role(role);
    thread.start_state();
    thread.stop = Stop::Returned;
    thread.message.clear();
    result
}

/// Makes an instance of the class in the thread's message, with the arguments that follow: the first
/// step of a process. *GC point.*
fn make_instance(thread: &mut Thread) {
    match classes::factory(thread.vm, thread.message[0]) {
        Some(factory) if factory.arguments as usize == thread.message.len() => {
            calls::enter_message(thread, exit_site(), factory);
        }
        _ => calls::fail(thread, exit_site(), Failure::argument(thread.message[0])),
    }
}

/// Sends `run` to the instance that the thread's strand has made, and begun to return: the second step
/// of a process. *GC point.*
fn run_instance(thread: &mut Thread) {
    let instance = begin_step(thread, Role::Process);
    thread.message.push(instance);
    let layout = known::layout_of(instance);
    if thread.run_entry.layout != layout
        && let Some(behavior) = thread.vm.behavior_of_layout(layout)
    {
        run_entry(thread, behavior);
    }
    let entry = thread.run_entry;
    if entry.layout == layout && !matches!(entry.action, Action::Missing) {
        calls::send_found(thread, exit_site(), entry);
    } else {
        send(thread, RUN);
    }
}

/// Sends `main:` to the program, which was made: the second step of one. *GC point.*
fn run_main(thread: &mut Thread) {
    let program = begin_step(thread, Role::Main);
    thread.message.push(program);
    match program_arguments(thread) {
        Ok(arguments) => thread.message.push(arguments),
        Err(failure) => return calls::fail(thread, exit_site(), failure),
    }
    let layout = known::layout_of(thread.message[0]);
    if let Some(behavior) = thread.vm.behavior_of_layout(layout) {
        let selector = thread.vm.symbol(MAIN);
        if let Action::Method(main) = thread.vm.lookups.lexical(layout, behavior, selector).action {
            _ = thread.vm.main_method.set(main);
        }
    }
    if thread.is_guarded
        && let Err(failure) = keep_main(thread)
    {
        return calls::fail(thread, exit_site(), failure);
    }
    send(thread, MAIN);
}

/// Keeps a message that repeats the one in the thread's message: `main:` may be an assignment. *GC point.*
fn keep_main(thread: &mut Thread) -> Result<(), Failure> {
    let kind = thread.vm.name_word(thread, thread.vm.symbol(MAIN))?;
    let result = thread.strand().slot(slots::TASK);
    // SAFETY: the message is not changed before its words were copied.
    let window = unsafe { Window::new(thread.message.as_mut_ptr(), thread.message.len()) };
    let message = make(thread, kind, result, window)?;
    keep(thread, message);
    Ok(())
}

/// Sends the platform the answer of `main:`: the third step of a program. *GC point.*
fn end_program(thread: &mut Thread) {
    let answer = begin_step(thread, Role::Other);
    let answer = match is_program(thread, answer) {
        true => Word::from_small_integer_unchecked(0),
        false => answer,
    };
    thread.message.extend([thread.vm.roots.platform.get(), answer]);
    match answer.is_small_integer() {
        true => stalls::main_returned(thread),
        false => stalls::forget_main(thread.vm),
    }
    send(thread, "finishWith:");
}

/// Whether an object is the program, as far as its class tells. A method without `^` answers its receiver, so this is the
/// answer of a `main:` without an answer. *No GC point.*
fn is_program(thread: &Thread, answer: Word) -> bool {
    let layout = known::layout_of(answer);
    let (Some(behavior), Some(&main)) =
        (thread.vm.behavior_of_layout(layout), thread.vm.main_method.get())
    else {
        return false;
    };
    let selector = thread.vm.symbol(MAIN);
    match thread.vm.lookups.lexical(layout, behavior, selector).action {
        Action::Method(method) => std::ptr::eq(method, main),
        _ => false,
    }
}

/// Has the kernel report the exception that has ended a program. *GC point.*
fn fail_program(thread: &mut Thread) {
    let exception = begin_step(thread, Role::Other);
    stalls::forget_main(thread.vm);
    thread.message.extend([thread.vm.roots.kernel.get(), exception]);
    // The kernel's text has the method, and tests compare the two.
    let method = thread.vm.kernel_method("uncaught:").expect("the kernel reports exceptions");
    calls::enter_message(thread, exit_site(), method);
}

/// Sends the thread's message. *GC point.*
fn send(thread: &mut Thread, selector: &str) {
    let selector = thread.vm.symbol(selector);
    calls::send_past_visibility(thread, exit_site(), selector);
}

/// The message that a process is.
const RUN: &str = "run";

/// The action of instances with this behavior when they are sent `run`.
pub fn run_entry(thread: &mut Thread, behavior: &'static Behavior) -> &'static CacheEntry {
    let layout = behavior.layout;
    if thread.run_entry.layout != layout {
        let selector = thread.vm.symbol(RUN);
        thread.run_entry = thread.vm.lookups.lexical(layout, behavior, selector);
    }
    thread.run_entry
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

/// The command line, a value array of strings. *GC point.*
pub fn program_arguments(thread: &mut Thread) -> Result<Word, Failure> {
    let arguments = &thread.vm.options.arguments;
    array::make_value_of(thread, arguments.len(), |thread, index| {
        string::make_string(thread, &arguments[index])
    })
}

/// Sends a message to be processed in a later turn. *GC point.*
pub fn send_eventually(
    thread: &mut Thread,
    site: &'static Site,
    window: Window,
    wants_result: bool,
) {
    if !wants_result && promises::send_plainly(thread, site, window) {
        return calls::complete(thread, site, Word::NIL);
    }
    send_in_general(thread, site, window, wants_result);
}

/// As [`send_eventually`], after `send_plainly` has refused, or for a message with a result. *GC point.*
pub fn send_in_general(
    thread: &mut Thread,
    site: &'static Site,
    window: Window,
    wants_result: bool,
) {
    thread.window = window;
    thread.call_site = Some(site);
    let sent = promises::send_eventually(thread, site, window, wants_result);
    calls::finish(thread, site, sent.unwrap_or_else(Outcome::from));
}
