//! Looks at programs that run: on the signal `SIGQUIT` (Ctrl-\ in a terminal), a program describes on
//! the standard error output what each of its strands does, and goes on. `squall dump` sends it.

use crate::console::print_error;

/// Has the description written whenever the process gets `SIGQUIT`.
#[cfg(unix)]
pub fn describe_on_quit(describe: impl Fn() -> String + Send + 'static) {
    use signal_hook::consts::SIGQUIT;
    use signal_hook::iterator::Signals;

    // Without the handler the signal does what it always does: it ends the program.
    let Ok(mut signals) = Signals::new([SIGQUIT]) else { return };
    let observer = std::thread::Builder::new().name("observer".into());
    _ = observer.spawn(move || {
        for _ in signals.forever() {
            print_error(&describe());
        }
    });
}

/// There is no such signal here.
#[cfg(not(unix))]
pub fn describe_on_quit(_: impl Fn() -> String + Send + 'static) {}

/// Has the program with this process number describe itself.
#[cfg(unix)]
pub fn dump(process: i32) -> Result<(), String> {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    // To others the signal says that they are to end.
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

/// There is no such signal here.
#[cfg(not(unix))]
pub fn dump(_: i32) -> Result<(), String> {
    Err("this system has no signal for it".to_owned())
}
