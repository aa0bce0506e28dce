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

use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;

use squall_heap::Word;

use crate::function::{Function, Site};

/// The instruction that ends a strand.
pub const HALT: u8 = 254;
/// The instruction that completes a return across chunks.
pub const LEAVE_CHUNK: u8 = 255;

/// Words before the first frame of a chunk, the site word included.
pub const CHUNK_HEADER: usize = 4;
/// Where in a chunk a returned value is put.
pub const CHUNK_RESULT: usize = 2;

/// The largest step by which a stack grows, in words.
const LARGEST_CHUNK: usize = 128 * 1024;

/// A strand's stack.
pub struct Stack {
    chunks: Vec<Box<[u64]>>,
    words: usize,
    maximum: usize,
    /// Whether the reserve beyond the maximum is in use, to handle an overflow.
    reserve_is_open: bool,
}

/// Words beyond the maximum for the `ensure:` blocks that run while an overflow unwinds.
const RESERVE: usize = 16 * 1024;

/// The stack may not grow further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackOverflow;

impl Stack {
    /// An empty stack that starts with `first` words and grows to `maximum` words at most.
    pub fn new(first: usize, maximum: usize) -> Stack {
        let first = first.max(CHUNK_HEADER + 8);
        let mut chunk = vec![0u64; first].into_boxed_slice();
        chunk[CHUNK_HEADER - 1] = std::ptr::from_ref(exit_site()) as u64;
        Stack {
            chunks: vec![chunk],
            words: first,
            maximum: maximum.max(first),
            reserve_is_open: false,
        }
    }

    /// Where the strand's first frame starts.
    pub fn base(&mut self) -> *mut Word {
        self.chunks[0][CHUNK_HEADER..].as_mut_ptr().cast()
    }

    /// The address of the first chunk.
    pub fn identity(&self) -> u64 {
        self.chunks[0].as_ptr() as u64
    }

    /// The first address beyond the current chunk.
    pub fn limit(&self) -> usize {
        self.chunks.last().map_or(0, |chunk| chunk.as_ptr_range().end as usize)
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
        let last = self.chunks.last().map_or(0, |chunk| chunk.len());
        let needed = CHUNK_HEADER + size.max(arguments.len());
        let maximum = self.maximum + if self.reserve_is_open { RESERVE } else { 0 };
        let room = maximum.saturating_sub(self.words);
        let length = (last * 2).min(LARGEST_CHUNK).max(needed * 2).min(room);
        if length < needed {
            self.reserve_is_open = true;
            return Err(StackOverflow);
        }
        let mut chunk = vec![0u64; length].into_boxed_slice();
        chunk[0] = caller as u64;
        chunk[1] = std::ptr::from_ref(site) as u64;
        chunk[CHUNK_HEADER - 1] = std::ptr::from_ref(boundary_site()) as u64;
        for (place, argument) in chunk[CHUNK_HEADER..].iter_mut().zip(arguments) {
            *place = argument.bits();
        }
        let frame = chunk[CHUNK_HEADER..].as_mut_ptr().cast();
        self.words += length;
        self.chunks.push(chunk);
        Ok(frame)
    }

    /// Drops the chunks above the one that contains this frame.
    pub fn cut_to(&mut self, frame: *const Word) {
        while self.chunks.len() > 1 {
            let range = self.chunks[self.chunks.len() - 1].as_ptr_range();
            if range.contains(&frame.cast()) {
                return;
            }
            self.pop();
        }
    }

    /// How many words the chunks take.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Drops the last chunk.
    pub fn pop(&mut self) {
        if let Some(chunk) = self.chunks.pop() {
            self.words -= chunk.len();
            self.reserve_is_open &= self.words > self.maximum;
        }
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
