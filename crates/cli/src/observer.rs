//! Makes running programs describe themselves: on the signal `SIGQUIT` (Ctrl-\ in a terminal), a program describes each
//! of its strands on the standard error output, and goes on. `squall run` installs the handler, and `squall dump` sends
//! the signal.

use std::sync::OnceLock;

use crate::console::print_error;

/// What describes the program.
static DESCRIBE: OnceLock<Box<dyn Fn() -> String + Send + Sync>> = OnceLock::new();

/// Writes the description whenever the process gets `SIGQUIT`.
pub fn describe_on_quit(describe: impl Fn() -> String + Send + Sync + 'static) {
    DESCRIBE.get_or_init(|| Box::new(describe));
    listen();
}

/// This process is a copy of one that had described itself: so does it.
pub fn begin_again() {
    if DESCRIBE.get().is_some() {
        listen();
    }
}

/// Starts the thread that waits for the signal.
#[cfg(unix)]
fn listen() {
    use signal_hook::consts::SIGQUIT;
    use signal_hook::iterator::Signals;

    // Without the handler the signal has its default effect: it ends the program.
    let Ok(mut signals) = Signals::new([SIGQUIT]) else { return };
    let observer = std::thread::Builder::new().name("observer".into());
    _ = observer.spawn(move || {
        for _ in signals.forever() {
            DESCRIBE.get().into_iter().for_each(|describe| print_error(&describe()));
        }
    });
}

/// This system has no such signal.
#[cfg(not(unix))]
fn listen() {}

/// Makes the program with this process number describe itself.
#[cfg(unix)]
pub fn dump(process: i32) -> Result<(), String> {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    // For other programs, the signal is the request to end.
    let name = std::fs::read_to_string(format!("/proc/{process}/comm"));
    if name.is_ok_and(|name| name.trim_end() != "squall") {
        return Err(format!("process {process} does not run `squall`"));
    }
    let failed = |error: nix::Error| format!("process {process}: {}", error.desc());
    if process <= 0 {
        return Err(format!("{process} is no process number"));
    }
    kill(Pid::from_raw(process), Signal::SIGQUIT).map_err(failed)
}

/// This system has no such signal.
#[cfg(not(unix))]
pub fn dump(_: i32) -> Result<(), String> {
    Err("this system has no signal for it".to_owned())
}
