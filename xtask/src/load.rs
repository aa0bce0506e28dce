//! `cargo xtask load`: puts load on the web shop of the examples, and measures it. `main` calls [`run`].
//!
//! The command starts `examples/webshop.ns` with the goods in memory, with `--database` or with `--postgres`, and sends
//! requests over persistent connections. One request in ten asks for the report, which keeps the store busy for a fifth
//! of a second (with a database, for the time of its query); the others buy or look. More connections may be open
//! without any request. The command prints requests per second, latencies of both kinds, failures and memory. If `wrk`
//! is installed, it runs as well, with quick requests only.
//!
//! At the end, a database of PostgreSQL is killed and started again. Only requests that need it in the meantime may
//! fail ([`outage`]).
//!
//! The run fails if a request fails, if a quick request waits for a report, or if memory grows.

mod outage;
mod request;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::postgres::Server;
use crate::{builds, root};
use request::exchange;

/// The options of `cargo xtask load`.
#[derive(Args)]
pub struct Arguments {
    /// The duration in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,

    /// The number of connections that send requests
    #[arg(long, default_value_t = 100)]
    connections: usize,

    /// The number of further connections, which send nothing
    #[arg(long, default_value_t = 0)]
    idle: usize,

    /// A new file for the shop's database; without it, the goods are in memory
    #[arg(long, value_name = "FILE")]
    database: Option<PathBuf>,

    /// Keep the goods in a database of PostgreSQL, which is killed and started again at the end
    #[arg(long, conflicts_with = "database")]
    postgres: bool,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,

    /// An option for the shop's machine, such as --workers=1
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
}

/// One request in this number is slow.
const SLOW: usize = 10;

/// The least duration of a slow request, as the shop defines it.
const REPORT: Duration = Duration::from_millis(200);

/// The allowed growth of memory: from the first third of the time to the end, and beyond a full heap with idle
/// connections.
const GROWTH: f64 = 1.2;

/// The limit of the shop's heap, in MiB. It is small, so that collections are frequent.
const HEAP: u64 = 24;

/// Puts load on the shop. Answers whether all went well.
pub fn run(arguments: &Arguments) -> bool {
    let mut server = match arguments.postgres.then(Server::start).transpose() {
        Ok(Some(None)) => {
            println!("skipped: PostgreSQL's server is not installed");
            return true;
        }
        Ok(server) => server.flatten(),
        Err(problem) => {
            println!("FAILED: {problem}");
            return false;
        }
    };
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let database = arguments.database.as_ref().map(|file| file.display().to_string());
    let database = database.or_else(|| server.as_ref().map(Server::url));
    let Some(mut shop) = Shop::start(&squall, arguments, database) else { return false };
    let is_well = load(&mut shop, arguments);
    let survives = server.as_mut().is_none_or(|server| outage::survive(&shop.address, server));
    let ended = shop.end();
    if !ended {
        println!("the shop did not end in good order");
    }
    is_well && survives && ended
}

/// Puts load on a running shop. Answers whether all went well.
fn load(shop: &mut Shop, arguments: &Arguments) -> bool {
    raise_limit(arguments.idle);
    let before = shop.memory();
    let idle: Vec<_> =
        (0..arguments.idle).map_while(|_| TcpStream::connect(&shop.address).ok()).collect();
    let with_idle = shop.settled_memory();
    let (samples, middle) = drive(shop, arguments);
    let after = shop.memory();
    println!("memory: {before} KiB at first, {with_idle} KiB with {} idle connections", idle.len());
    println!("        {middle} KiB after a third of the time, {after} KiB at the end");
    if !idle.is_empty() {
        let each = (with_idle.saturating_sub(before)) * 1024 / idle.len() as u64;
        println!("        {each} bytes for each idle connection");
    }
    let is_right = samples.report(arguments.seconds);
    run_wrk(&shop.address, arguments);
    let is_flat = after as f64 <= middle.max(with_idle + HEAP * 1024) as f64 * GROWTH;
    let are_there = idle.len() == arguments.idle;
    for (is_well, problem) in
        [(is_flat, "memory grows"), (are_there, "not all idle connections could be opened")]
    {
        if !is_well {
            println!("{problem}");
        }
    }
    is_right && is_flat && are_there
}

/// Raises this process's limit of open files for a number of connections, if that is allowed.
pub fn raise_limit(connections: usize) {
    let (Ok((soft, hard)), needed) =
        (getrlimit(Resource::RLIMIT_NOFILE), connections as u64 + 1024)
    else {
        return;
    };
    if soft < needed {
        _ = setrlimit(Resource::RLIMIT_NOFILE, needed.min(hard), hard);
    }
}

/// The shop's process.
struct Shop {
    process: Child,
    address: String,
}

