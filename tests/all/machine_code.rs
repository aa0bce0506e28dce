//! Tests of what profilers get: the dump of `--perf-dump`, in which the code itself is, too. `main.rs` collects them as trials. What
//! debuggers get is a unit test of `squall-jit`; listings and reports are transcripts in `tests/cli`.

use libtest_mimic::Trial;

use crate::process::Run;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("machine_code/dump", || Ok(dump()?)),
        Trial::test("machine_code/hardening", || Ok(hardening()?)),
    ]
}

/// The bytes of a dump's header.
const HEADER: usize = 40;
/// The kinds of its records.
const CODE_LOAD: u32 = 0;
const DEBUG_INFO: u32 = 2;

/// The dump has each function once for each piece of its code, with the lines of the program.
fn dump() -> Result<(), String> {
    let program = "tests/cli/programs/multiples.ns";
    let dump = dump_of(program, &[], "420\n")?;
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

/// The dump of a program that prints this.
fn dump_of(program: &str, options: &[&str], output: &str) -> Result<Vec<u8>, String> {
    let usual = ["run", "--jit-eager", "--perf-dump={scratch}"];
    let mut run = Run::new(usual.iter().chain(options).chain([&program]).copied());
    // Under stress, nothing is optimised.
    run.environment.push(("SQUALL_STRESS".to_owned(), String::new()));
    let result = run.execute();
    if result.output != output {
        return Err(format!("{}{}", result.output, result.error));
    }
    let folder = run.scratch.path().read_dir().map_err(|error| error.to_string())?;
    let dump = folder.flatten().find(|file| file.file_name().to_string_lossy().ends_with(".dump"));
    let dump = std::fs::read(dump.ok_or("there is no dump")?.path());
    dump.map_err(|error| error.to_string())
}

/// Machine code that is hardened has no constants as the program has them, and other code does.
fn hardening() -> Result<(), String> {
    /// An integer and a double of the program, and of the guest in it.
    const OWN: (u64, f64) = (4_681_187_311, std::f64::consts::PI);
    const OF_GUEST: (u64, f64) = (81_985_529_216_486_895, std::f64::consts::E);
    let output = "4.681199735777961E9\n8.198552921649805E16\n";
    for (code, own, of_guest) in
        [("never", true, true), ("sandboxes", true, false), ("always", false, false)]
    {
        let option = format!("--harden={code}");
        let dump = dump_of("tests/cli/programs/constants.ns", &[&option], output)?;
        let has = |bits: u64| dump.windows(8).any(|bytes| bytes == bits.to_le_bytes());
        let found = |(integer, double): (u64, f64)| {
            [has(integer) || has(integer << 3), has(double.to_bits())]
        };
        let (expected, found) = ([[own; 2], [of_guest; 2]], [found(OWN), found(OF_GUEST)]);
        if found != expected {
            return Err(format!("{option}: {found:?}, not {expected:?}"));
        }
    }
    Ok(())
}
