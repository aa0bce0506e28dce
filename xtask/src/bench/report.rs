//! Runs a program and reads its results, with one reader for each format. [`super::take_turns`] calls [`tell`] for each
//! run.
//!
//! A program on one core that always has work to do should get the whole time of its core. On a machine with other
//! users it gets a share: its processor time divided by the elapsed time. A run with a small share is not
//! representative, so the program runs again, a few times at most, and the run with the greatest share counts.

use std::collections::BTreeMap;

use super::idle;
use super::manifest::Report;
use super::measure::{self, Run};
use super::plan::Program;
use super::results::{Key, Sample};

/// The results of a run.
#[derive(Debug)]
pub struct Told {
    /// The samples.
    pub samples: Vec<Sample>,
    /// The share of its core that the program got, if it is known.
    pub share: Option<f64>,
}

/// Runs the program until a run is undisturbed, a few times at most. Answers the least disturbed run.
pub fn tell(program: &Program) -> Result<Told, String> {
    let mut best = tell_once(program)?;
    for _ in 1..ATTEMPTS {
        if best.share.is_none_or(|share| share >= UNDISTURBED) {
            break;
        }
        let other = tell_once(program)?;
        if other.share > best.share {
            best = other;
        }
    }
    Ok(best)
}

const ATTEMPTS: usize = 4;

/// The share of a core from which on a run counts as undisturbed.
const UNDISTURBED: f64 = 0.95;

fn tell_once(program: &Program) -> Result<Told, String> {
    if program.report == Report::Idle {
        return Ok(Told { samples: idle::samples(program)?, share: None });
    }
    let with_usage = || program.command_with_usage(USAGE);
    let mut command = (program.cores == 1).then(with_usage).flatten();
    let command = command.get_or_insert_with(|| program.command());
    let run = measure::run(command, program.limit)?;
    let mut samples = without_warm_up(samples(&run, program)?, program.warm_up);
    for sample in &mut samples {
        sample.key.cores = program.is_one_of_several.then_some(program.cores);
    }
    Ok(Told { samples, share: share_of_core(&run.error) })
}

/// The format for GNU time: processor time in user and system mode and elapsed time, in seconds; peak memory in KiB.
const USAGE: &str = "usage %U %S %e %M";

/// The share of a core that a program got. A run that is too short for the clock of GNU time, which ticks every 10 ms,
/// has no share.
fn share_of_core(error: &str) -> Option<f64> {
    let [user, system, all, _] = usage(error)?;
    (all >= 0.2).then(|| ((user + system) / all).min(1.0))
}

/// The figures of the line that [`USAGE`] made.
fn usage(error: &str) -> Option<[f64; 4]> {
    let line = error.lines().find_map(|line| line.strip_prefix("usage "))?;
    let figures: Vec<f64> = line.split(' ').flat_map(str::parse).collect();
    figures.try_into().ok()
}

/// All samples of a run.
fn samples(run: &Run, program: &Program) -> Result<Vec<Sample>, String> {
    let samples = match program.report {
        Report::Lines => from_lines(&run.output)?,
        Report::LinesAndPeak => {
            let mut samples = from_lines(&run.output)?;
            samples.extend(usage(&run.error).map(|[.., kibibytes]| Sample {
                key: Key::new(&program.workload, &program.system, "peak", "MiB"),
                value: kibibytes / 1024.0,
            }));
            samples
        }
        Report::Harness => from_harness(&run.output, program)?,
        Report::Process => from_process(run, program)?,
        Report::Idle => Vec::new(),
        Report::Text => {
            println!("\n{}\n\n```text\n{}```", program.name(), run.output);
            Vec::new()
        }
    };
    Ok(samples)
}

/// Lines of `RESULT`, workload, system, detail, then values and their units.
fn from_lines(output: &str) -> Result<Vec<Sample>, String> {
    let mut samples = Vec::new();
    for line in output.lines().filter_map(|line| line.strip_prefix("RESULT\t")) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [workload, system, detail, figures @ ..] = fields.as_slice() else {
            return Err(format!("fields are missing: {line}"));
        };
        for figure in figures.chunks(2) {
            let [value, unit] = figure else { return Err(format!("a unit is missing: {line}")) };
            let value = value.parse().map_err(|_| format!("`{value}` is not a number: {line}"))?;
            let key = Key::new(workload, system, detail, unit);
            samples.push(Sample { key, value });
        }
    }
    if samples.is_empty() { Err("it printed no results".to_owned()) } else { Ok(samples) }
}

/// Reads the lines of a harness. The last one is a total, unless a result was wrong.
fn from_harness(output: &str, program: &Program) -> Result<Vec<Sample>, String> {
    let times: Vec<f64> = output
        .lines()
        .filter_map(|line| line.split_once("runtime: ")?.1.strip_suffix("us")?.parse().ok())
        .collect();
    let is_complete = output.lines().any(|line| line.starts_with("Total Runtime:"));
    if !is_complete || times.len() != program.iterations {
        let (all, found) = (program.iterations, times.len());
        return Err(format!("{found} of {all} iterations ended with the right result"));
    }
    let key = Key::new(&program.workload, &program.system, "", "ms");
    Ok(times.into_iter().map(|time| Sample { key: key.clone(), value: time / 1000.0 }).collect())
}

