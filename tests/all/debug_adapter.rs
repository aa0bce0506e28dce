//! Sessions with the debugger by the Debug Adapter Protocol, as editors have them: what a terminal does not show, such as strands
//! that stop while others run, clients that leave, and messages that no client should send. `main.rs` collects the tests as
//! trials.

mod attacks;
mod ends;
mod past;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use serde_json::{Value as Json, json};

/// A test of a session.
type Session = fn() -> Result<(), Failed>;

pub fn trials() -> Vec<Trial> {
    let sessions: [(&str, Session); 27] = [
        ("strands_that_stop_alone", || strands_stop_alone("strand")),
        ("vats_that_stop_alone", || strands_stop_alone("vat")),
        ("one_strand_is_paused", one_strand_is_paused),
        ("a_deadlock_beside_a_stopped_strand", deadlock_beside_a_stopped_strand),
        ("the_program_ends_beside_a_stopped_strand", end_beside_a_stopped_strand),
        ("clients_that_leave", clients_leave),
        ("requests_that_make_no_sense", senseless_requests),
        ("messages_that_are_none", senseless_messages),
        ("steps_of_several_strands", steps_of_several_strands),
        ("a_race_is_followed_back_to_its_write", race_is_followed_back),
        ("no_way_back", no_way_back),
        ("a_data_breakpoint_in_code_that_runs", data_breakpoint_in_running_code),
        ("a_recording_goes_back", past::recording),
        ("data_breakpoints_of_the_past", past::data_breakpoints),
        ("a_run_that_diverges", past::diverging_run),
        ("a_way_back_that_is_cancelled", past::cancelled_way),
        ("a_copy_is_a_whole_process", past::copy_is_a_whole_process),
        ("attacks_conditions", attacks::conditions),
        ("attacks_leaving_in_the_middle", attacks::leaving_in_the_middle),
        ("attacks_leaving_a_condition", attacks::leaving_a_condition),
        ("attacks_two_clients", attacks::two_clients),
        ("a_program_that_is_killed", ends::killed_program),
        ("requests_at_the_end", ends::requests_at_the_end),
        ("requests_without_a_program", ends::no_program),
        ("launches_that_make_no_sense", ends::senseless_launches),
        ("breakpoints_that_are_refused", ends::refused_breakpoints),
        ("pauses_in_succession", ends::pauses_in_succession),
    ];
    let trial = |(name, session): (&str, Session)| Trial::test(format!("adapter {name}"), session);
    sessions.into_iter().map(trial).collect()
}

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A client of the debugger's adapter.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Json>,
    events: Vec<Json>,
    sequence: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn read(stream: &mut dyn BufRead) -> Option<Json> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim_end().is_empty() {
            break;
        }
        if let Some(text) = line.strip_prefix("Content-Length: ") {
            length = text.trim().parse().ok()?;
        }
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

impl Client {
    fn new() -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        command.arg("debug").current_dir(crate::root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("squall can be started");
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Client { child, input, messages, events: Vec::new(), sequence: 0 }
    }

    /// Starts a program with breakpoints at lines, and lets it run.
    fn launch(program: &str, stop: &str, lines: &[u32]) -> Result<Client, Failed> {
        let mut client = Client::new();
        let capabilities = client.ask("initialize", json!({ "adapterID": "squall" }))?;
        equal(&capabilities["supportsDataBreakpoints"], &json!(true))?;
        client.ask("launch", json!({ "program": program, "stop": stop }))?;
        client.ask("setBreakpoints", breakpoints(program, lines))?;
        client.ask("configurationDone", json!({}))?;
        Ok(client)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failed> {
        let input = self.input.as_mut().ok_or("the client has left")?;
        input
            .write_all(bytes)
            .and_then(|()| input.flush())
            .map_err(|error| error.to_string().into())
    }

    fn send(&mut self, command: &str, arguments: Json) -> Result<u64, Failed> {
        self.sequence += 1;
        let request = json!({
            "seq": self.sequence, "type": "request", "command": command, "arguments": arguments,
        });
        let text = request.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes())?;
        Ok(self.sequence)
    }

