//! The collector's view of the runtime: the words that are roots. The heap asks `concurrency/root_source.rs` for roots
//! at each collection, and that visits them through this module.
//!
//! | root | visited |
//! |---|---|
//! | known classes, the kernel, one-character strings, symbols, timers, promises to report, exit hooks | at every collection |
//! | the object of the main vat, those of vats made since the last collection | at every collection |
//! | the objects of strands that ran since the last collection | in nursery collections |
//! | the objects of strands that are ready, of the main strand, of vats that have something to do | in full collections |
//! | constants of functions | in the collection after they were made, later only in full ones |
//! | the objects of native threads | in nursery collections; in full ones, if they are the home of a strand or vat |
//! | frames of strands that run, by the live maps of their functions; arguments in progress; their transactions | at every collection |
//! | the objects of strands that wait because of a transaction | at every collection |
//! | the objects of sandboxes | in nursery collections; in full ones, if something belongs to them |
//! | the objects that native code of the embedder holds, the objects of the strands of its calls | at every collection |
//!
//! Parked strands are not roots: the objects that can wake them refer to their objects, and scanning a strand object
//! visits the frames. The main strand alone is a root, so that reports can describe its wait. The frames and the young
//! object of a strand change only while the strand runs, so a nursery collection skips a strand that has not run since
//! the last collection.
//!
//! Constants never change once made, and every object that survives a collection is old, so a nursery collection needs
//! only the new constants.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use squall_bytecode::register_set::RegisterSet;
use squall_heap::{CollectionKind, RootAddress, Tracer, Word};

use crate::model::function::Constant;
use crate::model::known::KnownClass;
use crate::model::symbols::Symbol;
use crate::state::stack::Activation;
use crate::state::thread::{State, Thread};

/// Words that the VM refers to on behalf of no thread.
pub struct GlobalRoots {
    known: [RootWord; KnownClass::ALL.len()],
    characters: [RootWord; 256],
    /// The kernel module's instance.
    pub kernel: RootWord,
    /// The platform object.
    pub platform: RootWord,
    /// The exception for a full heap, made while there is room.
    pub out_of_memory: RootWord,
    /// The exception for a stack that may not grow.
    pub stack_overflow: RootWord,
    /// The exception that breaks the promise for a message or an answer that is too large.
    pub message_too_large: RootWord,
    /// The blocks that the main vat evaluates when the program ends, in an object of that vat; nil if there are none.
    pub exit_hooks: RootWord,
    constants: Mutex<Constants>,
    registry: Mutex<HashMap<Symbol, Word>>,
}

impl Default for GlobalRoots {
    fn default() -> GlobalRoots {
        GlobalRoots {
            known: std::array::from_fn(|_| RootWord::default()),
            characters: std::array::from_fn(|_| RootWord::default()),
            kernel: RootWord::default(),
            platform: RootWord::default(),
            out_of_memory: RootWord::default(),
            stack_overflow: RootWord::default(),
            message_too_large: RootWord::default(),
            exit_hooks: RootWord::default(),
            constants: Mutex::default(),
            registry: Mutex::default(),
        }
    }
}

/// One word that many threads may read and the collector updates.
#[repr(transparent)]
pub struct RootWord(AtomicU64);

impl Default for RootWord {
    fn default() -> RootWord {
        RootWord(AtomicU64::new(Word::NIL.bits()))
    }
}

impl RootWord {
    /// The word.
    #[inline]
    pub fn get(&self) -> Word {
        // SAFETY: only `set` and the collector store here, and both store words. The word is live, because this is a
        // root.
        unsafe { Word::from_bits(self.0.load(Ordering::Acquire)) }
    }

    /// Replaces the word.
    pub fn set(&self, word: Word) {
        self.0.store(word.bits(), Ordering::Release);
    }

    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        // SAFETY: the atom holds a word. It is in a table of the VM or in a native part of an object; both live longer
        // than a collection.
        visit(unsafe { RootAddress::of_atom(&self.0) });
    }

    /// Follows the object, if it survives; whether it does. Called by the one collector thread that processes weak
    /// references, while all mutators stand.
    pub(crate) fn update(&self, tracer: &mut Tracer<'_>) -> bool {
        let mut word = self.get();
        let survives = tracer.update(&mut word);
        self.set(word);
        survives
    }

    /// Keeps the object alive. Called as [`RootWord::update`] is.
    pub(crate) fn keep(&self, tracer: &mut Tracer<'_>) {
        let mut word = self.get();
        tracer.keep(&mut word);
        self.set(word);
    }
}

#[derive(Default)]
struct Constants {
    new: Vec<&'static Constant>,
    old: Vec<&'static Constant>,
}

impl GlobalRoots {
    pub(crate) fn known_class(&self, class: KnownClass) -> Word {
        self.known[class as usize].get()
    }

    pub(crate) fn known_class_cell(&self, class: KnownClass) -> usize {
        (&raw const self.known[class as usize]).addr()
    }

    pub(crate) fn set_known_class(&self, class: KnownClass, word: Word) {
        self.known[class as usize].set(word);
    }

    pub(crate) fn character(&self, code_point: u32) -> Option<Word> {
        let word = self.characters.get(code_point as usize)?.get();
        (word != Word::NIL).then_some(word)
    }

