//! A thread: one native thread's context for running guest code.
//!
//! While a tier runs, it keeps pc, frame and function in its own variables. Before it calls
//! anything that can look at the stack or reach a GC point it saves them in [`Thread::state`]; the
//! collector, traces and unwinding read them there. A primitive's arguments are no part of a frame
//! yet: [`Thread::window`] names them.
//!
//! Protocol: everything here belongs to the thread itself, except [`Thread::limit`], which others
//! set to zero to make the thread come to its next poll.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use squall_heap::{Mutator, Object, Word};

use crate::function::Function;
use crate::outcome::Failure;
use crate::stack::{Activation, Stack};
use crate::vm::Vm;

/// The registers of a tier, saved.
#[derive(Clone, Copy)]
pub struct State {
    /// The instruction in progress, or for a resumption the next one.
    pub pc: *const AtomicU32,
    /// The frame.
    pub frame: *mut Word,
    /// The function.
    pub function: *const Function,
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
    /// They are initialised, on the stack of the calling thread, and stay part of it as long as the
    /// window is used; nobody holds a reference to them.
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
    pub fn words(self) -> impl Iterator<Item = Word> {
        (0..self.count).map(move |index| self.get(index))
    }

    /// Shows the words to the collector, which stands for all mutators.
    pub(crate) fn visit(self, visit: &mut dyn FnMut(&mut Word)) {
        for index in 0..self.count {
            // SAFETY: as for `get`; during a collection nobody else accesses the stack.
            visit(unsafe { &mut *self.start.add(index) });
        }
    }
}

/// A native thread that runs guest code.
#[repr(C)]
pub struct Thread {
    /// Frames must end below this address; zero asks the thread to poll.
    pub limit: AtomicUsize,
    /// The tier's registers.
    pub state: State,
    /// Whether the state stands before its instruction rather than in it.
    pub stands_before: bool,
    /// Arguments of the primitive or call in progress.
    pub window: Window,
    /// The VM.
    pub vm: &'static Vm,
    /// The right to use the heap.
    pub mutator: Mutator,
    /// The stack of the strand that runs.
    pub stack: Stack,
    /// Receiver and arguments of what an [`crate::outcome::Outcome`] asks for.
    pub message: Vec<Word>,
    /// An object that the program keeps with the strand.
    pub strand_local: Word,
    /// The exit code, once the program asked to end.
    pub exit: Option<i32>,
}

impl Thread {
    /// Attaches the calling native thread to the VM's heap. The box is the collector's way to the
    /// thread's roots, so the thread must stay in it.
    pub fn attach(vm: &'static Vm) -> Box<Thread> {
        let place = Box::<Thread>::new_uninit();
        let context = place.as_ptr() as usize;
        // SAFETY: the runtime follows the rooting discipline: words live in frames, windows,
        // messages and other roots whenever a GC point is reached. The new mutator reaches none
        // before the thread is in its place.
        let mutator = unsafe { vm.heap.attach(context) };
        let stack = Stack::new(vm.options.first_chunk_words, vm.options.max_stack_words);
        let state =
            State { pc: std::ptr::null(), frame: std::ptr::null_mut(), function: std::ptr::null() };
        let mut thread = Box::write(
            place,
            Thread {
                limit: AtomicUsize::new(0),
                state,
                stands_before: false,
                window: Window::NONE,
                vm,
                mutator,
                stack,
                message: Vec::new(),
                strand_local: Word::NIL,
                exit: None,
            },
        );
        thread.reset_limit();
        thread
    }

    /// Whether somebody asked for a poll.
    #[inline(always)]
    pub fn must_poll(&self) -> bool {
        self.limit.load(Ordering::Relaxed) == 0
    }

    /// Sets the frame limit to the end of the stack's current chunk.
    pub fn reset_limit(&mut self) {
        self.limit.store(self.stack.limit(), Ordering::Relaxed);
    }

    /// The activation the tier is in. The state must be saved.
    pub fn activation(&self) -> Activation {
        // SAFETY: tiers save a live function before anything can ask for it.
        let function: &'static Function = unsafe { &*self.state.function };
        Activation { frame: self.state.frame, function, pc: function.pc_index(self.state.pc) }
    }

    /// The active calls, innermost first. The state must be saved.
    pub fn activations(&self) -> impl Iterator<Item = Activation> + use<> {
        let first = (!self.state.function.is_null()).then(|| self.activation());
        // SAFETY: the frames are active and this thread is the one that owns them or, during a
        // collection, stands.
        std::iter::successors(first, |activation| unsafe {
            activation.caller().map(|(caller, _)| caller)
        })
    }

    /// Goes on at an instruction of an activation.
    pub fn resume_at(&mut self, activation: Activation, pc: usize) {
        self.stack.cut_to(activation.frame);
        self.reset_limit();
        self.window = Window::NONE;
        self.state = State {
            pc: &raw const activation.function.code[pc],
            frame: activation.frame,
            function: activation.function,
        };
    }

    /// A number that no other live stack has; its tag is that of a small integer.
    pub fn stack_identity(&self) -> u64 {
        self.stack.identity()
    }

    /// The known layouts' class object, or that in the header.
    pub fn class_of(&self, word: Word) -> Word {
        match word.as_object() {
            Some(object) => object.class(),
            None => self.vm.class_of_layout(crate::known::immediate_layout(word)),
        }
    }
}

/// What allocation answers, as a failure the guest can see.
#[inline(always)]
pub fn allocated(object: Option<Object>) -> Result<Object, Failure> {
    object.ok_or_else(Failure::out_of_memory)
}
