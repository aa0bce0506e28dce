//! Streams of bytes: connections and pipes, for the runtime's network and process primitives.
//!
//! Invariant: an encrypted stream has been encrypted since the first byte that the program has seen.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::descriptor::Descriptor;
use crate::poller::{BOTH, Direction, Poller, READING, Registration, WRITING};
use crate::tls::{Handshake, Session};

/// A stream.
pub struct Stream {
    /// Dropped before the descriptor.
    registration: Registration,
    descriptor: Descriptor,
    peer: Peer,
    /// Set once the connection is encrypted.
    session: OnceLock<Mutex<Session>>,
    /// Whether the end of connecting has not been seen yet.
    is_connecting: AtomicBool,
}

/// The other end of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// The peer of a connection.
    Address(SocketAddr),
    /// A process at the other end of a pipe.
    Process(u32),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Address(address) => address.fmt(f),
            Peer::Process(id) => write!(f, "process {id}"),
        }
    }
}

impl Stream {
    /// A stream for a connection that exists, or that is being made.
    pub fn of_socket(
        poller: &Poller,
        socket: TcpStream,
        peer: SocketAddr,
        is_connecting: bool,
    ) -> io::Result<Stream> {
        let registration = poller.register(&socket, BOTH)?;
        Ok(Stream {
            registration,
            descriptor: Descriptor::Socket(socket),
            peer: Peer::Address(peer),
            session: OnceLock::new(),
            is_connecting: AtomicBool::new(is_connecting),
        })
    }

    /// A stream for this process's end of a pipe.
    pub fn of_pipe(
        poller: &Poller,
        pipe: OwnedFd,
        direction: Direction,
        process: u32,
    ) -> io::Result<Stream> {
        fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
        let interest = if direction == Direction::Read { READING } else { WRITING };
        Ok(Stream {
            registration: poller.register(&pipe, interest)?,
            descriptor: Descriptor::Pipe(pipe),
            peer: Peer::Process(process),
            session: OnceLock::new(),
            is_connecting: AtomicBool::new(false),
        })
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The other end.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// The local address of a connection.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket()?.local_addr()
    }

    pub(crate) fn describe(&self, direction: Direction) -> String {
        let peer = self.peer;
        match direction {
            Direction::Write if self.is_connecting.load(Ordering::Relaxed) => {
                format!("the connection to {peer}")
            }
            Direction::Read => format!("data from {peer}"),
            Direction::Write => format!("room to write to {peer}"),
        }
    }

    fn socket(&self) -> io::Result<&TcpStream> {
        match &self.descriptor {
            Descriptor::Socket(socket) => Ok(socket),
            Descriptor::Pipe(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Whether connecting has ended; the error if it has failed.
    pub fn finish_connecting(&self) -> io::Result<bool> {
        let socket = self.socket()?;
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        match socket.peer_addr() {
            Ok(_) => {
                self.is_connecting.store(false, Ordering::Relaxed);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads the bytes that are there; 0 at the end.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        retried(|| match self.session.get() {
            Some(session) => session.lock().read(&self.descriptor, bytes),
            None => (&self.descriptor).read(bytes),
        })
    }

    /// Writes as many bytes as there is room for. After `WouldBlock`, the caller must write the same bytes again.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        retried(|| match self.session.get() {
            Some(session) => session.lock().write(&self.descriptor, bytes),
            None => (&self.descriptor).write(bytes),
        })
    }

    /// Ends the writing direction; the reading direction stays open.
    pub fn shutdown_write(&self) -> io::Result<()> {
        if let Some(session) = self.session.get() {
            retried(|| session.lock().end_writing(&self.descriptor))?;
        }
        match self.socket()?.shutdown(Shutdown::Write) {
            // The peer was quicker.
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }

    /// Sends the encryption's goodbye, if that is possible at once. Dropping the stream then closes it.
    pub fn part(&self) {
        if let Some(session) = self.session.get() {
            _ = session.lock().end_writing(&self.descriptor);
        }
    }

    /// Sets whether small pieces are sent at once, instead of being collected for a while.
    pub fn set_no_delay(&self, is_set: bool) -> io::Result<()> {
        self.socket()?.set_nodelay(is_set)
    }

    /// Makes closing drop unsent bytes and reset the connection, instead of sending them in the background.
    pub fn set_reset_on_close(&self) -> io::Result<()> {
        socket2::SockRef::from(self.socket()?).set_linger(Some(std::time::Duration::ZERO))
    }

    /// From now on all bytes go through this session. Fails if there is a session already.
    pub fn encrypt(&self, session: Session) -> io::Result<()> {
        self.socket()?;
        self.session.set(Mutex::new(session)).map_err(|_| ErrorKind::AlreadyExists.into())
    }

    /// Continues the handshake of the encryption.
    pub fn shake_hands(&self) -> io::Result<Handshake> {
        let session = self.session.get().ok_or(ErrorKind::NotConnected)?;
        session.lock().shake_hands(&self.descriptor)
    }
}

/// Repeats the call if a signal has interrupted it.
fn retried<R>(mut work: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match work() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
