//! Calls of C functions, in three steps. The runtime's callouts make them.
//!
//! ```text
//!   Function::prepare(space, arguments)      safe; checks everything, and may fail
//!        │
//!        ▼
//!   PreparedCall::invoke()                   unsafe; touches nothing but the prepared words
//!        │
//!        ▼
//!   CompletedCall::value(), errno()          safe
//! ```
//!
//! A [`Function`] is made once from an address and a signature; it contains the plan of its calls, and threads share
//! it. The steps are separate because the middle one may take a nanosecond or a day: the runtime may release the
//! thread's vat and worker around it, since `invoke` uses nothing but the [`CallSpace`] and pinned memory.
//!
//! A call of scalars allocates nothing. If all arguments are integers and addresses, it needs no space either, and the
//! three steps are a few instructions each (`call/light.rs`). If all arguments fit in registers, the call needs no
//! libffi (`call/registers.rs`); all other calls go through libffi (`call/interface.rs`).
//!
//! **`errno`** is set to zero before the function is entered, and read directly after its return. So it never stems
//! from an earlier call.
//!
//! **Variadic functions** take surplus arguments by their values: integers as 64 bits, which on the known 64-bit
//! platforms serves `int` and `long` alike, floating-point numbers as `double`, all others as pointers. Where that is
//! wrong, [`Function::with_arguments`] gives the types.

mod form;
mod interface;
mod light;
mod plan;
mod registers;
mod space;

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use form::Form;
pub use form::LARGEST_BY_VALUE;
pub(crate) use interface::Interface;
use light::Light;
pub use light::{LightCall, LightResult, NarrowCall, NarrowResult};
use plan::{Plan, Route, Slot};
pub use space::CallSpace;
use space::CopyError;

use crate::address::Address;
use crate::errno::Errno;
use crate::library::{Library, LibraryError};
use crate::memory::MemoryError;
use crate::types::Mismatch;
use crate::types::{MOST_PARAMETERS, Parameter, Signature};
use crate::types::{Primitive, Scalar, Type, TypeError};
use crate::value::Value;

/// The most arguments of a call, surplus ones of variadic functions included.
pub const MOST_ARGUMENTS: usize = MOST_PARAMETERS;

/// The number of kinds of surplus arguments for which a variadic function keeps plans.
const REMEMBERED: usize = 32;

/// A C function that can be called.
pub struct Function {
    name: Arc<str>,
    address: Address,
    signature: Signature,
    /// Keeps the function's code mapped.
    library: Option<Library>,
    plan: Arc<Plan>,
    /// `None` if calls of the function are not light.
    light: Option<Light>,
    /// Whether it takes arguments beyond those of the plan.
    is_open: bool,
    /// For calls with surplus arguments: the plans for their kinds.
    variants: Mutex<HashMap<Box<[Surplus]>, Arc<Plan>>>,
}

/// A call whose arguments are in place.
pub struct PreparedCall<'s, 'm> {
    function: &'s Function,
    plan: PlanRef<'s>,
    area: Area<'s, 'm>,
}

/// A call that has returned.
pub struct CompletedCall<'s, 'm> {
    result: Form,
    /// The result, if it is a word.
    word: u64,
    errno: i32,
    area: Area<'s, 'm>,
}

/// The reason why a function cannot be called, or not in this way.
#[derive(Clone, PartialEq, Debug)]
pub enum CallError {
    /// The library of the function has no such function, or has been closed.
    Library(LibraryError),
    /// There are too few or too many arguments.
    Arity {
        /// The function's declaration.
        function: String,
        /// The least number of arguments.
        expected: usize,
        /// The number of arguments given.
        given: usize,
    },
    /// An argument does not fit its parameter's type.
    Argument {
        /// The function's name.
        function: String,
        /// The argument's number, from 1.
        number: usize,
        /// The parameter's type.
        c_type: String,
        /// The reason why it does not fit.
        mismatch: Mismatch,
    },
    /// A structure with more than [`LARGEST_BY_VALUE`] bytes, which can only be passed by a pointer.
    TooLarge {
        /// Its type.
        c_type: String,
    },
    /// More arguments than [`MOST_ARGUMENTS`].
    TooMany,
    /// An argument of a type that has no values.
    Type(TypeError),
    /// Large arguments need memory, and there is none.
    Memory(MemoryError),
}

/// A kind of surplus argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Surplus {
    Signed,
    Unsigned,
    Double,
    Pointer,
}

/// A plan of the function's own, or one for surplus arguments.
enum PlanRef<'s> {
    Own(&'s Plan),
    Variant(Arc<Plan>),
}

