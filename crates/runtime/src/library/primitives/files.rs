//! Files and directories: the primitives for paths and open files. `lib/Files.ns` calls them.
//!
//! Each operation on a path asks [`Permissions`](crate::model::permissions::Permissions) for a [`Place`], and works on
//! that, so that a link made meanwhile does not lead it elsewhere. An operation that may wait for the operating system runs
//! as a native section on plain data, so collections do not wait for it, and holds no lock.
//!
//! The library knows an open file by a [right](rights), which is of use only in the vat that has opened the file. The
//! table's numbers are never used twice, so the right to a closed file finds nothing.
//!
//! Files whose owner, the object with the handle, is garbage are closed when the next file is opened;
//! if the system refuses to open more, after a collection that looks for some.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use parking_lot::Mutex;
use squall_heap::{CollectionKind, Object, Word};
use squall_system::errors::is_shortage;
use squall_system::places::{Opening, Place};

use super::strings;
use super::{answer, resources};
use crate::concurrency::sandbox::{blocking, grants, metering};
use crate::concurrency::transactions::access;
use crate::concurrency::worker::outside;
use crate::model::outcome::{Failure, FailureReason};
use crate::model::permissions::Access;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{make_integer, size_argument};
use crate::objects::rights::{self, Kind};
use crate::objects::string::{make_byte_string, make_string, symbol_object, text_argument};
use crate::state::sandbox::{self, SandboxRef};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::effect("fileExists:", |thread, window| answer(test(thread, window, |_| true))),
    Primitive::effect("fileIsDirectory:", |thread, window| {
        answer(test(thread, window, Metadata::is_dir))
    }),
    Primitive::effect("fileSize:", |thread, window| answer(file_size(thread, window))),
    Primitive::effect("fileLastModified:", |thread, window| answer(last_modified(thread, window))),
    Primitive::effect("directoryEntries:", |thread, window| answer(entries(thread, window))),
    Primitive::effect("createDirectory:", |thread, window| {
        answer(change(thread, window, Access::Writing, Place::create_folders))
    }),
    Primitive::effect("deleteFile:", |thread, window| {
        answer(change(thread, window, Access::Entry, Place::remove_file))
    }),
    Primitive::effect("deleteDirectory:", |thread, window| {
        answer(change(thread, window, Access::Entry, Place::remove_folder))
    }),
    Primitive::effect("copyFile:to:from:", |thread, window| answer(copy_part(thread, window))),
    Primitive::effect("moveFile:to:", |thread, window| answer(move_to(thread, window))),
    Primitive::effect("openFile:mode:owner:", |thread, window| answer(open(thread, window))),
    Primitive::effect("closeFile:", |thread, window| answer(close(thread, window))),
    Primitive::effect("readFile:", |thread, window| answer(read_whole(thread, window))),
    Primitive::effect("file:put:append:", |thread, window| answer(write_whole(thread, window))),
    Primitive::effect("readInput:", |thread, window| answer(read_input(thread, window))),
    Primitive::effect("sizeOfFile:", |thread, window| answer(size_of_open(thread, window))),
    Primitive::effect("file:readAt:into:", |thread, window| answer(read(thread, window))),
    Primitive::effect("file:readAt:most:", |thread, window| answer(read_bytes(thread, window))),
    Primitive::effect("file:write:of:at:", |thread, window| answer(write(thread, window))),
];

/// The files that a program has open.
#[derive(Default)]
pub struct OpenFiles {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    opened: i64,
    files: HashMap<i64, OpenFile>,
}

#[derive(Clone)]
struct OpenFile {
    file: Arc<File>,
    path: Arc<str>,
}

/// The standard input. One strand reads at a time; what comes for one that has ended meanwhile is for the next one.
#[derive(Default)]
pub struct Input {
    left: Mutex<Vec<u8>>,
}

impl Input {
    /// Reads some bytes for a strand.
    fn read(
        &self,
        most: usize,
        is_over: impl FnOnce() -> bool,
        read: impl FnOnce(usize) -> io::Result<Vec<u8>>,
    ) -> io::Result<Vec<u8>> {
        let mut left = self.left.lock();
        if !left.is_empty() {
            let count = most.min(left.len());
            return Ok(left.drain(..count).collect());
        }
        let bytes = read(most)?;
        match is_over() {
            true => *left = bytes,
            false => return Ok(bytes),
        }
        Ok(Vec::new())
    }
}

impl OpenFiles {
    fn add(&self, file: OpenFile) -> i64 {
        let mut table = self.table.lock();
        table.opened += 1;
        let number = table.opened;
        table.files.insert(number, file);
        number
    }

