//! The heads of HTTP/1.1 messages, and the parts of the protocol that concern single bytes. The runtime's primitives
//! for `lib/Http.ns` call it.
//!
//! A head is parsed from all bytes that have arrived so far. If it is not complete, it is parsed again when more have
//! arrived. The caller limits their number.

use std::time::{Duration, UNIX_EPOCH};

/// The result of parsing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parsed {
    /// The bytes may be the beginning of a head.
    Partial,
    /// The bytes begin with a head.
    Head(Head),
    /// The bytes begin with no head; the status for the refusal.
    Refused(u16),
}

/// The head of a request or a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// A request's method and target; a response's status, in digits, and reason.
    pub start: [Vec<u8>; 2],
    /// The version's digit after "1.".
    pub minor_version: u8,
    /// Names in small letters, and values without surrounding blanks.
    pub fields: Vec<[Vec<u8>; 2]>,
    /// The head's length in bytes.
    pub length: usize,
}

/// Statuses to refuse requests with.
const BAD_REQUEST: u16 = 400;
const FIELDS_TOO_LARGE: u16 = 431;
const VERSION_NOT_SUPPORTED: u16 = 505;

/// Parses the head of a request with at most `most_fields` fields.
pub fn parse_request(bytes: &[u8], most_fields: usize) -> Parsed {
    let mut fields = vec![httparse::EMPTY_HEADER; most_fields];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Err(httparse::Error::Version) if !has_version(bytes) => {
            return Parsed::Refused(BAD_REQUEST);
        }
        other => return refused(other),
    };
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Parsed::Refused(BAD_REQUEST);
    };
    Parsed::Head(Head {
        start: [method.into(), target.into()],
        minor_version: request.version.unwrap_or(0),
        fields: owned(request.headers),
        length,
    })
}

/// Whether the third word of a request's first line is the beginning of a version: `HTTP/` and a digit.
fn has_version(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let version = line.splitn(3, |byte| *byte == b' ').nth(2);
    let number = version.and_then(|version| version.strip_prefix(b"HTTP/"));
    number.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit)
}

/// Parses the head of a response with at most `most_fields` fields.
pub fn parse_response(bytes: &[u8], most_fields: usize) -> Parsed {
    let mut fields = vec![httparse::EMPTY_HEADER; most_fields];
    let mut response = httparse::Response::new(&mut fields);
    let length = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        other => return refused(other),
    };
    let code = response.code.unwrap_or(0).to_string();
    Parsed::Head(Head {
        start: [code.into(), response.reason.unwrap_or("").into()],
        minor_version: response.version.unwrap_or(0),
        fields: owned(response.headers),
        length,
    })
}

fn refused(result: httparse::Result<usize>) -> Parsed {
    match result {
        Ok(_) => Parsed::Partial,
        Err(httparse::Error::TooManyHeaders) => Parsed::Refused(FIELDS_TOO_LARGE),
        Err(httparse::Error::Version) => Parsed::Refused(VERSION_NOT_SUPPORTED),
        Err(_) => Parsed::Refused(BAD_REQUEST),
    }
}

fn owned(fields: &[httparse::Header<'_>]) -> Vec<[Vec<u8>; 2]> {
    let owned = |field: &httparse::Header<'_>| {
        [field.name.to_ascii_lowercase().into(), field.value.trim_ascii().into()]
    };
    fields.iter().map(owned).collect()
}

/// The greatest number of hexadecimal digits in the size of a chunk.
const CHUNK_DIGITS: usize = 12;

/// The size of a chunk, from the line before it. Extensions are skipped.
pub fn chunk_size(line: &[u8]) -> Option<u64> {
    // The library reads a line without digits as 0.
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let line = [line, b"\r\n"].concat();
    match httparse::parse_chunk_size(&line) {
        Ok(httparse::Status::Complete((length, size))) if length == line.len() => {
            (1..=CHUNK_DIGITS).contains(&digits).then_some(size)
        }
        _ => None,
    }
}

