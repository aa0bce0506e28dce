//! A thread: one native thread's context for running guest code. Workers make it, and tiers, calls and primitives get
//! it as an argument.
//!
//! While a tier runs, it keeps pc, frame and function in its own variables. Before it calls anything that can look at
//! the stack or reach a GC point, it saves them in [`Thread::state`]; the collector, traces and unwinding read them
//! there. The arguments of a primitive are not part of a frame yet: [`Thread::window`] has their place.
//!
//! Protocol: all fields belong to the thread itself, except [`Thread::limit`], by which other threads make it come to
//! its next poll, and [`Thread::requests`], which has their requests.

use std::cell::Cell;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use squall_events::Port;
use squall_heap::{CollectionKind, Mutator, Object, RootAddress, Word};
use squall_scheduler::{Worker, WorkerId};

use crate::model::function::{Function, Site};
use crate::model::hashing;
use crate::model::lookup::CacheEntry;
use crate::model::native_code::CodeKind;
use crate::model::outcome::Failure;
use crate::state::affinity::Home;
use crate::state::debugging;
use crate::state::items::{Item, TimerKey};
use crate::state::limit::{Limit, Request, Requests};
use crate::state::native_stack::NativeStack;
use crate::state::recording::Watch;
use crate::state::replays::Tape;
use crate::state::roots;
use crate::state::sampling::Sampler;
use crate::state::sandbox::{self, Metering, SandboxRef};
use crate::state::stack::{self, Activation, CHUNK_HEADER, Stack, callback_site, halt_code};
use crate::state::strand::{self, Claimed, Running, StrandRef};
use crate::state::transactions::memory::Memory;
use crate::state::transactions::presence::{self, Seat};
use crate::state::transactions::record::Transaction;
use crate::state::transactions::statistics::Tally;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;
use crate::state::waits::{self, Choices};

/// The registers of a tier, saved.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct State {
    /// The instruction in progress, or for a resumption the next one.
    pub pc: *const AtomicU32,
    /// The frame.
    pub frame: *mut Word,
    /// The function.
    pub function: *const Function,
}

/// A state that is kept. It is copied word by word: the thread has just stored one word of its own state, and a copy of
/// two words at a time would wait until that store is in the cache (5 ns in each switch of strands).
pub struct SavedState {
    pc: AtomicPtr<AtomicU32>,
    frame: AtomicPtr<Word>,
    function: AtomicPtr<Function>,
}

impl SavedState {
    /// A kept state.
    pub fn new(state: State) -> SavedState {
        SavedState {
            pc: AtomicPtr::new(state.pc.cast_mut()),
            frame: AtomicPtr::new(state.frame),
            function: AtomicPtr::new(state.function.cast_mut()),
        }
    }

    /// The state.
    #[inline(always)]
    pub fn get(&self) -> State {
        // Relaxed: atomics, so that the compiler leaves the words apart. Who may look is the strand's protocol.
        State {
            pc: self.pc.load(Ordering::Relaxed),
            frame: self.frame.load(Ordering::Relaxed),
            function: self.function.load(Ordering::Relaxed),
        }
    }

    /// Replaces the state.
    #[inline(always)]
    pub fn set(&self, state: State) {
        self.pc.store(state.pc.cast_mut(), Ordering::Relaxed);
        self.frame.store(state.frame, Ordering::Relaxed);
        self.function.store(state.function.cast_mut(), Ordering::Relaxed);
    }
}

impl State {
    /// Nothing runs.
    pub const NONE: State =
        State { pc: std::ptr::null(), frame: std::ptr::null_mut(), function: std::ptr::null() };

    /// The activation, unless nothing runs yet.
    pub fn activation(self) -> Option<Activation> {
        // SAFETY: functions are immortal, and states hold their addresses or null.
        let function: Option<&'static Function> = unsafe { self.function.as_ref() };
        match function {
            Some(function) => {
                Some(Activation { frame: self.frame, function, pc: function.pc_index(self.pc) })
            }
            None => Activation::below_chunk(self.pc, self.frame),
        }
    }

    /// Where the answer of the first activation is, if the state stands at the site below that activation.
    pub(crate) fn answer(self) -> Option<*mut Word> {
        self.function.is_null().then(|| stack::answer_at(self.pc, self.frame)).flatten()
    }

