//! The server of the Debug Adapter Protocol, for one client on a stream. The command line starts it for a machine that is
//! about to run.
//!
//! Requests are served one after the other. What needs the stopped strand is sent to its thread ([`Control`]); strands that
//! do not run are looked at from here, while the machine stands for a moment.
//!
//! `looks` has the requests about stopped strands, and `forms` the messages' forms.

mod looks;

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use squall_runtime::state::replays;
use squall_runtime::state::vm::Vm;

use looks::Numbers;

use crate::control::checkpoints::{self, Address};
use crate::control::introductions::{How, Introduction};
use crate::control::pauses::Scope;
use crate::control::travel::{Errand, Position, Seek};
use crate::control::{Command, Control, Ends, Event, Exceptions, Flow, Step};
use crate::forms::{
    TERMINATED, capabilities, index, loaded_sources, of_breakpoint, of_breakpoints, points,
    request_of, steps, text, threads,
};
use crate::goals::{self, Aim, Means, StepRow};
use crate::origins;
use crate::protocol;
use crate::reasons::{Reason, of_stop};
use crate::stopped::Stopped;
use crate::watches::Sought;

/// The request for a step by its name.
const STEP: &str = "squall/step";
/// How long a pause waits for a strand that polls.
const PAUSE_WAIT: Duration = Duration::from_millis(300);

/// The way to the client.
struct Output {
    stream: TcpStream,
    sequence: u64,
}

impl Output {
    fn send(&mut self, mut message: Json) -> io::Result<()> {
        self.sequence += 1;
        message["seq"] = json!(self.sequence);
        protocol::write(&mut self.stream, &message)
    }
}

/// What is stopped, as the client knows.
#[derive(Default)]
struct Pause {
    /// All strands wait, and none has stopped.
    is_idle: bool,
    /// The strands that have stopped, and why.
    strands: BTreeMap<u64, Reason>,
    /// The one that has stopped last.
    last: u64,
}

impl Pause {
    /// Whether anything is stopped.
    fn is_any(&self) -> bool {
        self.is_idle || !self.strands.is_empty()
    }

    /// Whether a request names a strand that has not stopped.
    fn is_other(&self, named: Option<u64>) -> bool {
        named.is_some_and(|strand| !self.strands.contains_key(&strand))
    }

    /// The strand that a request means: the named one, or else the last one.
    fn strand(&self, named: Option<u64>) -> Option<u64> {
        let named = named.filter(|strand| self.strands.contains_key(strand));
        named.or_else(|| self.strands.contains_key(&self.last).then_some(self.last))
    }
}

/// A server with its client.
pub struct Server {
    pub(crate) control: Arc<Control>,
    output: Mutex<Output>,
    pause: Mutex<Pause>,
    numbers: Mutex<Numbers>,
    /// Texts that are no files, by the numbers that the client has for them.
    pub(crate) texts: Mutex<Vec<String>>,
    /// Told when the client is ready for the program to run.
    ready: Mutex<Option<Sender<()>>>,
    hang_up: Box<dyn Fn() + Send + Sync>,
}

/// Starts a server with the client of a connection; `left` runs when that has left. The receiver hears when the program is to run; without
/// hearing anything it ends if the client has left before.
pub fn start(
    ends: Ends,
    stream: TcpStream,
    left: Box<dyn Fn() + Send + Sync>,
) -> io::Result<(Arc<Server>, Receiver<()>)> {
    stream.set_nodelay(true)?;
    let (input, output) = (stream.try_clone()?, stream.try_clone()?);
    let descriptors = [&input, &output, &stream].map(AsRawFd::as_raw_fd);
    let mut input = BufReader::new(input);
    let Ends { control, events } = ends;
    let serve = |ends, stream, left| start(ends, stream, left).map(|(_, is_ready)| is_ready);
    control.checkpoints.is_connected_by(descriptors, serve);
    let (ready, is_ready) = channel();
    let hang_up = move || {
        // The client may have hung up before.
        _ = stream.shutdown(Shutdown::Both);
        left();
    };
    let server = Arc::new(Server {
        control,
        output: Mutex::new(Output { stream: output, sequence: 0 }),
        pause: Mutex::default(),
        numbers: Mutex::default(),
        texts: Mutex::default(),
        ready: Mutex::new(Some(ready)),
        hang_up: Box::new(hang_up),
    });
    let teller = Arc::clone(&server);
    spawn(move || {
        for event in events {
            let _quiet = teller.control.quiet();
            teller.tell(event);
        }
    });
    let reader = Arc::clone(&server);
    spawn(move || {
        while let Ok(Some(request)) = protocol::read(&mut input) {
            let _quiet = reader.control.quiet();
            if !reader.handle(&request) {
                break;
            }
        }
        let _quiet = reader.control.quiet();
        reader.leave();
    });
    Ok((server, is_ready))
}

