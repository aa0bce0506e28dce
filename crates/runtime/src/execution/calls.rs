//! Calls: all parts of sends beyond a hit in an inline cache. Tiers call these functions as the slow paths of their
//! instructions for sends, calls and returns.
//!
//! These functions work on [`Thread::state`]. On entry it stands at the instruction in progress; on exit it stands
//! where execution continues: in a callee, after the instruction, or in a handler. A tier saves its registers, calls,
//! and reloads them.
//!
//! The operands of the call are in a [`Window`], which is also [`Thread::window`] as long as they
//! are not yet part of a callee's frame, so that the collector finds them.

use std::sync::atomic::Ordering;

use squall_bytecode::module::Visibility;
use squall_heap::{LayoutId, Object, WORD_BYTES, Word};

use crate::execution::debugging;
use crate::execution::guarded;
use crate::execution::stack_traces;
use crate::execution::unwind;
use crate::model::function::{Function, NOWHERE, Site};
use crate::model::known::{self, KnownClass};
use crate::model::lookup::{Action, CacheEntry};
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::{Primitive, Shape};
use crate::model::symbols::Symbol;
use crate::objects::classes;
use crate::objects::{block, number, string};
use crate::state::roots::RootWord;
use crate::state::sandbox;
use crate::state::services::ClassSlot;
use crate::state::stack::halt_code;
use crate::state::strand;
use crate::state::strand::Standing;
use crate::state::thread::{State, Stop, Thread, Window, allocated};
use crate::state::tracing::{self, Tracing};
use crate::state::vm::Vm;

/// Looks up the action of a send for the receiver in the window, and remembers it at the site.
pub fn look_up(thread: &mut Thread, site: &'static Site, receiver: Word) -> &'static CacheEntry {
    let layout = known::layout_of(receiver);
    if let Some(entry) = site.entry_for(layout) {
        return entry;
    }
    let vm = thread.vm;
    let function = site.function();
    let Some(behavior) = vm.behavior_of_layout(layout) else { return CacheEntry::empty() };
    let description = &function.bytecode().sites[site.index()];
    let entry = vm.lookups.site(layout, behavior, function.module, description);
    match vm.options.tracing {
        Tracing { sends: false, caches: false, .. } => site.remember(entry),
        _ => tracing::remember(thread, site, behavior, entry),
    }
    entry
}

/// What a send's site would do for receivers of a layout, without remembering it there. `None` if no object has the
/// layout, or the site is not one of a send.
pub fn find(vm: &Vm, site: &Site, layout: LayoutId) -> Option<&'static CacheEntry> {
    let behavior = vm.behavior_of_layout(layout)?;
    let function = site.function();
    let description = function.bytecode().sites.get(site.index())?;
    Some(vm.lookups.site(layout, behavior, function.module, description))
}

/// Does the action that a lookup has found, for the receiver and arguments in the window.
pub fn perform(thread: &mut Thread, site: &'static Site, action: Action, window: Window) {
    match action {
        Action::Method(function) => enter(thread, site, function, window),
        Action::LoadSlot(index) => {
            let read = load_slot(thread, window.get(0).object(), index as usize);
            finish(thread, site, Outcome::from(read));
        }
        Action::LoadConstantSlot(index) => {
            let value = window.get(0).object().slot(index as usize);
            complete(thread, site, value);
        }
        Action::StoreSlot(index) => {
            if thread.watch.is_on {
                debugging::store_begins(thread, site, index as usize, window);
            }
            let (receiver, value) = (window.get(0).object(), window.get(1));
            let stored = store_slot(thread, receiver, index as usize, value);
            finish(thread, site, Outcome::from(stored.map(|()| window.get(1))));
        }
        Action::LoadClass(slot, accessor) => load_class(thread, site, slot, accessor, window),
        Action::Answer(word) => complete(thread, site, word),
        Action::AnswerReceiver => complete(thread, site, window.get(0)),
        Action::Primitive(primitive) => run_primitive(thread, site, primitive, window),
        Action::InitializeArray => {
            let made = initialize_array(thread, window);
            finish(thread, site, Outcome::from(made));
        }
        Action::Missing | Action::Enclosing(_) | Action::Captures(_) | Action::SlotIndex(_) => {
            not_understood(thread, site, window);
        }
    }
}

