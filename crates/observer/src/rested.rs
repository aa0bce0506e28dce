//! The answer of the last sweep. [`crate::sweep`] and [`crate::vats`] keep one each.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a sweep serves, in times of its duration: so sweeps take one part in so many of a core.
const REST: u32 = 80;

/// What a sweep has found, how long it took, and when it was over.
pub struct Timed<S> {
    /// What it has found.
    pub found: S,
    /// How long it took.
    pub cost: Duration,
    /// When it was over.
    pub made: Instant,
}

impl<S> std::ops::Deref for Timed<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.found
    }
}

/// The last sweep, with the question that it has answered.
pub struct Last<Q, S>(Option<(Q, Arc<Timed<S>>)>);

impl<Q, S> Default for Last<Q, S> {
    fn default() -> Self {
        Last(None)
    }
}

impl<Q: Clone, S> Last<Q, S> {
    /// The answer to a question: that of the last sweep, if its question serves and it is not too old, or of a new one. The
    /// new sweep is made for the last question if that serves, so that the client of that one goes on.
    pub fn ask(
        &mut self,
        question: &Q,
        serves: impl Fn(&Q) -> bool,
        sweep: impl FnOnce(&Q) -> S,
    ) -> Arc<Timed<S>> {
        let last = self.0.take().filter(|(known, _)| serves(known));
        if let Some((known, swept)) = &last
            && swept.made.elapsed() < swept.cost * REST
        {
            let swept = Arc::clone(swept);
            self.0 = Some((known.clone(), Arc::clone(&swept)));
            return swept;
        }
        let question = last.map_or_else(|| question.clone(), |(known, _)| known);
        let begin = Instant::now();
        let found = sweep(&question);
        let swept = Arc::new(Timed { found, cost: begin.elapsed(), made: Instant::now() });
        self.0 = Some((question, Arc::clone(&swept)));
        swept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A last sweep for the question 7 that took so long that it serves for a day, or that serves no more.
    fn last(is_new: bool) -> Last<u32, u32> {
        let cost = Duration::from_secs(if is_new { 3600 } else { 0 });
        Last(Some((7, Arc::new(Timed { found: 70, cost, made: Instant::now() }))))
    }

    #[test]
    fn a_sweep_serves_while_it_is_new() {
        let swept = last(true).ask(&7, |known| *known == 7, |_| unreachable!("it is new"));
        assert_eq!(swept.found, 70);
        let swept = last(true).ask(&8, |known| *known == 8, |question| question * 10);
        assert_eq!(swept.found, 80);
        assert_eq!(last(false).ask(&7, |known| *known == 7, |question| question + 1).found, 8);
    }

    #[test]
    fn a_new_sweep_is_made_for_the_last_question_if_that_serves() {
        let mut last = last(false);
        assert_eq!(last.ask(&0, |_| true, |question| question + 1).found, 8);
        assert_eq!(last.ask(&9, |known| *known == 9, |question| question + 1).found, 10);
    }
}
