//! Strings and symbols: immutable sequences of Unicode code points. The primitives for strings, and the parts of the VM
//! that make texts, use it.
//!
//! The code points of one string all take the same space, one, two or four bytes, as the largest one needs (as in
//! Python, PEP 393). So most strings take a byte per character, and indexing is constant-time and counts code points.
//! The two flags in the header hold the width.

use squall_heap::{Flag, Mutator, Object, Word};

use crate::model::hashing;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::model::symbols::{Symbol, SymbolTable};
use crate::state::sandbox;
use crate::state::thread::{Thread, allocated};
use crate::state::vm::Vm;

/// Bytes per code point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
pub enum Width {
    /// Code points below 256.
    One = 1,
    /// Code points below 65,536.
    Two = 2,
    /// All code points.
    Four = 4,
}

impl Width {
    /// The logarithm of the bytes.
    #[inline]
    fn shift(self) -> u32 {
        match self {
            Width::One => 0,
            Width::Two => 1,
            Width::Four => 2,
        }
    }

    /// The width that a code point needs.
    pub fn of(code_point: u32) -> Width {
        match code_point {
            0..=0xFF => Width::One,
            0x100..=0xFFFF => Width::Two,
            _ => Width::Four,
        }
    }
}

/// Whether a word is a string or a symbol.
#[inline]
pub fn is_string(word: Word) -> bool {
    word.as_object().is_some_and(is_string_object)
}

#[inline]
fn is_string_object(object: Object) -> bool {
    matches!(object.layout(), known::STRING | known::SYMBOL)
}

/// A view of a string object; valid until the next GC point, like the object itself.
#[derive(Clone, Copy)]
pub struct Text {
    object: Object,
    width: Width,
}

impl Text {
    /// The view of a word, if it is a string or a symbol.
    #[inline]
    pub fn of(word: Word) -> Option<Text> {
        let object = word.as_object().filter(|&object| is_string_object(object))?;
        let width = if object.has_flag(Flag::First) {
            Width::Two
        } else if object.has_flag(Flag::Second) {
            Width::Four
        } else {
            Width::One
        };
        Some(Text { object, width })
    }

    /// How many code points.
    #[inline]
    pub fn len(self) -> usize {
        self.object.length() >> self.width.shift()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.object.length() == 0
    }

    /// The code point with this index, counting from 0. Panics if there is none.
    #[inline]
    pub fn code_point(self, index: usize) -> u32 {
        assert!(index < self.len(), "the text has a code point there");
        // SAFETY: the text has the code point.
        unsafe { self.code_point_unchecked(index) }
    }

    /// The code point with this index.
    ///
    /// # Safety
    ///
    /// The text has it.
    #[inline]
    unsafe fn code_point_unchecked(self, index: usize) -> u32 {
        // SAFETY: a text takes as many bytes as its code points.
        let byte = |at| unsafe { self.object.byte_unchecked(at) };
        match self.width {
            Width::One => u32::from(byte(index)),
            Width::Two => {
                let at = index * 2;
                u32::from(u16::from_le_bytes([byte(at), byte(at + 1)]))
            }
            Width::Four => {
                let at = index * 4;
                u32::from_le_bytes(std::array::from_fn(|offset| byte(at + offset)))
            }
        }
    }

    /// The code points, one after the other.
    pub fn code_points(self) -> impl Iterator<Item = u32> + Clone {
        // SAFETY: the text has these code points.
        (0..self.len()).map(move |index| unsafe { self.code_point_unchecked(index) })
    }

    /// How the code points are stored, which is as narrow as the largest one allows.
    #[inline]
    pub fn width(self) -> Width {
        self.width
    }

    /// The bytes as they are stored, as long as the mutator that `_still` borrows reaches no GC point.
    #[inline]
    pub(crate) fn bytes(self, _still: &Mutator) -> &[u8] {
        // SAFETY: a GC point needs the mutator for itself, so there is none while the slice lives, and the text does not
        // move. Strings are never written once they are shared.
        unsafe { self.object.bytes() }
    }

    /// The bytes as they are stored.
    ///
    /// # Safety
    ///
    /// The slice lives until the next GC point only.
    #[inline]
    pub(crate) unsafe fn bytes_unbound<'a>(self) -> &'a [u8] {
        // SAFETY: as the caller promises; strings are never written once they are shared.
        unsafe { self.object.bytes() }
    }

    /// Calls `read` with the bytes as they are stored. `read` is code of this file, and reaches no GC point.
    #[inline]
    fn with_bytes<R>(self, read: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: the slice lives as long as the call, in which there is no GC point. Strings are never written once
        // they are shared.
        read(unsafe { self.object.bytes() })
    }