/// Writes a call's result and continues after the call.
#[inline]
pub fn complete(thread: &mut Thread, site: &'static Site, value: Word) {
    if site.destination != NOWHERE {
        // SAFETY: the site is of the function in the state, whose frame has the destination register.
        unsafe { thread.state.frame.add(usize::from(site.destination)).write(value) };
    }
    thread.state.pc = site.return_pc;
    thread.window = Window::NONE;
}

/// Reads a slot, for an action. *GC point* if accesses are guarded.
fn load_slot(thread: &mut Thread, object: Object, slot: usize) -> Result<Word, Failure> {
    match thread.is_guarded {
        false => Ok(object.slot(slot)),
        true => thread.vm.services.load(thread, object, slot),
    }
}

/// Writes a slot, for an action. *GC point* if accesses are guarded.
fn store_slot(
    thread: &mut Thread,
    object: Object,
    slot: usize,
    value: Word,
) -> Result<(), Failure> {
    match thread.is_guarded {
        false => object.set_slot(&mut thread.mutator, slot, value),
        true => return thread.vm.services.store(thread, object, slot, value),
    }
    Ok(())
}

/// Starts a function with the words of the window as arguments.
///
/// The window is where the site says, or anywhere else if the arguments come from an [`Outcome`].
pub fn enter(
    thread: &mut Thread,
    site: &'static Site,
    function: &'static Function,
    window: Window,
) {
    let start = thread.state.frame.wrapping_add(usize::from(site.window));
    let end = start.wrapping_add(function.frame_words as usize);
    let frame = if end as usize <= thread.stack().limit() {
        // SAFETY: the frame lies between the caller's and the limit; the word below it is the
        // site word, which the call destroys.
        unsafe {
            for index in 0..window.len() {
                start.add(index).write(window.get(index));
            }
            start.sub(1).cast::<*const Site>().write(site);
        }
        start
    } else {
        let size = function.frame_words as usize;
        let caller = thread.state.frame;
        let before = thread.stack().words();
        match thread.stack().grow(caller, site, window.words(), size) {
            Ok(frame) => {
                let grown = thread.stack().words() - before;
                thread.mutator.charge(grown * WORD_BYTES);
                thread.reset_limit();
                frame
            }
            Err(_) => return fail(thread, site, Failure::new(FailureReason::StackOverflow)),
        }
    };
    thread.window = Window::NONE;
    thread.state = State { pc: function.code.as_ptr(), frame, function };
    thread.count_entry();
    if thread.must_poll() {
        thread.vm.services.poll(thread);
    }
}

/// Whether [`enter`] has begun this function, and nothing else has happened.
#[inline]
pub fn has_begun(thread: &Thread, function: &'static Function) -> bool {
    thread.stop == Stop::Returned
        && std::ptr::eq(thread.state.function, function)
        && std::ptr::eq(thread.state.pc, function.code.as_ptr())
}

/// Writes the result of an instruction without a site, and continues after its words; or fails.
pub fn complete_here(
    thread: &mut Thread,
    destination: usize,
    words: usize,
    result: Result<Word, Failure>,
) {
    match result {
        Ok(value) => {
            // SAFETY: the destination is a register of the function in the state, and the
            // instruction at its pc has that many words and is not the last.
            unsafe {
                thread.state.frame.add(destination).write(value);
                thread.state.pc = thread.state.pc.add(words);
            }
        }
        Err(failure) => fail_here(thread, failure),
    }
}

