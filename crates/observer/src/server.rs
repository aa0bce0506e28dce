//! The server: takes connections, reads one request from each, and writes the answer. A program's command line starts it.
//!
//! Each connection has a native thread, for a short time: a request that is not complete after `HEAD_TIME`, or whose
//! client does not take the answer, is given up. There are `MOST_CONNECTIONS` at most; when another one comes, the oldest
//! is closed, which is one that does not get on. So clients that send slowly or nothing keep neither the program nor other
//! clients waiting.
//!
//! The kept library for heads (`httparse`, by `squall-system`) reads requests; an answer is a head and its bytes. A
//! request has no body: all that it says is in its target.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_runtime::state::vm::Vm;
use squall_system::http::{Parsed, parse_request};

use crate::answer::{self, Answer};
use crate::gate::Gate;
use crate::routes::Routes;
use crate::view::{Options, View};

/// A server that listens.
pub struct Observer {
    listener: TcpListener,
    gate: Gate,
    options: Options,
}

/// How long a request may take to arrive, and its answer to be taken.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// The most bytes of a request.
const MOST_BYTES: usize = 16 << 10;
/// The most fields of a request.
const MOST_FIELDS: usize = 64;
/// The most connections at a time.
const MOST_CONNECTIONS: usize = 64;

impl Observer {
    /// Listens on the loopback interface. The machine may not exist yet.
    pub fn listen(options: Options) -> Result<Observer, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port));
        let listener = listener.map_err(|error| error.to_string())?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        Ok(Observer { listener, gate: Gate::new(port)?, options })
    }

    /// The address of the page, with the token.
    pub fn address(&self) -> String {
        let port = self.listener.local_addr().map_or(0, |address| address.port());
        format!("http://127.0.0.1:{port}/?token={}", self.gate.token())
    }

    /// Serves the machine of this process on a native thread, until the process ends. The machine counts messages, but runs
    /// nothing yet. The error is the system's, which grants no thread.
    pub fn serve(self) -> io::Result<()> {
        let Observer { listener, gate, options } = self;
        let shared = Arc::new(Shared {
            gate,
            routes: Routes::new(View::new(Vm::of_process(), options)),
            connections: Mutex::default(),
        });
        let taker = std::thread::Builder::new().name("observer".into());
        taker.spawn(move || listener.incoming().for_each(|stream| shared.take(stream)))?;
        Ok(())
    }
}

struct Shared {
    gate: Gate,
    routes: Routes,
    connections: Mutex<VecDeque<Arc<TcpStream>>>,
}

/// How long the server waits if the system has no connection or no thread for it.
const SHORTAGE: Duration = Duration::from_millis(50);

impl Shared {
    fn take(self: &Arc<Shared>, stream: io::Result<TcpStream>) {
        let Ok(stream) = stream else { return std::thread::sleep(SHORTAGE) };
        let stream = Arc::new(stream);
        self.add(&stream);
        let shared = Arc::clone(self);
        let server = std::thread::Builder::new().name("observer's".into());
        let served = Arc::clone(&stream);
        let spawned = server.spawn(move || {
            // A client that has gone needs nothing more.
            _ = shared.serve(&served);
            _ = served.shutdown(Shutdown::Both);
            shared.remove(&served);
        });
        if spawned.is_err() {
            self.remove(&stream);
            std::thread::sleep(SHORTAGE);
        }
    }

    fn add(&self, stream: &Arc<TcpStream>) {
        let mut connections = self.connections.lock();
        if connections.len() >= MOST_CONNECTIONS
            && let Some(oldest) = connections.pop_front()
        {
            // Its thread finds out.
            _ = oldest.shutdown(Shutdown::Both);
        }
        connections.push_back(Arc::clone(stream));
    }

    fn remove(&self, stream: &Arc<TcpStream>) {
        self.connections.lock().retain(|other| !Arc::ptr_eq(other, stream));
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(HEAD_TIME))?;
        let answer = match read_head(stream)? {
            Parsed::Head(head) => match self.gate.check(&head) {
                Ok(request) => self.routes.answer(&request),
                Err((status, reason)) => Answer::error(status, reason),
            },
            Parsed::Refused(status) => Answer::error(status, "this is no request"),
            Parsed::Partial => Answer::error(431, "the request is too long"),
        };
        write(stream, &answer)
    }
}

/// Reads until a head is complete, is none, or gets too long.
fn read_head(mut stream: &TcpStream) -> io::Result<Parsed> {
    let end = Instant::now() + HEAD_TIME;
    let mut bytes = Vec::new();
    let mut piece = [0; 2048];
    loop {
        // All of the time for a head, not for a piece of it.
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let length = stream.read(&mut piece)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..length]);
        let parsed = parse_request(&bytes, MOST_FIELDS);
        if parsed != Parsed::Partial || bytes.len() > MOST_BYTES {
            return Ok(parsed);
        }
    }
}

/// Fields of every answer. Nothing is kept anywhere, is shown inside of another page, or leads to another host.
const FIELDS: &str = "Connection: close\r\n\
    Cache-Control: no-store\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n";

fn write(mut stream: &TcpStream, answer: &Answer) -> io::Result<()> {
    let Answer { status, kind, policy, allowed, body } = answer;
    let phrase = answer::phrase(*status);
    let length = body.len();
    let allow = allowed.map_or(String::new(), |method| format!("Allow: {method}\r\n"));
    let head = format!(
        "HTTP/1.1 {status} {phrase}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Content-Security-Policy: {policy}\r\n{allow}{FIELDS}\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat())?;
    stream.flush()
}
