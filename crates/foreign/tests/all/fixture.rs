//! The library of `library.c`, and short forms of calls into it.

use std::path::Path;
use std::sync::OnceLock;

use squall_foreign::{Address, CallError, CallSpace, Declarations, Function, Library, Value};

pub struct Fixture {
    pub library: Library,
    pub header: Declarations,
}

/// Returns from a test if there is no compiler.
macro_rules! fixture {
    () => {
        match $crate::fixture::Fixture::get() {
            Some(fixture) => fixture,
            None => return,
        }
    };
}
pub(crate) use fixture;

/// An owned result.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    Nothing,
    Bool(bool),
    Integer(i128),
    Double(f64),
    Pointer(Address),
    Record(Vec<u8>),
}

impl Fixture {
    pub fn get() -> Option<&'static Fixture> {
        static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
        let load = || {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all");
            let library = crate::compiler::load_file(&folder.join("library.c"))?;
            let text =
                std::fs::read_to_string(folder.join("library.h")).expect("it is beside library.c");
            let mut header = Declarations::new();
            header
                .declare(&text)
                .unwrap_or_else(|error| panic!("{error}\n{}", error.excerpt(&text)));
            Some(Fixture { library, header })
        };
        FIXTURE.get_or_init(load).as_ref()
    }

    pub fn function(&self, name: &str) -> Function {
        self.find(name).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn find(&self, name: &str) -> Result<Function, CallError> {
        let signature = self.header.function(name).expect("library.h declares it");
        self.library.function(name, signature)
    }

    pub fn call(&self, name: &str, arguments: &[Value<'_>]) -> Answer {
        self.try_call(name, arguments).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_call(&self, name: &str, arguments: &[Value<'_>]) -> Result<Answer, CallError> {
        call(&self.function(name), arguments).map(|(answer, _)| answer)
    }

    /// The offset of a field and the size of its structure.
    pub fn offset(&self, tag: &str, field: &str) -> usize {
        let record =
            self.header.tagged(tag).and_then(|of| of.as_record()).expect("library.h declares it");
        record.field(field).expect("it has this field").0
    }
}

/// Calls a function of the tests' libraries. Answers its result and `errno`.
pub fn call(function: &Function, arguments: &[Value<'_>]) -> Result<(Answer, i32), CallError> {
    let mut space = CallSpace::new();
    let call = function.prepare(&mut space, arguments)?;
    // SAFETY: the functions of the tests keep to their declarations, and to the memory that they get.
    let call = unsafe { call.invoke() };
    Ok((Answer::of(call.value()), call.errno()))
}

impl Answer {
    pub fn of(value: Value<'_>) -> Answer {
        match value {
            Value::Void => Answer::Nothing,
            Value::Bool(bool) => Answer::Bool(bool),
            Value::Integer(integer) => Answer::Integer(integer.into()),
            Value::Unsigned(integer) => Answer::Integer(integer.into()),
            Value::Double(number) => Answer::Double(number),
            Value::Pointer(address) => Answer::Pointer(address),
            Value::Record(bytes) => Answer::Record(bytes.to_vec()),
            Value::Memory(_) | Value::Text(_) => panic!("C does not answer this: {value:?}"),
        }
    }

    pub fn address(&self) -> Address {
        match self {
            Answer::Pointer(address) => *address,
            other => panic!("{other:?} is no address"),
        }
    }
}
