//! The machine on which the benchmarks run: its description for the tables, and whether it is idle. [`super::run`]
//! calls it before and during the measurements.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::peers::{first_line, on_path};
use crate::root;

/// The description of the machine.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// How many cores it has.
    pub cores: usize,
    /// The size of its memory.
    pub gigabytes: u64,
    /// The operating system.
    pub system: String,
    /// The day of the measurement.
    pub date: String,
    /// The version of Squall's sources.
    pub commit: String,
    /// The number of processes that wanted to run, on average over the last minute before the measurement.
    pub load: String,
}

impl Machine {
    /// This machine, today.
    pub fn describe() -> Machine {
        let processor = field("/proc/cpuinfo", "model name", ':');
        let memory = field("/proc/meminfo", "MemTotal", ':');
        let kilobytes = memory.split(' ').next().and_then(|text| text.parse::<u64>().ok());
        let folder = root();
        let git = ["-C", &folder.to_string_lossy(), "rev-parse", "--short", "HEAD"];
        Machine {
            processor,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            gigabytes: kilobytes.map_or(0, |kilobytes| (kilobytes + (1 << 19)) >> 20),
            system: field("/etc/os-release", "PRETTY_NAME", '='),
            date: answer("date", &["-u", "+%Y-%m-%d"]),
            commit: answer("git", &git),
            load: load(),
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let Machine { processor, cores, gigabytes, system, date, commit, load } = self;
        format!(
            "{processor}, {cores} cores, {gigabytes} GB, {system}; {date}; sources {commit}; load {load}"
        )
    }
}

/// The text after a name in a file of names and values.
fn field(file: &str, name: &str, separator: char) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let fields = text.lines().filter_map(|line| line.split_once(separator));
    let value = fields.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value);
    value.map_or(UNKNOWN.to_owned(), |value| value.trim().trim_matches('"').to_owned())
}

fn answer(command: &str, arguments: &[&str]) -> String {
    let line = on_path(command).and_then(|file| first_line(&file, arguments));
    line.unwrap_or(UNKNOWN.to_owned())
}

/// The number of processes that wanted to run, on average over the last minute.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().filter(|word| !word.is_empty()).unwrap_or(UNKNOWN).to_owned()
}

const UNKNOWN: &str = "unknown";

/// Waits until the machine is idle, for 20 seconds at most.
pub fn wait_until_idle() {
    const PATIENCE: Duration = Duration::from_secs(20);
    const IDLE: f64 = 0.06;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if busy_share() < IDLE && busy_share() < IDLE {
            return;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// The share of all cores' time that was used during a moment.
fn busy_share() -> f64 {
    let before = processor_times();
    std::thread::sleep(Duration::from_millis(300));
    let after = processor_times();
    let (all, idle) = (after.0 - before.0, after.1 - before.1);
    1.0 - idle / all.max(1.0)
}

/// The time since the start of the machine, and the part of it that was idle, summed over all cores. Processes of low
/// priority count as idle: they give way to the measured program.
fn processor_times() -> (f64, f64) {
    let text = std::fs::read_to_string(Path::new("/proc/stat")).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let times: Vec<f64> = line.split_whitespace().skip(1).take(8).flat_map(str::parse).collect();
    let &[_, low_priority, _, idle, waiting, ..] = &times[..] else { return (0.0, 0.0) };
    (times.iter().sum(), low_priority + idle + waiting)
}
