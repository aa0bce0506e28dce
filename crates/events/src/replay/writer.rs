//! Writes recordings: the blocks of the file, and the events of one worker. The runtime's recorder uses both.
//!
//! Protocol of [`Events`]: the worker that they belong to appends, and publishes each event with one releasing store of the
//! length; it alone clears them. Any thread may [copy](Events::copy) what was published, while the worker does not clear:
//! the recorder holds the file's lock for both. So a worker takes no lock for an event, and no thread waits for a worker.
//!
//! The file may end with a *tail*: blocks with what workers have not written yet, which the next block replaces.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::{
    AtPoll, BlockKind, End, EndsAt, Entity, Extent, Head, MAGIC, SandboxEnd, check_sum, folded, tag,
};

/// Where a recording is written.
pub trait Sink: Write + Send {
    /// Removes what is behind so many bytes, and goes on there.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

/// Writes the blocks of a file.
pub struct Writer {
    sink: Box<dyn Sink>,
    /// How many blocks there are, and how many bytes, without the tail.
    place: u32,
    length: u64,
    /// The tail behind them.
    tail: Vec<u8>,
}

impl Writer {
    /// Begins a file.
    pub fn begin(mut sink: Box<dyn Sink>, head: &Head) -> io::Result<Writer> {
        sink.write_all(MAGIC)?;
        let mut writer = Writer { sink, place: 0, length: MAGIC.len() as u64, tail: Vec::new() };
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
    pub fn events(&mut self, events: &[u8]) -> io::Result<()> {
        if events.is_empty() { Ok(()) } else { self.block(BlockKind::Events, events) }
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

    /// Puts events of each worker behind the rest, until something else is written: a process that is killed leaves them. They
    /// will be written again.
    pub fn tail<'a>(&mut self, workers: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        let (mut tail, mut place) = (Vec::new(), self.place);
        for events in workers.filter(|events| !events.is_empty()) {
            tail.extend(block(place, BlockKind::Events, events));
            place += 1;
        }
        if tail == self.tail {
            return Ok(());
        }
        self.cut_tail()?;
        self.sink.write_all(&tail)?;
        self.tail = tail;
        Ok(())
    }

    fn cut_tail(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.tail).is_empty() { Ok(()) } else { self.sink.cut(self.length) }
    }

    fn block(&mut self, kind: BlockKind, payload: &[u8]) -> io::Result<()> {
        self.cut_tail()?;
        let block = block(self.place, kind, payload);
        self.place += 1;
        self.length += block.len() as u64;
        self.sink.write_all(&block)
    }
}

/// A block for this place of the file.
fn block(place: u32, kind: BlockKind, payload: &[u8]) -> Vec<u8> {
    let mut block = (payload.len() as u32).to_le_bytes().to_vec();
    block.push(kind as u8);
    block.extend(check_sum(place, kind as u8, payload).to_le_bytes());
    block.extend(payload);
    block
}

/// The events of one worker that are not in the file yet.
pub struct Events {
    bytes: Box<[AtomicU8]>,
    /// How many bytes were published.
    length: AtomicUsize,
}

/// With how many bytes events go to the file.
const FULL: usize = 32 << 10;

/// The longest event without its bytes from outside, and some more.
const LONGEST_EVENT: usize = 128;

impl Default for Events {
    fn default() -> Events {
        let bytes = (0..FULL + LONGEST_EVENT).map(|_| AtomicU8::new(0)).collect();
        Events { bytes, length: AtomicUsize::new(0) }
    }
}

impl Events {
    /// Whether there is room for an event with so many bytes from outside.
    #[inline(always)]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.length.load(Ordering::Relaxed).saturating_add(bytes) <= FULL
    }

    /// Begins to append events. For the worker.
    #[inline(always)]
    pub fn append(&self) -> Appender<'_> {
        Appender { events: self, at: self.length.load(Ordering::Relaxed) }
    }

    /// How many bytes were published.
    pub fn length(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// The bytes that were published.
    pub fn copy(&self) -> Vec<u8> {
        self.bytes.iter().take(self.length()).map(|byte| byte.load(Ordering::Relaxed)).collect()
    }

    /// Forgets them: they are in the file. For the worker.
    pub fn clear(&self) {
        self.length.store(0, Ordering::Relaxed);
    }
}

/// Appends events, which are published when this is dropped.
pub struct Appender<'a> {
    events: &'a Events,
    at: usize,
}

impl Drop for Appender<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.events.length.store(self.at.min(self.events.bytes.len()), Ordering::Release);
    }
}

