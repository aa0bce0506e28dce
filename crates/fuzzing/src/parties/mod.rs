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
//! | `guest` | the guest's program in Newspeak |
//! | `typed` | the guest's program in typed bytecode, which prints nothing, but makes values of any size |
//! | `host` | the host's program |
//!
//! [`crate::oracle`] runs both, and judges.

mod guest;
mod host;
mod typed;

use crate::choices::Choices;

/// The text that only code with the host's authority could print. Programs put it together from two parts, so their
/// source text does not contain it, of which reports show lines.
pub const CANARY: &str = "canary-of-the-guest";

/// What a guest is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// Newspeak: a module with the factory `new`, whose instance has methods `wayN:with:with:with:with:`.
    Newspeak,
    /// Typed bytecode: a module that exports functions `wayN`.
    Typed,
}

/// Two programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parties {
    /// What the guest is written in.
    pub language: Language,
    /// A module to be loaded in a sandbox.
    pub guest: String,
    /// In Newspeak, a module with the factory `usingPlatform:`, whose instance has a method `meet:`.
    pub host: String,
}

/// Makes two programs.
pub fn generate(choices: &mut Choices<'_>) -> Parties {
    let ways = 1 + choices.below(MOST_WAYS);
    let language = if choices.one_in(3) { Language::Typed } else { Language::Newspeak };
    let guest = match language {
        Language::Newspeak => guest::program(choices, ways),
        Language::Typed => typed::program(choices, ways),
    };
    Parties { language, guest, host: host::program(choices, language, ways) }
}

/// The most ways in which a guest hands out objects.
pub(crate) const MOST_WAYS: usize = 6;

#[cfg(test)]
mod tests {
    use squall_bytecode::assembler::assemble;
    use squall_bytecode::verifier::{Trust, verify};
    use squall_newspeak::{CompileOptions, Source, compile_source};

    use super::*;

    #[test]
    fn programs_compile_and_repeat() {
        for seed in 0..300 {
            let parties = generate(&mut Choices::Seed(seed));
            assert_eq!(parties, generate(&mut Choices::Seed(seed)), "seed {seed}");
            assert!(!parties.guest.contains(CANARY), "seed {seed}");
            assert!(compiles(&parties.host), "seed {seed}\n{}", parties.host);
            match parties.language {
                Language::Newspeak => assert!(compiles(&parties.guest), "{}", parties.guest),
                Language::Typed => verifies(&parties.guest),
            }
        }
    }

    fn compiles(text: &str) -> bool {
        let source = Source::from_bytes("party.ns", text.as_bytes());
        compile_source(&source, &CompileOptions::default()).is_ok()
    }

    fn verifies(text: &str) {
        let module = assemble(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        verify(&module, Trust::Untrusted).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    }

    #[test]
    fn without_choices_there_is_a_small_guest() {
        let parties = generate(&mut Choices::Bytes(&[]));
        assert!(parties.guest.contains("way1:") && !parties.guest.contains("way2:"));
    }
}
