//! The breakpoints that are about concurrency, by name: before and after what strands, messages, channels, locks and
//! transactions do. `breakpoints` finds their places, and `control` handles those that are events. The request
//! `squall/breakpoints` lists them with the events of the [table](squall_events::table).
//!
//! A point is a place in code, an event, or both. Places in code are instructions of the program that send, or instructions of
//! the library that call a primitive: *before* is the instruction itself, *after* the next one.

use squall_bytecode::decode::{Instruction, instructions};
use squall_bytecode::entities::StringId;
use squall_bytecode::instructions::{Opcode, OperandKind};
use squall_events::{Entity, Kind};
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::Place;
use squall_runtime::state::recording::VmNames;
use squall_runtime::state::vm::Vm;

use crate::places::functions;

/// The instructions of a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// None.
    None,
    /// Eventual sends of the program.
    Sends,
    /// The library's calls of these primitives.
    Before(&'static [&'static str]),
    /// The instructions after them.
    After(&'static [&'static str]),
}

/// Which of an event's occurrences count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// All.
    All,
    /// Turns that execute a method.
    Methods,
    /// Turns whose message has waited for a promise.
    Reactions,
    /// All turns, but at their end.
    Ends,
}

/// A breakpoint with a name.
pub struct Point {
    /// Its name.
    pub name: &'static str,
    /// Where strands stop, in a sentence.
    pub sentence: &'static str,
    /// The instructions.
    pub code: Code,
    /// The event.
    pub event: Option<(Kind, Which)>,
}

const fn code(name: &'static str, code: Code, sentence: &'static str) -> Point {
    Point { name, sentence, code, event: None }
}

const fn turn(name: &'static str, which: Which, sentence: &'static str) -> Point {
    Point { name, sentence, code: Code::None, event: Some((Kind::TurnBegun, which)) }
}

const READ: &[&str] = &["readChannel:"];
const WRITE: &[&str] = &["channel:write:"];
const JOIN: &[&str] = &["strandJoin:", "strandJoin:within:"];
const LOCK: &[&str] = &["mutex:lock:", "mutex:lock:within:"];
const UNLOCK: &[&str] = &["mutexUnlock:"];
const COMMIT: &[&str] = &["transactionCommit"];
const SPAWN: &[&str] = &[
    "spawnProcess:with:",
    "spawnProcess:with:on:",
    "spawnParallel:with:",
    "spawnExclusive:with:priority:",
    "activity:spawnParallel:with:on:",
];
const RESOLVE: &[&str] = &["resolution:resolve:", "resolution:error:"];

/// The name of the point before commits.
pub const BEFORE_COMMIT: &str = "atomic:before-commit";
/// The name of the point at the ends of turns.
pub const TURN_END: &str = "async:after";

/// All, by model.
pub static POINTS: &[Point] = &[
    code("message:sender", Code::Sends, "Before an eventual send."),
    turn("message:receiver", Which::All, "Where the turn for a message begins."),
    turn(
        "async:before",
        Which::Methods,
        "Where a method begins that is executed by a turn of its own.",
    ),
    turn(TURN_END, Which::Ends, "Before the method or block of a turn returns."),
    Point {
        name: "promise:resolver",
        sentence: "Before a promise is resolved or broken, by a resolver or by the end of a turn.",
        code: Code::Before(RESOLVE),
        event: Some((Kind::TurnBegun, Which::Ends)),
    },
    turn(
        "promise:resolution",
        Which::Reactions,
        "Where the turn of a reaction to a promise begins.",
    ),
    code("channel:before-write", Code::Before(WRITE), "Before a value is written to a channel."),
    code("channel:after-write", Code::After(WRITE), "After a written value was taken or buffered."),
    code("channel:before-read", Code::Before(READ), "Before a value is read from a channel."),
    code("channel:after-read", Code::After(READ), "After a value was read from a channel."),
    code("activity:before-creation", Code::Before(SPAWN), "Before a process or thread is started."),
    Point {
        name: "activity:begun",
        sentence: "Where a process or thread begins.",
        code: Code::None,
        event: Some((Kind::StrandBegun, Which::All)),
    },
    code("activity:before-join", Code::Before(JOIN), "Before the wait for a process or thread."),
    code("activity:after-join", Code::After(JOIN), "After the wait for a process or thread."),
    code(
        "atomic:before-start",
        Code::Before(&["transactionBegin"]),
        "Before a transaction begins.",
    ),
    code(BEFORE_COMMIT, Code::Before(COMMIT), "Before a transaction commits."),
    code("atomic:after-commit", Code::After(COMMIT), "After a transaction has committed."),
    code(
        "lock:before-acquire",
        Code::Before(LOCK),
        "Before a lock is taken, perhaps after a wait.",
    ),
    code("lock:after-acquire", Code::After(LOCK), "After a lock was taken."),
    code("lock:before-release", Code::Before(UNLOCK), "Before a lock is given up."),
    code("lock:after-release", Code::After(UNLOCK), "After a lock was given up."),
];

