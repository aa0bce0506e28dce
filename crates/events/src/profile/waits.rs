//! The time that strands have waited, by what they waited for, and that messages have waited for their turns. The runtime
//! measures some of the waits, and [adds](Waits::add) each with its weight.

use std::collections::HashMap;

use crate::table::Reason;

/// What strands have waited for: why, at which entity, by the call at which site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Cause {
    /// The number of the [`Reason`].
    pub reason: u64,
    /// The number of the entity.
    pub entity: u64,
    /// The address of the site.
    pub site: u64,
}

impl Cause {
    /// Why.
    pub fn reason(&self) -> Reason {
        Reason::of(self.reason)
    }
}

/// Waits for one cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waited {
    /// How many.
    pub count: u64,
    /// Their time, in nanoseconds.
    pub time: u64,
    /// That of the longest one that was measured.
    pub longest: u64,
}

/// All waits that have ended.
#[derive(Clone, Default, Debug)]
pub struct Waits(HashMap<Cause, Waited>);

impl Waits {
    /// Adds a wait that has taken so many nanoseconds, and stands for this many.
    pub fn add(&mut self, cause: Cause, time: u64, weight: u32) {
        let waited = self.0.entry(cause).or_default();
        waited.count += u64::from(weight);
        waited.time += time * u64::from(weight);
        waited.longest = waited.longest.max(time);
    }

    /// Adds those of another native thread.
    pub fn add_all(&mut self, other: &Waits) {
        for (&cause, others) in &other.0 {
            let waited = self.0.entry(cause).or_default();
            waited.count += others.count;
            waited.time += others.time;
            waited.longest = waited.longest.max(others.longest);
        }
    }

    /// Each cause, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&Cause, &Waited)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_added_up_by_cause() {
        let cause = Cause { reason: Reason::Lock as u64, entity: 4, site: 8 };
        let other = Cause { reason: Reason::Turn as u64, entity: 2, site: 5 };
        let (mut one, mut two) = (Waits::default(), Waits::default());
        one.add(cause, 5, 1);
        one.add(cause, 3, 10);
        two.add(cause, 7, 1);
        two.add(other, 15, 2);
        one.add_all(&two);
        let mut all: Vec<(Cause, Waited)> =
            one.iter().map(|(&cause, &waited)| (cause, waited)).collect();
        all.sort_unstable_by_key(|(cause, _)| *cause);
        let mut expected = [
            (cause, Waited { count: 12, time: 42, longest: 7 }),
            (other, Waited { count: 2, time: 30, longest: 15 }),
        ];
        expected.sort_unstable_by_key(|(cause, _)| *cause);
        assert_eq!(all, expected);
    }
}
