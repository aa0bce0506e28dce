//! Traces in Perfetto's format, which ui.perfetto.dev shows. A [`Trace`] is the reader of a log: it writes each event to
//! its file as it comes, so a run's length is limited by the disk only.
//!
//! # Tracks
//!
//! | track | slices on it |
//! |---|---|
//! | a worker, as a thread | the strands that it runs, its idle times |
//! | a vat | its turns; within a turn its waits, transactions and callouts |
//! | a strand that is no turn | its life; within that, the same |
//! | the collector | collections |
//! | counters | bytes of the heap; the length of each mailbox |
//!
//! Arrows lead from the sending of a message to its turn, from the making of a strand to its begin, and from the end of a
//! wait to the worker's slice in which the strand goes on.
//!
//! All events of one file are one sequence, so each text is written once, and numbered.

mod schema;

use std::collections::{HashMap, HashSet};
use std::io::Write;

use prost::Message;

use schema::{
    CounterDescriptor, DebugAnnotation, InternedData, Name, ProcessDescriptor, SourceLocation,
    ThreadDescriptor, TracePacket, TrackDescriptor, TrackEvent, flag, kind, unit,
};

use crate::Names;
use crate::log::{MACHINE, Sink};
use crate::record::{Record, Track, vat_of_message};
use crate::table::{Entity, Kind, Reason};

/// The number of the one sequence.
const SEQUENCE: u32 = 1;
/// The number of the one process, the same in each run.
const PROCESS: i32 = 1;
/// The number of the first worker's thread; that of a process's first thread is special in Perfetto.
const FIRST_THREAD: i32 = 100;

/// The numbers of tracks and arrows: a kind, and the number of the entity.
mod track {
    pub const PROCESS: u64 = 1;
    pub const COLLECTOR: u64 = 2;
    pub const HEAP: u64 = 3;

    pub fn worker(number: u32) -> u64 {
        1 << 60 | u64::from(number)
    }

    pub fn vat(number: u64) -> u64 {
        2 << 60 | number
    }

    pub fn strand(number: u64) -> u64 {
        3 << 60 | number
    }

    pub fn mailbox(vat: u64) -> u64 {
        4 << 60 | vat
    }
}

/// The numbers of arrows.
mod arrow {
    pub fn message(number: u64) -> u64 {
        1 << 62 | number
    }

    pub fn begin(strand: u64) -> u64 {
        2 << 62 | strand
    }

    pub fn wake(strand: u64) -> u64 {
        3 << 62 | strand
    }
}

/// Texts with their numbers.
#[derive(Default)]
struct Texts(HashMap<String, u64>);

impl Texts {
    /// The number of a text, which is added to the new ones if it is new.
    fn number(&mut self, text: &str, new: &mut Vec<Name>) -> u64 {
        if let Some(&number) = self.0.get(text) {
            return number;
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(text.to_owned(), number);
        new.push(Name { iid: Some(number), name: Some(text.to_owned()) });
        number
    }
}

/// A file for a trace.
pub struct Trace<W: Write + Send> {
    output: W,
    /// The first mistake of the output; nothing is written after it.
    failure: Option<std::io::Error>,
    names: Box<dyn Names>,
    /// The packets that are not written yet.
    buffer: Vec<u8>,
    event_names: Texts,
    categories: Texts,
    annotation_names: Texts,
    places: HashMap<u64, Option<u64>>,
    described: HashSet<u64>,
    /// The tracks of strands that wait.
    waiting: HashSet<Track>,
    /// The strands that have begun and not ended.
    begun: HashSet<Track>,
    /// Whether events were lost since the last packet.
    has_lost: bool,
    has_begun: bool,
    /// The time of the last event.
    last: u64,
}

/// An event on a track, before its texts are numbered.
struct Event<'a> {
    time: u64,
    track: u64,
    kind: i32,
    name: &'a str,
    category: &'a str,
    flow: Option<u64>,
    end_of_flow: Option<u64>,
    site: u64,
    notes: Vec<(&'a str, Value<'a>)>,
}

enum Value<'a> {
    Number(u64),
    Text(&'a str),
}

