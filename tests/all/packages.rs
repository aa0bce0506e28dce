//! Tests of packages: `tests/packages/*.txt`. `main.rs` collects them as trials.
//!
//! A file is a session in a new folder, with a new cache of packages. Its lines are
//!
//! | line | what it does |
//! |---|---|
//! | `> path`, then `| text` | writes a file of these lines |
//! | `$ squall …` | runs the command |
//! | `$ ./file …` | runs a file that was built |
//! | `$ cd folder` | goes there, from the first folder |
//! | `$ set NAME=value` | sets a variable of the environment |
//! | `$ replace file 'old' 'new'` | changes the first place of a text in a file |
//! | `$ show file`, `$ list folder` | shows a text, or the names in a folder |
//! | `$ delete path`, `$ copy from to` | deletes a file or folder, copies a file |
//! | `$ pack archive folder` | makes an archive, `.tar.gz`, of a folder |
//! | `$ pack-hostile archive kind` | makes one that must be refused: see [`hostile_entry`] |
//! | `$ commit folder` | makes a repository of a folder, or adds a commit |
//! | `$ serve archive` | serves a file once on a port that is free, which `{port}` stands for from then on, and `{digest}` for its SHA-256 |
//! | `$ serve-secure archive` | the same by TLS, with the certificate of `tests/packages/tls` |
//! | `# …` | a comment |
//!
//! Output follows each line, as in `tests/cli` ([`crate::command_line`]). `{scratch}` stands for the first folder, `{sha256 N}`
//! and `{commit N}` for the digests and commits in the order in which they appear. `BLESS=1` rewrites the files.
//! `{authority}` stands for the file of the authority of that certificate. A session that makes commits is left out where there is no command `git`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use libtest_mimic::Trial;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tar::{Builder, EntryType, Header};

use crate::compare_with_file;

pub fn trials() -> Vec<Trial> {
    let mut trials = crate::trials_in("tests/packages", "txt", run);
    trials.push(Trial::test("packages/capabilities", || Ok(capabilities()?)));
    trials
}

/// The capabilities that manifests know are those that the library asks about; and a package's platform has all that the
/// platform has.
fn capabilities() -> Result<(), String> {
    let read = |name: &str| {
        let path = crate::root().join("lib").join(name);
        std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))
    };
    let (packages, platform) = (read("Packages.ns")?, read("Platform.ns")?);
    let quoted = |part: &str| {
        let rest: BTreeSet<String> = packages
            .split(part)
            .skip(1)
            .filter_map(|rest| Some(rest.split_once('\'')?.0.to_owned()))
            .collect();
        rest
    };
    let asked: BTreeSet<String> =
        quoted("granted: '").union(&quoted("demand: '")).cloned().collect();
    let known = squall_packages::capability::ALL.iter().map(|(name, _)| (*name).to_owned());
    let known: BTreeSet<String> = known.collect();
    if asked != known {
        return Err(format!("the library asks about {asked:?}, and manifests know {known:?}"));
    }
    let members = platform.lines().filter_map(|line| line.strip_prefix("  public "));
    let members = members.filter_map(|line| line.split([' ', ':']).next());
    let own = |member: &&str| ["loadProgram", "finishWith"].contains(member);
    let lacks = |member: &&str| !packages.contains(&format!("public {member} "));
    match members.filter(|member| !own(member)).find(lacks) {
        Some(member) => Err(format!("the platform of packages has no `{member}`")),
        None => Ok(()),
    }
}

fn run(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let needs_git = text.lines().any(|line| line.starts_with("$ commit "));
    if needs_git && Command::new("git").arg("--version").output().is_err() {
        return Ok(());
    }
    let mut session = Session::new()?;
    let mut transcript = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            _ = writeln!(transcript, "{line}");
        } else if let Some(file) = line.strip_prefix("> ") {
            let mut content = String::new();
            _ = writeln!(transcript, "{line}");
            while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
                _ = writeln!(transcript, "{line}");
                let rest = &line[1..];
                _ = writeln!(content, "{}", rest.strip_prefix(' ').unwrap_or(rest));
            }
            transcript.push('\n');
            session.write(file, content.as_bytes())?;
        } else if let Some(command) = line.strip_prefix("$ ") {
            let output = session.execute(command)?;
            _ = write!(transcript, "{line}\n{}\n", session.conceal(&output));
        }
    }
    compare_with_file(path, &transcript)
}

struct Session {
    scratch: tempfile::TempDir,
    folder: PathBuf,
    environment: BTreeMap<String, String>,
    port: String,
    digest: String,
    /// The digests and commits so far, with the names that stand for them.
    names: Vec<(String, String)>,
}

