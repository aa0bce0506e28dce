//! Helpers: what machine code leaves to Rust. The stubs call them, and do what they answer.
//!
//! Each gets the thread and the frame of the running activation. One that may reach a GC point, call or fail saves the
//! state first, as the contract of tiers asks, and then compares where the strand is with where it would be if nothing
//! special had happened.
//!
//! # Safety
//!
//! Machine code calls these functions, for the activation that runs on the thread: the frame is its frame, complete; pc
//! and function are where it stands; a site is the one of the instruction, whose window is filled; and registers are the
//! operands of the instruction, which the verifier has checked. Between the thread's reference and the frame's words
//! there is no aliasing: the frame is no part of the thread.

mod leaves;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use squall_bytecode::decode::Instruction;
use squall_bytecode::entities::FunctionId;
use squall_bytecode::instructions::{Field, Opcode};
use squall_compiler::code::Start;
use squall_heap::{LayoutId, TAG_MASK, TAG_POINTER, Word};
use squall_runtime::tiers::block;
use squall_runtime::tiers::calls;
use squall_runtime::tiers::classes;
use squall_runtime::tiers::function::{CodeKind, Function, NOWHERE, Site};
use squall_runtime::tiers::known;
use squall_runtime::tiers::messages;
use squall_runtime::tiers::number;
use squall_runtime::tiers::outcome::{Failure, Outcome};
use squall_runtime::tiers::polls;
use squall_runtime::tiers::primitive::{Primitive, Shape};
use squall_runtime::tiers::processes::{self, Waited};
use squall_runtime::tiers::switches::Answer;
use squall_runtime::tiers::thread::{State, Stop, Thread, Window, allocated};
use squall_runtime::tiers::tier::Interpreter;
use squall_runtime::tiers::transaction;
use squall_runtime::tiers::values;

use crate::absence::{self, AbsentObject};
use crate::chaos;
use crate::code::Code;
use crate::code::units::ExitRecord;
use crate::compiler;
use crate::resume::{self, Place};
use crate::stubs::{GuardedAccesses, Helpers, Next};

/// The interpreter that runs single instructions.
static INTERPRETER: OnceLock<&'static dyn Interpreter> = OnceLock::new();

/// Sets the interpreter, once, before machine code runs.
pub fn set_interpreter(interpreter: &'static dyn Interpreter) {
    _ = INTERPRETER.set(interpreter);
}

/// The table of all helpers.
pub fn table() -> Helpers {
    Helpers {
        helpers: [
            primitive as *const () as usize,
            meet as *const () as usize,
            step as *const () as usize,
            poll as *const () as usize,
            make_closure as *const () as usize,
            make_context as *const () as usize,
            make_home as *const () as usize,
            make_array as *const () as usize,
            instantiate as *const () as usize,
            check_value as *const () as usize,
            send_eventually as *const () as usize,
            read as *const () as usize,
            write as *const () as usize,
            give_way as *const () as usize,
            sample as *const () as usize,
        ],
        executors: [
            execute as *const () as usize,
            meet as *const () as usize,
            execute_make_closure as *const () as usize,
            execute_make_context as *const () as usize,
            execute_make_home as *const () as usize,
            execute_make_array as *const () as usize,
            execute_instantiate as *const () as usize,
            execute_check_value as *const () as usize,
            execute_send_eventually as *const () as usize,
        ],
        send_primitive: send_primitive as *const () as usize,
        send: send as *const () as usize,
        leave_unit: leave_unit as *const () as usize,
        make_and_leave: make_and_leave as *const () as usize,
        log: log as *const () as usize,
        leaf: leaves::leaf as *const () as usize,
        short_form: leaves::short_form as *const () as usize,
        cold_entry: cold_entry as *const () as usize,
        slow_entry: slow_entry as *const () as usize,
        leave_chunk: leave_chunk as *const () as usize,
        slot_written: leaves::slot_written as *const () as usize,
        admit: leaves::admit as *const () as usize,
        take_memory: leaves::take_memory as *const () as usize,
        charge_copy: leaves::charge_copy as *const () as usize,
        draw_fuel: leaves::draw_fuel as *const () as usize,
        element_written: leaves::element_written as *const () as usize,
        accesses: GuardedAccesses {
            load_slot: leaves::load_slot as *const () as usize,
            store_slot: leaves::store_slot as *const () as usize,
            load_element: leaves::load_element as *const () as usize,
            store_element: leaves::store_element as *const () as usize,
        },
        immediate_layouts: immediate_layouts() as usize,
    }
}

