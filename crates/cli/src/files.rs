//! Reads and makes the files that the command line names, and explains why that fails. The commands call it.

use std::fmt::Display;
use std::fs::File;
use std::io::{ErrorKind, Read, stdin};
use std::path::{Path, PathBuf};

use squall::compiler::FileKind;
use squall_newspeak::Source;

use crate::console::complain;
use crate::exit::Exit;

/// Stands for the standard input in place of a path; what is read there is source text.
pub const STANDARD_INPUT: &str = "-";

/// A file that the command line names.
pub struct Input {
    /// The path as it was given.
    pub path: String,
    /// The kind given by the extension, or by the first line.
    pub kind: FileKind,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Input {
    /// The content as source text.
    pub fn source(&self) -> Source {
        Source::from_bytes(&self.path, &self.bytes)
    }
}

/// Reads a file of one of these kinds, or complains.
pub fn read(path: &str, kinds: &[FileKind]) -> Result<Input, Exit> {
    read_silently(path, kinds).map_err(|(exit, text)| {
        complain(&text);
        exit
    })
}

/// Reads a file of one of these kinds, or answers the reason why it cannot.
pub fn read_silently(path: &str, kinds: &[FileKind]) -> Result<Input, (Exit, String)> {
    let bytes = match path {
        STANDARD_INPUT => read_standard_input(),
        _ => std::fs::read(path),
    };
    let bytes = bytes.map_err(|error| (Exit::NoInput, explain(path, kinds, &error)))?;
    match kind_of(path, &bytes).filter(|kind| kinds.contains(kind)) {
        Some(kind) => Ok(Input { path: path.to_owned(), kind, bytes }),
        None => Err((Exit::Invalid, wrong_extension(path, kinds))),
    }
}

/// Makes a file, or complains.
pub fn create(path: &Path) -> Result<File, Exit> {
    File::create(path).map_err(|error| unwritten(path.display(), &error))
}

/// Complains that a file cannot be written; answers the command's result.
pub fn unwritten(path: impl Display, error: &std::io::Error) -> Exit {
    complain(&format!("{path} cannot be written: {error}"));
    Exit::Output
}

fn read_standard_input() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The kind of a file. The standard input, and a file without an extension whose first line says which command runs it,
/// are source text.
fn kind_of(path: &str, bytes: &[u8]) -> Option<FileKind> {
    let is_script = || Path::new(path).extension().is_none() && bytes.starts_with(b"#!");
    match path == STANDARD_INPUT || is_script() {
        true => Some(FileKind::Newspeak),
        false => FileKind::of_path(path),
    }
}

/// The files of these kinds at and below a folder, in the order of their names, or a complaint. Hidden folders and links to
/// folders are left out.
pub fn below(folder: &str, kinds: &[FileKind]) -> Result<Vec<String>, Exit> {
    let mut paths = Vec::new();
    match collect(Path::new(folder), kinds, &mut paths) {
        Ok(()) => Ok(paths.into_iter().map(|path| path.display().to_string()).collect()),
        Err(error) => {
            complain(&format!("{folder} cannot be read: {error}"));
            Err(Exit::NoInput)
        }
    }
}

/// Adds the files of these kinds at and below a folder.
pub fn collect(folder: &Path, kinds: &[FileKind], paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let entries: std::io::Result<Vec<_>> = folder.read_dir()?.collect();
    let mut entries: Vec<PathBuf> = entries?.iter().map(std::fs::DirEntry::path).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_hidden = name.is_some_and(|name| name.starts_with('.'));
        if path.is_dir() {
            if !is_hidden && !path.is_symlink() {
                collect(&path, kinds, paths)?;
            }
        } else if path
            .to_str()
            .and_then(FileKind::of_path)
            .is_some_and(|kind| kinds.contains(&kind))
        {
            paths.push(path);
        }
    }
    Ok(())
}

/// Reads a file that another one includes, or answers the reason why it cannot.
pub fn read_included(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn explain(path: &str, kinds: &[FileKind], error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => match likely_meant(path, kinds) {
            Some(meant) => format!("there is no file {path}; did you mean {meant}?"),
            None => format!("there is no file {path}"),
        },
        ErrorKind::IsADirectory => match programs_in(path) {
            programs if programs.is_empty() => format!("{path} is a directory"),
            programs => {
                format!("{path} is a directory; name a file in it, such as {}", programs[0])
            }
        },
        ErrorKind::PermissionDenied => format!("{path} may not be read: permission denied"),
        _ => format!("{path} cannot be read: {error}"),
    }
}

/// An existing file whose name differs only by the extension, or by upper and lower case.
fn likely_meant(path: &str, kinds: &[FileKind]) -> Option<String> {
    let with_extension = kinds.iter().map(|kind| format!("{path}.{}", kind.extension()));
    let mut candidates = with_extension.filter(|path| Path::new(path).is_file());
    if let Some(candidate) = candidates.next() {
        return Some(candidate);
    }
    let path = Path::new(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name()?.to_str()?.to_lowercase();
    let entries = folder.unwrap_or(Path::new(".")).read_dir().ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut similar: Vec<String> = names.filter(|other| other.to_lowercase() == name).collect();
    similar.sort();
    let found = folder.unwrap_or(Path::new("")).join(similar.first()?);
    Some(found.display().to_string())
}

fn programs_in(folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let programs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "ns"));
    let mut programs: Vec<String> = programs.map(|path| path.display().to_string()).collect();
    programs.sort();
    programs
}

fn wrong_extension(path: &str, kinds: &[FileKind]) -> String {
    let names: Vec<String> = kinds.iter().map(|kind| format!(".{}", kind.extension())).collect();
    let wanted = match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    };
    format!("{path} does not have the extension {wanted}")
}
