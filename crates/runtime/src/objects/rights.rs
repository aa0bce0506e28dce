//! Rights: opaque objects that stand for something of the machine, such as an open file or the settling of a promise.
//! Primitives make and check them.
//!
//! A right is made by the primitive that makes its subject. No program can make one: there is no class for them, and the
//! layout is the machine's. So a number is no right, and neither is an object with a slot of a suitable name. Each use
//! asks for a kind of right; a right that belongs to a vat is of use there only.
//!
//! | kind | number | subject | belongs to |
//! |---|---|---|---|
//! | file, resource | that of the table of open ones | – | the vat that opened it |
//! | resource under way, parameters of encryption | the same | – | no vat |
//! | definition, module, package | its number | – | no vat |
//! | settling | – | the promise | no vat |
//! | reading, writing | – | the channel | no vat |
//! | address | the port | the host's name and an address | no vat |
//! | work | its own | the objects that the work needs | no vat, but a strand |
//!
//! Rights are values: the objects of the library that hold them may be values, too.

use squall_heap::{Object, RootHandle, Word};

use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::state::thread::{Thread, allocated};
use crate::state::vat::{self, VatRef};

/// The slots of a right.
mod slots {
    pub const KIND: usize = 0;
    pub const NUMBER: usize = 1;
    /// The object of the vat that it belongs to, or nil.
    pub const VAT: usize = 2;
    pub const SUBJECT: usize = 3;

    const _: () = crate::model::known::assert_slots(crate::model::known::RIGHT, SUBJECT + 1);
}

/// The use that a right is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An open file.
    File,
    /// A connection, a listener, a process and the like.
    Resource,
    /// A resource that a vat has given up and another one may take.
    UnderWay,
    /// An identity, or trust in others, for encrypted connections.
    Encryption,
    /// A class definition.
    Definition,
    /// A module of bytecode.
    Module,
    /// Settling a promise.
    Settling,
    /// Reading from a channel, in a choice.
    Reading,
    /// Writing to a channel, in a choice.
    Writing,
    /// An address of a host, as the system has resolved it.
    Address,
    /// Going on with the long work of a primitive.
    Work,
    /// A package with its authority.
    Package,
}

impl Kind {
    /// Whether a right of this kind is of use only in the vat that it was made in.
    fn belongs_to_vat(self) -> bool {
        matches!(self, Kind::File | Kind::Resource)
    }

    fn word(self) -> Word {
        Word::from_small_integer_unchecked(self as i64)
    }

    /// Those for what is outside.
    const OUTSIDE: [Kind; 5] =
        [Kind::File, Kind::Resource, Kind::UnderWay, Kind::Encryption, Kind::Address];

    /// The kind of a right to something outside that is this as a number.
    pub fn of(number: u8) -> Option<Kind> {
        Kind::OUTSIDE.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The parts of a right to something outside: kind, number and subject.
pub fn parts(word: Word) -> Option<(Kind, i64, Word)> {
    let right = word.as_object().filter(|object| object.layout() == known::RIGHT)?;
    let of_right = right.slot(slots::KIND);
    let kind = Kind::OUTSIDE.into_iter().find(|kind| kind.word() == of_right)?;
    Some((kind, right.slot(slots::NUMBER).as_small_integer()?, right.slot(slots::SUBJECT)))
}

/// Makes a right to something with a number. *GC point.*
pub fn make(thread: &mut Thread, kind: Kind, number: i64) -> Result<Word, Failure> {
    make_with(thread, kind, number, Word::NIL)
}

/// Makes a right to something with a number and a subject. *GC point.*
pub fn make_with(
    thread: &mut Thread,
    kind: Kind,
    number: i64,
    subject: Word,
) -> Result<Word, Failure> {
    let depth = thread.mutator.root_depth();
    let subject = thread.mutator.push_root(subject);
    let vat = if kind.belongs_to_vat() { vat::current(thread).map(Some) } else { Ok(None) };
    let made = vat.and_then(|vat| make_for(thread, (kind, number), vat, subject));
    thread.mutator.truncate_roots(depth);
    made
}

/// Makes a right that belongs to a vat, if there is one. *GC point.*
fn make_for(
    thread: &mut Thread,
    (kind, number): (Kind, i64),
    vat: Option<VatRef>,
    subject: RootHandle,
) -> Result<Word, Failure> {
    let class = thread.vm.known_class(KnownClass::Object);
    let right = allocated(thread.mutator.allocate_slots(known::RIGHT, class))?;
    right.initialize_slot(slots::KIND, kind.word());
    right.initialize_slot(slots::NUMBER, Word::from_small_integer_unchecked(number));
    right.initialize_slot(slots::VAT, vat.map_or(Word::NIL, |vat| vat.object.get()));
    right.initialize_slot(slots::SUBJECT, thread.mutator.get(subject));
    Ok(right.word())
}

/// Whether a word is a right of this kind that the current vat may use.
fn is_usable(thread: &Thread, word: Word, kind: Kind) -> bool {
    let right = word.as_object().filter(|object| object.layout() == known::RIGHT);
    right.is_some_and(|right| {
        // A strand without a vat has opened nothing.
        let here = thread.strand().vat().map(|vat| vat.object.get());
        right.slot(slots::KIND) == kind.word()
            && (!kind.belongs_to_vat() || here == Some(right.slot(slots::VAT)))
    })
}

/// The number of a right of this kind.
pub fn number(thread: &Thread, word: Word, kind: Kind) -> Result<i64, Failure> {
    let usable = word.as_object().filter(|_| is_usable(thread, word, kind));
    let number = usable.and_then(|right| right.slot(slots::NUMBER).as_small_integer());
    number.ok_or(Failure::argument(word))
}

/// The subject of a right of this kind.
pub fn subject(thread: &Thread, word: Word, kind: Kind) -> Result<Word, Failure> {
    let usable = word.as_object().filter(|_| is_usable(thread, word, kind));
    usable.map(|right| right.slot(slots::SUBJECT)).ok_or(Failure::argument(word))
}

/// Replaces the subject of a right to a work.
pub fn set_subject(thread: &mut Thread, right: Object, subject: Word) {
    right.set_slot(&mut thread.mutator, slots::SUBJECT, subject);
}

/// The subject of a right, for reports.
pub fn subject_of(right: Object) -> Word {
    right.slot(slots::SUBJECT)
}
