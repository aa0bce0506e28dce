//! The primitives of a run that is recorded, or that repeats a recording. `layers` gives these to the machine in place of the
//! others; so a run that is neither pays nothing.
//!
//! - A primitive that depends on what is outside (*input*) is recorded with its answer, and answers that in the replay without
//!   doing anything.
//! - A text is written in the order of the recording.
//! - An operation on an object that strands share (*ordered*) has a place among all of them, and waits for that in a replay.
//! - So has a transaction, as [`taped`] describes.
//! - A primitive that a recording cannot hold yet ends the program with a report.
//! - All others depend on their arguments and on the objects of the vat.

mod answers;

use squall_heap::Word;

use crate::concurrency::foreign::callbacks;
use crate::concurrency::gates::{self, Right};
use crate::concurrency::sandbox::grants;
use crate::concurrency::strands as strands_of;
use crate::concurrency::transactions::{effects, taped, transaction};
use crate::concurrency::waiting::{self, Place};
use crate::concurrency::{foreign, outputs};
use crate::execution::{stack_traces, unwind};
use crate::library::primitives::{
    self, channels, embedding, files, foreign as calls_of_c, locks, modules, native_threads,
    resources, strands, system,
};
use crate::model::outcome::{Failure, Meeting, Outcome};
use crate::model::primitive::{Primitive, Shape};
use crate::objects::array;
use crate::objects::string::text_argument;
use crate::state::replays::inputs::{ANSWERED, AWAITED, CALLBACK, SANDBOX};
use crate::state::replays::sandboxes;
use crate::state::replays::{Answer, REFUSED, unheld};
use crate::state::sandbox;
use crate::state::strand::{Model, ORDINARY_PRIORITY, StrandRef};
use crate::state::thread::{Thread, Window};
use crate::state::vat::{self, VatRef};

/// The primitive with this name.
pub fn find(name: &str) -> &'static Primitive {
    if let Some(special) = SPECIAL.iter().find(|primitive| primitive.name == name) {
        return special;
    }
    let is_allowed = ALLOWED.contains(&name);
    let of_group = |group: &&(&[Primitive], Primitive)| {
        !is_allowed && group.0.iter().any(|primitive| primitive.name == name)
    };
    match REFUSED_GROUPS.iter().find(of_group) {
        Some((_, refusing)) => refusing,
        None => primitives::find(name),
    }
}

/// The primitives of refused groups that concern the strand itself, or make something; and those that give the same in
/// whatever order strands do them. Libraries of C are opened in a replay, too, but not called.
const ALLOWED: &[&str] = &[
    "currentStrand",
    "strandLocal",
    "strandLocal:",
    "failStrand:",
    "spawnProcess:with:",
    "newChannel:",
    "rightToRead:",
    "rightToWrite:",
    "newBarrier:",
    "newBucket",
    "newMutex",
    "newSharedMutex",
    "newCondition",
    "newSemaphore:",
    "mutexDepth:",
    "currentNativeThread",
    "mainNativeThread:",
    "startNativeThread:owner:",
    "confineStrand:",
    "foreignPointerClass:memoryClass:",
    "openForeignLibrary:",
    "linkedForeignLibrary:",
    "processLibrary",
    "closeForeignLibrary:",
    "foreignLibraryIsClosed:",
    "foreignLibrary:declaring:",
    "foreignLibrary:function:",
    "foreignLibrary:type:",
    "foreignLibrary:constant:",
    "foreignLibrary:variable:",
    "foreignFunctionAsLeaf:",
    "foreignFunction:withTypes:",
    "foreignTypeSize:",
    "foreignTypeAlignment:",
    "foreignDescription:",
    "foreignErrorText:",
    "releaseCallback:",
];

