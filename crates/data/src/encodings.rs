//! Bytes as text: base64, base32 and hexadecimal digits.

use data_encoding::{BASE32, BASE64, BASE64URL_NOPAD, Encoding, HEXLOWER, HEXLOWER_PERMISSIVE};

use crate::Problem;

/// The encoding of a name, for writing and for reading.
fn of_name(name: &str) -> Option<(Encoding, Encoding)> {
    Some(match name {
        "base64" => (BASE64, BASE64),
        "base64url" => (BASE64URL_NOPAD, BASE64URL_NOPAD),
        "base32" => (BASE32, BASE32),
        "hex" => (HEXLOWER, HEXLOWER_PERMISSIVE),
        _ => return None,
    })
}

/// The text of bytes; none if there is no such encoding.
pub fn encoded(name: &str, bytes: &[u8]) -> Option<String> {
    of_name(name).map(|(writing, _)| writing.encode(bytes))
}

/// The bytes of a text; none if there is no such encoding.
pub fn decoded(name: &str, text: &str) -> Option<Result<Vec<u8>, Problem>> {
    let (_, reading) = of_name(name)?;
    let padded = text.trim_end_matches('=');
    let text = if name == "base64url" { padded } else { text };
    let decoded = reading.decode(text.as_bytes());
    Some(decoded.map_err(|error| Problem::at(error.position, format!("this is not {name}"))))
}
