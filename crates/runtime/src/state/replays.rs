//! Recording and replaying runs of all cores: what a machine notes about each turn, and how it repeats turns from that
//! ([`squall_events::replay`] has the file). Vats, promises and the primitives for what is outside call this module.
//!
//! A turn depends on its message, on the objects of its vat, and on what comes from outside. So a recording has the order of
//! each vat's messages, and for each turn what came from outside. Nothing orders turns of different vats but the messages
//! themselves.
//!
//! **Numbers.** In a turn, each message gets a number when it is made, or becomes a reaction to a promise: whichever thread
//! posts it later, the number says which send it is of. It is in the header of the message, where other objects have their
//! hash. Workers take numbers in blocks, so only the first number of a segment is in the recording.
//!
//! **Replaying.** A message that is posted is held until those before it, by the recording, are in the mailbox. What the
//! machine itself puts into mailboxes to settle promises is no turn, and is not held. So turns can run in any order, on one
//! worker. Texts are written in the order of the recording. The program ends when each turn has begun that the recording
//! has.
//!
//! A run that is neither recorded nor replayed has no [`Tape`]; everything here is behind the flag that events are behind.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use squall_events::replay::{
    BLOCK, End, Event, Events, LAST_NUMBER, Recording, Run, Turn, Writer, digest,
};
use squall_events::{Kind, Names};
use squall_heap::{Object, RootAddress, Word};

use crate::state::recording::{self, VmNames};
use crate::state::thread::Thread;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// The exit code of a run that ends since it cannot be recorded, or is not what the recording says.
pub const REFUSED: i32 = 1;

/// What a machine is to do about recordings.
pub enum Replays {
    /// Record what happens.
    Record(Recorder),
    /// Repeat a recording.
    Replay(Player),
}

impl std::fmt::Debug for Replays {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Replays::Record(_) => "Record",
            Replays::Replay(_) => "Replay",
        })
    }
}

/// The number of messages that no turn of a recording has sent.
const NOBODYS: u32 = LAST_NUMBER + 1;

/// The first number of vats that no turn of a recording has made.
const FIRST_OTHER_VAT: u64 = 1 << 40;

/// With how many bytes events go to the file.
const FULL: usize = 32 << 10;

/// Writes a recording.
pub struct Recorder {
    writer: Mutex<Writer>,
    workers: Mutex<Vec<Arc<Mutex<Worker>>>>,
    blocks: AtomicU64,
    tickets: AtomicU64,
    /// How many texts were written. Held while one is written.
    pub outputs: Mutex<u64>,
    is_closed: AtomicBool,
    failure: OnceLock<String>,
}

/// The events of a worker.
#[derive(Default)]
struct Worker {
    events: Events,
    /// Whether the numbers follow from those before.
    has_numbers: bool,
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
        // Sequentially consistent, as are the loads of `append`: an event that is kept has all those kept that it
        // depends on, since those were appended before.
        self.is_closed.store(true, Ordering::SeqCst);
        for worker in self.workers.lock().iter() {
            self.write(&mut worker.lock());
        }
        let written = self.writer.lock().end(End { code });
        self.keep_failure(written);
        self.failure.get().cloned()
    }

    fn write(&self, worker: &mut Worker) {
        let written = self.writer.lock().events(&worker.events);
        worker.events.clear();
        worker.has_numbers = false;
        self.keep_failure(written);
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
}

/// The part of a native thread in a recording or a replay.
pub struct Tape {
    role: Role,
    /// The vat whose turn runs here, or 0.
    vat: Cell<u64>,
    /// The key of that turn.
    key: Cell<u64>,
    /// The next number, and the end of the numbers that the worker has.
    next: Cell<u32>,
    end: Cell<u32>,
    /// The next number when such numbers were counted last.
    counted: Cell<u32>,
}