    /// The active calls, innermost first, of the strand whose state this is: it runs on the calling thread, or stands.
    pub(crate) fn activations(self) -> impl Iterator<Item = Activation> {
        // SAFETY: the frames are active, and the calling thread owns them or, during a collection, their owner stands.
        std::iter::successors(self.activation(), |activation| unsafe {
            activation.caller().map(|(caller, _)| caller)
        })
    }
}

/// A run of words on the VM stack that the collector updates: arguments of a call in progress.
///
/// Reading through it after a GC point answers the objects' new places, which is why primitives
/// read their arguments again instead of keeping them.
#[derive(Clone, Copy)]
pub struct Window {
    start: *mut Word,
    count: usize,
}

impl Window {
    /// No words.
    pub const NONE: Window = Window { start: std::ptr::null_mut(), count: 0 };

    /// The words from `start` on.
    ///
    /// # Safety
    ///
    /// The words are initialised, on the stack of the calling thread, and stay part of it while the window is used;
    /// there are no references to them.
    #[inline(always)]
    pub unsafe fn new(start: *mut Word, count: usize) -> Window {
        Window { start, count }
    }

    /// The address of the first word.
    #[inline(always)]
    pub fn start(self) -> *mut Word {
        self.start
    }

    /// How many words.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The word with this index.
    #[inline(always)]
    pub fn get(self, index: usize) -> Word {
        debug_assert!(index < self.count);
        // SAFETY: `new` was promised that the words are there.
        unsafe { self.start.add(index).read() }
    }

    /// Replaces the word with this index.
    #[inline(always)]
    pub fn set(self, index: usize, word: Word) {
        debug_assert!(index < self.count);
        // SAFETY: as for `get`.
        unsafe { self.start.add(index).write(word) }
    }

    /// The words, one after the other.
    pub fn words(self) -> impl ExactSizeIterator<Item = Word> {
        (0..self.count).map(move |index| self.get(index))
    }

    /// Shows the words to the collector, which stands for all mutators.
    pub(crate) fn visit(self, visit: &mut dyn FnMut(RootAddress)) {
        for index in 0..self.count {
            // SAFETY: as for `get`; while its owner stands, nothing else accesses the stack, and windows are accessed by
            // pointers only.
            visit(unsafe { RootAddress::new(self.start.add(index)) });
        }
    }
}

/// Why a tier stopped running a strand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The first activation returned; the value is where the exit site says.
    Returned,
    /// The strand waits, or already continues elsewhere: it is not the thread's any more.
    Parked,
    /// Others are to run first.
    Preempted,
    /// Its vat was given away while it was outside.
    Displaced,
    /// An exception was not handled; it is where a value would be.
    Failed,
    /// The strand was told to end.
    Killed,
    /// It continues at [`Thread::resumption`], with guarded accesses.
    Switched,
    /// It continues at [`Thread::resumption`], in a function that is to be compiled or has machine code.
    Hot,
    /// An unwinding has left all the code that C has called, and continues where C was called.
    Crossed,
}

/// What the worker's loop and the switches of strands know of each other.
#[derive(Default)]
pub struct Schedule {
    /// The vat that this worker owns: the strands that run here are those of the vat, or one that has just made it.
    pub owned: Option<VatRef>,
    /// How many more strands and turns of that vat run before others get their turn.
    pub batch: u32,
    /// How many more strands may follow each other in this run of the tier.
    pub switches_left: u32,
    /// How many items have run here, modulo 2³².
    pub items_run: u32,
    /// The item that is to run next here, of which the worker has been told that it runs.
    pub next_item: Option<Item>,
}

