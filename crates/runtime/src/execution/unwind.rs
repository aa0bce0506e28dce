//! Unwinding: leaves activations other than by a return, for exceptions and returns from closures, and runs the
//! `ensure:` blocks on the way. Tiers, calls and the primitives for exceptions call it.
//!
//! Exceptions of the dialect unwind before their handler runs and are never resumed. So a signal first *searches* the
//! stack, with no guest code running, for a catch region whose class matches; if there is none the stack is still whole
//! for the report. Then the stack is *unwound*: from the innermost activation outwards, each ensure region that
//! contains the activation's pc gets control with a token, an object that says where the unwinding continues when the
//! handler's `resume_unwind` finds it. A handler that leaves otherwise drops the token.
//!
//! Unwinding happens in steps on the strand's own stack, so handlers may suspend, signal and unwind
//! themselves like any code.
//!
//! Invariant: the destination of an unwinding is an active activation of this strand. A signal finds it there, a home
//! marker names the activation until that is left, and a token never leaves the activation whose handler it was made for:
//! the verifier lets only `resume_unwind` read its register (property 38). So while an instruction can read a token, the
//! token's destination is the activation of this instruction, or one below it on the same stack, which stands where it
//! stood. In the former case the pc may be another one, and [`resume`] checks that the handler still covers it.

use hashbrown::HashMap;
use std::sync::atomic::Ordering;

use squall_bytecode::decode::{Instruction, instructions};
use squall_bytecode::instructions::{Field, Opcode};
use squall_bytecode::liveness::FrameMaps;
use squall_bytecode::module::{Region, RegionKind};
use squall_bytecode::register_set::RegisterSet;
use squall_heap::{Object, Word};

use crate::execution::calls;
use crate::execution::debugging;
use crate::execution::faults;
use crate::execution::stack_traces;
use crate::model::behavior::Behavior;
use crate::model::function::{Function, Site};
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, Outcome};
use crate::objects::classes::{self, behavior_of_class};
use crate::objects::{block, string};
use crate::state::sandbox;
use crate::state::stack::{Activation, CHUNK_HEADER, CHUNK_RESULT, exit_site};
use crate::state::strand::EMBEDDER;
use crate::state::strand::{Role, slots};
use crate::state::thread::{Crossing, Destination};
use crate::state::thread::{State, Stop, Thread, Window};
use crate::state::vm::Vm;

/// Signals an exception from the activation in the saved state.
///
/// If nothing catches it, the kernel's method `uncaught:` is called, which ends the program.
pub fn signal(thread: &mut Thread, exception: Word) -> Outcome {
    let destination = find_handler(thread, exception);
    let exception = match thread.watch.is_on {
        true => debugging::signalled(thread, exception, destination.is_some()),
        false => exception,
    };
    match destination {
        Some(destination) => unwind(thread, destination, exception),
        None => uncaught(thread, exception),
    }
}

/// Returns `value` from the activation that `marker` stands for; `None` if it was left already.
pub fn return_from_home(thread: &mut Thread, marker: Word, value: Word) -> Option<Outcome> {
    let frame = block::home_frame(thread, marker)?;
    Some(unwind(thread, Destination::CallerOf(frame), value))
}

/// Ends the strand: its `ensure:` blocks run, and nothing else; not even these, if its sandbox is over.
pub fn kill(thread: &mut Thread) {
    if thread.watch.is_on && !sandbox::is_over(thread) {
        thread.tape_ended_by_other();
    }
    let outcome = end_at_once(thread);
    // This outcome needs no site: the state stands where the strand goes on.
    calls::finish(thread, exit_site(), outcome);
}

/// As [`kill`], from the call in progress. Answers [`Outcome::Resume`].
pub fn end_at_once(thread: &mut Thread) -> Outcome {
    thread.vm.services.abandon_transaction(thread);
    if thread.watch.is_on {
        match sandbox::is_over(thread) {
            true => thread.vm.services.note_over(thread),
            false => thread.tape_killed(),
        }
    }
    thread.strand().forget_kill();
    // The failure of an `ensure:` block that cannot run for want of memory is an ordinary exception.
    let error =
        thread.sandbox.filter(|sandbox| sandbox.is_over()).map_or(Word::NIL, sandbox::error);
    unwind(thread, Destination::End(Stop::Killed), error)
}

