//! Digests of bytes, and digests with a key, in [pieces](crate::pace). The primitives of `lib/Digests.ns` call this
//! module.

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::pace::spend;

/// Whether there is a function of this name.
pub fn is_known(name: &str) -> bool {
    ["sha224", "sha256", "sha384", "sha512", "blake3"].contains(&name)
}

/// Whether there is a function of this name, and takes the key.
pub fn takes_key(name: &str, key: &[u8]) -> bool {
    is_known(name) && (name != "blake3" || key.len() == blake3::KEY_LEN)
}

/// So many bytes are taken at a time.
const CHUNK: usize = 32 << 10;

/// The digest of some pieces of bytes; none if there is no such function.
pub async fn digest(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    async fn sha<D: Digest>(bytes: &[u8]) -> Vec<u8> {
        let mut digest = D::new();
        for chunk in bytes.chunks(CHUNK) {
            digest.update(chunk);
            spend(chunk.len() / 4).await;
        }
        digest.finalize().to_vec()
    }
    Some(match name {
        "sha224" => sha::<Sha224>(bytes).await,
        "sha256" => sha::<Sha256>(bytes).await,
        "sha384" => sha::<Sha384>(bytes).await,
        "sha512" => sha::<Sha512>(bytes).await,
        "blake3" => blake(blake3::Hasher::new(), bytes).await,
        _ => return None,
    })
}

async fn blake(mut hasher: blake3::Hasher, bytes: &[u8]) -> Vec<u8> {
    for chunk in bytes.chunks(CHUNK) {
        hasher.update(chunk);
        spend(chunk.len() / 8).await;
    }
    hasher.finalize().as_bytes().to_vec()
}

/// The HMAC (RFC 2104) of bytes; for BLAKE3, its own keyed mode with a key of 32 bytes. None if there is no such
/// function, or the key does not fit.
pub async fn keyed(name: &str, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    async fn hmac<M: Mac + hmac::digest::KeyInit>(key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
        let mut mac = <M as Mac>::new_from_slice(key).ok()?;
        for chunk in bytes.chunks(CHUNK) {
            mac.update(chunk);
            spend(chunk.len() / 4).await;
        }
        Some(mac.finalize().into_bytes().to_vec())
    }
    // A long key stands for its digest.
    const BLOCK: usize = 128;
    let digest = match key.len() > BLOCK && name != "blake3" {
        true => digest(name, key).await,
        false => None,
    };
    let key = digest.as_deref().unwrap_or(key);
    match name {
        "sha224" => hmac::<Hmac<Sha224>>(key, bytes).await,
        "sha256" => hmac::<Hmac<Sha256>>(key, bytes).await,
        "sha384" => hmac::<Hmac<Sha384>>(key, bytes).await,
        "sha512" => hmac::<Hmac<Sha512>>(key, bytes).await,
        "blake3" => Some(blake(blake3::Hasher::new_keyed(key.try_into().ok()?), bytes).await),
        _ => None,
    }
}