/// Declares the inputs, those for open things last, the operations on shared objects, the primitives that start strands, and
/// those by which strands ask something of others.
macro_rules! inputs {
    (
        $($number:literal $name:literal;)*
        in vats $($right_number:literal $right_name:literal;)*
        ordered $($ordered:literal)*
        spawning $($spawning:literal)*
        wishes $($wish:literal $utter:ident;)*
    ) => {
        const INPUTS: &[&str] = &[$($name,)* $($right_name),*];

        static SPECIAL: &[Primitive] = &[
            Primitive::ordinary("printString:", |thread, window| {
                print(thread, window, "printString:", false)
            }),
            Primitive::ordinary("printError:", |thread, window| {
                print(thread, window, "printError:", true)
            }),
            Primitive::ordinary("hostWrite:", |thread, window| {
                print_bytes(thread, window, "hostWrite:", false)
            }),
            Primitive::ordinary("hostWriteError:", |thread, window| {
                print_bytes(thread, window, "hostWriteError:", true)
            }),
            Primitive::ordinary("printStackTrace", |thread, window| {
                let text = stack_traces::render(thread.activations());
                write(thread, window, "printStackTrace", text, true)
            }),
            Primitive::ordinary("exit:", exit),
            Primitive::ordinary("yield", |thread, _| match taped::keeps_others_out(thread) {
                true => Outcome::Return(Word::NIL),
                false => Outcome::Yield(Word::NIL),
            })
            .with_direct_form(|thread, _| match taped::keeps_others_out(thread) {
                true => Meeting::Done(Word::NIL),
                false => Meeting::Yields,
            }),
            Primitive::ordinary("transactionBegin", |thread, _| taped::begin(thread)),
            Primitive::ordinary("transactionCommit", |thread, _| taped::commit(thread)),
            Primitive::ordinary(MAKE_CALLBACK, make_callback),
            Primitive::effect(MAKE_SANDBOX, make_sandbox),
            Primitive::effect(END_SANDBOX, end_sandbox),
            Primitive::ordinary("libraryInstance:", |thread, window| {
                registered(thread, window, "libraryInstance:")
            }),
            Primitive::ordinary("registryAt:", |thread, window| {
                registered(thread, window, "registryAt:")
            }),
            Primitive::ordinary("repeatForeignCall:as:keeping:", go_on_after_callback),
            Primitive::ordinary("leaveForeignCall:as:", leave_callback),
            Primitive::effect(AWAITING, await_resource),
            $(Primitive::effect($spawning, |thread, window| spawn(thread, window, $spawning)),)*
            $(Primitive::effect($wish, |thread, window| {
                in_order(thread, window, $wish, |thread| $utter(thread, window))
            }),)*
            $(Primitive::effect($ordered, |thread, window| ordered(thread, window, $ordered)),)*
            $(Primitive::ordinary($name, |thread, window| input(thread, window, $number)),)*
            $(Primitive::ordinary($right_name, |thread, window| {
                input_in_vat(thread, window, $right_number)
            }),)*
        ];
    };
}

