//! Markdown tables of the results: medians and minima, ratios to the baseline and to fewer cores, and the list of what
//! was left out. [`super::run`] prints them, and [`super::readme`] uses the parts for README.md.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::manifest::{Group, Rows};
use super::plan::cores_in_words;
use super::results::{Results, Series};

/// The heading and the tables of a group. Without results, there is only the heading.
pub fn of_group(group: &Group, results: &Results) -> String {
    let grid = Grid::new(group, results);
    let mut text = format!("\n## {}\n", group.title);
    if grid.lines.is_empty() {
        return text;
    }
    match group.rows {
        Rows::Systems => text += &grid.by_system(),
        Rows::Workloads => {
            text += &grid.by_workload();
            if let Some(baseline) = grid.baseline {
                text += &grid.ratios(baseline, group.geomean);
            }
            text += &grid.ratios_of_pairs(&group.pairs);
            if group.speedups {
                text += &grid.speedups();
            }
            text += &grid.ratios_of_cores();
        }
    }
    text + &note_on_shares(group, results)
}

/// A line about the shares of their cores that the programs of a group got.
fn note_on_shares(group: &Group, results: &Results) -> String {
    let shares = results.shares.iter().filter(|(name, _)| *name == group.name);
    let mut shares: Vec<f64> = shares.map(|(_, share)| share * 100.0).collect();
    shares.sort_by(f64::total_cmp);
    let [least, .., _] = shares[..] else { return String::new() };
    let median = shares[shares.len() / 2];
    format!("\nShare of its core that a program got: median {median:.0} %, least {least:.0} %\n")
}

/// The list of the tools' versions.
pub fn of_versions(results: &Results) -> String {
    let mut text = "\nVersions:\n\n".to_owned();
    for (name, version) in &results.versions {
        _ = writeln!(text, "- {name}: {version}");
    }
    text
}

/// The list of systems that were left out and of programs that failed. Equal reasons share a line.
pub fn of_omissions(results: &Results) -> String {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for omission in &results.omissions {
        let note = if omission.is_failure { "FAILED: " } else { "" };
        let reason = format!("{}: {note}{}", omission.group, omission.reason);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, what)) if what.contains(&omission.what.as_str()) => {}
            Some((_, what)) => what.push(&omission.what),
            None => reasons.push((reason, vec![&omission.what])),
        }
    }
    let mut text = if reasons.is_empty() { String::new() } else { "\nLeft out:\n\n".to_owned() };
    for (reason, what) in reasons {
        _ = writeln!(text, "- {reason} ({})", what.join(", "));
    }
    text
}

/// The identity of a row of workloads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Line<'r> {
    workload: &'r str,
    detail: &'r str,
    unit: &'r str,
    /// The number of cores, if there are rows for several numbers of cores.
    cores: Option<usize>,
}

/// The series of a group, by line and by system.
struct Grid<'r> {
    lines: Vec<Line<'r>>,
    systems: Vec<&'r str>,
    baseline: Option<&'r str>,
    cells: BTreeMap<(Line<'r>, &'r str), &'r Series>,
}