/// The words of a call under way. Dropping the area releases the pins and copies of the call.
struct Area<'s, 'm> {
    words: *mut u64,
    /// Used by this call alone while the area lives, but C may have pointers into it.
    space: &'s CallSpace<'m>,
}

impl Library {
    /// The function of this name, to be called with this signature.
    pub fn function(&self, name: &str, signature: &Signature) -> Result<Function, CallError> {
        let address = self.symbol(name).map_err(CallError::Library)?;
        Function::new(name, address, signature, Some(self.clone()))
    }
}

impl Function {
    /// The function at an address. It keeps the library mapped.
    pub fn new(
        name: &str,
        address: Address,
        signature: &Signature,
        library: Option<Library>,
    ) -> Result<Function, CallError> {
        let plan = Plan::new(signature.result(), &parameter_types(signature), fixed(signature))?;
        Ok(Function {
            name: name.into(),
            address,
            signature: signature.clone(),
            library,
            light: Light::of(&plan.route, plan.result),
            plan: Arc::new(plan),
            is_open: signature.is_variadic(),
            variants: Mutex::default(),
        })
    }

    /// The variadic function for calls with surplus arguments of exactly these types. As in C, a
    /// `float` is passed as `double`, and integers smaller than `int` as `int`.
    pub fn with_arguments(&self, surplus: &[Type]) -> Result<Function, CallError> {
        if !self.is_open {
            return Err(self.wrong_count(self.plan.slots.len() + surplus.len()));
        }
        let mut types = parameter_types(&self.signature);
        for c_type in surplus {
            types.push(promoted(c_type).map_err(CallError::Type)?);
        }
        let plan = Plan::new(self.signature.result(), &types, fixed(&self.signature))?;
        let light = Light::of(&plan.route, plan.result);
        Ok(Function { plan: Arc::new(plan), light, is_open: false, ..self.clone() })
    }

    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The types of its parameters and of its result.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Its address.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Checks the arguments and puts them in place.
    #[inline]
    pub fn prepare<'s, 'm>(
        &'s self,
        space: &'s mut CallSpace<'m>,
        arguments: &[Value<'m>],
    ) -> Result<PreparedCall<'s, 'm>, CallError> {
        if self.library.as_ref().is_some_and(Library::is_closed) {
            return Err(self.closed());
        }
        let plan = match arguments.len() == self.plan.slots.len() {
            true => PlanRef::Own(&self.plan),
            false => PlanRef::Variant(self.variant(arguments)?),
        };
        let mut area = Area::begin(space, &plan)?;
        for (index, (slot, value)) in plan.get().slots.iter().zip(arguments).enumerate() {
            if let Err(problem) = area.put(slot, *value) {
                return Err(self.wrong_argument(index, problem));
            }
        }
        Ok(PreparedCall { function: self, plan, area })
    }

    /// The plan for a call with surplus arguments.
    #[cold]
    fn variant(&self, arguments: &[Value<'_>]) -> Result<Arc<Plan>, CallError> {
        let own = self.plan.slots.len();
        if !self.is_open || arguments.len() < own {
            return Err(self.wrong_count(arguments.len()));
        }
        let kind = |(index, value): (usize, &Value<'_>)| {
            Surplus::of(value).map_err(|problem| self.wrong_argument(own + index, problem))
        };
        let surplus: Box<[Surplus]> =
            arguments[own..].iter().enumerate().map(kind).collect::<Result<_, _>>()?;
        let mut variants = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = variants.get(&surplus) {
            return Ok(plan.clone());
        }
        let mut types = parameter_types(&self.signature);
        types.extend(surplus.iter().map(|kind| kind.c_type()));
        let plan = Plan::new(self.signature.result(), &types, fixed(&self.signature))?;
        let plan = Arc::new(plan);
        if variants.len() < REMEMBERED {
            variants.insert(surplus, plan.clone());
        }
        Ok(plan)
    }

    #[cold]
    fn closed(&self) -> CallError {
        let library = self.library.as_ref().map_or("", |library| library.name());
        CallError::Library(LibraryError::Closed { library: library.to_owned() })
    }

    #[cold]
    fn wrong_count(&self, given: usize) -> CallError {
        let function = self.signature.declaring(&self.name);
        CallError::Arity { function, expected: self.plan.slots.len(), given }
    }

    #[cold]
    fn wrong_argument(&self, index: usize, problem: CopyError) -> CallError {
        let parameter = self.signature.parameters().get(index);
        match problem {
            CopyError::Memory(error) => CallError::Memory(error),
            CopyError::Mismatch(mismatch) => CallError::Argument {
                function: self.name.to_string(),
                number: index + 1,
                c_type: parameter.map_or("...".to_owned(), |found| found.c_type.to_string()),
                mismatch,
            },
        }
    }
}

impl<'s, 'm> PreparedCall<'s, 'm> {
    /// Calls the function, and waits until it returns.
    ///
    /// # Safety
    /// - At the function's address there is a function with its signature.
    /// - The function may do all that it does with its arguments: the memory that they point to exists and is large
    ///   enough, and no Rust code has references to it.
    /// - It may be called on this native thread, now.
    /// - It returns in the ordinary way, if at all: no `longjmp`, no C++ exception and no end of the thread leaves it.
    #[inline]
    pub unsafe fn invoke(self) -> CompletedCall<'s, 'm> {
        let PreparedCall { function, plan, area } = self;
        let plan = plan.get();
        let errno = Errno::of_this_thread();
        errno.set(0);
        // SAFETY: the caller's; the area was filled in according to the plan.
        let word = unsafe {
            match &plan.route {
                Route::Registers(shape) => registers::call(function.address.0, *shape, area.words),
                Route::Interface { interface, table } => {
                    area.call_by_interface(function.address.0, plan, interface, *table)
                }
            }
        };
        CompletedCall { result: plan.result, word, errno: errno.get(), area }
    }
}

impl CompletedCall<'_, '_> {
    /// The function's result.
    #[inline]
    pub fn value(&self) -> Value<'_> {
        match self.result {
            Form::Void => Value::Void,
            Form::Word(primitive) => primitive.decode(self.word),
            Form::Text => Primitive::Pointer.decode(self.word),
            Form::Record(size) => {
                // SAFETY: the result is at the beginning of the area, which was zeroed there; the call is over, and no
                // other call uses this area.
                Value::Record(unsafe { slice::from_raw_parts(self.area.words.cast(), size) })
            }
        }
    }

    /// `errno` as the function left it; 0 if it set none.
    #[inline]
    pub fn errno(&self) -> i32 {
        self.errno
    }
}

impl<'s, 'm> Area<'s, 'm> {
    #[inline]
    fn begin(space: &'s mut CallSpace<'m>, plan: &PlanRef<'_>) -> Result<Area<'s, 'm>, CallError> {
        let plan = plan.get();
        let words = space.begin(plan.words).map_err(CallError::Memory)?;
        let area = Area { words, space };
        // Registers without an argument, and a result whose padding C may leave alone, must not hold earlier contents.
        match (&plan.route, plan.result) {
            // SAFETY: the area has these words.
            (Route::Registers(shape), _) if shape.has_gaps() => unsafe {
                ptr::write_bytes(area.words, 0, registers::ALL);
            },
            // SAFETY: the result is at the beginning of the area.
            (Route::Interface { .. }, Form::Record(size)) => unsafe {
                ptr::write_bytes(area.words.cast::<u8>(), 0, size);
            },
            _ => {}
        }
        Ok(area)
    }

