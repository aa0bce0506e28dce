//! Reads recordings: checks each block, and puts the segments of workers together to the turns of vats. `squall replay`
//! and a fuzz target call it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

use super::{BlockKind, End, Head, LAST_NUMBER, LONGEST, MAGIC, check_sum, tag};

/// A recording that was read.
#[derive(Debug, Default)]
pub struct Recording {
    /// What it is of.
    pub head: Head,
    /// The turns of each vat, in order.
    pub vats: HashMap<u64, VecDeque<Turn>>,
    /// The modules that the program has loaded, with their digests.
    pub modules: HashMap<String, u64>,
    /// The end of the run; none if the file was cut.
    pub end: Option<End>,
    /// How many turns there are.
    pub turns: usize,
    /// How many bytes the events take.
    pub bytes: usize,
}

/// A turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// The number of its message.
    pub message: u32,
    /// The numbers of the messages that it sends.
    pub runs: VecDeque<Run>,
    /// What has happened in it, in order.
    pub events: VecDeque<Event>,
}

/// Numbers in sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first.
    pub next: u32,
    /// How many, if that is known.
    pub count: Option<u32>,
}

/// Something that happens in a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The turn makes the vat with this number.
    Created(u64),
    /// The turn decides a promise, or is too late for that.
    Decided(bool),
    /// The turn writes a text, which has this place among all and this check.
    Output(u64, u64),
    /// The turn asks for this and gets that.
    Input(u64, Vec<u8>),
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Created(vat) => write!(formatter, "it makes actor {vat}"),
            Event::Decided(true) => formatter.write_str("it settles a promise"),
            Event::Decided(false) => formatter.write_str("it comes too late to settle a promise"),
            Event::Output(place, _) => write!(formatter, "it writes text {place} of the output"),
            Event::Input(..) => formatter.write_str("it asks for something outside"),
        }
    }
}

/// Why a file is no recording that can be replayed, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRecording {
    /// The byte in the file.
    pub at: usize,
    /// The mistake.
    pub reason: &'static str,
}

impl fmt::Display for BadRecording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at byte {}: {}", self.at, self.reason)
    }
}

impl Recording {
    /// Reads a whole file.
    pub fn read(bytes: &[u8]) -> Result<Recording, BadRecording> {
        if !bytes.starts_with(MAGIC) {
            let reason = match bytes.starts_with(&MAGIC[..6]) {
                true => "this version of the format is unknown",
                false => "this is no recording",
            };
            return Err(BadRecording { at: 0, reason });
        }
        let mut parts = Parts::default();
        let (mut at, mut place) = (MAGIC.len(), 0);
        while let Some(block) = Block::read(bytes, at, place)? {
            if (place == 0) != (block.kind == BlockKind::Head as u8) {
                return Err(BadRecording {
                    at,
                    reason: "the first block is the head, and no other",
                });
            }
            if parts.recording.end.is_some() {
                return Err(BadRecording { at, reason: "there is more behind the end" });
            }
            parts.block(&block)?;
            at += BLOCK_HEAD + block.payload.len();
            place += 1;
        }
        if place == 0 {
            return Err(BadRecording { at, reason: "the head is cut" });
        }
        Ok(parts.finish())
    }
}

/// The bytes before a block's payload.
const BLOCK_HEAD: usize = 9;

struct Block<'a> {
    /// Where the payload begins in the file.
    at: usize,
    kind: u8,
    payload: &'a [u8],
}

impl Block<'_> {
    /// The block that begins here; none at the end, or if the block was cut.
    fn read(bytes: &[u8], at: usize, place: u32) -> Result<Option<Block<'_>>, BadRecording> {
        let Some(head) = bytes.get(at..at + BLOCK_HEAD) else { return Ok(None) };
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if length > LONGEST {
            return Err(BadRecording { at, reason: "this block has no sensible length" });
        }
        let begin = at + BLOCK_HEAD;
        let Some(payload) = bytes.get(begin..begin + length) else { return Ok(None) };
        let sum = u32::from_le_bytes([head[5], head[6], head[7], head[8]]);
        if sum != check_sum(place, head[4], payload) {
            let reason = "this block was changed: its check sum is another one";
            return Err(BadRecording { at, reason });
        }
        Ok(Some(Block { at: begin, kind: head[4], payload }))
    }
}

/// Which segment of a turn: the key of the turn, and the ticket of the resumption.
type SegmentKey = (u64, u64);

#[derive(Default)]
struct Parts {
    recording: Recording,
    segments: HashMap<u64, BTreeMap<SegmentKey, Turn>>,
}

impl Parts {
    fn block(&mut self, block: &Block<'_>) -> Result<(), BadRecording> {
        let mut fields = Fields { at: block.at, rest: block.payload };
        match block.kind {
            kind if kind == BlockKind::Head as u8 => self.recording.head = fields.head()?,
            kind if kind == BlockKind::Module as u8 => {
                let digest = fields.fixed()?;
                self.recording.modules.insert(fields.text()?, digest);
            }
            kind if kind == BlockKind::End as u8 => {
                let code = fields.take(4)?;
                let code = i32::from_le_bytes([code[0], code[1], code[2], code[3]]);
                self.recording.end = Some(End { code });
            }
            kind if kind == BlockKind::Events as u8 => {
                self.recording.bytes += block.payload.len();
                while !fields.rest.is_empty() {
                    self.segment(&mut fields)?;
                }
            }
            _ => return fields.wrong("this kind of block is unknown"),
        }
        match fields.rest {
            [] => Ok(()),
            _ => fields.wrong("this block is too long"),
        }
    }

