//! Datagrams, for the runtime's network primitives.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use crate::poller::{BOTH, Poller, Registration};

/// The longest datagram.
pub const LONGEST: usize = 65_536;

/// A socket for datagrams.
pub struct Datagrams {
    /// Dropped before the descriptor.
    registration: Registration,
    socket: UdpSocket,
    address: SocketAddr,
}

impl Datagrams {
    /// Receives at an address; for port 0, the system chooses a port.
    pub fn open(poller: &Poller, address: SocketAddr) -> io::Result<Datagrams> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok(Datagrams { registration: poller.register(&socket, BOTH)?, socket, address })
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The address that it receives at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Receives the next datagram: its length, and its sender.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(bytes)
    }

    /// Sends a datagram.
    pub fn send(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        self.socket.send_to(bytes, to).map(|_| ())
    }
}