    /// Puts an argument in its place.
    #[inline]
    fn put(&mut self, slot: &Slot, value: Value<'m>) -> Result<(), CopyError> {
        let word = match value {
            Value::Integer(integer) if slot.integers.contains(&integer) => integer as u64,
            Value::Double(number) if slot.form == Form::Word(Primitive::F64) => number.to_bits(),
            Value::Pointer(address) if slot.form == Form::Text => address.0 as u64,
            _ => return self.put_any(slot, value),
        };
        // SAFETY: the place is in the area.
        unsafe { self.words.add(slot.place).write(word) };
        Ok(())
    }

    fn put_any(&mut self, slot: &Slot, value: Value<'m>) -> Result<(), CopyError> {
        let word = match (slot.form, value) {
            (Form::Record(size), _) => return self.put_record(slot.place, size, value),
            (Form::Word(Primitive::Pointer) | Form::Text, Value::Memory(memory)) => {
                self.space.pin(memory)?.0 as u64
            }
            (Form::Text, Value::Text(text)) => self.space.copy_text(text)?.0 as u64,
            (Form::Text, _) => Primitive::Pointer.encode(value)?,
            (Form::Word(primitive), _) => primitive.encode(value)?,
            (Form::Void, _) => return Ok(()),
        };
        // SAFETY: the place is in the area.
        unsafe { self.words.add(slot.place).write(word) };
        Ok(())
    }

