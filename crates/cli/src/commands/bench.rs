//! `squall bench`: measures the benchmarks in test modules. `commands` calls this module.
//!
//! A benchmark is run so many times in a row that this takes some milliseconds, a *sample*; its figure is the time of one
//! run. First there are samples that do not count, while machine code is made; then those that do. The figures are the
//! median of the samples, an interval that has the median with a probability of 95 %, and the least sample
//! ([`statistics`]). They contain the message that runs the benchmark, some ten nanoseconds.
//!
//! `--save` writes the samples into a file, and `--against` compares with those of such a file ([`saved`]).
//!
//! With `--json`, there is one object for each benchmark: `file`, `name`, `nanoseconds` (the median), `least`, `low` and
//! `high` (the interval), `samples` and `runs` (of a sample); with `--against`, `ratio`, `ratio_low` and `ratio_high`, too. Of one that
//! failed: `file`, `name`, `outcome` and `message`.

mod saved;
mod statistics;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use squall::testing::{Outcome, Test, TestRun, benchmarks_of};

use self::saved::Saved;
use self::statistics::{Summary, ratio, summary};
use super::test::{describe, load, modules};
use super::{internal, start};
use crate::arguments;
use crate::console::{complain, print};
use crate::exit::Exit;

/// A sample takes at least this time.
const SAMPLE: Duration = Duration::from_millis(5);
/// There are at least so many samples.
const FEWEST: usize = 10;
/// There are no more samples than this.
const MOST: usize = 1000;

/// Measures the benchmarks in the files.
pub fn bench(arguments: &arguments::Bench) -> Result<Exit, Exit> {
    if arguments.modules.machine.seed.is_some() {
        complain("with --seed, time is simulated: a benchmark measures nothing");
        return Err(Exit::Usage);
    }
    let before = arguments.against.as_deref().map(Saved::read).transpose()?;
    let mut run = Run { arguments, before, now: Saved::default(), found: 0, failed: 0 };
    for file in modules::in_files(&arguments.modules.files)? {
        run.file(&file)?;
    }
    if run.found == 0 {
        complain(
            "there is no such benchmark: a method of a test context whose name begins with `bench`",
        );
        return Ok(Exit::Failure);
    }
    if let Some(path) = &arguments.save {
        run.now.write(path)?;
    }
    Ok(if run.failed == 0 { Exit::Success } else { Exit::Failure })
}

/// The measurements of a run.
struct Run<'a> {
    arguments: &'a arguments::Bench,
    before: Option<Saved>,
    now: Saved,
    found: usize,
    failed: usize,
}

