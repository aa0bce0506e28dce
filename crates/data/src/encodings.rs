//! Bytes as text: UTF-8, base64, base32 and hexadecimal digits, in [pieces](crate::pace). The primitives of `lib/Encodings.ns`
//! call this module.

use data_encoding::{BASE32, BASE64, BASE64URL_NOPAD, Encoding, HEXLOWER, HEXLOWER_PERMISSIVE};

use crate::Problem;
use crate::pace::{hold, spend};

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

/// Whether there is an encoding of this name.
pub fn is_known(name: &str) -> bool {
    of_name(name).is_some()
}

/// So many bytes, or characters, are taken at a time: a multiple of the groups of all encodings.
const CHUNK: usize = 15 * 8 * 256;

/// The text of bytes; none if there is no such encoding.
pub async fn encoded(name: &str, bytes: &[u8]) -> Option<String> {
    let (writing, _) = of_name(name)?;
    let mut text = String::with_capacity(writing.encode_len(bytes.len()));
    for chunk in bytes.chunks(CHUNK) {
        writing.encode_append(chunk, &mut text);
        spend(chunk.len() / 8).await;
    }
    Some(text)
}

/// The bytes of a text; none if there is no such encoding.
pub async fn decoded(name: &str, text: &str) -> Option<Result<Vec<u8>, Problem>> {
    let (_, reading) = of_name(name)?;
    let unpadded = |text| str::strip_suffix(text, '=').unwrap_or(text);
    let text = if name == "base64url" { unpadded(unpadded(text)) } else { text };
    let mut bytes = Vec::with_capacity(text.len());
    for (index, chunk) in text.as_bytes().chunks(CHUNK).enumerate() {
        match reading.decode(chunk) {
            Ok(decoded) => bytes.extend_from_slice(&decoded),
            Err(error) => {
                let at = index * CHUNK + error.position;
                return Some(Err(Problem::at(at, format!("this is not {name}"))));
            }
        }
        spend(chunk.len() / 8).await;
    }
    Some(Ok(bytes))
}

/// The text of bytes in UTF-8; each sequence that is no character becomes U+FFFD.
pub async fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        hold(text.capacity());
        spend(chunk.valid().len() / 8 + 1).await;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;

    #[test]
    fn sequences_that_are_no_characters_are_replaced() {
        for bytes in [&b"a\xffb"[..], b"\xe2\x82", b"\xe2\x82\xac\x80\x80x", b"", "ü€".as_bytes()]
        {
            assert_eq!(at_once(text(bytes)), String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn long_texts_are_read_as_they_were_written() {
        let bytes: Vec<u8> = (0..3 * CHUNK + 7).map(|index| (index * 31) as u8).collect();
        for name in ["base64", "base64url", "base32", "hex"] {
            let text = at_once(encoded(name, &bytes)).unwrap();
            assert_eq!(at_once(decoded(name, &text)).unwrap().unwrap(), bytes, "{name}");
            let wrong = format!("{}!{}", &text[..CHUNK + 5], &text[CHUNK + 6..]);
            assert_eq!(at_once(decoded(name, &wrong)).unwrap().unwrap_err().at, CHUNK + 5);
        }
    }
}
