//! What an observer sees of a machine that runs: all strands and vats at a glance, and a few of them closely. The observer's
//! server calls it, on a native thread that is none of the machine's.
//!
//! # Why reading is safe
//!
//! There are two ways to look, and none of them holds a worker up for long, however many strands there are.
//!
//! **A sweep** ([`strands`], [`vats`]) looks at all of them while the program runs. It takes the tables in pieces of
//! [`PIECE`], and each piece while no collection can begin ([`Heap::without_collection`]); only a thread that needs a
//! collection waits, for one piece at most.
//!
//! - Native parts of strands and vats are never freed. A sweep reads the fields that are atomic, which any thread may read.
//! - The object of a strand that is not free is live, and stays in its place while no collection begins: the strand had the
//!   object when the last collection ended, or has got it since. `make_counted` stores the object before it makes the
//!   strand's status that of a life, with a release; the sweep acquires the status before it loads the object. If the
//!   strand ends meanwhile, its object is garbage, but still there.
//! - The words of objects are atomic. A word that a sweep finds in a slot was stored there, so it is an immediate object or
//!   the address of an object that was complete.
//! - Fields of one strand may belong to different moments, so a sweep is an approximation, and its cycles are checked later.
//!
//! **A close look** ([`look_at`], [`stack`], [`cycles`], [`workers`]) is at a bounded number of strands while all mutators
//! stand, as for `squall dump`. It reads frames, too.
//!
//! A look changes nothing that a program can see: strands have the numbers of events, which are not those of reports, and
//! objects get hidden hashes.
//!
//! [`Heap::without_collection`]: squall_heap::Heap::without_collection

use std::collections::{HashMap, HashSet};
use std::fmt;

use squall_events::table::Reason;
use squall_heap::Word;
pub use squall_heap::{HeapStatistics, PauseStatistics};

use crate::concurrency::stalls;
pub use crate::library::inspection::Place;
use crate::model::function::Site;
use crate::model::known;
use crate::state::recording;
use crate::state::strand::{Model, Role, Standing, StrandRef, Wait, slots};
use crate::state::transactions::statistics;
pub use crate::state::transactions::statistics::SeenConflict;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// How many strands or vats are looked at while no collection can begin.
pub const PIECE: usize = 1024;

/// A kind of strand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// It processes a message of an actor.
    Turn,
    /// A process.
    Process,
    /// A thread or task.
    Thread,
    /// A branch of a `par`.
    Branch,
    /// A green thread.
    Green,
}

impl Kind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Turn => "turn",
            Kind::Process => "process",
            Kind::Thread => "thread",
            Kind::Branch => "branch",
            Kind::Green => "green thread",
        }
    }

    fn of(strand: StrandRef) -> Kind {
        match (strand.role(), strand.model(), strand.vat()) {
            (Role::Branch, ..) => Kind::Branch,
            (_, Model::Parallel, _) => Kind::Thread,
            (Role::Maker | Role::Process | Role::Typed, ..) | (_, _, None) => Kind::Process,
            (_, _, Some(vat)) if vat.turn() == Some(strand) => Kind::Turn,
            _ => Kind::Green,
        }
    }
}

/// What a strand does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Activity {
    /// It runs.
    Runs,
    /// It runs outside of the machine: in C, in a file, in the network.
    Outside,
    /// It could run.
    Ready,
    /// It has not begun.
    New,
    /// It waits for this.
    Waits(Reason),
    /// It is suspended.
    Suspended,
}

impl Activity {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Runs => "running",
            Activity::Outside => "outside",
            Activity::Ready => "ready",
            Activity::New => "new",
            Activity::Waits(_) => "waiting",
            Activity::Suspended => "suspended",
        }
    }

    /// All words.
    pub const NAMES: [&str; 6] = ["running", "outside", "ready", "new", "waiting", "suspended"];
}

/// A call that makes strands, or sends messages: the address of its site, which is immortal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Origin(usize);

impl Origin {
    fn of(strand: StrandRef) -> Option<Origin> {
        strand.origin().map(|site| Origin(std::ptr::from_ref(site).addr()))
    }

    /// Where it is, unless it is the machine's own.
    pub fn place(self) -> Option<Place> {
        // SAFETY: `of` alone makes origins, of references to immortal sites.
        let site: &'static Site = unsafe { &*(self.0 as *const Site) };
        let place = || Place { function: site.function(), pc: site.pc as usize };
        (!site.function.is_null()).then(place)
    }
}

