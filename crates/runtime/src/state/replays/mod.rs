//! Recording and replaying runs of all cores: what a machine notes about what runs, and how it repeats that
//! ([`squall_events::replay`] has the file). Vats, promises and the primitives for what is outside call this module.
//!
//! What runs in a vat depends on the order of its items, turns and runs of strands; on their messages; on what comes from
//! outside; and on objects that vats and strands share. So a recording has the order of each vat's items, for each turn its
//! message, and for each item what came from outside, and the places of its operations on shared objects. Strands that run
//! beside others have a part of their own.
//!
//! **Items.** An item of a vat is open from its beginning until its strand waits, yields or ends. A strand that is preempted
//! goes on before others of its vat, so that ends no item, and neither the moments of preemption nor polls are recorded.
//!
//! **Messages.** In an item, each message gets a number when it is made, or becomes a reaction to a promise: whichever thread
//! posts it later, the number says which send it is of. It is in the header of the message, where other objects have their
//! hash. Workers take numbers in blocks, so only the first number of a piece is in the recording.
//!
//! **Shared objects.** Operations on channels, locks and the like happen one at a time while a run is recorded, and have
//! places in one order. So have the commits of transactions.
//!
//! **Replaying.** A message that is posted is held until those before it, by the recording, are in the mailbox. What the
//! machine itself puts into mailboxes to settle promises is no turn, and is not held. The owner of a vat runs what the
//! recording says or nothing. An operation on shared objects waits for its place. So strands and turns may run at any
//! time, on one worker. Texts are written in the order of the recording. The program ends when all has happened that the
//! recording has.
//!
//! A run that is neither recorded nor replayed has no [`Tape`]; everything here is behind the flag that events are behind.

mod classes;
pub mod inputs;
mod mailboxes;
mod player;
mod polls;
mod recorder;
pub mod sandboxes;
mod transactions;

use std::cell::Cell;
use std::collections::VecDeque;

use parking_lot::MutexGuard;
use squall_events::replay::{Entity, Event, What, digest};
use squall_events::{Kind, Names};
use squall_heap::{Object, Word};

use crate::state::recording::{self, VmNames};
use crate::state::strand::{Delivery, Life, Model, StrandRef};
use crate::state::thread::Thread;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

pub use classes::{ClassLook, number_of_class, number_of_module};
pub use mailboxes::Sending;
pub use player::{Atomicity, Player, Waiting, Wanted};
pub use recorder::Recorder;
pub use transactions::Commit;

use inputs::CALLED_BACK;
use player::{Gate, Next};
use recorder::{Notes, Piece};

/// The exit code of a run that ends since it cannot be recorded, or is not what the recording says.
pub const REFUSED: i32 = 1;

/// What a machine is to do about recordings.
pub enum Replays {
    /// Record what happens.
    Record(Box<Recorder>),
    /// Repeat a recording.
    Replay(Box<Player>),
}

impl std::fmt::Debug for Replays {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Replays::Record(_) => "Record",
            Replays::Replay(_) => "Replay",
        })
    }
}

/// The identity of the strand of a turn that has begun and has no strand yet.
const NO_STRAND_YET: u64 = u64::MAX;

/// The part of a native thread in a recording or a replay.
pub enum Tape {
    /// What it notes.
    Records(Notes),
    /// What it repeats.
    Replays(Repeated),
}

/// What a native thread repeats.
pub struct Repeated {
    player: &'static Player,
    /// Whose item or part runs here.
    entity: Cell<Option<Entity>>,
    /// Whether the strand that runs here is about to wait for its place, which ends no item.
    is_at_gate: Cell<bool>,
    /// Whether the strand that runs here ends, since its sandbox is over.
    is_over: Cell<bool>,
    /// The number of the last message.
    last_number: Cell<u32>,
}

