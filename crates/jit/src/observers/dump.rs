//! The dump for `perf inject --jit`: a file with the instructions, names and lines of all code
//! (`tools/perf/Documentation/jitdump-specification.txt` in Linux). With it, `perf annotate` shows machine code beside
//! the lines of programs.
//!
//! `perf record` learns of the file as the process maps its first page executable; nothing reads that page. Records have
//! times of the monotonic clock, so `perf record` needs `-k mono`.

use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};

use crate::observers::{Observer, Piece};

/// The first word of a dump: `JiTD`.
const MAGIC: u32 = 0x4A69_5444;
const VERSION: u32 = 1;
const HEADER_BYTES: u32 = 40;
/// The number of the machine in ELF.
const MACHINE: u32 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// The kinds of records.
const CODE_LOAD: u32 = 0;
const DEBUG_INFO: u32 = 2;
/// The bytes of each record before its content: kind, size, time.
const PREFIX_BYTES: usize = 16;

/// A dump.
pub struct CodeDump<W> {
    output: W,
    pieces: u64,
}

impl<W: Write + AsFd> CodeDump<W> {
    /// A dump in this file, which is empty, and open for reading, too.
    pub fn in_file(file: W) -> io::Result<CodeDump<W>> {
        let dump = CodeDump::new(file)?;
        let descriptor = dump.output.as_fd().as_raw_fd();
        // SAFETY: a new mapping at an address of the system's choice changes no memory that is in use. It stays.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                HEADER_BYTES as usize,
                libc::PROT_READ | libc::PROT_EXEC,
                libc::MAP_PRIVATE,
                descriptor,
                0,
            )
        };
        if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(dump) }
    }
}

impl<W: Write> CodeDump<W> {
    /// A dump that is written there.
    pub fn new(mut output: W) -> io::Result<CodeDump<W>> {
        let mut header = Vec::new();
        for word in [MAGIC, VERSION, HEADER_BYTES, MACHINE, 0, std::process::id()] {
            header.extend(word.to_ne_bytes());
        }
        header.extend(now().to_ne_bytes());
        header.extend(0u64.to_ne_bytes());
        output.write_all(&header)?;
        Ok(CodeDump { output, pieces: 0 })
    }

    fn write(&mut self, kind: u32, content: &[u8]) {
        let mut record = Vec::with_capacity(PREFIX_BYTES + content.len());
        record.extend(kind.to_ne_bytes());
        record.extend(((PREFIX_BYTES + content.len()) as u32).to_ne_bytes());
        record.extend(now().to_ne_bytes());
        record.extend(content);
        // A profile without names is better than no run.
        _ = self.output.write_all(&record);
    }
}

impl<W: Write + Send> Observer for CodeDump<W> {
    fn added(&mut self, piece: &Piece<'_>) {
        if !piece.lines.is_empty() {
            self.write(DEBUG_INFO, &lines(piece));
        }
        let number = self.pieces;
        self.pieces += 1;
        self.write(CODE_LOAD, &code(piece, number));
    }
}

/// The content of the record with a piece's instructions.
fn code(piece: &Piece<'_>, number: u64) -> Vec<u8> {
    let mut content = Vec::new();
    // SAFETY: the call has no requirements.
    let thread = unsafe { libc::gettid() } as u32;
    content.extend(std::process::id().to_ne_bytes());
    content.extend(thread.to_ne_bytes());
    let address = piece.address as u64;
    for word in [address, address, piece.bytes.len() as u64, number] {
        content.extend(word.to_ne_bytes());
    }
    content.extend(without_zeros(piece.name));
    content.extend(piece.bytes);
    content
}

/// The content of the record with a piece's lines, which comes before the one with its instructions.
fn lines(piece: &Piece<'_>) -> Vec<u8> {
    let mut content = Vec::new();
    content.extend((piece.address as u64).to_ne_bytes());
    content.extend((piece.lines.len() as u64).to_ne_bytes());
    for each in piece.lines {
        let (path, line, _) = each.function.position(each.pc as usize);
        content.extend((piece.address as u64 + u64::from(each.offset)).to_ne_bytes());
        content.extend(line.to_ne_bytes());
        content.extend(0u32.to_ne_bytes());
        content.extend(without_zeros(path));
    }
    content
}

/// A text that ends with a zero byte, and has no other one.
fn without_zeros(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().filter(|byte| *byte != 0).chain([0])
}

/// The time in nanoseconds.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::Frame;

    #[test]
    fn a_dump_has_a_header_and_a_record_for_each_piece() {
        let mut dump = CodeDump::new(Vec::new()).expect("memory takes all");
        let bytes = &[0x90, 0xC3];
        dump.added(&Piece {
            address: 0x5000,
            bytes,
            name: "first",
            lines: &[],
            frame: Frame::Unknown,
        });
        dump.added(&Piece {
            address: 0x6000,
            bytes,
            name: "second",
            lines: &[],
            frame: Frame::Unknown,
        });
        let word = |at: usize| u32::from_ne_bytes(dump.output[at..at + 4].try_into().expect("4"));
        assert_eq!([word(0), word(8)], [MAGIC, HEADER_BYTES]);
        let first = HEADER_BYTES as usize;
        let size = PREFIX_BYTES + 40 + "first".len() + 1 + bytes.len();
        assert_eq!([word(first), word(first + 4)], [CODE_LOAD, size as u32]);
        assert_eq!(word(first + PREFIX_BYTES + 8), 0x5000);
        // The second has the number 1.
        assert_eq!(word(first + size + PREFIX_BYTES + 32), 1);
        assert!(dump.output.ends_with(b"second\0\x90\xC3"));
    }
}
