//! Places in the file system: a path that a program may use, and the operations on it. The runtime's permissions find
//! the place of a path, and the primitives of `lib/Files.ns` work on it.
//!
//! A program that may use a folder has the files at and below it, and nothing else, even while another process changes
//! links on the way. So a path is not checked first and opened then: the folder is opened, and the rest of the path is
//! resolved from there by the system, which refuses to leave the folder (`openat2` with `RESOLVE_BENEATH`). A system
//! without that call goes from component to component and follows no link.
//!
//! The rest of a path has no links when it is made, as far as it exists (`Permissions` in the runtime resolves them). So
//! only a link that came later, or that leads to nothing, is met here; it may lead to files below the folder only.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A path that a program may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Any path: the program may use all files.
    Anywhere(PathBuf),
    /// A path at or below a folder, or the path of a file.
    Beneath {
        /// The folder or the file, without links.
        root: PathBuf,
        /// The path from there, of plain names; empty for the root itself.
        rest: PathBuf,
    },
}

/// The file, unless it is the memory of a process.
fn checked(file: File) -> io::Result<File> {
    match is_memory(&file) {
        true => Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "the memory of a process is no file for programs",
        )),
        false => Ok(file),
    }
}

/// Whether a file is the memory of a process, `mem` in Linux' file system of processes, under whatever name it was opened.
#[cfg(target_os = "linux")]
fn is_memory(file: &File) -> bool {
    let is_of_process =
        rustix::fs::fstatfs(file).is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC);
    let link = || format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    is_of_process
        && fs::read_link(link())
            .is_ok_and(|path| path.file_name().is_some_and(|name| name == "mem"))
}

#[cfg(not(target_os = "linux"))]
fn is_memory(_: &File) -> bool {
    false
}

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// To be read.
    Reading,
    /// To be written: it is made or emptied.
    Writing,
    /// To be written at its end: it is made unless it exists.
    Appending,
    /// For both: it is made unless it exists.
    Both,
}

impl Opening {
    fn flags(self) -> OFlags {
        match self {
            Opening::Reading => OFlags::RDONLY,
            Opening::Writing => OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
            Opening::Appending => OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND,
            Opening::Both => OFlags::RDWR | OFlags::CREATE,
        }
    }

    fn options(self) -> OpenOptions {
        let mut options = OpenOptions::new();
        match self {
            Opening::Reading => options.read(true),
            Opening::Writing => options.write(true).create(true).truncate(true),
            Opening::Appending => options.append(true).create(true),
            Opening::Both => options.read(true).write(true).create(true).truncate(false),
        };
        options
    }
}

impl Place {
    /// Opens the file. The memory of a process is none: whoever writes there can do all that the process may, and worse.
    pub fn open(&self, opening: Opening) -> io::Result<File> {
        checked(self.open_any(opening, OFlags::empty())?)
    }

    /// The same without waiting: a FIFO, whose other end somebody else has to open, is refused.
    pub fn open_at_once(&self, opening: Opening) -> io::Result<File> {
        let file = checked(self.open_any(opening, OFlags::NONBLOCK)?)?;
        match file.metadata()?.file_type().is_fifo() {
            true => Err(io::Error::new(ErrorKind::InvalidInput, "a FIFO is no file for a guest")),
            false => Ok(file),
        }
    }

    fn open_any(&self, opening: Opening, flags: OFlags) -> io::Result<File> {
        match self {
            Place::Anywhere(path) => opening.options().custom_flags(flags.bits() as i32).open(path),
            Place::Beneath { root, rest } if rest.as_os_str().is_empty() => {
                let mut options = opening.options();
                options.custom_flags((OFlags::NOFOLLOW | flags).bits() as i32).open(root)
            }
            Place::Beneath { root, rest } => {
                // The system refuses a mode for a file that is not to be made.
                let makes = opening.flags().contains(OFlags::CREATE);
                let mode = Mode::from_raw_mode(if makes { 0o666 } else { 0 });
                Ok(File::from(open_beneath(root, rest, opening.flags() | flags, mode)?))
            }
        }
    }