/// Goes on at a distance, in words, from the instruction in the state.
pub fn jump_here(thread: &mut Thread, distance: isize) {
    // SAFETY: the instruction at the state's pc has a target at this distance.
    thread.state.pc = unsafe { thread.state.pc.offset(distance) };
}

/// Signals the exception for a failure of the instruction in the state, which may have no site.
#[cold]
pub fn fail_here(thread: &mut Thread, failure: Failure) {
    if failure.is_elsewhere() {
        return;
    }
    let activation = thread.activation();
    let site = activation.function.fault_site(activation.pc);
    fail(thread, site, failure);
}

/// Makes the strand stop before the instruction in the state, ready to go on.
pub(crate) fn preempt(thread: &mut Thread) {
    thread.running().stand_at(thread.state, Standing::BeforeInstruction);
    stop(thread, Stop::Preempted);
}

/// Makes the tier leave the strand to another one, which goes on at the saved state.
#[cold]
pub fn leave_hot(thread: &mut Thread) {
    thread.resumption = thread.state;
    stop(thread, Stop::Hot);
}

/// Makes the tier stop.
pub fn stop(thread: &mut Thread, reason: Stop) {
    thread.stop = reason;
    thread.state.pc = halt_code();
}

/// Runs a primitive and does the action that it answers.
pub fn run_primitive(
    thread: &mut Thread,
    site: &'static Site,
    primitive: &'static Primitive,
    window: Window,
) {
    thread.window = window;
    thread.call_site = Some(site);
    match primitive.shape {
        Shape::Ordinary | Shape::Identical | Shape::Begin | Shape::Commit => {}
        Shape::Evaluate => return evaluate(thread, site, window),
        Shape::Effect => {
            if thread.transaction.is_some()
                && let Err(outcome) = thread.vm.services.make_inevitable(thread, primitive.name)
            {
                return finish(thread, site, outcome);
            }
        }
    }
    match primitive.run(thread, window) {
        Outcome::Return(value) if !thread.must_look.get() => complete(thread, site, value),
        outcome => finish(thread, site, outcome),
    }
}

/// Runs a primitive that evaluates no closure and, in a transaction, has no effect that the transaction cannot undo.
/// Answers its value if it just answers one; otherwise does the action that it answers.
#[inline]
pub fn run_bare_primitive(
    thread: &mut Thread,
    site: &'static Site,
    primitive: &'static Primitive,
    window: Window,
) -> Option<Word> {
    debug_assert!(primitive.shape != Shape::Evaluate);
    debug_assert!(primitive.shape != Shape::Effect || thread.transaction.is_none());
    thread.window = window;
    thread.call_site = Some(site);
    match primitive.run(thread, window) {
        Outcome::Return(value) if !thread.must_look.get() => {
            thread.window = Window::NONE;
            Some(value)
        }
        outcome => {
            finish(thread, site, outcome);
            None
        }
    }
}

/// Does the action that a primitive has answered.
pub fn finish(thread: &mut Thread, site: &'static Site, outcome: Outcome) {
    carry_out(thread, site, outcome);
    if thread.must_look.take() {
        look_around(thread);
    }
}

/// The strand was outside in the call that is over: its vat may have been given away, or have become guarded. Or a debugger
/// is to be asked after the call.
#[cold]
fn look_around(thread: &mut Thread) {
    if thread.is_displaced && thread.stop != Stop::Parked {
        displace(thread);
    } else if thread.watch.is_on && thread.stop == Stop::Returned {
        // This sees to guarded accesses as well.
        debugging::called(thread);
    } else if thread.stop == Stop::Returned && guarded::is_out_of_step(thread) {
        guarded::guard(thread);
    }
}