/// A strand at a glance.
#[derive(Clone, Copy)]
pub struct Glance {
    strand: StrandRef,
    /// Its number in events.
    pub number: u64,
    /// Its kind.
    pub kind: Kind,
    /// What it does.
    pub activity: Activity,
    /// The number of its vat, or 0.
    pub vat: u64,
    /// The milliseconds that it has waited.
    pub waited: u32,
    /// From 1, the least, to 80.
    pub priority: u8,
    /// The worker that runs it.
    pub worker: Option<u32>,
    /// The call that has made it or sent its message.
    pub origin: Option<Origin>,
    waker: Option<StrandRef>,
}

impl Glance {
    /// The kind, number and origin of the strand that could wake it, as far as one can tell.
    pub fn waker(&self) -> Option<(Kind, u64, Option<Origin>)> {
        self.waker
            .map(|strand| (Kind::of(strand), recording::number_of(strand), Origin::of(strand)))
    }
}

/// Shows each strand at a glance, while the program runs.
pub fn strands(vm: &Vm, see: &mut dyn FnMut(&Glance)) {
    let now = vm.ticks();
    for piece in vm.strands.pieces(PIECE) {
        vm.heap.without_collection(|| {
            for strand in piece.strands() {
                if let Some(glance) = glance(vm, strand, now) {
                    see(&glance);
                }
            }
        });
    }
}

/// A strand at a glance; `None` if it is free, or kept for the next turn. No collection can begin.
fn glance(vm: &Vm, strand: StrandRef, now: u32) -> Option<Glance> {
    if strand.is_free() {
        return None;
    }
    let (activity, worker) = activity_of(vm, strand)?;
    let is_waiting = matches!(activity, Activity::Waits(_));
    Some(Glance {
        strand,
        number: recording::number_of(strand),
        kind: Kind::of(strand),
        activity,
        vat: recording::number_of_vat(vm, strand.vat()),
        waited: if is_waiting { now.wrapping_sub(strand.parked_at()) } else { 0 },
        priority: strand.priority(),
        worker,
        origin: Origin::of(strand),
        waker: if is_waiting { stalls::holding_up(strand) } else { None },
    })
}

/// What a strand does, and on which worker; `None` if it does nothing since it is kept for the next turn.
fn activity_of(vm: &Vm, strand: StrandRef) -> Option<(Activity, Option<u32>)> {
    if let Some(worker) = strand.worker_seen() {
        let is_outside = vm.scheduler.is_outside(squall_scheduler::WorkerId::from_index(worker));
        let activity = if is_outside { Activity::Outside } else { Activity::Runs };
        return Some((activity, Some(worker as u32)));
    }
    if strand.is_parked() {
        let awaited = strand.slot(slots::WAITS_FOR);
        let activity = match (strand.is_suspended(), awaited) {
            (true, Word::NIL) => Activity::Suspended,
            _ => Activity::Waits(recording::reason_of(
                awaited,
                Wait::Ordinary,
                is_of_transaction(awaited),
            )),
        };
        return Some((activity, None));
    }
    let is_new = strand.standing() == Standing::New;
    if is_new && strand.slot(slots::TASK) == Word::NIL {
        return None;
    }
    let activity = match (strand.is_suspended(), is_new) {
        (true, _) => Activity::Suspended,
        (_, true) => Activity::New,
        (_, false) => Activity::Ready,
    };
    Some((activity, None))
}

/// Whether a strand that waits for this does so because of a transaction.
fn is_of_transaction(awaited: Word) -> bool {
    use crate::concurrency::transactions::sleepers::{FOR_CHANGE, FOR_INEVITABLE, FOR_PARTS};
    [FOR_CHANGE, FOR_INEVITABLE, FOR_PARTS].contains(&awaited)
}

/// A vat at a glance.
#[derive(Clone, Copy)]
pub struct VatGlance {
    vat: VatRef,
    /// Its number in events.
    pub number: u64,
    /// The messages in its mailbox.
    pub length: u64,
    /// The messages that were ever put there.
    pub posted: u64,
    /// Whether a strand or a turn of it runs, or could.
    pub is_active: bool,
    /// The number of the strand whose turn has begun and not ended, or 0.
    pub turn: u64,
    /// Whether its turn can never end, so that no other one begins.
    pub is_stuck: bool,
}

/// Shows each vat at a glance, while the program runs.
pub fn vats(vm: &Vm, see: &mut dyn FnMut(&VatGlance)) {
    for vat in vm.vats.walk() {
        let (posted, taken) = (vat.posted(), vat.count_of_taken());
        see(&VatGlance {
            vat,
            number: vat.number(vm),
            length: posted.saturating_sub(taken),
            posted,
            is_active: vat.is_active(),
            turn: vat.turn().map_or(0, recording::number_of),
            is_stuck: vat.has_lost_turn(),
        });
    }
}

