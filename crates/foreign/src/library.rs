//! Libraries: loads them, and finds functions and variables in them. The runtime's primitives call it.
//!
//! The platform's `dlopen` loads a library, and `dlsym` finds symbols. A library that is linked into the program is a
//! table of functions instead ([`Library::linked`]), with the same interface. `call.rs` makes callable functions of
//! symbols.
//!
//! **Closing.** [`Library::close`] takes effect at once and for good: every later use of the library, or of a function
//! from it, answers that it is closed. The platform unmaps its code later, when the last [`Function`](crate::Function)
//! from it is dropped and none of its memory is borrowed. So calls under way return, and closing costs each call no
//! more than the test of a flag.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::os::unix as platform;

use crate::address::Address;
use crate::memory::NativeMemory;
use crate::types::{Type, TypeError};

/// A loaded library. Copies denote the same library.
#[derive(Clone)]
pub struct Library(Arc<Loaded>);

struct Loaded {
    name: String,
    symbols: Symbols,
    is_closed: AtomicBool,
}

/// The table in which names are looked up.
enum Symbols {
    /// The platform's loader.
    Loader(platform::Library),
    /// A table.
    Table(&'static [LinkedFunction]),
}

/// A function that is linked into the program: its name, and its address with any type.
pub type LinkedFunction = (&'static str, unsafe extern "C" fn());

/// The reason why there is no such library, function or variable.
#[derive(Clone, PartialEq, Debug)]
pub enum LibraryError {
    /// There is no library of this name, or it cannot be loaded.
    NotLoaded {
        /// The name.
        name: String,
        /// The platform's explanation.
        reason: String,
    },
    /// The library has been closed.
    Closed {
        /// Its name.
        library: String,
    },
    /// The library has no symbol of this name.
    MissingSymbol {
        /// The library's name.
        library: String,
        /// The missing name.
        symbol: String,
    },
    /// A variable that cannot be used.
    Variable(TypeError),
}

impl Library {
    /// Loads a library by its path, its file name (`libz.so.1`), or its bare name (`z`).
    ///
    /// A bare name is completed to the platform's file name, then with version numbers from 0 to [`GREATEST_VERSION`],
    /// since often only the development package has the file without a number.
    ///
    /// # Safety
    /// Loading runs the library's initialisers, and the last use its finalisers. They must be harmless.
    pub unsafe fn open(name: &str) -> Result<Library, LibraryError> {
        let not_loaded = |reason: String| LibraryError::NotLoaded { name: name.to_owned(), reason };
        if name.is_empty() || name.contains('\0') {
            return Err(not_loaded("this is not the name of a library".to_owned()));
        }
        let mut reason = None;
        for file in candidates(name) {
            // The symbols stay local, so that one library does not change the meaning of another's symbols.
            let flags = platform::RTLD_NOW | platform::RTLD_LOCAL;
            // SAFETY: the caller's.
            match unsafe { platform::Library::open(Some(&file), flags) } {
                Ok(handle) => return Ok(Library::new(name, Symbols::Loader(handle))),
                Err(error) => reason = worst(reason, explanation(&error), &file),
            }
        }
        Err(not_loaded(reason.unwrap_or_default()))
    }

    /// The process itself: the C library, and all other libraries that are loaded globally.
    pub fn process() -> Library {
        Library::new("the process", Symbols::Loader(platform::Library::this()))
    }

    /// A library that is part of the program and unknown to the platform's loader: it has these functions.
    pub fn linked(name: &str, functions: &'static [LinkedFunction]) -> Library {
        Library::new(name, Symbols::Table(functions))
    }

    fn new(name: &str, symbols: Symbols) -> Library {
        let is_closed = AtomicBool::new(false);
        Library(Arc::new(Loaded { name: name.to_owned(), symbols, is_closed }))
    }

    /// The name by which it was loaded.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Closes it; false if it was closed before.
    pub fn close(&self) -> bool {
        // Nothing is published by this: a thread that sees it late only refuses late.
        !self.0.is_closed.swap(true, Ordering::Relaxed)
    }

    /// Whether it has been closed.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed.load(Ordering::Relaxed)
    }

    /// The address of the function or variable of this name.
    pub fn symbol(&self, symbol: &str) -> Result<Address, LibraryError> {
        let library = || self.name().to_owned();
        if self.is_closed() {
            return Err(LibraryError::Closed { library: library() });
        }
        let missing =
            || LibraryError::MissingSymbol { library: library(), symbol: symbol.to_owned() };
        self.0.symbols.find(symbol).filter(|found| !found.is_null()).ok_or_else(missing)
    }

    /// The memory of the variable of this name.
    ///
    /// # Safety
    /// The variable has this type, and C allows changes of it.
    pub unsafe fn variable(&self, name: &str, of: &Type) -> Result<NativeMemory, LibraryError> {
        let address = self.symbol(name)?;
        let size = of.needed_layout().map_err(LibraryError::Variable)?.size;
        // SAFETY: the caller's; the library stays mapped while the memory keeps it.
        Ok(unsafe { NativeMemory::borrow(address, size, Some(self.0.clone())) })
    }
}

impl Symbols {
    fn find(&self, symbol: &str) -> Option<Address> {
        match self {
            Symbols::Table(functions) => {
                let (_, function) = functions.iter().find(|(name, _)| *name == symbol)?;
                Some(Address((*function as *const ()).expose_provenance()))
            }
            Symbols::Loader(_) if symbol.is_empty() || symbol.contains('\0') => None,
            Symbols::Loader(handle) => {
                // SAFETY: the address is not used here, so its type does not matter.
                let found = unsafe { handle.get::<*mut c_void>(symbol.as_bytes()) }.ok()?;
                Some(Address(found.as_raw_ptr().expose_provenance()))
            }
        }
    }
}

/// The greatest version number that is tried for a bare name.
pub const GREATEST_VERSION: u32 = 99;

/// The files that a name may denote, the likeliest first.
fn candidates(name: &str) -> Vec<String> {
    let is_file = name.contains('/') || name.contains(".so") || name.ends_with(".dylib");
    if is_file {
        return vec![name.to_owned()];
    }
    if cfg!(target_vendor = "apple") {
        return vec![
            format!("lib{name}.dylib"),
            format!("{name}.framework/{name}"),
            name.to_owned(),
        ];
    }
    let versions = (0..=GREATEST_VERSION).map(|version| format!("lib{name}.so.{version}"));
    [format!("lib{name}.so")].into_iter().chain(versions).chain([name.to_owned()]).collect()
}

/// The more informative of two reasons: that a file does not exist says little if there are others.
fn worst(former: Option<String>, new: String, file: &str) -> Option<String> {
    let is_missing = new.contains("No such file") || new.contains("no such file");
    match former {
        Some(former) if is_missing => Some(former),
        _ if new.contains(file) => Some(new),
        _ => Some(format!("{file}: {new}")),
    }
}

/// The platform's explanation, without the wrapping of the loader crate.
fn explanation(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| source.to_string())
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_closed() { ", closed" } else { "" };
        write!(f, "Library({}{state})", self.name())
    }
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LibraryError::NotLoaded { name, reason } => {
                write!(f, "the library `{name}` cannot be loaded: {reason}")
            }
            LibraryError::Closed { library } => {
                write!(f, "the library `{library}` has been closed")
            }
            LibraryError::MissingSymbol { library, symbol } => {
                write!(f, "there is no `{symbol}` in `{library}`")
            }
            LibraryError::Variable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LibraryError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed() {
        for file in ["/usr/lib/x", "./x", "libz.so.1", "libz.so"] {
            assert_eq!(candidates(file), [file]);
        }
        if cfg!(target_os = "linux") {
            let tried = candidates("z");
            assert_eq!(&tried[..3], ["libz.so", "libz.so.0", "libz.so.1"]);
            assert_eq!(tried.last().map(String::as_str), Some("z"));
        }
    }

    #[test]
    fn the_most_telling_reason_is_kept() {
        let missing = "liba.so: cannot open shared object file: No such file or directory";
        let broken = "liba.so.1: invalid ELF header";
        let reason = worst(None, missing.to_owned(), "liba.so");
        assert_eq!(reason.as_deref(), Some(missing));
        let reason = worst(reason, broken.to_owned(), "liba.so.1");
        assert_eq!(reason.as_deref(), Some(broken));
        assert_eq!(worst(reason, missing.to_owned(), "liba.so").as_deref(), Some(broken));
    }
}