const LEAVE: Next = Next { kind: Next::LEAVE, operand: 0 };

/// The layouts of immediate words, by their lowest five bits: three of the tag, and two that tell nil from the booleans.
fn immediate_layouts() -> *const u32 {
    static LAYOUTS: OnceLock<[u32; 32]> = OnceLock::new();
    let layout = |bits: usize| match bits as u64 & TAG_MASK {
        // There is no object at such an address.
        TAG_POINTER => LayoutId::NONE.bits(),
        // SAFETY: the bits are not those of a pointer.
        _ => known::layout_of(unsafe { Word::from_bits(bits as u64) }).bits(),
    };
    LAYOUTS.get_or_init(|| std::array::from_fn(layout)).as_ptr()
}

/// Saves the state at an instruction of an activation.
fn stand(thread: &mut Thread, frame: *mut Word, function: *const Function, pc: *const AtomicU32) {
    thread.state = State { pc, frame, function };
}

/// Saves the state in the call of a site.
fn stand_at(thread: &mut Thread, frame: *mut Word, site: &'static Site) {
    let function = site.function();
    debug_assert!((site.pc as usize) < function.code.len());
    // A site is that of an instruction of its function.
    stand(thread, frame, function, function.code.as_ptr().wrapping_add(site.pc as usize));
}

/// What machine code does next if the strand is not where its code would go on by itself: it unwinds, is in an activation
/// without a native frame, or gave its place to another one.
#[inline(always)]
fn elsewhere(thread: &mut Thread) -> Next {
    if thread.stop != Stop::Returned || chaos::strikes() {
        return LEAVE;
    }
    match resume::place(thread) {
        Place::Machine(address) => {
            resume::note_around(thread);
            Next { kind: Next::RESUME, operand: address as u64 }
        }
        _ => LEAVE,
    }
}

/// What machine code does next, given where the strand is after a call at this site in this frame.
fn after_call(thread: &mut Thread, frame: *mut Word, site: &'static Site) -> Next {
    let state = thread.state;
    if thread.stop != Stop::Returned {
        return LEAVE;
    }
    if chaos::strikes() {
        return LEAVE;
    }
    if thread.native_stack.is_outdated {
        return elsewhere(thread);
    }
    if state.frame == frame {
        if state.pc == site.return_pc {
            // SAFETY: the site's destination is a register of its function, whose frame this is.
            let value = unsafe { frame.add(usize::from(site.destination)).read() };
            return Next { kind: Next::DONE, operand: value.bits() };
        }
        return jump(thread, site.function);
    }
    // SAFETY: the state has an activation other than the caller's, below whose frame stands a site.
    let is_fresh = state.frame == frame.wrapping_add(usize::from(site.window))
        && unsafe { std::ptr::eq(state.frame.sub(1).cast::<*const Site>().read(), site) };
    if is_fresh { call(thread) } else { elsewhere(thread) }
}

/// Calls the activation in the state, which has just begun, if it has machine code.
fn call(thread: &Thread) -> Next {
    let state = thread.state;
    // SAFETY: the state has an activation, so its function is one, which is immortal.
    let function: &'static Function = unsafe { &*state.function };
    let is_start = std::ptr::eq(state.pc, function.code.as_ptr());
    match compiler::of_hot(thread.vm, function, thread.code_kind()).filter(|_| is_start) {
        Some(code) => Next { kind: Next::CALL, operand: code.body() as u64 },
        None => LEAVE,
    }
}

