//! The notes service under random requests, for `cargo xtask library service`.
//!
//! A few clients send requests for some minutes: correct ones, ones with mistakes of all kinds, and bytes that are no
//! request ([`super::service_request`]). The run fails if the service ends, if an answer is not well formed, if a correct
//! request has no answer, if an answer says that the service has failed (5xx), or if memory grows.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Served;
use super::service_request::{Conversation, Random};

/// How many clients there are.
const CLIENTS: u64 = 8;

/// The limit of the heap. It is small, so that collections are frequent.
const HEAP: &str = "--max-heap=48M";

/// The same in KiB.
const HEAP_SIZE: u64 = 48 << 10;

/// The allowed growth of memory from the first half of the time to the end, and beyond a full heap.
const GROWTH: f64 = 1.2;

/// Sends requests for so many minutes. Answers a summary.
pub fn run(squall: &Path, minutes: u64, seed: u64) -> Result<String, String> {
    let program = "examples/apps/notes_service/notes_service.ns";
    let options = ["--allow-net=127.0.0.1", "--allow-ffi", "--allow-processes", HEAP];
    let mut service = Served::start(squall, &options, &[program, "0", ":memory:"])?;
    let address = service.line.strip_prefix("http://").and_then(|rest| rest.split('/').next());
    let address = address.ok_or_else(|| format!("the service says {:?}", service.line))?.to_owned();
    let full = service.memory() + HEAP_SIZE;
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let count = AtomicU64::new(0);
    let (results, memory) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (address, count) = (&address, &count);
                scope.spawn(move || client(address, seed * CLIENTS + number, end, count))
            })
            .collect();
        let memory = watch(&mut service, end);
        let join = |thread: thread::ScopedJoinHandle<'_, Result<(), String>>| {
            thread.join().unwrap_or(Err("a client has panicked".to_owned()))
        };
        (clients.into_iter().map(join).collect::<Result<Vec<()>, String>>(), memory)
    });
    results?;
    let (first, last) = memory?;
    let said = format!(
        "{} requests in {minutes} minutes; memory: {} MiB at most in the first half, {} MiB in the second",
        count.load(Ordering::Relaxed),
        first / 1024,
        last / 1024
    );
    if last as f64 <= first.max(full) as f64 * GROWTH {
        Ok(said)
    } else {
        Err(format!("memory grows: {said}"))
    }
}

/// A client: sends requests until the end.
fn client(address: &str, seed: u64, end: Instant, count: &AtomicU64) -> Result<(), String> {
    let mut conversation = Conversation::new(address, Random::of(seed));
    while Instant::now() < end {
        conversation.exchange().map_err(|problem| format!("seed {seed}: {problem}"))?;
        count.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The most memory in both halves of the time, in KiB.
fn watch(service: &mut Served, end: Instant) -> Result<(u64, u64), String> {
    let start = Instant::now();
    let half = start + end.saturating_duration_since(start) / 2;
    let (mut first, mut last) = (0, 0);
    while Instant::now() < end {
        if !service.is_alive() {
            return Err("the service has ended".to_owned());
        }
        let memory = if Instant::now() < half { &mut first } else { &mut last };
        *memory = service.memory().max(*memory);
        thread::sleep(Duration::from_millis(200));
    }
    Ok((first, last))
}
