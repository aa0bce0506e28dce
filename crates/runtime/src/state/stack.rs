//! The VM stack of a strand: linked chunks of frames that never move. Calls and tiers enter and leave frames; the
//! collector and traces walk them.
//!
//! A frame is a run of words, the function's registers; below register 0 lies the *site*, the
//! return address. The callee's frame overlaps the caller's: it starts at the call's window. When
//! a frame does not fit its chunk, it goes to a new one, whose first words lead back:
//!
//! ```text
//!   bottom                                                        [ result | exit site     ][ r0 r1 … ]
//!   chunk   [ chunk below | length | depth | caller's frame | site | result | boundary site ][ r0 r1 … ]
//!                                                                                            ▲
//!                                                                      a chunk's address ────┘
//! ```
//!
//! A return pops through the boundary site as through any other: its code is the one instruction
//! `leave_chunk`, which the interpreter executes with the header as frame, and which completes the
//! return to the caller. The bottom of a strand looks the same with the exit site, whose code is
//! `halt`. So neither calls nor returns know about chunks. The bottom is part of the strand.
//!
//! When C calls guest code, that code begins in a chunk of its own, with the *callback site* instead of the boundary
//! site: its code is `halt` as well, so the return ends the interpreter loop that C's call has begun. A walk over the
//! stack continues with the activation that called C.
//!
//! The *depth* of a frame is where it would start if all frames of the stack were in one chunk. The maximum of a stack is one of
//! depths, so a program overflows at the same call however its frames lie in chunks, as long as all stacks together have room.
//! Once it has, a reserve is open beyond the maximum, up to a cut that leaves half of the maximum at most.
//!
//! Invariants: chunks do not move or shrink while a frame is in them, so the address of a frame identifies an
//! activation as long as it is active; only the strand's own native thread, or the collector while that thread stands,
//! touches the words. The result's place at the bottom of a stack, and that of a callback, holds a word: nil until the
//! first activation has answered. That place is no register, so no live map names it; the collector visits it while the
//! state stands there (`answer_at`).

use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use squall_bytecode::codes::internal::{HALT, LEAVE_CHUNK};
use squall_bytecode::instructions::Opcode;
use squall_heap::Word;

use crate::model::function::{Function, Site};

/// Words before the first frame of a chunk that belong to the calling convention, the site word
/// included.
pub const CHUNK_HEADER: usize = 4;
/// Where in a chunk's header a returned value is put.
pub const CHUNK_RESULT: usize = 2;

/// Where in the header the caller's frame is, and the site of its call.
const CALLER: usize = 0;
const CALL_SITE: usize = 1;
const RETURN_SITE: usize = 3;

/// Words before the header: the chunk below, the length of all, and the depth of the first frame.
const LINK: usize = 3;

/// The smallest step by which a stack grows, in words: a strand that needs more than a little usually needs much.
const SECOND_CHUNK: usize = 256;
/// The least words for frames at a stack's bottom.
const SMALLEST_BOTTOM: usize = 8;
/// The largest step by which a stack grows, in words.
const LARGEST_CHUNK: usize = 128 * 1024;

/// How large the stacks of the process may be.
struct Limits {
    /// Words at a stack's bottom that are used, however many there are.
    bottom: AtomicUsize,
    /// Where the frames of one stack end at the latest, as a depth.
    maximum: AtomicUsize,
    /// Words that all stacks together have beyond their bottoms: a million strands that recurse are
    /// to end in exceptions, too.
    all: AtomicUsize,
}

static LIMITS: Limits = Limits {
    bottom: AtomicUsize::new(usize::MAX),
    maximum: AtomicUsize::new(usize::MAX / 4),
    all: AtomicUsize::new(usize::MAX / 4),
};

/// How many words all stacks have beyond their bottoms.
static GROWN: AtomicUsize = AtomicUsize::new(0);

/// Limits the words that the bottom of a stack has, a stack, and all stacks together. Before there is
/// a strand.
pub fn limit_growth(bottom: usize, maximum: usize, all: usize) {
    LIMITS.bottom.store(bottom.max(SMALLEST_BOTTOM), Ordering::Relaxed);
    LIMITS.maximum.store(maximum, Ordering::Relaxed);
    LIMITS.all.store(all.max(maximum), Ordering::Relaxed);
}

/// The memory of a stack's bottom, with room for frames of `N` words.
#[repr(C)]
pub struct Bottom<const N: usize> {
    result: UnsafeCell<u64>,
    site: UnsafeCell<u64>,
    frames: [UnsafeCell<u64>; N],
}