enum Role {
    Records(&'static Recorder, Arc<Mutex<Worker>>),
    Replays(&'static Player),
}

impl Tape {
    /// The tape of a native thread that attaches to the machine.
    pub fn new(replays: Option<&'static Replays>) -> Option<Box<Tape>> {
        let role = match replays? {
            Replays::Record(recorder) => {
                let worker = Arc::<Mutex<Worker>>::default();
                recorder.workers.lock().push(worker.clone());
                Role::Records(recorder, worker)
            }
            Replays::Replay(player) => Role::Replays(player),
        };
        let zero = || Cell::new(0);
        let (key, vat) = (Cell::new(0), Cell::new(0));
        Some(Box::new(Tape { role, vat, key, next: zero(), end: zero(), counted: zero() }))
    }

    /// Whether a turn runs here of which the recording tells.
    fn is_in_turn(&self) -> bool {
        self.vat.get() != 0
    }

    /// How many numbers were taken since the last call.
    fn made(&self) -> u32 {
        self.next.get() - self.counted.replace(self.next.get())
    }

    /// Appends an event, unless the recording is closed.
    fn append(&self, append: impl FnOnce(&mut Events)) {
        if let Role::Records(recorder, worker) = &self.role {
            let mut worker = worker.lock();
            if !recorder.is_closed.load(Ordering::SeqCst) {
                append(&mut worker.events);
            }
        }
    }

    /// Appends the event with which a segment begins.
    fn begin(&self, append: impl FnOnce(&mut Events, u32)) {
        let Role::Records(recorder, worker) = &self.role else { return };
        let mut worker = worker.lock();
        if recorder.is_closed.load(Ordering::SeqCst) {
            return;
        }
        if worker.events.len() > FULL {
            recorder.write(&mut worker);
        }
        if self.next.get() == self.end.get() {
            self.take_block(recorder, &mut worker);
        }
        let made = self.made();
        if worker.has_numbers {
            return append(&mut worker.events, made);
        }
        worker.has_numbers = true;
        worker.events.numbers(0, self.next.get());
        append(&mut worker.events, 0);
    }

    /// A number for a message of the turn that runs here; 0 outside of turns.
    fn number(&self) -> u32 {
        if !self.is_in_turn() {
            return 0;
        }
        match &self.role {
            Role::Records(recorder, worker) => {
                if self.next.get() == self.end.get() {
                    self.take_block(recorder, &mut worker.lock());
                }
                self.next.replace(self.next.get() + 1)
            }
            Role::Replays(player) => player.number(self.vat.get()),
        }
    }

    #[cold]
    fn take_block(&self, recorder: &Recorder, worker: &mut Worker) {
        let made = self.made();
        let next = recorder.block();
        self.next.set(next);
        self.end.set(next + BLOCK);
        self.counted.set(next);
        if worker.has_numbers && !recorder.is_closed.load(Ordering::SeqCst) {
            worker.events.numbers(made, next);
        }
    }
}

/// What runs of a turn.
pub enum Answer {
    /// The thread is in no turn: it asks as ever.
    Outside,
    /// Ask, and [note](Thread::note_input) the answer.
    Ask,
    /// This is the answer.
    Known(Vec<u8>),
    /// The replay is over.
    Over,
}

/// The hooks. Each is called only if the thread is [watched](crate::state::thread::Watch).
impl Thread {
    /// An event of the table has happened.
    pub(crate) fn tape_event(&self, kind: Kind, fields: &[u64]) {
        let Some(tape) = &self.tape else { return };
        match kind {
            Kind::VatCreated if tape.is_in_turn() => {
                tape.append(|events| events.created(fields[0]))
            }
            Kind::StrandBlocked | Kind::StrandPreempted if tape.is_in_turn() => {
                if let Role::Records(..) = tape.role {
                    let made = tape.made();
                    tape.append(|events| events.paused(made));
                }
                tape.vat.set(0);
            }
            Kind::StrandResumed => self.resume_turn(tape),
            Kind::WorkerIdle => self.leave_turn(),
            _ => {}
        }
    }

    /// Whether [`Thread::tape_event`] needs an event of this kind.
    pub(crate) fn tape_wants(&self, kind: Kind) -> bool {
        let wanted =
            [Kind::VatCreated, Kind::StrandBlocked, Kind::StrandPreempted, Kind::StrandResumed];
        self.tape.is_some() && (kind == Kind::WorkerIdle || wanted.contains(&kind))
    }

    /// A strand runs here from now on: it may be a turn that goes on.
    fn resume_turn(&self, tape: &Tape) {
        let turn = self
            .running_strand()
            .and_then(|strand| strand.vat().filter(|vat| vat.turn() == Some(strand)));
        let number = turn.map_or(0, |vat| vat.number(self.vm));
        if number == tape.vat.get() {
            return;
        }
        self.leave_turn();
        let Some(vat) = turn else { return };
        let key = vat.count_of_taken();
        tape.vat.set(number);
        tape.key.set(key);
        if let Role::Records(recorder, _) = &tape.role {
            // Relaxed: the resumptions of one turn are ordered by the queues that its strand was in.
            let ticket = recorder.tickets.fetch_add(1, Ordering::Relaxed);
            tape.begin(|events, made| events.resumed(made, number, key, ticket));
        }
    }

    /// A turn of a vat begins, for this message.
    pub(crate) fn begin_tape(&self, vat: VatRef, message: Object) {
        let Some(tape) = &self.tape else { return };
        let (number, key) = (vat.number(self.vm), vat.count_of_taken());
        let message = message.assigned_hash().unwrap_or(0);
        tape.vat.set(number);
        tape.key.set(key);
        match &tape.role {
            Role::Records(..) => tape.begin(|events, made| events.turn(made, number, key, message)),
            Role::Replays(player) => {
                if let Err(text) = player.begin(number, message) {
                    self.diverge(&text);
                }
            }
        }
    }

    /// What follows on this thread belongs to no turn.
    pub(crate) fn leave_turn(&self) {
        let Some(tape) = &self.tape else { return };
        let vat = tape.vat.replace(0);
        if let (Role::Replays(player), true) = (&tape.role, vat != 0) {
            match player.leave(vat) {
                Err(text) => self.diverge(&text),
                Ok(Some(code)) => self.vm.end(code),
                Ok(None) => {}
            }
        }
    }

    /// Gives a message of the turn that runs here its number, unless it has one.
    pub(crate) fn number_message(&self, message: Object) -> u32 {
        let Some(tape) = &self.tape else { return 0 };
        match message.assigned_hash() {
            Some(number) => number,
            None => match tape.number() {
                0 => 0,
                number => message.assign_identity_hash(number),
            },
        }
    }

    /// In a replay: the messages that can be put into the mailbox now that this one is there.
    pub(crate) fn admitted(&self, vat: VatRef, message: Object) -> Option<VecDeque<Object>> {
        let Some(Tape { role: Role::Replays(player), .. }) = self.tape.as_deref() else {
            return None;
        };
        Some(player.admit(vat.number(self.vm), self.number_message(message), message))
    }

    /// In a replay: the number of the vat that is being made.
    pub(crate) fn number_of_new_vat(&self) -> Option<u64> {
        let tape = self.tape.as_ref().filter(|tape| tape.is_in_turn())?;
        let Role::Replays(player) = &tape.role else { return None };
        match player.next(tape.vat.get(), |event| matches!(event, Event::Created(_))) {
            Ok(Some(Event::Created(number))) => Some(number),
            Ok(_) => Some(player.other_vats.fetch_add(1, Ordering::Relaxed)),
            Err(text) => {
                self.diverge(&text);
                Some(player.other_vats.fetch_add(1, Ordering::Relaxed))
            }
        }
    }

    /// Whether the turn is the one that decides a promise, by the recording; none if that does not say.
    pub fn decides_by_tape(&self) -> Option<bool> {
        let tape = self.tape.as_ref().filter(|tape| tape.is_in_turn())?;
        let Role::Replays(player) = &tape.role else { return None };
        match player.next(tape.vat.get(), |event| matches!(event, Event::Decided(_))) {
            Ok(Some(Event::Decided(is_first))) => Some(is_first),
            Ok(_) => None,
            Err(text) => {
                self.diverge(&text);
                None
            }
        }
    }

    /// The turn has decided a promise, or was too late for that.
    pub fn note_decided(&self, is_first: bool) {
        if let Some(tape) = self.tape.as_ref().filter(|tape| tape.is_in_turn()) {
            tape.append(|events| events.decided(is_first));
        }
    }

    /// What the turn gets that asks for something outside.
    pub fn input(&self, asked: u64) -> Answer {
        let Some(tape) = self.tape.as_ref().filter(|tape| tape.is_in_turn()) else {
            return Answer::Outside;
        };
        let Role::Replays(player) = &tape.role else { return Answer::Ask };
        let is_that = |event: &Event| matches!(event, Event::Input(other, _) if *other == asked);
        match player.next(tape.vat.get(), is_that) {
            Ok(Some(Event::Input(_, answer))) => Answer::Known(answer),
            Ok(_) => Answer::Outside,
            Err(text) => {
                self.diverge(&text);
                Answer::Over
            }
        }
    }

    /// Notes what came from outside.
    pub fn note_input(&self, asked: u64, answer: &[u8]) {
        if let Some(tape) = &self.tape {
            tape.append(|events| events.input(asked, answer));
        }
    }

    /// The recorder, if the thread runs a turn of a recorded run.
    pub fn turn_recorder(&self) -> Option<&'static Recorder> {
        let tape = self.tape.as_ref().filter(|tape| tape.is_in_turn())?;
        if let Role::Records(recorder, _) = tape.role { Some(recorder) } else { None }
    }

    /// Notes that the turn writes a text, the next of all outputs.
    pub fn note_output(&self, place: u64, text: &str) {
        if let Some(tape) = &self.tape {
            tape.append(|events| events.output(place, check(text)));
        }
    }

    /// In a replay: the texts that are to be written now, since the turn writes this one. None outside of replayed turns.
    pub fn replay_output(&self, text: &str, is_error: bool) -> Option<Vec<(String, bool)>> {
        let tape = self.tape.as_ref().filter(|tape| tape.is_in_turn())?;
        let Role::Replays(player) = &tape.role else { return None };
        match player.next(tape.vat.get(), |event| matches!(event, Event::Output(..))) {
            Ok(Some(Event::Output(_, other))) if other != check(text) => {
                self.diverge(&format!(
                    "the turn writes another text than in the recording: {text:?}"
                ));
                Some(Vec::new())
            }
            Ok(Some(Event::Output(place, _))) => Some(player.write(place, text, is_error)),
            Ok(_) => Some(Vec::new()),
            Err(text) => {
                self.diverge(&text);
                Some(Vec::new())
            }
        }
    }

    /// In a replay: whether the turn that asks for the end of the program has to wait for others.
    pub fn waits_to_end(&self, code: i32) -> bool {
        let Some(tape) = self.tape.as_ref().filter(|tape| tape.is_in_turn()) else { return false };
        let Role::Replays(player) = &tape.role else { return false };
        player.waits_to_end(code)
    }

    /// The turn differs from the recording, which is the end of the replay.
    pub fn diverge(&self, text: &str) {
        let Some(Tape { role: Role::Replays(player), .. }) = self.tape.as_deref() else { return };
        _ = player.divergence.set(format!("{}{text}", self.place()));
        self.vm.end(REFUSED);
    }

    /// The place of the call in progress, as the beginning of a report.
    pub fn place(&self) -> String {
        let place = VmNames(self.vm).place(recording::number_of_call(self));
        place.map_or(String::new(), |(path, line)| format!("{path}:{line}: "))
    }
}

/// What a text is compared by.
fn check(text: &str) -> u64 {
    digest(text.as_bytes()) & 0xffff
}

/// Repeats a recording.
pub struct Player {
    state: Mutex<Playing>,
    other_vats: AtomicU64,
    divergence: OnceLock<String>,
    modules: HashMap<String, u64>,
}

struct Playing {
    vats: HashMap<u64, PlayedVat>,
    /// How many turns have not begun, and how many events have not happened.
    remaining: usize,
    /// The texts that come after others.
    texts: BTreeMap<u64, (String, bool)>,
    written: u64,
    /// The exit code that a turn has asked for.
    code: Option<i32>,
}

#[derive(Default)]
struct PlayedVat {
    /// The turns that have not begun.
    turns: VecDeque<Turn>,
    /// The numbers of their messages that are not in the mailbox.
    order: VecDeque<u32>,
    /// The messages that came before their turn.
    held: HashMap<u32, Word>,
    /// The turn that runs, or ran last.
    current: RefCell<Turn>,
}

impl Player {
    /// Repeats this recording.
    pub fn new(recording: Recording) -> Player {
        let mut remaining = 0;
        let mut vats = HashMap::new();
        for (vat, turns) in recording.vats {
            remaining += turns.iter().map(|turn| 1 + turn.events.len()).sum::<usize>();
            let order = turns.iter().map(|turn| turn.message).filter(|number| *number != 0);
            let order = order.collect();
            vats.insert(vat, PlayedVat { turns, order, ..PlayedVat::default() });
        }
        let (texts, written, code) = (BTreeMap::new(), 0, None);
        Player {
            state: Mutex::new(Playing { vats, remaining, texts, written, code }),
            other_vats: AtomicU64::new(FIRST_OTHER_VAT),
            divergence: OnceLock::new(),
            modules: recording.modules,
        }
    }

