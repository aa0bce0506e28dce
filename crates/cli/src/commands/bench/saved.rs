//! The samples of a run of `squall bench` in a file, for comparisons with later runs. [`super`] reads and writes it.
//!
//! The file is JSON: an object with the version of the form, and the samples of each benchmark, in nanoseconds, under its
//! file and name.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::console::complain;
use crate::exit::Exit;
use crate::files;

/// The form of the file.
const VERSION: u32 = 1;

/// See the head of the file.
#[derive(Serialize, Deserialize)]
pub struct Saved {
    version: u32,
    benchmarks: BTreeMap<String, Vec<f64>>,
}

impl Default for Saved {
    fn default() -> Saved {
        Saved { version: VERSION, benchmarks: BTreeMap::new() }
    }
}

impl Saved {
    /// The samples in a file, or a complaint.
    pub fn read(path: &Path) -> Result<Saved, Exit> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            complain(&format!("{} cannot be read: {error}", path.display()));
            Exit::NoInput
        })?;
        let saved = serde_json::from_str::<Saved>(&text).map_err(|error| error.to_string());
        let saved = saved.and_then(|saved| match saved.version {
            VERSION => Ok(saved),
            other => Err(format!("its form has the version {other}, not {VERSION}")),
        });
        saved.map_err(|problem| {
            complain(&format!("{} has no results of `squall bench`: {problem}", path.display()));
            Exit::Invalid
        })
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<(), Exit> {
        let text = serde_json::to_string(self).unwrap_or_default() + "\n";
        std::fs::write(path, text).map_err(|error| files::unwritten(path.display(), &error))
    }

    /// The samples of a benchmark, if there are some.
    pub fn times(&self, file: &str, name: &str) -> Option<&[f64]> {
        let times = self.benchmarks.get(&key(file, name))?;
        (!times.is_empty()).then_some(times)
    }

    /// Adds the samples of a benchmark.
    pub fn add(&mut self, file: &str, name: &str, times: Vec<f64>) {
        self.benchmarks.insert(key(file, name), times);
    }
}

fn key(file: &str, name: &str) -> String {
    format!("{file}: {name}")
}
