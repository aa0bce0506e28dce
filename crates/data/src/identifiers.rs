//! UUIDs (RFC 9562): makes random ones and those that begin with the time, and reads their text. The primitives of
//! `lib/Uuids.ns` call this module.

use uuid::{Builder, Uuid};

use crate::Problem;

/// A random one, of version 4.
pub fn random(bytes: [u8; 16]) -> String {
    Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// One that sorts by time, of version 7: milliseconds since 1970, and random bytes.
pub fn by_time(milliseconds: u64, bytes: [u8; 10]) -> String {
    Builder::from_unix_timestamp_millis(milliseconds, &bytes).into_uuid().to_string()
}

/// The usual form of one in any form.
pub fn read(text: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(text).map_err(|error| Problem::unlocated(format!("this is no UUID: {error}")))
}