/// A native thread that runs guest code.
#[repr(C)]
pub struct Thread {
    /// Where frames must end; first, so that compiled code finds it.
    pub limit: Limit,
    /// The tier's registers.
    pub state: State,
    /// The site of the primitive call in progress.
    pub call_site: Option<&'static Site>,
    /// Whether the state stands before its instruction rather than in it.
    pub stands_before: bool,
    /// Whether the strand was parked by the call in progress.
    pub is_parked: bool,
    /// How the thread is watched: beside what each switch of strands touches.
    pub watch: Watch,
    /// Whether the strand gives way to others of its vat, rather than its vat to others.
    pub yields: bool,
    /// Whether the strand gives way to a strand of its vat with a greater priority, or continues elsewhere.
    pub gives_way: bool,
    /// Whether the vat that runs here is to give way to others.
    pub was_preempted: bool,
    /// The requests to the thread at its next poll.
    pub requests: Requests,
    /// The address of the vat that others get if the strand that runs here is outside for long, or 0.
    pub left_vat: AtomicUsize,
    /// Whether the vat of the strand that runs here was given away.
    pub is_displaced: bool,
    /// Whether something is to be seen to after the call in progress, since the strand was outside.
    pub must_look: Cell<bool>,
    /// Whether accesses of the strand that runs are guarded: see [`crate::concurrency::transactions`].
    pub is_guarded: bool,
    /// Whether the innermost loop of the tier has guarded accesses.
    pub runs_guarded: bool,
    /// The address of the vat whose objects are accessed bare here, or 0.
    pub plain_in: AtomicUsize,
    /// The transactional memory of the vat of the strand that runs, if its accesses are guarded.
    pub memory: Option<&'static Memory>,
    /// By which others know whose vat's memory is used here.
    pub seat: Seat,
    /// The transaction of the strand that runs, if it is in one.
    pub transaction: Option<Box<Transaction>>,
    /// To be used for the next transaction.
    pub spare_transaction: Option<Box<Transaction>>,
    /// The counts of transactions on this thread.
    pub tally: Tally,
    /// The place where a [switched](Stop::Switched) strand continues, and one that came to [hot](Stop::Hot) code.
    pub resumption: State,
    /// The native stack, as machine code uses it.
    pub native_stack: NativeStack,
    /// The scheduler's time in milliseconds, as of a short while ago.
    pub ticks: u32,
    /// How much the strand that runs has made for others to do, since it was resumed.
    made: u32,
    /// See [`Thread::random`].
    random: u64,
    /// The sandbox of the strand that runs, if it belongs to one: it is metered then.
    pub sandbox: Option<SandboxRef>,
    /// What is counted of that one.
    pub metering: Metering,
    /// The way of its events into the log, if that is on: see [`crate::state::recording`].
    pub port: Option<Port>,
    /// The samples that it takes for a profile, if there is to be one.
    pub sampler: Option<Box<Sampler>>,
    /// The waits that it measures for the profile.
    pub choices: Choices,
    /// Why the tier stopped.
    pub stop: Stop,
    /// Arguments of the primitive or call in progress.
    pub window: Window,
    /// The VM.
    pub vm: &'static Vm,
    /// The right to use the heap.
    pub mutator: Mutator,
    /// The thread's part of the scheduler.
    pub worker: Worker<Item, TimerKey>,
    /// The worker's number, for others.
    pub number: WorkerId,
    /// The home of the strands that may run here.
    pub home: Home,
    /// The strand that runs; once it is parked, the one that ran.
    strand: Option<StrandRef>,
    /// The right to that strand, until it is parked or put into a queue.
    running: Option<Running>,
    /// What runs here and what is next.
    pub schedule: Schedule,
    /// Receiver and arguments of an [`crate::model::outcome::Outcome`]'s action.
    pub message: Vec<Word>,
    /// Strands that ran here since the last collection.
    pub touched: Vec<StrandRef>,
    /// The strand to be used for the next turn.
    pub turn_strand: Option<Claimed>,
    /// Strands to be used next, by size.
    pub free_strands: [Vec<StrandRef>; strand::SIZES.len()],
    /// The identities of the strands to be made next.
    pub identities: Range<u64>,
    /// The entry for `run` of the last process that began.
    pub run_entry: &'static CacheEntry,
    /// Unwindings that go on when C returns to where it was called, innermost last.
    pub crossings: Vec<Crossing>,
    /// Its part in a recording, or in a replay of one: see [`crate::state::replays`].
    pub tape: Option<Box<Tape>>,
    /// Whether the debugger has changed where the strand goes on. Last, since it is seldom looked at.
    pub was_moved: bool,
}

/// How many messages and processes are much.
const MUCH_WORK: u32 = 512;

/// The greatest number of library activations between a program and the code that serves it.
const LIBRARY_DEPTH: usize = 16;

impl Thread {
    /// Attaches the calling native thread to the VM's heap and scheduler. The box is the
    /// collector's way to the thread's roots, so the thread must stay in it.
    pub fn attach(vm: &'static Vm) -> Box<Thread> {
        Thread::attach_as(vm, vm.scheduler.join(), Home::ANYWHERE)
    }

