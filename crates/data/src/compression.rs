//! Compressed bytes, in [pieces](crate::pace). The primitives of `lib/Compression.ns` call this module. Reading has a
//! limit, because few bytes can stand for very many.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::Problem;
use crate::pace::{hold, spend};

/// Whether there is a format of this name.
pub fn is_known(format: &str) -> bool {
    ["gzip", "zlib", "zstd"].contains(&format)
}

/// Whether there is a format of this name, and has the level.
pub fn has_level(format: &str, level: u32) -> bool {
    let levels = if format == "zstd" { 1..=22 } else { 0..=9 };
    is_known(format) && levels.contains(&level)
}

/// The compressed form; none if there is no such format, or no such level: 0 to 9 for gzip and zlib, 1 to 22 for zstd.
pub async fn compressed(format: &str, bytes: &[u8], level: u32) -> Option<Vec<u8>> {
    if !has_level(format, level) {
        return None;
    }
    let result = match format {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
            write(&mut encoder, bytes, level).await.and_then(|()| encoder.finish())
        }
        "zlib" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
            write(&mut encoder, bytes, level).await.and_then(|()| encoder.finish())
        }
        "zstd" => {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level as i32).ok()?;
            // Otherwise the tables of high levels are as large as for the largest inputs: hundreds of megabytes.
            encoder.set_pledged_src_size(Some(bytes.len() as u64)).ok()?;
            write(&mut encoder, bytes, level).await.and_then(|()| encoder.finish())
        }
        _ => return None,
    };
    result.ok()
}

/// So many bytes are compressed, or read, at a time.
const CHUNK: usize = 2 << 10;

/// What an encoder or decoder takes at least, in bytes.
const SMALLEST_TABLES: usize = 256 << 10;

/// Feeds an encoder. A byte takes one to ten units, by the level.
async fn write(encoder: &mut impl Write, bytes: &[u8], level: u32) -> std::io::Result<()> {
    // The result, and tables that grow with the input up to a size that depends on the level.
    hold(bytes.len() + SMALLEST_TABLES + (8 * bytes.len()).min((1 << 20) << level.min(9)));
    for chunk in bytes.chunks(CHUNK) {
        encoder.write_all(chunk)?;
        spend(chunk.len() * (level as usize + 1)).await;
    }
    Ok(())
}

/// The bytes of a compressed form, at most `limit`; none if there is no such format.
pub async fn decompressed(
    format: &str,
    bytes: &[u8],
    limit: usize,
) -> Option<Result<Vec<u8>, Problem>> {
    let mut reader: Box<dyn Read + Send + '_> = match format {
        "gzip" => Box::new(MultiGzDecoder::new(bytes)),
        "zlib" => Box::new(ZlibDecoder::new(bytes)),
        "zstd" => match zstd::stream::read::Decoder::new(bytes) {
            Ok(decoder) => Box::new(decoder),
            Err(error) => return Some(Err(Problem::unlocated(error))),
        },
        _ => return None,
    };
    let (mut read, mut chunk) = (Vec::new(), vec![0; CHUNK]);
    loop {
        match reader.read(&mut chunk) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Some(Err(Problem::unlocated(format!("this is not {format}: {error}"))));
            }
            Ok(0) => return Some(Ok(read)),
            Ok(size) => {
                read.extend_from_slice(&chunk[..size]);
                if read.len() > limit {
                    let message = format!("there are more than {limit} bytes");
                    return Some(Err(Problem::unlocated(message)));
                }
                hold(2 * read.capacity() + SMALLEST_TABLES);
                spend(size).await;
            }
        }
    }
}