impl<const N: usize> Bottom<N> {
    /// Makes a bottom of memory that is zero.
    ///
    /// # Safety
    ///
    /// The memory is there and zero, and nothing else accesses it.
    pub unsafe fn complete(place: *mut Bottom<N>) {
        let site = std::ptr::from_ref(exit_site()) as u64;
        // SAFETY: the caller's promise. Zeros are contents of all fields.
        unsafe { (&raw mut (*place).site).write(UnsafeCell::new(site)) };
    }
}

/// A strand's stack: a list of chunks, the newest first, above the bottom.
pub struct Stack {
    top: Chunk,
    /// How many words the chunks have.
    words: u32,
    /// How many of them are the bottom's.
    bottom: u16,
    /// Whether the reserve beyond the maximum is in use, to handle an overflow.
    reserve_is_open: bool,
}

/// Memory of a chunk, owned by the stack it is part of; the address is that of the first frame.
#[derive(Clone, Copy)]
struct Chunk(NonNull<u64>);

/// Words beyond the maximum for the `ensure:` blocks that run while an overflow unwinds.
const RESERVE: usize = 16 * 1024;

/// The stack may not grow further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackOverflow;

impl Chunk {
    fn allocate(words: usize) -> Chunk {
        let memory = Box::leak(vec![0u64; words].into_boxed_slice());
        memory[1] = words as u64;
        Chunk(NonNull::from(&mut memory[LINK + CHUNK_HEADER]))
    }

    /// The word of the header with this index.
    fn header(self, index: usize) -> NonNull<u64> {
        // SAFETY: every chunk but the bottom has a link and a header before its address, and the
        // bottom has the result and the site.
        unsafe { self.0.sub(CHUNK_HEADER).add(index) }
    }

    fn link(self, index: usize) -> NonNull<u64> {
        // SAFETY: the callers see to it that this is not the bottom.
        unsafe { self.0.sub(CHUNK_HEADER + LINK).add(index) }
    }

    fn is_bottom(self) -> bool {
        // SAFETY: chunks live as long as their stack holds them.
        unsafe { self.header(RETURN_SITE).read() == std::ptr::from_ref(exit_site()) as u64 }
    }

    fn below(self) -> Option<Chunk> {
        // SAFETY: as for `is_bottom`; chunks above the bottom have links.
        let below = (!self.is_bottom()).then(|| unsafe { self.link(0).read() as *mut u64 });
        below.and_then(NonNull::new).map(Chunk)
    }

    /// How many words a chunk above the bottom has in all.
    fn length(self) -> usize {
        // SAFETY: as for `below`.
        unsafe { self.link(1).read() as usize }
    }

    /// The depth of the first frame.
    fn depth(self) -> usize {
        // SAFETY: as for `below`.
        if self.is_bottom() { 0 } else { unsafe { self.link(2).read() as usize } }
    }

    /// The depth of a frame that starts here.
    fn depth_of(self, frame: *const Word) -> usize {
        self.depth() + (frame as usize).saturating_sub(self.base() as usize) / size_of::<u64>()
    }

    /// Where the first frame starts.
    fn base(self) -> *mut Word {
        self.0.as_ptr().cast()
    }

    fn free(self) {
        let slice = std::ptr::slice_from_raw_parts_mut(self.link(0).as_ptr(), self.length());
        // SAFETY: made by `Box::leak` in `allocate`, and the stack that owned it has let go of it.
        drop(unsafe { Box::from_raw(slice) });
    }
}

/// A chunk that was left, kept because a call at the end of a chunk is often followed by another.
#[derive(Default)]
struct Spare(Cell<Option<Chunk>>);

thread_local! {
    static SPARE: Spare = const { Spare(Cell::new(None)) };
}

impl Drop for Spare {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Chunk::free);
    }
}

impl Stack {
    /// The stack of no strand.
    pub const NONE: Stack =
        Stack { top: Chunk(NonNull::dangling()), words: 0, bottom: 0, reserve_is_open: false };

    /// An empty stack whose bottom is this.
    pub fn new<const N: usize>(bottom: &'static Bottom<N>) -> Stack {
        let words = N.min(LIMITS.bottom.load(Ordering::Relaxed)) as u16;
        let base = NonNull::from(&bottom.frames).cast();
        Stack { top: Chunk(base), words: u32::from(words), bottom: words, reserve_is_open: false }
    }

