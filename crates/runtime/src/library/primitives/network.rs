//! Connections, listeners, datagrams, names of hosts: the primitives for the network. `lib/Net.ns` calls them.
//!
//! Bytes are strings with a code point below 256 for each. The resolution of a name asks
//! [`Permissions`](crate::model::permissions::Permissions) for the host in the program's spelling, and answers
//! [`rights`] to the addresses that the system finds, which need no further permission. Operations with a host
//! take these rights: no text stands for an address.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use squall_heap::{Mutator, Word};
use squall_system::names;
use squall_system::poller::Direction;
use squall_system::resources::Resource;
use squall_system::stream::{Peer, Stream};
use squall_system::tcp::{self, Listener};
use squall_system::tls::{self, Handshake, Session};
use squall_system::udp::{Datagrams, LONGEST};

use super::answer;
use super::resources::{
    Field, add_owned, attempted, denied, explained, failure, opened, own, poller, resource,
    resource_of,
};
use super::strings::byte_argument;
use crate::concurrency::sandbox::{blocking, grants};
use crate::concurrency::transactions::access;
use crate::concurrency::worker::outside;
use crate::model::outcome::Failure;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{integer_argument, make_integer, size_argument};
use crate::objects::rights::{self, Kind};
use crate::objects::string::{Text, make_byte_string, make_string, symbol_object, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("isHostAddress:", |_, window| answer(is_address(window))),
    Primitive::effect("resolveHost:port:", |thread, window| answer(resolve(thread, window))),
    Primitive::ordinary("textOfAddress:", |thread, window| answer(text_of(thread, window))),
    Primitive::effect("connectTo:owner:", |thread, window| answer(connect(thread, window))),
    Primitive::effect("streamIsConnected:", |thread, window| answer(is_connected(thread, window))),
    Primitive::effect("listenAt:backlog:owner:", |thread, window| answer(listen(thread, window))),
    Primitive::effect("acceptFrom:owner:", |thread, window| answer(accept(thread, window))),
    Primitive::effect("stream:read:", |thread, window| answer(read(thread, window))),
    Primitive::effect("stream:write:from:", |thread, window| answer(write(thread, window))),
    Primitive::effect("streamEndWriting:", |thread, window| answer(end_writing(thread, window))),
    Primitive::effect("stream:sendsAtOnce:", |thread, window| {
        answer(set_sends_at_once(thread, window))
    }),
    Primitive::effect("streamResetsOnClose:", |thread, window| {
        answer(set_resets_on_close(thread, window))
    }),
    Primitive::effect("localAddress:", |thread, window| answer(local_address(thread, window))),
    Primitive::effect("remoteAddress:", |thread, window| answer(remote_address(thread, window))),
    Primitive::effect("tlsTrusting:owner:", |thread, window| answer(trust(thread, window))),
    Primitive::effect("tlsCertificates:key:owner:", |thread, window| {
        answer(identify(thread, window))
    }),
    Primitive::effect("stream:encrypt:name:", |thread, window| answer(encrypt(thread, window))),
    Primitive::effect("streamShakeHands:", |thread, window| answer(shake_hands(thread, window))),
    Primitive::effect("datagramsAt:owner:", |thread, window| {
        answer(open_datagrams(thread, window))
    }),
    Primitive::effect("datagramsReceive:", |thread, window| answer(receive(thread, window))),
    Primitive::effect("datagrams:send:to:", |thread, window| answer(send(thread, window))),
];

/// A host and a port that the program may use. *GC point.*
fn permitted(thread: &mut Thread, host: Word, port: Word) -> Result<(String, u16), Failure> {
    let (text, number) = (text_argument(host)?, integer_argument(port));
    let number = number.ok().and_then(|port| u16::try_from(port).ok());
    let number = number.ok_or(Failure::argument(port))?;
    check_host(thread, &text, number)?;
    Ok((text, number))
}

