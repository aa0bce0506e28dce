//! Streams of bytes: connections and pipes.
//!
//! Invariant: a stream that is encrypted was so from its first byte that the program has seen.

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
    /// Whether connecting has not been seen to end.
    is_connecting: AtomicBool,
}

/// What a stream leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// The other end of a connection.
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
    /// A connection that exists, or that is being made.
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

    /// Our end of a pipe.
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

    /// What it leads to.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Our end, if it is a connection.
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

    /// Whether connecting has ended, well or with this error.
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

    /// Reads what is there; 0 at the end.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        retried(|| match self.session.get() {
            Some(session) => session.lock().read(&self.descriptor, bytes),
            None => (&self.descriptor).read(bytes),
        })
    }

    /// Writes as much as there is room for. After `WouldBlock`, the same bytes are to be written again.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        retried(|| match self.session.get() {
            Some(session) => session.lock().write(&self.descriptor, bytes),
            None => (&self.descriptor).write(bytes),
        })
    }

    /// Says that nothing more will be written; the other direction stays as it is.
    pub fn shutdown_write(&self) -> io::Result<()> {
        if let Some(session) = self.session.get() {
            retried(|| session.lock().end_writing(&self.descriptor))?;
        }
        match self.socket()?.shutdown(Shutdown::Write) {
            // The other side was quicker.
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }

    /// Says goodbye, if that can be done at once. Dropping the stream then closes it.
    pub fn part(&self) {
        if let Some(session) = self.session.get() {
            _ = session.lock().end_writing(&self.descriptor);
        }
    }

    /// Whether small pieces are sent at once, rather than kept for a while to be sent together.
    pub fn set_no_delay(&self, is_set: bool) -> io::Result<()> {
        self.socket()?.set_nodelay(is_set)
    }

    /// Makes closing a connection drop what was not sent and tell the other side so, instead of
    /// sending it in the background.
    pub fn set_reset_on_close(&self) -> io::Result<()> {
        socket2::SockRef::from(self.socket()?).set_linger(Some(std::time::Duration::ZERO))
    }

    /// From now on everything goes through this session, if it is the first.
    pub fn encrypt(&self, session: Session) -> io::Result<()> {
        self.socket()?;
        self.session.set(Mutex::new(session)).map_err(|_| ErrorKind::AlreadyExists.into())
    }

    /// Goes on with the agreement about the encryption.
    pub fn shake_hands(&self) -> io::Result<Handshake> {
        let session = self.session.get().ok_or(ErrorKind::NotConnected)?;
        session.lock().shake_hands(&self.descriptor)
    }
}

/// Tries again if a signal has interrupted the call.
fn retried<R>(mut work: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match work() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
