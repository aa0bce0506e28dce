//! Checkpoints: copies of the process at moments of a run under a seed, from which the front repeats it later. `control` asks
//! here at polls, the server when the front wants a checkpoint.
//!
//! ```text
//! program ──front asks, next poll──▶ goes on
//!     └─ copy: the checkpoint; waits for the front ──▶ waits for the next time, or ends with the front
//!           └─ copy of the copy: serves the front as a program that has just started, but stands at that moment
//! ```
//!
//! A copy connects to the front and says which one it is. Before it runs, all that the client had set is forgotten: the front
//! says what is set now.
//!
//! Protocol: a copy of a process has one thread ([`copies`]). The server's threads work only while they hold `quiet`, which
//! the thread that makes a copy holds, too; if it is not free, the next poll tries again. Threads that wait for `quiet` wait
//! for nothing else.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value as Json, json};
use squall_runtime::concurrency::copies::{self, Side};
use squall_runtime::state::debugging;
use squall_runtime::state::thread::Thread;

use super::{Control, Ends};
use crate::protocol;

/// The name of the server's threads.
pub(crate) const SERVER: &str = "debugger";
/// The threads beside which a copy is made. Those of the command line wait for signals, or write what the machine does.
const OTHERS: &[&str] = &[SERVER, "observer", "output", "signals", "last-work"];
/// The share of its time that a run spends on checkpoints is at most one of so many parts.
const PARTS: u32 = 25;

/// Where a copy connects to the front, and what it says there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    /// The front's port.
    pub port: u16,
    /// What only the front's own copies know.
    pub key: u64,
    /// A checkpoint is wanted every so many moments, for tests. Otherwise one is wanted.
    pub every: Option<u64>,
}

impl Address {
    /// The address of a request.
    pub(crate) fn from_json(json: &Json) -> Option<Address> {
        let port = json["port"].as_u64().and_then(|port| port.try_into().ok())?;
        Some(Address { port, key: json["key"].as_u64()?, every: json["every"].as_u64() })
    }

    /// Connects to the front, and introduces this copy.
    fn connect(&self, mut about: Json) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        about["key"] = json!(self.key);
        protocol::write(&mut stream, &about)?;
        Ok(stream)
    }
}

/// The checkpoints of a program.
#[derive(Default)]
pub(crate) struct Checkpoints {
    wanted: Mutex<Option<Address>>,
    is_wanted: AtomicBool,
    made: Mutex<Made>,
    /// The descriptors of the connection with the front.
    connection: Mutex<Vec<RawFd>>,
    serve: OnceLock<Serve>,
}

/// Starts a server with the client of a connection; see [`start`](crate::server::start).
pub(crate) type Serve =
    fn(Ends, TcpStream, Box<dyn Fn() + Send + Sync>) -> io::Result<Receiver<()>>;

/// The copies so far.
#[derive(Default)]
struct Made {
    /// The numbers of those that may live.
    processes: Vec<i32>,
    /// The processor time at which the next one may be made.
    next: Duration,
}

impl Checkpoints {
    /// The server speaks to the front by these descriptors, and copies start another one so.
    pub(crate) fn is_connected_by(&self, descriptors: [RawFd; 3], serve: Serve) {
        *self.connection.lock() = descriptors.to_vec();
        self.serve.get_or_init(|| serve);
    }
}

/// What this thread has used of the processors so far.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

impl Control {
    /// The front wants a checkpoint, soon.
    pub(crate) fn want_checkpoint(&self, address: Address) {
        *self.checkpoints.wanted.lock() = Some(address);
        self.checkpoints.is_wanted.store(true, Ordering::Relaxed);
    }

    /// The strand polls in a run under a seed: makes a checkpoint if one is wanted and may be made. Also returns in each copy that
    /// goes on from there. *GC point.*
    #[inline]
    pub(super) fn keep_checkpoint(self: &Arc<Control>, thread: &mut Thread) {
        if self.checkpoints.is_wanted.load(Ordering::Relaxed) {
            self.make_checkpoint(thread);
        }
    }

