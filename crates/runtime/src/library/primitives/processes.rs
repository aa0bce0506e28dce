//! Processes of the operating system, signals to this process, and the environment: the primitives for them.
//! `lib/Os.ns` calls them.

use squall_heap::Word;
use squall_system::poller::Direction;
use squall_system::process::{ChildProcess, End, Plan};
use squall_system::resources::Resource;
use squall_system::signals::Signals;

use super::answer;
use super::network::add_pipes;
use super::resources::{
    Field, add_owned, attempted, denied, failure, opened, own, poller, resource,
};
use crate::concurrency::sandbox::grants;
use crate::concurrency::transactions::access;
use crate::concurrency::worker::outside;
use crate::model::outcome::Failure;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::make_integer;
use crate::objects::rights::{self, Kind};
use crate::objects::string::{make_string, symbol_object, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::effect("startProcess:folder:variables:ends:owners:", |thread, window| {
        answer(start(thread, window))
    }),
    Primitive::ordinary("processId:", |thread, window| answer(id(thread, window))),
    Primitive::effect("processExitCode:", |thread, window| answer(exit_code(thread, window))),
    Primitive::effect("process:send:", |thread, window| answer(send_signal(thread, window))),
    Primitive::ordinary("ownProcessId", |thread, _| {
        let granted = grants::check(thread, "os", "the process's number");
        answer(granted.and_then(|()| make_integer(thread, i64::from(std::process::id()))))
    }),
    Primitive::effect("openSignals:owner:", |thread, window| answer(open_signals(thread, window))),
    Primitive::effect("takeSignal:", |thread, window| answer(take_signal(thread, window))),
    Primitive::ordinary("environmentAt:", |thread, window| answer(variable(thread, window))),
    Primitive::ordinary("environmentNames", |thread, _| answer(variable_names(thread))),
    Primitive::ordinary("currentFolder", |thread, _| answer(current_folder(thread))),
];

const FLAG: &str = "--allow-processes";

/// *GC point.*
fn check_permission(thread: &mut Thread, what: &str) -> Result<(), Failure> {
    grants::check(thread, "os", what)?;
    match thread.vm.options.permissions.processes {
        true => Ok(()),
        false => Err(denied(thread, FLAG, what)),
    }
}

/// The texts in an array.
fn texts(thread: &mut Thread, word: Word) -> Result<Vec<String>, Failure> {
    let array = array::of(word).ok_or(Failure::argument(word))?;
    let text = |index| text_argument(access::element(thread, array, index)?);
    (0..array.length()).map(text).collect()
}

/// A text without a byte that the system would take for its end.
fn checked(text: String, argument: Word) -> Result<String, Failure> {
    if text.contains('\0') { Err(Failure::argument(argument)) } else { Ok(text) }
}

/// Names of variables, each followed by a text or by nil.
fn variables(thread: &mut Thread, word: Word) -> Result<Vec<(String, Option<String>)>, Failure> {
    let array = array::of(word).ok_or(Failure::argument(word))?;
    let pairs = (0..array.length() / 2).map(|pair| {
        let name = access::element(thread, array, 2 * pair)?;
        let value = access::element(thread, array, 2 * pair + 1)?;
        let text = checked(text_argument(name)?, name)?;
        if text.is_empty() || text.contains('=') {
            return Err(Failure::argument(name));
        }
        let value = match value {
            Word::NIL => None,
            value => Some(checked(text_argument(value)?, value)?),
        };
        Ok((text, value))
    });
    pairs.collect()
}

fn ends(thread: &mut Thread, word: Word) -> Result<[End; 3], Failure> {
    let names = texts(thread, word)?;
    let end = |name: &String| match name.as_str() {
        "pipe" => Ok(End::Pipe),
        "inherited" => Ok(End::Inherited),
        "null" => Ok(End::Null),
        _ => Err(Failure::argument(word)),
    };
    let ends = names.iter().map(end).collect::<Result<Vec<_>, _>>()?;
    ends.try_into().map_err(|_| Failure::argument(word))
}

fn plan(thread: &mut Thread, window: Window) -> Result<Plan, Failure> {
    let words = window.get(0);
    let texts = texts(thread, words)?.into_iter().map(|text| checked(text, words));
    let texts = texts.collect::<Result<Vec<String>, Failure>>()?;
    if texts.is_empty() {
        return Err(Failure::argument(words));
    }
    let folder = match window.get(1) {
        Word::NIL => None,
        folder => Some(checked(text_argument(folder)?, folder)?),
    };
    let variables = variables(thread, window.get(2))?;
    let ends = ends(thread, window.get(3))?;
    Ok(Plan { words: texts, folder, variables, ends })
}

