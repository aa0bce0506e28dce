//! `squall debug`: an adapter between a client on the standard streams and the server of a program, which runs in a process
//! of its own. So what the program writes reaches the client as output, and no word of it gets between the messages.
//!
//! Clients say which program it is only when they know the capabilities. So the adapter answers `initialize` itself, refuses other
//! requests until `launch` or `attach`, and then lets the server answer those. The server gets an `initialize` of the
//! adapter's own, whose answer the client does not see.

use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufRead, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use crate::control::pauses::Scope;
use crate::forms::capabilities;
use crate::front::Front;
use crate::protocol;

/// Makes the command that runs a program for a debugger which listens at a port of this machine, from the arguments of
/// `launch`; whether the run repeats another one. The error is for the user.
pub type Launcher = dyn Fn(&Json, u16, bool) -> Result<Command, String>;

/// The way to the client. Messages of the server and the adapter's own get numbers here.
struct Client {
    stream: Box<dyn Write + Send>,
    sequence: u64,
}

type Output = Arc<Mutex<Client>>;

/// Sends a message to the client.
fn send(output: &Output, mut message: Json) -> io::Result<()> {
    let mut client = output.lock();
    client.sequence += 1;
    message["seq"] = json!(client.sequence);
    protocol::write(&mut *client.stream, &message)
}

/// Serves a client until it leaves. The text is the `stop` of configurations that have none.
pub fn serve(
    mut input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
    launcher: &Launcher,
    usual_stop: &str,
) -> io::Result<()> {
    let output: Output = Arc::new(Mutex::new(Client { stream: output, sequence: 0 }));
    while let Some(mut request) = protocol::read(&mut *input)? {
        if request["type"] != "request" {
            continue;
        }
        let command = request["command"].as_str().unwrap_or_default().to_owned();
        match command.as_str() {
            "launch" | "attach" => {}
            "initialize" => {
                send(&output, protocol::response(&request, Ok(capabilities())))?;
                continue;
            }
            "disconnect" | "terminate" => {
                return send(&output, protocol::response(&request, Ok(json!({}))));
            }
            _ => {
                // Clients send settings when the program is there to hear them: the event `initialized` says so.
                let problem = Err("no program was started".into());
                send(&output, protocol::response(&request, problem))?;
                continue;
            }
        }
        if request["arguments"].is_object() && request["arguments"]["stop"].is_null() {
            request["arguments"]["stop"] = json!(usual_stop);
        }
        let stop = &request["arguments"]["stop"];
        let problem = match command.as_str() {
            _ if !stop.is_null() && stop.as_str().and_then(Scope::named).is_none() => {
                "stop is all, vat or strand".to_owned()
            }
            "attach" => match attach(&request["arguments"], &output) {
                Ok(front) => return front.run(vec![request], input, false),
                Err(problem) => problem,
            },
            _ => match launch(&request, input, launcher, &output) {
                Ok(ran) => return ran,
                Err((problem, again)) => {
                    input = again;
                    problem
                }
            },
        };
        send(&output, protocol::response(&request, Err(problem)))?;
    }
    Ok(())
}

/// The pipes by which what the program writes comes here: its writing ends, and the threads that pass it on.
struct Pipes {
    ends: [PipeWriter; 2],
    forwarders: [JoinHandle<()>; 2],
    mark: Mark,
}

impl Pipes {
    fn new(output: &Output) -> io::Result<Pipes> {
        let ((from_output, to_output), (from_error, to_error)) = (pipe()?, pipe()?);
        let text = format!("\0{:032x}\0", random());
        let forward = |category, stream, passed| {
            let (output, text) = (output.clone(), text.clone());
            let forwarder = Forwarder { category, output, text, passed };
            std::thread::spawn(move || forwarder.run(stream))
        };
        let ((output_passed, is_output_passed), (error_passed, is_error_passed)) =
            (channel(), channel());
        let ends =
            [(to_output.try_clone()?, is_output_passed), (to_error.try_clone()?, is_error_passed)];
        let forwarders = [
            forward("stdout", from_output, output_passed),
            forward("stderr", from_error, error_passed),
        ];
        Ok(Pipes { ends: [to_output, to_error], forwarders, mark: Mark { ends, text } })
    }
}

/// A number that nobody can guess.
fn random() -> u128 {
    let half = || u128::from(std::hash::RandomState::new().build_hasher().finish());
    half() << 64 | half()
}

