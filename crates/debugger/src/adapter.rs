//! `squall debug`: an adapter between a client on the standard streams and the server of a program, which runs in a process
//! of its own. So what the program writes reaches the client as output, and no word of it gets between the messages.
//!
//! Clients say which program it is only when they know the capabilities. So the adapter answers `initialize` itself, keeps other
//! requests until `launch` or `attach`, and then lets the server answer those. The server gets an `initialize` of the
//! adapter's own, whose answer the client does not see.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use crate::forms::capabilities;
use crate::protocol;

/// Makes the command that runs a program for a debugger which listens at a port of this machine, from the arguments of
/// `launch`; the error is for the user.
pub type Launcher = dyn Fn(&Json, u16) -> Result<Command, String>;

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
    input: &mut dyn BufRead,
    output: Box<dyn Write + Send>,
    launcher: &Launcher,
    stop: &str,
) -> io::Result<()> {
    let output: Output = Arc::new(Mutex::new(Client { stream: output, sequence: 0 }));
    let mut kept = Vec::new();
    while let Some(mut request) = protocol::read(input)? {
        let program = match request["command"].as_str() {
            Some("launch") => launch(&request["arguments"], launcher, &output),
            Some("attach") => attach(&request["arguments"]),
            Some("initialize") => {
                send(&output, protocol::response(&request, Ok(capabilities())))?;
                continue;
            }
            Some("disconnect" | "terminate") => {
                return send(&output, protocol::response(&request, Ok(json!({}))));
            }
            _ => {
                kept.push(request);
                continue;
            }
        };
        match program {
            Ok(program) => {
                if request["arguments"].is_object() && request["arguments"]["stop"].is_null() {
                    request["arguments"]["stop"] = json!(stop);
                }
                kept.push(request);
                return program.run(kept, input, &output);
            }
            Err(problem) => {
                send(&output, protocol::response(&request, Err(problem)))?;
            }
        }
    }
    Ok(())
}

/// A program with a server.
struct Program {
    stream: TcpStream,
    child: Option<Child>,
    /// The threads that pass on what it writes.
    forwarders: Vec<JoinHandle<()>>,
}

fn launch(arguments: &Json, launcher: &Launcher, output: &Output) -> Result<Program, String> {
    let (listener, mut child) = spawn(|port| {
        let mut command = launcher(arguments, port)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    })?;
    let streams = [
        ("stdout", child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>)),
        ("stderr", child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>)),
    ];
    let forwarders = streams.map(|(category, stream)| {
        let output = Arc::clone(output);
        std::thread::spawn(move || forward(category, stream, &output))
    });
    let stream = accept(&listener, &mut child);
    match stream {
        Ok(stream) => Ok(Program { stream, child: Some(child), forwarders: forwarders.into() }),
        Err(problem) => {
            // What the program has written says why.
            forwarders.into_iter().for_each(|forwarder| _ = forwarder.join());
            Err(problem)
        }
    }
}

/// Starts the program whose command this makes for a port, at which it is to connect to the listener.
pub(crate) fn spawn(
    command: impl FnOnce(u16) -> Result<Command, String>,
) -> Result<(TcpListener, Child), String> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let child = command(port)?.spawn();
    Ok((listener, child.map_err(|error| format!("the program cannot start: {error}"))?))
}

/// The connection of the program that was started, unless it ends before.
pub(crate) fn accept(listener: &TcpListener, child: &mut Child) -> Result<TcpStream, String> {
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(|error| error.to_string())?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.to_string()),
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("the program has not started: {status}"));
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn attach(arguments: &Json) -> Result<Program, String> {
    let port = arguments["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    let port = port.ok_or("attach needs the port that `squall run --debug` has shown")?;
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
    let stream = stream.map_err(|error| format!("nothing listens at port {port}: {error}"))?;
    Ok(Program { stream, child: None, forwarders: Vec::new() })
}

/// Sends what the program writes to the client.
fn forward(category: &str, stream: Option<Box<dyn Read + Send>>, output: &Output) {
    let Some(mut stream) = stream else { return };
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

impl Program {
    /// Passes messages on in both directions, the kept requests first, until either side ends.
    fn run(mut self, kept: Vec<Json>, input: &mut dyn BufRead, output: &Output) -> io::Result<()> {
        let mut server = self.stream.try_clone()?;
        let (output, from_server) = (Arc::clone(output), self.stream.try_clone()?);
        let answers = std::thread::spawn(move || {
            let mut from_server = BufReader::new(from_server);
            while let Ok(Some(message)) = protocol::read(&mut from_server) {
                if message["type"] == "response" && message["command"] == "initialize" {
                    continue;
                }
                if send(&output, message).is_err() {
                    break;
                }
            }
        });
        let initialize = json!({ "seq": 0, "type": "request", "command": "initialize" });
        protocol::write(&mut server, &initialize)?;
        for request in kept {
            protocol::write(&mut server, &request)?;
        }
        let passed = pass_requests(input, &mut server);
        // The server hangs up after its answer; the program may have ended before.
        _ = answers.join();
        if let Some(child) = &mut self.child {
            // A program that was launched ends with its client.
            _ = child.kill();
            _ = child.wait();
            self.forwarders.into_iter().for_each(|forwarder| _ = forwarder.join());
        }
        passed
    }
}

/// Passes requests on until the client leaves. A client that goes without a word is taken to have asked for it.
fn pass_requests(input: &mut dyn BufRead, server: &mut TcpStream) -> io::Result<()> {
    let leave = json!({ "seq": 0, "type": "request", "command": "disconnect" });
    loop {
        let request = match protocol::read(input) {
            Ok(Some(request)) => request,
            Ok(None) => {
                _ = protocol::write(server, &leave);
                return Ok(());
            }
            Err(error) => {
                _ = protocol::write(server, &leave);
                return Err(error);
            }
        };
        let is_last = matches!(request["command"].as_str(), Some("disconnect" | "terminate"));
        if protocol::write(server, &request).is_err() || is_last {
            return Ok(());
        }
    }
}
