//! The code of primitives: functions of a thread and a window. The tables of primitives make it and tiers call it
//! through this module; the model stores the address only, so the type is right by construction.

use crate::model::outcome::Outcome;
use crate::model::primitive::{Code, Primitive, Shape};
use crate::state::thread::{Thread, Window};

/// The code of a primitive.
pub type PrimitiveFunction = fn(&mut Thread, Window) -> Outcome;

impl Primitive {
    /// A primitive that tiers just call.
    pub const fn ordinary(name: &'static str, run: PrimitiveFunction) -> Primitive {
        Primitive::shaped(name, Shape::Ordinary, run)
    }

    /// A primitive with an effect beyond memory.
    pub const fn effect(name: &'static str, run: PrimitiveFunction) -> Primitive {
        Primitive::shaped(name, Shape::Effect, run)
    }

    /// A primitive that tiers may do themselves, or that has an effect.
    pub const fn shaped(name: &'static str, shape: Shape, run: PrimitiveFunction) -> Primitive {
        Primitive { name, code: Code(run as *const ()), shape }
    }

    /// Runs it. The window's words are its arguments, and roots while it runs.
    #[inline(always)]
    pub fn run(&self, thread: &mut Thread, window: Window) -> Outcome {
        // SAFETY: only `shaped` makes the code of a primitive, from a function of this type.
        let run = unsafe { std::mem::transmute::<*const (), PrimitiveFunction>(self.code.0) };
        run(thread, window)
    }
}
