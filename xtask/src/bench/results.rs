//! What was measured: samples by key, and what could not be measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::plan::{Program, cores_in_words};
use super::report::Told;

/// What a sample is a sample of.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    /// What was done.
    pub workload: String,
    /// Who did it.
    pub system: String,
    /// What else distinguishes it.
    pub detail: String,
    /// What the value counts; less is better.
    pub unit: String,
    /// How many cores it had, if the system is measured on several numbers of them.
    pub cores: Option<usize>,
}

impl Key {
    /// A key of these parts.
    pub fn new(workload: &str, system: &str, detail: &str, unit: &str) -> Key {
        let [workload, system, detail, unit] = [workload, system, detail, unit].map(str::to_owned);
        Key { workload, system, detail, unit, cores: None }
    }
}

/// One value.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What it is a sample of.
    pub key: Key,
    /// How much it is.
    pub value: f64,
}

/// All samples of one key, in the order of their first appearance.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Series {
    /// The group's name.
    pub group: String,
    /// What these are samples of.
    #[serde(flatten)]
    pub key: Key,
    /// The values.
    pub samples: Vec<f64>,
}

impl Series {
    /// The value in the middle.
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

/// Something that was not measured.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Omission {
    /// The group's name.
    pub group: String,
    /// The system, for a failure with its workload.
    pub what: String,
    /// Why not.
    pub reason: String,
    /// Whether it should have worked.
    pub is_failure: bool,
}

impl Omission {
    /// A system that is not on this machine.
    pub fn left_out(group: &str, system: &str, reason: String) -> Omission {
        let [group, what] = [group, system].map(str::to_owned);
        Omission { group, what, reason, is_failure: false }
    }

    /// A program that went wrong.
    pub fn failure(program: &Program, reason: String) -> Omission {
        let Program { group, workload, system, .. } = program;
        let what = match program.is_one_of_several {
            true => format!("{workload} by {system} on {}", cores_in_words(program.cores)),
            false => format!("{workload} by {system}"),
        };
        Omission { group: group.clone(), what, reason, is_failure: true }
    }
}

/// Everything that one run of the command has found out.
#[derive(Serialize, Deserialize, Debug)]
pub struct Results {
    /// Where.
    pub machine: Machine,
    /// Whether sizes were small, so that the values say nothing.
    pub quick: bool,
    /// What the tools say about their versions.
    pub versions: BTreeMap<String, String>,
    /// The samples.
    pub series: Vec<Series>,
    /// For each run that counts, of a program with one core: the group, and the share of the core that
    /// it got.
    pub shares: Vec<(String, f64)>,
    /// What was left out, and what failed.
    pub omissions: Vec<Omission>,
}

impl Results {
    /// Nothing yet.
    pub fn new(machine: Machine, quick: bool) -> Results {
        let (versions, series, shares, omissions) = Default::default();
        Results { machine, quick, versions, series, shares, omissions }
    }

    /// Remembers the versions that are known.
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

    /// Removes what a program has reported that failed later.
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

    /// Everything, for other programs.
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