/// A strand, closely.
pub struct Look {
    /// What it does.
    pub activity: Activity,
    /// The worker that runs it.
    pub worker: Option<u32>,
    /// Whether it would not go on if its wait ended.
    pub is_suspended: bool,
    /// The milliseconds that it has waited.
    pub waited: u32,
    /// The place in the program's code where it stands, or in the library if it has none of the program's.
    pub place: Option<Place>,
    /// What it does, or waits for.
    pub state: String,
    /// The object that it waits for.
    pub awaited: Option<Awaited>,
}

/// What a strand waits for.
#[derive(Clone, Copy)]
pub struct Awaited {
    /// The object, if it is one that strands meet at.
    pub object: Option<Meeting>,
    /// The number of the strand that holds the object up, or whose end is awaited.
    pub holder: Option<u64>,
}

/// An object that strands meet at.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meeting {
    /// A channel, a lock and so on, with the hash by which events know it.
    Hash(u32),
    /// The mailbox of the vat with this number.
    Mailbox(u64),
}

impl fmt::Display for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meeting::Hash(hash) => write!(f, "#{hash:x}"),
            Meeting::Mailbox(vat) => write!(f, "of vat {vat}"),
        }
    }
}

/// Looks at some strands closely; `None` for those that have ended meanwhile. All mutators stand.
pub fn look_at(vm: &Vm, strands: &[Glance]) -> Vec<Option<Look>> {
    vm.heap.while_stopped(|| {
        let running = running_places(vm);
        strands.iter().map(|glance| look(vm, glance, &running)).collect()
    })
}

/// The places of the strands that run, by their numbers. All mutators stand.
fn running_places(vm: &Vm) -> HashMap<u64, Option<Place>> {
    let mut places = HashMap::new();
    vm.look_at_running(&mut |strand, _, activations| {
        let activations = activations.map(|it| Place { function: it.function, pc: it.pc });
        places.insert(recording::number_of(strand), program_place(activations));
    });
    places
}

/// The innermost place in the program's own code, or the innermost one at all.
fn program_place(mut places: impl Iterator<Item = Place>) -> Option<Place> {
    let first = places.next()?;
    let is_library = |place: &Place| place.function.module.bytecode.is_image();
    if !is_library(&first) {
        return Some(first);
    }
    Some(places.take(DEEPEST).find(|place| !is_library(place)).unwrap_or(first))
}

/// How far a look goes into a stack for a place in the program's code.
const DEEPEST: usize = 200;

fn look(vm: &Vm, glance: &Glance, running: &HashMap<u64, Option<Place>>) -> Option<Look> {
    let strand = glance.strand;
    if strand.is_free() || recording::number_of(strand) != glance.number {
        return None;
    }
    let place = match running.get(&glance.number) {
        Some(place) => *place,
        None => {
            let activations = strand.activations();
            program_place(activations.map(|it| Place { function: it.function, pc: it.pc }))
        }
    };
    let (activity, worker) = activity_of(vm, strand)?;
    let awaited = match activity {
        Activity::Waits(_) => awaited(vm, strand),
        _ => None,
    };
    let is_waiting = matches!(activity, Activity::Waits(_));
    let waited = if is_waiting { vm.ticks().wrapping_sub(strand.parked_at()) } else { 0 };
    let state = state_text(vm, strand, activity, worker, &awaited);
    let is_suspended = strand.is_suspended();
    Some(Look { activity, worker, is_suspended, waited, place, state, awaited })
}

fn awaited(vm: &Vm, strand: StrandRef) -> Option<Awaited> {
    let object = strand.slot(slots::WAITS_FOR).as_object()?;
    let holder = stalls::holding_up(strand).map(recording::number_of);
    let object = match object.layout() {
        known::CHANNEL
        | known::MUTEX
        | known::SHARED_MUTEX
        | known::CONDITION
        | known::SEMAPHORE
        | known::BARRIER
        | known::BUCKET => Some(Meeting::Hash(object.hidden_hash())),
        known::VAT => Some(Meeting::Mailbox(VatRef::of_object(object).number(vm))),
        _ => None,
    };
    (object.is_some() || holder.is_some()).then_some(Awaited { object, holder })
}

