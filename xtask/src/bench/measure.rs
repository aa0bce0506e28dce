//! Runs a command and measures it from outside: its time and its output. [`super::report`] and the builds of a plan
//! call it.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The result of a process that succeeded.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its standard output.
    pub output: String,
    /// Its standard error output.
    pub error: String,
    /// The time from the process's start to its end.
    pub time: Duration,
}

/// Runs a command to its end. An exit code other than 0 is an error, and so is a run longer than `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Result<Run, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let (output, error) = (child.stdout.take(), child.stderr.take());
    let child = Mutex::new(child);
    thread::scope(|scope| {
        let (is_running, has_ended) = mpsc::channel::<()>();
        let error = scope.spawn(|| text_of(error));
        let guard = scope.spawn(|| end_after(limit, &child, has_ended));
        // Waiting for the end of the output costs no processor time; polling for the end of the process does.
        let output = text_of(output);
        let error = error.join().unwrap_or_default();
        let status = child.lock().unwrap_or_else(PoisonError::into_inner).wait();
        let time = begin.elapsed();
        drop(is_running);
        let is_too_late = guard.join().unwrap_or_default();
        match status {
            _ if is_too_late => Err(format!("it did not end within {} s", limit.as_secs())),
            Ok(status) if status.success() => Ok(Run { output, error, time }),
            Ok(status) => Err(format!("{status}: {}", last_lines(&output, &error))),
            Err(problem) => Err(problem.to_string()),
        }
    })
}

/// Kills the process if it has not ended in time. Answers whether it did so.
fn end_after(limit: Duration, child: &Mutex<Child>, has_ended: mpsc::Receiver<()>) -> bool {
    let is_too_late = has_ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
    if is_too_late {
        _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }
    is_too_late
}

fn text_of(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // A broken pipe ends the text. The result depends on how the process ended.
    _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last lines of a process's output, the standard error first.
fn last_lines(output: &str, error: &str) -> String {
    let text = if error.trim().is_empty() { output } else { error };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(5)..].join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str, limit: Duration) -> Result<Run, String> {
        run(Command::new("sh").args(["-c", text]), limit)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn both_outputs_are_kept() {
        let run = shell("echo out; echo err >&2", LONG).expect("it succeeds");
        assert_eq!((run.output.as_str(), run.error.as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn failures_say_what_was_said_last() {
        let problem = shell("echo fine; echo wrong result >&2; exit 3", LONG).expect_err("exit 3");
        assert!(problem.contains('3') && problem.contains("wrong result"), "{problem}");
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let problem = shell("exec sleep 600", Duration::ZERO).expect_err("too slow");
        assert!(problem.contains("did not end"), "{problem}");
    }

    #[test]
    fn what_does_not_exist_is_named() {
        let problem = run(&mut Command::new("/no/such/file"), LONG).expect_err("no file");
        assert!(problem.contains("/no/such/file"), "{problem}");
    }
}
