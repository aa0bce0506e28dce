//! Memory for machine code: one file mapped twice, once to be written and once to be run. Compilers put code there.
//!
//! No page is ever both writable and executable (the two mappings have different addresses), and no code changes after it
//! is published. Code is never moved, and stays until the process ends.
//!
//! [`Observers`], profilers and debuggers, learn of each piece of code.
//!
//! Protocol: one thread writes at a time, under the lock; other threads get an address only after the code behind it is
//! complete, through a cell with release and acquire.

use std::io::Error;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use parking_lot::Mutex;

use crate::code::units::CodeLine;
use crate::observers::{Frame, Observers, Piece};

/// The most bytes of code.
pub const RESERVED: usize = 64 << 20;
/// The protections of the two mappings.
const WRITABLE: i32 = libc::PROT_READ | libc::PROT_WRITE;
const EXECUTABLE: i32 = libc::PROT_READ | libc::PROT_EXEC;
/// Code begins at multiples of this.
const ALIGNMENT: usize = 16;
/// Processors take instructions from lines of this length. A turn of a loop of few instructions lasts twice as long if it lies in two
/// of them.
const LINE: usize = 64;
/// Longer loops do not notice another line.
const LONGEST_LOOP: usize = 2 * LINE;

/// The two mappings, and how much of them is used.
pub struct CodeMemory {
    writable: usize,
    executable: usize,
    used: Mutex<usize>,
    observers: Observers,
}

impl CodeMemory {
    /// Reserves the address space; pages are taken when they are used.
    /// The observers learn of all code.
    pub fn reserve(observers: Observers) -> Result<CodeMemory, Error> {
        let file = memory_file()?;
        let writable = map_file(&file, WRITABLE, None)?;
        let executable = map_file(&file, EXECUTABLE, None)?;
        Ok(CodeMemory { writable, executable, used: Mutex::new(0), observers })
    }

    /// Publishes the code that `assemble` makes for the address it gets, if it makes some. Answers that address; `None` if
    /// the memory is full.
    pub fn publish(&self, assemble: impl FnOnce(usize) -> Option<Vec<u8>>) -> Option<usize> {
        let mut used = self.used.lock();
        let code = assemble(self.executable + *used)?;
        self.put(&mut used, 0, &code)
    }

    /// Publishes code with loops in these places so that the short ones lie in as few lines as possible. The code is for any
    /// address.
    pub fn publish_loops(&self, code: &[u8], loops: &[Range<u32>]) -> Option<usize> {
        let mut used = self.used.lock();
        let address = self.executable + *used;
        let gap = (0..LINE).step_by(ALIGNMENT).min_by_key(|gap| cost(address + gap, loops));
        self.put(&mut used, gap.unwrap_or(0), code)
    }

    /// Copies code to the end of what is used, behind a gap. Answers its address.
    fn put(&self, used: &mut usize, gap: usize, code: &[u8]) -> Option<usize> {
        let start = *used + gap;
        let end = (start + code.len()).next_multiple_of(ALIGNMENT);
        if end > RESERVED {
            return None;
        }
        // SAFETY: the range lies in the writable mapping, and nothing else refers to it: the lock is held, and code that
        // was published lies below.
        unsafe {
            let place = (self.writable + start) as *mut u8;
            place.copy_from_nonoverlapping(code.as_ptr(), code.len());
        }
        *used = end;
        Some(self.executable + start)
    }

    /// Tells the observers about a piece of code: its name, and the lines that it is for.
    pub fn announce(
        &self,
        address: usize,
        size: usize,
        frame: Frame,
        about: impl FnOnce() -> (String, Vec<CodeLine>),
    ) {
        if self.observers.is_empty() {
            return;
        }
        let (name, lines) = about();
        let bytes = self.code(address, size);
        let piece = Piece { address, bytes, name: &name, lines: &lines, frame };
        self.observers.added(&piece);
    }