    fn get(&self, number: i64) -> Option<OpenFile> {
        self.table.lock().files.get(&number).cloned()
    }

    fn take(&self, number: i64) -> Option<OpenFile> {
        self.table.lock().files.remove(&number)
    }
}

/// The open file that a right is for.
fn open_file(thread: &Thread, right: Word) -> Result<OpenFile, Failure> {
    let number = rights::number(thread, right, Kind::File)?;
    thread.vm.library().files.get(number).ok_or(Failure::argument(right))
}

/// Longer paths, in bytes, are no paths on Linux.
const LONGEST_PATH: usize = 4095;

/// The place at the path in a word, if the program may use it so, and the path. *GC point.*
fn place_argument(
    thread: &mut Thread,
    word: Word,
    access: Access,
) -> Result<(Place, String), Failure> {
    let path = text_argument(word)?;
    grants::check(thread, "files", &path)?;
    if path.len() > LONGEST_PATH {
        // The system would say so, but each of its parts would be looked up before.
        let what = format!("a path of {} bytes", path.len());
        return attempt(thread, &what, || Err(ErrorKind::InvalidFilename.into()));
    }
    let permissions = &thread.vm.options.permissions;
    // Where folders are permitted, the system is asked for links.
    if let Some(place) = outside(thread, || permissions.place(Path::new(&path), access)) {
        if access != Access::Reading {
            thread.vm.debugging.act("writes files");
        }
        return Ok((place, path));
    }
    let flag = permissions.flag(access);
    Err(described(thread, FailureReason::PermissionDenied, &path, |thread| {
        make_string(thread, flag)
    }))
}

/// A failure about a path, whose first detail is made after the text of the path. *GC point.*
fn described(
    thread: &mut Thread,
    reason: FailureReason,
    path: &str,
    detail: impl FnOnce(&mut Thread) -> Result<Word, Failure>,
) -> Failure {
    let path = match make_string(thread, path) {
        Ok(path) => path,
        Err(failure) => return failure,
    };
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(path);
    let detail = detail(thread);
    let path = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    match detail {
        Ok(detail) => Failure::with(reason, detail, path),
        Err(failure) => failure,
    }
}

/// Does something to the file system as a native section. *GC point.*
fn attempt<R>(
    thread: &mut Thread,
    path: &str,
    work: impl FnOnce() -> io::Result<R>,
) -> Result<R, Failure> {
    blocking::outside(thread, work)?.map_err(|error| {
        // STAYS: error: it is the system's, no object.
        described(thread, FailureReason::File, path, |thread| {
            let reason = thread.vm.symbol(reason_of(error.kind()));
            symbol_object(thread, reason)
        })
    })
}

fn reason_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "FileNotFound",
        ErrorKind::AlreadyExists => "FileExists",
        ErrorKind::PermissionDenied => "AccessDenied",
        ErrorKind::IsADirectory => "IsADirectory",
        ErrorKind::NotADirectory => "NotADirectory",
        ErrorKind::DirectoryNotEmpty => "DirectoryNotEmpty",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "DiskFull",
        _ => "IOFailure",
    }
}

/// Whether there is something at a path, of which something is true.
fn test(
    thread: &mut Thread,
    window: Window,
    test: impl FnOnce(&Metadata) -> bool,
) -> Result<Word, Failure> {
    if text_argument(window.get(0))?.len() > LONGEST_PATH {
        return Ok(Word::FALSE);
    }
    let (place, _) = place_argument(thread, window.get(0), Access::Reading)?;
    Ok(outside(thread, || place.metadata().is_ok_and(|metadata| test(&metadata))).into())
}

fn file_size(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (place, path) = place_argument(thread, window.get(0), Access::Reading)?;
    let metadata = attempt(thread, &path, || place.metadata())?;
    make_size(thread, metadata.len())
}

fn make_size(thread: &mut Thread, size: u64) -> Result<Word, Failure> {
    make_integer(thread, i64::try_from(size).unwrap_or(i64::MAX))
}

fn last_modified(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (place, path) = place_argument(thread, window.get(0), Access::Reading)?;
    let time = attempt(thread, &path, || place.metadata()?.modified())?;
    let milliseconds = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    };
    make_integer(thread, milliseconds)
}

/// The names in a folder, each with a byte 0 behind it. *GC point.*
fn entries(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (place, path) = place_argument(thread, window.get(0), Access::Reading)?;
    let most = sandbox::largest_result(thread).unwrap_or(usize::MAX);
    match attempt(thread, &path, || place.entries(most))? {
        Some(names) => make_string(thread, &names),
        None => Err(metering::refuse_result(thread)),
    }
}