inputs! {
    0 "identityHash:";
    1 "milliseconds";
    2 "microseconds";
    3 "memoryStatistics";
    4 "randomBytes:";
    5 "fileExists:";
    6 "fileIsDirectory:";
    7 "fileSize:";
    8 "fileLastModified:";
    9 "directoryEntries:";
    10 "createDirectory:";
    11 "deleteFile:";
    12 "deleteDirectory:";
    13 "copyFile:to:from:";
    14 "moveFile:to:";
    15 "readFile:";
    16 "file:put:append:";
    17 "readInput:";
    18 "ownProcessId";
    19 "environmentAt:";
    20 "environmentNames";
    21 "currentFolder";
    22 "transactionCounts";
    23 "transactionReport";
    24 "systemThreadNumber";
    25 "blockNativeThread:";

    in vats
    26 "openFile:mode:owner:";
    27 "closeFile:";
    28 "sizeOfFile:";
    29 "file:readAt:into:";
    30 "file:readAt:most:";
    31 "file:write:of:at:";
    32 "isHostAddress:";
    33 "resolveHost:port:";
    34 "textOfAddress:";
    35 "connectTo:owner:";
    36 "streamIsConnected:";
    37 "listenAt:backlog:owner:";
    38 "acceptFrom:owner:";
    39 "stream:read:";
    40 "stream:write:from:";
    41 "streamEndWriting:";
    42 "stream:sendsAtOnce:";
    43 "streamResetsOnClose:";
    44 "localAddress:";
    45 "remoteAddress:";
    46 "tlsTrusting:owner:";
    47 "tlsCertificates:key:owner:";
    48 "stream:encrypt:name:";
    49 "streamShakeHands:";
    50 "datagramsAt:owner:";
    51 "datagramsReceive:";
    52 "datagrams:send:to:";
    53 "startProcess:folder:variables:ends:owners:";
    54 "processId:";
    55 "processExitCode:";
    56 "process:send:";
    57 "openSignals:owner:";
    58 "takeSignal:";
    59 "resource:giveUpTo:";
    60 "resource:handTo:";
    61 "closeResource:";
    62 "memory:get:at:";
    63 "memory:put:as:at:";
    64 "memory:stringAt:";
    65 "memory:stringAt:size:";
    66 "memory:putString:at:";
    67 "memory:bytesAt:size:";
    68 "memory:putBytes:at:";
    69 "memory:field:";
    70 "memory:field:put:";
    71 "memory:element:";
    72 "memory:element:put:";
    73 "pointerString:";
    74 "foreignAddress:";
    75 "foreignErrno";
    76 "foreignCall:";
    77 "foreignCall:with:";
    78 "foreignCall:with:with:";
    79 "foreignCall:with:with:with:";
    80 "foreignCall:with:with:with:with:";
    81 "foreignCallLeaf:";
    82 "foreignCallLeaf:with:";
    83 "foreignCallLeaf:with:with:";
    84 "foreignCallLeaf:with:with:with:";
    85 "foreignCall:arguments:";
    86 "sandboxReason:";
    87 "sandboxReport:";
    88 "sandboxUsage:";

    ordered
    "registryAt:put:"
    "sleep:"
    "strandJoin:"
    "strandJoin:within:"
    "strandPriority:"
    "strandHasEnded:"
    "strandHasFailed:"
    "readChannel:"
    "channel:write:"
    "poisonReading:"
    "poisonWriting:"
    "chooseOf:fairly:within:"
    "chooseOf:writing:fairly:within:"
    "barrierSynchronize:"
    "barrierEnrol:"
    "barrierResign:"
    "bucketFallInto:"
    "bucketFlush:"
    "mutex:lock:"
    "mutex:lock:within:"
    "mutex:relock:"
    "mutexUnlock:"
    "mutexIsLocked:"
    "condition:await:within:"
    "conditionSignalOne:"
    "conditionSignalAll:"
    "semaphoreWait:"
    "semaphoreWait:within:"
    "semaphoreSignal:"

    spawning
    "spawnParallel:with:"
    "spawnExclusive:with:priority:"
    "activity:spawnParallel:with:on:"
    "activity:spawnExclusive:with:priority:on:"
    "spawnProcess:with:on:"

    wishes
    "strandTerminate:" terminate;
    "strandSuspend:" suspend;
    "strandResume:" resume;
    "strand:bindTo:" bind;
    "strand:priority:" prioritize;
}

/// The primitive that waits for a resource.
const AWAITING: &str = "await:for:within:";

/// Declares a primitive that ends the program since it uses this.
macro_rules! refusing {
    ($what:literal) => {
        Primitive::ordinary("", |thread, _| refuse(thread, $what))
    };
}

static REFUSED_GROUPS: &[(&[Primitive], Primitive)] = &[
    (channels::PRIMITIVES, refusing!("this operation on channels")),
    (embedding::PRIMITIVES, refusing!("functions of the embedder")),
    (calls_of_c::PRIMITIVES, refusing!("callbacks of C from other native threads")),
    (locks::PRIMITIVES, refusing!("this operation on locks")),
    (native_threads::PRIMITIVES, refusing!("this operation on native threads")),
    (strands::PRIMITIVES, refusing!("this operation on strands")),
];

/// Ends the program, which cannot be recorded.
fn refuse(thread: &Thread, what: &str) -> Outcome {
    if thread.recorder().is_none() {
        thread.diverge(&format!("the strand uses {what}, which no recording holds"));
        return Outcome::Exit(REFUSED);
    }
    let place = thread.place();
    thread.vm.host().write_error(&format!("{place}{}", unheld(what)));
    Outcome::Exit(REFUSED)
}

/// A primitive that depends on what is outside. *GC point.*
fn input(thread: &mut Thread, window: Window, number: usize) -> Outcome {
    let name = INPUTS[number];
    if let Err(outcome) = begin_effect(thread, name) {
        return outcome;
    }
    let number = number as u64;
    let answer = match name.starts_with(CALL_OF_C) {
        true => thread.input_of_c(number),
        false => thread.input(number),
    };
    match gates::asked(thread, answer) {
        Ok(Answer::Ask) => {
            thread.set_asks(true);
            let outcome = primitives::find(name).run(thread, window);
            thread.set_asks(false);
            let outcome = note(thread, window, (number, name), outcome);
            ended_by(thread, outcome)
        }
        Ok(Answer::Known(bytes)) => {
            let outcome = known(thread, window, name, &bytes);
            ended_by(thread, outcome)
        }
        Ok(Answer::CalledBack(bytes)) => begin_callbacks(thread, window, number, &bytes),
        Ok(_) => primitives::find(name).run(thread, window),
        Err(outcome) => outcome,
    }
}

