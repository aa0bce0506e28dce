//! A client of the Debug Adapter Protocol: the terminal's front end speaks to the server of a program by it.

use std::collections::VecDeque;
use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::front::Front;
use crate::protocol;

/// How often a client that waits for an answer looks whether it is to cancel its request.
const GLANCE: Duration = Duration::from_millis(50);

/// A client, and the program that it has started.
pub struct Client {
    stream: UnixStream,
    messages: Receiver<Json>,
    /// Events that came while an answer was awaited.
    events: VecDeque<Json>,
    sequence: u64,
    front: JoinHandle<()>,
    /// No more messages come.
    is_gone: bool,
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
    /// Starts a program by the commands that this makes for a port, and speaks to its server.
    pub fn launch(
        command: impl FnMut(u16, bool) -> Result<Command, String> + Send + 'static,
    ) -> Result<Client, String> {
        let text = |error: io::Error| error.to_string();
        let (stream, other) = UnixStream::pair().map_err(text)?;
        let (sender, messages) = channel();
        let (ready, is_ready) = channel();
        let run = move || {
            let output = Box::new(move |message| _ = sender.send(message));
            let front = match Front::launch(Box::new(command), output) {
                Ok(front) => front,
                Err(problem) => {
                    _ = ready.send(Err(problem));
                    return;
                }
            };
            _ = ready.send(Ok(()));
            // Its end says all.
            _ = front.run(Vec::new(), Box::new(BufReader::new(other)), true);
        };
        let front = std::thread::spawn(run);
        is_ready.recv().map_err(|_| "the debugger's front has ended")??;
        Ok(Client { stream, messages, events: VecDeque::new(), sequence: 0, front, is_gone: false })
    }

    /// Sends a request, and answers the body of the response; the error is for the user.
    pub fn ask(&mut self, command: &str, arguments: Json) -> Result<Json, String> {
        self.ask_unless(command, arguments, &AtomicBool::new(false))
    }

    /// As [`Client::ask`], but the request is cancelled if the flag is set meanwhile.
    pub fn ask_unless(
        &mut self,
        command: &str,
        arguments: Json,
        is_cancelled: &AtomicBool,
    ) -> Result<Json, String> {
        let asked = self.send(command, arguments);
        loop {
            let mut message = match self.messages.recv_timeout(GLANCE) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => {
                    if is_cancelled.swap(false, Ordering::Relaxed) {
                        self.send("cancel", json!({ "requestId": asked }));
                    }
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.is_gone = true;
                    return Err("the program has ended".into());
                }
            };
            if message["type"] == "event" {
                self.events.push_back(message);
            } else if message["request_seq"] == asked {
                return match message["success"] == true {
                    true => Ok(message["body"].take()),
                    false => Err(message["message"].as_str().unwrap_or("it failed").to_owned()),
                };
            }
        }
    }

    /// Sends a request, and answers its number.
    fn send(&mut self, command: &str, arguments: Json) -> u64 {
        self.sequence += 1;
        let request = json!({
            "seq": self.sequence, "type": "request", "command": command, "arguments": arguments,
        });
        let mut stream: &UnixStream = &self.stream;
        // If the front has ended, its channel says so, after its last messages.
        _ = protocol::write(&mut stream as &mut dyn Write, &request);
        self.sequence
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

    /// Whether the program has ended, and only its last events may not have been taken.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Waits for the program's end.
    pub fn wait(self) {
        // It panics only if the front did.
        _ = self.front.join();
    }

    /// Ends the program.
    pub fn kill(self) {
        drop(self.stream);
        _ = self.front.join();
    }
}
