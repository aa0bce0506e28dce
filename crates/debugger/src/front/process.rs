//! A process with a server, which the front speaks to: the program, or a copy that goes on an errand.

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use serde_json::Value as Json;

use super::Heard;
use crate::protocol;

/// A process with a server.
pub(super) struct Process {
    pub number: usize,
    pub stream: TcpStream,
    /// `None` if it was not started by the front, or is a copy of a checkpoint.
    pub child: Option<Child>,
    /// It is a copy of a checkpoint, which ends when it is not connected any more.
    pub is_copy: bool,
    pub reader: Option<JoinHandle<()>>,
    /// The client's numbers of its breakpoints.
    pub ids: HashMap<u64, u64>,
    /// The requests whose answers have breakpoints, and the requests' settings.
    pub asked: HashMap<u64, usize>,
    /// It has told its exit code, or needs not to.
    pub has_exited: bool,
    /// It has hung up, which the front has not dealt with yet.
    pub has_hung_up: bool,
    /// The client's numbers of the data breakpoints whose objects it does not know.
    pub lost: Vec<u64>,
}

/// Starts the program whose command this makes for a port, at which it is to connect to the listener.
pub(super) fn spawn(
    command: impl FnOnce(u16) -> Result<Command, String>,
) -> Result<(TcpListener, Child), String> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let child = command(port)?.spawn();
    Ok((listener, child.map_err(|error| format!("the program cannot start: {error}"))?))
}

/// The connection of the program that was started, unless it ends before.
pub(super) fn accept(listener: &TcpListener, child: &mut Child) -> Result<TcpStream, String> {
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(|error| error.to_string())?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.to_string()),
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("the program has not started: {status}"));
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

impl Process {
    pub fn new(
        number: usize,
        stream: TcpStream,
        child: Option<Child>,
        ears: &Sender<Heard>,
    ) -> io::Result<Process> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let ears = ears.clone();
        let reader = std::thread::spawn(move || {
            while let Ok(Some(message)) = protocol::read(&mut reader) {
                if ears.send(Heard::Message(number, message)).is_err() {
                    return;
                }
            }
            _ = ears.send(Heard::End(number));
        });
        let (ids, asked, reader) = (HashMap::new(), HashMap::new(), Some(reader));
        Ok(Process {
            number,
            stream,
            child,
            is_copy: false,
            reader,
            ids,
            asked,
            has_exited: false,
            has_hung_up: false,
            lost: Vec::new(),
        })
    }

    /// Its own number of a breakpoint of the client.
    pub fn own(&self, id: u64) -> Option<u64> {
        match self.number {
            0 => Some(id),
            _ => self.ids.iter().find(|(_, theirs)| **theirs == id).map(|(own, _)| *own),
        }
    }

    pub fn send(&self, request: &Json) -> io::Result<()> {
        protocol::write(&mut (&self.stream as &TcpStream), request)
    }

    /// How it has ended, in words, and its exit code if that is known; it has hung up without a word of that.
    pub fn ending(&mut self) -> (String, Option<i32>) {
        let unknown = "the program has ended early, and its exit code is not known";
        let Some(Ok(status)) = self.child.as_mut().map(Child::wait) else {
            return (unknown.into(), None);
        };
        match (status.signal(), status.code()) {
            (Some(signal), _) => {
                (format!("the program was ended by signal {signal}"), Some(128 + signal))
            }
            (None, Some(code)) => (format!("the program has ended early, with {code}"), Some(code)),
            (None, None) => (unknown.into(), None),
        }
    }

    /// Waits for its end, which it has told, so that all its output is there.
    pub fn wait(&mut self) {
        if let Some(child) = &mut self.child {
            // It cannot be waited for only if that was done before.
            _ = child.wait();
        }
    }

    /// Ends it, unless it is about to end and only the last words of its command are missing.
    pub fn end(&mut self) {
        if let Some(child) = &mut self.child {
            if !self.has_exited {
                // It may have ended.
                _ = child.kill();
            }
            _ = child.wait();
        } else if self.is_copy {
            if !self.has_exited {
                // It may have ended, and otherwise ends now.
                _ = self.stream.shutdown(Shutdown::Both);
            }
            // It panics only if a message cannot be put into memory.
            _ = self.reader.take().map(JoinHandle::join);
        }
    }
}
