//! Measures the processor time that an idle program uses. [`super::report`] calls it for reports of the kind `idle`.
//!
//! The program prints a line when it has nothing left to do, and waits after that. After a pause, the program's
//! processor time is read twice, with as many seconds between as the workload's size says. Then the program is killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

use super::plan::Program;
use super::results::{Key, Sample};

/// The processor time that the program uses, in percent of one core's.
pub fn samples(program: &Program) -> Result<Vec<Sample>, String> {
    let mut command = program.command();
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let share = watch(&mut child, CALMING_DOWN, Duration::from_secs(program.size));
    _ = child.kill();
    _ = child.wait();
    let key = Key::new(&program.workload, &program.system, "", "% of a core");
    Ok(vec![Sample { key, value: share? * 100.0 }])
}

/// The pause: the time after the line in which the program may still be active.
const CALMING_DOWN: Duration = Duration::from_secs(1);

/// The share of a core that the process uses during `time`, which begins after a pause.
fn watch(child: &mut Child, pause: Duration, time: Duration) -> Result<f64, String> {
    wait_for_a_line(child)?;
    std::thread::sleep(pause);
    let clock = clock_of(child)?;
    let (begin, used) = (Instant::now(), read(clock)?);
    std::thread::sleep(time);
    let (time, used) = (begin.elapsed(), read(clock)? - used);
    match child.try_wait() {
        Ok(None) => Ok(used.as_secs_f64() / time.as_secs_f64()),
        _ => Err("it ended while it was watched".to_owned()),
    }
}

/// Returns when the process has printed a line.
fn wait_for_a_line(child: &mut Child) -> Result<(), String> {
    let output = child.stdout.take().ok_or("it has no output")?;
    let mut line = String::new();
    let length = BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
    if length == 0 { Err("it printed nothing".to_owned()) } else { Ok(()) }
}

/// The clock of the processor time of all threads of a process.
fn clock_of(child: &Child) -> Result<ClockId, String> {
    let process = i32::try_from(child.id()).map_err(|error| error.to_string())?;
    clock_getcpuclockid(Pid::from_raw(process)).map_err(|error| error.to_string())
}

fn read(clock: ClockId) -> Result<Duration, String> {
    clock.now().map(Duration::from).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn share_of(script: &str) -> Result<f64, String> {
        let mut command = Command::new("sh");
        let mut child =
            command.args(["-c", script]).stdout(Stdio::piped()).spawn().expect("there is a shell");
        let share = watch(&mut child, Duration::ZERO, Duration::from_millis(1));
        _ = child.kill();
        _ = child.wait();
        share
    }

    #[test]
    fn what_says_that_it_waits_is_watched() {
        assert!(share_of("echo ready; exec sleep 600").is_ok());
        assert!(share_of("exit 0").expect_err("no line").contains("nothing"));
    }

    #[test]
    fn the_clock_runs_while_the_process_does() {
        let clock = clock_getcpuclockid(Pid::this()).expect("this process has a clock");
        let begin = read(clock).expect("it can be read");
        while read(clock).expect("it can be read") == begin {}
    }
}
