//! The services that the concurrency layer offers to the layers below: see [`crate::state::services`]. The boot registers
//! them.

use squall_heap::{Object, Word};

use crate::concurrency::foreign::callbacks;
use crate::concurrency::isolation::leaving;
use crate::concurrency::transactions::{access, transaction};
use crate::concurrency::{channels, gates, polls, sandbox, stalls, switches, values, worker};
use crate::model::function::Function;
use crate::model::outcome::{Failure, Outcome};
use crate::state::services::{ClassSlot, Services};
use crate::state::stack::Activation;
use crate::state::thread::{Thread, Window};
use crate::state::vm::Vm;

/// See the head of the file.
pub struct Concurrency;

impl Services for Concurrency {
    fn attached(&self) {
        callbacks::attach();
    }

    fn program_ended(&self, vm: &'static Vm) {
        vm.concurrency().foreign.end();
        vm.concurrency().embedding.end();
    }

    fn poll(&self, thread: &mut Thread) {
        polls::poll(thread);
    }

    fn parked(&self, thread: &mut Thread) {
        let answer = switches::parked(thread);
        worker::complete(thread, answer);
    }

    fn yields(&self, thread: &mut Thread) {
        let answer = switches::yields(thread);
        worker::complete(thread, answer);
    }

    fn load(&self, thread: &mut Thread, object: Object, slot: usize) -> Result<Word, Failure> {
        access::slot(thread, object, slot)
    }

    fn store(
        &self,
        thread: &mut Thread,
        object: Object,
        slot: usize,
        value: Word,
    ) -> Result<(), Failure> {
        access::set_slot(thread, object, slot, value)
    }

    fn make_inevitable(&self, thread: &mut Thread, cause: &'static str) -> Result<(), Outcome> {
        transaction::make_inevitable(thread, cause)
    }

    fn note_over(&self, thread: &mut Thread) {
        sandbox::note_over(thread);
    }

    fn abandon_transaction(&self, thread: &mut Thread) {
        transaction::abandon(thread);
    }

    fn release_writer(&self, thread: &mut Thread, writer: Word) {
        channels::release(thread, writer);
    }

    fn left_activation(&self, thread: &mut Thread, activation: Activation) {
        stalls::main_left(thread, activation);
    }

    fn class_in_slot(
        &self,
        thread: &mut Thread,
        window: Window,
        slot: usize,
        accessor: &Function,
    ) -> ClassSlot {
        gates::class_in_slot(thread, window, slot, accessor)
    }

    fn counts_as_value(&self, vm: &Vm, word: Word) -> bool {
        values::counts_as_value(vm, word)
    }

    fn may_be_inherited(&self, vm: &Vm, class: Word) -> bool {
        leaving::may_be_inherited(vm, class)
    }
}
