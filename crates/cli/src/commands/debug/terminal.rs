//! `squall debug FILE`: the debugger on a terminal, or by lines of the standard input. `debug` calls this module.
//!
//! The program runs in a process of its own, whose server this speaks to like an editor does; its output is that of the
//! command. So a session is a text of commands and answers, which tests compare.

use std::ffi::OsString;
use std::io::{BufRead, ErrorKind, IsTerminal, stdin};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustyline::error::ReadlineError;
use serde_json::{Value as Json, json};
use squall_debugger::client::{Client, Next};

use super::super::replay;
use super::command_of;
use crate::arguments::Debug;
use crate::console::{complain, print};
use crate::exit::Exit;

const HELP: &str = "\
break LINE | FILE:LINE | FUNCTION | EVENT [if CONDITION] [after HITS] [log TEXT]
    stop there; a function is Class>>selector or a selector; `points` lists the events
watch SLOT | EXPRESSION SLOT [if CONDITION] [after HITS]
    stop before a write of a slot or a shared variable; the condition knows old and new
delete [NUMBER]       forget a breakpoint, or all
catch all | uncaught | none [CLASS …]
run, continue (c)     go on until something stops
next (n)              go on to the next line
step (s)              the same, into functions that are called
step NAME             a step to another strand or moment, such as channel:receiver
steps, points         the names of such steps, and of breakpoints about concurrency
back (rb)             go back to where the line before began; needs a seed
reverse (rc)          go back to the stop before, or to the start
written SLOT | EXPRESSION SLOT
                      go back to the last write of a slot or a shared variable
sent                  go back to where the message of the strand was sent, or where it was started
out (o)               go on until the function returns
restart               go back to the beginning of the frame
goto LINE             go to a line of the function, without what is between
wait                  wait until another strand stops, with --stop=strand or vat
where (w) [COUNT]     the frames of the strand, and of those that have sent its message or started it
frame NUMBER (f), up, down
variables (v)         of the frame
print EXPRESSION (p)  its value
set NAME = EXPRESSION
parts EXPRESSION      the slots and elements of an object
list (l)              the lines around the frame
bytecode              the instructions of the frame's function
complete TEXT         the names that can continue a text
strands               all strands, and what they do
strand NUMBER         look at another stopped strand
pause [NUMBER]        stop a strand, with --stop=strand or vat
quit (q)              end the program
An empty line repeats the command before. Ctrl-C pauses a program that runs, and ends a way back.
";

/// A breakpoint as the user sees it.
struct Breakpoint {
    number: usize,
    kind: Kind,
    request: Json,
    /// The server's number of it.
    id: Option<u64>,
    /// Whether its code was loaded.
    is_found: bool,
}

/// What a breakpoint is about.
#[derive(Clone, PartialEq, Eq)]
enum Kind {
    /// A line of this file.
    Line(String),
    /// A function or an event.
    Function,
    /// A slot or a shared variable.
    Data,
}

/// What the session knows.
struct Session {
    client: Client,
    program: String,
    breakpoints: Vec<Breakpoint>,
    made: usize,
    has_begun: bool,
    /// The strand that has stopped.
    strand: Option<u64>,
    /// Whether the others run meanwhile.
    others_run: bool,
    frames: Vec<Json>,
    frame: usize,
    interrupted: Arc<AtomicBool>,
    /// The exit code of the program, once it has ended.
    ended: Option<i32>,
}

type Done = Result<(), String>;

