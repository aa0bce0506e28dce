//! The figures of samples: medians, and intervals for them by the bootstrap (Efron and Tibshirani, *An Introduction to the
//! Bootstrap*, 1993, chapter 13). [`super`] calls this.
//!
//! Times are no normal distribution: a disturbed machine makes some samples much longer, and none shorter. So there are no
//! means and deviations here.

/// How many times samples are drawn from the samples.
const DRAWN: usize = 2000;
/// The part of the drawn medians that lies below an interval, and above it.
const OUTSIDE: f64 = 0.025;

/// The figures of samples.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The beginning of the interval that has the median with a probability of 95 %.
    pub low: f64,
    /// Its end.
    pub high: f64,
}

/// The figures of these samples, of which there is one at least.
pub fn summary(samples: &[f64]) -> Summary {
    let mut draw = Draw::new();
    let medians = (0..DRAWN).map(|_| draw.median(samples)).collect();
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    with_interval(median(samples.to_vec()), least, medians)
}

/// How many times as long the first samples are as the others.
pub fn ratio(samples: &[f64], others: &[f64]) -> Summary {
    let mut draw = Draw::new();
    let ratios = (0..DRAWN).map(|_| draw.median(samples) / draw.median(others)).collect();
    let ratio = median(samples.to_vec()) / median(others.to_vec());
    with_interval(ratio, ratio, ratios)
}

fn with_interval(median: f64, least: f64, mut drawn: Vec<f64>) -> Summary {
    drawn.sort_by(f64::total_cmp);
    let at = |part: f64| drawn[((drawn.len() - 1) as f64 * part).round() as usize];
    Summary { median, least, low: at(OUTSIDE), high: at(1.0 - OUTSIDE) }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len().is_multiple_of(2) {
        true => (samples[middle - 1] + samples[middle]) / 2.0,
        false => samples[middle],
    }
}

/// Draws samples from samples, the same ones in each run: the generator of Steele, Lea and Flood, "Fast Splittable
/// Pseudorandom Number Generators", OOPSLA 2014.
struct Draw {
    state: u64,
}

impl Draw {
    fn new() -> Draw {
        Draw { state: 1 }
    }

    /// The median of as many samples as there are, each of which is any of them.
    fn median(&mut self, samples: &[f64]) -> f64 {
        median((0..samples.len()).map(|_| samples[self.below(samples.len())]).collect())
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(mixed ^ (mixed >> 31)) * limit as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_has_the_median() {
        let samples: Vec<f64> = (0..100).map(f64::from).collect();
        let figures = summary(&samples);
        assert_eq!((figures.median, figures.least), (49.5, 0.0));
        assert!(figures.low > 35.0 && figures.low < 49.5);
        assert!(figures.high < 64.0 && figures.high > 49.5);
        assert_eq!(figures, summary(&samples));
    }

    #[test]
    fn one_sample_is_its_own_interval() {
        assert_eq!(summary(&[3.0]), Summary { median: 3.0, least: 3.0, low: 3.0, high: 3.0 });
    }

    #[test]
    fn a_ratio_tells_faster_from_slower() {
        let samples: Vec<f64> = (100..130).map(f64::from).collect();
        let doubled: Vec<f64> = samples.iter().map(|time| time * 2.0).collect();
        let figures = ratio(&doubled, &samples);
        assert_eq!(figures.median, 2.0);
        assert!(figures.low > 1.5 && figures.high < 2.5);
        assert!(ratio(&samples, &samples).low < 1.0);
    }
}
