//! `squall run --observe`: the observer's server in the process of a program, and the file by which `squall top` finds it.
//! `run` calls this module.
//!
//! The file is in `squall` in the user's folder for things of a session (`XDG_RUNTIME_DIR`), and only the user can read it. It
//! holds the address of the page, with the token.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use squall::Machine;
use squall_observer::{Observer, Options};

use super::debug::text_of;
use crate::arguments::Run;
use crate::console::{before_a_signal_ends_it, complain, print_error};
use crate::exit::Exit;
use crate::files::Input;

/// A server that listens and does not serve yet.
pub struct Observing(Observer);

/// The file for `squall top`, which goes with this value.
pub struct Observed(Option<PathBuf>);

impl Drop for Observed {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            _ = fs::remove_file(path);
        }
    }
}

/// Listens, if the program is to be observed: or complains.
pub fn listen(arguments: &Run, input: &Input) -> Result<Option<Observing>, Exit> {
    let Some(observe) = arguments.observe else { return Ok(None) };
    if arguments.machine.confine {
        complain("--observe needs the network, which --confine takes from the whole process");
        return Err(Exit::Usage);
    }
    let text_of = Box::new(|path: &str| text_of(path).map(|(text, _)| text));
    let options = Options {
        port: observe.port,
        control: observe.control,
        program: input.path.clone(),
        text_of,
    };
    match Observer::listen(options) {
        Ok(observer) => Ok(Some(Observing(observer))),
        Err(error) => {
            complain(&format!("the program cannot be observed at port {}: {error}", observe.port));
            Err(Exit::Failure)
        }
    }
}

impl Observing {
    /// Serves, from before the program begins.
    pub fn begin(self, machine: &mut Machine) -> Result<Observed, Exit> {
        let Observing(observer) = self;
        let address = observer.address();
        machine.count_messages();
        observer.serve().map_err(|error| {
            complain(&format!("the program cannot be observed: {error}"));
            Exit::Failure
        })?;
        let observed = Observed(write_file(&address));
        if let Some(path) = observed.0.clone() {
            before_a_signal_ends_it(move || _ = fs::remove_file(&path));
        }
        print_error(&format!("the program can be observed at {address}\n"));
        Ok(observed)
    }
}

/// The file with the address of a process's page, if the user has a folder for such files.
pub fn file_of(process: u32) -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty())?;
    Some(PathBuf::from(folder).join("squall").join(format!("observe-{process}")))
}

/// Writes the file, if that is possible: `squall top` takes addresses, too.
fn write_file(address: &str) -> Option<PathBuf> {
    let path = file_of(std::process::id())?;
    fs::create_dir_all(path.parent()?).ok()?;
    // One of an earlier process with this number may be of another user's making.
    _ = fs::remove_file(&path);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&path).and_then(|mut file| file.write_all(address.as_bytes()));
    written.is_ok().then_some(path)
}