/// If the answer was too large for the sandbox, that is over, and the strand ends here: the failure might reach its end before a poll.
/// *GC point.*
fn ended_by(thread: &mut Thread, outcome: Outcome) -> Outcome {
    let has_failed = matches!(outcome, Outcome::Fail(_));
    if !has_failed || !sandbox::is_over(thread) || thread.running_strand().is_none() {
        return outcome;
    }
    unwind::kill(thread);
    Failure::elsewhere().into()
}

/// How the names of the primitives begin that call C.
const CALL_OF_C: &str = "foreignCall:";

/// In a replay: a block of the library evaluates the blocks that C has called, this one first, and answers what C has answered.
/// *GC point.*
fn begin_callbacks(thread: &mut Thread, window: Window, number: u64, bytes: &[u8]) -> Outcome {
    let arguments = array::make_of(thread, window.len() - 1, |_, index| Ok(window.get(index + 1)));
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(arguments);
    let called = callbacks::called(thread, bytes);
    let arguments = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    match called {
        Some(Ok(call)) => {
            let number = Word::from_small_integer_unchecked(number as i64);
            thread.message.extend([window.get(0), number, call, arguments]);
            Outcome::Evaluate
        }
        Some(Err(failure)) => failure.into(),
        None => unknown_callback(thread),
    }
}

/// In a replay: what comes next in a call of C after a callback. Another one is an array of its block and its arguments, the
/// answer an array of that alone. *GC point.*
fn go_on_after_callback(thread: &mut Thread, window: Window) -> Outcome {
    match asked_in_call(thread, window) {
        Ok(Answer::CalledBack(bytes)) => match callbacks::called(thread, &bytes) {
            Some(call) => call.into(),
            None => unknown_callback(thread),
        },
        Ok(Answer::Known(bytes)) => match known(thread, window, CALL_OF_C, &bytes) {
            Outcome::Return(answer) => {
                thread.message.clear();
                thread.message.push(answer);
                array::make_of(thread, 1, |thread, _| Ok(thread.message[0])).into()
            }
            outcome => outcome,
        },
        Ok(_) => Failure::argument(window.get(0)).into(),
        Err(outcome) => outcome,
    }
}

/// In a replay: an exception or a return leaves a callback, which goes on where C returns in the recording. *GC point.*
fn leave_callback(thread: &mut Thread, window: Window) -> Outcome {
    match asked_in_call(thread, window) {
        Ok(Answer::Known(bytes)) if bytes == answers::LEFT => Outcome::Return(Word::NIL),
        Ok(Answer::Outside) => Outcome::Return(Word::NIL),
        Ok(_) => {
            thread.diverge("something leaves a callback of C, which has answered in the recording");
            Outcome::Exit(REFUSED)
        }
        Err(outcome) => outcome,
    }
}

/// In a replay: what comes next in the call of C whose number is the second argument. *GC point.*
fn asked_in_call(thread: &mut Thread, window: Window) -> Result<Answer, Outcome> {
    let number = window.get(1).as_small_integer();
    let number = number.ok_or_else(|| Outcome::from(Failure::argument(window.get(1))))?;
    let answer = thread.input_of_c(number as u64);
    gates::asked(thread, answer)
}

fn unknown_callback(thread: &Thread) -> Outcome {
    thread.diverge("the recording has a callback of C here that there is not");
    Outcome::Exit(REFUSED)
}

/// Makes a callback of C. *GC point.*
fn make_callback(thread: &mut Thread, window: Window) -> Outcome {
    let next = |thread: &Thread| thread.vm.concurrency().foreign.numbered.next();
    make_numbered(thread, window, (CALLBACK, MAKE_CALLBACK), next, |thread, handle, number| {
        thread.vm.concurrency().foreign.numbered.add(handle, number);
    })
}

