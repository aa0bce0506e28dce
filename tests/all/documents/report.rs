//! Tests of blocks marked `report`: a command, and its output. [`super::replay`] rewrites them as part of the document.
//!
//! The first line is the command, after `$ `. It runs in a folder with the examples and with the programs that the
//! document shows before it; the file of class `Crossing` is `crossing.ns`. In the other lines, a number of seconds
//! matches any other, a line `…` matches any lines, and `…` at the end of a line matches the rest of it. `BLESS=1`
//! rewrites the lines. If only numbers differ, it omits the same lines.

use std::fmt::Write;
use std::ops::Range;

use super::{Program, blocks, in_shell};
use crate::process::is_under_stress;

/// The document in which each report is the current output of its command.
pub fn repeated(text: &str) -> Result<String, String> {
    let mut document = String::new();
    let mut end = 0;
    for (place, report) in reports(text) {
        document += &text[end..place.start];
        end = place.end;
        document += &report.repeated()?;
    }
    Ok(document + &text[end..])
}

struct Report<'t> {
    /// The names and texts of the programs before it.
    programs: Vec<(String, String)>,
    text: &'t str,
}

/// The reports in a document, with their places.
fn reports(text: &str) -> impl Iterator<Item = (Range<usize>, Report<'_>)> {
    let place = |block: &str| block.as_ptr().addr() - text.as_ptr().addr();
    blocks(text, "report").map(move |(line, report)| {
        let before = blocks(text, "newspeak").take_while(|(start, _)| *start < line);
        let programs = before.filter_map(|(_, block)| Program::of(block)?.file()).collect();
        let start = place(report);
        (start..start + report.len(), Report { programs, text: report })
    })
}

impl Report<'_> {
    fn repeated(&self) -> Result<String, String> {
        // Under stress, strands are interrupted in other places, and nothing is optimised.
        let differs = ["--seed", "--jit-eager"].iter().any(|option| self.text.contains(option));
        if is_under_stress() && differs {
            return Ok(self.text.to_owned());
        }
        let (first, form) = self.text.split_once('\n').ok_or("a report is empty")?;
        let output = self.output(first.strip_prefix("$ ").ok_or("a report begins with `$ `")?)?;
        let (form, lines): (Vec<&str>, Vec<&str>) =
            (form.lines().collect(), output.lines().collect());
        if fitted(&form, &lines, without_times).is_some() {
            return Ok(self.text.to_owned());
        }
        let lines = match fitted(&form, &lines, without_numbers) {
            Some(fitted) => fitted,
            None => lines.into_iter().map(str::to_owned).collect(),
        };
        let mut report = format!("{first}\n");
        lines.iter().for_each(|line| _ = writeln!(report, "{line}"));
        Ok(report)
    }

    /// The output of a command.
    fn output(&self, command: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let examples = folder.path().join("examples");
        std::os::unix::fs::symlink(crate::root().join("examples"), examples)
            .map_err(|error| error.to_string())?;
        for (name, text) in &self.programs {
            std::fs::write(folder.path().join(name), text).map_err(|error| error.to_string())?;
        }
        in_shell(command, folder.path())
    }
}

/// The lines in the form of a report, with the same lines omitted; nothing if they have another form. `essence` answers
/// the part of a line that is compared.
fn fitted(form: &[&str], lines: &[&str], essence: fn(&str) -> String) -> Option<Vec<String>> {
    let Some((expected, rest)) = form.split_first() else {
        return lines.is_empty().then(Vec::new);
    };
    if *expected == "…" {
        let mut rests =
            (0..=lines.len()).filter_map(|start| fitted(rest, &lines[start..], essence));
        return rests.next().map(|rest| [vec!["…".to_owned()], rest].concat());
    }
    let (line, lines) = lines.split_first()?;
    let shown = match expected.strip_suffix('…') {
        Some(beginning) => {
            // The same number of words as the report shows.
            let words = beginning.split_inclusive(' ').count();
            let shown: String = line.split_inclusive(' ').take(words).collect();
            (essence(&shown) == essence(beginning)).then(|| shown + "…")
        }
        None => (essence(line) == essence(expected)).then(|| (*line).to_owned()),
    };
    Some([vec![shown?], fitted(rest, lines, essence)?].concat())
}

/// The line with zeros in place of all numbers with a decimal point.
fn without_times(line: &str) -> String {
    let is_time = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let words = line.split(' ').map(|word| if is_time(word) { "0.0" } else { word });
    words.collect::<Vec<&str>>().join(" ")
}

/// The line without digits.
fn without_numbers(line: &str) -> String {
    line.chars().filter(|character| !character.is_ascii_digit()).collect()
}
