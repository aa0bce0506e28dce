//! `squall test --watch`: runs the tests again when files change. [`super::test`] calls this.
//!
//! The folders of the named files and the named folders are watched, and those below them. A change is that of a program or
//! of a manifest; several changes that follow each other are one.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use notify::{Event, EventKind, RecursiveMode, Watcher};
use squall::compiler::FileKind;

use super::report::Report;
use super::{modules, processes};
use crate::arguments;
use crate::console::{complain, print};
use crate::exit::Exit;

/// Changes that come within this time are one.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs the tests, and runs them again when files change, until the process is ended.
pub fn watch(arguments: &arguments::Test) -> Result<Exit, Exit> {
    let (sender, changes) = mpsc::channel();
    let watcher = notify::recommended_watcher(move |event| {
        // Without a receiver, the process ends.
        _ = sender.send(event);
    });
    let mut watcher = watcher.map_err(cannot_watch)?;
    for path in &arguments.modules.files {
        watcher.watch(&folder_of(path), RecursiveMode::Recursive).map_err(cannot_watch)?;
    }
    loop {
        run(arguments);
        print("waiting for changes; Ctrl-C ends\n");
        let changed = next_change(&changes)?;
        if std::io::stdout().is_terminal() {
            // Clears the terminal, and goes to its first line.
            print("\x1b[2J\x1b[H");
        }
        print(&format!("changed: {}\n", changed.display()));
    }
}

/// Runs the tests once; mistakes are shown, and may be mended.
fn run(arguments: &arguments::Test) {
    let Ok(files) = modules::in_files(&arguments.modules.files) else { return };
    let mut report = Report::new(arguments);
    if processes::run(arguments, &files, &mut report).is_ok() {
        // The summary has the result.
        _ = report.finish();
    }
}

fn folder_of(path: &str) -> PathBuf {
    let path = Path::new(path);
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    match folder {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Waits for the next change, and for the end of those that follow it.
fn next_change(changes: &Receiver<notify::Result<Event>>) -> Result<PathBuf, Exit> {
    let changed = loop {
        match changes.recv() {
            Ok(Ok(event)) => {
                if let Some(path) = changed_program(&event) {
                    break path;
                }
            }
            Ok(Err(error)) => return Err(cannot_watch(error)),
            Err(_) => return Err(Exit::Failure),
        }
    };
    while !matches!(changes.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout)) {}
    Ok(changed)
}

/// The program or manifest that an event is about.
fn changed_program(event: &Event) -> Option<PathBuf> {
    let is_change =
        |kind| matches!(kind, EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_));
    let is_program = |path: &&PathBuf| {
        path.to_str().is_some_and(|path| FileKind::of_path(path).is_some())
            || path.extension().is_some_and(|extension| extension == "toml")
    };
    event.paths.iter().find(is_program).filter(|_| is_change(event.kind)).cloned()
}

fn cannot_watch(error: notify::Error) -> Exit {
    complain(&format!("files cannot be watched: {error}"));
    Exit::Failure
}