/// Goes on in the same activation, if the state is in it, at a place that machine code has.
fn jump(thread: &Thread, function: *const Function) -> Next {
    let (state, kind) = (thread.state, thread.code_kind());
    let is_here = thread.stop == Stop::Returned && std::ptr::eq(state.function, function);
    if !is_here || chaos::strikes() {
        return LEAVE;
    }
    // SAFETY: functions are immortal.
    let code = Code::of(unsafe { &*function }, kind);
    let address = code.and_then(|code| code.address(state));
    match address {
        Some(address) => Next { kind: Next::JUMP, operand: address as u64 },
        None => LEAVE,
    }
}

/// A call of a function that has no machine code. Answers its entry if it gets some now; otherwise the state is that of
/// the callee, and the answer 0.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn cold_entry(
    thread: &mut Thread,
    frame: *mut Word,
    function: &'static Function,
) -> usize {
    let code = compiler::of_hot(thread.vm, function, thread.code_kind());
    if let Some(code) = code.filter(|_| !chaos::strikes()) {
        return code.entry;
    }
    // SAFETY: machine code has put the call's site below the frame.
    unsafe { enter(thread, frame, function) };
    0
}

/// Makes the activation with this frame as the runtime does: with a poll, in another chunk if it has to be.
///
/// # Safety
///
/// Below the frame stands the site of the call; the arguments are in the frame.
unsafe fn enter(thread: &mut Thread, frame: *mut Word, function: &'static Function) {
    // SAFETY: the caller's promise; sites are immortal, and the caller's frame is a window's distance below.
    let (site, caller, window) = unsafe {
        let site: &'static Site = &*frame.sub(1).cast::<*const Site>().read();
        let window = Window::new(frame, function.arguments as usize);
        (site, frame.sub(usize::from(site.window)), window)
    };
    stand_at(thread, caller, site);
    calls::enter(thread, site, function, window);
}

/// Where the slow entry of a function goes on.
#[repr(C)]
pub struct Begun {
    /// The address of the function's body, or 0 to abandon the native stack.
    address: usize,
    /// The callee's frame, which may be in a new chunk.
    frame: *mut Word,
}

/// The frame does not fit, or the thread is to poll. Code that counts its polls has counted this one.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn slow_entry(
    thread: &mut Thread,
    frame: *mut Word,
    function: &'static Function,
) -> Begun {
    thread.metering.uncount_entry();
    // SAFETY: as in `cold_entry`.
    unsafe { enter(thread, frame, function) };
    let state = thread.state;
    let has_begun = calls::has_begun(thread, function);
    let is_full = (&raw const state).addr() < thread.native_stack.floor;
    let code = Code::of(function, thread.code_kind());
    match code.filter(|_| has_begun && !is_full && !chaos::strikes()) {
        Some(code) => Begun { address: code.body(), frame: state.frame },
        None => Begun { address: 0, frame },
    }
}

/// The first activation of a chunk has returned to machine code.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn leave_chunk(thread: &mut Thread) {
    thread.stack().pop();
    thread.reset_limit();
}

/// A send whose window is complete.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn send(thread: &mut Thread, frame: *mut Word, site: &'static Site) -> Next {
    stand_at(thread, frame, site);
    // SAFETY: the verifier has shown the window to be inside the frame, and machine code has filled it.
    let window =
        unsafe { Window::new(frame.add(usize::from(site.window)), usize::from(site.arguments)) };
    let entry = calls::look_up(thread, site, window.get(0));
    calls::perform(thread, site, entry.action, window);
    after_call(thread, frame, site)
}

