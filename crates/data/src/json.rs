//! JSON (RFC 8259), read without recursion, and the quotes of its strings. The primitives of `lib/Json.ns` call this
//! module. The parts of a text go to a [`Builder`], and open lists and objects are on a stack of this file. So the
//! depth is limited by [`DEEPEST`] and not by the native stack.
//!
//! Integers are exact; they have at most 4,300 digits, by a rule of the library that finds them. Other numbers are the
//! nearest doubles.

use jiter::{Jiter, JiterError, Peek};
use num_bigint::BigInt;

use crate::Problem;
use crate::pace::{hold, spend};

/// Lists and objects may lie in each other this deep.
pub const DEEPEST: usize = 10_000;

/// Receives the parts of a text in order. A list's elements come between `begin` and `end_list`; an object's keys, each
/// followed by its value, come between `begin` and `end_object`.
pub trait Builder {
    /// Why it may stop.
    type Failure;
    /// `null`
    fn null(&mut self) -> Result<(), Self::Failure>;
    /// `true` or `false`
    fn boolean(&mut self, value: bool) -> Result<(), Self::Failure>;
    /// An integer that fits 64 bits.
    fn integer(&mut self, value: i64) -> Result<(), Self::Failure>;
    /// Another integer.
    fn large(&mut self, value: BigInt) -> Result<(), Self::Failure>;
    /// A number with a fraction or exponent.
    fn double(&mut self, value: f64) -> Result<(), Self::Failure>;
    /// A string.
    fn text(&mut self, value: &str) -> Result<(), Self::Failure>;
    /// The name of an object's member.
    fn key(&mut self, name: &str) -> Result<(), Self::Failure>;
    /// A list or an object begins.
    fn begin(&mut self) -> Result<(), Self::Failure>;
    /// The innermost list ends.
    fn end_list(&mut self) -> Result<(), Self::Failure>;
    /// The innermost object ends.
    fn end_object(&mut self) -> Result<(), Self::Failure>;
}

/// Why a text was not read to its end.
pub enum Stopped<F> {
    /// It is not JSON.
    Problem(Problem),
    /// The builder could not go on.
    Builder(F),
}

/// How many parts of a text are read at a time.
const STEP: usize = 64;

/// So many blanks in a row are skipped in one piece; those behind them are left out before.
const MOST_BLANKS: usize = 1 << 16;

/// Reads a text that is one value, in [pieces](crate::pace).
pub async fn read<B: Builder>(text: &str, builder: &mut B) -> Result<(), Stopped<B::Failure>> {
    let text = text.as_bytes();
    if !may_have_long_blanks(text) {
        return read_all(text, builder).await;
    }
    let (short, cuts) = without_long_blanks(text).await;
    read_all(&short, builder).await.map_err(|stopped| match stopped {
        Stopped::Problem(Problem { at, message }) => {
            let missing: usize = cuts.iter().filter(|cut| cut.at <= at).map(|cut| cut.length).sum();
            Stopped::Problem(Problem::at(at + missing, message))
        }
        other => other,
    })
}

async fn read_all<B: Builder>(text: &[u8], builder: &mut B) -> Result<(), Stopped<B::Failure>> {
    let mut reader = Reader { text, jiter: Jiter::new(text), open: Vec::new(), builder };
    reader.run().await
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether there may be more than [`MOST_BLANKS`] in a row: then one of some bytes that are looked at is a blank, and the next one,
/// too.
fn may_have_long_blanks(text: &[u8]) -> bool {
    let mut looked_at = text.iter().step_by(MOST_BLANKS / 2).map(|&byte| is_blank(byte));
    let mut before = false;
    looked_at.any(|is_blank| std::mem::replace(&mut before, is_blank) && is_blank)
}

/// Blanks that are left out.
struct Cut {
    /// The place that they were before, in the text without them.
    at: usize,
    /// How many there are.
    length: usize,
}

/// A text without the blanks that come behind [`MOST_BLANKS`] others, and where they were. Strings stay as they are.
async fn without_long_blanks(text: &[u8]) -> (Vec<u8>, Vec<Cut>) {
    let mut short = Vec::with_capacity(text.len());
    let mut cuts: Vec<Cut> = Vec::new();
    let (mut is_string, mut is_escaped, mut blanks) = (false, false, 0);
    for part in text.chunks(STEP * STEP) {
        hold(short.len());
        // A byte takes some two nanoseconds.
        spend(part.len() / 5).await;
        for &byte in part {
            blanks = if !is_string && is_blank(byte) { blanks + 1 } else { 0 };
            if blanks > MOST_BLANKS {
                match cuts.last_mut() {
                    Some(cut) if cut.at == short.len() => cut.length += 1,
                    _ => cuts.push(Cut { at: short.len(), length: 1 }),
                }
                continue;
            }
            is_string ^= byte == b'"' && !is_escaped;
            is_escaped = is_string && byte == b'\\' && !is_escaped;
            short.push(byte);
        }
    }
    (short, cuts)
}

/// What is open.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    List,
    Object,
}