    /// Where the strand's first frame starts, in a stack without other frames.
    pub fn base(&self) -> *mut Word {
        let mut chunk = self.top;
        while let Some(below) = chunk.below() {
            chunk = below;
        }
        chunk.base()
    }

    /// The first address beyond the frames of the current chunk.
    #[inline]
    pub fn limit(&self) -> usize {
        let most = self.maximum().saturating_sub(self.top.depth());
        self.top.base() as usize + self.length(self.top).min(most) * size_of::<u64>()
    }

    /// The depth that is not exceeded now.
    #[inline]
    fn maximum(&self) -> usize {
        let reserve = if self.reserve_is_open { RESERVE } else { 0 };
        LIMITS.maximum.load(Ordering::Relaxed) + reserve
    }

    #[inline]
    fn end(&self, chunk: Chunk) -> usize {
        chunk.0.as_ptr() as usize + self.length(chunk) * size_of::<u64>()
    }

    /// How many words a chunk has for frames.
    #[inline]
    fn length(&self, chunk: Chunk) -> usize {
        match chunk.is_bottom() {
            true => usize::from(self.bottom),
            false => chunk.length() - LINK - CHUNK_HEADER,
        }
    }

    fn contains(&self, chunk: Chunk, frame: *const Word) -> bool {
        (chunk.header(CHUNK_RESULT).as_ptr() as usize..self.end(chunk)).contains(&(frame as usize))
    }

    /// Makes room for a frame of `size` words that starts with `arguments`, called from `site` in
    /// the frame `caller`; answers where it starts.
    pub fn grow(
        &mut self,
        caller: *mut Word,
        site: &'static Site,
        arguments: impl ExactSizeIterator<Item = Word>,
        size: usize,
    ) -> Result<*mut Word, StackOverflow> {
        self.add_chunk(caller, site, boundary_site(), arguments, size)
    }

    /// Begins a chunk for the code that C calls; C was called from `site` in the frame `caller`. Answers the frame
    /// address of the caller of the guest code: the chunk's header.
    pub fn enter_callback(
        &mut self,
        caller: *mut Word,
        site: &'static Site,
    ) -> Result<*mut Word, StackOverflow> {
        let frame = self.add_chunk(caller, site, callback_site(), std::iter::empty(), 0)?;
        // SAFETY: the chunk is new, and has a header before its first frame.
        unsafe { self.top.header(CHUNK_RESULT).write(Word::NIL.bits()) };
        Ok(frame.wrapping_sub(CHUNK_HEADER))
    }

    fn add_chunk(
        &mut self,
        caller: *mut Word,
        site: &'static Site,
        return_site: &'static Site,
        arguments: impl ExactSizeIterator<Item = Word>,
        size: usize,
    ) -> Result<*mut Word, StackOverflow> {
        let size = size.max(arguments.len());
        let needed = LINK + CHUNK_HEADER + size;
        let depth = self.top.depth_of(caller.wrapping_add(usize::from(site.window)));
        let room = self.room(depth);
        if depth + size > self.maximum() || needed > room {
            self.reserve_is_open = true;
            return Err(StackOverflow);
        }
        let chunk = self.take_chunk(needed, room);
        // SAFETY: the chunk is new, above the bottom, and has room for that many words.
        unsafe {
            chunk.link(0).write(self.top.0.as_ptr() as u64);
            chunk.link(2).write(depth as u64);
            chunk.header(CALLER).write(caller as u64);
            chunk.header(CALL_SITE).write(std::ptr::from_ref(site) as u64);
            chunk.header(RETURN_SITE).write(std::ptr::from_ref(return_site) as u64);
            for (index, argument) in arguments.enumerate() {
                chunk.0.add(index).write(argument.bits());
            }
        }
        self.words += chunk.length() as u32;
        GROWN.fetch_add(chunk.length(), Ordering::Relaxed);
        self.top = chunk;
        Ok(chunk.base())
    }

    /// The most words of a chunk whose first frame has this depth.
    fn room(&self, depth: usize) -> usize {
        let reserve = if self.reserve_is_open { RESERVE } else { 0 };
        let all = LIMITS.all.load(Ordering::Relaxed) + reserve;
        let own = self.maximum().saturating_sub(depth) + LINK + CHUNK_HEADER;
        own.min(all.saturating_sub(GROWN.load(Ordering::Relaxed)))
    }

