//! Sends, calls and returns: the handlers that the dispatch loop runs for them.
//!
//! Each general send checks the site's caches and does the actions that need no slow path; a miss, and all rare cases,
//! go to [`squall_runtime::tiers::calls`]. A specialised send checks for one action only, and otherwise does the same as the
//! general one.

use std::sync::atomic::Ordering;

use squall_bytecode::codes::{general, observed_forms};
use squall_bytecode::entities::FunctionId;
use squall_heap::{LayoutId, Word};
use squall_runtime::tiers::access::Slot;
use squall_runtime::tiers::block;
use squall_runtime::tiers::calls;
use squall_runtime::tiers::function::{CALL, Function, Site};
use squall_runtime::tiers::known;
use squall_runtime::tiers::lookup::Action;
use squall_runtime::tiers::outcome::{Failure, Outcome};
use squall_runtime::tiers::primitive::{Primitive, Shape};
use squall_runtime::tiers::thread::{Thread, Window};
use squall_runtime::tiers::transaction;
use squall_runtime::tiers::unwind;

use crate::machine::{Machine, a, b, c};
use crate::specialise;
use squall_runtime::tiers::messages;

/// The fields of a send's second word.
#[inline(always)]
fn site_index(extension: u32) -> u32 {
    extension & 0xFFFF
}

#[inline(always)]
fn byte_two(extension: u32) -> usize {
    (extension >> 16 & 0xFF) as usize
}

#[inline(always)]
fn byte_three(extension: u32) -> usize {
    (extension >> 24) as usize
}

/// General sends.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn send0(&mut self, word: u32) {
        let site = self.site(site_index(self.word(1)));
        let arguments = [self.get(b(word))];
        self.send_arguments(site, c(word), arguments);
    }

    #[inline(always)]
    pub(crate) fn send1(&mut self, word: u32) {
        let extension = self.word(1);
        let site = self.site(site_index(extension));
        let arguments = [self.get(b(word)), self.get(c(word))];
        self.send_arguments(site, byte_three(extension), arguments);
    }

    #[inline(always)]
    pub(crate) fn send2(&mut self, word: u32) {
        let extension = self.word(1);
        let site = self.site(site_index(extension));
        let arguments = [self.get(b(word)), self.get(c(word)), self.get(byte_two(extension))];
        self.send_arguments(site, byte_three(extension), arguments);
    }

    #[inline(always)]
    pub(crate) fn send(&mut self, word: u32) {
        let site = self.site(site_index(self.word(1)));
        let window = self.window(b(word), c(word));
        self.send_window(site, window);
    }

    /// Copies the operands into the window and sends.
    #[inline(always)]
    fn send_arguments<const N: usize>(
        &mut self,
        site: &'static Site,
        window: usize,
        arguments: [Word; N],
    ) {
        for (index, argument) in arguments.into_iter().enumerate() {
            self.set(window + index, argument);
        }
        let window = self.window(window, N);
        self.send_window(site, window);
    }

    #[inline(always)]
    fn send_window(&mut self, site: &'static Site, window: Window) {
        let layout = known::layout_of(window.get(0));
        let Some(entry) = site.entry_for(layout) else {
            return self.miss(site, window);
        };
        match entry.action {
            Action::Method(function) => self.enter(site, function, window),
            Action::Primitive(primitive) => self.run_primitive(site, primitive, window),
            Action::LoadSlot(index) => {
                // SAFETY: an object with the entry's layout is a pointer, and has the entry's slot.
                let loaded = unsafe {
                    let object = window.get(0).object_unchecked();
                    self.load(object, Slot(index as usize))
                };
                if let Some(value) = loaded {
                    self.complete(site, value);
                }
            }
            Action::LoadConstantSlot(index) => {
                // SAFETY: as above.
                let value =
                    unsafe { window.get(0).object_unchecked().slot_unchecked(index as usize) };
                self.complete(site, value);
            }
            Action::Answer(value) => self.complete(site, value),
            Action::AnswerReceiver => self.complete(site, window.get(0)),
            action => self.slowly(|thread| calls::perform(thread, site, action, window)),
        }
    }

    /// Writes a send's result and goes on after it.
    #[inline(always)]
    fn complete(&mut self, site: &'static Site, value: Word) {
        self.set(usize::from(site.destination), value);
        self.pc = site.return_pc;
    }

    /// Looks the message up, specialises the instruction if that pays, and does the action found.
    #[inline(always)]
    fn miss(&mut self, site: &'static Site, window: Window) {
        self.slowly(|thread| {
            let entry = calls::look_up(thread, site, window.get(0));
            specialise::after_lookup(thread, site, entry);
            calls::perform(thread, site, entry.action, window);
        });
    }

    #[inline(always)]
    pub(crate) fn window(&self, start: usize, count: usize) -> Window {
        // SAFETY: the verifier has shown the window to be inside the frame and initialised.
        unsafe { Window::new(self.frame.add(start), count) }
    }

    /// Starts a function whose arguments are in the window that the site names.
    #[inline(always)]
    pub(crate) fn enter(
        &mut self,
        site: &'static Site,
        function: &'static Function,
        window: Window,
    ) {
        let frame = window.start();
        let end = frame.wrapping_add(function.frame_words as usize);
        if end as usize > self.thread.limit.get() {
            return self.enter_slowly(site, function, window);
        }
        // SAFETY: the word below a window is a register of the caller, which the call destroys.
        unsafe { frame.sub(1).cast::<*const Site>().write(site) };
        self.frame = frame;
        self.function = function;
        self.pc = function.code.as_ptr();
        self.count(CALL);
    }

    /// The frame does not fit, or the thread is to poll.
    #[inline(always)]
    fn enter_slowly(&mut self, site: &'static Site, function: &'static Function, window: Window) {
        self.slowly(|thread| calls::enter(thread, site, function, window));
        if calls::has_begun(self.thread, function) {
            self.count(CALL);
        }
    }

    #[inline(always)]
    fn run_primitive(
        &mut self,
        site: &'static Site,
        primitive: &'static Primitive,
        window: Window,
    ) {
        self.slowly(|thread| calls::run_primitive(thread, site, primitive, window));
    }
}