/// A send whose receiver's layout the site knows, with a primitive as its action.
///
/// # Safety
///
/// As the [module's head](self) says; the primitive is the one of the site's entry.
pub unsafe extern "C" fn send_primitive(
    thread: &mut Thread,
    frame: *mut Word,
    site: &'static Site,
    primitive: &'static Primitive,
) -> Next {
    // SAFETY: as in `send`.
    let window =
        unsafe { Window::new(frame.add(usize::from(site.window)), usize::from(site.arguments)) };
    if let Some(value) = primitive.run_leaf(thread.vm, window).filter(|_| !chaos::strikes()) {
        return Next { kind: Next::DONE, operand: value.bits() };
    }
    if primitive.short_form().is_some()
        && let Some(value) = run_short_form(thread, primitive, window)
    {
        return Next { kind: Next::DONE, operand: value.bits() };
    }
    if thread.is_guarded && transact(thread, frame, site, primitive.shape) {
        return Next { kind: Next::DONE, operand: Word::NIL.bits() };
    }
    stand_at(thread, frame, site);
    if primitive.shape == Shape::Effect && thread.transaction.is_some() {
        calls::run_primitive(thread, site, primitive, window);
        return after_call(thread, frame, site);
    }
    match calls::run_bare_primitive(thread, site, primitive, window) {
        None => after_call(thread, frame, site),
        Some(value) if chaos::strikes() => {
            calls::finish(thread, site, Outcome::Return(value));
            LEAVE
        }
        Some(value) => Next { kind: Next::DONE, operand: value.bits() },
    }
}

/// What the short form of a primitive answers for the words of a window.
fn run_short_form(
    thread: &mut Thread,
    primitive: &'static Primitive,
    window: Window,
) -> Option<Word> {
    let word = |index| if index < window.len() { window.get(index) } else { Word::NIL };
    leaves::run_short_form(thread, primitive, [word(0), word(1), word(2), word(3)])
}

/// Begins or ends a transaction, if a primitive of this shape does that and no rare case applies; answers whether it has.
fn transact(thread: &mut Thread, frame: *mut Word, site: &'static Site, shape: Shape) -> bool {
    let function = site.function();
    match shape {
        _ if chaos::strikes() => false,
        Shape::Begin => {
            let pc = &raw const function.code[site.pc as usize];
            transaction::try_begin(thread, pc, frame, function)
        }
        Shape::Commit => transaction::try_commit(thread),
        _ => false,
    }
}

/// A `primitive` instruction.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn primitive(
    thread: &mut Thread,
    frame: *mut Word,
    site: &'static Site,
) -> Next {
    let primitive = calls::primitive_of(site);
    if thread.is_guarded && transact(thread, frame, site, primitive.shape) {
        return Next { kind: Next::DONE, operand: Word::NIL.bits() };
    }
    stand_at(thread, frame, site);
    // SAFETY: as in `send`.
    let window =
        unsafe { Window::new(frame.add(usize::from(site.window)), usize::from(site.arguments)) };
    calls::run_primitive(thread, site, primitive, window);
    after_call(thread, frame, site)
}

/// A `primitive` instruction whose primitive has a direct form.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn meet(thread: &mut Thread, frame: *mut Word, site: &'static Site) -> Next {
    let direct_form = calls::primitive_of(site).direct_form();
    if let Some(form) = direct_form.filter(|_| !chaos::strikes()) {
        stand_at(thread, frame, site);
        // SAFETY: as in `send`.
        let window = unsafe {
            Window::new(frame.add(usize::from(site.window)), usize::from(site.arguments))
        };
        if let Some(waited) = processes::meet(thread, site, form, window) {
            return after_waiting(thread, frame, site, waited);
        }
    }
    // SAFETY: as the caller promises.
    unsafe { primitive(thread, frame, site) }
}

