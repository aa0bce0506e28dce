//! Sessions of an editor that asks for what is hostile or comes at a bad moment: conditions that fail or are long, clients that leave
//! while the program steps, computes a condition or goes back, and a second client.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};

use libtest_mimic::Failed;
use serde_json::{Value as Json, json};

use super::past::{launched, processes, wait_until};
use super::{Client, breakpoints, equal};

const PAST: &str = "tests/debugger/past.ns";
const LONG: &str = "tests/debugger/long.ns";

/// A breakpoint at a line with other properties.
fn breakpoint(line: u32, other: &Json) -> Json {
    let mut all = breakpoints(PAST, &[line]);
    if let Some(other) = other.as_object() {
        other.iter().for_each(|(name, value)| all["breakpoints"][0][name] = value.clone());
    }
    all
}

/// A condition that cannot be computed stops, and says why; no text of the user ends the program.
pub(super) fn conditions() -> Result<(), Failed> {
    let long = "1 + ".repeat(200_000) + "1 = 1";
    let brackets = "(".repeat(100_000) + "1" + &")".repeat(100_000);
    let slots = "self ".to_owned() + &"count ".repeat(100_000);
    for condition in [long.as_str(), &brackets, &slots, "number / 0 > 1", "self add: 1", "[", "'"] {
        let mut client = launched(json!({ "program": PAST, "seed": 1 }))?;
        client.ask("setBreakpoints", breakpoint(10, &json!({ "condition": condition })))?;
        client.ask("configurationDone", json!({}))?;
        let (strand, line) = client.stop()?;
        equal(line, 10)?;
        let output = client.event("output")?;
        equal(output["output"].as_str().is_some_and(|text| text.starts_with("condition ")), true)?;
        let frame = client.frame_of(strand, "Counter>>add:")?;
        for request in ["evaluate", "setExpression"] {
            let asked = json!({ "expression": condition, "value": condition, "frameId": frame });
            equal(client.tried(request, asked)?.is_err(), true)?;
        }
        let name = json!({ "name": condition, "frameId": frame });
        equal(&client.ask("dataBreakpointInfo", name)?["dataId"], &Json::Null)?;
        client.ask("setBreakpoints", breakpoints(PAST, &[]))?;
        client.ask("continue", json!({}))?;
        equal(client.end()?.1, 0)?;
    }
    Ok(())
}

/// A program with breakpoints of all kinds, which has stopped; the word finds its processes.
fn busy_client(word: &str) -> Result<(Client, u64), Failed> {
    let mut client =
        launched(json!({ "program": PAST, "args": [word], "seed": 1, "checkpointEvery": 100 }))?;
    client.ask(
        "setBreakpoints",
        breakpoint(10, &json!({ "condition": "number > 7 or: [ count = 5 ]" })),
    )?;
    let functions =
        json!([{ "name": "Counter>>add:", "hitCondition": "300" }, { "name": "turn:begun" }]);
    client.ask("setFunctionBreakpoints", json!({ "breakpoints": functions }))?;
    client.ask("configurationDone", json!({}))?;
    client.stop()?;
    client.ask("continue", json!({}))?;
    let (strand, _) = client.stop()?;
    let frame = client.frame_of(strand, "Counter>>add:")?;
    let slot = json!({ "name": "count", "frameId": frame });
    let slot = client.ask("dataBreakpointInfo", slot)?["dataId"].clone();
    let data = json!([{ "dataId": slot, "accessType": "write", "condition": "new > 150" }]);
    client.ask("setDataBreakpoints", json!({ "breakpoints": data }))?;
    Ok((client, strand))
}

/// A client leaves right after a request, by a request or without a word: no process stays.
pub(super) fn leaving_in_the_middle() -> Result<(), Failed> {
    let requests =
        ["continue", "next", "stepOut", "reverseContinue", "stepBack", "squall/sent", "pause"];
    for (index, request) in requests.into_iter().enumerate() {
        for says_so in [true, false] {
            let word = format!("leaving-{}-{index}-{says_so}", std::process::id());
            let (mut client, strand) = busy_client(&word)?;
            client.send(request, json!({ "threadId": strand }))?;
            if says_so {
                client.ask("disconnect", json!({}))?;
            }
            drop(client);
            wait_until(|| processes(&word).is_empty())
                .map_err(|_| format!("after {request}, {:?} stay", processes(&word)))?;
        }
    }
    Ok(())
}

/// A program that waits for a debugger, and the port where it does.
fn waiting(program: &str) -> Result<(Child, u16), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
    command.args(["run", "--debug", program]).current_dir(crate::root());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut announced = String::new();
    BufReader::new(child.stderr.take().ok_or("it is piped")?).read_line(&mut announced)?;
    let port = announced.trim().rsplit(' ').next().unwrap_or_default().parse()?;
    Ok((child, port))
}

/// A program has one client; another one is refused, and disturbs nothing.
pub(super) fn two_clients() -> Result<(), Failed> {
    let (mut program, port) = waiting(PAST)?;
    let mut client = Client::new();
    client.ask("initialize", json!({}))?;
    client.ask("attach", json!({ "port": port }))?;
    client.ask("setBreakpoints", breakpoints(PAST, &[29]))?;
    let mut second = Client::new();
    second.ask("initialize", json!({}))?;
    equal(second.tried("attach", json!({ "port": port }))?.is_err(), true)?;
    equal(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(), true)?;
    client.ask("configurationDone", json!({}))?;
    equal(client.stop()?.1, 29)?;
    client.ask("continue", json!({}))?;
    equal(client.event("exited")?["exitCode"].as_i64(), Some(0))?;
    drop(client);
    let mut output = String::new();
    program.stdout.take().ok_or("it is piped")?.read_to_string(&mut output)?;
    equal((output.as_str(), program.wait()?.code()), ("200\n200\n51\n12\n", Some(0)))
}

/// A client that leaves a program which computes a condition lets it run at full speed.
pub(super) fn leaving_a_condition() -> Result<(), Failed> {
    let (mut program, port) = waiting(LONG)?;
    let mut client = Client::new();
    client.ask("initialize", json!({}))?;
    client.ask("attach", json!({ "port": port }))?;
    let mut lines = breakpoints(LONG, &[6]);
    lines["breakpoints"][0]["condition"] = json!("sum = 8");
    client.ask("setBreakpoints", lines)?;
    client.ask("configurationDone", json!({}))?;
    drop(client);
    let mut first = String::new();
    BufReader::new(program.stdout.take().ok_or("it is piped")?).read_line(&mut first)?;
    _ = program.kill();
    _ = program.wait();
    equal(first.as_str(), "1\n")
}