    /// Attaches the calling native thread as this bound worker, which runs only items with this home.
    pub fn attach_bound(vm: &'static Vm, id: WorkerId) -> Box<Thread> {
        Thread::attach_as(vm, vm.scheduler.join_bound(id), Home::of(id))
    }

    fn attach_as(vm: &'static Vm, worker: Worker<Item, TimerKey>, home: Home) -> Box<Thread> {
        let place = Box::<Thread>::new_uninit();
        // SAFETY: at each GC point, words live in frames, messages and other roots; none comes before the thread is in its place.
        let mutator = unsafe { vm.heap.attach(place.as_ptr() as usize) };
        Thread::introduced(Box::write(
            place,
            Thread {
                limit: Limit::default(),
                state: State::NONE,
                call_site: None,
                stands_before: false,
                is_parked: false,
                watch: Watch::default(),
                yields: false,
                gives_way: false,
                was_preempted: false,
                requests: Requests::new(vm.options.polls_always),
                left_vat: AtomicUsize::new(0),
                is_displaced: false,
                must_look: Cell::new(false),
                is_guarded: false,
                runs_guarded: false,
                plain_in: AtomicUsize::new(0),
                memory: None,
                seat: vm.transactions.take_seat(),
                transaction: None,
                spare_transaction: None,
                tally: vm.transactions.statistics.tally(),
                resumption: State::NONE,
                native_stack: NativeStack::NONE,
                ticks: 0,
                made: 0,
                random: 0,
                sandbox: None,
                metering: Metering { code_key: hashing::code_key(), ..Metering::default() },
                port: vm.events.port(worker.id().index() as u32),
                sampler: vm.sampling.sampler(worker.id().index() as u32),
                choices: Choices::default(),
                stop: Stop::Returned,
                window: Window::NONE,
                vm,
                mutator,
                number: worker.id(),
                worker,
                home,
                strand: None,
                running: None,
                schedule: Schedule::default(),
                message: Vec::new(),
                touched: Vec::new(),
                turn_strand: None,
                free_strands: Default::default(),
                identities: 0..0,
                run_entry: CacheEntry::empty(),
                crossings: Vec::new(),
                tape: Tape::new(vm.options.replays),
                was_moved: false,
            },
        ))
    }

    /// The attached thread, which others know from now on.
    fn introduced(mut thread: Box<Thread>) -> Box<Thread> {
        if thread.sampler.is_some() {
            thread.mutator.report_memory();
        }
        thread.look_for_observers();
        thread.vm.add_thread(&thread);
        thread
    }

    /// Gets a port if the log was turned on, or drops its own if it was turned off. At polls.
    #[inline]
    pub fn follow_log(&mut self) {
        if self.watch.log_epoch != self.vm.events.epoch() as u8 {
            self.port = self.vm.events.port(self.worker_index());
            self.look_for_observers();
        }
    }

    /// The numbers of [`Thread::random`] follow from this one.
    pub fn seed_random(&mut self, seed: u64) {
        self.random = seed;
    }

    /// The next of a sequence of numbers without a pattern, always the same one (Steele, Lea and Flood,
    /// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
    #[inline]
    pub fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// The number of the thread's worker.
    #[inline]
    pub fn worker_index(&self) -> u32 {
        self.number.index() as u32
    }

    /// Whether a poll was requested.
    #[inline(always)]
    pub fn must_poll(&self) -> bool {
        self.limit.get() == 0
    }

    /// Sets the frame limit to the end of the stack's current chunk, unless the thread is to poll.
    #[inline]
    pub fn reset_limit(&mut self) {
        if self.metering.needs_poll() {
            return self.request_poll();
        }
        let limit = self.stack().limit();
        self.set_limit(limit);
    }

    /// Sets the frame limit, unless the thread is to poll.
    #[inline(always)]
    fn set_limit(&mut self, limit: usize) {
        // No thread asks, or the asking thread will set the limit after this.
        if self.limit.get() == limit {
            return;
        }
        self.limit.set(limit);
        let is_asked = self.requests.has_any() || self.mutator.is_stop_requested();
        if is_asked || self.mutator.is_overdrawn() {
            self.request_poll();
        }
    }

