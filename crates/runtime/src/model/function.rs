//! Functions at run time: code words that the interpreter may specialise in place, the objects of the constants, and
//! the sites with their inline caches. Modules link them on demand, and all tiers execute them.
//!
//! Everything here is immortal: a site's address is a return address on VM stacks, and inline
//! caches point at functions. The only things that change after linking are
//!
//! - code words: one word at a time, from an instruction to a specialised form of the same
//!   instruction; every form is correct at any time, so relaxed atomic accesses suffice;
//! - machine code: see [`NativeCode`];
//! - inline caches: each is one word that points at an immutable entry, or packs a layout with a
//!   slot; readers see the old one or the new one, never half of each;
//! - constants: words that the collector updates while all mutators stand.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use parking_lot::Mutex;
use squall_bytecode::decode::instructions;
use squall_bytecode::entities::{FunctionId, Register};
use squall_bytecode::instructions::Opcode;
use squall_bytecode::liveness::FrameMaps;
use squall_bytecode::module::FunctionKind;
use squall_bytecode::register_set::RegisterSet;
use squall_bytecode::scopes::Scopes;
use squall_bytecode::types::RegisterType;
use squall_heap::{LayoutId, RootAddress, Word};

use crate::model::lookup::CacheEntry;
use crate::model::module::LoadedModule;
use crate::model::native_code::{CodeKind, NativeCode};
use crate::model::primitive::Primitive;
use crate::model::symbols::Symbol;
use crate::model::types::Type;

/// A linked function.
pub struct Function {
    /// The first code word.
    pub code: &'static [AtomicU32],
    /// The sites, in the order of the module's table, then those of calls that have none there.
    pub sites: &'static [Site],
    /// The constants.
    pub constants: &'static [Constant],
    /// The type of each register.
    pub register_types: &'static [RegisterType],
    /// The same types, interned for the whole process.
    pub types: &'static [Type],
    /// The frame's size in words.
    pub frame_words: u32,
    /// Words that hold arguments on entry, with the receiver.
    pub arguments: u32,
    /// The kind of register 0.
    pub kind: FunctionKind,
    /// The register that holds the activation's marker, if it makes one.
    pub home: Option<Register>,
    /// The module it is part of.
    pub module: &'static LoadedModule,
    /// Its index in the module's function table.
    pub index: u32,
    /// The effect of calling the function, if it is simpler than running it.
    pub shortcut: Option<Shortcut>,
    /// Branches of forks, and rendezvous.
    pub scopes: Scopes,
    /// How often the function runs, and its machine code, by [`CodeKind`].
    pub native_codes: [NativeCode; CodeKind::ALL.len()],
    pub(crate) frame_maps: OnceLock<FrameMaps>,
    /// Sites of instructions that have none but failed: the calls that report it return there.
    pub(crate) fault_sites: Mutex<HashMap<usize, &'static Site>>,
}

/// Whether the registers of functions keep their contents as long as they have one, so that a debugger can show them.
static KEEPS_REGISTERS: AtomicBool = AtomicBool::new(false);

/// Makes the registers of all functions keep their contents. Comes before code runs.
pub fn keep_registers() {
    KEEPS_REGISTERS.store(true, Ordering::Relaxed);
}

/// A function body so simple that inline caches do it without a frame.
#[derive(Clone, Copy)]
pub enum Shortcut {
    /// One primitive applied to all arguments in order.
    Primitive(&'static Primitive),
    /// Answers one immediate object.
    Immediate(Word),
}

/// A literal of a function, made into an object when it is first needed.
pub struct Constant(AtomicU64);

impl Constant {
    pub(crate) fn new(bits: u64) -> Constant {
        Constant(AtomicU64::new(bits))
    }

    /// Stores the object; the caller records the constant as a root.
    pub(crate) fn set(&self, word: Word) {
        self.0.store(word.bits(), Ordering::Release);
    }

    /// The object, for constants that are one.
    #[inline(always)]
    pub fn word(&self) -> Word {
        // SAFETY: a constant that is an object holds a word, which is a root; the bits of others go to typed registers.
        unsafe { Word::from_bits(self.0.load(Ordering::Relaxed)) }
    }