    /// Copies a structure to its place.
    fn put_record(&mut self, place: usize, size: usize, value: Value<'_>) -> Result<(), CopyError> {
        // SAFETY: the area has room for the structure, and nothing else refers to it.
        let room = unsafe {
            let start = self.words.add(place).cast::<u8>();
            ptr::write_bytes(start, 0, size);
            slice::from_raw_parts_mut(start, size)
        };
        match value {
            Value::Record(bytes) if bytes.len() == size => room.copy_from_slice(bytes),
            Value::Record(bytes) => {
                return Err(Mismatch::Size { given: bytes.len(), expected: size }.into());
            }
            Value::Memory(memory) if memory.size() < size => {
                return Err(Mismatch::Size { given: memory.size(), expected: size }.into());
            }
            Value::Memory(memory) => {
                memory.read_bytes(0, room).map_err(|_| Mismatch::Released)?;
            }
            _ => return Err(Mismatch::Kind(value.kind()).into()),
        }
        Ok(())
    }

    /// # Safety
    /// As for [`PreparedCall::invoke`].
    unsafe fn call_by_interface(
        &self,
        address: usize,
        plan: &Plan,
        interface: &Interface,
        table: usize,
    ) -> u64 {
        // SAFETY: places and table are in the area; the rest is the caller's.
        unsafe {
            let pointers = self.words.add(table).cast::<*mut c_void>();
            for (index, slot) in plan.slots.iter().enumerate() {
                pointers.add(index).write(self.words.add(slot.place).cast());
            }
            interface.call(address, self.words.cast(), pointers);
            match plan.result.primitive() {
                Some(Primitive::F32) => self.words.cast::<u32>().read().into(),
                // libffi extends integers to a word.
                Some(_) => self.words.read(),
                None => 0,
            }
        }
    }
}

impl Drop for Area<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        self.space.end();
    }
}

impl PlanRef<'_> {
    #[inline]
    fn get(&self) -> &Plan {
        match self {
            PlanRef::Own(plan) => plan,
            PlanRef::Variant(plan) => plan,
        }
    }
}

impl Surplus {
    fn of(value: &Value<'_>) -> Result<Surplus, CopyError> {
        match value {
            Value::Bool(_) | Value::Integer(_) => Ok(Surplus::Signed),
            Value::Unsigned(_) => Ok(Surplus::Unsigned),
            Value::Double(_) => Ok(Surplus::Double),
            Value::Pointer(_) | Value::Memory(_) | Value::Text(_) => Ok(Surplus::Pointer),
            Value::Void | Value::Record(_) => Err(Mismatch::Kind(value.kind()).into()),
        }
    }

    fn c_type(self) -> Type {
        let pointer = || Type::pointer_to(&Type::void()).expect("it is small");
        match self {
            Surplus::Signed => Type::scalar(Scalar::LongLong),
            Surplus::Unsigned => Type::scalar(Scalar::UnsignedLongLong),
            Surplus::Double => Type::scalar(Scalar::Double),
            Surplus::Pointer => pointer(),
        }
    }
}

/// The type with which C passes a surplus argument.
fn promoted(c_type: &Type) -> Result<Type, TypeError> {
    let passed = Parameter::of(c_type.clone()).adjusted()?.c_type;
    Ok(match passed.primitive() {
        Some(Primitive::F32) => Type::scalar(Scalar::Double),
        Some(primitive) if primitive.size() < Scalar::Int.primitive().size() => {
            Type::scalar(Scalar::Int)
        }
        _ => passed,
    })
}

fn parameter_types(signature: &Signature) -> Vec<Type> {
    signature.parameters().iter().map(|parameter| parameter.c_type.clone()).collect()
}

/// The number of parameters before the `...` of a variadic function; `None` for other functions.
fn fixed(signature: &Signature) -> Option<usize> {
    signature.is_variadic().then(|| signature.parameters().len())
}

impl Clone for Function {
    /// The same function, with its own table of plans for surplus arguments.
    fn clone(&self) -> Function {
        Function {
            name: self.name.clone(),
            address: self.address,
            signature: self.signature.clone(),
            library: self.library.clone(),
            plan: self.plan.clone(),
            light: self.light,
            is_open: self.is_open,
            variants: Mutex::default(),
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} at {})", self.signature.declaring(&self.name), self.address)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Library(error) => error.fmt(f),
            CallError::Arity { function, expected, given } => {
                write!(f, "`{function}` takes {expected} arguments, but {given} are given")
            }
            CallError::Argument { function, number, c_type, mismatch } => {
                write!(f, "argument {number} of `{function}`, of type `{c_type}`: {mismatch}")
            }
            CallError::TooLarge { c_type } => {
                write!(f, "`{c_type}` has more than {LARGEST_BY_VALUE} bytes: pass a pointer to it")
            }
            CallError::TooMany => write!(f, "a call has at most {MOST_ARGUMENTS} arguments"),
            CallError::Type(error) => error.fmt(f),
            CallError::Memory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CallError {}