/// An eventual send.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn send_eventually(
    thread: &mut Thread,
    frame: *mut Word,
    site: &'static Site,
) -> Next {
    let instruction = site.function().code[site.pc as usize].load(Ordering::Relaxed);
    let wants_result = instruction as u8 == Opcode::SendEventual as u8;
    // SAFETY: as in `send`.
    let window =
        unsafe { Window::new(frame.add(usize::from(site.window)), usize::from(site.arguments)) };
    if !wants_result && messages::send_plainly(thread, site, window) {
        return Next { kind: Next::DONE, operand: Word::NIL.bits() };
    }
    stand_at(thread, frame, site);
    messages::send_in_general(thread, site, window, wants_result);
    after_call(thread, frame, site)
}

/// Runs an instruction by the interpreter.
fn interpret(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
) {
    stand(thread, frame, function, pc);
    if let Some(interpreter) = INTERPRETER.get() {
        interpreter.step(thread);
    }
}

/// An instruction without a call.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn step(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
) -> Next {
    interpret(thread, frame, pc, function);
    if thread.state.frame != frame || thread.native_stack.is_outdated {
        return elsewhere(thread);
    }
    jump(thread, function)
}

/// What machine code does next after an instruction that may have waited.
#[inline(always)]
fn after_waiting(
    thread: &mut Thread,
    frame: *mut Word,
    site: &'static Site,
    waited: Waited,
) -> Next {
    match waited {
        Waited::Done(value) if !chaos::strikes() => {
            Next { kind: Next::DONE, operand: value.bits() }
        }
        Waited::After(answer) => answered(thread, answer),
        waited => {
            waited.complete(thread, site);
            completed(thread, frame, site)
        }
    }
}

/// What machine code does next where the state is that after an instruction at this site, unless the strand is elsewhere.
fn completed(thread: &mut Thread, frame: *mut Word, site: &'static Site) -> Next {
    let state = thread.state;
    if thread.native_stack.is_outdated || state.frame != frame || thread.stop != Stop::Returned {
        return elsewhere(thread);
    }
    if state.pc != site.return_pc || chaos::strikes() {
        return jump(thread, site.function);
    }
    let operand = match site.destination {
        NOWHERE => 0,
        // SAFETY: the site's destination is a register of its function, whose frame this is; it may be a raw one.
        destination => unsafe { frame.add(usize::from(destination)).cast::<u64>().read() },
    };
    Next { kind: Next::DONE, operand }
}

/// What machine code does next in a strand that has taken another one's place, and goes on after a call.
#[inline(always)]
fn answered(thread: &mut Thread, answer: Answer) -> Next {
    let resumption = answer.site.resumption();
    if resumption == 0 || thread.code_kind() != CodeKind::Bare || chaos::strikes() {
        answer.complete(thread);
        return elsewhere(thread);
    }
    thread.native_stack.value = answer.value.bits();
    resume::note_around_bare(thread);
    let address = thread.native_stack.code + resumption as usize;
    Next { kind: Next::RESUME, operand: address as u64 }
}

/// `read`, from the channel in a register.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn read(
    thread: &mut Thread,
    frame: *mut Word,
    site: &'static Site,
    channel: usize,
) -> Next {
    stand_at(thread, frame, site);
    let waited = processes::read(thread, site, channel);
    after_waiting(thread, frame, site, waited)
}

/// `write`, of a register to the channel in another one.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn write(
    thread: &mut Thread,
    frame: *mut Word,
    site: &'static Site,
    channel: usize,
    value: usize,
) -> Next {
    stand_at(thread, frame, site);
    let waited = processes::write(thread, site, channel, value);
    after_waiting(thread, frame, site, waited)
}

/// `yield`.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn give_way(
    thread: &mut Thread,
    frame: *mut Word,
    site: &'static Site,
) -> Next {
    stand_at(thread, frame, site);
    let waited = processes::give_way(thread, site);
    after_waiting(thread, frame, site, waited)
}

/// A poll before an instruction, at the turn of a loop.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn poll(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
) -> Next {
    stand(thread, frame, function, pc);
    polls::poll(thread);
    if thread.state.frame != frame || thread.native_stack.is_outdated {
        return elsewhere(thread);
    }
    jump(thread, function)
}

