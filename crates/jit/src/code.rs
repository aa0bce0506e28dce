//! The description of a function's machine code: the way from a bytecode instruction to an address. The runtime keeps its
//! address in the function's cell.

use squall_runtime::tiers::function::Function;
use squall_runtime::tiers::thread::State;

/// The machine code of a function, immortal.
pub struct Code {
    /// The function.
    pub function: &'static Function,
    /// Where calls enter. The code there checks the limit of the stack.
    pub entry: usize,
    /// How many bytes there are.
    pub size: usize,
    /// For each code word the distance of its machine code from the entry, or 0 if no instruction starts there.
    pub places: Box<[u32]>,
}

impl Code {
    /// The code of a function, if it has some.
    pub fn of(function: &Function) -> Option<&'static Code> {
        let code = function.native.code().cast::<Code>();
        // SAFETY: only this crate installs code, always the address of an immortal description.
        unsafe { code.as_ref() }
    }

    /// Where the machine code goes on in a state of this function; `None` inside an instruction.
    pub fn address(&self, state: State) -> Option<usize> {
        let place = self.places[self.function.pc_index(state.pc)];
        (place != 0).then(|| self.entry + place as usize)
    }

    /// Where the first instruction is, after the check of the stack's limit.
    pub fn body(&self) -> usize {
        self.entry + self.places[0] as usize
    }
}