struct Reader<'t, 'b, B: Builder> {
    text: &'t [u8],
    jiter: Jiter<'t>,
    open: Vec<Open>,
    builder: &'b mut B,
}

impl<'t, B: Builder> Reader<'t, '_, B> {
    async fn run(&mut self) -> Result<(), Stopped<B::Failure>> {
        let peek = self.jiter.peek();
        let mut next = Some(self.checked(peek)?);
        let (mut count, mut start) = (0, 0);
        loop {
            count += 1;
            if count % STEP == 0 {
                let end = self.jiter.current_index();
                // A part takes some 50 ns, and a byte of it one or two.
                spend(5 * STEP + (end - start) / 8).await;
                start = end;
            }
            if let Some(peek) = next {
                next = self.value(peek)?;
                if next.is_some() {
                    continue;
                }
            }
            match self.open.last() {
                None => break,
                Some(Open::List) => {
                    let step = self.jiter.array_step();
                    next = self.checked(step)?;
                    if next.is_none() {
                        self.open.pop();
                        self.builder.end_list().map_err(Stopped::Builder)?;
                    }
                }
                Some(Open::Object) => next = self.member(Jiter::next_key)?,
            }
        }
        let end = self.jiter.finish();
        self.checked(end)
    }

    /// Reads a value that is no list or object, or the start of one. Answers the first value inside, if there is one.
    fn value(&mut self, peek: Peek) -> Result<Option<Peek>, Stopped<B::Failure>> {
        match peek {
            Peek::Null => {
                let null = self.jiter.known_null();
                self.checked(null)?;
                self.builder.null().map_err(Stopped::Builder)?;
            }
            Peek::True | Peek::False => {
                let value = self.jiter.known_bool(peek);
                let value = self.checked(value)?;
                self.builder.boolean(value).map_err(Stopped::Builder)?;
            }
            Peek::String => self.string()?,
            Peek::Array => {
                self.begin(Open::List)?;
                let first = self.jiter.known_array();
                let first = self.checked(first)?;
                if first.is_none() {
                    self.open.pop();
                    self.builder.end_list().map_err(Stopped::Builder)?;
                }
                return Ok(first);
            }
            Peek::Object => {
                self.begin(Open::Object)?;
                return self.member(Jiter::known_object);
            }
            _ => self.number()?,
        }
        Ok(None)
    }

    fn begin(&mut self, open: Open) -> Result<(), Stopped<B::Failure>> {
        if self.open.len() == DEEPEST {
            return Err(self.problem(format!("there are more than {DEEPEST} lists in each other")));
        }
        self.open.push(open);
        self.builder.begin().map_err(Stopped::Builder)
    }

    /// Reads a key and answers what follows it; at the end of the object, closes that.
    fn member(
        &mut self,
        next: for<'a> fn(&'a mut Jiter<'t>) -> jiter::JiterResult<Option<&'a str>>,
    ) -> Result<Option<Peek>, Stopped<B::Failure>> {
        match next(&mut self.jiter) {
            Ok(Some(key)) => self.builder.key(key).map_err(Stopped::Builder)?,
            Ok(None) => {
                self.open.pop();
                self.builder.end_object().map_err(Stopped::Builder)?;
                return Ok(None);
            }
            Err(error) => return Err(self.wrong(error)),
        }
        let peek = self.jiter.peek();
        self.checked(peek).map(Some)
    }

    fn string(&mut self) -> Result<(), Stopped<B::Failure>> {
        match self.jiter.known_str() {
            Ok(text) => self.builder.text(text).map_err(Stopped::Builder),
            Err(error) => Err(self.wrong(error)),
        }
    }

    fn number(&mut self) -> Result<(), Stopped<B::Failure>> {
        let start = self.jiter.current_index();
        let length = self.jiter.next_number_bytes().map(<[u8]>::len);
        let length = self.checked(length)?;
        let digits = &self.text[start..start + length];
        let digits = std::str::from_utf8(digits).expect("a number is ASCII");
        if digits.contains(['.', 'e', 'E']) {
            let value: f64 = digits.parse().map_err(|_| self.problem("this is no number"))?;
            if !value.is_finite() {
                return Err(self.problem("this number is too large for a double"));
            }
            return self.builder.double(value).map_err(Stopped::Builder);
        }
        if let Ok(value) = digits.parse() {
            return self.builder.integer(value).map_err(Stopped::Builder);
        }
        let value = digits.parse::<BigInt>().map_err(|_| self.problem("this is no number"))?;
        self.builder.large(value).map_err(Stopped::Builder)
    }

    fn checked<T>(&self, result: jiter::JiterResult<T>) -> Result<T, Stopped<B::Failure>> {
        result.map_err(|error| self.wrong(error))
    }

    fn wrong(&self, error: JiterError) -> Stopped<B::Failure> {
        Stopped::Problem(Problem::at(error.index, error.error_type.to_string()))
    }

    fn problem(&self, message: impl Into<String>) -> Stopped<B::Failure> {
        Stopped::Problem(Problem::at(self.jiter.current_index(), message))
    }
}

