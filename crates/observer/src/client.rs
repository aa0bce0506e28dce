//! Asks a server. `squall top` uses it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value as Json;
use squall_system::http::{Parsed, parse_response};
use squall_system::url::{self, parameters};

/// A server, by the address that the program has shown.
pub struct Client {
    port: u16,
    token: String,
}

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of an answer.
const MOST_BYTES: u64 = 64 << 20;

impl Client {
    /// The server at an address such as `http://127.0.0.1:4711/?token=…`.
    pub fn new(address: &str) -> Result<Client, String> {
        let wrong = || format!("{address} is no address that `squall run --observe` has shown");
        let parsed = url::parse(address).ok_or_else(wrong)?;
        let is_near = ["127.0.0.1", "localhost"].contains(&parsed.host.as_str());
        let query = address.split_once('?').map(|(_, query)| query).unwrap_or_default();
        let tokens = parameters(query.as_bytes()).into_iter();
        let token = tokens.filter(|[name, _]| name == "token").map(|[_, token]| token).next();
        match token.filter(|token| is_near && token.bytes().all(|it| it.is_ascii_alphanumeric())) {
            Some(token) => Ok(Client { port: parsed.port, token }),
            None => Err(wrong()),
        }
    }

    /// The answer to a request to look, such as `/api/overview`.
    pub fn get(&self, target: &str) -> Result<Json, String> {
        self.ask("GET", target)
    }

    /// The answer to a request for an action.
    pub fn post(&self, target: &str) -> Result<Json, String> {
        self.ask("POST", target)
    }

    fn ask(&self, method: &str, target: &str) -> Result<Json, String> {
        let bytes = self.exchange(method, target).map_err(|error| error.to_string())?;
        let Parsed::Head(head) = parse_response(&bytes, 64) else {
            return Err("the answer cannot be understood".to_owned());
        };
        let body = serde_json::from_slice::<Json>(&bytes[head.length..]);
        let body = body.map_err(|error| format!("the answer cannot be understood: {error}"))?;
        match body["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(body),
        }
    }

    fn exchange(&self, method: &str, target: &str) -> std::io::Result<Vec<u8>> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let Client { port, token } = self;
        stream.write_all(
            format!(
                "{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\
                 Authorization: Bearer {token}\r\n\r\n"
            )
            .as_bytes(),
        )?;
        let mut bytes = Vec::new();
        stream.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