    /// What the system knows of the file or folder.
    pub fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Place::Anywhere(path) => fs::metadata(path),
            Place::Beneath { root, rest } if rest.as_os_str().is_empty() => {
                fs::symlink_metadata(root)
            }
            Place::Beneath { root, rest } => {
                File::from(open_beneath(root, rest, OFlags::PATH, Mode::empty())?).metadata()
            }
        }
    }

    /// The names in the folder, sorted, each with a byte 0 behind it; none if they take more bytes than this.
    pub fn entries(&self, most_bytes: usize) -> io::Result<Option<String>> {
        let folder = match self {
            Place::Anywhere(path) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                rustix::fs::open(path, flags, Mode::empty())?
            }
            Place::Beneath { root, rest } => open_folder(root, rest, OFlags::RDONLY)?,
        };
        let names = names_in(&folder, most_bytes)?;
        Ok(names.map(|mut names| {
            names.sort_unstable();
            names.into_iter().flat_map(|name| [name, "\0".to_owned()]).collect()
        }))
    }

    /// Makes the folder, and those it is in, unless they exist.
    pub fn create_folders(&self) -> io::Result<()> {
        let (root, rest) = match self {
            Place::Anywhere(path) => return fs::create_dir_all(path),
            Place::Beneath { root, rest } => (root, rest),
        };
        if !root.exists() {
            fs::create_dir_all(root)?;
        }
        let mut made = PathBuf::new();
        for name in rest {
            let parent = open_folder(root, &made, OFlags::PATH)?;
            match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => made.push(name),
                Err(error) => return Err(error.into()),
            }
        }
        match open_folder(root, rest, OFlags::PATH) {
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                Err(ErrorKind::AlreadyExists.into())
            }
            result => result.map(|_| ()),
        }
    }

    /// Deletes the file, or the link.
    pub fn remove_file(&self) -> io::Result<()> {
        self.remove(AtFlags::empty(), |path| fs::remove_file(path))
    }

    /// Deletes the folder, which is empty.
    pub fn remove_folder(&self) -> io::Result<()> {
        self.remove(AtFlags::REMOVEDIR, |path| fs::remove_dir(path))
    }

    fn remove(
        &self,
        flags: AtFlags,
        otherwise: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.parts()? {
            Parts::Whole(path) => otherwise(path),
            Parts::Entry(folder, name) => {
                rustix::fs::unlinkat(&folder, name, flags).map_err(Into::into)
            }
        }
    }

    /// Copies a part of the file to another place, from this byte on. Answers where the next part begins; none behind the last one, when
    /// the copy has got the mode. Nothing happens if both are the same file. What is no file, such as a FIFO, is one part; it may
    /// take long, and is refused for those that do not wait.
    pub fn copy_part(&self, target: &Place, from: u64, waits: bool) -> io::Result<Option<u64>> {
        const PART: u64 = 4 << 20;
        let open = |place: &Place, opening| match waits {
            true => place.open(opening),
            false => place.open_at_once(opening),
        };
        let mut source = open(self, Opening::Reading)?;
        let metadata = source.metadata()?;
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        // Opening the target empties it, so it must not be the source.
        let same = |other: Metadata| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino());
        if target.metadata().is_ok_and(same) {
            return Ok(None);
        }
        let mut copy = open(target, if from == 0 { Opening::Writing } else { Opening::Both })?;
        if metadata.is_file() && copy.metadata()?.is_file() {
            source.seek(SeekFrom::Start(from))?;
            copy.seek(SeekFrom::Start(from))?;
            let count = io::copy(&mut (&source).take(PART), &mut copy)?;
            if count == PART {
                return Ok(Some(from + count));
            }
        } else if waits {
            io::copy(&mut source, &mut copy)?;
        } else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "this is no file"));
        }
        copy.set_permissions(metadata.permissions()).map(|()| None)
    }

    /// Moves the file or folder to another place; replaces the target. False if that is on another device.
    pub fn move_to(&self, target: &Place) -> io::Result<bool> {
        match self.rename_to(target) {
            Err(error) if error.kind() == ErrorKind::CrossesDevices => Ok(false),
            result => result.map(|()| true),
        }
    }

    fn rename_to(&self, target: &Place) -> io::Result<()> {
        let cwd = rustix::fs::CWD;
        let (from, to) = (self.parts()?, target.parts()?);
        let renamed = match (&from, &to) {
            (Parts::Whole(from), Parts::Whole(to)) => return fs::rename(from, to),
            (Parts::Whole(from), Parts::Entry(folder, name)) => {
                rustix::fs::renameat(cwd, *from, folder, *name)
            }
            (Parts::Entry(folder, name), Parts::Whole(to)) => {
                rustix::fs::renameat(folder, *name, cwd, *to)
            }
            (Parts::Entry(from, name), Parts::Entry(to, target)) => {
                rustix::fs::renameat(from, *name, to, *target)
            }
        };
        renamed.map_err(Into::into)
    }

    /// The folder of an entry, opened, and its name.
    fn parts(&self) -> io::Result<Parts<'_>> {
        let (root, rest) = match self {
            Place::Anywhere(path) => return Ok(Parts::Whole(path)),
            Place::Beneath { root, rest } => (root, rest),
        };
        match (rest.parent(), rest.file_name()) {
            (Some(parent), Some(name)) => {
                Ok(Parts::Entry(open_folder(root, parent, OFlags::PATH)?, Path::new(name)))
            }
            _ => Ok(Parts::Whole(root)),
        }
    }
}

