//! A fuzzer of two parties: a generated guest in a sandbox against a generated host, which has authority. The fuzz target
//! `parties` and a test with seeds run it.
//!
//! The guest hands out objects of all kinds in all ways: as an answer, an error, an argument, the outcome of a promise, an
//! element of a channel, a report. The host does what a careless program does with them: it prints, compares, adds,
//! enumerates and evaluates them. All code of the guest's classes prints the [`CANARY`], which the guest may not; so if
//! the canary is heard, code of the guest has run with the host's authority.
//!
//! | module | what it holds |
//! |---|---|
//! | `guest` | the guest's program |
//! | `host` | the host's program |
//!
//! [`crate::oracle`] runs both, and judges.

mod guest;
mod host;

use crate::choices::Choices;

/// The text that only code with the host's authority could print. Programs put it together from two parts, so their
/// source text does not contain it, of which reports show lines.
pub const CANARY: &str = "canary-of-the-guest";

/// Two programs in Newspeak.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parties {
    /// A module with the factory `new`, to be loaded in a sandbox.
    pub guest: String,
    /// A module with the factory `usingPlatform:`, whose instance has a method `meet:`.
    pub host: String,
}

/// Makes two programs.
pub fn generate(choices: &mut Choices<'_>) -> Parties {
    let ways = 1 + choices.below(MOST_WAYS);
    let guest = guest::program(choices, ways);
    Parties { guest, host: host::program(choices, ways) }
}

/// The most ways in which a guest hands out objects.
pub(crate) const MOST_WAYS: usize = 6;

#[cfg(test)]
mod tests {
    use squall_newspeak::{CompileOptions, Source, compile_source};

    use super::*;

    #[test]
    fn programs_compile_and_repeat() {
        for seed in 0..300 {
            let parties = generate(&mut Choices::Seed(seed));
            assert_eq!(parties, generate(&mut Choices::Seed(seed)), "seed {seed}");
            for text in [&parties.guest, &parties.host] {
                let source = Source::from_bytes("party.ns", text.as_bytes());
                let compiled = compile_source(&source, &CompileOptions::default());
                assert!(compiled.is_ok(), "seed {seed}\n{text}");
                assert!(!text.contains(CANARY), "seed {seed}");
            }
        }
    }

    #[test]
    fn without_choices_there_is_a_small_guest() {
        let parties = generate(&mut Choices::Bytes(&[]));
        assert!(parties.guest.contains("way1:") && !parties.guest.contains("way2:"));
    }
}
