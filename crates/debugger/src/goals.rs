//! Steps to another strand, or to a moment: to the receiver of a message, into an activity, to the end of a transaction. `control`
//! tells this module what happens; it says which strand is to stop.
//!
//! A step of this kind is a *goal* of the strand that has stopped. The strand goes on, and so do the others. What it does first
//! arms the goal: the send arms a step to the receiver. A strand that stops otherwise loses a goal that is not armed.

use squall_events::table::Reason;
use squall_events::{Kind, record};

/// A kind of step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aim {
    /// Into the process or thread that is started next.
    ActivityInto,
    /// To the strand that waits for the end of this one.
    ActivityReturn,
    /// To the reader of the value that is written next.
    ChannelReceiver,
    /// To the writer of the value that is read next.
    ChannelSender,
    /// To the next transaction.
    TransactionNext,
    /// Before the commit of this transaction.
    TransactionCommit,
    /// After the commit of this transaction.
    TransactionAfter,
    /// To the turn for the message that is sent next.
    MessageReceiver,
    /// To the strand that resolves the promise that is made next.
    PromiseResolver,
    /// To the reaction to the promise that is made next.
    PromiseResolution,
    /// To the next turn of this vat.
    TurnNext,
    /// To the reaction to the promise of this turn.
    TurnReturn,
}

/// A step, as the client knows it.
pub struct StepRow {
    /// Its name.
    pub name: &'static str,
    /// Where it leads, in a few words.
    pub label: &'static str,
    /// The request of the protocol that it is, or its aim.
    pub means: Means,
}

/// The way of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Means {
    /// A request of the protocol.
    Request(&'static str),
    /// A goal.
    Aim(Aim),
}

const fn local(name: &'static str, request: &'static str, label: &'static str) -> StepRow {
    StepRow { name, label, means: Means::Request(request) }
}

const fn aimed(name: &'static str, aim: Aim, label: &'static str) -> StepRow {
    StepRow { name, label, means: Means::Aim(aim) }
}

/// All steps.
pub static STEPS: &[StepRow] = &[
    local("resume", "continue", "Go on"),
    local("over", "next", "Step over"),
    local("into", "stepIn", "Step into"),
    local("return", "stepOut", "Step out"),
    local("stop", "terminate", "End the program"),
    aimed("activity:into", Aim::ActivityInto, "Step into the activity"),
    aimed("activity:return", Aim::ActivityReturn, "Return from the activity to its join"),
    aimed("channel:receiver", Aim::ChannelReceiver, "Step to the receiver of the value"),
    aimed("channel:sender", Aim::ChannelSender, "Step to the sender of the value"),
    aimed("transaction:next", Aim::TransactionNext, "Step to the next transaction"),
    aimed("transaction:commit", Aim::TransactionCommit, "Step to the commit of the transaction"),
    aimed("transaction:after", Aim::TransactionAfter, "Step to the end of the transaction"),
    aimed("message:receiver", Aim::MessageReceiver, "Step to the receiver of the message"),
    aimed("promise:resolver", Aim::PromiseResolver, "Step to the resolver of the promise"),
    aimed("promise:resolution", Aim::PromiseResolution, "Step to the resolution of the promise"),
    aimed("turn:next", Aim::TurnNext, "Step to the next turn of the vat"),
    aimed("turn:return", Aim::TurnReturn, "Return from the turn to the resolution of its promise"),
];

/// The step with a name.
pub fn named(name: &str) -> Option<&'static StepRow> {
    STEPS.iter().find(|step| step.name == name)
}

/// A strand that is to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The strand that runs, or else the next one of the worker.
    Here,
    /// The one that runs next on the worker, before it returns from its bottom frame.
    AtEnd,
    /// Another one, when it goes on.
    Strand(u64),
}

/// A goal of a strand.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    pub(crate) strand: u64,
    pub(crate) aim: Aim,
    /// The number of what it waits for: a strand, channel, promise or vat. 0 if it is not known yet.
    number: u64,
    /// The messages one of which is waited for.
    messages: Vec<u64>,
    /// The call whose message is waited for, if it had no number yet when it was sent; or 0.
    site: u64,
    /// The worker where something is waited for.
    worker: Option<u32>,
    /// Whether that worker puts the one message that is waited for into a mailbox next.
    is_late: bool,
    /// Whether the turn that is waited for has begun, and not come to code of the program yet.
    has_begun: bool,
    /// The strand that has resolved a promise without reactions: it is as near as can be, if it comes to code of the program.
    nearest: Option<u64>,
}