/// Starts a thread of the server.
fn spawn(work: impl FnOnce() + Send + 'static) {
    // A server that lacks a thread is one whose client hears nothing.
    _ = std::thread::Builder::new().name(checkpoints::SERVER.into()).spawn(work);
}

pub(crate) type Answer = Result<Json, String>;

impl Server {
    fn send(&self, message: Json) {
        // A client that has left hears nothing.
        _ = self.output.lock().send(message);
    }

    /// The program has ended. Returns when the client has been told.
    pub fn finish(&self, code: i32) {
        self.control.end(code);
    }

    fn leave(&self) {
        // First: a copy ends here, and does not go on.
        (self.hang_up)();
        self.control.detach();
        *self.pause.lock() = Pause::default();
        *self.ready.lock() = None;
    }

    fn tell(&self, event: Event) {
        match event {
            Event::Log(text) => self.send(protocol::event(
                "output",
                json!({ "category": "console", "output": format!("{text}\n") }),
            )),
            Event::Found(breakpoint) => self.send(protocol::event(
                "breakpoint",
                json!({ "reason": "changed", "breakpoint": of_breakpoint(&breakpoint) }),
            )),
            Event::Repeated(found, writes) => {
                let mut body = of_found(found, writes);
                let counts = self.control.breakpoints.lock().counts();
                let count = |(id, reached)| json!({ "id": id, "reached": reached });
                body["counts"] = counts.into_iter().map(count).collect();
                self.send(protocol::event("squall/repeated", body));
            }
            Event::Ended(code, known) => {
                self.send(protocol::event("exited", json!({ "exitCode": code })));
                self.send(protocol::event("terminated", json!({})));
                // The machine may have gone.
                _ = known.send(());
            }
            Event::Stopped(strand, reason) => {
                let body = of_stop(strand, &reason, self.control.scope() == Scope::All);
                let mut pause = self.pause.lock();
                match strand {
                    None => pause.is_idle = true,
                    Some(strand) => {
                        pause.strands.insert(strand, reason);
                        pause.last = strand;
                    }
                }
                drop(pause);
                self.send(protocol::event("stopped", body));
            }
        }
    }

    /// Serves a request; whether the client stays.
    fn handle(&self, request: &Json) -> bool {
        if request["type"] != "request" {
            return true;
        }
        let command = request["command"].as_str().unwrap_or_default();
        let arguments = &request["arguments"];
        let command = match goals::named(arguments["step"].as_str().unwrap_or_default()) {
            Some(StepRow { means: Means::Request(other), .. }) if command == STEP => other,
            Some(StepRow { means: Means::Aim(aim), .. }) if command == STEP => {
                self.go_to(request, *aim);
                return true;
            }
            _ => command,
        };
        if let Some(step) = resumption(command, &request["arguments"]) {
            // The program may end as soon as it goes on, so the answer comes first.
            let resumed = self.resumed(step, &request["arguments"]);
            let answer = resumed.as_ref().map(|(_, answer)| answer.clone());
            self.send(protocol::response(request, answer.map_err(String::clone)));
            if let Ok((strands, _)) = resumed {
                self.resume(&strands, step);
            }
            return true;
        }
        let answer = self.answer(command, &request["arguments"]);
        self.send(protocol::response(request, answer));
        match command {
            "initialize" => self.send(protocol::event("initialized", json!({}))),
            "configurationDone" | "terminate" => {
                if let Some(ready) = self.ready.lock().take() {
                    _ = ready.send(());
                }
            }
            _ => {}
        }
        command != "disconnect"
    }

