//! The table of entities and events: the single source for what is noted, for all who read it, and for
//! `docs/internals/events.md`.
//!
//! An *entity* is a thing that has a life in a run: a vat, a strand, a promise. An *event* is a change of one entity. The
//! first field of an event is the number of its entity, unless the entity is the track that the event is on.
//!
//! Kinds of events are written into records by their position, so a recording is read by the machine that made it.

/// What a field's number means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The number of a vat.
    Vat,
    /// The number of a strand.
    Strand,
    /// The number of a message: its vat, and its place among those of that vat ([`crate::record::message`]).
    Message,
    /// The number of another entity: it differs from those of all others of its kind. 0 means that there is none.
    Entity,
    /// The address of a site, or 0.
    Site,
    /// The layout of an object.
    Layout,
    /// One of [`Reason`].
    Reason,
    /// A number of things.
    Count,
    /// A number of bytes.
    Bytes,
    /// 0 for no, and 1 for yes.
    Truth,
}

/// Why a strand waits, or a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u64)]
pub enum Reason {
    /// Something that has no name here.
    Other,
    /// A value from a channel, or for it.
    Channel,
    /// A mutex.
    Lock,
    /// A condition.
    Condition,
    /// A semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
    /// A bucket.
    Bucket,
    /// The end of a strand.
    Strand,
    /// A promise.
    Promise,
    /// Room in a mailbox.
    Mailbox,
    /// A change of what a transaction has read, or the right to go on with one.
    Transaction,
    /// The ends of branches.
    Branches,
    /// A time.
    Time,
    /// Something outside of the machine: a connection, a process, a signal.
    Outside,
    /// Its resumption: it is suspended.
    Suspension,
    /// Its turn: no strand, but a message in the mailbox of a vat.
    Turn,
}

impl Reason {
    /// All, in order.
    pub const ALL: [Reason; 16] = [
        Reason::Other,
        Reason::Channel,
        Reason::Lock,
        Reason::Condition,
        Reason::Semaphore,
        Reason::Barrier,
        Reason::Bucket,
        Reason::Strand,
        Reason::Promise,
        Reason::Mailbox,
        Reason::Transaction,
        Reason::Branches,
        Reason::Time,
        Reason::Outside,
        Reason::Suspension,
        Reason::Turn,
    ];

    /// The reason with this number.
    pub fn of(number: u64) -> Reason {
        usize::try_from(number)
            .ok()
            .and_then(|index| Reason::ALL.get(index).copied())
            .unwrap_or(Reason::Other)
    }

    /// The thing waited for, in words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::Other => "something",
            Reason::Channel => "a channel",
            Reason::Lock => "a lock",
            Reason::Condition => "a condition",
            Reason::Semaphore => "a semaphore",
            Reason::Barrier => "a barrier",
            Reason::Bucket => "a bucket",
            Reason::Strand => "the end of a strand",
            Reason::Promise => "a promise",
            Reason::Mailbox => "room in a mailbox",
            Reason::Transaction => "a transaction",
            Reason::Branches => "branches",
            Reason::Time => "a time",
            Reason::Outside => "the system",
            Reason::Suspension => "its resumption",
            Reason::Turn => "a turn of vat",
        }
    }
}

/// Declares the entities and the kinds of events.
macro_rules! events {
    ($(
        $(#[doc = $about:literal])+
        $entity:ident $entity_name:literal {
            $($(#[doc = $sentence:literal])+ $kind:ident $name:literal ($($field:ident: $type:ident),*);)*
        }
    )*) => {
        /// A kind of thing that has a life in a run.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Entity {
            $($(#[doc = $about])+ $entity,)*
        }

        impl Entity {
            /// All, in order.
            pub const ALL: &[Entity] = &[$(Entity::$entity),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Entity::$entity => $entity_name,)*
                }
            }

            /// What it is, in a sentence.
            pub fn about(self) -> &'static str {
                match self {
                    $(Entity::$entity => concat!($($about),+),)*
                }
            }
        }

        /// A kind of event.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u16)]
        pub enum Kind {
            $($($(#[doc = $sentence])+ $kind,)*)*
        }

        impl Kind {
            /// All, in order.
            pub const ALL: &[Kind] = &[$($(Kind::$kind),*),*];

            /// The entity that it is about.
            pub fn entity(self) -> Entity {
                match self {
                    $($(Kind::$kind => Entity::$entity,)*)*
                }
            }

            /// What happens to the entity, in a word.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Kind::$kind => $name,)*)*
                }
            }

            /// The names and the meanings of its fields; at most three.
            pub fn fields(self) -> &'static [(&'static str, Field)] {
                match self {
                    $($(Kind::$kind => &[$((stringify!($field), Field::$type)),*],)*)*
                }
            }

            /// What has happened, in a sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $($(Kind::$kind => concat!($($sentence),+),)*)*
                }
            }
        }
    };
}

