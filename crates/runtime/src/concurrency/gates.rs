//! Operations on shared objects in recorded runs and replays: each has its place. In a replay, a strand that comes too early parks
//! before its call or instruction, and executes it again. The primitives of recorded runs, the instructions of processes and
//! transactions call this module.

use parking_lot::MutexGuard;
use squall_heap::Word;

use crate::concurrency::timers;
use crate::concurrency::waiting::{self, Place};
use crate::execution::unwind;
use crate::model::function::Function;
use crate::model::outcome::Outcome;
use crate::model::symbols::Symbol;
use crate::state::replays::inputs::RANDOM;
use crate::state::replays::{Answer, ClassLook, Order, REFUSED, number_of_class, number_of_module};
use crate::state::services::ClassSlot;
use crate::state::strand::StrandRef;
use crate::state::thread::{Thread, Window};

/// The right to an operation on shared objects, until it is [`done`].
pub enum Right {
    /// The recording does not tell of it.
    Outside,
    /// The run is recorded, and this is held.
    Recorded(MutexGuard<'static, u64>),
    /// The run is a replay, and it is the operation's turn.
    Replayed,
}

/// The right to an operation on shared objects; or what the call or instruction is to do meanwhile, which is executed again.
/// *GC point.*
pub fn pass(thread: &mut Thread) -> Result<Right, Outcome> {
    if thread.is_before_end() && unwind::is_cleaning_up(thread) {
        thread.postpone_end();
    }
    match thread.order() {
        Order::Outside => Ok(Right::Outside),
        Order::Recorded(guard) => Ok(Right::Recorded(guard)),
        Order::Open => Ok(Right::Replayed),
        Order::Closed(place) => Err(wait(thread, Some(place))),
        Order::Finished => Err(wait(thread, None)),
        Order::Over => Err(Outcome::Exit(REFUSED)),
    }
}

/// The operation is done.
pub fn done(thread: &mut Thread, right: Right) {
    match right {
        Right::Outside => {}
        Right::Recorded(guard) => drop(guard),
        Right::Replayed => {
            thread.advance();
            timers::wake_by_tape(thread);
        }
    }
}

/// Does an operation on shared objects in its place; or what the call or instruction is to do meanwhile. *GC point.*
pub fn in_order<R>(
    thread: &mut Thread,
    operation: impl FnOnce(&mut Thread) -> R,
) -> Result<R, Outcome> {
    let right = pass(thread)?;
    let result = operation(thread);
    done(thread, right);
    Ok(result)
}

/// The class object in a slot of the window's first word that was empty a moment ago, or that it is to be made. Strands that
/// find the slot empty make the class, at the same time perhaps, and one of these classes stays. So that they do so in a
/// replay, too, the look at the empty slot has a place before that at which it is filled. *GC point.*
pub fn class_in_slot(
    thread: &mut Thread,
    window: Window,
    slot: usize,
    accessor: &Function,
) -> ClassSlot {
    let content = |window: Window| window.get(0).as_object().map_or(Word::NIL, |it| it.slot(slot));
    if thread.transaction.is_some() {
        return ClassSlot::Empty;
    }
    thread.window = window;
    match look(thread, number_of_class(accessor), || content(window) == Word::NIL) {
        Ok(()) if content(window) == Word::NIL => ClassSlot::Empty,
        Ok(()) => ClassSlot::Filled(content(window)),
        Err(outcome) => ClassSlot::Later(outcome),
    }
}

/// The strand has found no instance of a library's module. As for a [class](class_in_slot). *GC point.*
pub fn look_for_module(thread: &mut Thread, name: Symbol) -> Result<(), Outcome> {
    let vm = thread.vm;
    if thread.transaction.is_some() {
        return Ok(());
    }
    let number = number_of_module(vm.modules.symbols.text(name));
    look(thread, number, || vm.roots.registered(name).is_none())
}

/// The strand looks for what has this number, which was not there a moment ago; this tells whether it is so still. What the call is
/// to do if it is to look again later. *GC point.*
fn look(
    thread: &mut Thread,
    number: [u8; 4],
    is_missing: impl FnOnce() -> bool,
) -> Result<(), Outcome> {
    match thread.look_for_class(number, is_missing) {
        ClassLook::Recorded | ClassLook::Outside => Ok(()),
        ClassLook::Empty => in_order(thread, |thread| thread.note_class()),
        ClassLook::Filled if can_ask_again(thread) => Err(begin_again(thread)),
        ClassLook::Filled => Err(Outcome::Exit(REFUSED)),
    }
}

/// What a strand gets that asks for something outside, and that it can go on with; or what its call is to do meanwhile, which is
/// executed again. *GC point.*
pub fn asked(thread: &mut Thread, answer: Answer) -> Result<Answer, Outcome> {
    match answer {
        Answer::Over => Err(Outcome::Exit(REFUSED)),
        Answer::Finished => Err(wait(thread, None)),
        Answer::Later => Err(ask_later(thread)),
        answer => Ok(answer),
    }
}

/// A choice is about to be made, which may be a random one: the recording has the seed.
pub fn choose_seed(thread: &mut Thread) {
    match thread.input(RANDOM) {
        Answer::Ask => {
            let seed = thread.random();
            thread.seed_random(seed);
            thread.note_input(RANDOM, &seed.to_le_bytes());
        }
        Answer::Known(bytes) => {
            if let Ok(seed) = bytes.try_into() {
                thread.seed_random(u64::from_le_bytes(seed));
            }
        }
        _ => {}
    }
}

/// The strand waits until it is its turn by the recording, at this place or never, and makes its call again then. If the strand was
/// ended by another one, which it should have noticed before this call, it ends.
pub fn wait(thread: &mut Thread, place: Option<u64>) -> Outcome {
    if place.is_none() && thread.ends_in_place() {
        return unwind::end_at_once(thread);
    }
    if place.is_none() && thread.over_by_tape() == Some(true) {
        return unwind::end_at_once(thread);
    }
    if place.is_none() && thread.ends_in_transaction() {
        thread.tape_ended_by_other();
        return unwind::end_at_once(thread);
    }
    if !can_ask_again(thread) {
        return Outcome::Exit(REFUSED);
    }
    let strand = thread.strand().object.get();
    let ticket = park_at_gate(thread);
    thread.wait_by_tape(place, strand, ticket);
    Outcome::Park
}

/// Others of the vat go on, and the strand makes its call again when the recording goes on with it.
pub fn ask_later(thread: &mut Thread) -> Outcome {
    if !can_ask_again(thread) {
        return Outcome::Exit(REFUSED);
    }
    let strand = thread.strand();
    let ticket = waiting::park_before(thread, Word::NIL);
    go_last(thread, strand, ticket)
}

/// Others run for a while, but none of the strand's vat, and the strand executes the instruction in the saved state again.
pub fn begin_again(thread: &mut Thread) -> Outcome {
    let strand = thread.strand();
    let ticket = park_at_gate(thread);
    go_last(thread, strand, ticket)
}

/// Parks the strand, with its vat kept for it; answers the ticket.
pub fn park_at_gate(thread: &mut Thread) -> u64 {
    thread.set_at_gate(true);
    let ticket = waiting::park_before(thread, Word::NIL);
    thread.set_at_gate(false);
    ticket
}

/// The strand that was parked with this ticket is ready again, behind others, those of other vats too: what it waits for may be
/// their work.
fn go_last(thread: &mut Thread, strand: StrandRef, ticket: u64) -> Outcome {
    if let Some(claimed) = strand.claim(ticket) {
        waiting::make_ready(thread, claimed, Place::Last);
    }
    thread.schedule.batch = 0;
    Outcome::Park
}

/// Whether the strand can make its call again.
fn can_ask_again(thread: &Thread) -> bool {
    let can = !thread.state.function.is_null();
    if !can {
        thread.diverge("a strand that begins with this call cannot wait for its turn");
    }
    can
}