/// A place as the operations on entries of folders want it.
enum Parts<'p> {
    /// A whole path.
    Whole(&'p Path),
    /// An open folder, and a name in it.
    Entry(OwnedFd, &'p Path),
}

fn open_folder(root: &Path, rest: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::DIRECTORY;
    match rest.as_os_str().is_empty() {
        true => open_root(root, flags),
        false => open_beneath(root, rest, flags, Mode::empty()),
    }
}

fn open_root(root: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(root, flags, Mode::empty()).map_err(Into::into)
}

/// How often the system may ask for another attempt, because something was renamed meanwhile.
const ATTEMPTS: usize = 100;

/// Opens a path below a folder.
fn open_beneath(root: &Path, rest: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let folder = open_root(root, OFlags::PATH | OFlags::DIRECTORY)?;
    let flags = flags | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..ATTEMPTS {
        match rustix::fs::openat2(&folder, rest, flags, mode, resolve) {
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS | Errno::PERM) => return open_stepwise(folder, rest, flags, mode),
            Err(Errno::XDEV) => return Err(outside()),
            result => return result.map_err(Into::into),
        }
    }
    Err(ErrorKind::ResourceBusy.into())
}

/// Opens a path below a folder, from component to component, and follows no link.
fn open_stepwise(
    mut folder: OwnedFd,
    rest: &Path,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    let mut names = rest.components().peekable();
    while let Some(component) = names.next() {
        let Component::Normal(name) = component else { return Err(outside()) };
        let (flags, mode) = match names.peek() {
            Some(_) => (OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()),
            None => (flags, mode),
        };
        let opened = rustix::fs::openat(folder.as_fd(), name, flags | OFlags::NOFOLLOW, mode);
        folder = opened.map_err(|error| match error {
            Errno::LOOP => outside(),
            error => error.into(),
        })?;
    }
    Ok(folder)
}

/// A link leads out of the folder, or might.
fn outside() -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, "a link leads out of the permitted folder")
}