/// The time of the run; the peak memory of another run. The process must have printed something.
fn from_process(run: &Run, program: &Program) -> Result<Vec<Sample>, String> {
    if run.output.trim().is_empty() {
        return Err("it printed nothing".to_owned());
    }
    let sample = |detail, unit, value| Sample {
        key: Key::new(&program.workload, &program.system, detail, unit),
        value,
    };
    let mut samples = vec![sample("time", "ms", run.time.as_secs_f64() * 1000.0)];
    if let Some(mut command) = program.command_with_usage("peak %M") {
        let run = measure::run(&mut command, program.limit)?;
        let peak = run.error.lines().find_map(|line| line.strip_prefix("peak ")?.parse().ok());
        let kibibytes: f64 = peak.ok_or("GNU time did not tell the memory")?;
        samples.push(sample("peak memory", "MiB", kibibytes / 1024.0));
    }
    Ok(samples)
}

/// The samples without the first `count` of each key.
fn without_warm_up(samples: Vec<Sample>, count: usize) -> Vec<Sample> {
    let mut seen: BTreeMap<Key, usize> = BTreeMap::new();
    let counts = |sample: &Sample| {
        let seen = seen.entry(sample.key.clone()).or_default();
        *seen += 1;
        *seen > count
    };
    samples.into_iter().filter(counts).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;

    fn program(report: Report, script: &str) -> Program {
        Program {
            group: "group".to_owned(),
            workload: "Queens".to_owned(),
            system: "shell".to_owned(),
            builds: Vec::new(),
            line: ["sh", "-c", script].map(str::to_owned).into(),
            folder: PathBuf::from("/"),
            environment: BTreeMap::new(),
            cores: 2,
            is_one_of_several: false,
            report,
            size: 0,
            iterations: 2,
            warm_up: 1,
            repetitions: 1,
            limit: Duration::from_secs(60),
            peers: BTreeSet::new(),
        }
    }

    fn values(report: Report, script: &str) -> Result<Vec<f64>, String> {
        let told = tell(&program(report, script))?;
        Ok(told.samples.into_iter().map(|sample| sample.value).collect())
    }

    const FIRST: &str = "echo 'Queens: iterations=1 runtime: 1500us'; ";
    const SECOND: &str = "echo 'Queens: iterations=1 runtime: 2500us'; ";
    const TOTAL: &str = "echo 'Total Runtime: 4000us'; ";

    #[test]
    fn harnesses_print_microseconds() {
        let script = [FIRST, SECOND, TOTAL].concat();
        assert_eq!(values(Report::Harness, &script), Ok(vec![2.5]));
    }

    #[test]
    fn a_harness_with_a_wrong_result_fails() {
        for script in [[FIRST, SECOND, "exit 1"], [FIRST, SECOND, ""], [FIRST, "", TOTAL]] {
            assert!(values(Report::Harness, &script.concat()).is_err(), "{script:?}");
        }
    }

    #[test]
    fn lines_may_have_several_figures() {
        let line = r"printf 'RESULT\tspawn\tgo\tall\t3\tus\t80\tB\n'; ";
        assert_eq!(values(Report::Lines, &line.repeat(2)), Ok(vec![3.0, 80.0]));
    }

    #[test]
    fn lines_that_are_wrong_fail() {
        for fields in [r"spawn", r"spawn\tgo\tall\t3", r"spawn\tgo\tall\tfast\tus"] {
            let script = format!(r"printf 'RESULT\t{fields}\n'");
            assert!(values(Report::Lines, &script).is_err(), "{fields}");
        }
        assert!(values(Report::Lines, "echo nothing").is_err());
    }

    #[test]
    fn a_share_of_a_core_is_processor_time_by_time() {
        assert_eq!(share_of_core("warning\nusage 1.00 0.50 3.00 2048\n"), Some(0.5));
        assert_eq!(share_of_core("usage 1.51 0.00 1.50 2048\n"), Some(1.0));
        assert_eq!(share_of_core("usage 0.01 0.00 0.02 2048\n"), None);
        assert_eq!(share_of_core("no such line"), None);
    }

    #[test]
    fn a_peak_is_one_more_result() {
        let script = r"printf 'RESULT\tQueens\tshell\t\t1\tms\n'; echo 'usage 1 0 1 2048' >&2";
        let one = Program { warm_up: 0, ..program(Report::LinesAndPeak, script) };
        let told = tell(&one).map(|told| told.samples).unwrap_or_default();
        let values: Vec<f64> = told.iter().map(|sample| sample.value).collect();
        assert_eq!(values, [1.0, 2.0]);
    }

    #[test]
    fn a_process_must_do_something() {
        assert!(values(Report::Process, "true").is_err());
        assert!(values(Report::Process, "echo hello").is_ok());
    }
}
