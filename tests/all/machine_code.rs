//! Tests of what profilers get: the dump of `--perf-dump`. `main.rs` collects them as trials. What debuggers get is a unit test
//! of `squall-jit`; listings and reports are transcripts in `tests/cli`.

use libtest_mimic::Trial;

use crate::process::Run;

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("machine_code/dump", || Ok(dump()?))]
}

/// The bytes of a dump's header.
const HEADER: usize = 40;
/// The kinds of its records.
const CODE_LOAD: u32 = 0;
const DEBUG_INFO: u32 = 2;

/// The dump has each function once for each piece of its code, with the lines of the program.
fn dump() -> Result<(), String> {
    let program = "tests/cli/programs/multiples.ns";
    let mut run = Run::new(["run", "--jit-eager", "--perf-dump={scratch}", program]);
    // Under stress, nothing is optimised.
    run.environment.push(("SQUALL_STRESS".to_owned(), String::new()));
    let result = run.execute();
    if result.output != "420\n" {
        return Err(format!("{}{}", result.output, result.error));
    }
    let folder = run.scratch.path().read_dir().map_err(|error| error.to_string())?;
    let dump = folder.flatten().find(|file| file.file_name().to_string_lossy().ends_with(".dump"));
    let dump = std::fs::read(dump.ok_or("there is no dump")?.path());
    let dump = dump.map_err(|error| error.to_string())?;
    let (mut names, mut has_lines) = (Vec::new(), false);
    let mut rest = dump.get(HEADER..).ok_or("it has no header")?;
    while !rest.is_empty() {
        let word = |at: usize| u32::from_ne_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        let (kind, size) = (word(0), word(4) as usize);
        let (record, others) = rest.split_at_checked(size).ok_or("a record is cut off")?;
        match kind {
            // After kind, size and time come process, thread, two addresses, size and number.
            CODE_LOAD => {
                names.extend(record[56..].split(|byte| *byte == 0).next().map(<[u8]>::to_vec))
            }
            DEBUG_INFO => {
                has_lines |= record.windows(program.len()).any(|text| text == program.as_bytes())
            }
            _ => return Err(format!("there is a record of kind {kind}")),
        }
        rest = others;
    }
    let has = |name: &str| names.iter().any(|other| other == name.as_bytes());
    let place = format!("Multiples>>main: ({program}:9:37) optimised");
    match has("stub: enter") && has("Multiples>>double: base") && has(&place) && has_lines {
        true => Ok(()),
        false => {
            let names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
            Err(format!("{names:?}, lines: {has_lines}"))
        }
    }
}