/// Debugs a program on the terminal.
pub fn debug(arguments: &Debug) -> Result<Exit, Exit> {
    let (name, program, words) = match &arguments.replay {
        None => ("run", arguments.program[0].clone(), words_of_run(arguments)),
        Some(path) => ("replay", replay::program_of(path)?, vec![path.clone().into()]),
    };
    let command = move |port: u16, is_again: bool| {
        let mut command = command_of(name, port, is_again)?;
        command.args(&words);
        // Ctrl-C pauses it, and does not end it.
        command.stdin(Stdio::null()).process_group(0);
        Ok(command)
    };
    let mut client = Client::launch(command).map_err(|problem| {
        complain(&problem);
        Exit::Failure
    })?;
    let interrupted = Arc::new(AtomicBool::new(false));
    _ = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&interrupted));
    let every = arguments.checkpoint_every.map(std::num::NonZero::get);
    let launch = json!({ "stop": arguments.stop.name(), "checkpointEvery": every });
    let ready = client
        .ask("initialize", json!({}))
        .and_then(|_| client.ask("launch", launch))
        .and_then(|_| client.ask("setExceptionBreakpoints", json!({ "filters": ["uncaught"] })));
    let session = Session {
        client,
        program,
        breakpoints: Vec::new(),
        made: 0,
        has_begun: false,
        strand: None,
        others_run: false,
        frames: Vec::new(),
        frame: 0,
        interrupted,
        ended: None,
    };
    match ready {
        Ok(_) => session.serve(),
        Err(problem) => {
            complain(&problem);
            Err(Exit::Failure)
        }
    }
}

/// The options and the arguments with which a program runs.
fn words_of_run(arguments: &Debug) -> Vec<OsString> {
    let seed = arguments.seed.map(|seed| format!("--seed={seed}"));
    let words = arguments.options.iter().cloned().chain(seed);
    words.chain(arguments.program.iter().cloned()).map(OsString::from).collect()
}

