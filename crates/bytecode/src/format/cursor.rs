//! Reads numbers from a part of a module file, and tracks the position for errors. The reader reads all parts of a file
//! through it.

use super::error::{Entity, FormatError, FormatErrorKind, Section};

/// Where reading has got to, within a part of the file.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    end: usize,
    section: Option<Section>,
    entity: Option<Entity>,
}

pub(super) type Result<T> = std::result::Result<T, FormatError>;

impl<'a> Cursor<'a> {
    /// Reads `range` of the file's bytes; the range is inside of them.
    pub fn new(
        bytes: &'a [u8],
        range: std::ops::Range<usize>,
        section: Option<Section>,
        entity: Option<Entity>,
    ) -> Cursor<'a> {
        Cursor { bytes, position: range.start, end: range.end, section, entity }
    }

    /// The offset of the next byte in the file.
    pub fn position(&self) -> usize {
        self.position
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.end - self.position
    }

    /// An error at this offset.
    pub fn error_at(&self, offset: usize, kind: FormatErrorKind) -> FormatError {
        FormatError { offset, section: self.section, entity: self.entity, kind }
    }

    /// An error at the next byte.
    pub fn error<T>(&self, kind: FormatErrorKind) -> Result<T> {
        Err(self.error_at(self.position, kind))
    }

    /// The next `length` bytes.
    pub fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8]> {
        if length > self.remaining() {
            return self.error(FormatErrorKind::Truncated(what));
        }
        let start = self.position;
        self.position += length;
        Ok(&self.bytes[start..self.position])
    }

    /// Fails unless everything was read.
    pub fn finish(&self) -> Result<()> {
        match self.remaining() {
            0 => Ok(()),
            count => self.error(FormatErrorKind::TrailingBytes(count)),
        }
    }

    pub fn u8(&mut self, what: &'static str) -> Result<u8> {
        Ok(self.take(1, what)?[0])
    }

    pub fn u64_fixed(&mut self, what: &'static str) -> Result<u64> {
        let bytes = self.take(8, what)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes were taken")))
    }

    /// One of the things that `decode` has a code for.
    pub fn code<T>(&mut self, what: &'static str, decode: impl Fn(u8) -> Option<T>) -> Result<T> {
        let offset = self.position;
        let code = self.u8(what)?;
        decode(code)
            .ok_or_else(|| self.error_at(offset, FormatErrorKind::UnknownCode { what, code }))
    }

    /// An unsigned number of variable length, in its shortest form.
    #[inline]
    pub fn number(&mut self, what: &'static str) -> Result<u64> {
        match self.bytes[self.position..self.end].first() {
            Some(&byte) if byte < 0x80 => {
                self.position += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_number(what),
        }
    }

    fn long_number(&mut self, what: &'static str) -> Result<u64> {
        let start = self.position;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(what)?;
            value |= u64::from(byte & 0x7f) << shift;
            let beyond = shift == 63 && byte > 1;
            if byte < 0x80 {
                let shortest = byte != 0 && !beyond;
                return if shortest { Ok(value) } else { self.bad_number(start) };
            }
        }
        self.bad_number(start)
    }

    fn bad_number<T>(&self, start: usize) -> Result<T> {
        Err(self.error_at(start, FormatErrorKind::BadNumber))
    }

    /// An unsigned number up to `limit`.
    pub fn number_below(&mut self, what: &'static str, limit: u64) -> Result<u64> {
        let offset = self.position;
        let value = self.number(what)?;
        if value > limit {
            return Err(self.error_at(offset, FormatErrorKind::TooLarge { what, limit }));
        }
        Ok(value)
    }

    pub fn u32(&mut self, what: &'static str) -> Result<u32> {
        Ok(self.number_below(what, u64::from(u32::MAX))? as u32)
    }

    pub fn u16(&mut self, what: &'static str) -> Result<u16> {
        Ok(self.number_below(what, u64::from(u16::MAX))? as u16)
    }

    /// A signed number of variable length.
    pub fn signed(&mut self, what: &'static str) -> Result<i64> {
        let folded = self.number(what)?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    /// A `u32` that is stored as its distance from `base`.
    pub fn distance(&mut self, what: &'static str, base: u32) -> Result<u32> {
        let offset = self.position;
        let value = self.signed(what)?.checked_add(i64::from(base));
        let limit = u64::from(u32::MAX);
        value
            .and_then(|value| u32::try_from(value).ok())
            .ok_or_else(|| self.error_at(offset, FormatErrorKind::TooLarge { what, limit }))
    }

    /// An index that may be missing.
    pub fn optional(&mut self, what: &'static str) -> Result<Option<u32>> {
        let folded = self.number_below(what, 1 + u64::from(u32::MAX))?;
        Ok(folded.checked_sub(1).map(|index| index as u32))
    }

    /// The number of elements that follow, each at least `size` bytes long.
    pub fn count(&mut self, what: &'static str, size: usize) -> Result<usize> {
        let offset = self.position;
        let count = self.number(what)?;
        if count > (self.remaining() / size) as u64 {
            return Err(self.error_at(offset, FormatErrorKind::Truncated(what)));
        }
        Ok(count as usize)
    }

    /// A list: its length, and its elements, each at least `size` bytes long.
    pub fn list<T>(
        &mut self,
        what: &'static str,
        size: usize,
        mut element: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = self.count(what, size)?;
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            elements.push(element(self)?);
        }
        Ok(elements)
    }
}
