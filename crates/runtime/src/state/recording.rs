//! Recording: notes the events of the [table](squall_events::table) in the log of the machine. The layers above call
//! [`Thread::note`] where something happens.
//!
//! Nothing is noted unless the log is on. Then each native thread has a port, which it got when it attached or at its first
//! poll after that; so a note costs a load and a test when the log is off. Compiled code notes nothing itself: whatever the table has goes through
//! functions of the runtime in all tiers, so events are the same with each of them.
//!
//! Entities have numbers. A strand's is its identity. A vat gets one when it is first noted. Messages count in their
//! vat: a mailbox keeps the order of messages, so the count of those posted and the count of those taken name a message
//! at both ends, without a word in it. Other entities have the hash in their header, from a range of its own, so that
//! recording does not change the hashes that programs see.
//!
//! A note needs no object to stay in its place, and is no GC point; under a seed it may write to the log's sink.

use squall_bytecode::module::Site as SiteDescription;
use squall_events::table::Reason;
use squall_events::{Kind, Names, Port, Record, Track, record};
use squall_heap::{CollectionKind, CollectionReport, LayoutId, Object, Word};

use crate::model::function::{Function, Site};
use crate::model::known;
use crate::state::replays::Tape;
use crate::state::strand::{StrandRef, Wait};
use crate::state::thread::Thread;
use crate::state::vat::{self, VatRef};
use crate::state::vm::Vm;

/// How a thread is watched, by recordings and a debugger.
#[derive(Clone, Copy, Default)]
pub struct Watch {
    /// Whether the thread has a [port](Thread::port) or a [tape](Thread::tape), or there is a debugger.
    pub is_on: bool,
    /// Whether the thread is watched for nothing but a recording that it makes.
    pub only_records: bool,
    /// Whether the thread repeats a recording.
    pub repeats: bool,
    /// Whether the strand that runs here steps, as the debugger has asked.
    pub steps: bool,
    /// Whether the user has begun the step since the strand's instruction in progress began.
    pub is_new_step: bool,
    /// Whether the debugger is to be asked before the next instruction of the strand that steps, which has just come there.
    pub has_arrived: bool,
    /// The [epoch](crate::state::debugging::Debugging::epoch) of the code, when the thread looked last.
    pub epoch: u32,
    /// Whether messages are counted in their mailboxes.
    pub counts: bool,
    /// Whether [waits](crate::state::waits) are measured for a profile.
    pub profiles: bool,
    /// The last byte of the [epoch](squall_events::Log::epoch) of the log, when the thread looked last.
    pub log_epoch: u8,
}

impl Thread {
    /// Looks whether its events are noted, or a debugger was attached.
    pub fn look_for_observers(&mut self) {
        let is_seen = self.port.is_some() || self.vm.debugging.debugger().is_some();
        self.watch.is_on = is_seen || self.tape.is_some();
        self.watch.only_records =
            !is_seen && matches!(self.tape.as_deref(), Some(Tape::Records(_)));
        self.watch.repeats = matches!(self.tape.as_deref(), Some(Tape::Replays(_)));
        self.watch.profiles = self.sampler.is_some();
        self.watch.counts = self.watch.is_on || self.vm.events.counts_messages();
        self.watch.log_epoch = self.vm.events.epoch() as u8;
    }

    /// Notes an event of the strand that runs here, or of the worker between strands. The fields are computed only if the
    /// log is on.
    #[inline(always)]
    pub fn note<const N: usize>(&self, kind: Kind, fields: impl FnOnce() -> [u64; N]) {
        if self.watch.is_on && (!self.only_records() || is_taped(kind)) {
            note_in(self, kind, fields);
        }
    }

    /// Notes an event on a track.
    #[inline(always)]
    pub fn note_on<const N: usize>(&self, kind: Kind, event: impl FnOnce() -> (Track, [u64; N])) {
        if self.is_noting() {
            note_on(self, kind, event);
        }
    }

    /// Notes that the strand of the thread runs from now on.
    #[inline(always)]
    pub fn note_resumed(&self) {
        if self.only_records() {
            return self.tape_resumed();
        }
        self.note(Kind::StrandResumed, || [number_of(self.strand())]);
    }

    /// Whether events are noted, or the run is recorded or repeats a recording.
    #[inline(always)]
    pub fn is_recording(&self) -> bool {
        self.watch.is_on
    }

    /// As [`Thread::is_recording`], but not for a recording alone, which needs few of the events.
    #[inline(always)]
    pub fn is_noting(&self) -> bool {
        self.watch.is_on && !self.only_records()
    }
}

/// Whether [recordings](crate::state::replays) need events of this kind.
const fn is_taped(kind: Kind) -> bool {
    matches!(kind, Kind::VatCreated | Kind::StrandResumed | Kind::StrandBlocked | Kind::WorkerIdle)
}

