//! Hardening: which machine code is made so that a guest that is not trusted cannot abuse what the processor does with it.
//! The compilers ask here.
//!
//! Hardened code does two things more. It *masks indices*: an element is loaded from a place within its array although the
//! processor has guessed the outcome of the check (Kocher et al., "Spectre Attacks: Exploiting Speculative Execution", S&P
//! 2019); [`squall_heap::confine`] does so for code in Rust. And it *blinds constants*: no bits that a guest has chosen are in
//! memory that can be executed, where they would be instructions to a jump that went wrong (Blazakis, "Interpreter
//! Exploitation: Pointer Inference and JIT Spraying", Black Hat DC 2010). The constant is there after an exclusive or with a
//! key of the process, which the thread has.

use squall_runtime::tiers::function::CodeKind;

/// Which machine code is hardened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Hardening {
    /// None.
    Never,
    /// That of strands in sandboxes, and that with guarded accesses, which they share with others.
    #[default]
    Sandboxes,
    /// All.
    Always,
}

impl Hardening {
    /// Whether code of a kind is hardened.
    pub fn includes(self, kind: CodeKind) -> bool {
        match self {
            Hardening::Never => false,
            Hardening::Sandboxes => kind != CodeKind::Bare,
            Hardening::Always => true,
        }
    }
}