    /// Whether two strings have the same code points.
    pub fn equals(self, other: Text) -> bool {
        if self.width == other.width {
            return self.has_same_bytes(other);
        }
        self.len() == other.len() && self.code_points().eq(other.code_points())
    }

    /// Whether two texts have the same bytes. Most that differ do so in the length or at the beginning.
    #[inline]
    fn has_same_bytes(self, other: Text) -> bool {
        let length = self.object.length();
        if length != other.object.length() || length == 0 {
            return length == other.object.length();
        }
        // SAFETY: both have a first byte.
        let [first, others] = [self, other].map(|text| unsafe { text.object.byte_unchecked(0) });
        first == others
            && (length == 1 || self.with_bytes(|bytes| other.with_bytes(|others| bytes == others)))
    }

    /// The order of the code points.
    pub fn compare(self, other: Text) -> std::cmp::Ordering {
        if self.width == Width::One && other.width == Width::One {
            return self.with_bytes(|bytes| other.with_bytes(|others| bytes.cmp(others)));
        }
        self.code_points().cmp(other.code_points())
    }

    /// A [hash](hashing) of the code points, of 27 bits, kept in the header.
    pub fn hash(self) -> u32 {
        // Strings never use the header's hash for their identity, so it can cache this one.
        self.object.assigned_hash().unwrap_or_else(|| {
            let hash = match self.width {
                Width::One => self.with_bytes(hashing::of_bytes),
                Width::Two | Width::Four => hashing::of_code_points(self.code_points()),
            };
            self.object.assign_identity_hash(hash as u32)
        })
    }

    /// The symbol with this text.
    pub fn intern(self, table: &SymbolTable) -> Symbol {
        let of_ascii = self.with_ascii(|ascii| table.intern(ascii));
        of_ascii.unwrap_or_else(|| table.intern(&self.to_rust()))
    }

    /// The symbol with this text, if there is one.
    pub fn known(self, table: &SymbolTable) -> Option<Symbol> {
        let of_ascii = self.with_ascii(|ascii| table.find(ascii));
        of_ascii.unwrap_or_else(|| table.find(&self.to_rust()))
    }

    /// Calls `read` with the text, if that is ASCII. As for [`Text::with_bytes`].
    fn with_ascii<R>(self, read: impl FnOnce(&str) -> R) -> Option<R> {
        self.with_bytes(|bytes| {
            let is_ascii = self.width == Width::One && bytes.is_ascii();
            let text = std::str::from_utf8(bytes).ok().filter(|_| is_ascii);
            text.map(read)
        })
    }

    /// The text for Rust; code points that are no scalar values become U+FFFD.
    pub fn to_rust(self) -> String {
        let of_ascii = self.with_ascii(str::to_owned);
        of_ascii.unwrap_or_else(|| match self.width {
            Width::One => self.to_rust_from::<1>(),
            Width::Two => self.to_rust_from::<2>(),
            Width::Four => self.to_rust_from::<4>(),
        })
    }

    /// As [`Text::to_rust`], for code points of this many bytes.
    fn to_rust_from<const SIZE: usize>(self) -> String {
        self.with_bytes(|bytes| {
            // A code point of one or two bytes takes at most half as much again, if it is a letter at most two or three.
            let mut text = String::with_capacity(bytes.len() + bytes.len() / 2);
            for stored in bytes.as_chunks::<SIZE>().0 {
                let point = std::array::from_fn(|index| stored.get(index).copied().unwrap_or(0));
                text.push(character(u32::from_le_bytes(point)));
            }
            text
        })
    }

    /// The beginning of the text for Rust, and dots if that is not all.
    pub fn shortened(self, most: usize) -> String {
        let begin = self.code_points().take(most).map(character);
        begin.chain((self.len() > most).then_some('…')).collect()
    }
}

