//! Calls between Squall and C: the part that needs no virtual machine. The runtime's `foreign` module calls it, and
//! `squall-sqlite` fills its tables.
//!
//! The crate knows C: its types and their layout, its declarations as text, libraries, calls in both directions, and
//! memory. It knows no guest object, no vat and no scheduler; the runtime converts guest objects to [`Value`]s, and
//! decides which native thread calls, and which of its resources the thread releases meanwhile.
//!
//! ```
//! use squall_foreign::{CallSpace, Declarations, Library, Value};
//!
//! let (name, signature) = Declarations::new().parse_function("long labs(long)")?;
//! let labs = Library::process().function(&name, &signature)?;       // once
//!
//! let mut space = CallSpace::new();
//! let call = labs.prepare(&mut space, &[Value::Integer(-3)])?;      // checks the arguments
//! // SAFETY: this is the declaration in <stdlib.h>, and anybody may call it.
//! let call = unsafe { call.invoke() };                              // nanoseconds or days
//! assert_eq!(call.value(), Value::Integer(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | subject | unsafe code |
//! |---|---|---|
//! | `declarations` | C declarations as text | |
//! | `callback` | C function pointers that lead to Rust | libffi's closures |
//! | `call` | functions, in three steps: prepare, invoke, read the result | the jump, and the words it loads |
//! | `library` | loading libraries, finding symbols, closing | the loader |
//! | `value` | values on their way into C and back, and the types that they fit | |
//! | `memory` | native memory with bounds and lifetimes | accesses, in one file |
//! | `pins` | counts the users of a resource that may be released at any time | |
//! | `errno` | C's `errno` | its place |
//! | `streams` | whether there is a standard output | a question before `main` |
//! | `address` | addresses | |
//! | `types` | C's types, sizes and offsets; parameters and results of functions | |
//!
//! C's own actions are not checked: a wrong declaration or a wrong address crashes the process, or worse. All mistakes
//! on this side are error values: wrong number and kinds of arguments, numbers out of range, missing symbols, closed
//! libraries, released memory, accesses out of bounds.
//!
//! `docs/internals/foreign.md` gives the reasons.

#[cfg(not(target_endian = "little"))]
compile_error!("words in memory are taken to begin with their lowest byte");

mod address;
mod call;
mod callback;
mod declarations;
mod errno;
mod library;
mod memory;
mod pins;
mod streams;
mod sync;
mod types;
mod value;

pub use address::Address;
pub use call::{
    CallError, CallSpace, CompletedCall, Function, LARGEST_BY_VALUE, LightCall, LightResult,
    MOST_ARGUMENTS, NarrowCall, NarrowResult, PreparedCall,
};
pub use callback::{Callback, CallbackAnswer, CallbackError, CallbackFrame, LINGERING};
pub use declarations::{Declaration, DeclarationError, Declarations, Meaning};
pub use library::{GREATEST_VERSION, Library, LibraryError, LinkedFunction};
pub use memory::{Access, Keeper, MemoryError, NativeMemory, Retired, allocated_memory, text_at};
pub use streams::output_was_closed;
pub use types::{
    Array, Enumeration, Field, Kind, Layout, MOST_LEVELS, MOST_PARAMETERS, MOST_PARTS, Mismatch,
    Parameter, Primitive, Record, RecordKind, Scalar, Signature, Tag, Type, TypeError,
};
pub use value::Value;

/// Types that threads may share.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Declarations>();
    is_shared::<Library>();
    is_shared::<Function>();
    is_shared::<NativeMemory>();
    is_shared::<Callback>();
};
