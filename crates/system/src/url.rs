//! Addresses of the web, and the texts in them: percent encoding, parameters of queries and forms. The runtime's
//! primitives for `lib/Http.ns` call this module.
//!
//! Bytes that arrive are decoded without errors: a percent sign without two hexadecimal digits stands for itself, and
//! bytes that are not UTF-8 become U+FFFD.

use ::http::uri::{Scheme, Uri};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

/// The parts of an address that a client needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Url {
    /// Whether the connection is encrypted.
    pub is_secure: bool,
    /// A name or an address, without brackets.
    pub host: String,
    /// The port; that of the protocol if the text has none.
    pub port: u16,
    /// Host and port as in the text: the value of the field `Host`.
    pub authority: String,
    /// Path and query, in ASCII, without the fragment.
    pub target: String,
}

/// Parses an absolute address of HTTP or HTTPS. One with a user's name or password is refused, since no field would
/// carry them.
pub fn parse(text: &str) -> Option<Url> {
    let uri: Uri = text.parse().ok()?;
    let is_secure = *uri.scheme()? == Scheme::HTTPS;
    if !is_secure && *uri.scheme()? != Scheme::HTTP {
        return None;
    }
    let authority = uri.authority()?;
    let host = authority.host();
    let port = match authority.as_str().strip_prefix(host)? {
        "" | ":" => [80, 443][usize::from(is_secure)],
        _ => authority.port_u16()?,
    };
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let target = uri.path_and_query()?.as_str();
    // A request needs a path, also where the address has only a query.
    let root = if target.starts_with('/') { "" } else { "/" };
    (!name.is_empty()).then(|| Url {
        is_secure,
        host: name.to_owned(),
        port,
        authority: authority.as_str().to_owned(),
        target: format!("{root}{}", utf8_percent_encode(target, CONTROLS)),
    })
}

/// All but letters, digits, and the four signs that mean themselves everywhere in an address (RFC 3986, section 2.3).
const SPECIAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The text as a part of an address: `%XX` for each special byte of its UTF-8.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, SPECIAL).to_string()
}

/// The text of a part of an address.
pub fn decoded(bytes: &[u8]) -> String {
    percent_decode(bytes).decode_utf8_lossy().into_owned()
}

/// The names and values in a query or a form, `a=1&b=2`, in which `+` is a blank.
pub fn parameters(bytes: &[u8]) -> Vec<[String; 2]> {
    let pairs = form_urlencoded::parse(bytes);
    pairs.map(|(name, value)| [name.into_owned(), value.into_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_host_port_and_target() {
        let cases = [
            ("http://a", (false, "a", 80, "a", "/")),
            ("https://a.b:8443/c?d=e#f", (true, "a.b", 8443, "a.b:8443", "/c?d=e")),
            ("HTTP://A:/", (false, "A", 80, "A:", "/")),
            ("https://a?b", (true, "a", 443, "a", "/?b")),
            ("http://[::1]:80/x", (false, "::1", 80, "[::1]:80", "/x")),
            ("http://a/\u{fc}%20", (false, "a", 80, "a", "/%C3%BC%20")),
        ];
        for (text, (is_secure, host, port, authority, target)) in cases {
            let (host, authority, target) = (host.into(), authority.into(), target.into());
            assert_eq!(
                parse(text),
                Some(Url { is_secure, host, port, authority, target }),
                "{text}"
            );
        }
    }

    #[test]
    fn other_addresses_are_refused() {
        for text in [
            "",
            "a",
            "/a",
            "http:",
            "http://",
            "http:///a",
            "ftp://a",
            "http://:80",
            "http://a:x",
            "http://a:65536",
            "http://a:-1",
            "http://user:word@a/",
            "http://[::1",
            "http://[]/",
            "http://a b/",
            "http://a/b c",
            "http://a/\r\nHost: b",
            "http://\u{fc}/",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn incomplete_sequences_stand_for_themselves() {
        for (bytes, text) in [
            ("a%20b+c", "a b+c"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%4g%41", "%zz%4gA"),
            ("%%41", "%A"),
            ("%C3%BC%c3", "\u{fc}\u{fffd}"),
            ("%ff%00", "\u{fffd}\0"),
            ("%ED%A0%80", "\u{fffd}\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(decoded(bytes.as_bytes()), text, "{bytes}");
        }
        assert_eq!(decoded(b"\xc3\xbc\xfc"), "\u{fc}\u{fffd}");
    }

    #[test]
    fn encoded_text_is_decoded_to_itself() {
        let text: String = ('\0'..'\u{200}').chain("\u{fffd}\u{10ffff}".chars()).collect();
        let encoded = encoded(&text);
        assert!(encoded.is_ascii() && !encoded.contains([' ', '/', '+', '&', '=', '?', '#']));
        assert_eq!(decoded(encoded.as_bytes()), text);
    }

    #[test]
    fn parameters_are_pairs() {
        let all = |bytes: &str| {
            let pairs = parameters(bytes.as_bytes());
            pairs.iter().map(|[name, value]| format!("{name}:{value} ")).collect::<String>()
        };
        assert_eq!(all("a=1&b=x+y%26&c"), "a:1 b:x y& c: ");
        assert_eq!(all("&&=&a=b=c&a=d&%=%4"), ": a:b=c a:d %:%4 ");
        assert_eq!(all(""), "");
    }
}
