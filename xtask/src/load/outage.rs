//! The last part of `cargo xtask load --postgres`: the shop's database dies under load. [`super::load`] calls
//! [`survive`].
//!
//! While clients send requests, the database is killed without a warning, stays away for some time, and is started
//! again. Each request must be answered: with 503 if it needs the database while that is away, otherwise with 200.
//!
//! | a request that | is answered with |
//! |---|---|
//! | needs no database | 200, always |
//! | has ended before the database is killed, or begins when it is back | 200 |
//! | begins when it is dead, and ends before it is started again | 503 |
//! | needs it, and overlaps the time from its death to its return otherwise | either |

use std::io::BufReader;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::request::exchange;
use crate::postgres::Server;

/// How many connections send requests.
const CLIENTS: usize = 50;

/// The duration of each phase: before the database dies, while it is away, and after it is back.
const PHASE: Duration = Duration::from_secs(3);

/// The pause of a client after a refusal.
const REST: Duration = Duration::from_millis(5);

/// The requests that clients send in turn, and whether each needs the database.
const REQUESTS: &[(&str, bool)] = &[
    ("GET /report", true),
    ("GET /goods", true),
    ("GET /about", false),
    ("POST /goods/tea/buy?count=1", true),
    ("GET /goods/tea", true),
    ("GET /about", false),
    ("GET /goods", true),
];

/// A request that was sent.
struct Sample {
    start: &'static str,
    needs_database: bool,
    begin: Instant,
    end: Instant,
    /// The answer's status; nothing if there was no answer.
    status: Option<u16>,
}

/// The times at which the kill began, the database was dead, its start began, and it was back.
struct Times {
    killed: Instant,
    dead: Instant,
    started: Instant,
    back: Instant,
}

/// Kills the database of the shop at this address under load, and starts it again. Answers whether every request had an
/// allowed answer.
pub fn survive(address: &str, server: &mut Server) -> bool {
    let is_over = AtomicBool::new(false);
    let (samples, times) = thread::scope(|scope| {
        let clients = (0..CLIENTS).map(|number| {
            let is_over = &is_over;
            scope.spawn(move || send_requests(address, number, is_over))
        });
        let clients: Vec<_> = clients.collect();
        let times = kill_and_restart(server);
        thread::sleep(PHASE);
        is_over.store(true, Ordering::Relaxed);
        let samples = clients.into_iter().flat_map(|client| client.join().unwrap_or_default());
        (samples.collect::<Vec<_>>(), times)
    });
    match times {
        Ok(times) => report(&samples, &times),
        Err(problem) => {
            println!("{problem}");
            false
        }
    }
}

fn kill_and_restart(server: &mut Server) -> Result<Times, String> {
    thread::sleep(PHASE);
    let killed = Instant::now();
    server.kill();
    let dead = Instant::now();
    thread::sleep(PHASE);
    let started = Instant::now();
    server.restart()?;
    Ok(Times { killed, dead, started, back: Instant::now() })
}

/// A client: it sends one request after the other on a persistent connection.
fn send_requests(address: &str, number: usize, is_over: &AtomicBool) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut stream = TcpStream::connect(address).ok().map(BufReader::new);
    for turn in number.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let (start, needs_database) = REQUESTS[turn % REQUESTS.len()];
        let begin = Instant::now();
        let status = stream.as_mut().and_then(|stream| exchange(stream, start, address));
        samples.push(Sample { start, needs_database, begin, end: Instant::now(), status });
        if status != Some(200) {
            thread::sleep(REST);
        }
        if status.is_none() {
            stream = TcpStream::connect(address).ok().map(BufReader::new);
        }
    }
    samples
}

/// Prints a summary of the requests. Answers whether each had an allowed answer.
fn report(samples: &[Sample], times: &Times) -> bool {
    let count = |status| samples.iter().filter(|sample| sample.status == Some(status)).count();
    let away = times.back - times.killed;
    println!(
        "database killed: {} requests, {} of them refused while it was away for {:.1} s",
        samples.len(),
        count(503),
        away.as_secs_f64()
    );
    let wrong: Vec<&Sample> = samples.iter().filter(|sample| !times.allow(sample)).collect();
    for sample in wrong.iter().take(10) {
        let from = |time: Instant| {
            let (later, sign) = if time >= times.killed {
                (time - times.killed, "")
            } else {
                (times.killed - time, "-")
            };
            format!("{sign}{:.3}", later.as_secs_f64())
        };
        let status = sample.status.map_or("no answer".to_owned(), |status| status.to_string());
        println!(
            "wrong: {status} for {} from {} s to {} s",
            sample.start,
            from(sample.begin),
            from(sample.end)
        );
    }
    let after =
        samples.iter().filter(|sample| sample.begin >= times.back && sample.status == Some(200));
    let has_recovered = after.count() > 0;
    if !has_recovered {
        println!("nobody was served after the database was back");
    }
    wrong.is_empty() && has_recovered && count(503) > 0
}

impl Times {
    /// Whether the answer to a request is allowed.
    fn allow(&self, sample: &Sample) -> bool {
        let is_untouched = sample.end < self.killed || sample.begin >= self.back;
        let is_hit = sample.begin >= self.dead && sample.end < self.started;
        match sample.status {
            Some(200) => !(sample.needs_database && is_hit),
            Some(503) => sample.needs_database && !is_untouched,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_that_need_a_dead_database_may_be_refused() {
        let zero = Instant::now();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let times = Times { killed: at(10), dead: at(11), started: at(14), back: at(15) };
        let allow = |needs_database, begin, end, status| {
            let (begin, end) = (at(begin), at(end));
            times.allow(&Sample { start: "", needs_database, begin, end, status })
        };
        assert!(allow(true, 1, 9, Some(200)) && !allow(true, 1, 9, Some(503)));
        assert!(allow(true, 1, 10, Some(200)) && allow(true, 1, 10, Some(503)));
        assert!(!allow(true, 12, 13, Some(200)) && allow(true, 12, 13, Some(503)));
        assert!(allow(true, 12, 14, Some(200)) && allow(true, 14, 20, Some(503)));
        assert!(allow(true, 15, 16, Some(200)) && !allow(true, 15, 16, Some(503)));
        assert!(allow(false, 12, 13, Some(200)) && !allow(false, 12, 13, Some(503)));
        assert!(!allow(true, 12, 13, None) && !allow(true, 12, 13, Some(500)));
    }
}
