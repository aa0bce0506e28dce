//! The recorder: the file of a recording, what its workers have in common, and what each of them notes.
//!
//! Protocol. A worker appends to its own [`Events`] without a lock, and looks at the flag *closed* before. It writes them to the
//! file, and forgets them, under the file's lock, if the recording is not closed. The thread that closes sets the flag
//! under that lock, executes a heavy fence, and copies what each worker has published. So the file is a consistent cut: if an
//! event was copied, those that it depends on were published before, and are copied, too; and an event that depends on one
//! that was not copied comes after the fence, and finds the flag.
//!
//! Until then, what workers have published is [put](Recorder::keep_up) behind the rest of the file now and then, for a process that
//! is killed, and is written again by its worker. This is a cut, too, if no worker has published anything while it was taken.
//!
//! The *order* is a lock that is held during each operation on an object that strands share, and during each commit. It counts
//! them. The count can be [read](Recorder::place) without the lock: a strand that has seen what an operation has done reads a
//! count behind the place of that.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use squall_events::replay::{
    Appender, AtPoll, BLOCK, End, EndsAt, Entity, Events, Extent, LAST_NUMBER, SandboxEnd, Writer,
    digest, long_input, sandbox_ended,
};

use crate::state::fences;
use crate::state::vm::Vm;

