//! Requests of the client that look at strands: stacks, variables, expressions. `server` calls this module.
//!
//! Numbers for the client: a thread is a strand, by its number. A frame has a number from a table, which also is the reference
//! to its variables; `OBJECTS` more than the number of an object is the reference to its parts. Numbers mean something until
//! all strands go on.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use squall_runtime::library::inspection::{self, Place};
use squall_runtime::model::function::Function;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::vm::Vm;

use super::{Answer, Server};
use crate::evaluation::{self, Value};
use crate::forms::{index, plain, text};
use crate::listing;
use crate::places::{absolute, key};
use crate::stopped::{Shown, Stopped};
use crate::watches::{Sought, Target};

/// What is added to the reference of an object.
const OBJECTS: usize = 1 << 30;

/// The numbers that the client has for frames and objects.
#[derive(Default)]
pub(crate) struct Numbers {
    /// The strand of each frame, and the frame's index; `None` for a frame that only tells where something has come from.
    frames: Vec<Option<(u64, usize)>>,
    known: HashMap<(u64, usize), usize>,
    /// The strand of each object, and its reference there.
    objects: Vec<(u64, usize)>,
}

impl Numbers {
    pub(crate) fn clear(&mut self) {
        *self = Numbers::default();
    }

    fn of_frame(&mut self, frame: Option<(u64, usize)>) -> usize {
        if let Some(known) = frame.and_then(|frame| self.known.get(&frame)) {
            return *known;
        }
        self.frames.push(frame);
        let number = self.frames.len();
        if let Some(frame) = frame {
            self.known.insert(frame, number);
        }
        number
    }

    fn frame(&self, number: usize) -> Option<(u64, usize)> {
        self.frames.get(number.checked_sub(1)?).copied().flatten()
    }

    fn of_object(&mut self, strand: u64, reference: usize) -> usize {
        if reference == 0 {
            return 0;
        }
        self.objects.push((strand, reference));
        OBJECTS + self.objects.len()
    }

    fn object(&self, number: usize) -> Option<(u64, usize)> {
        self.objects.get(number.checked_sub(OBJECTS + 1)?).copied()
    }
}

/// What is sought, and the expression that means it in a frame.
fn of_sought(sought: &Sought, frame: usize, expression: &str) -> Json {
    json!({
        "name": sought.name, "index": sought.index, "isSlot": sought.is_slot,
        "frame": frame, "expression": expression,
    })
}

/// A frame for the client, or a label above frames.
enum Shelf {
    Frame(Option<(u64, usize)>, Place),
    Label(String),
}

impl Server {
    pub(crate) fn stack_trace(&self, arguments: &Json) -> Answer {
        let strand = arguments["threadId"].as_u64().ok_or("threadId is missing")?;
        let (first, levels) = (index(&arguments["startFrame"]), index(&arguments["levels"]));
        let levels = if levels == 0 { usize::MAX } else { levels };
        let is_stopped = self.is_stopped(strand);
        let places = match is_stopped {
            true => {
                let frames = |stopped: &mut Stopped| {
                    stopped.frames().into_iter().map(|frame| frame.place()).collect::<Vec<_>>()
                };
                self.ask(strand, frames)?
            }
            false => {
                let strands = inspection::strands(Vm::of_process());
                let found = strands.into_iter().find(|seen| seen.number == strand);
                found.ok_or("there is no such strand any more")?.places
            }
        };
        let mut stack = Vec::new();
        for (index, place) in places.into_iter().enumerate() {
            stack.push(Shelf::Frame(is_stopped.then_some((strand, index)), place));
        }
        for origin in self.control.origins.of(strand) {
            stack.push(Shelf::Label(origin.label(Vm::of_process())));
            stack.extend(origin.frames.into_iter().map(|place| Shelf::Frame(None, place)));
        }
        let total = stack.len();
        let shown = stack.into_iter().skip(first).take(levels);
        let frames: Vec<Json> = shown.map(|shelf| self.of_shelf(shelf)).collect();
        Ok(json!({ "stackFrames": frames, "totalFrames": total }))
    }

    fn of_shelf(&self, shelf: Shelf) -> Json {
        let (frame, place) = match shelf {
            Shelf::Frame(frame, place) => (frame, place),
            Shelf::Label(label) => {
                let id = self.numbers.lock().of_frame(None);
                let (line, hint) = (0, "label");
                return json!({
                    "id": id, "name": label, "line": line, "column": line, "presentationHint": hint,
                });
            }
        };
        let (path, line, column) = place.position();
        let is_library = place.function.module.bytecode.is_image();
        json!({
            "id": self.numbers.lock().of_frame(frame),
            "name": place.function.name(),
            "source": self.of_source(path, is_library),
            "line": line,
            "column": column,
            "instructionPointerReference": address_of((place.function, place.pc)),
            "canRestart": frame.is_some(),
            "presentationHint": if is_library { "subtle" } else { "normal" },
        })
    }