    fn receive(&mut self) -> Result<Json, Failed> {
        self.messages.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => "no message comes".into(),
            RecvTimeoutError::Disconnected => "the adapter has ended".into(),
        })
    }

    /// Sends a request, and answers the body of its response, or the reason why it fails.
    fn tried(&mut self, command: &str, arguments: Json) -> Result<Result<Json, String>, Failed> {
        let sequence = self.send(command, arguments)?;
        loop {
            let mut message = self.receive()?;
            if message["type"] == "event" {
                self.events.push(message);
            } else if message["request_seq"] == sequence {
                return Ok(match message["success"] == true {
                    true => Ok(message["body"].take()),
                    false => Err(message["message"].as_str().unwrap_or_default().to_owned()),
                });
            }
        }
    }

    fn ask(&mut self, command: &str, arguments: Json) -> Result<Json, Failed> {
        self.tried(command, arguments)?
            .map_err(|problem| format!("{command} fails: {problem}").into())
    }

    /// The next event with this name, whenever it came.
    fn event(&mut self, name: &str) -> Result<Json, Failed> {
        loop {
            if let Some(index) = self.events.iter().position(|event| event["event"] == name) {
                return Ok(self.events.remove(index)["body"].take());
            }
            let message = self.receive()?;
            if message["type"] == "event" {
                self.events.push(message);
            }
        }
    }

    /// The strand that stops next, and the line where it does.
    fn stop(&mut self) -> Result<(u64, u64), Failed> {
        let body = self.event("stopped")?;
        let strand = body["threadId"].as_u64().ok_or("no strand has stopped")?;
        let stack = self.ask("stackTrace", json!({ "threadId": strand }))?;
        let frames = stack["stackFrames"].as_array().cloned().unwrap_or_default();
        let own = frames.iter().find(|frame| frame["presentationHint"] == "normal");
        let line = own.and_then(|frame| frame["line"].as_u64()).ok_or("there is no frame")?;
        Ok((strand, line))
    }

    /// The strand whose name begins like this, but not the other one. It may not have begun yet.
    fn strand_named(&mut self, kind: &str, other: Option<u64>) -> Result<u64, Failed> {
        let is_meant = |thread: &&Json| {
            thread["name"].as_str().is_some_and(|name| name.starts_with(kind))
                && thread["id"].as_u64() != other
        };
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let threads = self.ask("threads", json!({}))?;
            let found = threads["threads"].as_array().into_iter().flatten().find(is_meant);
            if let Some(strand) = found.and_then(|thread| thread["id"].as_u64()) {
                return Ok(strand);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Err("there is none".into())
    }

    /// The frame of a function on the stack of a strand.
    fn frame_of(&mut self, strand: u64, function: &str) -> Result<Json, Failed> {
        let stack = self.ask("stackTrace", json!({ "threadId": strand }))?;
        let mut frames = stack["stackFrames"].as_array().into_iter().flatten();
        let frame = frames.find(|frame| frame["name"] == function).ok_or("there is no frame")?;
        Ok(frame["id"].clone())
    }

    /// Pauses a process in its `Spinner>>run`, which it may not have begun yet. Answers the frame.
    fn pause_in_loop(&mut self, spinning: u64) -> Result<Json, Failed> {
        loop {
            self.ask("pause", json!({ "threadId": spinning }))?;
            equal(self.stop()?.0, spinning)?;
            if let Ok(frame) = self.frame_of(spinning, "Spinner>>run") {
                return Ok(frame);
            }
            self.resume(spinning)?;
        }
    }

    fn resume(&mut self, strand: u64) -> Result<Json, Failed> {
        self.ask("continue", json!({ "threadId": strand, "singleThread": true }))
    }

    /// What the program has written until it has ended, and its exit code.
    fn end(mut self) -> Result<(String, i64), Failed> {
        let code = self.event("exited")?["exitCode"].as_i64().ok_or("there is no code")?;
        self.input = None;
        while let Ok(message) = self.messages.recv_timeout(PATIENCE) {
            self.events.push(message);
        }
        let text = |event: &Json| event["body"]["output"].as_str().unwrap_or_default().to_owned();
        let outputs = self.events.iter().filter(|event| event["event"] == "output");
        Ok((outputs.map(text).collect(), code))
    }
}