/// Makes a sandbox. *GC point.*
fn make_sandbox(thread: &mut Thread, window: Window) -> Outcome {
    if let Err(outcome) = begin_effect(thread, MAKE_SANDBOX) {
        return outcome;
    }
    let next = |thread: &Thread| thread.number_of_new_sandbox();
    make_numbered(thread, window, (SANDBOX, MAKE_SANDBOX), next, |_, sandbox, number| {
        sandboxes::set_number(sandbox, number);
    })
}

/// Makes something that a recording gives the next number. A replay makes it, too, and gives it the number that it has in the
/// recording. *GC point.*
fn make_numbered(
    thread: &mut Thread,
    window: Window,
    (asked, name): (u64, &str),
    next: impl FnOnce(&Thread) -> u64,
    set_number: impl FnOnce(&Thread, Word, u64),
) -> Outcome {
    let answer = thread.input(asked);
    let number = match gates::asked(thread, answer) {
        Ok(Answer::Ask) => {
            let number = next(thread);
            thread.note_input(asked, &number.to_le_bytes());
            number
        }
        Ok(Answer::Known(bytes)) => bytes.try_into().map_or(0, u64::from_le_bytes),
        Ok(_) => return primitives::find(name).run(thread, window),
        Err(outcome) => return outcome,
    };
    let outcome = primitives::find(name).run(thread, window);
    if let Outcome::Return(made) = outcome {
        set_number(thread, made, number);
    }
    outcome
}

/// Ends a sandbox, which may be over already. *GC point.*
fn end_sandbox(thread: &mut Thread, window: Window) -> Outcome {
    if let Err(outcome) = begin_effect(thread, END_SANDBOX) {
        return outcome;
    }
    let answer = thread.input(ANSWERED);
    match gates::asked(thread, answer) {
        Ok(Answer::Ask) => {
            let outcome = primitives::find(END_SANDBOX).run(thread, window);
            note(thread, window, (ANSWERED, END_SANDBOX), outcome)
        }
        Ok(Answer::Known(bytes)) => {
            // STAYS: outcome: it answers true or false, no object.
            let outcome = known(thread, window, END_SANDBOX, &bytes);
            if matches!(outcome, Outcome::Return(Word::TRUE)) {
                _ = primitives::find(END_SANDBOX).run(thread, window);
            }
            outcome
        }
        Ok(_) => primitives::find(END_SANDBOX).run(thread, window),
        Err(outcome) => outcome,
    }
}

/// The primitive that ends a sandbox.
const END_SANDBOX: &str = "sandboxTerminate:";

/// The primitive that makes a sandbox.
const MAKE_SANDBOX: &str = "newSandbox:granting:budgets:promise:error:";

/// The primitive that makes a callback of C.
const MAKE_CALLBACK: &str = "foreignLibrary:callback:do:server:repeater:";

/// The instance of a library module, or another object of the whole program. Which strands find none, and make one, has its places.
/// *GC point.*
fn registered(thread: &mut Thread, window: Window, primitive: &str) -> Outcome {
    let name = match modules::name_argument(thread, window) {
        Ok(name) => name,
        Err(failure) => return failure.into(),
    };
    if thread.vm.roots.registered(name).is_none()
        && let Err(outcome) = gates::look_for_module(thread, name)
    {
        return outcome;
    }
    primitives::find(primitive).run(thread, window)
}

/// What has to precede the effect of the primitive with this name, in a transaction. *GC point.*
fn begin_effect(thread: &mut Thread, name: &'static str) -> Result<(), Outcome> {
    match thread.transaction.is_some() && primitives::find(name).shape == Shape::Effect {
        true => transaction::make_inevitable(thread, name),
        false => Ok(()),
    }
}

/// A primitive for something open, which belongs to a vat: the strand gets its vat first, unless it has one. *GC point.*
fn input_in_vat(thread: &mut Thread, window: Window, number: usize) -> Outcome {
    match vat::current(thread) {
        Ok(_) => input(thread, window, number),
        Err(failure) => failure.into(),
    }
}

/// Notes an answer from outside.
fn note(
    thread: &mut Thread,
    window: Window,
    (number, name): (u64, &str),
    outcome: Outcome,
) -> Outcome {
    let Some(mut bytes) = encoded(thread, window, name, &outcome) else {
        return match outcome {
            Outcome::Exit(_) => outcome,
            // C has returned, and what has left a callback goes on.
            Outcome::Resume if name.starts_with(CALL_OF_C) => {
                thread.note_input(number, answers::LEFT);
                outcome
            }
            _ => refuse(thread, "an answer from outside of this kind"),
        };
    };
    if name == FILLING {
        bytes.extend(filled(&outcome, window));
    }
    thread.note_input(number, &bytes);
    outcome
}

