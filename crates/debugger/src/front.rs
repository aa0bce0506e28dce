//! The front: stands between a client and the process in which the program runs, which it can exchange for another one. That is
//! how a client goes back: another process repeats the run up to an earlier position. `adapter` has a front for an editor,
//! `client` one for the terminal.
//!
//! # Going back
//!
//! ```text
//! stop here ──position──▶ a copy repeats the run up to there, tells what it has passed ──finding──▶ a copy repeats up to that, and is the program from now on
//! ```
//!
//! The front repeats the client's settings for each copy, so the copies stop at the same breakpoints. A copy writes nothing that
//! was written already. The client hears nothing of copies: their messages are passed on only when one has become the program.
//! Numbers of breakpoints are those that the client has got from the first process.
//!
//! While the program runs under a seed, the front asks for `checkpoints` now and then. A copy begins at one, if
//! one is early enough for its errand, and otherwise at the start of the run.
//!
//! One thread does all of this. It gets requests and messages from a channel that the threads which read streams fill.
//! While it waits for a copy, requests of the client wait, but for those that end the way back: `cancel`, `pause`, and the client's
//! last. The program stays where it stands then.

mod process;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io::{self, BufRead};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use process::{Process, accept, spawn};
use serde_json::{Value as Json, json};

use crate::checkpoints::{self, Checkpoints};
use crate::forms::UNCOUNTED;
use crate::protocol;

/// Makes the command of a process that is to connect to a port; whether it repeats a run.
pub(crate) type Launcher<'a> = dyn FnMut(u16, bool) -> Result<Command, String> + 'a;

/// The first number of the front's own requests, which no client reaches.
const OWN: u64 = 1 << 40;
/// The first number of breakpoints that only later processes have.
const NEW_BREAKPOINTS: u64 = 1 << 20;
/// How many moments a step back goes by lines at first, and how many times as many each further time.
const LINES: u64 = 64;
const MORE_LINES: u64 = 32;

/// What a client hears of a request that it has cancelled; the protocol has the word.
const CANCELLED: &str = "cancelled";

/// The request that sets data breakpoints.
const DATA: &str = "setDataBreakpoints";

/// What the front hears.
enum Heard {
    /// A request of the client.
    Request(Json),
    /// The client has left, or cannot be understood.
    Gone(io::Result<()>),
    /// A message of the process with this number.
    Message(usize, Json),
    /// A copy of the program has connected, and said this about itself.
    Copy(TcpStream, Json),
    /// Nothing, for some time.
    Silence,
    /// That process has hung up.
    End(usize),
}

/// A request that sets something, which copies repeat, and the client's numbers of the breakpoints in its answer; 0 for one that
/// has none.
struct Setting {
    key: String,
    request: Json,
    ids: Vec<u64>,
}

/// The front, while a program runs.
pub(crate) struct Front<'a> {
    launcher: Option<Box<Launcher<'a>>>,
    output: Box<dyn FnMut(Json) + 'a>,
    ears: Sender<Heard>,
    heard: Receiver<Heard>,
    waiting: VecDeque<Heard>,
    program: Process,
    made: usize,
    asked: u64,
    new_breakpoints: u64,
    settings: Vec<Setting>,
    /// The client's requests for identifiers of data breakpoints.
    asked_targets: HashSet<u64>,
    /// Where what these identifiers mean gets known in a run that is repeated: positions, with the targets.
    targets: HashMap<String, Json>,
    /// The client has set breakpoints that count hits, of which the program does not know those so far.
    must_count: bool,
    checkpoints: Checkpoints,
    /// The client has asked for the program.
    has_begun: bool,
    /// The program runs under a seed, so that it can be repeated.
    is_seeded: bool,
    /// It does, and has not stopped.
    may_be_copied: bool,
    /// The client wants a checkpoint every so many moments, for tests.
    every: Option<u64>,
    /// The client's requests that the program has not answered, by their numbers.
    unanswered: BTreeMap<u64, Json>,
    /// The client has asked to go back, and has not got there.
    is_on_way_back: bool,
}

/// The key of a request that sets something.
fn setting(request: &Json) -> Option<String> {
    let command = request["command"].as_str()?;
    let source = || request["arguments"]["source"]["path"].as_str().unwrap_or_default();
    match command {
        "launch" | "setFunctionBreakpoints" | "setExceptionBreakpoints" | DATA => {
            Some(command.to_owned())
        }
        "setBreakpoints" => Some(format!("{command} {}", source())),
        _ => None,
    }
}

