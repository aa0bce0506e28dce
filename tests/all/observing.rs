//! Sessions with `squall run --observe`. Each file `tests/observer/NAME.txt` is a transcript: a command line, then requests
//! with their answers. `main.rs` collects the tests as trials.
//!
//! | line | |
//! |---|---|
//! | `until PATH FIELD VALUE` | asks until a field of the answer has this value, in JSON: the program has come to where it waits |
//! | `GET TARGET`, `POST TARGET` | a request; the status and the answer follow |
//!
//! What is compared must not depend on time or on the machine. So fields about those are left out, and strands and objects
//! have numbers in the order in which the transcript mentions them; `{2}` in a target is the number of the second strand.
//!
//! Other tests here send what no client should.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use serde_json::Value as Json;

use crate::{compare_with_file, files_in, shown};

pub fn trials() -> Vec<Trial> {
    if !cfg!(unix) {
        return Vec::new();
    }
    let mut trials = Vec::new();
    for path in files_in("tests/observer", "txt") {
        let name = shown(&path);
        trials.push(Trial::test(name, move || session(&path)));
    }
    let tests: [(&str, Test); 11] = [
        ("requests_without_the_token", refused),
        ("hostile_input", hostile),
        ("slow_clients", slow),
        ("the_page", page),
        ("options", options),
        ("output_and_exit_code", unchanged),
        ("events", events),
        ("no_events_with_a_seed", no_events),
        ("census", census),
        ("top", top),
        ("the_file_for_top", file_for_top),
    ];
    let trial = |(name, test): (&str, Test)| Trial::test(format!("observing/{name}"), test);
    trials.extend(tests.map(trial));
    trials
}

type Test = fn() -> Result<(), Failed>;

/// A program that runs, and its server.
struct Observed {
    process: Child,
    /// The rest of its error output, which must be taken.
    _error: BufReader<ChildStderr>,
    port: u16,
    token: String,
}

impl Drop for Observed {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

impl Observed {
    /// Starts a program by the arguments of `squall`, and waits for its server's address.
    fn start(arguments: &[&str]) -> Result<Observed, Failed> {
        Observed::by(squall(arguments))
    }

    fn by(mut command: Command) -> Result<Observed, Failed> {
        let mut process = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut error = BufReader::new(process.stderr.take().expect("it is piped"));
        let mut line = String::new();
        while !line.contains("observed at") {
            line.clear();
            if error.read_line(&mut line)? == 0 {
                return Err("no address is shown".into());
            }
        }
        let (_, address) = line.trim().split_once("http://127.0.0.1:").ok_or("no address")?;
        let (port, token) = address.split_once("/?token=").ok_or("no token")?;
        let port = port.parse()?;
        Ok(Observed { process, _error: error, port, token: token.to_owned() })
    }

    /// The status and the rest of the answer to these bytes.
    fn send(&self, bytes: &[u8]) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        // The server may refuse them before all have come.
        _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        _ = stream.read_to_end(&mut answer);
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn ask(&self, method: &str, target: &str) -> Result<(u16, String), Failed> {
        let target = target.replace(' ', "%20");
        let Observed { port, token, .. } = self;
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost:{port}\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        parted(&self.send(request.as_bytes())?)
    }