    /// The raw bits of a typed constant.
    #[inline(always)]
    pub fn bits(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Shows the object to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        // SAFETY: a constant that is visited is an object, so the atom holds a word; constants are immortal.
        visit(unsafe { RootAddress::of_atom(&self.0) });
    }
}

/// The method that a program begins with.
pub const MAIN: &str = "main:";

impl Function {
    /// The bytecode this function was linked from.
    pub fn bytecode(&self) -> &squall_bytecode::module::Function {
        self.module.bytecode.function(FunctionId(self.index))
    }

    /// The name for traces.
    pub fn name(&self) -> &str {
        self.module.bytecode.string(self.bytecode().name)
    }

    /// The index of the code word at this address.
    pub fn pc_index(&self, pc: *const AtomicU32) -> usize {
        (pc as usize - self.code.as_ptr() as usize) / size_of::<AtomicU32>()
    }

    /// Source file, line and column of the instruction at this index.
    pub fn position(&self, pc: usize) -> (&str, u32, u32) {
        // Code before the first position prepares for it.
        let entry = self.bytecode().position(pc).or(self.bytecode().lines.first().copied());
        let (line, column) = entry.map_or((0, 0), |entry| (entry.line, entry.column));
        (self.module.bytecode.path_text(), line, column)
    }

    /// Whether the body is nothing but an answer of the receiver.
    pub fn answers_receiver(&self) -> bool {
        let first = self.bytecode().code.first().copied().unwrap_or(0);
        Opcode::of_word(first) == Some(Opcode::Return) && first >> 8 & 0xFF == 0
    }

    /// How often the function runs with such accesses, and its machine code for them.
    #[inline(always)]
    pub fn native(&self, kind: CodeKind) -> &NativeCode {
        &self.native_codes[kind as usize]
    }

    /// Records that the function has machine code.
    pub fn set_compiled(&'static self, kind: CodeKind, code: *const (), entry: *const ()) {
        self.native(kind).install(code, entry);
        let bit = 1 << kind as u8;
        self.sites.iter().for_each(|site| _ = site.compiled.fetch_or(bit, Ordering::Relaxed));
    }

