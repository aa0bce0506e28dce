//! Stalls: what is known of strands that can never go on.

use crate::strand::{self, StrandRef, Strands};
use crate::vm::Vm;

/// What is to be reported.
#[derive(Default)]
pub struct Stalls;

impl Stalls {
    /// Nothing can run any more, and nothing outside will change that.
    pub fn report(&self, vm: &Vm) {
        vm.host.write_error("deadlock: nothing is left that could run\n");
        vm.end(DEADLOCK);
    }

    /// The collector found strands that nothing can wake.
    pub(crate) fn lose(&self, strands: &Strands, lost: Vec<StrandRef>) {
        for strand in lost {
            strand::free_lost(strands, strand);
        }
    }
}

/// The exit code of a program that waits for something that cannot happen.
pub const DEADLOCK: i32 = 1;