    /// Why a module that the program loads is not that of the recording.
    pub fn refuses_module(&self, path: &str, bytes: &[u8]) -> bool {
        self.modules.get(path).is_some_and(|known| *known != digest(bytes))
    }

    /// Where the replay has differed from the recording, if it has.
    pub fn divergence(&self) -> Option<&str> {
        self.divergence.get().map(String::as_str)
    }

    /// How many turns and events of the recording have not happened.
    pub fn remaining(&self) -> usize {
        self.state.lock().remaining
    }

    /// A message that never came, of the vat with this number.
    pub fn missing(&self) -> Option<(u64, usize)> {
        let state = self.state.lock();
        let waiting = state.vats.iter().filter(|(_, vat)| !vat.turns.is_empty());
        waiting.map(|(number, vat)| (*number, vat.turns.len())).min()
    }

    /// The words of held messages, for the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        let mut state = self.state.lock();
        let held = state.vats.values_mut().flat_map(|vat| vat.held.values_mut());
        held.for_each(|word| visit(RootAddress::from(word)));
    }

    fn begin(&self, vat: u64, message: u32) -> Result<(), String> {
        let mut state = self.state.lock();
        let Some(turn) = state.vats.entry(vat).or_default().turns.pop_front() else {
            return Err(format!("actor {vat} begins a turn that is not in the recording"));
        };
        if turn.message != message {
            return Err(format!(
                "actor {vat} begins a turn with another message than in the recording"
            ));
        }
        state.remaining -= 1;
        if let Some(played) = state.vats.get_mut(&vat) {
            *played.current.get_mut() = turn;
        }
        Ok(())
    }