    /// Makes the thread come to its next poll, unless the limit is [set](Thread::reset_limit) before.
    pub fn request_poll(&self) {
        self.limit.ask();
    }

    /// Makes the thread come to its next poll, where it looks around.
    pub fn look_soon(&self) {
        self.requests.add(Request::AskScheduler);
        self.request_poll();
    }

    /// Makes the thread come to its next poll, and its strand give way to others there.
    pub fn ask_to_poll(&self) {
        self.requests.add(Request::GiveWay);
        self.request_poll();
    }

    /// The strand that runs here.
    #[inline(always)]
    pub fn strand(&self) -> StrandRef {
        self.strand.expect("guest code runs in a strand")
    }

    /// Offset of the address of the strand that runs here.
    pub const STRAND: usize = offset_of!(Thread, strand);

    /// Offset of the fuel of the strand that runs here, if it is metered.
    pub const FUEL: usize = offset_of!(Thread, metering) + Metering::FUEL;

    /// Offset of the key of constants in machine code for sandboxes.
    pub const CODE_KEY: usize = offset_of!(Thread, metering) + Metering::CODE_KEY;

    /// The strand that runs here, if one does.
    pub fn running_strand(&self) -> Option<StrandRef> {
        self.strand
    }

    /// The right to the strand that runs here, which was not parked.
    #[inline(always)]
    pub fn running(&self) -> &Running {
        self.running.as_ref().expect("a strand runs, and is not parked")
    }

    /// The stack of the strand that runs here.
    #[inline(always)]
    pub fn stack(&mut self) -> &mut Stack {
        self.running.as_mut().expect("a strand runs, and is not parked").stack()
    }

    /// The strand that runs here is about to be parked by the caller, who saves its state.
    #[inline(always)]
    pub fn begin_parking(&mut self) -> Running {
        self.is_parked = true;
        self.running.take().expect("a strand runs, and is not parked")
    }

    /// The strand that ran here was parked, and goes on here at once.
    pub fn unpark(&mut self, claimed: Claimed) {
        debug_assert!(self.strand == Some(claimed.strand()), "it ran here");
        self.is_parked = false;
        self.running = Some(claimed.run());
    }

    /// As [`Thread::stop_running`], for a strand that is in no transaction. The caller saves the state.
    #[inline(always)]
    pub fn stop_plain(&mut self) -> Claimed {
        debug_assert!(self.transaction.is_none(), "it is in none");
        self.running.take().expect("a strand runs, and is not parked").stop()
    }

    /// The strand that runs here, whose state is saved, stops and is not parked: the caller puts it into a queue.
    pub fn stop_running(&mut self) -> Claimed {
        let running = self.running.take().expect("a strand runs, and is not parked");
        // One that other strands execute, too, is released by `transactions/shared.rs`.
        let transaction = self.transaction.take_if(|transaction| transaction.shared.is_none());
        if transaction.is_some() {
            running.set_transaction(transaction);
        }
        running.stop()
    }

    /// The kind of code that the innermost loop of the tier needs. Guarded code does not count its polls: in a sandbox with
    /// fuel, each of them is a slow one.
    #[inline(always)]
    pub fn code_kind(&self) -> CodeKind {
        match self.runs_guarded {
            true => CodeKind::Guarded,
            false if self.sandbox.is_some() || self.metering.is_for_tape => CodeKind::Sandboxed,
            false => CodeKind::Bare,
        }
    }

    /// Machine code goes on from here, of the kind that the thread needs. If it counts its polls, only those are slow that
    /// others ask for.
    #[inline(always)]
    pub fn begin_code(&mut self) {
        match self.code_kind() {
            CodeKind::Sandboxed => {
                self.metering.is_counted_by_code = true;
                self.reset_limit();
            }
            CodeKind::Bare | CodeKind::Guarded => self.end_code(),
        }
    }

    /// Anything but machine code goes on from here: it counts at slow polls.
    #[inline(always)]
    pub fn end_code(&mut self) {
        if self.metering.is_counted_by_code {
            self.metering.is_counted_by_code = false;
            if self.metering.counts_polls {
                self.request_poll();
            }
        }
    }

    /// Counts the poll at the entry of a function that machine code calls, but does not enter by itself.
    #[inline(always)]
    pub fn count_entry(&mut self) {
        if self.metering.is_counted_by_code {
            self.metering.fuel -= 1;
            if self.metering.fuel < 0 {
                self.request_poll();
            }
        }
    }