    fn answer(&self, command: &str, arguments: &Json) -> Answer {
        match command {
            "initialize" => Ok(capabilities()),
            "launch" => {
                let answer = self.begin(arguments)?;
                if Vm::of_process().events.is_seeded() {
                    let body = json!({ "capabilities": { "supportsStepBack": true } });
                    self.send(protocol::event("capabilities", body));
                }
                Ok(answer)
            }
            "attach" => self.begin(arguments),
            "configurationDone" | "disconnect" => Ok(json!({})),
            "terminate" => {
                Vm::of_process().end(TERMINATED);
                self.control.detach();
                Ok(json!({}))
            }
            "setBreakpoints" => self.set_breakpoints(arguments),
            "setFunctionBreakpoints" => self.set_function_breakpoints(arguments),
            "setExceptionBreakpoints" => self.set_exceptions(arguments),
            "threads" => {
                let are_parted = self.control.scope() != Scope::All;
                Ok(threads(|strand| are_parted && self.is_stopped(strand)))
            }
            "stackTrace" => self.stack_trace(arguments),
            "scopes" => self.scopes(arguments),
            "variables" => self.variables(arguments),
            "setVariable" => self.set_variable(arguments),
            "setExpression" => self.set_expression(arguments),
            "completions" => self.completions(arguments),
            "gotoTargets" => self.goto_targets(arguments),
            "breakpointLocations" => self.breakpoint_locations(arguments),
            "disassemble" => self.disassemble(arguments),
            "restartFrame" => self.moved(Reason::Restart, self.restart_frame(arguments)),
            "goto" => self.moved(Reason::Goto, self.goto(arguments)),
            "evaluate" => self.evaluate(arguments),
            "exceptionInfo" => self.exception_info(arguments),
            "dataBreakpointInfo" => self.data_breakpoint_info(arguments),
            "setDataBreakpoints" => self.set_data_breakpoints(arguments),
            "source" => self.source(arguments),
            "squall/steps" => Ok(steps()),
            "squall/position" => self.position(arguments),
            "squall/repeat" => self.repeat(arguments),
            "squall/counts" => self.set_counts(arguments),
            "squall/introduce" => self.introduce(arguments),
            "squall/checkpoint" => self.checkpoint(arguments),
            "squall/target" => self.target(arguments),
            "squall/sender" => self.sender(arguments),
            "squall/breakpoints" => Ok(points()),
            STEP => Err("there is no such step; squall/steps lists them".into()),
            "loadedSources" => Ok(loaded_sources()),
            "pause" => {
                self.pause_soon(arguments);
                Ok(json!({}))
            }
            _ => Err(format!("the request {command} is not supported")),
        }
    }

    /// The client has said how the program is to be debugged.
    fn begin(&self, arguments: &Json) -> Answer {
        if let Some(name) = arguments["stop"].as_str() {
            let scope = Scope::named(name).ok_or("stop is all, vat or strand")?;
            if self.control.set_scope(scope) != scope {
                let text = match replays::player(Vm::of_process()) {
                    Some(_) => "in a replay, all strands stop",
                    None => "under a seed, all strands stop",
                };
                self.tell(Event::Log(text.to_owned()));
            }
        } else if !arguments["stop"].is_null() {
            return Err("stop is all, vat or strand".into());
        }
        Ok(json!({}))
    }

    /// Where a stopped strand is in the run, and what the program has done outside of the machine so far.
    fn position(&self, arguments: &Json) -> Answer {
        let strand = self.stopped_strand(arguments["threadId"].as_u64())?;
        let vm = Vm::of_process();
        if !vm.events.is_seeded() {
            return Err("going back needs a run with a seed, such as --seed=1, or a replay".into());
        }
        let control = Arc::clone(&self.control);
        let (position, depth) = self.ask(strand, move |stopped| {
            (control.position(stopped.thread), control.own_depth(stopped.thread))
        })?;
        let position = position.ok_or("no code runs")?;
        let printed = (self.control.printed.count)();
        let moved = self.control.travel.moved();
        let moved = moved
            .map(|moved| json!({ "position": moved.from.to_json(), "printed": moved.printed }));
        Ok(json!({
            "position": position.to_json(), "ownDepth": depth, "printed": printed,
            "acted": vm.debugging.acted(), "moved": moved,
        }))
    }