events! {
    /// A native thread that runs strands.
    Worker "worker" {
        /// The worker has nothing to run, and parks.
        WorkerIdle "idle" ();
        /// The worker was woken.
        WorkerBusy "busy" ();
    }

    /// A unit of isolation: an actor, or the objects of a process.
    Vat "vat" {
        /// A vat was made.
        VatCreated "created" (vat: Vat);
    }

    /// A unit of execution: a turn that runs, a process, a thread.
    Strand "strand" {
        /// The running strand has made another one.
        StrandCreated "created" (strand: Strand, vat: Vat, site: Site);
        /// A strand that is no turn has begun.
        StrandBegun "begun" (strand: Strand, vat: Vat);
        /// A worker begins to run the strand.
        StrandResumed "resumed" (strand: Strand);
        /// The strand waits.
        StrandBlocked "blocked" (reason: Reason, entity: Entity, site: Site);
        /// The running strand, or the machine, has ended the wait of a strand.
        StrandWoken "woken" (strand: Strand);
        /// The strand gives way, and is ready.
        StrandPreempted "preempted" (strand: Strand);
        /// The strand's code has ended, and the worker runs it no more.
        StrandStopped "stopped" (strand: Strand);
        /// A strand that is no turn has ended; whether an exception or its termination has ended it.
        StrandEnded "ended" (strand: Strand, failed: Truth);
    }

    /// The processing of one message by a vat.
    Turn "turn" {
        /// A turn has begun: it processes this message, whose receiver has this layout.
        TurnBegun "begun" (message: Message, site: Site, receiver: Layout);
        /// The turn has ended; whether an exception or its termination has ended it.
        TurnEnded "ended" (message: Message, failed: Truth);
    }

    /// An element of a vat's mailbox.
    Message "message" {
        /// A message was put into the mailbox of its vat, which has so many now.
        MessageSent "sent" (message: Message, site: Site, length: Count);
        /// A message was taken from the mailbox, which has so many now; a turn begins, or the machine sees to it.
        MessageReceived "received" (message: Message, length: Count);
    }

    /// A result that is not there yet.
    Promise "promise" {
        /// A promise was made, by an eventual send at this site or by the program.
        PromiseCreated "created" (promise: Entity, vat: Vat, site: Site);
        /// A promise was resolved.
        PromiseResolved "resolved" (promise: Entity);
        /// A promise was broken.
        PromiseBroken "broken" (promise: Entity);
    }

    /// A way for values between processes.
    Channel "channel" {
        /// A channel was made.
        ChannelCreated "created" (channel: Entity);
        /// The running strand has read a value, without waiting.
        ChannelReceived "received" (channel: Entity);
        /// The running strand has written a value, without waiting.
        ChannelSent "sent" (channel: Entity);
    }

    /// A mutex.
    Lock "lock" {
        /// The running strand has got the lock without waiting.
        LockAcquired "acquired" (lock: Entity);
        /// The running strand has given the lock up. If another strand waits, that has it now.
        LockReleased "released" (lock: Entity);
    }

    /// A meeting point of several strands.
    Barrier "barrier" {
        /// All strands have arrived, and go on.
        BarrierOpened "opened" (barrier: Entity);
    }

    /// A transaction: an attempt of one.
    Transaction "transaction" {
        /// An attempt has begun.
        TransactionBegun "begun" ();
        /// The attempt has succeeded: its writes are visible.
        TransactionCommitted "committed" ();
        /// The attempt has lost a conflict, or its strand has ended; its writes are forgotten.
        TransactionAborted "aborted" ();
        /// The attempt has said `retry`: it is made again when something that it has read has changed.
        TransactionRetried "retried" ();
    }

    /// A call that leaves the machine: C, files, the network.
    Callout "callout" {
        /// The running strand is outside, because of the call at this site.
        CalloutBegun "begun" (site: Site);
        /// The running strand is back.
        CalloutEnded "ended" ();
    }

    /// A part of the program with budgets.
    Sandbox "sandbox" {
        /// A sandbox was made.
        SandboxCreated "created" (sandbox: Entity);
        /// A sandbox is over.
        SandboxEnded "ended" (sandbox: Entity);
    }

    /// A garbage collection, for which all strands stand.
    Collection "collection" {
        /// A collection has begun, of everything or of new objects only; so many bytes are in use.
        CollectionBegun "begun" (everything: Truth, used: Bytes);
        /// The collection has ended; so many bytes are in use.
        CollectionEnded "ended" (everything: Truth, used: Bytes);
    }
}

impl Kind {
    /// The kind with this number.
    pub fn of(number: u16) -> Option<Kind> {
        Kind::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_to_their_kinds_and_back() {
        for (number, &kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(Kind::of(number as u16), Some(kind));
            assert!(kind.fields().len() <= 3, "{kind:?} has too many fields for a record");
        }
        assert_eq!(Kind::of(Kind::ALL.len() as u16), None);
        for (number, &reason) in Reason::ALL.iter().enumerate() {
            assert_eq!((reason as usize, Reason::of(number as u64)), (number, reason));
        }
    }

    #[test]
    fn names_differ_within_an_entity() {
        let mut names: Vec<_> =
            Kind::ALL.iter().map(|kind| (kind.entity().name(), kind.name())).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Kind::ALL.len());
    }
}