impl Tape {
    /// The tape of a native thread that attaches to the machine.
    pub fn new(replays: Option<&'static Replays>) -> Option<Box<Tape>> {
        Some(Box::new(match replays? {
            Replays::Record(recorder) => Tape::Records(Notes::new(recorder)),
            Replays::Replay(player) => {
                let (entity, is_at_gate) = (Cell::new(None), Cell::new(false));
                let (is_over, last_number) = (Cell::new(false), Cell::new(0));
                Tape::Replays(Repeated { player, entity, is_at_gate, is_over, last_number })
            }
        }))
    }

    /// Whether something runs here of which the recording tells.
    fn is_in_piece(&self) -> bool {
        match self {
            Tape::Records(notes) => notes.is_in_piece(),
            Tape::Replays(repeated) => repeated.entity.get().is_some(),
        }
    }
}

/// What runs gets from outside.
pub enum Answer {
    /// Nobody asks of whom the recording tells: ask as ever.
    Outside,
    /// Ask, and [note](Thread::note_input) the answer.
    Ask,
    /// This is the answer.
    Known(Vec<u8>),
    /// C has called a callback before it has answered.
    CalledBack(Vec<u8>),
    /// The strand was outside for it, while others of its vat ran: it is to ask again when the recording goes on with it.
    Later,
    /// The recording tells no more of this strand: it is to wait.
    Finished,
    /// The replay is over.
    Over,
}

/// Whether an operation on shared objects may happen.
pub enum Order {
    /// Nobody does it of whom the recording tells: it may.
    Outside,
    /// It may, while this is held.
    Recorded(MutexGuard<'static, u64>),
    /// It may, and [is to be reported](Thread::advance) afterwards.
    Open,
    /// The strand is to wait for this place.
    Closed(u64),
    /// The recording tells no more of this strand: it is to wait.
    Finished,
    /// The replay is over.
    Over,
}

/// Beginnings and ends of items. Each is called only if the thread is [watched](crate::state::recording::Watch).
impl Thread {
    /// An event of the table has happened.
    pub(crate) fn tape_event(&self, kind: Kind, fields: &[u64]) {
        let Some(tape) = &self.tape else { return };
        match kind {
            Kind::VatCreated if tape.is_in_piece() => {
                if let Tape::Records(notes) = &**tape {
                    notes.created(fields[0]);
                }
            }
            Kind::StrandResumed => self.resume_piece(tape),
            Kind::StrandBlocked => self.stop_piece(tape, true),
            Kind::WorkerIdle => self.leave_piece(),
            _ => {}
        }
    }

    /// The strand of the thread runs from now on.
    #[inline]
    pub(crate) fn tape_resumed(&self) {
        if let Some(tape) = &self.tape {
            self.resume_piece(tape);
        }
    }

    /// The strand that ran here has stopped. Unless it was preempted, its item is over.
    #[inline]
    pub(crate) fn tape_stopped(&self, strand: StrandRef, is_ready: bool) {
        let Some(tape) = &self.tape else { return };
        if is_ready {
            return self.tape_preempted(tape, strand);
        }
        // What its end causes still belongs to the item.
        if let Some(vat) = exclusive_vat(strand) {
            match &**tape {
                Tape::Records(_) => vat.close_item(),
                Tape::Replays(repeated) => repeated.player.close(vat.number(self.vm)),
            }
        }
    }

    fn tape_preempted(&self, tape: &Tape, strand: StrandRef) {
        let has_polled = match tape {
            Tape::Records(notes) => notes.has_polled.take(),
            Tape::Replays(_) => false,
        };
        self.stop_piece_of(tape, strand, self.yields || self.gives_way || has_polled);
    }

    /// The strand that runs here, which was in no vat, has got one: what follows is an item of that.
    pub(crate) fn tape_in_vat(&self) {
        let Some(tape) = self.tape.as_ref().filter(|tape| tape.is_in_piece()) else { return };
        self.resume_piece(tape);
    }

