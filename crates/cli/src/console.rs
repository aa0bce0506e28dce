//! Standard output and error of the process: buffering, colours, broken pipes, ends by signals. The machine writes
//! through it, and so do the commands.
//!
//! Output is collected and written in large pieces, except on a terminal, where a user waits for it. It is written when
//! there is much of it, when the machine is idle, and after [`DELAY`] at the latest, by a thread that sleeps while the
//! buffer is empty. When a signal ends the process, the buffer is written first. The first [`AT_ONCE`] pieces of output
//! are written at once: a program that prints little needs none of these threads.
//!
//! Before anything is written to the standard error output, the buffered output is written, so that both appear in the
//! right order.

use std::io::{ErrorKind, IsTerminal, Read, Write, stderr, stdout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use squall::Surroundings;
use squall_newspeak::diagnostics::render::Colour;

use crate::exit::Exit;

/// The size of the buffer at which output is written.
const BUFFER_BYTES: usize = 32 << 10;

/// The pieces of output that are written at once, at the beginning.
const AT_ONCE: usize = 16;

/// The longest time that output waits while the machine is busy.
const DELAY: Duration = Duration::from_millis(20);

/// The bytes that the program has written to the standard output and error.
static PRINTED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The first bytes of these that another run has written.
static SKIPPED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// What the program has written that no other run has, while that is held back.
static HELD: Mutex<Option<Vec<Held>>> = Mutex::new(None);

/// Whether it is.
static HOLDS: AtomicBool = AtomicBool::new(false);

/// A text that is held back, and the stream to which it goes.
struct Held {
    stream: usize,
    bytes: Vec<u8>,
}

/// The output of the console that was made first.
static OUTPUT: OnceLock<Arc<Output>> = OnceLock::new();

/// How many bytes of the program's output and error were written, by this run or by one that it repeats.
pub fn printed() -> [u64; 2] {
    // Relaxed: the thread that asks was told by the one that writes.
    [0, 1].map(|stream: usize| {
        PRINTED[stream].load(Ordering::Relaxed).max(SKIPPED[stream].load(Ordering::Relaxed))
    })
}

/// Leaves out so many first bytes of the program's output and error.
pub fn skip_printed(counts: [u64; 2]) {
    for (skipped, count) in SKIPPED.iter().zip(counts) {
        skipped.store(count, Ordering::Relaxed);
    }
}

/// Holds back what the program writes that no other run has written, or lets it go.
pub fn hold(holds: bool) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    HOLDS.store(holds, Ordering::Relaxed);
    if holds {
        held.get_or_insert_default();
        return;
    }
    if let Some(output) = OUTPUT.get() {
        output.flush();
    }
    for Held { stream, mut bytes } in held.take().into_iter().flatten() {
        match stream {
            0 => write_out(&mut bytes),
            _ => _ = stderr().write_all(&bytes),
        }
    }
}

/// Whether this text is held back.
fn is_held(stream: usize, text: &[u8]) -> bool {
    if !HOLDS.load(Ordering::Relaxed) {
        return false;
    }
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    match held.as_mut() {
        Some(held) => {
            held.push(Held { stream, bytes: text.to_owned() });
            true
        }
        None => false,
    }
}

/// Runs something while no other thread writes the program's output.
pub fn alone(work: &mut dyn FnMut()) {
    let output = OUTPUT.get();
    let _buffer = output.map(|output| output.buffer());
    work();
}

/// The part of a text that no other run has written.
fn new_part(stream: usize, text: &str) -> &[u8] {
    let before = PRINTED[stream].fetch_add(text.len() as u64, Ordering::Relaxed);
    let known = SKIPPED[stream].load(Ordering::Relaxed).saturating_sub(before);
    &text.as_bytes()[text.len().min(known as usize)..]
}

/// The process's standard output and error.
pub struct Console {
    output: Arc<Output>,
    is_terminal: bool,
}

/// Output that is not written yet.
#[derive(Default)]
struct Output {
    buffer: Mutex<Buffer>,
    /// Tells the writing thread that there is output.
    has_bytes: Condvar,
    /// Set when the threads were started.
    has_begun: OnceLock<()>,
}

#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// The pieces that were written at once.
    pieces: usize,
    /// Whether the writing thread must be told about output.
    sleeps: bool,
}

impl Console {
    /// The console of this process.
    pub fn new() -> Console {
        let is_terminal = stdout().is_terminal();
        let output: Arc<Output> = Arc::default();
        _ = OUTPUT.set(output.clone());
        Console { output, is_terminal }
    }
}

/// This process is a copy of another one, and has none of its threads: starts those again that were here.
pub fn begin_again() {
    squall_system::signals::begin_again();
    if let Some(output) = OUTPUT.get().filter(|output| output.has_begun.get().is_some()) {
        begin_writer(output);
    }
}

