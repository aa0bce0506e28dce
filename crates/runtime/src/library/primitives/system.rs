//! The machine and its surroundings: the primitives for output, arguments, time, memory and the end of the program.
//! `lib/System.ns`, `lib/Platform.ns` and `lib/Programs.ns` call them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use squall_heap::{CollectionKind, WORD_BYTES, Word};

use super::answer;
use super::modules::call_kernel;
use crate::concurrency::messages;
use crate::concurrency::sandbox::{self, grants};
use crate::concurrency::transactions::effects;
use crate::concurrency::worker;
use crate::execution::stack_traces;
use crate::model::host::Host;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{integer_argument, make_integer};
use crate::objects::string::{make_string, text_argument};
use crate::objects::typed::lists;
use crate::state::coverage;
use crate::state::thread::{Thread, Window};
use crate::state::transactions::effects::Effects;
use crate::state::vm::Vm;

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("printString:", |thread, window| {
        print_output(thread, text_argument(window.get(0)))
    }),
    Primitive::ordinary("printError:", |thread, window| {
        print_error(thread, text_argument(window.get(0)))
    }),
    Primitive::ordinary("hostWrite:", |thread, window| {
        print_output(thread, bytes_argument(window.get(0)))
    }),
    Primitive::ordinary("hostWriteError:", |thread, window| {
        print_error(thread, bytes_argument(window.get(0)))
    }),
    Primitive::ordinary("cover:", |_, window| {
        coverage::count(window.get(0).as_small_integer().unwrap_or(-1));
        Outcome::Return(Word::NIL)
    }),
    Primitive::effect("printStackTrace", |thread, _| {
        if grants::allows(thread, grants::CONSOLE) {
            let text = stack_traces::render(thread.activations());
            let vm = thread.vm;
            thread.mutator.native(|| vm.host().write_error(&text));
        }
        Outcome::Return(Word::NIL)
    }),
    Primitive::effect("exit:", |thread, window| {
        answer_exit(thread, window, |_, code| Outcome::Exit(code))
    }),
    Primitive::effect("endWith:", |thread, window| {
        answer_exit(thread, window, |vm, code| {
            worker::end_soon(vm, code);
            Outcome::Return(Word::NIL)
        })
    }),
    Primitive::ordinary("exitHooks", |thread, _| {
        let hooks = if is_main(thread) { thread.vm.roots.exit_hooks.get() } else { Word::NIL };
        Outcome::Return(hooks)
    }),
    Primitive::effect("exitHooks:", |thread, window| answer(set_exit_hooks(thread, window))),
    Primitive::ordinary("reportUncaught:", |thread, window| {
        call_kernel(thread, "uncaught:", window.get(0))
    }),
    Primitive::ordinary("arguments", |thread, _| {
        let granted = grants::check(thread, grants::SYSTEM, "the command line");
        answer(granted.and_then(|()| messages::program_arguments(thread)))
    }),
    Primitive::ordinary("milliseconds", |thread, _| answer(time(thread, milliseconds))),
    Primitive::ordinary("microseconds", |thread, _| answer(time(thread, microseconds))),
    Primitive::ordinary("collectGarbage", |thread, _| answer(collect(thread))),
    Primitive::ordinary("memoryStatistics", |thread, _| {
        let granted = grants::check(thread, grants::SYSTEM, "the machine's memory");
        answer(granted.and_then(|()| memory_statistics(thread)))
    }),
];

/// Whether the running strand belongs to the main vat.
fn is_main(thread: &Thread) -> bool {
    let main = thread.vm.main_vat();
    main.is_some() && thread.strand().vat() == main
}

/// Keeps the blocks for the end of the program. They belong to the main vat.
fn set_exit_hooks(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    grants::check(thread, grants::SYSTEM, "the end of the program")?;
    if !is_main(thread) {
        let what = make_string(thread, "an exit hook outside of the program's main actor")?;
        return Err(Failure::with(FailureReason::NotSupported, what, Word::NIL));
    }
    thread.vm.roots.exit_hooks.set(window.get(0));
    Ok(Word::NIL)
}