    fn of_source(&self, path: &str, is_library: bool) -> Json {
        let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        if !is_library {
            let path = crate::places::absolute(Path::new(path));
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

    pub(crate) fn source(&self, arguments: &Json) -> Answer {
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

    pub(crate) fn scopes(&self, arguments: &Json) -> Answer {
        let number = index(&arguments["frameId"]);
        // Only stopped strands show their variables.
        if self.numbers.lock().frame(number).is_none() {
            return Ok(json!({ "scopes": [] }));
        }
        Ok(json!({ "scopes": [{
            "name": "Variables",
            "presentationHint": "locals",
            "variablesReference": number,
            "expensive": false,
        }] }))
    }

    /// The strand and the index of the frame with a number. Without a number: the innermost frame of the strand that has
    /// stopped last.
    pub(crate) fn frame(&self, number: &Json) -> Result<(u64, usize), String> {
        match index(number) {
            0 => Ok((self.stopped_strand(None)?, 0)),
            number => {
                let frame = self.numbers.lock().frame(number);
                frame.ok_or_else(|| "this frame shows no variables".into())
            }
        }
    }

    /// The strand and the reference of an object with a number, if the number is one of an object.
    fn object(&self, number: usize) -> Result<Option<(u64, usize)>, String> {
        if number < OBJECTS {
            return Ok(None);
        }
        let object = self.numbers.lock().object(number);
        object.map(Some).ok_or_else(|| "this object is not known any more".into())
    }

    pub(crate) fn variables(&self, arguments: &Json) -> Answer {
        let number = index(&arguments["variablesReference"]);
        let wants_indexed = arguments["filter"] == "indexed";
        let (first, count) = (index(&arguments["start"]), index(&arguments["count"]));
        let range = (wants_indexed && count > 0).then_some((first, count));
        let wants_named = arguments["filter"] == "named";
        let (strand, shown) = match self.object(number)? {
            Some((strand, object)) => {
                let range = if wants_named { Some((0, 0)) } else { range };
                (strand, self.ask(strand, move |stopped| stopped.parts(object, range))?)
            }
            None => {
                let (strand, frame) = self.frame(&arguments["variablesReference"])?;
                (strand, self.ask(strand, move |stopped| stopped.variables(frame))?)
            }
        };
        let shown: Vec<Json> = shown.iter().map(|shown| self.of_shown(strand, shown)).collect();
        Ok(json!({ "variables": shown }))
    }

    fn of_shown(&self, strand: u64, shown: &Shown) -> Json {
        json!({
            "name": shown.name,
            "value": shown.value,
            "type": shown.class,
            "variablesReference": self.numbers.lock().of_object(strand, shown.reference),
            "namedVariables": shown.named,
            "indexedVariables": shown.indexed,
        })
    }

    pub(crate) fn set_variable(&self, arguments: &Json) -> Answer {
        let (name, value) = (text(&arguments["name"])?, text(&arguments["value"])?);
        if let Some((strand, object)) = self.object(index(&arguments["variablesReference"]))? {
            let shown = self.ask(strand, move |stopped| {
                let value = evaluation::evaluate(stopped, 0, &value)?;
                let word = evaluation::word_of(stopped, value)?;
                let gone = "this object is not known any more";
                stopped.assign_slot(stopped.object(object).ok_or(gone)?, &name, word)?;
                let parts = stopped.parts(object, None);
                parts.into_iter().find(|part| part.name == name).ok_or(gone.to_owned())
            })??;
            return Ok(self.of_shown(strand, &shown));
        }
        let (strand, frame) = self.frame(&arguments["variablesReference"])?;
        self.assigned(strand, frame, name, value)
    }

    pub(crate) fn set_expression(&self, arguments: &Json) -> Answer {
        let (name, value) = (text(&arguments["expression"])?, text(&arguments["value"])?);
        let (strand, frame) = self.frame(&arguments["frameId"])?;
        self.assigned(strand, frame, name, value)
    }

    fn assigned(&self, strand: u64, frame: usize, name: String, value: String) -> Answer {
        let shown = self.ask(strand, move |stopped| {
            let value = evaluation::assign(stopped, frame, &name, &value)?;
            Ok::<_, String>(shown(stopped, name, value))
        })??;
        Ok(self.of_shown(strand, &shown))
    }

    pub(crate) fn evaluate(&self, arguments: &Json) -> Answer {
        let expression = text(&arguments["expression"])?;
        let (strand, frame) = self.frame(&arguments["frameId"])?;
        let shown = self.ask(strand, move |stopped| {
            let value = evaluation::evaluate(stopped, frame, &expression)?;
            Ok::<_, String>(shown(stopped, expression, value))
        })??;
        let mut answer = self.of_shown(strand, &shown);
        answer["result"] = answer["value"].take();
        Ok(answer)
    }

    /// What a data breakpoint for a variable, slot or expression would be about.
    pub(crate) fn data_breakpoint_info(&self, arguments: &Json) -> Answer {
        let name = text(&arguments["name"])?;
        let number = index(&arguments["variablesReference"]);
        let (target, introduction) = match self.object(number)? {
            Some((strand, object)) => {
                let name = name.clone();
                let target = self.ask(strand, move |stopped| stopped.slot_target(object, &name))?;
                (target, Json::Null)
            }
            None => {
                let given = if number == 0 { "frameId" } else { "variablesReference" };
                let (strand, frame) = self.frame(&arguments[given])?;
                self.named_target(strand, frame, name.clone())?
            }
        };
        let moment = self.control.moment();
        Ok(match target {
            Ok(target) => json!({
                "dataId": self.control.watches.lock().introduce(target, moment),
                "description": format!("writes of {name}"),
                "accessTypes": ["write"],
                "canPersist": false,
                "squall": introduction,
            }),
            Err(problem) => json!({ "dataId": null, "description": problem }),
        })
    }

    /// What an expression means in a frame, for a data breakpoint, and how another process that repeats the run gets to know it.
    fn named_target(
        &self,
        strand: u64,
        frame: usize,
        name: String,
    ) -> Result<(Result<Target, String>, Json), String> {
        let (control, text) = (Arc::clone(&self.control), name.clone());
        let (target, position) = self.ask(strand, move |stopped| {
            let target = evaluation::target(stopped, frame, &text);
            (target, control.position(stopped.thread))
        })?;
        let introduction = match (&target, position) {
            (Ok(target), Some(position)) => {
                let sought = of_sought(&target.sought(), frame, &name);
                json!({ "position": position.to_json(), "target": sought })
            }
            _ => Json::Null,
        };
        Ok((target, introduction))
    }

    /// What an expression means that names a slot or a shared variable, so that a repetition can look for its writes.
    pub(crate) fn target(&self, arguments: &Json) -> Answer {
        let expression = text(&arguments["name"])?;
        let (strand, frame) = self.frame(&arguments["frameId"])?;
        let meant = expression.clone();
        let sought = self.ask(strand, move |stopped| {
            evaluation::target(stopped, frame, &meant).map(|target| target.sought())
        })??;
        let mut target = of_sought(&sought, frame, &expression);
        target["strand"] = json!(strand);
        Ok(target)
    }

    /// Where the last word of a text may lead. Columns count UTF-16 units from 1, as the protocol has them.
    pub(crate) fn completions(&self, arguments: &Json) -> Answer {
        let line = text(&arguments["text"])?;
        let units = index(&arguments["column"]).saturating_sub(1);
        let line: String =
            String::from_utf16_lossy(&line.encode_utf16().take(units).collect::<Vec<_>>());
        let (strand, frame) = self.frame(&arguments["frameId"])?;
        let length = line.encode_utf16().count();
        let (word, names) = self.ask(strand, move |stopped| {
            let (start, names) = evaluation::completions(stopped, frame, &line);
            (line[start..].encode_utf16().count(), names)
        })?;
        let target = |label: String| json!({ "label": label, "start": length - word, "length": word, "type": "variable" });
        Ok(json!({ "targets": names.into_iter().map(target).collect::<Vec<_>>() }))
    }

    /// Has a stopped strand go on at the beginning of a frame. Answers the strand.
    pub(crate) fn restart_frame(&self, arguments: &Json) -> Result<u64, String> {
        if index(&arguments["frameId"]) == 0 {
            return Err("frameId is missing".into());
        }
        let (strand, frame) = self.frame(&arguments["frameId"])?;
        self.move_by(strand, move |stopped| stopped.restart(frame))
    }

    /// The line of a source to which a strand could go.
    pub(crate) fn goto_targets(&self, arguments: &Json) -> Answer {
        let locations = self.breakpoint_locations(arguments)?;
        let lines = locations["breakpoints"].as_array().into_iter().flatten();
        let line = lines.filter_map(|location| location["line"].as_u64()).next();
        let target =
            |line: u64| json!({ "id": line, "label": format!("line {line}"), "line": line });
        Ok(json!({ "targets": line.map(target).into_iter().collect::<Vec<_>>() }))
    }

    /// Has a stopped strand go on at a line of its innermost function. Answers the strand.
    pub(crate) fn goto(&self, arguments: &Json) -> Result<u64, String> {
        let line = arguments["targetId"].as_u64().and_then(|line| u32::try_from(line).ok());
        let line = line.ok_or("targetId is missing")?;
        let strand = self.stopped_strand(arguments["threadId"].as_u64())?;
        self.move_by(strand, move |stopped| stopped.go_to(line))
    }

    /// Moves a stopped strand, which is answered.
    fn move_by(
        &self,
        strand: u64,
        move_it: impl FnOnce(&mut Stopped) -> Result<(), String> + Send + 'static,
    ) -> Result<u64, String> {
        let control = Arc::clone(&self.control);
        self.ask(strand, move |stopped| {
            let from = control.position(stopped.thread);
            move_it(stopped)?;
            control.note_move(from);
            Ok::<(), String>(())
        })??;
        Ok(strand)
    }

    pub(crate) fn breakpoint_locations(&self, arguments: &Json) -> Answer {
        let path = arguments["source"]["path"].as_str().ok_or("the source has no path")?;
        let path = absolute(Path::new(path));
        let from = arguments["line"].as_u64().unwrap_or_default();
        let to = arguments["endLine"].as_u64().unwrap_or(from);
        let (from, to) =
            (u32::try_from(from).unwrap_or(u32::MAX), u32::try_from(to).unwrap_or(u32::MAX));
        let vm = Vm::of_process();
        let modules = vm.modules.all();
        let is_meant = |module: &&'static LoadedModule| {
            absolute(Path::new(module.bytecode.path_text())) == path
        };
        let locations = modules
            .filter(is_meant)
            .flat_map(|module| listing::locations(module, from, to))
            .map(|(line, column)| json!({ "line": line, "column": column }));
        Ok(json!({ "breakpoints": locations.collect::<Vec<_>>() }))
    }

    /// The bytecode around an address.
    pub(crate) fn disassemble(&self, arguments: &Json) -> Answer {
        /// The most instructions that are shown at once.
        const MOST: i64 = 10_000;
        let reference = text(&arguments["memoryReference"])?;
        let digits = reference.strip_prefix("0x").ok_or("this is no address")?;
        let address = usize::from_str_radix(digits, 16).map_err(|_| "this is no address")?;
        let offset = isize::try_from(arguments["offset"].as_i64().unwrap_or_default());
        let address = offset.ok().and_then(|offset| address.checked_add_signed(offset));
        let place = address.and_then(|address| listing::place_at(Vm::of_process(), address));
        let (function, pc) = place.ok_or("there is no instruction at this address")?;
        let lines = listing::lines(function);
        let at = lines.iter().position(|((_, other), _)| *other == pc).unwrap_or_default();
        let first = arguments["instructionOffset"].as_i64().unwrap_or_default();
        let first = (at as i64).saturating_add(first.clamp(-MOST, MOST));
        let count = arguments["instructionCount"].as_i64().unwrap_or_default().clamp(0, MOST);
        let shown = (first..first + count).map(|index| {
            let line = usize::try_from(index).ok().and_then(|index| lines.get(index));
            match line {
                Some((place, text)) => self.of_instruction(*place, text),
                None => json!({
                    "address": "0x0", "instruction": "", "presentationHint": "invalid",
                }),
            }
        });
        Ok(json!({ "instructions": shown.collect::<Vec<_>>() }))
    }

    fn of_instruction(&self, place: (&'static Function, usize), text: &str) -> Json {
        let (function, pc) = place;
        let (path, line, column) = function.position(pc);
        json!({
            "address": address_of(place),
            "instruction": format!("{pc:>4}  {text}"),
            "symbol": function.name(),
            "location": self.of_source(path, function.module.bytecode.is_image()),
            "line": line,
            "column": column,
        })
    }
}

/// The address of an instruction, for the client.
fn address_of(place: (&'static Function, usize)) -> String {
    format!("{:#x}", key(place))
}

/// A value for the client.
fn shown(stopped: &mut Stopped, name: String, value: Value) -> Shown {
    match value {
        Value::Object(word) => stopped.show(name, word),
        value => plain(name, value.text(stopped)),
    }
}