    /// Whether a strand that goes outside leaves its vat to others. A replay does not go outside where it has the answer, so
    /// elsewhere the order of strands must not depend on how long the strand is there.
    #[inline]
    pub fn leaves_vat(&self) -> bool {
        match self.tape.as_deref() {
            None => true,
            Some(Tape::Records(notes)) => notes.asks.get(),
            Some(Tape::Replays(_)) => false,
        }
    }

    /// The strand that runs here is about to leave its vat, which ends its item.
    pub(crate) fn tape_leaves(&self, vat: VatRef) {
        if let Some(Tape::Records(notes)) = self.tape.as_deref()
            && notes.is_in_piece()
        {
            vat.close_item();
            notes.pause();
        }
    }

    /// The strand that left its vat has it again: what follows is another item, unless the program has ended.
    pub(crate) fn tape_returns(&self) {
        if let Some(tape) = self.tape.as_ref()
            && let Tape::Records(_) = &**tape
            && self.vm.ended.code().is_none()
        {
            self.resume_piece(tape);
        }
    }

    /// A primitive runs of which the answer is noted, or has run.
    pub fn set_asks(&self, asks: bool) {
        if let Some(Tape::Records(notes)) = self.tape.as_deref() {
            notes.asks.set(asks);
        }
    }

    /// The strand that runs here yields.
    pub(crate) fn tape_yields(&self) {
        if let Some(tape) = &self.tape {
            self.stop_piece(tape, true);
        }
    }

    fn stop_piece(&self, tape: &Tape, ends: bool) {
        if let Some(strand) = self.running_strand() {
            self.stop_piece_of(tape, strand, ends);
        }
    }

    fn stop_piece_of(&self, tape: &Tape, strand: StrandRef, ends: bool) {
        let vat = exclusive_vat(strand).filter(|_| ends);
        match tape {
            Tape::Records(notes) => {
                if let Some(vat) = vat {
                    vat.close_item();
                }
                self.keep_polls(notes, strand);
                notes.pause();
            }
            Tape::Replays(repeated) => {
                if let Some(vat) = vat.filter(|_| !repeated.is_at_gate.get()) {
                    repeated.player.close(vat.number(self.vm));
                }
                self.leave_piece();
            }
        }
    }

    /// A strand runs here from now on.
    fn resume_piece(&self, tape: &Tape) {
        let Some(strand) = self.running_strand() else { return };
        if let Tape::Replays(repeated) = tape {
            repeated.is_over.set(false);
        }
        let vat = exclusive_vat(strand);
        let is_turn = vat.is_some_and(|vat| vat.turn() == Some(strand));
        if !is_turn && !strand.is_told() {
            return self.leave_piece();
        }
        match (tape, vat) {
            (Tape::Records(notes), Some(vat)) => self.resume_noted(notes, vat, strand, is_turn),
            (Tape::Records(notes), None) => {
                notes.enter(Piece::Strand, Entity::Strand(recording::number_of(strand)), 0);
            }
            (Tape::Replays(repeated), Some(vat)) => {
                self.resume_repeated(repeated, vat, strand, is_turn);
            }
            (Tape::Replays(repeated), None) => {
                let number = repeated.player.number_of_strand(recording::number_of(strand));
                repeated.entity.set(number.map(Entity::Strand));
                self.end_strand_if_due(repeated);
            }
        }
    }

    fn resume_noted(&self, notes: &Notes, vat: VatRef, strand: StrandRef, is_turn: bool) {
        let entity = Entity::Vat(vat.number(self.vm));
        if let Some(key) = vat.open_item() {
            if !notes.is_in(entity, key) {
                notes.enter(Piece::Continued, entity, key);
            }
            return;
        }
        let identity = recording::number_of(strand);
        let number = (!is_turn).then_some(identity);
        notes.enter(Piece::Item(number), entity, vat.begin_item());
        notes.late_events(identity);
    }

