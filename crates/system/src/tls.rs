//! Encrypted connections: TLS 1.2 and 1.3, by rustls. A [`Stream`](crate::stream::Stream) sends its bytes through a
//! session.
//!
//! A session stands between the program and the socket, and never blocks: bytes that the socket does not take stay in
//! the session.

use std::io::{self, ErrorKind, Read, Write};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
};

use crate::descriptor::Descriptor;
use crate::poller::Direction;

/// The number of bytes that are encrypted before they are sent.
const CHUNK: usize = 16 * 1024;

/// The state of an encrypted connection.
pub struct Session {
    connection: Connection,
    /// The number of bytes of a write that are in the session and have not been seen to be sent.
    accepted: usize,
}

/// The state of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handshake {
    /// The handshake is done.
    Done,
    /// The caller must wait for this direction.
    Needs(Direction),
}

/// The configuration of a client. It trusts the certificates in a text in PEM, or those that the system trusts.
pub fn client(certificates: Option<&[u8]>) -> io::Result<Arc<ClientConfig>> {
    static SYSTEM: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let Some(certificates) = certificates else {
        return match SYSTEM.get() {
            Some(config) => Ok(config.clone()),
            None => Ok(SYSTEM.get_or_init(|| client_trusting(system_roots())).clone()),
        };
    };
    let mut roots = RootCertStore::empty();
    for certificate in parse_certificates(certificates)? {
        roots.add(certificate).map_err(invalid)?;
    }
    Ok(client_trusting(roots))
}

fn client_trusting(roots: RootCertStore) -> Arc<ClientConfig> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // Unreadable certificates are not trusted.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// The configuration of a server: a chain of certificates and the key of the first, in PEM.
pub fn server(certificates: &[u8], key: &[u8]) -> io::Result<Arc<ServerConfig>> {
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "the key is no private key in PEM"))?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(invalid)?
        .with_no_client_auth()
        .with_single_cert(parse_certificates(certificates)?, key)
        .map_err(invalid)?;
    Ok(Arc::new(config))
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    static PROVIDER: OnceLock<Arc<rustls::crypto::CryptoProvider>> = OnceLock::new();
    PROVIDER.get_or_init(|| Arc::new(rustls::crypto::ring::default_provider())).clone()
}

fn parse_certificates(text: &[u8]) -> io::Result<Vec<CertificateDer<'static>>> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let certificates = certificates.unwrap_or_default();
    if certificates.is_empty() {
        let what = "there is no certificate in PEM in the text";
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    Ok(certificates)
}

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error.to_string())
}

impl Session {
    /// The connecting side's session with a server of this name.
    pub fn client(config: Arc<ClientConfig>, host: &str) -> io::Result<Session> {
        let name = match host.parse::<IpAddr>() {
            Ok(address) => ServerName::IpAddress(address.into()),
            Err(_) => ServerName::try_from(host.to_owned()).map_err(|_| {
                io::Error::new(ErrorKind::InvalidData, format!("`{host}` is no name of a server"))
            })?,
        };
        let connection = ClientConnection::new(config, name).map_err(invalid)?;
        Ok(Session { connection: Connection::Client(connection), accepted: 0 })
    }

    /// The accepting side's session.
    pub fn server(config: Arc<ServerConfig>) -> io::Result<Session> {
        let connection = ServerConnection::new(config).map_err(invalid)?;
        Ok(Session { connection: Connection::Server(connection), accepted: 0 })
    }

    pub(crate) fn shake_hands(&mut self, socket: &Descriptor) -> io::Result<Handshake> {
        while self.connection.is_handshaking() || self.connection.wants_write() {
            let (step, direction) = match self.connection.wants_write() {
                true => (self.connection.write_tls(&mut { socket }), Direction::Write),
                false => (self.receive(socket), Direction::Read),
            };
            match step {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(Handshake::Needs(direction));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Handshake::Done)
    }

    /// Reads encrypted bytes from the socket; 0 at the end.
    fn receive(&mut self, socket: &Descriptor) -> io::Result<usize> {
        let count = self.connection.read_tls(&mut { socket })?;
        if let Err(error) = self.connection.process_new_packets() {
            // Tells the peer the reason.
            _ = self.connection.write_tls(&mut { socket });
            return Err(invalid(error));
        }
        Ok(count)
    }

    pub(crate) fn read(&mut self, socket: &Descriptor, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // An end of the connection without the protocol's goodbye is an error here.
                result => return result,
            }
            self.receive(socket)?;
            // Bytes that the session sends by itself are sent if there is room, else with the next write.
            if self.connection.wants_write() {
                _ = self.connection.write_tls(&mut { socket });
            }
        }
    }

    pub(crate) fn write(&mut self, socket: &Descriptor, bytes: &[u8]) -> io::Result<usize> {
        if self.accepted == 0 {
            self.send(socket)?;
            let count = bytes.len().min(CHUNK);
            self.accepted = self.connection.writer().write(&bytes[..count])?;
        }
        self.send(socket)?;
        Ok(std::mem::take(&mut self.accepted).min(bytes.len()))
    }

    /// Sends the session's pending bytes.
    fn send(&mut self, socket: &Descriptor) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut { socket })?;
        }
        Ok(())
    }

    pub(crate) fn end_writing(&mut self, socket: &Descriptor) -> io::Result<()> {
        self.connection.send_close_notify();
        self.send(socket)
    }
}