/// The names in a folder; none if they take more bytes than this.
fn names_in(folder: &OwnedFd, most_bytes: usize) -> io::Result<Option<Vec<String>>> {
    let (mut names, mut bytes) = (Vec::new(), 0);
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            bytes += size_of::<String>() + name.len();
            if bytes > most_bytes {
                return Ok(None);
            }
            names.push(std::ffi::OsStr::from_bytes(name).to_string_lossy().into_owned());
        }
    }
    Ok(Some(names))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with a permitted one and a secret beside that.
    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("squall-{name}-{}", std::process::id()));
        _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("in/deep")).expect("the temporary folder is writable");
        fs::write(folder.join("secret"), "secret").expect("so is a new folder");
        folder.canonicalize().expect("it was made")
    }

    fn place(folder: &Path, rest: &str) -> Place {
        Place::Beneath { root: folder.join("in"), rest: rest.into() }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_memory_of_processes_is_no_file() {
        let folder = scratch("memory");
        symlink("/proc/self/mem", folder.join("linked")).expect("links can be made");
        let process = Place::Beneath {
            root: format!("/proc/{}", std::process::id()).into(),
            rest: "mem".into(),
        };
        let places = ["/proc/self/mem".into(), folder.join("linked")].map(Place::Anywhere);
        for place in places.into_iter().chain([process]) {
            for opening in [Opening::Reading, Opening::Writing, Opening::Both] {
                let kind = place.open(opening).map_err(|error| error.kind()).err();
                assert_eq!(kind, Some(ErrorKind::PermissionDenied), "{place:?} {opening:?}");
            }
        }
        let status = Place::Anywhere("/proc/self/status".into());
        assert!(status.open(Opening::Reading).is_ok(), "others are files");
    }

    #[test]
    fn links_lead_nowhere_else() {
        let folder = scratch("links");
        symlink(folder.join("made"), folder.join("in/dangling")).expect("links can be made");
        symlink("../secret", folder.join("in/secret")).expect("links can be made");
        symlink("..", folder.join("in/up")).expect("links can be made");
        for rest in ["dangling", "secret", "up/secret", "up/made", "../secret"] {
            for opening in [Opening::Reading, Opening::Writing, Opening::Both] {
                assert!(place(&folder, rest).open(opening).is_err(), "{rest} {opening:?}");
            }
            assert!(place(&folder, rest).metadata().is_err(), "{rest}");
        }
        assert!(place(&folder, "up").entries(100).is_err());
        assert!(place(&folder, "up/new").create_folders().is_err());
        assert!(place(&folder, "up/secret").remove_file().is_err());
        assert!(place(&folder, "deep").move_to(&place(&folder, "up/moved")).is_err());
        assert!(!folder.join("made").exists() && !folder.join("new").exists());
        assert_eq!(fs::read_to_string(folder.join("secret")).ok().as_deref(), Some("secret"));
        // The link itself is below the folder.
        place(&folder, "secret").remove_file().expect("a link can be deleted");
        fs::remove_dir_all(&folder).expect("the test made it");
    }

    #[test]
    fn without_the_call_no_link_is_followed() {
        let folder = scratch("steps");
        symlink("deep", folder.join("in/link")).expect("links can be made");
        fs::write(folder.join("in/deep/file"), "x").expect("the folder is writable");
        let open = |rest: &str| {
            let root = open_root(&folder.join("in"), OFlags::PATH | OFlags::DIRECTORY)?;
            open_stepwise(root, Path::new(rest), OFlags::RDONLY, Mode::empty())
        };
        assert!(open("deep/file").is_ok());
        assert!(open("link/file").is_err() && open("link").is_err() && open("../secret").is_err());
        fs::remove_dir_all(&folder).expect("the test made it");
    }

    #[test]
    fn operations_work_below_a_folder() {
        let folder = scratch("work");
        let write = |rest: &str, text: &str| {
            let mut file = place(&folder, rest).open(Opening::Writing).expect("it can be made");
            io::Write::write_all(&mut file, text.as_bytes()).expect("it can be written");
        };
        place(&folder, "a/b/c").create_folders().expect("folders can be made");
        place(&folder, "a/b").create_folders().expect("and exist");
        write("a/b/one", "1");
        let copy = |from: &str, to: &str, start| {
            place(&folder, from).copy_part(&place(&folder, to), start, false)
        };
        assert!(matches!(copy("a/b/one", "a/two", 0), Ok(None)));
        assert!(matches!(copy("a/two", "a/two", 0), Ok(None)), "even to itself");
        assert!(place(&folder, "a/two").move_to(&place(&folder, "three")).is_ok_and(|done| done));
        let names = place(&folder, "").entries(1000).expect("the root is a folder");
        assert_eq!(names.as_deref(), Some("a\0deep\0three\0"));
        assert!(matches!(place(&folder, "").entries(50), Ok(None)));
        write("large", &"large".repeat(1_000_000));
        assert!(matches!(copy("large", "copy", 0), Ok(Some(4_194_304))));
        assert!(matches!(copy("large", "copy", 4_194_304), Ok(None)));
        assert!(fs::read(folder.join("in/copy")).is_ok_and(|copy| copy.ends_with(b"gelarge")));
        assert_eq!(fs::read_to_string(folder.join("in/three")).ok().as_deref(), Some("1"));
        place(&folder, "three").remove_file().expect("it can be deleted");
        place(&folder, "deep").remove_folder().expect("it is empty");
        assert!(place(&folder, "a").remove_folder().is_err());
        assert!(place(&folder, "a/b/one").create_folders().is_err());
        fs::remove_dir_all(&folder).expect("the test made it");
    }
}