impl<'r> Grid<'r> {
    /// Arranges the results. The systems have the order of the manifest; systems that only the programs name follow.
    fn new(group: &'r Group, results: &'r Results) -> Grid<'r> {
        let mut lines = Vec::new();
        let mut systems: Vec<&str> =
            group.systems.iter().map(|system| system.name.as_str()).collect();
        let mut cells = BTreeMap::new();
        for series in results.of_group(&group.name) {
            let key = &series.key;
            let [workload, detail, unit] =
                [&key.workload, &key.detail, &key.unit].map(String::as_str);
            let line = Line { workload, detail, unit, cores: key.cores };
            if !lines.contains(&line) {
                lines.push(line);
            }
            if !systems.contains(&key.system.as_str()) {
                systems.push(&key.system);
            }
            cells.insert((line, key.system.as_str()), series);
        }
        systems.retain(|system| cells.keys().any(|(_, other)| other == system));
        let baseline = group.baseline.as_deref().filter(|name| systems.contains(name));
        Grid { lines, systems, baseline, cells }
    }

    fn median(&self, line: Line<'r>, system: &'r str) -> Option<f64> {
        self.cells.get(&(line, system)).map(|series| series.median())
    }

    fn minimum(&self, line: Line<'r>, system: &'r str) -> Option<f64> {
        self.cells.get(&(line, system)).map(|series| series.minimum())
    }

    /// The ratio of the medians; nothing if one of them is missing or zero.
    fn ratio(&self, line: Line<'r>, system: &'r str, baseline: &'r str) -> Option<f64> {
        quotient(self.median(line, system), self.median(line, baseline))
    }

    /// A row for each line: medians and minima.
    fn by_workload(&self) -> String {
        let mut table = Table::new("median (minimum)", &self.systems);
        for &line in &self.lines {
            let figures = self.systems.iter().map(|&system| self.figures(line, system));
            table.row(&self.label(line), figures);
        }
        table.text
    }

    /// A row for each line: medians divided by the baseline's.
    fn ratios(&self, baseline: &'r str, has_mean: bool) -> String {
        let mut table = Table::new(&format!("ratio to {baseline}"), &self.systems);
        for &line in &self.lines {
            let ratios =
                self.systems.iter().map(|&system| cell(self.ratio(line, system, baseline)));
            table.row(&self.label(line), ratios);
        }
        if has_mean {
            let means = self.systems.iter().map(|&system| self.mean(system, baseline));
            table.row("**geometric mean**", means);
        }
        table.text
    }

    /// A row for each line with several threads: the time of one thread divided by the line's time. It shows the ratio
    /// of the medians, and that of the minima, which are the least disturbed runs.
    fn speedups(&self) -> String {
        let mut table = Table::new("times as fast as one thread (by minima)", &self.systems);
        for &line in &self.lines {
            let Some((what, threads)) = line.detail.rsplit_once(THREADS) else { continue };
            let one = |other: &&Line<'r>| {
                let found = other.detail.strip_prefix(what).and_then(|it| it.strip_prefix(THREADS));
                found == Some("1") && Line { detail: line.detail, ..**other } == line
            };
            let Some(&one) = self.lines.iter().find(one).filter(|_| threads != "1") else {
                continue;
            };
            let ratios = self.systems.iter().map(|&system| {
                let medians = quotient(self.median(one, system), self.median(line, system));
                let minima = quotient(self.minimum(one, system), self.minimum(line, system));
                let both = medians.zip(minima);
                both.map_or(NOTHING.to_owned(), |(medians, minima)| {
                    format!("{} ({})", figure(medians), figure(minima))
                })
            });
            table.row(&self.label(line), ratios);
        }
        table.text
    }

    /// A row for each line: the ratios of those pairs of systems that were both measured. Without such pairs, there is
    /// no table.
    fn ratios_of_pairs(&self, pairs: &'r [[String; 2]]) -> String {
        let is_measured =
            |pair: &&[String; 2]| pair.iter().all(|name| self.systems.contains(&name.as_str()));
        let pairs: Vec<&[String; 2]> = pairs.iter().filter(is_measured).collect();
        if pairs.is_empty() {
            return String::new();
        }
        let heads: Vec<String> =
            pairs.iter().map(|[one, other]| format!("{one} / {other}")).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let mut table = Table::new("ratio", &heads);
        for &line in &self.lines {
            let ratio = |[one, other]: &&'r [String; 2]| self.ratio(line, one, other);
            let ratios = pairs.iter().map(ratio);
            table.row(&self.label(line), ratios.map(cell));
        }
        table.text
    }

    /// A row for each line with more than the fewest cores: its medians divided by those of the fewest cores. If no
    /// program was measured on several numbers of cores, there is no table.
    fn ratios_of_cores(&self) -> String {
        let Some(fewest) = self.lines.iter().filter_map(|line| line.cores).min() else {
            return String::new();
        };
        let corner = format!("ratio to {}", cores_in_words(fewest));
        let mut table = Table::new(&corner, &self.systems);
        for &line in self.lines.iter().filter(|line| line.cores.is_some_and(|cores| cores > fewest))
        {
            let baseline = Line { cores: Some(fewest), ..line };
            let ratios = self.systems.iter().map(|&system| {
                cell(quotient(self.median(line, system), self.median(baseline, system)))
            });
            table.row(&self.label(line), ratios);
        }
        table.text
    }

    /// The geometric mean of the ratios, with their number if some are missing.
    fn mean(&self, system: &'r str, baseline: &'r str) -> String {
        let ratios = self.lines.iter().filter_map(|&line| self.ratio(line, system, baseline));
        let ratios: Vec<f64> = ratios.collect();
        let mean = cell(geometric_mean(&ratios));
        match ratios.len() {
            count if count == self.lines.len() => format!("**{mean}**"),
            count => format!("{mean} (of {count})"),
        }
    }

    /// A row for each system: medians, minima and ratios.
    fn by_system(&self) -> String {
        let labels = self.lines.iter().map(|&line| self.label(line)).collect::<Vec<_>>();
        let ratio = self.baseline.map(|name| format!("ratio to {name}"));
        let heads = labels.iter().flat_map(|label| [Some(label), ratio.as_ref()]);
        let heads: Vec<&str> = heads.flatten().map(String::as_str).collect();
        let mut table = Table::new("median (minimum)", &heads);
        for &system in &self.systems {
            let cells = self.lines.iter().flat_map(|&line| {
                let ratio = self.baseline.map(|baseline| cell(self.ratio(line, system, baseline)));
                [Some(self.figures(line, system)), ratio]
            });
            table.row(system, cells.flatten());
        }
        table.text
    }

    /// The name of a row. It omits the workload if all rows have the same.
    fn label(&self, Line { workload, detail, unit, cores }: Line<'r>) -> String {
        let is_only = self.lines.iter().all(|line| line.workload == workload);
        let cores = cores.map_or(String::new(), |cores| format!(", {}", cores_in_words(cores)));
        match (is_only, detail) {
            (_, "") => format!("{workload}{cores}, {unit}"),
            (true, _) => format!("{detail}{cores}, {unit}"),
            (false, _) => format!("{workload}: {detail}{cores}, {unit}"),
        }
    }

    fn figures(&self, line: Line<'r>, system: &'r str) -> String {
        self.cells.get(&(line, system)).map_or(NOTHING.to_owned(), |series| {
            format!("{} ({})", figure(series.median()), figure(series.minimum()))
        })
    }
}

