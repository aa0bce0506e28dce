//! The VM stack of a strand: linked chunks of frames that never move.
//!
//! A frame is a run of words, the function's registers; below register 0 lies the *site*, the
//! return address. The callee's frame overlaps the caller's: it starts at the call's window. When
//! a frame does not fit its chunk, it goes to a new one, whose first words lead back:
//!
//! ```text
//!   chunk   [ caller's frame | site of the call | result | boundary site ][ r0 r1 … ][ … ]
//! ```
//!
//! A return pops through the boundary site as through any other: its code is the one instruction
//! `leave_chunk`, which the interpreter executes with the chunk's first word as frame, and which
//! completes the return to the caller. The bottom of a strand looks the same with the exit site,
//! whose code is `halt`. So neither calls nor returns know about chunks.
//!
//! Invariants: chunks do not move or shrink while a frame is in them, so the address of a frame
//! identifies an activation as long as it is active; only the strand's own native thread, or the
//! collector while that thread stands, touches the words.

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use squall_heap::Word;

use crate::function::{Function, Site};

/// The instruction that ends a strand.
pub const HALT: u8 = 254;
/// The instruction that completes a return across chunks.
pub const LEAVE_CHUNK: u8 = 255;

/// Words before the first frame of a chunk that belong to the calling convention, the site word
/// included.
pub const CHUNK_HEADER: usize = 4;
/// Where in a chunk's header a returned value is put.
pub const CHUNK_RESULT: usize = 2;

/// Words before that: the chunk below, and the length.
const LINK: usize = 2;
const BELOW: usize = 0;
const LENGTH: usize = 1;

/// The smallest step by which a stack grows, in words: who needs more than a little needs a lot.
const SECOND_CHUNK: usize = 256;
/// Stacks that begin with less than this grow in the smallest possible steps, to be tested.
const SMALL_CHUNK: usize = 32;
/// The largest step by which a stack grows, in words.
const LARGEST_CHUNK: usize = 128 * 1024;

/// A strand's stack: a list of chunks, the newest first.
///
/// Invariants: there is always a first chunk. `spare` is a chunk that was left, kept because a call
/// at the end of a chunk is often followed by another.
pub struct Stack {
    top: Chunk,
    spare: Option<Chunk>,
    words: u32,
    maximum: u32,
    /// Whether the reserve beyond the maximum is in use, to handle an overflow.
    reserve_is_open: bool,
}

/// Memory of a chunk, owned by the stack it is part of.
#[derive(Clone, Copy)]
struct Chunk(NonNull<u64>);

// SAFETY: a chunk is memory that belongs to its stack, wherever that goes.
unsafe impl Send for Stack {}

/// Words beyond the maximum for the `ensure:` blocks that run while an overflow unwinds.
const RESERVE: u32 = 16 * 1024;

/// How many words all stacks of the process have beyond their first chunks, and how many they may
/// have: a million strands that recurse are to end in exceptions, too.
static GROWN: AtomicUsize = AtomicUsize::new(0);
static GROWN_MAXIMUM: AtomicUsize = AtomicUsize::new(usize::MAX / 2);

/// Limits the words that all stacks together have beyond their first chunks.
pub fn limit_growth(words: usize) {
    GROWN_MAXIMUM.store(words, Ordering::Relaxed);
}

/// The stack may not grow further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackOverflow;

impl Chunk {
    fn allocate(words: usize, below: Option<Chunk>) -> Chunk {
        let memory = Box::leak(vec![0u64; words].into_boxed_slice());
        memory[BELOW] = below.map_or(0, |chunk| chunk.0.as_ptr() as u64);
        memory[LENGTH] = words as u64;
        Chunk(NonNull::from(memory).cast())
    }

    fn word(self, index: usize) -> u64 {
        // SAFETY: chunks have a link and a header, and live as long as their stack holds them.
        unsafe { self.0.add(index).read() }
    }

    fn set(self, index: usize, value: u64) {
        // SAFETY: as for `word`.
        unsafe { self.0.add(index).write(value) }
    }

    fn length(self) -> usize {
        self.word(LENGTH) as usize
    }

    fn below(self) -> Option<Chunk> {
        NonNull::new(self.word(BELOW) as *mut u64).map(Chunk)
    }

    fn end(self) -> usize {
        self.0.as_ptr() as usize + self.length() * size_of::<u64>()
    }

    fn contains(self, frame: *const Word) -> bool {
        (self.0.as_ptr() as usize..self.end()).contains(&(frame as usize))
    }

    /// Where the first frame starts.
    fn base(self) -> *mut Word {
        // SAFETY: every chunk is longer than link and header.
        unsafe { self.0.add(LINK + CHUNK_HEADER).as_ptr().cast() }
    }

    fn set_header(self, index: usize, value: u64) {
        self.set(LINK + index, value);
    }

    fn free(self) {
        let slice = std::ptr::slice_from_raw_parts_mut(self.0.as_ptr(), self.length());
        // SAFETY: made by `Box::leak` in `allocate`, and the stack that owned it has let go of it.
        drop(unsafe { Box::from_raw(slice) });
    }
}