impl Session {
    fn new() -> Result<Session, String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let folder = scratch.path().to_owned();
        let cache = folder.join("cache").display().to_string();
        let environment = [
            ("SQUALL_CACHE".to_owned(), cache),
            ("NO_COLOR".to_owned(), "1".to_owned()),
            ("NO_PROXY".to_owned(), "127.0.0.1".to_owned()),
        ];
        let environment = environment.into();
        Ok(Session {
            scratch,
            folder,
            environment,
            port: String::new(),
            digest: String::new(),
            names: Vec::new(),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(self.substitute(name))
    }

    fn substitute(&self, text: &str) -> String {
        let scratch = self.scratch.path().display().to_string();
        text.replace("{scratch}", &scratch)
            .replace("{port}", &self.port)
            .replace("{digest}", &self.digest)
            .replace("{authority}", &tls_file("authority.pem").display().to_string())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let path = self.path(name);
        let folder = path.parent().ok_or("a file has a folder")?;
        let write = || {
            std::fs::create_dir_all(folder)?;
            std::fs::write(&path, bytes)
        };
        write().map_err(|error| format!("{name}: {error}"))
    }

    fn execute(&mut self, line: &str) -> Result<String, String> {
        let words = crate::command_line::split(line).ok_or_else(|| format!("quotes in {line}"))?;
        let words: Vec<String> = words.iter().map(|word| self.substitute(word)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let io = |error: std::io::Error| format!("{line}: {error}");
        match words[..] {
            ["squall", ref arguments @ ..] => self.process(env!("CARGO_BIN_EXE_squall"), arguments),
            [program, ref arguments @ ..] if program.starts_with("./") => {
                let program = self.path(program).display().to_string();
                self.process(&program, arguments)
            }
            ["cd", folder] => {
                self.folder = self.scratch.path().join(folder);
                Ok(String::new())
            }
            ["set", variable] => {
                let (name, value) = variable.split_once('=').ok_or("a variable has a value")?;
                self.environment.insert(name.to_owned(), value.to_owned());
                Ok(String::new())
            }
            ["replace", file, old, new] => {
                let text = std::fs::read_to_string(self.path(file)).map_err(io)?;
                if !text.contains(old) {
                    return Err(format!("{file} does not contain {old}:\n{text}"));
                }
                self.write(file, text.replacen(old, new, 1).as_bytes())?;
                Ok(String::new())
            }
            ["show", file] => {
                let text = std::fs::read_to_string(self.path(file)).map_err(io)?;
                // A line that begins with `#` would be a comment of the session.
                Ok(text.lines().map(|line| format!("  {line}\n").replace("  \n", "\n")).collect())
            }
            ["list", folder] => {
                let entries = std::fs::read_dir(self.path(folder)).map_err(io)?;
                let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
                let mut names: Vec<String> = names.map(|name| name + "\n").collect();
                names.sort();
                Ok(names.concat())
            }
            ["delete", path] => {
                let path = self.path(path);
                let deleted = match path.is_dir() {
                    true => std::fs::remove_dir_all(&path),
                    false => std::fs::remove_file(&path),
                };
                deleted.map(|()| String::new()).map_err(io)
            }
            ["copy", from, to] => {
                let copied = std::fs::copy(self.path(from), self.path(to));
                copied.map(|_| String::new()).map_err(io)
            }
            ["pack", archive, folder] => {
                let bytes = packed(&self.path(folder)).map_err(io)?;
                self.write(archive, &bytes).map(|()| String::new())
            }
            ["pack-hostile", archive, kind] => {
                let bytes = hostile(kind).map_err(io)?;
                self.write(archive, &bytes).map(|()| String::new())
            }
            ["commit", folder] => commit(&self.path(folder)).map(|()| String::new()),
            [command @ ("serve" | "serve-secure"), file] => {
                let bytes = std::fs::read(self.path(file)).map_err(io)?;
                self.digest = squall_packages::digest::of_bytes(&bytes);
                let encryption = match command {
                    "serve-secure" => Some(encryption().map_err(|error| error.to_string())?),
                    _ => None,
                };
                self.port = serve(bytes, encryption).map_err(io)?;
                Ok(String::new())
            }
            _ => Err(format!("there is no command {line}")),
        }
    }

    /// Runs a process; answers its output in the form of transcripts.
    fn process(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).envs(&self.environment);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            text += &format!("err: {line}\n");
        }
        match output.status.code() {
            Some(0) => {}
            code => text += &format!("exit: {}\n", code.unwrap_or(-1)),
        }
        Ok(text)
    }

    /// The text with names in place of what differs from run to run, or with the version of a library.
    fn conceal(&mut self, text: &str) -> String {
        let scratch = self.scratch.path().display().to_string();
        let text = text.replace(&scratch, "{scratch}");
        let mut text = crate::command_line::without_times(&text);
        if !self.port.is_empty() {
            text = text.replace(&format!(":{}", self.port), ":{port}");
        }
        let words: Vec<String> = text
            .split(|character: char| !character.is_ascii_hexdigit())
            .filter(|word| matches!(word.len(), 40 | 64))
            .map(str::to_owned)
            .collect();
        for word in words {
            if !self.names.iter().any(|(known, _)| *known == word) {
                let kind = if word.len() == 40 { "commit" } else { "sha256" };
                let count =
                    self.names.iter().filter(|(known, _)| known.len() == word.len()).count();
                self.names.push((word, format!("{{{kind} {}}}", count + 1)));
            }
        }
        for (word, name) in &self.names {
            text = text.replace(word, name);
            text = text.replace(&format!("#{}", &word[..8]), &format!("#{name}"));
        }
        text
    }
}

