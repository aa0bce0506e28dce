//! The time that strands have waited, by what they waited for, and that messages have waited for their turns: a reader of
//! events. It pairs the events that a strand waits with those that it goes on, and those that a message is sent with those
//! that it is received.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::log::Sink;
use crate::record::{Record, Track, vat_of_message};
use crate::table::{Kind, Reason};

/// What strands have waited for: why, at which entity, by the call at which site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Cause {
    /// The number of the [`Reason`].
    pub reason: u64,
    /// The number of the entity.
    pub entity: u64,
    /// The address of the site.
    pub site: u64,
}

impl Cause {
    /// Why.
    pub fn reason(&self) -> Reason {
        Reason::of(self.reason)
    }
}

/// Waits for one cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waited {
    /// How many.
    pub count: u64,
    /// Their time, in nanoseconds.
    pub time: u64,
    /// That of the longest one.
    pub longest: u64,
}

/// The kinds of events that the reader needs.
pub const KINDS: [Kind; 4] =
    [Kind::StrandBlocked, Kind::StrandResumed, Kind::MessageSent, Kind::MessageReceived];

/// All waits that have ended.
pub type Table = HashMap<Cause, Waited>;

/// See the head of the file. The table is shared with the one that shows it.
pub struct Waits {
    waiting: HashMap<Track, (u64, Cause)>,
    messages: HashMap<u64, (u64, Cause)>,
    table: Arc<Mutex<Table>>,
}

impl Waits {
    /// A reader, and its table.
    pub fn new() -> (Waits, Arc<Mutex<Table>>) {
        let table = Arc::new(Mutex::default());
        (
            Waits { waiting: HashMap::new(), messages: HashMap::new(), table: Arc::clone(&table) },
            table,
        )
    }
}

impl Waits {
    fn add(&self, cause: Cause, time: u64) {
        let mut table = self.table.lock();
        let waited = table.entry(cause).or_default();
        waited.count += 1;
        waited.time += time;
        waited.longest = waited.longest.max(time);
    }
}

impl Sink for Waits {
    fn take(&mut self, _: u32, record: &Record) {
        match record.kind {
            Kind::StrandBlocked => {
                let [reason, entity, site] = record.fields;
                self.waiting.insert(record.track, (record.time, Cause { reason, entity, site }));
            }
            Kind::StrandResumed => {
                let Some((since, cause)) = self.waiting.remove(&record.track) else { return };
                self.add(cause, record.time.saturating_sub(since));
            }
            Kind::MessageSent => {
                let [message, site, _] = record.fields;
                let (reason, entity) = (Reason::Turn as u64, vat_of_message(message));
                self.messages.insert(message, (record.time, Cause { reason, entity, site }));
            }
            Kind::MessageReceived => {
                let Some((since, cause)) = self.messages.remove(&record.fields[0]) else { return };
                self.add(cause, record.time.saturating_sub(since));
            }
            _ => {}
        }
    }

    fn lost(&mut self, _: u32, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::message;

    #[test]
    fn waits_are_added_up_by_cause() {
        let (mut waits, table) = Waits::new();
        let cause = Cause { reason: Reason::Lock as u64, entity: 4, site: 8 };
        let mut note = |time, kind, track, fields| {
            waits.take(0, &Record { time, kind, track, fields });
        };
        let fields = [cause.reason, cause.entity, cause.site];
        note(10, Kind::StrandBlocked, Track::Strand(1), fields);
        note(12, Kind::StrandBlocked, Track::Vat(1), fields);
        note(15, Kind::StrandResumed, Track::Strand(1), [1, 0, 0]);
        note(16, Kind::StrandResumed, Track::Strand(1), [1, 0, 0]);
        note(32, Kind::StrandResumed, Track::Vat(1), [2, 0, 0]);
        note(40, Kind::MessageSent, Track::Vat(1), [message(7, 3), 8, 1]);
        note(45, Kind::MessageReceived, Track::Worker, [message(7, 3), 0, 0]);
        let sent = Cause { reason: Reason::Turn as u64, entity: 7, site: 8 };
        let table = table.lock();
        assert_eq!(table[&cause], Waited { count: 2, time: 25, longest: 20 });
        assert_eq!(table[&sent], Waited { count: 1, time: 5, longest: 5 });
    }
}
