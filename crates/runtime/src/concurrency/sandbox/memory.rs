//! Measures a sandbox: the bytes that are reachable from its strands and vats, and not from shared objects. Metering
//! calls it while all mutators stand.
//!
//! This is accounting without partitions, after Wick and Flatt ("Memory accounting without partitions", ISMM 2004):
//! objects do not record an owner; a sandbox owns the objects that it reaches. Objects that the kernel, the platform
//! and the constants of functions reach are shared, and belong to no sandbox. Objects that two sandboxes share count in
//! both, and so does the memory of a value that a sandbox was given: the sandbox keeps it alive.
//!
//! References to the inside of other vats are not followed: far references, promises, strands, vats of others.
//!
//! Messages that the sandbox has sent to vats outside, and that wait there, count with the copies that they carry. Of their
//! arguments, only copies and plain data are followed: the classes of copies lead to code of the receiver. Messages that timers
//! have for later count as well.
//!
//! All mutators stand. The walk keeps a list and a set of addresses in native memory.

use squall_heap::{Format, Object, Word};

use super::SandboxRef;
use crate::concurrency::messages;
use crate::concurrency::promises;
use crate::concurrency::reach::{Seen, visit_shared, visit_words};
use crate::concurrency::timers::TIMER_BYTES;
use crate::model::known;
use crate::objects::classes;
use crate::objects::far_reference;
use crate::objects::string::LOOSE_SYMBOL_BYTES;
use crate::state::strand::StrandRef;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// The bytes that are reachable from a sandbox.
pub fn reachable(vm: &Vm, sandbox: SandboxRef) -> u64 {
    let mut walk = Walk { sandbox, seen: Seen::default(), pending: Vec::new(), bytes: 0 };
    visit_shared(vm, &mut |word| walk.add(word));
    walk.run();
    walk.bytes = 0;
    let belongs = |other: Option<SandboxRef>| other.is_some_and(|other| other.is_in(sandbox));
    for vat in vm.vats.all().into_iter().filter(|vat| belongs(vat.sandbox())) {
        walk.add(vat.object.get());
        walk.add(vat.taken());
    }
    for strand in vm.strands.all().into_iter().filter(|strand| belongs(strand.sandbox())) {
        walk.add(strand.object.get());
        walk.bytes += strand.stack_bytes() + strand.work_bytes() + strand.transaction_bytes();
    }
    vm.look_at_threads(&mut |thread| {
        let transaction = thread.transaction.as_ref().filter(|_| belongs(thread.sandbox));
        walk.bytes += transaction.map_or(0, |transaction| transaction.bytes() as u64);
    });
    vm.visit_running(&mut |thread, word| {
        if belongs(thread.sandbox) {
            walk.add(word);
        }
    });
    vm.concurrency().timers.visit_messages_of(sandbox, |message| {
        walk.bytes += TIMER_BYTES;
        walk.add(message.word());
    });
    walk.run();
    if sandbox.sends() {
        vm.vats.all().into_iter().filter(|vat| !belongs(vat.sandbox())).for_each(|vat| {
            walk.count_sent(vm, vat);
        });
    }
    walk.bytes
}

/// A walk over objects.
struct Walk {
    sandbox: SandboxRef,
    seen: Seen,
    pending: Vec<Object>,
    bytes: u64,
}

impl Walk {
    fn add(&mut self, word: Word) {
        if let Some(object) = word.as_object()
            && self.seen.insert(object.address())
        {
            self.pending.push(object);
        }
    }

    fn run(&mut self) {
        while let Some(object) = self.pending.pop() {
            self.scan(object);
        }
    }

    /// Counts the sandbox's messages in a mailbox outside.
    fn count_sent(&mut self, vm: &Vm, vat: VatRef) {
        for message in vat.messages() {
            if self.is_ours(messages::sender(message)) {
                self.bytes += message.size() as u64;
                (messages::RECEIVER + 1..message.length())
                    .for_each(|index| self.add_data(vm, message.element(index)));
                self.count_data(vm);
            }
        }
    }

    /// Counts the objects that are to be looked at, and the data in them.
    fn count_data(&mut self, vm: &Vm) {
        while let Some(object) = self.pending.pop() {
            self.bytes += object.size() as u64;
            let layout = object.layout();
            match layout.format() {
                Format::Array => {
                    (0..object.length()).for_each(|index| self.add_data(vm, object.element(index)));
                }
                Format::Slots => {
                    (0..layout.slot_count())
                        .for_each(|index| self.add_data(vm, object.slot(index)));
                }
                _ => {}
            }
        }
    }

    /// Adds an object if it is a copy, or data without a class of its own.
    fn add_data(&mut self, vm: &Vm, word: Word) {
        let is_data = |object: Object| match object.layout() {
            known::STRING
            | known::SYMBOL
            | known::LARGE_INTEGER
            | known::BOXED_DOUBLE
            | known::VALUE_ARRAY
            | known::TRANSFER_ARRAY => true,
            _ => classes::is_transfer(vm, object),
        };
        if word.as_object().is_some_and(is_data) {
            self.add(word);
        }
    }

    fn is_ours(&self, other: Option<SandboxRef>) -> bool {
        other.is_some_and(|other| other.is_in(self.sandbox))
    }

    /// Counts an object, and adds the objects that it refers to.
    fn scan(&mut self, object: Object) {
        let layout = object.layout();
        let is_inside = match layout {
            known::STRAND => {
                self.is_ours(StrandRef::of_object(object).and_then(StrandRef::sandbox))
            }
            known::VAT => self.is_ours(VatRef::of_object(object).sandbox()),
            known::FAR_REFERENCE => self.is_ours(far_reference::vat_of(object).sandbox()),
            known::PROMISE => self.is_ours(promises::owner(object).sandbox()),
            _ => true,
        };
        if matches!(layout, known::STRAND | known::VAT) && !is_inside {
            return;
        }
        self.bytes += object.size() as u64;
        if layout == known::SYMBOL {
            // A loose one: the others are shared.
            self.bytes += (LOOSE_SYMBOL_BYTES + object.length()) as u64;
        }
        if !is_inside {
            return;
        }
        self.add(object.class());
        visit_words(object, |word| self.add(word));
    }
}
