//! The server of the Debug Adapter Protocol, for one client on a stream. The command line starts it for a machine that is
//! about to run.
//!
//! Requests are served one after the other. What needs the stopped strand is sent to its thread ([`Control`]); strands that
//! do not run are looked at from here, while the machine stands for a moment.
//!
//! Numbers for the client: a thread is a strand, by its number. A frame of the stopped strand is its index plus 1. A
//! reference to variables is the same for a frame's, and `OBJECTS` more than that of an object for its parts.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use squall_heap::Word;
use squall_runtime::library::inspection::{self, Place};
use squall_runtime::objects::string::make_string;
use squall_runtime::state::vm::Vm;

use crate::breakpoints::{Breakpoint, Request};
use crate::control::{Command, Control, Ends, Event, Exceptions, Flow, Reason, Step};
use crate::evaluation::{self, Value};
use crate::protocol;
use crate::stopped::{Shown, Stopped};

/// What is added to the reference of an object.
const OBJECTS: usize = 1 << 30;
/// The number of the first frame of a strand that is not the stopped one.
const OTHER_FRAMES: usize = 1 << 20;
/// How long a pause waits for a strand that polls.
const PAUSE_WAIT: Duration = Duration::from_millis(300);

/// The way to the client.
struct Output {
    stream: Box<dyn Write + Send>,
    sequence: u64,
}

impl Output {
    fn send(&mut self, mut message: Json) -> io::Result<()> {
        self.sequence += 1;
        message["seq"] = json!(self.sequence);
        protocol::write(&mut *self.stream, &message)
    }
}

/// The strand that has stopped, as the client knows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pause {
    /// The program runs.
    None,
    /// All strands wait, and none has stopped.
    Idle,
    /// This strand has stopped, and why.
    Strand(u64, Reason),
}

/// A server with its client.
pub struct Server {
    control: Arc<Control>,
    commands: Sender<Command>,
    output: Mutex<Output>,
    pause: Mutex<Pause>,
    /// Texts that are no files, by the numbers that the client has for them.
    texts: Mutex<Vec<String>>,
    /// Told when the client is ready for the program to run.
    ready: Mutex<Option<Sender<()>>>,
    hang_up: Box<dyn Fn() + Send + Sync>,
}

/// Starts a server with a client on these streams, which `hang_up` closes. The receiver hears when the program is to run; without hearing anything
/// it ends if the client has left before.
pub fn start(
    ends: Ends,
    mut input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
    hang_up: Box<dyn Fn() + Send + Sync>,
) -> (Arc<Server>, Receiver<()>) {
    let Ends { control, events, commands } = ends;
    let (ready, is_ready) = channel();
    let server = Arc::new(Server {
        control,
        commands,
        output: Mutex::new(Output { stream: output, sequence: 0 }),
        pause: Mutex::new(Pause::None),
        texts: Mutex::default(),
        ready: Mutex::new(Some(ready)),
        hang_up,
    });
    let teller = Arc::clone(&server);
    std::thread::spawn(move || events.iter().for_each(|event| teller.tell(event)));
    let reader = Arc::clone(&server);
    std::thread::spawn(move || {
        while let Ok(Some(request)) = protocol::read(&mut *input) {
            if !reader.handle(&request) {
                break;
            }
        }
        reader.leave();
    });
    (server, is_ready)
}