/// Whether an `ensure:` block runs. A strand is not ended at a poll inside one, for it might be all that
/// this block does; it asks again when the block [ends](ensure_ended).
pub fn is_cleaning_up(thread: &Thread) -> bool {
    thread.activations().any(|activation| cleanups_at(activation).next().is_some())
}

/// The ensure regions whose block an activation runs, or is about to run, by their indices.
fn cleanups_at(activation: Activation) -> impl Iterator<Item = usize> {
    let function: &'static Function = activation.function;
    let pc = activation.pc as u32;
    let regions = function.bytecode().regions.iter().enumerate();
    let runs = move |(_, region): &(usize, &Region)| {
        region.kind == RegionKind::Ensure
            && pc >= region.end
            && pc <= end_of_handler(function, region)
    };
    regions.filter(runs).map(|(index, _)| index)
}

/// The `resume_unwind` at which the handler of an ensure region ends.
fn end_of_handler(function: &Function, region: &Region) -> u32 {
    let code = &function.bytecode().code;
    let mut pc = region.handler as usize;
    while let Some(opcode) = code.get(pc).and_then(|&word| Opcode::of_word(word)) {
        let register = code[pc] >> 8 & 0xFF;
        if opcode == Opcode::ResumeUnwind && register == u32::from(region.value.0) {
            break;
        }
        pc += opcode.info().words();
    }
    pc as u32
}

/// An `ensure:` block has ended: if the strand is to end, it does so soon.
#[inline]
pub fn ensure_ended(thread: &Thread) {
    if thread.strand().is_killed() || thread.watch.is_on && thread.ends_by_tape() {
        thread.ask_to_poll();
    }
}

/// Continues the unwinding that a token stands for. Fails if the word is no token, or leads to a handler of the same
/// activation that does not cover the instruction in progress: the registers which that handler needs may be gone.
pub fn resume(thread: &mut Thread, token: Word) -> Outcome {
    let Some(object) = token.as_object().filter(|object| object.layout() == known::UNWIND) else {
        return Failure::argument(token).into();
    };
    let destination = destination_of(object);
    if let Destination::Handler(frame, index) = destination {
        let activation = thread.activation();
        if frame == activation.frame && !regions_at(activation).any(|(at, _)| at == index) {
            return Failure::argument(token).into();
        }
    }
    unwind(thread, destination, object.slot(VALUE))
}

/// Where the unwinding of a token goes on.
fn destination_of(object: Object) -> Destination {
    let frame = object.slot(FRAME).bits() as *mut Word;
    match object.slot(REGION).as_small_integer() {
        Some(region) => Destination::Handler(frame, region as usize),
        None => match object.slot(REGION) {
            Word::TRUE => Destination::End(Stop::Failed),
            Word::FALSE => Destination::End(Stop::Killed),
            _ => Destination::CallerOf(frame),
        },
    }
}

// The slots of a token.
const FRAME: usize = 0;
const REGION: usize = 1;
const VALUE: usize = 2;

fn find_handler(thread: &Thread, exception: Word) -> Option<Destination> {
    let vm = thread.vm;
    let behavior = vm.behavior_of_layout(known::layout_of(exception))?;
    // Thousands of handlers for a few classes, with thousands of superclasses, are looked at once.
    const FEW: usize = 16;
    let (mut answers, mut looks) = (HashMap::new(), 0);
    let mut catches_class = |class: Word| {
        let caught = behavior_of_class(vm, class)?;
        let answer = || classes::are_instances(behavior, caught);
        looks += 1;
        match looks {
            0..FEW => Some(answer()),
            _ => Some(*answers.entry(std::ptr::from_ref(caught)).or_insert_with(answer)),
        }
    };
    thread.activations().find_map(|activation| {
        let catches = |(_, region): &(usize, &Region)| match region.kind {
            RegionKind::Catch(class) => {
                // SAFETY: the verifier has the class register initialised with a word throughout
                // the region; the activation is active.
                let class = unsafe { activation.register(usize::from(class.0)).read() };
                catches_class(class).unwrap_or(false)
            }
            RegionKind::Fault(fault) => faults::is(behavior, fault),
            RegionKind::Ensure => false,
        };
        let (index, _) = regions_at(activation).find(catches)?;
        Some(Destination::Handler(activation.frame, index))
    })
}