/// Specialised sends.
impl<const MODE: u8> Machine<'_, MODE> {
    /// Reads a slot that the site remembers for the receiver's layout.
    #[inline(always)]
    pub(crate) fn send0_slot(&mut self, word: u32) {
        let receiver = self.get(b(word));
        let site = self.site(site_index(self.word(1)));
        let cached = site.slot_cache.load(Ordering::Relaxed);
        if receiver.is_pointer() {
            // SAFETY: the word is a pointer.
            let object = unsafe { receiver.object_unchecked() };
            if object.layout() == LayoutId::from_bits((cached >> 32) as u32) {
                let index = specialise::slot_index(cached);
                if !Self::GUARDED || specialise::is_constant_slot(cached) {
                    // SAFETY: objects with the cached layout have the cached slot.
                    self.set(a(word), unsafe { object.slot_unchecked(index) });
                    return self.jump(2);
                }
                // SAFETY: as above.
                if let Some(value) = unsafe { self.load(object, Slot(index)) } {
                    self.set(a(word), value);
                    self.jump(2);
                }
                return;
            }
        }
        self.send0(word);
    }

    /// Assigns a slot that the site remembers for the receiver's layout.
    #[inline(always)]
    pub(crate) fn send1_slot(&mut self, word: u32) {
        let (receiver, value) = (self.get(b(word)), self.get(c(word)));
        let site = self.site(site_index(self.word(1)));
        let cached = site.slot_cache.load(Ordering::Relaxed);
        if receiver.is_pointer() {
            // SAFETY: the word is a pointer.
            let object = unsafe { receiver.object_unchecked() };
            if object.layout() == LayoutId::from_bits((cached >> 32) as u32) {
                let slot = Slot(specialise::slot_index(cached));
                // SAFETY: objects with the cached layout have the cached slot.
                if unsafe { self.store(object, slot, value) } {
                    self.set(a(word), value);
                    self.jump(2);
                }
                return;
            }
        }
        self.send1(word);
    }

    #[inline(always)]
    pub(crate) fn send0_method(&mut self, word: u32) {
        let site = self.site(site_index(self.word(1)));
        let receiver = self.get(b(word));
        match self.method_for(site, receiver) {
            Some(function) => {
                self.set(c(word), receiver);
                let window = self.window(c(word), 1);
                self.enter(site, function, window);
            }
            None => self.send0(word),
        }
    }

    #[inline(always)]
    pub(crate) fn send1_method(&mut self, word: u32) {
        let extension = self.word(1);
        let site = self.site(site_index(extension));
        let (receiver, argument) = (self.get(b(word)), self.get(c(word)));
        match self.method_for(site, receiver) {
            Some(function) => {
                let start = byte_three(extension);
                self.set(start, receiver);
                self.set(start + 1, argument);
                let window = self.window(start, 2);
                self.enter(site, function, window);
            }
            None => self.send1(word),
        }
    }

    #[inline(always)]
    pub(crate) fn send2_method(&mut self, word: u32) {
        let extension = self.word(1);
        let site = self.site(site_index(extension));
        let (receiver, first) = (self.get(b(word)), self.get(c(word)));
        let second = self.get(byte_two(extension));
        match self.method_for(site, receiver) {
            Some(function) => {
                let start = byte_three(extension);
                self.set(start, receiver);
                self.set(start + 1, first);
                self.set(start + 2, second);
                let window = self.window(start, 3);
                self.enter(site, function, window);
            }
            None => self.send2(word),
        }
    }

    #[inline(always)]
    pub(crate) fn send_method(&mut self, word: u32) {
        let site = self.site(site_index(self.word(1)));
        match self.method_for(site, self.get(b(word))) {
            Some(function) => {
                let window = self.window(b(word), c(word));
                self.enter(site, function, window);
            }
            None => self.send(word),
        }
    }

    /// The method for this receiver in the site's most recent entry.
    #[inline(always)]
    fn method_for(&self, site: &'static Site, receiver: Word) -> Option<&'static Function> {
        let entry = site.entry();
        match entry.action {
            Action::Method(function) if entry.layout == known::layout_of(receiver) => {
                Some(function)
            }
            _ => None,
        }
    }

    #[inline(always)]
    pub(crate) fn send0_evaluate(&mut self, word: u32) {
        let closure = self.get(b(word));
        match evaluated(closure, 1) {
            Some(function) => {
                let site = self.site(site_index(self.word(1)));
                self.set(c(word), closure);
                let window = self.window(c(word), 1);
                self.enter(site, function, window);
            }
            None => self.send0(word),
        }
    }

    #[inline(always)]
    pub(crate) fn send1_evaluate(&mut self, word: u32) {
        let (closure, argument) = (self.get(b(word)), self.get(c(word)));
        match evaluated(closure, 2) {
            Some(function) => {
                let extension = self.word(1);
                let (site, start) = (self.site(site_index(extension)), byte_three(extension));
                self.set(start, closure);
                self.set(start + 1, argument);
                let window = self.window(start, 2);
                self.enter(site, function, window);
            }
            None => self.send1(word),
        }
    }

    #[inline(always)]
    pub(crate) fn send2_evaluate(&mut self, word: u32) {
        let extension = self.word(1);
        let (closure, first) = (self.get(b(word)), self.get(c(word)));
        let second = self.get(byte_two(extension));
        match evaluated(closure, 3) {
            Some(function) => {
                let (site, start) = (self.site(site_index(extension)), byte_three(extension));
                self.set(start, closure);
                self.set(start + 1, first);
                self.set(start + 2, second);
                let window = self.window(start, 3);
                self.enter(site, function, window);
            }
            None => self.send2(word),
        }
    }
}