type Answer = Result<Json, String>;

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
        self.control.detach();
        self.resume(None);
        *self.ready.lock() = None;
        (self.hang_up)();
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
            Event::Ended(code, known) => {
                self.send(protocol::event("exited", json!({ "exitCode": code })));
                self.send(protocol::event("terminated", json!({})));
                // The machine may have gone.
                _ = known.send(());
            }
            Event::Stopped(strand, reason) => {
                let body = of_stop(strand, &reason);
                *self.pause.lock() =
                    strand.map_or(Pause::Idle, |strand| Pause::Strand(strand, reason));
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
        if let Some(step) = resumption(command) {
            // The program may end as soon as it goes on, so the answer comes first.
            let may_resume = self.may_resume(step);
            let is_paused = may_resume.is_ok();
            self.send(protocol::response(request, may_resume));
            if is_paused {
                self.resume(step);
            }
            return true;
        }
        let answer = self.answer(command, &request["arguments"]);
        self.send(protocol::response(request, answer));
        match command {
            "initialize" => self.send(protocol::event("initialized", json!({}))),
            "configurationDone" => {
                if let Some(ready) = self.ready.lock().take() {
                    _ = ready.send(());
                }
            }
            _ => {}
        }
        !matches!(command, "disconnect" | "terminate")
    }

    fn answer(&self, command: &str, arguments: &Json) -> Answer {
        match command {
            "initialize" => Ok(capabilities()),
            "launch" | "attach" | "configurationDone" | "disconnect" => Ok(json!({})),
            "terminate" => {
                Vm::of_process().end(TERMINATED);
                Ok(json!({}))
            }
            "setBreakpoints" => self.set_breakpoints(arguments),
            "setFunctionBreakpoints" => self.set_function_breakpoints(arguments),
            "setExceptionBreakpoints" => self.set_exceptions(arguments),
            "threads" => Ok(threads()),
            "stackTrace" => self.stack_trace(arguments),
            "scopes" => Ok(scopes(arguments)),
            "variables" => self.variables(arguments),
            "setVariable" => self.set_variable(arguments),
            "evaluate" => self.evaluate(arguments),
            "exceptionInfo" => self.exception_info(),
            "source" => self.source(arguments),
            "loadedSources" => Ok(loaded_sources()),
            "pause" => {
                self.pause_soon();
                Ok(json!({}))
            }
            _ => Err(format!("the request {command} is not supported")),
        }
    }

    fn set_breakpoints(&self, arguments: &Json) -> Answer {
        let path = arguments["source"]["path"].as_str().ok_or("the source has no path")?;
        let list = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        let requests: Result<Vec<Request>, String> = list.iter().map(request_of).collect();
        let requests = requests?;
        let set = self.control.change(|all, vm| all.set_lines(vm, Path::new(path), requests));
        Ok(json!({ "breakpoints": set.iter().map(of_breakpoint).collect::<Vec<_>>() }))
    }

    fn set_function_breakpoints(&self, arguments: &Json) -> Answer {
        let list = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        let request = |each: &Json| {
            let name = each["name"].as_str().ok_or("a breakpoint has no name")?;
            Ok((name.to_owned(), request_of(each)?))
        };
        let requests: Result<Vec<(String, Request)>, String> = list.iter().map(request).collect();
        let requests = requests?;
        let (set, events) = self.control.change(|all, vm| {
            let (set, changes) = all.set_functions(vm, requests);
            ((set, all.events().collect::<Vec<_>>()), changes)
        });
        self.control.set_events(events.into_iter());
        Ok(json!({ "breakpoints": set.iter().map(of_breakpoint).collect::<Vec<_>>() }))
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

    fn stack_trace(&self, arguments: &Json) -> Answer {
        let strand = arguments["threadId"].as_u64().ok_or("threadId is missing")?;
        let (first, levels) = (index(&arguments["startFrame"]), index(&arguments["levels"]));
        let levels = if levels == 0 { usize::MAX } else { levels };
        let is_stopped =
            matches!(&*self.pause.lock(), Pause::Strand(stopped, _) if *stopped == strand);
        let (places, first_id) = match is_stopped {
            true => {
                let frames = |stopped: &mut Stopped| {
                    stopped.frames().into_iter().map(|frame| frame.place()).collect::<Vec<_>>()
                };
                (self.ask(frames)?, 1)
            }
            false => {
                let strands = inspection::strands(Vm::of_process());
                let found = strands.into_iter().find(|seen| seen.number == strand);
                (found.ok_or("there is no such strand any more")?.places, OTHER_FRAMES)
            }
        };
        let total = places.len();
        let shown = places.into_iter().enumerate().skip(first).take(levels);
        let frames: Vec<Json> =
            shown.map(|(index, place)| self.of_frame(first_id + index, place)).collect();
        Ok(json!({ "stackFrames": frames, "totalFrames": total }))
    }

    fn of_frame(&self, id: usize, place: Place) -> Json {
        let (path, line, column) = place.position();
        let is_library = place.function.module.bytecode.is_image();
        json!({
            "id": id,
            "name": place.function.name(),
            "source": self.of_source(path, is_library),
            "line": line,
            "column": column,
            "presentationHint": if is_library { "subtle" } else { "normal" },
        })
    }

    fn of_source(&self, path: &str, is_library: bool) -> Json {
        let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        if !is_library {
            let path = crate::breakpoints::absolute(Path::new(path));
            return json!({ "name": name, "path": path });
        }
        let mut texts = self.texts.lock();
        let known = texts.iter().position(|text| text == path);
        let number = known.unwrap_or_else(|| {
            texts.push(path.to_owned());
            texts.len() - 1
        });
        json!({ "name": name, "sourceReference": number + 1, "origin": "the library" })
    }

    fn source(&self, arguments: &Json) -> Answer {
        let reference = arguments["source"]["sourceReference"].as_u64();
        let number = reference.or(arguments["sourceReference"].as_u64()).unwrap_or_default();
        let path = match (number as usize).checked_sub(1) {
            Some(number) => self.texts.lock().get(number).cloned(),
            None => arguments["source"]["path"].as_str().map(str::to_owned),
        };
        let text = path.and_then(|path| self.control.names.text(&path));
        let text = text.ok_or("this text is not known")?;
        Ok(json!({ "content": String::from_utf8_lossy(&text) }))
    }

    fn variables(&self, arguments: &Json) -> Answer {
        let reference = index(&arguments["variablesReference"]);
        let wants_indexed = arguments["filter"] == "indexed";
        let (first, count) = (index(&arguments["start"]), index(&arguments["count"]));
        let range = (wants_indexed && count > 0).then_some((first, count));
        let wants_named = arguments["filter"] == "named";
        let shown = self.ask(move |stopped| match reference.checked_sub(OBJECTS) {
            Some(object) if wants_named => stopped.parts(object, Some((0, 0))),
            Some(object) => stopped.parts(object, range),
            None => stopped.variables(reference.wrapping_sub(1)),
        })?;
        Ok(json!({ "variables": shown.iter().map(of_shown).collect::<Vec<_>>() }))
    }

    fn set_variable(&self, arguments: &Json) -> Answer {
        let reference = index(&arguments["variablesReference"]);
        let frame = reference.wrapping_sub(1);
        if reference >= OBJECTS {
            return Err("slots are not set here".into());
        }
        let name = text(&arguments["name"])?;
        let value = text(&arguments["value"])?;
        let shown = self.ask(move |stopped| {
            let value = evaluation::evaluate(stopped, frame, &value)?;
            let word = word_of(stopped, value)?;
            stopped.assign(frame, &name, word)?;
            Ok::<_, String>(stopped.show(name, word))
        })??;
        Ok(json!({
            "value": shown.value,
            "type": shown.class,
            "variablesReference": reference_of(&shown),
        }))
    }

    fn evaluate(&self, arguments: &Json) -> Answer {
        let expression = text(&arguments["expression"])?;
        let frame = index(&arguments["frameId"]).saturating_sub(1);
        let shown = self.ask(move |stopped| {
            Ok::<_, String>(match evaluation::evaluate(stopped, frame, &expression)? {
                Value::Object(word) => stopped.show(expression, word),
                value => plain(expression, value.text(stopped)),
            })
        })??;
        Ok(json!({
            "result": shown.value,
            "type": shown.class,
            "variablesReference": reference_of(&shown),
            "namedVariables": shown.named,
            "indexedVariables": shown.indexed,
        }))
    }

    fn exception_info(&self) -> Answer {
        match &*self.pause.lock() {
            Pause::Strand(_, Reason::Exception(class, text)) => Ok(json!({
                "exceptionId": class,
                "description": text,
                "breakMode": "always",
            })),
            _ => Err("no exception has stopped the program".into()),
        }
    }

    /// Has the stopped thread compute something.
    fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Stopped) -> R + Send + 'static,
    ) -> Result<R, String> {
        if !matches!(*self.pause.lock(), Pause::Strand(..)) {
            return Err("no strand has stopped".into());
        }
        let (sender, receiver) = channel();
        let command = Command::new(move |stopped| {
            _ = sender.send(question(stopped));
            Flow::Stay
        });
        self.commands.send(command).map_err(|_| "the program has ended")?;
        receiver.recv().map_err(|_| "the program has ended".into())
    }

    /// Whether the program can go on, by a step if one is given.
    fn may_resume(&self, step: Option<Step>) -> Answer {
        match &*self.pause.lock() {
            Pause::None => Err("the program runs".into()),
            Pause::Idle if step.is_some() => Err("no strand has stopped that could step".into()),
            Pause::Idle | Pause::Strand(..) => Ok(json!({ "allThreadsContinued": true })),
        }
    }

    /// Lets the program go on, if it is paused.
    fn resume(&self, step: Option<Step>) {
        let pause = std::mem::replace(&mut *self.pause.lock(), Pause::None);
        match pause {
            Pause::None => {}
            Pause::Idle => self.control.resume_idle(),
            Pause::Strand(..) => {
                // If the program has ended, nothing goes on.
                _ = self.commands.send(Command::new(move |_| Flow::Resume(step)));
            }
        }
    }

    fn pause_soon(&self) {
        self.control.pause();
        let control = Arc::clone(&self.control);
        std::thread::spawn(move || {
            std::thread::sleep(PAUSE_WAIT);
            control.pause_idle();
        });
    }
}

