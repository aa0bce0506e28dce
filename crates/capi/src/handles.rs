//! Handles: C has them in place of objects. All functions of the interface look their arguments up here.
//!
//! A handle looks like a pointer to an incomplete type, but is none: its bits name a place in a table, the generation
//! of that place's contents, and the kind of the handle. Nothing follows the pointer. So a null pointer, a pointer to
//! something else, a freed handle, and a handle of the wrong kind are errors, not crashes.
//!
//! ```text
//!    63          40 39                         4 3     0
//!   ┌──────────────┬────────────────────────────┬───────┐
//!   │ generation   │ place + 1                  │ kind  │
//!   └──────────────┴────────────────────────────┴───────┘
//! ```
//!
//! The table's lock is held for a lookup only, never while an entry is used.

use std::any::Any;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::problem::Problem;

/// Kinds of handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The machine.
    Vm = 1,
    /// A value.
    Value = 2,
    /// An error.
    Error = 3,
    /// Options.
    Options = 4,
    /// A reading end.
    Reader = 5,
    /// A writing end.
    Writer = 6,
    /// A sandbox.
    Sandbox = 7,
}

/// A type of handles. Each has its own kind and its own type of entries.
pub trait Handle: Sized {
    /// The type of the object that a handle stands for.
    type Entry: Any + Send + Sync;
    /// The kind in the handle's bits.
    const KIND: Kind;
    /// The name in messages.
    const NAME: &'static str;
}

static TABLE: RwLock<Table> = RwLock::new(Table { places: Vec::new(), free: Vec::new() });

struct Table {
    places: Vec<Place>,
    free: Vec<usize>,
}

struct Place {
    generation: u64,
    entry: Option<Arc<dyn Any + Send + Sync>>,
}

const KIND_BITS: u32 = 4;
const PLACE_BITS: u32 = 36;
const GENERATIONS: u64 = 1 << (64 - PLACE_BITS - KIND_BITS);

/// A new handle.
pub fn new<H: Handle>(entry: H::Entry) -> *mut H {
    let mut table = TABLE.write();
    let index = table.free.pop().unwrap_or_else(|| {
        table.places.push(Place { generation: 1, entry: None });
        table.places.len() - 1
    });
    let place = &mut table.places[index];
    place.entry = Some(Arc::new(entry));
    let bits = place.generation << (PLACE_BITS + KIND_BITS)
        | (index as u64 + 1) << KIND_BITS
        | H::KIND as u64;
    std::ptr::without_provenance_mut(bits as usize)
}

impl Table {
    /// The place of a handle and its entry, if the handle is valid.
    fn find<H: Handle>(&self, handle: *const H) -> Option<(usize, Arc<H::Entry>)> {
        let bits = handle.addr() as u64;
        let index = bits >> KIND_BITS & ((1 << PLACE_BITS) - 1);
        let index = usize::try_from(index.checked_sub(1)?).ok()?;
        let place = self.places.get(index)?;
        let is_this = bits >> (PLACE_BITS + KIND_BITS) == place.generation
            && bits & ((1 << KIND_BITS) - 1) == H::KIND as u64;
        let entry = place.entry.clone().filter(|_| is_this)?;
        Some((index, entry.downcast().ok()?))
    }
}

/// The entry of a handle.
pub fn get<H: Handle>(handle: *const H) -> Result<Arc<H::Entry>, Problem> {
    let found = TABLE.read().find(handle).map(|(_, entry)| entry);
    found.ok_or_else(|| match handle.is_null() {
        true => Problem::handle(format!("a null pointer is no {}", H::NAME)),
        false => Problem::handle(format!("{handle:p} is no {}, or was freed", H::NAME)),
    })
}

/// Frees a handle; an invalid handle is ignored. Answers its entry, which is dropped after the table's lock is
/// released.
pub fn free<H: Handle>(handle: *const H) -> Option<Arc<H::Entry>> {
    let mut table = TABLE.write();
    let (index, entry) = table.find(handle)?;
    let place = &mut table.places[index];
    // The caller has the last reference.
    place.entry = None;
    place.generation = (place.generation + 1) % GENERATIONS;
    table.free.push(index);
    Some(entry)
}