/// Starts a process: answers an array of rights to it and to its pipes, or nil for each that is none.
/// *GC point.*
fn start(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let plan = plan(thread, window)?;
    let owners = window.get(4);
    if array::of(owners).is_none_or(|owners| owners.length() != 4) {
        return Err(Failure::argument(owners));
    }
    check_permission(thread, &plan.words[0])?;
    thread.vm.debugging.act("starts a process");
    let poller = poller(thread)?;
    let started = opened(thread, |thread| outside(thread, || plan.start(poller)));
    let started = started.map_err(|error| {
        let what = format!("starting {}", plan.words[0]);
        failure(thread, Field::Processes, &what, &error)
    })?;
    let pipes = add_pipes(thread, started.pipes, window, 4)?;
    let child = thread.vm.library().resources.add(Resource::Child(started.child));
    let owner = match array::of(window.get(4)) {
        Some(owners) => access::element(thread, owners, 3)?,
        None => Word::NIL,
    };
    own(thread, child, owner)?;
    array::make_of(thread, 4, |thread, index| match index.checked_sub(1) {
        None => rights::make(thread, Kind::Resource, child),
        Some(index) => {
            pipes[index].map_or(Ok(Word::NIL), |pipe| rights::make(thread, Kind::UnderWay, pipe))
        }
    })
}

/// Does something with the process in the window's first word. *GC point.*
fn with_child<R>(
    thread: &mut Thread,
    window: Window,
    doing: &str,
    work: impl FnOnce(&ChildProcess) -> std::io::Result<R>,
) -> Result<Option<R>, Failure> {
    let resource = resource(thread, window.get(0))?;
    let Resource::Child(child) = &*resource else {
        return Err(Failure::argument(window.get(0)));
    };
    let source = resource.source().ok_or(Failure::argument(window.get(0)))?;
    let what = || format!("{doing} process {}", child.id());
    let field = Field::Processes;
    attempted(thread, (source, Direction::Read), (field, what), |_| work(child))
}

/// The system's number for a process. *GC point.*
fn id(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let id = with_child(thread, window, "looking at", |child| Ok(child.id()))?;
    make_integer(thread, i64::from(id.unwrap_or_default()))
}

/// The exit code of a process, or `false`. *GC point.*
fn exit_code(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let code = with_child(thread, window, "waiting for", |child| {
        child.exit_code()?.ok_or(std::io::ErrorKind::WouldBlock.into())
    })?;
    Ok(code.map_or(Word::FALSE, |code| Word::from_small_integer_unchecked(i64::from(code))))
}

/// Sends a signal to a process: answers whether that was still there. *GC point.*
fn send_signal(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let signal = text_argument(window.get(1))?;
    if !["terminate", "interrupt", "kill", "hangup"].contains(&signal.as_str()) {
        return Err(Failure::argument(window.get(1)));
    }
    let sent = with_child(thread, window, "sending a signal to", |child| child.send(&signal))?;
    Ok(Word::from_bool(sent.unwrap_or(false)))
}

/// Looks at signals. *GC point.*
fn open_signals(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    grants::check(thread, "os", "signals")?;
    let names = texts(thread, window.get(0))?;
    let poller = poller(thread)?;
    let signals =
        opened(thread, |_| Signals::open(poller, &names)).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidInput => Failure::argument(window.get(0)),
            _ => failure(thread, Field::Processes, "looking at signals", &error),
        })?;
    add_owned(thread, (Resource::Signals(signals), Kind::Resource), window, 1)
}

/// The name of a signal that has come, or `false`. *GC point.*
fn take_signal(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let resource = resource(thread, window.get(0))?;
    let Resource::Signals(signals) = &*resource else {
        return Err(Failure::argument(window.get(0)));
    };
    let source = resource.source().ok_or(Failure::argument(window.get(0)))?;
    let what = || "looking at signals".to_owned();
    let direction = Direction::Read;
    let taken =
        attempted(thread, (source, direction), (Field::Processes, what), |_| signals.take())?;
    let Some(name) = taken else { return Ok(Word::FALSE) };
    let symbol = thread.vm.symbol(name);
    symbol_object(thread, symbol)
}

/// A variable of the environment, or nil. *GC point.*
fn variable(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let name = text_argument(window.get(0))?;
    check_permission(thread, "the environment")?;
    // These would make the system's function panic.
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    match is_name.then(|| std::env::var_os(name)).flatten() {
        Some(value) => make_string(thread, &value.to_string_lossy()),
        None => Ok(Word::NIL),
    }
}

/// The names of all variables, sorted. *GC point.*
fn variable_names(thread: &mut Thread) -> Result<Word, Failure> {
    check_permission(thread, "the environment")?;
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    array::make_of(thread, names.len(), |thread, index| make_string(thread, &names[index]))
}

/// The folder that relative paths start from. *GC point.*
fn current_folder(thread: &mut Thread) -> Result<Word, Failure> {
    check_permission(thread, "the current folder")?;
    let folder = outside(thread, std::env::current_dir).map_err(|error| {
        failure(thread, Field::Processes, "looking for the current folder", &error)
    })?;
    make_string(thread, &folder.to_string_lossy())
}