/// Whether an object with this behavior is an instance of `class`: by definition, so that a class produced in another
/// enclosing object matches as well. A class object is an instance of `Class`, not of itself.
pub(crate) fn matches(vm: &Vm, behavior: &'static Behavior, class: Word) -> bool {
    behavior_of_class(vm, class).is_some_and(|caught| classes::are_instances(behavior, caught))
}

/// The regions that contain the activation's pc, innermost first, with their indices.
fn regions_at(activation: Activation) -> impl Iterator<Item = (usize, &'static Region)> {
    let pc = activation.pc as u32;
    let regions: &'static [Region] = &activation.function.bytecode().regions;
    let scopes = &activation.function.scopes;
    regions.iter().enumerate().filter(move |(_, region)| {
        region.start <= pc && pc < region.end && scopes.reaches(region, activation.pc)
    })
}

/// Leaves activations until the destination or the next `ensure:` block on the way there, where execution goes on. Always
/// answers [`Outcome::Resume`]. *GC point.*
fn unwind(thread: &mut Thread, destination: Destination, value: Word) -> Outcome {
    let (last, handler) = match destination {
        Destination::Handler(frame, index) => (frame, Some(index)),
        Destination::CallerOf(frame) => (frame, None),
        Destination::End(_) => (std::ptr::null_mut(), None),
    };
    let is_over = sandbox::is_over(thread);
    for activation in thread.activations() {
        let stop = (activation.frame == last).then_some(handler).flatten();
        let ensure = regions_at(activation)
            .take_while(|(index, _)| Some(*index) != stop)
            .find(|(_, region)| region.kind == RegionKind::Ensure && !is_over);
        if let Some((_, region)) = ensure {
            return enter_ensure(thread, activation, region, destination, value);
        }
        if activation.frame == last {
            return arrive(thread, activation, handler, value);
        }
        leave(thread, activation);
        // SAFETY: the activation is active on this thread's stack.
        if let Some(header) = unsafe { activation.callback_header() } {
            return leave_to_c(thread, header, destination, value);
        }
    }
    match destination {
        Destination::End(reason) => end(thread, reason, value),
        Destination::Handler(..) | Destination::CallerOf(_) => {
            unreachable!("an unwinding's destination is active on this stack: see the file's head")
        }
    }
}

/// Stops the strand, whose activations have all been left, with a result.
fn end(thread: &mut Thread, reason: Stop, value: Word) -> Outcome {
    let base = thread.stack().base();
    thread.stack().cut_to(base);
    thread.reset_limit();
    thread.window = Window::NONE;
    thread.state = crate::state::thread::bottom(base);
    // SAFETY: the header of a stack's first chunk has a place for the result.
    unsafe { thread.state.frame.add(CHUNK_RESULT).write(value) };
    calls::stop(thread, reason);
    Outcome::Resume
}

/// Stops the interpreter loop that C has called, all of whose activations have been left.
fn leave_to_c(
    thread: &mut Thread,
    header: *mut Word,
    destination: Destination,
    value: Word,
) -> Outcome {
    thread.crossings.push(Crossing { destination, value });
    thread.stack().cut_to(header.wrapping_add(CHUNK_HEADER));
    thread.reset_limit();
    thread.window = Window::NONE;
    thread.state = crate::state::thread::callback_bottom(header);
    thread.stop = Stop::Crossed;
    Outcome::Resume
}

/// Goes on with an unwinding, from the activation that has called C.
pub fn resume_crossing(thread: &mut Thread, crossing: Crossing) -> Outcome {
    unwind(thread, crossing.destination, crossing.value)
}

/// Releases the writers that wait for the end of a rendezvous around an activation's pc which the handler, if there is
/// one, is not part of.
fn release_writers(thread: &mut Thread, activation: Activation, handler: Option<usize>) {
    let function: &'static Function = activation.function;
    for scope in function.scopes.rendezvous_around(activation.pc) {
        if handler.is_some_and(|pc| scope.code.contains(&pc)) {
            return;
        }
        let Ok(opener) = Instruction::decode(&function.bytecode().code, scope.opener) else {
            return;
        };
        // SAFETY: the verifier has seen to it that the register holds the writer in all of the scope, and
        // the live maps have it there.
        let writer = unsafe { activation.register(opener.register(Field::B).index()).read() };
        thread.vm.services.release_writer(thread, writer);
    }
}