impl<W: Write + Send> Trace<W> {
    /// A trace of the program with this name.
    pub fn new(output: W, program: &str, names: Box<dyn Names>) -> Trace<W> {
        let mut trace = Trace {
            output,
            failure: None,
            names,
            buffer: Vec::new(),
            event_names: Texts::default(),
            categories: Texts::default(),
            annotation_names: Texts::default(),
            places: HashMap::new(),
            described: HashSet::new(),
            waiting: HashSet::new(),
            begun: HashSet::new(),
            has_lost: false,
            has_begun: false,
            last: 0,
        };
        trace.describe(TrackDescriptor {
            uuid: Some(track::PROCESS),
            process: Some(ProcessDescriptor {
                pid: Some(PROCESS),
                process_name: Some(format!("squall {program}")),
            }),
            ..TrackDescriptor::default()
        });
        trace
    }

    /// Writes a packet.
    fn write(&mut self, mut packet: TracePacket) {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        packet.sequence_flags = Some(match std::mem::replace(&mut self.has_begun, true) {
            false => flag::INCREMENTAL_STATE_CLEARED | flag::NEEDS_INCREMENTAL_STATE,
            true => flag::NEEDS_INCREMENTAL_STATE,
        });
        if std::mem::take(&mut self.has_lost) {
            packet.previous_packet_dropped = Some(true);
        }
        let packet = schema::Trace { packet: vec![packet] };
        self.buffer.extend_from_slice(&packet.encode_to_vec());
    }

    fn describe(&mut self, descriptor: TrackDescriptor) {
        self.write(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() });
    }

    /// Describes a track at its first use.
    fn describe_once(&mut self, uuid: u64, descriptor: impl FnOnce() -> TrackDescriptor) {
        if self.described.insert(uuid) {
            let descriptor = descriptor();
            self.describe(TrackDescriptor { uuid: Some(uuid), ..descriptor });
        }
    }

    fn named(name: String) -> TrackDescriptor {
        TrackDescriptor {
            name: Some(name),
            parent_uuid: Some(track::PROCESS),
            ..TrackDescriptor::default()
        }
    }

    /// The track of a record.
    fn track_of(&mut self, worker: u32, record: &Record) -> u64 {
        match record.track {
            Track::Worker => self.worker_track(worker),
            Track::Vat(number) => {
                let uuid = track::vat(number);
                self.describe_once(uuid, || Self::named(format!("vat {number}")));
                uuid
            }
            Track::Strand(number) => {
                let uuid = track::strand(number);
                self.describe_once(uuid, || Self::named(format!("strand {number}")));
                uuid
            }
        }
    }

    fn worker_track(&mut self, worker: u32) -> u64 {
        if worker == MACHINE {
            let uuid = track::COLLECTOR;
            self.describe_once(uuid, || Self::named("collector".to_owned()));
            return uuid;
        }
        let uuid = track::worker(worker);
        self.describe_once(uuid, || TrackDescriptor {
            thread: Some(ThreadDescriptor {
                pid: Some(PROCESS),
                tid: Some(FIRST_THREAD + worker as i32),
                thread_name: Some(format!("worker {worker}")),
            }),
            parent_uuid: Some(track::PROCESS),
            ..TrackDescriptor::default()
        });
        uuid
    }

    /// Writes the value of a counter.
    fn count(
        &mut self,
        time: u64,
        uuid: u64,
        value: u64,
        describe: impl FnOnce() -> (String, i32),
    ) {
        self.describe_once(uuid, || {
            let (name, unit) = describe();
            let counter = Some(CounterDescriptor { unit: Some(unit) });
            TrackDescriptor { counter, ..Self::named(name) }
        });
        let event = TrackEvent {
            r#type: Some(kind::COUNTER),
            track_uuid: Some(uuid),
            counter_value: Some(value as i64),
            ..TrackEvent::default()
        };
        self.write(TracePacket {
            timestamp: Some(time),
            track_event: Some(event),
            ..TracePacket::default()
        });
    }

    fn count_mailbox(&mut self, time: u64, message: u64, length: u64) {
        let vat = vat_of_message(message);
        let describe = || (format!("mailbox of vat {vat}"), unit::COUNT);
        self.count(time, track::mailbox(vat), length, describe);
    }

    /// Writes an event on a track.
    fn event(&mut self, event: Event) {
        let mut new = InternedData::default();
        let mut written = TrackEvent {
            r#type: Some(event.kind),
            track_uuid: Some(event.track),
            flow_ids: event.flow.into_iter().collect(),
            terminating_flow_ids: event.end_of_flow.into_iter().collect(),
            ..TrackEvent::default()
        };
        if event.kind != kind::SLICE_END {
            let name = self.event_names.number(event.name, &mut new.event_names);
            let category = self.categories.number(event.category, &mut new.event_categories);
            (written.name_iid, written.category_iids) = (Some(name), vec![category]);
            written.source_location_iid = self.place(event.site, &mut new);
        }
        for (name, value) in event.notes {
            let iid = self.annotation_names.number(name, &mut new.debug_annotation_names);
            let mut note = DebugAnnotation { name_iid: Some(iid), ..DebugAnnotation::default() };
            match value {
                Value::Number(number) => note.uint_value = Some(number),
                Value::Text(text) => note.string_value = Some(text.to_owned()),
            }
            written.debug_annotations.push(note);
        }
        self.write(TracePacket {
            timestamp: Some(event.time),
            track_event: Some(written),
            interned_data: (new != InternedData::default()).then_some(new),
            ..TracePacket::default()
        });
    }

    /// The number of a site's place, which is written at its first use.
    fn place(&mut self, site: u64, new: &mut InternedData) -> Option<u64> {
        if site == 0 {
            return None;
        }
        if let Some(&known) = self.places.get(&site) {
            return known;
        }
        let number = self.names.place(site).map(|(file, line)| {
            let number = self.places.len() as u64 + 1;
            new.source_locations.push(SourceLocation {
                iid: Some(number),
                file_name: Some(file),
                line_number: Some(line),
            });
            number
        });
        self.places.insert(site, number);
        number
    }

    /// The name of a turn: the receiver's class and the selector.
    fn turn_name(&self, site: u64, layout: u64) -> String {
        let selector = self.names.selector(site);
        match (self.names.class(layout), selector) {
            (Some(class), Some(selector)) => format!("{class}>>{selector}"),
            (Some(class), None) => class,
            (None, selector) => selector.unwrap_or_else(|| "turn".to_owned()),
        }
    }
}

