//! Connections: listening and connecting, for the runtime's network primitives.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use socket2::{Domain, Protocol, Socket, Type};

use crate::poller::{Poller, READING, Registration};
use crate::stream::Stream;

/// A listener, where connections arrive.
pub struct Listener {
    /// Dropped before the descriptor.
    registration: Registration,
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens at an address; for port 0, the system chooses a port. Up to `backlog` connections may wait to be
    /// accepted.
    pub fn open(poller: &Poller, address: SocketAddr, backlog: i32) -> io::Result<Listener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // A restarted server gets its address back although old connections linger.
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(backlog)?;
        let socket = TcpListener::from(socket);
        let address = socket.local_addr()?;
        Ok(Listener { registration: poller.register(&socket, READING)?, socket, address })
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The address that it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection.
    pub fn accept(&self, poller: &Poller) -> io::Result<Stream> {
        loop {
            match self.socket.accept() {
                Ok((socket, peer)) => {
                    socket.set_nonblocking(true)?;
                    return Stream::of_socket(poller, socket, peer, false);
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether the error concerns one connection, which failed before it was accepted, and not the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// Begins to connect to an address. The stream is ready for writing when connecting has ended.
pub fn connect(poller: &Poller, address: SocketAddr) -> io::Result<Stream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    let is_connecting = match socket.connect(&address.into()) {
        Ok(()) => false,
        Err(error) if is_under_way(&error) => true,
        Err(error) => return Err(error),
    };
    Stream::of_socket(poller, TcpStream::from(socket), address, is_connecting)
}

fn is_under_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error())
}