    /// A turn stops or has ended; answers the exit code if nothing is left to be done.
    fn leave(&self, vat: u64) -> Result<Option<i32>, String> {
        let state = self.state.lock();
        let ends = state.remaining == 0;
        if let Some(played) = state.vats.get(&vat)
            && let Some(event) = played.current.borrow().events.front()
            && !played.turns.is_empty()
        {
            return Err(format!("a turn of actor {vat} stops, but in the recording {event}"));
        }
        Ok(state.code.filter(|_| ends))
    }

    fn number(&self, vat: u64) -> u32 {
        let state = self.state.lock();
        let Some(played) = state.vats.get(&vat) else { return NOBODYS };
        let mut turn = played.current.borrow_mut();
        while let Some(Run { next, count }) = turn.runs.front_mut() {
            // Numbers begin with 1; a worker that has none yet has counted none.
            let rest = next.checked_sub(1).map_or(0, |index| BLOCK - index % BLOCK);
            if count.unwrap_or(rest) != 0 {
                let number = *next;
                *count = Some(count.unwrap_or(rest) - 1);
                *next += 1;
                return number;
            }
            turn.runs.pop_front();
        }
        NOBODYS
    }

    fn admit(&self, vat: u64, number: u32, message: Object) -> VecDeque<Object> {
        if number == 0 {
            return VecDeque::from([message]);
        }
        let mut state = self.state.lock();
        let played = state.vats.entry(vat).or_default();
        played.held.insert(number, message.word());
        let mut admitted = VecDeque::new();
        while let Some(word) = played.order.front().and_then(|next| played.held.remove(next)) {
            played.order.pop_front();
            admitted.extend(word.as_object());
        }
        admitted
    }