/// Starts to write delayed output, while the process lives and when a signal ends it.
fn begin(output: &Arc<Output>) {
    begin_writer(output);
    let output = output.clone();
    before_a_signal_ends_it(move || output.flush());
}

/// Starts the thread that writes delayed output.
fn begin_writer(output: &Arc<Output>) {
    let output = output.clone();
    let writer = std::thread::Builder::new().name("output".into());
    // Without the thread, output is written without the time limit.
    _ = writer.spawn(move || write_what_waits(&output));
}

impl Surroundings for Console {
    fn read_input(&self, most: usize) -> std::io::Result<Vec<u8>> {
        // A user who is to answer a question must see it.
        self.flush();
        let mut bytes = vec![0; most.min(1 << 20)];
        let count = std::io::stdin().lock().read(&mut bytes)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    fn write_output(&self, text: &str) {
        let text = new_part(0, text);
        if text.is_empty() || is_held(0, text) {
            return;
        }
        let mut buffer = self.output.buffer();
        buffer.bytes.extend_from_slice(text);
        if self.is_terminal || buffer.pieces < AT_ONCE {
            buffer.pieces += 1;
            return write_out(&mut buffer.bytes);
        }
        if buffer.bytes.len() >= BUFFER_BYTES {
            write_out(&mut buffer.bytes);
        }
        let must_wake = std::mem::take(&mut buffer.sleeps);
        drop(buffer);
        if must_wake {
            self.output.has_bytes.notify_one();
        }
        self.output.has_begun.get_or_init(|| begin(&self.output));
    }

    fn write_error(&self, text: &str) {
        self.flush();
        let text = new_part(1, text);
        if !is_held(1, text) {
            // There is no other place for a complaint.
            _ = stderr().write_all(text);
        }
    }

    fn flush(&self) {
        self.output.flush();
    }

    fn abandon(&self, code: i32) {
        self.flush();
        std::process::exit(code);
    }

    fn read_module(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // Some files say that they have no size, and never end.
        std::fs::File::open(path)?.take(LONGEST_MODULE + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 <= LONGEST_MODULE {
            true => Ok(bytes),
            false => Err(std::io::Error::other("it is too large for a module")),
        }
    }
}

/// The most bytes of a module's file.
const LONGEST_MODULE: u64 = 64 << 20;

impl Output {
    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush(&self) {
        write_out(&mut self.buffer().bytes);
    }

    /// Blocks until there is output to write.
    fn wait(&self) {
        let mut buffer = self.buffer();
        while buffer.bytes.is_empty() {
            buffer.sleeps = true;
            buffer = self.has_bytes.wait(buffer).unwrap_or_else(PoisonError::into_inner);
        }
        buffer.sleeps = false;
    }
}

/// Writes the output that has waited for [`DELAY`], for ever. It is woken once per delay at most.
fn write_what_waits(output: &Output) {
    loop {
        output.wait();
        std::thread::sleep(DELAY);
        output.flush();
    }
}

/// Arranges that this is done when a signal is about to end the process.
#[cfg(unix)]
pub fn before_a_signal_ends_it(work: impl Fn() + Send + Sync + 'static) {
    // Without handlers, signals end the process at once.
    _ = squall_system::signals::before_the_end(&ignored_signals(), work);
}

/// This system has no such signals.
#[cfg(not(unix))]
pub fn before_a_signal_ends_it(_: impl Fn() + Send + Sync + 'static) {}

/// The signals that the process was started to ignore, as for background commands of a shell script.
#[cfg(unix)]
pub fn ignored_signals() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 != 0).collect()
}

fn write_out(buffer: &mut Vec<u8>) {
    if buffer.is_empty() {
        return;
    }
    let mut output = stdout().lock();
    let result = is_open().and_then(|()| output.write_all(buffer)).and_then(|()| output.flush());
    buffer.clear();
    if let Err(error) = result {
        give_up(&error);
    }
}

/// Writes to the standard output, for commands that run no machine, and for texts that are not the program's.
pub fn print(text: &str) {
    let mut output = stdout().lock();
    let result =
        is_open().and_then(|()| output.write_all(text.as_bytes())).and_then(|()| output.flush());
    if let Err(error) = result {
        give_up(&error);
    }
}

/// An error if the process was started without a standard output: Rust has opened the null device in its place.
fn is_open() -> std::io::Result<()> {
    match squall_foreign::output_was_closed() {
        true => Err(std::io::Error::other("it is closed")),
        false => Ok(()),
    }
}

/// Ends the process, since its output cannot be written; silently, if the pipe has no reader.
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

/// Writes text to the standard error output without changes.
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