/// Whether this can be the name and value of a field: bytes that end neither the field nor the head.
pub fn is_field(name: &[u8], value: &[u8]) -> bool {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let is_text = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    !name.is_empty() && name.iter().all(is_token) && value.iter().all(is_text)
}

/// The first second, since 1970, of the year 10,000, which the format cannot express.
const END_OF_DATES: u64 = 253_402_300_800;

/// A time, in seconds since 1970, in the format of the field `Date`; `None` after the year 9999.
pub fn date(seconds: u64) -> Option<String> {
    let is_date = seconds < END_OF_DATES;
    is_date.then(|| httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_parsed_when_it_is_complete() {
        let text = b"GET /a?b HTTP/1.1\r\nHost: x\r\nX-Empty:\r\n\r\nbody";
        for end in 0..text.len() - 4 {
            assert_eq!(parse_request(&text[..end], 8), Parsed::Partial, "{end}");
        }
        let Parsed::Head(head) = parse_request(text, 8) else { panic!("no head") };
        assert_eq!(head.start, [b"GET".to_vec(), b"/a?b".to_vec()]);
        assert_eq!((head.minor_version, head.length), (1, text.len() - 4));
        assert_eq!(head.fields, [[b"host".to_vec(), b"x".to_vec()], [b"x-empty".to_vec(), vec![]]]);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let cases: [(&[u8], u16); 10] = [
            (b"GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", 431),
            (b"GET / HTTP/2.0\r\n\r\n", 505),
            (b"\r\nGET / HTTP/1.2\r\n\r\n", 505),
            (b"GET /a b HTTP/1.1\r\n\r\n", 400),
            (b"GET / http/1.1\r\n\r\n", 400),
            (b"rest of it", 400),
            (b"GET /\r\n\r\n", 400),
            (b"\x16\x03\x01\x02\x00", 400),
            (b"GET / HTTP/1.1\r\nName : x\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\n folded\r\n\r\n", 400),
        ];
        for (bytes, status) in cases {
            let parsed = parse_request(bytes, 2);
            assert_eq!(parsed, Parsed::Refused(status), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_response_is_parsed() {
        let Parsed::Head(head) = parse_response(b"HTTP/1.0 404 Not Found\r\nA: b\r\n\r\n", 4)
        else {
            panic!("no head")
        };
        assert_eq!(head.start, [b"404".to_vec(), b"Not Found".to_vec()]);
        assert_eq!(head.minor_version, 0);
    }

    #[test]
    fn sizes_of_chunks_are_hexadecimal_digits_only() {
        assert_eq!(chunk_size(b"1aF"), Some(0x1af));
        assert_eq!(chunk_size(b"0;name=value"), Some(0));
        assert_eq!(chunk_size(b"a ; x"), Some(10));
        assert_eq!(chunk_size(b"ffffffffffff"), Some((1 << 48) - 1));
        for wrong in [
            &b""[..],
            b"+1",
            b"-1",
            b"0x1",
            b"1 2",
            b"1234567890123",
            b" 1",
            b";x",
            b"0000000000001",
            b"1\r\n2",
            b"1\r",
        ] {
            assert_eq!(chunk_size(wrong), None, "{}", String::from_utf8_lossy(wrong));
        }
    }

    #[test]
    fn fields_cannot_contain_line_ends() {
        assert!(is_field(b"X-Name", b"any \xe4 value"));
        assert!(!is_field(b"X", b"a\r\nSet-Cookie: b") && !is_field(b"X", b"a\nb"));
        assert!(!is_field(b"X:", b"") && !is_field(b"", b"") && !is_field(b"X Y", b""));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0).as_deref(), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
        assert_eq!(date(784_111_777).as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
        assert_eq!(date(951_782_400).as_deref(), Some("Tue, 29 Feb 2000 00:00:00 GMT"));
        assert_eq!(date(1_577_836_799).as_deref(), Some("Tue, 31 Dec 2019 23:59:59 GMT"));
        assert_eq!(date(END_OF_DATES - 1).as_deref(), Some("Fri, 31 Dec 9999 23:59:59 GMT"));
        assert_eq!((date(END_OF_DATES), date(u64::MAX)), (None, None));
    }
}
