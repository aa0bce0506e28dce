//! `squall debug`: an adapter between a client on the standard streams and the server of a program, which runs in a process
//! of its own. So what the program writes reaches the client as output, and no word of it gets between the messages.
//!
//! Clients say which program it is only when they know the capabilities. So the adapter answers `initialize` itself, refuses other
//! requests until `launch` or `attach`, and then lets the server answer those. The server gets an `initialize` of the
//! adapter's own, whose answer the client does not see.

use std::io::{self, BufRead, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
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
}

impl Pipes {
    fn new(output: &Output) -> io::Result<Pipes> {
        let ((from_output, to_output), (from_error, to_error)) = (pipe()?, pipe()?);
        let forwarders =
            [("stdout", from_output), ("stderr", from_error)].map(|(category, stream)| {
                let output = Arc::clone(output);
                std::thread::spawn(move || forward(category, stream, &output))
            });
        Ok(Pipes { ends: [to_output, to_error], forwarders })
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
    let Pipes { ends: [to_output, to_error], forwarders } = pipes;
    let arguments = request["arguments"].clone();
    let command = move |port, is_again| {
        let mut command = launcher(&arguments, port, is_again)?;
        command.stdin(Stdio::null());
        command.stdout(to_output.try_clone().map_err(text)?);
        command.stderr(to_error.try_clone().map_err(text)?);
        Ok(command)
    };
    let client = Arc::clone(output);
    // A client that has left hears nothing.
    let front =
        Front::launch(Box::new(command), Box::new(move |message| _ = send(&client, message)));
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
fn forward(category: &str, mut stream: PipeReader, output: &Output) {
    let mut buffer = [0; 1 << 14];
    let mut rest = Vec::new();
    while let Ok(count) = stream.read(&mut buffer) {
        if count == 0 {
            break;
        }
        rest.extend_from_slice(&buffer[..count]);
        // A character may come in two parts.
        let whole = match std::str::from_utf8(&rest) {
            Ok(_) => rest.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => rest.len(),
        };
        let text = String::from_utf8_lossy(&rest[..whole]).into_owned();
        rest.drain(..whole);
        let event = protocol::event("output", json!({ "category": category, "output": text }));
        if send(output, event).is_err() {
            break;
        }
    }
}