impl Stack {
    /// An empty stack that starts with `first` words and grows to `maximum` words at most.
    pub fn new(first: usize, maximum: usize) -> Stack {
        let first = first.max(LINK + CHUNK_HEADER + 8);
        let top = Chunk::allocate(first, None);
        top.set_header(CHUNK_HEADER - 1, std::ptr::from_ref(exit_site()) as u64);
        let maximum = u32::try_from(maximum.max(first)).unwrap_or(u32::MAX - RESERVE);
        Stack { top, spare: None, words: first as u32, maximum, reserve_is_open: false }
    }

    /// Where the strand's first frame starts, in a stack without other frames.
    pub fn base(&self) -> *mut Word {
        let mut chunk = self.top;
        while let Some(below) = chunk.below() {
            chunk = below;
        }
        chunk.base()
    }

    /// The first address beyond the current chunk.
    pub fn limit(&self) -> usize {
        self.top.end()
    }

    /// Makes room for a frame of `size` words that starts with `arguments`, called from `site` in
    /// the frame `caller`; answers where it starts.
    pub fn grow(
        &mut self,
        caller: *mut Word,
        site: &'static Site,
        arguments: &[Word],
        size: usize,
    ) -> Result<*mut Word, StackOverflow> {
        let needed = LINK + CHUNK_HEADER + size.max(arguments.len());
        let reserve = if self.reserve_is_open { RESERVE } else { 0 };
        let own = (self.maximum + reserve).saturating_sub(self.words) as usize;
        let common = GROWN_MAXIMUM.load(Ordering::Relaxed) + reserve as usize;
        let room = own.min(common.saturating_sub(GROWN.load(Ordering::Relaxed)));
        if needed > room {
            self.reserve_is_open = true;
            return Err(StackOverflow);
        }
        let chunk = self.take_chunk(needed, room);
        chunk.set(BELOW, self.top.0.as_ptr() as u64);
        chunk.set_header(0, caller as u64);
        chunk.set_header(1, std::ptr::from_ref(site) as u64);
        chunk.set_header(CHUNK_HEADER - 1, std::ptr::from_ref(boundary_site()) as u64);
        for (index, argument) in arguments.iter().enumerate() {
            chunk.set(LINK + CHUNK_HEADER + index, argument.bits());
        }
        self.words += chunk.length() as u32;
        GROWN.fetch_add(chunk.length(), Ordering::Relaxed);
        self.top = chunk;
        Ok(chunk.base())
    }

    /// A chunk of at least `needed` words and at most `room`.
    fn take_chunk(&mut self, needed: usize, room: usize) -> Chunk {
        let fits = |chunk: &Chunk| (needed..=room).contains(&chunk.length());
        if let Some(spare) = self.spare.take_if(|chunk| fits(chunk)) {
            return spare;
        }
        self.drop_spare();
        let last = self.top.length();
        let least = if last < SMALL_CHUNK { 0 } else { SECOND_CHUNK };
        let length = (last * 2).clamp(least, LARGEST_CHUNK).max(needed * 2).min(room);
        Chunk::allocate(length, None)
    }

    /// Drops the chunks above the one that contains this frame.
    pub fn cut_to(&mut self, frame: *const Word) {
        while self.top.below().is_some() && !self.top.contains(frame) {
            self.pop();
        }
    }

    /// How many words the chunks take.
    pub fn words(&self) -> usize {
        self.words as usize
    }

    /// Drops the last chunk, unless it is the only one.
    pub fn pop(&mut self) {
        if let Some(below) = self.top.below() {
            self.words -= self.top.length() as u32;
            GROWN.fetch_sub(self.top.length(), Ordering::Relaxed);
            self.reserve_is_open &= self.words > self.maximum;
            self.drop_spare();
            self.spare = Some(self.top);
            self.top = below;
        }
    }

    /// Gives back memory that is not in use.
    pub fn drop_spare(&mut self) {
        self.spare.take().into_iter().for_each(Chunk::free);
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        while self.top.below().is_some() {
            self.pop();
        }
        self.drop_spare();
        self.top.free();
    }
}

/// The site below a strand's first frame.
pub fn exit_site() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| special_site(HALT))
}

/// The code that ends a strand.
pub fn halt_code() -> *const AtomicU32 {
    exit_site().return_pc
}

/// The site below the first frame of every other chunk.
pub fn boundary_site() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| special_site(LEAVE_CHUNK))
}

fn special_site(opcode: u8) -> Site {
    let code: &'static [AtomicU32] = Box::leak(Box::new([AtomicU32::new(u32::from(opcode))]));
    let mut site = Site::new();
    site.return_pc = code.as_ptr();
    site.window = CHUNK_HEADER as u16;
    site.destination = CHUNK_RESULT as u16;
    site
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
    pub unsafe fn caller(self) -> Option<(Activation, &'static Site)> {
        // SAFETY: below every active frame is the site word of the call that made it (module head),
        // and sites are immortal; a chunk's header holds the caller's frame and the real site.
        unsafe {
            let site: &'static Site = &*self.frame.sub(1).cast::<*const Site>().read();
            let (frame, site) = if std::ptr::eq(site, boundary_site()) {
                let header = self.frame.sub(CHUNK_HEADER);
                (header.cast::<*mut Word>().read(), &*header.add(1).cast::<*const Site>().read())
            } else {
                (self.frame.sub(usize::from(site.window)), site)
            };
            // Even the strand's first frame may have found no room in the first chunk.
            if std::ptr::eq(site, exit_site()) {
                return None;
            }
            Some((Activation { frame, function: site.function(), pc: site.pc as usize }, site))
        }
    }
}