    /// The next event of a turn; none if the recording reaches no further.
    fn next(&self, vat: u64, is_that: impl Fn(&Event) -> bool) -> Result<Option<Event>, String> {
        let mut state = self.state.lock();
        let Some(played) = state.vats.get_mut(&vat) else { return Ok(None) };
        let is_last = played.turns.is_empty();
        let turn = played.current.get_mut();
        match turn.events.front() {
            Some(event) if is_that(event) => {
                let event = turn.events.pop_front();
                state.remaining -= 1;
                Ok(event)
            }
            Some(event) => {
                Err(format!("a turn of actor {vat} does something else: in the recording, {event}"))
            }
            None if is_last => Ok(None),
            None => Err(format!("a turn of actor {vat} does more than in the recording")),
        }
    }

    fn write(&self, place: u64, text: &str, is_error: bool) -> Vec<(String, bool)> {
        let mut state = self.state.lock();
        state.texts.insert(place, (text.to_owned(), is_error));
        let mut due = Vec::new();
        loop {
            let written = state.written;
            let Some(text) = state.texts.remove(&written) else { return due };
            state.written += 1;
            due.push(text);
        }
    }

    fn waits_to_end(&self, code: i32) -> bool {
        let mut state = self.state.lock();
        state.code = Some(code);
        state.remaining != 0
    }
}

/// The player of a machine that repeats a recording.
pub fn player(vm: &'static Vm) -> Option<&'static Player> {
    match vm.options.replays? {
        Replays::Replay(player) => Some(player),
        Replays::Record(_) => None,
    }
}