    /// Where the message of a strand was sent, or where the strand was started.
    fn sender(&self, arguments: &Json) -> Answer {
        let strand = self.stopped_strand(arguments["threadId"].as_u64())?;
        let origin = self.control.origins.sender_of(strand);
        let origin = origin.ok_or("nothing is known of a sender")?;
        let place = origin.frames.first().ok_or("nothing is known of a sender")?;
        let position = Position {
            moment: origin.moment,
            strand: origin.strand,
            module: place.function.module.bytecode.path_text().to_owned(),
            function: place.function.index,
            pc: place.pc,
            depth: 0,
        };
        let what = match origin.how {
            origins::How::Started => "the strand is started here",
            origins::How::Sent => "the message is sent here",
            origins::How::Resolved | origins::How::Returned => "the promise is resolved here",
        };
        let body = json!({ "reason": "step", "description": what });
        Ok(json!({ "found": position.to_json(), "body": body }))
    }

    /// The front wants a checkpoint, which introduces itself there.
    fn checkpoint(&self, arguments: &Json) -> Answer {
        let address = Address::from_json(arguments).ok_or("a checkpoint needs port and key")?;
        if !Vm::of_process().events.is_seeded() {
            return Err("checkpoints need a run with a seed".into());
        }
        self.control.want_checkpoint(address);
        Ok(json!({}))
    }

    /// The run, which has not begun or stands at a checkpoint, is to repeat another one.
    fn repeat(&self, arguments: &Json) -> Answer {
        let printed =
            [0, 1].map(|stream| arguments["printed"][stream].as_u64().unwrap_or_default());
        (self.control.printed.skip)(printed);
        self.control.breakpoints.lock().forget_remembered();
        let seek = match arguments["seek"].as_str() {
            Some("start") => {
                self.control.stop_at_start();
                return Ok(json!({}));
            }
            Some("arrive") => Seek::Arrive(arguments["body"].clone()),
            Some("stop") => Seek::Stop(arguments["until"].as_u64()),
            Some("line") => Seek::Line {
                from: arguments["from"].as_u64().unwrap_or_default(),
                depth: index(&arguments["ownDepth"]),
            },
            Some("write") => Seek::Write(
                sought(&arguments["target"])?,
                index(&arguments["target"]["frame"]),
                text(&arguments["target"]["expression"])?,
            ),
            _ => return Err("seek is start, arrive, stop, line or write".into()),
        };
        let to = Position::from_json(&arguments["to"]).ok_or("a position is missing")?;
        self.control.repeat(Errand { to, seek });
        Ok(json!({}))
    }

    /// A repetition of the run has counted how often breakpoints were reached.
    fn set_counts(&self, arguments: &Json) -> Answer {
        let mut breakpoints = self.control.breakpoints.lock();
        for count in arguments["counts"].as_array().into_iter().flatten() {
            if let (Some(id), Some(reached)) = (count["id"].as_u64(), count["reached"].as_u64()) {
                breakpoints.set_count(id, reached);
            }
        }
        Ok(json!({}))
    }

    /// The front says where the objects of data breakpoints get known in the run that is to be repeated.
    fn introduce(&self, arguments: &Json) -> Answer {
        let introduction = |each: &Json| {
            let target = &each["target"];
            let how = match target["isWritten"] == true {
                true => How::Written,
                false => How::Expression(index(&target["frame"]), text(&target["expression"])?),
            };
            let at = Position::from_json(&each["position"]).ok_or("a position is missing")?;
            Ok(Introduction { id: text(&each["id"])?, sought: sought(target)?, at, how })
        };
        let all = arguments["targets"].as_array().into_iter().flatten();
        let all: Result<Vec<Introduction>, String> = all.map(introduction).collect();
        self.control.introduce_later(all?);
        Ok(json!({}))
    }

    fn set_breakpoints(&self, arguments: &Json) -> Answer {
        let path = arguments["source"]["path"].as_str().ok_or("the source has no path")?;
        let requests = arguments["breakpoints"].as_array().into_iter().flatten();
        let requests = requests.map(|each| match each["line"].is_null() {
            true => Err("a breakpoint has no line".to_owned()),
            false => request_of(each),
        });
        let has_begun = self.control.moment() != 0;
        let path = Path::new(path);
        Ok(of_breakpoints(requests.collect(), |requests| {
            let set = self.control.change(|all, vm| all.set_lines(vm, path, requests, has_begun));
            set.into_iter().map(Ok).collect()
        }))
    }

