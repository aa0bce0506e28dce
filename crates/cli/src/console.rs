//! Standard output and error: buffering, colours, broken pipes.
//!
//! Output is collected and written in large pieces, except on a terminal, where somebody waits for
//! it. Whatever goes to the standard error output is preceded by the output so far, so that both
//! read in the right order where they meet.

use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

use squall::Surroundings;
use squall_newspeak::diagnostics::render::Colour;

use crate::exit::Exit;

/// Output is written when there is this much of it.
const BUFFER_BYTES: usize = 32 << 10;

/// The process's standard output and error.
pub struct Console {
    buffer: Mutex<Vec<u8>>,
    is_terminal: bool,
}

impl Console {
    /// The console of this process.
    pub fn new() -> Console {
        Console { buffer: Mutex::default(), is_terminal: stdout().is_terminal() }
    }

    fn buffer(&self) -> MutexGuard<'_, Vec<u8>> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Surroundings for Console {
    fn write_output(&self, text: &str) {
        let mut buffer = self.buffer();
        buffer.extend_from_slice(text.as_bytes());
        if self.is_terminal || buffer.len() >= BUFFER_BYTES {
            write_out(&mut buffer);
        }
    }

    fn write_error(&self, text: &str) {
        self.flush();
        // There is nowhere left to complain to.
        _ = stderr().write_all(text.as_bytes());
    }

    fn flush(&self) {
        write_out(&mut self.buffer());
    }

    fn abandon(&self, code: i32) {
        self.flush();
        std::process::exit(code);
    }

    fn read_module(&self, path: &str) -> std::io::Result<Vec<u8>> {
        std::fs::read(path)
    }
}

fn write_out(buffer: &mut Vec<u8>) {
    if buffer.is_empty() {
        return;
    }
    let mut output = stdout().lock();
    let result = output.write_all(buffer).and_then(|()| output.flush());
    buffer.clear();
    if let Err(error) = result {
        give_up(&error);
    }
}

/// Writes to the standard output, for commands that run no machine.
pub fn print(text: &str) {
    let mut output = stdout().lock();
    if let Err(error) = output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        give_up(&error);
    }
}

/// Ends the process, since its output cannot be written: silently, if nobody wants to read it.
fn give_up(error: &std::io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(Exit::BrokenPipe.code());
    }
    complain(&format!("the standard output cannot be written: {error}"));
    std::process::exit(Exit::Output.code());
}

/// Writes a complaint of the command itself to the standard error output.
pub fn complain(text: &str) {
    match colour() {
        Colour::Ansi => eprintln!("\x1b[1;31merror\x1b[0m: {text}"),
        Colour::None => eprintln!("error: {text}"),
    }
}

/// Writes text to the standard error output as it is.
pub fn print_error(text: &str) {
    _ = stderr().write_all(text.as_bytes());
}

/// Whether diagnostics have colours: on a terminal, unless `NO_COLOR` is set.
pub fn colour() -> Colour {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match stderr().is_terminal() && !forbidden {
        true => Colour::Ansi,
        false => Colour::None,
    }
}
