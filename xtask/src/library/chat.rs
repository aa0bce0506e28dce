//! The chat server with many clients, for `cargo xtask library chat`.
//!
//! When all clients have come, each sends some lines, one after the other, and reads all lines of all clients. A run
//! fails if a line is missing, is there twice, is not what was sent, comes before an earlier one of its client, or if two
//! clients see another order.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use super::Served;
use crate::load::raise_limit;

/// How many lines each client sends.
const LINES: usize = 5;

/// The longest time without a line.
const PATIENCE: Duration = Duration::from_secs(120);

/// The native stack of a client, in bytes.
const STACK: usize = 256 << 10;

/// Runs the server and the clients. Answers a summary.
pub fn run(squall: &Path, clients: usize) -> Result<String, String> {
    raise_limit(2 * clients);
    let program = "examples/apps/chat_server/chat_server.ns";
    let mut server = Served::start(squall, &["--allow-net=127.0.0.1"], &[program, "0"])?;
    let port = server.line.rsplit(' ').next().unwrap_or_default().to_owned();
    let address = format!("127.0.0.1:{port}");
    let all_are_there = Barrier::new(clients);
    let start = Instant::now();
    let results: Vec<Result<u64, String>> = thread::scope(|scope| {
        let started: Vec<_> = (0..clients)
            .map(|number| {
                let client = Client { number, clients, address: &address, all: &all_are_there };
                let thread = thread::Builder::new().stack_size(STACK);
                thread.spawn_scoped(scope, move || client.run())
            })
            .collect();
        let join = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or(Err("a client has panicked".to_owned())),
            Err(error) => Err(error.to_string()),
        };
        started.into_iter().map(join).collect()
    });
    let orders = results.into_iter().collect::<Result<Vec<u64>, String>>()?;
    if !server.is_alive() {
        return Err("the server has ended".to_owned());
    }
    match orders.iter().all(|order| order == &orders[0]) {
        true => Ok(format!(
            "{clients} clients: each has read all {} lines in the same order, in {:.1} s; memory: {} MiB",
            clients * LINES,
            start.elapsed().as_secs_f64(),
            server.memory() / 1024
        )),
        false => Err("two clients see another order".to_owned()),
    }
}

struct Client<'a> {
    number: usize,
    clients: usize,
    address: &'a str,
    all: &'a Barrier,
}

impl Client<'_> {
    /// Answers the hash of the sequence of lines that it has read.
    fn run(&self) -> Result<u64, String> {
        // All clients reach the barrier, whatever happens, so that the others do not wait.
        let connected = self.enter();
        self.all.wait();
        let (mut reader, mut writer) = connected.map_err(|error| self.explain(&error))?;
        let number = self.number;
        let send =
            move || (0..LINES).try_for_each(|line| writeln!(writer, "{}", text(number, line)));
        let thread = thread::Builder::new().stack_size(STACK);
        let sender = thread.spawn(send).map_err(|error| self.explain(&error))?;
        let order = self.read_all(&mut reader);
        let sent = sender.join().map_err(|_| "a sender has panicked".to_owned())?;
        sent.map_err(|error| self.explain(&error))?;
        order
    }

    /// Connects, and waits until the server has taken the client in.
    fn enter(&self) -> std::io::Result<(BufReader<TcpStream>, TcpStream)> {
        let mut writer = TcpStream::connect(self.address)?;
        writer.set_read_timeout(Some(PATIENCE))?;
        writer.set_write_timeout(Some(PATIENCE))?;
        writer.set_nodelay(true)?;
        let mut reader = BufReader::new(writer.try_clone()?);
        writeln!(writer, "client{}", self.number)?;
        let own = format!("* client{} has come", self.number);
        let mut line = String::new();
        while line.trim_end() != own {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok((reader, writer))
    }

    fn read_all(&self, reader: &mut BufReader<TcpStream>) -> Result<u64, String> {
        let mut next: HashMap<usize, usize> = HashMap::new();
        let mut order = DefaultHasher::new();
        let (mut count, mut line) = (0, String::new());
        while count < self.clients * LINES {
            line.clear();
            match reader.read_line(&mut line) {
                Ok(0) => return Err(self.explain(&format!("the end comes after {count} lines"))),
                Ok(_) => {}
                Err(error) => return Err(self.explain(&format!("after {count} lines: {error}"))),
            }
            let line = line.trim_end_matches('\n');
            if line.starts_with("* ") && line.ends_with(" has come") {
                continue;
            }
            let sender = sender_of(line).filter(|&sender| sender < self.clients);
            let sender = sender.ok_or_else(|| self.explain(&format!("no client says {line:?}")))?;
            let expected = next.entry(sender).or_default();
            if line != format!("client{sender}: {}", text(sender, *expected)) {
                return Err(self.explain(&format!("line {expected} of client{sender} is {line:?}")));
            }
            *expected += 1;
            count += 1;
            line.hash(&mut order);
        }
        Ok(order.finish())
    }

    fn explain(&self, problem: &dyn std::fmt::Display) -> String {
        format!("client{}: {problem}", self.number)
    }
}

/// The client that has sent a line.
fn sender_of(line: &str) -> Option<usize> {
    line.strip_prefix("client")?.split_once(':')?.0.parse().ok()
}

/// A line of a client: its text has characters of one to four bytes, and other lengths for each.
fn text(client: usize, line: usize) -> String {
    let filler = ["a", "é", "東", "🌧"][(client + line) % 4].repeat(client * 7 % 61 + line);
    format!("{client}/{line} Grüße ❤ {filler}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_their_sender() {
        assert_eq!(sender_of(&format!("client12: {}", text(12, 3))), Some(12));
        assert_eq!(sender_of("* client12 has come"), None);
    }
}
