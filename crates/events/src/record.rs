//! One event that has happened, as the six words that buffers hold:
//!
//! ```text
//!   0   time in nanoseconds since the machine's start
//!   1   kind
//!   2   track:  number of a vat or strand << 2 | 1 for a vat, 2 for a strand, 0 for the worker itself
//!   3   the fields, in the order of the table
//!   4
//!   5
//! ```
//!
//! The *track* says what the event happened to, or what has done it: the turn that a vat is in, another strand, or a
//! worker between strands.

use crate::table::Kind;

/// How many words a record has.
pub const WORDS: usize = 6;

/// One event that has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// When, in nanoseconds since the machine's start; virtual under a seed.
    pub time: u64,
    /// What.
    pub kind: Kind,
    /// To what, or by what.
    pub track: Track,
    /// The fields in the order of the table; those that the kind has not are 0.
    pub fields: [u64; 3],
}

/// What an event happened to, or what has done it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Track {
    /// The worker that has noted the event.
    Worker,
    /// The turn of the vat with this number.
    Vat(u64),
    /// The strand with this number, which is no turn.
    Strand(u64),
}

impl Track {
    fn word(self) -> u64 {
        match self {
            Track::Worker => 0,
            Track::Vat(number) => number << 2 | 1,
            Track::Strand(number) => number << 2 | 2,
        }
    }

    fn of_word(word: u64) -> Track {
        match word & 3 {
            1 => Track::Vat(word >> 2),
            2 => Track::Strand(word >> 2),
            _ => Track::Worker,
        }
    }
}

impl Record {
    /// The words.
    pub fn words(&self) -> [u64; WORDS] {
        let [first, second, third] = self.fields;
        [self.time, self.kind as u64, self.track.word(), first, second, third]
    }

    /// The record with these words; `None` if they are not those of one.
    pub fn of_words([time, kind, track, first, second, third]: [u64; WORDS]) -> Option<Record> {
        let kind = u16::try_from(kind).ok().and_then(Kind::of)?;
        Some(Record { time, kind, track: Track::of_word(track), fields: [first, second, third] })
    }
}

/// How many bits of a message's number count the messages of its vat.
const PLACE_BITS: u32 = 40;

/// The number of a message: that of its vat, and its place among all messages that the vat has had. Mailboxes keep the
/// order, so sender and receiver know the number without a word in the message.
pub fn message(vat: u64, place: u64) -> u64 {
    vat << PLACE_BITS | place & ((1 << PLACE_BITS) - 1)
}

/// The vat of a message.
pub fn vat_of_message(message: u64) -> u64 {
    message >> PLACE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_their_words() {
        for track in [Track::Worker, Track::Vat(7), Track::Strand(u64::MAX >> 2)] {
            let record = Record { time: 9, kind: Kind::LockReleased, track, fields: [1, 2, 3] };
            assert_eq!(Record::of_words(record.words()), Some(record));
        }
        assert_eq!(Record::of_words([0, u64::MAX, 0, 0, 0, 0]), None);
    }

    #[test]
    fn messages_know_their_vat() {
        assert_eq!(vat_of_message(message(5, 1 << 39)), 5);
        assert_ne!(message(5, 1), message(5, 2));
        assert_ne!(message(5, 1), message(6, 1));
    }
}
