//! The collector's threads, and how they trace long thin graphs. `collection` starts the threads, and `scanning` traces
//! objects through the functions here.
//!
//! MMTk traces in packets: it hands over the objects of a packet one by one, and makes packets of the objects that they
//! reach. For a linked list, that is one packet per object, at half a microsecond each; a list of a million objects
//! would stop the world for half a second. So the objects of a *narrow* packet, one of a few objects, are traced some
//! steps ahead: their children are traced, and their children's children, up to [`MAX_AHEAD`] objects. All these
//! objects are in the next packet, which is therefore not narrow. Its objects are traced once more, and reach nothing
//! new: for thin graphs, two cheap visits per object replace one expensive packet.
//!
//! The order of MMTk's calls tells the size of a packet: MMTk first asks, for all objects of a packet, how they are to
//! be traced, and then has them traced.

use super::slot::WordSlot;
use super::{from_usize, instance, object};
use crate::heap::Heap;
use crate::representation::Object;
use mmtk::memory_manager;
use mmtk::scheduler::GCWorker;
use mmtk::util::opaque_pointer::{OpaquePointer, VMThread, VMWorkerThread};
use mmtk::vm::ObjectTracer;
use mmtk::vm::slot::Slot;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// A collector thread's knowledge of its current packet. Only that thread accesses it.
pub(super) struct Worker {
    /// The number of objects that MMTk has announced and not yet had traced.
    announced: Cell<u32>,
    /// Whether the packet is narrow.
    is_narrow: Cell<bool>,
    /// The bytes that this thread has traced.
    traced: &'static Traced,
}

/// The bytes of the objects that one thread has traced in the collection under way. Only that thread adds to it, so the
/// addition need not be atomic. At the end of the collection, when all threads have finished, it is read and reset.
#[repr(align(64))]
struct Traced(AtomicUsize);

/// The greatest number of objects in a narrow packet.
const NARROW: u32 = 4;
/// The greatest number of objects that are traced ahead of their packet.
const MAX_AHEAD: usize = 1024;
/// The greatest number of objects that wait to be traced ahead. Further objects wait for their packet.
const MAX_WAITING: usize = 32;

/// The traced bytes of each thread.
static TRACED: Mutex<Vec<&'static Traced>> = Mutex::new(Vec::new());

/// Answers the sum of the traced bytes of the ending collection, and resets them.
pub(super) fn take_traced_bytes() -> usize {
    let all = TRACED.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().map(|traced| traced.0.swap(0, Ordering::Relaxed)).sum()
}

/// The lowest bit of the address by which MMTk knows a thread. It is set for collector threads, and clear for mutators,
/// whose address is that of a record.
const COLLECTOR_BIT: usize = 1;

const _: () = assert!(align_of::<Worker>() > COLLECTOR_BIT);

/// Whether this thread is a collector thread.
pub(super) fn is_collector(thread: VMThread) -> bool {
    thread.0.to_address().as_usize() & COLLECTOR_BIT != 0
}

/// The collector threads that run.
static THREADS: Mutex<Vec<JoinHandle<&'static Traced>>> = Mutex::new(Vec::new());

/// The counters that ended threads have left to later ones.
static LEFT: Mutex<Vec<&'static Traced>> = Mutex::new(Vec::new());

/// Starts a collector thread, which runs until the process ends or is copied.
pub(super) fn spawn(worker: Box<GCWorker<super::Binding>>) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name(Heap::COLLECTOR.to_owned());
    let thread = builder.spawn(move || run(worker))?;
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    Ok(())
}

/// Waits until all collector threads have ended, which MMTk was told.
pub(super) fn wait_for_end() {
    let threads = std::mem::take(&mut *THREADS.lock().unwrap_or_else(PoisonError::into_inner));
    // Before the lock: a thread that has just begun takes it.
    let left: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().ok()).collect();
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
}

/// Runs a collector thread.
///
/// If a collector thread fails, the heap is unusable: the process ends at once, and does not wait for a collection that
/// cannot end.
fn run(worker: Box<GCWorker<super::Binding>>) -> &'static Traced {
    let abort_on_panic = AbortOnDrop;
    // Leaked, since MMTk may use it until the process ends.
    let own: &'static Worker = Box::leak(Box::new(Worker::new()));
    memory_manager::start_worker(instance(), own.thread(), worker);
    std::mem::forget(abort_on_panic);
    own.traced
}

/// Ends the process when dropped, which happens if a panic unwinds.
pub(super) struct AbortOnDrop;

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl Worker {
    fn new() -> Worker {
        let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let traced = left.unwrap_or_else(|| {
            let new: &'static Traced = Box::leak(Box::new(Traced(AtomicUsize::new(0))));
            TRACED.lock().unwrap_or_else(PoisonError::into_inner).push(new);
            new
        });
        Worker { announced: Cell::new(0), is_narrow: Cell::new(false), traced }
    }

    fn thread(&'static self) -> VMWorkerThread {
        let address = from_usize(std::ptr::from_ref(self) as usize | COLLECTOR_BIT);
        VMWorkerThread(VMThread(OpaquePointer::from_address(address)))
    }

    /// The worker that MMTk knows as `thread`; `None` for the heap checker's, which is null.
    #[inline(always)]
    pub(super) fn of(thread: VMWorkerThread) -> Option<&'static Worker> {
        let address = thread.0.0.to_address().as_usize();
        let worker = (address & !COLLECTOR_BIT) as *const Worker;
        // SAFETY: the address is null or comes from `Worker::thread`.
        unsafe { worker.as_ref() }
    }

    /// MMTk announces an object of the next packet.
    #[inline(always)]
    pub(super) fn announce(&self) {
        self.announced.set(self.announced.get() + 1);
    }

    /// Counts a traced object of the packet; it occupies `bytes` bytes.
    #[inline(always)]
    pub(super) fn traced(&self, bytes: usize) {
        let Traced(sum) = self.traced;
        sum.store(sum.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    /// Whether the next object to trace belongs to a narrow packet.
    #[inline(always)]
    pub(super) fn is_narrow(&self) -> bool {
        let announced = self.announced.get();
        if announced != 0 {
            self.is_narrow.set(announced <= NARROW);
            self.announced.set(0);
        }
        self.is_narrow.get()
    }
}

/// Traces the objects that the slots of an object refer to. `for_each_slot` enumerates the slots.
#[inline(always)]
pub(super) fn trace_slot(slot: WordSlot, tracer: &mut impl ObjectTracer) {
    if let Some(target) = slot.load() {
        let moved = tracer.trace_object(target);
        if moved != target {
            slot.store(moved);
        }
    }
}

/// Traces the slots of `first` and, ahead, those of the objects that it newly reaches.
///
/// If another thread reaches some of these objects at the same time, that costs a visit and no more: both threads find
/// the same new place for each object.
#[cold]
pub(super) fn trace_ahead<T: ObjectTracer>(
    first: Object,
    tracer: &mut T,
    for_each_slot: impl Fn(Object, &mut dyn FnMut(WordSlot)),
) {
    let mut waiting: [Option<Object>; MAX_WAITING] = [None; MAX_WAITING];
    waiting[0] = Some(first);
    let mut count = 1;
    for _ in 0..MAX_AHEAD {
        if count == 0 {
            return;
        }
        count -= 1;
        let Some(next) = waiting[count] else { return };
        for_each_slot(next, &mut |slot| {
            let is_new = slot.load().is_some_and(|target| !target.is_reachable());
            trace_slot(slot, tracer);
            if is_new && count < MAX_WAITING {
                waiting[count] = slot.load().map(object);
                count += 1;
            }
        });
    }
}