    /// Makes a strand the one that runs here.
    #[inline]
    pub fn enter_strand(&mut self, claimed: Claimed) {
        let strand = claimed.strand();
        self.begin_state(strand);
        self.note_wait(&claimed);
        self.sandbox = strand.sandbox();
        if let Some(sandbox) = self.sandbox {
            sandbox::begin_metering(self, sandbox);
        }
        self.transaction = claimed.take_transaction();
        self.running = Some(claimed.run());
        let vat = strand.vat();
        self.plain_in.store(vat.map_or(0, VatRef::address), Ordering::Relaxed);
        // A thread that makes a vat guarded stops all threads between setting the vat's memory and looking at the
        // strands they run: so it sees this store, or this thread sees the memory. See `guarding.rs`.
        self.reset_limit();
        presence::enter(self, vat.and_then(|vat| vat.memory()));
        self.is_guarded = self.memory.is_some();
        if self.is_guarded {
            self.leave_plain();
        }
        self.note_resumed();
        debugging::resumed(self, strand);
        if self.watch.is_on {
            self.begin_counting(strand);
        }
    }

    /// As [`Thread::leave_strand`], for a strand that is parked or in a queue, and then [`Thread::enter_strand`].
    #[inline(always)]
    pub fn replace_strand(&mut self, claimed: Claimed) {
        debug_assert!(self.running.is_none(), "the strand that ran is not this thread's");
        let strand = claimed.strand();
        let vat = strand.vat();
        let is_usual = !self.watch.is_on
            && self.sandbox.is_none()
            && self.memory.is_none()
            && strand.sandbox().is_none()
            && vat.is_none_or(|vat| vat.memory().is_none());
        if !is_usual {
            _ = self.leave_strand();
            return self.enter_strand(claimed);
        }
        debug_assert!(self.transaction.is_none(), "the strand that ran was in none");
        self.begin_state(strand);
        self.note_wait(&claimed);
        if claimed.has_transaction() {
            self.transaction = claimed.take_transaction();
        }
        self.running = Some(claimed.run());
        self.be_plain_in(vat);
        self.reset_limit();
    }

    /// Accesses of this thread are bare from now on, in this vat if there is one, which has no memory: there is no poll between
    /// the look at that and this, see [`Thread::enter_strand`].
    #[inline(always)]
    fn be_plain_in(&self, vat: Option<VatRef>) {
        let plain_in = vat.map_or(0, VatRef::address);
        if self.plain_in.load(Ordering::Relaxed) != plain_in {
            self.leave_plain();
            self.plain_in.store(plain_in, Ordering::Relaxed);
        }
    }

    /// As [`Thread::replace_strand`], if the thread is [plain](Thread::is_plain) and the strand is, too.
    #[inline(always)]
    pub fn enter_plain(&mut self, mut claimed: Claimed) {
        debug_assert!(
            self.running.is_none() && self.transaction.is_none() && self.memory.is_none()
        );
        debug_assert!(self.sandbox.is_none() && claimed.is_plain());
        self.begin_state(claimed.strand());
        self.note_wait(&claimed);
        let limit = claimed.stack().limit();
        let vat = claimed.vat();
        self.running = Some(claimed.run());
        self.be_plain_in(vat);
        self.set_limit(limit);
    }

    /// The saved state of a strand becomes this thread's.
    #[inline(always)]
    fn begin_state(&mut self, strand: StrandRef) {
        self.strand = Some(strand);
        self.state = strand.saved_state();
        self.stop = Stop::Returned;
        self.is_parked = false;
        self.made = 0;
        self.window = Window::NONE;
    }

    /// The strand whose state this is now goes on: a profile learns how long it has waited.
    #[inline(always)]
    fn note_wait(&self, claimed: &Claimed) {
        if self.watch.profiles {
            waits::goes_on(self, claimed);
        }
    }

    /// Called when the running strand has sent a message or started a process. A strand that sends many messages gives
    /// way, so that their receivers run while the messages are still in the cache, and the messages die in the nursery;
    /// the collector would copy a backlog of a million messages.
    #[inline]
    pub fn made_work(&mut self) {
        self.made += 1;
        if self.made == MUCH_WORK {
            self.made = 0;
            if self.worker.has_waiting() {
                self.ask_to_poll();
            }
        }
    }

