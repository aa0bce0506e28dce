//! The results of the measurements: samples by key, and the programs that were not measured. [`super::run`] collects
//! them; the tables, the JSON file and README.md are made of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::plan::{Program, cores_in_words};
use super::report::Told;

/// The identity of a series of samples.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    /// The workload's name.
    pub workload: String,
    /// The system's name.
    pub system: String,
    /// A further distinction, from the program's report.
    pub detail: String,
    /// The unit of the values. Smaller values are better.
    pub unit: String,
    /// The number of cores, if the system is measured on several numbers of cores.
    pub cores: Option<usize>,
}

impl Key {
    /// A key that does not depend on the number of cores.
    pub fn new(workload: &str, system: &str, detail: &str, unit: &str) -> Key {
        let [workload, system, detail, unit] = [workload, system, detail, unit].map(str::to_owned);
        Key { workload, system, detail, unit, cores: None }
    }
}

/// One measured value.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The identity of its series.
    pub key: Key,
    /// The value, in the key's unit.
    pub value: f64,
}

/// All samples of one key, in the order of their first appearance.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Series {
    /// The group's name.
    pub group: String,
    /// The identity of the series.
    #[serde(flatten)]
    pub key: Key,
    /// The values, in the order of their measurement.
    pub samples: Vec<f64>,
}

impl Series {
    /// The median.
    pub fn median(&self) -> f64 {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() % 2 {
            1 => sorted[middle],
            _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
        }
    }

    /// The smallest value.
    pub fn minimum(&self) -> f64 {
        self.samples.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// A program or system that was not measured.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Omission {
    /// The group's name.
    pub group: String,
    /// The system's name; for a failure, the workload's name, too.
    pub what: String,
    /// The reason.
    pub reason: String,
    /// Whether this is a failure.
    pub is_failure: bool,
}

impl Omission {
    /// A system that is not installed on this machine.
    pub fn left_out(group: &str, system: &str, reason: String) -> Omission {
        let [group, what] = [group, system].map(str::to_owned);
        Omission { group, what, reason, is_failure: false }
    }

    /// A program that failed.
    pub fn failure(program: &Program, reason: String) -> Omission {
        let Program { group, workload, system, .. } = program;
        let what = match program.is_one_of_several {
            true => format!("{workload} by {system} on {}", cores_in_words(program.cores)),
            false => format!("{workload} by {system}"),
        };
        Omission { group: group.clone(), what, reason, is_failure: true }
    }
}

/// All results of one run of the command.
#[derive(Serialize, Deserialize, Debug)]
pub struct Results {
    /// The machine on which the programs ran.
    pub machine: Machine,
    /// Whether the sizes were small, so that the values are meaningless.
    pub quick: bool,
    /// The versions of the tools.
    pub versions: BTreeMap<String, String>,
    /// The samples.
    pub series: Vec<Series>,
    /// For each undisturbed or least disturbed run of a program on one core: the group, and the share of the core that
    /// the program got.
    pub shares: Vec<(String, f64)>,
    /// The systems that were left out, and the programs that failed.
    pub omissions: Vec<Omission>,
}

impl Results {
    /// Results without any sample.
    pub fn new(machine: Machine, quick: bool) -> Results {
        let (versions, series, shares, omissions) = Default::default();
        Results { machine, quick, versions, series, shares, omissions }
    }

    /// Adds the versions of those tools that tell theirs.
    pub fn note_versions(&mut self, versions: impl Iterator<Item = (String, Option<String>)>) {
        self.versions.extend(versions.filter_map(|(name, version)| Some((name, version?))));
    }

    /// Adds the samples of a run to their series.
    pub fn add(&mut self, group: &str, Told { samples, share }: Told) {
        self.shares.extend(share.map(|share| (group.to_owned(), share)));
        for Sample { key, value } in samples {
            let same = |series: &&mut Series| series.group == group && series.key == key;
            match self.series.iter_mut().find(same) {
                Some(series) => series.samples.push(value),
                None => {
                    let group = group.to_owned();
                    self.series.push(Series { group, key, samples: vec![value] });
                }
            }
        }
    }

    /// Removes the samples of a program that failed in a later run.
    pub fn forget(&mut self, program: &Program) {
        self.series.retain(|Series { group, key, .. }| {
            *group != program.group
                || key.workload != program.workload
                || key.system != program.system
                || key.cores.is_some_and(|cores| cores != program.cores)
        });
    }

    /// The series of a group.
    pub fn of_group<'r>(&'r self, group: &'r str) -> impl Iterator<Item = &'r Series> {
        self.series.iter().filter(move |series| series.group == group)
    }

    /// All results as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_lie_in_the_middle() {
        for (samples, median, minimum) in
            [(vec![3.0], 3.0, 3.0), (vec![9.0, 1.0, 2.0], 2.0, 1.0), (vec![4.0, 2.0], 3.0, 2.0)]
        {
            let (group, key) = (String::new(), Key::new("", "", "", ""));
            let series = Series { group, key, samples };
            assert_eq!((series.median(), series.minimum()), (median, minimum));
        }
    }
}