    /// The site for a call that reports the failure of an instruction.
    pub fn fault_site(&'static self, pc: usize) -> &'static Site {
        let is_call_here = |site: &Site| site.pc as usize == pc && site.window > 0;
        let index = self.sites.iter().position(is_call_here);
        if let Some(index) = index {
            return &self.sites[index];
        }
        self.fault_sites.lock().entry(pc).or_insert_with(|| {
            let mut site = Site::new();
            let opcode = self.bytecode().code.get(pc).copied().and_then(Opcode::of_word);
            let length = opcode.map_or(1, |o| o.info().words());
            // Reports do not return; if one did after the last instruction, the instruction would be executed again.
            site.return_pc = self.code.get(pc + length).unwrap_or(&self.code[pc]);
            site.function = self;
            site.pc = pc as u32;
            // The callee's frame lies beyond this function's, so that it destroys nothing.
            site.window = self.frame_words as u16 + 1;
            site.destination = self.frame_words as u16;
            Box::leak(Box::new(site))
        })
    }

    /// Which registers the collector must trace at each pc.
    pub fn frame_maps(&self) -> &FrameMaps {
        let keeps = || KEEPS_REGISTERS.load(Ordering::Relaxed) || self.is_main();
        self.frame_maps.get_or_init(|| match keeps() {
            // The objects of `main:` stay until it returns: see `stalls::main_returned`.
            true => FrameMaps::compute_keeping(self.bytecode()),
            false => FrameMaps::compute(self.bytecode()),
        })
    }

    /// Whether this is the method `main:` of a module's main class.
    fn is_main(&self) -> bool {
        let bytecode = &self.module.bytecode;
        let Some(class) = bytecode.main_class().map(|class| bytecode.class(class)) else {
            return false;
        };
        let mut methods = class.methods.iter();
        let method = methods.find(|method| method.function == FunctionId(self.index));
        method.is_some_and(|method| bytecode.string(method.selector) == MAIN)
    }

    /// The registers that hold words wherever the function returns normally; `None` if it does not return.
    pub fn words_at_return(&self) -> Option<RegisterSet> {
        let code = &self.bytecode().code;
        let all = instructions(code).filter(|instruction| instruction.opcode == Opcode::Return);
        let words = all.map(|instruction| self.frame_maps().before(instruction.pc));
        words.reduce(|all, words| all & words)
    }
}

/// In place of a site's destination: nothing is written.
pub const NOWHERE: u16 = u16::MAX;

/// A place in a function that calls or looks up: its return address, its operands and its caches.
///
/// A call stores the site's address below the callee's frame, where it says all that a return, a
/// trace or a stack walk must know. One cache line.
#[repr(C, align(64))]
pub struct Site {
    /// Where execution continues after the call.
    pub return_pc: *const AtomicU32,
    /// The function that calls.
    pub function: *const Function,
    /// The most recent lookup result of this site; never null.
    cache: AtomicPtr<CacheEntry>,
    /// All results so far, up to [`MOST_ENTRIES`], for sites with several kinds of receivers; null as
    /// long as there is one kind.
    entries: AtomicPtr<Entries>,
    /// A layout in the high half, and for it a slot's index in the low half; 0 if unused.
    pub slot_cache: AtomicU64,
    /// For direct calls the callee's index, for primitives the address of the primitive. For sends that evaluate
    /// closures in machine code the address of the last closure's function; otherwise 0.
    pub callee: AtomicUsize,
    /// The index of the instruction.
    pub pc: u32,
    /// The register where the callee's frame starts.
    pub window: u16,
    /// The register that receives the result.
    pub destination: u16,
    /// Words of the window that the caller fills, with the receiver.
    pub arguments: u8,
    /// Whether the function that contains the site has machine code, to which a call that returns here returns: a bit for
    /// each kind of accesses.
    compiled: AtomicU8,
    /// What else was observed, for the optimising compiler: the bits of [`feedback`].
    pub feedback: AtomicU8,
    /// Where the function's bare machine code goes on after the call, with the value in a register: the distance from the
    /// beginning of all machine code, or 0 if there is no such place.
    resumption: AtomicU32,
}

/// Bits of [`Site::feedback`]. Machine code sets them with plain stores; a bit that is lost is observed again.
pub mod feedback {
    /// An operator had two doubles.
    pub const DOUBLES: u8 = 1;
    /// An operator had a double and a small integer.
    pub const MIXED: u8 = 2;
    /// An operator had other operands or results.
    pub const OTHERS: u8 = 4;
    /// An access to an element had an array, and an index in it.
    pub const ARRAY: u8 = 8;
    /// Optimised code was left here too often.
    pub const DISTRUSTED: u8 = 16;
    /// An operator had two small integers.
    pub const INTEGERS: u8 = 32;
}

// SAFETY: the pointers lead to immortal memory; the changing fields are atomics, see the file's head.
unsafe impl Sync for Site {}
// SAFETY: as for `Sync`.
unsafe impl Send for Site {}

const _: () = assert!(size_of::<Site>() == 64);

impl Site {
    /// Where the cell of the list of entries is, in bytes.
    pub const ENTRIES: usize = std::mem::offset_of!(Site, entries);
    /// Where the feedback is, in bytes.
    pub const FEEDBACK: usize = std::mem::offset_of!(Site, feedback);
    /// Where the most recent entry's cell is, in bytes.
    pub const CACHE: usize = std::mem::offset_of!(Site, cache);

    /// A site without caches whose function is not known yet.
    pub(crate) const fn new() -> Site {
        let empty = CacheEntry::empty() as *const CacheEntry as *mut CacheEntry;
        Site {
            return_pc: std::ptr::null(),
            function: std::ptr::null(),
            cache: AtomicPtr::new(empty),
            entries: AtomicPtr::new(std::ptr::null_mut()),
            slot_cache: AtomicU64::new(0),
            callee: AtomicUsize::new(0),
            pc: 0,
            window: 0,
            destination: 0,
            arguments: 0,
            compiled: AtomicU8::new(0),
            feedback: AtomicU8::new(0),
            resumption: AtomicU32::new(0),
        }
    }

    /// Where the function's bare machine code goes on after the call, with the value in a register: the distance from the
    /// beginning of all machine code, or 0 if there is no such place.
    #[inline(always)]
    pub fn resumption(&self) -> u32 {
        // Acquire: the code was complete before its place was known.
        self.resumption.load(Ordering::Acquire)
    }

    /// Changes the place where the machine code goes on.
    pub fn set_resumption(&self, distance: u32) {
        self.resumption.store(distance, Ordering::Release);
    }

    /// Whether a call that returns here returns to machine code.
    #[inline(always)]
    pub fn is_compiled(&self, kind: CodeKind) -> bool {
        self.compiled.load(Ordering::Relaxed) & 1 << kind as u8 != 0
    }

