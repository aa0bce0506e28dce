//! The table of open resources, by number. The runtime's primitives find resources there.
//!
//! Numbers are not used twice, so a number that was closed or handed over finds nothing. Numbers cannot be guessed, so
//! a program that has a number was given it. An operation holds its resource meanwhile: closing takes the resource from
//! the table and ends the waits for it, and the last user drops it.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustls::{ClientConfig, ServerConfig};

use crate::poller::{Deliver, Direction, Poller, Registration, Source, Wait};
use crate::process::ChildProcess;
use crate::signals::Signals;
use crate::stream::Stream;
use crate::tcp::Listener;
use crate::udp::Datagrams;

/// An open resource.
pub enum Resource {
    /// A listener, where connections arrive.
    Listener(Listener),
    /// A connection or a pipe.
    Stream(Box<Stream>),
    /// A socket for datagrams.
    Datagrams(Datagrams),
    /// A process that this process has started.
    Child(ChildProcess),
    /// A program's watch for signals.
    Signals(Signals),
    /// The configuration of a client of encrypted connections: the certificates that it trusts.
    TlsClient(Arc<ClientConfig>),
    /// The configuration of a server of encrypted connections: its certificates and its key.
    TlsServer(Arc<ServerConfig>),
}

impl Resource {
    fn registration(&self) -> Option<&Registration> {
        match self {
            Resource::Listener(listener) => Some(listener.registration()),
            Resource::Stream(stream) => Some(stream.registration()),
            Resource::Datagrams(datagrams) => Some(datagrams.registration()),
            Resource::Child(child) => Some(child.registration()),
            Resource::Signals(signals) => Some(signals.registration()),
            Resource::TlsClient(_) | Resource::TlsServer(_) => None,
        }
    }

    /// The source to wait for, if there can be a wait.
    pub fn source(&self) -> Option<&Arc<Source>> {
        self.registration().map(Registration::source)
    }

    /// The event that a strand waits for at this resource, as a part of a sentence.
    pub fn describe(&self, direction: Direction) -> String {
        match self {
            Resource::Listener(listener) => format!("a connection at {}", listener.address()),
            Resource::Stream(stream) => stream.describe(direction),
            Resource::Datagrams(datagrams) => match direction {
                Direction::Read => format!("a datagram at {}", datagrams.address()),
                Direction::Write => "room to send a datagram".to_owned(),
            },
            Resource::Child(child) => format!("the end of process {}", child.id()),
            Resource::Signals(_) => "a signal".to_owned(),
            Resource::TlsClient(_) | Resource::TlsServer(_) => "nothing".to_owned(),
        }
    }
}

/// All open resources, and the poller.
#[derive(Default)]
pub struct Resources {
    table: Mutex<Table>,
    poller: OnceLock<Poller>,
    /// Locked while a thread starts the poller.
    starting: Mutex<()>,
}

#[derive(Default)]
struct Table {
    opened: u64,
    /// The key comes from the system, so the numbers of one process reveal nothing about the next one's.
    secret: RandomState,
    resources: HashMap<i64, Arc<Resource>>,
}

impl Table {
    fn add(&mut self, resource: Arc<Resource>) -> i64 {
        let number = loop {
            self.opened += 1;
            // 60 bits, so a positive small integer.
            let number = (self.secret.hash_one(self.opened) >> 4) as i64;
            if !self.resources.contains_key(&number) {
                break number;
            }
        };
        self.resources.insert(number, resource);
        number
    }
}

impl Resources {
    /// The poller, which is started at the first call.
    pub fn poller(&self, deliver: Deliver) -> io::Result<&Poller> {
        if let Some(poller) = self.poller.get() {
            return Ok(poller);
        }
        let _guard = self.starting.lock();
        if self.poller.get().is_none() {
            raise_descriptor_limit();
            _ = self.poller.set(Poller::start(deliver)?);
        }
        Ok(self.poller.get().expect("it was set"))
    }

    /// Adds a resource; answers its number.
    pub fn add(&self, resource: Resource) -> i64 {
        self.table.lock().add(Arc::new(resource))
    }

    /// The resource with this number.
    pub fn get(&self, number: i64) -> Option<Arc<Resource>> {
        self.table.lock().resources.get(&number).cloned()
    }

    /// Takes the resource with this number out of the table. Strands that wait for it must look again: the caller
    /// delivers the waits.
    pub fn remove(&self, number: i64) -> Option<(Arc<Resource>, Vec<Wait>)> {
        let resource = self.table.lock().resources.remove(&number)?;
        let waits = resource.source().map_or_else(Vec::new, |source| source.end_waits());
        Some((resource, waits))
    }

    /// Gives the resource another number. The old number finds nothing any more; strands that wait by it must look
    /// again: the caller delivers the waits.
    pub fn renumber(&self, number: i64) -> Option<(i64, Vec<Wait>)> {
        let mut table = self.table.lock();
        let resource = table.resources.remove(&number)?;
        let new = table.add(resource.clone());
        drop(table);
        let waits = resource.source().map_or_else(Vec::new, |source| source.end_waits());
        Some((new, waits))
    }

    /// The number of open resources.
    pub fn count(&self) -> usize {
        self.table.lock().resources.len()
    }
}

/// Raises the process's limit of descriptors to the permitted maximum. A server needs one for each client, and the
/// usual limit is meant for programs that wait with `select`.
fn raise_descriptor_limit() {
    use rustix::process::{Resource::Nofile, getrlimit, setrlimit};
    let mut limit = getrlimit(Nofile);
    limit.current = limit.maximum;
    _ = setrlimit(Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_used_twice() {
        let resources = Resources::default();
        let config = || Resource::TlsClient(crate::tls::client(None).unwrap());
        let first = resources.add(config());
        let (second, waits) = resources.renumber(first).unwrap();
        assert!(waits.is_empty() && first != second);
        assert!(resources.get(first).is_none() && resources.get(second).is_some());
        assert!(resources.remove(first).is_none() && resources.remove(second).is_some());
        assert_ne!(resources.add(config()), second);
        assert_eq!(resources.count(), 1);
    }
}
