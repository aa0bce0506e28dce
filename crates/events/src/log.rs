//! The log: the buffers of all native threads, and the way from there to one reader, the *sink*.
//!
//! A native thread that runs guest code gets a [`Port`] when it attaches, if the log is on. Through the port it notes
//! events in its own [ring](crate::ring). A thread without anything else to do drains the rings now and then: it takes
//! the records of all rings up to a moment some time ago, and gives them to the sink in the order of time. Records that
//! are younger wait, since an older one may still be on its way in another ring.
//!
//! Under a seed there is no such thread, because the moments of its work would decide what is lost. There, native threads
//! run one at a time, and the one whose ring is full drains all rings itself: no record is ever lost, and the sink gets
//! the same ones in each run.
//!
//! Time is the clock's, in nanoseconds since the log was made. Under a seed, it is virtual time, and each event takes a
//! nanosecond of it, so that no two events have the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::record::{Record, Track};
use crate::ring::Ring;
use crate::table::Kind;

/// The number of the worker of events that belong to none.
pub const MACHINE: u32 = u32::MAX;

/// A reader of events.
pub trait Sink: Send {
    /// Gets the next event in the order of time, and the worker that has noted it.
    fn take(&mut self, worker: u32, record: &Record);

    /// Learns that a worker has lost so many events before this moment, because its ring was full.
    fn lost(&mut self, worker: u32, count: u64);

    /// Some events have come, and for some time no more will.
    fn flush(&mut self) {}

    /// Why the events cannot be kept, if they cannot.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// How long records wait for older ones from other rings.
const PATIENCE: Duration = Duration::from_millis(1);

/// All buffers. The machine has one log.
pub struct Log {
    start: Instant,
    is_on: AtomicBool,
    /// Whether there is a seed: then the time of the last event is here.
    is_seeded: bool,
    last: AtomicU64,
    lost: AtomicU64,
    rings: Mutex<Vec<Arc<Ring>>>,
    /// The buffer for events of the machine itself, such as collections.
    machine: Mutex<Option<Port>>,
    sink: Mutex<Option<Box<dyn Sink>>>,
    vats: AtomicU64,
    /// The bits of the kinds that are noted.
    kinds: AtomicU64,
    /// How often the log was turned on or off.
    epoch: AtomicU32,
    /// Whether messages are counted although the log may be off.
    counts: AtomicBool,
}

impl Log {
    /// A log that is off.
    pub fn new(is_seeded: bool) -> Log {
        Log {
            start: Instant::now(),
            is_on: AtomicBool::new(false),
            is_seeded,
            last: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            rings: Mutex::default(),
            machine: Mutex::default(),
            sink: Mutex::default(),
            vats: AtomicU64::new(0),
            kinds: AtomicU64::new(0),
            epoch: AtomicU32::new(0),
            counts: AtomicBool::new(false),
        }
    }

    /// From now on messages are counted in their mailboxes, also while the log is off. Before threads attach.
    pub fn count_messages(&self) {
        self.counts.store(true, Ordering::Relaxed);
    }

    /// Whether messages are counted in their mailboxes.
    pub fn counts_messages(&self) -> bool {
        self.counts.load(Ordering::Relaxed) || self.is_on()
    }

    /// A number that changes when the log is turned on or off: a thread that finds it changed gets a port, or drops its own.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Turns the log on for some kinds of events, with a sink. Threads that attach from now on have ports, and others from
    /// their next poll on, if they are asked to poll.
    pub fn begin(&self, kinds: &[Kind], sink: Box<dyn Sink>) {
        let bits = kinds.iter().fold(0, |bits, &kind| bits | bit(kind));
        self.kinds.store(bits, Ordering::Relaxed);
        *self.sink.lock() = Some(sink);
        self.is_on.store(true, Ordering::Release);
        self.epoch.fetch_add(1, Ordering::Relaxed);
        *self.machine.lock() = self.port(MACHINE);
    }

    /// A port for the thread of a worker, if the log is on.
    pub fn port(&self, worker: u32) -> Option<Port> {
        if !self.is_on.load(Ordering::Acquire) {
            return None;
        }
        let ring = Arc::new(Ring::new(worker));
        self.rings.lock().push(ring.clone());
        Some(Port { ring, kinds: self.kinds.load(Ordering::Relaxed) })
    }

