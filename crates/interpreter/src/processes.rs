//! Processes: the handlers of the instructions for channels, choices, forks and barriers. The dispatch
//! loop calls them, and [`squall_runtime::tiers::processes`] does the work.

use squall_bytecode::entities::FunctionId;
use squall_heap::Word;
use squall_runtime::tiers::calls;
use squall_runtime::tiers::channels;
use squall_runtime::tiers::function::{Function, Site};
use squall_runtime::tiers::known;
use squall_runtime::tiers::links;
use squall_runtime::tiers::locks;
use squall_runtime::tiers::polls;
use squall_runtime::tiers::processes::{self, choice, faults, forks};
use squall_runtime::tiers::thread::Thread;

use crate::machine::{Machine, a, b, bc, c};

impl<const MODE: u8> Machine<'_, MODE> {
    /// The site of the instruction with this link word.
    #[inline(always)]
    fn linked_site(&self, word: usize) -> &'static Site {
        self.site(links::site_index(self.word(word)))
    }

    /// Takes the slow path of an instruction that other strands notice.
    #[inline(always)]
    pub(crate) fn notably(&mut self, effect: impl FnOnce(&mut Thread)) {
        self.slowly(|thread| processes::notably(thread, effect));
    }

    #[inline(always)]
    pub(crate) fn spawn(&mut self, word: u32) {
        let process = self.function().module.function(FunctionId(self.word(1)));
        self.slowly(|thread| {
            let started = processes::spawn(thread, process, b(word));
            processes::done(thread, 2, started);
        });
    }

    #[inline(always)]
    pub(crate) fn spawn_indirect(&mut self, word: u32) {
        // SAFETY: registers of this type hold the addresses of functions, which are immortal.
        let process: &'static Function = unsafe { &*(self.get(a(word)).bits() as *const Function) };
        self.slowly(|thread| {
            let started = processes::spawn(thread, process, b(word));
            processes::done(thread, 1, started);
        });
    }

    /// The strand's first activation returns.
    #[inline(always)]
    pub(crate) fn end_process(&mut self) {
        self.leave_with(Word::NIL);
    }

    #[inline(always)]
    pub(crate) fn par(&mut self) {
        let site = self.linked_site(1);
        self.slowly(|thread| forks::par(thread, site));
    }

    #[inline(always)]
    pub(crate) fn par_for(&mut self, word: u32) {
        let site = self.linked_site(2);
        self.slowly(|thread| forks::par_for(thread, site, a(word), b(word)));
    }

    #[inline(always)]
    pub(crate) fn end_branch(&mut self) {
        self.slowly(forks::leave_results);
        self.leave_with(Word::NIL);
    }

    #[inline(always)]
    pub(crate) fn make_channel(&mut self, word: u32) {
        self.slowly(|thread| {
            let made = processes::make_channel(thread, a(word), bc(word));
            calls::complete_here(thread, a(word), 1, made);
        });
    }

    #[inline(always)]
    pub(crate) fn read(&mut self, word: u32) {
        let site = self.linked_site(1);
        self.slowly(|thread| processes::read(thread, site, b(word)).complete(thread, site));
    }

    #[inline(always)]
    pub(crate) fn received(&mut self, link: u32) {
        let site = self.site(links::site_index(link));
        let destination = usize::from(site.destination);
        let word = self.get(destination);
        // A value that is read is mostly a small integer, which has no second form.
        if let Some(integer) = word.as_small_integer() {
            self.set_raw(destination, integer as u64);
            return self.jump(1);
        }
        self.slowly(|thread| {
            let word = processes::registers::get(thread, destination);
            processes::registers::set_word(thread, destination, word);
        });
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn write(&mut self, word: u32) {
        let site = self.linked_site(1);
        self.slowly(|thread| {
            processes::write(thread, site, a(word), b(word)).complete(thread, site);
        });
    }

    #[inline(always)]
    pub(crate) fn accept(&mut self, word: u32) {
        let site = self.linked_site(2);
        self.slowly(|thread| processes::accept(thread, site, c(word)));
    }

    /// At the link word, the last word of `accept`.
    #[inline(always)]
    pub(crate) fn accepted(&mut self) {
        // SAFETY: the instruction's first word is two words before its link.
        let accept = unsafe { (*self.pc.sub(2)).load(std::sync::atomic::Ordering::Relaxed) };
        self.slowly(|thread| processes::accepted(thread, a(accept), b(accept)));
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn end_accept(&mut self, word: u32) {
        let writer = self.get(a(word));
        self.slowly(|thread| channels::release(thread, writer));
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn poison(&mut self, word: u32) {
        self.notably(|thread| {
            let end = processes::end_of(thread, a(word));
            let poisoned = processes::poison(thread, a(word), end);
            processes::done(thread, 1, poisoned.map(drop));
        });
    }

    #[inline(always)]
    pub(crate) fn alt(&mut self, is_fair: bool) {
        let site = self.linked_site(1);
        self.slowly(|thread| {
            choice::choose(thread, site, is_fair);
            polls::after_effort(thread);
        });
    }

    #[inline(always)]
    pub(crate) fn chosen(&mut self, link: u32) {
        let site = self.site(links::site_index(link));
        self.slowly(|thread| choice::chosen(thread, site));
    }

    #[inline(always)]
    pub(crate) fn make_barrier(&mut self, word: u32) {
        self.slowly(|thread| {
            let made = processes::make_barrier(thread, b(word));
            calls::complete_here(thread, a(word), 1, made);
        });
    }

    #[inline(always)]
    pub(crate) fn enrol(&mut self, word: u32, change: i64) {
        self.notably(|thread| {
            let barrier = processes::registers::get(thread, a(word));
            let enrolled = locks::enrol(thread, barrier, change);
            processes::done(thread, 1, enrolled.map(drop));
        });
    }

    #[inline(always)]
    pub(crate) fn sync(&mut self, word: u32) {
        let site = self.linked_site(1);
        self.slowly(|thread| processes::synchronize(thread, site, a(word)));
    }

    #[inline(always)]
    pub(crate) fn make_bucket(&mut self, word: u32) {
        self.slowly(|thread| {
            let made = locks::make(thread, known::BUCKET, 0);
            calls::complete_here(thread, a(word), 1, made);
        });
    }

    #[inline(always)]
    pub(crate) fn fall(&mut self, word: u32) {
        let site = self.linked_site(1);
        self.slowly(|thread| processes::fall(thread, site, a(word)));
    }

    #[inline(always)]
    pub(crate) fn flush(&mut self, word: u32) {
        self.notably(|thread| {
            let bucket = processes::registers::get(thread, b(word));
            let flushed = locks::signal_all(thread, bucket);
            // The number of strands is a small integer.
            let count = flushed.map(|count| count.as_small_integer().unwrap_or(0));
            // SAFETY: the destination is a register of integers (verifier), which takes raw bits.
            let count = count.map(|count| unsafe { Word::from_bits(count as u64) });
            calls::complete_here(thread, a(word), 1, count);
        });
    }

    #[inline(always)]
    pub(crate) fn give_way(&mut self) {
        let site = self.linked_site(1);
        self.slowly(|thread| processes::give_way(thread, site).complete(thread, site));
    }

    #[inline(always)]
    pub(crate) fn sleep(&mut self, word: u32) {
        let site = self.linked_site(1);
        self.slowly(|thread| processes::sleep(thread, site, a(word)));
    }

    #[inline(always)]
    pub(crate) fn now(&mut self, word: u32) {
        self.slowly(|thread| processes::now(thread, a(word)));
    }

    #[inline(always)]
    pub(crate) fn raise(&mut self, word: u32) {
        self.slowly(|thread| faults::raise(thread, a(word)));
    }

    #[inline(always)]
    pub(crate) fn raised(&mut self, word: u32) {
        let value = faults::value(self.thread.vm, self.get(b(word)));
        self.set(a(word), value);
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn fault_of(&mut self, word: u32) {
        let number = faults::number(self.thread.vm, self.get(b(word)));
        self.set_raw(a(word), number as u64);
        self.jump(1);
    }
}