fn breakpoints(program: &str, lines: &[u32]) -> Json {
    let lines: Vec<Json> = lines.iter().map(|line| json!({ "line": line })).collect();
    json!({ "source": { "path": program }, "breakpoints": lines })
}

const PARTS: &str = "tests/debugger/parts.ns";

/// Compares, and says what differs.
fn equal<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Result<(), Failed> {
    if found == expected {
        return Ok(());
    }
    Err(format!("found {found:?}, expected {expected:?}").into())
}

/// Both processes and the main turn stop at once, and go on one after the other.
fn strands_stop_alone(stop: &str) -> Result<(), Failed> {
    let mut client = Client::launch(PARTS, stop, &[12, 24])?;
    let first = client.event("stopped")?;
    equal(&first["allThreadsStopped"], &json!(false))?;
    client.events.push(json!({ "type": "event", "event": "stopped", "body": first }));
    let (first, second) = (client.stop()?, client.stop()?);
    equal((first.1, second.1), (12, 12))?;
    // Each shows its own variables.
    for (strand, _) in [first, second] {
        let stack = client.ask("stackTrace", json!({ "threadId": strand }))?;
        let frame = stack["stackFrames"][0]["id"].clone();
        let value =
            client.ask("evaluate", json!({ "expression": "number", "frameId": frame }))?["result"]
                .clone();
        if !["1", "2"].contains(&value.as_str().unwrap_or_default()) {
            return Err(format!("number is {value}").into());
        }
    }
    let answer = client.resume(first.0)?;
    equal(&answer["allThreadsContinued"], &json!(false))?;
    let main = client.stop()?;
    equal(main.1, 24)?;
    let problem = client.tried("continue", json!({ "threadId": first.0, "singleThread": true }))?;
    equal(problem.is_err(), true)?;
    // All others go on.
    let answer = client.ask("continue", json!({ "threadId": main.0 }))?;
    equal(&answer["allThreadsContinued"], &json!(true))?;
    let (output, code) = client.end()?;
    equal((output.as_str(), code), ("3\n33\n1\n", 3))
}

/// A strand that spins is paused; the others go on.
fn one_strand_is_paused() -> Result<(), Failed> {
    let mut client = Client::launch("tests/debugger/watched.ns", "strand", &[])?;
    client.event("output")?;
    let spinning = client.strand_named("process", None)?;
    let frame = client.pause_in_loop(spinning)?;
    client.ask(
        "setExpression",
        json!({ "expression": "cell.goesOn", "value": "false", "frameId": frame }),
    )?;
    client.resume(spinning)?;
    let (_, code) = client.end()?;
    equal(code, 4)
}