    fn resume_repeated(&self, repeated: &Repeated, vat: VatRef, strand: StrandRef, is_turn: bool) {
        let (number, identity) = (vat.number(self.vm), recording::number_of(strand));
        let player = repeated.player;
        if player.is_open(number) {
            player.runs_on(number, identity);
            repeated.entity.set(Some(Entity::Vat(number)));
            return;
        }
        self.leave_piece();
        let what = match is_turn {
            true => What::SameTurn,
            false => What::Strand(player.number_of_strand(identity).unwrap_or(0)),
        };
        repeated.entity.set(Some(Entity::Vat(number)));
        if let Err(text) = player.begin(number, identity, what) {
            self.diverge(&text);
        }
        self.end_item_if_due(player, vat, strand);
    }

    /// A turn of a vat begins, for this message.
    #[inline]
    pub(crate) fn begin_tape(&self, vat: VatRef, message: Object) {
        let Some(tape) = &self.tape else { return };
        let number = vat.number(self.vm);
        let message = message.assigned_hash().unwrap_or(0);
        match &**tape {
            Tape::Records(notes) => notes.enter_turn(number, vat.begin_item(), message),
            Tape::Replays(repeated) => {
                self.leave_piece();
                repeated.is_over.set(false);
                repeated.entity.set(Some(Entity::Vat(number)));
                let what = What::Turn(message);
                if let Err(text) = repeated.player.begin(number, NO_STRAND_YET, what) {
                    self.diverge(&text);
                }
            }
        }
    }

    /// What follows on this thread belongs to nobody.
    #[inline]
    pub(crate) fn leave_piece(&self) {
        match self.tape.as_deref() {
            Some(Tape::Records(notes)) => notes.leave(),
            Some(Tape::Replays(repeated)) => self.leave_repeated(repeated),
            None => {}
        }
    }

    fn leave_repeated(&self, repeated: &Repeated) {
        let Some(entity) = repeated.entity.take() else { return };
        let is_over = match entity {
            Entity::Vat(vat) => !repeated.player.is_open(vat),
            Entity::Strand(_) => false,
        };
        if is_over && let Err(text) = repeated.player.check_done(entity) {
            self.diverge(&text);
        }
        self.end_if_all_is_done(repeated.player);
    }

    /// In a replay: ends the program if all has happened that the recording has.
    fn end_if_all_is_done(&self, player: &Player) {
        if let Some(code) = player.code_at_end() {
            self.vm.end(code);
        }
    }

    /// The running strand has made another one.
    pub(crate) fn tape_started(&self, strand: StrandRef) {
        let Some(tape) = self.tape.as_ref().filter(|tape| tape.is_in_piece()) else { return };
        strand.tell();
        let identity = recording::number_of(strand);
        match &**tape {
            Tape::Records(notes) => notes.started(identity),
            Tape::Replays(repeated) => {
                let next = self.repeat(|event| matches!(event, Event::Started(_)));
                let number = match next {
                    Some(Next::Event(Event::Started(number))) => number,
                    _ => repeated.player.other(),
                };
                repeated.player.know_strand(identity, number);
            }
        }
    }

    /// In a replay: what the owner of a vat may run. None otherwise.
    #[cold]
    pub(crate) fn wanted_in(&self, vat: VatRef) -> Option<Wanted> {
        match self.tape.as_deref()? {
            Tape::Records(_) => None,
            Tape::Replays(repeated) => Some(repeated.player.wanted(vat.number(self.vm))),
        }
    }

    /// Whether the turn of a vat may go on next: in a replay, whether the recording says so.
    pub fn goes_on(&self, vat: VatRef) -> bool {
        match self.wanted_in(vat) {
            None | Some(Wanted::Anything | Wanted::SameTurn) => true,
            Some(Wanted::Strand(identity)) => {
                vat.turn().is_some_and(|turn| recording::number_of(turn) == identity)
            }
            Some(Wanted::Turn | Wanted::Nothing) => false,
        }
    }