    fn set_function_breakpoints(&self, arguments: &Json) -> Answer {
        let request = |each: &Json| {
            let name = each["name"].as_str().ok_or("a breakpoint has no name")?;
            Ok((name.to_owned(), request_of(each)?))
        };
        let requests = arguments["breakpoints"].as_array().into_iter().flatten().map(request);
        let has_begun = self.control.moment() != 0;
        Ok(of_breakpoints(requests.collect(), |requests| {
            let (set, events) = self.control.change(|all, vm| {
                let (set, changes) = all.set_functions(vm, requests, has_begun);
                ((set, all.events().collect::<Vec<_>>()), changes)
            });
            self.control.set_events(events.into_iter());
            set.into_iter().map(Ok).collect()
        }))
    }

    fn set_exceptions(&self, arguments: &Json) -> Answer {
        let mut exceptions = Exceptions::default();
        let filters = arguments["filters"].as_array().into_iter().flatten();
        let options = arguments["filterOptions"].as_array().into_iter().flatten();
        for filter in filters.chain(options.clone().map(|option| &option["filterId"])) {
            match filter.as_str() {
                Some("all") => exceptions.all = true,
                Some("uncaught") => exceptions.uncaught = true,
                other => return Err(format!("there is no filter {}", other.unwrap_or_default())),
            }
        }
        for option in options {
            let classes = option["condition"].as_str().unwrap_or_default();
            let classes = classes.split([',', ' ']).filter(|class| !class.is_empty());
            exceptions.classes.extend(classes.map(str::to_owned));
        }
        self.control.set_exceptions(exceptions);
        Ok(json!({}))
    }

    fn set_data_breakpoints(&self, arguments: &Json) -> Answer {
        let request = |each: &Json| match each["accessType"].as_str() {
            Some("read" | "readWrite") => Err("reads stop nothing".to_owned()),
            _ => Ok((text(&each["dataId"])?, request_of(each)?)),
        };
        let requests = arguments["breakpoints"].as_array().into_iter().flatten().map(request);
        Ok(of_breakpoints(requests.collect(), |requests| self.control.set_watches(requests)))
    }

    fn exception_info(&self, arguments: &Json) -> Answer {
        let pause = self.pause.lock();
        let strand = pause.strand(arguments["threadId"].as_u64());
        match strand.and_then(|strand| pause.strands.get(&strand)) {
            Some(Reason::Exception(class, text)) => Ok(json!({
                "exceptionId": class,
                "description": text,
                "breakMode": "always",
            })),
            Some(Reason::Back(body)) if body["reason"] == "exception" => Ok(json!({
                "exceptionId": body["description"],
                "description": body["text"],
                "breakMode": "always",
            })),
            _ => Err("no exception has stopped the program".into()),
        }
    }

    /// A stopped strand stands elsewhere, which the client hears as a stop of its own.
    fn moved(&self, reason: Reason, strand: Result<u64, String>) -> Answer {
        self.tell(Event::Stopped(Some(strand?), reason));
        Ok(json!({}))
    }

    /// Whether a strand has stopped.
    pub(crate) fn is_stopped(&self, strand: u64) -> bool {
        self.pause.lock().strands.contains_key(&strand)
    }