/// An event on a track, with nothing but its name.
fn bare<'a>(record: &Record, track: u64, kind: i32, name: &'a str) -> Event<'a> {
    Event {
        time: record.time,
        track,
        kind,
        name,
        category: record.kind.entity().name(),
        flow: None,
        end_of_flow: None,
        site: 0,
        notes: Vec::new(),
    }
}

fn begin<'a>(record: &Record, track: u64, name: &'a str) -> Event<'a> {
    bare(record, track, kind::SLICE_BEGIN, name)
}

fn end(record: &Record, track: u64) -> Event<'static> {
    bare(record, track, kind::SLICE_END, "")
}

fn instant<'a>(record: &Record, track: u64, name: &'a str) -> Event<'a> {
    bare(record, track, kind::INSTANT, name)
}

/// What an event is on the tracks. `own` is the track of the record.
impl<W: Write + Send> Trace<W> {
    /// The events of strands: their slices on the tracks of workers, too.
    fn take_strand(&mut self, worker: u64, own: u64, record: &Record) {
        let [first, second, third] = record.fields;
        match record.kind {
            Kind::StrandCreated => {
                let notes = vec![("strand", Value::Number(first))];
                let flow = Some(arrow::begin(first));
                let event = instant(record, own, "makes a strand");
                self.event(Event { notes, flow, site: third, ..event });
            }
            // A strand may wait before its first instruction, and begin again.
            Kind::StrandBegun => {
                if self.begun.insert(record.track) {
                    let end_of_flow = Some(arrow::begin(first));
                    self.event(Event { end_of_flow, ..begin(record, own, "strand") });
                }
            }
            Kind::StrandEnded => {
                if self.begun.remove(&record.track) {
                    self.event(end(record, own));
                }
            }
            Kind::StrandResumed => {
                let name = match record.track {
                    Track::Vat(number) => format!("vat {number}"),
                    Track::Strand(_) | Track::Worker => format!("strand {first}"),
                };
                let has_waited = self.waiting.remove(&record.track);
                let end_of_flow = has_waited.then_some(arrow::wake(first));
                self.event(Event { end_of_flow, ..begin(record, worker, &name) });
                if has_waited {
                    self.event(end(record, own));
                }
            }
            Kind::StrandBlocked => {
                self.event(end(record, worker));
                self.waiting.insert(record.track);
                let notes = vec![("entity", Value::Number(second))];
                let name = format!("waits for {}", Reason::of(first).text());
                self.event(Event { notes, site: third, ..begin(record, own, &name) });
            }
            Kind::StrandWoken => {
                let flow = Some(arrow::wake(first));
                self.event(Event { flow, ..instant(record, own, "wakes a strand") });
            }
            // It is preempted or stopped.
            _ => self.event(end(record, worker)),
        }
    }