/// Does something to the file at a path; answers nil.
fn change(
    thread: &mut Thread,
    window: Window,
    access: Access,
    work: fn(&Place) -> io::Result<()>,
) -> Result<Word, Failure> {
    let (place, path) = place_argument(thread, window.get(0), access)?;
    attempt(thread, &path, || work(&place))?;
    Ok(Word::NIL)
}

/// Copies a part of a file; answers where the next one begins, or nil. *GC point.*
fn copy_part(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (from, path) = place_argument(thread, window.get(0), Access::Reading)?;
    let (to, _) = place_argument(thread, window.get(1), Access::Writing)?;
    let (start, waits) = (size_argument(window.get(2))? as u64, thread.sandbox.is_none());
    match attempt(thread, &path, || from.copy_part(&to, start, waits))? {
        Some(next) => {
            thread.charge_bytes((next - start) as usize);
            make_size(thread, next)
        }
        None => Ok(Word::NIL),
    }
}

/// Moves a file; answers whether that was possible, without a copy. *GC point.*
fn move_to(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (from, path) = place_argument(thread, window.get(0), Access::Entry)?;
    let (to, _) = place_argument(thread, window.get(1), Access::Entry)?;
    attempt(thread, &path, || from.move_to(&to)).map(Word::from)
}

fn open(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (opening, access) = match text_argument(window.get(1))?.as_str() {
        "read" => (Opening::Reading, Access::Reading),
        "write" => (Opening::Writing, Access::Writing),
        "readWrite" => (Opening::Both, Access::Both),
        _ => return Err(Failure::argument(window.get(1))),
    };
    if !window.get(2).is_pointer() {
        return Err(Failure::argument(window.get(2)));
    }
    let (place, path) = place_argument(thread, window.get(0), access)?;
    close_dropped(thread);
    let is_guest = thread.sandbox.is_some();
    let mut opened = blocking::outside(thread, || opened_by(is_guest, &place, opening))?;
    if opened.as_ref().is_err_and(is_shortage) {
        thread.mutator.collect(CollectionKind::Full);
        close_dropped(thread);
        opened = blocking::outside(thread, || opened_by(is_guest, &place, opening))?;
    }
    let file = attempt(thread, &path, || opened)?;
    let number =
        thread.vm.library().files.add(OpenFile { file: Arc::new(file), path: path.into() });
    if let Some(owner) = window.get(2).as_object() {
        thread.vm.heap.register_finalizable(owner, number as u64);
    }
    rights::make(thread, Kind::File, number)
}

/// Opens a file. For a guest, that waits for nobody: its place would stay occupied after its end.
fn opened_by(is_guest: bool, place: &Place, opening: Opening) -> io::Result<File> {
    if is_guest { place.open_at_once(opening) } else { place.open(opening) }
}

/// Closes the files and resources whose owners the collector has found dead.
pub(super) fn close_dropped(thread: &mut Thread) {
    while let Some(owner) = thread.vm.heap.take_finalizable() {
        // There is none if the program has closed it.
        if let Some(number) = resources::number_of_tag(owner.tag) {
            resources::drop_resource(thread, number);
            continue;
        }
        let file = thread.vm.library().files.take(owner.tag as i64);
        outside(thread, || drop(file));
    }
}

fn close(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let number = rights::number(thread, window.get(0), Kind::File)?;
    let closed = thread.vm.library().files.take(number);
    let OpenFile { file, .. } = closed.ok_or(Failure::argument(window.get(0)))?;
    outside(thread, || drop(file));
    Ok(Word::NIL)
}

/// Larger files than this are not read as a whole.
const LARGEST: u64 = 1 << 31;

/// All bytes of a file. *GC point.*
fn read_whole(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (place, path) = place_argument(thread, window.get(0), Access::Reading)?;
    // Bytes that are read count when they are a text of the program: no more than a sandbox may have.
    let most = sandbox::largest_result(thread).map_or(LARGEST, |most| LARGEST.min(most as u64));
    let is_guest = thread.sandbox.is_some();
    let bytes = attempt(thread, &path, || {
        let mut bytes = Vec::new();
        let is_larger = place.metadata()?.len() > most;
        if !is_larger {
            // A file can grow meanwhile, and some say that they have no size.
            let file = opened_by(is_guest, &place, Opening::Reading)?;
            file.take(most + 1).read_to_end(&mut bytes)?;
        }
        Ok(Some(bytes).filter(|bytes| !is_larger && bytes.len() as u64 <= most))
    })?;
    match bytes {
        Some(bytes) => make_byte_string(thread, &bytes),
        None if most < LARGEST => Err(metering::refuse_result(thread)),
        None => attempt(thread, &path, || Err(io::Error::other("the file is too large"))),
    }
}

