//! Laying out S-expressions. `tree` calls it.
//!
//! A list that fits into the rest of the line is written on it. One that does not keeps its
//! leading atoms, and lists opened as headings, on its first line and puts every further item
//! on a line of its own, indented by two.

/// Lists wrap behind this column.
const LINE_WIDTH: usize = 100;

/// Collects atoms and lists, then lays them out.
#[derive(Default)]
pub(super) struct Sexpression {
    pieces: Vec<Piece>,
    /// Where the lists still open begin.
    open: Vec<usize>,
}

enum Piece {
    Atom(String),
    /// How many pieces the list has, its end included, and how wide it is on one line.
    Open {
        pieces: usize,
        width: usize,
        is_heading: bool,
    },
    Close,
}

impl Sexpression {
    pub(super) fn atom(&mut self, text: impl Into<String>) {
        self.pieces.push(Piece::Atom(text.into()));
    }

    pub(super) fn open(&mut self, head: &str) {
        self.open_list(head, false);
    }

    /// Opens a list that stays on the first line of the one around it.
    pub(super) fn open_heading(&mut self, head: &str) {
        self.open_list(head, true);
    }

    fn open_list(&mut self, head: &str, is_heading: bool) {
        self.open.push(self.pieces.len());
        self.pieces.push(Piece::Open { pieces: 0, width: 0, is_heading });
        if !head.is_empty() {
            self.atom(head);
        }
    }

    pub(super) fn close(&mut self) {
        let Some(start) = self.open.pop() else { return };
        self.pieces.push(Piece::Close);
        let length = self.pieces.len() - start;
        let flat_width = self.flat_width(start + 1);
        if let Piece::Open { pieces, width, .. } = &mut self.pieces[start] {
            (*pieces, *width) = (length, flat_width);
        }
    }

    /// The width of the list whose items begin here, on one line.
    fn flat_width(&self, mut at: usize) -> usize {
        let mut width = 1;
        while let Some(piece) = self.pieces.get(at) {
            match piece {
                Piece::Atom(text) => {
                    width += text.chars().count() + 1;
                    at += 1;
                }
                Piece::Open { pieces, width: inner, .. } => {
                    width += inner + 1;
                    at += pieces;
                }
                Piece::Close => break,
            }
        }
        width.max(2)
    }

    /// The text, with a line end behind it.
    pub(super) fn finish(self) -> String {
        let mut layout = Layout { text: String::new(), column: 0, lists: Vec::new() };
        for piece in &self.pieces {
            layout.piece(piece);
        }
        layout.text.push('\n');
        layout.text
    }
}

struct Layout {
    text: String,
    column: usize,
    lists: Vec<List>,
}

/// A list being written.
#[derive(Clone, Copy)]
struct List {
    is_flat: bool,
    indentation: usize,
    is_empty: bool,
    /// Whether only atoms and headings were written so far.
    is_head: bool,
}

impl Layout {
    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Atom(text) => {
                self.separate(true);
                self.write(text);
            }
            Piece::Open { width, is_heading, .. } => {
                self.separate(*is_heading);
                let outer = self.lists.last();
                let is_flat =
                    outer.is_some_and(|list| list.is_flat) || self.column + width <= LINE_WIDTH;
                let indentation = self.column + 2;
                self.lists.push(List { is_flat, indentation, is_empty: true, is_head: true });
                self.write("(");
            }
            Piece::Close => {
                self.lists.pop();
                self.write(")");
            }
        }
    }

    /// The text between the last item and the next one.
    fn separate(&mut self, stays: bool) {
        let Some(list) = self.lists.last_mut() else {
            return;
        };
        list.is_head &= stays;
        let List { is_flat, indentation, is_empty, is_head } = *list;
        list.is_empty = false;
        if is_empty {
            return;
        }
        if is_flat || is_head {
            return self.write(" ");
        }
        self.text.push('\n');
        self.column = 0;
        self.write(&" ".repeat(indentation));
    }

    fn write(&mut self, text: &str) {
        self.text.push_str(text);
        self.column += text.chars().count();
    }
}