/// Answers what the recording has, and does what else the primitive does to objects. *GC point.*
fn known(thread: &mut Thread, window: Window, name: &str, bytes: &[u8]) -> Outcome {
    if bytes.is_empty() && PARTS.contains(&name) {
        return primitives::find(name).run(thread, window);
    }
    let Some((outcome, rest)) = answers::decode(thread, window, bytes) else {
        thread.diverge("the recording has no sensible answer to this");
        return Outcome::Exit(REFUSED);
    };
    if name == FILLING
        && let Some(array) = array::of(window.get(2)).filter(|array| array.length() >= rest.len())
    {
        files::put_bytes(thread, array, rest);
    }
    if name == HASH
        && let Outcome::Return(hash) = outcome
        && let (Some(object), Some(hash)) = (window.get(0).as_object(), hash.as_small_integer())
    {
        object.assign_identity_hash(hash as u32);
    }
    outcome
}

/// What a recording has of an answer. A part of memory is none: the replay makes it, too.
fn encoded(thread: &Thread, window: Window, name: &str, outcome: &Outcome) -> Option<Vec<u8>> {
    match outcome {
        Outcome::Return(word) if PARTS.contains(&name) && foreign::memory(*word).is_ok() => {
            Some(Vec::new())
        }
        _ => answers::encode(thread.vm, outcome, window, arity(name)),
    }
}

/// The primitives that answer a part of memory, if it is no simple value.
const PARTS: &[&str] = &["memory:field:", "memory:element:"];

/// How many arguments a primitive takes.
fn arity(name: &str) -> usize {
    name.matches(':').count()
}

/// The primitive that gives an object its hash.
const HASH: &str = "identityHash:";

/// The primitive that reads bytes into an array, its third argument.
const FILLING: &str = "file:readAt:into:";

/// The bytes that were read into the array.
fn filled(outcome: &Outcome, window: Window) -> Vec<u8> {
    let (Outcome::Return(count), Some(array)) = (outcome, array::of(window.get(2))) else {
        return Vec::new();
    };
    let count = count.as_small_integer().and_then(|count| usize::try_from(count).ok());
    let element = |index| array.element(index).as_small_integer().unwrap_or(0) as u8;
    (0..count.unwrap_or(0).min(array.length())).map(element).collect()
}

/// The wait for a resource, for some time perhaps. It may be ready at once, which comes from outside; else the end of the wait
/// has a place among the operations on shared objects. *GC point.*
fn await_resource(thread: &mut Thread, window: Window) -> Outcome {
    in_order(thread, window, AWAITING, |thread| match thread.input(AWAITED) {
        Answer::Ask => {
            let ready = resources::is_ready(thread, window).map(Word::from_bool);
            match note(thread, window, (AWAITED, AWAITING), ready.into()) {
                Outcome::Return(Word::FALSE) => resources::wait(thread, window),
                outcome => outcome,
            }
        }
        Answer::Known(bytes) => match known(thread, window, AWAITING, &bytes) {
            Outcome::Return(Word::FALSE) => sleep_for_resource(thread),
            outcome => outcome,
        },
        _ => Outcome::Exit(REFUSED),
    })
}

/// In a replay: the strand waits for the place at which the recorded wait has ended.
fn sleep_for_resource(thread: &mut Thread) -> Outcome {
    let strand = thread.strand().object();
    let ticket = waiting::park(thread, Word::NIL);
    thread.sleeps_by_tape(strand, ticket, Word::FALSE);
    Outcome::Park
}

/// The primitives that end, suspend, resume and bind a strand.
const TERMINATE: &str = "strandTerminate:";
const SUSPEND: &str = "strandSuspend:";
const RESUME: &str = "strandResume:";
const BIND: &str = "strand:bindTo:";

