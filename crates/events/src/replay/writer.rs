//! Writes recordings: the blocks of the file, and the events of one worker. The runtime's recorder uses both.

use std::io::{self, Write};

use super::{BlockKind, End, Head, MAGIC, check_sum, tag};

/// Writes the blocks of a file.
pub struct Writer {
    sink: Box<dyn Write + Send>,
    place: u32,
}

impl Writer {
    /// Begins a file.
    pub fn begin(mut sink: Box<dyn Write + Send>, head: &Head) -> io::Result<Writer> {
        sink.write_all(MAGIC)?;
        let mut writer = Writer { sink, place: 0 };
        let mut payload = Vec::new();
        put_text(&mut payload, &head.machine);
        payload.extend(head.program.to_le_bytes());
        payload.extend(head.key.to_le_bytes());
        put(&mut payload, head.arguments.len() as u64);
        head.arguments.iter().for_each(|argument| put_text(&mut payload, argument));
        writer.block(BlockKind::Head, &payload)?;
        Ok(writer)
    }

    /// Writes events of one worker.
    pub fn events(&mut self, events: &Events) -> io::Result<()> {
        if events.bytes.is_empty() { Ok(()) } else { self.block(BlockKind::Events, &events.bytes) }
    }

    /// Notes that the program has loaded a module.
    pub fn module(&mut self, path: &str, digest: u64) -> io::Result<()> {
        let mut payload = digest.to_le_bytes().to_vec();
        put_text(&mut payload, path);
        self.block(BlockKind::Module, &payload)
    }

    /// Ends the file.
    pub fn end(&mut self, end: End) -> io::Result<()> {
        self.block(BlockKind::End, &end.code.to_le_bytes())?;
        self.sink.flush()
    }

    fn block(&mut self, kind: BlockKind, payload: &[u8]) -> io::Result<()> {
        let mut block = (payload.len() as u32).to_le_bytes().to_vec();
        block.push(kind as u8);
        block.extend(check_sum(self.place, kind as u8, payload).to_le_bytes());
        block.extend(payload);
        self.place += 1;
        self.sink.write_all(&block)
    }
}

/// The events of one worker that are not in the file yet.
#[derive(Default)]
pub struct Events {
    bytes: Vec<u8>,
}

impl Events {
    /// How many bytes they take.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Forgets them: they are in the file.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// A turn of a vat begins with a message. The key grows from turn to turn of the vat; `made` numbers were taken since
    /// the last event with such a count.
    pub fn turn(&mut self, made: u32, vat: u64, key: u64, message: u32) {
        self.event(tag::TURN, [u64::from(made), vat, key, u64::from(message)]);
    }

    /// The turn with this key goes on. The ticket grows from resumption to resumption.
    pub fn resumed(&mut self, made: u32, vat: u64, key: u64, ticket: u64) {
        self.event(tag::RESUMED, [u64::from(made), vat, key, ticket]);
    }

    /// The next messages get the numbers from this one on.
    pub fn numbers(&mut self, made: u32, next: u32) {
        self.event(tag::NUMBERS, [made, next].map(u64::from));
    }

    /// The turn has stopped.
    pub fn paused(&mut self, made: u32) {
        self.event(tag::PAUSED, [u64::from(made)]);
    }

    /// The turn has made a vat.
    pub fn created(&mut self, vat: u64) {
        self.event(tag::CREATED, [vat]);
    }

    /// The turn has decided a promise, or was too late for that.
    pub fn decided(&mut self, is_first: bool) {
        self.event(if is_first { tag::DECIDED } else { tag::LATE }, []);
    }

    /// The turn has written a text.
    pub fn output(&mut self, place: u64, check: u64) {
        self.event(tag::OUTPUT, [place, check]);
    }

    /// The turn has asked for something outside, and got this.
    pub fn input(&mut self, asked: u64, answer: &[u8]) {
        self.event(tag::INPUT, [asked, answer.len() as u64]);
        self.bytes.extend(answer);
    }

    fn event<const N: usize>(&mut self, tag: u8, fields: [u64; N]) {
        self.bytes.push(tag);
        fields.into_iter().for_each(|field| put(&mut self.bytes, field));
    }
}

/// Appends a number, seven bits in each byte, the lowest first.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}
