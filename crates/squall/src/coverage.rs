//! The coverage of tests: which lines of programs have run, and which ways their control structures have gone.
//! `squall test --coverage` begins the recording before it compiles anything, and asks for the report at the end.
//!
//! While coverage is recorded, the [compiler](crate::compiler) gives programs probes. A program that is compiled again,
//! with the same text, has the same counters. Bytecode is not recorded, nor is the library.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use squall_bytecode::module::Module;
use squall_newspeak::lower::probes::{Counted, Probe, compile_with_probes};
use squall_newspeak::{CompileOptions, Diagnostic, Source, compile_source};
use squall_runtime::state::coverage as counters;

/// The programs with probes.
static PROGRAMS: Mutex<Vec<Program>> = Mutex::new(Vec::new());

/// A program with probes.
struct Program {
    path: String,
    text: String,
    /// The number of the first probe.
    first: u32,
    probes: Vec<Probe>,
}

/// From now on, programs are compiled with probes, in this process.
pub fn begin() {
    counters::begin();
}

/// Whether programs are compiled with probes.
pub(crate) fn is_recorded() -> bool {
    counters::has_begun()
}

/// Compiles a program, with probes if coverage is recorded and there are counters left.
pub(crate) fn compile(
    source: &Source,
    options: &CompileOptions,
) -> Result<Module, Vec<Diagnostic>> {
    if !is_recorded() {
        return compile_source(source, options);
    }
    let mut programs = PROGRAMS.lock();
    let is_it = |program: &&Program| program.path == source.name() && program.text == source.text();
    if let Some(known) = programs.iter().find(is_it) {
        return Ok(compile_with_probes(source, options, known.first)?.0);
    }
    let first = counters::next();
    let (module, probes) = compile_with_probes(source, options, first)?;
    if !counters::take(first, probes.len() as u32) {
        return compile_source(source, options);
    }
    let (path, text) = (source.name().to_owned(), source.text().to_owned());
    programs.push(Program { path, text, first, probes });
    Ok(module)
}

/// What has run of a file.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct FileCoverage {
    /// The file.
    pub path: String,
    /// Its text.
    pub text: String,
    /// The lines with statements, in their order.
    pub lines: Vec<LineCoverage>,
    /// The methods, in the order of their lines.
    pub methods: Vec<MethodCoverage>,
    /// The control structures, in the order of their places.
    pub branches: Vec<BranchCoverage>,
}

/// How often a line has run.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct LineCoverage {
    /// Its number, from 1 on.
    pub line: u32,
    /// How often.
    pub count: u64,
}

/// How often a method was called.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct MethodCoverage {
    /// Its name, as in stack traces.
    pub name: String,
    /// Its line.
    pub line: u32,
    /// How often.
    pub count: u64,
}

/// How often a control structure has gone each way.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct BranchCoverage {
    /// The line of its name.
    pub line: u32,
    /// The column of its name.
    pub column: u32,
    /// How often it has gone each way, that of its first block first.
    pub ways: Vec<u64>,
}

/// What has run so far, by files.
pub fn report() -> Vec<FileCoverage> {
    let programs = PROGRAMS.lock();
    let mut files: Vec<FileCoverage> = programs.iter().map(Program::coverage).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

impl Program {
    fn coverage(&self) -> FileCoverage {
        let source = Source::new(&*self.path, &*self.text);
        let (mut lines, mut methods, mut branches) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        for (number, probe) in (self.first..).zip(&self.probes) {
            let count = counters::count_of(number);
            let place = source.position(probe.span.start);
            let (line, column) = (place.line as u32, place.column as u32);
            match &probe.counted {
                Counted::Method(name) => {
                    methods.push(MethodCoverage { name: name.clone(), line, count });
                }
                Counted::Statement => {
                    let most: &mut u64 = lines.entry(line).or_default();
                    *most = count.max(*most);
                }
                Counted::Way(way) => {
                    let ways: &mut BTreeMap<u8, u64> = branches.entry((line, column)).or_default();
                    *ways.entry(*way).or_default() += count;
                }
            }
        }
        methods.sort_by_key(|method| method.line);
        let branches = branches.into_iter().map(|((line, column), ways)| BranchCoverage {
            line,
            column,
            ways: ways.into_values().collect(),
        });
        let branches = branches.collect();
        let lines = lines.into_iter().map(|(line, count)| LineCoverage { line, count }).collect();
        let (path, text) = (self.path.clone(), self.text.clone());
        FileCoverage { path, text, lines, methods, branches }
    }
}

impl FileCoverage {
    /// Adds what another run has covered of the same text; false if it is of another text.
    pub fn add(&mut self, other: &FileCoverage) -> bool {
        if self.text != other.text {
            return false;
        }
        for (line, added) in self.lines.iter_mut().zip(&other.lines) {
            line.count += added.count;
        }
        for (method, added) in self.methods.iter_mut().zip(&other.methods) {
            method.count += added.count;
        }
        for (branch, added) in self.branches.iter_mut().zip(&other.branches) {
            for (way, count) in branch.ways.iter_mut().zip(&added.ways) {
                *way += count;
            }
        }
        true
    }
}