/// What a strand does, in words.
fn state_text(
    vm: &Vm,
    strand: StrandRef,
    activity: Activity,
    worker: Option<u32>,
    awaited: &Option<Awaited>,
) -> String {
    match (activity, worker) {
        (Activity::Runs, Some(worker)) => format!("runs on worker {worker}"),
        (Activity::Outside, Some(worker)) => format!("is outside, on worker {worker}"),
        (Activity::Waits(reason), _) => waits_for(vm, strand, reason, awaited),
        (Activity::New, _) => "has not begun".to_owned(),
        (Activity::Suspended, _) => "is suspended".to_owned(),
        _ => "is ready".to_owned(),
    }
}

fn waits_for(vm: &Vm, strand: StrandRef, reason: Reason, awaited: &Option<Awaited>) -> String {
    if let Some(resource) = vm.concurrency().timers.describe_awaited(strand) {
        return format!("waits for {resource}");
    }
    let text = reason.text();
    match *awaited {
        Some(Awaited { object: None, holder: Some(holder) }) => {
            format!("waits for the end of strand {holder}")
        }
        Some(Awaited { object: Some(object), holder: Some(holder) }) => {
            format!("waits for {text} {object}, which strand {holder} holds up")
        }
        Some(Awaited { object: Some(object), holder: None }) => {
            format!("waits for {text} {object}")
        }
        _ => format!("waits for {text}"),
    }
}

/// A strand with its whole stack.
pub struct Stack {
    /// The strand at a glance.
    pub glance: Glance,
    /// The strand, closely.
    pub look: Look,
    /// Where it stands, innermost first.
    pub places: Vec<Place>,
}

/// The deepest stack of which all places are shown.
const MOST_PLACES: usize = 1_000;

/// The strand with this number, and its stack. All mutators stand at the end.
pub fn stack(vm: &Vm, number: u64) -> Option<Stack> {
    let glance = find(vm, number)?;
    vm.heap.while_stopped(|| {
        let mut places = None;
        vm.look_at_running(&mut |strand, _, activations| {
            if strand == glance.strand {
                places = Some(take_places(activations));
            }
        });
        let look = look(vm, &glance, &running_places(vm))?;
        let places = places.unwrap_or_else(|| take_places(&mut glance.strand.activations()));
        Some(Stack { glance, look, places })
    })
}

fn take_places(
    activations: &mut dyn Iterator<Item = crate::state::stack::Activation>,
) -> Vec<Place> {
    let place = |it: crate::state::stack::Activation| Place { function: it.function, pc: it.pc };
    activations.take(MOST_PLACES).map(place).collect()
}

/// The strand with this number, at a glance.
pub fn find(vm: &Vm, number: u64) -> Option<Glance> {
    let now = vm.ticks();
    vm.strands.pieces(PIECE).into_iter().find_map(|piece| {
        vm.heap.without_collection(|| {
            let mut strands = piece.strands();
            let found = strands.find(|strand| recording::number_of(*strand) == number)?;
            glance(vm, found, now)
        })
    })
}

/// The most strands in cycles that are looked for.
const MOST_IN_CYCLES: usize = 10_000;

/// The cycles among strands that wait for each other: those of a sweep that are there while all mutators stand, too.
pub fn cycles(vm: &Vm, suspects: &[Vec<Glance>]) -> Vec<Vec<Glance>> {
    if suspects.is_empty() {
        return Vec::new();
    }
    let is_cycle = |cycle: &&Vec<Glance>| {
        let next = cycle.iter().cycle().skip(1);
        cycle.iter().zip(next).all(|(one, next)| {
            !one.strand.is_free()
                && recording::number_of(one.strand) == one.number
                && stalls::holding_up(one.strand) == Some(next.strand)
        })
    };
    vm.heap.while_stopped(|| suspects.iter().filter(is_cycle).cloned().collect())
}

/// Collects what may be cycles of a sweep: the strands that could be woken by a strand.
#[derive(Default)]
pub struct Suspects(HashMap<StrandRef, Glance>);

impl Suspects {
    /// Notes a strand of the sweep.
    pub fn note(&mut self, glance: &Glance) {
        if glance.waker.is_some() {
            self.0.insert(glance.strand, *glance);
        }
    }

    /// What may be cycles. A strand waits for one other strand at most, so no strand is in two.
    pub fn cycles(&self) -> Vec<Vec<Glance>> {
        let mut seen = HashSet::new();
        let mut cycles = Vec::new();
        let mut count = 0;
        for start in self.0.values() {
            let mut path: Vec<Glance> = Vec::new();
            let mut next = Some(start);
            while let Some(glance) = next.filter(|glance| seen.insert(glance.strand)) {
                path.push(*glance);
                next = glance.waker.and_then(|waker| self.0.get(&waker));
            }
            let Some(next) = next else { continue };
            if let Some(begin) = path.iter().position(|glance| glance.strand == next.strand) {
                count += path.len() - begin;
                cycles.push(path.split_off(begin));
            }
            if count > MOST_IN_CYCLES {
                break;
            }
        }
        // The order of a table of hashes is not that of the next sweep.
        for cycle in &mut cycles {
            let least = (0..cycle.len()).min_by_key(|&index| cycle[index].number).unwrap_or(0);
            cycle.rotate_left(least);
        }
        cycles.sort_by_key(|cycle| cycle.first().map(|glance| glance.number));
        cycles
    }
}