impl Goal {
    /// The goal of a strand, with the number of what is known to be waited for.
    pub(crate) fn new(strand: u64, aim: Aim, number: u64) -> Goal {
        let (messages, site, worker, nearest) = (Vec::new(), 0, None, None);
        let (is_late, has_begun) = (false, false);
        Goal { strand, aim, number, messages, site, worker, is_late, has_begun, nearest }
    }

    fn is_armed(&self) -> bool {
        self.number != 0 || !self.messages.is_empty() || self.site != 0 || self.worker.is_some()
    }

    /// Whether it is about what becomes of a promise.
    fn is_about_outcome(&self) -> bool {
        matches!(self.aim, Aim::PromiseResolution | Aim::TurnReturn)
    }
}

/// An event as goals see it.
pub(crate) struct Seen<'e> {
    /// The strand that runs there.
    pub(crate) strand: Option<u64>,
    pub(crate) worker: u32,
    pub(crate) kind: Kind,
    pub(crate) fields: &'e [u64],
}

/// All goals.
#[derive(Default)]
pub(crate) struct Goals {
    all: Vec<Goal>,
}

/// The most messages of which it is known that the promise that is resolved has sent them.
const MOST_MESSAGES: usize = 64;

/// Whether the call at this address of a site sends a message.
pub(crate) type Sends = fn(u64) -> bool;

impl Goals {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        *self = Goals::default();
    }

    /// The strand has this goal alone from now on.
    pub(crate) fn set(&mut self, goal: Goal) {
        self.all.retain(|other| other.strand != goal.strand);
        self.all.push(goal);
    }

    /// The strand has stopped, which belongs to this vat, or to none.
    pub(crate) fn stopped(&mut self, strand: u64, vat: u64) {
        self.all.retain(|goal| {
            let is_reached = goal.has_begun && goal.number == vat || goal.nearest == Some(strand);
            !is_reached && (goal.strand != strand || goal.is_armed())
        });
    }

    /// An event has happened. Answers the strands that are to stop; their goals are reached.
    pub(crate) fn see(&mut self, seen: &Seen, sends: Sends) -> Vec<Stop> {
        let mut stops = Vec::new();
        self.all.retain_mut(|goal| match goal.see(seen, sends) {
            Some(stop) => {
                stops.push(stop);
                goal.nearest.is_some()
            }
            None => true,
        });
        stops
    }

    /// A worker begins to put the messages of those into mailboxes that have waited for a promise. Their turns may begin before the
    /// promise has its outcome. If it has that already, there is one message: it comes late.
    pub(crate) fn see_settling(&mut self, worker: u32, promise: u64, is_late: bool) {
        let is_meant = |goal: &&mut Goal| goal.is_about_outcome() && goal.number == promise;
        for goal in self.all.iter_mut().filter(is_meant) {
            (goal.worker, goal.is_late) = (Some(worker), is_late);
        }
    }

    /// A strand has sent a message without a result, which waits for its receiver.
    pub(crate) fn see_deferred(&mut self, sender: Option<u64>, site: u64) {
        let is_sent = |goal: &&mut Goal| goal.waits_for_send(sender);
        self.all.iter_mut().filter(is_sent).for_each(|goal| goal.site = site);
    }

    /// A message was put into a mailbox by a strand, or its turn begins. Answers the strands that are to stop.
    pub(crate) fn see_message(
        &mut self,
        sender: Option<u64>,
        worker: u32,
        has_begun: bool,
        message: u64,
        promise: u64,
    ) -> Vec<Stop> {
        if !has_begun {
            for goal in &mut self.all {
                let is_reaction = goal.is_about_outcome() && goal.worker == Some(worker);
                let is_sent = promise == 0 && goal.waits_for_send(sender);
                if (is_reaction || is_sent) && goal.messages.len() < MOST_MESSAGES {
                    goal.messages.push(message);
                }
                if is_reaction && goal.is_late {
                    goal.worker = None;
                }
            }
            return Vec::new();
        }
        let mut stops = Vec::new();
        self.all.retain_mut(|goal| {
            let is_promised = goal.number != 0 && goal.number == promise;
            let stop = match goal.aim {
                Aim::MessageReceiver if is_promised => Some(Stop::Here),
                Aim::PromiseResolver if is_promised => Some(Stop::AtEnd),
                Aim::TurnNext if goal.number == record::vat_of_message(message) => {
                    // It may have no code of the program: then the one behind it is the next.
                    goal.has_begun = true;
                    stops.push(Stop::Here);
                    None
                }
                _ => goal.messages.contains(&message).then_some(Stop::Here),
            };
            stops.extend(stop);
            stop.is_none()
        });
        stops
    }
}