/// Fails unless the strand may use a host and a port. *GC point.*
fn check_host(thread: &mut Thread, host: &str, port: u16) -> Result<(), Failure> {
    grants::check(thread, "net", &format!("{host}:{port}"))?;
    match thread.vm.options.permissions.allows_host(host, port) {
        true => {
            thread.vm.debugging.act("uses the network");
            Ok(())
        }
        false => Err(denied(thread, "--allow-net", &format!("{host}:{port}"))),
    }
}

/// Whether a text is an address, not a name.
fn is_address(window: Window) -> Result<Word, Failure> {
    Ok(Word::from_bool(names::parse(&text_argument(window.get(0))?).is_some()))
}

/// Rights to the addresses of a host. Takes as long as the system does. *GC point.*
fn resolve(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (host, port) = permitted(thread, window.get(0), window.get(1))?;
    let addresses = match names::parse(&host) {
        Some(address) => vec![address],
        None => blocking::outside(thread, || names::resolve(&host))?.map_err(|_| {
            let text = format!("there is no host {host}");
            explained(thread, Field::Network, "HostNotFound", &text)
        })?,
    };
    array::make_of(thread, addresses.len(), |thread, index| {
        // The host goes along, since the right is checked again when it is used.
        let subject = make_string(thread, &format!("{} {host}", addresses[index]))?;
        rights::make_with(thread, Kind::Address, i64::from(port), subject)
    })
}

/// The address and the port of a right, and the host that they are of.
fn address_parts(thread: &Thread, right: Word) -> Result<(SocketAddr, String), Failure> {
    let parts = || {
        let text = Text::of(rights::subject(thread, right, Kind::Address).ok()?)?.to_rust();
        let (address, host) = text.split_once(' ')?;
        let port = u16::try_from(rights::number(thread, right, Kind::Address).ok()?).ok()?;
        Some((SocketAddr::new(names::parse(address)?, port), host.to_owned()))
    };
    parts().ok_or(Failure::argument(right))
}

/// The address that a right is for, if the strand may use it: the right may come from elsewhere. *GC point.*
fn address_argument(thread: &mut Thread, right: Word) -> Result<SocketAddr, Failure> {
    let (address, host) = address_parts(thread, right)?;
    check_host(thread, &host, address.port())?;
    Ok(address)
}

/// The text of a right's address. *GC point.*
fn text_of(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (address, _) = address_parts(thread, window.get(0))?;
    make_string(thread, &address.ip().to_string())
}

/// Begins to connect. *GC point.*
fn connect(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let address = address_argument(thread, window.get(0))?;
    let poller = poller(thread)?;
    let stream = opened(thread, |_| tcp::connect(poller, address))
        .map_err(|error| failure(thread, Field::Network, &connecting(address), &error))?;
    add_owned(thread, (Resource::Stream(Box::new(stream)), Kind::Resource), window, 1)
}

fn connecting(address: SocketAddr) -> String {
    format!("connecting to {address}")
}

/// Whether connecting has ended.
fn is_connected(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    with_stream(thread, window, |thread, resource, stream| {
        let what = || format!("connecting to {}", stream.peer());
        let source = resource.source().map(|source| (&**source, Direction::Write));
        let source = source.ok_or(Failure::argument(window.get(0)))?;
        source.0.begin(Direction::Write);
        match stream.finish_connecting() {
            Ok(is_connected) => Ok(Word::from_bool(is_connected)),
            Err(error) => Err(failure(thread, Field::Network, &what(), &error)),
        }
    })
}

/// Listens. *GC point.*
fn listen(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let address = address_argument(thread, window.get(0))?;
    let backlog = size_argument(window.get(1))?.min(i32::MAX as usize) as i32;
    let poller = poller(thread)?;
    let listener =
        opened(thread, |_| Listener::open(poller, address, backlog)).map_err(|error| {
            failure(thread, Field::Network, &format!("listening at {address}"), &error)
        })?;
    add_owned(thread, (Resource::Listener(listener), Kind::Resource), window, 2)
}