/// A slot is watched in code that runs as machine code meanwhile, and of two objects one only.
fn data_breakpoint_in_running_code() -> Result<(), Failed> {
    let mut client = Client::launch("tests/debugger/watched.ns", "strand", &[])?;
    client.event("output")?;
    let spinning = client.strand_named("process", None)?;
    let frame = client.pause_in_loop(spinning)?;
    let slot = json!({ "name": "cell count", "frameId": frame });
    let slot = client.ask("dataBreakpointInfo", slot)?["dataId"].clone();
    let breakpoints = json!({ "breakpoints": [{ "dataId": slot, "accessType": "write" }] });
    client.ask("setDataBreakpoints", breakpoints)?;
    let mut last = None;
    for _ in 0..3 {
        client.resume(spinning)?;
        let stop = client.event("stopped")?;
        equal(&stop["reason"], &json!("data breakpoint"))?;
        let frame = client.frame_of(spinning, "Spinner>>run")?;
        let count = json!({ "expression": "cell count", "frameId": frame });
        let count = client.ask("evaluate", count)?["result"].clone();
        let count: u64 = count.as_str().unwrap_or_default().parse()?;
        // Each write stops.
        equal(last.replace(count).is_none_or(|last: u64| last + 1 == count), true)?;
        let expected = format!("count: {count} → {}", count + 1);
        equal(stop["description"].as_str(), Some(expected.as_str()))?;
    }
    client.ask("setDataBreakpoints", json!({ "breakpoints": [] }))?;
    let frame = client.frame_of(spinning, "Spinner>>run")?;
    let end = json!({ "expression": "cell.goesOn", "value": "false", "frameId": frame });
    client.ask("setExpression", end)?;
    client.resume(spinning)?;
    equal(client.end()?.1, 4)
}

/// The detector of deadlocks waits for strands that are stopped.
fn deadlock_beside_a_stopped_strand() -> Result<(), Failed> {
    let mut client = Client::launch(PARTS, "strand", &[12])?;
    let (first, second) = (client.stop()?, client.stop()?);
    // The main turn waits, and no strand runs. Both still go on.
    client.resume(second.0)?;
    client.resume(first.0)?;
    let (output, code) = client.end()?;
    equal((output.as_str(), code), ("3\n33\n1\n", 3))
}

/// The program ends although a strand is stopped.
fn end_beside_a_stopped_strand() -> Result<(), Failed> {
    for stop in ["strand", "vat"] {
        let mut client = Client::launch("tests/debugger/spinning.ns", stop, &[16])?;
        let (strand, _) = client.stop()?;
        let frame = client.ask("stackTrace", json!({ "threadId": strand }))?;
        equal(frame["stackFrames"][0]["name"].as_str(), Some("Idler>>run"))?;
        // A second client of the protocol has no way in, and requests for a strand that is gone fail.
        client.ask("evaluate", json!({ "expression": "self" }))?;
        client.ask("setBreakpoints", breakpoints("tests/debugger/spinning.ns", &[]))?;
        client.event("output")?;
        let spinning = client.strand_named("process", Some(strand))?;
        let frame = client.pause_in_loop(spinning)?;
        client.ask(
            "setExpression",
            json!({ "expression": "self.goesOn", "value": "false", "frameId": frame }),
        )?;
        client.resume(spinning)?;
        let (_, code) = client.end()?;
        equal(code, 5)?;
    }
    Ok(())
}

/// The program goes on when a client that attached leaves, however it does.
fn clients_leave() -> Result<(), Failed> {
    for (stop, says_so) in [("all", true), ("all", false), ("strand", true), ("strand", false)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        command.args(["run", "--debug=0", PARTS]).current_dir(crate::root());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = command.spawn()?;
        let mut announced = String::new();
        let mut error = BufReader::new(program.stderr.take().ok_or("it is piped")?);
        error.read_line(&mut announced)?;
        let port: u64 = announced.trim().rsplit(' ').next().unwrap_or_default().parse()?;
        let mut client = Client::new();
        client.ask("initialize", json!({}))?;
        client.ask("attach", json!({ "port": port, "stop": stop }))?;
        client.ask("setBreakpoints", breakpoints(PARTS, &[12, 24]))?;
        client.ask("configurationDone", json!({}))?;
        client.stop()?;
        if stop == "strand" {
            client.stop()?;
        }
        if says_so {
            client.ask("disconnect", json!({}))?;
        }
        drop(client);
        let mut output = String::new();
        program.stdout.take().ok_or("it is piped")?.read_to_string(&mut output)?;
        equal((output.as_str(), program.wait()?.code()), ("3\n33\n1\n", Some(3)))?;
    }
    Ok(())
}