impl Goal {
    /// Whether the next message of this strand is waited for.
    fn waits_for_send(&self, sender: Option<u64>) -> bool {
        self.aim == Aim::MessageReceiver && Some(self.strand) == sender && !self.is_armed()
    }

    fn see(&mut self, seen: &Seen, sends: Sends) -> Option<Stop> {
        let is_ours = seen.strand == Some(self.strand);
        let first = seen.fields.first().copied().unwrap_or_default();
        match (self.aim, seen.kind) {
            (Aim::ActivityInto, Kind::StrandCreated) if is_ours && self.number == 0 => {
                self.number = first;
            }
            (Aim::ActivityInto, Kind::StrandBegun) if first == self.number => {
                return Some(Stop::Here);
            }
            (Aim::ActivityReturn, Kind::StrandEnded) if first == self.strand => {
                self.worker = Some(seen.worker);
            }
            (Aim::ActivityReturn, Kind::StrandWoken) if self.worker == Some(seen.worker) => {
                return Some(Stop::Strand(first));
            }
            (Aim::ChannelReceiver, _) => {
                return self.see_channel(seen, is_ours, Kind::ChannelSent, Kind::ChannelReceived);
            }
            (Aim::ChannelSender, _) => {
                return self.see_channel(seen, is_ours, Kind::ChannelReceived, Kind::ChannelSent);
            }
            (Aim::TransactionNext, Kind::TransactionBegun) if is_ours => return Some(Stop::Here),
            (Aim::TransactionAfter, Kind::TransactionCommitted) if is_ours => {
                return Some(Stop::Here);
            }
            (Aim::MessageReceiver, Kind::PromiseCreated) if is_ours && !self.is_armed() => {
                let site = seen.fields.get(2).copied().unwrap_or_default();
                self.number = if sends(site) { first } else { 0 };
            }
            (Aim::MessageReceiver, Kind::TurnBegun)
                if self.site != 0 && seen.fields.get(1) == Some(&self.site) =>
            {
                return Some(Stop::Here);
            }
            (Aim::PromiseResolver | Aim::PromiseResolution, Kind::PromiseCreated)
                if is_ours && !self.is_armed() =>
            {
                self.number = first;
            }
            (Aim::PromiseResolver, Kind::PromiseResolved | Kind::PromiseBroken)
                if first == self.number && seen.strand.is_some() =>
            {
                return Some(Stop::Here);
            }
            (
                Aim::PromiseResolution | Aim::TurnReturn,
                Kind::PromiseResolved | Kind::PromiseBroken,
            ) if first == self.number => {
                self.worker = None;
                if self.messages.is_empty() && seen.strand.is_some() {
                    // Nothing reacts yet.
                    self.nearest = seen.strand;
                    return Some(Stop::Here);
                }
            }
            _ => {}
        }
        None
    }