    /// Asks until a field of the answer has a value.
    fn wait_until(&self, path: &str, field: &str, value: &str) -> Result<(), Failed> {
        let pointer = format!("/{}", field.replace('.', "/"));
        let mut last = String::new();
        for _ in 0..MOST {
            let (_, answer) = self.ask("GET", path)?;
            let json: Json = serde_json::from_str(&answer)?;
            if json.pointer(&pointer).is_some_and(|it| text_of(it) == value) {
                return Ok(());
            }
            last = answer;
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(format!("{field} never is {value}: {last}").into())
    }
}

/// How often one asks for something that is to happen.
const MOST: usize = 1_500;

/// A value as transcripts have it.
fn text_of(json: &Json) -> String {
    json.to_string()
}

/// The status and the body of an answer.
fn parted(answer: &str) -> Result<(u16, String), Failed> {
    let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    let status = status.ok_or_else(|| format!("no answer: {answer:?}"))?.parse()?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("the answer has no end of its head")?;
    Ok((status, body.to_owned()))
}

/// Repeats a session, and compares the answers.
fn session(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let first = text.lines().next().ok_or("there is no command line")?;
    let command = first.strip_prefix("$ squall ").ok_or("it begins with the command line")?;
    let observed = Observed::start(&command.split(' ').collect::<Vec<_>>())?;
    let mut written = format!("{first}\n");
    let mut names = Names::default();
    let is_request =
        |line: &&str| ["GET ", "POST ", "until "].iter().any(|it| line.starts_with(it));
    for line in text.lines().filter(is_request) {
        written += line;
        written.push('\n');
        let (method, rest) = line.split_once(' ').ok_or("a request has a target")?;
        if method == "until" {
            let (path, rest) = rest.split_once(' ').ok_or("the field is missing")?;
            // Fields may have blanks in their names, texts may have blanks.
            let end = rest.find(" \"").or(rest.rfind(' ')).ok_or("the value is missing")?;
            let (field, value) = (&rest[..end], &rest[end + 1..]);
            observed.wait_until(path, field, value)?;
            continue;
        }
        let (status, answer) = observed.ask(method, &names.replaced(rest))?;
        written += &format!("{status}\n{}", names.normal(&answer));
    }
    compare_with_file(path, &written).map_err(Failed::from)
}

/// Strands and objects in the order of their mention.
#[derive(Default)]
struct Names {
    strands: Vec<u64>,
    objects: Vec<String>,
    origins: HashMap<u64, usize>,
}

/// Fields that depend on time or on the machine.
const LEFT_OUT: [&str; 9] =
    ["waited", "longest", "sweep", "seconds", "process", "heap", "rate", "worker", "messages"];

impl Names {
    /// A target with the numbers of strands.
    fn replaced(&self, target: &str) -> String {
        let mut target = target.to_owned();
        for (index, number) in self.strands.iter().enumerate() {
            target = target.replace(&format!("{{{}}}", index + 1), &number.to_string());
        }
        target
    }

    fn strand(&mut self, number: u64) -> usize {
        let known = self.strands.iter().position(|known| *known == number);
        known.unwrap_or_else(|| {
            self.strands.push(number);
            self.strands.len() - 1
        }) + 1
    }

    fn normal(&mut self, answer: &str) -> String {
        match serde_json::from_str(answer) {
            Ok(json) => {
                let mut json: Json = json;
                self.normalise(&mut json);
                serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
            }
            // Metrics: their names and labels.
            Err(_) => answer
                .lines()
                .map(|line| match line.rsplit_once(' ') {
                    Some((name, _)) if !line.starts_with('#') => format!("{name} …\n"),
                    _ => format!("{line}\n"),
                })
                .collect(),
        }
    }

    fn normalise(&mut self, json: &mut Json) {
        match json {
            Json::Array(all) => all.iter_mut().for_each(|each| self.normalise(each)),
            Json::Object(fields) => {
                fields.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
                let (is_vat, is_text) =
                    (fields.contains_key("mailbox"), fields.contains_key("lines"));
                for (name, value) in fields.iter_mut() {
                    match (name.as_str(), value.as_u64()) {
                        ("number", Some(number)) if !is_vat => *value = self.strand(number).into(),
                        ("holder" | "strand" | "first" | "turn", Some(number)) if !is_text => {
                            *value = self.strand(number).into();
                        }
                        ("origin_number", Some(number)) if number > 0 => {
                            let next = self.origins.len() + 1;
                            *value = (*self.origins.entry(number).or_insert(next)).into();
                        }
                        _ => self.normalise(value),
                    }
                }
            }
            Json::String(text) => *text = self.text(text),
            _ => {}
        }
    }