    /// The site's index in its function's table.
    pub fn index(&self) -> usize {
        let start = self.function().sites.as_ptr() as usize;
        (self as *const Site as usize - start) / size_of::<Site>()
    }

    /// The function that contains the site.
    #[inline(always)]
    pub fn function(&self) -> &'static Function {
        // SAFETY: the linker sets the pointer before the site can be reached, to an immortal
        // function; sites that never become return addresses belong to one as well.
        unsafe { &*self.function }
    }

    /// The most recent entry.
    #[inline(always)]
    pub fn entry(&self) -> &'static CacheEntry {
        // The acquire pairs with the release of `remember`; entries are immutable and immortal.
        // SAFETY: the pointer is never null and always leads to an immortal entry.
        unsafe { &*self.cache.load(Ordering::Acquire) }
    }

    /// The entry for this layout, if the site remembers one.
    #[inline(always)]
    pub fn entry_for(&self, layout: LayoutId) -> Option<&'static CacheEntry> {
        let entry = self.entry();
        if entry.layout == layout { Some(entry) } else { self.other_entry(layout) }
    }

    /// The entry for this layout, if it is not the most recent one.
    #[inline]
    fn other_entry(&self, layout: LayoutId) -> Option<&'static CacheEntry> {
        let entries = self.entries()?;
        let index = entries.layouts.iter().position(|other| *other == layout)?;
        Some(entries.entries[index])
    }

    /// All entries, if there were several.
    #[inline]
    pub fn entries(&self) -> Option<&'static Entries> {
        // SAFETY: the pointer is null or leads to an immortal list that never changes; the acquire
        // pairs with the release of `remember`.
        unsafe { self.entries.load(Ordering::Acquire).as_ref() }
    }

    /// Makes `entry` the most recent one, and one of those for several kinds of receivers, as long as
    /// there is room. Of two threads that do so at once, one may be forgotten, and looks up again.
    pub fn remember(&self, entry: &'static CacheEntry) {
        let previous = self.entry();
        self.cache.store(entry as *const CacheEntry as *mut CacheEntry, Ordering::Release);
        if previous.layout == LayoutId::NONE || previous.layout == entry.layout {
            return;
        }
        let old = self.entries().map_or_else(|| Entries::of(previous), |entries| *entries);
        if let Some(entries) = old.with(entry) {
            self.entries.store(Box::leak(Box::new(entries)), Ordering::Release);
        }
    }
}

/// How many kinds of receivers a site remembers. One that sees more is rare, and a look-up costs less
/// than a long search.
pub const MOST_ENTRIES: usize = 8;

/// The entries of a site with several kinds of receivers. A list never changes; a longer one takes
/// its place.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Entries {
    /// The layouts in one place, to be compared at one go; [`LayoutId::NONE`] where there is no entry.
    layouts: [LayoutId; MOST_ENTRIES],
    entries: [&'static CacheEntry; MOST_ENTRIES],
    count: usize,
}

impl Entries {
    /// Where the entries are, in bytes. The layouts are at the beginning.
    pub const ENTRIES: usize = std::mem::offset_of!(Entries, entries);

    fn of(first: &'static CacheEntry) -> Entries {
        let mut entries = Entries {
            layouts: [LayoutId::NONE; MOST_ENTRIES],
            entries: [CacheEntry::empty(); MOST_ENTRIES],
            count: 1,
        };
        (entries.layouts[0], entries.entries[0]) = (first.layout, first);
        entries
    }

    /// These and one more, if there is room and it is new.
    fn with(mut self, entry: &'static CacheEntry) -> Option<Entries> {
        if self.count == MOST_ENTRIES || self.layouts.contains(&entry.layout) {
            return None;
        }
        (self.layouts[self.count], self.entries[self.count]) = (entry.layout, entry);
        self.count += 1;
        Some(self)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All of them, in the order in which they were first seen.
    pub fn all(&self) -> &[&'static CacheEntry] {
        &self.entries[..self.count]
    }
}

impl Site {
    /// The selector of a send's site.
    pub fn selector(&self) -> Option<Symbol> {
        let function = self.function();
        match function.bytecode().sites.get(self.index()) {
            Some(squall_bytecode::module::Site::Send { selector, .. }) => {
                Some(function.module.symbol(*selector))
            }
            _ => None,
        }
    }
}