#[cold]
#[inline(never)]
fn note_in<const N: usize>(thread: &Thread, kind: Kind, fields: impl FnOnce() -> [u64; N]) {
    if thread.only_records() && kind != Kind::VatCreated {
        return thread.tape_event(kind, &[]);
    }
    let fields = fields();
    thread.tape_event(kind, &fields);
    tell_debugger(thread, kind, &fields);
    let Some(port) = thread.port.as_ref().filter(|port| port.wants(kind)) else { return };
    let track = thread.running_strand().map_or(Track::Worker, |strand| track_of(thread.vm, strand));
    write(thread.vm, port, kind, track, fields);
}

#[cold]
#[inline(never)]
fn note_on<const N: usize>(thread: &Thread, kind: Kind, event: impl FnOnce() -> (Track, [u64; N])) {
    let (track, fields) = event();
    tell_debugger(thread, kind, &fields);
    let Some(port) = thread.port.as_ref().filter(|port| port.wants(kind)) else { return };
    write(thread.vm, port, kind, track, fields);
}

fn tell_debugger(thread: &Thread, kind: Kind, fields: &[u64]) {
    if let Some(debugger) = thread.vm.debugging.debugger() {
        debugger.event_noted(thread, kind, fields);
    }
}

/// Tells a debugger which promise is for the result of a message that is sent, or whose turn begins.
fn tell_of_message(thread: &Thread, has_begun: bool, number: u64, message: Object) {
    if let Some(debugger) = thread.vm.debugging.debugger() {
        let result = message.element(vat::RESULT);
        let is_promise = known::layout_of(result) == known::PROMISE;
        let promise = if is_promise { number_of_object(result) } else { 0 };
        debugger.message_noted(thread, has_begun, number, promise);
    }
}

fn write<const N: usize>(vm: &Vm, port: &Port, kind: Kind, track: Track, given: [u64; N]) {
    debug_assert_eq!(N, kind.fields().len(), "an event has the fields of the table");
    let mut fields = [0; 3];
    fields[..N].copy_from_slice(&given);
    port.note(&vm.events, &Record { time: now(vm), kind, track, fields });
}

/// The time of an event that happens now.
pub(crate) fn now(vm: &Vm) -> u64 {
    vm.events.now(|| vm.scheduler.elapsed())
}

/// The track of a strand: that of its vat if the strand is the vat's turn.
pub fn track_of(vm: &Vm, strand: StrandRef) -> Track {
    match strand.vat().filter(|vat| vat.turn() == Some(strand)) {
        Some(vat) => Track::Vat(vat.number(vm)),
        None => Track::Strand(number_of(strand)),
    }
}

/// The number of a strand.
pub fn number_of(strand: StrandRef) -> u64 {
    strand.identity() >> 3
}

/// The number of a vat that there may be, or 0.
pub fn number_of_vat(vm: &Vm, vat: Option<VatRef>) -> u64 {
    vat.map_or(0, |vat| vat.number(vm))
}

/// The number of an object that strands share; 0 for other words.
pub fn number_of_object(word: Word) -> u64 {
    word.as_object().map_or(0, |object| match object.layout() {
        known::STRAND => StrandRef::of_object(object).map_or(0, number_of),
        _ => u64::from(object.hidden_hash()),
    })
}

/// The address of a site that there may be, or 0.
pub fn number_of_site(site: Option<&'static Site>) -> u64 {
    site.map_or(0, |site| std::ptr::from_ref(site).addr() as u64)
}

/// The address of the program's call that is in progress, or of the library's own if no activation of the program is near; or
/// 0. The state must be saved.
pub fn number_of_call(thread: &Thread) -> u64 {
    number_of_call_in(thread, thread.call_site)
}

/// As [`number_of_call`], when this is the call.
pub fn number_of_call_in(thread: &Thread, call: Option<&'static Site>) -> u64 {
    let is_of_program =
        |site: &Site| !site.function.is_null() && !site.function().module.bytecode.is_image();
    if call.is_some_and(is_of_program) {
        return number_of_site(call);
    }
    number_of_site(thread.program_call().or(call))
}

/// The address of the site that has sent a message, or 0.
pub(crate) fn site_of_message(message: Object) -> u64 {
    let kind = message.element(vat::KIND);
    // The kinds that are no sites are small.
    let is_site = kind.is_small_integer() && kind.bits() > 1 << 16;
    if is_site { kind.bits() } else { 0 }
}

/// Why a strand waits for this.
pub fn reason_of(waits_for: Word, wait: Wait, begins_again: bool) -> Reason {
    if wait == Wait::Suspension {
        return Reason::Suspension;
    }
    if begins_again {
        return Reason::Transaction;
    }
    if waits_for.is_small_integer() {
        return Reason::Time;
    }
    match waits_for.as_object().map(|object| object.layout()) {
        // A choice waits for several channels, which are in an array.
        Some(known::CHANNEL | known::ARRAY) => Reason::Channel,
        Some(known::MUTEX | known::SHARED_MUTEX) => Reason::Lock,
        Some(known::CONDITION) => Reason::Condition,
        Some(known::SEMAPHORE) => Reason::Semaphore,
        Some(known::BARRIER) => Reason::Barrier,
        Some(known::BUCKET) => Reason::Bucket,
        Some(known::STRAND) => Reason::Strand,
        Some(known::PROMISE) => Reason::Promise,
        Some(known::VAT) => Reason::Mailbox,
        Some(known::JOIN) => Reason::Branches,
        Some(known::RIGHT) => Reason::Outside,
        _ => Reason::Other,
    }
}