fn character(code_point: u32) -> char {
    char::from_u32(code_point).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The Rust text of a string or symbol.
pub fn text_argument(word: Word) -> Result<String, Failure> {
    Text::of(word).map(Text::to_rust).ok_or_else(|| Failure::argument(word))
}

/// Makes a string of Rust text. *GC point.*
pub fn make_string(thread: &mut Thread, text: &str) -> Result<Word, Failure> {
    if text.is_ascii() {
        return make(thread, known::STRING, KnownClass::String, text.as_bytes(), Width::One);
    }
    let (bytes, width) = encode_text(text);
    make(thread, known::STRING, KnownClass::String, &bytes, width)
}

/// Makes a string with a code point for each byte. *GC point.*
pub fn make_byte_string(thread: &mut Thread, bytes: &[u8]) -> Result<Word, Failure> {
    make(thread, known::STRING, KnownClass::String, bytes, Width::One)
}

/// Makes a string of code points. *GC point.*
pub fn make_from_code_points(thread: &mut Thread, code_points: &[u32]) -> Result<Word, Failure> {
    let (bytes, width) = encode(code_points);
    make(thread, known::STRING, KnownClass::String, &bytes, width)
}

/// The string of one code point: Latin-1 ones are made once. *GC point.*
pub fn make_character(thread: &mut Thread, code_point: u32) -> Result<Word, Failure> {
    if let Some(character) = thread.vm.character(code_point) {
        return Ok(character);
    }
    let made = make_from_code_points(thread, &[code_point])?;
    thread.vm.set_character(code_point, made);
    Ok(made)
}

/// A string in the making, whose size is known before its contents.
///
/// It is filled from start to end without a GC point in between, from texts that the caller reads
/// after the allocation, so that each code point is copied once.
pub struct NewString {
    object: Object,
    width: Width,
    /// Bytes written so far.
    filled: usize,
}

impl NewString {
    /// Makes room for `length` code points of this width. *GC point.*
    pub fn allocate(
        thread: &mut Thread,
        length: usize,
        width: Width,
    ) -> Result<NewString, Failure> {
        let class = thread.vm.known_class(KnownClass::String);
        let size = length.saturating_mul(width as usize);
        thread.charge_copy(size);
        let object = allocated(thread.mutator.allocate_bytes(known::STRING, class, size))?;
        mark_width(object, width);
        Ok(NewString { object, width, filled: 0 })
    }

    /// Appends `length` code points of a text, from `start` on; answers whether they fit.
    #[must_use]
    pub fn append(&mut self, text: Text, start: usize, length: usize) -> bool {
        let target = self.width as usize;
        if text.width > self.width || length * target > self.object.length() - self.filled {
            return false;
        }
        let size = text.width as usize;
        let filled = self.filled;
        text.with_bytes(|bytes| {
            // SAFETY: the object is new, so there is no other reference to it, and it has room for the bytes (checked
            // above).
            let place = unsafe {
                let first = self.object.bytes_pointer().add(filled);
                std::slice::from_raw_parts_mut(first, length * target)
            };
            widen(&bytes[start * size..(start + length) * size], size, place, target);
        });
        self.filled += length * target;
        true
    }

    /// Appends a text again and again, until the string is full; answers whether the last copy has fitted.
    #[must_use]
    pub fn fill(&mut self, text: Text) -> bool {
        let begin = self.filled;
        if !self.append(text, 0, text.len()) {
            return false;
        }
        let total = self.object.length();
        let once = self.filled - begin;
        while self.filled < total {
            let count = (self.filled - begin).min(total - self.filled);
            // SAFETY: the object is new, so there is no other reference to it. Both ranges are in it, and the second one
            // begins where the first one ends at the earliest.
            unsafe {
                let bytes = self.object.bytes_pointer();
                std::ptr::copy_nonoverlapping(bytes.add(begin), bytes.add(self.filled), count);
            }
            self.filled += count;
        }
        (total - begin).is_multiple_of(once)
    }

    /// The string, if it is full.
    pub fn finish(self) -> Option<Word> {
        (self.filled == self.object.length()).then(|| self.object.word())
    }
}

/// Copies code points to where they take more space, or the same.
fn widen(source: &[u8], from: usize, target: &mut [u8], to: usize) {
    /// For sizes that the compiler knows.
    fn copy<const FROM: usize, const TO: usize>(source: &[u8], target: &mut [u8]) {
        let (wide, narrow) = (target.as_chunks_mut::<TO>().0, source.as_chunks::<FROM>().0);
        for (wide, narrow) in wide.iter_mut().zip(narrow) {
            *wide = std::array::from_fn(|index| narrow.get(index).copied().unwrap_or(0));
        }
    }
    match (from, to) {
        (1, 2) => copy::<1, 2>(source, target),
        (1, 4) => copy::<1, 4>(source, target),
        (2, 4) => copy::<2, 4>(source, target),
        _ => target.copy_from_slice(source),
    }
}

/// The guest's object for a symbol. *GC point.*
pub fn symbol_object(thread: &mut Thread, symbol: Symbol) -> Result<Word, Failure> {
    let table = thread.vm.modules.symbols;
    if let Some(object) = table.object(symbol) {
        return Ok(object);
    }
    let made = make_symbol(thread, table.text(symbol))?;
    Ok(table.set_object(symbol, made))
}

/// The guest's object for a symbol of a text that may be no name of code. *GC point.*
pub fn loose_symbol(thread: &mut Thread, text: &str) -> Result<Word, Failure> {
    if let Some(object) = thread.vm.modules.symbols.find_loose(text) {
        return Ok(object);
    }
    // The table has the text, too.
    thread.charge_memory(LOOSE_SYMBOL_BYTES + text.len());
    let made = make_symbol(thread, text)?;
    Ok(thread.vm.modules.symbols.add_loose(text, made))
}

/// The memory of a loose symbol beside its object and its text, in bytes: an entry of the table.
pub const LOOSE_SYMBOL_BYTES: usize = 48;

fn make_symbol(thread: &mut Thread, text: &str) -> Result<Word, Failure> {
    let (bytes, width) = encode_text(text);
    make(thread, known::SYMBOL, KnownClass::Symbol, &bytes, width)
}

/// The symbol with a guest's text, which may be that of a member. A new one is never freed, so it counts as
/// [kept](sandbox::count_kept).
pub fn intern(thread: &mut Thread, text: Text) -> Symbol {
    let symbols = thread.vm.modules.symbols;
    text.known(symbols).unwrap_or_else(|| {
        let text = text.to_rust();
        sandbox::count_kept(thread, SYMBOL_BYTES + text.len());
        symbols.intern(&text)
    })
}

/// The memory of a symbol with an index beside its text, and that of its first lookup, in bytes.
const SYMBOL_BYTES: usize = 200;

/// The guest's object for a symbol that has one by now, which it keeps.
pub fn made_symbol_object(vm: &Vm, symbol: Symbol) -> Word {
    vm.modules.symbols.object(symbol).expect("the symbol's object was made before")
}

/// A text as it is stored.
fn encode_text(text: &str) -> (Vec<u8>, Width) {
    // The first byte of a character in UTF-8 grows with the character.
    let largest = text.bytes().max().unwrap_or(0);
    let width = match largest {
        ..=0xC3 => Width::One,
        0xC4..=0xEF => Width::Two,
        0xF0.. => Width::Four,
    };
    (store(text.chars().map(u32::from), text.chars().count(), width), width)
}

fn encode(code_points: &[u32]) -> (Vec<u8>, Width) {
    let largest = code_points.iter().copied().max().unwrap_or(0);
    let width = Width::of(largest);
    (store(code_points.iter().copied(), code_points.len(), width), width)
}

/// The bytes of so many code points of this width.
fn store(code_points: impl Iterator<Item = u32>, count: usize, width: Width) -> Vec<u8> {
    /// For sizes that the compiler knows.
    fn collect<const SIZE: usize>(points: impl Iterator<Item = u32>, count: usize) -> Vec<u8> {
        let mut stored: Vec<[u8; SIZE]> = Vec::with_capacity(count);
        stored.extend(points.map(|point| {
            let bytes = point.to_le_bytes();
            std::array::from_fn::<u8, SIZE, _>(|index| bytes[index])
        }));
        stored.into_flattened()
    }
    match width {
        Width::One => collect::<1>(code_points, count),
        Width::Two => collect::<2>(code_points, count),
        Width::Four => collect::<4>(code_points, count),
    }
}

fn make(
    thread: &mut Thread,
    layout: squall_heap::LayoutId,
    class: KnownClass,
    bytes: &[u8],
    width: Width,
) -> Result<Word, Failure> {
    let class = thread.vm.known_class(class);
    thread.charge_copy(bytes.len());
    let object = allocated(thread.mutator.allocate_bytes(layout, class, bytes.len()))?;
    object.write_bytes(0, bytes);
    mark_width(object, width);
    Ok(object.word())
}

fn mark_width(object: Object, width: Width) {
    match width {
        Width::One => {}
        Width::Two => _ = object.set_flag(Flag::First),
        Width::Four => _ = object.set_flag(Flag::Second),
    }
}

/// Names as guest objects.
impl Vm {
    /// The symbol object for a name. *GC point.*
    pub fn name_word(&self, thread: &mut Thread, name: Symbol) -> Result<Word, Failure> {
        symbol_object(thread, name)
    }
}

/// A text in which each control character is an escape, such as `\n` or `\u{1b}`; line ends may stay.
pub fn without_controls(text: impl Iterator<Item = char>, keeps_lines: bool) -> String {
    let mut escaped = String::new();
    for character in text {
        match controls_nothing(character, keeps_lines) {
            true => escaped.push(character),
            false => escaped.extend(character.escape_default()),
        }
    }
    escaped
}

/// Whether a character neither controls a terminal nor ends a line; line ends may stay.
pub fn controls_nothing(character: char, keeps_lines: bool) -> bool {
    match character {
        '\n' => keeps_lines,
        // They end lines, too.
        '\u{2028}' | '\u{2029}' => false,
        _ => !character.is_control(),
    }
}