/// Records that an activation is not active any more.
pub(crate) fn leave(thread: &mut Thread, activation: Activation) {
    release_writers(thread, activation, None);
    thread.vm.services.left_activation(thread, activation);
    let function = activation.function;
    let Some(home) = function.home else { return };
    if function.frame_maps().at(activation.pc).contains(home) {
        // SAFETY: the live map has the register initialised with a word.
        let marker = unsafe { activation.register(home.index()).read() };
        block::leave_home(thread, marker);
    }
}

/// Leaves the activations above the one at a depth, which goes on before an instruction. No guest code runs, so none of
/// them may be in an `ensure:` region or its block, none may have been called by C, and none may have begun the transaction
/// that runs; the error says which it was. The registers of the target's variables are given.
pub(crate) fn leave_above(
    thread: &mut Thread,
    depth: usize,
    pc: usize,
    variables: &RegisterSet,
) -> Result<(), &'static str> {
    let activation = thread.activations().nth(depth).ok_or("there is no such frame")?;
    for above in thread.activations().take(depth) {
        let is_ensured = regions_at(above).any(|(_, region)| region.kind == RegionKind::Ensure);
        if is_ensured || cleanups_at(above).next().is_some() {
            return Err("an `ensure:` block of a frame above it would not run");
        }
        if has_begun_transaction(thread, above) {
            return Err("the transaction of a frame above it would not end");
        }
        // SAFETY: the activation is active on this thread's stack.
        if unsafe { above.callback_header() }.is_some() {
            return Err("C has called a frame above it");
        }
    }
    let there = Activation { pc, ..activation };
    let is_ensured = regions_at(there).any(|(_, region)| region.kind == RegionKind::Ensure);
    if has_begun_transaction(thread, activation)
        && !is_ensured
        && cleanups_at(there).next().is_none()
    {
        return Err("its transaction would not end");
    }
    let unset = check_jump(activation, pc, variables)?;
    for above in thread.activations().take(depth) {
        leave(thread, above);
    }
    release_writers(thread, activation, Some(pc));
    for register in unset.iter() {
        // SAFETY: it is an `any` register of this frame, whose activation is active; nothing else refers to it.
        unsafe { activation.register(register.index()).write(Word::NIL) };
    }
    thread.resume_at(activation, pc);
    Ok(())
}

/// Whether the transaction that runs, if one does, was begun in this activation.
fn has_begun_transaction(thread: &Thread, activation: Activation) -> bool {
    let transaction = thread.transaction.as_ref().filter(|transaction| transaction.depth > 0);
    transaction.is_some_and(|transaction| transaction.home.frame == activation.frame)
}

/// Whether an activation may go on at another instruction: it leaves no `ensure:` region or its block, enters no region, and all
/// registers that are read from there on hold words now. Those that are no variables hold parts of a statement, or what a loop
/// needs: the code between the two instructions must not write them. Answers the registers that the collector traces there
/// and that hold no words yet.
fn check_jump(
    activation: Activation,
    pc: usize,
    variables: &RegisterSet,
) -> Result<RegisterSet, &'static str> {
    let there = Activation { pc, ..activation };
    let around = |index: usize, other: Activation| regions_at(other).any(|(at, _)| at == index);
    for (index, region) in regions_at(activation) {
        if region.kind == RegionKind::Ensure && !around(index, there) {
            return Err("it would leave an `ensure:` region whose block would not run");
        }
    }
    if cleanups_at(activation).any(|index| !cleanups_at(there).any(|other| other == index)) {
        return Err("it would leave an `ensure:` block that has not run to its end");
    }
    if regions_at(there).any(|(index, _)| !around(index, activation))
        || cleanups_at(there).any(|index| !cleanups_at(activation).any(|other| other == index))
    {
        return Err("it would enter a region with a handler");
    }
    let function: &'static Function = activation.function;
    let is_around = |opener: usize| {
        function.scopes.rendezvous_around(activation.pc).any(|scope| scope.opener == opener)
    };
    if function.scopes.rendezvous_around(pc).any(|scope| !is_around(scope.opener)) {
        return Err("it would enter a rendezvous");
    }
    let maps = function.frame_maps();
    let here = maps.before(activation.pc);
    // With a debugger, the usual maps have all registers that were ever set.
    let needed = FrameMaps::compute(function.bytecode());
    let is_set = here.includes(&needed.before(pc));
    if !is_set || !maps.raw_before(activation.pc).includes(&needed.raw_before(pc)) {
        return Err("a variable that is used there is not set here");
    }
    let between = activation.pc.min(pc)..activation.pc.max(pc);
    let parts = (needed.before(pc) | needed.raw_before(pc)) - *variables;
    let writes_part = |instruction: Instruction| {
        let effects = instruction.effects();
        !((effects.defined() | effects.destroyed()) & parts).is_empty()
    };
    let mut code = instructions(&function.bytecode().code);
    if code.any(|instruction| between.contains(&instruction.pc) && writes_part(instruction)) {
        return Err("a part of the statement there is computed before that place");
    }
    Ok(maps.before(pc) - here)
}

