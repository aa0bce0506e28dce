//! Digests of bytes, and digests with a key.

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// The digest of some pieces of bytes; none if there is no such function.
pub fn digest(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    Some(match name {
        "sha224" => Sha224::digest(bytes).to_vec(),
        "sha256" => Sha256::digest(bytes).to_vec(),
        "sha384" => Sha384::digest(bytes).to_vec(),
        "sha512" => Sha512::digest(bytes).to_vec(),
        "blake3" => blake3::hash(bytes).as_bytes().to_vec(),
        _ => return None,
    })
}

/// The HMAC (RFC 2104) of bytes; for BLAKE3, its own keyed mode with a key of 32 bytes. None if there is no such
/// function, or the key does not fit.
pub fn keyed(name: &str, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    fn hmac<M: Mac + hmac::digest::KeyInit>(key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
        let mut mac = <M as Mac>::new_from_slice(key).ok()?;
        mac.update(bytes);
        Some(mac.finalize().into_bytes().to_vec())
    }
    match name {
        "sha224" => hmac::<Hmac<Sha224>>(key, bytes),
        "sha256" => hmac::<Hmac<Sha256>>(key, bytes),
        "sha384" => hmac::<Hmac<Sha384>>(key, bytes),
        "sha512" => hmac::<Hmac<Sha512>>(key, bytes),
        "blake3" => Some(blake3::keyed_hash(key.try_into().ok()?, bytes).as_bytes().to_vec()),
        _ => None,
    }
}
