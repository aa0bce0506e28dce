//! Handles: what C has in place of objects.
//!
//! A handle looks like a pointer to an incomplete type, and is none: its bits name a place in a table, which generation
//! of that place's content it means, and of which kind this is. Nobody follows it. So a null pointer, a pointer to something else, a handle that was
//! freed, and one of the wrong kind are all found out, and are errors instead of crashes.
//!
//! ```text
//!    63          40 39                         4 3     0
//!   ┌──────────────┬────────────────────────────┬───────┐
//!   │ generation   │ place + 1                  │ kind  │
//!   └──────────────┴────────────────────────────┴───────┘
//! ```
//!
//! The table's lock is held to look something up, and never while anything is done with it.

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
    /// An end to read from.
    Reader = 5,
    /// An end to write to.
    Writer = 6,
    /// A sandbox.
    Sandbox = 7,
}

/// A type of handles. Each has a kind and an entry of its own.
pub trait Handle: Sized {
    /// What one stands for.
    type Entry: Any + Send + Sync;
    /// What its bits say.
    const KIND: Kind;
    /// What such handles are called.
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
    /// Where a handle leads, and what it stands for, if it is one.
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

/// What a handle stands for.
pub fn get<H: Handle>(handle: *const H) -> Result<Arc<H::Entry>, Problem> {
    let found = TABLE.read().find(handle).map(|(_, entry)| entry);
    found.ok_or_else(|| match handle.is_null() {
        true => Problem::handle(format!("a null pointer is no {}", H::NAME)),
        false => Problem::handle(format!("{handle:p} is no {}, or was freed", H::NAME)),
    })
}

/// Frees a handle; what is none is left alone. Answers what it has stood for, which is dropped without the table's lock.
pub fn free<H: Handle>(handle: *const H) -> Option<Arc<H::Entry>> {
    let mut table = TABLE.write();
    let (index, entry) = table.find(handle)?;
    let place = &mut table.places[index];
    // The last reference is the caller's.
    place.entry = None;
    place.generation = (place.generation + 1) % GENERATIONS;
    table.free.push(index);
    Some(entry)
}
