//! Weak arrays, ephemerons and finalisation: what a collection does about objects that are, or may be, dead. The
//! collector calls this after tracing.
//!
//! Tracing does not follow the elements of a weak array or the slots of an ephemeron; it *discovers* these objects,
//! that is, lists them here. When all strongly reachable objects have been traced, the collector calls
//! [`WeakObjects::process`] until there is nothing more to trace:
//!
//! 1. conditional roots are visited, and the value of each ephemeron with a live key is traced, as long as that keeps a
//!    new object alive;
//! 2. registered objects that are dead are queued for finalisation, and traced, so that they survive until the runtime
//!    has taken them from the queue; step 1 is repeated for the objects that they reach;
//! 3. objects that are dead now are gone: weak elements and dead ephemerons become nil.
//!
//! So a weak reference is cleared after its object has been finalised, not before: the weak references of a live object
//! are never gone.
//!
//! Cost: discovered objects are visited once, ephemerons once per round of step 1; a chain in which
//! each value is the next key takes as many rounds as it has links in the wrong order. Registered
//! objects are visited by the first collection and by full ones.

use crate::options::CollectionKind;
use crate::representation::{Format, Object, Word};
use crate::roots::{RootAddress, RootSource};
use crate::tracer::Tracer;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An object that was registered for finalisation, and the tag it was registered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finalizable {
    /// The object. Nothing else references it strongly.
    pub object: Word,
    /// The tag that it was registered with.
    pub tag: u64,
}

/// The key of an ephemeron, by its slot.
pub(crate) const EPHEMERON_KEY: usize = 0;
/// The value of an ephemeron, by its slot.
pub(crate) const EPHEMERON_VALUE: usize = 1;

/// The weak parts of the heap. Locks are held briefly and never across a GC point.
#[derive(Debug)]
pub(crate) struct WeakObjects {
    discovered: Mutex<Discovered>,
    finalizers: Mutex<Finalizers>,
}

/// The objects that the current collection has discovered.
#[derive(Debug)]
struct Discovered {
    weak_arrays: Vec<Object>,
    ephemerons: Vec<Object>,
    /// Whether step 2 is done.
    finalized: bool,
}

#[derive(Debug)]
struct Finalizers {
    /// Objects registered since the last collection.
    young: Vec<Finalizable>,
    /// Objects registered before; nursery collections skip them.
    old: Vec<Finalizable>,
    /// Dead objects that the runtime has not taken yet.
    dead: Vec<Finalizable>,
}

/// The mutators' side.
impl WeakObjects {
    pub(crate) const fn new() -> WeakObjects {
        WeakObjects {
            discovered: Mutex::new(Discovered {
                weak_arrays: Vec::new(),
                ephemerons: Vec::new(),
                finalized: false,
            }),
            finalizers: Mutex::new(Finalizers {
                young: Vec::new(),
                old: Vec::new(),
                dead: Vec::new(),
            }),
        }
    }

    pub(crate) fn register_finalizable(&self, object: Object, tag: u64) {
        lock(&self.finalizers).young.push(Finalizable { object: object.word(), tag });
    }

    pub(crate) fn take_finalizable(&self) -> Option<Finalizable> {
        lock(&self.finalizers).dead.pop()
    }

    pub(crate) fn has_finalizable(&self) -> bool {
        !lock(&self.finalizers).dead.is_empty()
    }
}

/// The collector's side.
impl WeakObjects {
    /// Forgets what the previous collection discovered.
    pub(crate) fn begin_collection(&self) {
        let mut discovered = lock(&self.discovered);
        discovered.weak_arrays.clear();
        discovered.ephemerons.clear();
        discovered.finalized = false;
    }

    /// Lists a weak array or ephemeron that tracing has reached.
    pub(crate) fn discover(&self, object: Object) {
        let mut discovered = lock(&self.discovered);
        if object.layout().format() == Format::WeakArray {
            discovered.weak_arrays.push(object);
        } else {
            discovered.ephemerons.push(object);
        }
    }

    /// Visits the objects in the finalisation queue, which are alive until they are taken.
    pub(crate) fn visit_roots(&self, visit: &mut dyn FnMut(RootAddress)) {
        for dead in &mut lock(&self.finalizers).dead {
            visit(RootAddress::from(&mut dead.object));
        }
    }

