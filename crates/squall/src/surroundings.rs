//! What a machine asks its embedder.

use std::io;

/// The world outside, as the embedder lets the machine see it.
///
/// Calls come from the native threads that run guest code, one at a time for each of them.
pub trait Surroundings: Send + Sync {
    /// Writes to the program's standard output.
    fn write_output(&self, text: &str);

    /// Writes to the program's standard error output.
    fn write_error(&self, text: &str);

    /// Sees to it that everything written so far is out. Called before the machine sleeps or ends.
    fn flush(&self);

    /// The program has ended with this exit code, but the machine's own native thread is in a call of C that does
    /// not return: what the embedder waits for never comes. A process that does nothing else should end.
    fn abandon(&self, code: i32) {
        _ = code;
    }

    /// The bytes of the module file at a path, which the program named.
    fn read_module(&self, path: &str) -> io::Result<Vec<u8>>;
}