impl Shop {
    fn start(squall: &Path, arguments: &Arguments, database: Option<String>) -> Option<Shop> {
        let mut command = Command::new(squall);
        command.args(["run", "--allow-net=127.0.0.1", &format!("--max-heap={HEAP}M")]);
        command.args(&arguments.options);
        command.args(database.as_ref().map(|_| "--allow-ffi"));
        command.args(["examples/webshop.ns", "0"]).args(database);
        command.current_dir(root()).stdout(Stdio::piped());
        let mut process = command.spawn().ok()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take()?).read_line(&mut line).ok()?;
        let address = line.trim().strip_prefix("http://")?.to_owned();
        Some(Shop { process, address })
    }

    /// The memory that the process occupies, in KiB.
    fn memory(&self) -> u64 {
        crate::memory_of(self.process.id())
    }

    /// The same, once it does not change any more: the shop may be busy with new connections.
    fn settled_memory(&self) -> u64 {
        let mut memory = self.memory();
        for _ in 0..50 {
            thread::sleep(Duration::from_millis(200));
            let before = std::mem::replace(&mut memory, self.memory());
            if before == memory {
                break;
            }
        }
        memory
    }

    /// Asks the shop to end. Answers whether it ends with success.
    fn end(&mut self) -> bool {
        let id = self.process.id().to_string();
        _ = Command::new("kill").args(["-TERM", &id]).status();
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.process.try_wait() {
                return status.success();
            }
            thread::sleep(Duration::from_millis(20));
        }
        _ = self.process.kill();
        _ = self.process.wait();
        false
    }
}

/// The measurements.
#[derive(Default)]
struct Samples {
    quick: Vec<Duration>,
    slow: Vec<Duration>,
    failures: usize,
}

impl Samples {
    fn add(&mut self, other: Samples) {
        self.quick.extend(other.quick);
        self.slow.extend(other.slow);
        self.failures += other.failures;
    }

    /// Prints the measurements. Answers whether they are as they should be.
    fn report(mut self, seconds: u64) -> bool {
        let count = self.quick.len() + self.slow.len();
        println!(
            "{} requests per second, {} failures",
            count as u64 / seconds.max(1),
            self.failures
        );
        let most = print_latencies("quick", &mut self.quick);
        print_latencies("slow", &mut self.slow);
        let waits = most >= REPORT;
        if waits {
            println!("quick requests wait for slow ones");
        }
        self.failures == 0 && count > 0 && !waits
    }
}

/// Prints latencies in milliseconds. Answers the 90th percentile.
fn print_latencies(kind: &str, latencies: &mut [Duration]) -> Duration {
    latencies.sort_unstable();
    let at = |part: f64| {
        let index = ((latencies.len() as f64 * part) as usize).min(latencies.len().max(1) - 1);
        latencies.get(index).copied().unwrap_or_default()
    };
    let milliseconds = |part| at(part).as_secs_f64() * 1000.0;
    println!(
        "{kind:5} requests: {} in all; milliseconds: {:.2} median, {:.2} for 99 in 100, {:.2} for 999 in 1000, {:.2} at most",
        latencies.len(),
        milliseconds(0.5),
        milliseconds(0.99),
        milliseconds(0.999),
        milliseconds(1.0),
    );
    at(0.9)
}

/// Sends requests over all connections for a time. Answers the samples, and the memory after a third of the time.
fn drive(shop: &Shop, arguments: &Arguments) -> (Samples, u64) {
    let is_over = AtomicBool::new(false);
    let time = Duration::from_secs(arguments.seconds);
    thread::scope(|scope| {
        let clients = (0..arguments.connections).map(|number| {
            let (is_over, address) = (&is_over, &shop.address);
            scope.spawn(move || send_requests(address, number, is_over))
        });
        let clients: Vec<_> = clients.collect();
        thread::sleep(time / 3);
        let middle = shop.memory();
        thread::sleep(time - time / 3);
        is_over.store(true, Ordering::Relaxed);
        let mut samples = Samples::default();
        for client in clients {
            samples.add(client.join().unwrap_or(Samples { failures: 1, ..Samples::default() }));
        }
        (samples, middle)
    })
}

/// A client: it sends one request after the other on a persistent connection.
fn send_requests(address: &str, number: usize, is_over: &AtomicBool) -> Samples {
    let mut samples = Samples::default();
    let Ok(stream) = TcpStream::connect(address) else {
        return Samples { failures: 1, ..samples };
    };
    _ = stream.set_nodelay(true);
    let mut stream = BufReader::new(stream);
    for turn in number.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let is_slow = turn.is_multiple_of(SLOW);
        let start = match turn % SLOW {
            0 => "GET /report",
            1 | 2 => "POST /goods/tea/buy?count=1",
            _ => "GET /goods",
        };
        let begin = Instant::now();
        if exchange(&mut stream, start, address) != Some(200) {
            samples.failures += 1;
            break;
        }
        let latencies = if is_slow { &mut samples.slow } else { &mut samples.quick };
        latencies.push(begin.elapsed());
    }
    samples
}

/// Runs `wrk` for some seconds, if it is installed.
fn run_wrk(address: &str, arguments: &Arguments) {
    let seconds = arguments.seconds.min(10);
    let wrk = Command::new("wrk")
        .args(["-t2", &format!("-c{}", arguments.connections), &format!("-d{seconds}s")])
        .args(["--latency", &format!("http://{address}/goods")])
        .status();
    if wrk.is_err() {
        println!("wrk is not installed");
    }
}