/// Ends a strand. A parallel one that runs goes on up to its next poll; the recording has that as an event of the strand, and
/// the replay lets it come to that event. *GC point.*
fn terminate(thread: &mut Thread, window: Window) -> Outcome {
    let strand = strand_argument(window).filter(|strand| *strand != thread.strand());
    match strand {
        Some(strand) if strand.model() == Model::Parallel => {
            let is_at_once = thread.ends_at_once(strand);
            if !is_at_once {
                let waiting = thread.too_far(strand);
                if let Some(claimed) = waiting.and_then(|it| strand.claim(it.ticket)) {
                    waiting::make_ready(thread, claimed, Place::Last);
                }
            }
            answered(thread, window, TERMINATE, is_at_once)
        }
        // It ends at a poll, or in its next item.
        Some(strand) if is_counted(strand) => {
            if thread.repeats() && thread.is_to_end(strand) {
                _ = strands_of::terminate(thread, strand.object());
            }
            answered(thread, window, TERMINATE, false)
        }
        // At which poll such a strand ends is not recorded.
        Some(strand) if thread.recorder().is_some() && runs_beside(thread, strand) => {
            refuse(thread, "the end of a green thread or turn that runs on another core")
        }
        _ => primitives::find(TERMINATE).run(thread, window),
    }
}

/// Suspends a strand. In a replay, a suspended strand only has to wait for its places, as ever; but one that suspends itself
/// does so. *GC point.*
fn suspend(thread: &mut Thread, window: Window) -> Outcome {
    let strand = strand_argument(window).filter(|strand| *strand != thread.strand());
    let Some(strand) = strand else { return primitives::find(SUSPEND).run(thread, window) };
    let is_uncounted = strand.model() == Model::Exclusive && !is_counted(strand);
    if is_uncounted && thread.recorder().is_some() && runs_beside(thread, strand) {
        return refuse(
            thread,
            "the suspension of a green thread or turn that runs on another core",
        );
    }
    answered(thread, window, SUSPEND, false)
}

/// Lets a suspended strand go on. *GC point.*
fn resume(thread: &mut Thread, window: Window) -> Outcome {
    answered(thread, window, RESUME, true)
}

/// Binds a strand to a native thread. *GC point.*
fn bind(thread: &mut Thread, window: Window) -> Outcome {
    let strand = strand_argument(window).filter(|strand| strand.model() == Model::Exclusive);
    // At which poll such a strand moves is not recorded.
    if strand.is_some_and(|strand| thread.recorder().is_some() && runs_beside(thread, strand)) {
        return refuse(thread, "binding a green thread or turn that runs on another core");
    }
    primitives::find(BIND).run(thread, window)
}

/// Changes the priority of a strand. From the first other one on, the vat counts its polls, since strands give way there.
/// *GC point.*
fn prioritize(thread: &mut Thread, window: Window) -> Outcome {
    if let Some(strand) = strand_argument(window)
        && strand.vat() != thread.strand().vat()
        && strand.vat().is_some()
    {
        return refuse(thread, "the priority of a green thread of another actor");
    }
    if thread.sandbox.is_some() {
        return refuse(thread, "priorities of green threads in sandboxes");
    }
    let outcome = primitives::find("strand:priority:").run(thread, window);
    counted(thread, outcome)
}

/// The vat of the strand that runs here counts its polls from now on. The answer of the primitive that makes it so.
fn counted(thread: &mut Thread, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Return(value) if thread.begin_counted_vat() => Outcome::Guard(value),
        outcome => outcome,
    }
}

/// Whether a strand is a green thread or turn of a vat that counts its polls.
fn is_counted(strand: StrandRef) -> bool {
    strand.model() == Model::Exclusive && strand.vat().is_some_and(VatRef::is_counted)
}

/// An operation on a strand whose answer is recorded, since it depends on how far the strand is. The replay does it if it is
/// `repeated`. *GC point.*
fn answered(thread: &mut Thread, window: Window, name: &'static str, repeated: bool) -> Outcome {
    match thread.input(ANSWERED) {
        Answer::Ask => {
            let outcome = primitives::find(name).run(thread, window);
            note(thread, window, (ANSWERED, name), outcome)
        }
        Answer::Known(bytes) => {
            if repeated {
                _ = primitives::find(name).run(thread, window);
            }
            known(thread, window, name, &bytes)
        }
        Answer::Outside => primitives::find(name).run(thread, window),
        _ => Outcome::Exit(REFUSED),
    }
}

fn strand_argument(window: Window) -> Option<StrandRef> {
    window.get(0).as_object().and_then(StrandRef::of_object)
}

/// An operation on an object that strands share. *GC point.*
fn ordered(thread: &mut Thread, window: Window, name: &str) -> Outcome {
    in_order(thread, window, name, |thread| {
        if name.starts_with("chooseOf:") {
            gates::choose_seed(thread);
        }
        primitives::find(name).run(thread, window)
    })
}

