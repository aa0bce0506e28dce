//! The gate: which requests are let in. [`crate::server`] asks it before it does anything for a request.
//!
//! The server listens on the loopback interface only, but pages of other sites in the user's browser reach that, too, and
//! so do other users of the computer. Three checks keep these out:
//!
//! | check | keeps out |
//! |---|---|
//! | The field `Host` names the loopback interface and the port | pages whose site's name was made to lead here (DNS rebinding) |
//! | `Origin`, if there is one, is the server itself, and `Sec-Fetch-Site` names no other site | pages of other sites |
//! | the token, random for each run | everything that has not read the program's standard error output |
//!
//! The token is in the query as `token`, or in the field `Authorization` as `Bearer TOKEN`.

use squall_system::http::Head;
use squall_system::url::parameters;

/// A request that was let in.
#[derive(Debug)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// The path of its target.
    pub path: String,
    /// The names and values in the query of its target, but for the token.
    pub query: Vec<[String; 2]>,
}

impl Request {
    /// A value of the query.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|[other, _]| other == name).map(|[_, value]| value.as_str())
    }

    /// A number in the query, if it is there; the error is for the client.
    pub fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.value(name).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| format!("{name} must be a whole number from 0 on"))
    }
}

/// A refusal: the status, and the reason.
pub type Refusal = (u16, &'static str);

/// What requests must have.
pub struct Gate {
    token: String,
    hosts: [String; 3],
}

/// How many bytes the token has.
const TOKEN_BYTES: usize = 16;

impl Gate {
    /// The gate of a server at this port, with a new token; the error is the system's, which gives no random bytes.
    pub fn new(port: u16) -> Result<Gate, String> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Gate::with_token(port, token))
    }

    fn with_token(port: u16, token: String) -> Gate {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        Gate { token, hosts }
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Lets a request in, or refuses it.
    pub fn check(&self, head: &Head) -> Result<Request, Refusal> {
        let [method, target] = &head.start;
        let host = the_one(head, b"host").ok_or((400, "there is not one field Host"))?;
        if !self.is_host(host) {
            return Err((403, "the field Host does not name this server"));
        }
        let is_own =
            |origin: &[u8]| origin.strip_prefix(b"http://").is_some_and(|host| self.is_host(host));
        if !values(head, b"origin").all(is_own) {
            return Err((403, "the request is from a page of another site"));
        }
        let is_near = |site: &[u8]| matches!(site, b"same-origin" | b"none");
        if !values(head, b"sec-fetch-site").all(is_near) {
            return Err((403, "the request is from a page of another site"));
        }
        let (path, query) = split(target);
        let (tokens, query): (Vec<_>, Vec<_>) =
            parameters(query).into_iter().partition(|[name, _]| name == "token");
        let bearer = the_one(head, b"authorization").and_then(bearer);
        let given = tokens.first().map(|[_, token]| token.as_bytes()).or(bearer);
        if !given.is_some_and(|given| is_same(given, self.token.as_bytes())) {
            return Err((
                401,
                "the token is missing, or is another one: use the address that the program has shown",
            ));
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Request { method: text(method), path: text(path), query })
    }

    fn is_host(&self, host: &[u8]) -> bool {
        self.hosts.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(host))
    }
}

/// The token in a value of the field `Authorization`. The name of the scheme has no case (RFC 9110, section 11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"Bearer ";
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| token.trim_ascii_start())
}

/// The path and the query of a target.
fn split(target: &[u8]) -> (&[u8], &[u8]) {
    match target.iter().position(|byte| *byte == b'?') {
        Some(end) => (&target[..end], &target[end + 1..]),
        None => (target, b""),
    }
}

/// The values of the fields with this name.
fn values<'h>(head: &'h Head, name: &[u8]) -> impl Iterator<Item = &'h [u8]> {
    let named = head.fields.iter().filter(move |[other, _]| other == name);
    named.map(|[_, value]| value.as_slice())
}

/// The value of the field with this name, if there is exactly one.
fn the_one<'h>(head: &'h Head, name: &[u8]) -> Option<&'h [u8]> {
    let mut values = values(head, name);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// Whether two texts are the same, in a time that does not depend on where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_system::http::{Parsed, parse_request};

    const PORT: u16 = 4567;

    fn checked(text: &str) -> Result<Request, u16> {
        let gate = Gate::with_token(PORT, "secret".to_owned());
        let text = text.replace('\n', "\r\n") + "\r\n\r\n";
        let Parsed::Head(head) = parse_request(text.as_bytes(), 32) else {
            panic!("no head: {text}")
        };
        gate.check(&head).map_err(|(status, _)| status)
    }

    #[test]
    fn the_token_is_in_the_query_or_in_a_field() {
        let request = checked("GET /api/x?a=1&token=secret HTTP/1.1\nHost: localhost:4567")
            .expect("it is let in");
        assert_eq!((request.path.as_str(), request.number("a")), ("/api/x", Ok(Some(1))));
        assert_eq!(request.value("token"), None);
        for value in ["Bearer secret", "bearer secret", "BEARER  secret"] {
            let head = "GET / HTTP/1.1\nHost: 127.0.0.1:4567\nAuthorization: ";
            assert!(checked(&format!("{head}{value}")).is_ok(), "{value}");
        }
    }

    #[test]
    fn other_tokens_are_refused() {
        for query in ["", "?token=", "?token=secre", "?token=secret1", "?token=Secret", "?x=secret"]
        {
            let status = checked(&format!("GET /{query} HTTP/1.1\nHost: 127.0.0.1:4567"));
            assert_eq!(status.err(), Some(401), "{query}");
        }
        for value in ["Basic secret", "Bearer", "Bearersecret", "Bearer secret1", "secret"] {
            let head = "GET / HTTP/1.1\nHost: 127.0.0.1:4567\nAuthorization: ";
            assert_eq!(checked(&format!("{head}{value}")).err(), Some(401), "{value}");
        }
    }

    #[test]
    fn names_that_lead_here_are_refused() {
        for host in
            ["evil.example:4567", "127.0.0.1", "127.0.0.1:4568", "localhost.evil.example:4567"]
        {
            let status = checked(&format!("GET /?token=secret HTTP/1.1\nHost: {host}"));
            assert_eq!(status.err(), Some(403), "{host}");
        }
        assert_eq!(checked("GET /?token=secret HTTP/1.1\nX: y").err(), Some(400));
        let two = "GET /?token=secret HTTP/1.1\nHost: localhost:4567\nHost: evil.example:4567";
        assert_eq!(checked(two).err(), Some(400));
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let from = |field: &str| {
            checked(&format!("GET /?token=secret HTTP/1.1\nHost: localhost:4567\n{field}"))
        };
        assert!(from("Origin: http://localhost:4567").is_ok());
        assert!(from("Sec-Fetch-Site: same-origin").is_ok());
        for field in [
            "Origin: null",
            "Origin: http://evil.example",
            "Origin: https://localhost:4567",
            "Origin: http://localhost:4567.evil.example",
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
        ] {
            assert_eq!(from(field).err(), Some(403), "{field}");
        }
    }
}