/// The next connection, or `false`. *GC point.*
fn accept(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let resource = resource(thread, window.get(0))?;
    let Resource::Listener(listener) = &*resource else {
        return Err(Failure::argument(window.get(0)));
    };
    let source = resource.source().ok_or(Failure::argument(window.get(0)))?;
    let poller = poller(thread)?;
    let what = || format!("accepting a connection at {}", listener.address());
    let accepted =
        attempted(thread, (source, Direction::Read), (Field::Network, what), |thread| {
            opened(thread, |_| listener.accept(poller))
        })?;
    match accepted {
        Some(stream) => {
            add_owned(thread, (Resource::Stream(Box::new(stream)), Kind::Resource), window, 1)
        }
        None => Ok(Word::FALSE),
    }
}

/// Does something with the stream in the window's first word. *GC point.*
fn with_stream<R>(
    thread: &mut Thread,
    window: Window,
    work: impl FnOnce(&mut Thread, &Arc<Resource>, &Stream) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let resource = resource(thread, window.get(0))?;
    match &*resource {
        Resource::Stream(stream) => work(thread, &resource, stream),
        _ => Err(Failure::argument(window.get(0))),
    }
}

/// Tries something with the stream in the window's first word. *GC point.*
fn try_stream<R>(
    thread: &mut Thread,
    window: Window,
    (direction, doing): (Direction, &str),
    operation: impl FnOnce(&Mutator, &Stream) -> std::io::Result<R>,
) -> Result<Option<R>, Failure> {
    with_stream(thread, window, |thread, resource, stream| {
        let source = resource.source().ok_or(Failure::argument(window.get(0)))?;
        let what = || format!("{doing} {}", stream.peer());
        let field = Field::of_peer(stream.peer());
        attempted(thread, (source, direction), (field, what), |thread| {
            operation(&thread.mutator, stream)
        })
    })
}

/// The most that is read at a time.
const MOST_READ: usize = 64 * 1024;

thread_local! {
    /// Where bytes arrive before there is a string for them.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; MOST_READ]);
}

/// Reads some bytes: answers them, nil at the end, or `false`. *GC point.*
fn read(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let most = size_argument(window.get(1))?.min(MOST_READ);
    if most == 0 {
        return Err(Failure::argument(window.get(1)));
    }
    BUFFER.with_borrow_mut(|buffer| {
        let read = try_stream(thread, window, (Direction::Read, "reading from"), |_, stream| {
            stream.read(&mut buffer[..most])
        })?;
        match read {
            Some(0) => Ok(Word::NIL),
            Some(count) => make_byte_string(thread, &buffer[..count]),
            None => Ok(Word::FALSE),
        }
    })
}

/// Writes bytes of a string from an index on: answers their number, or `false`. *GC point.*
fn write(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let length = byte_argument(&thread.mutator, window.get(1))?.len();
    let start = size_argument(window.get(2))?.checked_sub(1).filter(|start| *start < length);
    let start = start.ok_or(Failure::index(window.get(1), window.get(2)))?;
    let written =
        try_stream(thread, window, (Direction::Write, "writing to"), |mutator, stream| {
            let bytes = byte_argument(mutator, window.get(1)).unwrap_or_default();
            stream.write(bytes.get(start..).unwrap_or_default())
        })?;
    Ok(written.map_or(Word::FALSE, |count| Word::from_small_integer_unchecked(count as i64)))
}

/// Ends writing: answers whether that is done. *GC point.*
fn end_writing(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let what = (Direction::Write, "ending to write to");
    let ended = try_stream(thread, window, what, |_, stream| stream.shutdown_write())?;
    Ok(Word::from_bool(ended.is_some()))
}