    /// A chunk of at least `needed` words and at most `room`.
    fn take_chunk(&self, needed: usize, room: usize) -> Chunk {
        let fits = |chunk: &Chunk| (needed..=room).contains(&chunk.length());
        let spare = SPARE.try_with(|spare| spare.0.take()).ok().flatten();
        match spare {
            Some(chunk) if fits(&chunk) => return chunk,
            Some(chunk) => chunk.free(),
            None => {}
        }
        // Stacks whose bottom is the smallest grow in the smallest possible steps, to be tested.
        let least = if usize::from(self.bottom) == SMALLEST_BOTTOM { 0 } else { SECOND_CHUNK };
        let last = if self.top.is_bottom() { usize::from(self.bottom) } else { self.top.length() };
        let length = (last * 2).clamp(least, LARGEST_CHUNK).max(needed * 2).min(room);
        Chunk::allocate(length)
    }

    /// Drops the chunks above the one that contains this frame.
    pub fn cut_to(&mut self, frame: *const Word) {
        while !self.contains(self.top, frame) && self.top.below().is_some() {
            self.pop();
        }
        // The depth decides, not the chunk: whether the next overflow is beyond the reserve must not depend on chunks.
        if self.reserve_is_open
            && self.top.depth_of(frame) <= LIMITS.maximum.load(Ordering::Relaxed) / 2
        {
            self.close_reserve();
        }
    }

    /// The stack may not exceed its maximum from now on. Answers whether it could.
    #[inline]
    pub fn close_reserve(&mut self) -> bool {
        std::mem::take(&mut self.reserve_is_open)
    }

    /// How many words the chunks take.
    pub fn words(&self) -> usize {
        self.words as usize
    }

    /// Drops the last chunk, unless it is the bottom.
    pub fn pop(&mut self) {
        let Some(below) = self.top.below() else { return };
        let left = std::mem::replace(&mut self.top, below);
        self.words -= left.length() as u32;
        GROWN.fetch_sub(left.length(), Ordering::Relaxed);
        match SPARE.try_with(|spare| spare.0.replace(Some(left))) {
            Ok(previous) => previous.into_iter().for_each(Chunk::free),
            Err(_) => left.free(),
        }
    }
}

/// The code of the special sites.
static HALT_CODE: AtomicU32 = AtomicU32::new(HALT as u32);
static CALLBACK_CODE: AtomicU32 = AtomicU32::new(HALT as u32);
static BOUNDARY_CODE: AtomicU32 = AtomicU32::new(LEAVE_CHUNK as u32);

static EXIT_SITE: Site = special_site(&HALT_CODE);
static CALLBACK_SITE: Site = special_site(&CALLBACK_CODE);
static BOUNDARY_SITE: Site = special_site(&BOUNDARY_CODE);

const fn special_site(code: &'static AtomicU32) -> Site {
    let mut site = Site::new();
    site.return_pc = code;
    site.window = CHUNK_HEADER as u16;
    site.destination = CHUNK_RESULT as u16;
    site
}

/// The site below a strand's first frame.
#[inline(always)]
pub fn exit_site() -> &'static Site {
    &EXIT_SITE
}

/// The code that ends a strand.
#[inline(always)]
pub fn halt_code() -> *const AtomicU32 {
    &HALT_CODE
}

/// The site below the first frame of every other chunk.
#[inline(always)]
pub fn boundary_site() -> &'static Site {
    &BOUNDARY_SITE
}

/// The site below the first frame of the code that C calls.
#[inline(always)]
pub fn callback_site() -> &'static Site {
    &CALLBACK_SITE
}

/// An activation, seen from outside.
#[derive(Clone, Copy)]
pub struct Activation {
    /// Its frame.
    pub frame: *mut Word,
    /// Its function.
    pub function: &'static Function,
    /// The index of the instruction in progress.
    pub pc: usize,
}

impl Activation {
    /// The length of the instruction in progress, in code words.
    pub fn instruction_words(self) -> usize {
        let word = self.function.bytecode().code.get(self.pc).copied();
        word.and_then(Opcode::of_word).map_or(1, |opcode| opcode.info().words())
    }

    /// A register.
    ///
    /// # Safety
    ///
    /// The activation must be active, on the calling thread's stack, and have that register.
    pub unsafe fn register(self, index: usize) -> *mut Word {
        // SAFETY: the caller's promise: the frame has that many words.
        unsafe { self.frame.add(index) }
    }