    /// Has the thread of a stopped strand compute something.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        strand: u64,
        question: impl FnOnce(&mut Stopped) -> R + Send + 'static,
    ) -> Result<R, String> {
        if !self.is_stopped(strand) {
            return Err("the strand has not stopped, or goes on".into());
        }
        let (sender, receiver) = channel();
        let command = Command::new(move |stopped| {
            _ = sender.send(question(stopped));
            Flow::Stay
        });
        let gone = "the program has ended";
        if !self.control.command(strand, command) {
            return Err(gone.into());
        }
        receiver.recv().map_err(|_| gone.into())
    }

    /// The strand that a request without frame or thread means: the one that has stopped last.
    pub(crate) fn stopped_strand(&self, named: Option<u64>) -> Result<u64, String> {
        self.pause.lock().strand(named).ok_or_else(|| "no strand has stopped".into())
    }

    /// The strands that a request lets go on, by a step if one is given, and the answer.
    fn resumed(&self, step: Option<Step>, arguments: &Json) -> Result<(Vec<u64>, Json), String> {
        let pause = self.pause.lock();
        if !pause.is_any() {
            return Err("the program runs".into());
        }
        let named = arguments["threadId"].as_u64();
        let is_single = step.is_some() || arguments["singleThread"] == true;
        let strands = match self.control.scope() {
            Scope::All if step.is_some() && pause.is_other(named) => {
                return Err(
                    "this strand waits for the one that has stopped, which alone can step".into()
                );
            }
            Scope::All => pause.strand(named).into_iter().collect(),
            _ if is_single => {
                let named = named.filter(|strand| pause.strands.contains_key(strand));
                vec![named.ok_or("the strand has not stopped")?]
            }
            _ => pause.strands.keys().copied().collect::<Vec<_>>(),
        };
        if step.is_some() && strands.is_empty() {
            return Err("no strand has stopped that could step".into());
        }
        let all = strands.len() == pause.strands.len();
        Ok((strands, json!({ "allThreadsContinued": all })))
    }

    /// A request lets a strand go on to an aim.
    fn go_to(&self, request: &Json, aim: Aim) {
        let prepared = self.stopped_strand(request["arguments"]["threadId"].as_u64());
        let prepared = prepared.and_then(|strand| {
            let vat = self.ask(strand, |stopped| stopped.vat())?;
            self.control.set_goal(strand, vat, aim)?;
            Ok(strand)
        });
        let answer = match &prepared {
            Ok(_) => Ok(json!({ "allThreadsContinued": self.control.scope() == Scope::All })),
            Err(problem) => Err(problem.clone()),
        };
        self.send(protocol::response(request, answer));
        if let Ok(strand) = prepared {
            self.resume(&[strand], None);
        }
    }

    /// Lets strands go on.
    fn resume(&self, strands: &[u64], step: Option<Step>) {
        let mut pause = self.pause.lock();
        let was_idle = std::mem::take(&mut pause.is_idle);
        pause.strands.retain(|strand, _| !strands.contains(strand));
        let are_all_gone = pause.strands.is_empty();
        drop(pause);
        if are_all_gone {
            self.numbers.lock().clear();
        }
        if was_idle {
            self.control.resume_idle();
        }
        for &strand in strands {
            // If the program has ended, nothing goes on.
            self.control.command(strand, Command::new(move |_| Flow::Resume(step)));
        }
    }

    fn pause_soon(&self, arguments: &Json) {
        let strand = arguments["threadId"].as_u64().filter(|&strand| strand != 0);
        if let Some(strand) = strand.filter(|_| self.control.scope() != Scope::All) {
            return self.control.pause_strand(strand);
        }
        if self.control.scope() == Scope::All && self.pause.lock().is_any() {
            // All stand already, and the client knows.
            return;
        }
        let asked = self.control.pause_any();
        let control = Arc::clone(&self.control);
        spawn(move || {
            std::thread::sleep(PAUSE_WAIT);
            let _quiet = control.quiet();
            control.pause_idle(asked);
        });
    }
}

/// What a message says that is sought.
fn sought(target: &Json) -> Result<Sought, String> {
    let (name, index) = (text(&target["name"])?, index(&target["index"]));
    Ok(Sought { name, index, is_slot: target["isSlot"] == true })
}

/// The finding of a repetition, in a message.
fn of_found(found: Result<Option<(Position, Json)>, &'static str>, writes: Json) -> Json {
    match found {
        Ok(None) => json!({ "writes": writes }),
        Ok(Some((position, body))) => {
            json!({ "found": position.to_json(), "body": body, "writes": writes })
        }
        Err(problem) => json!({ "problem": problem }),
    }
}

/// The step by which a request lets the program go on, if it is such a request.
fn resumption(command: &str, arguments: &Json) -> Option<Option<Step>> {
    let is_instruction = arguments["granularity"] == "instruction";
    match command {
        "next" | "stepIn" if is_instruction => Some(Some(Step::Instruction)),
        "continue" => Some(None),
        "next" => Some(Some(Step::Over)),
        "stepIn" => Some(Some(Step::In)),
        "stepOut" => Some(Some(Step::Out)),
        _ => None,
    }
}
