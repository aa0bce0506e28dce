//! Texts that the program writes: at once or, in a replay, in the order of the recording. The primitives of recorded runs and
//! the commits of transactions call this module.

use crate::state::sandbox::SandboxRef;
use crate::state::thread::Thread;

/// Writes a text. *GC point.*
pub fn write(thread: &mut Thread, text: &str, is_error: bool) {
    if let Some(due) = thread.replay_output(text, is_error) {
        due.iter().for_each(|(text, is_error)| write_now(thread, text, *is_error));
        return;
    }
    let Some(recorder) = thread.recorder() else { return write_now(thread, text, is_error) };
    let mut outputs = thread.mutator.native(|| recorder.outputs.lock());
    thread.note_output(*outputs, text);
    *outputs += 1;
    write_now(thread, text, is_error);
}

/// The report of a sandbox that has ended, on the standard error output, if it `is_shown` there. In a replay, the recording says
/// that, and in which place. *GC point.*
pub fn write_report(thread: &mut Thread, sandbox: SandboxRef, is_shown: bool) {
    let report = sandbox.report();
    if thread.repeats() && sandbox.number() != 0 {
        let place = thread.end_by_tape(sandbox).and_then(|end| end.place);
        let due = place.map(|place| thread.replay_report(place, &report)).unwrap_or_default();
        return due.iter().for_each(|(text, is_error)| write_now(thread, text, *is_error));
    }
    let Some(recorder) = thread.recorder_of_all() else {
        return if is_shown {
            write_now(thread, &report, true)
        };
    };
    let mut outputs = thread.mutator.native(|| recorder.outputs.lock());
    thread.note_sandbox_end(sandbox, is_shown.then_some(*outputs));
    if is_shown {
        *outputs += 1;
        write_now(thread, &report, true);
    }
}

fn write_now(thread: &mut Thread, text: &str, is_error: bool) {
    let host = thread.vm.host();
    thread.mutator.native(|| match is_error {
        true => host.write_error(text),
        false => host.write_output(text),
    });
}
