//! Texts that the program writes: at once or, in a replay, in the order of the recording. The primitives of recorded runs and
//! the commits of transactions call this module.

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

fn write_now(thread: &mut Thread, text: &str, is_error: bool) {
    let host = thread.vm.host();
    thread.mutator.native(|| match is_error {
        true => host.write_error(text),
        false => host.write_output(text),
    });
}