    /// The events of turns and messages.
    fn take_message(&mut self, own: u64, record: &Record) {
        let Record { time, fields: [first, second, third], .. } = *record;
        match record.kind {
            Kind::TurnBegun => {
                let name = self.turn_name(second, third);
                let end_of_flow = Some(arrow::message(first));
                self.event(Event { end_of_flow, site: second, ..begin(record, own, &name) });
            }
            Kind::TurnEnded => self.event(end(record, own)),
            Kind::MessageSent => {
                let selector = self.names.selector(second);
                let name = format!("sends {}", selector.as_deref().unwrap_or("a message"));
                let flow = Some(arrow::message(first));
                let notes = vec![("vat", Value::Number(vat_of_message(first)))];
                self.event(Event { flow, notes, site: second, ..instant(record, own, &name) });
                self.count_mailbox(time, first, third);
            }
            // It is received.
            _ => self.count_mailbox(time, first, second),
        }
    }

    /// The events of transactions, callouts and collections, which are slices.
    fn take_slice(&mut self, own: u64, record: &Record) {
        let Record { time, fields: [first, second, _], .. } = *record;
        match record.kind {
            Kind::TransactionBegun => self.event(begin(record, own, "transaction")),
            Kind::TransactionCommitted | Kind::TransactionAborted | Kind::TransactionRetried => {
                let notes = vec![("outcome", Value::Text(record.kind.name()))];
                self.event(Event { notes, ..end(record, own) });
            }
            Kind::CalloutBegun => {
                let selector = self.names.selector(first);
                let name = selector.as_deref().unwrap_or("callout");
                self.event(Event { site: first, ..begin(record, own, name) });
            }
            Kind::CollectionBegun => {
                let name = if first == 1 { "full collection" } else { "nursery collection" };
                self.event(begin(record, own, name));
                self.count_heap(time, second);
            }
            Kind::CollectionEnded => {
                self.event(end(record, own));
                self.count_heap(time, second);
            }
            // The callout has ended.
            _ => self.event(end(record, own)),
        }
    }
}

impl<W: Write + Send> Sink for Trace<W> {
    fn take(&mut self, worker: u32, record: &Record) {
        self.last = record.time;
        let own = self.track_of(worker, record);
        let entity = record.kind.entity();
        match entity {
            Entity::Worker if record.kind == Kind::WorkerIdle => {
                self.event(begin(record, own, "idle"));
            }
            Entity::Worker => self.event(end(record, own)),
            Entity::Strand => {
                let worker = self.worker_track(worker);
                self.take_strand(worker, own, record);
            }
            Entity::Turn | Entity::Message => self.take_message(own, record),
            Entity::Transaction | Entity::Callout | Entity::Collection => {
                self.take_slice(own, record);
            }
            Entity::Vat
            | Entity::Promise
            | Entity::Channel
            | Entity::Lock
            | Entity::Barrier
            | Entity::Sandbox => {
                let name = format!("{} {}", entity.name(), record.kind.name());
                let notes = vec![(entity.name(), Value::Number(record.fields[0]))];
                self.event(Event { notes, ..instant(record, own, &name) });
            }
        }
    }

    fn lost(&mut self, worker: u32, count: u64) {
        self.has_lost = true;
        let track = self.worker_track(worker);
        self.event(Event {
            time: self.last,
            track,
            kind: kind::INSTANT,
            name: "events lost",
            category: "worker",
            flow: None,
            end_of_flow: None,
            site: 0,
            notes: vec![("count", Value::Number(count))],
        });
    }

    fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        if self.failure.is_none()
            && let Err(error) = self.output.write_all(&buffer).and_then(|()| self.output.flush())
        {
            self.failure = Some(error);
        }
    }

    fn failure(&self) -> Option<String> {
        self.failure.as_ref().map(ToString::to_string)
    }
}

impl<W: Write + Send> Trace<W> {
    fn count_heap(&mut self, time: u64, bytes: u64) {
        self.count(time, track::HEAP, bytes, || ("heap".to_owned(), unit::SIZE_BYTES));
    }
}