    /// Whether the thread is watched for nothing but a recording that it makes.
    #[inline(always)]
    pub fn only_records(&self) -> bool {
        self.watch.only_records
    }

    /// Whether the thread repeats a recording.
    #[inline(always)]
    pub fn repeats(&self) -> bool {
        self.watch.repeats
    }
}

/// The vat that runs a strand, one at a time.
#[inline]
fn exclusive_vat(strand: StrandRef) -> Option<VatRef> {
    strand.vat().filter(|_| strand.model() == Model::Exclusive)
}

/// Messages and events.
impl Thread {
    /// Gives a message that is sent here its number, unless it has one.
    #[inline]
    pub(crate) fn number_message(&self, message: Object) -> u32 {
        let number = match message.assigned_hash() {
            Some(number) => return number,
            None => match self.tape.as_deref() {
                None => 0,
                Some(Tape::Records(notes)) => notes.number(),
                Some(Tape::Replays(repeated)) => {
                    let entity = repeated.entity.get();
                    let number = entity.map_or(0, |entity| repeated.player.number(entity));
                    repeated.last_number.set(number);
                    number
                }
            },
        };
        if number != 0 {
            message.number_own(number);
        }
        number
    }

    /// In a replay: the messages that can be put into the mailbox now that this one is there.
    pub(crate) fn admitted(&self, vat: VatRef, message: Object) -> Option<VecDeque<Object>> {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return None };
        let number = self.number_message(message);
        Some(repeated.player.admit(vat.number(self.vm), number, message))
    }

