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

use std::sync::Arc;

use machine::embedding::{Reader, Sandbox, Vm, Writer};
use parking_lot::RwLock;

use crate::errors::{Problem, squall_error};
use crate::machine_options::{OptionsEntry, squall_options};
use crate::values::{ValueEntry, squall_value};
use crate::{squall_reader, squall_sandbox, squall_vm, squall_writer};

/// What a handle stands for.
#[derive(Clone)]
pub enum Content {
    /// The machine.
    Vm(Vm),
    /// A value.
    Value(Arc<ValueEntry>),
    /// An error.
    Error(Arc<crate::errors::ErrorEntry>),
    /// Options.
    Options(Arc<OptionsEntry>),
    /// An end to read from.
    Reader(Arc<Reader>),
    /// An end to write to.
    Writer(Arc<Writer>),
    /// A sandbox.
    Sandbox(Sandbox),
}

impl Content {
    fn kind(&self) -> u64 {
        match self {
            Content::Vm(_) => 1,
            Content::Value(_) => 2,
            Content::Error(_) => 3,
            Content::Options(_) => 4,
            Content::Reader(_) => 5,
            Content::Writer(_) => 6,
            Content::Sandbox(_) => 7,
        }
    }
}

/// A type of handles.
pub trait Handle: Sized {
    /// What one stands for.
    type Entry: Clone;
    /// What such handles are called.
    const NAME: &'static str;
    /// The entry in a content of this kind.
    fn entry(content: &Content) -> Option<&Self::Entry>;
    /// The content with an entry.
    fn content(entry: Self::Entry) -> Content;
}

macro_rules! handles {
    ($($handle:ty: $variant:ident($entry:ty), $name:literal;)*) => {
        $(impl Handle for $handle {
            type Entry = $entry;
            const NAME: &'static str = $name;

            fn entry(content: &Content) -> Option<&$entry> {
                match content {
                    Content::$variant(entry) => Some(entry),
                    _ => None,
                }
            }

            fn content(entry: $entry) -> Content {
                Content::$variant(entry)
            }
        })*
    };
}

handles! {
    squall_vm: Vm(Vm), "squall_vm";
    squall_value: Value(Arc<ValueEntry>), "squall_value";
    squall_error: Error(Arc<crate::errors::ErrorEntry>), "squall_error";
    squall_options: Options(Arc<OptionsEntry>), "squall_options";
    squall_reader: Reader(Arc<Reader>), "squall_reader";
    squall_writer: Writer(Arc<Writer>), "squall_writer";
    squall_sandbox: Sandbox(Sandbox), "squall_sandbox";
}

static TABLE: RwLock<Table> = RwLock::new(Table { places: Vec::new(), free: Vec::new() });

struct Table {
    places: Vec<Place>,
    free: Vec<usize>,
}

struct Place {
    generation: u64,
    content: Option<Content>,
}

const KIND_BITS: u32 = 4;
const PLACE_BITS: u32 = 36;
const GENERATIONS: u64 = 1 << (64 - PLACE_BITS - KIND_BITS);

/// A new handle.
pub fn new<H: Handle>(entry: H::Entry) -> *mut H {
    let content = H::content(entry);
    let kind = content.kind();
    let mut table = TABLE.write();
    let index = table.free.pop().unwrap_or_else(|| {
        table.places.push(Place { generation: 1, content: None });
        table.places.len() - 1
    });
    let place = &mut table.places[index];
    place.content = Some(content);
    let bits =
        place.generation << (PLACE_BITS + KIND_BITS) | (index as u64 + 1) << KIND_BITS | kind;
    std::ptr::without_provenance_mut(bits as usize)
}

/// Where a handle leads, if it is one.
fn place_of<H>(handle: *const H) -> Option<(usize, u64)> {
    let bits = handle.addr() as u64;
    let index = bits >> KIND_BITS & ((1 << PLACE_BITS) - 1);
    Some((usize::try_from(index.checked_sub(1)?).ok()?, bits))
}

impl Table {
    fn content<H: Handle>(&self, handle: *const H) -> Option<(usize, &H::Entry)> {
        let (index, bits) = place_of(handle)?;
        let place = self.places.get(index)?;
        let content = place.content.as_ref()?;
        let is_this = bits >> (PLACE_BITS + KIND_BITS) == place.generation
            && bits & ((1 << KIND_BITS) - 1) == content.kind();
        Some((index, H::entry(content).filter(|_| is_this)?))
    }
}

/// What a handle stands for.
pub fn get<H: Handle>(handle: *const H) -> Result<H::Entry, Problem> {
    let found = TABLE.read().content(handle).map(|(_, entry)| entry.clone());
    found.ok_or_else(|| match handle.is_null() {
        true => Problem::handle(format!("a null pointer is no {}", H::NAME)),
        false => Problem::handle(format!("{handle:p} is no {}, or was freed", H::NAME)),
    })
}

/// Frees a handle; what is none is left alone. Answers what it has stood for, which is dropped without the table's lock.
pub fn free<H: Handle>(handle: *const H) -> Option<Content> {
    let mut table = TABLE.write();
    let (index, _) = table.content(handle)?;
    let place = &mut table.places[index];
    let content = place.content.take();
    place.generation = (place.generation + 1) % GENERATIONS;
    table.free.push(index);
    content
}