/// Does something with the stream that fails only if it makes no sense. *GC point.*
fn adjust(
    thread: &mut Thread,
    window: Window,
    adjustment: impl FnOnce(&Stream) -> std::io::Result<()>,
) -> Result<Word, Failure> {
    with_stream(thread, window, |thread, _, stream| {
        let what = format!("adjusting the stream to {}", stream.peer());
        let adjusted = adjustment(stream);
        adjusted.map_err(|error| failure(thread, Field::of_peer(stream.peer()), &what, &error))
    })?;
    Ok(Word::NIL)
}

fn set_sends_at_once(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let is_set = match window.get(1) {
        Word::TRUE => true,
        Word::FALSE => false,
        other => return Err(Failure::argument(other)),
    };
    adjust(thread, window, |stream| stream.set_no_delay(is_set))
}

fn set_resets_on_close(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    adjust(thread, window, Stream::set_reset_on_close)
}

/// An array of an address and a port. *GC point.*
fn make_address(thread: &mut Thread, address: SocketAddr) -> Result<Word, Failure> {
    array::make_of(thread, 2, |thread, index| match index {
        0 => make_string(thread, &address.ip().to_string()),
        _ => make_integer(thread, i64::from(address.port())),
    })
}

/// Our end. *GC point.*
fn local_address(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let resource = resource(thread, window.get(0))?;
    let address = match &*resource {
        Resource::Listener(listener) => Ok(listener.address()),
        Resource::Datagrams(datagrams) => Ok(datagrams.address()),
        Resource::Stream(stream) => stream.local_address(),
        _ => return Err(Failure::argument(window.get(0))),
    };
    match address {
        Ok(address) => make_address(thread, address),
        Err(error) => {
            Err(failure(thread, Field::Network, "looking for the address of a connection", &error))
        }
    }
}

/// The other end. *GC point.*
fn remote_address(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let peer = with_stream(thread, window, |_, _, stream| Ok(stream.peer()))?;
    match peer {
        Peer::Address(address) => make_address(thread, address),
        Peer::Process(_) => Err(Failure::argument(window.get(0))),
    }
}

/// The certificates to trust: nil for those that the system trusts, or certificates. *GC point.*
fn trust(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    grants::check(thread, "net", "certificates")?;
    let certificates = match window.get(0) {
        Word::NIL => None,
        text => Some(text_argument(text)?),
    };
    let config = outside(thread, || tls::client(certificates.as_deref().map(str::as_bytes)));
    let config = config.map_err(|error| {
        failure(thread, Field::Network, "reading certificates to trust", &error)
    })?;
    add_owned(thread, (Resource::TlsClient(config), Kind::Encryption), window, 1)
}

/// Makes the identity of a server. *GC point.*
fn identify(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (certificates, key) = (text_argument(window.get(0))?, text_argument(window.get(1))?);
    let config = tls::server(certificates.as_bytes(), key.as_bytes());
    let config = config.map_err(|error| {
        failure(thread, Field::Network, "reading a certificate and its key", &error)
    })?;
    add_owned(thread, (Resource::TlsServer(config), Kind::Encryption), window, 2)
}

/// Encrypts a connection from now on: as a server, or as a client of a server with a name. *GC point.*
fn encrypt(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let config = resource_of(thread, window.get(1), Kind::Encryption)?;
    let session = match (&*config, window.get(2)) {
        (Resource::TlsServer(config), Word::NIL) => Session::server(config.clone()),
        (Resource::TlsClient(config), name) => {
            Session::client(config.clone(), &text_argument(name)?)
        }
        _ => return Err(Failure::argument(window.get(1))),
    };
    adjust(thread, window, |stream| stream.encrypt(session?))
}