impl Appender<'_> {
    /// A turn of a vat begins with a message: `made` numbers were taken since the last event with such a count. The vat and
    /// the turn's key are given, unless they follow those of the piece before; `step` leads from the message noted before on
    /// this worker.
    #[inline(always)]
    pub fn turn(&mut self, made: u32, vat: Option<(u64, u64)>, step: i64) {
        let same = if vat.is_none() { tag::SAME_VAT } else { 0 };
        let few = made.min(u32::from(tag::MANY)) as u8;
        self.byte(tag::TURN | same | few);
        if few == tag::MANY {
            self.number(u64::from(made));
        }
        if let Some((vat, key)) = vat {
            self.number(vat);
            self.number(key);
        }
        self.number(folded(step));
    }

    /// A vat goes on with this strand, or with the turn.
    pub fn item(&mut self, made: u32, vat: u64, key: u64, strand: Option<u64>) {
        let strand = strand.map_or(0, |strand| strand + 1);
        self.event(tag::ITEM, [u64::from(made), vat, key, strand]);
    }

    /// A piece goes on. The ticket grows from continuation to continuation.
    pub fn continued(&mut self, made: u32, entity: Entity, key: u64, ticket: u64) {
        self.event(tag::CONTINUED, [u64::from(made), entity.bits(), key, ticket]);
    }

    /// A piece of a strand begins. The keys grow.
    pub fn strand(&mut self, made: u32, strand: u64, key: u64) {
        self.event(tag::STRAND, [u64::from(made), strand, key]);
    }

    /// The next messages get the numbers from this one on.
    pub fn numbers(&mut self, made: u32, next: u32) {
        self.event(tag::NUMBERS, [made, next].map(u64::from));
    }

    /// The worker goes on in another block.
    pub fn counted(&mut self, made: u32) {
        self.event(tag::COUNTED, [u64::from(made)]);
    }

    /// A vat was made.
    pub fn created(&mut self, vat: u64) {
        self.event(tag::CREATED, [vat]);
    }

    /// A strand was started.
    pub fn started(&mut self, strand: u64) {
        self.event(tag::STARTED, [strand]);
    }

    /// A promise was decided, or it was too late for that.
    pub fn decided(&mut self, is_first: bool) {
        self.event(if is_first { tag::DECIDED } else { tag::LATE }, []);
    }

    /// A text was written.
    pub fn output(&mut self, place: u64, check: u64) {
        self.event(tag::OUTPUT, [place, check]);
    }

    /// An operation on something shared has a place so far behind the one before on this worker.
    pub fn ordered(&mut self, step: u64) {
        self.event(tag::ORDERED, [step]);
    }

    /// A transaction commits that happens at a place so far behind the one before on this worker, or up to its first effect.
    pub fn atomic(&mut self, step: u64, extent: Extent) {
        self.event(tag::ATOMIC, [step, u64::from(extent == Extent::UpToEffect)]);
    }

    /// The strand begins to end there, since another one has ended it.
    pub fn killed(&mut self, place: EndsAt) {
        match place {
            EndsAt::SomePoll => self.event(tag::KILLED, [0]),
            EndsAt::Wait => self.event(tag::KILLED, [1]),
            EndsAt::Poll(poll) => self.event(tag::KILLED, [2, poll]),
            EndsAt::WaitBehind(polls) => self.event(tag::KILLED, [3, polls]),
        }
    }

    /// At the poll with this number, the strand of an item gives way or begins to end.
    pub fn polled(&mut self, polls: u64, what: AtPoll) {
        self.event(tag::POLLED, [polls, u64::from(what == AtPoll::Ends)]);
    }

    /// A transaction reads something after all operations before this place, so far behind the one before on this worker.
    pub fn after(&mut self, step: u64) {
        self.event(tag::AFTER, [step]);
    }

    /// A strand was woken since its time is over, or since something outside is ready, at a place so far behind the one before
    /// on this worker.
    pub fn woken(&mut self, step: u64, entity: Entity, is_ready: bool) {
        self.event(if is_ready { tag::READY } else { tag::WOKEN }, [step, entity.bits()]);
    }

    /// The strand begins to end, since its sandbox is over, in a wait or not; or the turn does not begin.
    pub fn over(&mut self, in_wait: bool) {
        self.event(tag::OVER, [u64::from(in_wait)]);
    }

    /// Something outside was asked for, and gave this.
    pub fn input(&mut self, asked: u64, answer: &[u8]) {
        self.event(tag::INPUT, [asked, answer.len() as u64]);
        answer.iter().for_each(|byte| self.byte(*byte));
    }

    fn event<const N: usize>(&mut self, tag: u8, fields: [u64; N]) {
        self.byte(tag);
        fields.into_iter().for_each(|field| self.number(field));
    }

    #[inline(always)]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        // There is room: see `Events::has_room`.
        if let Some(place) = self.events.bytes.get(self.at) {
            place.store(byte, Ordering::Relaxed);
        }
        self.at += 1;
    }
}

/// The bytes of a number of messages, a piece that goes on, and something from outside: a block of its own, for answers that
/// are too long for [`Events`].
pub fn long_input(
    next: u32,
    entity: Entity,
    (key, ticket): (u64, u64),
    asked: u64,
    answer: &[u8],
) -> Vec<u8> {
    let mut bytes = vec![tag::NUMBERS, 0];
    put(&mut bytes, u64::from(next));
    bytes.push(tag::CONTINUED);
    [0, entity.bits(), key, ticket].into_iter().for_each(|field| put(&mut bytes, field));
    bytes.push(tag::INPUT);
    put(&mut bytes, asked);
    put(&mut bytes, answer.len() as u64);
    bytes.extend(answer);
    bytes.extend([tag::COUNTED, 0]);
    bytes
}

/// The bytes of the end of a sandbox: a block of its own.
pub fn sandbox_ended(sandbox: u64, end: &SandboxEnd) -> Vec<u8> {
    let mut bytes = vec![tag::ENDED];
    let place = end.place.map_or(0, |place| place + 1);
    [sandbox, u64::from(end.reason), place].into_iter().for_each(|it| put(&mut bytes, it));
    put_text(&mut bytes, &end.report);
    bytes
}

/// Appends a number, seven bits in each byte, the lowest first.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
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