/// Writes what an instruction without a site has made, or fails.
fn made(
    thread: &mut Thread,
    frame: *mut Word,
    destination: usize,
    result: Result<Word, Failure>,
) -> Next {
    match result {
        Ok(value) if chaos::strikes() => {
            let words = thread.activation().instruction_words();
            calls::complete_here(thread, destination, words, Ok(value));
            LEAVE
        }
        Ok(value) => {
            // SAFETY: the destination is a register of the function whose frame this is.
            unsafe { frame.add(destination).write(value) };
            Next { kind: Next::DONE, operand: value.bits() }
        }
        Err(failure) => {
            calls::fail_here(thread, failure);
            LEAVE
        }
    }
}

/// `make_closure`, of the words from `first` on.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn make_closure(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
    body: &'static Function,
    fields: u64,
) -> Next {
    stand(thread, frame, function, pc);
    let [destination, first, count] = [fields, fields >> 8, fields >> 16].map(|f| f as u8 as usize);
    // SAFETY: the verifier has shown the range to be inside the frame and initialised.
    let captured = unsafe { Window::new(frame.add(first), count) };
    let closure = block::make_closure(thread, body, captured);
    made(thread, frame, destination, closure)
}

/// `make_context`.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn make_context(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
    destination: usize,
    size: usize,
) -> Next {
    stand(thread, frame, function, pc);
    let context = block::make_context(thread, size);
    made(thread, frame, destination, context)
}

/// `make_home`.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn make_home(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
    destination: usize,
) -> Next {
    stand(thread, frame, function, pc);
    let home = block::make_home(thread, frame);
    made(thread, frame, destination, home)
}

/// `make_array`.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn make_array(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
    destination: usize,
    size: usize,
) -> Next {
    stand(thread, frame, function, pc);
    let class = thread.vm.known_class(known::KnownClass::Array);
    let array = allocated(thread.mutator.allocate_array(known::ARRAY, class, size, Word::NIL));
    made(thread, frame, destination, array.map(Word::from))
}

/// `instantiate`, of the class in the register `class`.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn instantiate(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
    destination: usize,
    class: usize,
) -> Next {
    stand(thread, frame, function, pc);
    // SAFETY: the verifier has shown that it is a register with a word.
    let class = unsafe { frame.add(class).read() };
    let object = classes::instantiate(thread, class);
    made(thread, frame, destination, object)
}

/// `check_value`, of the object in the register `object`.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn check_value(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
    object: usize,
) -> Next {
    // SAFETY: the verifier has shown that it is a register with a word.
    let word = unsafe { frame.add(object).read() };
    if !values::must_be_checked(thread.vm, word) {
        return Next { kind: Next::DONE, operand: 0 };
    }
    stand(thread, frame, function, pc);
    // STAYS: word: the check collects only if it fails, and then the object is not used again.
    let checked = values::check(thread, word);
    made(thread, frame, object, checked.map(|()| word))
}

/// A sample before an instruction, at the beginning of a function or of a loop's turn.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn sample(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
    is_loop: bool,
) -> Next {
    stand(thread, frame, function, pc);
    let index = function.pc_index(pc);
    let start = if is_loop { Start::Loop(index as u32) } else { Start::Function };
    // SAFETY: the frame has that many words, and nothing changes them meanwhile.
    let words = unsafe { std::slice::from_raw_parts(frame, function.register_types.len()) };
    let code = Code::of(function, thread.code_kind());
    let unit = code.and_then(|code| compiler::sample(thread, code, start, words));
    if unit.is_some() && !is_loop {
        thread.metering.uncount_entry();
    }
    match unit {
        Some(unit) => Next { kind: Next::UNIT, operand: unit.entry as u64 },
        None => jump(thread, function),
    }
}

