//! Sessions of an editor that goes back: in a recording, with data breakpoints, and in processes that are copies.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::{Value as Json, json};

use super::{Client, PATIENCE, breakpoints, equal};
use crate::process::Run;

const RECORDED: &str = "tests/debugger/recorded.ns";
const LONG: &str = "tests/debugger/long.ns";
const PAST: &str = "tests/debugger/past.ns";

/// A launched program, with these properties of the request.
pub(super) fn launched(properties: Json) -> Result<Client, Failed> {
    let mut client = Client::new();
    client.ask("initialize", json!({ "adapterID": "squall" }))?;
    client.ask("launch", properties)?;
    Ok(client)
}

/// A recorded run has acted outside, but its replay goes back. It has its own options.
pub(super) fn recording() -> Result<(), Failed> {
    let run =
        Run::new(["run", "--workers=2", "--allow-processes", "--record={scratch}/r.sqr", RECORDED]);
    equal(run.execute().exit, 0)?;
    let path = run.scratch.path().join("r.sqr");
    let mut client = Client::new();
    client.ask("initialize", json!({ "adapterID": "squall" }))?;
    let problem = client.tried("launch", json!({ "recording": path, "seed": 3 }))?;
    equal(problem, Err("seed does not go with a recording, which has its own".to_owned()))?;
    let missing =
        client.tried("launch", json!({ "recording": run.scratch.path().join("none") }))?;
    equal(missing.is_err(), true)?;
    client.ask("launch", json!({ "recording": path, "stop": "strand" }))?;
    let more = client.event("capabilities")?;
    equal(&more["capabilities"]["supportsStepBack"], &json!(true))?;
    client.ask("setBreakpoints", breakpoints(RECORDED, &[13]))?;
    client.ask("configurationDone", json!({}))?;
    let (strand, line) = client.stop()?;
    equal(line, 13)?;
    client.ask("stepBack", json!({ "threadId": strand }))?;
    equal(client.stop()?, (strand, 12))?;
    client.ask("squall/sent", json!({ "threadId": strand }))?;
    equal(client.stop()?.1, 21)?;
    client.ask("setBreakpoints", breakpoints(RECORDED, &[]))?;
    client.ask("continue", json!({}))?;
    let (output, code) = client.end()?;
    // What was written before is not written again.
    equal(output.ends_with("in a replay, all strands stop\nhello\n\n20\n"), true)?;
    equal(code, 0)
}

/// The stops of data breakpoints have the client's numbers, and the client hears of those that are gone.
pub(super) fn data_breakpoints() -> Result<(), Failed> {
    let mut client = launched(json!({ "program": PAST, "seed": 1, "checkpointEvery": 100 }))?;
    client.ask("setBreakpoints", breakpoints(PAST, &[29]))?;
    client.ask("configurationDone", json!({}))?;
    let (strand, _) = client.stop()?;
    let frame = client.frame_of(strand, "Past>>main:")?;
    let mut watch = |name: &str, condition: &str| -> Result<Json, Failed> {
        let info = client.ask("dataBreakpointInfo", json!({ "name": name, "frameId": frame }))?;
        Ok(json!({ "dataId": info["dataId"], "accessType": "write", "condition": condition }))
    };
    let all = [watch("first count", "new = 3")?, watch("second count", "new = 5")?];
    let set = client.ask("setDataBreakpoints", json!({ "breakpoints": all }))?;
    let id = |index: usize| set["breakpoints"][index]["id"].clone();
    for index in [1, 0] {
        client.ask("reverseContinue", json!({}))?;
        let stop = client.event("stopped")?;
        equal(&stop["hitBreakpointIds"], &json!([id(index)]))?;
    }
    // The first one is known where it was written. The second object is not made yet, or nobody has it.
    equal(gone_breakpoint(&mut client)?, id(1))?;
    client.ask("reverseContinue", json!({}))?;
    equal(&client.event("stopped")?["reason"], &json!("entry"))?;
    equal(gone_breakpoint(&mut client)?, id(0))?;
    client.ask("continue", json!({}))?;
    equal(client.stop()?.1, 29)?;
    client.ask("continue", json!({}))?;
    equal(client.end()?.1, 0)
}

/// A run that an assignment has led another way: a repetition does not come there, and says so, and what it writes is not seen.
pub(super) fn diverging_run() -> Result<(), Failed> {
    const DIVERGING: &str = "tests/debugger/diverging.ns";
    // Checkpoints after the assignment would know it.
    let never = 1_u64 << 40;
    let mut client =
        launched(json!({ "program": DIVERGING, "seed": 1, "checkpointEvery": never }))?;
    client.ask("setBreakpoints", breakpoints(DIVERGING, &[5, 7]))?;
    client.ask("configurationDone", json!({}))?;
    let (strand, line) = client.stop()?;
    equal(line, 5)?;
    let frame = client.frame_of(strand, "Diverging>>main:")?;
    let more = json!({ "expression": "n", "value": "5", "frameId": frame });
    client.ask("setExpression", more)?;
    for _ in 0..5 {
        client.ask("continue", json!({}))?;
        equal(client.stop()?.1, 7)?;
    }
    for request in ["stepBack", "reverseContinue", "stepBack"] {
        let problem = client.tried(request, json!({}))?;
        equal(problem, Err("the run does not repeat itself".to_owned()))?;
    }
    client.ask("setBreakpoints", breakpoints(DIVERGING, &[]))?;
    client.ask("continue", json!({}))?;
    let (output, code) = client.end()?;
    equal((output.as_str(), code), ("begins\n1\n2\n3\n4\n5\nends\n", 0))
}

