//! The services that a machine needs from its embedder. `host` passes them to the runtime.

use std::io;

/// The outside world as far as the embedder shows it to the machine.
///
/// Calls come from the native threads that run guest code, one at a time for each of them.
pub trait Surroundings: Send + Sync {
    /// Writes to the program's standard output.
    fn write_output(&self, text: &str);

    /// Writes to the program's standard error output.
    fn write_error(&self, text: &str);

    /// Reads from the program's standard input, at most so many bytes; none at its end. Waits for the first one. Without
    /// an implementation, there is no input.
    fn read_input(&self, most: usize) -> io::Result<Vec<u8>> {
        _ = most;
        Ok(Vec::new())
    }

    /// Flushes all output. Called before the machine sleeps or ends.
    fn flush(&self);

    /// The program has ended with this exit code, but the machine's own native thread is in a C call that does not
    /// return, so the embedder waits in vain. A process without other work should end.
    fn abandon(&self, code: i32) {
        _ = code;
    }

    /// The bytes of the module file at a path, which the program named.
    fn read_module(&self, path: &str) -> io::Result<Vec<u8>>;
}