/// Messages.
impl VatRef {
    /// Notes that a message is put into the mailbox. The vat is locked.
    #[inline(always)]
    pub(crate) fn note_sent(self, thread: &Thread, message: Object) {
        if thread.watch.counts && !thread.only_records() {
            let length = self.count_posted();
            thread.note(Kind::MessageSent, || {
                let number = record::message(self.number(thread.vm), self.posted());
                tell_of_message(thread, false, number, message);
                [number, site_of_message(message), length]
            });
        }
    }

    /// Notes that a message was taken from the mailbox. For the vat's owner.
    #[inline(always)]
    pub fn note_received(self, thread: &Thread) {
        if thread.watch.counts {
            thread.leave_piece();
            if thread.only_records() {
                return;
            }
            let length = self.count_taken();
            thread.note(Kind::MessageReceived, || [self.current_message(thread.vm), length]);
        }
    }

    /// The number of the message that was taken last.
    fn current_message(self, vm: &Vm) -> u64 {
        record::message(self.number(vm), self.count_of_taken())
    }

    /// Notes that the turn for the message taken last begins.
    #[inline(always)]
    pub fn note_turn(self, thread: &Thread, message: Object, receiver: Word) {
        if !thread.watch.is_on {
            return;
        }
        thread.begin_tape(self, message);
        thread.note_on(Kind::TurnBegun, || {
            let layout = u64::from(known::layout_of(receiver).bits());
            tell_of_message(thread, true, self.current_message(thread.vm), message);
            let fields = [self.current_message(thread.vm), site_of_message(message), layout];
            (Track::Vat(self.number(thread.vm)), fields)
        });
    }

    /// Notes that the turn has ended.
    pub fn note_turn_end(self, thread: &Thread, has_failed: bool) {
        thread.note_on(Kind::TurnEnded, || {
            let fields = [self.current_message(thread.vm), u64::from(has_failed)];
            (Track::Vat(self.number(thread.vm)), fields)
        });
    }
}

/// Notes a collection that has ended. Under a seed the moments of collections are not repeatable, since compiled code is
/// made in the background and makes fewer objects; so they are not noted there.
pub(crate) fn collected(vm: &Vm, report: &CollectionReport) {
    if vm.events.is_seeded() || !vm.events.is_on() {
        return;
    }
    let end = now(vm);
    let begin = end.saturating_sub(report.pause.as_nanos() as u64);
    let everything = u64::from(report.kind == CollectionKind::Full);
    let (before, after) = (report.bytes_before as u64, report.bytes_after as u64);
    vm.events.note_for_machine(begin, Kind::CollectionBegun, [everything, before, 0]);
    vm.events.note_for_machine(end, Kind::CollectionEnded, [everything, after, 0]);
}

/// The texts for the numbers in events.
#[derive(Clone, Copy)]
pub struct VmNames(pub &'static Vm);

impl VmNames {
    fn site(self, address: u64) -> Option<&'static Site> {
        // SAFETY: events hold the addresses of sites, which are immortal, or 0.
        let site: Option<&'static Site> = unsafe { (address as *const Site).as_ref() };
        // The sites of the machine itself have no function.
        site.filter(|site| !site.function.is_null())
    }
}

impl VmNames {
    /// The place of a site.
    pub fn place_of(self, address: u64) -> Option<(&'static Function, usize)> {
        self.site(address).map(|site| (site.function(), site.pc as usize))
    }

    /// The name of the function that a site is in.
    pub(crate) fn function_around(self, address: u64) -> Option<String> {
        Some(self.site(address)?.function().name().to_owned())
    }
}

impl Names for VmNames {
    fn selector(&self, site: u64) -> Option<String> {
        let site = self.site(site)?;
        let function = site.function();
        match function.bytecode().sites.get(site.index()) {
            Some(SiteDescription::Send { selector, .. }) => {
                Some(function.module.bytecode.string(*selector).to_owned())
            }
            _ => Some(function.name().to_owned()),
        }
    }

    fn place(&self, site: u64) -> Option<(String, u32)> {
        let site = self.site(site)?;
        let (path, line, _) = site.function().position(site.pc as usize);
        Some((path.to_owned(), line))
    }

    fn class(&self, layout: u64) -> Option<String> {
        let layout = LayoutId::from_bits(u32::try_from(layout).ok()?);
        Some(self.0.behavior_of_layout(layout)?.full_name())
    }
}
