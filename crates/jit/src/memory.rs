//! Memory for machine code: one file mapped twice, once to be written and once to be run. Compilers put code there.
//!
//! No page is ever both writable and executable (the two mappings have different addresses), and no code changes after it
//! is published. Code is never moved, and stays until the process ends.
//!
//! Profilers learn the names of code from a *map*: a file with a line for each piece of code, in the form that `perf`
//! reads (`tools/perf/Documentation/jit-interface.txt` in Linux).
//!
//! Protocol: one thread writes at a time, under the lock; other threads get an address only after the code behind it is
//! complete, through a cell with release and acquire.

use std::fmt;
use std::io::{Error, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;

/// The most bytes of code.
const RESERVED: usize = 64 << 20;
/// Code begins at multiples of this.
const ALIGNMENT: usize = 16;

/// The two mappings, and how much of them is used.
pub struct CodeMemory {
    writable: usize,
    executable: usize,
    used: Mutex<usize>,
    map: Option<CodeMap>,
}

/// What gets the names of code: a line of text for each piece.
#[derive(Clone)]
pub struct CodeMap(Arc<Mutex<dyn Write + Send>>);

impl CodeMap {
    /// A map that is written there.
    pub fn new(lines: impl Write + Send + 'static) -> CodeMap {
        CodeMap(Arc::new(Mutex::new(lines)))
    }
}

impl fmt::Debug for CodeMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CodeMap")
    }
}

impl CodeMemory {
    /// Reserves the address space; pages are taken when they are used.
    /// The map, if there is one, gets the names of all code.
    pub fn reserve(map: Option<CodeMap>) -> Result<CodeMemory, Error> {
        let file = memory_file()?;
        let writable = map_file(&file, libc::PROT_READ | libc::PROT_WRITE)?;
        let executable = map_file(&file, libc::PROT_READ | libc::PROT_EXEC)?;
        Ok(CodeMemory { writable, executable, used: Mutex::new(0), map })
    }

    /// Publishes the code that `assemble` makes for the address it gets, if it makes some. Answers that address; `None` if
    /// the memory is full.
    pub fn publish(&self, assemble: impl FnOnce(usize) -> Option<Vec<u8>>) -> Option<usize> {
        let mut used = self.used.lock();
        let address = self.executable + *used;
        let code = assemble(address)?;
        let end = (*used + code.len()).next_multiple_of(ALIGNMENT);
        if end > RESERVED {
            return None;
        }
        // SAFETY: the range lies in the writable mapping, and nothing else refers to it: the lock is held, and code that
        // was published lies below.
        unsafe {
            let place = (self.writable + *used) as *mut u8;
            place.copy_from_nonoverlapping(code.as_ptr(), code.len());
        }
        *used = end;
        Some(address)
    }

    /// Tells profilers the name of a piece of code.
    pub fn name(&self, address: usize, size: usize, name: impl FnOnce() -> String) {
        if let Some(CodeMap(map)) = &self.map {
            // A profile without names is better than no run.
            _ = writeln!(map.lock(), "{address:x} {size:x} {}", name());
        }
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        *self.used.lock()
    }
}

/// A file without a name that is as long as the reservation.
fn memory_file() -> Result<OwnedFd, Error> {
    // SAFETY: the name is a C string; the call has no other requirements.
    let descriptor = unsafe { libc::memfd_create(c"squall-code".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else has it.
    let file = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: the descriptor is open.
    match unsafe { libc::ftruncate(file.as_raw_fd(), RESERVED as i64) } {
        0 => Ok(file),
        _ => Err(Error::last_os_error()),
    }
}

fn map_file(file: &OwnedFd, protection: i32) -> Result<usize, Error> {
    // SAFETY: a new mapping at an address of the system's choice changes no memory that is in use.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            RESERVED,
            protection,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    match address {
        libc::MAP_FAILED => Err(Error::last_os_error()),
        address => Ok(address as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that the test can read afterwards.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_map_has_a_line_for_each_name() {
        let lines = Lines::default();
        let memory = CodeMemory::reserve(Some(CodeMap::new(lines.clone()))).expect("memory");
        let address = memory.publish(|_| Some(vec![0xC3; 20])).expect("there is room");
        memory.name(address, 20, || "a name".to_owned());
        let text = String::from_utf8(lines.0.lock().clone()).expect("text");
        assert_eq!(text, format!("{address:x} 14 a name\n"));
    }
}