fn collect(thread: &mut Thread) -> Result<Word, Failure> {
    grants::check(thread, grants::SYSTEM, "a collection")?;
    thread.mutator.collect(CollectionKind::Full);
    Ok(Word::NIL)
}

/// The time of a clock. *GC point.*
fn time(thread: &mut Thread, clock: fn(&Vm) -> i64) -> Result<Word, Failure> {
    grants::check(thread, grants::CLOCK, "the time")?;
    make_integer(thread, clock(thread.vm))
}

/// The text whose bytes are in a list of typed code.
pub(crate) fn bytes_argument(word: Word) -> Result<String, Failure> {
    let bytes = lists::to_bytes(word).ok_or(Failure::argument(word))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a text to the standard output.
fn print_output(thread: &mut Thread, text: Result<String, Failure>) -> Outcome {
    match grants::check(thread, grants::CONSOLE, "output") {
        Ok(()) => print(thread, text, |host, text| host.write_output(text), Effects::output),
        Err(failure) => failure.into(),
    }
}

/// Writes a text to the standard error output. Much of that are reports, which are not worth an exception where they may not
/// be written.
fn print_error(thread: &mut Thread, text: Result<String, Failure>) -> Outcome {
    match grants::allows(thread, grants::CONSOLE) {
        true => print(thread, text, |host, text| host.write_error(text), Effects::error),
        false => Outcome::Return(Word::NIL),
    }
}

/// Writes a text, which may wait for the reader of a pipe; in a transaction, the text is written at the commit.
fn print(
    thread: &mut Thread,
    text: Result<String, Failure>,
    write: fn(&dyn Host, &str),
    defer: fn(&mut Effects, String),
) -> Outcome {
    let text = match text {
        Ok(text) => text,
        Err(failure) => return failure.into(),
    };
    let vm = thread.vm;
    if effects::pending_output(thread).is_some()
        && let Err(failure) = effects::make_room(thread, 0, text.len())
    {
        return failure.into();
    }
    match effects::pending_output(thread) {
        Some(effects) => defer(effects, text),
        None => thread.mutator.native(|| write(vm.host(), &text)),
    }
    Outcome::Return(Word::NIL)
}

fn answer_exit(
    thread: &mut Thread,
    window: Window,
    end: fn(&'static Vm, i32) -> Outcome,
) -> Outcome {
    // More than a byte the operating system would cut off: 256 would say that all is well.
    let code = integer_argument(window.get(0)).ok().and_then(|code| u8::try_from(code).ok());
    let Some(code) = code.map(i32::from) else {
        return Failure::argument(window.get(0)).into();
    };
    if let (Some(sandbox), false) = (thread.sandbox, grants::allows(thread, grants::SYSTEM)) {
        return sandbox::exit(thread, sandbox).into();
    }
    let vm = thread.vm;
    thread.mutator.native(|| vm.host().flush());
    end(vm, code)
}

/// When runs with a seed begin: at the start of 2020.
const SEEDED_START: Duration = Duration::from_secs(1_577_836_800);

/// The time since the start of 1970.
fn milliseconds(vm: &Vm) -> i64 {
    let since = match vm.scheduler.is_seeded() {
        true => SEEDED_START + vm.scheduler.elapsed(),
        false => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
    };
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The time since the machine was started.
fn microseconds(vm: &Vm) -> i64 {
    i64::try_from(vm.scheduler.elapsed().as_micros()).unwrap_or(i64::MAX)
}

/// Bytes in the heap, bytes of stacks, bytes freed so far, and milliseconds spent on that.
fn memory_statistics(thread: &mut Thread) -> Result<Word, Failure> {
    let heap = thread.vm.heap.statistics();
    let freed = heap.allocated_bytes.saturating_sub(heap.used_bytes as u64);
    let time = heap.nursery.total + heap.full.total;
    let numbers = [
        heap.used_bytes as u64,
        (thread.stack().words() * WORD_BYTES) as u64,
        freed,
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    ];
    array::make_of(thread, numbers.len(), |thread, index| {
        make_integer(thread, i64::try_from(numbers[index]).unwrap_or(i64::MAX))
    })
}
