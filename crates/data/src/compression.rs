//! Compressed bytes, in [pieces](crate::pace). The primitives of `lib/Compression.ns` call this module. Reading has a
//! limit, because few bytes can stand for very many.

use std::io::{self, BufRead, Read, Write};

use flate2::Compression;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
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

/// Whether an encoder of this level works for long at a time: zstd compresses blocks of 128 kB, which takes a third of a
/// second at the highest level.
pub fn has_long_pieces(level: u32) -> bool {
    level > 9
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
async fn write(encoder: &mut impl Write, bytes: &[u8], level: u32) -> io::Result<()> {
    // The result, and tables that grow with the input up to a size that depends on the level.
    hold(bytes.len() + SMALLEST_TABLES + (8 * bytes.len()).min((1 << 20) << level.min(9)));
    for chunk in bytes.chunks(CHUNK) {
        encoder.write_all(chunk)?;
        spend(chunk.len() * (level as usize + 1)).await;
    }
    Ok(())
}

/// The input of a decoder, which gets a slice at a time: when it asks for more, it is told to try again.
struct Slices<'a> {
    rest: &'a [u8],
    /// How much is left of the slice.
    left: usize,
}

impl Slices<'_> {
    /// Some decoders take microseconds for a byte, if it is a block of its own.
    const SIZE: usize = 256;

    /// Gives the next slice to the decoder, which has made so much of the last one. Answers how many units that was.
    fn go_on(&mut self, made: usize) -> usize {
        /// The units for a byte that nothing is made of: such bytes may be tables.
        const EMPTY: usize = 100;
        self.left = Slices::SIZE.min(self.rest.len());
        if made == 0 { Slices::SIZE * EMPTY } else { Slices::SIZE }
    }
}

impl Read for Slices<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Slices<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.left {
            0 if !self.rest.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            left => Ok(&self.rest[..left]),
        }
    }

    fn consume(&mut self, count: usize) {
        (self.rest, self.left) = (&self.rest[count..], self.left - count);
    }
}

/// A decoder, and its input.
enum Decoder<'a> {
    Gzip(MultiGzDecoder<Slices<'a>>),
    Zlib(ZlibDecoder<Slices<'a>>),
    Zstd(zstd::stream::read::Decoder<'static, Slices<'a>>),
}

impl<'a> Decoder<'a> {
    /// None if there is no such format.
    fn of(format: &str, bytes: &'a [u8]) -> Option<io::Result<Decoder<'a>>> {
        let input = Slices { rest: bytes, left: 0 };
        Some(match format {
            "gzip" => Ok(Decoder::Gzip(MultiGzDecoder::new(input))),
            "zlib" => Ok(Decoder::Zlib(ZlibDecoder::new(input))),
            "zstd" => zstd::stream::read::Decoder::with_buffer(input).map(Decoder::Zstd),
            _ => return None,
        })
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Decoder::Gzip(decoder) => decoder.read(bytes),
            Decoder::Zlib(decoder) => decoder.read(bytes),
            Decoder::Zstd(decoder) => decoder.read(bytes),
        }
    }

    fn input(&mut self) -> &mut Slices<'a> {
        match self {
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Zlib(decoder) => decoder.get_mut(),
            Decoder::Zstd(decoder) => decoder.get_mut(),
        }
    }
}

/// The bytes of a compressed form, at most `limit`; none if there is no such format.
pub async fn decompressed(
    format: &str,
    bytes: &[u8],
    limit: usize,
) -> Option<Result<Vec<u8>, Problem>> {
    let mut decoder = match Decoder::of(format, bytes)? {
        Ok(decoder) => decoder,
        Err(error) => return Some(Err(Problem::unlocated(error))),
    };
    let (mut read, mut chunk, mut made) = (Vec::new(), vec![0; CHUNK], 0);
    loop {
        match decoder.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                spend(decoder.input().go_on(std::mem::take(&mut made))).await;
            }
            Err(error) => {
                return Some(Err(Problem::unlocated(format!("this is not {format}: {error}"))));
            }
            Ok(0) => return Some(Ok(read)),
            Ok(size) => {
                made += size;
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

#[cfg(test)]
mod tests {
    use super::*;

    use crate::pace::{Pieces, at_once, counted};

    #[test]
    fn any_length_is_read_again() {
        for format in ["gzip", "zlib", "zstd"] {
            for length in [0, 1, 255, 256, 257, 5000, 100_000] {
                let bytes: Vec<u8> = (0..length)
                    .map(|number: u32| (number.wrapping_mul(number) >> 7) as u8)
                    .collect();
                let small = at_once(compressed(format, &bytes, 6)).expect("there is the format");
                let read = at_once(decompressed(format, &small, length as usize));
                assert_eq!(read, Some(Ok(bytes)), "{format} {length}");
                let cut = at_once(decompressed(format, &small[..small.len() - 1], 1 << 20));
                assert!(cut.is_some_and(|read| read.is_err()), "{format} {length}");
            }
        }
    }

    #[test]
    fn input_without_output_is_read_in_pieces() {
        // Blocks with the fixed code and nothing in them; members with nothing in them.
        let blocks = [&[0x78, 0x9c][..], &[0x02, 0x08, 0x20, 0x80, 0x00].repeat(20_000)].concat();
        let member = at_once(compressed("gzip", &[], 6)).expect("there is the format");
        for (format, bytes) in [("zlib", blocks), ("gzip", member.repeat(5_000))] {
            let (_, units) = counted(decompressed(format, &bytes, 100));
            assert!(units > 90 * bytes.len(), "{format}: {units} for {}", bytes.len());
            let mut pieces = Pieces::of(async move { decompressed(format, &bytes, 100).await });
            let count =
                std::iter::from_fn(|| Some(pieces.step(5000))).take_while(|step| step.0.is_none());
            assert!(count.count() > 100, "{format}");
        }
    }
}