/// Continues the handshake of the encryption: answers that it is done, or the direction to wait for. *GC point.*
fn shake_hands(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let handshake = with_stream(thread, window, |thread, resource, stream| {
        let what = format!("agreeing with {} about the encryption", stream.peer());
        if let Some(source) = resource.source() {
            source.begin(Direction::Read);
            source.begin(Direction::Write);
        }
        let shaken = stream.shake_hands();
        if let (Some(source), Ok(Handshake::Done)) = (resource.source(), &shaken) {
            // Both may still be possible.
            crate::concurrency::timers::deliver(&source.end_waits());
        }
        shaken.map_err(|error| failure(thread, Field::Network, &what, &error))
    })?;
    let name = match handshake {
        Handshake::Done => return Ok(Word::TRUE),
        Handshake::Needs(Direction::Read) => "read",
        Handshake::Needs(Direction::Write) => "write",
    };
    let symbol = thread.vm.symbol(name);
    symbol_object(thread, symbol)
}

/// Receives datagrams. *GC point.*
fn open_datagrams(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let address = address_argument(thread, window.get(0))?;
    let poller = poller(thread)?;
    let datagrams = opened(thread, |_| Datagrams::open(poller, address)).map_err(|error| {
        failure(thread, Field::Network, &format!("receiving at {address}"), &error)
    })?;
    add_owned(thread, (Resource::Datagrams(datagrams), Kind::Resource), window, 1)
}

/// Does something with the datagrams in the window's first word. *GC point.*
fn with_datagrams<R>(
    thread: &mut Thread,
    window: Window,
    (direction, what): (Direction, &str),
    operation: impl FnOnce(&Mutator, &Datagrams) -> std::io::Result<R>,
) -> Result<Option<R>, Failure> {
    let resource = resource(thread, window.get(0))?;
    let Resource::Datagrams(datagrams) = &*resource else {
        return Err(Failure::argument(window.get(0)));
    };
    let source = resource.source().ok_or(Failure::argument(window.get(0)))?;
    let what = || format!("{what} {}", datagrams.address());
    attempted(thread, (source, direction), (Field::Network, what), |thread| {
        operation(&thread.mutator, datagrams)
    })
}

/// The next datagram, as an array of its bytes, an address and a port; or `false`. *GC point.*
fn receive(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(LONGEST, 0);
        let what = (Direction::Read, "receiving at");
        let received =
            with_datagrams(thread, window, what, |_, datagrams| datagrams.receive(buffer))?;
        let Some((length, from)) = received else { return Ok(Word::FALSE) };
        array::make_of(thread, 3, |thread, index| match index {
            0 => make_byte_string(thread, &buffer[..length]),
            1 => make_string(thread, &from.ip().to_string()),
            _ => make_integer(thread, i64::from(from.port())),
        })
    })
}

/// Sends a datagram: answers whether there was room. *GC point.*
fn send(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    byte_argument(&thread.mutator, window.get(1))?;
    let to = address_argument(thread, window.get(2))?;
    let what = format!("sending to {to} from");
    let sent = with_datagrams(thread, window, (Direction::Write, &what), |mutator, datagrams| {
        datagrams.send(byte_argument(mutator, window.get(1)).unwrap_or_default(), to)
    })?;
    Ok(Word::from_bool(sent.is_some()))
}

/// Adds the ends of a process's pipes, which belong to the elements of an array. *GC point.*
pub(super) fn add_pipes(
    thread: &mut Thread,
    pipes: [Option<Stream>; 3],
    window: Window,
    owners: usize,
) -> Result<[Option<i64>; 3], Failure> {
    let mut numbers = [None; 3];
    for (index, pipe) in pipes.into_iter().enumerate() {
        let Some(pipe) = pipe else { continue };
        let number = thread.vm.library().resources.add(Resource::Stream(Box::new(pipe)));
        let owner = match array::of(window.get(owners)) {
            Some(owners) => access::element(thread, owners, index)?,
            None => Word::NIL,
        };
        own(thread, number, owner)?;
        numbers[index] = Some(number);
    }
    Ok(numbers)
}