/// Runs an ensure region's handler, with a token for the rest of the unwinding. *GC point.*
fn enter_ensure(
    thread: &mut Thread,
    activation: Activation,
    region: &'static Region,
    destination: Destination,
    value: Word,
) -> Outcome {
    let token = make_token(thread, destination, value);
    release_writers(thread, activation, Some(region.handler as usize));
    // SAFETY: the region's value register is an `any` register of this frame.
    unsafe { activation.register(usize::from(region.value.0)).write(token) };
    thread.resume_at(activation, region.handler as usize);
    note_arrival(thread);
    Outcome::Resume
}

/// Tells a debugger that the strand has left activations, and stands where it goes on.
#[inline(always)]
fn note_arrival(thread: &mut Thread) {
    if thread.watch.is_on {
        debugging::unwound(thread);
    }
}

/// Makes the token of an unwinding. *GC point.*
fn make_token(thread: &mut Thread, destination: Destination, value: Word) -> Word {
    let class = thread.vm.known_class(KnownClass::Object);
    let mut scope = thread.mutator.scope();
    let value = scope.root(value);
    // An unwinding must not fail for want of memory: the activations that it leaves may hold all of it, and some of
    // them are left already.
    let token = scope.overcommit(|mutator| mutator.allocate_slots(known::UNWIND, class));
    let token =
        token.expect("neither the heap's limit nor a sandbox's bounds small overcommitted objects");
    let (frame, region) = match destination {
        Destination::Handler(frame, index) => {
            (frame, Word::from_small_integer_unchecked(index as i64))
        }
        Destination::CallerOf(frame) => (frame, Word::NIL),
        Destination::End(reason) => (std::ptr::null_mut(), Word::from_bool(reason == Stop::Failed)),
    };
    token.initialize_slot(FRAME, Word::from_address(frame as usize));
    token.initialize_slot(REGION, region);
    token.initialize_slot(VALUE, scope.get(value));
    token.word()
}

fn arrive(
    thread: &mut Thread,
    activation: Activation,
    handler: Option<usize>,
    value: Word,
) -> Outcome {
    let Some(index) = handler else {
        leave(thread, activation);
        // SAFETY: the activation is active.
        unsafe { return_from(thread, activation.frame, value) };
        note_arrival(thread);
        return Outcome::Resume;
    };
    let region = &activation.function.bytecode().regions[index];
    release_writers(thread, activation, Some(region.handler as usize));
    // SAFETY: the region's value register is an `any` register of this frame.
    unsafe { activation.register(usize::from(region.value.0)).write(value) };
    thread.resume_at(activation, region.handler as usize);
    note_arrival(thread);
    Outcome::Resume
}

/// Does the work of a return instruction in the activation with this frame.
///
/// # Safety
///
/// The activation is active, and of the strand that runs on the thread.
pub unsafe fn return_from(thread: &mut Thread, frame: *mut Word, value: Word) {
    thread.stack().cut_to(frame);
    thread.reset_limit();
    thread.window = Window::NONE;
    // SAFETY: below every active frame is the site of its call, whose window and destination lead
    // into the caller's frame or, for the special sites, the chunk's header.
    unsafe {
        let site = &*frame.sub(1).cast::<*const Site>().read();
        let frame = frame.sub(usize::from(site.window));
        frame.add(usize::from(site.destination)).write(value);
        thread.state = State { pc: site.return_pc, frame, function: site.function };
    }
}

/// Ends the strand with an exception, as one that nothing catches and that was reported.
pub fn fail_strand(thread: &mut Thread, exception: Word) -> Outcome {
    unwind(thread, Destination::End(Stop::Failed), exception)
}

