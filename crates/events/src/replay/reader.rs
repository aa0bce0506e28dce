//! Reads recordings: checks each block, and puts the pieces of workers together to what vats and strands did.
//! `squall replay` and a fuzz target call it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

use super::{
    AtPoll, BlockKind, End, EndsAt, Entity, Extent, Head, LAST_NUMBER, LONGEST, MAGIC, SandboxEnd,
    check_sum, tag, unfolded,
};

/// A recording that was read.
#[derive(Debug, Default)]
pub struct Recording {
    /// What it is of.
    pub head: Head,
    /// The items of each vat, in order.
    pub vats: HashMap<u64, VecDeque<Item>>,
    /// What strands have done that run beside others or are in no vat.
    pub strands: HashMap<u64, Part>,
    /// The places of operations at which strands were woken since their time was over, or since something outside was ready,
    /// which is true then.
    pub woken: HashMap<u64, (Entity, bool)>,
    /// The ends of sandboxes, by their numbers.
    pub sandboxes: HashMap<u64, SandboxEnd>,
    /// The modules that the program has loaded, with their digests.
    pub modules: HashMap<String, u64>,
    /// The end of the run; none if the file was cut.
    pub end: Option<End>,
    /// How many items there are.
    pub items: usize,
    /// How many bytes the events take.
    pub bytes: usize,
}

/// A turn of a vat, or the run of a strand that it runs one at a time.
#[derive(Debug)]
pub struct Item {
    /// What runs.
    pub what: What,
    /// What it does.
    pub part: Part,
}

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The turn for the message with this number begins.
    Turn(u32),
    /// The turn goes on.
    SameTurn,
    /// The strand with this number runs.
    Strand(u64),
}

/// What has happened somewhere, in order.
#[derive(Debug, Default)]
pub struct Part {
    /// The numbers of the messages that were sent.
    pub runs: VecDeque<Run>,
    /// The events.
    pub events: VecDeque<Event>,
}

impl Part {
    /// Adds what has followed.
    fn extend(&mut self, other: Part) {
        self.runs.extend(other.runs);
        self.events.extend(other.events);
    }
}

/// Numbers in sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first.
    pub next: u32,
    /// How many, if that is known.
    pub count: Option<u32>,
}