/// Makes the bytes the contents of a file, or appends them; answers nil. *GC point.*
fn write_whole(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let opening = match window.get(2) == Word::TRUE {
        true => Opening::Appending,
        false => Opening::Writing,
    };
    let (place, path) = place_argument(thread, window.get(0), Access::Writing)?;
    let bytes = strings::byte_argument(&thread.mutator, window.get(1))?.to_vec();
    let is_guest = thread.sandbox.is_some();
    attempt(thread, &path, || opened_by(is_guest, &place, opening)?.write_all(&bytes))?;
    Ok(Word::NIL)
}

/// Some bytes of the standard input, nil at its end. *GC point.*
fn read_input(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    grants::check(thread, grants::CONSOLE, "input")?;
    let most = size_argument(window.get(0))?.clamp(1, 1 << 20);
    let (vm, sandbox) = (thread.vm, thread.sandbox);
    let is_over = || sandbox.is_some_and(SandboxRef::is_over);
    let read = || vm.library().input.read(most, is_over, |most| vm.host().read_input(most));
    let bytes = attempt(thread, "the standard input", read)?;
    if bytes.is_empty() { Ok(Word::NIL) } else { make_byte_string(thread, &bytes) }
}

fn size_of_open(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let OpenFile { file, path } = open_file(thread, window.get(0))?;
    let metadata = attempt(thread, &path, || file.metadata())?;
    make_size(thread, metadata.len())
}

/// Reads as many bytes as the array has elements, or fewer at the end of the file.
fn read(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let wanted = array::mutable(thread.vm, window.get(2))?.length();
    let bytes = bytes_at(thread, window, wanted)?;
    // An array keeps its length for life.
    let array = array::mutable(thread.vm, window.get(2))?;
    put_bytes(thread, array, &bytes);
    make_size(thread, bytes.len() as u64)
}

/// Puts bytes into an array that is as long at least.
pub fn put_bytes(thread: &mut Thread, array: Object, bytes: &[u8]) {
    for (index, &byte) in bytes.iter().enumerate() {
        let signed = Word::from_small_integer_unchecked(i64::from(byte as i8));
        array.set_element(&mut thread.mutator, index, signed);
    }
}

/// At most as many bytes as the window's third word says, in a byte string; fewer at the end of the file. *GC point.*
fn read_bytes(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let wanted = size_argument(window.get(2))?.min(MOST_AT_ONCE);
    let bytes = bytes_at(thread, window, wanted)?;
    make_byte_string(thread, &bytes)
}

/// So many bytes are read at once, at most.
const MOST_AT_ONCE: usize = 1 << 24;

/// The bytes of the open file in the window's first word at the position in the second one. *GC point.*
fn bytes_at(thread: &mut Thread, window: Window, wanted: usize) -> Result<Vec<u8>, Failure> {
    let OpenFile { file, path } = open_file(thread, window.get(0))?;
    let position = size_argument(window.get(1))?;
    attempt(thread, &path, || {
        let mut bytes = zeroes(wanted)?;
        let count = read_fully(&file, &mut bytes, position as u64)?;
        bytes.truncate(count);
        Ok(bytes)
    })
}

fn zeroes(length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.resize(length, 0);
    Ok(bytes)
}

/// Reads until the bytes are full or the file is at its end.
fn read_fully(file: &File, bytes: &mut [u8], position: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], position.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::NotSeekable => return read_next(file, bytes),
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reads the next bytes from a file without positions, such as a FIFO.
fn read_next(mut file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Writes at a position, or if the file has none, next.
fn write_fully(mut file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    match file.write_all_at(bytes, position) {
        Err(error) if error.kind() == ErrorKind::NotSeekable => file.write_all(bytes),
        result => result,
    }
}

/// Writes the first bytes of an array.
fn write(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let OpenFile { file, path } = open_file(thread, window.get(0))?;
    let count = size_argument(window.get(1))?;
    let array = array::of(window.get(2)).ok_or(Failure::argument(window.get(2)))?;
    let position = size_argument(window.get(3))?;
    if count > array.length() {
        return Err(Failure::argument(window.get(1)));
    }
    let byte = |index| byte_argument(access::element(thread, array, index)?);
    let bytes = (0..count).map(byte).collect::<Result<Vec<u8>, Failure>>()?;
    attempt(thread, &path, || write_fully(&file, &bytes, position as u64))?;
    Ok(Word::NIL)
}

/// A byte, written as a signed or an unsigned one.
fn byte_argument(word: Word) -> Result<u8, Failure> {
    match word.as_small_integer() {
        Some(value @ -128..=255) => Ok(value as u8),
        _ => Err(Failure::argument(word)),
    }
}