impl<'a> Front<'a> {
    /// Starts a program.
    pub(crate) fn launch(
        mut launcher: Box<Launcher<'a>>,
        output: Box<dyn FnMut(Json) + 'a>,
    ) -> Result<Front<'a>, String> {
        let (listener, mut child) = spawn(|port| launcher(port, false))?;
        let stream = accept(&listener, &mut child)?;
        Front::new(Some(launcher), stream, Some(child), output)
    }

    /// Speaks to a program that runs already.
    pub(crate) fn attach(
        stream: TcpStream,
        output: Box<dyn FnMut(Json) + 'a>,
    ) -> Result<Front<'a>, String> {
        Front::new(None, stream, None, output)
    }

    fn new(
        launcher: Option<Box<Launcher<'a>>>,
        stream: TcpStream,
        child: Option<Child>,
        output: Box<dyn FnMut(Json) + 'a>,
    ) -> Result<Front<'a>, String> {
        let (ears, heard) = channel();
        let program = Process::new(0, stream, child, &ears).map_err(|error| error.to_string())?;
        Ok(Front {
            launcher,
            output,
            ears,
            heard,
            waiting: VecDeque::new(),
            program,
            made: 0,
            asked: OWN,
            new_breakpoints: NEW_BREAKPOINTS,
            settings: Vec::new(),
            asked_targets: HashSet::new(),
            targets: HashMap::new(),
            must_count: false,
            checkpoints: Checkpoints::default(),
            has_begun: false,
            is_seeded: false,
            may_be_copied: false,
            every: None,
            unanswered: BTreeMap::new(),
            is_on_way_back: false,
        })
    }

    /// Passes messages on in both directions, the given requests first, until the client leaves. If the program is to end the
    /// front, its end does.
    pub(crate) fn run(
        mut self,
        first: Vec<Json>,
        input: Box<dyn BufRead + Send>,
        ends_with_program: bool,
    ) -> io::Result<()> {
        let initialize = json!({ "seq": OWN, "type": "request", "command": "initialize" });
        self.program.send(&initialize)?;
        self.waiting.extend(first.into_iter().map(Heard::Request));
        listen(input, self.ears.clone());
        let (mut is_over, mut is_leaving, mut left) = (false, false, Ok(()));
        loop {
            if std::mem::take(&mut self.must_count) && self.is_seeded && self.launcher.is_some() {
                // If that is not possible, they count from now on.
                _ = self.count();
            }
            match self.next()? {
                Heard::Request(request) if is_over => {
                    if self.refuse(&request) {
                        break;
                    }
                }
                Heard::Request(request) => {
                    // A client that ends the program hears of that end, and leaves then.
                    is_leaving |= request["command"] == "disconnect";
                    self.serve(request);
                }
                Heard::Gone(end) if is_over || ends_with_program || is_leaving => {
                    left = end;
                    if !is_leaving {
                        break;
                    }
                }
                Heard::Gone(end) => {
                    // A client that goes without a word is taken to have asked for it.
                    (left, is_leaving) = (end, true);
                    let leave = json!({ "seq": OWN, "type": "request", "command": "disconnect" });
                    if self.program.send(&leave).is_err() {
                        break;
                    }
                }
                Heard::Message(number, message) => self.pass_on(number, message),
                Heard::End(number) if number == self.program.number => {
                    self.tell_end(is_leaving);
                    if is_leaving || ends_with_program {
                        break;
                    }
                    is_over = true;
                }
                Heard::Copy(stream, about) => self.checkpoints.add(stream, &about),
                Heard::Silence => self.ask_for_checkpoint(),
                Heard::End(_) => {}
            }
        }
        self.program.end();
        left
    }

    /// The program has hung up: answers what it has not answered, and tells its end, unless the client has asked for that.
    fn tell_end(&mut self, is_leaving: bool) {
        self.may_be_copied = false;
        for request in std::mem::take(&mut self.unanswered).into_values() {
            self.refuse(&request);
        }
        if std::mem::replace(&mut self.program.has_exited, true) || is_leaving {
            return;
        }
        let (text, code) = self.program.ending();
        self.complain(&text);
        if let Some(code) = code {
            (self.output)(protocol::event("exited", json!({ "exitCode": code })));
        }
        (self.output)(protocol::event("terminated", json!({})));
    }

    /// Tells the client a text.
    fn complain(&mut self, text: &str) {
        let output = json!({ "category": "stderr", "output": format!("{text}\n") });
        (self.output)(protocol::event("output", output));
    }

    /// Answers a request after the program's end; whether it was the last one.
    fn refuse(&mut self, request: &Json) -> bool {
        if request["type"] != "request" {
            return false;
        }
        let is_last = is_last(request);
        let answer = if is_last { Ok(json!({})) } else { Err("the program has ended".into()) };
        (self.output)(protocol::response(request, answer));
        is_last
    }

    fn next(&mut self) -> io::Result<Heard> {
        if let Some(heard) = self.waiting.pop_front() {
            return Ok(heard);
        }
        if !self.may_be_copied {
            return self.heard.recv().map_err(|_| io::ErrorKind::BrokenPipe.into());
        }
        match self.heard.recv_timeout(checkpoints::INTERVAL) {
            Ok(heard) => Ok(heard),
            Err(RecvTimeoutError::Timeout) => Ok(Heard::Silence),
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Has the program make a checkpoint, soon.
    fn ask_for_checkpoint(&mut self) {
        let ears = self.ears.clone();
        let heard = move |stream, about| ears.send(Heard::Copy(stream, about)).is_ok();
        let Some(mut address) = self.checkpoints.address(heard) else { return };
        address["every"] = json!(self.every);
        let request = json!({
            "seq": self.sequence(), "type": "request", "command": "squall/checkpoint", "arguments": address,
        });
        // A program that has ended is heard of elsewhere.
        _ = self.program.send(&request);
    }

    /// Serves a request, or passes it on to the program.
    fn serve(&mut self, request: Json) {
        let command = request["command"].as_str().unwrap_or_default();
        if matches!(command, "launch" | "attach") && std::mem::replace(&mut self.has_begun, true) {
            let problem = Err("a program was started already".into());
            return (self.output)(protocol::response(&request, problem));
        }
        if command == "cancel" {
            // Nothing else takes long, and what it asks for is done.
            return (self.output)(protocol::response(&request, Ok(json!({}))));
        }
        if let Some(goal) = Goal::named(command).filter(|_| self.launcher.is_some()) {
            self.is_on_way_back = true;
            let found = self.travel(goal, &request["arguments"]);
            self.is_on_way_back = false;
            let arrived = match found {
                Ok(arrived) => arrived,
                Err(problem) => return (self.output)(protocol::response(&request, Err(problem))),
            };
            (self.output)(protocol::response(&request, Ok(json!({}))));
            return self.pass_on(self.program.number, arrived);
        }
        if let Some(key) = setting(&request) {
            let index = self.settings.iter().position(|other| other.key == key);
            let index = index.unwrap_or(self.settings.len());
            let new = Setting { key, request: request.clone(), ids: Vec::new() };
            match self.settings.get_mut(index) {
                Some(old) => *old = new,
                None => self.settings.push(new),
            }
            self.program.asked.insert(request["seq"].as_u64().unwrap_or_default(), index);
        }
        if command == "dataBreakpointInfo" && self.is_seeded {
            self.asked_targets.insert(request["seq"].as_u64().unwrap_or_default());
        }
        if command == "launch" {
            self.every = request["arguments"]["checkpointEvery"].as_u64();
        }
        if self.is_seeded && lets_run(command) {
            self.may_be_copied = true;
            self.every.into_iter().for_each(|_| self.ask_for_checkpoint());
        }
        // A program that has ended is heard of elsewhere.
        _ = self.program.send(&request);
        if request["type"] == "request" {
            self.unanswered.insert(request["seq"].as_u64().unwrap_or_default(), request);
        }
    }

    /// Passes a message of the program on to the client.
    fn pass_on(&mut self, number: usize, mut message: Json) {
        if number != self.program.number {
            return;
        }
        if message["type"] == "response" {
            let Some(asked) = message["request_seq"].as_u64().filter(|&asked| asked < OWN) else {
                return;
            };
            self.unanswered.remove(&asked);
            if self.asked_targets.remove(&asked) {
                self.know_target(&message["body"]);
            }
            let own = self.numbered(message["body"].get_mut("breakpoints"));
            let Some(setting) = self.program.asked.remove(&asked) else {
                return (self.output)(message);
            };
            self.settings[setting].ids = own;
            self.must_count |= is_uncounted(&message["body"]);
            return (self.output)(message);
        }
        match message["event"].as_str() {
            Some("exited") => {
                self.program.has_exited = true;
                self.may_be_copied = false;
                self.program.wait();
            }
            Some("capabilities") => {
                self.is_seeded = message["body"]["capabilities"]["supportsStepBack"] == true;
            }
            Some("breakpoint") => {
                let breakpoint = &mut message["body"]["breakpoint"];
                if let Some(id) = breakpoint["id"].as_u64() {
                    breakpoint["id"] = json!(self.id(id));
                }
            }
            Some("stopped") => {
                self.may_be_copied = false;
                if let Some(ids) = message["body"]["hitBreakpointIds"].as_array().cloned() {
                    let ids = ids.iter().filter_map(Json::as_u64).map(|id| self.id(id));
                    message["body"]["hitBreakpointIds"] = ids.collect();
                }
            }
            _ => {}
        }
        (self.output)(message);
    }

    /// Gives breakpoints of an answer the client's numbers, and answers those.
    fn numbered(&mut self, breakpoints: Option<&mut Json>) -> Vec<u64> {
        let mut ids = Vec::new();
        for breakpoint in breakpoints.and_then(Json::as_array_mut).into_iter().flatten() {
            let id = breakpoint["id"].as_u64().map(|id| self.id(id));
            ids.push(id.unwrap_or_default());
            if let Some(id) = id {
                breakpoint["id"] = json!(id);
            }
        }
        ids
    }

    /// The client gets an identifier for a data breakpoint: notes where the same gets known in another run.
    fn know_target(&mut self, body: &Json) {
        if let Some(id) = body["dataId"].as_str().filter(|_| body["squall"].is_object()) {
            self.targets.insert(id.to_owned(), body["squall"].clone());
        }
    }

    /// The identifiers of the data breakpoints that the client has set.
    fn watched(&self) -> Vec<&str> {
        let set = self.settings.iter().find(|setting| setting.key == DATA);
        let set = set.and_then(|setting| setting.request["arguments"]["breakpoints"].as_array());
        set.into_iter().flatten().filter_map(|each| each["dataId"].as_str()).collect()
    }

    /// How a copy gets to know the objects of data breakpoints, up to a moment.
    fn introductions(&self, until: u64) -> Vec<Json> {
        let target = |id: &str| {
            let mut target = self.targets.get(id)?.clone();
            target["id"] = json!(id);
            (moment_of(&target["position"]) <= until).then_some(target)
        };
        self.watched().into_iter().filter_map(target).collect()
    }

    /// Whether the objects of all data breakpoints can get known in a run up to what a search has found: by a write, or where they
    /// were known before.
    fn can_introduce_all(&self, found: &Json) -> bool {
        let end = moment_of(&found["found"]);
        let writes = found["writes"].as_array();
        let is_written = |id: &str| writes.into_iter().flatten().any(|write| write["id"] == id);
        let mut targets =
            self.watched().into_iter().filter_map(|id| Some((id, self.targets.get(id)?)));
        // At the same moment, it may be later.
        targets.all(|(id, target)| moment_of(&target["position"]) < end || is_written(id))
    }

    /// A repetition has found these last writes of data breakpoints: their objects get known there as well, and earlier.
    fn know_writes(&mut self, writes: &Json) {
        for write in writes.as_array().into_iter().flatten() {
            let known = write["id"].as_str().and_then(|id| self.targets.get_mut(id));
            if let Some(target) = known {
                target["position"] = write["position"].clone();
                target["target"]["isWritten"] = json!(true);
            }
        }
    }

    /// The client's number of a breakpoint of the program.
    fn id(&mut self, id: u64) -> u64 {
        if self.program.number == 0 {
            return id;
        }
        *self.program.ids.entry(id).or_insert_with(|| {
            self.new_breakpoints += 1;
            self.new_breakpoints
        })
    }

    /// Has another process go to a position before the one where the program has stopped, and makes it the program. Answers the
    /// event of its stop.
    fn travel(&mut self, goal: Goal, arguments: &Json) -> Result<Json, String> {
        let number = self.program.number;
        let asked = json!({ "threadId": arguments["threadId"] });
        let here = self.ask(number, "squall/position", asked)?;
        if let Some(act) = here["acted"].as_str() {
            return Err(format!("the program {act}, which going back would do again"));
        }
        let (printed, target) = match here["moved"].is_object() {
            false => (&here["printed"], self.sought(goal, &here, arguments)?),
            true => (&here["moved"]["printed"], Some(before_move(goal, &here["moved"])?)),
        };
        let (errand, moment) = match target {
            Some(target) => (
                json!({
                    "seek": "arrive", "to": target["found"], "body": target["body"], "printed": printed,
                }),
                target["found"]["moment"].as_u64().unwrap_or_default(),
            ),
            None => (json!({ "seek": "start", "printed": printed }), 0),
        };
        let copy = self.copy(&errand, moment)?;
        let is_end =
            |message: &Json| message["event"] == "stopped" || message["event"] == "squall/repeated";
        let mut stopped = self.wait(copy.number, is_end).and_then(|message| {
            // The run has not come to its place: there is nothing to go on with.
            match message["body"]["problem"].as_str() {
                Some(problem) if message["event"] != "stopped" => Err(problem.to_owned()),
                _ => Ok(message),
            }
        });
        let mut rest = match &mut stopped {
            Err(_) => copy,
            Ok(stopped) => {
                let old = std::mem::replace(&mut self.program, copy);
                // What comes later may be another future.
                self.checkpoints.forget_after(moment);
                let lost = stopped["body"].as_object_mut().and_then(|body| body.remove("lost"));
                self.tell_lost(&lost.unwrap_or_default());
                old
            }
        };
        rest.end();
        stopped
    }

    /// Tells the client which data breakpoints are gone, and forgets them: the program stands where their objects are not known.
    fn tell_lost(&mut self, lost_on_arrival: &Json) {
        let mut lost = std::mem::take(&mut self.program.lost);
        let on_arrival = lost_on_arrival.as_array().into_iter().flatten();
        let on_arrival: Vec<u64> = on_arrival.filter_map(|each| each["id"].as_u64()).collect();
        lost.extend(on_arrival.into_iter().map(|id| self.id(id)));
        if let Some(set) = self.settings.iter_mut().find(|setting| setting.key == DATA) {
            let mut ids = set.ids.iter();
            let mut stays = || ids.next().is_none_or(|id| !lost.contains(id));
            if let Some(breakpoints) = set.request["arguments"]["breakpoints"].as_array_mut() {
                breakpoints.retain(|_| stays());
            }
            set.ids.retain(|id| !lost.contains(id));
        }
        for id in lost {
            let message = "its object is not known here";
            let breakpoint = json!({ "id": id, "verified": false, "message": message });
            let body = json!({ "reason": "changed", "breakpoint": breakpoint });
            (self.output)(protocol::event("breakpoint", body));
        }
    }

    /// Has a repetition count how often breakpoints were reached up to where the program has stopped, and tells the program.
    fn count(&mut self) -> Result<(), String> {
        let number = self.program.number;
        let here = self.ask(number, "squall/position", json!({}))?;
        if here["acted"].is_string() || here["moved"].is_object() {
            return Ok(());
        }
        let errand = json!({ "seek": "stop", "to": here["position"], "printed": here["printed"] });
        let mut counts = self.finding(&errand, 0)?["counts"].take();
        for count in counts.as_array_mut().into_iter().flatten() {
            let own = count["id"].as_u64().and_then(|id| self.program.own(id));
            count["id"] = json!(own);
        }
        self.ask(number, "squall/counts", json!({ "counts": counts })).map(|_| ())
    }

    /// The position that a goal means, and why the client is told to stop there; `None` for the start.
    fn sought(
        &mut self,
        goal: Goal,
        here: &Json,
        arguments: &Json,
    ) -> Result<Option<Json>, String> {
        let (to, printed, number) = (&here["position"], &here["printed"], self.program.number);
        match goal {
            Goal::Sender => {
                let asked = json!({ "threadId": to["strand"] });
                self.ask(number, "squall/sender", asked).map(Some)
            }
            Goal::Write => {
                let target = self.ask(number, "squall/target", arguments.clone())?;
                if target["strand"] != to["strand"] {
                    return Err("the frame is of another strand".into());
                }
                let errand =
                    json!({ "seek": "write", "to": to, "target": target, "printed": printed });
                let found = self.last(&errand)?;
                let name = target["expression"].as_str().unwrap_or_default();
                match found["found"].is_object() {
                    true => Ok(Some(found)),
                    false => Err(format!("{name} was not written before")),
                }
            }
            Goal::Stop => {
                let errand = json!({ "seek": "stop", "to": to, "printed": printed });
                let found = self.last(&errand)?;
                self.know_writes(&found["writes"]);
                Ok(found["found"].is_object().then_some(found))
            }
            Goal::Line => {
                let moment = to["moment"].as_u64().unwrap_or_default();
                let mut distance = LINES;
                loop {
                    let from = moment.saturating_sub(distance);
                    let errand = json!({
                        "seek": "line", "from": from, "ownDepth": here["ownDepth"], "to": to,
                        "printed": printed,
                    });
                    let found = self.finding(&errand, from)?;
                    if found["found"].is_object() {
                        return Ok(Some(found));
                    }
                    if from == 0 {
                        return Err("this strand begins here".into());
                    }
                    distance = distance.saturating_mul(MORE_LINES);
                }
            }
        }
    }

    /// What a repetition finds that looks for the last of something before its end: it looks from the last checkpoint on, and
    /// farther and farther back if there is nothing.
    fn last(&mut self, errand: &Json) -> Result<Json, String> {
        let mut moment = errand["to"]["moment"].as_u64().unwrap_or_default();
        let (mut errand, mut skipped) = (errand.clone(), 0);
        loop {
            let found = self.finding(&errand, moment)?;
            let Some((last, before)) = self.checkpoints.last_and_before(moment, skipped) else {
                return Ok(found);
            };
            if found["found"].is_object() && self.can_introduce_all(&found) {
                return Ok(found);
            }
            if self.watched().is_empty() {
                errand["until"] = json!(last);
            }
            (moment, skipped) = (before, 2 * skipped + 1);
        }
    }

    /// What a repetition finds that begins at a moment at the latest.
    fn finding(&mut self, errand: &Json, from: u64) -> Result<Json, String> {
        let mut copy = self.copy(errand, from)?;
        let found = self.wait(copy.number, |message| message["event"] == "squall/repeated");
        copy.end();
        let mut body = found?["body"].take();
        translate(&mut body["body"], |id| copy.ids.get(&id).copied());
        for count in body["counts"].as_array_mut().into_iter().flatten() {
            count["id"] = json!(count["id"].as_u64().and_then(|id| copy.ids.get(&id)));
        }
        match body["problem"].as_str() {
            Some(problem) => Err(problem.to_owned()),
            None => Ok(body),
        }
    }

    /// A process that goes on an errand, with all settings of the client. It begins at this moment at the latest.
    fn copy(&mut self, errand: &Json, from: u64) -> Result<Process, String> {
        let mut from = from;
        loop {
            self.made += 1;
            let mut copy = match self.copy_of_checkpoint(from) {
                Some(copy) => copy,
                None => self.copy_from_start()?,
            };
            let introductions = match errand["seek"].as_str() {
                Some("stop" | "arrive") => self.introductions(moment_of(&errand["to"])),
                _ => Vec::new(),
            };
            match self.prepare(&mut copy, errand, &introductions) {
                Ok(Prepared::Whole) => return Ok(copy),
                Ok(Prepared::TooLate) => {
                    copy.end();
                    // It begins after a position at which an object gets known, or after hits that count.
                    let moments = introductions.iter().map(|it| moment_of(&it["position"]));
                    let first = moments.min().filter(|&first| first < from);
                    from = first.unwrap_or_default();
                }
                Err(problem) => {
                    copy.end();
                    return Err(problem);
                }
            }
        }
    }

    fn copy_from_start(&mut self) -> Result<Process, String> {
        let launcher =
            self.launcher.as_mut().ok_or("the program was not started by the debugger")?;
        let (listener, mut child) = spawn(|port| launcher(port, true))?;
        let stream = accept(&listener, &mut child)?;
        let copy = Process::new(self.made, stream, Some(child), &self.ears);
        copy.map_err(|error| error.to_string())
    }

    /// A copy of the last checkpoint up to a moment, if there is one and it answers.
    fn copy_of_checkpoint(&mut self, from: u64) -> Option<Process> {
        loop {
            self.checkpoints.ask_for_copy(from, self.made)?;
            match self.wait_for_copy() {
                Some(stream) => {
                    let copy = Process::new(self.made, stream, None, &self.ears).ok()?;
                    return Some(Process { is_copy: true, ..copy });
                }
                None => self.checkpoints.forget_last(from),
            }
        }
    }

    /// Waits for the copy that was asked for last.
    fn wait_for_copy(&mut self) -> Option<TcpStream> {
        let end = Instant::now() + checkpoints::PATIENCE;
        loop {
            let rest = end.checked_duration_since(Instant::now())?;
            match self.heard.recv_timeout(rest).ok()? {
                Heard::Copy(stream, about) if about["number"] == self.made => return Some(stream),
                Heard::Copy(stream, about) => self.checkpoints.add(stream, &about),
                other => self.hear_later(other),
            }
        }
    }

    /// Gives a copy the client's settings and an errand.
    fn prepare(
        &mut self,
        copy: &mut Process,
        errand: &Json,
        introductions: &[Json],
    ) -> Result<Prepared, String> {
        self.ask_of(copy, "initialize", &json!({}))?;
        self.ask_of(copy, "squall/introduce", &json!({ "targets": introductions }))?;
        let needs_data = matches!(errand["seek"].as_str(), Some("stop" | "arrive" | "start"));
        for index in 0..self.settings.len() {
            let request = self.settings[index].request.clone();
            let command = request["command"].as_str().unwrap_or_default();
            if command == DATA && !needs_data {
                continue;
            }
            // The program was given the same settings, with the same success.
            let Ok(answer) = self.ask_of(copy, command, &request["arguments"]) else { continue };
            let own = answer["breakpoints"].as_array().into_iter().flatten();
            let own = own.map(|breakpoint| breakpoint["id"].as_u64());
            let (known, lost): (Vec<_>, Vec<_>) =
                own.zip(self.settings[index].ids.iter().copied()).partition(|(id, _)| id.is_some());
            copy.ids.extend(known.into_iter().filter_map(|(id, theirs)| Some((id?, theirs))));
            if command == DATA {
                copy.lost = lost.into_iter().map(|(_, id)| id).filter(|&id| id != 0).collect();
                if self.is_known_earlier(index, &answer, introductions) {
                    return Ok(Prepared::TooLate);
                }
            } else if needs_data && is_uncounted(&answer) {
                return Ok(Prepared::TooLate);
            }
        }
        let mut errand = errand.clone();
        translate(&mut errand["body"], |id| copy.own(id));
        self.ask_of(copy, "squall/repeat", &errand)?;
        self.ask_of(copy, "configurationDone", &json!({})).map(|_| Prepared::Whole)
    }

    /// Whether a data breakpoint, which a copy has refused, is for an object that gets known in a copy which begins earlier.
    fn is_known_earlier(&self, setting: usize, answer: &Json, introductions: &[Json]) -> bool {
        let asked = self.settings[setting].request["arguments"]["breakpoints"].as_array();
        let answers = answer["breakpoints"].as_array().into_iter().flatten();
        let mut pairs = asked.into_iter().flatten().zip(answers);
        pairs.any(|(asked, answer)| {
            answer["id"].is_null() && introductions.iter().any(|it| it["id"] == asked["dataId"])
        })
    }

    fn ask(&mut self, number: usize, command: &str, arguments: Json) -> Result<Json, String> {
        let sequence = self.sequence();
        let request = json!({
            "seq": sequence, "type": "request", "command": command, "arguments": arguments,
        });
        self.program.send(&request).map_err(|_| "the program has ended")?;
        self.answer(number, sequence)
    }

    fn ask_of(&mut self, copy: &Process, command: &str, arguments: &Json) -> Result<Json, String> {
        let sequence = self.sequence();
        let request = json!({
            "seq": sequence, "type": "request", "command": command, "arguments": arguments,
        });
        copy.send(&request).map_err(|_| "a repetition of the run has ended")?;
        self.answer(copy.number, sequence)
    }

    fn sequence(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    fn answer(&mut self, number: usize, sequence: u64) -> Result<Json, String> {
        let is_answer = |message: &Json| message["request_seq"] == sequence;
        let mut message = self.wait(number, is_answer)?;
        match message["success"] == true {
            true => Ok(message["body"].take()),
            false => Err(message["message"].as_str().unwrap_or("it failed").to_owned()),
        }
    }

    /// Waits for a message of a process. Requests wait meanwhile, but those that end a way back.
    fn wait(&mut self, number: usize, is_it: impl Fn(&Json) -> bool) -> Result<Json, String> {
        loop {
            if self.is_on_way_back && self.is_cancelled() {
                return Err(CANCELLED.into());
            }
            if self.program.has_hung_up && number == self.program.number {
                return Err("the program has ended".into());
            }
            let heard = self.heard.recv().map_err(|_| "the debugger ends")?;
            match heard {
                Heard::Message(from, message) if from == number && is_it(&message) => {
                    return Ok(message);
                }
                Heard::Message(from, message) if from == self.program.number => {
                    self.pass_on(from, message);
                }
                Heard::Message(from, message) if from == number => {
                    if message["event"] == "exited" {
                        return Err("the run does not repeat itself: it ends before".into());
                    }
                }
                Heard::End(from) if from == number && from != self.program.number => {
                    return Err("a repetition of the run has ended early".into());
                }
                Heard::Copy(stream, about) => self.checkpoints.add(stream, &about),
                other => {
                    let leaves = matches!(&other, Heard::Gone(_))
                        || matches!(&other, Heard::Request(request) if is_last(request));
                    self.hear_later(other);
                    if leaves {
                        return Err("the client has left".into());
                    }
                }
            }
        }
    }

    /// Whether the client wants the way back to end: answers the request that says so.
    fn is_cancelled(&mut self) -> bool {
        let ends = |heard: &Heard| {
            matches!(heard, Heard::Request(request)
                if matches!(request["command"].as_str(), Some("cancel" | "pause")))
        };
        let found = self.waiting.iter().position(ends).and_then(|at| self.waiting.remove(at));
        let Some(Heard::Request(request)) = found else { return false };
        (self.output)(protocol::response(&request, Ok(json!({}))));
        true
    }

    /// Keeps for later what was heard.
    fn hear_later(&mut self, heard: Heard) {
        if matches!(heard, Heard::End(from) if from == self.program.number) {
            self.program.has_hung_up = true;
        }
        self.waiting.push_back(heard);
    }
}

/// How a copy was prepared.
enum Prepared {
    /// It goes on its errand.
    Whole,
    /// It begins too late to get to know all objects of data breakpoints.
    TooLate,
}

/// Whether a breakpoint of an answer counts hits, and does not know those since the beginning of the run.
fn is_uncounted(answer: &Json) -> bool {
    let breakpoints = answer["breakpoints"].as_array();
    breakpoints.into_iter().flatten().any(|breakpoint| breakpoint[UNCOUNTED] == true)
}

/// Where a goal leads to if a strand was moved: no repetition of the run comes beyond the place where it stood.
fn before_move(goal: Goal, moved: &Json) -> Result<Json, String> {
    match goal {
        Goal::Stop => {
            let body = json!({ "reason": "step", "description": "before the strand was moved" });
            Ok(json!({ "found": moved["position"], "body": body }))
        }
        _ => Err("a strand was moved, which no repetition of the run does; \
                  the stop to go back to is where it stood before"
            .into()),
    }
}

/// The moment of a position.
fn moment_of(position: &Json) -> u64 {
    position["moment"].as_u64().unwrap_or_default()
}

/// Gives the breakpoints in the body of a stop other numbers. Those that have none are left out.
fn translate(body: &mut Json, number: impl Fn(u64) -> Option<u64>) {
    if let Some(ids) = body["hitBreakpointIds"].as_array() {
        let ids = ids.iter().filter_map(Json::as_u64).filter_map(number);
        body["hitBreakpointIds"] = ids.collect();
    }
}

/// Whether the program may run after this request.
fn lets_run(command: &str) -> bool {
    matches!(
        command,
        "configurationDone" | "continue" | "next" | "stepIn" | "stepOut" | "squall/step" | "goto"
    )
}

fn is_last(request: &Json) -> bool {
    matches!(request["command"].as_str(), Some("disconnect" | "terminate"))
}

/// Where a client goes back to.
#[derive(Clone, Copy)]
enum Goal {
    /// The stop before.
    Stop,
    /// The beginning of the line before.
    Line,
    /// The last write of a slot or a shared variable.
    Write,
    /// Where the message of the strand was sent.
    Sender,
}

impl Goal {
    fn named(command: &str) -> Option<Goal> {
        match command {
            "reverseContinue" => Some(Goal::Stop),
            "stepBack" => Some(Goal::Line),
            "squall/written" => Some(Goal::Write),
            "squall/sent" => Some(Goal::Sender),
            _ => None,
        }
    }
}

/// Starts a thread that hears the client's requests.
fn listen(mut input: Box<dyn BufRead + Send>, ears: Sender<Heard>) {
    std::thread::spawn(move || {
        let end = loop {
            match protocol::read(&mut *input) {
                Ok(Some(request)) => match ears.send(Heard::Request(request)) {
                    Ok(()) => {}
                    Err(_) => return,
                },
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        _ = ears.send(Heard::Gone(end));
    });
}