/// Something that happens in a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The vat with this number is made.
    Created(u64),
    /// The strand with this number is started.
    Started(u64),
    /// A promise is decided, or it is too late for that.
    Decided(bool),
    /// A text is written, which has this place among all and this check.
    Output(u64, u64),
    /// This is asked for, and that comes from outside.
    Input(u64, Vec<u8>),
    /// An operation on something shared, with this place among all of them.
    Ordered(u64),
    /// A transaction that commits: it happens at this place, as far as that says.
    Atomic(u64, Extent),
    /// A transaction that has had an effect reads something after all operations before this place.
    After(u64),
    /// The strand begins to end there, since another one has ended it.
    Killed(EndsAt),
    /// This happens at the poll with this number of an item; if it is 0, before the first one.
    Polled(u64, AtPoll),
    /// The strand begins to end, since its sandbox is over, in a wait or not; or the turn does not begin.
    Over(bool),
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Created(vat) => write!(formatter, "it makes actor {vat}"),
            Event::Started(strand) => write!(formatter, "it starts strand {strand}"),
            Event::Decided(true) => formatter.write_str("it settles a promise"),
            Event::Decided(false) => formatter.write_str("it comes too late to settle a promise"),
            Event::Output(place, _) => write!(formatter, "it writes text {place} of the output"),
            Event::Input(..) => formatter.write_str("it asks for something outside"),
            Event::Ordered(_) => formatter.write_str("it uses something that strands share"),
            Event::Polled(_, AtPoll::GivesWay) => {
                formatter.write_str("it gives way to another one")
            }
            Event::Polled(_, AtPoll::Ends) | Event::Killed(_) => {
                formatter.write_str("it is ended by another strand")
            }
            Event::Over(_) => formatter.write_str("its sandbox is over"),
            Event::Atomic(..) => formatter.write_str("it executes a transaction"),
            Event::After(_) => {
                formatter.write_str("it reads in a transaction what others have written")
            }
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
    /// Whether a recording begins with these bytes.
    pub fn is_begun_by(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

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

/// The place of a piece among those of its entity: the key, and the ticket of a continuation.
type PieceKey = (u64, u64);

/// A piece of a vat: what it begins, or nothing if it goes on.
type VatPiece = (Option<What>, Part);

#[derive(Default)]
struct Parts {
    recording: Recording,
    vats: HashMap<u64, BTreeMap<PieceKey, VatPiece>>,
    strands: HashMap<u64, BTreeMap<PieceKey, Part>>,
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
                self.pieces(&mut fields)?;
            }
            _ => return fields.wrong("this kind of block is unknown"),
        }
        match fields.rest {
            [] => Ok(()),
            _ => fields.wrong("this block is too long"),
        }
    }

    /// Reads the pieces of one worker.
    fn pieces(&mut self, fields: &mut Fields<'_>) -> Result<(), BadRecording> {
        let mut worker = WorkerPart::default();
        while let Some((&tag, rest)) = fields.rest.split_first() {
            let at = fields.at;
            (fields.rest, fields.at) = (rest, at + 1);
            if let Some(piece) = worker.begin(tag, fields)? {
                self.close(&mut worker, piece).map_err(|reason| BadRecording { at, reason })?;
            } else {
                self.event(&mut worker, tag, fields)?;
            }
        }
        let nothing = Opened { made: None, place: None, what: None };
        let reason = |reason| BadRecording { at: fields.at, reason };
        self.close(&mut worker, nothing).map_err(reason)
    }

    /// Reads an event of a piece.
    fn event(
        &mut self,
        worker: &mut WorkerPart,
        tag: u8,
        fields: &mut Fields<'_>,
    ) -> Result<(), BadRecording> {
        let at = fields.at - 1;
        let event = match tag {
            tag::NUMBERS => {
                let (made, next) = (fields.made()?, fields.made()?);
                worker.made(made);
                worker.next = Some(next);
                return Ok(());
            }
            tag::COUNTED => {
                let made = fields.made()?;
                worker.made(made);
                worker.next = None;
                return Ok(());
            }
            tag::WOKEN | tag::READY => {
                let place = worker.place(fields)?;
                let entity = Entity::of_bits(fields.number()?);
                return match self.recording.woken.insert(place, (entity, tag == tag::READY)) {
                    None => Ok(()),
                    Some(_) => Err(BadRecording { at, reason: "this place is there twice" }),
                };
            }
            tag::ENDED => {
                let sandbox = fields.number()?;
                let end = fields.sandbox_end()?;
                return match self.recording.sandboxes.insert(sandbox, end) {
                    None => Ok(()),
                    Some(_) => Err(BadRecording { at, reason: "this sandbox ends twice" }),
                };
            }
            tag::OVER => Event::Over(fields.number()? != 0),
            tag::CREATED => Event::Created(fields.number()?),
            tag::STARTED => Event::Started(fields.number()?),
            tag::DECIDED => Event::Decided(true),
            tag::LATE => Event::Decided(false),
            tag::OUTPUT => Event::Output(fields.number()?, fields.number()?),
            tag::ORDERED => Event::Ordered(worker.place(fields)?),
            tag::ATOMIC => Event::Atomic(worker.place(fields)?, fields.extent()?),
            tag::KILLED => Event::Killed(fields.ends_at()?),
            tag::POLLED => Event::Polled(fields.number()?, fields.at_poll()?),
            tag::AFTER => Event::After(worker.place(fields)?),
            tag::INPUT => {
                let asked = fields.number()?;
                let length = fields.number()?;
                let answer = fields.take(usize::try_from(length).unwrap_or(usize::MAX))?;
                Event::Input(asked, answer.to_vec())
            }
            _ => return Err(BadRecording { at, reason: "this event is unknown" }),
        };
        worker.part.events.push_back(event);
        Ok(())
    }

    /// Ends the piece that a worker is in, and begins this one.
    fn close(&mut self, worker: &mut WorkerPart, next: Opened) -> Result<(), &'static str> {
        match next.made {
            Some(made) => worker.made(made),
            None => worker.end(),
        }
        let part = std::mem::take(&mut worker.part);
        let what = std::mem::replace(&mut worker.what, next.what);
        let replaced = match std::mem::replace(&mut worker.open, next.place) {
            Some((Entity::Vat(vat), key)) => {
                self.vats.entry(vat).or_default().insert(key, (what, part)).is_some()
            }
            Some((Entity::Strand(strand), key)) => {
                self.strands.entry(strand).or_default().insert(key, part).is_some()
            }
            None => false,
        };
        if replaced { Err("this piece is there twice") } else { Ok(()) }
    }

    fn finish(mut self) -> Recording {
        for (vat, pieces) in self.vats {
            let mut items: VecDeque<Item> = VecDeque::new();
            for (what, part) in pieces.into_values() {
                match (what, items.back_mut()) {
                    (None, Some(item)) => item.part.extend(part),
                    // Its beginning was lost with the end of the file.
                    (None, None) => items.push_back(Item { what: What::SameTurn, part }),
                    (Some(what), _) => items.push_back(Item { what, part }),
                }
            }
            self.recording.items += items.len();
            self.recording.vats.insert(vat, items);
        }
        for (strand, pieces) in self.strands {
            let mut whole = Part::default();
            pieces.into_values().for_each(|part| whole.extend(part));
            self.recording.strands.insert(strand, whole);
        }
        self.recording
    }
}