/// Requests with missing or wrong parts fail, and the session goes on.
fn senseless_requests() -> Result<(), Failed> {
    let mut client = Client::launch(PARTS, "all", &[24])?;
    client.stop()?;
    let commands = [
        "stackTrace",
        "variables",
        "setVariable",
        "setExpression",
        "evaluate",
        "completions",
        "goto",
        "gotoTargets",
        "restartFrame",
        "disassemble",
        "dataBreakpointInfo",
        "setDataBreakpoints",
        "setFunctionBreakpoints",
        "setBreakpoints",
        "setExceptionBreakpoints",
        "breakpointLocations",
        "source",
        "scopes",
        "squall/step",
        "squall/steps",
        "dance",
        "",
    ];
    let values = [json!(null), json!(-1), json!(1e300), json!("x"), json!([[]]), json!(u64::MAX)];
    let names = [
        "threadId",
        "frameId",
        "variablesReference",
        "name",
        "value",
        "expression",
        "text",
        "column",
        "targetId",
        "memoryReference",
        "instructionCount",
        "instructionOffset",
        "offset",
        "breakpoints",
        "filters",
        "source",
        "line",
        "endLine",
        "startFrame",
        "levels",
        "step",
    ];
    for command in commands {
        for value in &values {
            let all: serde_json::Map<String, Json> =
                names.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
            // Some of them succeed: what matters is that there is an answer.
            _ = client.tried(command, Json::Object(all))?;
            _ = client.tried(command, value.clone())?;
        }
    }
    let answer = client.ask("evaluate", json!({ "expression": "1 + 1" }))?;
    equal(&answer["result"], &json!("2"))?;
    client.ask("setFunctionBreakpoints", json!({ "breakpoints": [] }))?;
    client.ask("continue", json!({ "threadId": 1 }))?;
    let (output, code) = client.end()?;
    equal((output.as_str(), code), ("3\n33\n1\n", 3))
}

/// Bytes that are no messages end the session, and the program with it.
fn senseless_messages() -> Result<(), Failed> {
    let mut deep = "[".repeat(200_000);
    deep.push_str(&"]".repeat(200_000));
    let deep = format!("Content-Length: {}\r\n\r\n{deep}", deep.len());
    let messages = [
        "Content-Length: 99999999999\r\n\r\n",
        "hello\r\n\r\n",
        "Content-Length: 2\r\n\r\n{]",
        &deep,
    ];
    for message in messages {
        let mut client = Client::launch(PARTS, "all", &[24])?;
        client.stop()?;
        client.write(message.as_bytes())?;
        while client.receive().is_ok() {}
        equal(client.child.wait()?.success(), false)?;
    }
    Ok(())
}

