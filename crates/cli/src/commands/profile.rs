//! `squall profile`: runs a program and writes its profile. `commands` calls this module.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use squall::events::profile::{self, collapsed, firefox, flame, pprof, summary};
use squall_system::signals;

use super::run::{check_program, compile, options, show_warnings};
use super::start_in;
use crate::arguments::Profile;
use crate::console::{complain, ignored_signals, print_error};
use crate::exit::Exit;
use crate::files;
use crate::observer;
use crate::packages::Program;

pub fn profile(arguments: &Profile) -> Result<Exit, Exit> {
    let program = Program::find(&arguments.program, &arguments.packages)?;
    let options = options(&arguments.machine, &program);
    let input = &program.input;
    let module = compile(&program, options.verify_all)?;
    check_program(&input.path, module.module())?;
    show_warnings(input);
    let outputs: Vec<Output> =
        arguments.output.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
    let mut machine = start_in(options, program.surroundings())?;
    observer::describe_on_quit(machine.observer());
    machine.prepare(&program.arguments[0], module);
    end_at_signals(machine.ender());
    let begun = SystemTime::now();
    let profiling = machine.profile(Duration::from_secs(1) / arguments.rate);
    let code = machine.run_program();
    let profile = profiling.end();
    if arguments.output.is_empty() {
        print_error(&format!("\n{}", summary::text(&profile)));
    }
    if profile.total() == 0 && !outputs.is_empty() {
        complain("the profile has no samples: the program ended before the first; see --rate");
    }
    for output in outputs {
        // It has complained; the exit code says how the program has ended, as it does with a trace or a recording.
        _ = write(&profile, output, &input.path, begun);
    }
    Ok(Exit::Program(code))
}

/// A program that is asked to end does so with its profile, and the code that a shell tells of a signal. One that does not poll ends at the
/// second request, without one.
fn end_at_signals(end: impl Fn(i32) + Send + 'static) {
    const BY_SIGNAL: i32 = 128;
    // Without the handler, the signals end the process.
    _ = signals::instead_of_the_first(&ignored_signals(), move |signal| end(BY_SIGNAL + signal));
}

/// A file that was made for a profile.
type Output<'a> = (&'a Path, File);

/// Makes a file before the program runs, or complains.
fn open(path: &Path) -> Result<Output<'_>, Exit> {
    Ok((path, files::create(path)?))
}

/// Writes a profile in the form that the file's extension names.
fn write(
    profile: &profile::Profile,
    (path, mut file): Output,
    program: &str,
    begun: SystemTime,
) -> Result<(), Exit> {
    let begun = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let bytes = match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(flame::svg(profile, program).into_bytes()),
        Some("pb") => Ok(pprof::bytes(profile)),
        Some("json") => firefox::json(profile, program, begun.as_secs_f64() * 1e3)
            .map(String::into_bytes)
            .map_err(std::io::Error::from),
        _ => Ok(collapsed::text(profile).into_bytes()),
    };
    bytes
        .and_then(|bytes| file.write_all(&bytes))
        .map_err(|error| files::unwritten(path.display(), &error))
}