    /// A number for a vat.
    pub fn number_vat(&self) -> u64 {
        // The numbers need only differ.
        self.vats.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether events are recorded.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Whether time is virtual.
    pub fn is_seeded(&self) -> bool {
        self.is_seeded
    }

    /// The time of an event that happens now, when virtual time, which counts under a seed, is this.
    #[inline]
    pub fn now(&self, virtual_time: impl FnOnce() -> Duration) -> u64 {
        if !self.is_seeded {
            return self.start.elapsed().as_nanos() as u64;
        }
        // Threads run one at a time under a seed, so this is no race.
        let time = (virtual_time().as_nanos() as u64).max(self.last.load(Ordering::Relaxed) + 1);
        self.last.store(time, Ordering::Relaxed);
        time
    }

    /// Notes an event of the machine itself, on the track of the worker [`MACHINE`].
    pub fn note_for_machine(&self, time: u64, kind: Kind, fields: [u64; 3]) {
        if let Some(port) = self.machine.lock().as_ref().filter(|port| port.wants(kind)) {
            // A collector thread must not wait for the sink, so this one loses records under a seed, too.
            port.push(&Record { time, kind, track: Track::Worker, fields });
        }
    }

    /// Gives the sink what is older than some time. For one thread at a time that may wait.
    pub fn drain(&self) {
        let now = self.start.elapsed().saturating_sub(PATIENCE);
        self.drain_until(now.as_nanos() as u64);
    }

    /// The count of events lost so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Turns the log off: gives the sink all that is left, and answers the sink.
    pub fn end(&self) -> Option<Box<dyn Sink>> {
        self.is_on.store(false, Ordering::Release);
        self.epoch.fetch_add(1, Ordering::Relaxed);
        *self.machine.lock() = None;
        self.drain_until(u64::MAX);
        self.sink.lock().take()
    }

    fn drain_until(&self, time: u64) {
        let mut sink = self.sink.lock();
        let Some(sink) = &mut *sink else { return };
        let rings: Vec<Arc<Ring>> = self.rings.lock().clone();
        let mut taken = Vec::new();
        for ring in &rings {
            ring.take_until(time, |record| taken.push((record, ring.worker())));
        }
        // The order within a ring stays.
        taken.sort_by_key(|(record, _)| record.time);
        for (record, worker) in &taken {
            sink.take(*worker, record);
        }
        for ring in &rings {
            let lost = ring.take_lost();
            if lost > 0 {
                self.lost.fetch_add(lost, Ordering::Relaxed);
                sink.lost(ring.worker(), lost);
            }
        }
        sink.flush();
        // A ring that nothing else has was of a thread that has ended, and is empty if it was before its look at it.
        let is_used = |ring: &Arc<Ring>| Arc::strong_count(ring) > 2 || !ring.is_empty();
        drop(taken);
        self.rings.lock().retain(is_used);
    }
}

/// The way of one native thread into its ring.
pub struct Port {
    ring: Arc<Ring>,
    /// A bit for each kind of event that is noted.
    kinds: u64,
}

/// The bit of a kind.
fn bit(kind: Kind) -> u64 {
    const { assert!(Kind::ALL.len() <= u64::BITS as usize) };
    1 << kind as u64
}

impl Port {
    /// Whether events of a kind are noted.
    #[inline]
    pub fn wants(&self, kind: Kind) -> bool {
        self.kinds & bit(kind) != 0
    }

    /// Notes an event.
    #[inline]
    pub fn note(&self, log: &Log, record: &Record) {
        if !self.ring.push(record) {
            self.note_slowly(log, record);
        }
    }

    #[cold]
    fn note_slowly(&self, log: &Log, record: &Record) {
        if log.is_seeded {
            log.drain_until(u64::MAX);
        }
        self.push(record);
    }

    fn push(&self, record: &Record) {
        if !self.ring.push(record) {
            self.ring.lose();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::CAPACITY;

    /// Counts what it gets, and checks the order.
    struct Counter(Arc<Mutex<(u64, u64, u64)>>);

    impl Sink for Counter {
        fn take(&mut self, _: u32, record: &Record) {
            let (taken, _, time) = &mut *self.0.lock();
            assert!(record.time >= *time, "events come in the order of time");
            (*taken, *time) = (*taken + 1, record.time);
        }

        fn lost(&mut self, _: u32, count: u64) {
            self.0.lock().1 += count;
        }
    }

    fn note(log: &Log, port: &Port) {
        let time = log.now(|| Duration::from_millis(5));
        let record = Record { time, kind: Kind::WorkerIdle, track: Track::Worker, fields: [0; 3] };
        port.note(log, &record);
    }

    fn counted(log: &Log) -> Arc<Mutex<(u64, u64, u64)>> {
        let counts = Arc::new(Mutex::new((0, 0, 0)));
        log.begin(Kind::ALL, Box::new(Counter(counts.clone())));
        counts
    }

    #[test]
    fn a_log_that_is_off_has_no_ports() {
        let log = Log::new(false);
        assert!(log.port(0).is_none());
        counted(&log);
        assert!(log.port(0).is_some());
        log.end();
        assert!(log.port(0).is_none());
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let log = Log::new(false);
        let counts = counted(&log);
        let port = log.port(0).expect("the log is on");
        (0..CAPACITY + 7).for_each(|_| note(&log, &port));
        log.end();
        let (taken, lost, _) = *counts.lock();
        assert_eq!((taken, lost, log.lost()), (CAPACITY, 7, 7));
    }

    #[test]
    fn under_a_seed_nothing_is_lost_and_times_differ() {
        let log = Log::new(true);
        let counts = counted(&log);
        let ports = [log.port(0).expect("on"), log.port(1).expect("on")];
        (0..3 * CAPACITY).for_each(|number| note(&log, &ports[(number % 2) as usize]));
        log.end();
        let start = Duration::from_millis(5).as_nanos() as u64;
        assert_eq!(*counts.lock(), (3 * CAPACITY, 0, start + 3 * CAPACITY - 1));
    }

    #[test]
    fn rings_of_threads_that_have_ended_are_dropped() {
        let log = Log::new(false);
        counted(&log);
        let port = log.port(0).expect("the log is on");
        note(&log, &port);
        drop(port);
        log.drain_until(u64::MAX);
        assert_eq!(log.rings.lock().len(), 1, "that of the machine");
    }
}
