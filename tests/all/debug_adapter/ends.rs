//! Sessions of an editor whose program does not run, does not start, or ends against its will: each request is answered, and
//! each end is told.

use std::process::Command;

use libtest_mimic::Failed;
use serde_json::{Value as Json, json};

use super::past::{busy, launched};
use super::{Client, PARTS, PATIENCE, breakpoints, equal};

const LONG: &str = "tests/debugger/long.ns";

/// What kills a program, while it runs and while it is stopped, is told with the exit code that a shell shows.
pub(super) fn killed_program() -> Result<(), Failed> {
    for (index, seed) in [None, Some(3)].into_iter().enumerate() {
        for stops in [false, true] {
            let word = format!("killed-{}-{index}-{stops}", std::process::id());
            let lines: &[u32] = if stops { &[6] } else { &[] };
            let mut client = launched(json!({ "program": LONG, "args": [word], "seed": seed }))?;
            client.ask("setBreakpoints", breakpoints(LONG, lines))?;
            client.ask("configurationDone", json!({}))?;
            match stops {
                true => _ = client.stop()?,
                false => _ = client.event("output")?,
            }
            let found = busy(&word).into_iter().next().ok_or("there is no process")?;
            let killed = Command::new("kill").args(["-KILL", &found.0.to_string()]).status()?;
            equal(killed.success(), true)?;
            client.event("terminated")?;
            let told = client
                .events
                .iter()
                .any(|event| event["body"]["output"] == "the program was ended by signal 9\n");
            equal(told, true)?;
            let problem = client.tried("threads", json!({}))?;
            equal(problem, Err("the program has ended".to_owned()))?;
            equal(client.end()?.1, 128 + 9)?;
        }
    }
    Ok(())
}

/// Requests that come while the program ends are answered, whether it has seen them or not.
pub(super) fn requests_at_the_end() -> Result<(), Failed> {
    let mut client = Client::launch(PARTS, "all", &[24])?;
    client.stop()?;
    let first = client.send("continue", json!({ "threadId": 1 }))?;
    for _ in 0..200 {
        client.send("threads", json!({}))?;
    }
    let last = client.sequence;
    let mut answered = Vec::new();
    while answered.len() as u64 <= last - first {
        let message = client.receive()?;
        match message["request_seq"].as_u64() {
            Some(number) => answered.push(number),
            None => client.events.push(message),
        }
    }
    equal(answered, (first..=last).collect())?;
    let (output, code) = client.end()?;
    equal((output.as_str(), code), ("3\n33\n1\n", 3))
}

/// Without a program, before `launch` and after one that has failed, requests are refused and not kept.
pub(super) fn no_program() -> Result<(), Failed> {
    let mut client = Client::new();
    let refused = |client: &mut Client| {
        for command in ["threads", "setBreakpoints", "configurationDone", "dance"] {
            let problem = client.tried(command, json!({}))?;
            equal(problem, Err("no program was started".to_owned()))?;
        }
        Ok::<(), Failed>(())
    };
    refused(&mut client)?;
    client.ask("initialize", json!({}))?;
    refused(&mut client)?;
    let program = "tests/debugger/there_is_none.ns";
    equal(client.tried("launch", json!({ "program": program }))?.is_err(), true)?;
    refused(&mut client)?;
    client.ask("launch", json!({ "program": PARTS }))?;
    let again = client.tried("launch", json!({ "program": PARTS }))?;
    equal(again, Err("a program was started already".to_owned()))?;
    client.ask("configurationDone", json!({}))?;
    equal(client.end()?.1, 3)?;
    let mut client = Client::new();
    client.ask("disconnect", json!({}))?;
    equal(client.messages.recv_timeout(PATIENCE).is_err(), true)
}

