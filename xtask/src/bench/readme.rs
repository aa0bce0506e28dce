//! The results in README.md: the committed figures as tables between two marks. `cargo xtask bench --readme` calls
//! [`write()`], and `cargo xtask tidy` calls [`findings`], so README.md shows exactly the committed figures, and all rows
//! of each group, whichever system is fastest.
//!
//! ```text
//! results of a run ──publish──▶ benchmarks/results.json ──section──▶ README.md
//! ```
//!
//! [`write()`] replaces the figures of those groups that the run has measured.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::in_file;
use super::manifest::{self, Group};
use super::plan::cores_in_words;
use super::results::{Key, Results};
use super::table::{NOTHING, Table, figure, geometric_mean};
use crate::root;

/// The file of the committed figures.
const FILE: &str = "benchmarks/results.json";

/// The file that shows them.
const README: &str = "README.md";

/// The groups that README.md shows, in this order.
const GROUPS: [&str; 5] = ["awfy", "startup", "processes", "spawning", "actors"];

const BEGIN: &str = "<!-- results: written by `cargo xtask bench --readme` -->\n";
const END: &str = "<!-- end of the results -->\n";

/// The committed figures.
#[derive(Serialize, Deserialize, Default)]
struct Published {
    /// For each group: the machine, the date and the commit of its measurement.
    measured: BTreeMap<String, String>,
    figures: Vec<Figure>,
}

/// The committed part of a series.
#[derive(Serialize, Deserialize, Clone)]
struct Figure {
    group: String,
    #[serde(flatten)]
    key: Key,
    median: f64,
    minimum: f64,
}

/// Writes the section of README.md. The results come from a file: that of a run, or the committed one.
pub fn write(path: &Path) -> Result<(), String> {
    let text = read(path)?;
    let mut published = parse(&read(&root().join(FILE))?)?;
    if let Ok(results) = serde_json::from_str::<Results>(&text) {
        published.take(&results);
        write_file(FILE, &published.json())?;
    } else {
        published = parse(&text)?;
    }
    let readme = read(&root().join(README))?;
    let (before, _, after) = parts(&readme).ok_or_else(|| format!("{README} has no marks"))?;
    write_file(README, &format!("{before}{BEGIN}{}{END}{after}", section(&published)?))
}

/// Checks that README.md shows the committed figures; for `tidy`.
pub fn findings() -> Vec<String> {
    check().err().map(|problem| format!("{README}: {problem}")).into_iter().collect()
}

fn check() -> Result<(), String> {
    let expected = section(&parse(&read(&root().join(FILE))?)?)?;
    let readme = read(&root().join(README))?;
    match parts(&readme) {
        Some((_, section, _)) if section == expected => Ok(()),
        Some(_) => {
            Err(format!("run `cargo xtask bench --readme {FILE}`, which writes the results"))
        }
        None => Err("the marks around the results are missing".into()),
    }
}

/// The text before the section, the section, and the text after it.
fn parts(readme: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (section, after) = rest.split_once(END)?;
    Some((before, section, after))
}

impl Published {
    /// Replaces the figures of the measured groups.
    fn take(&mut self, results: &Results) {
        let new: Vec<Figure> = results
            .series
            .iter()
            .filter(|series| GROUPS.contains(&series.group.as_str()))
            .map(|series| {
                let (group, key) = (series.group.clone(), series.key.clone());
                Figure { group, key, median: series.median(), minimum: series.minimum() }
            })
            .collect();
        for figure in &new {
            self.measured.insert(figure.group.clone(), results.machine.line());
        }
        self.figures.retain(|old| new.iter().all(|figure| figure.group != old.group));
        self.figures.extend(new);
        self.figures.sort_by_key(|figure| GROUPS.iter().position(|name| *name == figure.group));
    }

    /// The figures as JSON with one line for each, so that differences are easy to read.
    fn json(&self) -> String {
        let measured = serde_json::to_string_pretty(&self.measured).expect("texts");
        let lines = self.figures.iter().map(|it| serde_json::to_string(it).expect("numbers"));
        let lines: Vec<String> = lines.collect();
        format!("{{\"measured\": {measured},\n\"figures\": [\n{}\n]}}\n", lines.join(",\n"))
    }
}

