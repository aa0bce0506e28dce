//! What a thread keeps for machine code: where its frames on the native stack are, and when it takes samples. Machine code,
//! and the helpers that it calls, read and write this; [`Thread`](crate::state::thread::Thread) has it. Only the thread
//! itself looks at it.

use squall_heap::Word;

/// An activation that gets a native frame when machine code goes on in one that it has called.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Around {
    /// Where the inner activation returns to, in the machine code of this one.
    pub return_address: usize,
    /// The frame of the inner activation.
    pub inner: *mut Word,
}

/// The native stack as machine code uses it, and the pace at which code gets there.
#[derive(Clone, Copy)]
pub struct NativeStack {
    /// The address at which the innermost run of machine code began.
    pub base: usize,
    /// The frame of the activation with which it began, or has gone on after the native stack was abandoned.
    pub outermost: *mut Word,
    /// The activations inside of that one that machine code goes on with, the innermost first.
    pub around: [Around; Self::MOST_AROUND],
    /// How many of these there are.
    pub depth: u32,
    /// Whether the strand has left the thread since machine code was entered or gone on. Even if it is back at the same
    /// place, it may have run elsewhere meanwhile, and what is on the native stack is out of date.
    pub is_outdated: bool,
    /// The value of the call after which machine code goes on, unless it goes on before an instruction.
    pub value: u64,
    /// Where all machine code begins.
    pub code: usize,
    /// The address below which machine code does not call deeper; 0 as long as nothing has set it.
    pub floor: usize,
    /// How often the interpreter still goes on at hot code before it leaves it to machine code.
    pub linger: u32,
    /// How many more calls and turns of loops machine code makes here before it takes a sample of itself.
    pub countdown: u32,
}

impl NativeStack {
    /// How many activations at most get native frames when machine code goes on.
    pub const MOST_AROUND: usize = 3;

    pub(crate) const NONE: NativeStack = NativeStack {
        base: 0,
        outermost: std::ptr::null_mut(),
        around: [Around { return_address: 0, inner: std::ptr::null_mut() }; Self::MOST_AROUND],
        depth: 0,
        is_outdated: false,
        value: 0,
        code: 0,
        floor: 0,
        linger: 0,
        countdown: 0,
    };
}
