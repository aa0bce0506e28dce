//! What a program has open in the system, by number.
//!
//! Numbers are not used twice, so that one that was closed or handed over finds nothing; and they cannot be
//! guessed, so that whoever has one was given it. Who uses a resource holds it meanwhile: closing takes it from the table, ends the waits for it, and the
//! last user drops it.

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

/// Something open.
pub enum Resource {
    /// Where connections arrive.
    Listener(Listener),
    /// A connection or a pipe.
    Stream(Box<Stream>),
    /// Where datagrams arrive.
    Datagrams(Datagrams),
    /// A process that this one has started.
    Child(ChildProcess),
    /// Signals that the program looks at.
    Signals(Signals),
    /// Whom a client of encrypted connections trusts.
    TlsClient(Arc<ClientConfig>),
    /// Who a server of encrypted connections is.
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

    /// What can be waited for.
    pub fn source(&self) -> Option<&Arc<Source>> {
        self.registration().map(Registration::source)
    }

    /// What somebody waits for who waits for this, as a part of a sentence.
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

/// Everything that is open, and the poller.
#[derive(Default)]
pub struct Resources {
    table: Mutex<Table>,
    poller: OnceLock<Poller>,
    /// Taken by who starts the poller.
    starting: Mutex<()>,
}

#[derive(Default)]
struct Table {
    opened: u64,
    /// With a key of the system's making, so that the numbers of one process tell nothing about the next.
    secret: RandomState,
    resources: HashMap<i64, Arc<Resource>>,
}

impl Table {
    fn add(&mut self, resource: Arc<Resource>) -> i64 {
        let number = loop {
            self.opened += 1;
            // 60 bits, which are a positive small integer.
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
    /// The poller, which is started when it is first asked for.
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

    /// Takes the resource with this number out of the table. Who waits for it should look again: the
    /// caller delivers the waits.
    pub fn remove(&self, number: i64) -> Option<(Arc<Resource>, Vec<Wait>)> {
        let resource = self.table.lock().resources.remove(&number)?;
        let waits = resource.source().map_or_else(Vec::new, |source| source.end_waits());
        Some((resource, waits))
    }

    /// Gives the resource another number. The old one finds nothing any more; who waits by that should
    /// look again: the caller delivers the waits.
    pub fn renumber(&self, number: i64) -> Option<(i64, Vec<Wait>)> {
        let mut table = self.table.lock();
        let resource = table.resources.remove(&number)?;
        let new = table.add(resource.clone());
        drop(table);
        let waits = resource.source().map_or_else(Vec::new, |source| source.end_waits());
        Some((new, waits))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.table.lock().resources.len()
    }
}

/// Lets the process have as many descriptors as it may ask for: a server has one for each client, and
/// the usual limit is meant for programs that wait with `select`.
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