/// The step by which a request lets the program go on, if it is such a request.
fn resumption(command: &str) -> Option<Option<Step>> {
    match command {
        "continue" => Some(None),
        "next" => Some(Some(Step::Over)),
        "stepIn" => Some(Some(Step::In)),
        "stepOut" => Some(Some(Step::Out)),
        _ => None,
    }
}

/// The exit code of a program that the client has ended.
const TERMINATED: i32 = 143;

fn capabilities() -> Json {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsLogPoints": true,
        "supportsEvaluateForHovers": true,
        "supportsSetVariable": true,
        "supportsExceptionInfoRequest": true,
        "supportsExceptionFilterOptions": true,
        "supportsLoadedSourcesRequest": true,
        "supportsTerminateRequest": true,
        "supportsDelayedStackTraceLoading": true,
        "exceptionBreakpointFilters": [
            {
                "filter": "uncaught",
                "label": "Exceptions that nothing catches",
                "default": true,
                "supportsCondition": true,
                "conditionDescription": "names of classes",
            },
            {
                "filter": "all",
                "label": "All exceptions",
                "default": false,
                "supportsCondition": true,
                "conditionDescription": "names of classes",
            },
        ],
    })
}

fn text(value: &Json) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "a text is missing".into())
}

fn index(value: &Json) -> usize {
    value.as_u64().unwrap_or_default() as usize
}