/// The recorder that the process closes when it ends, and what it says then.
static OPEN: OnceLock<(&'static Recorder, String)> = OnceLock::new();

/// How long the end of the process waits for a thread that writes to the recording; it may be the one that ends.
const PATIENCE: Duration = Duration::from_secs(1);

extern "C" fn end_open() {
    let Some((recorder, text)) = OPEN.get() else { return };
    if recorder.close_without_end() {
        Vm::of_process().host().write_error(&format!("{text}\n"));
    }
}

/// Something from outside: what was asked for, and the answer.
type Input = (u64, Vec<u8>);

/// What has happened to a strand while its vat was another worker's.
#[derive(Default)]
struct Late {
    inputs: Vec<Input>,
    /// Whether it begins to end then, since its sandbox is over.
    is_over: bool,
}

/// Writes a recording.
pub struct Recorder {
    writer: Mutex<Writer>,
    workers: Mutex<Vec<Arc<Events>>>,
    blocks: AtomicU64,
    tickets: AtomicU64,
    /// How many texts were written. Held while one is written.
    pub outputs: Mutex<u64>,
    /// How many operations on shared objects there were. Held during one.
    order: Mutex<u64>,
    /// That number times 2, and 1 if a transaction is about to commit.
    places: AtomicU64,
    /// What came from outside for strands, by their identities, that have to wait for their vats before they may note it.
    late: Mutex<HashMap<u64, Late>>,
    /// How many sandboxes were made.
    pub(super) sandboxes: AtomicU64,
    /// How many polls threads and tasks that do not run have come to, by their identities.
    pub(super) polls: Mutex<HashMap<u64, u64>>,
    is_closed: AtomicBool,
    failure: OnceLock<String>,
}

impl Recorder {
    /// Writes with this.
    pub fn new(writer: Writer) -> Recorder {
        Recorder {
            writer: Mutex::new(writer),
            workers: Mutex::default(),
            blocks: AtomicU64::new(0),
            tickets: AtomicU64::new(1),
            outputs: Mutex::new(0),
            order: Mutex::new(0),
            places: AtomicU64::new(0),
            late: Mutex::default(),
            sandboxes: AtomicU64::new(0),
            polls: Mutex::default(),
            is_closed: AtomicBool::new(false),
            failure: OnceLock::new(),
        }
    }

    /// Notes that the program has loaded a module.
    pub fn module(&self, path: &str, bytes: &[u8]) {
        let written = self.writer.lock().module(path, digest(bytes));
        self.keep_failure(written);
    }

    /// The run has ended. What other workers still do belongs to it no more. Answers why the recording is incomplete, if it is.
    pub fn close(&self, code: i32) -> Option<String> {
        let mut writer = self.writer.lock();
        self.write_rest(&mut writer);
        let written = writer.end(End { code });
        self.keep_failure(written);
        self.failure.get().cloned()
    }

    /// The process ends, and not by its program: the recording gets what was noted, but no end. Answers whether it was open.
    pub fn close_without_end(&self) -> bool {
        let Some(mut writer) = self.writer.try_lock_for(PATIENCE) else { return false };
        let is_open = !self.is_closed.load(Ordering::SeqCst);
        if is_open {
            self.write_rest(&mut writer);
        }
        is_open
    }

    /// Puts what workers have noted into the file, for now. Answers whether the recording is open.
    pub fn keep_up(&self) -> bool {
        /// How often one looks for a moment at which nothing is noted.
        const TRIES: usize = 10;
        let mut writer = self.writer.lock();
        let workers = self.workers.lock();
        let lengths = || workers.iter().map(|worker| worker.length()).collect::<Vec<_>>();
        let mut copies = Vec::new();
        for _ in 0..TRIES {
            let before = lengths();
            copies = workers.iter().map(|worker| worker.copy()).collect();
            if before == lengths() {
                break;
            }
        }
        drop(workers);
        let is_open = !self.is_closed.load(Ordering::SeqCst);
        if is_open {
            let written = writer.tail(copies.iter().map(Vec::as_slice));
            self.keep_failure(written);
        }
        is_open
    }

    /// Writes what workers have noted; what they do from now on belongs to the run no more.
    fn write_rest(&self, writer: &mut Writer) {
        self.is_closed.store(true, Ordering::SeqCst);
        fences::heavy();
        for worker in self.workers.lock().iter() {
            let written = writer.events(&worker.copy());
            self.keep_failure(written);
        }
    }

    /// If the process ends elsewhere, in C or by a bug of the machine, the recording gets what was noted, but no end, and
    /// this text is written to the standard error. For one recorder of the process.
    pub fn close_with_process(&'static self, text: String) {
        if OPEN.set((self, text)).is_ok() {
            // SAFETY: the function is there for as long as the process, and unwinds into no frame of C: it does not panic.
            _ = unsafe { libc::atexit(end_open) };
        }
    }

    fn keep_failure(&self, written: std::io::Result<()>) {
        if let Err(error) = written {
            _ = self.failure.set(error.to_string());
            self.is_closed.store(true, Ordering::SeqCst);
        }
    }

    /// The first of a block of numbers.
    fn block(&self) -> u32 {
        let count = u64::from(LAST_NUMBER / BLOCK);
        // Relaxed: the numbers need only differ.
        let block = self.blocks.fetch_add(1, Ordering::Relaxed) % count;
        block as u32 * BLOCK + 1
    }

    /// The right to an operation on shared objects, and its place; none if another thread has it.
    pub fn try_order(&'static self) -> Option<MutexGuard<'static, u64>> {
        self.order.try_lock()
    }

    /// As [`Recorder::try_order`]; waits for it. The caller touches no object meanwhile.
    pub fn order(&'static self) -> MutexGuard<'static, u64> {
        self.order.lock()
    }
}

/// The order of operations.
impl Recorder {
    /// The next place, for an operation that begins now. The caller has the right to it.
    pub fn take_place(&self, order: &mut u64) -> u64 {
        let place = *order;
        *order += 1;
        // Pairs with the load in `place`, by way of whatever the operation does to something that strands share.
        self.places.store(*order << 1, Ordering::Release);
        place
    }

    /// A transaction is about to commit. The caller has the right to an operation, and takes its place, or calls
    /// [`Recorder::commits_not`], before it comes to a GC point.
    pub fn commits(&self, order: u64) {
        self.places.store(order << 1 | 1, Ordering::Release);
        // With the fence in `place`: either that finds the odd number, or the commit takes its time from a clock that has come
        // as far as the reader has seen.
        fence(Ordering::SeqCst);
    }

    /// The transaction has not committed.
    pub fn commits_not(&self, order: u64) {
        self.places.store(order << 1, Ordering::Release);
    }

    /// A place behind those of all operations of which the caller has seen anything. Waits for a commit, in which no GC point
    /// is.
    pub fn place(&self) -> u64 {
        fence(Ordering::SeqCst);
        loop {
            let places = self.places.load(Ordering::Acquire);
            if places & 1 == 0 {
                return places >> 1;
            }
            std::hint::spin_loop();
        }
    }
}

/// The piece of the recording that a worker is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// None: what happens is no part of a turn or strand of which the recording tells.
    Nobody,
    /// A turn, with its message.
    Turn(u32),
    /// An item of a vat: the strand with this number, or the turn that goes on.
    Item(Option<u64>),
    /// A piece that was noted already, here or elsewhere.
    Continued,
    /// A strand that runs beside others or is in no vat.
    Strand,
}

/// What a worker notes.
pub struct Notes {
    pub recorder: &'static Recorder,
    /// Whether a primitive runs here of which the answer is noted: the replay does not go outside, and stops where this does.
    pub asks: Cell<bool>,
    /// Whether the strand that runs here stops at a poll, which ends its item.
    pub has_polled: Cell<bool>,
    events: Arc<Events>,
    piece: Cell<Piece>,
    entity: Cell<Entity>,
    key: Cell<u64>,
    /// Whether the piece's beginning is in the block.
    is_begun: Cell<bool>,
    /// Whether the block says which number is the next one.
    has_numbers: Cell<bool>,
    /// The next number, and the end of the numbers that the worker has.
    next: Cell<u32>,
    end: Cell<u32>,
    /// The next number when such numbers were counted last.
    counted: Cell<u32>,
    /// The message, the vat with its key, and the place that were noted last in the block.
    message: Cell<u32>,
    vat: Cell<(u64, u64)>,
    place: Cell<u64>,
}

impl Notes {
    /// The notes of a native thread that attaches to the machine.
    pub fn new(recorder: &'static Recorder) -> Notes {
        let events = Arc::<Events>::default();
        recorder.workers.lock().push(events.clone());
        Notes {
            recorder,
            asks: Cell::new(false),
            has_polled: Cell::new(false),
            events,
            piece: Cell::new(Piece::Nobody),
            entity: Cell::new(Entity::Vat(0)),
            key: Cell::new(0),
            is_begun: Cell::new(false),
            has_numbers: Cell::new(false),
            next: Cell::new(0),
            end: Cell::new(0),
            counted: Cell::new(0),
            message: Cell::new(0),
            vat: Cell::new((0, 0)),
            place: Cell::new(0),
        }
    }

    /// Whether a turn or strand runs here of which the recording tells.
    #[inline(always)]
    pub fn is_in_piece(&self) -> bool {
        self.piece.get() != Piece::Nobody
    }

    /// Whether an item of a vat runs here.
    pub fn is_in_vat(&self) -> bool {
        self.is_in_piece() && matches!(self.entity.get(), Entity::Vat(_))
    }

    /// Whether this piece runs here, and was begun.
    #[inline(always)]
    pub fn is_in(&self, entity: Entity, key: u64) -> bool {
        self.is_in_piece() && self.entity.get() == entity && self.key.get() == key
    }

    /// What follows belongs to nobody.
    #[inline(always)]
    pub fn leave(&self) {
        self.piece.set(Piece::Nobody);
        self.is_begun.set(false);
    }

    /// The piece that runs here stops, and may go on elsewhere: how many numbers it has taken here must be known, even if
    /// nothing else follows in the block.
    pub fn pause(&self) {
        self.count();
        self.leave();
    }

    /// How many numbers the piece that runs here has taken is known from here on.
    fn count(&self) {
        if self.is_begun.get() && self.has_numbers.get() {
            if !self.events.has_room(0) {
                self.write(&[]);
            } else if !self.is_closed() {
                self.events.append().counted(self.made());
                self.has_numbers.set(false);
            }
        }
    }

    /// What follows belongs to a piece. The beginning of a vat's piece is noted at once, that of others at their first event.
    #[inline]
    pub fn enter(&self, piece: Piece, entity: Entity, key: u64) {
        self.piece.set(piece);
        self.entity.set(entity);
        self.key.set(key);
        self.is_begun.set(false);
        if matches!(piece, Piece::Turn(_) | Piece::Item(_)) {
            self.prepare();
        }
    }

    /// A turn of a vat begins.
    #[inline(always)]
    pub fn enter_turn(&self, vat: u64, key: u64, message: u32) {
        if !self.events.has_room(0) || !self.has_numbers.get() {
            return self.enter(Piece::Turn(message), Entity::Vat(vat), key);
        }
        self.piece.set(Piece::Turn(message));
        self.entity.set(Entity::Vat(vat));
        self.key.set(key);
        self.is_begun.set(true);
        if !self.is_closed() {
            self.note_turn(vat, key, message);
        }
    }

    #[inline(always)]
    fn note_turn(&self, vat: u64, key: u64, message: u32) {
        let before = self.vat.replace((vat, key));
        let follows = before == (vat, key.wrapping_sub(1));
        let step = i64::from(message) - i64::from(self.message.replace(message));
        let place = if follows { None } else { Some((vat, key)) };
        self.events.append().turn(self.made(), place, step);
    }

    #[inline(always)]
    fn is_closed(&self) -> bool {
        // See the head of the file: the fence of the closing thread is the heavy one.
        fences::light();
        self.recorder.is_closed.load(Ordering::Relaxed)
    }

    /// How many numbers were taken since the last call.
    #[inline(always)]
    fn made(&self) -> u32 {
        self.next.get() - self.counted.replace(self.next.get())
    }

    /// Sees to it that the next event belongs to the piece.
    #[inline(always)]
    fn prepare(&self) {
        if !self.events.has_room(0) {
            self.write(&[]);
        }
        if !self.is_begun.get() {
            self.begin_piece();
        }
    }

    /// Writes the events to the file, and then these bytes, which are a block of their own.
    #[cold]
    fn write(&self, more: &[u8]) {
        self.events.append().counted(self.made());
        let mut writer = self.recorder.writer.lock();
        if !self.is_closed() {
            let written = writer.events(&self.events.copy()).and_then(|()| writer.events(more));
            self.recorder.keep_failure(written);
            self.events.clear();
        }
        drop(writer);
        self.has_numbers.set(false);
        self.message.set(0);
        self.vat.set((0, 0));
        self.place.set(0);
        if self.is_begun.replace(false) {
            self.piece.set(self.continued());
        }
    }

    /// How the piece that runs here is continued.
    fn continued(&self) -> Piece {
        match self.entity.get() {
            Entity::Vat(_) => Piece::Continued,
            Entity::Strand(_) => self.piece.get(),
        }
    }

    #[cold]
    fn begin_piece(&self) {
        self.is_begun.set(true);
        if self.is_closed() {
            return;
        }
        let mut events = self.events.append();
        if !self.has_numbers.replace(true) {
            _ = self.made();
            events.numbers(0, self.next.get());
        }
        let (entity, key) = (self.entity.get(), self.key.get());
        match (self.piece.get(), entity) {
            (Piece::Turn(message), Entity::Vat(vat)) => {
                drop(events);
                self.note_turn(vat, key, message);
            }
            (Piece::Item(strand), Entity::Vat(vat)) => {
                self.vat.set((vat, key));
                events.item(self.made(), vat, key, strand);
            }
            (Piece::Strand, Entity::Strand(strand)) => {
                events.strand(self.made(), strand, self.ticket());
            }
            (Piece::Nobody, _) => {}
            _ => events.continued(self.made(), entity, key, self.ticket()),
        }
    }

    /// A number that grows from piece to piece of an entity.
    fn ticket(&self) -> u64 {
        // Relaxed: the pieces of one entity are ordered by the queues that its strand was in.
        self.recorder.tickets.fetch_add(1, Ordering::Relaxed)
    }

    /// Appends an event of the piece that runs here, unless the recording is closed.
    #[inline]
    fn note(&self, append: impl FnOnce(&mut Appender<'_>)) {
        if !self.is_in_piece() {
            return;
        }
        self.prepare();
        if !self.is_closed() {
            append(&mut self.events.append());
        }
    }

    /// A number for a message; 0 if nobody sends it of whom the recording tells.
    #[inline(always)]
    pub fn number(&self) -> u32 {
        if self.next.get() == self.end.get() || !self.is_begun.get() {
            return self.number_slowly();
        }
        let number = self.next.get();
        self.next.set(number + 1);
        number
    }

    /// The number that was taken last.
    pub fn last_number(&self) -> u32 {
        self.next.get().wrapping_sub(1)
    }

    #[cold]
    fn number_slowly(&self) -> u32 {
        if !self.is_in_piece() {
            return 0;
        }
        self.prepare();
        if self.next.get() == self.end.get() {
            let made = self.made();
            let next = self.recorder.block();
            self.next.set(next);
            self.end.set(next + BLOCK);
            self.counted.set(next);
            if !self.is_closed() {
                self.events.append().numbers(made, next);
            }
        }
        self.next.replace(self.next.get() + 1)
    }

    /// A vat was made.
    pub fn created(&self, vat: u64) {
        self.note(|events| events.created(vat));
    }

    /// A strand was started.
    pub fn started(&self, strand: u64) {
        self.note(|events| events.started(strand));
    }

    /// A promise was decided, or it was too late for that.
    pub fn decided(&self, is_first: bool) {
        self.note(|events| events.decided(is_first));
    }

    /// A text was written.
    pub fn output(&self, place: u64, check: u64) {
        self.note(|events| events.output(place, check));
    }

    /// As [`Notes::input`], for a strand whose vat is another worker's. It is noted when the strand goes on.
    pub fn late_input(&self, strand: u64, asked: u64, answer: &[u8]) {
        let mut late = self.recorder.late.lock();
        late.entry(strand).or_default().inputs.push((asked, answer.to_vec()));
    }

    /// As [`Notes::over`], for such a strand.
    pub(super) fn late_over(&self, strand: u64) {
        self.recorder.late.lock().entry(strand).or_default().is_over = true;
    }

    /// Notes what has happened to a strand that goes on here while its vat was another worker's.
    pub fn late_events(&self, strand: u64) {
        let Some(Late { inputs, is_over }) = self.recorder.late.lock().remove(&strand) else {
            return;
        };
        for (asked, answer) in inputs {
            self.input(asked, &answer);
        }
        if is_over {
            self.over(false);
        }
    }

    /// Something came from outside.
    pub fn input(&self, asked: u64, answer: &[u8]) {
        if self.events.has_room(answer.len()) || !self.is_in_piece() {
            return self.note(|events| events.input(asked, answer));
        }
        self.prepare();
        let (entity, key, ticket) = (self.entity.get(), self.key.get(), self.ticket());
        // The pieces of a strand have the tickets as keys.
        let place = match entity {
            Entity::Vat(_) => (key, ticket),
            Entity::Strand(_) => (ticket, 0),
        };
        let bytes = long_input(self.next.get(), entity, place, asked, answer);
        self.write(&bytes);
    }

    /// An operation on something shared has this place.
    pub fn ordered(&self, place: u64) {
        self.prepare();
        if !self.is_closed() {
            self.events.append().ordered(place - self.place.replace(place));
        }
    }

    /// A transaction commits, which happens at this place or has had its first effect there.
    pub fn atomic(&self, place: u64, extent: Extent) {
        self.note(|events| events.atomic(place - self.place.replace(place), extent));
    }

    /// The strand that runs here begins to end there, since another one has ended it.
    pub fn killed(&self, place: EndsAt) {
        if let Entity::Strand(_) = self.entity.get() {
            self.note(|events| events.killed(place));
        }
    }

    /// The strand of the item that runs here gives way, or begins to end, at the poll with this number.
    pub fn polled(&self, polls: u64, what: AtPoll) {
        self.note(|events| events.polled(polls, what));
    }

    /// A transaction has read what operations before this place have done.
    pub fn after(&self, place: u64) {
        self.note(|events| events.after(place - self.place.replace(place)));
    }

    /// The strand that runs here begins to end, since its sandbox is over; or the turn does not begin. What it has sent is known.
    pub(super) fn over(&self, in_wait: bool) {
        self.note(|events| events.over(in_wait));
        self.count();
        if self.is_begun.replace(false) {
            self.piece.set(self.continued());
        }
    }

    /// A sandbox has ended like this.
    pub(super) fn ended(&self, sandbox: u64, end: &SandboxEnd) {
        if !self.is_closed() {
            self.write(&sandbox_ended(sandbox, end));
        }
    }

    /// A strand was woken at this place, since its time was over or something outside was ready.
    pub fn woken(&self, place: u64, entity: Entity, is_ready: bool) {
        if !self.events.has_room(0) {
            self.write(&[]);
        }
        if !self.is_closed() {
            let step = place - self.place.replace(place);
            self.events.append().woken(step, entity, is_ready);
        }
    }
}