    /// The activation that called this one, and the site of the call.
    ///
    /// # Safety
    ///
    /// The activation must be active, on the calling thread's stack or that of a stopped thread.
    #[inline]
    pub unsafe fn caller(self) -> Option<(Activation, &'static Site)> {
        // SAFETY: below every active frame is the site word of the call that made it (module head), and sites are
        // immortal; the first frame of a chunk comes after its header.
        unsafe {
            let site: &'static Site = &*self.frame.sub(1).cast::<*const Site>().read();
            match is_first_of_chunk(site) {
                true => Activation::before_chunk(self.frame.sub(CHUNK_HEADER)),
                false => Activation::at_call(self.frame.sub(usize::from(site.window)), site),
            }
        }
    }

    /// The activation that the first one of a chunk was called by.
    ///
    /// # Safety
    ///
    /// This is the header of a chunk, not the bottom, of the calling thread's stack or that of a stopped thread.
    unsafe fn before_chunk(header: *mut Word) -> Option<(Activation, &'static Site)> {
        // SAFETY: the header holds the caller's frame and the site of the call.
        unsafe {
            let frame = header.add(CALLER).cast::<*mut Word>().read();
            let site: &'static Site = &*header.add(CALL_SITE).cast::<*const Site>().read();
            Activation::at_call(frame, site)
        }
    }

    /// The activation with this frame, in a call at this site.
    ///
    /// # Safety
    ///
    /// The frame is active or, for the special sites, a chunk's header.
    unsafe fn at_call(
        frame: *mut Word,
        site: &'static Site,
    ) -> Option<(Activation, &'static Site)> {
        // Even the first frame of a strand, or of a callback, may have found no room in the first chunk.
        if std::ptr::eq(site, exit_site()) {
            return None;
        }
        if std::ptr::eq(site, callback_site()) {
            // SAFETY: the caller's promise.
            return unsafe { Activation::before_chunk(frame) };
        }
        Some((Activation { frame, function: site.function(), pc: site.pc as usize }, site))
    }

    /// The activation below a chunk, in a state that stands at the site of the chunk's header: C is about to call guest
    /// code or has just done so, or the first activation of the chunk has been left. `None` if the state is another one.
    pub(crate) fn below_chunk(pc: *const AtomicU32, frame: *mut Word) -> Option<Activation> {
        let sites = [callback_site(), boundary_site()];
        let is_header =
            sites.iter().any(|site| std::ptr::eq(pc, site.return_pc)) && !frame.is_null();
        // SAFETY: states with these pcs have the header of a chunk above the bottom as frame.
        let found = is_header.then(|| unsafe { Activation::before_chunk(frame) });
        found.flatten().map(|(activation, _)| activation)
    }

    /// If C has called it, the header of the chunk that begins there.
    ///
    /// # Safety
    ///
    /// As for [`caller`](Activation::caller).
    pub(crate) unsafe fn callback_header(self) -> Option<*mut Word> {
        // SAFETY: as in `caller`.
        unsafe {
            let site = self.frame.sub(1).cast::<*const Site>().read();
            let header = self.frame.sub(CHUNK_HEADER);
            if std::ptr::eq(site, callback_site()) {
                return Some(header);
            }
            let is_beyond = std::ptr::eq(site, boundary_site())
                && std::ptr::eq(
                    header.add(CALL_SITE).cast::<*const Site>().read(),
                    callback_site(),
                );
            is_beyond.then(|| header.add(CALLER).cast::<*mut Word>().read())
        }
    }
}

/// Where the first activation of a strand, or of the code that C has called, puts its answer, if the state stands at the
/// site below that activation: the answer is there, or nil.
pub(crate) fn answer_at(pc: *const AtomicU32, header: *mut Word) -> Option<*mut Word> {
    let mut sites = [exit_site(), callback_site()].into_iter();
    let site = sites.find(|site| std::ptr::eq(pc, site.return_pc) && !header.is_null())?;
    // SAFETY: states without a function have the header of a chunk as frame.
    let own = unsafe { header.add(RETURN_SITE).cast::<*const Site>().read() };
    // A strand that is stopped elsewhere has the exit site's pc as well.
    std::ptr::eq(own, site).then(|| header.wrapping_add(CHUNK_RESULT))
}

/// Whether this is the site below the first frame of a chunk that is not the bottom.
fn is_first_of_chunk(site: &'static Site) -> bool {
    std::ptr::eq(site, boundary_site()) || std::ptr::eq(site, callback_site())
}