/// Leaves a unit by this exit, with the native stack abandoned.
///
/// # Safety
///
/// The exit belongs to the unit that is left, and the frame is the unit's, in which its state is complete.
pub unsafe extern "C" fn leave_unit(
    thread: &mut Thread,
    frame: *mut Word,
    exit: &'static ExitRecord,
) {
    let Some(destination) = exit.destination() else { return };
    let function = destination.function;
    // SAFETY: the unit's frame has the innermost activation's at this distance.
    let innermost = unsafe { frame.add(destination.offset as usize) };
    stand(thread, innermost, function, &raw const function.code[destination.pc as usize]);
    if exit.is_exhausted() {
        compiler::end_patience(thread.vm, destination, exit);
    }
}

/// Leaves a unit by an exit that makes objects, with the native stack abandoned: boxes of doubles, and objects that are
/// absent from the unit. *GC point*.
///
/// # Safety
///
/// The same as for [`leave_unit`], but the places that the exit lists hold raw doubles and parts of objects.
pub unsafe extern "C" fn make_and_leave(
    thread: &mut Thread,
    frame: *mut Word,
    exit: &'static ExitRecord,
) {
    let Some(destination) = exit.destination() else { return };
    let objects = &destination.objects;
    for &place in objects.iter().flat_map(AbsentObject::places) {
        // SAFETY: it is a place of the unit's frame, which only this thread uses. The collector may see it from now on.
        unsafe { frame.add(place as usize).write(Word::NIL) };
    }
    let take = |&place: &u32| {
        // SAFETY: it is a place of the unit's frame, which only this thread uses, and has a double, or had one and is
        // nil from now on, which the collector may see.
        unsafe {
            let place = frame.add(place as usize);
            let value = place.cast::<f64>().read();
            place.write(Word::NIL);
            (place, value)
        }
    };
    let doubles: Vec<(*mut Word, f64)> = destination.doubles.iter().map(take).collect();
    // SAFETY: the frame is complete: what is still missing is nil.
    unsafe { leave_unit(thread, frame, exit) };
    let (first, count) = destination.parts;
    // SAFETY: the unit's frame has these words, above those of its activations. All were written before.
    thread.window = unsafe { Window::new(frame.add(first as usize), count as usize) };
    let made = make_boxes(thread, doubles);
    // SAFETY: the frame is the unit's, and the collector updates the window.
    let made = made.and_then(|()| unsafe { absence::make(thread, frame, objects) });
    thread.window = Window::NONE;
    if let Err(failure) = made {
        calls::fail_here(thread, failure);
    }
}

/// Writes the words of doubles into their places in the frame of a unit that was left. *GC point*.
fn make_boxes(thread: &mut Thread, doubles: Vec<(*mut Word, f64)>) -> Result<(), Failure> {
    for (place, value) in doubles {
        let word = number::make_double(thread, value)?;
        // SAFETY: only this thread uses the frame, and the stack does not move while the activation is there.
        unsafe { place.write(word) };
    }
    Ok(())
}

/// The rest of the barrier after a store by optimised code.
///
/// # Safety
///
/// As the [module's head](self) says.
pub unsafe extern "C" fn log(thread: &mut Thread, object: Word) {
    // SAFETY: machine code has stored into the object.
    let object = unsafe { object.object_unchecked() };
    thread.mutator.remember(object);
}

/// Executes an instruction of optimised code, which finds and leaves values in the frame. Answers the value of the
/// register that it defines, or whether it jumped.
///
/// # Safety
///
/// As the [module's head](self) says, where the frame holds what the instruction needs.
pub unsafe extern "C" fn execute(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
) -> Next {
    let index = function.pc_index(pc);
    interpret(thread, frame, pc, function);
    let state = thread.state;
    if thread.stop != Stop::Returned || chaos::strikes() {
        return LEAVE;
    }
    let Ok(instruction) = Instruction::decode(&function.bytecode().code, index) else {
        return LEAVE;
    };
    if thread.native_stack.is_outdated {
        return elsewhere(thread);
    }
    if state.frame == frame && std::ptr::eq(state.function, function) {
        return executed(function, frame, &instruction, function.pc_index(state.pc));
    }
    let window = instruction.window().map_or(0, |window| window.index());
    // SAFETY: the state has an activation, and below its frame stands a site.
    let is_fresh = window > 0
        && state.frame == frame.wrapping_add(window)
        && unsafe {
            let site = state.frame.sub(1).cast::<*const Site>().read();
            std::ptr::eq((*site).function, function)
        };
    if is_fresh { call(thread) } else { elsewhere(thread) }
}