    /// A primitive has done so many units of work, each as much as a call: they count as fuel. A strand without fuel for
    /// them ends at its next poll.
    #[inline]
    pub fn charge(&mut self, units: usize) {
        if self.sandbox.is_some() {
            let Metering { fuel, owed, .. } = &mut self.metering;
            // Polls that were counted and not drawn yet come first: see `Metering`.
            let paid = units.min((*fuel).max(0) as usize);
            *fuel -= paid as i32;
            *owed = owed.saturating_add((units - paid) as u64);
        }
    }

    /// Native memory was taken that counts as the sandbox's. A strand that may have no more ends at its next poll.
    pub fn charge_memory(&mut self, bytes: usize) {
        self.mutator.charge(bytes);
        if self.mutator.is_overdrawn() {
            self.request_poll();
        }
    }

    /// A primitive has passed over so many bytes.
    #[inline]
    pub fn charge_bytes(&mut self, bytes: usize) {
        /// As many bytes as are looked at, one by one, in the time of a call.
        const IN_UNIT: usize = 16;
        self.charge(bytes / IN_UNIT);
    }

    /// A primitive has copied or filled so many bytes.
    #[inline]
    pub fn charge_copy(&mut self, bytes: usize) {
        /// As many bytes as are copied in the time of a call.
        const IN_UNIT: usize = 256;
        self.charge(bytes / IN_UNIT);
    }

    /// The state of a strand that is about to begin. It has no result yet: the place may hold that of a life or step before, which no collection has updated.
    #[inline]
    pub fn start_state(&mut self) {
        self.running().set_result(Word::NIL);
        self.state = bottom(self.stack().base());
        self.forget_overflow();
    }