/// A text in both pipes behind all that the program has written, which no program writes. So the client hears that the program has
/// ended when it has heard what that has written, although other processes may still have the pipes.
struct Mark {
    /// The writing end of each pipe, and where its forwarder tells that the text has come out; it hangs up when the client has left.
    ends: [(PipeWriter, Receiver<()>); 2],
    text: String,
}

impl Mark {
    /// Waits until all that is in the pipes is passed on.
    fn pass(&mut self) {
        for (end, is_passed) in &mut self.ends {
            // Short texts are written as a whole. Without a forwarder, nothing is to be awaited.
            if end.write_all(self.text.as_bytes()).is_ok() {
                _ = is_passed.recv();
            }
        }
    }
}

/// Why a program was not started, and the client's further requests.
type NotStarted = (String, Box<dyn BufRead + Send>);

/// Starts the program of a `launch` request, and serves the client until it leaves.
fn launch(
    request: &Json,
    input: Box<dyn BufRead + Send>,
    launcher: &Launcher,
    output: &Output,
) -> Result<io::Result<()>, NotStarted> {
    let text = |error: io::Error| error.to_string();
    let pipes = match Pipes::new(output) {
        Ok(pipes) => pipes,
        Err(error) => return Err((text(error), input)),
    };
    let Pipes { ends: [to_output, to_error], forwarders, mut mark } = pipes;
    let arguments = request["arguments"].clone();
    let command = move |port, is_again| {
        let mut command = launcher(&arguments, port, is_again)?;
        command.stdin(Stdio::null());
        command.stdout(to_output.try_clone().map_err(text)?);
        command.stderr(to_error.try_clone().map_err(text)?);
        Ok(command)
    };
    let client = Arc::clone(output);
    let tell = move |message: Json| {
        if message["event"] == "exited" {
            mark.pass();
        }
        // A client that has left hears nothing.
        _ = send(&client, message);
    };
    let front = Front::launch(Box::new(command), Box::new(tell));
    let ran = match front {
        Ok(front) => Ok(front.run(vec![request.clone()], input, false)),
        Err(problem) => Err((problem, input)),
    };
    // What the program has written is passed on first; if it has not started, that says why.
    forwarders.into_iter().for_each(|forwarder| _ = forwarder.join());
    ran
}

/// Speaks to the program of an `attach` request.
fn attach<'a>(arguments: &Json, output: &Output) -> Result<Front<'a>, String> {
    let port = arguments["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    let port = port.ok_or("attach needs the port that `squall run --debug` has shown")?;
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
    let stream = stream.map_err(|error| format!("nothing listens at port {port}: {error}"))?;
    let client = Arc::clone(output);
    Front::attach(stream, Box::new(move |message| _ = send(&client, message)))
}

/// Sends what the program writes to the client.
struct Forwarder {
    category: &'static str,
    output: Output,
    /// The text of the [mark](Mark), and where it is told that it has come.
    text: String,
    passed: Sender<()>,
}

impl Forwarder {
    fn run(&self, mut stream: PipeReader) {
        let mut buffer = [0; 1 << 14];
        let mut rest = Vec::new();
        while let Ok(count) = stream.read(&mut buffer) {
            if count == 0 {
                if !rest.is_empty() {
                    self.send(&rest);
                }
                break;
            }
            rest.extend_from_slice(&buffer[..count]);
            if !self.pass_on(&mut rest) {
                break;
            }
        }
    }

    /// Passes on what is whole of the bytes; answers whether the client hears.
    fn pass_on(&self, rest: &mut Vec<u8>) -> bool {
        let text = self.text.as_bytes();
        while let Some(place) = rest.windows(text.len()).position(|bytes| bytes == text) {
            let before: Vec<u8> = rest.drain(..place + text.len()).take(place).collect();
            let is_heard = before.is_empty() || self.send(&before);
            // The one that waits may have gone.
            _ = self.passed.send(());
            if !is_heard {
                return false;
            }
        }
        let whole = whole(rest) - unfinished(rest, text);
        let complete: Vec<u8> = rest.drain(..whole).collect();
        complete.is_empty() || self.send(&complete)
    }

    fn send(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let body = json!({ "category": self.category, "output": text });
        send(&self.output, protocol::event("output", body)).is_ok()
    }
}

/// How many bytes are whole characters: one may come in two parts.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// How many of the last bytes may be the beginning of a text.
fn unfinished(bytes: &[u8], text: &[u8]) -> usize {
    (1..text.len()).rev().find(|&count| bytes.ends_with(&text[..count])).unwrap_or(0)
}
