//! Tests with hostile modules: correct programs that are damaged at random. `main.rs` collects them as trials.
//!
//! The machine must refuse a damaged module with a located error, or run it to any end without a crash or a panic. This
//! process tests the refusal, since decoder and verifier are safe code. A module that they accept runs in its own
//! process with little memory. A long run is stopped, because an endless loop is not the machine's mistake.
//!
//! The seeds of the fuzz targets, `fuzz/seeds`, are tested as well, but not run. They contain inputs at which a fuzzer
//! once stopped.
//!
//! `SQUALL_HOSTILE=N` tests N times as many modules, with other seeds.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use libtest_mimic::Trial;
use squall_bytecode::assembler::assemble;
use squall_bytecode::format;
use squall_bytecode::module::Module;
use squall_bytecode::verifier::{Trust, verify};
use squall_fuzzing::choices::Choices;
use squall_fuzzing::mutation::{damage_bytes, damage_module};
use squall_newspeak::{CompileOptions, Source, compile, compile_source};
use squall_system::{http, url};

use crate::process::Run;

/// The number of damaged modules per program, and the number of those that run.
const TRIED: u64 = 120;
const RUN: usize = 6;

/// The most time that a damaged program may run.
const PATIENCE: Duration = Duration::from_millis(1000);

pub fn trials() -> Vec<Trial> {
    let programs = programs().iter().enumerate();
    let trials = programs.map(|(number, program)| {
        let name = format!("hostile/{}", crate::shown(&program.path));
        Trial::test(name, move || program.attack(number as u64).map_err(Into::into))
    });
    trials
        .chain(SEEDS.map(|(folder, extension, try_out)| seeds(folder, extension, try_out)))
        .collect()
}

/// The use of a file of seeds. A panic is a failure.
type Attempt = fn(&[u8]);

/// Folders of seeds, their extensions, and the use of their files.
const SEEDS: [(&str, &str, Attempt); 4] = [
    ("fuzz/seeds/modules", "sqb", |bytes| {
        let mut bytes = bytes.to_vec();
        format::seal(&mut bytes);
        if let Ok(module) = format::decode(&bytes) {
            _ = verify(&module, Trust::Untrusted);
            assert_eq!(format::encode(&module).as_ref(), Ok(&bytes));
        }
    }),
    ("fuzz/seeds/texts", "sqasm", |bytes| {
        if let Ok(module) = assemble(&String::from_utf8_lossy(bytes)) {
            _ = verify(&module, Trust::Untrusted);
        }
    }),
    ("fuzz/seeds/sources", "ns", |bytes| {
        let source = Source::from_bytes("seed.ns", bytes);
        if let Ok(module) = compile_source(&source, &CompileOptions::default()) {
            assert_eq!(verify(&module, Trust::Untrusted), Ok(()));
        }
    }),
    ("fuzz/seeds/http", "http", |bytes| {
        for end in 0..=bytes.len() {
            for parse in [http::parse_request, http::parse_response] {
                _ = parse(&bytes[..end], 4);
            }
            _ = http::chunk_size(&bytes[..end]);
            _ = url::parameters(&bytes[..end]);
        }
    }),
];

fn seeds(folder: &'static str, extension: &'static str, try_out: Attempt) -> Trial {
    Trial::test(format!("hostile/{folder}"), move || {
        for path in crate::files_in(folder, extension) {
            let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
            if std::panic::catch_unwind(|| try_out(&bytes)).is_err() {
                return Err(format!("{} leads to a panic", crate::shown(&path)).into());
            }
        }
        Ok(())
    })
}

/// A correct program.
struct Program {
    path: PathBuf,
    module: Module,
    bytes: Vec<u8>,
}

/// All programs of the examples and of the other tests.
fn programs() -> &'static [Program] {
    static PROGRAMS: OnceLock<Vec<Program>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let mut files = crate::files_in("examples", "ns");
        files.extend(crate::files_in("tests/language", "ns"));
        files.extend(crate::files_in("tests/bytecode/run", "sqasm"));
        files.into_iter().filter_map(Program::read).collect()
    })
}

impl Program {
    fn read(path: PathBuf) -> Option<Program> {
        let text = std::fs::read_to_string(&path).ok()?;
        let module = match path.extension()? == "ns" {
            true => compile(&text, &crate::shown(&path), &CompileOptions::default()).ok()?,
            false => assemble(&text).ok()?,
        };
        let bytes = format::encode(&module).ok()?;
        Some(Program { path, module, bytes })
    }

    fn attack(&self, number: u64) -> Result<(), String> {
        let times = std::env::var("SQUALL_HOSTILE").ok().and_then(|times| times.parse().ok());
        for round in times.map_or(0..1, |times: u64| 1..times + 1) {
            let first = (number << 32) + round * TRIED;
            let mut left = RUN;
            for seed in first..first + TRIED {
                let bytes = self.damaged(seed);
                if !is_accepted(&bytes).map_err(|problem| report(&problem, seed, &bytes))? {
                    continue;
                }
                if left > 0 {
                    left -= 1;
                    run(seed, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// A damaged module file.
    fn damaged(&self, seed: u64) -> Vec<u8> {
        let mut choices = Choices::Seed(seed);
        let programs = programs();
        let donor = &programs[choices.below(programs.len())];
        if choices.below(4) == 0 {
            return damage_bytes(&mut choices, &self.bytes, &donor.bytes);
        }
        let mut module = self.module.clone();
        damage_module(&mut choices, &mut module, &donor.module);
        format::encode(&module).unwrap_or_default()
    }
}

/// Whether decoder and verifier accept these bytes. A refusal without a location is an error.
fn is_accepted(bytes: &[u8]) -> Result<bool, String> {
    let judge = || match format::decode(bytes) {
        Ok(module) => verify(&module, Trust::Untrusted).map_err(|errors| errors.len()),
        Err(_) => Err(1),
    };
    match std::panic::catch_unwind(judge) {
        Ok(Ok(())) => Ok(true),
        Ok(Err(errors)) if errors > 0 => Ok(false),
        Ok(Err(_)) => Err("it is refused without an error".to_owned()),
        Err(_) => Err("the decoder or the verifier panics".to_owned()),
    }
}

fn run(seed: u64, bytes: &[u8]) -> Result<(), String> {
    let mut words = vec!["run", "--max-heap=24M", "--max-stack=2M"];
    if seed.is_multiple_of(4) {
        words.push("--gc-stress=16");
    }
    words.push("{scratch}/module.sqb");
    let mut run = Run::new(words);
    run.patience = PATIENCE;
    let path = run.scratch.path().join("module.sqb");
    std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
    let result = run.execute();
    let is_bug =
        result.error.contains("This is a bug in Squall") || result.error.starts_with("fatal: ");
    if !is_bug && (result.was_stopped || result.signal.is_none()) {
        return Ok(());
    }
    let how = result.signal.map_or(String::new(), |signal| format!("signal {signal}\n"));
    let options = run.arguments[1..run.arguments.len() - 1].join(" ");
    Err(report(&format!("{how}{}\noptions: {options}", result.error), seed, bytes))
}

/// Keeps the module for inspection.
fn report(problem: &str, seed: u64, bytes: &[u8]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{seed}.sqb"));
    match std::fs::write(&path, bytes) {
        Ok(()) => format!("{problem}\nseed {seed}; the module is {}", path.display()),
        Err(_) => format!("{problem}\nseed {seed}"),
    }
}