/// Does something when it is its turn among the operations on shared objects; outside of a recording or replay, the primitive
/// runs as ever. *GC point.*
fn in_order(
    thread: &mut Thread,
    window: Window,
    name: &str,
    operation: impl FnOnce(&mut Thread) -> Outcome,
) -> Outcome {
    match gates::pass(thread) {
        Ok(Right::Outside) => primitives::find(name).run(thread, window),
        Ok(right) => {
            let outcome = operation(thread);
            gates::done(thread, right);
            outcome
        }
        Err(outcome) => outcome,
    }
}

/// Starts a strand. Of strands that start one activity, one succeeds, which depends on their order. *GC point.*
fn spawn(thread: &mut Thread, window: Window, name: &'static str) -> Outcome {
    let ordinary = Word::from_small_integer_unchecked(i64::from(ORDINARY_PRIORITY));
    let priority = PRIORITIES.iter().find(|(other, _)| *other == name);
    // Then strands of the vat may interrupt each other.
    let is_counted = match priority {
        Some((_, index)) => window.get(*index) != ordinary,
        None => PARALLEL.contains(&name),
    };
    // In a sandbox, polls are in no recording.
    if thread.sandbox.is_some() && is_counted && priority.is_some() {
        return refuse(thread, "priorities of green threads in sandboxes");
    }
    // At which polls its strands take turns is not recorded.
    if thread.transaction.is_some() {
        return refuse(thread, "transactions that several strands execute");
    }
    in_order(thread, window, name, |thread| {
        let outcome = primitives::find(name).run(thread, window);
        if is_counted { counted(thread, outcome) } else { outcome }
    })
}

/// The primitives that start a strand which runs beside others.
const PARALLEL: &[&str] = &["spawnParallel:with:", "activity:spawnParallel:with:on:"];

/// The primitives that start a strand with a priority, and the index of that among the arguments.
const PRIORITIES: &[(&str, usize)] =
    &[("spawnExclusive:with:priority:", 2), ("activity:spawnExclusive:with:priority:on:", 3)];

/// Whether a strand may run at the same time as the one that runs here.
fn runs_beside(thread: &Thread, strand: StrandRef) -> bool {
    let here = thread.strand();
    let are_exclusive = [strand, here].iter().all(|each| each.model() == Model::Exclusive);
    let are_of_vat = are_exclusive && strand.vat().is_some() && strand.vat() == here.vat();
    strand != here && !are_of_vat && !strand.is_parked()
}

/// Writes the text in the window. *GC point.*
fn print(thread: &mut Thread, window: Window, name: &'static str, is_error: bool) -> Outcome {
    match text_argument(window.get(0)) {
        Ok(text) => write(thread, window, name, text, is_error),
        Err(failure) => failure.into(),
    }
}

/// Writes the bytes in the window. *GC point.*
fn print_bytes(thread: &mut Thread, window: Window, name: &'static str, is_error: bool) -> Outcome {
    match system::bytes_argument(window.get(0)) {
        Ok(text) => write(thread, window, name, text, is_error),
        Err(failure) => failure.into(),
    }
}

/// Writes a text as the primitive with this name does. *GC point.*
fn write(
    thread: &mut Thread,
    window: Window,
    name: &'static str,
    text: String,
    is_error: bool,
) -> Outcome {
    if let Err(outcome) = begin_effect(thread, name) {
        return outcome;
    }
    if effects::pending_output(thread).is_some() || !grants::allows(thread, grants::CONSOLE) {
        return primitives::find(name).run(thread, window);
    }
    outputs::write(thread, &text, is_error);
    Outcome::Return(Word::NIL)
}

/// Ends the program; in a replay, when all others have done what the recording has. *GC point.*
fn exit(thread: &mut Thread, window: Window) -> Outcome {
    if let Err(outcome) = begin_effect(thread, "exit:") {
        return outcome;
    }
    // Else the sandbox ends.
    let may_end = thread.sandbox.is_none() || grants::allows(thread, grants::SYSTEM);
    if let Some(code) = window.get(0).as_small_integer().and_then(|code| u8::try_from(code).ok())
        && may_end
        && thread.waits_to_end(i32::from(code))
    {
        waiting::park(thread, Word::NIL);
        return Outcome::Park;
    }
    primitives::find("exit:").run(thread, window)
}
