//! The wheel: a package of Python that consists of the command alone. `pip install` puts it onto the path of the
//! environment, so that tools of the Python world can depend on it. `dist` calls [`package`].
//!
//! A wheel is a zip file. Files in `….data/scripts` are installed as programs, with the mode that the zip file gives. The
//! platform in the name states the least version of the GNU C library.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::VERSION;
use super::program::Program;
use super::tree::{EXECUTABLE, PLAIN};

/// The name of the file, which tells pip where the wheel can be installed.
pub fn name(program: &Program) -> String {
    format!("squall-{VERSION}-{}.whl", tag(program))
}

fn tag(program: &Program) -> String {
    let (major, minor) = program.needs.glibc;
    format!("py3-none-manylinux_{major}_{minor}_{}", std::env::consts::ARCH)
}

/// The bytes of the wheel.
pub fn package(program: &Program) -> Result<Vec<u8>, String> {
    let information = format!("squall-{VERSION}.dist-info");
    let mut files =
        vec![(format!("squall-{VERSION}.data/scripts/squall"), EXECUTABLE, program.binary.clone())];
    let documents = program.documents().into_iter().filter(|(name, _)| *name != "CHANGELOG.md");
    let mut metadata = metadata();
    for (name, text) in documents {
        _ = writeln!(metadata, "License-File: {name}");
        files.push((format!("{information}/licenses/{name}"), PLAIN, text));
    }
    files.push((format!("{information}/METADATA"), PLAIN, (metadata + DESCRIPTION).into_bytes()));
    files.push((format!("{information}/WHEEL"), PLAIN, wheel(program).into_bytes()));
    let record = record(&files, &information);
    files.push((format!("{information}/RECORD"), PLAIN, record.into_bytes()));
    zip(&files).map_err(|error| format!("zip: {error}"))
}

fn metadata() -> String {
    format!(
        "Metadata-Version: 2.4\n\
         Name: squall\n\
         Version: {VERSION}\n\
         Summary: A virtual machine for many models of concurrency, and for Newspeak\n\
         Description-Content-Type: text/markdown\n\
         License-Expression: MIT OR Apache-2.0\n"
    )
}

const DESCRIPTION: &str = "\nThe command `squall` runs Newspeak programs of actors, processes, threads and \
                           transactions.\nThis package contains the command, and no modules of Python.\n";

fn wheel(program: &Program) -> String {
    let tag = tag(program);
    format!("Wheel-Version: 1.0\nGenerator: squall {VERSION}\nRoot-Is-Purelib: false\nTag: {tag}\n")
}

/// The list of all files with their digests, the list itself without.
fn record(files: &[(String, u32, Vec<u8>)], information: &str) -> String {
    let mut text = String::new();
    for (path, _, bytes) in files {
        let digest = BASE64URL_NOPAD.encode(&Sha256::digest(bytes));
        _ = writeln!(text, "{path},sha256={digest},{}", bytes.len());
    }
    text + &format!("{information}/RECORD,,\n")
}

fn zip(files: &[(String, u32, Vec<u8>)]) -> zip::result::ZipResult<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, mode, bytes) in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(*mode);
        writer.start_file(path, options)?;
        writer.write_all(bytes)?;
    }
    Ok(writer.finish()?.into_inner())
}
