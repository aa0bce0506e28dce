//! The description of a function's machine code: the way from a bytecode instruction to an address. `compiler` makes
//! it, and helpers and `resume` look addresses up in it. The runtime keeps its address in the function's cell.

pub mod units;

use std::sync::atomic::{AtomicU8, Ordering};

use squall_runtime::tiers::function::{CodeKind, Function, NativeCode};
use squall_runtime::tiers::thread::State;

use units::{CodeLine, Units};

/// The machine code of a function, immortal.
pub struct Code {
    /// The function.
    pub function: &'static Function,
    /// How the code accesses what guests can write; it calls code with the same accesses.
    pub kind: CodeKind,
    /// Where calls enter. The code there checks the limit of the stack.
    pub entry: usize,
    /// How many bytes there are.
    pub size: usize,
    /// For each code word the distance of its machine code from the entry, or 0 if no instruction starts there.
    pub places: Box<[u32]>,
    /// For each code word the distance of the machine code that its callee returns to, or 0 if it calls none.
    pub returns: Box<[u32]>,
    /// What the code has observed, for the optimising compiler.
    pub profile: Profile,
    /// The optimised code of the function.
    pub units: Units,
}

/// Which ways branches have gone: for each code word the bits of [`way`]. Empty if nothing is optimised.
pub type Profile = &'static [AtomicU8];

/// The ways of a branch.
pub mod way {
    /// To its target.
    pub const TAKEN: u8 = 1;
    /// To the next instruction.
    pub const FELL_THROUGH: u8 = 2;
    /// To its second target.
    pub const OTHERWISE: u8 = 4;
}

impl Code {
    /// The code of a function with these accesses, if it has some.
    #[inline(always)]
    pub fn of(function: &Function, kind: CodeKind) -> Option<&'static Code> {
        let code = function.native(kind).code().cast::<Code>();
        // SAFETY: only this crate installs code, always the address of an immortal description.
        unsafe { code.as_ref() }
    }

    /// The cells of the function for this code.
    pub fn native(&self) -> &'static NativeCode {
        self.function.native(self.kind)
    }

    /// Where the machine code goes on in a state of this function; `None` inside an instruction.
    #[inline(always)]
    pub fn address(&self, state: State) -> Option<usize> {
        self.place(self.function.pc_index(state.pc))
    }

    /// Where the machine code of the instruction at a pc is.
    pub fn place(&self, pc: usize) -> Option<usize> {
        let place = self.places[pc];
        (place != 0).then(|| self.entry + place as usize)
    }

    /// Where the callee of the instruction at a pc returns to, with the value in `rax`.
    pub fn return_place(&self, pc: usize) -> Option<usize> {
        let place = self.returns[pc];
        (place != 0).then(|| self.entry + place as usize)
    }

    /// Where the first instruction is, after the check of the stack's limit.
    pub fn body(&self) -> usize {
        self.entry + self.places[0] as usize
    }

    /// The lines of the source text that its pieces are for, in the order of the pieces.
    pub fn lines(&self) -> Vec<CodeLine> {
        let function = self.function;
        let placed = self.places.iter().enumerate().filter(|(_, place)| **place != 0);
        let line = |(pc, &offset): (usize, &u32)| CodeLine { offset, function, pc: pc as u32 };
        let mut lines: Vec<CodeLine> = placed.map(line).collect();
        lines.sort_by_key(|line| line.offset);
        lines
    }

    /// The ways that the branch at a pc has gone.
    pub fn ways(&self, pc: usize) -> u8 {
        self.profile.get(pc).map_or(0, |ways| ways.load(Ordering::Relaxed))
    }
}

/// What the names of machine code end with.
pub fn suffix(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Bare => "",
        CodeKind::Guarded => ", guarded",
        CodeKind::Sandboxed => ", metered",
    }
}
