//! The forms of the protocol's messages: what requests mean, and what answers and events say. `server` and `looks` use it.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use squall_events::Kind;
use squall_runtime::library::inspection;
use squall_runtime::state::vm::Vm;

use crate::breakpoints::{Breakpoint, Request};
use crate::goals::{STEPS, StepRow};
use crate::points::{self, POINTS, Point};
use crate::stopped::Shown;

/// The exit code of a program that the client has ended.
pub(crate) const TERMINATED: i32 = 143;

pub(crate) fn capabilities() -> Json {
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
        "supportsCancelRequest": true,
        "supportsDelayedStackTraceLoading": true,
        "supportsDataBreakpoints": true,
        "supportsSetExpression": true,
        "supportsCompletionsRequest": true,
        "completionTriggerCharacters": [" ", "."],
        "supportsRestartFrame": true,
        "supportsGotoTargetsRequest": true,
        "supportsBreakpointLocationsRequest": true,
        "supportsDisassembleRequest": true,
        "supportsSteppingGranularity": true,
        "supportsSingleThreadExecutionRequests": true,
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

pub(crate) fn text(value: &Json) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "a text is missing".into())
}

pub(crate) fn index(value: &Json) -> usize {
    value.as_u64().unwrap_or_default() as usize
}

/// What a client asks for with a breakpoint; the error says what is wrong with it.
pub(crate) fn request_of(json: &Json) -> Result<Request, String> {
    let given = |name: &str| match &json[name] {
        Json::Null => Ok(None),
        Json::String(text) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        _ => Err(format!("{name} is no text")),
    };
    let number = |name: &str| match &json[name] {
        Json::Null => Ok(None),
        other => match other.as_u64().and_then(|number| u32::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{name} is no number of a {name}")),
        },
    };
    Ok(Request {
        line: number("line")?.unwrap_or_default(),
        column: number("column")?,
        condition: given("condition")?.map(str::to_owned),
        hits: given("hitCondition")?.map(hits_of).transpose()?,
        log: given("logMessage")?.map(str::to_owned),
    })
}

/// From which hit on a breakpoint counts: `3` and `>= 3` say the third one, `> 3` the fourth.
fn hits_of(text: &str) -> Result<u64, String> {
    let (digits, more) = match (text.strip_prefix(">="), text.strip_prefix('>')) {
        (Some(digits), _) => (digits, 0),
        (None, Some(digits)) => (digits, 1),
        (None, None) => (text, 0),
    };
    let hits = digits.trim().parse::<u64>().ok().and_then(|hits| hits.checked_add(more));
    hits.ok_or_else(|| format!("{text} is no number of hits, such as 3 or > 3"))
}

/// The answer of a request that sets breakpoints: what each has become, in the order of the requests. Those that are refused do not
/// concern the others.
pub(crate) fn of_breakpoints<R>(
    requests: Vec<Result<R, String>>,
    set: impl FnOnce(Vec<R>) -> Vec<Result<Breakpoint, String>>,
) -> Json {
    let (mut good, mut refused) = (Vec::new(), Vec::new());
    for request in requests {
        match request {
            Ok(request) => {
                good.push(request);
                refused.push(None);
            }
            Err(problem) => refused.push(Some(problem)),
        }
    }
    let mut set = set(good).into_iter();
    let all = refused.into_iter().map(|problem| {
        match problem.map_or_else(|| set.next(), |it| Some(Err(it))) {
            Some(Ok(breakpoint)) => of_breakpoint(&breakpoint),
            Some(Err(problem)) => json!({ "verified": false, "message": problem }),
            None => json!({ "verified": false }),
        }
    });
    json!({ "breakpoints": all.collect::<Vec<_>>() })
}

/// The property of a breakpoint that counts, but not from the beginning of the run.
pub(crate) const UNCOUNTED: &str = "squall/uncounted";

pub(crate) fn of_breakpoint(breakpoint: &Breakpoint) -> Json {
    let mut json = json!({ "id": breakpoint.id, "verified": breakpoint.line.is_some() });
    if breakpoint.request.hits.is_some() && !breakpoint.is_counted {
        json[UNCOUNTED] = json!(true);
    }
    match breakpoint.line {
        // Events have no line.
        Some(0) => {}
        Some(line) => json["line"] = json!(line),
        None => {
            let unknown = "no code was loaded so far for this place";
            json["message"] = json!(breakpoint.problem.unwrap_or(unknown));
            let has_failed = breakpoint.problem.is_some();
            json["reason"] = json!(if has_failed { "failed" } else { "pending" });
        }
    }
    json
}

pub(crate) fn threads(is_stopped: impl Fn(u64) -> bool) -> Json {
    let strands = inspection::strands(Vm::of_process());
    let thread = |seen: &inspection::SeenStrand| {
        let state = if is_stopped(seen.number) { "is stopped" } else { &seen.state };
        json!({ "id": seen.number, "name": format!("{}, {state}", seen.name) })
    };
    json!({ "threads": strands.iter().map(thread).collect::<Vec<_>>() })
}

/// The steps of the request `squall/step`.
pub(crate) fn steps() -> Json {
    let step = |step: &StepRow| json!({ "name": step.name, "label": step.label });
    json!({ "steps": STEPS.iter().map(step).collect::<Vec<_>>() })
}

/// The names that function breakpoints can have beside those of functions.
pub(crate) fn points() -> Json {
    let point = |point: &Point| json!({ "name": point.name, "description": point.sentence });
    let event = |kind: &Kind| json!({ "name": points::name_of(*kind), "description": kind.sentence().trim() });
    let events = Kind::ALL.iter().filter(|kind| points::stops_strands(**kind)).map(event);
    json!({
        "breakpoints": POINTS.iter().map(point).collect::<Vec<_>>(),
        "events": events.collect::<Vec<_>>(),
    })
}

pub(crate) fn loaded_sources() -> Json {
    let vm = Vm::of_process();
    let modules = vm.modules.all();
    let mut sources: HashMap<String, Json> = HashMap::new();
    for module in modules.filter(|module| !module.bytecode.is_image()) {
        let path = module.bytecode.path_text();
        let source = json!({ "name": path, "path": crate::places::absolute(Path::new(path)) });
        sources.insert(path.to_owned(), source);
    }
    json!({ "sources": sources.into_values().collect::<Vec<_>>() })
}

pub(crate) fn plain(name: String, value: String) -> Shown {
    Shown { name, value, class: String::new(), reference: 0, named: 0, indexed: 0 }
}
