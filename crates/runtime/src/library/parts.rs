//! The library layer's part of the VM: data that primitives share. They get it by [`Vm::library`].

use std::sync::LazyLock;

use squall_system::resources::Resources;

use crate::library::primitives::files::{Input, OpenFiles};
use crate::state::vm::Vm;

/// The data that primitives share.
#[derive(Default)]
pub struct Parts {
    /// The files that the program has open.
    pub files: OpenFiles,
    /// Its standard input.
    pub input: Input,
    /// Its other open resources: connections, processes and the like.
    pub resources: Resources,
}

/// A process has one VM, so this is that VM's.
static PARTS: LazyLock<Parts> = LazyLock::new(Parts::default);

impl Vm {
    /// The library's part.
    #[inline]
    pub fn library(&self) -> &'static Parts {
        &PARTS
    }
}
