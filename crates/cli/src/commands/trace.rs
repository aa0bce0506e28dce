//! `--trace=FILE.pftrace`: records the events of a run in a file. `run` calls this module.

use std::fs::File;
use std::path::{Path, PathBuf};

use squall::Machine;
use squall::events::Kind;
use squall::events::perfetto::Trace;
use squall::recording::Recording;

use crate::console::complain;
use crate::exit::Exit;
use crate::files;

/// A file that was made for a trace.
pub struct TraceFile {
    path: PathBuf,
    file: File,
}

/// A trace in progress.
pub struct Tracing {
    path: PathBuf,
    recording: Recording,
}

/// Makes the file, if there is to be one, before the program runs: or complains.
pub fn open(path: Option<&Path>) -> Result<Option<TraceFile>, Exit> {
    let Some(path) = path else { return Ok(None) };
    Ok(Some(TraceFile { path: path.to_owned(), file: files::create(path)? }))
}

impl TraceFile {
    /// Begins the trace of a program.
    pub fn begin(self, machine: &mut Machine, program: &str) -> Tracing {
        let TraceFile { path, file } = self;
        let recording =
            machine.record(Kind::ALL, |names| Box::new(Trace::new(file, program, names)));
        Tracing { path, recording }
    }
}

impl Tracing {
    /// Completes the file, and says what is missing there.
    pub fn end(self) {
        let recorded = self.recording.end();
        let path = self.path.display();
        if let Some(failure) = recorded.failure {
            complain(&format!("{path} is not complete: {failure}"));
        }
        if recorded.lost > 0 {
            let lost = recorded.lost;
            complain(&format!(
                "{path} lacks {lost} events, which came faster than they could be written"
            ));
        }
    }
}