/// What comes of an instruction after which the activation goes on at `next`.
fn executed(function: &Function, frame: *mut Word, instruction: &Instruction, next: usize) -> Next {
    let jumps = instruction.targets().any(|target| target as usize == next);
    let operand = match instruction.effects().defines {
        _ if jumps => 1,
        _ if next != instruction.next_pc() => return LEAVE,
        _ if instruction.targets().next().is_some() => 0,
        Some(register) => {
            debug_assert!(register.index() < function.register_types.len());
            // SAFETY: it is a register of the function, whose frame this is; raw registers have any bits.
            unsafe { frame.add(register.index()).cast::<u64>().read() }
        }
        None => 0,
    };
    Next { kind: Next::DONE, operand }
}

/// A helper of optimised code that decodes its instruction, and calls the one of base code.
macro_rules! executors {
    ($($(#[doc = $doc:literal])* $name:ident, $words:ident => $call:expr;)*) => {
        $($(#[doc = $doc])*
        ///
        /// # Safety
        ///
        /// As for [`execute`].
        pub unsafe extern "C" fn $name(
            thread: &mut Thread,
            frame: *mut Word,
            pc: *const AtomicU32,
            function: &'static Function,
        ) -> Next {
            let $words = &function.bytecode().code[function.pc_index(pc)..];
            // SAFETY: as the caller promises; the operands are those of the instruction.
            unsafe { $call(thread, frame, pc, function) }
        })*
    };
}

executors! {
    /// `make_closure`.
    execute_make_closure, words => |thread, frame, pc, function: &'static Function| {
        let body = function.module.function(FunctionId(Field::X.extract(words)));
        make_closure(thread, frame, pc, function, body, u64::from(words[0] >> 8))
    };
    /// `make_context`.
    execute_make_context, words => |thread, frame, pc, function| {
        let [destination, size] = [Field::A, Field::Bc].map(|field| field.extract(words) as usize);
        make_context(thread, frame, pc, function, destination, size)
    };
    /// `make_home`.
    execute_make_home, words => |thread, frame, pc, function| {
        make_home(thread, frame, pc, function, Field::A.extract(words) as usize)
    };
    /// `make_array`.
    execute_make_array, words => |thread, frame, pc, function| {
        let [destination, size] = [Field::A, Field::X].map(|field| field.extract(words) as usize);
        make_array(thread, frame, pc, function, destination, size)
    };
    /// `instantiate`.
    execute_instantiate, words => |thread, frame, pc, function| {
        let [destination, class] = [Field::A, Field::B].map(|field| field.extract(words) as usize);
        instantiate(thread, frame, pc, function, destination, class)
    };
    /// `check_value`.
    execute_check_value, words => |thread, frame, pc, function| {
        check_value(thread, frame, pc, function, Field::A.extract(words) as usize)
    };
}

/// An eventual send.
///
/// # Safety
///
/// As for [`execute`].
pub unsafe extern "C" fn execute_send_eventually(
    thread: &mut Thread,
    frame: *mut Word,
    pc: *const AtomicU32,
    function: &'static Function,
) -> Next {
    let words = &function.bytecode().code[function.pc_index(pc)..];
    // SAFETY: as the caller promises.
    unsafe { send_eventually(thread, frame, &function.sites[Field::Xlo.extract(words) as usize]) }
}