impl Session {
    fn serve(mut self) -> Result<Exit, Exit> {
        let is_terminal = stdin().is_terminal();
        let mut editor = rustyline::DefaultEditor::new().map_err(|_| Exit::Failure)?;
        let mut lines = stdin().lock().split(b'\n');
        let mut last = String::new();
        while self.ended.is_none() {
            let line = match is_terminal {
                true => match editor.readline("debug> ") {
                    Ok(line) => {
                        _ = editor.add_history_entry(&line);
                        line
                    }
                    Err(ReadlineError::Interrupted) => continue,
                    Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                        print("this is no text in UTF-8\n");
                        continue;
                    }
                    Err(_) => break,
                },
                false => match lines.next() {
                    Some(Ok(line)) => {
                        // What is no text is no command, either, which the answer says.
                        let line = String::from_utf8_lossy(&line);
                        let line = line.strip_suffix('\r').unwrap_or(&line).to_owned();
                        print(&format!("debug> {line}\n"));
                        line
                    }
                    _ => break,
                },
            };
            let line = if line.trim().is_empty() { last.clone() } else { line.trim().to_owned() };
            if matches!(line.as_str(), "quit" | "q") {
                break;
            }
            if let Err(problem) = self.execute(&line) {
                print(&format!("{problem}\n"));
            }
            while self.client.is_gone() && self.ended.is_none() {
                // What the session still hears says how the program has ended.
                _ = self.wait();
            }
            last = line;
        }
        match self.ended {
            Some(code) => {
                self.client.wait();
                Ok(Exit::Program(code))
            }
            None => {
                self.client.kill();
                Ok(Exit::Success)
            }
        }
    }

    fn execute(&mut self, line: &str) -> Done {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        match command {
            "" => Ok(()),
            "help" | "h" => {
                print(HELP);
                Ok(())
            }
            "break" | "b" => self.set_breakpoint(rest),
            "watch" => self.watch(rest),
            "delete" => self.delete(rest),
            "catch" => self.catch(rest),
            "run" | "continue" | "c" if !self.has_begun => {
                self.client.ask("configurationDone", json!({}))?;
                self.has_begun = true;
                self.wait()
            }
            "run" | "continue" | "c" => self.resume("continue"),
            "wait" if self.has_begun && (self.others_run || self.strand.is_none()) => self.wait(),
            "wait" => Err("all strands stand".into()),
            "pause" => self.pause(rest),
            "strand" => self.look_at(rest.parse().map_err(|_| "which strand?")?),
            "next" | "n" => self.resume("next"),
            "step" | "s" if rest.is_empty() => self.resume("stepIn"),
            "step" | "s" => self.step_to(rest),
            "steps" => self.list_names("squall/steps"),
            "points" => self.list_names("squall/breakpoints"),
            "back" | "rb" => self.resume("stepBack"),
            "reverse" | "rc" => self.resume("reverseContinue"),
            "written" if rest.is_empty() => Err("written what?".into()),
            "written" => {
                let arguments =
                    json!({ "name": rest, "frameId": self.frame_id()?, "threadId": self.strand });
                self.go_with("squall/written", arguments)
            }
            "sent" => self.resume("squall/sent"),
            "out" | "o" => self.resume("stepOut"),
            "where" | "w" => self.show_frames(rest),
            "frame" | "f" => self.choose(rest.parse().map_err(|_| "which frame?")?),
            "up" => self.choose(self.next_frame()),
            "down" => self.choose(self.frame_below()?),
            "variables" | "v" => self.show_variables(),
            "print" | "p" => self.show_value(rest),
            "parts" => self.show_parts(rest),
            "set" => self.set(rest),
            "list" | "l" => self.list(),
            "bytecode" => self.show_bytecode(),
            "complete" => self.complete(rest),
            "restart" => self.restart(),
            "goto" => self.go_to(rest.parse().map_err(|_| "which line?")?),
            "strands" => self.show_strands(),
            _ => Err(format!("there is no command {command}; `help` lists them")),
        }
    }

    /// Sets the breakpoint of a text such as `12 if x > 3`.
    fn set_breakpoint(&mut self, text: &str) -> Done {
        let (place, options) = text.split_once(' ').unwrap_or((text, ""));
        let mut request = options_of(options)?;
        let (file, line) = match place.rsplit_once(':') {
            Some((file, line)) if line.parse::<u32>().is_ok() => (file.to_owned(), line),
            _ => (self.program.clone(), place),
        };
        let kind = match line.parse::<u32>() {
            Ok(line) => {
                request["line"] = json!(line);
                Kind::Line(file)
            }
            Err(_) if place.is_empty() => return Err("where?".into()),
            Err(_) => {
                request["name"] = json!(place);
                Kind::Function
            }
        };
        self.add(kind, request)
    }

    /// Sets the data breakpoint of a text such as `counter count if new > 3`.
    fn watch(&mut self, text: &str) -> Done {
        let end = [" if ", " after "].iter().filter_map(|word| text.find(word)).min();
        let (expression, options) = text.split_at(end.unwrap_or(text.len()));
        if expression.is_empty() {
            return Err("watch what?".into());
        }
        let mut request = options_of(options)?;
        let frame = self.frame_id()?;
        let info = self
            .client
            .ask("dataBreakpointInfo", json!({ "name": expression.trim(), "frameId": frame }))?;
        if info["dataId"].is_null() {
            return Err(info["description"].as_str().unwrap_or_default().to_owned());
        }
        request["dataId"] = info["dataId"].clone();
        request["accessType"] = json!("write");
        self.add(Kind::Data, request)
    }

    /// Adds a breakpoint, and says what the server makes of it.
    fn add(&mut self, kind: Kind, request: Json) -> Done {
        self.made += 1;
        let (number, id, is_found) = (self.made, None, false);
        self.breakpoints.push(Breakpoint { number, kind: kind.clone(), request, id, is_found });
        let set = self.send_breakpoints(&kind)?;
        let last = set.last().unwrap_or(&Json::Null);
        if let Some(problem) = last["message"].as_str().filter(|_| last["id"].is_null()) {
            self.breakpoints.pop();
            self.made -= 1;
            return Err(problem.to_owned());
        }
        let where_to = match last["line"].as_u64() {
            Some(line) => format!(" at line {line}"),
            None if last["verified"] == true => String::new(),
            None if last["reason"] == "failed" => failure(last),
            None => " when its code is loaded".into(),
        };
        print(&format!("breakpoint {}{where_to}\n", self.made));
        Ok(())
    }

    /// Tells the server all breakpoints of a kind; answers what it has made of them.
    fn send_breakpoints(&mut self, kind: &Kind) -> Result<Vec<Json>, String> {
        let list = self.breakpoints.iter().filter(|each| each.kind == *kind);
        let list: Vec<Json> = list.map(|each| each.request.clone()).collect();
        let answer = match kind {
            Kind::Line(file) => self
                .client
                .ask("setBreakpoints", json!({ "source": { "path": file }, "breakpoints": list })),
            Kind::Function => {
                self.client.ask("setFunctionBreakpoints", json!({ "breakpoints": list }))
            }
            Kind::Data => self.client.ask("setDataBreakpoints", json!({ "breakpoints": list })),
        }?;
        let answers = answer["breakpoints"].as_array().cloned().unwrap_or_default();
        let set = self.breakpoints.iter_mut().filter(|each| each.kind == *kind);
        for (breakpoint, answer) in set.zip(&answers) {
            breakpoint.id = answer["id"].as_u64();
            breakpoint.is_found |= answer["verified"] == true;
        }
        Ok(answers)
    }

    /// The code of a breakpoint was loaded, or has no place for it; or a data breakpoint is gone, since its object is not known in the past.
    fn find(&mut self, told: &Json) {
        let is_it = |each: &Breakpoint| each.id.is_some() && each.id == told["id"].as_u64();
        let Some(index) = self.breakpoints.iter().position(is_it) else { return };
        if told["verified"] == true {
            self.breakpoints[index].is_found = true;
        } else if told["reason"] == "failed" {
            let number = self.breakpoints[index].number;
            print(&format!("breakpoint {number}{}\n", failure(told)));
        } else if self.breakpoints[index].kind == Kind::Data {
            let gone = self.breakpoints.remove(index);
            print(&format!("breakpoint {} is gone: its object is not known here\n", gone.number));
        }
    }

    /// Says which breakpoints had no code until the end: a name may be wrong, or a line.
    fn show_unfound(&self) {
        for Breakpoint { number, kind, request, .. } in
            self.breakpoints.iter().filter(|breakpoint| !breakpoint.is_found)
        {
            let what = match kind {
                Kind::Line(file) => format!("no code at or after {file}:{}", request["line"]),
                _ => format!("no function {}", request["name"].as_str().unwrap_or_default()),
            };
            print(&format!("breakpoint {number} was never reached: {what} was loaded\n"));
        }
    }

    fn delete(&mut self, text: &str) -> Done {
        let number: Option<usize> = match text {
            "" => None,
            _ => Some(text.parse().map_err(|_| "which breakpoint?")?),
        };
        let is_gone = |each: &Breakpoint| number.is_none_or(|number| each.number == number);
        let mut kinds: Vec<Kind> = Vec::new();
        for gone in self.breakpoints.iter().filter(|each| is_gone(each)) {
            if !kinds.contains(&gone.kind) {
                kinds.push(gone.kind.clone());
            }
        }
        if kinds.is_empty() {
            return Err("there is no such breakpoint".into());
        }
        self.breakpoints.retain(|each| !is_gone(each));
        for kind in kinds {
            self.send_breakpoints(&kind)?;
        }
        Ok(())
    }

    fn catch(&mut self, text: &str) -> Done {
        let mut words = text.split_whitespace();
        let filter = words.next().unwrap_or("uncaught");
        let classes = words.collect::<Vec<_>>().join(" ");
        let options = match filter {
            "none" => json!({ "filters": [] }),
            "all" | "uncaught" => {
                json!({ "filterOptions": [{ "filterId": filter, "condition": classes }] })
            }
            _ => return Err("catch all, uncaught or none".into()),
        };
        self.client.ask("setExceptionBreakpoints", options).map(|_| ())
    }

    fn resume(&mut self, request: &str) -> Done {
        let arguments = json!({ "threadId": self.strand, "singleThread": self.others_run });
        self.go_with(request, arguments)
    }

    /// Has the strand go by a request, forth or back, and waits until it stops.
    fn go_with(&mut self, request: &str, arguments: Json) -> Done {
        self.interrupted.store(false, Ordering::Relaxed);
        self.client.ask_unless(request, arguments, &self.interrupted)?;
        // A request that fails leaves the strand where it stands.
        self.strand = None;
        self.frames.clear();
        self.wait()
    }

    /// Has a strand stop, or the next one that runs.
    fn pause(&mut self, text: &str) -> Done {
        let strand: u64 = match text {
            "" => 0,
            _ => text.parse().map_err(|_| "which strand?")?,
        };
        self.client.ask("pause", json!({ "threadId": strand }))?;
        self.wait()
    }

    /// Looks at a strand, which may have stopped before.
    fn look_at(&mut self, strand: u64) -> Done {
        let outer = self.strand.replace(strand);
        if let Err(problem) = self.fetch_frames() {
            self.strand = outer;
            return Err(problem);
        }
        self.frame = self.own_frame();
        self.show_frame()
    }

    /// Waits until the program stops or ends.
    fn wait(&mut self) -> Done {
        self.interrupted.store(false, Ordering::Relaxed);
        loop {
            if self.interrupted.swap(false, Ordering::Relaxed) {
                self.client.ask("pause", json!({ "threadId": 0 }))?;
            }
            let event = match self.client.event(Duration::from_millis(50)) {
                Next::Event(event) => event,
                Next::None => continue,
                Next::End => {
                    self.ended.get_or_insert(1);
                    return Ok(());
                }
            };
            let body = &event["body"];
            match event["event"].as_str() {
                Some("output") => print(body["output"].as_str().unwrap_or_default()),
                Some("exited") => {
                    let code = body["exitCode"].as_i64().unwrap_or(1) as i32;
                    print(&format!("the program has ended with {code}\n"));
                    self.ended = Some(code);
                    self.show_unfound();
                    return Ok(());
                }
                Some("breakpoint") => self.find(&body["breakpoint"]),
                Some("stopped") => return self.stopped(body),
                _ => {}
            }
        }
    }

    fn stopped(&mut self, body: &Json) -> Done {
        self.strand = body["threadId"].as_u64();
        self.others_run = body["allThreadsStopped"] == false;
        let what = match (body["reason"].as_str(), body["description"].as_str()) {
            (Some("exception"), _) => body["text"].as_str().unwrap_or("an exception").to_owned(),
            (_, Some(description)) => description.to_owned(),
            (reason, _) => reason.unwrap_or("stopped").to_owned(),
        };
        if self.strand.is_none() {
            print(&format!("{what}: no strand runs\n"));
            return Ok(());
        }
        self.fetch_frames()?;
        self.frame = self.own_frame();
        match self.strand.filter(|_| self.others_run) {
            Some(strand) => print(&format!("strand {strand}, {what}: ")),
            None => print(&format!("{what}: ")),
        }
        self.show_frame()
    }

    /// The innermost frame of the program. The library's are of interest only if there are no others.
    fn own_frame(&self) -> usize {
        let is_own = |frame: &Json| frame["presentationHint"] == "normal";
        let is_origin = |frame: &Json| frame["presentationHint"] == "label";
        let own = self.frames.iter().take_while(|frame| !is_origin(frame)).position(is_own);
        // Without code of its own, the strand is about to process a message.
        let first = || self.frames.iter().position(|frame| !is_label(frame));
        own.or_else(first).unwrap_or(0)
    }

    fn fetch_frames(&mut self) -> Done {
        let strand = self.strand.ok_or("no strand has stopped")?;
        let answer = self.client.ask("stackTrace", json!({ "threadId": strand }))?;
        self.frames = answer["stackFrames"].as_array().cloned().unwrap_or_default();
        Ok(())
    }

    fn current(&self) -> Result<&Json, String> {
        self.frames.get(self.frame).ok_or_else(|| "no strand has stopped".into())
    }

    fn show_frame(&mut self) -> Done {
        let frame = self.current()?.clone();
        print(&format!("{}\n", placed(&frame)));
        let line = frame["line"].as_u64().unwrap_or_default();
        if let Some(text) = self.lines(&frame)?.get((line as usize).wrapping_sub(1)) {
            print(&format!("{line:>5}  {text}\n"));
        }
        Ok(())
    }

    /// The lines of the text of a frame.
    fn lines(&mut self, frame: &Json) -> Result<Vec<String>, String> {
        let source = &frame["source"];
        let text = match source["path"].as_str() {
            Some(path) => std::fs::read_to_string(path).unwrap_or_default(),
            None => {
                let answer = self.client.ask("source", json!({ "source": source }))?;
                answer["content"].as_str().unwrap_or_default().to_owned()
            }
        };
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn list(&mut self) -> Done {
        /// How many lines are shown on each side.
        const AROUND: usize = 5;
        let frame = self.current()?.clone();
        let line = frame["line"].as_u64().unwrap_or_default() as usize;
        let lines = self.lines(&frame)?;
        for number in line.saturating_sub(AROUND).max(1)..=(line + AROUND).min(lines.len()) {
            let mark = if number == line { "→" } else { " " };
            print(&format!("{number:>5} {mark} {}\n", lines[number - 1]));
        }
        Ok(())
    }

    /// A step with a name.
    fn step_to(&mut self, name: &str) -> Done {
        let strand = self.strand.ok_or("no strand has stopped")?;
        let arguments = json!({ "threadId": strand, "singleThread": true, "step": name });
        self.client.ask("squall/step", arguments)?;
        self.strand = None;
        self.frames.clear();
        self.wait()
    }

    /// The names that the server has for steps or breakpoints.
    fn list_names(&mut self, request: &str) -> Done {
        let answer = self.client.ask(request, json!({}))?;
        for list in ["steps", "breakpoints", "events"] {
            for each in answer[list].as_array().into_iter().flatten() {
                let text = each["label"].as_str().or(each["description"].as_str());
                let name = each["name"].as_str().unwrap_or_default();
                print(&format!("  {name:<25} {}\n", text.unwrap_or_default()));
            }
        }
        Ok(())
    }

    fn restart(&mut self) -> Done {
        let frame = self.frame_id()?;
        self.client.ask("restartFrame", json!({ "frameId": frame }))?;
        self.wait()
    }

    fn go_to(&mut self, line: u32) -> Done {
        let strand = self.strand.ok_or("no strand has stopped")?;
        self.client.ask("goto", json!({ "threadId": strand, "targetId": line }))?;
        self.wait()
    }

    /// The instructions of the frame's function, with a mark at the one where the frame stands.
    fn show_bytecode(&mut self) -> Done {
        /// The longest functions that are shown.
        const MOST: i64 = 1_000;
        let here = self.current()?["instructionPointerReference"].clone();
        let range = json!({
            "memoryReference": here, "instructionOffset": -MOST, "instructionCount": 2 * MOST,
        });
        let answer = self.client.ask("disassemble", range)?;
        let all = answer["instructions"].as_array().into_iter().flatten();
        for each in all.filter(|each| each["presentationHint"] != "invalid") {
            let mark = if each["address"] == here { "→" } else { " " };
            print(&format!("{mark} {}\n", each["instruction"].as_str().unwrap_or_default()));
        }
        Ok(())
    }

    fn complete(&mut self, text: &str) -> Done {
        let frame = self.frame_id()?;
        let column = text.encode_utf16().count() + 1;
        let answer = self
            .client
            .ask("completions", json!({ "text": text, "column": column, "frameId": frame }))?;
        for target in answer["targets"].as_array().into_iter().flatten() {
            print(&format!("  {}\n", target["label"].as_str().unwrap_or_default()));
        }
        Ok(())
    }

    fn show_frames(&mut self, text: &str) -> Done {
        self.current()?;
        let count: usize =
            if text.is_empty() { 20 } else { text.parse().map_err(|_| "how many?")? };
        for (number, frame) in self.frames.iter().enumerate().take(count) {
            let mark = if number == self.frame { "→" } else { " " };
            match is_label(frame) {
                true => print(&format!("  {}\n", frame["name"].as_str().unwrap_or_default())),
                false => print(&format!("{mark} {number}  {}\n", placed(frame))),
            }
        }
        if self.frames.len() > count {
            print(&format!("  … and {} more\n", self.frames.len() - count));
        }
        Ok(())
    }

    /// The frame that has called the current one, or has sent its message.
    fn next_frame(&self) -> usize {
        let above = self.frames.iter().enumerate().skip(self.frame + 1);
        let next = above.filter(|(_, frame)| !is_label(frame)).map(|(number, _)| number).next();
        next.unwrap_or(self.frames.len())
    }

    /// The frame that the current one has called.
    fn frame_below(&self) -> Result<usize, String> {
        let below = self.frames[..self.frame].iter().rposition(|frame| !is_label(frame));
        below.ok_or_else(|| "this is the innermost frame".into())
    }

    fn choose(&mut self, frame: usize) -> Done {
        if self.frames.get(frame).is_none_or(is_label) {
            return Err("there is no such frame".into());
        }
        self.frame = frame;
        self.show_frame()
    }

    fn frame_id(&self) -> Result<Json, String> {
        Ok(self.current()?["id"].clone())
    }

    fn show_variables(&mut self) -> Done {
        let reference = self.frame_id()?;
        let answer = self.client.ask("variables", json!({ "variablesReference": reference }))?;
        show_all(&answer["variables"]);
        Ok(())
    }

    fn evaluated(&mut self, text: &str) -> Result<Json, String> {
        let frame = self.frame_id()?;
        self.client.ask("evaluate", json!({ "expression": text, "frameId": frame }))
    }

    fn show_value(&mut self, text: &str) -> Done {
        let answer = self.evaluated(text)?;
        print(&format!("{}\n", answer["result"].as_str().unwrap_or_default()));
        Ok(())
    }

    fn show_parts(&mut self, text: &str) -> Done {
        let reference = self.evaluated(text)?["variablesReference"].clone();
        if reference == 0 {
            return Err(format!("{text} has no parts"));
        }
        let answer = self.client.ask("variables", json!({ "variablesReference": reference }))?;
        show_all(&answer["variables"]);
        Ok(())
    }

    fn set(&mut self, text: &str) -> Done {
        let (name, value) = text.split_once('=').ok_or("set NAME = EXPRESSION")?;
        let frame = self.frame_id()?;
        let (name, value) = (name.trim(), value.trim());
        let answer = self.client.ask(
            "setExpression",
            json!({ "frameId": frame, "expression": name, "value": value }),
        )?;
        print(&format!("{name} = {}\n", answer["value"].as_str().unwrap_or_default()));
        Ok(())
    }

    fn show_strands(&mut self) -> Done {
        let answer = self.client.ask("threads", json!({}))?;
        for strand in answer["threads"].as_array().into_iter().flatten() {
            let mark = if strand["id"].as_u64() == self.strand { "→" } else { " " };
            print(&format!("{mark} {}\n", strand["name"].as_str().unwrap_or_default()));
        }
        Ok(())
    }
}