/// The function of a closure that takes this many words; `None` for other words.
#[inline(always)]
fn evaluated(closure: Word, words: u32) -> Option<&'static Function> {
    let function = block::closure_function(block::closure(closure)?);
    (function.arguments == words).then_some(function)
}

/// Calls and returns.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn call(&mut self, word: u32) {
        let site = self.site(self.word(1));
        let callee =
            self.function().module.function(FunctionId(site.callee.load(Ordering::Relaxed) as u32));
        let window = self.window(b(word), c(word));
        // A callee's typed parameters are no words for the collector, so the frame is made whole before a GC point.
        self.enter(site, callee, window);
    }

    #[inline(always)]
    pub(crate) fn primitive(&mut self, word: u32) {
        let site = self.site(self.word(1));
        let window = self.window(b(word), c(word));
        let primitive = calls::primitive_of(site);
        if Self::GUARDED && self.transact(primitive.shape) {
            self.complete(site, Word::NIL);
            return self.go_on();
        }
        self.run_primitive(site, primitive, window);
    }

    /// Does the usual next step of `atomic:` without another dispatch: it evaluates the block, or jumps past the
    /// cleanup for unwindings and returns.
    #[inline(always)]
    fn go_on(&mut self) {
        if self.word(0) as u8 == observed_forms::SEND0_EVALUATE {
            return self.send0_evaluate(self.word(0));
        }
        if self.word(0) as u8 == general::Jump {
            self.jump_always(self.word(0));
        }
        if self.word(0) as u8 == general::Return {
            self.return_value(self.word(0));
        }
    }

    /// Begins or ends a transaction, if the primitive does that and no rare case applies; answers whether it has.
    #[inline(always)]
    fn transact(&mut self, shape: Shape) -> bool {
        match shape {
            Shape::Begin => transaction::try_begin(self.thread, self.pc, self.frame, self.function),
            Shape::Commit => transaction::try_commit(self.thread),
            _ => false,
        }
    }

    #[inline(always)]
    pub(crate) fn send_eventual(&mut self, word: u32, wants_result: bool) {
        let site = self.site(site_index(self.word(1)));
        let window = self.window(b(word), c(word));
        self.slowly(|thread| messages::send_eventually(thread, site, window, wants_result));
    }

    #[inline(always)]
    pub(crate) fn return_value(&mut self, word: u32) {
        self.leave_with(self.get(a(word)));
    }

    /// Returns to the caller.
    #[inline(always)]
    pub(crate) fn leave_with(&mut self, value: Word) {
        // SAFETY: below every frame is the site of its call; window and destination lead into the
        // caller's frame.
        unsafe {
            let site = &*self.frame.sub(1).cast::<*const Site>().read();
            self.frame = self.frame.sub(usize::from(site.window));
            self.frame.add(usize::from(site.destination)).write(value);
            self.pc = site.return_pc;
            self.function = site.function;
            self.returned_through(site);
        }
    }

    #[inline(always)]
    pub(crate) fn return_home(&mut self, word: u32) {
        let home = self.get(b(word));
        block::leave_home(self.thread, home);
        self.return_value(word);
    }

    #[inline(always)]
    pub(crate) fn leave_home(&mut self, word: u32) {
        let home = self.get(a(word));
        block::leave_home(self.thread, home);
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn return_nonlocal(&mut self, word: u32) {
        let (value, home) = (self.get(a(word)), self.get(b(word)));
        self.slowly(|thread| {
            if !block::is_home(home) {
                return calls::fail_here(thread, Failure::argument(home));
            }
            match unwind::return_from_home(thread, home, value) {
                Some(outcome) => finish_here(thread, outcome),
                None => calls::escape(thread),
            }
        });
    }

    #[inline(always)]
    pub(crate) fn resume_unwind(&mut self, word: u32) {
        let token = self.get(a(word));
        unwind::ensure_ended(self.thread);
        if token.is_nil() {
            return self.jump(1);
        }
        self.slowly(|thread| {
            let outcome = unwind::resume(thread, token);
            finish_here(thread, outcome);
        });
    }
}

/// Continues where an unwinding leads, or reports that the unwinding could not begin.
fn finish_here(thread: &mut Thread, outcome: Outcome) {
    if matches!(outcome, Outcome::Resume) {
        return;
    }
    let activation = thread.activation();
    let site = activation.function.fault_site(activation.pc);
    calls::finish(thread, site, outcome);
}
