//! Callbacks: C function pointers that lead to Rust. The runtime makes one for each guest callback.
//!
//! A [`Callback`] is made of a signature and a *handler*. C may call its address from any native thread, at any time,
//! in several threads at once. The handler gets a [`CallbackFrame`] with the arguments, and puts the result into it;
//! without a result from the handler, the result is zero.
//!
//! **Release.** Dropping a callback releases it. Calls under way go on; the handler is dropped when the last of them
//! has returned (see [`Pins`]). Some libraries call a function once more after they were told to forget it. So a
//! released function stays callable for a while, does nothing, and answers zero. It is freed when [`LINGERING`] others
//! have been released after it. Later calls by C are undefined.
//!
//! **Panics** never reach C's frames. A handler that panics answers zero, and the message is kept for
//! [`Callback::take_panic`]: the runtime asks for it when the callout returns, and the process goes on.
//!
//! **`errno`** belongs to C: it is the same after a callback as before, unless the handler sets it.
//!
//! **Limits.** Variadic functions cannot be callbacks. A callback takes about half a kilobyte and a slot of a page of
//! trampolines. On Linux, trampolines are part of the program's own code, mapped again beside a page of data, so no
//! memory is ever writable and executable. Where that is not possible, libffi tries memory that is both, then a file
//! that is mapped twice; where neither is allowed: [`CallbackError::NoMemory`].

mod closure;
#[cfg(all(test, not(feature = "loom")))]
mod tests;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use closure::Closure;
pub use closure::{CallbackAnswer, CallbackFrame, LINGERING};

use crate::address::Address;
use crate::call::{CallError, Form, Interface};
use crate::types::Signature;
use crate::types::Type;

/// The function that a callback runs.
pub(crate) type Handler = Box<dyn Fn(&mut CallbackFrame<'_>) + Send + Sync>;

/// A function for C to call.
pub struct Callback {
    closure: Closure,
}

/// The reason why a callback cannot be made.
#[derive(Clone, PartialEq, Debug)]
pub enum CallbackError {
    /// Its signature has `...`.
    Variadic,
    /// Its arguments or its result cannot be passed.
    Signature(CallError),
    /// The platform does not give memory for its code.
    NoMemory,
}

/// The data that all calls of a callback need.
pub(crate) struct Blueprint {
    interface: Interface,
    arguments: Box<[Form]>,
    result: Form,
    /// The message of the first panic that was not taken yet.
    panic: Mutex<Option<String>>,
}

impl Callback {
    /// Makes a function with this signature.
    pub fn new(
        signature: &Signature,
        handler: impl Fn(&mut CallbackFrame<'_>) + Send + Sync + 'static,
    ) -> Result<Callback, CallbackError> {
        let blueprint = Blueprint::of(signature)?;
        let closure = Closure::new(blueprint, Box::new(handler)).ok_or(CallbackError::NoMemory)?;
        Ok(Callback { closure })
    }

    /// The function's address.
    #[inline]
    pub fn address(&self) -> Address {
        self.closure.address()
    }

    /// Takes the message of the first panic since the last call of this function.
    pub fn take_panic(&self) -> Option<String> {
        let panic = &self.closure.blueprint().panic;
        panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Blueprint {
    fn of(signature: &Signature) -> Result<Blueprint, CallbackError> {
        if signature.is_variadic() {
            return Err(CallbackError::Variadic);
        }
        let types: Vec<Type> =
            signature.parameters().iter().map(|parameter| parameter.c_type.clone()).collect();
        let forms: Result<_, CallError> = types.iter().map(Form::of).collect();
        Ok(Blueprint {
            arguments: forms.map_err(CallbackError::Signature)?,
            result: Form::of(signature.result()).map_err(CallbackError::Signature)?,
            interface: Interface::new(signature.result(), &types, None),
            panic: Mutex::default(),
        })
    }

    fn keep_panic(&self, message: String) {
        let mut panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        panic.get_or_insert(message);
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Callback({})", self.address())
    }
}

impl fmt::Display for CallbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallbackError::Variadic => write!(f, "a callback cannot have `...`"),
            CallbackError::Signature(error) => error.fmt(f),
            CallbackError::NoMemory => {
                write!(f, "the platform gives no memory for the code of a callback")
            }
        }
    }
}

impl std::error::Error for CallbackError {}