    #[cold]
    fn make_checkpoint(self: &Arc<Control>, thread: &mut Thread) {
        // If the server is at work, which takes a moment, the next poll tries again.
        let Ok(quiet) = self.quiet.try_lock() else { return };
        let Some(address) = self.checkpoints.wanted.lock().clone() else { return };
        let begin = processor_time();
        let may_be = match address.every {
            Some(every) => self.travel.moment().is_multiple_of(every),
            None => {
                self.checkpoints.is_wanted.store(false, Ordering::Relaxed);
                begin >= self.checkpoints.made.lock().next
            }
        };
        // After an act or a move, no run goes back to here.
        let is_known = thread.vm.debugging.acted().is_none() && self.travel.moved().is_none();
        if !may_be || !is_known || self.travel.is_repeating() {
            return;
        }
        let made = self.copy(thread);
        drop(quiet);
        match made {
            Some(Side::Original(process)) => {
                let mut made = self.checkpoints.made.lock();
                copies::forget_ended(&mut made.processes);
                made.processes.push(process);
                let end = processor_time();
                made.next = end + (end - begin) * PARTS;
            }
            Some(Side::Copy) => self.serve_checkpoint(thread, &address),
            None => {}
        }
    }

    /// Copies the process, if that is possible now. `quiet` is held.
    fn copy(&self, thread: &Thread) -> Option<Side> {
        thread.vm.host().flush();
        let mut made = None;
        (self.printed.alone)(&mut || made = copies::make(thread, OTHERS).ok());
        made
    }

    /// This process is a checkpoint: it waits for the front, and makes a copy for each repetition. Returns in those.
    fn serve_checkpoint(self: &Arc<Control>, thread: &mut Thread, address: &Address) {
        copies::let_go(&self.checkpoints.connection.lock());
        let about = json!({ "moment": self.travel.moment() });
        let Ok(mut stream) = address.connect(about).map(BufReader::new) else { end() };
        let mut copies = Vec::new();
        while let Ok(Some(request)) = protocol::read(&mut stream) {
            copies::forget_ended(&mut copies);
            match copies::make_again() {
                Ok(Side::Original(process)) => copies.push(process),
                Ok(Side::Copy) => {
                    drop(stream);
                    return self.serve_again(thread, address, &request["number"]);
                }
                // The front waits in vain, and begins the run anew.
                Err(_) => {}
            }
        }
        end()
    }

    /// This process is a copy of a checkpoint: it serves the front, and goes on when that has said how.
    fn serve_again(self: &Arc<Control>, thread: &mut Thread, address: &Address, number: &Json) {
        let stream =
            copies::take_up(thread).and_then(|()| address.connect(json!({ "number": number })));
        let Ok(stream) = stream else { end() };
        (self.printed.begin_again)();
        self.forget_settings(thread);
        let (sender, events) = channel();
        *self.events.lock() = sender;
        *self.checkpoints.made.lock() = Default::default();
        let ends = Ends { control: Arc::clone(self), events };
        // Without the front, a copy has no use.
        let serve = self.checkpoints.serve.get();
        let served = serve.and_then(|serve| serve(ends, stream, Box::new(|| end())).ok());
        let Some(ready) = served else { end() };
        if thread.mutator.native(|| ready.recv()).is_err() {
            end();
        }
        // Code may have breakpoints now.
        thread.native_stack.is_outdated = true;
    }

    /// Forgets all that the client has set, and what strands are to do for it.
    fn forget_settings(&self, thread: &mut Thread) {
        let awaited =
            self.steps.lock().drain(..).filter_map(|step| step.awaits).collect::<Vec<_>>();
        let vm = thread.vm;
        thread.mutator.native(|| {
            self.forget_client();
            debugging::change(vm, &[], &awaited);
        });
        vm.debugging.forget_stepping();
        thread.watch.steps = false;
        self.happened.lock().clear();
        self.has_happened.store(false, Ordering::Relaxed);
        self.travel.forget();
        self.forget_introductions();
    }
}

/// Ends this copy, for whose end no other process waits.
fn end() -> ! {
    std::process::exit(0)
}
