//! Processes of the system that the program starts, for the runtime's process primitives.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use parking_lot::Mutex;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::poller::{Direction, Poller, READING, Registration};
use crate::stream::Stream;

/// A process that was started here.
pub struct ChildProcess {
    /// Dropped before the descriptor.
    registration: Registration,
    /// Readable when the process has ended.
    _end: OwnedFd,
    id: u32,
    child: Mutex<Child>,
}

/// The description of a process to start.
#[derive(Default)]
pub struct Plan {
    /// The program, and its arguments.
    pub words: Vec<String>,
    /// Its working folder; `None` for this process's.
    pub folder: Option<String>,
    /// Variables of the environment to set or to remove; the process inherits all others.
    pub variables: Vec<(String, Option<String>)>,
    /// Its standard input, output and error output.
    pub ends: [End; 3],
}

/// A standard stream of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum End {
    /// A pipe to this process.
    #[default]
    Pipe,
    /// The same stream of this process.
    Inherited,
    /// The null device.
    Null,
}

impl End {
    fn stdio(self) -> Stdio {
        match self {
            End::Pipe => Stdio::piped(),
            End::Inherited => Stdio::inherit(),
            End::Null => Stdio::null(),
        }
    }
}

/// A started process, and this process's ends of its pipes.
pub struct Started {
    /// The process.
    pub child: ChildProcess,
    /// The pipes to its standard input, from its output and from its error output.
    pub pipes: [Option<Stream>; 3],
}

impl Plan {
    /// Starts the process. This may take a while, since the program is loaded.
    pub fn start(&self, poller: &Poller) -> io::Result<Started> {
        let (program, arguments) = self.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments);
        let [input, output, error] = self.ends.map(End::stdio);
        command.stdin(input).stdout(output).stderr(error);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut child = command.spawn()?;
        let result = watch(&mut child, poller);
        match result {
            Ok((registration, end, pipes)) => {
                let id = child.id();
                let child = ChildProcess { registration, _end: end, id, child: Mutex::new(child) };
                Ok(Started { child, pipes })
            }
            Err(error) => {
                // No strand could ever wait for its end.
                _ = child.kill();
                _ = child.wait();
                Err(error)
            }
        }
    }
}

type Watched = (Registration, OwnedFd, [Option<Stream>; 3]);

fn watch(child: &mut Child, poller: &Poller) -> io::Result<Watched> {
    let id = child.id();
    let pid = Pid::from_child(child);
    let end = pidfd_open(pid, PidfdFlags::empty())?;
    let registration = poller.register(&end, READING)?;
    let pipe = |descriptor: Option<OwnedFd>, direction| {
        descriptor.map(|pipe| Stream::of_pipe(poller, pipe, direction, id)).transpose()
    };
    let pipes = [
        pipe(child.stdin.take().map(OwnedFd::from), Direction::Write)?,
        pipe(child.stdout.take().map(OwnedFd::from), Direction::Read)?,
        pipe(child.stderr.take().map(OwnedFd::from), Direction::Read)?,
    ];
    Ok((registration, end, pipes))
}

impl ChildProcess {
    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The system's number of the process.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The exit code; `None` before the end. If a signal has ended the process, the code is 128 plus the signal's
    /// number, as in shells.
    pub fn exit_code(&self) -> io::Result<Option<i32>> {
        let status = self.child.lock().try_wait()?;
        Ok(status.map(|status| {
            status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
        }))
    }

    /// Sends the signal with this name; false if the process has ended.
    pub fn send(&self, signal: &str) -> io::Result<bool> {
        let signal = match signal {
            "terminate" => Signal::TERM,
            "interrupt" => Signal::INT,
            "kill" => Signal::KILL,
            "hangup" => Signal::HUP,
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        // The lock is held, so the number still belongs to this process.
        let mut child = self.child.lock();
        if child.try_wait()?.is_some() {
            return Ok(false);
        }
        rustix::process::kill_process(Pid::from_child(&child), signal)?;
        Ok(true)
    }
}

impl Drop for ChildProcess {
    /// A process without its `ChildProcess` goes on. A thread waits for its end, so that the system can forget it.
    fn drop(&mut self) {
        let child = self.child.get_mut();
        if matches!(child.try_wait(), Ok(None)) {
            let pid = Pid::from_child(child);
            let reaper = std::thread::Builder::new().name("squall-reaper".into());
            _ = reaper.spawn(move || {
                use rustix::process::{WaitOptions, waitpid};
                _ = waitpid(Some(pid), WaitOptions::empty());
            });
        }
    }
}

/// The name of this process, which is that of its main thread.
pub fn name() -> io::Result<CString> {
    let name = std::fs::read_to_string("/proc/self/comm")?;
    CString::new(name.trim_end()).map_err(io::Error::other)
}

/// Gives the calling thread a name; if it is the main one, that is the name of the process.
pub fn set_name(name: &CStr) {
    // A process with another name works as well.
    _ = rustix::thread::set_name(name);
}

/// The names of the threads of this process, but for the calling and the main one.
pub fn other_threads() -> io::Result<Vec<String>> {
    let main = rustix::process::getpid().as_raw_nonzero().get().to_string();
    let own = rustix::thread::gettid().as_raw_nonzero().get().to_string();
    let mut names = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task")? {
        let thread = thread?;
        let number = thread.file_name();
        if number != *main && number != *own {
            names.push(std::fs::read_to_string(thread.path().join("comm"))?.trim_end().to_owned());
        }
    }
    Ok(names)
}