fn request_of(json: &Json) -> Result<Request, String> {
    let given = |name: &str| json[name].as_str().filter(|text| !text.is_empty());
    let hits = match given("hitCondition") {
        Some(text) => {
            let digits = text.trim_start_matches(['>', '=', ' ']);
            Some(digits.parse().map_err(|_| format!("{text} is no number of hits"))?)
        }
        None => None,
    };
    Ok(Request {
        line: json["line"].as_u64().unwrap_or_default() as u32,
        column: json["column"].as_u64().map(|column| column as u32),
        condition: given("condition").map(str::to_owned),
        hits,
        log: given("logMessage").map(str::to_owned),
    })
}

fn of_breakpoint(breakpoint: &Breakpoint) -> Json {
    let mut json = json!({ "id": breakpoint.id, "verified": breakpoint.line.is_some() });
    match breakpoint.line {
        // Events have no line.
        Some(0) => {}
        Some(line) => json["line"] = json!(line),
        None => json["message"] = json!("no code was loaded so far for this place"),
    }
    json
}

fn of_stop(strand: Option<u64>, reason: &Reason) -> Json {
    let mut body = json!({ "allThreadsStopped": true });
    if let Some(strand) = strand {
        body["threadId"] = json!(strand);
    }
    match reason {
        Reason::Breakpoint(ids) => {
            body["reason"] = json!("breakpoint");
            body["hitBreakpointIds"] = json!(ids);
        }
        Reason::Step => body["reason"] = json!("step"),
        Reason::Pause => body["reason"] = json!("pause"),
        Reason::Event(id, kind) => {
            body["reason"] = json!("function breakpoint");
            body["description"] = json!(format!("{}:{}", kind.entity().name(), kind.name()));
            body["hitBreakpointIds"] = json!([id]);
        }
        Reason::Exception(class, text) => {
            body["reason"] = json!("exception");
            body["description"] = json!(class);
            body["text"] = json!(text);
        }
    }
    body
}

