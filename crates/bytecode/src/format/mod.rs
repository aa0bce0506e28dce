//! The binary form of a module, `.sqb` files. The runtime decodes the library from it, and the command line reads and
//! writes it.
//!
//! ```text
//! offset
//!  0      89 'S' 'Q' 'B'      magic: not text, and a transfer that strips the eighth bit breaks it
//!  4      u16                 format version, [`VERSION`]
//!  6      u16                 0
//!  8      u32                 CRC-32 of every byte after this field
//! 12      6 sections, in this order:  id: u8, length in bytes: n, content
//!
//! 1 module      path: string?, main class: class?, name: string?, version: string?
//! 2 strings     table of UTF-8 texts
//! 3 functions   table of functions
//! 4 classes     table of class definitions
//! 5 types       table of type definitions
//! 6 links       imports: list, exports: list
//!
//! table         count: n, the length in bytes of each entry: n × count, the entries
//! function      name: string, kind: u8, parameters: u8, captured: n, registers, result: type,
//!               home: register?, constants: list, sites: list, regions: list, lines: list,
//!               code: count n and as many u32
//! registers     count: n, then runs until there are as many: type, length: n
//! type          n, see `RegisterType::from_code`
//! definition    0 tuple: list of type | 1 list: type | 2 map: type, type | 3 channel: type
//!               | 4 reader: type | 5 writer: type | 6 barrier | 7 bucket
//!               | 8 function: list of type, result: type | 9 process: list of type
//! import        module: string, requirement: string?, functions: list of function
//! export        name: string, function
//! constant      0 i (an integer of at most 64 bits) | 1 length: n, two's complement bytes | 2 f64
//!               | 3 string | 4 symbol: string | 5 type, bits: n
//! site          0–7 a send: what its `Access` has, selector: string | 8 enclosing: class, side: u8
//!               | 9 captures: class | 10 slot: class, string | 11 class slot: class
//! region        0 ensure | 1 catch; start: n, end − start: i, handler − start: i, value: u8,
//!               for catch class: u8
//! line          pc: i, line: i (both less those of the entry before), column: n
//! class         name: string, outer: class?, visibility: u8, accessor: function?, factory selector:
//!               string, factory, initializer, own initializer: function, slots: list, nested: list
//!               of class, methods: list, class methods: list, position: n n
//! slot          name: string, visibility: u8, mutable: u8
//! method        selector: string, visibility: u8, function
//! ```
//!
//! `n` is an unsigned LEB128 number, `i` a signed one folded into an unsigned one
//! (0, −1, 1, −2 … become 0, 1, 2, 3 …). A list is its length `n` and its elements. Strings,
//! functions and classes are named by their index `n`; `x?` is 0 for none, otherwise `x + 1`.
//! Fixed-size numbers are little-endian.
//!
//! # Properties
//!
//! - **Canonical.** A module has one binary form: numbers are as short as possible, no bytes are left over at the end
//!   of an entry, a section or the file. So `encode(decode(bytes)) == bytes`.
//! - **Lazy.** [`ModuleImage::open`] checks the checksum and finds the entries of the tables, in a time that hardly
//!   depends on the amount of code; functions and classes are decoded one by one on request.
//! - **Safe on any bytes.** Decoding ends with a module or a [`FormatError`]. No number in the file makes it allocate
//!   more than a small multiple of the file's size. A decoded module can still be nonsense: the verifier finds that
//!   out.
//!
//! # Limits
//!
//! A file has less than 2³² bytes; a function has at most 256 registers. Any other limit follows
//! from the types in [`crate::module`].

mod cursor;
mod error;
mod reader;
mod writer;

pub use error::{EncodeError, Entity, FormatError, FormatErrorKind, Section};
pub use reader::ModuleImage;
pub use writer::encode;

use crate::module::Module;

/// The first bytes of every module file.
pub const MAGIC: [u8; 4] = *b"\x89SQB";

/// The version of the format that this crate reads and writes.
pub const VERSION: u16 = 2;

/// Magic, version, a zero and the checksum.
const HEADER_LENGTH: usize = 12;

/// Where the checksum stands.
const CHECKSUM: std::ops::Range<usize> = 8..12;

/// Registers of one function.
const MAXIMUM_REGISTERS: usize = crate::register_set::RegisterSet::CAPACITY;

/// Decodes a whole module; for lazy decoding see [`ModuleImage`].
pub fn decode(bytes: &[u8]) -> Result<Module, FormatError> {
    ModuleImage::open(bytes)?.to_module()
}

/// Whether these bytes start like a module file.
pub fn is_module(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Stores the right checksum in the bytes of a module file, for tools that change one.
///
/// Bytes that are too short for a header stay as they are.
pub fn seal(bytes: &mut [u8]) {
    if let Some((header, content)) = bytes.split_at_mut_checked(HEADER_LENGTH) {
        header[CHECKSUM].copy_from_slice(&crc32fast::hash(content).to_le_bytes());
    }
}

#[cfg(test)]
mod tests;
