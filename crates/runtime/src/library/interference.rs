//! What an observer may do to a strand or a sandbox of a machine that runs, if the user lets it. The observer's server calls
//! it, on a native thread that is none of the machine's.
//!
//! That thread touches no object: it leaves an errand ([`crate::concurrency::embedding::errands`]), and the first free worker
//! does what a strand of the program would do that has a reference. So an action happens between two strands, and
//! waits for a worker if all are busy.
//!
//! A program whose strands are all suspended is no deadlock if the observer has suspended one: the user may resume it. As
//! long as there is such a strand, the scheduler counts an operation outside.

use std::collections::HashSet;
use std::sync::mpsc::Sender;

use parking_lot::Mutex;
use squall_heap::Word;

use crate::concurrency::embedding::errands;
use crate::concurrency::sandbox;
use crate::concurrency::strands;
use crate::library::observation;
use crate::model::outcome::Outcome;
use crate::state::recording;
use crate::state::strand::StrandRef;
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// What is done to a strand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// It does not go on until it is resumed.
    Suspend,
    /// It goes on, if it was suspended.
    Resume,
    /// It ends, after its `ensure:` blocks.
    Terminate,
}

/// The strands that were suspended here, by their numbers.
#[derive(Default)]
pub struct Suspended(Mutex<HashSet<u64>>);

impl Suspended {
    /// Another strand is suspended or resumed: while there is one, the machine is not stalled.
    fn change(&self, vm: &Vm, change: impl FnOnce(&mut HashSet<u64>)) {
        let mut all = self.0.lock();
        let was_empty = all.is_empty();
        change(&mut all);
        match (was_empty, all.is_empty()) {
            (true, false) => vm.scheduler.begin_outside(),
            (false, true) => vm.scheduler.end_outside(),
            _ => {}
        }
    }
}

/// Does something to the strand with this number. The receiver hears whether that had an effect; it hears nothing if the
/// program has ended.
pub fn act(
    vm: &'static Vm,
    suspended: &'static Suspended,
    number: u64,
    action: Action,
    done: Sender<bool>,
) {
    errands::leave(vm, move |thread| {
        // The client may have gone.
        _ = done.send(act_here(thread, suspended, number, action));
    });
}

fn act_here(thread: &mut Thread, suspended: &Suspended, number: u64, action: Action) -> bool {
    let Some(strand) = find(thread.vm, number) else { return false };
    // The strand lived before its object was loaded, and if it lives afterwards, it is the object of this life.
    let object = strand.object();
    if !is_alive(strand, number) {
        return false;
    }
    if action == Action::Suspend {
        // Before, so that the machine is never stalled in between.
        suspended.change(thread.vm, |all| _ = all.insert(number));
    }
    let answer = match action {
        Action::Suspend => match strands::suspend(thread, object) {
            Outcome::Return(word) => word,
            _ => Word::FALSE,
        },
        Action::Resume => strands::resume(thread, object),
        Action::Terminate => strands::terminate(thread, object),
    };
    let is_done = answer == Word::TRUE;
    let stays = action == Action::Suspend && is_done;
    let vm = thread.vm;
    // Strands that have ended in another way are forgotten, too.
    suspended.change(vm, |all| {
        all.retain(|&other| (other != number || stays) && find(vm, other).is_some());
    });
    is_done
}

/// The strand with this number, if it lives.
fn find(vm: &Vm, number: u64) -> Option<StrandRef> {
    let pieces = vm.strands.pieces(observation::PIECE);
    pieces.into_iter().find_map(|piece| piece.strands().find(|&strand| is_alive(strand, number)))
}

fn is_alive(strand: StrandRef, number: u64) -> bool {
    !strand.is_free() && recording::number_of(strand) == number
}

/// Ends the sandbox with this number; whether it was not over.
pub fn end_sandbox(vm: &'static Vm, number: u64) -> bool {
    let all = vm.sandboxes.used().into_iter();
    let numbered = vm.heap.while_stopped(|| {
        all.map(|it| (recording::number_of_object(it.object()), it)).collect::<Vec<_>>()
    });
    let found = numbered.into_iter().find(|(other, _)| *other == number);
    found.is_some_and(|(_, sandbox)| sandbox::terminate(vm, sandbox))
}