    /// The next event of the item that is repeated here, which is such a one; none if nothing is, or after a divergence.
    fn repeat(&self, is_that: impl Fn(&Event) -> bool) -> Option<Next> {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return None };
        match repeated.player.next(repeated.entity.get()?, is_that) {
            Ok(next) => {
                self.end_if_all_is_done(repeated.player);
                self.end_strand_if_due(repeated);
                Some(next)
            }
            Err(text) => {
                self.diverge(&text);
                None
            }
        }
    }

    /// In a replay: the number of the vat that is being made.
    pub(crate) fn number_of_new_vat(&self) -> Option<u64> {
        let tape = self.tape.as_ref().filter(|tape| tape.is_in_piece())?;
        let Tape::Replays(repeated) = &**tape else { return None };
        match self.repeat(|event| matches!(event, Event::Created(_))) {
            Some(Next::Event(Event::Created(number))) => Some(number),
            _ => Some(repeated.player.other()),
        }
    }

    /// Whether what runs here is the first to decide a promise, by the recording; none if that does not say.
    pub fn decides_by_tape(&self) -> Option<bool> {
        match self.repeat(|event| matches!(event, Event::Decided(_))) {
            Some(Next::Event(Event::Decided(is_first))) => Some(is_first),
            _ => None,
        }
    }

    /// A promise was decided, or it was too late for that.
    pub fn note_decided(&self, is_first: bool) {
        if let Some(Tape::Records(notes)) = self.tape.as_deref() {
            notes.decided(is_first);
        }
    }

    /// What the strand gets that asks for something outside.
    pub fn input(&self, asked: u64) -> Answer {
        self.input_or(asked, asked)
    }

    /// What the strand gets that calls C.
    pub fn input_of_c(&self, asked: u64) -> Answer {
        self.input_or(asked, CALLED_BACK)
    }

    fn input_or(&self, asked: u64, other: u64) -> Answer {
        let Some(tape) = self.tape.as_ref().filter(|tape| tape.is_in_piece()) else {
            return Answer::Outside;
        };
        if let Tape::Records(_) = &**tape {
            return Answer::Ask;
        }
        if let Tape::Replays(repeated) = &**tape
            && repeated.entity.get().is_some_and(|entity| repeated.player.has_left(entity))
        {
            return Answer::Later;
        }
        let is_one = |number: u64| number == asked || number == other;
        match self.repeat(|event| matches!(event, Event::Input(number, _) if is_one(*number))) {
            Some(Next::Event(Event::Input(number, answer))) => match number == asked {
                true => Answer::Known(answer),
                false => Answer::CalledBack(answer),
            },
            // What is outside is not there in a replay, not even behind the end of a recording that was cut.
            Some(_) => Answer::Finished,
            None => Answer::Over,
        }
    }

    /// Notes what came from outside. The attempt of a transaction notes it when it commits.
    pub fn note_input(&mut self, asked: u64, answer: &[u8]) {
        if let Some(inputs) = self.attempts_inputs() {
            return inputs.push((asked, answer.to_vec()));
        }
        let Some(Tape::Records(notes)) = self.tape.as_deref() else { return };
        match self.is_displaced {
            true => notes.late_input(recording::number_of(self.strand()), asked, answer),
            false => notes.input(asked, answer),
        }
    }

    /// The recorder, if something runs here that is recorded.
    pub fn recorder(&self) -> Option<&'static Recorder> {
        match self.tape.as_deref() {
            Some(Tape::Records(notes)) if notes.is_in_piece() => Some(notes.recorder),
            _ => None,
        }
    }

    /// Notes that a text is written, the next of all outputs.
    pub fn note_output(&self, place: u64, text: &str) {
        if let Some(Tape::Records(notes)) = self.tape.as_deref() {
            notes.output(place, check(text));
        }
    }

    /// In a replay: the texts that are to be written now, since this one is. None outside of what is repeated.
    pub fn replay_output(&self, text: &str, is_error: bool) -> Option<Vec<(String, bool)>> {
        let tape = self.tape.as_ref().filter(|tape| tape.is_in_piece())?;
        let Tape::Replays(repeated) = &**tape else { return None };
        match self.repeat(|event| matches!(event, Event::Output(..))) {
            Some(Next::Event(Event::Output(_, other))) if other != check(text) => {
                self.diverge(&format!("another text is written than in the recording: {text:?}"));
                Some(Vec::new())
            }
            Some(Next::Event(Event::Output(place, _))) => {
                Some(repeated.player.write(place, text, is_error))
            }
            _ => Some(Vec::new()),
        }
    }

    /// In a replay: whether what asks for the end of the program has to wait for others.
    pub fn waits_to_end(&self, code: i32) -> bool {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => {
                repeated.entity.get().is_some_and(|it| repeated.player.waits_to_end(it, code))
            }
            _ => false,
        }
    }

    /// What runs here differs from the recording, which is the end of the replay.
    pub fn diverge(&self, text: &str) {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return };
        repeated.player.diverge(format!("{}{text}", self.place()));
        self.vm.end(REFUSED);
    }

    /// The place of the call in progress, as the beginning of a report.
    pub fn place(&self) -> String {
        let place = VmNames(self.vm).place(recording::number_of_call(self));
        place.map_or(String::new(), |(path, line)| format!("{path}:{line}: "))
    }
}

/// Operations on shared objects.
impl Thread {
    /// Whether the running strand may do such an operation now. *GC point.*
    pub fn order(&mut self) -> Order {
        let Some(tape) = self.tape.as_deref() else { return Order::Outside };
        let repeated = match tape {
            Tape::Records(notes) if notes.is_in_piece() => return self.noted_order(notes.recorder),
            Tape::Records(_) => return Order::Outside,
            Tape::Replays(repeated) => repeated,
        };
        let Some(entity) = repeated.entity.get() else { return Order::Outside };
        match repeated.player.pass(entity) {
            Ok(Gate::Unknown) => Order::Outside,
            Ok(Gate::Open) => {
                self.end_strand_if_due(repeated);
                Order::Open
            }
            Ok(Gate::Closed(place)) => Order::Closed(place),
            Ok(Gate::Finished) => Order::Finished,
            Err(text) => {
                self.diverge(&text);
                Order::Over
            }
        }
    }

