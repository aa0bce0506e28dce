//! Transactions in recordings and replays. The layer above calls this
//! ([`crate::concurrency::transactions::taped`], which describes how they are recorded).

use parking_lot::MutexGuard;
use squall_events::replay::Extent;

use super::player::Atomicity;
use super::recorder::Recorder;
use super::{Tape, Waiting};
use crate::state::strand::StrandRef;
use crate::state::thread::Thread;
use crate::state::transactions::record::{Stage, Taped};

/// The right to commit a transaction in a recorded run. If it is dropped without a place, the transaction has not committed.
pub struct Commit {
    recorder: &'static Recorder,
    order: MutexGuard<'static, u64>,
    has_place: bool,
}

impl Commit {
    /// The transaction has committed: the place of that.
    fn place(&mut self) -> u64 {
        self.has_place = true;
        self.recorder.take_place(&mut self.order)
    }
}

impl Drop for Commit {
    fn drop(&mut self) {
        if !self.has_place {
            self.recorder.commits_not(*self.order);
        }
    }
}

/// Recording.
impl Thread {
    /// The inputs of the attempt that runs here, if it notes them when it commits.
    pub(super) fn attempts_inputs(&mut self) -> Option<&mut Vec<(u64, Vec<u8>)>> {
        self.recorder()?;
        let transaction = self.transaction.as_deref_mut().filter(|it| it.depth > 0)?;
        let taped = transaction.taped.get_or_insert_default();
        (taped.stage == Stage::Attempt).then_some(&mut taped.inputs)
    }

    /// The right to commit a transaction, or to make one inevitable; none if nobody executes it of whom the recording tells.
    /// *GC point.*
    pub fn order_to_commit(&mut self) -> Option<Commit> {
        let recorder = self.recorder()?;
        let order = self.lock_order(recorder);
        recorder.commits(*order);
        Some(Commit { recorder, order, has_place: false })
    }

    /// The transaction with this tape commits, or has its first effect, while the order is held.
    pub fn note_atomic(&mut self, commit: &mut Commit, taped: Option<Box<Taped>>, extent: Extent) {
        let place = commit.place();
        let taped = taped.unwrap_or_default();
        let Some(Tape::Records(notes)) = self.tape.as_deref() else { return };
        match taped.stage {
            Stage::Placed => notes.ordered(place),
            Stage::Attempt | Stage::Open(_) => notes.atomic(place, extent),
        }
        taped.inputs.iter().for_each(|(asked, answer)| notes.input(*asked, answer));
    }

    /// The transaction that runs here, which has had an effect, has read what others have committed since.
    pub fn note_after(&self) {
        if let Some(Tape::Records(notes)) = self.tape.as_deref() {
            notes.after(notes.recorder.place());
        }
    }
}

/// Replaying.
impl Thread {
    /// Whether the outermost transaction that is to begin here may do so.
    pub fn atomic_by_tape(&self) -> Atomicity {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => {
                let entity = repeated.entity.get();
                entity.map_or(Atomicity::Unknown, |entity| repeated.player.pass_atomic(entity))
            }
            _ => Atomicity::Unknown,
        }
    }

    /// The transaction that has begun here waits for what it reads: it will begin again. Answers whether it may.
    pub fn put_attempt_back(&self) -> bool {
        match self.tape.as_deref() {
            Some(Tape::Replays(repeated)) => repeated.player.put_back(),
            _ => false,
        }
    }

    /// The place before which all has to be done, before the transaction that runs here reads something.
    pub fn reads_after(&self) -> Option<u64> {
        let Some(Tape::Replays(repeated)) = self.tape.as_deref() else { return None };
        repeated.player.pass_after(repeated.entity.get()?)
    }

    /// A strand that was parked here waits until all before this place is done.
    pub fn read_by_tape(&self, place: u64, strand: StrandRef, ticket: u64) {
        if let Some(Tape::Replays(repeated)) = self.tape.as_deref() {
            let waiting = Waiting { strand: strand.object.get(), ticket, answer: None };
            repeated.player.read_after(place, waiting);
        }
    }
}
