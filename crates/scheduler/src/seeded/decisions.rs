//! The decisions of a seeded run, drawn from one generator. The list of ready items (`mod.rs`) asks for each decision.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014): a
//! counter and a mixing function. It is the same on all machines and in all versions of all libraries, so a seed in a bug
//! report stays valid.
//!
//! A run is repeated exactly if the program asks for the same decisions in the same order. That holds as long as no event
//! from outside (input, another native thread) comes at its own time.

use std::time::Duration;

/// How many polls there are between two pre-emptions, on average.
const POLLS_PER_PREEMPTION: u64 = 50;

/// How much virtual time a decision takes. Without it, a program that waits in a loop around the clock would never end.
pub(crate) const TIME_PER_DECISION: Duration = Duration::from_micros(1);

/// The generator, and the decisions.
pub(crate) struct Decisions {
    state: u64,
}

impl Decisions {
    pub(crate) fn new(seed: u64) -> Decisions {
        Decisions { state: seed }
    }

    /// The index of the next item among `count` ready ones.
    pub(crate) fn choose(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    /// Whether the item that was made ready last runs next. Mostly true, as without a seed.
    pub(crate) fn honours_next(&mut self) -> bool {
        self.below(4) != 0
    }

    /// Whether due timers come later. Rarely true, so the delay is short on average.
    pub(crate) fn delays_timers(&mut self) -> bool {
        self.below(4) == 0
    }

    /// Whether this poll pre-empts. The distance between two pre-emptions is geometrically distributed, so that every
    /// poll is equally likely, the first one after a switch included.
    pub(crate) fn preempts(&mut self) -> bool {
        self.below(POLLS_PER_PREEMPTION) == 0
    }

    /// A number below `bound`, by multiplication rather than division (Lemire, *Fast random integer
    /// generation in an interval*, 2019; the bias for small bounds is negligible).
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut decisions = Decisions::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| decisions.draw()).collect();
        assert_eq!(
            drawn,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn every_choice_is_possible() {
        let mut decisions = Decisions::new(0);
        let mut seen = [false; 7];
        (0..1000).for_each(|_| seen[decisions.choose(7)] = true);
        assert_eq!(seen, [true; 7]);
    }

    #[test]
    fn preemptions_have_the_documented_mean() {
        let mut decisions = Decisions::new(7);
        let count = (0..100_000).filter(|_| decisions.preempts()).count();
        assert!((1_800..2_200).contains(&count), "{count}");
    }

    #[test]
    fn some_seed_preempts_at_the_first_poll() {
        assert!((0..1000).any(|seed| Decisions::new(seed).preempts()));
    }
}
