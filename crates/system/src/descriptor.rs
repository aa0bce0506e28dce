//! The descriptor of a stream of bytes: a socket or a pipe. [`crate::stream`] and [`crate::tls`] call its operations,
//! which never block.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;

/// The descriptor of a stream.
pub(crate) enum Descriptor {
    /// A connection.
    Socket(TcpStream),
    /// This process's end of a pipe.
    Pipe(OwnedFd),
}

impl Read for &Descriptor {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Descriptor::Socket(socket) => (&*socket).read(bytes),
            Descriptor::Pipe(pipe) => Ok(rustix::io::read(pipe, bytes)?),
        }
    }
}

impl Write for &Descriptor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Descriptor::Socket(socket) => (&*socket).write(bytes),
            Descriptor::Pipe(pipe) => Ok(rustix::io::write(pipe, bytes)?),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
