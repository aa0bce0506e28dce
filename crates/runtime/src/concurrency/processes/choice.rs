//! `alt`: reads its alternatives and makes the choice. The interpreter's handlers call it.
//!
//! Alternatives are instructions that are read rather than executed ([`squall_bytecode::verifier`] has shown that they
//! are there). They are read once before the choice and once after it: they depend on registers only, which do not
//! change meanwhile.

use std::time::Duration;

use squall_bytecode::decode::Instruction;
use squall_bytecode::instructions::{Field, Opcode};
use squall_heap::Word;

use super::registers::{self, get};
use super::{duration, perform};
use crate::concurrency::channels::{self, Chosen, Patience};
use crate::concurrency::gates;
use crate::execution::calls;
use crate::model::function::{Function, Site};
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::state::effort::Effort;
use crate::state::thread::Thread;

/// A guard that counts.
struct Guard {
    instruction: Instruction,
    /// Where it leads.
    target: usize,
}

/// The alternatives of the `alt` in the state whose conditions hold, in order.
fn guards(thread: &Thread) -> impl Iterator<Item = Guard> + use<> {
    let here = thread.activation();
    let function: &'static Function = here.function;
    let frame = here.frame;
    let mut pc = here.pc + Opcode::Alt.info().words();
    let mut counts = true;
    std::iter::from_fn(move || {
        loop {
            let instruction = Instruction::decode(&function.bytecode().code, pc).ok()?;
            pc = instruction.next_pc();
            match instruction.opcode {
                Opcode::AltEnd => return None,
                Opcode::AltIf => {
                    let condition = instruction.register(Field::A).index();
                    // SAFETY: the instruction names a register of the activation, which stands.
                    counts = unsafe { frame.add(condition).read() }.bits() != 0;
                }
                _ if std::mem::replace(&mut counts, true) => {
                    let target = instruction.targets().next().unwrap_or_default() as usize;
                    return Some(Guard { instruction, target });
                }
                _ => {}
            }
        }
    })
}

/// Makes the choice of the `alt` in the state. *GC point.*
pub fn choose(thread: &mut Thread, site: &'static Site, is_fair: bool) {
    let mut chosen = None;
    let depth = thread.mutator.root_depth();
    perform(thread, site, |thread| {
        if thread.is_recording() {
            gates::choose_seed(thread);
        }
        thread.message.clear();
        thread.message.push(Word::NIL);
        let patience = thread.with_effort(take_alternatives)?;
        Ok(match channels::choose_in_message(thread, is_fair, patience)? {
            Chosen::Outcome(outcome) => outcome,
            Chosen::Nothing => {
                chosen = Some(None);
                Outcome::Return(Word::NIL)
            }
            Chosen::Element(index, value, _) => {
                chosen = Some(Some((index, thread.mutator.push_root(value))));
                Outcome::Return(Word::NIL)
            }
        })
    });
    if let Some(read) = chosen {
        let read = read.map(|(index, root)| (index, thread.mutator.get(root)));
        thread.mutator.truncate_roots(depth);
        // The completion above stands at the link word; the operands are those of the `alt`.
        stand_at_alt(thread, site);
        take(thread, read);
    }
}

/// Puts the channels of the alternatives into the thread's message. Answers how long to wait for one of them.
fn take_alternatives(thread: &mut Thread, effort: &mut Effort) -> Result<Patience, Failure> {
    /// The effort of an alternative: its channel is locked twice.
    const ALTERNATIVE: usize = 100;
    let mut patience = None;
    let mut pc = thread.activation().pc;
    for guard in guards(thread) {
        effort.add(ALTERNATIVE + guard.instruction.pc - pc)?;
        pc = guard.instruction.pc;
        match guard.instruction.opcode {
            Opcode::AltRead => {
                let channel = get(thread, guard.instruction.register(Field::B).index());
                thread.message.extend([channel, Word::NIL]);
                patience = patience.or(Some(Patience::Endless));
            }
            _ => {
                let limit = limit_of(thread, &guard);
                patience = Some(sooner(patience.unwrap_or(Patience::Endless), limit));
            }
        }
    }
    patience.ok_or(Failure::new(FailureReason::NoAlternative))
}

/// The strand that has waited in an `alt` continues with its delivery.
pub fn chosen(thread: &mut Thread, site: &'static Site) {
    let value = thread.strand().slot(crate::state::strand::slots::VALUE);
    stand_at_alt(thread, site);
    let pair = value.as_object().map(|pair| {
        (pair.element(0).as_small_integer().unwrap_or(1) as usize - 1, pair.element(1))
    });
    take(thread, pair);
}

fn stand_at_alt(thread: &mut Thread, site: &'static Site) {
    thread.state.pc = &raw const site.function().code[site.pc as usize];
}

/// Goes where the guard leads that was chosen: the one of this channel, among those that count, or the
/// one that has the least patience.
fn take(thread: &mut Thread, read: Option<(usize, Word)>) {
    let guard = match read {
        Some((index, _)) => {
            guards(thread).filter(|guard| guard.instruction.opcode == Opcode::AltRead).nth(index)
        }
        None => {
            let others = guards(thread).filter(|guard| guard.instruction.opcode != Opcode::AltRead);
            others.min_by_key(|guard| limit_of(thread, guard))
        }
    };
    let Some(guard) = guard else {
        return calls::fail_here(thread, Failure::new(FailureReason::NoAlternative));
    };
    if let Some((_, value)) = read {
        registers::set_word(thread, guard.instruction.register(Field::A).index(), value);
    }
    thread.state.pc = &raw const thread.activation().function.code[guard.target];
}

/// How long nothing else must be ready before a guard is chosen.
fn limit_of(thread: &Thread, guard: &Guard) -> Duration {
    match guard.instruction.opcode {
        Opcode::AltAfter => duration(thread, guard.instruction.register(Field::A).index()),
        _ => Duration::ZERO,
    }
}

fn sooner(patience: Patience, limit: Duration) -> Patience {
    match patience {
        Patience::None => Patience::None,
        _ if limit.is_zero() => Patience::None,
        Patience::Until(other) => Patience::Until(other.min(limit)),
        Patience::Endless => Patience::Until(limit),
    }
}