/// A native thread that runs strands.
pub struct SeenWorker {
    /// The number of the worker.
    pub number: usize,
    /// The name that the program knows it by.
    pub name: Option<String>,
    /// The strand that it runs, and where that stands.
    pub strand: Option<(u64, Option<Place>)>,
    /// Whether that is outside.
    pub is_outside: bool,
}

/// The native threads. All mutators stand.
pub fn workers(vm: &Vm) -> Vec<SeenWorker> {
    vm.heap.while_stopped(|| {
        let places = running_places(vm);
        let mut seen = Vec::new();
        vm.look_at_threads(&mut |thread| {
            let strand = thread.running_strand().map(recording::number_of);
            seen.push(SeenWorker {
                number: thread.number.index(),
                name: vm.native_threads.name(thread.home),
                strand: strand.map(|number| (number, places.get(&number).copied().flatten())),
                is_outside: vm.scheduler.is_outside(thread.number),
            });
        });
        seen.sort_by_key(|worker| worker.number);
        seen
    })
}

/// What the turn of each of some vats does: the place of its outermost call. All mutators stand.
pub fn turns_of(vm: &Vm, vats: &[VatGlance]) -> Vec<Option<Place>> {
    vm.heap.while_stopped(|| {
        let mut running = HashMap::new();
        vm.look_at_running(&mut |strand, _, activations| {
            running.insert(recording::number_of(strand), outermost(activations));
        });
        let turn = |glance: &VatGlance| {
            let strand = glance.vat.turn()?;
            let number = recording::number_of(strand);
            let is_free = strand.is_free();
            let known = running.get(&number).copied();
            known.unwrap_or_else(|| {
                (!is_free).then(|| outermost(&mut strand.activations())).flatten()
            })
        };
        vats.iter().map(turn).collect()
    })
}

fn outermost(
    activations: &mut dyn Iterator<Item = crate::state::stack::Activation>,
) -> Option<Place> {
    take_places(activations).last().copied()
}

/// A sandbox.
pub struct SeenSandbox {
    /// Its number in events.
    pub number: u64,
    /// Its name.
    pub name: String,
    /// Why it is over, or `live`.
    pub reason: &'static str,
    /// The name of each budget, what was used of it, and how much there is, if it is limited.
    pub budgets: [(&'static str, u64, Option<u64>); 5],
}

/// The sandboxes that there are. All mutators stand.
pub fn sandboxes(vm: &Vm) -> Vec<SeenSandbox> {
    if !vm.sandboxes.has_any() {
        return Vec::new();
    }
    // A thread that makes a sandbox takes the native part and sets the object between two polls.
    vm.heap.while_stopped(|| {
        let used = vm.sandboxes.used().into_iter();
        used.map(|sandbox| {
            let (budgets, [fuel, heap, strands, messages, time]) =
                (sandbox.budgets(), sandbox.usage());
            SeenSandbox {
                number: recording::number_of_object(sandbox.object()),
                name: sandbox.name(),
                reason: sandbox.reason().name(),
                budgets: [
                    ("fuel", fuel, budgets.fuel),
                    ("heap", heap, budgets.heap),
                    ("strands", strands, budgets.strands),
                    ("messages", messages, budgets.messages),
                    ("time", time, budgets.time),
                ],
            }
        })
        .collect()
    })
}

/// The counts of transactions, with their names, and the lines that were most often in conflict.
pub fn transactions(vm: &Vm) -> (Vec<(&'static str, u64)>, Vec<SeenConflict>) {
    let statistics = &vm.transactions.statistics;
    let counts = statistics::NAMES.into_iter().zip(statistics.sums()).collect();
    (counts, statistics.conflicts(vm))
}

/// The state of the heap.
pub fn heap(vm: &Vm) -> HeapStatistics {
    vm.heap.statistics()
}

/// Whether the file of a module that is loaded has this path.
pub fn has_module(vm: &Vm, path: &str) -> bool {
    let mut modules = vm.modules.all();
    modules.any(|module| module.bytecode.path_text() == path)
}
