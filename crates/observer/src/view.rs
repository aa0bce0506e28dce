//! What answers are made from: the machine, what the user has chosen, and what is kept from request to request. The server
//! makes one [`View`]; [`crate::answers`] and [`crate::metrics`] read it.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;
use squall_runtime::library::observation::Origin;
use squall_runtime::state::vm::Vm;

use crate::answer::Problem;
use crate::window::Window;
use crate::{sweep, vats};

/// What the user has chosen.
pub struct Options {
    /// The port, or 0 for any that is free.
    pub port: u16,
    /// Whether requests may change what the program does.
    pub control: bool,
    /// The program's name, for titles.
    pub program: String,
    /// The texts of files, by their paths.
    pub text_of: TextOf,
}

/// The text of a module's file, if it is known.
pub type TextOf = Box<dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync>;

/// See the head of the file.
pub struct View {
    /// The machine.
    pub vm: &'static Vm,
    /// What the user has chosen.
    pub options: Options,
    /// The last sweep over strands.
    pub strands: sweep::Sweeper,
    /// The last sweep over vats.
    pub vats: vats::Sweeper,
    /// The numbers of places of origin.
    pub origins: Origins,
    /// Recent events.
    pub window: Window,
    /// When the server began.
    pub began: Instant,
}

impl View {
    /// A view of a machine.
    pub fn new(vm: &'static Vm, options: Options) -> View {
        View {
            vm,
            options,
            strands: Default::default(),
            vats: Default::default(),
            origins: Default::default(),
            window: Window::new(vm),
            began: Instant::now(),
        }
    }
}

/// The numbers by which clients know places of origin.
#[derive(Default)]
pub struct Origins(Mutex<HashMap<Origin, u64>>);

impl Origins {
    /// The number of an origin; 0 if there is none.
    pub fn number(&self, origin: Option<Origin>) -> u64 {
        let Some(origin) = origin else { return 0 };
        let mut all = self.0.lock();
        let next = all.len() as u64 + 1;
        *all.entry(origin).or_insert(next)
    }

    /// The origin with a number, or none with 0; `Err` if no client knows this number.
    pub fn origin(&self, number: u64) -> Result<Option<Origin>, Problem> {
        if number == 0 {
            return Ok(None);
        }
        let all = self.0.lock();
        let found = all.iter().find(|(_, known)| **known == number).map(|(origin, _)| *origin);
        found.map(Some).ok_or_else(|| (400, "there is no origin with this number".into()))
    }
}