    fn noted_order(&mut self, recorder: &'static Recorder) -> Order {
        let mut guard = self.lock_order(recorder);
        let place = recorder.take_place(&mut guard);
        if let Some(Tape::Records(notes)) = self.tape.as_deref() {
            notes.ordered(place);
        }
        Order::Recorded(guard)
    }

    pub(super) fn lock_order(&mut self, recorder: &'static Recorder) -> MutexGuard<'static, u64> {
        match recorder.try_order() {
            Some(guard) => guard,
            None => self.mutator.native(|| recorder.order()),
        }
    }

    /// In a recorded run: the right to wake a strand since its time is over. *GC point.*
    pub fn order_for_timer(&mut self) -> Option<MutexGuard<'static, u64>> {
        let recorder = match self.tape.as_deref()? {
            Tape::Records(notes) => notes.recorder,
            Tape::Replays(_) => return None,
        };
        Some(self.lock_order(recorder))
    }

    /// This strand was woken while this was held, since its time was over or something outside was ready.
    pub fn note_woken_by_timer(&self, strand: StrandRef, is_ready: bool, guard: &mut u64) {
        if let (Some(Tape::Records(notes)), Some(entity)) =
            (self.tape.as_deref(), self.sleeper(strand))
        {
            notes.woken(notes.recorder.take_place(guard), entity, is_ready);
        }
    }

    /// As what the recording knows a strand that a timer wakes: the turn of a vat, or a strand with a number.
    fn sleeper(&self, strand: StrandRef) -> Option<Entity> {
        let identity = recording::number_of(strand);
        match exclusive_vat(strand).filter(|vat| vat.turn() == Some(strand)) {
            Some(vat) => Some(Entity::Vat(vat.number(self.vm))),
            None if !strand.is_told() => None,
            None => match self.tape.as_deref()? {
                Tape::Records(_) => Some(Entity::Strand(identity)),
                Tape::Replays(repeated) => {
                    repeated.player.number_of_strand(identity).map(Entity::Strand)
                }
            },
        }
    }

    /// In a replay: the strand that was parked here with a timer waits for the place at which that wakes it. Answers whether
    /// this is a replay that knows the strand.
    pub fn sleeps_by_tape(&self, strand: Object, ticket: u64, answer: Word) -> bool {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return false };
        let entity = StrandRef::of_object(strand).and_then(|strand| self.sleeper(strand));
        let Some(entity) = entity else { return false };
        let waiting = Waiting { strand: strand.word(), ticket, answer: Some(answer) };
        repeated.player.sleep(entity, waiting);
        true
    }

    /// In a replay: the strand that runs here is about to wait for its place, or does so.
    pub fn set_at_gate(&self, is_at_gate: bool) {
        if let Some(Tape::Replays(repeated)) = self.tape.as_deref() {
            repeated.is_at_gate.set(is_at_gate);
        }
    }

    /// In a replay: a strand that was parked here waits for this place, or for ever.
    pub fn wait_by_tape(&self, place: Option<u64>, strand: Word, ticket: u64) {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return };
        let waiting = Waiting { strand, ticket, answer: None };
        match place {
            Some(place) => repeated.player.wait_at(place, waiting),
            None => repeated.player.wait_for_end(waiting),
        }
    }

    /// In a replay: an operation on shared objects is done.
    pub fn advance(&self) {
        if let Some(Tape::Replays(repeated)) = self.tape.as_deref() {
            repeated.player.advance();
            self.end_if_all_is_done(repeated.player);
        }
    }

    /// In a replay: a strand that is to be woken now.
    pub fn due_by_tape(&self) -> Option<Waiting> {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => repeated.player.due(),
            _ => None,
        }
    }
}