pub(super) const NOTHING: &str = "–";

/// The text before the number of threads in a detail.
const THREADS: &str = " th=";

/// A Markdown table.
pub(super) struct Table {
    pub(super) text: String,
}

impl Table {
    pub(super) fn new(corner: &str, heads: &[&str]) -> Table {
        let mut table = Table { text: "\n".to_owned() };
        table.row(corner, heads.iter().map(|head| (*head).to_owned()));
        table.text += &format!("|---|{}\n", "--:|".repeat(heads.len()));
        table
    }

    pub(super) fn row(&mut self, label: &str, cells: impl Iterator<Item = String>) {
        let cells: Vec<_> = cells.collect();
        self.text += &format!("| {label} | {} |\n", cells.join(" | "));
    }
}

/// The text of a figure that may be missing.
fn cell(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), figure)
}

/// A number with three significant digits.
pub(super) fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// The quotient; nothing if one of the numbers is missing or not positive.
fn quotient(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one.filter(|&time| time > 0.0)? / other.filter(|&time| time > 0.0)?)
}

/// The n-th root of the product of n numbers; nothing if there are no numbers.
pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::machine::Machine;
    use crate::bench::manifest;
    use crate::bench::report::Told;
    use crate::bench::results::{Key, Omission, Sample};

    fn group(rows: &str) -> Group {
        let system = |name| format!("[[system]]\nname='{name}'\ncommand=[]\nreport='lines'\n");
        let head = format!("title='T'\nbaseline='java'\ngeomean=true\nrows='{rows}'\n");
        let mut group =
            manifest::parse(&(head + &system("squall") + &system("java"))).expect("well-formed");
        group.name = "group".to_owned();
        group
    }

    fn results(samples: &[(&str, &str, f64)]) -> Results {
        let mut results = Results::new(Machine::describe(), true);
        let samples = samples.iter().map(|&(workload, system, value)| Sample {
            key: Key::new(workload, system, "", "ms"),
            value,
        });
        results.add("group", Told { samples: samples.collect(), share: None });
        results
    }

    #[test]
    fn workloads_have_ratios_and_a_mean() {
        let results = results(&[
            ("a", "java", 2.0),
            ("a", "squall", 10.0),
            ("a", "squall", 30.0),
            ("b", "squall", 80.0),
            ("b", "java", 5.0),
        ]);
        let expected = "\n## T\n
| median (minimum) | squall | java |
|---|--:|--:|
| a, ms | 20.0 (10.0) | 2.00 (2.00) |
| b, ms | 80.0 (80.0) | 5.00 (5.00) |

| ratio to java | squall | java |
|---|--:|--:|
| a, ms | 10.0 | 1.00 |
| b, ms | 16.0 | 1.00 |
| **geometric mean** | **12.6** | **1.00** |
";
        assert_eq!(of_group(&group("workloads"), &results), expected);
    }

    #[test]
    fn more_cores_are_compared_with_fewer() {
        let mut results = results(&[]);
        for (system, cores, value) in [("squall", 1, 9.0), ("squall", 2, 6.0), ("java", 1, 3.0)] {
            let key = Key { cores: Some(cores), ..Key::new("a", system, "", "ms") };
            results.add("group", Told { samples: vec![Sample { key, value }], share: None });
        }
        let text = of_group(&group("workloads"), &results);
        let expected = "
| ratio to 1 core | squall | java |
|---|--:|--:|
| a, 2 cores, ms | 0.667 | – |
";
        assert!(text.ends_with(expected), "{text}");
        assert!(text.contains("| a, 1 core, ms | 9.00 (9.00) | 3.00 (3.00) |"), "{text}");
    }

    #[test]
    fn gaps_show() {
        let results = results(&[("a", "java", 2.0), ("a", "squall", 6.0), ("b", "java", 1.0)]);
        let text = of_group(&group("workloads"), &results);
        assert!(text.contains("| b, ms | – | 1.00 (1.00) |"), "{text}");
        assert!(text.contains("| **geometric mean** | 3.00 (of 1) | **1.00** |"), "{text}");
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let results = results(&[("a", "java", 0.0), ("a", "squall", 6.0)]);
        let text = of_group(&group("workloads"), &results);
        assert!(text.contains("| **geometric mean** | – (of 0) | – (of 0) |"), "{text}");
    }

    #[test]
    fn systems_can_be_rows() {
        let results = results(&[("a", "squall", 3.0), ("a", "java", 2.0)]);
        let expected = "\n## T\n
| median (minimum) | a, ms | ratio to java |
|---|--:|--:|
| squall | 3.00 (3.00) | 1.50 |
| java | 2.00 (2.00) | 1.00 |
";
        assert_eq!(of_group(&group("systems"), &results), expected);
    }

    #[test]
    fn more_threads_are_compared_with_one() {
        let mut results = results(&[]);
        for (detail, value) in [
            ("sum th=1", 8.0),
            ("sum th=2", 4.0),
            ("sum th=2", 3.2),
            ("sum th=2", 4.1),
            ("sum th=16", 5.0),
            ("x", 1.0),
        ] {
            let key = Key::new("a", "squall", detail, "ms");
            results.add("group", Told { samples: vec![Sample { key, value }], share: None });
        }
        let mut group = group("workloads");
        group.speedups = true;
        let expected = "
| times as fast as one thread (by minima) | squall |
|---|--:|
| sum th=2, ms | 2.00 (2.50) |
| sum th=16, ms | 1.60 (1.60) |
";
        assert!(of_group(&group, &results).ends_with(expected), "{}", of_group(&group, &results));
    }

    #[test]
    fn pairs_that_were_measured_have_ratios() {
        let results = results(&[("a", "squall", 3.0), ("a", "java", 2.0)]);
        let mut group = group("workloads");
        let pair = |one: &str, other: &str| [one.to_owned(), other.to_owned()];
        group.pairs = vec![pair("squall", "java"), pair("ghc", "java")];
        let expected = "\n| ratio | squall / java |\n|---|--:|\n| a, ms | 1.50 |\n";
        assert!(of_group(&group, &results).ends_with(expected));
    }

    #[test]
    fn without_baseline_there_are_no_ratios() {
        let text = of_group(&group("workloads"), &results(&[("a", "squall", 3.0)]));
        assert!(!text.contains("ratio"), "{text}");
    }

    #[test]
    fn a_reason_is_told_once() {
        let mut results = results(&[]);
        for system in ["luajit", "lua", "luajit"] {
            let omission = Omission::left_out("group", system, "no such tool".to_owned());
            results.omissions.push(omission);
        }
        let expected = "\nLeft out:\n\n- group: no such tool (luajit, lua)\n";
        assert_eq!(of_omissions(&results), expected);
    }
}
