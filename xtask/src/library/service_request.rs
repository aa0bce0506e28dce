//! Random requests for the notes service, and the check of its answers. [`super::service`] sends these requests.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// The longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// So many notes of a client are kept; then old ones are deleted.
const MOST_NOTES: usize = 20;

/// Random numbers (Steele, Lea, Flood: SplitMix, 2014).
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn of(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn choose<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    fn text(&mut self) -> String {
        let length = self.below(12);
        let characters = (0..length).map(|_| match self.below(6) {
            0 => char::from_u32(self.below(0x11_0000) as u32).unwrap_or('\u{fffd}'),
            1 => *self.choose(&[&'"', &'\\', &'\'', &'\0', &'\n', &'{', &';', &'%']),
            _ => char::from(b'a' + self.below(26) as u8),
        });
        characters.collect()
    }
}

/// A client's connection to the service, and what it knows of its notes.
pub struct Conversation<'a> {
    address: &'a str,
    random: Random,
    stream: Option<TcpStream>,
    notes: Vec<u64>,
}

/// A request.
struct Request {
    bytes: Vec<u8>,
    /// Whether it follows the rules of HTTP, so that it has an answer.
    is_proper: bool,
    /// Whether the answer has no body, whatever its head says.
    is_head: bool,
}

impl<'a> Conversation<'a> {
    /// A client of the service at an address.
    pub fn new(address: &'a str, random: Random) -> Conversation<'a> {
        Conversation { address, random, stream: None, notes: Vec::new() }
    }

    /// Sends a request and checks its answer.
    pub fn exchange(&mut self) -> Result<(), String> {
        let request = self.request();
        let outcome = match request.is_proper {
            true => self.ask(&request),
            false => self.shout(&request),
        };
        outcome.map_err(|problem| {
            format!("{problem}\nafter {:?}", String::from_utf8_lossy(&request.bytes))
        })
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let stream =
            TcpStream::connect(self.address).map_err(|error| format!("connect: {error}"))?;
        let limit = stream.set_read_timeout(Some(PATIENCE));
        limit.and_then(|()| stream.set_nodelay(true)).map_err(|error| error.to_string())?;
        Ok(stream)
    }

    /// Sends a proper request on the present connection; it has an answer.
    fn ask(&mut self, request: &Request) -> Result<(), String> {
        let (mut stream, is_fresh) = match self.stream.take() {
            Some(stream) => (stream, false),
            None => (self.connect()?, true),
        };
        let answer = stream
            .write_all(&request.bytes)
            .map_err(|error| error.to_string())
            .and_then(|()| Answer::read(&mut stream, request.is_head));
        let answer = match answer {
            // The service may have closed a connection that was used before.
            Ok(None) | Err(_) if !is_fresh => return self.ask(request),
            Ok(None) => return Err("there is no answer".to_owned()),
            Ok(Some(answer)) => answer,
            Err(problem) => return Err(problem),
        };
        answer.check()?;
        if answer.status == 201 {
            self.notes.extend(answer.id());
        }
        if !answer.closes {
            self.stream = Some(stream);
        }
        Ok(())
    }

    /// Sends bytes that need not be a request on a connection of their own: all answers are well formed.
    fn shout(&mut self, request: &Request) -> Result<(), String> {
        let mut stream = self.connect()?;
        // The service may refuse the rest.
        _ = stream.write_all(&request.bytes);
        _ = stream.shutdown(Shutdown::Write);
        while let Some(answer) = match Answer::read(&mut stream, request.is_head) {
            // Closing a connection whose bytes were not read resets it.
            Err(problem) if problem.contains("reset") => None,
            answer => answer?,
        } {
            answer.check()?;
        }
        Ok(())
    }

    fn request(&mut self) -> Request {
        if self.notes.len() > MOST_NOTES {
            let path = format!("/notes/{}", self.notes.remove(0));
            return self.proper("DELETE", &path, None);
        }
        match self.random.below(10) {
            0 | 1 => {
                let body = self.note();
                self.proper("POST", "/notes", Some(&body))
            }
            2 => {
                let (path, body) = (self.path(), self.note());
                self.proper("PUT", &path, Some(&body))
            }
            3 => {
                let body = self.json(3);
                let method = self.random.choose(&["POST", "PUT"]);
                self.proper(method, "/notes", Some(&body))
            }
            4 => {
                let (method, path) =
                    (self.random.choose(&["GET", "DELETE", "HEAD", "PATCH"]), self.path());
                self.proper(method, &path, None)
            }
            5 => self.proper("GET", "/notes?tag=shop", None),
            6 => {
                let body = self.random.text();
                self.proper("POST", "/notes", Some(&body))
            }
            7 => self.damaged(),
            8 => self.garbage(),
            _ => self.chunked(),
        }
    }

    fn proper(&mut self, method: &str, path: &str, body: Option<&str>) -> Request {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for _ in 0..self.random.below(3) {
            head += &format!("X-{}: {}\r\n", self.random.next(), self.random.next());
        }
        if let Some(body) = body {
            head +=
                &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        }
        if self.random.below(20) == 0 {
            head += "Connection: close\r\n";
        }
        let bytes = [head.as_bytes(), b"\r\n", body.unwrap_or_default().as_bytes()].concat();
        Request { bytes, is_proper: true, is_head: method == "HEAD" }
    }

    /// A request whose body comes in chunks.
    fn chunked(&mut self) -> Request {
        let note = self.note();
        let mut text = format!(
            "POST /notes HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
            self.address
        )
        .into_bytes();
        for chunk in note.as_bytes().chunks(1 + self.random.below(9)) {
            text.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
            text.extend(chunk);
            text.extend(b"\r\n");
        }
        text.extend(b"0\r\n\r\n");
        Request { bytes: text, is_proper: true, is_head: false }
    }

    /// A request with some bytes changed, missing or too many.
    fn damaged(&mut self) -> Request {
        let body = self.note();
        let mut bytes = match self.random.below(3) {
            0 => self.chunked().bytes,
            1 => self.proper("GET", "/notes", None).bytes,
            _ => self.proper("POST", "/notes", Some(&body)).bytes,
        };
        for _ in 0..=self.random.below(3) {
            let place = self.random.below(bytes.len());
            match self.random.below(4) {
                0 => bytes.truncate(place.max(1)),
                1 => bytes.insert(place, self.random.next() as u8),
                2 => bytes[place] = self.random.next() as u8,
                _ => {
                    let tail = bytes[place..].to_vec();
                    bytes.extend(tail);
                }
            }
        }
        Request { bytes, is_proper: false, is_head: false }
    }

    fn garbage(&mut self) -> Request {
        let length = 1 + self.random.below(300);
        let bytes = (0..length).map(|_| self.random.next() as u8).collect();
        Request { bytes, is_proper: false, is_head: false }
    }

    /// A path that the service knows, or nearly.
    fn path(&mut self) -> String {
        match self.random.below(6) {
            0 => format!("/notes/{}", self.random.next()),
            1 => "/notes/%C3%A9%ff%".to_owned(),
            2 => format!("/{}/x?{}=%", self.random.below(100), self.random.below(100)),
            _ => match self.notes.len() {
                0 => "/notes/1".to_owned(),
                count => format!("/notes/{}", self.notes[self.random.below(count)]),
            },
        }
    }

    /// A note, or nearly.
    fn note(&mut self) -> String {
        let title = serde_json::Value::from(self.random.text());
        match self.random.below(4) {
            0 => format!("{{\"title\": {title}, \"tags\": {}}}", self.json(2)),
            1 => format!("{{\"title\": {}}}", self.json(1)),
            _ => format!("{{\"title\": {title}, \"tags\": [\"shop\", {title}]}}"),
        }
    }

    fn json(&mut self, depth: usize) -> String {
        match self.random.below(if depth == 0 { 4 } else { 6 }) {
            0 => self
                .random
                .choose(&["null", "true", "1e999", "-0.0", "[", "99999999999999999999"])
                .to_owned(),
            1 => self.random.next().to_string(),
            2 | 3 => serde_json::Value::from(self.random.text()).to_string(),
            4 => {
                let elements: Vec<String> =
                    (0..self.random.below(4)).map(|_| self.json(depth - 1)).collect();
                format!("[{}]", elements.join(","))
            }
            _ => format!(
                "{{{}: {}}}",
                serde_json::Value::from(self.random.text()),
                self.json(depth - 1)
            ),
        }
    }
}

/// An answer of the service.
struct Answer {
    status: u16,
    is_json: bool,
    closes: bool,
    has_body: bool,
    body: Vec<u8>,
}

impl Answer {
    /// Reads an answer; none if the service ends the connection before its first byte.
    fn read(stream: &mut TcpStream, is_head: bool) -> Result<Option<Answer>, String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(0) if head.is_empty() => return Ok(None),
                Ok(0) => {
                    return Err(format!(
                        "the head ends early: {:?}",
                        String::from_utf8_lossy(&head)
                    ));
                }
                Ok(_) => head.push(byte[0]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset && head.is_empty() => {
                    return Ok(None);
                }
                Err(error) => return Err(format!("reset or late: {error}")),
            }
        }
        let head = String::from_utf8(head).map_err(|_| "the head is no text".to_owned())?;
        let mut answer = Answer::of_head(&head)?;
        let length = field(&head, "content-length").map(str::parse::<usize>);
        let length = match length {
            Some(Ok(length)) => length,
            None if answer.status == 204 || answer.status < 200 => 0,
            _ => return Err(format!("there is no length: {head:?}")),
        };
        answer.has_body = !is_head && length > 0;
        if answer.has_body {
            answer.body.resize(length, 0);
            stream.read_exact(&mut answer.body).map_err(|error| format!("body: {error}"))?;
        }
        Ok(Some(answer))
    }

    fn of_head(head: &str) -> Result<Answer, String> {
        let wrong = || format!("this is no head: {head:?}");
        let first = head.lines().next().ok_or_else(wrong)?;
        let mut words = first.splitn(3, ' ');
        let is_http = words.next() == Some("HTTP/1.1");
        let status = words.next().filter(|code| code.len() == 3).and_then(|code| code.parse().ok());
        let status = status.filter(|_| is_http && words.next().is_some()).ok_or_else(wrong)?;
        let fields = head.trim_end().lines().skip(1);
        for line in fields {
            let name = line.split_once(':').map(|(name, _)| name).ok_or_else(wrong)?;
            if name.is_empty() || name.contains(|it: char| !it.is_ascii_graphic()) {
                return Err(wrong());
            }
        }
        Ok(Answer {
            status,
            is_json: field(head, "content-type")
                .is_some_and(|kind| kind.starts_with("application/json")),
            closes: field(head, "connection")
                .is_some_and(|value| value.eq_ignore_ascii_case("close")),
            has_body: false,
            body: Vec::new(),
        })
    }

    /// An answer says what is the matter with the request, and its body is of its type.
    fn check(&self) -> Result<(), String> {
        let body = std::str::from_utf8(&self.body);
        let body = body.map_err(|_| "the body is no text".to_owned())?;
        // These say that the service cannot do what the request asks for, not that it has failed.
        let is_refusal = matches!(self.status, 501 | 505);
        if self.status >= 500 && !is_refusal {
            return Err(format!("{}: {body}", self.status));
        }
        match !self.has_body
            || !self.is_json
            || serde_json::from_str::<serde_json::Value>(body).is_ok()
        {
            true => Ok(()),
            false => Err(format!("this is no JSON: {body:?}")),
        }
    }

    /// The number of the note.
    fn id(&self) -> Option<u64> {
        serde_json::from_slice::<serde_json::Value>(&self.body).ok()?["id"].as_u64()
    }
}

/// The value of a field of a head; its name is in small letters.
fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let value =
        fields.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim());
    value.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_checked() {
        let good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
        assert!(Answer::of_head(good).is_ok_and(|answer| answer.status == 200 && answer.closes));
        assert!(Answer::of_head("HTTP/1.1 20 OK\r\n\r\n").is_err());
        assert!(Answer::of_head("HTTP/1.1 200 OK\r\nno field\r\n\r\n").is_err());
    }

    #[test]
    fn failures_and_broken_bodies_are_found() {
        let answer = |status, body: &str| Answer {
            status,
            is_json: true,
            closes: false,
            has_body: true,
            body: body.into(),
        };
        assert!(answer(200, "[1]").check().is_ok());
        assert!(answer(200, "[1").check().is_err());
        assert!(answer(500, "[1]").check().is_err());
    }
}
