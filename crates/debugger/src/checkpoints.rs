//! The checkpoints of a program, as the front knows them: processes that stand at moments of the run, and make copies of
//! themselves on request. `front` calls this module; `control/checkpoints.rs` is the other side.
//!
//! Invariant: the moments ascend.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufReader, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::protocol;

/// The time between two checkpoints, if the program does nothing else that the front hears of.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);
/// How long the front waits for a copy of a checkpoint. A new process would take less.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The most checkpoints of a run.
const MOST: usize = 24;
/// How long a process that connects may take to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(2);

/// A process that stands at a moment.
struct Checkpoint {
    moment: u64,
    stream: TcpStream,
}

/// The checkpoints of a run, and the port at which copies connect.
#[derive(Default)]
pub(crate) struct Checkpoints {
    all: Vec<Checkpoint>,
    address: Option<(u16, u64)>,
}

impl Checkpoints {
    /// Where copies are to connect; `None` if the system has no port. `hear` gets those that do, and answers whether it hears
    /// more.
    pub(crate) fn address(
        &mut self,
        hear: impl Fn(TcpStream, Json) -> bool + Send + 'static,
    ) -> Option<Json> {
        if self.address.is_none() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
            let port = listener.local_addr().ok()?.port();
            let key = RandomState::new().build_hasher().finish();
            self.address = Some((port, key));
            std::thread::spawn(move || {
                let introduced =
                    |stream: TcpStream| introduction(&stream, key).map(|it| (stream, it));
                let mut copies = listener.incoming().flatten().filter_map(introduced);
                copies.all(|(stream, about)| hear(stream, about));
            });
        }
        let (port, key) = self.address?;
        Some(json!({ "port": port, "key": key }))
    }

    /// A checkpoint has introduced itself. If there are too many, one that is close to others goes.
    pub(crate) fn add(&mut self, stream: TcpStream, about: &Json) {
        let Some(moment) = about["moment"].as_u64() else { return };
        let place = self.all.partition_point(|other| other.moment < moment);
        if self.all.get(place).is_some_and(|other| other.moment == moment) {
            return;
        }
        self.all.insert(place, Checkpoint { moment, stream });
        if self.all.len() > MOST {
            let end = moment;
            // The older a checkpoint, the farther it may be from the next one.
            let gap = |index: usize| {
                let (before, after) = (self.all[index - 1].moment, self.all[index + 1].moment);
                (after - before) as f64 / (end.saturating_sub(before) + 1) as f64
            };
            let least = (1..MOST).min_by(|&one, &other| gap(one).total_cmp(&gap(other)));
            least.into_iter().for_each(|index| _ = self.all.remove(index));
        }
    }

    /// Has the last checkpoint up to a moment make a copy, which is to introduce itself with this number. `None` if there is no
    /// such checkpoint. One that has ended is forgotten, and the one before it is asked.
    pub(crate) fn ask_for_copy(&mut self, until: u64, number: usize) -> Option<()> {
        let request = json!({ "number": number });
        loop {
            let index = self.last(until)?;
            let stream = &mut self.all[index].stream;
            if waits(stream) && protocol::write(stream, &request).is_ok() {
                return Some(());
            }
            self.forget_last(until);
        }
    }

    /// Forgets the last checkpoint up to a moment, which ends.
    pub(crate) fn forget_last(&mut self, until: u64) {
        self.last(until).into_iter().for_each(|index| _ = self.all.remove(index));
    }

    /// The moment of the last checkpoint up to a moment, and that of one before it, so many others skipped, or 0.
    pub(crate) fn last_and_before(&self, until: u64, skipped: usize) -> Option<(u64, u64)> {
        let last = self.last(until)?;
        let before = last.checked_sub(1 + skipped);
        Some((self.all[last].moment, before.map_or(0, |index| self.all[index].moment)))
    }

    /// Forgets the checkpoints after a moment.
    pub(crate) fn forget_after(&mut self, moment: u64) {
        self.all.retain(|checkpoint| checkpoint.moment <= moment);
    }

    fn last(&self, until: u64) -> Option<usize> {
        self.all.partition_point(|checkpoint| checkpoint.moment <= until).checked_sub(1)
    }
}

/// Whether the process at the other end is there. It says nothing unasked.
fn waits(stream: &TcpStream) -> bool {
    let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let is_open = peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    stream.set_nonblocking(false).is_ok() && is_open
}

/// What a process says of itself, if it is a copy of the front's program.
fn introduction(stream: &TcpStream, key: u64) -> Option<Json> {
    stream.set_read_timeout(Some(INTRODUCTION)).ok()?;
    let about = protocol::read(&mut BufReader::new(stream)).ok()??;
    stream.set_read_timeout(None).ok()?;
    (about["key"] == key).then_some(about)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checkpoints at these moments, and the processes' ends.
    fn checkpoints(moments: impl Iterator<Item = u64>) -> (Checkpoints, Vec<TcpStream>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut checkpoints = Checkpoints::default();
        let ends = moments.map(|moment| {
            let end = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            checkpoints.add(listener.accept().unwrap().0, &json!({ "moment": moment }));
            end
        });
        let ends = ends.collect();
        (checkpoints, ends)
    }

    fn moments(checkpoints: &Checkpoints) -> Vec<u64> {
        checkpoints.all.iter().map(|checkpoint| checkpoint.moment).collect()
    }

    #[test]
    fn the_older_the_farther_from_each_other() {
        let (checkpoints, _ends) = checkpoints((1..=1000).map(|index| index * 10));
        let moments = moments(&checkpoints);
        assert_eq!((moments.len(), moments[0], moments[MOST - 1]), (MOST, 10, 10_000));
        let gaps: Vec<u64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[MOST - 2] <= 30, "the newest are near: {moments:?}");
        assert!(gaps.iter().max() <= Some(&4000), "the oldest are not too far: {moments:?}");
    }

    #[test]
    fn a_search_goes_farther_and_farther_back() {
        let (checkpoints, _ends) = checkpoints([40, 10, 30, 20, 30].into_iter());
        assert_eq!(moments(&checkpoints), [10, 20, 30, 40]);
        assert_eq!(checkpoints.last_and_before(39, 0), Some((30, 20)));
        assert_eq!(checkpoints.last_and_before(40, 1), Some((40, 20)));
        assert_eq!(checkpoints.last_and_before(40, 3), Some((40, 0)));
        assert_eq!(checkpoints.last_and_before(9, 0), None);
    }

    #[test]
    fn one_that_has_ended_is_passed_over() {
        let (mut checkpoints, mut ends) = checkpoints([10, 20, 30].into_iter());
        drop(ends.remove(1));
        assert_eq!(checkpoints.ask_for_copy(25, 7), Some(()));
        assert_eq!(moments(&checkpoints), [10, 30]);
        let asked = protocol::read(&mut BufReader::new(&ends[0])).unwrap();
        assert_eq!(asked, Some(json!({ "number": 7 })));
        checkpoints.forget_after(10);
        assert_eq!(moments(&checkpoints), [10]);
        checkpoints.forget_last(5);
        assert_eq!(moments(&checkpoints), [10]);
    }
}
