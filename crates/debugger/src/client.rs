//! A client of the Debug Adapter Protocol: the terminal's front end speaks to the server of a program by it.

use std::collections::VecDeque;
use std::io::{self, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::adapter;
use crate::protocol;

/// A client, and the program that it has started.
pub struct Client {
    stream: TcpStream,
    messages: Receiver<Json>,
    /// Events that came while an answer was awaited.
    events: VecDeque<Json>,
    sequence: u64,
    child: Child,
}

/// What comes next of a program.
pub enum Next {
    /// An event.
    Event(Json),
    /// Nothing, so far.
    None,
    /// The program has ended.
    End,
}

impl Client {
    /// Starts a program by the command that this makes for a port, and connects to its server.
    pub fn launch(command: impl FnOnce(u16) -> Result<Command, String>) -> Result<Client, String> {
        let text = |error: io::Error| error.to_string();
        let (listener, mut child) = adapter::spawn(command)?;
        let stream = adapter::accept(&listener, &mut child)?;
        let reader = stream.try_clone().map_err(text)?;
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            while let Ok(Some(message)) = protocol::read(&mut reader) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Ok(Client { stream, messages, events: VecDeque::new(), sequence: 0, child })
    }

    /// Sends a request, and answers the body of the response; the error is for the user.
    pub fn ask(&mut self, command: &str, arguments: Json) -> Result<Json, String> {
        self.sequence += 1;
        let request = json!({
            "seq": self.sequence, "type": "request", "command": command, "arguments": arguments,
        });
        let gone = "the program has ended";
        let mut stream: &TcpStream = &self.stream;
        protocol::write(&mut stream as &mut dyn Write, &request).map_err(|_| gone)?;
        loop {
            let mut message = self.messages.recv().map_err(|_| gone)?;
            if message["type"] == "event" {
                self.events.push_back(message);
            } else if message["request_seq"] == self.sequence {
                return match message["success"] == true {
                    true => Ok(message["body"].take()),
                    false => Err(message["message"].as_str().unwrap_or("it failed").to_owned()),
                };
            }
        }
    }

    /// The next event, if one comes within a time.
    pub fn event(&mut self, within: Duration) -> Next {
        if let Some(event) = self.events.pop_front() {
            return Next::Event(event);
        }
        match self.messages.recv_timeout(within) {
            Ok(message) => Next::Event(message),
            Err(RecvTimeoutError::Timeout) => Next::None,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }

    /// Waits for the program's end.
    pub fn wait(mut self) -> io::Result<std::process::ExitStatus> {
        self.child.wait()
    }

    /// Ends the program.
    pub fn kill(mut self) {
        // It may have ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