    /// `near` is done by the goal's strand, `far` by the strand at the other end.
    fn see_channel(&mut self, seen: &Seen, is_ours: bool, near: Kind, far: Kind) -> Option<Stop> {
        let (first, second) = (seen.fields.first().copied(), seen.fields.get(1).copied());
        if is_ours && seen.kind == Kind::StrandWoken {
            return first.map(Stop::Strand);
        }
        if is_ours && seen.kind == near && self.number == 0 {
            self.number = first.unwrap_or_default();
        }
        if is_ours && seen.kind == Kind::StrandBlocked && first == Some(Reason::Channel as u64) {
            self.number = second.unwrap_or_default();
        }
        let is_other = seen.kind == far && self.number != 0 && first == Some(self.number);
        (!is_ours && is_other).then_some(Stop::Here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_steps_differ() {
        assert_eq!(STEPS.len(), 17);
        for step in STEPS {
            assert!(std::ptr::eq(named(step.name).expect("it is in the table"), step));
        }
    }

    #[test]
    fn a_value_is_followed_to_its_reader() {
        let mut goals = Goals::default();
        goals.set(Goal::new(7, Aim::ChannelReceiver, 0));
        let seen = |strand, kind, fields| Seen { strand: Some(strand), worker: 0, kind, fields };
        let mut see = |event: Seen| goals.see(&event, |_| false);
        assert!(see(seen(8, Kind::ChannelReceived, &[3])).is_empty());
        assert!(see(seen(7, Kind::ChannelSent, &[3])).is_empty());
        assert!(see(seen(8, Kind::ChannelReceived, &[4])).is_empty());
        assert_eq!(see(seen(8, Kind::ChannelReceived, &[3])), [Stop::Here]);
        assert!(goals.is_empty());
    }

    #[test]
    fn a_reaction_may_begin_before_its_promise_is_resolved() {
        let mut goals = Goals::default();
        goals.set(Goal::new(7, Aim::PromiseResolution, 5));
        assert!(goals.see_message(Some(8), 0, false, 90, 0).is_empty());
        goals.see_settling(0, 5, false);
        assert!(goals.see_message(Some(8), 0, false, 91, 0).is_empty());
        assert!(goals.see_message(Some(9), 1, false, 92, 0).is_empty());
        for other in [90, 92] {
            assert!(goals.see_message(None, 1, true, other, 0).is_empty());
        }
        assert_eq!(goals.see_message(None, 1, true, 91, 0), [Stop::Here]);
        assert!(goals.is_empty());
    }

    #[test]
    fn a_reaction_may_come_after_its_promise_is_resolved() {
        let mut goals = Goals::default();
        goals.set(Goal::new(7, Aim::PromiseResolution, 5));
        let resolved =
            Seen { strand: Some(8), worker: 1, kind: Kind::PromiseResolved, fields: &[5] };
        assert_eq!(goals.see(&resolved, |_| false), [Stop::Here]);
        goals.stopped(9, 2);
        goals.see_settling(0, 5, true);
        for message in [91, 92] {
            assert!(goals.see_message(Some(7), 0, false, message, 0).is_empty());
        }
        assert!(goals.see_message(None, 1, true, 92, 0).is_empty());
        assert_eq!(goals.see_message(None, 1, true, 91, 0), [Stop::Here]);
        goals.set(Goal::new(7, Aim::PromiseResolution, 5));
        assert_eq!(goals.see(&resolved, |_| false), [Stop::Here]);
        goals.stopped(8, 2);
        assert!(goals.is_empty());
    }

    #[test]
    fn the_next_turn_is_one_that_stops() {
        let mut goals = Goals::default();
        goals.set(Goal::new(7, Aim::TurnNext, 3));
        let message = |place| record::message(3, place);
        assert_eq!(goals.see_message(None, 0, true, message(1), 0), [Stop::Here]);
        assert_eq!(goals.see_message(None, 0, true, message(2), 0), [Stop::Here]);
        goals.stopped(12, 4);
        assert!(!goals.is_empty());
        goals.stopped(11, 3);
        assert!(goals.is_empty());
    }

    #[test]
    fn a_message_is_followed_past_promises_that_no_message_has_made() {
        let mut goals = Goals::default();
        goals.set(Goal::new(7, Aim::MessageReceiver, 0));
        let seen = |fields| Seen { strand: Some(7), worker: 0, kind: Kind::PromiseCreated, fields };
        let sends = |site| site == 16;
        assert!(goals.see(&seen(&[30, 1, 8]), sends).is_empty());
        assert!(goals.see(&seen(&[31, 1, 16]), sends).is_empty());
        assert!(goals.see_message(Some(7), 0, true, 90, 30).is_empty());
        assert_eq!(goals.see_message(Some(7), 0, true, 91, 31), [Stop::Here]);
    }
}
