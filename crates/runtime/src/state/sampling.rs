//! Samples of what strands do, for profiles. A native thread of its own, the *ticker*, asks each thread at each period to
//! take a sample ([`Vm::ask_for_samples`](crate::state::vm::Vm::ask_for_samples)); the thread does so at its next poll.
//!
//! A thread that stands at a poll has the stack of an interpreter, whatever ran before: machine code has stored its
//! frames, those of inlined activations among them. So a stack is walked there like for a stack trace, without any
//! protocol with the compilers.
//!
//! The price is a bias: a sample is taken at the first call or backward jump *after* the tick. The periods that have passed
//! since the sample before are its *weight*. So a long primitive is not lost, but counts for the place after it; time in
//! C and in the system is sampled when the call comes back, at the place of the call.
//!
//! Memory is sampled where threads ask the collector for it: each window of new memory counts for the stack that needed
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;
use squall_events::profile::samples::{Place, Sample, State as How};
use squall_events::profile::texts::{Frame, Places};
use squall_events::profile::waits::Cause;
use squall_events::{Names, Track, profile::Samples};

use crate::model::function::Function;
use crate::state::recording::{VmNames, now, track_of};
use crate::state::stack::Activation;
use crate::state::thread::Thread;
use crate::state::waits::Begun;

/// The part of a thread that the ticker knows.
pub struct Sampler {
    /// The periods since the last sample.
    pending: AtomicU32,
    /// Whether the thread has nothing to run; then its periods are counted here.
    is_idle: AtomicBool,
    idle: AtomicU64,
    samples: Arc<Mutex<Samples>>,
}

/// The samples of all threads.
#[derive(Default)]
pub struct Sampling {
    is_on: AtomicBool,
    all: Mutex<Vec<Arc<Mutex<Samples>>>>,
    /// The waits that are measured.
    pub begun: Begun,
}

impl Sampling {
    /// From now on, threads that attach have samplers.
    pub fn begin(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// A sampler for the thread of a worker, if samples are taken.
    pub fn sampler(&self, worker: u32) -> Option<Box<Sampler>> {
        if !self.is_on.load(Ordering::Relaxed) {
            return None;
        }
        let samples = Arc::new(Mutex::new(Samples::new(worker)));
        self.all.lock().push(Arc::clone(&samples));
        Some(Box::new(Sampler {
            pending: AtomicU32::new(0),
            is_idle: AtomicBool::new(false),
            idle: AtomicU64::new(0),
            samples,
        }))
    }

    /// The samples of all threads, also of those that have ended.
    pub fn all(&self) -> Vec<Arc<Mutex<Samples>>> {
        self.all.lock().clone()
    }
}

impl Sampler {
    /// A period has passed: whether the thread is to be asked for a sample, and was not yet.
    pub(crate) fn tick(&self) -> bool {
        if self.is_idle.load(Ordering::Relaxed) {
            self.idle.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.pending.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// A wait that stands for so many has ended.
    pub(crate) fn add_wait(&self, cause: Cause, time: u64, weight: u32) {
        self.samples.lock().waits.add(cause, time, weight);
    }

    /// The thread has nothing to run, or has again.
    pub fn set_idle(&self, is_idle: bool) {
        self.is_idle.store(is_idle, Ordering::Relaxed);
        if !is_idle {
            self.samples.lock().idle += self.idle.swap(0, Ordering::Relaxed);
        }
    }
}

/// The thread, whose state is saved, has come to a place for samples: it takes one, if periods have passed.
#[inline]
pub fn take(thread: &mut Thread, how: How) {
    if thread.sampler.is_some() {
        take_in(thread, how);
    }
}

#[cold]
fn take_in(thread: &mut Thread, how: How) {
    let Some(sampler) = &thread.sampler else { return };
    // The request goes first: if a period passes from here on, the thread is asked again, or the sample has its weight.
    thread.requests.take_sample();
    let weight = sampler.pending.swap(0, Ordering::Relaxed);
    if weight == 0 {
        return;
    }
    // The waits of a strand that runs for long without a look at the run queues are told by this.
    thread.ticks = thread.vm.ticks();
    thread.choices.end_periods(weight);
    let strand = thread.running_strand();
    let track = strand.map_or(Track::Worker, |strand| track_of(thread.vm, strand));
    let mut samples = sampler.samples.lock();
    let node = samples.node(thread.activations().map(place));
    samples.samples.push(Sample { time: now(thread.vm), node, weight, track, state: how });
}

/// The thread, whose state is saved, has got memory for its next objects.
pub(crate) fn memory_taken(thread: &Thread, bytes: usize) {
    if let Some(sampler) = &thread.sampler {
        let mut samples = sampler.samples.lock();
        let node = samples.node(thread.activations().map(place));
        *samples.allocated.entry(node).or_default() += bytes as u64;
    }
}

fn place(activation: Activation) -> Place {
    (std::ptr::from_ref(activation.function).addr() as u64, activation.pc as u32)
}

/// The names of places.
impl Places for VmNames {
    fn frame(&self, (function, pc): Place) -> Frame {
        // SAFETY: samples hold the addresses of functions, which are immortal, or 0.
        let function: Option<&'static Function> = unsafe { (function as *const Function).as_ref() };
        match function {
            Some(function) => {
                let (file, line, _) = function.position(pc as usize);
                Frame { function: function.name().to_owned(), file: file.to_owned(), line }
            }
            None => {
                let function = "(deeper frames)".to_owned();
                Frame { function, file: String::new(), line: 0 }
            }
        }
    }

    fn site(&self, site: u64) -> Frame {
        match Names::place(self, site) {
            Some((file, line)) => {
                Frame { function: self.function_around(site).unwrap_or_default(), file, line }
            }
            None => {
                let function = "(the machine)".to_owned();
                Frame { function, file: String::new(), line: 0 }
            }
        }
    }
}