    /// Reads one segment. Its first event follows the last segment's numbers.
    fn segment(&mut self, fields: &mut Fields<'_>) -> Result<(), BadRecording> {
        let mut worker = WorkerPart::default();
        while let Some((&tag, rest)) = fields.rest.split_first() {
            let at = fields.at;
            (fields.rest, fields.at) = (rest, at + 1);
            match tag {
                tag::TURN | tag::RESUMED => {
                    let made = fields.made()?;
                    let (vat, key, last) = (fields.number()?, fields.number()?, fields.number()?);
                    self.close(&mut worker, made).map_err(|reason| BadRecording { at, reason })?;
                    let ticket = if tag == tag::TURN { 0 } else { last };
                    let message = if tag == tag::TURN { last as u32 } else { 0 };
                    worker.open = Some((vat, (key, ticket)));
                    worker.turn = Turn { message, ..Turn::default() };
                }
                tag::NUMBERS => {
                    let made = fields.made()?;
                    let next = fields.made()?;
                    worker.made(made);
                    worker.next = Some(next);
                }
                tag::PAUSED => {
                    let made = fields.made()?;
                    self.close(&mut worker, made).map_err(|reason| BadRecording { at, reason })?;
                }
                tag::CREATED => worker.turn.events.push_back(Event::Created(fields.number()?)),
                tag::DECIDED => worker.turn.events.push_back(Event::Decided(true)),
                tag::LATE => worker.turn.events.push_back(Event::Decided(false)),
                tag::OUTPUT => {
                    let output = Event::Output(fields.number()?, fields.number()?);
                    worker.turn.events.push_back(output);
                }
                tag::INPUT => {
                    let asked = fields.number()?;
                    let length = fields.number()?;
                    let answer = fields.take(usize::try_from(length).unwrap_or(usize::MAX))?;
                    worker.turn.events.push_back(Event::Input(asked, answer.to_vec()));
                }
                _ => return Err(BadRecording { at, reason: "this event is unknown" }),
            }
        }
        worker.end();
        let reason = "this turn is there twice";
        self.add(worker).map_err(|()| BadRecording { at: fields.at, reason })
    }

    /// Ends the segment that a worker is in, after so many numbers.
    fn close(&mut self, worker: &mut WorkerPart, made: u32) -> Result<(), &'static str> {
        worker.made(made);
        let next = worker.next;
        let closed = std::mem::replace(worker, WorkerPart { next, ..WorkerPart::default() });
        self.add(closed).map_err(|()| "this turn is there twice")
    }

    fn add(&mut self, worker: WorkerPart) -> Result<(), ()> {
        let Some((vat, key)) = worker.open else { return Ok(()) };
        let replaced = self.segments.entry(vat).or_default().insert(key, worker.turn);
        if replaced.is_some() { Err(()) } else { Ok(()) }
    }

    fn finish(mut self) -> Recording {
        for (vat, segments) in self.segments {
            let mut turns: VecDeque<Turn> = VecDeque::new();
            for ((_, ticket), segment) in segments {
                match turns.back_mut().filter(|_| ticket != 0) {
                    Some(turn) => {
                        turn.runs.extend(segment.runs);
                        turn.events.extend(segment.events);
                    }
                    None => turns.push_back(segment),
                }
            }
            self.recording.turns += turns.len();
            self.recording.vats.insert(vat, turns);
        }
        self.recording
    }
}

/// The segment of one worker that is being read.
#[derive(Default)]
struct WorkerPart {
    open: Option<(u64, SegmentKey)>,
    turn: Turn,
    /// The next number that the worker has, if that is known.
    next: Option<u32>,
}

impl WorkerPart {
    /// So many numbers were taken since the last count.
    fn made(&mut self, made: u32) {
        if let Some(next) = self.next {
            self.turn.runs.push_back(Run { next, count: Some(made) });
            self.next = Some(next.saturating_add(made));
        }
    }

    /// Nothing follows in this block: the last count is unknown.
    fn end(&mut self) {
        if let Some(next) = self.next {
            self.turn.runs.push_back(Run { next, count: None });
        }
    }
}

/// The fields of a block, and where they are in the file.
struct Fields<'a> {
    at: usize,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn wrong<R>(&self, reason: &'static str) -> Result<R, BadRecording> {
        Err(BadRecording { at: self.at, reason })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], BadRecording> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return self.wrong("this block is too short");
        };
        (self.rest, self.at) = (rest, self.at + count);
        Ok(taken)
    }

    fn fixed(&mut self) -> Result<u64, BadRecording> {
        let mut number = [0; 8];
        number.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(number))
    }

    fn number(&mut self) -> Result<u64, BadRecording> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        self.wrong("this number is too long")
    }

    /// A number or count of messages.
    fn made(&mut self) -> Result<u32, BadRecording> {
        match self.number()? {
            number @ 0..=0xffff_ffff if number as u32 <= LAST_NUMBER => Ok(number as u32),
            _ => self.wrong("this is no number of a message"),
        }
    }

    fn text(&mut self) -> Result<String, BadRecording> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let bytes = self.take(length)?.to_vec();
        String::from_utf8(bytes).or_else(|_| self.wrong("this text is no UTF-8"))
    }

    fn head(&mut self) -> Result<Head, BadRecording> {
        let (machine, program, key) = (self.text()?, self.fixed()?, self.fixed()?);
        let count = self.number()?;
        let arguments: Result<_, _> = (0..count).map(|_| self.text()).collect();
        Ok(Head { machine, program, key, arguments: arguments? })
    }
}