/// An archive of a folder, with the folder's name on top.
fn packed(folder: &Path) -> std::io::Result<Vec<u8>> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    builder.mode(tar::HeaderMode::Deterministic);
    let name = folder.file_name().unwrap_or_default();
    let mut pending = vec![(PathBuf::from(name), folder.to_owned())];
    while let Some((name, path)) = pending.pop() {
        if path.is_file() {
            builder.append_path_with_name(&path, &name)?;
            continue;
        }
        let mut entries: Vec<_> = path.read_dir()?.collect::<std::io::Result<_>>()?;
        entries.retain(|entry| entry.file_name() != ".git");
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
        pending.extend(entries.iter().map(|it| (name.join(it.file_name()), it.path())));
    }
    builder.into_inner()?.finish()
}

/// An archive of a package with one more entry, which is hostile.
fn hostile(kind: &str) -> std::io::Result<Vec<u8>> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    let manifest = b"[package]\nname = \"evil\"\nversion = \"1.0.0\"\n";
    let zeros;
    let (name, entry_type, content): (&[u8], EntryType, &[u8]) = match kind {
        "bomb" => {
            zeros = vec![0; 65 << 20];
            (b"zeros", EntryType::Regular, &zeros)
        }
        "text" => return Ok(b"This is no archive.".to_vec()),
        kind => hostile_entry(kind),
    };
    let entries = [(&b"squall.toml"[..], EntryType::Regular, &manifest[..])];
    for (name, entry_type, content) in entries.into_iter().chain([(name, entry_type, content)]) {
        let mut header = Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.set_entry_type(entry_type);
        header.set_size(content.len() as u64);
        if matches!(entry_type, EntryType::Symlink | EntryType::Link) {
            header.set_link_name("/etc/passwd")?;
        }
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, content)?;
    }
    builder.into_inner()?.finish()
}

/// The name, kind and content of an entry that must be refused.
fn hostile_entry(kind: &str) -> (&'static [u8], EntryType, &'static [u8]) {
    match kind {
        "dots" => (b"parts/../../escaped.ns", EntryType::Regular, b"escaped"),
        "absolute" => (b"/tmp/escaped.ns", EntryType::Regular, b"escaped"),
        "link" => (b"main.ns", EntryType::Symlink, b""),
        "hard-link" => (b"main.ns", EntryType::Link, b""),
        "device" => (b"main.ns", EntryType::Char, b""),
        "twice" => (b"SQUALL.toml", EntryType::Regular, b"[package]"),
        _ => (b"\xff.ns", EntryType::Regular, b""),
    }
}

/// Commits all files of a folder, always with the same author and time.
fn commit(folder: &Path) -> Result<(), String> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(["-c", "user.name=n", "-c", "user.email=e@x"]);
        command.args(["-c", "commit.gpgSign=false", "-c", "core.autocrlf=false"]).args(arguments);
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.env(name, "2020-01-01T00:00:00Z");
        }
        let output = command.output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    if !folder.join(".git").exists() {
        git(&["init", "--quiet", "--initial-branch=main"])?;
    }
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message=change"])
}

/// Serves bytes to the first client; answers the port.
fn serve(bytes: Vec<u8>, encryption: Option<ServerConnection>) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        let Ok((client, _)) = listener.accept() else { return };
        match encryption {
            None => answer(client, &bytes),
            Some(connection) => {
                let mut stream = StreamOwned::new(connection, client);
                answer(&mut stream, &bytes);
                stream.conn.send_close_notify();
                _ = stream.flush();
            }
        }
    });
    Ok(port.to_string())
}

/// Answers a request of HTTP by these bytes.
fn answer(mut client: impl Read + Write, bytes: &[u8]) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|it| it > 0) {
        request.extend(byte);
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
    _ = client.write_all(head.as_bytes()).and_then(|()| client.write_all(bytes));
}

/// A file with certificates or keys for tests only, for `localhost` and 127.0.0.1.
fn tls_file(name: &str) -> PathBuf {
    crate::root().join("tests/packages/tls").join(name)
}

/// The server's side of an encrypted connection.
fn encryption() -> Result<ServerConnection, Box<dyn std::error::Error>> {
    let certificate = CertificateDer::from_pem_file(tls_file("localhost.pem"))?;
    let key = PrivateKeyDer::from_pem_file(tls_file("key.pem"))?;
    let cryptography = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ServerConfig::builder_with_provider(cryptography)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(ServerConnection::new(Arc::new(settings))?)
}
