//! The reasons why bytes are no module, or why a module has no binary form. The reader and the writer answer them, and
//! callers of the format show them.

use std::fmt;

use crate::entities::{ClassId, FunctionId, StringId, TypeId};

/// A part of a module file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Section {
    /// Path, main class, name and version.
    Module = 1,
    /// The string table.
    Strings = 2,
    /// The function table.
    Functions = 3,
    /// The class table.
    Classes = 4,
    /// The type table.
    Types = 5,
    /// Imports and exports.
    Links = 6,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 6] = ["module", "strings", "functions", "classes", "types", "links"];
        f.write_str(NAMES[*self as usize - 1])
    }
}

/// An entry of one of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entity {
    /// A string.
    String(StringId),
    /// A function.
    Function(FunctionId),
    /// A class definition.
    Class(ClassId),
    /// A row of the type table.
    Type(TypeId),
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entity::String(id) => id.fmt(f),
            Entity::Function(id) => id.fmt(f),
            Entity::Class(id) => id.fmt(f),
            Entity::Type(id) => id.fmt(f),
        }
    }
}

/// The error in bytes that are no module, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// The byte where the trouble starts.
    pub offset: usize,
    /// The section it is in; none in the header and between sections.
    pub section: Option<Section>,
    /// The table entry it is in.
    pub entity: Option<Entity>,
    /// The error.
    pub kind: FormatErrorKind,
}

/// The errors in the bytes of a module file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormatErrorKind {
    /// The file does not start like a module file.
    BadMagic,
    /// The file has another format version.
    UnsupportedVersion(u16),
    /// The file was damaged: it has another checksum than it says.
    ChecksumMismatch {
        /// The checksum in the file.
        stored: u32,
        /// The checksum of its content.
        computed: u32,
    },
    /// The part that is being read ends in the middle of this.
    Truncated(&'static str),
    /// Bytes are left over after the end.
    TrailingBytes(usize),
    /// A number is longer than necessary, or does not fit 64 bits.
    BadNumber,
    /// A number is too large.
    TooLarge {
        /// The name of the counted or named thing.
        what: &'static str,
        /// The largest possible value.
        limit: u64,
    },
    /// A code stands for nothing.
    UnknownCode {
        /// The kind of thing that it should stand for.
        what: &'static str,
        /// The code.
        code: u8,
    },
    /// A string is not valid UTF-8.
    InvalidUtf8,
    /// A table has no entry with the index that was asked for.
    NoSuchEntry,
    /// Something has a shorter representation, which must be used.
    NotCanonical(&'static str),
}

impl fmt::Display for FormatErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use FormatErrorKind::*;
        match self {
            BadMagic => f.write_str("this is no Squall module"),
            UnsupportedVersion(version) => write!(
                f,
                "this module has format version {version}, but only version {} is supported: compile it again",
                super::VERSION
            ),
            ChecksumMismatch { stored, computed } => write!(
                f,
                "this module is damaged: its checksum is {computed:08x} instead of {stored:08x}"
            ),
            Truncated(what) => write!(f, "the {what} is cut off"),
            TrailingBytes(count) => write!(f, "the end should be here, {count} bytes earlier"),
            BadNumber => f.write_str("a number is encoded in more bytes than allowed"),
            TooLarge { what, limit } => write!(f, "the {what} is larger than {limit}"),
            UnknownCode { what, code } => write!(f, "{code} stands for no {what}"),
            NoSuchEntry => f.write_str("the table has no such entry"),
            InvalidUtf8 => f.write_str("the string is not valid UTF-8"),
            NotCanonical(what) => write!(f, "the {what} is not in its shortest form"),
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {}", self.kind, self.offset)?;
        if let Some(section) = self.section {
            write!(f, " in section `{section}`")?;
        }
        if let Some(entity) = self.entity {
            write!(f, ", {entity}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for FormatError {}

/// Why a module has no binary form: it is beyond a limit of the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncodeError {
    /// A function has more than 256 registers.
    TooManyRegisters(FunctionId),
    /// The file would have 2³² bytes or more.
    TooLarge,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::TooManyRegisters(id) => {
                write!(f, "{id} has more than {} registers", super::MAXIMUM_REGISTERS)
            }
            EncodeError::TooLarge => f.write_str("the module file would be larger than 4 GiB"),
        }
    }
}

impl std::error::Error for EncodeError {}