/// Ends of strands by others.
impl Thread {
    /// The strand that runs here begins to end, since another one has ended it.
    #[cold]
    pub(crate) fn tape_killed(&self) {
        match self.tape.as_deref() {
            Some(Tape::Records(notes)) if notes.is_in_piece() => {
                let in_wait = self.running().delivery() == Delivery::Kill;
                notes.killed(self.place_of_end(in_wait));
            }
            Some(Tape::Replays(repeated)) => {
                if let Some(entity @ Entity::Strand(_)) = repeated.entity.get() {
                    self.repeat(|event| matches!(event, Event::Killed(_)));
                    repeated.player.has_ended(entity);
                }
            }
            _ => {}
        }
    }

    /// In a replay: a strand is ended by another one. Answers whether it is to be ended at once. If not, it goes on up to the
    /// event that says so.
    pub fn ends_at_once(&self, strand: StrandRef) -> bool {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return true };
        let number = repeated.player.number_of_strand(recording::number_of(strand));
        number.is_none_or(|number| repeated.player.ends_in_wait(number))
    }

    /// In a replay: the wait of a strand that has come further than in the recording.
    pub fn too_far(&self, strand: StrandRef) -> Option<Waiting> {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => repeated.player.too_far(|other| other == strand),
            _ => None,
        }
    }

    /// In a replay: whether the strand that runs here is about to end, since another one has ended it or will do so.
    pub fn is_before_end(&self) -> bool {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => {
                repeated.entity.get().is_some_and(|entity| repeated.player.is_before_end(entity))
            }
            _ => false,
        }
    }

    /// In a replay: the strand is in an `ensure:` block already, which it has begun in the recording when it was ended. So what
    /// comes next there is to come before its end.
    pub fn postpone_end(&self) {
        if let Some(Tape::Replays(repeated)) = self.tape.as_deref()
            && let Some(entity) = repeated.entity.get()
        {
            repeated.player.postpone_end(entity);
        }
    }

    /// In a replay: whether the strand that runs here was ended by another one, and begins to end at this poll.
    #[cold]
    pub fn ends_by_tape(&self) -> bool {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => {
                repeated.entity.get().and_then(|it| repeated.player.ends(it)) == Some(false)
            }
            _ => false,
        }
    }

    /// In a replay: whether the strand that runs here was ended by another one, and is to end where it would wait for what the
    /// recording does not have.
    pub fn ends_in_place(&self) -> bool {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => {
                repeated.entity.get().is_some_and(|it| repeated.player.ends(it).is_some())
            }
            _ => false,
        }
    }

    /// In a replay: if the strand that runs here was ended by another one, and has come to the event that says so, it ends at
    /// its next poll, or in its next wait.
    fn end_strand_if_due(&self, repeated: &Repeated) {
        let Some(in_wait) = repeated.entity.get().and_then(|it| repeated.player.ends(it)) else {
            return;
        };
        let strand = self.running_strand().filter(|_| in_wait);
        if let Some(life) = strand.and_then(|strand| Life::of_object(strand.object())) {
            _ = life.kill();
        }
        self.ask_to_poll();
    }
}

/// What a text is compared by.
fn check(text: &str) -> u64 {
    digest(text.as_bytes()) & 0xffff
}

/// Ends the program, if it is recorded, since something outside of all strands uses what recordings do not hold.
pub fn refuse_of_others(vm: &'static Vm, what: &str) -> bool {
    let is_recorded = matches!(vm.options.replays, Some(Replays::Record(_)));
    // Once is enough.
    if is_recorded && vm.ended.code().is_none() {
        vm.host().write_error(&unheld(what));
        vm.end(REFUSED);
    }
    is_recorded
}

/// The report about what recordings do not hold.
pub fn unheld(what: &str) -> String {
    format!("this run cannot be recorded: it uses {what}, which recordings do not hold yet\n")
}

/// The player of a machine that repeats a recording.
pub fn player(vm: &'static Vm) -> Option<&'static Player> {
    match vm.options.replays? {
        Replays::Replay(player) => Some(&**player),
        Replays::Record(_) => None,
    }
}
