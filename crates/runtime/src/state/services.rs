//! The services of the concurrency layer for the layers below it. Calls and unwinding use them;
//! [`crate::concurrency::services`] implements them and registers itself when the VM is made.
//!
//! Execution runs one strand. If a call concerns other strands, a transaction or a sandbox, it calls a method here. No
//! service is on a tier's fast path.

use squall_heap::{Object, Word};

use crate::model::function::Function;
use crate::model::outcome::{Failure, Outcome};
use crate::state::stack::Activation;
use crate::state::thread::{Thread, Window};
use crate::state::vm::Vm;

/// What the slot for a nested class has.
pub enum ClassSlot {
    /// Nothing: the class is to be made.
    Empty,
    /// The class object.
    Filled(Word),
    /// The call is made again later.
    Later(Outcome),
}

/// See the head of the file.
pub trait Services: Sync {
    /// The calling native thread runs guest code from now on.
    fn attached(&self);

    /// The program has ended: native threads that wait for something wait no longer.
    fn program_ended(&self, vm: &'static Vm);

    /// Does what others asked the thread for, before the instruction in the state. *GC point.*
    fn poll(&self, thread: &mut Thread);

    /// The running strand was parked: another one goes on in its place, or the tier stops.
    fn parked(&self, thread: &mut Thread);

    /// The running strand, whose state is saved, yields: another one goes on in its place, or the tier stops.
    fn yields(&self, thread: &mut Thread);

    /// Reads a slot of an object as the accesses of the running strand require. *GC point.*
    fn load(&self, thread: &mut Thread, object: Object, slot: usize) -> Result<Word, Failure>;

    /// Writes a slot of an object as the accesses of the running strand require. *GC point.*
    fn store(
        &self,
        thread: &mut Thread,
        object: Object,
        slot: usize,
        value: Word,
    ) -> Result<(), Failure>;

    /// Makes sure that the transaction of the running strand cannot lose any more; otherwise says where execution goes
    /// on. *GC point.*
    fn make_inevitable(&self, thread: &mut Thread, cause: &'static str) -> Result<(), Outcome>;

    /// Ends the transaction of the running strand, if it is in one, without effect: the strand is to end.
    fn abandon_transaction(&self, thread: &mut Thread);

    /// The strand that runs here begins to end, since its sandbox is over, while the run is recorded or repeats a recording.
    fn note_over(&self, thread: &mut Thread);

    /// Lets a writer go on whose rendezvous was left.
    fn release_writer(&self, thread: &mut Thread, writer: Word);

    /// An activation is left by an unwinding; a report may need to know what `main:` had.
    fn left_activation(&self, thread: &mut Thread, activation: Activation);

    /// What the empty slot for the nested class with this accessor has while a run is recorded or repeats a recording: the slot
    /// with this index, of the object in the window. *GC point.*
    fn class_in_slot(
        &self,
        thread: &mut Thread,
        window: Window,
        slot: usize,
        accessor: &Function,
    ) -> ClassSlot;

    /// Whether an object is a value as soon as those whose initializers run now have passed their check.
    fn counts_as_value(&self, vm: &Vm, word: Word) -> bool;

    /// Whether a class may be the superclass or a mixin of one whose text is not a guest's, when a guest makes that.
    fn may_be_inherited(&self, vm: &Vm, class: Word) -> bool;
}
