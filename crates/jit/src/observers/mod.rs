//! What learns of all machine code while a program runs: profilers and debuggers, by files and interfaces that they
//! define. The embedder chooses them; `memory` tells them about each piece of code.
//!
//! | module | observer |
//! |---|---|
//! | [`map`] | the names of code, in a file for `perf report` |
//! | [`dump`] | names, lines and instructions, in a file for `perf inject` |
//! | [`debugger`] | names and frames, for `gdb` |
//!
//! Without observers, code has no names: nothing is made for them.

pub mod debugger;
pub mod dump;
pub mod map;

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::code::units::CodeLine;

/// A piece of machine code.
pub struct Piece<'a> {
    /// Where it runs.
    pub address: usize,
    /// The instructions.
    pub bytes: &'a [u8],
    /// The name for people.
    pub name: &'a str,
    /// Which lines of source text it is for, in the order of its places.
    pub lines: &'a [CodeLine],
    /// Where it saves what.
    pub frame: Frame,
}

/// What a piece of code has on the native stack. The places are those in the code, in bytes, from which on it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// Nobody has said it.
    Unknown,
    /// A frame of base code.
    Base {
        /// After `push rbx`.
        from: u32,
    },
    /// Shared code that calls Rust, with one word to make the stack pointer even.
    Call {
        /// After the stack pointer was changed.
        from: u32,
    },
    /// A frame of Cranelift's.
    Unit,
    /// The frame between Rust and machine code.
    Entry {
        /// After all registers were pushed.
        from: u32,
        /// Where it calls an activation for which it has made a native frame: the return address to the caller's code is on
        /// top of the stack then, and a word above.
        calls: u32,
        /// The bytes of the frame, with the return address.
        bytes: i32,
    },
}

/// Something that learns of machine code.
pub trait Observer: Send {
    /// There is a new piece. It stays until the process ends.
    fn added(&mut self, piece: &Piece<'_>);
}

/// All observers of a process.
#[derive(Clone, Default)]
pub struct Observers(Arc<Mutex<Vec<Box<dyn Observer>>>>);

impl Observers {
    /// Adds one. It learns of the code that is made from now on.
    pub fn add(&self, observer: impl Observer + 'static) {
        self.0.lock().push(Box::new(observer));
    }

    /// Whether nothing observes.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Tells all of them about a piece.
    pub fn added(&self, piece: &Piece<'_>) {
        self.0.lock().iter_mut().for_each(|observer| observer.added(piece));
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Observers({})", self.0.lock().len())
    }
}