/// The deposit that a rare schedule loses: from the exception back to the write without a lock, and forth again.
fn race_is_followed_back() -> Result<(), Failed> {
    const LOST: &str = "tests/debugger/lost.ns";
    let mut client = Client::new();
    let capabilities = client.ask("initialize", json!({ "adapterID": "squall" }))?;
    equal(&capabilities["supportsStepBack"], &Json::Null)?;
    client.ask("launch", json!({ "program": LOST, "seed": 106 }))?;
    let more = client.event("capabilities")?;
    equal(&more["capabilities"]["supportsStepBack"], &json!(true))?;
    client.ask("setExceptionBreakpoints", json!({ "filters": ["uncaught"] }))?;
    client.ask("configurationDone", json!({}))?;
    let (failing, line) = client.stop()?;
    equal(line, 38)?;
    let set = client.ask("setBreakpoints", breakpoints(LOST, &[20]))?;
    client.ask("reverseContinue", json!({ "threadId": failing }))?;
    let stop = client.event("stopped")?;
    equal(&stop["reason"], &json!("breakpoint"))?;
    equal(&stop["hitBreakpointIds"][0], &set["breakpoints"][0]["id"])?;
    let writing = stop["threadId"].as_u64().ok_or("no strand has stopped")?;
    let frame = client.frame_of(writing, "Account>>correct:")?;
    let old = client.ask("evaluate", json!({ "expression": "old", "frameId": frame }))?;
    equal(&old["result"], &json!("0"))?;
    client.ask("stepBack", json!({ "threadId": writing }))?;
    equal(client.stop()?, (writing, 19))?;
    client.ask("squall/sent", json!({ "threadId": writing }))?;
    equal(client.stop()?.1, 36)?;
    client.ask("reverseContinue", json!({}))?;
    equal(&client.event("stopped")?["reason"], &json!("entry"))?;
    let problem = client.tried("stepBack", json!({}))?;
    equal(problem, Err("this strand begins here".to_owned()))?;
    // Breakpoints of now stop the run that was gone back to.
    let again = client.ask("setBreakpoints", breakpoints(LOST, &[19]))?;
    client.ask("continue", json!({}))?;
    let stop = client.event("stopped")?;
    equal(&stop["hitBreakpointIds"][0], &again["breakpoints"][0]["id"])?;
    client.ask("continue", json!({}))?;
    let (failing, _) = client.stop()?;
    let written = client.frame_of(failing, "Lost>>total")?;
    let slot = json!({ "name": "account balance", "frameId": written, "threadId": failing });
    client.ask("squall/written", slot)?;
    equal(client.stop()?.1, 13)?;
    client.ask("setBreakpoints", breakpoints(LOST, &[]))?;
    client.ask("continue", json!({}))?;
    equal(client.stop()?.1, 38)?;
    client.ask("continue", json!({}))?;
    equal(client.end()?.1, 1)
}

/// Without a seed, a run cannot be repeated; and what is done outside of the machine is not done twice.
fn no_way_back() -> Result<(), Failed> {
    let mut client = Client::launch(PARTS, "all", &[24])?;
    let (strand, _) = client.stop()?;
    for request in ["stepBack", "reverseContinue", "squall/sent", "squall/written"] {
        let problem = client.tried(request, json!({ "threadId": strand }))?;
        let needs = "going back needs a run with a seed, such as --seed=1, or a replay";
        equal(problem, Err(needs.to_owned()))?;
    }
    client.ask("continue", json!({}))?;
    equal(client.end()?.1, 3)?;
    let mut client = Client::new();
    client.ask("initialize", json!({ "adapterID": "squall" }))?;
    let program = json!({
        "program": "tests/debugger/acting.ns", "seed": 1, "options": ["--allow-processes"],
    });
    client.ask("launch", program)?;
    client.ask("setBreakpoints", breakpoints("tests/debugger/acting.ns", &[7]))?;
    client.ask("configurationDone", json!({}))?;
    let (strand, _) = client.stop()?;
    let problem = client.tried("reverseContinue", json!({ "threadId": strand }))?;
    let acts = "the program starts a process, which going back would do again";
    equal(problem, Err(acts.to_owned()))?;
    client.ask("continue", json!({}))?;
    equal(client.end()?.1, 0)
}

/// Two stopped strands step, each for itself.
fn steps_of_several_strands() -> Result<(), Failed> {
    let mut client = Client::launch(PARTS, "strand", &[12])?;
    let (first, second) = (client.stop()?, client.stop()?);
    for strand in [second.0, first.0] {
        client.ask("next", json!({ "threadId": strand }))?;
        equal(client.stop()?, (strand, 13))?;
    }
    client.ask("stepOut", json!({ "threadId": first.0 }))?;
    client.ask("next", json!({ "threadId": second.0 }))?;
    // The former ends, and the latter goes on without a stop.
    let (output, code) = client.end()?;
    equal((output.as_str(), code), ("3\n33\n1\n", 3))
}
