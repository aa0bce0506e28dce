//! `squall debug` and `squall run --debug`: the debugger's adapter on the standard streams, and its server in the process of a
//! program. `commands` and `run` call this module.

mod terminal;

use std::io::{BufReader, stdin, stdout};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value as Json;
use squall::{Machine, library};
use squall_debugger::adapter;
use squall_debugger::control::{Asked, Control, Printed};
use squall_debugger::server::{self, Server};
use squall_debugger::stopped::Names;

use crate::arguments::{Debug, Debugging};
use crate::console::{self, alone, complain, hold, print, print_error, printed, skip_printed};
use crate::exit::Exit;
use crate::observer;

pub fn debug(arguments: &Debug) -> Result<Exit, Exit> {
    match arguments.program.is_empty() && arguments.replay.is_none() {
        true => serve_editor(arguments),
        false => terminal::debug(arguments),
    }
}

/// The beginning of a command that runs a program, `run` or `replay`, which is to connect to a port; whether the run repeats
/// another one.
fn command_of(name: &str, port: u16, is_again: bool) -> Result<Command, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg(name).arg(format!("--debug-connect={port}"));
    if is_again {
        command.arg("--debug-again");
    }
    Ok(command)
}

fn serve_editor(arguments: &Debug) -> Result<Exit, Exit> {
    let input = BufReader::new(stdin());
    let stop = arguments.stop.name();
    adapter::serve(Box::new(input), Box::new(stdout()), &launcher, stop).map_err(|error| {
        complain(&format!("the client cannot be understood: {error}"));
        Exit::Failure
    })?;
    Ok(Exit::Success)
}

/// The command that runs the program of a `launch` request, which is to connect to a port.
fn launcher(arguments: &Json, port: u16, is_again: bool) -> Result<Command, String> {
    let mut command = match text_in(arguments, "recording")? {
        Some(recording) => replay_of(arguments, recording, port, is_again)?,
        None => run_of(arguments, port, is_again)?,
    };
    if let Some(folder) = text_in(arguments, "cwd")? {
        command.current_dir(folder);
    }
    let every = &arguments["checkpointEvery"];
    if !every.is_null() && every.as_u64().is_none_or(|every| every == 0) {
        return Err("checkpointEvery is no number from 1 on".into());
    }
    let variables = match &arguments["env"] {
        Json::Null => return Ok(command),
        Json::Object(variables) => variables,
        _ => return Err("env is no object of names and texts".into()),
    };
    for (name, value) in variables {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("env: {name:?} cannot be the name of a variable"));
        }
        match value {
            Json::String(value) if !value.contains('\0') => command.env(name, value),
            Json::Null => command.env_remove(name),
            _ => return Err(format!("env: {name} has neither a text nor null")),
        };
    }
    Ok(command)
}

/// The text with a name in the arguments of a request, if there is any.
fn text_in<'a>(arguments: &'a Json, name: &str) -> Result<Option<&'a str>, String> {
    match &arguments[name] {
        Json::Null => Ok(None),
        Json::String(text) => Ok(Some(text)),
        _ => Err(format!("{name} is no text")),
    }
}

/// The command that replays the recording of a `launch` request.
fn replay_of(
    arguments: &Json,
    recording: &str,
    port: u16,
    is_again: bool,
) -> Result<Command, String> {
    // An editor may give the program, which is the file that it shows.
    let options = ["args", "options", "seed"];
    if let Some(option) = options.iter().find(|option| !arguments[**option].is_null()) {
        return Err(format!("{option} does not go with a recording, which has its own"));
    }
    let mut command = command_of("replay", port, is_again)?;
    command.arg(recording);
    Ok(command)
}

/// The command that runs the program of a `launch` request.
fn run_of(arguments: &Json, port: u16, is_again: bool) -> Result<Command, String> {
    let program = text_in(arguments, "program")?;
    let program = program.ok_or("launch needs the program, the path of a file, or a recording")?;
    let mut command = command_of("run", port, is_again)?;
    if !arguments["seed"].is_null() {
        let seed = arguments["seed"].as_u64();
        let seed = seed.ok_or("seed is no number from 0 on, and below 2^64")?;
        command.arg(format!("--seed={seed}"));
    }
    let texts = |name: &str| -> Result<Vec<String>, String> {
        let list = match &arguments[name] {
            Json::Null => return Ok(Vec::new()),
            Json::Array(list) => list,
            _ => return Err(format!("{name} is no list")),
        };
        let text = |each: &Json| each.as_str().map(str::to_owned);
        list.iter()
            .map(text)
            .collect::<Option<_>>()
            .ok_or(format!("{name} has something other than texts"))
    };
    command.args(texts("options")?).arg(program).args(texts("args")?);
    Ok(command)
}

/// The server of a program that is to be debugged, if it is.
pub fn begin(arguments: &Debugging, machine: &mut Machine) -> Result<Option<Arc<Server>>, Exit> {
    let stream = match (arguments.debug, arguments.debug_connect) {
        (None, None) => return Ok(None),
        (_, Some(port)) => TcpStream::connect((Ipv4Addr::LOCALHOST, port)),
        (Some(port), None) => client(machine, port),
    };
    let refused = |error: std::io::Error| {
        complain(&format!("no debugger can be served: {error}"));
        Exit::Failure
    };
    let stream = stream.map_err(refused)?;
    let log = arguments.debug_connect.map(|_| print as fn(&str));
    let output = Printed { count: printed, skip: skip_printed, hold, log, alone, begin_again };
    let ends = Control::with_names(Names::new(Box::new(text_of)), output);
    let control = Arc::clone(&ends.control);
    let asked = Asked(Arc::clone(&control));
    machine.attach_debugger(Box::new(asked), move |module| control.loaded(module));
    let is_launched = arguments.debug_connect.is_some();
    let left = move || {
        if is_launched {
            // The debugger has started the program, and ends it; it may have been killed.
            std::process::exit(Exit::Failure.code());
        }
    };
    let (server, ready) = server::start(ends, stream, Box::new(left)).map_err(refused)?;
    // A client that leaves before it is ready lets the program run.
    _ = machine.outside(|| ready.recv());
    Ok(Some(server))
}

/// This process is a copy of that of a program, and has none of its threads.
fn begin_again() {
    console::begin_again();
    observer::begin_again();
}

/// Waits for a client at a port, or at any.
fn client(machine: &mut Machine, port: u16) -> std::io::Result<TcpStream> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    print_error(&format!("a debugger may attach to port {}\n", listener.local_addr()?.port()));
    machine.outside(|| listener.accept()).map(|(stream, _)| stream)
}

/// The text of a module, and whether it is one of the library.
pub fn text_of(path: &str) -> Option<(Vec<u8>, bool)> {
    let name = Path::new(path).file_stem()?.to_str()?;
    match std::fs::read(path) {
        Ok(bytes) => Some((bytes, false)),
        Err(_) => Some((library::source(name)?.into(), true)),
    }
}