    /// A text in which words such as `#61c8865`, `s25` and `thread 25` have the names of the transcript, and workers have
    /// no numbers.
    fn text(&mut self, text: &str) -> String {
        let mut last = "";
        let words = text.split_inclusive([' ', ',']).map(|word| {
            let bare = word.trim_end_matches([' ', ',']);
            let end = &word[bare.len()..];
            let is_after = ["thread", "turn", "process", "strand"].contains(&last);
            let is_worker = last == "worker";
            last = bare;
            let number = |digits: &str| digits.parse::<u64>().ok();
            let is_hash =
                |hash: &str| hash.len() > 4 && hash.bytes().all(|it| it.is_ascii_hexdigit());
            if let Some((before, hash)) = bare.split_once('#').filter(|(_, it)| is_hash(it)) {
                let known = self.objects.iter().position(|known| known == hash);
                let index = known.unwrap_or_else(|| {
                    self.objects.push(hash.to_owned());
                    self.objects.len() - 1
                });
                return format!("{before}#{}{end}", index + 1);
            }
            if let Some(strand) = bare.strip_prefix('s').and_then(number) {
                return format!("s{}{end}", self.strand(strand));
            }
            match number(bare).filter(|_| is_after || is_worker) {
                Some(_) if is_worker => format!("…{end}"),
                Some(strand) => format!("{}{end}", self.strand(strand)),
                None => word.to_owned(),
            }
        });
        words.collect()
    }
}

const PROGRAM: &str = "tests/observer/deadlock.ns";

fn start() -> Result<Observed, Failed> {
    Observed::start(&["run", "--allow-processes", "--observe", PROGRAM])
}

/// Every request needs the token, the right host, and no other site.
fn refused() -> Result<(), Failed> {
    let observed = start()?;
    let Observed { port, token, .. } = &observed;
    let host = format!("Host: 127.0.0.1:{port}");
    let with_token = format!("?token={token}");
    let wrong = format!("?token={}", "0".repeat(token.len()));
    for target in ["/", "/metrics", "/api/overview", "/api/nothing", "/api/strand/end"] {
        for method in ["GET", "POST", "OPTIONS", "PUT"] {
            let cases = [
                ("", host.clone(), 401),
                (&wrong, host.clone(), 401),
                (&with_token, format!("Host: rebound.example:{port}"), 403),
                (&with_token, "X: y".to_owned(), 400),
                (&with_token, format!("{host}\r\nOrigin: https://other.example"), 403),
                (&with_token, format!("{host}\r\nSec-Fetch-Site: cross-site"), 403),
            ];
            for (query, fields, status) in cases {
                let request = format!("{method} {target}{query} HTTP/1.1\r\n{fields}\r\n\r\n");
                let answer = observed.send(request.as_bytes())?;
                let (found, body) = parted(&answer)?;
                assert_eq!(found, status, "{request}{answer}");
                assert!(body.starts_with("{\"error\":"), "{request}{body}");
                assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
            }
        }
    }
    for (method, path, allowed) in
        [("GET", "/api/dump", "POST"), ("PUT", "/api/dump", "POST"), ("PUT", "/metrics", "GET")]
    {
        let request = format!("{method} {path}{with_token} HTTP/1.1\r\n{host}\r\n\r\n");
        let answer = observed.send(request.as_bytes())?;
        assert_eq!(parted(&answer)?.0, 405, "{answer}");
        assert!(answer.contains(&format!("\r\nAllow: {allowed}\r\n")), "{answer}");
    }
    let refused = observed.ask("POST", "/api/strand/end?number=1")?;
    assert_eq!(refused.0, 403, "{}", refused.1);
    assert!(refused.1.contains("control"), "{}", refused.1);
    assert_eq!(observed.ask("GET", "/api/overview")?.0, 200);
    Ok(())
}

/// Requests that are none get an error or nothing, and the program and its server go on.
fn hostile() -> Result<(), Failed> {
    let observed = start()?;
    let long = |count: usize| "a".repeat(count);
    let inputs = [
        b"\0\xff\xfe garbage".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        format!("GET /{} HTTP/1.1\r\n", long(1 << 20)).into_bytes(),
        format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", long(1 << 20)).into_bytes(),
        format!("GET / HTTP/1.1\r\n{}\r\n\r\n", "X: y\r\n".repeat(1000)).into_bytes(),
        b"GET /?token=%zz%00%ff HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        vec![b'\n'; 100_000],
    ];
    for input in &inputs {
        let answer = observed.send(input)?;
        let is_refused = answer.is_empty()
            || answer.starts_with("HTTP/1.1 4")
            || answer.starts_with("HTTP/1.1 5");
        assert!(is_refused, "{:?}: {answer}", &input[..input.len().min(60)]);
    }
    let odd = [
        "/api/strands?limit=18446744073709551615&offset=18446744073709551615",
        "/api/strands?limit=-1",
        "/api/strand?number=18446744073709551615",
        "/api/strands?origin=77777",
        "/api/events?after=18446744073709551615",
        "/api/events?limit=0",
        "/api/source?path=../../../etc/passwd&line=0",
        "/api/source?line=18446744073709551615&path=tests/observer/deadlock.ns",
        "/api/../../etc/passwd",
    ];
    for target in odd {
        let (status, body) = observed.ask("GET", target)?;
        assert!([200, 400, 404, 409].contains(&status), "{target}: {status} {body}");
        assert!(!body.contains("root:"), "{target}: {body}");
        assert!(serde_json::from_str::<Json>(&body).is_ok(), "{target}: {body}");
    }
    for (target, said) in SENSELESS {
        let (status, body) = observed.ask("GET", target)?;
        assert!(status == 400 && body.contains(said), "{target}: {status} {body}");
    }
    observed.wait_until("/api/overview", "strands.states.waiting", "7")
}

/// Queries that mean nothing, and what is said of them.
const SENSELESS: [(&str, &str); 13] = [
    ("/api/strands?order=up", "order is one of asc, desc"),
    ("/api/vats?order=up", "order is one of asc, desc"),
    ("/api/strands?offset=-1", "offset must be a whole number from 0 on"),
    ("/api/vats?offset=x", "offset must be a whole number from 0 on"),
    ("/api/strands?limit=-1", "limit must be a whole number from 0 on"),
    ("/api/strands?limit=99999", "limit is at most 500"),
    ("/api/strands?limit=500&offset=9600", "only the first 10000 rows"),
    ("/api/strands?vat=one", "vat must be a whole number from 0 on"),
    ("/api/strands?origin=one", "origin must be a whole number from 0 on"),
    ("/api/strand", "number is missing"),
    ("/api/strand?number=18446744073709551616", "number must be a whole number from 0 on"),
    ("/api/events?after=-5", "after must be a whole number from 0 on"),
    ("/api/events?limit=4001", "limit is at most 4000"),
];

/// Clients that send nothing, or slowly, keep no other client waiting.
fn slow() -> Result<(), Failed> {
    let observed = start()?;
    let mut clients = Vec::new();
    for number in 0..200 {
        let mut client = TcpStream::connect(("127.0.0.1", observed.port))?;
        // Those that were given up cannot be written to.
        _ = client.write_all(&b"GET / HTTP/1.1\r\nHost: loc"[..number % 20]);
        clients.push(client);
    }
    for _ in 0..20 {
        assert_eq!(observed.ask("GET", "/api/overview")?.0, 200);
    }
    // One that has gone before its answer came.
    let gone = TcpStream::connect(("127.0.0.1", observed.port))?;
    gone.shutdown(Shutdown::Both)?;
    observed.wait_until("/api/overview", "strands.states.waiting", "7")
}

/// The page needs nothing from anywhere else.
fn page() -> Result<(), Failed> {
    let observed = start()?;
    let Observed { port, token, .. } = &observed;
    let request = format!("GET /?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let answer = observed.send(request.as_bytes())?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no head")?;
    assert!(head.contains("default-src 'none'"), "{head}");
    assert!(head.contains("frame-ancestors 'none'"), "{head}");
    assert!(body.contains("deadlock.ns"), "the title names the program");
    for part in
        ["http://", "https://", "//cdn", "src=", "@import", "{script}", "{nonce}", "{style}"]
    {
        let places = body.match_indices(part).map(|(at, _)| &body[at..(at + 40).min(body.len())]);
        let foreign: Vec<_> = places.filter(|it| !it.contains("www.w3.org/2000/svg")).collect();
        assert!(foreign.is_empty(), "{part}: {foreign:?}");
    }
    assert!(!body.contains(token.as_str()), "the token is in the address only");
    Ok(())
}

/// Values of the option that mean nothing, and a port that is taken.
fn options() -> Result<(), Failed> {
    for value in ["x", "1,", ",control", "1,x", "70000", "1,control,", "", "control,1"] {
        let output = squall(&["run", &format!("--observe={value}"), PROGRAM]).output()?;
        assert_eq!(output.status.code(), Some(2), "{value}");
    }
    let observed = start()?;
    let taken = format!("--observe={}", observed.port);
    let output = squall(&["run", &taken, PROGRAM]).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("cannot be observed"), "{error}");
    let output = squall(&["run", "--confine", "--observe", PROGRAM]).output()?;
    assert!(String::from_utf8_lossy(&output.stderr).contains("--confine"), "{output:?}");
    Ok(())
}

/// A program that is observed writes the same and ends in the same way, also with a seed.
fn unchanged() -> Result<(), Failed> {
    for options in [&["run"][..], &["run", "--seed=7"]] {
        let program = "examples/primes.ns";
        let plain = squall(&[options, &[program]].concat()).output()?;
        let observed = squall(&[options, &["--observe", program]].concat()).output()?;
        assert_eq!(plain.stdout, observed.stdout, "{options:?}");
        assert_eq!(plain.status, observed.status, "{options:?}");
    }
    Ok(())
}

/// A program that sends an actor a message at each line of its input.
fn start_listening() -> Result<Observed, Failed> {
    let program = "tests/observer/memory.ns";
    let observed = Observed::start(&["run", "--observe=control", program])?;
    // The line that reads: the boot is outside now and then, too.
    observed.wait_until("/api/strands?state=outside", "rows.0.place.line", "23")?;
    Ok(observed)
}

impl Observed {
    fn type_line(&mut self) -> Result<(), Failed> {
        let input = self.process.stdin.as_mut().expect("it is piped");
        Ok(input.write_all(b"line\n")?)
    }