    pub(crate) fn character_cells(&self) -> usize {
        (&raw const self.characters).addr()
    }

    pub(crate) fn set_character(&self, code_point: u32, string: Word) {
        if let Some(root) = self.characters.get(code_point as usize) {
            root.set(string);
        }
    }

    pub(crate) fn add_constant(&self, constant: &'static Constant) {
        self.constants.lock().new.push(constant);
    }

    /// The object that the kernel registered under a name.
    pub fn registered(&self, name: Symbol) -> Option<Word> {
        self.registry.lock().get(&name).copied()
    }

    /// Whether an object is the kernel or was registered.
    pub fn is_shared_module(&self, object: Word) -> bool {
        object == self.kernel.get() || self.registry.lock().values().any(|&it| it == object)
    }

    /// Registers an object under a name; of several, the first stays and is answered.
    pub fn register(&self, name: Symbol, object: Word) -> Word {
        *self.registry.lock().entry(name).or_insert(object)
    }

    /// The exceptions that are made before they are needed, each with the name of its class in the kernel.
    pub fn prepared(&self) -> [(&'static str, &RootWord); 3] {
        [
            ("OutOfMemory", &self.out_of_memory),
            ("StackOverflow", &self.stack_overflow),
            ("MessageTooLarge", &self.message_too_large),
        ]
    }

    /// Visits the objects that all vats share, while all mutators stand.
    pub(crate) fn visit_shared(&self, visit: &mut dyn FnMut(Word)) {
        self.registry.lock().values().copied().for_each(&mut *visit);
        let prepared = self.prepared().map(|(_, exception)| exception);
        let named = [&self.kernel, &self.platform].into_iter().chain(prepared);
        let roots = self.known.iter().chain(&self.characters).chain(named);
        roots.for_each(|root| visit(root.get()));
        let constants = self.constants.lock();
        let constants = constants.old.iter().chain(&constants.new);
        constants.for_each(|constant| visit(constant.word()));
    }

    pub(crate) fn visit(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        self.registry.lock().values_mut().map(RootAddress::from).for_each(&mut *visit);
        let prepared = self.prepared().map(|(_, exception)| exception);
        let named = [&self.kernel, &self.platform, &self.exit_hooks].into_iter().chain(prepared);
        for root in self.known.iter().chain(&self.characters).chain(named) {
            root.visit(visit);
        }
        let mut constants = self.constants.lock();
        if kind == CollectionKind::Full {
            constants.old.iter().for_each(|constant| constant.visit(visit));
        }
        let new = std::mem::take(&mut constants.new);
        new.iter().for_each(|constant| constant.visit(visit));
        constants.old.extend(new);
    }
}

/// Visits the words of the strand that runs on a thread which stands. If none runs, the thread has only what the last one
/// left: words that belong to no strand, and a state whose frames may be gone.
pub(crate) fn visit_running(thread: &Thread, visit: &mut dyn FnMut(Word)) {
    if thread.running_strand().is_none() {
        return;
    }
    thread.message.iter().copied().for_each(&mut *visit);
    thread.window.words().for_each(&mut *visit);
    thread.transaction.iter().flat_map(|it| it.words()).for_each(&mut *visit);
    if thread.sandbox.is_some() {
        // What is half made, and known to nothing but the operation in progress.
        let depth = thread.metering.roots_before;
        thread.mutator.roots_beyond(depth).iter().copied().for_each(&mut *visit);
    }
    // SAFETY: the thread stands, and its frames stay in place.
    let mut visit = |root: RootAddress| visit(unsafe { root.word() });
    visit_state(thread.state, thread.stands_before, &mut visit);
}

/// Visits the words on the stack of the strand in this state that are still needed: an answer that was given and not
/// taken yet, and those of its activations. The innermost activation stands in an instruction, or before one.
pub(crate) fn visit_state(state: State, before: bool, visit: &mut dyn FnMut(RootAddress)) {
    if let Some(answer) = state.answer() {
        // SAFETY: the place holds a word, as the head of `stack.rs` says. As for registers, no reference to it exists.
        visit(unsafe { RootAddress::new(answer) });
    }
    // At the site below the first activation of a chunk, the innermost one is in the call that has begun the chunk.
    let before = before && !state.function.is_null();
    for (depth, activation) in state.activations().enumerate() {
        let maps = activation.function.frame_maps();
        match depth == 0 && before {
            true => visit_registers(activation, &maps.before(activation.pc), visit),
            false => visit_registers(activation, maps.at(activation.pc), visit),
        }
    }
}

/// Visits the registers that hold words still needed by an activation.
fn visit_registers(
    activation: Activation,
    registers: &RegisterSet,
    visit: &mut dyn FnMut(RootAddress),
) {
    for register in registers.iter() {
        // SAFETY: a live map names registers of the function's frame that are initialised at this pc with tagged words.
        // The thread that owns the frame stands, or none does, and neither has a reference to a register: tiers access
        // registers by pointers. Several collector threads may visit the frames of a parked strand; the heap accesses
        // the words atomically.
        visit(unsafe { RootAddress::new(activation.register(register.index())) });
    }
}
