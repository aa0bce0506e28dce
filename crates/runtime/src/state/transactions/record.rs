//! A transaction as state: its reads, its writes, and its marks. The layer above runs it
//! ([`crate::concurrency::transactions::transaction`]).

use std::sync::Arc;
use std::time::Duration;

use squall_events::replay::Extent;
use squall_heap::{LayoutId, RootAddress, Word};
use squall_transactions::{Attempt, Conflict};

use super::Transactions;
use super::effects::Effects;
use super::logs::Account;
use super::memory::Memory;
use super::shared::Shared;
use super::statistics::Length;
use super::writes::{self, Writes};
use crate::state::strand::StrandRef;
use crate::state::thread::State;

/// The record of a read, for the case that it makes the transaction fail. Without gaps, since there are many.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    pc: [u32; 2],
    /// The layout of the object.
    pub layout: LayoutId,
}

impl Note {
    /// An object of this layout was read by the instruction at this address.
    #[inline(always)]
    pub fn new(pc: usize, layout: LayoutId) -> Note {
        Note { pc: [pc as u32, (pc >> 32) as u32], layout }
    }

    /// The address of the instruction that read.
    pub fn pc(self) -> usize {
        self.pc[0] as usize | (self.pc[1] as usize) << 32
    }
}

/// A transaction. It is used again for others when it has ended.
pub struct Transaction {
    pub(crate) attempt: Attempt<Note>,
    pub(crate) writes: Writes,
    pub(crate) effects: Effects,
    pub(crate) marks: Vec<Mark>,
    /// How many blocks that are to be atomic are around the one that runs; 0 between two attempts.
    pub(crate) depth: u32,
    /// The data of its participants, if other strands than its own execute it.
    pub(crate) shared: Option<Arc<Shared>>,
    /// Where it began, to begin again.
    pub(crate) home: State,
    /// How many polls its strand had come to when it began first, if these are counted for a recording.
    pub(crate) polls: Option<u64>,
    /// How often it has lost.
    pub(crate) losses: u32,
    /// Whether the alternative at the instruction that is executed next is the second one.
    pub(crate) takes_second: bool,
    /// Whether it has had an effect that cannot be undone, or is to be taken for one that had.
    pub(crate) has_effect: bool,
    /// The attempt's begin, by the scheduler's clock, if it is measured, and the number of attempts that it stands for.
    pub(crate) begun: Option<(Duration, u64)>,
    /// The memory that it has.
    pub(crate) account: Account,
    /// The part of that for the pending effects.
    pub(crate) effect_bytes: usize,
    /// Its part in a recording, or in a replay, if it has any.
    pub(crate) taped: Option<Box<Taped>>,
}

/// The part of a transaction in a recording or a replay ([`crate::concurrency::transactions::taped`]).
#[derive(Default)]
pub struct Taped {
    pub(crate) stage: Stage,
    /// What the attempt got from outside, to be noted when it commits.
    pub(crate) inputs: Vec<(u64, Vec<u8>)>,
}

/// How far a transaction is in a recording or a replay.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// An attempt that may come to nothing.
    #[default]
    Attempt,
    /// In a replay: its place is the next in the order, and it goes so far there.
    Open(Extent),
    /// It has had an effect: its commit, and what it reads of others, have places of their own.
    Placed,
}

// SAFETY: `home` has the only pointers that are not `Send`. They lead into linked code, which is immortal, and into the
// stack of the strand that began the transaction. They are followed only by the worker that runs that strand, which has
// the stack to itself by the protocol of `strand.rs`.
unsafe impl Send for Transaction {}

/// A point that a transaction can go back to without beginning anew.
pub(crate) struct Mark {
    pub(crate) writes: writes::Mark,
    pub(crate) effects: usize,
    pub(crate) depth: u32,
    /// Where the choice was begun, if there is an alternative.
    pub(crate) choice: Option<State>,
}

impl Transaction {
    #[cold]
    pub(crate) fn new(transactions: &'static Transactions) -> Box<Transaction> {
        Box::new(Transaction {
            attempt: Attempt::default(),
            writes: Writes::default(),
            effects: Effects::default(),
            marks: Vec::new(),
            depth: 0,
            shared: None,
            home: State::NONE,
            polls: None,
            losses: 0,
            takes_second: false,
            has_effect: false,
            begun: None,
            account: Account::new(&transactions.logs),
            effect_bytes: 0,
            taped: None,
        })
    }
}

impl Transaction {
    /// Whether it cannot go back any more.
    pub fn has_effect(&self) -> bool {
        self.has_effect
    }

    /// Whether it has memory that few others need.
    pub(crate) fn is_large(&self) -> bool {
        const LARGE: usize = 1 << 18;
        self.account.bytes() > LARGE
    }

    /// Takes memory for an effect; whether there is enough.
    pub(crate) fn take_for_effect(&mut self, bytes: usize) -> bool {
        let taken = self.account.take(bytes);
        self.effect_bytes += if taken { bytes } else { 0 };
        taken
    }

    /// How many bytes its reads, writes and effects take.
    pub(crate) fn bytes(&self) -> usize {
        self.attempt.bytes() + self.writes.bytes() + self.effect_bytes
    }

    /// Shows the words to a walk over objects, while all mutators stand.
    pub(crate) fn words(&self) -> impl Iterator<Item = Word> {
        self.writes.words().chain(self.effects.words.iter().copied())
    }

    pub(crate) fn length(&self) -> Length {
        Length { reads: self.attempt.reads(), writes: self.writes.len() }
    }

    /// The instruction of the write that cannot be committed, if the conflict concerns a write.
    pub(crate) fn written(&self, conflict: &Conflict<Note>) -> Option<Note> {
        let (Conflict::Busy(stripe) | Conflict::Reserved(stripe)) = *conflict else { return None };
        let entry = self.writes.entries().iter().find(|entry| entry.stripe == stripe)?;
        Some(Note::new(entry.pc, entry.layout()))
    }

    /// Forgets the attempt's reads and writes.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.writes.clear();
        self.effects.clear();
        self.account.give_back(std::mem::take(&mut self.effect_bytes));
        self.marks.clear();
        self.depth = 0;
        (self.takes_second, self.has_effect) = (false, false);
        self.taped = None;
    }

    /// Whether this strand takes part in the transaction of another one.
    pub(crate) fn is_of_other(&self, strand: StrandRef) -> bool {
        self.shared.as_ref().is_some_and(|shared| !shared.is_led_by(strand))
    }

    /// Its strand is lost: its reserved stripes are free again.
    pub(crate) fn lose_strand(&mut self, memory: &Memory) {
        self.attempt.release(&memory.space);
    }

    /// Shows the words to the collector.
    pub(crate) fn visit(&mut self, visit: &mut dyn FnMut(RootAddress)) {
        self.writes.visit(visit);
        self.effects.visit(visit);
    }
}