/// Arguments of `launch` that mean nothing are refused, and not left out.
pub(super) fn senseless_launches() -> Result<(), Failed> {
    let mut client = Client::new();
    client.ask("initialize", json!({}))?;
    let number = "seed is no number from 0 on, and below 2^64";
    let senseless = [
        (json!({ "seed": -5 }), number),
        (json!({ "seed": 1.5 }), number),
        (json!({ "seed": "1" }), number),
        (json!({ "stop": "some" }), "stop is all, vat or strand"),
        (json!({ "stop": 1 }), "stop is all, vat or strand"),
        (json!({ "args": "one" }), "args is no list"),
        (json!({ "options": [1] }), "options has something other than texts"),
        (json!({ "cwd": 7 }), "cwd is no text"),
        (json!({ "recording": 7 }), "recording is no text"),
        (json!({ "program": [] }), "program is no text"),
        (json!({ "env": [1] }), "env is no object of names and texts"),
        (json!({ "env": { "A": 1 } }), "env: A has neither a text nor null"),
        (json!({ "env": { "A=B": "1" } }), "env: \"A=B\" cannot be the name of a variable"),
        (json!({ "checkpointEvery": 0 }), "checkpointEvery is no number from 1 on"),
        (json!({ "checkpointEvery": -1 }), "checkpointEvery is no number from 1 on"),
    ];
    for (arguments, expected) in senseless {
        let mut launch = json!({ "program": PARTS });
        for (name, value) in arguments.as_object().into_iter().flatten() {
            launch[name] = value.clone();
        }
        let problem = client.tried("launch", launch)?;
        equal(problem, Err(expected.to_owned()))?;
    }
    client.ask("launch", json!({ "program": PARTS, "seed": u64::MAX, "env": { "A": null } }))?;
    client.ask("configurationDone", json!({}))?;
    equal(client.end()?.1, 3)
}

/// A breakpoint that is refused takes no other one with it, and answers have nothing that does not belong to them.
pub(super) fn refused_breakpoints() -> Result<(), Failed> {
    let mut client = Client::launch(PARTS, "all", &[24])?;
    client.stop()?;
    let mut lines = breakpoints(PARTS, &[12, 13, 23, 24, 25, 26]);
    let hits = ["abc", "%2", "3 ", "-1", " > 2", ">= 2"];
    for (line, hits) in lines["breakpoints"].as_array_mut().into_iter().flatten().zip(hits) {
        line["hitCondition"] = json!(hits);
    }
    let set = client.ask("setBreakpoints", lines)?;
    let seen: Vec<(bool, &str)> = set["breakpoints"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|each| (each["id"].is_u64(), each["message"].as_str().unwrap_or_default()))
        .collect();
    equal(
        seen,
        vec![
            (false, "abc is no number of hits, such as 3 or > 3"),
            (false, "%2 is no number of hits, such as 3 or > 3"),
            (true, ""),
            (false, "-1 is no number of hits, such as 3 or > 3"),
            (true, ""),
            (true, ""),
        ],
    )?;
    let functions =
        json!([{ "name": "Doubler>>run", "hitCondition": "x" }, {}, { "name": "none" }]);
    let set = client.ask("setFunctionBreakpoints", json!({ "breakpoints": functions }))?;
    let is_set = |index: usize| set["breakpoints"][index]["id"].is_u64();
    equal([is_set(0), is_set(1), is_set(2)], [false, false, true])?;
    let data = json!([{ "dataId": "none" }, { "dataId": "x", "accessType": "read" }, {}]);
    let set = client.ask("setDataBreakpoints", json!({ "breakpoints": data }))?;
    let message = |index: usize| set["breakpoints"][index]["message"].as_str();
    equal(message(0), Some("none is not known any more"))?;
    equal(message(1), Some("reads stop nothing"))?;
    equal(message(2), Some("a text is missing"))?;
    let threads = client.ask("threads", json!({}))?;
    equal(threads.get("breakpoints"), None::<&Json>)?;
    client.ask("continue", json!({ "threadId": 1 }))?;
    equal(client.end()?.1, 3)
}

/// Each of many pauses, one right after the other, stops the strand that runs, and not the world without a strand.
pub(super) fn pauses_in_succession() -> Result<(), Failed> {
    let program = json!({ "program": LONG, "options": ["--jit=off"] });
    let mut client = launched(program)?;
    client.ask("configurationDone", json!({}))?;
    client.event("output")?;
    // The first one's patience ends while later ones wait.
    for _ in 0..400 {
        client.ask("pause", json!({ "threadId": 0 }))?;
        let stop = client.event("stopped")?;
        equal(stop["threadId"].is_u64(), true)?;
        // A second one changes nothing.
        client.ask("pause", json!({ "threadId": 0 }))?;
        client.ask("continue", json!({ "threadId": 0 }))?;
    }
    client.ask("disconnect", json!({}))?;
    Ok(())
}
