//! `cargo xtask postgres`: runs the tests that need a server of PostgreSQL, with a server of their own. `main` calls
//! [`run`], and so does `cargo xtask ci`.
//!
//! The server's files are in a temporary folder, and it listens at a socket in this folder only. Its program refuses to
//! run as root; if the command runs as root, another user owns the server. If PostgreSQL is not installed, the command
//! says so and tests nothing.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cargo;

/// Runs the tests. Answers whether they passed.
pub fn run() -> bool {
    let server = match Server::start() {
        Ok(Some(server)) => server,
        Ok(None) => {
            println!("skipped: PostgreSQL's server is not installed");
            return true;
        }
        Err(problem) => {
            println!("FAILED: {problem}");
            return false;
        }
    };
    let mut command = cargo();
    command.args(["test", "--quiet", "--workspace", "--test", "all", "--", "postgres/"]);
    command.env("SQUALL_POSTGRES", server.url());
    command.status().is_ok_and(|status| status.success())
}

/// The most time for the server's start or end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Folders in which packages install the server's programs. They are usually not in the path.
const FOLDERS: &[&str] =
    &["/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt", "/usr/local/opt"];

/// A running server.
pub struct Server {
    folder: PathBuf,
    programs: PathBuf,
    /// The user and group that the server runs as, if they are not those of this process.
    user: Option<(u32, u32)>,
    process: Child,
}

impl Server {
    /// Makes a database in a temporary folder, and starts a server for it; nothing if PostgreSQL is not installed.
    pub fn start() -> Result<Option<Server>, String> {
        let Some(programs) = programs() else { return Ok(None) };
        let user = other_user()?;
        let folder = std::env::temp_dir().join(format!("squall-postgres-{}", std::process::id()));
        let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(problem)?;
        if let Some((user, group)) = user {
            std::os::unix::fs::chown(&folder, Some(user), Some(group)).map_err(problem)?;
        }
        let mut make = program(&programs, "initdb", &folder, user);
        make.args([
            "--no-sync",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "data",
        ]);
        let made = make.output().map_err(problem)?;
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let process = launch(&programs, &folder, user)?;
        let server = Server { folder, programs, user, process };
        server.await_connections()?;
        Ok(Some(server))
    }

    /// The URL with which programs connect.
    pub fn url(&self) -> String {
        format!("postgresql://postgres@/postgres?host={}", self.folder.display())
    }

    /// Kills the server and all processes that work for it, without a warning.
    pub fn kill(&mut self) {
        // The first process is killed first: it would start others in the place of dead ones.
        let mut ids = vec![self.process.id()];
        ids.extend(children(self.process.id()));
        let mut kill = Command::new("kill");
        kill.arg("-KILL").args(ids.iter().map(u32::to_string));
        // Some processes end by themselves when the first one is dead.
        _ = kill.stderr(Stdio::null()).status();
        _ = self.process.wait();
    }

    /// Starts the server again after [`Server::kill`], and waits until it accepts connections.
    pub fn restart(&mut self) -> Result<(), String> {
        self.process = launch(&self.programs, &self.folder, self.user)?;
        self.await_connections()
    }

    fn await_connections(&self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let mut asked = program(&self.programs, "pg_isready", &self.folder, self.user);
            asked.args(["--quiet", "--username=postgres", "--host"]).arg(&self.folder);
            if asked.status().is_ok_and(|status| status.success()) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        Err(format!("the server accepts no connections\n{log}"))
    }
}

impl Drop for Server {
    /// Ends the server in order, so that it releases shared memory.
    fn drop(&mut self) {
        _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        if matches!(self.process.try_wait(), Ok(None)) {
            self.kill();
        }
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts the server. Its messages go to a file.
fn launch(programs: &Path, folder: &Path, user: Option<(u32, u32)>) -> Result<Child, String> {
    let mut server = program(programs, "postgres", folder, user);
    server.args(["-D", "data", "-c", "listen_addresses=", "-c", "max_connections=150"]);
    // Data that the operating system has accepted survives the death of the server.
    server.args(["-c", "fsync=off", "-k"]).arg(folder);
    let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("log"));
    let log = log.map_err(|error| format!("{}: {error}", folder.display()))?;
    server.stderr(log).stdout(Stdio::null()).stdin(Stdio::null());
    server.spawn().map_err(|error| format!("{server:?}: {error}"))
}

/// A command that runs one of the server's programs in the folder, as that user.
fn program(programs: &Path, name: &str, folder: &Path, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(programs.join(name));
    command.current_dir(folder);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

/// The folder of the server's programs.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let below = |folder: &&str| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().join("bin")).collect::<Vec<_>>()
    };
    let known = FOLDERS.iter().flat_map(below);
    let mut folders = std::env::split_paths(&path).chain(known);
    folders.find(|folder| {
        ["initdb", "postgres", "pg_isready"].iter().all(|name| folder.join(name).is_file())
    })
}

/// The user that the server runs as, if this process runs as root.
fn other_user() -> Result<Option<(u32, u32)>, String> {
    if std::fs::metadata("/proc/self").map_or(true, |me| me.uid() != 0) {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let numbers = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    let user = numbers("postgres").or_else(|| numbers("nobody"));
    user.map(Some)
        .ok_or_else(|| "the server does not run as root, and there is nobody else".to_owned())
}

/// The child processes of a process.
fn children(process: u32) -> Vec<u32> {
    let listed = Command::new("ps").args(["-o", "pid=", "--ppid", &process.to_string()]).output();
    let text = listed.map(|listed| listed.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text).split_whitespace().filter_map(|word| word.parse().ok()).collect()
}