/// Ends a strand whose starter is told of its errors; otherwise lets the kernel report an unhandled exception, or
/// reports it directly if there may be no room for that, or if the report itself fails.
#[cold]
fn uncaught(thread: &mut Thread, exception: Word) -> Outcome {
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(exception);
    // A reported exception has happened.
    let happened = thread.vm.services.make_inevitable(thread, "an exception that nothing catches");
    let exception = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    if let Err(outcome) = happened {
        return outcome;
    }
    let vm = thread.vm;
    let reporter = match audience(thread) {
        Audience::Starter => return fail_strand(thread, exception),
        Audience::User(reporter) => {
            if reporter == TURN_FAILED {
                // Only the tests' runner reads it, when no strand runs.
                thread.vm.failed_turns.fetch_add(1, Ordering::Relaxed);
            }
            reporter
        }
        Audience::Program => "uncaught:",
    };
    let kernel = vm.roots.kernel.get();
    let is_prepared = vm.roots.prepared().iter().any(|(_, root)| root.get() == exception);
    if is_prepared {
        return report(thread, exception);
    }
    let Some(reporter) = vm.kernel_method(reporter) else { return report(thread, exception) };
    if thread.activations().any(|activation| std::ptr::eq(activation.function, reporter)) {
        return report(thread, exception);
    }
    thread.message.clear();
    thread.message.extend([kernel, exception]);
    let task = match task_name(thread) {
        Ok(task) => task,
        Err(_) => return report(thread, thread.message[1]),
    };
    thread.message.push(task);
    thread.message.truncate(reporter.arguments as usize);
    Outcome::Call(reporter)
}

/// The name of the running process in reports: its class, or the name of its function. *GC point.*
fn task_name(thread: &mut Thread) -> Result<Word, Failure> {
    let task = thread.strand().slot(slots::TASK);
    match thread.activations().last() {
        Some(first) if thread.strand().role() == Role::Typed => {
            string::make_string(thread, first.function.name())
        }
        _ => Ok(task),
    }
}

/// Reports an exception without running guest code, and ends the program or the process.
fn report(thread: &mut Thread, exception: Word) -> Outcome {
    let behavior = thread.vm.behavior_of_layout(known::layout_of(exception));
    let name = behavior.map_or("an exception without a class", |behavior| behavior.name());
    let (host, trace) = (thread.vm.host(), stack_traces::recorded(thread.vm, exception));
    if matches!(audience(thread), Audience::Program) {
        host.write_output(&format!("{name}\n"));
        host.write_error(&trace);
        return Outcome::Exit(1);
    }
    host.write_error(&format!("{name}\n{trace}"));
    fail_strand(thread, exception)
}

/// Leaves the innermost activation without a result: the state stands at the call that made it,
/// whose site is answered, so that another call can take its place.
///
/// For the first activation of a chunk that is the special site, which serves as well.
pub fn leave_activation(thread: &mut Thread) -> &'static Site {
    let activation = thread.activation();
    // SAFETY: below every active frame is the site of its call; the window leads into the caller's
    // frame or, for the special sites, to the chunk's header.
    let (site, frame) = unsafe {
        let site: &'static Site = &*activation.frame.sub(1).cast::<*const Site>().read();
        (site, activation.frame.sub(usize::from(site.window)))
    };
    thread.state = State { pc: site.return_pc, frame, function: site.function };
    site
}

/// The message to the kernel about an exception in a turn for whose result nothing waits.
const TURN_FAILED: &str = "turnFailed:";

/// The recipient of the report of an unhandled exception.
pub enum Audience {
    /// The strand or native thread that waits for the result.
    Starter,
    /// The user, by this message to the kernel; the program continues.
    User(&'static str),
    /// The user, and the program ends.
    Program,
}

/// The recipient of an unhandled exception in the running strand.
pub fn audience(thread: &Thread) -> Audience {
    let strand = thread.strand();
    let is_turn = || strand.vat().is_some_and(|vat| vat.turn() == Some(strand));
    match (strand.role(), strand.slot(slots::TASK)) {
        (Role::Maker | Role::Process | Role::Typed, _) => Audience::User("processFailed:of:"),
        (Role::Loader | Role::Main | Role::Branch, _) => Audience::Starter,
        (Role::Other, EMBEDDER) => Audience::Program,
        // Threads keep the exception for joining strands, and report it as well.
        (Role::Other, Word::NIL) if is_turn() => Audience::User(TURN_FAILED),
        (Role::Other, _) => Audience::Starter,
    }
}
