//! The numbers of a vat, which events, recordings and profiles know it by, and those of its messages. [`crate::state::recording`],
//! [`crate::state::replays`] and [`crate::state::waits`] call it.
//!
//! The vat's messages are counted where they are put into the mailbox, under the vat's lock, and where its owner takes them. A
//! recording keeps the item in the word in which a profile counts messages: no run makes both.

use std::sync::atomic::Ordering;

use super::VatRef;
use crate::state::vm::Vm;

impl VatRef {
    /// Its number in events.
    pub fn number(self, vm: &Vm) -> u64 {
        match self.owners.number.load(Ordering::Relaxed) {
            0 => self.take_number(vm),
            number => number,
        }
    }

    #[cold]
    fn take_number(self, vm: &Vm) -> u64 {
        let new = vm.events.number_vat();
        let taken =
            self.owners.number.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
        taken.err().unwrap_or(new)
    }

    /// Begins another life.
    pub(super) fn forget_numbers(self) {
        let owners = &self.owners;
        for count in [&owners.number, &owners.posted, &owners.count, &owners.item] {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// Counts a message that is put into the mailbox; answers how many are there. The vat is locked.
    pub(crate) fn count_posted(self) -> u64 {
        let posted = self.posted() + 1;
        // Stored under the lock only.
        self.owners.posted.store(posted, Ordering::Relaxed);
        posted.saturating_sub(self.count_of_taken())
    }

    /// Counts a message that was taken from the mailbox; answers how many are left. For the owner.
    pub(crate) fn count_taken(self) -> u64 {
        let taken = self.count_of_taken() + 1;
        self.owners.count.store(taken, Ordering::Relaxed);
        self.posted().saturating_sub(taken)
    }

    pub(crate) fn posted(self) -> u64 {
        self.owners.posted.load(Ordering::Relaxed)
    }

    pub(crate) fn count_of_taken(self) -> u64 {
        self.owners.count.load(Ordering::Relaxed)
    }

    /// Begins another item of a recording; answers its key. For the owner, as are the next two.
    #[inline]
    pub(crate) fn begin_item(self) -> u64 {
        let item = (self.owners.item.load(Ordering::Relaxed) | 1) + 4;
        self.owners.item.store(item, Ordering::Relaxed);
        item >> 2
    }

    /// The key of the item that is open.
    pub(crate) fn open_item(self) -> Option<u64> {
        let item = self.owners.item.load(Ordering::Relaxed);
        (item & 1 != 0).then_some(item >> 2)
    }

    /// Whether its items count their polls. From `set_counted` on they do: no exclusive strand runs elsewhere then.
    pub(crate) fn is_counted(self) -> bool {
        self.owners.item.load(Ordering::Relaxed) & 2 != 0
    }

    pub(crate) fn set_counted(self) {
        self.owners.item.fetch_or(2, Ordering::Relaxed);
    }

    /// The item is over.
    pub(crate) fn close_item(self) {
        self.owners.item.store(self.owners.item.load(Ordering::Relaxed) & !1, Ordering::Relaxed);
    }

    /// Whether there may be messages in the mailbox whose waits a profile measures.
    #[inline(always)]
    pub(crate) fn has_measured(self) -> bool {
        self.owners.item.load(Ordering::Relaxed) != 0
    }

    /// There is another such message. The vat is locked.
    pub(crate) fn begin_measured(self) {
        self.owners.item.fetch_add(1, Ordering::Relaxed);
    }

    /// Such a message was taken. For the owner.
    pub(crate) fn end_measured(self) {
        self.owners.item.fetch_sub(1, Ordering::Relaxed);
    }
}
