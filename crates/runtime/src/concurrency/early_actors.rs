//! Actors and processes that are made before an object around their class has been initialised. The primitives that
//! start them, and the ends of initializers, call this module.
//!
//! A module may make actors of its classes in its slots. The objects that an actor finds around its class would then
//! depend on the progress of the initializer, which runs in parallel. So such an actor, or process, is *held*: it does
//! not begin before the initializers of all these objects have ended, and the check at their ends has passed
//! ([`crate::concurrency::values`]). If one of them never ends, the actor never begins.
//!
//! A vat is held by its flag *scheduled*, without being in a run queue; a strand is ready without
//! being in one. The end of a sandbox releases the vats that it holds: their messages find it over.
//!
//! An initializer may end with an exception, and then its object is not complete. The object is dead as soon as the
//! program drops it. So the list here keeps nothing alive: what is held is a root as long as all objects that it waits
//! for are live. If one of them is dead, an actor that is referred to never begins, and the others are freed.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use squall_heap::{CollectionKind, Object, RootAddress, Tracer, Word};

use crate::concurrency::waiting::{self, Place};
use crate::state::sandbox::SandboxRef;
use crate::state::strand::{Claimed, StrandRef};
use crate::state::thread::Thread;
use crate::state::vat::VatRef;

/// The held vat or strand.
#[derive(Clone, Copy)]
pub enum Held {
    /// An actor.
    Vat(VatRef),
    /// The strand of a process.
    Strand(StrandRef),
}

/// All that is held.
#[derive(Default)]
pub struct Early {
    /// The number of entries, so that the common case needs no look.
    count: AtomicUsize,
    entries: Mutex<Vec<Entry>>,
}

/// The objects that are given away together, and the vat or strand that gets them.
struct Entry {
    key: usize,
    /// Those whose initializers have not ended.
    objects: Vec<Word>,
    /// `None` while it is being made.
    held: Option<Held>,
    /// Whether one of the objects is dead.
    never_begins: bool,
}

/// Denotes objects that are given away before their initializers have ended.
#[derive(Clone, Copy)]
pub struct EarlyKey(usize);

impl Early {
    /// Whether this object was given away, and its initializer has not ended.
    pub fn contains(&self, object: Object) -> bool {
        let is_in = |entry: &Entry| entry.objects.contains(&object.word());
        self.count.load(Ordering::Relaxed) > 0 && self.entries.lock().iter().any(is_in)
    }

    /// Records that these objects are given away; the caller [holds](hold) the vat or strand that gets them.
    pub fn add(&self, objects: Vec<Word>) -> EarlyKey {
        let mut entries = self.entries.lock();
        let key = entries.last().map_or(0, |entry| entry.key + 1);
        entries.push(Entry { key, objects, held: None, never_begins: false });
        self.count.store(entries.len(), Ordering::Relaxed);
        EarlyKey(key)
    }

    /// Notes that an initializer has ended.
    fn remove(&self, object: Object) {
        let mut entries = self.entries.lock();
        entries.iter_mut().for_each(|entry| entry.objects.retain(|&other| other != object.word()));
        entries.retain(|entry| !(entry.never_begins && entry.objects.is_empty()));
        self.count.store(entries.len(), Ordering::Relaxed);
    }

    /// Notes what an entry holds. If it holds that back no more, removes it and answers that.
    fn set_held(&self, key: EarlyKey, held: Held) -> Option<Held> {
        let mut entries = self.entries.lock();
        // The keys grow from entry to entry.
        let index = entries.binary_search_by_key(&key.0, |entry| entry.key).ok()?;
        entries[index].held = Some(held);
        if !entries[index].objects.is_empty() {
            return None;
        }
        entries.remove(index);
        self.count.store(entries.len(), Ordering::Relaxed);
        Some(held)
    }

    /// Removes the entries that hold nothing back any more; answers what they have held.
    fn take_released(&self) -> Vec<Held> {
        let mut released = Vec::new();
        let mut entries = self.entries.lock();
        entries.retain(|entry| match entry.held.filter(|_| entry.objects.is_empty()) {
            Some(held) => {
                released.push(held);
                false
            }
            None => true,
        });
        self.count.store(entries.len(), Ordering::Relaxed);
        released
    }

    /// Shows the objects to the collector, which stands for all mutators. A full collection keeps those that are live.
    pub(crate) fn visit(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        if kind == CollectionKind::Nursery {
            let mut entries = self.entries.lock();
            let objects =
                entries.iter_mut().flat_map(|entry| RootAddress::of_all(&mut entry.objects));
            objects.for_each(visit);
        }
    }

    /// Keeps what waits for objects that are all live.
    pub(crate) fn keep(&self, tracer: &mut Tracer<'_>) {
        for entry in self.entries.lock().iter_mut().filter(|entry| !entry.never_begins) {
            if entry.objects.iter().all(|&object| tracer.is_live(object)) {
                match entry.held {
                    Some(Held::Vat(vat)) => vat.object.keep(tracer),
                    Some(Held::Strand(strand)) => strand.object.keep(tracer),
                    None => {}
                }
            }
        }
    }

    /// Follows the objects that survive, and forgets the others.
    pub(crate) fn update(&self, tracer: &mut Tracer<'_>) {
        let mut entries = self.entries.lock();
        for entry in entries.iter_mut() {
            let count = entry.objects.len();
            entry.objects.retain_mut(|object| tracer.update(object));
            entry.never_begins |= entry.objects.len() < count;
        }
        entries.retain(|entry| !(entry.never_begins && entry.objects.is_empty()));
        self.count.store(entries.len(), Ordering::Relaxed);
    }
}

/// Holds the vat or strand made of the objects with this key: the vat is not known to other threads yet, or the strand
/// is in no queue.
pub fn hold(thread: &mut Thread, key: EarlyKey, held: Held) {
    match held {
        Held::Vat(vat) => vat.hold(),
        Held::Strand(strand) => strand.set_held(true),
    }
    // The end of the sandbox has released those that it found.
    if let Held::Vat(vat) = held
        && vat.sandbox().is_some_and(SandboxRef::is_over)
    {
        vat.release(thread);
    }
    // The initializers may have ended meanwhile.
    if let Some(held) = thread.vm.concurrency().early.set_held(key, held) {
        release(thread, held);
    }
}

/// The initializer of this object, which was given away, has ended.
pub fn initialized(thread: &mut Thread, object: Object) {
    let early = &thread.vm.concurrency().early;
    early.remove(object);
    // There is no GC point before the last of them is in its queue.
    for held in early.take_released() {
        release(thread, held);
    }
}

fn release(thread: &mut Thread, held: Held) {
    match held {
        Held::Vat(vat) => vat.release(thread),
        Held::Strand(strand) => {
            strand.set_held(false);
            // SAFETY: a held strand belongs to its entry, which was taken out of the table.
            waiting::make_ready(thread, unsafe { Claimed::new(strand) }, Place::Last);
        }
    }
}