/// Shorter names of some points.
const ALIASES: &[(&str, &str)] = &[
    ("message:send", "message:sender"),
    ("message:receive", "message:receiver"),
    ("promise:resolve", "promise:resolver"),
    ("channel:write", "channel:before-write"),
    ("channel:read", "channel:before-read"),
    ("atomic:commit", BEFORE_COMMIT),
    ("lock:acquire", "lock:before-acquire"),
    ("lock:release", "lock:before-release"),
];

/// The point with a name.
pub fn named(name: &str) -> Option<&'static Point> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| name);
    POINTS.iter().find(|point| point.name == name)
}

/// The kind of events that a name such as `promise:resolved` means.
pub fn event_named(name: &str) -> Option<Kind> {
    let (entity, event) = name.split_once(':')?;
    let is_meant = |kind: &&Kind| kind.entity().name() == entity && kind.name() == event;
    Kind::ALL.iter().find(is_meant).copied()
}

/// The name of an event.
pub fn name_of(kind: Kind) -> String {
    format!("{}:{}", kind.entity().name(), kind.name())
}

/// Whether a strand can stop after an event: the machine's own have none.
pub fn stops_strands(kind: Kind) -> bool {
    !matches!(kind.entity(), Entity::Worker | Entity::Collection)
}

/// The places of a point in a module, with their lines.
pub fn places(module: &'static LoadedModule, code: Code) -> Vec<(Place, u32)> {
    let is_library = module.bytecode.is_image();
    let mut places = Vec::new();
    for function in functions(module) {
        for instruction in instructions(&function.bytecode().code) {
            let calls = |names: &[&str]| {
                is_library
                    && primitive(&instruction)
                        .is_some_and(|id| names.contains(&module.bytecode.string(id)))
            };
            let pc = match code {
                Code::None => None,
                Code::Sends => (!is_library && is_eventual(&instruction)).then_some(instruction.pc),
                Code::Before(names) => calls(names).then_some(instruction.pc),
                Code::After(names) => calls(names).then(|| instruction.next_pc()),
            };
            let in_code = |pc: &usize| *pc < function.bytecode().code.len();
            if let Some(pc) = pc.filter(in_code) {
                places.push(((function, pc), function.position(pc).1.max(1)));
            }
        }
    }
    places
}

/// The places where a function returns.
pub fn returns((function, _): Place) -> Vec<Place> {
    let leaves = |instruction: &Instruction| {
        matches!(instruction.opcode, Opcode::Return | Opcode::ReturnHome)
    };
    let all = instructions(&function.bytecode().code).filter(leaves);
    all.map(|instruction| (function, instruction.pc)).collect()
}

fn is_eventual(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::SendEventual | Opcode::SendEventualOnly)
}

/// Whether the call at this address of a site sends a message.
pub fn sends_message(site: u64) -> bool {
    let place = VmNames(Vm::of_process()).place_of(site);
    place.is_some_and(|(function, pc)| {
        let code = &function.bytecode().code;
        instructions(code).any(|instruction| instruction.pc == pc && is_eventual(&instruction))
    })
}

/// The name of the primitive that an instruction calls.
fn primitive(instruction: &Instruction) -> Option<StringId> {
    let mut operands = instruction.operands();
    let name = operands.find(|(operand, _)| operand.kind == OperandKind::Primitive)?;
    u32::try_from(name.1).ok().map(StringId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_mean_themselves() {
        assert_eq!(POINTS.len(), 21);
        for point in POINTS {
            assert!(std::ptr::eq(named(point.name).expect("it is in the table"), point));
            assert_eq!(event_named(point.name), None, "{} is an event, too", point.name);
        }
        for (alias, name) in ALIASES {
            assert_eq!(named(alias).map(|point| point.name), Some(*name));
            assert_eq!(event_named(alias), None);
        }
    }
}
