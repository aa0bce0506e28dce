//! The source of random choices, for the generator of programs and for the damage to modules.
//!
//! A fuzzer's bytes are used one after the other; when they are used up, every choice is the first one, so that shorter
//! inputs make smaller things. A seed never ends.

/// A source of choices.
#[derive(Clone, Debug)]
pub enum Choices<'b> {
    /// These bytes.
    Bytes(&'b [u8]),
    /// A generator with this state: SplitMix64.
    Seed(u64),
}

impl Choices<'_> {
    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        match self {
            Choices::Bytes(_) => (0..8).fold(0, |bits, _| bits << 8 | u64::from(self.byte())),
            Choices::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut bits = *state;
                bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                bits ^ (bits >> 31)
            }
        }
    }

    /// A byte.
    fn byte(&mut self) -> u8 {
        match self {
            Choices::Bytes(bytes) => match bytes.split_first() {
                Some((first, rest)) => {
                    *bytes = rest;
                    *first
                }
                None => 0,
            },
            Choices::Seed(_) => self.bits() as u8,
        }
    }

    /// A number below a limit that is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        match self {
            Choices::Seed(_) => (self.bits() % limit as u64) as usize,
            Choices::Bytes(_) if limit <= 256 => usize::from(self.byte()) % limit,
            Choices::Bytes(_) => {
                let high = usize::from(self.byte());
                (high << 8 | usize::from(self.byte())) % limit
            }
        }
    }

    /// True once in `times` times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times
    }

    /// The index of an element, if there is any.
    pub fn index<T>(&mut self, list: &[T]) -> Option<usize> {
        (!list.is_empty()).then(|| self.below(list.len()))
    }

    /// A copy of an element, if there is any.
    pub fn element<T: Clone>(&mut self, list: &[T]) -> Option<T> {
        self.index(list).map(|index| list[index].clone())
    }

    /// An element, if there is any.
    pub fn element_mut<'t, T>(&mut self, list: &'t mut [T]) -> Option<&'t mut T> {
        self.index(list).map(|index| &mut list[index])
    }

    /// One of several.
    pub fn of<T: Copy>(&mut self, several: &[T]) -> T {
        several[self.below(several.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_used_up() {
        let mut choices = Choices::Bytes(&[7, 1, 2]);
        assert_eq!(choices.below(4), 3);
        assert_eq!(choices.below(1000), 258);
        assert_eq!(choices.below(10), 0);
        assert!(!choices.one_in(2));
    }

    #[test]
    fn seeds_do_not_end() {
        let mut choices = Choices::Seed(1);
        let numbers: Vec<usize> = (0..100).map(|_| choices.below(10)).collect();
        assert!((0..10).all(|number| numbers.contains(&number)));
    }
}