    /// Whether nothing is about that must be looked after when strands change: events, a debugger, a sandbox, a transaction,
    /// guarded accesses.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        !self.watch.is_on && self.has_nothing_aside()
    }

    /// As [`Thread::is_plain`], but that the run may be recorded.
    #[inline(always)]
    pub fn is_plain_or_recorded(&self) -> bool {
        !self.is_noting() && self.has_nothing_aside()
    }

    #[inline(always)]
    fn has_nothing_aside(&self) -> bool {
        self.sandbox.is_none()
            && self.memory.is_none()
            && self.transaction.is_none()
            && !self.runs_guarded
    }

    /// The strand that runs here begins another turn, as `begin_state` and [`Thread::start_state`] would.
    #[inline(always)]
    pub fn begin_again(&mut self) {
        self.is_parked = false;
        self.made = 0;
        self.window = Window::NONE;
        self.start_state();
    }

    /// Forgets the strand that ran here, and answers it, unless it is parked or in a queue.
    #[inline]
    pub fn leave_strand(&mut self) -> Option<Claimed> {
        if let Some(sandbox) = self.sandbox.take() {
            sandbox::end_metering(self, sandbox);
        }
        self.strand = None;
        self.state = State::NONE;
        self.window = Window::NONE;
        self.leave_plain();
        // Code between strands, on behalf of a vat, is plain.
        self.is_guarded = false;
        presence::leave(self);
        // A parked strand has its transaction already, and may be elsewhere by now.
        self.running.is_some().then(|| self.stop_running())
    }

    /// From now on no accesses of this thread are bare: another thread may wait for that (`guarding.rs`).
    #[inline(always)]
    pub fn leave_plain(&self) {
        if self.plain_in.load(Ordering::Relaxed) != 0 {
            self.tell_that_plain_was_left();
        }
    }

    #[inline(never)]
    fn tell_that_plain_was_left(&self) {
        self.plain_in.store(0, Ordering::Release);
        self.vm.transactions.became_guarded.tell();
    }

    /// The activation the tier is in, if there is one. The state must be saved.
    pub fn innermost(&self) -> Option<Activation> {
        self.state.activation()
    }

    /// The activation the tier is in. The state must be saved.
    pub fn activation(&self) -> Activation {
        self.innermost().expect("guest code has an activation")
    }

    /// The program's call of the library that is in progress, unless it is far away. The state must be saved.
    pub fn program_call(&self) -> Option<&'static Site> {
        let mut activation = self.innermost()?;
        for _ in 0..LIBRARY_DEPTH {
            // SAFETY: the activation is active, on this thread's stack.
            let (caller, site) = unsafe { activation.caller() }?;
            if !caller.function.module.bytecode.is_image() {
                return Some(site);
            }
            activation = caller;
        }
        None
    }

    /// The active calls, innermost first. The state must be saved.
    pub fn activations(&self) -> impl Iterator<Item = Activation> + use<> {
        self.state.activations()
    }

    /// Shows the roots of a thread to the collector.
    ///
    /// # Safety
    ///
    /// The thread is attached and stands, and no other collector thread visits its roots.
    pub(crate) unsafe fn visit_roots(
        thread: *mut Thread,
        kind: CollectionKind,
        visit: &mut dyn FnMut(RootAddress),
    ) {
        // SAFETY: the thread is attached, so its fields are initialised. It stands in a call of its mutator, which
        // borrows that field alone; the fields here are others. Other threads access atomic fields only. So these
        // references have no aliases, and none is to the thread as a whole.
        let (message, crossings, touched, transaction) = unsafe {
            (
                &mut (*thread).message,
                &mut (*thread).crossings,
                &mut (*thread).touched,
                &mut (*thread).transaction,
            )
        };
        // SAFETY: the same; these are copied.
        let (window, turn_strand, running, state, stands_before) = unsafe {
            (
                (*thread).window,
                (*thread).turn_strand.as_ref().map(|claimed| claimed.strand()),
                (*thread).strand,
                (*thread).state,
                (*thread).stands_before,
            )
        };
        RootAddress::of_all(message).for_each(&mut *visit);
        window.visit(visit);
        let crossed = crossings.iter_mut().map(|crossing| RootAddress::from(&mut crossing.value));
        crossed.for_each(&mut *visit);
        strand::visit_touched(touched, kind, visit);
        if let Some(strand) = turn_strand {
            strand.object.visit(visit);
        }
        if let Some(transaction) = transaction {
            transaction.visit(visit);
        }
        if let Some(strand) = running {
            strand.object.visit(visit);
            roots::visit_state(state, stands_before, visit);
        }
    }

    /// Goes on at an instruction of an activation.
    pub fn resume_at(&mut self, activation: Activation, pc: usize) {
        self.stack().cut_to(activation.frame);
        self.reset_limit();
        self.window = Window::NONE;
        self.state = State {
            pc: &raw const activation.function.code[pc],
            frame: activation.frame,
            function: activation.function,
        };
    }

    /// A number that no other strand has; its tag is that of a small integer.
    pub fn strand_identity(&self) -> u64 {
        self.strand().identity()
    }

    /// The known layouts' class object, or that in the header.
    pub fn class_of(&self, word: Word) -> Word {
        self.vm.class_of(word)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        strand::leave(self);
        self.vm.remove_thread(self);
        presence::leave(self);
        self.vm.transactions.give_seat_back(self.seat);
        self.vm.transactions.statistics.give_back(self.tally);
    }
}

/// The result of an allocation, with a failure that the guest can see.
#[inline(always)]
pub fn allocated(object: Option<Object>) -> Result<Object, Failure> {
    object.ok_or_else(Failure::out_of_memory)
}

/// The state before C's call of guest code has begun, and after it has ended: at the callback site's
/// instruction, with the header of its chunk.
pub fn callback_bottom(header: *mut Word) -> State {
    State { pc: callback_site().return_pc, frame: header, function: std::ptr::null() }
}

/// The state of a strand that has not begun: at the exit site's instruction.
pub fn bottom(base: *mut Word) -> State {
    State { pc: halt_code(), frame: base.wrapping_sub(CHUNK_HEADER), function: std::ptr::null() }
}

/// Where an unwinding ends.
#[derive(Clone, Copy)]
pub(crate) enum Destination {
    /// At the handler of the catch region with this index, in the activation with this frame.
    Handler(*mut Word, usize),
    /// At the caller of the activation with this frame.
    CallerOf(*mut Word),
    /// Nowhere: the strand stops, for this reason.
    End(Stop),
}

/// An unwinding that has left the code that C has called, for a place beyond the call of C. C's own frames are not
/// unwound: the unwinding continues when C returns.
pub struct Crossing {
    pub(crate) destination: Destination,
    /// The value for the destination; the collector updates it.
    pub(crate) value: Word,
}
