//! The map for `perf`: a file with a line for each piece of code, its address, size and name
//! (`tools/perf/Documentation/jit-interface.txt` in Linux). The command line makes the file where `perf` looks for it.

use std::io::Write;

use super::{Observer, Piece};

/// A map.
pub struct CodeMap<W>(W);

impl<W: Write> CodeMap<W> {
    /// A map that is written there.
    pub fn new(lines: W) -> CodeMap<W> {
        CodeMap(lines)
    }
}

impl<W: Write + Send> Observer for CodeMap<W> {
    fn added(&mut self, piece: &Piece<'_>) {
        let (address, size) = (piece.address, piece.bytes.len());
        // A profile without names is better than no run.
        _ = writeln!(self.0, "{address:x} {size:x} {}", piece.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::Frame;

    #[test]
    fn the_map_has_a_line_for_each_piece() {
        let mut map = CodeMap::new(Vec::new());
        let bytes = &[0xC3; 20];
        map.added(&Piece {
            address: 0x7f00_1234,
            bytes,
            name: "a name",
            lines: &[],
            frame: Frame::Unknown,
        });
        assert_eq!(String::from_utf8_lossy(&map.0), "7f001234 14 a name\n");
    }
}
