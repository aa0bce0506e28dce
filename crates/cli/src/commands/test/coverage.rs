//! `squall test --coverage`: the report of what the tests have covered. [`super::machine`] begins the recording, and
//! [`super::report`] collects the files' coverage and has this module write it.
//!
//! The folder of the report gets a file `lcov.info`, for editors and servers, and pages of HTML that need nothing else
//! (`coverage/pages.rs`).

mod lcov;
mod pages;

use std::collections::BTreeMap;
use std::path::Path;

use squall::coverage::FileCoverage;

use crate::console::complain;
use crate::exit::Exit;
use crate::files;

/// What the processes of a run have covered.
#[derive(Default)]
pub struct Collected {
    files: BTreeMap<String, FileCoverage>,
}

impl Collected {
    /// Adds what a process has covered of a file.
    pub fn add(&mut self, coverage: &FileCoverage) {
        let path = &coverage.path;
        let Some(known) = self.files.get_mut(path) else {
            self.files.insert(path.clone(), coverage.clone());
            return;
        };
        if !known.add(coverage) {
            complain(&format!(
                "{path} has changed during the tests: its coverage is that of the first text"
            ));
        }
    }

    /// Writes the report into a folder; answers its summary, in one line.
    pub fn write(&self, folder: &Path) -> Result<String, Exit> {
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| {
                std::fs::write(folder.join("lcov.info"), lcov::text(self.files.values()))
            })
            .and_then(|()| pages::write(folder, self.files.values()));
        written.map_err(|error| files::unwritten(folder.display(), &error))?;
        let mut all = Shares::default();
        self.files.values().for_each(|file| all.add(Shares::of(file)));
        let Shares { lines, branches } = all;
        let page = folder.join("index.html");
        Ok(format!(
            "coverage: {lines} of the lines, {branches} of the branches; {}\n",
            page.display()
        ))
    }
}

/// A part of a whole.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Share {
    part: usize,
    whole: usize,
}

impl Share {
    fn of(counts: impl Iterator<Item = u64>) -> Share {
        counts.fold(Share::default(), |Share { part, whole }, count| Share {
            part: part + usize::from(count > 0),
            whole: whole + 1,
        })
    }

    /// The hundredths, rounded down, so that 100 means all.
    fn percent(self) -> usize {
        (self.part * 100).checked_div(self.whole).unwrap_or(100)
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} % ({} of {})", self.percent(), self.part, self.whole)
    }
}

/// How much of a file, or of all, has run.
#[derive(Clone, Copy, Default)]
pub struct Shares {
    /// Of the lines with statements.
    lines: Share,
    /// Of the ways of all control structures.
    branches: Share,
}

impl Shares {
    fn of(file: &FileCoverage) -> Shares {
        let ways = file.branches.iter().flat_map(|branch| &branch.ways);
        Shares {
            lines: Share::of(file.lines.iter().map(|line| line.count)),
            branches: Share::of(ways.copied()),
        }
    }

    fn add(&mut self, other: Shares) {
        for (share, added) in [(&mut self.lines, other.lines), (&mut self.branches, other.branches)]
        {
            share.part += added.part;
            share.whole += added.whole;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_down() {
        let share = |counts: &[u64]| Share::of(counts.iter().copied()).to_string();
        assert_eq!(share(&[1, 0, 5]), "66 % (2 of 3)");
        assert_eq!(share(&[]), "100 % (0 of 0)");
        let almost: Vec<u64> = (0..1000).collect();
        assert_eq!(share(&almost), "99 % (999 of 1000)");
    }
}