    fn json(&self, method: &str, target: &str) -> Result<Json, Failed> {
        let (status, answer) = self.ask(method, target)?;
        match status {
            200 => Ok(serde_json::from_str(&answer)?),
            _ => Err(format!("{target}: {status} {answer}").into()),
        }
    }
}

/// Asking for events turns the log on while the program runs.
fn events() -> Result<(), Failed> {
    let mut observed = start_listening()?;
    let (mut after, mut seen) = (0, Vec::new());
    let wanted = ["message sent", "message received", "turn begun", "turn ended"];
    for _ in 0..MOST {
        let answer = observed.json("GET", &format!("/api/events?after={after}"))?;
        after = answer["last"].as_u64().ok_or("no number")?;
        let rows = answer["rows"].as_array().cloned().unwrap_or_default();
        for row in &rows {
            let receiver = row["fields"]["receiver"].as_str().unwrap_or("Keeper");
            if receiver == "Keeper" {
                seen.push(row["kind"].as_str().unwrap_or_default().to_owned());
            }
        }
        if wanted.iter().all(|kind| seen.iter().any(|it| it == kind)) {
            return Ok(());
        }
        observed.type_line()?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("these are all: {seen:?}").into())
}

/// Events take time under a seed, so there are none.
fn no_events() -> Result<(), Failed> {
    let arguments = ["run", "--seed=1", "--allow-processes", "--observe", PROGRAM];
    let observed = Observed::start(&arguments)?;
    let (status, answer) = observed.ask("GET", "/api/events")?;
    assert_eq!(status, 409, "{answer}");
    observed.wait_until("/api/overview", "strands.states.waiting", "7")?;
    observed.wait_until("/api/overview", "strands.cycles", "1")
}

/// The census finds the objects of an actor in its vat.
fn census() -> Result<(), Failed> {
    let observed = start_listening()?;
    let mut census = Json::Null;
    // Until the turn that makes the objects is over, its stack has them, and no vat.
    for _ in 0..500 {
        census = observed.json("POST", "/api/census")?;
        let rows = census["classes"].as_array().ok_or("no classes")?;
        let entries = rows.iter().find(|row| row["class"] == "Entry");
        let largest = &census["vats"][0];
        if largest["vat"].as_u64() > Some(1) {
            let entries = entries.ok_or("no entries")?;
            assert_eq!(entries["objects"], 1000, "{census}");
            assert!(largest["bytes"].as_u64() >= entries["bytes"].as_u64(), "{census}");
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("no vat has them: {census}").into())
}

/// `squall top` prints what the server says, and refuses addresses that are none.
fn top() -> Result<(), Failed> {
    let observed = start()?;
    observed.wait_until("/api/overview", "strands.states.waiting", "7")?;
    let Observed { port, token, .. } = &observed;
    let address = format!("http://127.0.0.1:{port}/?token={token}");
    let output = squall(&["top", &address]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for part in
        ["strands  7:", "7 waiting", "DEADLOCK 1 cycle ", "waits for a channel", "deadlock.ns:"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let wrong = [
        format!("http://127.0.0.1:{port}/?token=0"),
        format!("http://127.0.0.1:{port}/"),
        "http://other.example/?token=1".to_owned(),
        "http://127.0.0.1:1/?token=1".to_owned(),
        "x".to_owned(),
        u32::MAX.to_string(),
    ];
    for address in wrong {
        let output = squall(&["top", "--once", &address]).output()?;
        assert_eq!(output.status.code(), Some(1), "{address}");
        assert!(!output.stderr.is_empty(), "{address}");
    }
    Ok(())
}

/// `squall top` finds a process by its number, through a file that goes with the process, even if a signal ends that.
fn file_for_top() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut command = squall(&["run", "--observe", "tests/observer/deadlock.ns"]);
    let mut observed = Observed::by({
        command.env("XDG_RUNTIME_DIR", folder.path());
        command
    })?;
    let number = observed.process.id().to_string();
    let top = squall(&["top", "--once", &number]).env("XDG_RUNTIME_DIR", folder.path()).output()?;
    assert!(top.status.success(), "{top:?}");
    let files = || Ok::<_, Failed>(folder.path().join("squall").read_dir()?.count());
    assert_eq!(files()?, 1);
    Command::new("kill").arg(&number).status()?;
    assert!(!observed.process.wait()?.success());
    assert_eq!(files()?, 0);
    Ok(())
}

fn squall(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
    command.args(arguments).current_dir(crate::root());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).env_remove("XDG_RUNTIME_DIR");
    command
}