/// Stops the strand, whose vat was given away while the strand was outside: it continues when the vat's new owner
/// resumes it.
#[cold]
pub(crate) fn displace(thread: &mut Thread) {
    if thread.stop == Stop::Returned {
        preempt(thread);
    }
    match thread.stop {
        // The native thread that waits for C's callback handles this.
        Stop::Crossed => return,
        Stop::Preempted => {}
        Stop::Switched => {
            thread.state = thread.resumption;
            preempt(thread);
        }
        stop => stop_later(thread, stop),
    }
    thread.stop = Stop::Displaced;
}

fn carry_out(thread: &mut Thread, site: &'static Site, outcome: Outcome) {
    match outcome {
        Outcome::Return(value) => complete(thread, site, value),
        Outcome::Send(selector) => send_message(thread, site, selector, Visibility::Public),
        Outcome::Evaluate => {
            let window = message_window(thread);
            evaluate(thread, site, window);
        }
        Outcome::Call(function) => {
            let window = message_window(thread);
            enter(thread, site, function, window);
        }
        Outcome::Fail(failure) => fail(thread, site, failure),
        Outcome::Resume => {}
        Outcome::Park => thread.vm.services.parked(thread),
        Outcome::Yield(value) => {
            complete(thread, site, value);
            thread.vm.services.yields(thread);
        }
        Outcome::Move(value) => {
            complete(thread, site, value);
            thread.gives_way = true;
            preempt(thread);
        }
        Outcome::Exit(code) => exit(thread, code),
        Outcome::Guard(value) => {
            complete(thread, site, value);
            guarded::guard(thread);
        }
    }
}

/// Ends the program.
pub fn exit(thread: &mut Thread, code: i32) {
    thread.vm.end(code);
    stop(thread, Stop::Killed);
}

/// The thread's message as a window; its words are roots and do not move.
fn message_window(thread: &mut Thread) -> Window {
    // SAFETY: the message is not changed while the window is used: its user copies the words into a frame before the
    // message is written again.
    unsafe { Window::new(thread.message.as_mut_ptr(), thread.message.len()) }
}

/// Runs the closure in the window's first word with the others as arguments.
pub fn evaluate(thread: &mut Thread, site: &'static Site, window: Window) {
    let Some(closure) = block::closure(window.get(0)) else {
        return fail(thread, site, Failure::argument(window.get(0)));
    };
    let function = block::closure_function(closure);
    if function.arguments as usize != window.len() {
        let given = Word::from_small_integer_unchecked(window.len() as i64 - 1);
        return fail(
            thread,
            site,
            Failure::with(FailureReason::ArgumentCount, window.get(0), given),
        );
    }
    enter(thread, site, function, window);
}

/// Runs the closure in the thread's message with the other words as arguments.
pub fn evaluate_message(thread: &mut Thread, site: &'static Site) {
    let window = message_window(thread);
    evaluate(thread, site, window);
}

/// Starts a function with the words of the thread's message.
pub fn enter_message(thread: &mut Thread, site: &'static Site, function: &'static Function) {
    let window = message_window(thread);
    enter(thread, site, function, window);
}

/// Sends the thread's message as the send at the site `origin` would, to return to `site`.
pub fn send_from(thread: &mut Thread, site: &'static Site, origin: &'static Site) {
    let entry = look_up(thread, origin, thread.message[0]);
    let window = message_window(thread);
    if matches!(entry.action, Action::Missing) {
        return match origin.selector() {
            Some(selector) => not_understood_selector(thread, site, selector, window),
            None => fail(thread, site, Failure::argument(window.get(0))),
        };
    }
    perform(thread, site, entry.action, window);
}

/// Sends the thread's message, which reaches protected members as well.
pub fn send_past_visibility(thread: &mut Thread, site: &'static Site, selector: Symbol) {
    send_message(thread, site, selector, Visibility::Protected);
}