/// The beginning of a piece: the numbers that were made before, if they are known; whose piece it is, if anybody's; and what it
/// begins.
struct Opened {
    made: Option<u32>,
    place: Option<(Entity, PieceKey)>,
    what: Option<What>,
}

/// The piece of one worker that is being read.
#[derive(Default)]
struct WorkerPart {
    open: Option<(Entity, PieceKey)>,
    what: Option<What>,
    part: Part,
    /// The next number that the worker has, if that is known.
    next: Option<u32>,
    /// The message of the last turn.
    message: u32,
    /// The vat of the last turn or item, and its key.
    vat: (u64, u64),
    /// The last place of an operation.
    place: u64,
}

impl WorkerPart {
    /// The piece that begins with this tag; none if it is the tag of another event.
    fn begin(&mut self, tag: u8, fields: &mut Fields<'_>) -> Result<Option<Opened>, BadRecording> {
        if tag & tag::TURN != 0 {
            return self.turn(tag, fields).map(Some);
        }
        Ok(match tag {
            tag::ITEM => {
                let made = fields.made()?;
                let (vat, key) = (fields.number()?, fields.number()?);
                self.vat = (vat, key);
                let what = match fields.number()? {
                    0 => What::SameTurn,
                    strand => What::Strand(strand - 1),
                };
                let place = Some((Entity::Vat(vat), (key, 0)));
                Some(Opened { made: Some(made), place, what: Some(what) })
            }
            tag::CONTINUED => {
                let made = fields.made()?;
                let entity = Entity::of_bits(fields.number()?);
                let place = Some((entity, (fields.number()?, fields.number()?)));
                Some(Opened { made: Some(made), place, what: None })
            }
            tag::STRAND => {
                let made = fields.made()?;
                let entity = Entity::Strand(fields.number()?);
                let place = Some((entity, (fields.number()?, 0)));
                Some(Opened { made: Some(made), place, what: None })
            }
            _ => None,
        })
    }

    fn turn(&mut self, tag: u8, fields: &mut Fields<'_>) -> Result<Opened, BadRecording> {
        let few = tag & tag::MANY;
        let made = if few == tag::MANY { fields.made()? } else { u32::from(few) };
        self.vat = match tag & tag::SAME_VAT {
            0 => (fields.number()?, fields.number()?),
            _ => (self.vat.0, self.vat.1.wrapping_add(1)),
        };
        let message = i64::from(self.message).wrapping_add(unfolded(fields.number()?));
        self.message = match u32::try_from(message) {
            Ok(number) if number <= LAST_NUMBER => number,
            _ => return fields.wrong("this is no number of a message"),
        };
        let place = Some((Entity::Vat(self.vat.0), (self.vat.1, 0)));
        Ok(Opened { made: Some(made), place, what: Some(What::Turn(self.message)) })
    }

    /// The place of an operation.
    fn place(&mut self, fields: &mut Fields<'_>) -> Result<u64, BadRecording> {
        self.place = self.place.wrapping_add(fields.number()?);
        Ok(self.place)
    }

    /// So many numbers were taken since the last count.
    fn made(&mut self, made: u32) {
        if let Some(next) = self.next {
            self.part.runs.push_back(Run { next, count: Some(made) });
            self.next = Some(next.saturating_add(made));
        }
    }

    /// Nothing follows in this block: the last count is unknown.
    fn end(&mut self) {
        if let Some(next) = self.next {
            self.part.runs.push_back(Run { next, count: None });
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

    /// How much of a transaction has a place.
    fn extent(&mut self) -> Result<Extent, BadRecording> {
        match self.number()? {
            0 => Ok(Extent::Whole),
            1 => Ok(Extent::UpToEffect),
            _ => self.wrong("transactions go no such way"),
        }
    }

    /// What happens at a poll.
    fn at_poll(&mut self) -> Result<AtPoll, BadRecording> {
        match self.number()? {
            0 => Ok(AtPoll::GivesWay),
            1 => Ok(AtPoll::Ends),
            _ => self.wrong("nothing of this kind happens at polls"),
        }
    }

    /// How a sandbox has ended.
    fn sandbox_end(&mut self) -> Result<SandboxEnd, BadRecording> {
        let Ok(reason) = u8::try_from(self.number()?) else {
            return self.wrong("no sandbox ends for this reason");
        };
        let place = self.number()?.checked_sub(1);
        Ok(SandboxEnd { reason, place, report: self.text()? })
    }

    /// Where a strand begins to end.
    fn ends_at(&mut self) -> Result<EndsAt, BadRecording> {
        match self.number()? {
            0 => Ok(EndsAt::SomePoll),
            1 => Ok(EndsAt::Wait),
            2 => Ok(EndsAt::Poll(self.number()?)),
            3 => Ok(EndsAt::WaitBehind(self.number()?)),
            _ => self.wrong("no strand ends in this way"),
        }
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