    /// The code that was published at this address.
    pub fn code(&self, address: usize, size: usize) -> &[u8] {
        let place = address - self.executable;
        assert!(place + size <= self.used(), "no such code was published");
        // SAFETY: the range lies in the executable mapping, which can be read, and below the end of what was published,
        // which does not change any more.
        unsafe { std::slice::from_raw_parts(address as *const u8, size) }
    }

    /// Gives this process, a copy of another one with which it shares the file, one of its own. No other thread runs, and what
    /// is published does not change, so the code is the same afterwards.
    pub fn part(&self) -> Result<(), Error> {
        let used = self.used.lock();
        let file = memory_file()?;
        map_file(&file, WRITABLE, Some(self.writable))?;
        // SAFETY: the executable mapping is still that of the old file, and nothing else refers to the new one.
        unsafe {
            let code = self.executable as *const u8;
            code.copy_to_nonoverlapping(self.writable as *mut u8, *used);
        }
        map_file(&file, EXECUTABLE, Some(self.executable))?;
        Ok(())
    }

    /// Where all code begins.
    pub fn start(&self) -> usize {
        self.executable
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        *self.used.lock()
    }
}

/// What it costs that loops of code at an address lie in more lines than they need: the shorter a loop, the more.
fn cost(address: usize, loops: &[Range<u32>]) -> usize {
    let line_of = |offset: u32| (address + offset as usize) / LINE;
    let more_lines = |each: &Range<u32>| {
        line_of(each.end - 1) + 1 - line_of(each.start) - each.len().div_ceil(LINE)
    };
    let short = loops.iter().filter(|each| (1..=LONGEST_LOOP).contains(&each.len()));
    short.map(|each| more_lines(each) * LONGEST_LOOP / each.len()).sum()
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

/// Maps the file, in the place of an earlier mapping if one is given.
fn map_file(file: &OwnedFd, protection: i32, earlier: Option<usize>) -> Result<usize, Error> {
    let flags = libc::MAP_SHARED | earlier.map_or(0, |_| libc::MAP_FIXED);
    let place = earlier.unwrap_or_default() as *mut libc::c_void;
    // SAFETY: at an address of the system's choice, no memory changes that is in use. An earlier mapping has the same length,
    // nothing refers to it meanwhile, and the caller sees to its contents.
    let address = unsafe { libc::mmap(place, RESERVED, protection, flags, file.as_raw_fd(), 0) };
    match address {
        libc::MAP_FAILED => Err(Error::last_os_error()),
        address => Ok(address as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> CodeMemory {
        CodeMemory::reserve(Observers::default()).expect("there is memory")
    }

    fn lines(address: usize, each: &Range<u32>) -> usize {
        (address + each.end as usize - 1) / LINE - (address + each.start as usize) / LINE + 1
    }

    #[test]
    fn loops_lie_in_as_few_lines_as_possible() {
        let memory = memory();
        for start in 0..LINE as u32 {
            let inner = start..start + 27;
            let code = vec![0xcc; inner.end as usize + 5];
            let address = memory.publish_loops(&code, std::slice::from_ref(&inner));
            let address = address.expect("there is room");
            assert_eq!(lines(address, &inner), 1, "at {address:x}, from {start}");
            assert_eq!(memory.code(address, code.len()), code);
        }
    }

    #[test]
    fn short_loops_come_before_long_ones() {
        let memory = memory();
        let (long, short) = (0..60, 70..90);
        let code = vec![0xcc; 100];
        let address = memory.publish_loops(&code, &[long, short.clone()]).expect("there is room");
        assert_eq!(lines(address, &short), 1);
    }

    #[test]
    fn memory_that_is_full_takes_no_more() {
        let memory = memory();
        assert!(memory.publish_loops(&vec![0xcc; RESERVED], &[]).is_some());
        assert!(memory.publish_loops(&[0xcc], &[]).is_none());
        assert!(memory.publish(|_| Some(vec![0xcc])).is_none());
    }
}