/// Sends the thread's message, which reaches members of at least this visibility: the VM's own
/// messages are to protected ones as well.
fn send_message(thread: &mut Thread, site: &'static Site, selector: Symbol, least: Visibility) {
    let vm = thread.vm;
    let layout = known::layout_of(thread.message[0]);
    let Some(behavior) = vm.behavior_of_layout(layout) else {
        return fail(thread, site, Failure::argument(thread.message[0]));
    };
    let entry = match least {
        Visibility::Public => vm.lookups.public(layout, behavior, selector),
        _ => vm.lookups.lexical(layout, behavior, selector),
    };
    if vm.options.tracing.sends {
        tracing::sent(thread, site, behavior, selector);
    }
    let window = message_window(thread);
    if matches!(entry.action, Action::Missing) {
        return not_understood_selector(thread, site, selector, window);
    }
    perform(thread, site, entry.action, window);
}

/// Does for the thread's message the action that a lookup has found.
pub fn send_found(thread: &mut Thread, site: &'static Site, entry: &'static CacheEntry) {
    let window = message_window(thread);
    perform(thread, site, entry.action, window);
}

/// Signals the exception that goes with a failure.
#[cold]
pub fn fail(thread: &mut Thread, site: &'static Site, failure: Failure) {
    if failure.is_elsewhere() {
        return;
    }
    if sandbox::is_over(thread) {
        return unwind::kill(thread);
    }
    let roots = &thread.vm.roots;
    match failure.reason {
        FailureReason::OutOfMemory => return signal_prepared(thread, site, &roots.out_of_memory),
        FailureReason::StackOverflow => {
            return signal_prepared(thread, site, &roots.stack_overflow);
        }
        _ => {}
    }
    let selector = failure.reason.selector();
    let details = [failure.first, failure.second].map(|detail| presentable(thread, detail));
    let arguments = details.into_iter().take(selector.matches(':').count());
    let kernel = thread.vm.roots.kernel.get();
    thread.message.clear();
    thread.message.extend([kernel].into_iter().chain(arguments));
    let selector = thread.vm.symbol(selector);
    send_message(thread, site, selector, Visibility::Protected);
}

/// The word, or nil for an object that is none of the language: a context or a marker, which untrusted bytecode may use
/// as one.
fn presentable(thread: &Thread, word: Word) -> Word {
    let is_object = thread.vm.behavior_of_layout(known::layout_of(word)).is_some();
    if is_object { word } else { Word::NIL }
}

/// Signals an exception that exists without running guest code, for which there may be no room.
fn signal_prepared(thread: &mut Thread, site: &'static Site, exception: &RootWord) {
    thread.window = Window::NONE;
    stack_traces::record(thread, exception.get(), usize::MAX);
    let outcome = unwind::signal(thread, exception.get());
    finish(thread, site, outcome);
}

/// Tells a receiver that it has no such message.
#[cold]
pub fn not_understood(thread: &mut Thread, site: &'static Site, window: Window) {
    match site.selector() {
        Some(selector) => not_understood_selector(thread, site, selector, window),
        None => fail(thread, site, Failure::argument(window.get(0))),
    }
}

fn not_understood_selector(
    thread: &mut Thread,
    site: &'static Site,
    selector: Symbol,
    window: Window,
) {
    let vm = thread.vm;
    let dnu = vm.symbol("doesNotUnderstand:arguments:");
    if selector == dnu {
        // A class without the root's superclass `Thing` may lack it.
        let missing = if window.len() == 3 { window.get(1) } else { Word::NIL };
        return fail(
            thread,
            site,
            Failure::with(FailureReason::NotUnderstood, window.get(0), missing),
        );
    }
    thread.window = window;
    match arguments_array(thread, selector, window) {
        Ok((receiver, symbol, array)) => {
            thread.message.clear();
            thread.message.extend([receiver, symbol, array]);
            send_message(thread, site, dnu, Visibility::Protected);
        }
        Err(failure) => fail(thread, site, failure),
    }
}