/// The tables of all groups that are shown.
fn section(published: &Published) -> Result<String, String> {
    let groups = manifest::load_all(&root().join("benchmarks"))?;
    let mut text = String::new();
    for name in GROUPS {
        let Some(group) = groups.iter().find(|group| group.name == name) else { continue };
        let figures = published.figures.iter().filter(|figure| figure.group == name);
        let figures: Vec<&Figure> = figures.collect();
        if !figures.is_empty() {
            text += &table(group, &figures);
            if let Some(measured) = published.measured.get(name) {
                _ = writeln!(text, "\n{measured}");
            }
        }
    }
    Ok(text + "\n")
}

/// A table with a row for each workload and a column for each system. It shows medians, and the mean of the ratios if
/// the group has one.
fn table(group: &Group, figures: &[&Figure]) -> String {
    let (mut rows, mut systems) = (Vec::new(), Vec::new());
    for figure in figures {
        let row = Key { system: String::new(), ..figure.key.clone() };
        if !rows.contains(&row) {
            rows.push(row);
        }
        if !systems.contains(&figure.key.system.as_str()) {
            systems.push(&figure.key.system);
        }
    }
    let median = |row: &Key, system: &str| {
        let key = Key { system: system.to_owned(), ..row.clone() };
        figures.iter().find(|figure| figure.key == key).map(|figure| figure.median)
    };
    let mut table = Table::new(&group.title, &systems);
    for row in &rows {
        let medians = systems.iter().map(|system| median(row, system));
        table.row(&label(row), medians.map(|it| it.map_or(NOTHING.to_owned(), figure)));
    }
    if let Some(baseline) = group.baseline.as_deref().filter(|_| group.geomean) {
        let mean = |system: &&str| {
            let ratio = |row| Some(median(row, system)? / median(row, baseline)?);
            let ratios: Vec<f64> = rows.iter().filter_map(ratio).collect();
            geometric_mean(&ratios).map_or(NOTHING.to_owned(), figure)
        };
        table.row(&format!("geometric mean of the ratios to {baseline}"), systems.iter().map(mean));
    }
    table.text
}

fn label(key: &Key) -> String {
    let Key { workload, detail, unit, .. } = key;
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    let cores = key.cores.map_or(String::new(), |cores| format!(", {}", cores_in_words(cores)));
    format!("{workload}{detail}{cores}, {unit}")
}

fn parse(text: &str) -> Result<Published, String> {
    serde_json::from_str(text).map_err(|error| format!("{FILE}: {error}"))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| in_file(path, error))
}

fn write_file(path: &str, text: &str) -> Result<(), String> {
    let path = root().join(path);
    std::fs::write(&path, text).map_err(|error| in_file(&path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure_of(workload: &str, system: &str, median: f64) -> Figure {
        let key = Key::new(workload, system, "", "ms");
        Figure { group: "actors".into(), key, median, minimum: median }
    }

    #[test]
    fn all_rows_are_shown_whoever_is_ahead() {
        let figures = [
            figure_of("one", "squall", 1.0),
            figure_of("one", "go", 2.0),
            figure_of("two", "squall", 9.0),
            figure_of("two", "go", 3.0),
            figure_of("three", "go", 1.0),
        ];
        let published = Published { figures: figures.to_vec(), ..Published::default() };
        let text = section(&published).expect("the manifests are well-formed");
        assert!(text.contains("| one, ms | 1.00 | 2.00 |\n"), "{text}");
        assert!(text.contains("| two, ms | 9.00 | 3.00 |\n"), "{text}");
        assert!(text.contains("| three, ms | – | 1.00 |\n"), "{text}");
    }

    #[test]
    fn what_is_written_can_be_read() {
        let measured = [("actors".to_owned(), "here".to_owned())].into();
        let published = Published { measured, figures: vec![figure_of("one", "go", 2.5)] };
        let again = parse(&published.json()).expect("it was written like this");
        assert_eq!(again.json(), published.json());
    }

    #[test]
    fn the_section_is_between_its_marks() {
        let readme = format!("before\n{BEGIN}section\n{END}after\n");
        assert_eq!(parts(&readme), Some(("before\n", "section\n", "after\n")));
        assert_eq!(parts("nothing"), None);
    }
}