    /// Visits all objects that the lists have, as if all were alive.
    pub(crate) fn visit_all(&self, visit: &mut dyn FnMut(RootAddress)) {
        let Finalizers { young, old, dead } = &mut *lock(&self.finalizers);
        for finalizable in young.iter_mut().chain(old).chain(dead) {
            visit(RootAddress::from(&mut finalizable.object));
        }
    }

    /// Takes the next step; true if it has kept a new object alive, which must be traced before the next call.
    pub(crate) fn process(
        &self,
        kind: CollectionKind,
        roots: &dyn RootSource,
        tracer: &mut Tracer<'_>,
    ) -> bool {
        roots.visit_conditional_roots(kind, tracer);
        // The lists are taken out instead of locked: tracing discovers more objects.
        let ephemerons = mem::take(&mut lock(&self.discovered).ephemerons);
        ephemerons.iter().for_each(|ephemeron| keep_value(*ephemeron, tracer));
        if !tracer.kept_something() && self.enter_finalization() {
            lock(&self.finalizers).queue_dead(kind, tracer);
        }
        if tracer.kept_something() {
            lock(&self.discovered).ephemerons.extend(ephemerons);
            return true;
        }
        ephemerons.iter().for_each(|ephemeron| clear_if_dead(*ephemeron, tracer));
        self.clear_weak_arrays(tracer);
        lock(&self.finalizers).follow(kind, tracer);
        roots.visit_weak_roots(kind, tracer);
        false
    }

    /// Begins step 2, unless it is done.
    fn enter_finalization(&self) -> bool {
        !mem::replace(&mut lock(&self.discovered).finalized, true)
    }

    fn clear_weak_arrays(&self, tracer: &mut Tracer<'_>) {
        for array in mem::take(&mut lock(&self.discovered).weak_arrays) {
            for index in 0..array.length() {
                let mut element = array.element(index);
                if element.is_pointer() {
                    let live = tracer.update(&mut element);
                    // The collector may store without a barrier: no young objects remain.
                    array.initialize_element(index, if live { element } else { Word::NIL });
                }
            }
        }
    }
}

/// Traces the value of an ephemeron, if its key is live.
fn keep_value(ephemeron: Object, tracer: &mut Tracer<'_>) {
    if tracer.is_live(ephemeron.slot(EPHEMERON_KEY)) {
        for slot in [EPHEMERON_KEY, EPHEMERON_VALUE] {
            let mut word = ephemeron.slot(slot);
            tracer.keep(&mut word);
            ephemeron.initialize_slot(slot, word);
        }
    }
}

fn clear_if_dead(ephemeron: Object, tracer: &mut Tracer<'_>) {
    if !tracer.is_live(ephemeron.slot(EPHEMERON_KEY)) {
        ephemeron.initialize_slot(EPHEMERON_KEY, Word::NIL);
        ephemeron.initialize_slot(EPHEMERON_VALUE, Word::NIL);
    }
}

impl Finalizers {
    /// Queues the registered objects that are dead, and keeps them alive.
    fn queue_dead(&mut self, kind: CollectionKind, tracer: &mut Tracer<'_>) {
        let Finalizers { young, old, dead } = self;
        let mut queue = |registered: &mut Vec<Finalizable>| {
            registered.retain(|finalizable| {
                let live = tracer.is_live(finalizable.object);
                if !live {
                    dead.push(*finalizable);
                }
                live
            });
        };
        queue(young);
        if kind == CollectionKind::Full {
            queue(old);
        }
        dead.iter_mut().for_each(|finalizable| tracer.keep(&mut finalizable.object));
    }

    /// Follows the registered objects to their new places.
    fn follow(&mut self, kind: CollectionKind, tracer: &mut Tracer<'_>) {
        if kind == CollectionKind::Full {
            self.old.iter_mut().for_each(|finalizable| _ = tracer.update(&mut finalizable.object));
        }
        self.young.iter_mut().for_each(|finalizable| _ = tracer.update(&mut finalizable.object));
        self.old.append(&mut self.young);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of a root source may poison the lock; the lists are consistent nevertheless.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