/// Appends a text with quotes, and with escapes where JSON requires them.
pub fn quote(text: impl Iterator<Item = u32>, into: &mut String) {
    into.push('"');
    escape(text, into);
    into.push('"');
}

/// Appends a part of a text, with escapes where JSON requires them.
pub fn escape(text: impl Iterator<Item = u32>, into: &mut String) {
    for code_point in text {
        let character = char::from_u32(code_point).unwrap_or(char::REPLACEMENT_CHARACTER);
        match character {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '\t' => into.push_str("\\t"),
            '\0'..='\x1F' => {
                let digit = |place: u32| char::from_digit(code_point >> place & 15, 16);
                into.push_str("\\u00");
                into.extend([digit(4), digit(0)].into_iter().flatten());
            }
            _ => into.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;

    /// Writes down what it receives.
    #[derive(Default)]
    struct Notes(String);

    impl Notes {
        fn note(&mut self, what: impl std::fmt::Display) -> Result<(), ()> {
            self.0 += &format!("{what};");
            Ok(())
        }
    }

    impl Builder for Notes {
        type Failure = ();
        fn null(&mut self) -> Result<(), ()> {
            self.note("null")
        }
        fn boolean(&mut self, value: bool) -> Result<(), ()> {
            self.note(value)
        }
        fn integer(&mut self, value: i64) -> Result<(), ()> {
            self.note(value)
        }
        fn large(&mut self, value: BigInt) -> Result<(), ()> {
            self.note(value)
        }
        fn double(&mut self, value: f64) -> Result<(), ()> {
            self.note(value)
        }
        fn text(&mut self, value: &str) -> Result<(), ()> {
            self.note(format_args!("text {value:?}"))
        }
        fn key(&mut self, name: &str) -> Result<(), ()> {
            self.note(format_args!("key {name:?}"))
        }
        fn begin(&mut self) -> Result<(), ()> {
            self.note("begin")
        }
        fn end_list(&mut self) -> Result<(), ()> {
            self.note("end list")
        }
        fn end_object(&mut self) -> Result<(), ()> {
            self.note("end object")
        }
    }

    /// What a text is, and where its mistake is.
    fn read_text(text: &str) -> (String, Option<usize>) {
        let mut notes = Notes::default();
        let place = match at_once(read(text, &mut notes)) {
            Ok(()) => None,
            Err(Stopped::Problem(problem)) => Some(problem.at),
            Err(Stopped::Builder(())) => unreachable!("it does not stop"),
        };
        (notes.0, place)
    }

    /// In place of each `~` come blanks: their number does not matter, but to the places of mistakes.
    #[test]
    fn long_blanks_mean_what_short_ones_do() {
        let texts = [
            "~[~1~,~{~\"a \\\\\"~:~\"b\\\"  c\"~,~\"\"~:~null~}~,~true~]~",
            "~12~",
            "~",
            "[1~2]",
            "[1~,~]",
            "{\"a\"~1}",
            "{~\"a",
            "[\"\\x\"~]",
            "~]",
            "[1]~x",
        ];
        let long = MOST_BLANKS * 2 + 100;
        for text in texts {
            let some = " \t\r\n".repeat(MOST_BLANKS / 2 + 25);
            let (parts, place) = read_text(&text.replace('~', " "));
            let (long_parts, long_place) = read_text(&text.replace('~', &some));
            assert_eq!(long_parts, parts, "{text}");
            let stretched = |place: usize| {
                let before = text.bytes().take(place).filter(|&byte| byte == b'~').count();
                place + before * (long - 1)
            };
            assert_eq!(long_place.is_some(), place.is_some(), "{text}");
            if let (Some(place), Some(long_place)) = (place, long_place) {
                // A mistake may be told at the first of the blanks, or behind them.
                let bounds = stretched(place.saturating_sub(1))..=stretched(place + 1);
                assert!(bounds.contains(&long_place), "{text}: {long_place}, {bounds:?}");
            }
        }
    }

    #[test]
    fn blanks_of_strings_stay() {
        let text = format!("[\"{}\", 1]", " ".repeat(MOST_BLANKS * 3));
        assert!(may_have_long_blanks(text.as_bytes()));
        let (short, cuts) = at_once(without_long_blanks(text.as_bytes()));
        assert_eq!((short.len(), cuts.len()), (text.len(), 0));
        assert!(!may_have_long_blanks("[1, 2, 3]".repeat(MOST_BLANKS).as_bytes()));
    }
}