/// The next breakpoint of which the client hears that it is gone.
fn gone_breakpoint(client: &mut Client) -> Result<Json, Failed> {
    loop {
        let mut event = client.event("breakpoint")?;
        if event["breakpoint"]["verified"] == false {
            return Ok(event["breakpoint"]["id"].take());
        }
    }
}

/// The programs under a debugger with this word in their command line, checkpoints among them, and their folders.
pub(super) fn processes(word: &str) -> Vec<(i32, PathBuf)> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_meant = |folder: &PathBuf| {
        let line = std::fs::read_to_string(folder.join("cmdline")).unwrap_or_default();
        line.contains("--debug-connect") && line.split('\0').any(|other| other == word)
    };
    let number = |folder: PathBuf| Some((folder.file_name()?.to_str()?.parse().ok()?, folder));
    all.map(|entry| entry.path()).filter(is_meant).filter_map(number).collect()
}

/// Those with several threads: no checkpoint has.
pub(super) fn busy(word: &str) -> Vec<(i32, PathBuf)> {
    let threads = |folder: &Path| std::fs::read_dir(folder.join("task")).map_or(0, Iterator::count);
    processes(word).into_iter().filter(|(_, folder)| threads(folder) > 1).collect()
}

/// Waits until something is so.
pub(super) fn wait_until(mut is_so: impl FnMut() -> bool) -> Result<(), Failed> {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > PATIENCE {
            return Err("it does not happen".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A copy of a checkpoint has become the program: it describes itself, its delayed output comes, and a signal ends it.
pub(super) fn copy_is_a_whole_process() -> Result<(), Failed> {
    let word = format!("copy-{}", std::process::id());
    let mut client =
        launched(json!({ "program": LONG, "args": [word], "seed": 1, "checkpointEvery": 5000 }))?;
    let mut lines = breakpoints(LONG, &[7]);
    lines["breakpoints"][0]["hitCondition"] = json!("60000");
    client.ask("setBreakpoints", lines)?;
    client.ask("configurationDone", json!({}))?;
    let (strand, _) = client.stop()?;
    client.ask("stepBack", json!({ "threadId": strand }))?;
    equal(client.stop()?, (strand, 6))?;
    client.ask("setBreakpoints", breakpoints(LONG, &[]))?;
    client.ask("continue", json!({}))?;
    let found = busy(&word).into_iter().next().ok_or("there is no process")?;
    let name = std::fs::read_to_string(found.1.join("comm"))?;
    equal(name.trim_end(), "squall")?;
    let dump = Run::new(["dump", &found.0.to_string()]).execute();
    equal(dump.exit, 0)?;
    loop {
        let output = client.event("output")?;
        if output["output"].as_str().is_some_and(|text| text.contains("at Long>>work:")) {
            break;
        }
    }
    let killed = Command::new("kill").args(["-TERM", &found.0.to_string()]).status()?;
    equal(killed.success(), true)?;
    wait_until(|| busy(&word).is_empty())
}

/// A client that does not want to wait: the strand stands where it stood, and can go anywhere from there.
pub(super) fn cancelled_way() -> Result<(), Failed> {
    // Nothing but the start of the run to begin at.
    let never = 1_u64 << 40;
    let mut client = launched(json!({ "program": LONG, "seed": 1, "checkpointEvery": never }))?;
    client.ask("configurationDone", json!({}))?;
    client.event("output")?;
    client.ask("pause", json!({}))?;
    let (strand, _) = client.stop()?;
    let stack = |client: &mut Client| {
        let stack = client.ask("stackTrace", json!({ "threadId": strand }))?;
        let frame = client.frame_of(strand, "Long>>work:")?;
        let sum = client.ask("evaluate", json!({ "expression": "sum", "frameId": frame }))?;
        Ok::<_, Failed>((stack["stackFrames"][0]["line"].clone(), sum["result"].clone()))
    };
    let before = stack(&mut client)?;
    for (request, end) in [("reverseContinue", "cancel"), ("stepBack", "pause")] {
        let asked = client.send(request, json!({ "threadId": strand }))?;
        client.send(end, json!({ "requestId": asked }))?;
        let mut answer = client.receive()?;
        while answer["request_seq"] != asked {
            answer = client.receive()?;
        }
        equal(&answer["message"], &json!("cancelled"))?;
        equal(stack(&mut client)?, before.clone())?;
    }
    // There is nothing to cancel any more.
    client.ask("cancel", json!({ "requestId": 1 }))?;
    client.ask("setBreakpoints", breakpoints(LONG, &[7]))?;
    client.ask("continue", json!({}))?;
    equal(client.stop()?, (strand, 7))?;
    client.ask("terminate", json!({})).map(|_| ())
}