/// Why a breakpoint stands nowhere, to follow its name.
fn failure(breakpoint: &Json) -> String {
    format!(" is not set: {}", breakpoint["message"].as_str().unwrap_or_default())
}

fn show_all(variables: &Json) {
    for each in variables.as_array().into_iter().flatten() {
        let text = |name: &str| each[name].as_str().unwrap_or_default().to_owned();
        print(&format!("  {} = {}\n", text("name"), text("value")));
    }
}

/// Whether a frame is a line between stacks.
fn is_label(frame: &Json) -> bool {
    frame["presentationHint"] == "label"
}

/// The request that the options of a breakpoint mean, such as `if x > 3 after 2`.
fn options_of(text: &str) -> Result<Json, String> {
    let mut request = json!({});
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (word, following) = rest.split_once(' ').ok_or(format!("what does {rest} mean?"))?;
        let end =
            ["after ", "log "].iter().filter_map(|word| following.find(&format!(" {word}"))).min();
        let (value, next) = match (word, end) {
            ("log", _) | (_, None) => (following, ""),
            (_, Some(end)) => following.split_at(end),
        };
        let name = match word {
            "if" => "condition",
            "after" => "hitCondition",
            "log" => "logMessage",
            _ => return Err(format!("what does {word} mean?")),
        };
        request[name] = json!(value.trim());
        rest = next.trim();
    }
    Ok(request)
}

/// A frame in a line.
fn placed(frame: &Json) -> String {
    let source = &frame["source"];
    let path = source["path"].as_str().or(source["name"].as_str()).unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    let path = Path::new(path).strip_prefix(&here).unwrap_or(Path::new(path));
    let name = frame["name"].as_str().unwrap_or_default();
    format!("{name} ({}:{}:{})", path.display(), frame["line"], frame["column"])
}