fn threads() -> Json {
    let strands = inspection::strands(Vm::of_process());
    let thread = |seen: &inspection::SeenStrand| json!({ "id": seen.number, "name": format!("{}, {}", seen.name, seen.state) });
    json!({ "threads": strands.iter().map(thread).collect::<Vec<_>>() })
}

fn scopes(arguments: &Json) -> Json {
    let frame = index(&arguments["frameId"]);
    if frame >= OTHER_FRAMES {
        // Only the stopped thread shows its variables.
        return json!({ "scopes": [] });
    }
    json!({ "scopes": [{
        "name": "Variables",
        "presentationHint": "locals",
        "variablesReference": frame,
        "expensive": false,
    }] })
}

fn loaded_sources() -> Json {
    let vm = Vm::of_process();
    let modules = (0..).map_while(|number| vm.modules.at(number));
    let mut sources: HashMap<String, Json> = HashMap::new();
    for module in modules.filter(|module| !module.bytecode.is_image()) {
        let path = module.bytecode.path_text();
        let source = json!({ "name": path, "path": crate::breakpoints::absolute(Path::new(path)) });
        sources.insert(path.to_owned(), source);
    }
    json!({ "sources": sources.into_values().collect::<Vec<_>>() })
}

fn reference_of(shown: &Shown) -> usize {
    if shown.reference == 0 { 0 } else { OBJECTS + shown.reference }
}

fn of_shown(shown: &Shown) -> Json {
    json!({
        "name": shown.name,
        "value": shown.value,
        "type": shown.class,
        "variablesReference": reference_of(shown),
        "namedVariables": shown.named,
        "indexedVariables": shown.indexed,
    })
}

fn plain(name: String, value: String) -> Shown {
    Shown { name, value, class: String::new(), reference: 0, named: 0, indexed: 0 }
}

/// A value as an object of the program. *GC point.*
fn word_of(stopped: &mut Stopped, value: Value) -> Result<Word, String> {
    match value {
        Value::Object(word) => Ok(word),
        Value::Boolean(holds) => Ok(Word::from_bool(holds)),
        Value::Integer(value) => {
            squall_runtime::objects::number::make_integer(stopped.thread, value)
                .map_err(|_| "there is no memory for it".into())
        }
        Value::Double(value) => squall_runtime::objects::number::make_double(stopped.thread, value)
            .map_err(|_| "there is no memory for it".into()),
        Value::Text(text) => {
            make_string(stopped.thread, &text).map_err(|_| "there is no memory for it".into())
        }
    }
}