impl Run<'_> {
    fn file(&mut self, file: &str) -> Result<(), Exit> {
        let options = modules::options(&self.arguments.modules, file)?;
        let module = load(file, options.verify_all)?;
        let filter = self.arguments.filter.as_deref().unwrap_or("");
        let mut benchmarks = benchmarks_of(module.module());
        benchmarks.retain(|benchmark| benchmark.name().contains(filter));
        if benchmarks.is_empty() {
            return Ok(());
        }
        self.found += benchmarks.len();
        let plural = if benchmarks.len() == 1 { "" } else { "s" };
        self.for_people(|| format!("{file}: {} benchmark{plural}\n", benchmarks.len()));
        // A machine for each file: what one leaves behind does not slow down the next one.
        let mut machine = TestRun::new(start(options)?, None).map_err(internal)?;
        let outcome = machine.open(module).map_err(internal)?;
        if outcome != Outcome::Passed {
            self.failed += benchmarks.len();
            self.failure(file, "the module cannot be made", outcome);
            return Ok(());
        }
        for benchmark in &benchmarks {
            match self.measure(&mut machine, benchmark)? {
                Ok(samples) => self.success(file, benchmark, samples),
                Err(outcome) => {
                    self.failed += 1;
                    let is_over = matches!(outcome, Outcome::Exit(_));
                    self.failure(file, &benchmark.name(), outcome);
                    if is_over {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// The samples of a benchmark.
    fn measure(
        &self,
        machine: &mut TestRun,
        benchmark: &Test,
    ) -> Result<Result<Samples, Outcome>, Exit> {
        let mut runs = 1;
        let mut time = |runs| machine.time(benchmark, runs).map_err(internal);
        let begin = Instant::now();
        // While the number of runs is found, machine code is made.
        loop {
            let taken = match time(runs)? {
                Ok(taken) => taken,
                Err(outcome) => return Ok(Err(outcome)),
            };
            match taken < SAMPLE {
                true => runs = more_runs(runs, taken),
                false if begin.elapsed() >= self.arguments.warm_up => break,
                false => {}
            }
        }
        let mut samples = Samples { runs, times: Vec::new() };
        let begin = Instant::now();
        while samples.times.len() < FEWEST
            || begin.elapsed() < self.arguments.time && samples.times.len() < MOST
        {
            match time(runs)? {
                Ok(taken) => samples.times.push(taken.as_nanos() as f64 / runs as f64),
                Err(outcome) => return Ok(Err(outcome)),
            }
        }
        Ok(Ok(samples))
    }

    fn success(&mut self, file: &str, benchmark: &Test, samples: Samples) {
        let name = benchmark.name();
        let figures = summary(&samples.times);
        let before = self.before.as_ref().and_then(|before| before.times(file, &name));
        let ratio = before.map(|before| ratio(&samples.times, before));
        match self.arguments.modules.json {
            true => {
                let mut object = json!({
                    "file": file, "name": name, "nanoseconds": rounded(figures.median),
                    "least": rounded(figures.least), "low": rounded(figures.low),
                    "high": rounded(figures.high),
                    "samples": samples.times.len(), "runs": samples.runs,
                });
                if let Some(ratio) = ratio {
                    object["ratio"] = rounded(ratio.median).into();
                    object["ratio_low"] = rounded(ratio.low).into();
                    object["ratio_high"] = rounded(ratio.high).into();
                }
                print(&format!("{object}\n"));
            }
            false => print(&line(&name, &figures, &samples, ratio.as_ref())),
        }
        self.now.add(file, &name, samples.times);
    }

    fn failure(&self, file: &str, name: &str, outcome: Outcome) {
        let (word, message) = describe(outcome);
        let message = message.unwrap_or_default();
        if self.arguments.modules.json {
            let object: Value =
                json!({ "file": file, "name": name, "outcome": word, "message": message });
            return print(&format!("{object}\n"));
        }
        let message: String = message.lines().map(|line| format!("    {line}\n")).collect();
        print(&format!("  {word}: {name}\n{message}"));
    }

    fn for_people(&self, text: impl FnOnce() -> String) {
        if !self.arguments.modules.json {
            print(&text());
        }
    }
}

/// The samples of a benchmark.
struct Samples {
    /// How many runs a sample has.
    runs: u64,
    /// The nanoseconds of one run.
    times: Vec<f64>,
}

/// How many runs may take as long as a sample, if so many took this time.
fn more_runs(runs: u64, taken: Duration) -> u64 {
    const FASTEST: u64 = 10;
    let wanted = SAMPLE.as_nanos() as u64 * runs / (taken.as_nanos() as u64).max(1) + 1;
    wanted.clamp(runs + 1, runs.saturating_mul(FASTEST))
}

fn line(name: &str, figures: &Summary, samples: &Samples, ratio: Option<&Summary>) -> String {
    let Summary { median, least, low, high } = *figures;
    let (runs, count) = (samples.runs, samples.times.len());
    let interval = format!("{} to {}", duration(low), duration(high));
    let mut text = format!(
        "  {name:<40} {:>10}   {interval:<22} least {:<9} {count} samples of {runs}\n",
        duration(median),
        duration(least),
    );
    if let Some(&Summary { median, low, high, .. }) = ratio {
        let verdict = match (low > 1.0, high < 1.0) {
            (true, _) => "slower",
            (_, true) => "faster",
            _ => "no difference",
        };
        text += &format!("  {:<40} {median:>9.3} ×   {low:.3} to {high:.3}: {verdict}\n", "");
    }
    text
}

/// A figure with three digits behind the point.
fn rounded(figure: f64) -> f64 {
    (figure * 1e3).round() / 1e3
}

/// Nanoseconds as people read them.
fn duration(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        time if time < 1e3 => (time, "ns"),
        time if time < 1e6 => (time / 1e3, "µs"),
        time if time < 1e9 => (time / 1e6, "ms"),
        time => (time / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_until_a_sample_is_long_enough() {
        assert_eq!(more_runs(1, Duration::ZERO), 10);
        assert_eq!(more_runs(10, Duration::from_millis(4)), 13);
        assert_eq!(more_runs(10, Duration::from_nanos(4_999_999)), 11);
    }

    #[test]
    fn durations_have_three_digits() {
        let texts = [1.234, 12.34, 123.4, 1234.0, 1.2e7, 3.4e9].map(duration);
        assert_eq!(texts, ["1.23 ns", "12.3 ns", "123 ns", "1.23 µs", "12.0 ms", "3.40 s"]);
    }
}