/// The receiver, the selector as an object, and an array of the arguments. *GC point.*
fn arguments_array(
    thread: &mut Thread,
    selector: Symbol,
    window: Window,
) -> Result<(Word, Word, Word), Failure> {
    string::symbol_object(thread, selector)?;
    let class = thread.vm.known_class(KnownClass::Array);
    let count = window.len() - 1;
    let array = allocated(thread.mutator.allocate_array(known::ARRAY, class, count, Word::NIL))?;
    for index in 0..count {
        array.set_element(&mut thread.mutator, index, window.get(index + 1));
    }
    let symbol = string::made_symbol_object(thread.vm, selector);
    Ok((window.get(0), symbol, array.word()))
}

/// Answers a nested class: the slot's contents, or the accessor's result.
fn load_class(
    thread: &mut Thread,
    site: &'static Site,
    slot: u32,
    accessor: &'static Function,
    window: Window,
) {
    let class = window.get(0).as_object().map_or(Word::NIL, |object| object.slot(slot as usize));
    if class != Word::NIL {
        return complete(thread, site, class);
    }
    let found = match thread.watch.is_on {
        true => thread.vm.services.class_in_slot(thread, window, slot as usize, accessor),
        false => ClassSlot::Empty,
    };
    match found {
        ClassSlot::Empty => enter(thread, site, accessor, window),
        ClassSlot::Filled(class) => complete(thread, site, class),
        ClassSlot::Later(outcome) => finish(thread, site, outcome),
    }
}

/// The initializer of arrays: answers an array of the receiver's class and the argument's size.
fn initialize_array(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let size = number::size_argument(window.get(1))?;
    let receiver = window.get(0).as_object().ok_or(Failure::argument(window.get(0)))?;
    let (layout, class) = (receiver.layout(), receiver.class());
    if !layout.format().has_elements() {
        return Err(Failure::argument(window.get(0)));
    }
    thread.window = window;
    allocated(thread.mutator.allocate_array(layout, class, size, Word::NIL)).map(Object::word)
}

/// The primitive of a site that belongs to a `primitive` instruction.
pub fn primitive_of(site: &Site) -> &'static Primitive {
    // SAFETY: the linker stored the address of an immortal primitive in the sites of these
    // instructions.
    unsafe { &*(site.callee.load(Ordering::Relaxed) as *const Primitive) }
}

/// A closure returns from an activation that has ended: its receiver is asked for the answer.
///
/// The receiver is the closure's first captured value; the answer is the closure's.
pub fn escape(thread: &mut Thread) {
    let activation = thread.activation();
    // SAFETY: only block functions return from elsewhere; their register 0 is the closure.
    let closure = unsafe { activation.register(0).read() };
    let receiver = block::closure(closure)
        .filter(|object| object.length() > block::FIRST_CAPTURED)
        .map_or(Word::NIL, |object| object.element(block::FIRST_CAPTURED));
    thread.message.clear();
    thread.message.extend([receiver, closure]);
    // The answer is returned like the closure's own: the send's site is that of the closure's call.
    let site = unwind::leave_activation(thread);
    let selector = thread.vm.symbol("escapedBlock:");
    send_message(thread, site, selector, Visibility::Protected);
}

/// The class object at the end of a site's path, for `enclosing` and `load_captures`.
pub fn class_on_path(
    thread: &mut Thread,
    site: &'static Site,
    object: Word,
) -> Result<Object, Failure> {
    let entry = look_up(thread, site, object);
    let path = match entry.action {
        Action::Enclosing(path) | Action::Captures(path) => path,
        _ => return Err(Failure::argument(object)),
    };
    classes::follow(path, object, thread).ok_or(Failure::argument(object))
}

/// Notes the stop of a strand, and its value, when its vat was given away while it was outside: only the vat's owner
/// may handle its end.
pub fn stop_later(thread: &mut Thread, stop: Stop) {
    let strand = thread.strand();
    let value = thread.running().result();
    strand.set_slot(&mut thread.mutator, strand::slots::VALUE, value);
    preempt(thread);
    thread.running().set_standing(Standing::Stopped(stop));
}
