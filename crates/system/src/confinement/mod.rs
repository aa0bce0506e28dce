//! The confinement of a whole process by the system's kernel, as a second line of defence: it also holds for code that gets
//! around the machine's own checks, such as C. The command line calls it before it starts a machine.
//!
//! On Linux, Landlock refuses files and ports, and a seccomp filter refuses system calls. Both stay until the process
//! ends, and its children inherit them. Other systems have neither, and say so.
//!
//! Landlock confines the calling thread and those that it starts. So [`Confinement::begin`] is called while the process
//! has one thread only.
//!
//! | module | what it holds |
//! |---|---|
//! | `rules` | the rules of Landlock: files, ports |
//! | `calls` | the system calls that are left |

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod rules;

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What is left to a confined process, beside computing and the files that are open already.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Confinement {
    /// Files that can be read, and folders whose files can be.
    pub readable: Vec<PathBuf>,
    /// Files that can be written, and folders in which files can be made, written, moved and deleted.
    pub writable: Vec<PathBuf>,
    /// The use of the network.
    pub network: Network,
    /// Whether it can start processes.
    pub processes: bool,
    /// Whether it loads libraries of C.
    pub libraries: bool,
}

/// The use of the network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Network {
    /// None.
    #[default]
    None,
    /// TCP at these ports, to connect to them and to listen at them, and all of UDP.
    Ports(Vec<u16>),
    /// All of TCP and UDP.
    All,
}

/// The reason why a process cannot be confined.
#[derive(Debug)]
pub enum Problem {
    /// A path leads to nothing. The kernel confines to files and folders, not to their names.
    Missing(PathBuf, io::Error),
    /// The system has nothing that confines.
    System(&'static str),
    /// The kernel refuses.
    Kernel(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Missing(path, error) => {
                let path = path.display();
                match error.kind() {
                    io::ErrorKind::NotFound => write!(
                        f,
                        "--confine needs {path} to exist: make it, or allow the folder that it is to be in"
                    ),
                    _ => write!(f, "--confine cannot open {path}: {error}"),
                }
            }
            Problem::System(what) => write!(f, "this system cannot confine {what}"),
            Problem::Kernel(text) => write!(f, "the program cannot be confined: {text}"),
        }
    }
}

impl Confinement {
    /// Confines the process for the rest of its life. The caller's thread is its only one.
    #[cfg(target_os = "linux")]
    pub fn begin(&self) -> Result<(), Problem> {
        // The filter leaves no call to make rules.
        rules::begin(self)?;
        calls::begin(self)
    }

    /// This system has nothing that confines.
    #[cfg(not(target_os = "linux"))]
    pub fn begin(&self) -> Result<(), Problem> {
        Err(Problem::System("programs: only Linux can, from version 5.19 on"))
    }

    /// Whether it can write files anywhere.
    #[cfg(target_os = "linux")]
    fn writes_everything(&self) -> bool {
        self.writable.iter().any(|path| path == std::path::Path::new("/"))
    }
}
