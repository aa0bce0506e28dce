//! Compressed bytes. Reading has a limit, because few bytes can stand for very many.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::Problem;

/// The compressed form; none if there is no such format, or no such level: 0 to 9 for gzip and zlib, 1 to 22 for zstd.
pub fn compressed(format: &str, bytes: &[u8], level: u32) -> Option<Vec<u8>> {
    let level_fits = if format == "zstd" { (1..=22).contains(&level) } else { level <= 9 };
    if !level_fits {
        return None;
    }
    let written = match format {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        "zlib" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        "zstd" => zstd::stream::encode_all(bytes, level as i32),
        _ => return None,
    };
    written.ok()
}

/// The bytes of a compressed form, at most `limit`; none if there is no such format.
pub fn decompressed(format: &str, bytes: &[u8], limit: usize) -> Option<Result<Vec<u8>, Problem>> {
    let reader: Box<dyn Read + '_> = match format {
        "gzip" => Box::new(MultiGzDecoder::new(bytes)),
        "zlib" => Box::new(ZlibDecoder::new(bytes)),
        "zstd" => match zstd::stream::read::Decoder::new(bytes) {
            Ok(decoder) => Box::new(decoder),
            Err(error) => return Some(Err(Problem::unlocated(error))),
        },
        _ => return None,
    };
    let mut read = Vec::new();
    let result = reader.take(limit as u64 + 1).read_to_end(&mut read);
    Some(match result {
        Err(error) => Err(Problem::unlocated(format!("this is not {format}: {error}"))),
        Ok(size) if size > limit => {
            Err(Problem::unlocated(format!("there are more than {limit} bytes")))
        }
        Ok(_) => Ok(read),
    })
}
