//! The results of a sandbox's lost strands, which break when it ends, and the promises that somebody outside waits for. Sandboxes
//! keep them.
//!
//! Invariant: the objects of the first `promoted` words are not in the nursery. A nursery collection moves all objects that survive
//! out of there, so it has to see those words only that were added since the collection before.

use squall_heap::Word;

/// Words that the collector updates.
#[derive(Default)]
pub struct Orphans {
    words: Vec<Word>,
    promoted: usize,
}

impl Orphans {
    /// Adds the result of a lost strand.
    pub fn add(&mut self, result: Word) {
        self.words.push(result);
    }

    /// Adds a promise that somebody outside waits for. Those that are not pending any more are dropped now and then.
    pub fn add_awaited(&mut self, promise: Word, is_pending: impl Fn(Word) -> bool) {
        if self.words.len() == self.words.capacity() {
            let (mut index, mut kept, old) = (0, 0, self.promoted);
            self.words.retain(|word| {
                let is_kept = is_pending(*word);
                kept += usize::from(is_kept && index < old);
                index += 1;
                is_kept
            });
            self.promoted = kept;
        }
        self.words.push(promise);
    }

    /// Takes one of them.
    pub fn take(&mut self) -> Option<Word> {
        let word = self.words.pop();
        self.promoted = self.promoted.min(self.words.len());
        word
    }

    /// Takes all of another list.
    pub fn append(&mut self, other: &mut Orphans) {
        self.words.append(&mut other.words);
        other.promoted = 0;
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// All, for a full collection.
    pub fn all(&mut self) -> impl Iterator<Item = &mut Word> {
        self.words.iter_mut()
    }

    /// Those that may be in the nursery, for a collection of that. Afterwards, they are not.
    pub fn take_new(&mut self) -> impl Iterator<Item = &mut Word> {
        let new = std::mem::replace(&mut self.promoted, self.words.len());
        self.words[new..].iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::Orphans;
    use squall_heap::Word;

    fn word(number: i64) -> Word {
        Word::from_small_integer_unchecked(number)
    }

    fn new_of(orphans: &mut Orphans) -> Vec<Word> {
        orphans.take_new().map(|word| *word).collect()
    }

    #[test]
    fn each_is_new_once() {
        let mut orphans = Orphans::default();
        orphans.add(word(1));
        orphans.add(word(2));
        assert_eq!(new_of(&mut orphans), [word(1), word(2)]);
        orphans.add(word(3));
        assert_eq!(new_of(&mut orphans), [word(3)]);
        assert_eq!(new_of(&mut orphans), []);
    }

    #[test]
    fn what_is_added_in_the_place_of_another_is_new() {
        let mut orphans = Orphans::default();
        (0..4).for_each(|number| orphans.add(word(number)));
        _ = new_of(&mut orphans);
        assert_eq!(orphans.take(), Some(word(3)));
        orphans.add(word(4));
        assert_eq!(new_of(&mut orphans), [word(4)]);
    }

    #[test]
    fn old_ones_that_are_dropped_make_no_new_one_old() {
        let mut orphans = Orphans::default();
        let is_odd = |word: Word| word.as_small_integer().is_some_and(|number| number % 2 == 1);
        let mut number = 0;
        let mut expected = Vec::new();
        for round in 0..40 {
            number += 1;
            orphans.add_awaited(word(number), is_odd);
            expected.push(word(number));
            if round % 7 == 6 {
                let new = new_of(&mut orphans);
                // Those that are not pending may have been dropped.
                assert!(expected.iter().all(|word| new.contains(word) || !is_odd(*word)));
                assert!(new.iter().all(|word| expected.contains(word)));
                expected.clear();
            }
        }
    }

    #[test]
    fn those_of_another_list_are_new() {
        let (mut orphans, mut others) = (Orphans::default(), Orphans::default());
        orphans.add(word(1));
        others.add(word(2));
        _ = (new_of(&mut orphans), new_of(&mut others));
        orphans.append(&mut others);
        assert!(others.is_empty());
        assert_eq!(new_of(&mut orphans), [word(2)]);
    }
}
