//! The events of the last moments, for the time view. [`crate::answers`] asks for them.
//!
//! Events cost the program something, so the log is on only while a client asks: a request turns it on, and it is turned off
//! when no request has come for `LINGER`. A native thread drains it meanwhile, and ends with it. The newest `KEPT` events
//! are kept.
//!
//! Under a seed, events would take time and change the run; and if the run is recorded in a file, the events go there. Then
//! there is no time view.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Map, Value as Json, json};
use squall_events::record::{Record, Track};
use squall_events::table::{Field, Kind, Reason};
use squall_events::{Names, Sink, record};
use squall_runtime::state::recording::VmNames;
use squall_runtime::state::vm::Vm;

/// How long the log stays on after a request.
const LINGER: Duration = Duration::from_secs(4);
/// How often the log is drained.
const PERIOD: Duration = Duration::from_millis(20);
/// How many events are kept.
const KEPT: usize = 50_000;

/// The kinds of events that the time view shows.
const KINDS: [Kind; 14] = [
    Kind::WorkerIdle,
    Kind::WorkerBusy,
    Kind::StrandCreated,
    Kind::StrandBegun,
    Kind::StrandResumed,
    Kind::StrandBlocked,
    Kind::StrandWoken,
    Kind::StrandEnded,
    Kind::TurnBegun,
    Kind::TurnEnded,
    Kind::MessageSent,
    Kind::MessageReceived,
    Kind::CollectionBegun,
    Kind::CollectionEnded,
];

/// See the head of the file.
pub struct Window {
    vm: &'static Vm,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    recent: Mutex<Recent>,
    /// When the log is to be turned off; none while it is off.
    until: Mutex<Option<Instant>>,
}

/// The newest events, with consecutive numbers.
#[derive(Default)]
struct Recent {
    /// The number of the first one that is kept.
    first: u64,
    events: VecDeque<(u32, Record)>,
    lost: u64,
}

/// The log's reader.
struct Keeper(Arc<Shared>);

impl Sink for Keeper {
    fn take(&mut self, worker: u32, record: &Record) {
        let mut recent = self.0.recent.lock();
        if recent.events.len() == KEPT {
            recent.events.pop_front();
            recent.first += 1;
        }
        recent.events.push_back((worker, *record));
    }

    fn lost(&mut self, _: u32, count: u64) {
        self.0.recent.lock().lost += count;
    }
}

impl Window {
    /// A window on a machine's events.
    pub fn new(vm: &'static Vm) -> Window {
        Window { vm, shared: Arc::default() }
    }

    /// At most so many events with greater numbers than this, the newest ones, or the reason why there are none.
    pub fn events(&self, after: u64, limit: usize) -> Result<Json, &'static str> {
        self.want()?;
        let recent = self.shared.recent.lock();
        let end = recent.first + recent.events.len() as u64;
        let begin = after
            .saturating_add(1)
            .max(recent.first + 1)
            .max((end + 1).saturating_sub(limit as u64));
        let index = |number: u64| (number - 1 - recent.first) as usize;
        let rows: Vec<(u64, u32, Record)> = (begin..=end)
            .map(|number| (number, recent.events[index(number)].0, recent.events[index(number)].1))
            .collect();
        let lost = recent.lost;
        // Texts take longer than a copy, and the reader of the log waits for the lock.
        drop(recent);
        let names = VmNames(self.vm);
        let rows: Vec<Json> = rows.iter().map(|row| event(&names, row)).collect();
        Ok(
            json!({ "rows": rows, "last": end, "lost": lost, "now": self.vm.events.now(|| Duration::ZERO) }),
        )
    }

    /// Turns the log on if it is off, and lets it stay on for some time.
    fn want(&self) -> Result<(), &'static str> {
        let mut until = self.shared.until.lock();
        if until.is_none() {
            if self.vm.events.is_seeded() {
                return Err(
                    "a run with a seed has no time view: its time is simulated, and looking would take some. Use `--trace=FILE.pftrace`",
                );
            }
            if self.vm.events.is_on() {
                return Err("the events of this run go to a file, so there is no time view");
            }
            self.begin()?;
        }
        *until = Some(Instant::now() + LINGER);
        Ok(())
    }

    fn begin(&self) -> Result<(), &'static str> {
        let (vm, shared) = (self.vm, Arc::clone(&self.shared));
        let drainer = std::thread::Builder::new().name("observer's".into());
        let drainer = drainer.spawn(move || {
            loop {
                std::thread::sleep(PERIOD);
                vm.events.drain();
                let mut until = shared.until.lock();
                if until.is_none_or(|until| Instant::now() > until) {
                    *until = None;
                    vm.events.end();
                    return vm.ask_all_to_look();
                }
            }
        });
        drainer.map_err(|_| "the system grants no native thread for it")?;
        vm.events.begin(&KINDS, Box::new(Keeper(Arc::clone(&self.shared))));
        vm.ask_all_to_look();
        Ok(())
    }
}

/// An event as JSON.
fn event(names: &VmNames, (number, worker, record): &(u64, u32, Record)) -> Json {
    let mut fields = Map::new();
    for ((name, field), &value) in record.kind.fields().iter().zip(&record.fields) {
        fields.insert((*name).to_owned(), value_of(names, *field, value));
    }
    let kind = format!("{} {}", record.kind.entity().name(), record.kind.name());
    let track = match record.track {
        Track::Worker => format!("worker {worker}"),
        Track::Vat(number) => format!("vat {number}"),
        Track::Strand(number) => format!("strand {number}"),
    };
    json!({ "number": number, "time": record.time, "kind": kind, "track": track,
        "worker": Some(*worker).filter(|it| *it != squall_events::log::MACHINE), "fields": fields })
}

fn value_of(names: &VmNames, field: Field, value: u64) -> Json {
    match field {
        Field::Message => {
            let vat = record::vat_of_message(value);
            json!({ "vat": vat, "id": format!("{value:x}") })
        }
        Field::Site => match (names.selector(value), names.place(value)) {
            (Some(selector), Some((path, line))) => {
                json!({ "selector": selector, "path": path, "line": line })
            }
            _ => Json::Null,
        },
        Field::Layout => json!(names.class(value)),
        Field::Reason => json!(Reason::of(value).text()),
        Field::Truth => json!(value != 0),
        Field::Vat | Field::Strand | Field::Count | Field::Bytes => json!(value),
        Field::Entity => json!(format!("{value:x}")),
    }
}
